// NumPy and the safetensors package read what qkv wrote. Skipped, visibly, where they are missing.
#include <cstdint>

#include "io_test_util.h"

namespace qkv::io {
namespace {

TEST(NumpyCheck, PythonReadsWhatQkvWrote) {
  ScratchDirectory scratch;
  const Tensor cube = must_read(data_path("cube.npy"));
  const TensorView view = cube;
  const std::uint16_t halves[] = {0x3e00, 0xc000};
  const std::uint8_t flags[] = {2, 0};
  const std::int64_t limits[] = {INT64_MIN, INT64_MAX};
  const float scalar = 7.25f;
  const std::vector<NamedTensor> tensors = {
      {"cube", view},
      {"turned", view.transposed(0, 2)},
      {"halves", TensorView(halves, DType::kFloat16, {2})},
      {"flags", TensorView(flags, DType::kBool, {2})},
      {"größe", TensorView(limits, {2})},
      {"scalar", TensorView(&scalar, {})},
      {"empty", TensorView(halves, {3, 0})},
  };
  for (const NamedTensor& named : tensors) {
    ASSERT_TRUE(write(scratch / (named.name + ".npy"), {named}).ok());
  }
  ASSERT_TRUE(write(scratch / "all.npz", tensors).ok());
  ASSERT_TRUE(
      write(scratch / "all.safetensors", tensors, {.metadata = {{"made by", "qkv \"test\""}}})
          .ok());
  const int result = run_check_written('"' + (scratch / "") + '"');
  if (result == kNoNumpy) GTEST_SKIP() << "no python3 with NumPy";
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace qkv::io
