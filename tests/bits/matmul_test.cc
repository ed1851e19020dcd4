// Matrix products: every instruction set gives the bits of exact, and the right numbers.
#include "qkv/matmul.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "kernels/exact/exact.h"
#include "problem/checks.h"
#include "qkv/random.h"
#include "tensor/float16.h"

namespace qkv::test {
namespace {

std::vector<float> normal(random::Generator& rng, std::int64_t count) {
  std::vector<float> numbers;
  for (std::int64_t n = 0; n < count; ++n) numbers.push_back(static_cast<float>(rng.normal()));
  return numbers;
}

// Edges of tiles (3, 6, 12, 24, 48 rows), panels (64 columns) and groups (32 terms).
const std::int64_t kRows[] = {0, 1, 2, 3, 11, 12, 13, 24, 47, 48, 49, 100};
const std::int64_t kTerms[] = {0, 1, 31, 32, 33, 64, 65, 200};
const std::int64_t kColumns[] = {0, 1, 7, 8, 9, 63, 64, 65, 130};

TEST(Matmul, HasTheBitsOfExact) {
  random::Generator rng(5);
  int products = 0;
  for (std::int64_t m : kRows) {
    for (std::int64_t k : kTerms) {
      for (std::int64_t n : kColumns) {
        const std::vector<float> a = normal(rng, 2 * m * k), b = normal(rng, 2 * k * n);
        const bool transposed = products % 2 == 1;
        const TensorView a_view(a.data(), {2, m, k});
        const TensorView b_view = transposed ? TensorView(b.data(), {2, n, k}).transposed(1, 2)
                                             : TensorView(b.data(), {2, k, n});
        std::vector<float> want(static_cast<std::size_t>(2 * m * n), 7.0f);
        exact::matmul(to_rank4(a_view), to_rank4(b_view),
                      MutableTensorView(want.data(), {1, 2, m, n}));
        for (Isa isa : usable_isas()) {
          ExecutionOptions execution;
          execution.isa = isa;
          execution.threads = products % 4;  // 0: all
          std::vector<float> got(want.size(), 7.0f);
          matmul(a_view, b_view, {got.data(), {2, m, n}}, execution);
          ASSERT_TRUE(want.empty() ||
                      std::memcmp(got.data(), want.data(), want.size() * sizeof(float)) == 0)
              << name_of(isa) << " " << m << " x " << k << " x " << n;
        }
        ++products;
      }
    }
  }
}

TEST(MatmulOverRows, HasTheBitsOfExact) {
  random::Generator rng(15);
  int products = 0;
  for (std::int64_t rows : {0, 1, 31, 33, 65, 1024, 1025, 2050}) {
    for (std::int64_t m : {0, 3, 64, 65}) {
      for (std::int64_t n : {0, 1, 16, 17}) {
        const std::vector<float> a = normal(rng, 2 * rows * m), b = normal(rng, rows * n);
        const bool transposed = products % 2 == 1;
        const TensorView a_view = transposed ? TensorView(a.data(), {2, m, rows}).transposed(1, 2)
                                             : TensorView(a.data(), {2, rows, m});
        const TensorView b_view(b.data(), {rows, n});  // broadcast
        TensorView b_both(b.data(), {1, 2, rows, n});
        b_both.strides[1] = 0;
        std::vector<float> want(static_cast<std::size_t>(2 * m * n), 7.0f);
        exact::matmul_over_rows(to_rank4(a_view), b_both,
                                MutableTensorView(want.data(), {1, 2, m, n}));
        for (Isa isa : usable_isas()) {
          ExecutionOptions execution;
          execution.isa = isa;
          execution.threads = products % 4;  // 0: all
          std::vector<float> got(want.size(), 7.0f);
          matmul_over_rows(a_view, b_view, {got.data(), {2, m, n}}, execution);
          ASSERT_TRUE(want.empty() ||
                      std::memcmp(got.data(), want.data(), want.size() * sizeof(float)) == 0)
              << name_of(isa) << " " << rows << " x " << m << " x " << n;
        }
        ++products;
      }
    }
  }
}

TEST(MatmulOverRows, AgreesWithEigenInDouble) {
  random::Generator rng(16);
  const std::int64_t rows = 5000, m = 20, n = 30;
  const std::vector<float> a = normal(rng, rows * m), b = normal(rng, rows * n);
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::MatrixXd right =
      Eigen::Map<const Matrix>(a.data(), rows, m).cast<double>().transpose() *
      Eigen::Map<const Matrix>(b.data(), rows, n).cast<double>();
  const Tensor got = matmul_over_rows({a.data(), {rows, m}}, {b.data(), {rows, n}});
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      EXPECT_NEAR(got.data<float>()[i * n + j], right(i, j), 2e-4);
    }
  }
}

