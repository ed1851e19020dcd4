// What the small functions return: those of the C++ library.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "c/in_c.h"
#include "qkv/contract.h"
#include "qkv/matmul.h"
#include "qkv/random.h"

namespace qkv::test {
namespace {

TEST(CLibrary, VersionContractAndMachine) {
  EXPECT_EQ(qkv_version(), version());
  EXPECT_EQ(qkv_version(), qkv_version());
  EXPECT_EQ(qkv_cpu_name(), cpu_name());
  qkv_contract contract_in_c;
  qkv_contract_init(&contract_in_c);
  EXPECT_OK(qkv_get_contract(&contract_in_c));
  EXPECT_EQ(contract_in_c.name, contract().name);
  EXPECT_EQ(contract_in_c.version, contract().version);
  EXPECT_EQ(contract_in_c.block, contract().block);
  EXPECT_EQ(contract_in_c.span, contract().span);
  EXPECT_EQ(contract_in_c.group, contract().group);
}

TEST(CLibrary, Isas) {
  const auto numbers = [](const std::vector<Isa>& isas) {
    std::vector<std::int32_t> result;
    for (Isa isa : isas) result.push_back(static_cast<std::int32_t>(isa));
    return result;
  };
  for (auto [list, expected] : {std::pair(&qkv_built_isas, numbers(built_isas())),
                                std::pair(&qkv_usable_isas, numbers(usable_isas()))}) {
    std::int64_t count = -1;
    EXPECT_OK(list(nullptr, 0, &count));
    EXPECT_EQ(count, static_cast<std::int64_t>(expected.size()));
    std::vector<std::int32_t> got(expected.size() + 2, -9);
    EXPECT_OK(list(got.data(), static_cast<std::int64_t>(got.size()), &count));
    expected.push_back(-9);
    expected.push_back(-9);
    EXPECT_EQ(got, expected);
    // Room for one.
    std::int32_t one[2] = {-9, -9};
    EXPECT_OK(list(one, 1, &count));
    EXPECT_EQ(one[0], expected[0]);
    EXPECT_EQ(one[1], -9);
  }
  for (std::int32_t isa = 0; isa <= QKV_ISA_AVX512; ++isa) {
    std::int32_t again = -1;
    EXPECT_EQ(qkv_isa_name(isa), name_of(static_cast<Isa>(isa)));
    EXPECT_OK(qkv_isa_from_name(qkv_isa_name(isa), &again));
    EXPECT_EQ(again, isa);
  }
  EXPECT_EQ(qkv_isa_name(-1), nullptr);
  EXPECT_EQ(qkv_isa_name(QKV_ISA_AVX512 + 1), nullptr);
}

TEST(CLibrary, DTypes) {
  for (std::int32_t dtype = 0; dtype <= QKV_INT64; ++dtype) {
    const auto in_cc = static_cast<DType>(dtype);
    std::int32_t again = -1;
    EXPECT_EQ(qkv_dtype_name(dtype), name_of(in_cc));
    EXPECT_EQ(qkv_dtype_size(dtype), static_cast<std::int64_t>(size_of(in_cc)));
    EXPECT_EQ(qkv_dtype_is_floating(dtype), is_floating(in_cc) ? 1 : 0);
    EXPECT_OK(qkv_dtype_from_name(qkv_dtype_name(dtype), &again));
    EXPECT_EQ(again, dtype);
  }
  for (std::int32_t dtype : {-1, QKV_INT64 + 1, 255}) {
    EXPECT_EQ(qkv_dtype_name(dtype), nullptr);
    EXPECT_EQ(qkv_dtype_size(dtype), 0);
    EXPECT_EQ(qkv_dtype_is_floating(dtype), 0);
  }
  std::int32_t dtype = -1;
  EXPECT_FAILS(qkv_dtype_from_name("complex64", &dtype), QKV_INVALID_ARGUMENT, "'complex64'");
  EXPECT_EQ(dtype, -1);
}

TEST(CLibrary, Slopes) {
  for (std::int64_t heads : {1, 2, 7, 8, 12, 100}) {
    std::vector<float> slopes(static_cast<std::size_t>(heads) + 1, -9.0F);
    EXPECT_OK(qkv_alibi_slopes(heads, slopes.data()));
    EXPECT_EQ(slopes.back(), -9.0F);
    slopes.pop_back();
    EXPECT_EQ(slopes, alibi_slopes(heads));
  }
}

TEST(CMatmul, BitsOfTheCppLibrary) {
  random::Generator generator(1);
  std::vector<float> a(2 * 5 * 70), b(70 * 9), out(2 * 5 * 9), expected(2 * 5 * 9);
  for (float& x : a) x = static_cast<float>(generator.normal());
  for (float& x : b) x = static_cast<float>(generator.normal());
  const TensorView left(a.data(), {2, 5, 70}), right(b.data(), {9, 70});
  matmul(left, right.transposed(0, 1), MutableTensorView(expected.data(), {2, 5, 9}));

  const qkv_tensor a_in_c = tensor_in_c(a.data(), DType::kFloat32, {2, 5, 70});
  qkv_tensor b_in_c = tensor_in_c(b.data(), DType::kFloat32, {70, 9});
  b_in_c.strides[0] = 1;
  b_in_c.strides[1] = 70;
  const qkv_tensor out_in_c = tensor_in_c(out.data(), DType::kFloat32, {2, 5, 9});
  qkv_execution execution;
  qkv_execution_init(&execution);
  execution.threads = 2;
  EXPECT_OK(qkv_matmul(&a_in_c, &b_in_c, &out_in_c, &execution));
  EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * 4), 0);
  b_in_c.extents[0] = 69;
  EXPECT_FAILS(qkv_matmul(&a_in_c, &b_in_c, &out_in_c, nullptr), QKV_INVALID_ARGUMENT, "a ");
}

