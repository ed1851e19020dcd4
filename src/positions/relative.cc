#include "positions/relative.h"

#include <algorithm>
#include <string>
#include <vector>

#include "problem/checks.h"
#include "simd/float_environment.h"
#include "simd/log.h"
#include "tensor/element.h"

namespace qkv {
namespace {

using std::to_string;

constexpr std::int64_t kMaxBuckets = std::int64_t{1} << 24;  // whole numbers up to it are floats
constexpr std::int64_t kMaxDistance = std::int64_t{1} << 53;
constexpr std::int64_t kMaxPlace = std::int64_t{1} << 61;  // as for positions of attention

std::int64_t buckets_each_way(const RelativeBuckets& b) {
  return b.bidirectional ? b.buckets / 2 : b.buckets;
}

// In a FloatEnvironment, for buckets that were checked.
std::int64_t bucket_of(std::int64_t distance, const RelativeBuckets& b) {
  const std::int64_t each = buckets_each_way(b), exact = each / 2;
  const bool after = distance > 0;  // the key is
  if (after && !b.bidirectional) return 0;
  const std::uint64_t n = after ? static_cast<std::uint64_t>(distance)
                                : std::uint64_t{0} - static_cast<std::uint64_t>(distance);
  const std::int64_t first = after ? each : 0;
  if (n < static_cast<std::uint64_t>(exact)) return first + static_cast<std::int64_t>(n);
  // In float32, as models were trained.
  const float ratio = static_cast<float>(n) / static_cast<float>(exact);
  const auto most =
      static_cast<float>(log(static_cast<double>(b.max_distance) / static_cast<double>(exact)));
  const auto wide = static_cast<float>(each - exact);
  const float step = static_cast<float>(log(double{ratio})) / most * wide;
  if (!(step < wide)) return first + each - 1;
  return first + std::min(exact + static_cast<std::int64_t>(step), each - 1);
}

// The buckets of all distances, by rising distance.
std::vector<std::int64_t> buckets_of(const RelativePairs& pairs, const RelativeBuckets& buckets) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(pairs.count()));
  for (std::size_t n = 0; n < all.size(); ++n) {
    all[n] = bucket_of(pairs.first() + static_cast<std::int64_t>(n), buckets);
  }
  return all;
}

Status check_table_shape(const char* name, const TensorView& table,
                         const RelativeBuckets& buckets) {
  if (!table.defined()) return invalid_argument(std::string(name) + ": absent; pass a tensor");
  if (Status s = check_view(name, table); !s.ok()) return s;
  if (table.rank != 2 || table.dtype != DType::kFloat32 || table.extents[0] != buckets.buckets) {
    return invalid_argument(std::string(name) + ": " + describe(table) + " does not fit " +
                            to_string(buckets.buckets) + " buckets; it must be float32 [" +
                            to_string(buckets.buckets) + ", heads]");
  }
  return check_pointer(name, table);
}

}  // namespace

Status check_buckets(const RelativeBuckets& b) {
  const std::int64_t least = b.bidirectional ? 4 : 2;
  if (b.buckets < least || b.buckets > kMaxBuckets || (b.bidirectional && b.buckets % 2 != 0)) {
    return invalid_argument("buckets: " + to_string(b.buckets) + " can't be shared out; pass " +
                            (b.bidirectional ? "an even number from 4" : "a number from 2") +
                            " to 2^24");
  }
  const std::int64_t exact = buckets_each_way(b) / 2;
  if (b.max_distance <= exact || b.max_distance > kMaxDistance) {
    return invalid_argument("max_distance: " + to_string(b.max_distance) + " with " +
                            to_string(b.buckets) + " buckets, " + to_string(exact) +
                            " of them for the nearest distances; pass more than that, to 2^53");
  }
  return {};
}

Status find_bucket(std::int64_t distance, const RelativeBuckets& buckets, std::int64_t& bucket) {
  if (Status s = check_buckets(buckets); !s.ok()) return s;
  const FloatEnvironment environment;
  bucket = bucket_of(distance, buckets);
  return {};
}

