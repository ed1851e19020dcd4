// Where sequences lie in the buffers, where queries sit, and which keys that leaves them.
#include "problem/problem_test_util.h"

namespace qkv {

// For the messages of failing tests.
static void PrintTo(const KeyRange& range, std::ostream* stream) {
  *stream << "[" << range.begin << ", " << range.end << ")";
}
static bool operator==(const KeyRange& a, const KeyRange& b) {
  return a.begin == b.begin && a.end == b.end;
}

namespace test {
namespace {

constexpr std::int64_t kFar = std::int64_t{1} << 61;

Problem validated(Problem p) {
  const Status status = validate(p);
  EXPECT_TRUE(status.ok()) << status.message();
  return p;
}

TEST(Positions, WholeBuffers) {
  const Problem p = validated(good_problem());
  const Sequence s = p.sequence(1);
  EXPECT_EQ(s.index, 1);
  EXPECT_EQ(s.buffer, 1);
  EXPECT_EQ(s.query_begin, 0);
  EXPECT_EQ(s.query_rows, 3);
  EXPECT_EQ(s.queries, 3);
  EXPECT_EQ(s.key_begin, 0);
  EXPECT_EQ(s.first_key, 0);
  EXPECT_EQ(s.end_key, 5);
  EXPECT_EQ(s.offset, 2);  // the last query sees the last key
  EXPECT_EQ(s.position(2), 4);
}

TEST(Positions, LengthsAndBeginCountTheSequencesOwnKeys) {
  Problem p = good_problem();
  p.options.key_begin = {1, 2};
  p.options.key_lengths = {4, 1};
  p.options.query_lengths = {3, 2};
  p = validated(p);
  EXPECT_EQ(p.sequence(0).offset, 1);
  EXPECT_EQ(p.sequence(1).offset, -1);
  EXPECT_EQ(p.sequence(1).queries, 2);
  EXPECT_EQ(p.sequence(1).query_rows, 3);
  EXPECT_EQ(p.sequence(1).end_key, 1);
  EXPECT_EQ(p.sequence(0).key_row(3), 4);  // j = 3 is row 4 of the buffer
  p.options.key_lengths.clear();
  p = validated(p);
  EXPECT_EQ(p.sequence(1).end_key, 3);  // what is left from key_begin on
}

TEST(Positions, AlignmentAndOffset) {
  Problem p = good_problem();
  p.options.alignment = Alignment::kTopLeft;
  EXPECT_EQ(validated(p).sequence(0).offset, 0);
  p.options.query_offset = {-7};
  EXPECT_EQ(validated(p).sequence(1).offset, -7);
  p.options.query_offset = {3, 9};
  EXPECT_EQ(validated(p).sequence(0).offset, 3);
  EXPECT_EQ(validated(p).sequence(1).offset, 9);
}

TEST(Positions, PackedSequences) {
  Problem p = packed_problem();
  p.options.query_cu_seqlens = {0, 2, 2, 6};
  p.options.key_cu_seqlens = {0, 3, 7, 7};
  p = validated(p);
  EXPECT_EQ(p.sequences, 3);
  EXPECT_EQ(p.query.extents, (Extents{1, 4, 6, 8}));
  const Sequence s = p.sequence(2);
  EXPECT_EQ(s.buffer, 0);
  EXPECT_EQ(s.query_begin, 2);
  EXPECT_EQ(s.queries, 4);
  EXPECT_EQ(s.key_begin, 7);
  EXPECT_EQ(s.end_key, 0);
  EXPECT_EQ(s.offset, -4);
  const std::int64_t owners[] = {0, 0, 2, 2, 2, 2};  // sequence 1 owns no row
  for (std::int64_t row = 0; row < 6; ++row) {
    EXPECT_EQ(p.sequence_of_row(0, row).index, owners[row]) << row;
  }
}

TEST(Positions, PiecesOfTheKeysCountFromTheirFirstKey) {
  Problem p = good_problem();
  p.first_key = 2048;
  p.options.query_offset = {2050};
  p = validated(p);
  const Sequence s = p.sequence(0);
  EXPECT_EQ(s.first_key, 2048);
  EXPECT_EQ(s.end_key, 2053);
  EXPECT_EQ(s.key_row(2050), 2);
  EXPECT_EQ(p.visible_keys(s, 2050), (KeyRange{2048, 2053}));
}

TEST(Positions, VisibleKeysByHand) {
  struct Case {
    bool causal;
    std::int64_t left, right;  // -1: absent
    std::int64_t position;
    KeyRange visible;  // of 5 keys
  };
  const Case cases[] = {
      {false, -1, -1, 0, {0, 5}},        {true, -1, -1, 0, {0, 1}},
      {true, -1, -1, 4, {0, 5}},         {true, -1, -1, 9, {0, 5}},
      {true, -1, -1, -1, {0, 0}},        {false, 1, -1, 3, {2, 5}},
      {false, 0, 0, 3, {3, 4}},          {false, -1, 2, 1, {0, 4}},
      {true, 2, 3, 3, {1, 4}},           {false, 2, 1, -1, {0, 1}},
      {false, 2, 1, -2, {0, 0}},         {false, 1, 1, 6, {5, 5}},
      {false, 1, 1, 5, {4, 5}},          {true, kFar, -1, kFar, {0, 5}},
      {true, 0, -1, kFar, {kFar, kFar}}, {false, kFar, kFar, -kFar, {0, 1}},
      {false, kFar, kFar, kFar, {0, 5}},
  };
  for (const Case& c : cases) {
    Problem p = good_problem();
    p.options.causal = c.causal;
    if (c.left >= 0) p.options.window.left = c.left;
    if (c.right >= 0) p.options.window.right = c.right;
    p = validated(p);
    const KeyRange got = p.visible_keys(p.sequence(0), c.position);
    if (c.visible.begin == c.visible.end) {
      EXPECT_GE(got.begin, got.end) << "position " << c.position;
    } else {
      EXPECT_EQ(got, c.visible) << "position " << c.position << " left " << c.left << " right "
                                << c.right << " causal " << c.causal;
    }
  }
}

TEST(Positions, QueryHeadsInGroups) {
  const Problem p = validated(good_problem());
  EXPECT_EQ(p.group(), 2);
  const std::int64_t key_heads[] = {0, 0, 1, 1};
  for (std::int64_t h = 0; h < 4; ++h) EXPECT_EQ(p.key_head(h), key_heads[h]);
}

}  // namespace
}  // namespace test
}  // namespace qkv
