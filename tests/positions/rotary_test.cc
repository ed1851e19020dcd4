// Rotary positions: hand numbers, the papers' formulas by the C library, what the rotation promises
// (lengths, relative positions, its gradient, the same bits everywhere), and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/exact/functions.h"
#include "qkv/positions.h"
#include "qkv/random.h"
#include "support/caller_environment.h"
#include "tensor/element.h"

namespace qkv::test {
namespace {

using Ids = std::vector<std::int64_t>;
using Floats = std::vector<float>;
constexpr std::int64_t kWhole = std::int64_t{1} << 53;
constexpr RotaryLayout kLayouts[] = {RotaryLayout::kInterleaved, RotaryLayout::kHalves};

TensorView list(const Ids& ids) { return {ids.data(), {static_cast<std::int64_t>(ids.size())}}; }

RotaryTables tables_of(const Ids& ids, std::int64_t r, const RotaryOptions& options = {}) {
  return rotary_tables(list(ids), rotary_frequencies(r, options));
}

Floats normal_numbers(std::int64_t count, std::uint64_t seed) {
  random::Generator rng(seed);
  Floats all(static_cast<std::size_t>(count));
  for (float& x : all) x = static_cast<float>(rng.normal());
  return all;
}

ExecutionOptions with(int threads, Isa isa = Isa::kBest,
                      const std::atomic<bool>* cancel = nullptr) {
  ExecutionOptions execution;
  execution.threads = threads;
  execution.isa = isa;
  execution.cancel = cancel;
  return execution;
}

// One head of one token, turned by the tables of a position.
Floats turned(const Floats& x, std::int64_t position, RotaryLayout layout,
              const RotaryOptions& options = {}) {
  const auto d = static_cast<std::int64_t>(x.size());
  const RotaryTables t = tables_of({position}, d, options);
  Floats out(x.size());
  rotate({x.data(), {1, 1, d}}, t.cosines, t.sines, layout, {out.data(), {1, 1, d}});
  return out;
}

double dot(const Floats& a, const Floats& b) {
  double sum = 0;
  for (std::size_t n = 0; n < a.size(); ++n) sum += double{a[n]} * double{b[n]};
  return sum;
}

// vllm-ascend #12765, nanochat #264, gpt-neox #834: pairs of one layout, frequencies of the other.
TEST(Rotary, BothLayoutsByHand) {
  const Floats x = {1, 2, 3, 4};
  const Floats pairs = turned(x, 1, RotaryLayout::kInterleaved);
  const Floats halves = turned(x, 1, RotaryLayout::kHalves);
  const double right_pairs[] = {-1.1426397, 1.9220756, 2.9598507, 4.0297995};
  const double right_halves[] = {-1.9841106, 1.9599007, 2.4623779, 4.0197997};
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_NEAR(pairs[c], right_pairs[c], 1e-7 * 4) << c;
    EXPECT_NEAR(halves[c], right_halves[c], 1e-7 * 4) << c;
  }
}

TEST(Rotary, FrequenciesAreThoseOfThePaper) {
  EXPECT_EQ(rotary_frequencies(4).values, (std::vector<double>{1, 0.01}));
  for (std::int64_t r : {2, 6, 64, 128}) {
    for (double base : {10000.0, 500000.0, 1.0}) {
      const RotaryFrequencies f = rotary_frequencies(r, {.base = base});
      EXPECT_EQ(f.values, sinusoidal_frequencies(r, base));
      EXPECT_EQ(f.magnitude, 1);
    }
  }
}

TEST(Rotary, LinearAndNtkScaling) {
  for (std::int64_t r : {2, 8, 128}) {
    for (double s : {1.0, 2.0, 8.0, 3.7}) {
      const RotaryFrequencies linear =
          rotary_frequencies(r, {.scaling = RotaryScaling::kLinear, .factor = s});
      const RotaryFrequencies ntk =
          rotary_frequencies(r, {.scaling = RotaryScaling::kNtk, .factor = s});
      const auto d = static_cast<double>(r);
      const double base = r == 2 ? 10000 : 10000 * std::pow(s, d / (d - 2));
      for (std::int64_t i = 0; i < r / 2; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const double plain = std::pow(10000.0, -2.0 * static_cast<double>(i) / d);
        EXPECT_NEAR(linear.values[at], plain / s, 1e-14 * plain);
        EXPECT_NEAR(ntk.values[at], std::pow(base, -2.0 * static_cast<double>(i) / d),
                    1e-14 * plain);
      }
      EXPECT_EQ(linear.magnitude, 1);
      EXPECT_EQ(ntk.magnitude, 1);
      if (r > 2) {  // the first frequency is kept, the last one is interpolated
        EXPECT_EQ(ntk.values.front(), 1);
        EXPECT_NEAR(ntk.values.back() * s, rotary_frequencies(r).values.back(), 1e-15);
      }
    }
  }
}

// The paper's program: a ramp over pair numbers between two bounds, rounded outwards.
TEST(Rotary, YarnScaling) {
  struct Case {
    std::int64_t r, length;
    double base, factor;
    bool whole;
    double low, high;  // by hand: r ln(L / (turns 2 pi)) / (2 ln base) for 32 and 1 turns
  };
  const Case cases[] = {
      {128, 4096, 10000, 16, true, 20, 46},    // 20.948, 45.030
      {128, 32768, 1000000, 4, true, 23, 40},  // 23.595, 39.650
      {64, 4096, 150000, 32, false, 8.092779115512402, 17.39802450158856},
      {16, 64, 10000, 2, true, 0, 3},  // -1, 2.02
      {4, 2048, 10000, 8, true, 0, 2},
  };
  for (const Case& c : cases) {
    const RotaryFrequencies f = rotary_frequencies(c.r, {.base = c.base,
                                                         .scaling = RotaryScaling::kYarn,
                                                         .factor = c.factor,
                                                         .original_length = c.length,
                                                         .whole_pairs = c.whole});
    for (std::int64_t i = 0; i < c.r / 2; ++i) {
      const auto n = static_cast<double>(i);
      const double plain = std::pow(c.base, -2.0 * n / static_cast<double>(c.r));
      const double ramp = std::min(1.0, std::max(0.0, (n - c.low) / (c.high - c.low)));
      EXPECT_NEAR(f.values[static_cast<std::size_t>(i)],
                  plain / c.factor * ramp + plain * (1 - ramp), 2e-14 * plain)
          << c.r << " " << c.length << ": " << i;
    }
    EXPECT_NEAR(f.magnitude, 0.1 * std::log(c.factor) + 1, 1e-15);
  }
  // No context is so long that all pairs turn often enough to be kept; then all are.
  const RotaryFrequencies kept = rotary_frequencies(
      8, {.base = 2, .scaling = RotaryScaling::kYarn, .factor = 4, .original_length = 1 << 30});
  EXPECT_EQ(kept.values, sinusoidal_frequencies(8, 2));
}

TEST(Rotary, LlamaScaling) {
  const double s = 8, length = 8192;
  const RotaryFrequencies f = rotary_frequencies(
      128,
      {.base = 500000, .scaling = RotaryScaling::kLlama3, .factor = s, .original_length = 8192});
  int kept = 0, divided = 0;
  for (std::int64_t i = 0; i < 64; ++i) {
    const double plain = std::pow(500000.0, -static_cast<double>(i) / 64);
    const double wave = 2 * std::numbers::pi / plain;
    const double smooth = (length / wave - 1) / (4.0 - 1);
    double right = (1 - smooth) * plain / s + smooth * plain;
    if (wave < length / 4) right = plain, ++kept;
    if (wave > length) right = plain / s, ++divided;
    EXPECT_NEAR(f.values[static_cast<std::size_t>(i)], right, 1e-14 * plain) << i;
  }
  EXPECT_EQ(kept, 29);  // the ramp is pairs 29 to 34
  EXPECT_EQ(divided, 29);
  EXPECT_EQ(f.magnitude, 1);
}

// onnxruntime #28205, vllm PR #55910: positions beyond a table of 8 read past its end.
TEST(Rotary, AnyPositionHasItsOwnRow) {
  const Ids ids = {7, 8, -1, std::int64_t{1} << 31, (std::int64_t{1} << 31) + 1, kWhole, -kWhole};
  const RotaryFrequencies f = rotary_frequencies(64);
  const RotaryTables t = rotary_tables(list(ids), f);
  ASSERT_EQ(describe(t.cosines), "float32 [7, 32]");
  for (std::size_t n = 0; n < ids.size(); ++n) {
    for (std::size_t i = 0; i < 32; ++i) {
      // Where long double has 64 bits, it holds the angle to 2^-33 for ids of 2^31; those of 2^53
      // are exact with the frequency 1 only.
      if (std::abs(ids[n]) == kWhole && i != 0) continue;
      const long double angle =
          static_cast<long double>(ids[n]) * static_cast<long double>(f.values[i]);
      const auto cosine = static_cast<double>(std::cos(angle));
      const auto sine = static_cast<double>(std::sin(angle));
      EXPECT_NEAR(t.cosines.data<float>()[n * 32 + i], cosine, 3.1e-8) << ids[n];
      EXPECT_NEAR(t.sines.data<float>()[n * 32 + i], sine, 3.1e-8) << ids[n];
    }
  }
}

// At the far end angles of neighbours differ by f although both are multiples of hundreds: what the
// product's rounding takes off must not be lost.
TEST(Rotary, AnglesAreNotRounded) {
  const RotaryFrequencies f = {{std::numbers::pi / 10, 1e-3}, 1};
  for (const std::int64_t x : {std::int64_t{1} << 51, kWhole - 1, -kWhole}) {
    const RotaryTables t = rotary_tables(list(Ids{x, x + 1}), f);
    const float *c = t.cosines.data<float>(), *s = t.sines.data<float>();
    for (std::size_t i = 0; i < 2; ++i) {
      const double cosine = double{c[i]} * double{c[2 + i]} + double{s[i]} * double{s[2 + i]};
      const double sine = double{s[2 + i]} * double{c[i]} - double{c[2 + i]} * double{s[i]};
      EXPECT_NEAR(cosine, std::cos(f.values[i]), 2e-7) << x;
      EXPECT_NEAR(sine, std::sin(f.values[i]), 2e-7) << x;
    }
  }
}

TEST(Rotary, TablesOfBatchesStridesAndMagnitude) {
  const Ids ids = {3, 90, 1, 91, 4, 92, 1, 93, 5, 94, 9, 95};  // two sequences, interleaved
  TensorView view(ids.data(), {2, 6});
  view.strides = {1, 2};
  const RotaryFrequencies f = {{1, 0.25, -2}, 1.5};
  const RotaryTables t = rotary_tables(view, f);
  ASSERT_EQ(describe(t.sines), "float32 [2, 6, 3]");
  for (std::int64_t n = 0; n < 12; ++n) {
    for (std::size_t i = 0; i < 3; ++i) {
      const auto at = static_cast<std::size_t>(n / 2 * 3 + n % 2 * 18) + i;
      const double angle = static_cast<double>(ids[static_cast<std::size_t>(n)]) * f.values[i];
      EXPECT_EQ(t.cosines.data<float>()[at], static_cast<float>(1.5 * std::cos(angle)));
      EXPECT_EQ(t.sines.data<float>()[at], static_cast<float>(1.5 * std::sin(angle)));
    }
  }
  EXPECT_EQ(describe(tables_of({}, 4).cosines), "float32 [0, 2]");
}

TEST(Rotary, ScoresHangOnDistancesAndLengthsStay) {
  const Floats q = normal_numbers(64, 1), k = normal_numbers(64, 2);
  for (RotaryLayout layout : kLayouts) {
    const double near = dot(turned(q, 5, layout), turned(k, 3, layout));
    const double scale = std::sqrt(dot(q, q) * dot(k, k));
    for (std::int64_t far :
         {std::int64_t{-2}, std::int64_t{1000000}, std::int64_t{1} << 31, kWhole - 2}) {
      const Floats at_q = turned(q, far + 2, layout), at_k = turned(k, far, layout);
      EXPECT_NEAR(dot(at_q, at_k), near, 2e-7 * scale) << far;
      EXPECT_NEAR(dot(at_q, at_q), dot(q, q), 2e-7 * dot(q, q)) << far;
    }
    EXPECT_GT(std::abs(dot(turned(q, 5, layout), turned(k, 2, layout)) - near), 1e-3 * scale);
  }
}

// What the rotation is, one number at a time.
void expect_rotated(const TensorView& x, const TensorView& out, const RotaryTables& t,
                    RotaryLayout layout, bool back) {
  const std::int64_t pairs = t.cosines.extent(t.cosines.rank() - 1), tokens = x.extents[1];
  for (std::int64_t b = 0; b < x.extents[0]; ++b) {
    for (std::int64_t l = 0; l < tokens; ++l) {
      for (std::int64_t h = 0; h < x.extents[2]; ++h) {
        const auto at = [&](const TensorView& view, std::int64_t c) {
          return load_float(view, offset_of(view, b, l, h, c));
        };
        for (std::int64_t i = 0; i < pairs; ++i) {
          const std::int64_t row = (t.cosines.rank() == 3 ? b * tokens + l : l) * pairs + i;
          const float cosine = t.cosines.data<float>()[row];
          const float sine = back ? -t.sines.data<float>()[row] : t.sines.data<float>()[row];
          const bool neighbours = layout == RotaryLayout::kInterleaved;
          const std::int64_t first = neighbours ? 2 * i : i;
          const std::int64_t second = neighbours ? 2 * i + 1 : i + pairs;
          const float p = at(x, first), q = at(x, second);
          float want[2] = {exact::fma(q, -sine, p * cosine), exact::fma(p, sine, q * cosine)};
          MutableTensorView rounded(want, {2});
          std::uint16_t bits[2];
          if (out.dtype != DType::kFloat32) rounded = {bits, out.dtype, {2}};
          for (int n = 0; n < 2; ++n) store_result(rounded, n, want[n]);
          ASSERT_EQ(std::bit_cast<std::uint32_t>(at(out, first)),
                    std::bit_cast<std::uint32_t>(load_float(rounded, 0)))
              << b << " " << l << " " << h << " " << i;
          ASSERT_EQ(std::bit_cast<std::uint32_t>(at(out, second)),
                    std::bit_cast<std::uint32_t>(load_float(rounded, 1)));
        }
        for (std::int64_t c = 2 * pairs; c < x.extents[3]; ++c) ASSERT_EQ(at(out, c), at(x, c));
      }
    }
  }
}

TEST(Rotary, TheSameBitsOnEveryInstructionSetAndThread) {
  constexpr std::int64_t kB = 2, kL = 37, kH = 3;
  Ids ids(kB * kL);
  std::iota(ids.begin(), ids.end(), -5);
  for (std::int64_t d : {2, 6, 16, 34, 64, 130}) {
    for (std::int64_t r : {std::int64_t{2}, d / 2 / 2 * 2, d}) {
      if (r < 2) continue;
      const RotaryFrequencies f = rotary_frequencies(r);
      const RotaryTables shared = rotary_tables({ids.data(), {kL}}, f);
      const RotaryTables own = rotary_tables({ids.data(), {kB, kL}}, f);
      Floats x = normal_numbers(kB * kL * kH * d, 3);
      x[1] = -0.0f;
      x[2] = 1e-40f;
      const MutableTensorView view(x.data(), {kB, kL, kH, d});
      for (const RotaryTables* t : {&shared, &own}) {
        for (RotaryLayout layout : kLayouts) {
          for (const bool back : {false, true}) {
            const auto run = [&](const MutableTensorView& out, const ExecutionOptions& how) {
              (back ? rotate_gradient : rotate)(view, t->cosines, t->sines, layout, out, how);
            };
            for (Isa isa : usable_isas()) {
              for (int threads : {1, 3}) {
                Floats out(x.size());
                const MutableTensorView to(out.data(), {kB, kL, kH, d});
                run(to, with(threads, isa));
                expect_rotated(view, to, *t, layout, back);
              }
            }
          }
        }
      }
    }
  }
}

TEST(Rotary, AnyStridesTypesAndInPlace) {
  constexpr std::int64_t kB = 2, kL = 5, kH = 3, kD = 10;
  const RotaryTables t = tables_of({0, 1, 2, 3, 70}, 8);
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    const std::int64_t shape[] = {kB, kH, kL, 2 * kD};
    Tensor memory, results;
    throw_if_error(allocate(dtype, shape, memory));
    throw_if_error(allocate(dtype, shape, results));
    const Floats numbers = normal_numbers(memory.size(), 4);
    for (std::int64_t n = 0; n < memory.size(); ++n) {
      store_result(memory.view(), n, numbers[static_cast<std::size_t>(n)]);
    }
    // Heads first, every other column, backwards.
    const auto strided = [](const Tensor& tensor) {
      MutableTensorView view = tensor.view().slice(3, 2 * kD - 1, 2 * kD).transposed(1, 2);
      view.extents[3] = kD;
      view.strides[3] = -2;
      return view;
    };
    const MutableTensorView x = strided(memory), out = strided(results);
    for (RotaryLayout layout : kLayouts) {
      rotate(x, t.cosines, t.sines, layout, out);
      expect_rotated(x, out, t, layout, false);
      // The columns between are not touched.
      for (std::int64_t n = 0; n < results.size(); n += 2) {
        ASSERT_EQ(load_float(results.view(), n), 0);
      }
    }
    Tensor again;
    throw_if_error(allocate(dtype, shape, again));
    rotate(x, t.cosines, t.sines, RotaryLayout::kHalves, strided(again));
    rotate(x, t.cosines, t.sines, RotaryLayout::kHalves, x);
    for (std::int64_t n = 1; n < memory.size(); n += 2) {
      ASSERT_EQ(load_float(memory.view(), n), load_float(again.view(), n));
    }
  }
}

