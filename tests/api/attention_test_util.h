// What the tests of attention share: owning arrays of any type, and one call with its results.
#ifndef QKV_TESTS_API_ATTENTION_TEST_UTIL_H_
#define QKV_TESTS_API_ATTENTION_TEST_UTIL_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "qkv/attention.h"
#include "tensor/element.h"

namespace qkv::test {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

using Shape = std::vector<std::int64_t>;

// The bytes of a result. Compared by ==; a test that fails prints their hash alone.
struct Bits : std::vector<std::byte> {
  friend void PrintTo(const Bits& bits, std::ostream* stream) {
    std::uint64_t hash = 14695981039346656037u;  // FNV-1a
    for (std::byte byte : bits) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 1099511628211u;
    *stream << bits.size() << " bytes of hash " << hash;
  }
};

// A row-major tensor that owns its memory. Numbers go in and come out as doubles.
class Array {
 public:
  Array() = default;
  // Zeros.
  Array(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)) {
    bytes_.resize(static_cast<std::size_t>(size()) * size_of(dtype));
  }
  // One value a place, row-major; a single value fills all.
  Array(DType dtype, Shape shape, const std::vector<double>& values)
      : Array(dtype, std::move(shape)) {
    EXPECT_TRUE(values.size() == 1 || static_cast<std::int64_t>(values.size()) == size())
        << values.size() << " values for " << size() << " places";
    for (std::int64_t i = 0; i < size(); ++i) {
      set(i, values[values.size() == 1 ? 0 : static_cast<std::size_t>(i)]);
    }
  }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t size() const {
    std::int64_t count = 1;
    for (std::int64_t extent : shape_) count *= extent;
    return count;
  }
  const Bits& bytes() const { return bytes_; }

  // Views of empty arrays have a pointer too.
  TensorView view() const { return {memory(), dtype_, shape_}; }
  MutableTensorView view() { return {memory(), dtype_, shape_}; }
  operator TensorView() const { return view(); }
  operator MutableTensorView() { return view(); }

  void set(std::int64_t i, double value) {
    MutableTensorView all = view();
    switch (dtype_) {
      case DType::kBool:
        static_cast<std::uint8_t*>(all.data)[i] = value != 0;
        return;
      case DType::kFloat64:
        static_cast<double*>(all.data)[i] = value;
        return;
      case DType::kFloat16:
        static_cast<std::uint16_t*>(all.data)[i] = float_to_float16(static_cast<float>(value));
        return;
      case DType::kBFloat16:
        static_cast<std::uint16_t*>(all.data)[i] = float_to_bfloat16(static_cast<float>(value));
        return;
      default:
        static_cast<float*>(all.data)[i] = static_cast<float>(value);
        return;
    }
  }
  double operator[](std::int64_t i) const {
    return dtype_ == DType::kBool ? load_bool(view(), i) : load_double(view(), i);
  }
  std::vector<double> values() const {
    std::vector<double> result;
    for (std::int64_t i = 0; i < size(); ++i) result.push_back((*this)[i]);
    return result;
  }

 private:
  std::byte* memory() { return bytes_.empty() ? &no_bytes_ : bytes_.data(); }
  const std::byte* memory() const { return bytes_.empty() ? &no_bytes_ : bytes_.data(); }

  DType dtype_ = DType::kFloat32;
  Shape shape_;
  Bits bytes_;
  std::byte no_bytes_{};
};

// Numbers in [-1, 1) that every type of the tests holds exactly: multiples of 1/32.
inline Array scrambled(DType dtype, Shape shape, std::uint64_t seed) {
  Array array(dtype, std::move(shape));
  std::uint64_t state = seed * 2654435761u + 12345;
  for (std::int64_t i = 0; i < array.size(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    array.set(i, static_cast<double>(static_cast<std::int64_t>(state >> 58) - 32) / 32.0);
  }
  return array;
}

struct Results {
  Array out, lse, weights;
};

// One instruction set and one input type.
struct Setting {
  Isa isa = Isa::kBest;
  DType dtype = DType::kFloat32;

  ExecutionOptions execution(int threads = 0) const {
    ExecutionOptions execution;
    execution.isa = isa;
    execution.threads = threads;
    return execution;
  }
  // Results without rounding to the input type.
  DType result_type() const { return dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32; }
  // For values up to about 1, with inputs the type holds exactly.
  double tolerance() const { return dtype == DType::kFloat64 ? 1e-14 : 1e-6; }
};

inline std::string setting_name(const ::testing::TestParamInfo<Setting>& info) {
  return std::string(name_of(info.param.isa)) + "_" + std::string(name_of(info.param.dtype));
}

inline bool usable(Isa isa) {
  const std::vector<Isa> isas = usable_isas();
  return std::find(isas.begin(), isas.end(), isa) != isas.end();
}

// Every kernel of this build with every input type; float64 has one kernel of its own.
inline std::vector<Setting> all_settings() {
  std::vector<Setting> settings;
  for (Isa isa : built_isas()) {
    for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
      settings.push_back({isa, dtype});
    }
  }
  settings.push_back({Isa::kPortable, DType::kFloat64});
  return settings;
}

