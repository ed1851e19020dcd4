// qkv attend: the lesson's numbers, and what every option does to them.
#include <cmath>

#include "run_command.h"

namespace qkv::app {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class Attend : public ::testing::Test {
 protected:
  Attend() { write_lesson(scratch); }

  // Runs `qkv attend lesson.npz -o out.npz` with more arguments, and reads one result.
  Tensor attend(Arguments more, std::string_view name = "out") {
    Arguments arguments = {"attend", "lesson.npz", "-o", "out.npz", "--force"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_success(run(scratch, arguments));
    return read_array(scratch / "out.npz", name);
  }

  // The output for these scores of the three keys, in double precision.
  static std::vector<float> expected(const std::vector<double>& scores, double sink = -kInfinity) {
    const double values[3][2] = {{10, 0}, {0, 10}, {5, 5}};
    double sum = std::exp(sink), out[2] = {};
    for (std::size_t j = 0; j < scores.size(); ++j) {
      sum += std::exp(scores[j]);
      for (int c = 0; c < 2; ++c) out[c] += std::exp(scores[j]) * values[j][c];
    }
    return {static_cast<float>(out[0] / sum), static_cast<float>(out[1] / sum)};
  }

  static void expect_near(const Tensor& out, const std::vector<float>& wanted) {
    const std::vector<float> found = elements<float>(out);
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-5);
  }