TEST(Rotary, TheGradientIsTheTransposeAndTurnsBack) {
  const Floats x = normal_numbers(6 * 8, 5), d_out = normal_numbers(6 * 8, 6);
  for (double factor : {1.0, 16.0}) {
    const RotaryTables t = tables_of(
        {3, 1, 4}, 6, {.scaling = RotaryScaling::kYarn, .factor = factor, .original_length = 4096});
    const double magnitude = 0.1 * std::log(factor) + 1;
    for (RotaryLayout layout : kLayouts) {
      Floats out(x.size()), d_x(x.size()), back(x.size());
      rotate({x.data(), {3, 2, 8}}, t.cosines, t.sines, layout, {out.data(), {3, 2, 8}});
      rotate_gradient({d_out.data(), {3, 2, 8}}, t.cosines, t.sines, layout,
                      {d_x.data(), {3, 2, 8}});
      rotate_gradient({out.data(), {3, 2, 8}}, t.cosines, t.sines, layout,
                      {back.data(), {3, 2, 8}});
      EXPECT_NEAR(dot(out, d_out), dot(x, d_x), 1e-5);
      for (std::size_t n = 0; n < x.size(); ++n) {
        const double grown = n % 8 < 6 ? magnitude * magnitude : 1;
        EXPECT_NEAR(back[n], double{x[n]} * grown, 1e-6) << n;
      }
    }
  }
}

