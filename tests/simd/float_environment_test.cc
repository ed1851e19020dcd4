// FloatEnvironment: the contract's mode while it lives, the caller's mode and flags afterwards.
#include "simd/float_environment.h"

#include <gtest/gtest.h>

#include <cfenv>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace qkv::test {
namespace {

float volatile one = 1.0f, three = 3.0f, tiny = 0x1p-140f;

TEST(FloatEnvironment, SetsAndRestoresRounding) {
  for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    float quotient = 0;
    {
      const FloatEnvironment environment;
      quotient = one / three;
    }
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(after, mode);
    EXPECT_EQ(quotient, 0x1.555556p-2f);
  }
}

TEST(FloatEnvironment, RestoresFlags) {
  std::feclearexcept(FE_ALL_EXCEPT);
  {
    const FloatEnvironment environment;
    [[maybe_unused]] const float inexact = one / three;
  }
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0) << "the caller saw a flag of ours";
  std::feraiseexcept(FE_OVERFLOW);
  {
    const FloatEnvironment environment;
  }
  EXPECT_NE(std::fetestexcept(FE_OVERFLOW), 0) << "the caller lost a flag";
  std::feclearexcept(FE_ALL_EXCEPT);
}

#if defined(__x86_64__)
TEST(FloatEnvironment, KeepsSubnormalsAndNests) {
  const unsigned before = _mm_getcsr(), flushing = before | 0x8040;
  _mm_setcsr(flushing);
  float outside = tiny * one, inside = 0, nested = 0;
  {
    const FloatEnvironment environment;
    inside = tiny * one;
    {
      const FloatEnvironment again;
      nested = tiny * one;
    }
    nested += tiny * one;
  }
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after & ~0x3fu, flushing & ~0x3fu);
  EXPECT_EQ(outside, 0.0f);
  EXPECT_EQ(inside, 0x1p-140f);
  EXPECT_EQ(nested, 0x1p-139f);
}
#endif

}  // namespace
}  // namespace qkv::test
