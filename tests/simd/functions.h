// The vector functions of src/simd of every instruction set, callable on arrays.
#ifndef QKV_TESTS_SIMD_FUNCTIONS_H_
#define QKV_TESTS_SIMD_FUNCTIONS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "qkv/cpu.h"

namespace qkv::test {

// Each function works on `n` numbers, n a multiple of 16; masks are 1.0f and 0.0f.
struct VectorFunctions {
  Isa isa;
  int lanes;
  using Unary = void (*)(const float* x, float* y, std::size_t n);
  using Binary = void (*)(const float* a, const float* b, float* y, std::size_t n);
  Unary exp, tanh, exp_full, erf, log_float, log1p, abs, bits_to_exponent;
  Binary less, equal, max_number, min_number, copy_sign, add, multiply, divide;
  void (*fma)(const float* a, const float* b, const float* c, float* y, std::size_t n);
  void (*select)(const float* mask, const float* yes, const float* no, float* y, std::size_t n);
  void (*either_but_not)(const float* a, const float* b, float* either, float* but_not,
                         std::size_t n);
  bool (*all)(const float* mask);  // of the first `lanes`
  void (*load_float16)(const std::uint16_t* x, float* y, std::size_t n);
  void (*load_bfloat16)(const std::uint16_t* x, float* y, std::size_t n);
  void (*bit_set)(const std::uint32_t* words, std::uint32_t bit, float* mask, std::size_t n);
  void (*distance)(const std::int32_t* offsets, std::int32_t x, float* y, std::size_t n);
  // Arrays of four with n each: counters and words.
  void (*philox)(const std::uint32_t* const counter[4], std::uint64_t key,
                 std::uint32_t* const word[4], std::size_t n);
  // kept[4 * i + c] is whether query i keeps key 4 group + c, as 1.0f or 0.0f.
  void (*dropout_keeps)(const std::uint32_t* position, const std::uint32_t* head,
                        std::uint32_t stream, std::uint64_t seed, std::uint32_t group,
                        std::uint64_t threshold, float* kept, std::size_t n);
  // y [4][lanes] = the transpose of rows [lanes][4], row r at rows + r * stride.
  void (*load_transposed4)(const float* rows, std::size_t stride, float* y);
};

// Of the build's instruction sets, the slowest first.
std::vector<VectorFunctions> all_vector_functions();

// A test that runs once for each instruction set, and skips what this machine can't run.
class VectorTest : public ::testing::TestWithParam<VectorFunctions> {
 protected:
  void SetUp() override {
    const std::vector<Isa> usable = usable_isas();
    if (std::find(usable.begin(), usable.end(), GetParam().isa) == usable.end()) {
      GTEST_SKIP() << "this machine can't run " << name_of(GetParam().isa);
    }
  }
};

inline std::string isa_name(const ::testing::TestParamInfo<VectorFunctions>& info) {
  return std::string(name_of(info.param.isa));
}

// For the names of parameters in messages.
inline void PrintTo(const VectorFunctions& functions, std::ostream* stream) {
  *stream << name_of(functions.isa);
}

}  // namespace qkv::test

#endif  // QKV_TESTS_SIMD_FUNCTIONS_H_
