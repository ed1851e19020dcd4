// Positions against the paper's formula, against mpmath (tests/simd/expected.h), and what is
// refused.
#include "qkv/positions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "simd/expected.h"
#include "support/caller_environment.h"
#include "support/sanitizers.h"

namespace qkv::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<float> features(const std::vector<double>& x, const std::vector<double>& frequencies) {
  std::vector<float> out(2 * x.size() * frequencies.size());
  fourier_features(
      x, frequencies,
      MutableTensorView(out.data(), {static_cast<std::int64_t>(x.size()),
                                     static_cast<std::int64_t>(2 * frequencies.size())}));
  return out;
}

TEST(Positions, FrequenciesAreThoseOfThePaper) {
  EXPECT_EQ(sinusoidal_frequencies(4), (std::vector<double>{1, 0.01}));
  EXPECT_EQ(sinusoidal_frequencies(1), (std::vector<double>{1}));
  EXPECT_EQ(sinusoidal_frequencies(6, 1), (std::vector<double>{1, 1, 1}));
  for (std::int64_t d : {1, 2, 3, 7, 64, 513}) {
    for (double base : {10000.0, 500000.0, 1.5, 1e300}) {
      const std::vector<double> frequencies = sinusoidal_frequencies(d, base);
      ASSERT_EQ(static_cast<std::int64_t>(frequencies.size()), (d + 1) / 2);
      for (std::size_t i = 0; i < frequencies.size(); ++i) {
        const double right = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(d));
        // The exponent of the formula is rounded here, and counts up to log(base) times.
        EXPECT_NEAR(frequencies[i], right, right * 3e-13) << d << " " << base << " " << i;
      }
    }
  }
}

TEST(Positions, SinusoidalPositionsAreThoseOfThePaper) {
  for (std::int64_t d : {1, 2, 5, 64}) {
    for (std::int64_t first : {0, -3, 100000}) {
      const Tensor out = sinusoidal_positions(first, 20, d);
      ASSERT_EQ(describe(out), "float32 [20, " + std::to_string(d) + "]");
      for (std::int64_t n = 0; n < 20; ++n) {
        for (std::int64_t c = 0; c < d; ++c) {
          const double angle =
              static_cast<double>(first + n) /
              std::pow(10000.0, static_cast<double>(c / 2 * 2) / static_cast<double>(d));
          EXPECT_NEAR(out.data<float>()[n * d + c], c % 2 == 0 ? std::sin(angle) : std::cos(angle),
                      6e-8)
              << d << ": " << first + n << " " << c;
        }
      }
    }
  }
  const Tensor two = sinusoidal_positions(0, 2, 4);
  const float* rows = two.data<float>();
  EXPECT_EQ(
      (std::vector<float>(rows, rows + 8)),
      (std::vector<float>{0, 1, 0, 1, 0.841470985f, 0.540302306f, 0.00999983333f, 0.999950000f}));
  EXPECT_EQ(sinusoidal_positions(5, 0, 3).size(), 0);
}

TEST(Positions, FeaturesOfAnyAngleAreRoundedOnce) {
  std::vector<double> x;
  for (const ExpectedSinCos& expected : kExpectedSinCos) x.push_back(expected.angle);
  const std::vector<float> out = features(x, {1, -1});
  for (std::size_t n = 0; n < x.size(); ++n) {
    const auto sine = static_cast<float>(kExpectedSinCos[n].sin_high);
    const auto cosine = static_cast<float>(kExpectedSinCos[n].cos_high);
    EXPECT_EQ(out[4 * n], sine) << std::hexfloat << x[n];
    EXPECT_EQ(out[4 * n + 1], cosine) << std::hexfloat << x[n];
    EXPECT_EQ(out[4 * n + 2], -sine) << std::hexfloat << x[n];
    EXPECT_EQ(out[4 * n + 3], cosine) << std::hexfloat << x[n];
    EXPECT_FALSE(std::signbit(out[4 * n]) && out[4 * n] == 0) << "-0 must not leave the library";
  }
}

TEST(Positions, OddColumnsAndStrides) {
  const std::vector<double> x = {0.5, 2, -7, 1e6}, frequencies = {1, 3, 0.001};
  const std::vector<float> all = features(x, frequencies);
  std::vector<float> out(4 * 16, 9);
  MutableTensorView view(out.data(), {4, 5});
  view.strides = {16, 2};
  fourier_features(x, frequencies, view);
  for (std::size_t n = 0; n < 4; ++n) {
    for (std::size_t c = 0; c < 16; ++c) {
      const bool written = c % 2 == 0 && c / 2 < 5;
      EXPECT_EQ(out[n * 16 + c], written ? all[n * 6 + c / 2] : 9) << n << " " << c;
    }
  }
}