TEST(MatmulOverRows, RefusesFactorsThatDontFit) {
  const std::vector<float> numbers(12);
  try {
    (void)matmul_over_rows({numbers.data(), {3, 4}}, {numbers.data(), {4, 3}});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "a [3, 4] and b [4, 3]: they must have the same number of rows");
  }
}

TEST(Matmul, AgreesWithEigenInDouble) {
  random::Generator rng(6);
  const std::int64_t m = 70, k = 300, n = 90;
  const std::vector<float> a = normal(rng, m * k), b = normal(rng, k * n);
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::MatrixXd right = Eigen::Map<const Matrix>(a.data(), m, k).cast<double>() *
                                Eigen::Map<const Matrix>(b.data(), k, n).cast<double>();
  const Tensor got = matmul({a.data(), {m, k}}, {b.data(), {k, n}});
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      EXPECT_NEAR(got.data<float>()[i * n + j], right(i, j), 300 * 0x1p-24 * 30);
    }
  }
}

TEST(Matmul, BroadcastsLeadingDimensionsAndTakesAnyStrides) {
  random::Generator rng(7);
  const std::vector<float> a = normal(rng, 3 * 5 * 8), b = normal(rng, 8 * 4);
  const Tensor batched = matmul({a.data(), {3, 5, 8}}, {b.data(), {8, 4}});
  ASSERT_EQ(batched.rank(), 3);
  for (std::int64_t x = 0; x < 3; ++x) {
    const Tensor one = matmul({a.data() + x * 40, {5, 8}}, {b.data(), {8, 4}});
    EXPECT_EQ(std::memcmp(one.data<float>(), batched.data<float>() + x * 20, 80), 0);
  }
  // Rows of a reversed, out with gaps between its columns.
  TensorView reversed = TensorView(a.data(), {5, 8}).slice(0, 4, 5);
  reversed.extents[0] = 5;
  reversed.strides[0] = -8;
  std::vector<float> out(5 * 8, 7.0f);
  MutableTensorView gaps(out.data(), {5, 4});
  gaps.strides = {8, 2};
  matmul(reversed, {b.data(), {8, 4}}, gaps);
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t j = 0; j < 4; ++j) {
      EXPECT_EQ(out[static_cast<std::size_t>(8 * i + 2 * j)],
                batched.data<float>()[(4 - i) * 4 + j]);
      EXPECT_EQ(out[static_cast<std::size_t>(8 * i + 2 * j + 1)], 7.0f);
    }
  }
}

TEST(Matmul, WidensHalvesAndRoundsToThem) {
  const std::uint16_t a[] = {0x3c00, 0x4000};  // 1, 2 in float16
  const std::uint16_t b[] = {0x3f80, 0x4040};  // 1, 3 in bfloat16
  std::uint16_t out[1];
  matmul({a, DType::kFloat16, {1, 2}}, {b, DType::kBFloat16, {2, 1}},
         {out, DType::kFloat16, {1, 1}});
  EXPECT_EQ(out[0], 0x4700);  // 7
}

TEST(Matmul, ReportsProgressAndCanBeStopped) {
  const std::vector<float> a(200 * 8, 1.0f), b(8 * 300, 1.0f);
  std::vector<double> shares;
  ExecutionOptions execution;
  execution.progress = [&](double share) { shares.push_back(share); };
  matmul({a.data(), {200, 8}}, {b.data(), {8, 300}}, execution);
  ASSERT_FALSE(shares.empty());
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.back(), 1.0);
  execution.progress = [](double) { throw 5; };
  EXPECT_THROW(matmul({a.data(), {200, 8}}, {b.data(), {8, 300}}, execution), int);
  std::atomic<bool> cancel{true};
  execution = {};
  execution.cancel = &cancel;
  EXPECT_THROW(matmul({a.data(), {200, 8}}, {b.data(), {8, 300}}, execution), Cancelled);
}