class CGenerator : public ::testing::Test {
 protected:
  CGenerator() { EXPECT_OK(qkv_generator_create(42, &c_)); }
  ~CGenerator() override { qkv_generator_destroy(c_); }

  qkv_generator* c_ = nullptr;
  random::Generator in_cc_{42};
};

TEST_F(CGenerator, OneStreamOfAllKinds) {
  for (int round = 0; round < 3; ++round) {
    std::vector<double> doubles(1000), expected(1000);
    std::vector<std::int64_t> integers(1000), expected_integers(1000);
    EXPECT_OK(qkv_generator_random(c_, doubles.data(), 1000));
    in_cc_.random(expected);
    EXPECT_EQ(doubles, expected);
    EXPECT_OK(qkv_generator_normal(c_, doubles.data(), 1000, -2, 3));
    in_cc_.normal(expected, -2, 3);
    EXPECT_EQ(doubles, expected);
    for (const auto& [low, high] :
         {std::pair<std::int64_t, std::int64_t>(-5, 7), std::pair<std::int64_t, std::int64_t>(0, 1),
          std::pair(std::numeric_limits<std::int64_t>::min(),
                    std::numeric_limits<std::int64_t>::max())}) {
      EXPECT_OK(qkv_generator_integers(c_, integers.data(), 1000, low, high));
      in_cc_.integers(expected_integers, low, high);
      EXPECT_EQ(integers, expected_integers);
    }
    EXPECT_OK(qkv_generator_permutation(c_, integers.data(), 999));
    expected_integers = in_cc_.permutation(999);
    expected_integers.push_back(integers.back());
    EXPECT_EQ(integers, expected_integers);
  }
}

TEST_F(CGenerator, WordsOfEntropy) {
  const std::vector<std::uint32_t> words = {1, 2, 3, 4, 5};
  for (std::size_t count : {0, 1, 5}) {
    qkv_generator* generator = nullptr;
    EXPECT_OK(qkv_generator_create_from_words(words.data(), static_cast<std::int64_t>(count),
                                              &generator));
    const std::span<const std::uint32_t> entropy = std::span(words).first(count);
    random::Generator expected(entropy);
    double number = 0;
    EXPECT_OK(qkv_generator_random(generator, &number, 1));
    EXPECT_EQ(number, expected.random());
    qkv_generator_destroy(generator);
  }
}

TEST_F(CGenerator, CopiesContinueApart) {
  double number = 0, again = 0;
  EXPECT_OK(qkv_generator_random(c_, &number, 1));
  qkv_generator* copy = nullptr;
  EXPECT_OK(qkv_generator_copy(c_, &copy));
  EXPECT_OK(qkv_generator_random(c_, &number, 1));
  EXPECT_OK(qkv_generator_random(copy, &again, 1));
  EXPECT_EQ(number, again);
  qkv_generator_destroy(copy);
}

TEST_F(CGenerator, RangesWithoutNumbersAreRefusedWithoutADraw) {
  std::int64_t integer = 77;
  double number = 77;
  EXPECT_FAILS(qkv_generator_integers(c_, &integer, 1, 3, 3), QKV_INVALID_ARGUMENT, "low, high");
  EXPECT_FAILS(qkv_generator_integers(c_, &integer, 1, 3, -3), QKV_INVALID_ARGUMENT, "low, high");
  EXPECT_FAILS(qkv_generator_normal(c_, &number, 1, 0, -1), QKV_INVALID_ARGUMENT, "deviation");
  EXPECT_FAILS(qkv_generator_normal(c_, &number, 1, 0, std::nan("")), QKV_INVALID_ARGUMENT,
               "deviation");
  EXPECT_FAILS(qkv_generator_permutation(c_, &integer, -1), QKV_INVALID_ARGUMENT, "out");
  EXPECT_EQ(integer, 77);
  EXPECT_EQ(number, 77);
  EXPECT_OK(qkv_generator_random(c_, &number, 1));
  EXPECT_EQ(number, in_cc_.random());
}

}  // namespace
}  // namespace qkv::test