  Scratch scratch;
  // The scaled scores of the lesson: 1, 2 and 3 over the square root of 2.
  const std::vector<double> scores = {1 / std::sqrt(2.0), 2 / std::sqrt(2.0), 3 / std::sqrt(2.0)};
};

TEST_F(Attend, GivesTheNumbersOfTheLesson) {
  const Tensor out = attend({"--lse", "--weights", "0:0"});
  EXPECT_THAT(elements<float>(out),
              ElementsAre(FloatNear(4.28f, 0.005f), FloatNear(5.72f, 0.005f)));
  EXPECT_EQ(shape_string(out), "[1, 2]");
  const Tensor weights = read_array(scratch / "out.npz", "weights");
  EXPECT_EQ(shape_string(weights), "[1, 3]");
  EXPECT_THAT(elements<float>(weights),
              ElementsAre(FloatNear(0.140f, 0.0005f), FloatNear(0.284f, 0.0005f),
                          FloatNear(0.576f, 0.0005f)));
  const Tensor lse = read_array(scratch / "out.npz", "lse");
  EXPECT_EQ(shape_string(lse), "[1]");
  EXPECT_NEAR(elements<float>(lse)[0],
              std::log(std::exp(scores[0]) + std::exp(scores[1]) + std::exp(scores[2])), 1e-6);
}

TEST_F(Attend, ReadsAndWritesEveryFormat) {
  write_arrays(scratch / "q.npy", {{"", lesson_query()}});
  write_arrays(scratch / "k.safetensors", {{"the keys", lesson_key()}});
  write_arrays(scratch / "v.npz", {{"v", lesson_value()}, {"other", lesson_key()}});
  write_arrays(scratch / "all.safetensors",
               {{"query", lesson_query()}, {"key", lesson_key()}, {"value", lesson_value()}});
  const std::vector<float> out = elements<float>(attend({}));
  const std::vector<Arguments> ways = {
      {"attend", "--q", "q.npy", "--k", "k.safetensors", "--v", "v.npz", "-o", "a.npy"},
      {"attend", "--q=q.npy", "--k=k.safetensors:the keys", "--v=v.npz:v", "-o", "a.safetensors"},
      {"attend", "all.safetensors", "--output", "a.npz"},
      {"attend", "lesson.npz", "--q", "q.npy", "-o", "b.npz"},
      {"attend", "all.safetensors", "--v", "value", "--k", "key", "-o", "c.npz"}};
  for (const Arguments& way : ways) {
    const Result result = run(scratch, way);
    expect_success(result);
    const std::string file = way.back();
    EXPECT_THAT(result.out, HasSubstr(file));
    EXPECT_EQ(elements<float>(read_array(scratch / file, file == "a.npy" ? "" : "out")), out);
  }
}

TEST_F(Attend, Causal) {
  const std::vector<float> all = elements<float>(attend({}));
  EXPECT_EQ(elements<float>(attend({"--causal"})), all);
  EXPECT_EQ(elements<float>(attend({"--causal=bottom-right"})), all);
  EXPECT_THAT(elements<float>(attend({"--causal=top-left"})), ElementsAre(10, 0));
  expect_near(attend({"--causal=1"}), expected({scores[0], scores[1]}));
  expect_near(attend({"--causal", "--query-offset", "1"}), expected({scores[0], scores[1]}));
  EXPECT_THAT(elements<float>(attend({"--causal=-1"})), ElementsAre(0, 0));
  // Without --causal an offset alone hides nothing.
  EXPECT_EQ(elements<float>(attend({"--query-offset", "-1"})), all);
}

TEST_F(Attend, Window) {
  EXPECT_THAT(elements<float>(attend({"--window", "0,0"})), ElementsAre(5, 5));
  EXPECT_EQ(elements<float>(attend({"--window", "-1,-1"})), elements<float>(attend({})));
  expect_near(attend({"--window=0,-1", "--query-offset=1"}),
              [&] {  // keys 1 and 2
                const double b = std::exp(scores[1]), c = std::exp(scores[2]);
                return std::vector<float>{static_cast<float>(5 * c / (b + c)),
                                          static_cast<float>((10 * b + 5 * c) / (b + c))};
              }());
}

TEST_F(Attend, MaskAndBias) {
  write_arrays(scratch / "mask.npy", {{"", tensor<bool>({1, 3}, {true, true, false})}});
  write_arrays(scratch / "bias.npy", {{"", tensor<float>({3}, {0, 0, -kInfinity})}});
  write_arrays(scratch / "ramp.npz", {{"ramp", tensor<float>({3}, {0, 1, 2})}});
  const Tensor masked = attend({"--mask", "mask.npy"});
  expect_near(masked, expected({scores[0], scores[1]}));
  EXPECT_EQ(elements<float>(attend({"--bias", "bias.npy"})), elements<float>(masked));
  EXPECT_EQ(elements<float>(attend({"--mask", "bias.npy"})), elements<float>(masked));
  expect_near(attend({"--bias", "ramp.npz:ramp"}),
              expected({scores[0], scores[1] + 1, scores[2] + 2}));
}

TEST_F(Attend, Lengths) {
  write_arrays(scratch / "two.npy", {{"", tensor<std::int32_t>({1}, {2})}});
  const Tensor two = attend({"--key-lengths", "2"});
  expect_near(two, expected({scores[0], scores[1]}));
  EXPECT_EQ(elements<float>(attend({"--key-lengths", "two.npy"})), elements<float>(two));
  EXPECT_THAT(elements<float>(attend({"--key-begin", "2"})), ElementsAre(5, 5));
  EXPECT_THAT(elements<float>(attend({"--query-lengths", "0", "--lse"})), ElementsAre(0, 0));
  EXPECT_THAT(elements<float>(read_array(scratch / "out.npz", "lse")), ElementsAre(-kInfinity));
}

TEST_F(Attend, ScaleSoftcapSinksAndAlibi) {
  const std::vector<float> all = elements<float>(attend({}));
  EXPECT_THAT(elements<float>(attend({"--scale", "0"})), ElementsAre(5, 5));
  expect_near(attend({"--scale", "-0.5"}), expected({-0.5, -1.0, -1.5}));
  EXPECT_EQ(elements<float>(attend({"--softcap", "0"})), all);
  expect_near(attend({"--softcap", "1.5"}),
              expected({1.5 * std::tanh(scores[0] / 1.5), 1.5 * std::tanh(scores[1] / 1.5),
                        1.5 * std::tanh(scores[2] / 1.5)}));
  expect_near(attend({"--sinks", "0.5"}), expected(scores, 0.5));
  EXPECT_EQ(elements<float>(attend({"--sinks=-inf"})), all);
  // One query at position 2; the paper's slope for one head is 2^-8.
  expect_near(attend({"--alibi"}),
              expected({scores[0] - 2.0 / 256, scores[1] - 1.0 / 256, scores[2]}));
  expect_near(attend({"--alibi=0.5"}), expected({scores[0] - 1, scores[1] - 0.5, scores[2]}));
  write_arrays(scratch / "slopes.npy", {{"", tensor<double>({1}, {0.5})}});
  EXPECT_EQ(elements<float>(attend({"--alibi=slopes.npy"})),
            elements<float>(attend({"--alibi=0.5"})));
}

TEST_F(Attend, Types) {
  const Tensor out64 = attend({"--dtype", "float64", "--lse"});
  EXPECT_EQ(out64.dtype(), DType::kFloat64);
  EXPECT_NEAR(elements<double>(out64)[0], 4.2801, 1e-3);
  EXPECT_EQ(read_array(scratch / "out.npz", "lse").dtype(), DType::kFloat64);
  EXPECT_EQ(attend({"--dtype", "f64", "--out-dtype", "float32"}).dtype(), DType::kFloat32);

  // Whole numbers have no attention, but can be converted.
  write_arrays(scratch / "q.npy", {{"", tensor<std::int64_t>({1, 2}, {1, 2})}});
  EXPECT_EQ(elements<float>(attend({"--q", "q.npy", "--dtype", "float32"})),
            elements<float>(attend({})));

  // 1, 2 as float16.
  Tensor half;
  const std::int64_t shape[] = {1, 2};
  ASSERT_TRUE(allocate(DType::kFloat16, shape, half).ok());
  half.data<std::uint16_t>()[0] = 0x3c00;
  half.data<std::uint16_t>()[1] = 0x4000;
  write_arrays(scratch / "half.npy", {{"", half}});
  EXPECT_EQ(attend({"--q", "half.npy"}).dtype(), DType::kFloat16);
  EXPECT_EQ(elements<float>(attend({"--q", "half.npy", "--out-dtype", "float32"})),
            elements<float>(attend({})));
  EXPECT_EQ(elements<float>(attend({"--q", "half.npy", "--dtype", "float32"})),
            elements<float>(attend({})));
}

TEST_F(Attend, BFloat16) {
  const auto bfloat16 = [](std::initializer_list<std::int64_t> shape,
                           const std::vector<float>& numbers) {
    Tensor result;
    EXPECT_TRUE(allocate(DType::kBFloat16, std::span(shape.begin(), shape.size()), result).ok());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      result.data<std::uint16_t>()[i] =
          static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(numbers[i]) >> 16);
    }
    return result;
  };
  write_arrays(scratch / "b.safetensors", {{"q", bfloat16({1, 2}, {1, 2})},
                                           {"k", bfloat16({3, 2}, {1, 0, 0, 1, 1, 1})},
                                           {"v", bfloat16({3, 2}, {10, 0, 0, 10, 5, 5})}});
  expect_failure(run(scratch, {"attend", "b.safetensors", "-o", "b.npz"}), 2, {"arithmetic"});
  expect_failure(
      run(scratch, {"attend", "b.safetensors", "-o", "b.npz", "--arithmetic", "float32"}), 2,
      {"bfloat16", "--out-dtype"});
  expect_success(run(scratch, {"attend", "b.safetensors", "-o", "b.npz", "--arithmetic", "float32",
                               "--out-dtype", "float32"}));
  EXPECT_EQ(elements<float>(read_array(scratch / "b.npz", "out")), elements<float>(attend({})));
  expect_success(
      run(scratch, {"attend", "b.safetensors", "-o", "c.safetensors", "--arithmetic", "float32"}));
  EXPECT_EQ(read_array(scratch / "c.safetensors", "out").dtype(), DType::kBFloat16);
}

