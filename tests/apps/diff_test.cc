#include <cmath>

#include "run_command.h"

namespace qkv::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Diff : public ::testing::Test {
 protected:
  Diff() {
    const Tensor one = tensor<float>({2}, {1, 2});
    write_arrays(scratch / "a.npz", {{"x", one}, {"y", one}});
    write_arrays(scratch / "same.safetensors", {{"y", one}, {"x", one}});
    write_arrays(scratch / "near.npz",
                 {{"x", tensor<float>({2}, {1, std::nextafterf(2, 3)})}, {"y", one}});
    write_arrays(scratch / "less.npz", {{"x", one}});
    write_arrays(scratch / "typed.npz", {{"x", tensor<double>({2}, {1, 2})}, {"y", one}});
    write_arrays(scratch / "shaped.npz", {{"x", tensor<float>({1, 2}, {1, 2})}, {"y", one}});
    write_arrays(scratch / "one.npy", {{"", one}});
  }
  Result diff(Arguments arguments) {
    arguments.insert(arguments.begin(), "diff");
    const Result result = run(scratch, arguments);
    EXPECT_EQ(result.code < 2, result.err.empty()) << result.err;
    return result;
  }
  Scratch scratch;
};

TEST_F(Diff, EqualFilesOfDifferentFormats) {
  const Result result = diff({"a.npz", "same.safetensors"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("equal bits"));
  EXPECT_EQ(diff({"one.npy", "less.npz"}).code, 0);
  EXPECT_EQ(diff({"less.npz", "one.npy"}).code, 0);
  EXPECT_EQ(diff({"one.npy", "one.npy"}).code, 0);
}

TEST_F(Diff, TellsWhereAndHowMuch) {
  const Result result = diff({"a.npz", "near.npz"});
  EXPECT_EQ(result.code, 1);
  for (const char* part : {"1 of 2 differ", "1 ulp", "[1]", "2.0000002", "1 of 2 arrays differ"}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
}

TEST_F(Diff, Tolerances) {
  EXPECT_EQ(diff({"a.npz", "near.npz", "--ulp", "1"}).code, 0);
  EXPECT_EQ(diff({"a.npz", "near.npz", "--ulp", "0"}).code, 1);
  EXPECT_EQ(diff({"a.npz", "near.npz", "--atol", "1e-6"}).code, 0);
  EXPECT_EQ(diff({"a.npz", "near.npz", "--atol=0", "--rtol=1e-6"}).code, 0);
  EXPECT_EQ(diff({"a.npz", "near.npz", "--atol", "1e-9"}).code, 1);
}

TEST_F(Diff, MissingArraysTypesAndShapesAreDifferences) {
  EXPECT_EQ(diff({"a.npz", "typed.npz"}).code, 1);
  EXPECT_EQ(diff({"a.npz", "typed.npz", "--ulp", "1000"}).code, 1);
  for (const char* file : {"less.npz", "shaped.npz", "one.npy"}) {
    EXPECT_EQ(diff({"a.npz", file, "--atol", "1e30"}).code, 1) << file;
    EXPECT_EQ(diff({file, "a.npz"}).code, 1) << file;
  }
  EXPECT_THAT(diff({"less.npz", "a.npz"}).out, HasSubstr("only in \"a.npz\""));
  EXPECT_THAT(diff({"a.npz", "typed.npz"}).out, HasSubstr("float64 in B"));
}

TEST_F(Diff, FloatingTypesAreComparedAsNumbersWithATolerance) {
  const Result same = diff({"a.npz", "typed.npz", "--atol", "0"});
  EXPECT_EQ(same.code, 0);
  EXPECT_THAT(same.out, HasSubstr("float32 and float64 [2]"));
  write_arrays(scratch / "off.npz",
               {{"x", tensor<double>({2}, {1, 2.125})}, {"y", tensor<double>({2}, {1, 2})}});
  EXPECT_EQ(diff({"a.npz", "off.npz", "--atol", "0.125"}).code, 0);
  EXPECT_EQ(diff({"a.npz", "off.npz", "--rtol", "0.01"}).code, 1);
}

TEST_F(Diff, Json) {
  const Result result = diff({"a.npz", "near.npz", "--json"});
  EXPECT_EQ(result.code, 1);
  const nlohmann::json json = parsed(result.out);
  EXPECT_EQ(json["agree"], false);
  EXPECT_EQ(json["arrays"][0]["name"], "x");
  EXPECT_EQ(json["arrays"][0]["unequal_bits"], 1);
  EXPECT_EQ(json["arrays"][0]["largest_ulp"], 1);
  EXPECT_EQ(json["arrays"][0]["first_place"], nlohmann::json::array({1}));
  EXPECT_EQ(json["arrays"][1]["status"], "equal");
  EXPECT_EQ(parsed(diff({"a.npz", "less.npz", "--json"}).out)["arrays"][1]["status"], "missing");
}

TEST_F(Diff, NansOfEqualBitsAreEqual) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  write_arrays(scratch / "n.npy", {{"", tensor<float>({2}, {nan, 1})}});
  write_arrays(scratch / "m.npy", {{"", tensor<float>({2}, {-nan, 1})}});
  EXPECT_EQ(diff({"n.npy", "n.npy"}).code, 0);
  EXPECT_EQ(diff({"n.npy", "m.npy"}).code, 1);
  EXPECT_EQ(diff({"n.npy", "m.npy", "--ulp", "0"}).code, 0);
}

TEST_F(Diff, Errors) {
  expect_failure(run(scratch, {"diff", "a.npz"}), 2, {"B", "--help"});
  expect_failure(run(scratch, {"diff", "a.npz", "gone.npz"}), 4, {"gone.npz"});
  expect_failure(run(scratch, {"diff", "a.npz", "a.npz", "--atol", "-1"}), 2, {"--atol", "-1"});
  expect_failure(run(scratch, {"diff", "a.npz", "a.npz", "--atol", "nan"}), 2, {"--atol"});
  expect_failure(run(scratch, {"diff", "a.npz", "a.npz", "--ulp", "-3"}), 2, {"--ulp"});
  expect_failure(run(scratch, {"diff", "a.npz", "a.npz", "x"}), 2, {"unexpected", "x"});
}

}  // namespace
}  // namespace qkv::app
