// exp of any number, erf, log and log1p against the C library's in double.
#include "simd/layer_functions.h"

#include <cstddef>
#include <iterator>
#include <limits>

#include "simd/errors.h"

namespace qkv::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();
const float kNaN = std::numeric_limits<float>::quiet_NaN();

// Every 1,999th float, and all around where something changes: 0, the ends of ranges and of the
// reductions, 1 and -1.
std::vector<float> arguments() {
  std::vector<float> x = every(0, 0xffffffff, 1999);
  const auto add_around = [&](float center) {
    const std::vector<float> more = every(bits_of(center) - 512, bits_of(center) + 511, 1);
    x.insert(x.end(), more.begin(), more.end());
  };
  for (float edge : {0x1p-149f * 512, 0x1p-126f, 0x1p-13f, 1.0f, 4.0f, 0x1.62e42ep+6f, 88.0f,
                     0x1.5d589ep+6f, 0x1p+24f, 0x1p+127f}) {
    add_around(edge);
    add_around(-edge);
  }
  for (int k = -126; k <= 127; ++k) {  // of log, and of log1p
    for (float edge : {std::ldexp(0x1.555556p+0f, k), std::ldexp(1.0f, k)}) {
      add_around(edge);
      if (k >= -24) add_around(edge - 1.0f);
    }
  }
  for (int n = -253; n < 257; n += 2) {  // odd multiples of ln 2 / 2, of exp
    add_around(static_cast<float>(n * 0.34657359027997264));
  }
  return x;
}

struct Edge {
  float x, y;
};
struct Edges {
  const char* name;
  std::vector<Edge> edges;
};
const Edges kEdges[] = {
    {"exp_full",
     {{0.0f, 1.0f},
      {-0.0f, 1.0f},
      {0x1p-149f, 1.0f},
      {-kInf, 0.0f},
      {kInf, kInf},
      {std::nextafter(-0x1.5d589ep+6f, -kInf), 0.0f},
      {-0x1.5d589ep+6f, 0x1.00004cp-126f},
      {0x1.62e42ep+6f, 0x1.ffff08p+127f},
      {std::nextafter(0x1.62e42ep+6f, kInf), kInf},
      {kMax, kInf},
      {-kMax, 0.0f},
      {kNaN, kNaN}}},
    {"erf",
     {{0.0f, 0.0f},
      {-0.0f, -0.0f},
      {kInf, 1.0f},
      {-kInf, -1.0f},
      {kMax, 1.0f},
      {4.0f, 1.0f},
      {-5.0f, -1.0f},
      {0x1p-149f, 0x1p-149f},
      {-0x1p-148f, -0x1p-148f},
      {0x1p-126f, 0x1.20dd75p-126f},
      {kNaN, kNaN}}},
    {"log_float",
     {{1.0f, 0.0f},
      {0.0f, -kInf},
      {-0.0f, -kInf},
      {-0x1p-149f, kNaN},
      {-1.0f, kNaN},
      {-kInf, kNaN},
      {kInf, kInf},
      {2.0f, 0x1.62e43p-1f},
      {0.5f, -0x1.62e43p-1f},
      {0x1p-149f, -0x1.9d1dap+6f},
      {kMax, 0x1.62e43p+6f},
      {kNaN, kNaN}}},
    {"log1p",
     {{0.0f, 0.0f},
      {-0.0f, -0.0f},
      {-1.0f, -kInf},
      {std::nextafter(-1.0f, -kInf), kNaN},
      {-kInf, kNaN},
      {kInf, kInf},
      {1.0f, 0x1.62e43p-1f},
      {0x1p-149f, 0x1p-149f},
      {-0x1p-149f, -0x1p-149f},
      {0x1p-30f, 0x1p-30f},
      {std::nextafter(-1.0f, 0.0f), -0x1.0a2b24p+4f},  // -24 log 2
      {kMax, 0x1.62e43p+6f},
      {kNaN, kNaN}}},
};

bool same(float x, float y) { return std::isnan(y) ? std::isnan(x) : bits_of(x) == bits_of(y); }

// Without the numbers of which the right result is NaN.
void expect_small_errors(const LayerFunction& f, const std::vector<float>& x,
                         const std::vector<float>& y) {
  std::vector<float> inside, results;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(f.right(double{x[i]}))) {
      ASSERT_TRUE(std::isnan(y[i])) << f.name << " of " << std::hexfloat << x[i];
    } else {
      inside.push_back(x[i]);
      results.push_back(y[i]);
    }
  }
  float where = 0;
  const double error = largest_error(inside, results, f.right, where);
  EXPECT_LE(error, f.ulps) << f.name << " of " << std::hexfloat << where;
  EXPECT_GT(error, 0.49) << "an error that no rounding explains would be a broken measure";
}

TEST(ExactLayerFunctions, ErrByNoMoreThanIsSaid) {
  const std::vector<float> x = arguments();
  for (const LayerFunction& f : kLayerFunctions) expect_small_errors(f, x, map(x, f.scalar));
}

TEST(ExactLayerFunctions, Edges) {
  for (std::size_t n = 0; n < std::size(kLayerFunctions); ++n) {
    ASSERT_STREQ(kEdges[n].name, kLayerFunctions[n].name);
    for (const auto& [x, y] : kEdges[n].edges) {
      EXPECT_TRUE(same(kLayerFunctions[n].scalar(x), y))
          << kEdges[n].name << " of " << x << " is " << std::hexfloat
          << kLayerFunctions[n].scalar(x);
    }
  }
}

TEST(ExactLayerFunctions, ExpFullHasTheBitsOfExp) {
  for (float x : every(bits_of(-0.0f), bits_of(-kInf), 1999)) {
    ASSERT_EQ(bits_of(exact::exp_full(x)), bits_of(exact::exp(x))) << std::hexfloat << x;
  }
}

class VectorLayerFunctions : public VectorTest {
 protected:
  std::vector<float> run(const LayerFunction& f, const std::vector<float>& x) {
    std::vector<float> y(x.size());
    (GetParam().*f.vector)(x.data(), y.data(), x.size());
    return y;
  }
};
INSTANTIATE_TEST_SUITE_P(AllIsas, VectorLayerFunctions, ::testing::ValuesIn(all_vector_functions()),
                         isa_name);

TEST_P(VectorLayerFunctions, ErrByNoMoreThanIsSaid) {
  const std::vector<float> x = arguments();
  for (const LayerFunction& f : kLayerFunctions) expect_small_errors(f, x, run(f, x));
}

TEST_P(VectorLayerFunctions, HaveTheBitsOfTheScalarProgram) {
  const std::vector<float> x = arguments();
  for (const LayerFunction& f : kLayerFunctions) {
    const std::vector<float> y = run(f, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_TRUE(same(y[i], f.scalar(x[i]))) << f.name << " of " << std::hexfloat << x[i];
    }
  }
}

TEST_P(VectorLayerFunctions, Edges) {
  for (std::size_t n = 0; n < std::size(kLayerFunctions); ++n) {
    for (const auto& [x, y] : kEdges[n].edges) {
      // In each lane, with ordinary numbers in the others.
      for (std::size_t lane = 0; lane < 16; ++lane) {
        std::vector<float> numbers(16, 0.75f);
        numbers[lane] = x;
        const std::vector<float> results = run(kLayerFunctions[n], numbers);
        EXPECT_TRUE(same(results[lane], y)) << kEdges[n].name << " of " << x;
        EXPECT_TRUE(same(results[(lane + 1) % 16], kLayerFunctions[n].scalar(0.75f)));
      }
    }
  }
}

}  // namespace
}  // namespace qkv::test