TEST(Positions, NeitherDependOnTheCallersModeNorChangeIt) {
  const Tensor right = sinusoidal_positions(12345, 30, 33);
  const std::vector<double> frequencies = sinusoidal_frequencies(33, 1e200);
  const std::vector<float> small = features({1e-310, 3e-39}, {1});
  for (CallerMode mode : kCallerModes) {
    const CallerEnvironment environment(mode);
    const Tensor got = sinusoidal_positions(12345, 30, 33);
    const std::vector<double> got_frequencies = sinusoidal_frequencies(33, 1e200);
    const std::vector<float> got_small = features({1e-310, 3e-39}, {1});
    EXPECT_TRUE(environment.unchanged()) << name_of(mode);  // comparing subnormals sets a flag
    EXPECT_EQ(std::memcmp(got.data<float>(), right.data<float>(), 30 * 33 * 4), 0) << name_of(mode);
    EXPECT_EQ(std::memcmp(got_frequencies.data(), frequencies.data(), 17 * 8), 0) << name_of(mode);
    EXPECT_EQ(std::memcmp(got_small.data(), small.data(), 4 * 4), 0) << name_of(mode);
  }
}

template <class F>
void expect_refused(F f, const std::string& part) {
  try {
    f();
    ADD_FAILURE() << "not refused: " << part;
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(part));
  }
}

TEST(Positions, SayThatThereIsNoMemoryForFrequencies) {
#if defined(QKV_SANITIZED)
  GTEST_SKIP() << "sanitizers end the program where operator new would throw";
#endif
  EXPECT_THROW(sinusoidal_frequencies(std::int64_t{1} << 53), OutOfMemory);
  EXPECT_THROW(rotary_frequencies(std::int64_t{1} << 53), OutOfMemory);
}

TEST(Positions, RefuseWhatHasNoMeaning) {
  constexpr std::int64_t kWhole = std::int64_t{1} << 53;
  for (std::int64_t d : {std::int64_t{0}, std::int64_t{-4}, kWhole + 1}) {
    expect_refused([&] { sinusoidal_frequencies(d); }, "d: " + std::to_string(d));
    expect_refused([&] { sinusoidal_positions(0, 1, d); }, "d: " + std::to_string(d));
  }
  for (double base : {0.0, 0.99, -10000.0, kInf, kNaN}) {
    expect_refused([&] { sinusoidal_frequencies(8, base); }, "base: ");
    expect_refused([&] { sinusoidal_positions(0, 1, 8, base); }, "base: ");
  }
  expect_refused([&] { sinusoidal_positions(0, -1, 8); }, "-1");
  expect_refused([&] { sinusoidal_positions(kWhole, 2, 8); }, "first: ");
  expect_refused([&] { sinusoidal_positions(kWhole + 1, 1, 8); }, "first: ");
  // Both ends are positions, as of rotary ones.
  const Tensor last = sinusoidal_positions(kWhole, 1, 2),
               least = sinusoidal_positions(-kWhole, 1, 2);
  EXPECT_EQ(last.data<float>()[0], -least.data<float>()[0]);
  EXPECT_EQ(last.data<float>()[1], least.data<float>()[1]);
  expect_refused([&] { sinusoidal_positions(-kWhole - 1, 1, 8); }, "first: ");
  EXPECT_EQ(sinusoidal_positions(kWhole - 1, 1, 8).size(), 8);

  std::vector<double> x = {1, 2}, frequencies = {3};
  std::vector<float> out(8, 9);
  const auto write = [&](const MutableTensorView& view) {
    return [&, view] { fourier_features(x, frequencies, view); };
  };
  expect_refused(write({}), "out: absent");
  expect_refused(write({out.data(), {2, 3}}), "[2, 3] does not fit 2 x and 1 frequencies");
  expect_refused(write({out.data(), {3, 2}}), "it must be [2, 2]");
  expect_refused(write({out.data(), {4}}), "no float32 matrix");
  expect_refused(write({static_cast<float*>(nullptr), {2, 2}}), "null pointer");
  expect_refused(write({x.data(), {2, 1}}), "no float32 matrix");
  expect_refused(write({reinterpret_cast<float*>(x.data()), {2, 2}}), "x share memory");
  MutableTensorView still(out.data(), {2, 2});
  still.strides = {0, 1};
  expect_refused(write(still), "by their strides");
  const MutableTensorView good(out.data(), {2, 2});
  for (double bad : {kInf, -kInf, kNaN}) {
    x[1] = bad;
    expect_refused(write(good), "x: entry 1 is ");
    x[1] = 2;
    frequencies[0] = bad;
    expect_refused(write(good), "frequencies: entry 0 is ");
    frequencies[0] = 3;
  }
  x[0] = -1e200;
  frequencies[0] = 1e200;
  expect_refused(write(good), "overflows");
  EXPECT_EQ(out, std::vector<float>(8, 9)) << "something was written";
  // No frequencies, no columns; no x, no rows.
  fourier_features(x, {}, MutableTensorView(out.data(), {2, 0}));
  fourier_features({}, frequencies, MutableTensorView(out.data(), {0, 2}));
}

}  // namespace
}  // namespace qkv::test
