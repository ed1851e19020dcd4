// parse_attend(): from words to an AttendRequest, without any file.
#include "attend_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command.h"

namespace qkv::app {
namespace {

using ::testing::ElementsAre;

AttendRequest parse(std::vector<const char*> words) {
  words.insert(words.begin(), "attend");
  return parse_attend(static_cast<int>(words.size()), words.data());
}

TEST(AttendOptions, Defaults) {
  const AttendRequest request = parse({"in.npz", "-o", "out.npz"});
  EXPECT_EQ(request.input, "in.npz");
  EXPECT_EQ(request.output, "out.npz");
  EXPECT_EQ(request.layout, Layout::kHeadsFirst);
  EXPECT_FALSE(request.causal);
  EXPECT_EQ(request.alignment, Alignment::kBottomRight);
  EXPECT_FALSE(request.query_offset.given || request.key_lengths.given || request.sinks.given);
  EXPECT_FALSE(request.window.left || request.window.right);
  EXPECT_FALSE(request.scale || request.softcap || request.dtype || request.out_dtype);
  EXPECT_FALSE(request.weights);
  EXPECT_EQ(request.threads, 0);
  EXPECT_EQ(request.isa, Isa::kBest);
}

TEST(AttendOptions, FlagsTakeNoWordOfTheirs) {
  const AttendRequest request = parse({"--causal", "in.npz", "--alibi", "--explain"});
  EXPECT_TRUE(request.causal && request.alibi && request.explain);
  EXPECT_EQ(request.input, "in.npz");
  EXPECT_FALSE(request.alibi_slopes.given);
}

TEST(AttendOptions, ListsAndArrays) {
  const AttendRequest request =
      parse({"in.npz", "-o", "o.npz", "--key-lengths", "3,-1,+5", "--sinks", "-inf,0.5,1e-3",
             "--key-begin", "begins", "--query-lengths", "3x"});
  EXPECT_THAT(request.key_lengths.numbers, ElementsAre(3, -1, 5));
  EXPECT_EQ(request.key_lengths.array, "");
  EXPECT_THAT(request.sinks.numbers,
              ElementsAre(-std::numeric_limits<float>::infinity(), 0.5f, 1e-3f));
  EXPECT_EQ(request.key_begin.array, "begins");
  EXPECT_EQ(request.query_lengths.array, "3x");
}

TEST(AttendOptions, WindowEnds) {
  const AttendRequest request = parse({"i.npz", "--explain", "--window", "-1,7"});
  EXPECT_FALSE(request.window.left);
  EXPECT_EQ(request.window.right, 7);
}

TEST(AttendOptions, WeightsRanges) {
  const AttendRequest request = parse({"i.npz", "--explain", "--weights", "0,2:0-3,7"});
  ASSERT_TRUE(request.weights);
  ASSERT_EQ(request.weights->heads.size(), 2u);
  EXPECT_EQ(request.weights->heads[1].first, 2);
  ASSERT_EQ(request.weights->rows.size(), 2u);
  EXPECT_EQ(request.weights->rows[0].last, 3);
  EXPECT_TRUE(parse({"i.npz", "--explain", "--weights", "all:all"}).weights->rows.empty());
  EXPECT_THAT(expand("--weights", request.weights->rows, 8), ElementsAre(0, 1, 2, 3, 7));
  EXPECT_THROW(expand("--weights", request.weights->rows, 7), Failure);
}

TEST(AttendOptions, NumbersAreReadExactly) {
  EXPECT_EQ(parse({"i.npz", "--explain", "--scale", "0.1"}).scale, 0.1);
  // Between two float32: through double it would be rounded twice.
  const char* text = "1.00000005960464484";
  EXPECT_EQ(parse({"i.npz", "--explain", "--softcap", text}).softcap, 0x1.000002p+0f);
  EXPECT_FALSE(parse({"i.npz", "--explain", "--softcap", "0"}).softcap);
}

TEST(AttendOptions, HelpIsNoFailure) {
  EXPECT_THROW(parse({"--help"}), HelpRequested);
  EXPECT_THROW(parse({"in.npz", "-h"}), HelpRequested);
}

}  // namespace
}  // namespace qkv::app