Status make_pairs(std::int64_t queries, std::int64_t keys,
                  const std::optional<std::int64_t>& query_offset, RelativePairs& pairs) {
  for (const auto& [name, count] : {std::pair("queries", queries), std::pair("keys", keys)}) {
    if (count < 0 || count > kMaxPlace) {
      return invalid_argument(std::string(name) + ": " + to_string(count) +
                              " is no number of tokens; pass 0 or more");
    }
  }
  const std::int64_t offset = query_offset.value_or(keys - queries);
  if (offset < -kMaxPlace || offset > kMaxPlace) {
    return invalid_argument("query_offset: " + to_string(offset) +
                            " is out of range; stay between -2^61 and 2^61");
  }
  pairs = {queries, keys, offset};
  return {};
}

Status check_relative_table(const TensorView& table, const RelativeBuckets& buckets) {
  if (Status s = check_buckets(buckets); !s.ok()) return s;
  return check_table_shape("table", table, buckets);
}

Status fill_relative_bias(const TensorView& table, const RelativePairs& pairs,
                          const RelativeBuckets& buckets, float* numbers) {
  if (Status s = check_relative_table(table, buckets); !s.ok()) return s;
  const FloatEnvironment environment;
  const std::vector<std::int64_t> all = buckets_of(pairs, buckets);
  for (std::int64_t h = 0; h < table.extents[1]; ++h) {
    for (const std::int64_t bucket : all) {
      *numbers++ = load_float(table, bucket * table.strides[0] + h * table.strides[1]);
    }
  }
  return {};
}

MutableTensorView toeplitz(float* numbers, std::int64_t heads, const RelativePairs& pairs) {
  MutableTensorView view(numbers, {heads, pairs.queries, pairs.keys});
  // Query 0 has the largest distances: it starts queries - 1 numbers in, the others before it.
  if (pairs.count() != 0) view.data = numbers + (pairs.queries - 1);
  view.strides = {pairs.count(), -1, 1};
  return view;
}

Status fill_relative_gradient(const TensorView& d_bias, const RelativeBuckets& buckets,
                              const std::optional<std::int64_t>& query_offset,
                              const MutableTensorView& d_table) {
  if (Status s = check_buckets(buckets); !s.ok()) return s;
  if (!d_bias.defined()) return invalid_argument("d_bias: absent; pass a tensor");
  if (Status s = check_view("d_bias", d_bias); !s.ok()) return s;
  if (d_bias.rank != 3 || d_bias.dtype != DType::kFloat32) {
    return invalid_argument("d_bias: " + describe(d_bias) +
                            " is no gradient of a bias; pass float32 [heads, queries, keys]");
  }
  if (Status s = check_table_shape("d_table", d_table, buckets); !s.ok()) return s;
  const std::int64_t heads = d_bias.extents[0];
  if (d_table.extents[1] != heads) {
    return invalid_argument("d_bias " + shape_string(d_bias) + " and d_table " +
                            shape_string(d_table) + " must have the same number of heads");
  }
  RelativePairs pairs;
  if (Status s = make_pairs(d_bias.extents[1], d_bias.extents[2], query_offset, pairs); !s.ok()) {
    return s;
  }
  const NamedView inputs[] = {{"d_bias", d_bias}};
  const NamedView outputs[] = {{"d_table", d_table}};
  if (Status s = check_memory(inputs, outputs); !s.ok()) return s;
  const FloatEnvironment environment;
  const std::vector<std::int64_t> all = buckets_of(pairs, buckets);
  std::vector<double> of_distance(all.size()), of_bucket(static_cast<std::size_t>(buckets.buckets));
  for (std::int64_t h = 0; h < heads; ++h) {
    std::fill(of_distance.begin(), of_distance.end(), 0.0);
    std::fill(of_bucket.begin(), of_bucket.end(), 0.0);
    if (!all.empty()) {
      for (std::int64_t i = 0; i < pairs.queries; ++i) {
        double* sums = of_distance.data() + (pairs.queries - 1 - i);
        const std::int64_t row = h * d_bias.strides[0] + i * d_bias.strides[1];
        for (std::int64_t j = 0; j < pairs.keys; ++j) {
          sums[j] += double{load_float(d_bias, row + j * d_bias.strides[2])};
        }
      }
    }
    for (std::size_t n = 0; n < all.size(); ++n) {
      of_bucket[static_cast<std::size_t>(all[n])] += of_distance[n];
    }
    for (std::int64_t bucket = 0; bucket < buckets.buckets; ++bucket) {
      store_result(d_table, bucket * d_table.strides[0] + h * d_table.strides[1],
                   of_bucket[static_cast<std::size_t>(bucket)]);
    }
  }
  return {};
}

}  // namespace qkv