// Two heads of three tokens, [heads, length, d] and with the axes exchanged.
class AttendLayout : public Attend {
 protected:
  AttendLayout() {
    std::vector<float> hld(12), lhd(12);
    for (std::size_t h = 0; h < 2; ++h)
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t c = 0; c < 2; ++c) {
          const float value = static_cast<float>(h * 7 + i * 3 + c) / 8;
          hld[(h * 3 + i) * 2 + c] = value;
          lhd[(i * 2 + h) * 2 + c] = value;
        }
    const Tensor a = tensor<float>({2, 3, 2}, hld), b = tensor<float>({3, 2, 2}, lhd);
    const Tensor batch = tensor<float>({1, 3, 2, 2}, lhd);
    write_arrays(scratch / "hld.npz", {{"q", a}, {"k", a}, {"v", a}});
    write_arrays(scratch / "lhd.npz", {{"q", b}, {"k", b}, {"v", b}});
    write_arrays(scratch / "blhd.npz", {{"q", batch}, {"k", batch}, {"v", batch}});
  }
  Tensor result(const std::string& input, Arguments more, std::string_view name = "out") {
    Arguments arguments = {"attend", input, "-o", "r.npz", "--force", "--causal", "--lse"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_success(run(scratch, arguments));
    return read_array(scratch / "r.npz", name);
  }
};

TEST_F(AttendLayout, LengthFirstIsTheSameExchanged) {
  const Tensor a = result("hld.npz", {});
  const Tensor b = result("lhd.npz", {"--layout", "blhd"});
  EXPECT_EQ(shape_string(b), "[3, 2, 2]");
  const Tensor batch = result("blhd.npz", {"--layout=blhd"});
  EXPECT_EQ(shape_string(batch), "[1, 3, 2, 2]");
  EXPECT_EQ(elements<float>(batch), elements<float>(b));
  for (std::size_t h = 0; h < 2; ++h)
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t c = 0; c < 2; ++c)
        EXPECT_EQ(a.data<float>()[(h * 3 + i) * 2 + c], b.data<float>()[(i * 2 + h) * 2 + c]);
  EXPECT_EQ(elements<float>(result("hld.npz", {}, "lse")),
            elements<float>(result("lhd.npz", {"--layout", "blhd"}, "lse")));
}