TEST(Rotary, NaNIsCanonicalAndStaysInItsPair) {
  Floats x(8, 1);
  x[2] = std::bit_cast<float>(0xffc12345u);
  const Floats out = turned(x, 3, RotaryLayout::kInterleaved);
  for (std::size_t c = 0; c < 8; ++c) {
    if (c / 2 == 1) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(out[c]), kCanonicalNaN32);
    } else {
      EXPECT_TRUE(std::isfinite(out[c]));
    }
  }
}

TEST(Rotary, NeitherDependsOnTheCallersModeNorChangesIt) {
  const Ids ids = {12345, -7, 1 << 30};
  const RotaryOptions options = {
      .scaling = RotaryScaling::kYarn, .factor = 3, .original_length = 4096};
  const RotaryTables right = tables_of(ids, 34, options);
  Floats x = normal_numbers(3 * 2 * 34, 7), want(x.size());
  x[5] = 1e-41f;
  rotate({x.data(), {3, 2, 34}}, right.cosines, right.sines, RotaryLayout::kHalves,
         {want.data(), {3, 2, 34}});
  for (CallerMode mode : kCallerModes) {
    const CallerEnvironment environment(mode);
    const RotaryTables got = tables_of(ids, 34, options);
    Floats out(x.size());
    rotate({x.data(), {3, 2, 34}}, got.cosines, got.sines, RotaryLayout::kHalves,
           {out.data(), {3, 2, 34}});
    EXPECT_TRUE(environment.unchanged()) << name_of(mode);
    EXPECT_EQ(std::memcmp(got.cosines.data<float>(), right.cosines.data<float>(), 3 * 17 * 4), 0);
    EXPECT_EQ(std::memcmp(got.sines.data<float>(), right.sines.data<float>(), 3 * 17 * 4), 0);
    EXPECT_EQ(std::memcmp(out.data(), want.data(), want.size() * 4), 0) << name_of(mode);
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

TEST(Rotary, FrequenciesRefuseWhatHasNoMeaning) {
  using Scaling = RotaryScaling;
  const double inf = std::numeric_limits<double>::infinity();
  for (std::int64_t r : {std::int64_t{0}, std::int64_t{-2}, std::int64_t{3}, kWhole + 2}) {
    expect_refused([&] { rotary_frequencies(r); }, "r: " + std::to_string(r));
  }
  const std::pair<RotaryOptions, const char*> bad[] = {
      {{.base = 0.5}, "base: 0.5"},
      {{.base = std::nan("")}, "base: nan"},
      {{.factor = 2}, "factor: 2 without a scaling has no effect; name one, or pass 1"},
      {{.scaling = Scaling::kLinear, .factor = 0.5}, "factor: 0.5"},
      {{.scaling = Scaling::kNtk, .factor = inf}, "factor: inf"},
      {{.scaling = Scaling::kYarn, .factor = 2}, "original_length: 0"},
      {{.scaling = Scaling::kLlama3, .factor = 2}, "original_length: 0"},
      {{.base = 1, .scaling = Scaling::kYarn, .original_length = 8}, "YaRN needs more than 1"},
      {{.scaling = Scaling::kYarn, .original_length = 8, .beta_fast = 1}, "beta_slow, beta_fast"},
      {{.scaling = Scaling::kYarn, .original_length = 8, .beta_slow = 0}, "beta_slow, beta_fast"},
      {{.scaling = Scaling::kLlama3, .original_length = 8, .low_factor = 4}, "low_factor"},
      {{.scaling = static_cast<Scaling>(9)}, "scaling: 9"},
  };
  for (const auto& [options, part] : bad) {
    expect_refused([&, o = options] { rotary_frequencies(8, o); }, part);
  }
}

TEST(Rotary, TablesRefuseWhatHasNoMeaning) {
  const RotaryFrequencies good = rotary_frequencies(8);
  expect_refused([&] { rotary_tables({}, good); }, "positions: absent");
  const Ids ids = {0, 1, kWhole + 1, 3};
  expect_refused([&] { rotary_tables(list(ids), good); },
                 "positions: token 2 of sequence 0 is at 9007199254740993");
  expect_refused([&] { rotary_tables({ids.data(), {2, 2}}, good); },
                 "token 0 of sequence 1 is at 9007199254740993");
  expect_refused([&] { rotary_tables({ids.data(), {1, 1, 4}}, good); }, "int64 [1, 1, 4] is no");
  expect_refused([&] { rotary_tables({static_cast<const std::int64_t*>(nullptr), {2}}, good); },
                 "positions: ");
  const float numbers[] = {1};
  expect_refused([&] { rotary_tables({numbers, {1}}, good); }, "float32 [1] is no list");
  const Ids one = {1};
  expect_refused([&] { rotary_tables(list(one), {{1, std::nan("")}, 1}); }, "frequencies: entry 1");
  expect_refused([&] { rotary_tables(list(one), {{1, 1e300}, 1}); }, "frequencies: entry 1");
  expect_refused([&] { rotary_tables(list(one), {{1}, 1e300}); }, "magnitude: 1e+300");
}

TEST(Rotary, RotationRefusesWhatDoesNotFit) {
  Floats x(2 * 3 * 8, 9), out(x.size(), 9);
  const RotaryTables t = tables_of({0, 1}, 8), shorter = tables_of({0}, 8),
                     odd = tables_of({0, 1}, 6);
  const RotaryTables wide = tables_of({0, 1}, 10);
  const MutableTensorView from(x.data(), {2, 3, 8}), to(out.data(), {2, 3, 8});
  const auto rotating = [&](const TensorView& a, const TensorView& c, const TensorView& s,
                            const MutableTensorView& b) {
    return [=] { rotate(a, c, s, RotaryLayout::kHalves, b); };
  };
  expect_refused(rotating({}, t.cosines, t.sines, to), "x: absent");
  expect_refused(rotating(from, {}, t.sines, to), "cosines: absent");
  expect_refused(rotating(from, t.cosines, {}, to), "sines: absent");
  expect_refused(rotating(from, t.cosines, t.sines, {}), "out: absent");
  expect_refused(rotating({x.data(), {6, 8}}, t.cosines, t.sines, to),
                 "x: shape [6, 8] has no heads");
  const double twice[48] = {};
  expect_refused(rotating({twice, {2, 3, 8}}, t.cosines, t.sines, to), "float64 is not rotated");
  expect_refused(rotating(from, t.cosines, t.sines, {out.data(), {2, 8, 3}}),
                 "x float32 [2, 3, 8] and out float32 [2, 8, 3] must have the same type and shape");
  expect_refused(rotating(from, shorter.cosines, t.sines, to),
                 "cosines: float32 [1, 4] for x [2, 3, 8]; it must be float32 [tokens, pairs] or "
                 "[batch, tokens, pairs], with at most d / 2 pairs");
  expect_refused(rotating(from, t.cosines, shorter.sines, to), "sines: float32 [1, 4]");
  expect_refused(rotating(from, wide.cosines, wide.sines, to), "cosines: float32 [2, 5]");
  expect_refused(rotating(from, t.cosines, odd.sines, to),
                 "cosines [2, 4] and sines [2, 3] must have the same shape");
  expect_refused(rotating(from, t.cosines, t.sines, {x.data() + 1, {2, 2, 8}}),
                 "same type and shape");
  // In place is the whole of x, not a part of it.
  MutableTensorView shifted(x.data() + 4, {1, 3, 8});
  expect_refused(rotating({x.data(), {1, 3, 8}}, shorter.cosines, shorter.sines, shifted),
                 "share memory");
  MutableTensorView still = to;
  still.strides[1] = 0;
  expect_refused(rotating(from, t.cosines, t.sines, still), "by their strides");
  expect_refused([&] { rotate(from, t.cosines, t.sines, static_cast<RotaryLayout>(2), to); },
                 "layout: 2");
  expect_refused([&] { rotate(from, t.cosines, t.sines, {}, to, with(-1)); }, "threads: -1");
  expect_refused([&] { rotate_gradient({}, t.cosines, t.sines, {}, to); }, "d_out: absent");
  EXPECT_EQ(out, Floats(out.size(), 9)) << "something was written";
  EXPECT_EQ(x, Floats(x.size(), 9));
  std::atomic<bool> cancel{true};
  EXPECT_THROW(rotate(from, t.cosines, t.sines, {}, to, with(0, Isa::kBest, &cancel)), Cancelled);
}

}  // namespace
}  // namespace qkv::test
