#include "qkv/random.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "boundary.h"
#include "convert.h"

using qkv::Status;
using namespace qkv::c;

struct qkv_generator {
  qkv::random::Generator generator;
};

namespace {

// Runs draw(generator, out) over the `count` numbers at `out`.
template <class T, class Draw>
qkv_status fill(qkv_generator* generator, T* out, std::int64_t count, const Draw& draw) {
  return guarded([&]() -> Status {
    if (generator == nullptr) return null_argument("generator");
    std::span<T> numbers;
    if (Status s = to_span("out", out, count, numbers); !s.ok()) return s;
    return draw(generator->generator, numbers);
  });
}

}  // namespace

qkv_status qkv_generator_create(uint64_t seed, qkv_generator** generator) {
  return guarded([&]() -> Status {
    if (generator == nullptr) return null_argument("generator");
    *generator = nullptr;
    *generator = new qkv_generator{qkv::random::Generator(seed)};
    return {};
  });
}

qkv_status qkv_generator_create_from_words(const uint32_t* words, int64_t count,
                                           qkv_generator** generator) {
  return guarded([&]() -> Status {
    if (generator == nullptr) return null_argument("generator");
    *generator = nullptr;
    std::span<const std::uint32_t> entropy;
    if (Status s = to_span("words", words, count, entropy); !s.ok()) return s;
    *generator = new qkv_generator{qkv::random::Generator(entropy)};
    return {};
  });
}

qkv_status qkv_generator_copy(const qkv_generator* generator, qkv_generator** copy) {
  return guarded([&]() -> Status {
    if (copy == nullptr) return null_argument("copy");
    *copy = nullptr;
    if (generator == nullptr) return null_argument("generator");
    *copy = new qkv_generator{*generator};
    return {};
  });
}

qkv_status qkv_generator_random(qkv_generator* generator, double* out, int64_t count) {
  return fill(generator, out, count,
              [](qkv::random::Generator& from, std::span<double> numbers) -> Status {
                from.random(numbers);
                return {};
              });
}

qkv_status qkv_generator_normal(qkv_generator* generator, double* out, int64_t count, double mean,
                                double deviation) {
  return fill(generator, out, count,
              [&](qkv::random::Generator& from, std::span<double> numbers) -> Status {
                if (!(deviation >= 0)) {
                  return qkv::invalid_argument("deviation: " + std::to_string(deviation) +
                                               " is below 0 or NaN; pass 0 or more");
                }
                from.normal(numbers, mean, deviation);
                return {};
              });
}

qkv_status qkv_generator_integers(qkv_generator* generator, int64_t* out, int64_t count,
                                  int64_t low, int64_t high) {
  return fill(generator, out, count,
              [&](qkv::random::Generator& from, std::span<std::int64_t> numbers) -> Status {
                if (low >= high) {
                  return qkv::invalid_argument("low, high: there is no number from " +
                                               std::to_string(low) + " to below " +
                                               std::to_string(high));
                }
                from.integers(numbers, low, high);
                return {};
              });
}

qkv_status qkv_generator_permutation(qkv_generator* generator, int64_t* out, int64_t count) {
  return fill(generator, out, count,
              [](qkv::random::Generator& from, std::span<std::int64_t> numbers) -> Status {
                const std::vector<std::int64_t> shuffled =
                    from.permutation(static_cast<std::int64_t>(numbers.size()));
                std::copy(shuffled.begin(), shuffled.end(), numbers.begin());
                return {};
              });
}

void qkv_generator_destroy(qkv_generator* generator) { delete generator; }
