// qkv bench: the speed of one operation, and its share of what the machine could do.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <numeric>

#include "command.h"
#include "fill.h"
#include "fma_peak.h"
#include "interrupt.h"
#include "machine.h"
#include "numbers.h"
#include "qkv/attention.h"
#include "terminal.h"

namespace qkv::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDescription =
    "Measures attention on random numbers. Operations are counted as 2 * live pairs * (d_qk + "
    "d_v),\n"
    "pairs being those of a query and a key that the causal mask leaves. Between the repeats the\n"
    "rate of bare multiply-adds is measured on as many threads, in its quickest moments; "
    "peak_share\n"
    "is the median rate of attention divided by the median of those, and best_peak_share that of\n"
    "the quickest run.";

constexpr const char* kExamples =
    "  qkv bench --shape 1,8,4096,4096,64 --causal\n"
    "  qkv bench --shape 1,32,1,8192,128 --kv-heads 8 --dtype f16\n"
    "  qkv bench --shape 1,8,1024,1024,64 --threads 1 --isa avx2 --repeat 20 --json";

struct BenchRequest {
  std::int64_t batch = 0, heads = 0, kv_heads = 0, queries = 0, keys = 0, d_qk = 0, d_v = 0;
  DType dtype = DType::kFloat32;
  bool causal = false, json = false;
  int threads = 0;
  std::int64_t repeat = 0;
  Isa isa = Isa::kBest;
};

void understand_shape(const std::string& text, BenchRequest& request) {
  std::vector<std::int64_t> sizes;
  const bool numbers = parse_integers("--shape", text, sizes);
  const bool positive = std::ranges::all_of(sizes, [](std::int64_t size) { return size > 0; });
  if (!numbers || !positive || sizes.size() < 5 || sizes.size() > 6) {
    throw usage("--shape: " + in_quotes(text) +
                " must be five or six numbers above 0, B,H,Lq,Lk,D[,Dv], such as "
                "1,8,2048,2048,64");
  }
  if (sizes.size() == 5) sizes.push_back(sizes.back());
  request.batch = sizes[0];
  request.heads = sizes[1];
  request.queries = sizes[2];
  request.keys = sizes[3];
  request.d_qk = sizes[4];
  request.d_v = sizes[5];
}

BenchRequest parse_bench(int argc, const char* const* argv) {
  BenchRequest request;
  std::string op = "forward", shape = "1,8,2048,2048,64", kv_heads, dtype = "f32", threads = "0";
  std::string repeat = "10", isa;
  CLI::App app{kDescription, "qkv bench"};
  const auto add = [&app](const char* name, std::string& value, const char* what,
                          const char* help) {
    app.add_option(name, value, help)->option_text(what);
  };
  add("--op", op, "forward", "The operation");
  add("--shape", shape, "B,H,Lq,Lk,D[,Dv]",
      "Batch, query heads, queries, keys, d_qk, d_v (as d_qk); default 1,8,2048,2048,64");
  add("--kv-heads", kv_heads, "N", "Key heads; default: as many as query heads");
  add("--dtype", dtype, "f32|f16|bf16", "Type of the inputs; default f32");
  app.add_flag("--causal", request.causal, "Causal, the last query seeing the last key")
      ->disable_flag_override();
  add("--threads", threads, "N", "Threads at most; 0 (default): all");
  add("--isa", isa, "NAME", "Instruction set, see `qkv info`");
  add("--repeat", repeat, "R", "Measurements; default 10");
  app.add_flag("--json", request.json, "Print one JSON object")->disable_flag_override();
  parse_options(app, kExamples, argc, argv);

  if (op != "forward") throw usage("--op: " + in_quotes(op) + " is unknown; use forward");
  understand_shape(shape, request);
  request.kv_heads = kv_heads.empty() ? request.heads : parse_integer("--kv-heads", kv_heads);
  if (request.kv_heads <= 0 || request.heads % request.kv_heads != 0) {
    throw usage(fmt::format("--kv-heads: {} query heads are not a multiple of {}", request.heads,
                            request.kv_heads));
  }
  request.dtype = parse_dtype("--dtype", dtype);
  if (!is_floating(request.dtype) || request.dtype == DType::kFloat64) {
    throw usage("--dtype: use f32, f16 or bf16, not " + dtype);
  }
  request.threads = parse_threads(threads);
  request.repeat = parse_integer("--repeat", repeat);
  if (request.repeat < 1 || request.repeat > 100000) {
    throw usage("--repeat: " + repeat + " is out of range; pass 1 to 100000");
  }
  if (!isa.empty()) request.isa = parse_isa(isa);
  return request;
}

// Pairs of a query and a key that is live for it, of one head.
double live_pairs(const BenchRequest& request) {
  if (!request.causal) {
    return static_cast<double>(request.queries) * static_cast<double>(request.keys);
  }
  double pairs = 0;
  for (std::int64_t i = 0; i < request.queries; ++i) {
    const std::int64_t seen = i + request.keys - request.queries + 1;
    pairs += static_cast<double>(std::clamp(seen, std::int64_t{0}, request.keys));
  }
  return pairs;
}

double median(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  const std::size_t half = numbers.size() / 2;
  return numbers.size() % 2 == 1 ? numbers[half] : (numbers[half - 1] + numbers[half]) / 2;
}

