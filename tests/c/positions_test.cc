// Rotary positions through qkv_positions.h: what the C++ library gives, and what is refused.
#include "qkv/positions.h"

#include <gtest/gtest.h>
#include <qkv_positions.h>

#include <cstring>
#include <vector>

#include "c/in_c.h"

namespace qkv::test {
namespace {

TEST(CPositions, FrequenciesOfEveryScaling) {
  qkv_rotary_options all;
  qkv_rotary_options_init(&all);
  all.base = 500000;
  all.factor = 4;
  all.original_length = 4096;
  all.beta_fast = 16;
  all.beta_slow = 2;
  all.low_factor = 2;
  all.high_factor = 8;
  RotaryOptions same = {.base = 500000,
                        .factor = 4,
                        .original_length = 4096,
                        .beta_fast = 16,
                        .beta_slow = 2,
                        .low_factor = 2,
                        .high_factor = 8};
  for (std::int32_t scaling = QKV_ROTARY_LINEAR; scaling <= QKV_ROTARY_LLAMA3; ++scaling) {
    for (const bool whole : {true, false}) {
      all.scaling = scaling;
      all.parts_of_pairs = whole ? 0 : 1;
      same.scaling = static_cast<RotaryScaling>(scaling);
      same.whole_pairs = whole;
      const RotaryFrequencies want = rotary_frequencies(64, same);
      std::vector<double> got(32);
      double magnitude = 0;
      EXPECT_OK(qkv_rotary_frequencies(64, &all, got.data(), 32, &magnitude));
      EXPECT_EQ(got, want.values) << scaling;
      EXPECT_EQ(magnitude, want.magnitude);
    }
  }
  double got[2] = {}, magnitude = 0;
  EXPECT_OK(qkv_rotary_frequencies(4, nullptr, got, 2, &magnitude));
  EXPECT_EQ(got[0], 1);
  EXPECT_EQ(got[1], 0.01);
  EXPECT_EQ(magnitude, 1);
  // Only what is given differs from the defaults.
  qkv_rotary_options yarn;
  qkv_rotary_options_init(&yarn);
  yarn.scaling = QKV_ROTARY_YARN;
  yarn.factor = 2;
  yarn.original_length = 64;
  EXPECT_OK(qkv_rotary_frequencies(4, &yarn, got, 2, &magnitude));
  const RotaryFrequencies want =
      rotary_frequencies(4, {.scaling = RotaryScaling::kYarn, .factor = 2, .original_length = 64});
  EXPECT_EQ(std::vector<double>(got, got + 2), want.values);
}

TEST(CPositions, TablesAndRotation) {
  const std::int64_t ids[] = {1, -9, 1 << 30, 4};
  const double frequencies[] = {1, 0.01};
  const RotaryTables tables = rotary_tables({ids, {2, 2}}, {{1, 0.01}, 1.25});
  float cosines[8], sines[8];
  const qkv_tensor positions = tensor_in_c(ids, DType::kInt64, {2, 2}),
                   to_cosines = tensor_in_c(cosines, DType::kFloat32, {2, 2, 2}),
                   to_sines = tensor_in_c(sines, DType::kFloat32, {2, 2, 2});
  EXPECT_OK(qkv_rotary_tables(&positions, frequencies, 2, 1.25, &to_cosines, &to_sines));
  EXPECT_EQ(std::memcmp(cosines, tables.cosines.data<float>(), sizeof(cosines)), 0);
  EXPECT_EQ(std::memcmp(sines, tables.sines.data<float>(), sizeof(sines)), 0);

  float x[2 * 2 * 3 * 5], got[60], want[60];
  for (int n = 0; n < 60; ++n) x[n] = static_cast<float>(n % 7) - 2.5f;
  const qkv_tensor from = tensor_in_c(x, DType::kFloat32, {2, 2, 3, 5}),
                   to = tensor_in_c(got, DType::kFloat32, {2, 2, 3, 5});
  const TensorView view(x, {2, 2, 3, 5});
  const MutableTensorView out(want, {2, 2, 3, 5});
  for (std::int32_t layout : {QKV_ROTARY_INTERLEAVED, QKV_ROTARY_HALVES}) {
    const auto same = static_cast<RotaryLayout>(layout);
    EXPECT_OK(qkv_rotate(&from, &to_cosines, &to_sines, layout, &to, nullptr));
    rotate(view, tables.cosines, tables.sines, same, out);
    EXPECT_EQ(std::memcmp(got, want, sizeof(got)), 0);
    EXPECT_OK(qkv_rotate_gradient(&from, &to_cosines, &to_sines, layout, &to, nullptr));
    rotate_gradient(view, tables.cosines, tables.sines, same, out);
    EXPECT_EQ(std::memcmp(got, want, sizeof(got)), 0);
  }
  EXPECT_FAILS(qkv_rotate(&from, &to_cosines, &to_sines, 2, &to, nullptr), QKV_INVALID_ARGUMENT,
               "layout: 2");
  EXPECT_FAILS(qkv_rotate(&from, &to_cosines, nullptr, 0, &to, nullptr), QKV_INVALID_ARGUMENT,
               "sines: absent");
  EXPECT_FAILS(qkv_rotate_gradient(nullptr, &to_cosines, &to_sines, 0, &to, nullptr),
               QKV_INVALID_ARGUMENT, "d_out: absent");
}

TEST(CPositions, RefuseWhatHasNoMeaning) {
  double frequencies[2], magnitude = 7;
  qkv_rotary_options options;
  qkv_rotary_options_init(&options);
  options.scaling = 5;
  EXPECT_FAILS(qkv_rotary_frequencies(4, &options, frequencies, 2, &magnitude),
               QKV_INVALID_ARGUMENT, "scaling: 5");
  options.scaling = 0;
  options.reserved = 1;
  EXPECT_FAILS(qkv_rotary_frequencies(4, &options, frequencies, 2, &magnitude), QKV_UNSUPPORTED,
               "reserved is 1");
  EXPECT_FAILS(qkv_rotary_frequencies(4, nullptr, frequencies, 1, &magnitude), QKV_INVALID_ARGUMENT,
               "pass 2, one a pair");
  EXPECT_FAILS(qkv_rotary_frequencies(4, nullptr, nullptr, 2, &magnitude), QKV_INVALID_ARGUMENT,
               "frequencies: null pointer");
  EXPECT_FAILS(qkv_rotary_frequencies(4, nullptr, frequencies, 2, nullptr), QKV_INVALID_ARGUMENT,
               "magnitude: null pointer");
  EXPECT_EQ(magnitude, 7);
  EXPECT_FAILS(qkv_rotary_tables(nullptr, frequencies, 2, 1, nullptr, nullptr),
               QKV_INVALID_ARGUMENT, "positions: absent");
  const std::int64_t ids[] = {std::int64_t{1} << 54};
  const qkv_tensor positions = tensor_in_c(ids, DType::kInt64, {1});
  EXPECT_FAILS(qkv_rotary_tables(&positions, frequencies, 2, 1, nullptr, nullptr),
               QKV_INVALID_ARGUMENT, "is at 18014398509481984");
}

TEST(CPositions, Buckets) {
  std::int64_t bucket = -1;
  EXPECT_OK(qkv_relative_position_bucket(-64, 1, 32, 128, &bucket));
  EXPECT_EQ(bucket, 14);
  EXPECT_OK(qkv_relative_position_bucket(64, 0, 32, 128, &bucket));
  EXPECT_EQ(bucket, 0);
  EXPECT_FAILS(qkv_relative_position_bucket(1, 1, 3, 128, &bucket), QKV_INVALID_ARGUMENT,
               "buckets: 3");
  EXPECT_FAILS(qkv_relative_position_bucket(1, 1, 32, 128, nullptr), QKV_INVALID_ARGUMENT,
               "bucket: null pointer");
}

}  // namespace
}  // namespace qkv::test
