#include "qkv/positions.h"

#include <new>
#include <string>

#include "api/callbacks.h"
#include "plan/rotation.h"
#include "positions/positions.h"
#include "positions/relative.h"
#include "positions/rotary.h"

namespace qkv {
namespace {

void run(const Rotation& rotation, const ExecutionOptions& execution) {
  CallbackGuard callbacks;
  ExecutionOptions guarded = execution;
  callbacks.wrap(guarded);
  const Status status = run_rotation(rotation, guarded, callbacks.stop());
  callbacks.rethrow();
  throw_if_error(status);
}

std::vector<double> numbers(std::int64_t count) {
  try {
    return std::vector<double>(static_cast<std::size_t>(count));
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("no memory for " + std::to_string(count) + " frequencies");
  }
}

}  // namespace

std::vector<double> sinusoidal_frequencies(std::int64_t d, double base) {
  throw_if_error(check_frequencies(d, base));
  std::vector<double> frequencies = numbers(d / 2 + d % 2);
  throw_if_error(fill_frequencies(d, base, frequencies));
  return frequencies;
}

void fourier_features(std::span<const double> x, std::span<const double> frequencies,
                      const MutableTensorView& out) {
  throw_if_error(fill_fourier_features(x, frequencies, out));
}

Tensor sinusoidal_positions(std::int64_t first, std::int64_t count, std::int64_t d, double base) {
  throw_if_error(check_frequencies(d, base));
  const std::int64_t shape[] = {count, d};
  Tensor out;
  throw_if_error(allocate(DType::kFloat32, shape, out));
  throw_if_error(fill_sinusoidal_positions(first, base, out));
  return out;
}

RotaryFrequencies rotary_frequencies(std::int64_t r, const RotaryOptions& options) {
  throw_if_error(check_rotary(r, options));
  RotaryFrequencies frequencies;
  frequencies.values = numbers(r / 2);
  throw_if_error(fill_rotary_frequencies(r, options, frequencies.values, frequencies.magnitude));
  return frequencies;
}

RotaryTables rotary_tables(const TensorView& positions, const RotaryFrequencies& frequencies) {
  throw_if_error(check_positions(positions));
  std::vector<std::int64_t> shape(positions.extents.begin(),
                                  positions.extents.begin() + positions.rank);
  shape.push_back(static_cast<std::int64_t>(frequencies.values.size()));
  RotaryTables tables;
  throw_if_error(allocate(DType::kFloat32, shape, tables.cosines));
  throw_if_error(allocate(DType::kFloat32, shape, tables.sines));
  throw_if_error(fill_rotary_tables(positions, frequencies.values, frequencies.magnitude,
                                    tables.cosines, tables.sines));
  return tables;
}

void rotate(const TensorView& x, const TensorView& cosines, const TensorView& sines,
            RotaryLayout layout, const MutableTensorView& out, const ExecutionOptions& execution) {
  run({x, cosines, sines, layout, out}, execution);
}

void rotate_gradient(const TensorView& d_out, const TensorView& cosines, const TensorView& sines,
                     RotaryLayout layout, const MutableTensorView& d_x,
                     const ExecutionOptions& execution) {
  run({d_out, cosines, sines, layout, d_x, true}, execution);
}

std::int64_t relative_position_bucket(std::int64_t distance, const RelativeBuckets& buckets) {
  std::int64_t bucket = 0;
  throw_if_error(find_bucket(distance, buckets, bucket));
  return bucket;
}

Tensor relative_bias(const TensorView& table, std::int64_t queries, std::int64_t keys,
                     const RelativeBuckets& buckets, std::optional<std::int64_t> query_offset) {
  throw_if_error(check_relative_table(table, buckets));
  RelativePairs pairs;
  throw_if_error(make_pairs(queries, keys, query_offset, pairs));
  const std::int64_t heads = table.extents[1], shape[] = {heads, pairs.count()};
  Tensor numbers;
  throw_if_error(allocate(DType::kFloat32, shape, numbers));
  throw_if_error(fill_relative_bias(table, pairs, buckets, numbers.data<float>()));
  return Tensor(numbers.storage(), toeplitz(numbers.data<float>(), heads, pairs));
}

Tensor relative_bias_gradient(const TensorView& d_bias, const RelativeBuckets& buckets,
                              std::optional<std::int64_t> query_offset) {
  throw_if_error(check_buckets(buckets));
  const std::int64_t heads = d_bias.rank == 3 ? d_bias.extents[0] : 0;
  const std::int64_t shape[] = {buckets.buckets, heads};
  Tensor d_table;
  throw_if_error(allocate(DType::kFloat32, shape, d_table));
  throw_if_error(fill_relative_gradient(d_bias, buckets, query_offset, d_table));
  return d_table;
}

}  // namespace qkv
