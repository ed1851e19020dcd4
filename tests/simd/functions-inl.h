// The body of functions_<instruction set>.cc, which defines QKV_TARGET and this function's name.
#ifndef QKV_TESTS_SIMD_FUNCTIONS_INL_H_
#define QKV_TESTS_SIMD_FUNCTIONS_INL_H_

#include "simd/functions.h"
#include "simd/math-inl.h"
#include "simd/philox-inl.h"

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

inline M mask_of(const float* x) { return less(zero(), load(x)); }
inline V as_numbers(M mask) { return select(mask, set(1.0f), zero()); }

#define QKV_TEST_UNARY(name)                                                     \
  inline void name##_of(const float* x, float* y, std::size_t n) {               \
    for (std::size_t i = 0; i < n; i += kLanes) store(name(load(x + i)), y + i); \
  }
#define QKV_TEST_BINARY(name, expression)                                          \
  inline void name##_of(const float* x, const float* z, float* y, std::size_t n) { \
    for (std::size_t i = 0; i < n; i += kLanes) {                                  \
      const V a = load(x + i), b = load(z + i);                                    \
      store(expression, y + i);                                                    \
    }                                                                              \
  }

QKV_TEST_UNARY(exp)
QKV_TEST_UNARY(tanh)
QKV_TEST_UNARY(exp_full)
QKV_TEST_UNARY(erf)
QKV_TEST_UNARY(log_float)
QKV_TEST_UNARY(log1p)
QKV_TEST_UNARY(abs)
QKV_TEST_UNARY(bits_to_exponent)
QKV_TEST_BINARY(less, as_numbers(less(a, b)))
QKV_TEST_BINARY(equal, as_numbers(equal(a, b)))
QKV_TEST_BINARY(max_number, max_number(a, b))
QKV_TEST_BINARY(min_number, min_number(a, b))
QKV_TEST_BINARY(copy_sign, copy_sign(a, b))
QKV_TEST_BINARY(add, a + b)
QKV_TEST_BINARY(multiply, a* b)
QKV_TEST_BINARY(divide, a / b)

#undef QKV_TEST_UNARY
#undef QKV_TEST_BINARY

inline void fma_of(const float* a, const float* b, const float* c, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; i += kLanes) {
    store(fma(load(a + i), load(b + i), load(c + i)), y + i);
  }
}

inline void select_of(const float* mask, const float* yes, const float* no, float* y,
                      std::size_t n) {
  for (std::size_t i = 0; i < n; i += kLanes) {
    store(select(mask_of(mask + i), load(yes + i), load(no + i)), y + i);
  }
}

inline void either_but_not_of(const float* a, const float* b, float* or_result, float* not_result,
                              std::size_t n) {
  for (std::size_t i = 0; i < n; i += kLanes) {
    store(as_numbers(either(mask_of(a + i), mask_of(b + i))), or_result + i);
    store(as_numbers(but_not(mask_of(a + i), mask_of(b + i))), not_result + i);
  }
}

inline bool all_of(const float* mask) { return all(mask_of(mask)); }

inline void load_float16_of(const std::uint16_t* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; i += kLanes) store(load_float16(x + i), y + i);
}

inline void load_bfloat16_of(const std::uint16_t* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; i += kLanes) store(load_bfloat16(x + i), y + i);
}

inline void bit_set_of(const std::uint32_t* words, std::uint32_t bit, float* mask, std::size_t n) {
  for (std::size_t i = 0; i < n; i += kLanes) store(as_numbers(bit_set(words + i, bit)), mask + i);
}

inline void distance_of(const std::int32_t* offsets, std::int32_t x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; i += kLanes) store(distance(offsets + i, x), y + i);
}

inline void load_transposed4_of(const float* rows, std::size_t stride, float* y) {
  V columns[4];
  load_transposed4([&](int r) { return rows + static_cast<std::size_t>(r) * stride; }, columns);
  for (int c = 0; c < 4; ++c) store(columns[c], y + c * kLanes);
}

inline void philox_of(const std::uint32_t* const counter[4], std::uint64_t key,
                      std::uint32_t* const word[4], std::size_t n) {
  for (std::size_t i = 0; i < n; i += kLanes) {
    const U x[4] = {load_words(counter[0] + i), load_words(counter[1] + i),
                    load_words(counter[2] + i), load_words(counter[3] + i)};
    U y[4];
    philox(x, key, y);
    for (int c = 0; c < 4; ++c) store_words(y[c], word[c] + i);
  }
}

inline void dropout_keeps_of(const std::uint32_t* position, const std::uint32_t* head,
                             std::uint32_t stream, std::uint64_t seed, std::uint32_t group,
                             std::uint64_t threshold, float* kept, std::size_t n) {
  for (std::size_t i = 0; i < n; i += kLanes) {
    M mask[4];
    dropout_keeps(load_words(position + i), load_words(head + i), stream, seed, group, threshold,
                  mask);
    for (std::size_t c = 0; c < 4; ++c) {
      float numbers[kLanes];
      store(as_numbers(mask[c]), numbers);
      for (std::size_t lane = 0; lane < kLanes; ++lane) kept[4 * (i + lane) + c] = numbers[lane];
    }
  }
}

inline test::VectorFunctions vector_functions(Isa isa) {
  return {.isa = isa,
          .lanes = kLanes,
          .exp = exp_of,
          .tanh = tanh_of,
          .exp_full = exp_full_of,
          .erf = erf_of,
          .log_float = log_float_of,
          .log1p = log1p_of,
          .abs = abs_of,
          .bits_to_exponent = bits_to_exponent_of,
          .less = less_of,
          .equal = equal_of,
          .max_number = max_number_of,
          .min_number = min_number_of,
          .copy_sign = copy_sign_of,
          .add = add_of,
          .multiply = multiply_of,
          .divide = divide_of,
          .fma = fma_of,
          .select = select_of,
          .either_but_not = either_but_not_of,
          .all = all_of,
          .load_float16 = load_float16_of,
          .load_bfloat16 = load_bfloat16_of,
          .bit_set = bit_set_of,
          .distance = distance_of,
          .philox = philox_of,
          .dropout_keeps = dropout_keeps_of,
          .load_transposed4 = load_transposed4_of};
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_TESTS_SIMD_FUNCTIONS_INL_H_