inline std::vector<Setting> float32_settings() {
  std::vector<Setting> settings;
  for (Isa isa : built_isas()) settings.push_back({isa, DType::kFloat32});
  return settings;
}

inline AttentionOptions widened(AttentionOptions options) {
  options.arithmetic = Arithmetic::kFloat32;
  return options;
}

// Fills memory with a pattern that no result has, so that places never written are seen.
inline void fill_with_junk(Array& array) {
  if (array.size() != 0) std::memset(array.view().data, 0xa5, array.bytes().size());
}

// out, lse and all weights. `out` and `lse` must have the same bits when asked for alone.
inline Results attend(const Setting& setting, const TensorView& query, const TensorView& key,
                      const TensorView& value, AttentionOptions options = {}) {
  options = widened(std::move(options));
  const bool packed = !options.query_cu_seqlens.empty();
  const DType type = setting.result_type();
  const auto extent = [](const TensorView& view, int axis) { return view.extents[axis]; };
  Shape out_shape(query.extents.begin(), query.extents.begin() + query.rank);
  out_shape.back() = extent(value, value.rank - 1);
  Shape lse_shape(out_shape.begin(), out_shape.end() - 1);
  if (packed) lse_shape = {extent(query, 1), extent(query, 0)};
  Shape weights_shape = lse_shape;
  weights_shape.push_back(packed ? extent(key, 0) : extent(key, key.rank - 2));

  const auto run = [&](bool with_weights) {
    Results results{Array(type, out_shape), Array(type, lse_shape), Array(type, weights_shape)};
    AttentionOutputs outputs;
    fill_with_junk(results.out);
    fill_with_junk(results.lse);
    fill_with_junk(results.weights);
    outputs.out = results.out;
    outputs.lse = results.lse;
    if (with_weights) outputs.weights = results.weights;
    attention({query, key, value}, outputs, options, setting.execution());
    return results;
  };
  Results results = run(true);
  const Results alone = run(false);
  EXPECT_EQ(results.out.bytes(), alone.out.bytes()) << "asking for weights changed out";
  EXPECT_EQ(results.lse.bytes(), alone.lse.bytes()) << "asking for weights changed lse";
  return results;
}

inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// Each value within `tolerance` * max(1, |expected|); infinities and NaN must be themselves.
inline void expect_near(const std::vector<double>& got, const std::vector<double>& expected,
                        double tolerance, const std::string& what = "") {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << what << " place " << i << " is " << got[i] << ", not NaN";
    } else if (std::isinf(expected[i])) {
      EXPECT_EQ(got[i], expected[i]) << what << " place " << i;
    } else {
      EXPECT_NEAR(got[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i])))
          << what << " place " << i;
    }
  }
}

// A test that runs once for each Setting, and skips what this machine can't run.
class SettingTest : public ::testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    if (!usable(GetParam().isa)) {
      GTEST_SKIP() << "this machine can't run " << name_of(GetParam().isa);
    }
  }
  const Setting& setting() const { return GetParam(); }
  DType dtype() const { return GetParam().dtype; }
  Array array(Shape shape, const std::vector<double>& values) const {
    return Array(dtype(), std::move(shape), values);
  }
  // One column: rank 2, [values, 1].
  Array column(const std::vector<double>& values) const {
    return array({static_cast<std::int64_t>(values.size()), 1}, values);
  }
  Array bools(Shape shape, const std::vector<double>& values) const {
    return Array(DType::kBool, std::move(shape), values);
  }
  void near(const Array& got, const std::vector<double>& expected, const std::string& what = "") {
    expect_near(got.values(), expected, setting().tolerance(), what);
  }
};

// Options with scale 1, as most cases have it.
inline AttentionOptions unscaled() {
  AttentionOptions options;
  options.scale = 1.0;
  return options;
}

}  // namespace qkv::test

#endif  // QKV_TESTS_API_ATTENTION_TEST_UTIL_H_