struct Measurement {
  PlanDescription plan;
  double median_s = 0, min_s = 0, gflops = 0, peak_gflops = 0;
  double cpus = 0;  // CPU time over time
  const char* peak_kind = "";
  double best_gflops() const { return gflops * median_s / min_s; }
};

// Of all threads of this process.
double cpu_seconds() {
  struct timespec time = {};
  (void)::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Measurement measure(const BenchRequest& r) {
  random::Generator generator(1);
  const auto input = [&](std::int64_t heads, std::int64_t length, std::int64_t d) {
    const std::int64_t shape[] = {r.batch, heads, length, d};
    return draw(generator, r.dtype, shape);
  };
  const Tensor query = input(r.heads, r.queries, r.d_qk);
  const Tensor key = input(r.kv_heads, r.keys, r.d_qk);
  const Tensor value = input(r.kv_heads, r.keys, r.d_v);
  Tensor out;
  const std::int64_t shape[] = {r.batch, r.heads, r.queries, r.d_v};
  check(allocate(r.dtype, shape, out));

  AttentionOptions options;
  options.causal = r.causal;
  options.arithmetic = Arithmetic::kFloat32;
  AttentionOutputs outputs;
  outputs.out = out;
  const CancelScope cancel;
  Progress progress("bench");
  ExecutionOptions execution;
  execution.threads = r.threads;
  execution.isa = r.isa;
  execution.cancel = cancel.flag();
  AttentionPlan plan({query, key, value}, outputs, options, execution);

  Measurement result;
  result.plan = plan.description();
  const int peak_threads = std::min(result.plan.threads, available_threads());
  std::vector<double> seconds, peaks;
  double cpu = 0;
  plan.run();  // the first run touches new memory and wakes the threads
  for (std::int64_t i = 0; i < r.repeat; ++i) {
    const FmaPeak peak = measure_fma_peak(result.plan.isa, peak_threads);
    peaks.push_back(peak.gflops);
    result.peak_kind = peak.kind;
    const auto start = std::chrono::steady_clock::now();
    const double cpu_start = cpu_seconds();
    plan.run();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    cpu += cpu_seconds() - cpu_start;
    progress.update(static_cast<double>(i + 1) / static_cast<double>(r.repeat));
  }
  result.median_s = median(seconds);
  result.min_s = std::ranges::min(seconds);
  const double flops = 2.0 * static_cast<double>(r.batch) * static_cast<double>(r.heads) *
                       live_pairs(r) * static_cast<double>(r.d_qk + r.d_v);
  result.gflops = flops / result.median_s * 1e-9;
  result.peak_gflops = median(peaks);
  result.cpus = cpu / std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return result;
}

void print_text(const BenchRequest& r, const Measurement& m) {
  fmt::print("forward    {} [{}, {}, {}, {}, {}, {}], {} key head{}{}\n", name_of(r.dtype), r.batch,
             r.heads, r.queries, r.keys, r.d_qk, r.d_v, r.kv_heads, r.kv_heads == 1 ? "" : "s",
             r.causal ? ", causal" : "");
  fmt::print("kernel     {}, {} thread{}\n", m.plan.kernel, m.plan.threads,
             m.plan.threads == 1 ? "" : "s");
  fmt::print("time       {:.3f} ms median, {:.3f} ms least, of {}\n", m.median_s * 1e3,
             m.min_s * 1e3, r.repeat);
  fmt::print("speed      {:.1f} GFLOP/s\n", m.gflops);
  fmt::print(
      "of peak    {:.1f} %, {:.1f} % in the quickest run; the peak is {:.1f} GFLOP/s of {}\n",
      100 * m.gflops / m.peak_gflops, 100 * m.best_gflops() / m.peak_gflops, m.peak_gflops,
      m.peak_kind);
  const auto wanted = std::min<std::int64_t>(m.plan.threads, m.plan.tasks);
  if (m.cpus < 0.9 * static_cast<double>(wanted)) {
    fmt::print("busy       it had {:.2f} CPUs on average; other work takes some of this machine\n",
               m.cpus);
  }
}

void print_json(const BenchRequest& r, const Measurement& m) {
  const Json json = {{"op", "forward"},
                     {"shape", {r.batch, r.heads, r.queries, r.keys, r.d_qk, r.d_v}},
                     {"kv_heads", r.kv_heads},
                     {"dtype", name_of(r.dtype)},
                     {"causal", r.causal},
                     {"median_s", m.median_s},
                     {"min_s", m.min_s},
                     {"gflops", m.gflops},
                     {"peak_gflops", m.peak_gflops},
                     {"peak_kind", m.peak_kind},
                     {"peak_share", m.gflops / m.peak_gflops},
                     {"cpus", m.cpus},
                     {"best_peak_share", m.best_gflops() / m.peak_gflops},
                     {"isa", name_of(m.plan.isa)},
                     {"kernel", m.plan.kernel},
                     {"threads", m.plan.threads},
                     {"repeat", r.repeat},
                     {"cpu", cpu_name()},
                     {"version", version()}};
  fmt::print("{}\n", json.dump(2));
}

}  // namespace

int bench(int argc, const char* const* argv) {
  const BenchRequest request = parse_bench(argc, argv);
  const Measurement measurement = measure(request);
  if (request.json) {
    print_json(request, measurement);
  } else {
    print_text(request, measurement);
  }
  return kSuccess;
}

}  // namespace qkv::app