// A tall product of one panel stops between two tiles of rows, not at its end.
TEST(Matmul, StopsWithinATask) {
  const std::int64_t rows = 2000, k = 20000;
  const std::vector<float> a(static_cast<std::size_t>(rows * k), 1.0f);
  const std::vector<float> b(static_cast<std::size_t>(k * 4), 1.0f);
  std::vector<float> out(static_cast<std::size_t>(rows * 4), -1.0f);
  std::atomic<bool> cancel{false};
  ExecutionOptions execution;
  execution.threads = 1;
  execution.isa = Isa::kPortable;  // the slowest
  execution.cancel = &cancel;
  std::thread user([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancel = true;
  });
  EXPECT_THROW(
      matmul({a.data(), {rows, k}}, {b.data(), {k, 4}}, {out.data(), {rows, 4}}, execution),
      Cancelled);
  user.join();
  EXPECT_EQ(out.back(), -1.0f);
}

TEST(Matmul, TakesAnyNumberOfThreads) {
  const float a[] = {2}, b[] = {3};
  ExecutionOptions execution;
  execution.threads = std::numeric_limits<int>::max();
  EXPECT_EQ(matmul({a, {1, 1}}, {b, {1, 1}}, execution).data<float>()[0], 6);
}

void expect_refused(const TensorView& a, const TensorView& b, const MutableTensorView& out,
                    const std::string& message, const ExecutionOptions& execution = {}) {
  try {
    matmul(a, b, out, execution);
    ADD_FAILURE() << "accepted; expected: " << message;
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.what(), message);
  }
}

TEST(Matmul, RefusesWhatDoesNotFit) {
  float a[24] = {}, b[24] = {}, out[24] = {};
  double d[4] = {};
  const MutableTensorView good(out, {2, 4});
  expect_refused({}, {b, {3, 4}}, good, "a: absent; pass a tensor");
  expect_refused({a, {3}}, {b, {3, 4}}, good, "a: shape [3] is no matrix; pass rank 2 to 4");
  expect_refused({a, {2, 3}}, {d, {2, 2}}, good,
                 "b: type float64 is not multiplied here; pass float32, float16 or bfloat16");
  expect_refused({a, {2, 3}}, {b, {4, 3}}, good,
                 "a [2, 3] and b [4, 3]: the columns of a must be as many as the rows of b");
  expect_refused({a, {2, 2, 3}}, {b, {3, 3, 2}}, good,
                 "a [2, 2, 3] and b [3, 3, 2]: leading dimensions must be equal or 1");
  expect_refused({a, {2, 3}}, {b, {3, 4}}, {out, {4, 2}},
                 "out: shape [4, 2] does not fit a [2, 3] times b [3, 4]; it must be [2, 4]");
  expect_refused({a, {2, 3}}, {b, {3, 4}}, {d, {2, 4}},
                 "out: type float64 fits neither a nor b; pass float32 or a type of theirs");
  expect_refused({a, {2, 3}}, {b, {3, 4}}, {a, {2, 4}},
                 "out: shares memory with a, b or itself; pass an output of its own");
  expect_refused({static_cast<float*>(nullptr), {2, 3}}, {b, {3, 4}}, good,
                 "a: null pointer for float32 [2, 3]; pass the address of its first element");
  expect_refused({a, {2, 3}}, {b, {3, 4}}, {static_cast<float*>(nullptr), {2, 4}},
                 "out: null pointer for float32 [2, 4]; pass the address of its first element");
  const void* odd = reinterpret_cast<const char*>(a) + 2;
  expect_refused(
      {odd, DType::kFloat32, {2, 3}}, {b, {3, 4}}, {out, {2, 4}},
      "a: the address of float32 [2, 3] is not a multiple of its element's 4 bytes; copy "
      "it to aligned memory");
  ExecutionOptions negative;
  negative.threads = -1;
  expect_refused({a, {2, 3}}, {b, {3, 4}}, good,
                 "threads: -1 is negative; pass 0 for all of them, or a number", negative);
}

}  // namespace
}  // namespace qkv::test
