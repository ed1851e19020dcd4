// Prints a hash a problem, so that builds for different machines can be compared line by line:
//
//   bit_hashes exact|portable|neon|avx2|avx512 RANDOM_PROBLEMS
//
// First sinusoidal and rotary positions, near and far, and what is turned by them; then the golden
// problems of `qkv verify`, then random ones like those of the bit suite: one small for three long,
// each computed in one of the ways of ways.h, by turns; gradients, of a quarter as many problems;
// and the parameters of the model of points after some steps of training. `exact` is the scalar
// program and knows one way only, and no training; all must print the same.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "golden.h"
#include "kernels/exact/exact.h"
#include "kernels/exact/gradient.h"
#include "plan/rotation.h"
#include "positions/positions.h"
#include "positions/relative.h"
#include "positions/rotary.h"
#include "qkv/cpu.h"
#include "qkv/error.h"
#include "qkv/gradient.h"
#include "qkv/point_model.h"
#include "simd/float_environment.h"
#include "support/random_gradient.h"
#include "support/random_problem.h"
#include "support/ways.h"

namespace {

using namespace qkv;

struct Kernel {
  bool exact = false;
  Isa isa = Isa::kBest;
};

std::uint64_t fnv1a(const std::vector<std::byte>& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

void print(const char* kind, std::uint64_t number, std::uint64_t hash) {
  std::printf("%s %llu %016llx\n", kind, static_cast<unsigned long long>(number),
              static_cast<unsigned long long>(hash));
}

// The same whatever the kernel.
void print_positions(std::uint64_t number, std::int64_t first, double base) {
  Tensor out;
  const std::int64_t shape[] = {200, 129};
  throw_if_error(allocate(DType::kFloat32, shape, out));
  throw_if_error(fill_sinusoidal_positions(first, base, out));
  const auto* bytes = out.data<std::byte>();
  print("positions", number, fnv1a({bytes, bytes + out.size() * 4}));
}

// Tables of a scaling, and heads turned by them in both layouts.
void print_rotary(const Kernel& kernel, RotaryScaling scaling, std::int64_t first) {
  constexpr std::int64_t kTokens = 40, kColumns = 66;
  RotaryOptions options;
  options.scaling = scaling;
  options.factor = scaling == RotaryScaling::kNone ? 1 : 7;
  options.original_length = 4096;
  std::vector<double> frequencies(kColumns / 2);
  double magnitude = 0;
  throw_if_error(fill_rotary_frequencies(kColumns, options, frequencies, magnitude));
  std::vector<std::int64_t> ids(kTokens);
  for (std::int64_t n = 0; n < kTokens; ++n) ids[static_cast<std::size_t>(n)] = first + n;
  const std::int64_t shape[] = {kTokens, kColumns / 2}, heads_shape[] = {kTokens, 3, kColumns + 1};
  Tensor cosines, sines, x;
  throw_if_error(allocate(DType::kFloat32, shape, cosines));
  throw_if_error(allocate(DType::kFloat32, shape, sines));
  throw_if_error(allocate(DType::kFloat32, heads_shape, x));
  throw_if_error(
      fill_rotary_tables({ids.data(), {kTokens}}, frequencies, magnitude, cosines, sines));
  throw_if_error(fill_sinusoidal_positions(
      5, 100, MutableTensorView(x.data<float>(), {kTokens * 3, kColumns + 1})));
  ExecutionOptions execution;
  execution.isa = kernel.exact ? Isa::kPortable : kernel.isa;
  for (RotaryLayout layout : {RotaryLayout::kInterleaved, RotaryLayout::kHalves}) {
    throw_if_error(run_rotation({x, cosines, sines, layout, x, false}, execution));
  }
  std::vector<std::byte> bytes;
  for (const Tensor* tensor : {&cosines, &sines, &x}) {
    const auto* from = tensor->data<std::byte>();
    bytes.insert(bytes.end(), from, from + tensor->size() * 4);
  }
  print("rotary", static_cast<std::uint64_t>(scaling), fnv1a(bytes));
}

// T5's buckets of distances near and far.
void print_buckets() {
  std::vector<std::byte> bytes;
  for (std::int64_t distance = -3000; distance < 3000; ++distance) {
    std::int64_t bucket = 0;
    throw_if_error(find_bucket(distance, {true, 256, 2000}, bucket));
    bytes.push_back(static_cast<std::byte>(bucket));
  }
  print("buckets", 0, fnv1a(bytes));
}

void print_golden(const Kernel& kernel, int index) {
  app::GoldenProblem golden = app::golden_problem(index);
  if (kernel.exact) {
    Problem problem;
    problem.inputs = golden.inputs;
    problem.outputs = golden.outputs;
    problem.options = golden.options;
    throw_if_error(validate(problem));
    exact::attention(problem);
  } else {
    ExecutionOptions execution;
    execution.isa = kernel.isa;
    attention(golden.inputs, golden.outputs, golden.options, execution);
  }
  const std::uint64_t hash = app::hash_of(golden.outputs);
  print("golden", static_cast<std::uint64_t>(index), hash);
  if (hash != app::golden_hashes()[static_cast<std::size_t>(index)].hash) {
    std::printf("differs from golden.inc\n");
  }
}

void print_random(const Kernel& kernel, std::uint64_t seed) {
  const bool small = seed % 4 == 0;
  test::RandomProblem random(seed, small ? test::small_limits() : test::span_crossing_limits());
  random.clear_outputs();
  if (kernel.exact) {
    exact::attention(random.problem());
  } else {
    ExecutionOptions execution;
    execution.isa = kernel.isa;
    const test::Way way = test::kWays[seed / 4 % std::size(test::kWays)];
    test::compute(random.problem(), way, execution, test::CallerMode::kDefault, seed);
  }
  print(small ? "small" : "long", seed, fnv1a(random.output_bytes()));
}

void print_gradient(const Kernel& kernel, std::uint64_t seed) {
  const bool small = seed % 16 != 15;  // long ones take seconds
  test::RandomGradient random(seed,
                              small ? test::small_limits() : test::span_crossing_gradient_limits());
  const GradientProblem& g = random.gradient();
  random.clear_outputs();
  if (kernel.exact) {
    exact::gradients(g);
  } else {
    ExecutionOptions execution;
    execution.isa = kernel.isa;
    attention_gradients(g.inputs, g.outputs, g.forward.options, execution);
  }
  print("gradient", seed, fnv1a(random.output_bytes()));
}

// `exact` has no layers: it prints what the portable kernels give.
void print_training(const Kernel& kernel, std::uint64_t seed, std::int64_t steps) {
  nn::PointTrainingOptions options;
  options.seed = seed;
  options.execution.isa = kernel.exact ? Isa::kPortable : kernel.isa;
  nn::PointTraining training(options);
  while (training.steps() < steps) throw_if_error(training.step());
  std::vector<std::byte> bytes;
  for (const nn::Parameter& parameter : training.parameters().all()) {
    const auto* from = parameter.value.data<std::byte>();
    bytes.insert(bytes.end(), from, from + parameter.value.size() * 4);
  }
  print("training", static_cast<std::uint64_t>(steps), fnv1a(bytes));
}

}  // namespace

// The command's failures, which golden.cc and fill.cc use, without the command.
namespace qkv::app {
void check(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}
}  // namespace qkv::app

int main(int argc, char** argv) {
  Kernel kernel;
  if (argc == 3 && std::strcmp(argv[1], "exact") == 0) {
    kernel.exact = true;
  } else if (argc != 3 || !isa_from_name(argv[1], kernel.isa)) {
    std::fprintf(stderr, "usage: bit_hashes exact|ISA RANDOM_PROBLEMS\n");
    return 2;
  }
  const FloatEnvironment environment;
  print_positions(0, -100, 10000);
  print_positions(1, (std::int64_t{1} << 53) - 200, 1e300);
  for (int scaling = 0; scaling <= static_cast<int>(RotaryScaling::kLlama3); ++scaling) {
    print_rotary(kernel, static_cast<RotaryScaling>(scaling),
                 scaling % 2 == 0 ? -20 : std::int64_t{1} << (30 + 5 * scaling));
  }
  print_buckets();
  for (int i = 0; i < app::golden_count(); ++i) print_golden(kernel, i);
  for (int seed = 0; seed < std::atoi(argv[2]); ++seed) {
    print_random(kernel, static_cast<std::uint64_t>(seed));
  }
  for (int seed = 0; seed < std::atoi(argv[2]) / 4; ++seed) {
    print_gradient(kernel, static_cast<std::uint64_t>(seed));
  }
  print_training(kernel, 1, 100);
  return 0;
}