TEST_F(AttendLayout, PackedSequences) {
  // One sequence of three is the whole; the sequences 0..1 and 2 are computed apart.
  EXPECT_EQ(elements<float>(result("lhd.npz", {"--cu-seqlens", "0,3"})),
            elements<float>(result("lhd.npz", {"--layout", "blhd"})));
  const Tensor apart = result("lhd.npz", {"--cu-seqlens", "0,2,3"});
  const Tensor value = read_array(scratch / "lhd.npz", "v");
  for (int i = 8; i < 12; ++i) EXPECT_EQ(apart.data<float>()[i], value.data<float>()[i]);
  EXPECT_EQ(shape_string(result("lhd.npz", {"--cu-seqlens", "0,2,3"}, "lse")), "[2, 3]");

  const Tensor ends = tensor<std::int32_t>({3}, {0, 2, 3});
  write_arrays(scratch / "one.npy", {{"", ends}});
  write_arrays(scratch / "two.npz", {{"queries", ends}, {"keys", ends}});
  for (const Arguments& more :
       {Arguments{"--cu-seqlens", "one.npy"}, Arguments{"--cu-seqlens", "two.npz"},
        Arguments{"--cu-seqlens", "0,2,3", "--key-cu-seqlens", "one.npy"}}) {
    EXPECT_EQ(elements<float>(result("lhd.npz", more)), elements<float>(apart));
  }
}

TEST_F(AttendLayout, WeightsOfChosenHeadsAndRows) {
  const Tensor all = result("hld.npz", {"--weights", "all:all"}, "weights");
  EXPECT_EQ(shape_string(all), "[2, 3, 3]");
  EXPECT_EQ(all.data<float>()[0], 1.0f);  // causal: the first row sees itself
  const Tensor some = result("hld.npz", {"--weights", "1:0-1,2"}, "weights");
  EXPECT_EQ(shape_string(some), "[1, 3, 3]");
  for (int i = 0; i < 9; ++i) EXPECT_EQ(some.data<float>()[i], all.data<float>()[9 + i]);
}

TEST_F(AttendLayout, ThreadsAndInstructionSetsKeepTheBits) {
  const std::vector<float> out = elements<float>(result("hld.npz", {}));
  EXPECT_EQ(elements<float>(result("hld.npz", {"--threads", "3"})), out);
  EXPECT_EQ(elements<float>(result("hld.npz", {"--isa", "portable"})), out);
}

TEST_F(Attend, ExplainAloneComputesNothing) {
  const Result result = run(scratch, {"attend", "lesson.npz", "--explain", "--isa", "portable"});
  expect_success(result);
  for (const char* part : {"query", "float32 [1, 2]", "portable", "threads", "workspace"}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
  EXPECT_THAT(scratch.names(), ElementsAre("lesson.npz"));
}

TEST_F(Attend, Json) {
  const Result result =
      run(scratch, {"attend", "lesson.npz", "-o", "out.npz", "--lse", "--explain", "--json"});
  expect_success(result);
  const nlohmann::json json = parsed(result.out);
  EXPECT_EQ(json["output"], "out.npz");
  EXPECT_EQ(json["arrays"][0]["name"], "out");
  EXPECT_EQ(json["arrays"][1]["shape"], nlohmann::json::array({1}));
  EXPECT_TRUE(json["seconds"].is_number());
  EXPECT_EQ(json["plan"]["input_bytes"], 4 * (2 + 6 + 6));
  EXPECT_TRUE(json["plan"]["kernel"].is_string());
  const Result plan = run(scratch, {"attend", "lesson.npz", "--explain", "--json"});
  EXPECT_FALSE(parsed(plan.out).contains("arrays"));
}

TEST_F(Attend, WorksOnTheExampleOfTheProject) {
  const std::string input = std::string(QKV_EXAMPLES_DIR) + "/data/minilm.safetensors";
  expect_success(run(scratch, {"attend", input, "--q", "layer2.q", "--k", "layer2.k", "--v",
                               "layer2.v", "-o", "out.safetensors", "--weights", "4:95"}));
  const Tensor weights = read_array(scratch / "out.safetensors", "weights");
  EXPECT_EQ(shape_string(weights), "[1, 1, 1, 304]");
  EXPECT_NEAR(weights.data<float>()[77], 0.88, 0.005);  // from ")" to its "("
}

}  // namespace
}  // namespace qkv::app
