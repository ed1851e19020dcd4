// Scores, positions, lengths and packed sequences.
#include <cmath>

#include "problem/problem_test_util.h"

namespace qkv::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr std::int64_t kFar = std::int64_t{1} << 61;

// ---- Scores -------------------------------------------------------------------------------------

TEST(Options, ScaleIsAnyFiniteNumber) {
  expect_refused({
      {[](Problem& p) { p.options.scale = double{kInf}; },
       "scale: inf is not finite; pass a number"},
      {[](Problem& p) { p.options.scale = -double{kInf}; },
       "scale: -inf is not finite; pass a number"},
      {[](Problem& p) { p.options.scale = std::nan(""); },
       "scale: nan is not finite; pass a number"},
  });
  for (double scale : {0.0, -0.0, -3.5, 1e-300, 3.4e38, 3.4028235677973366e38 * (1 - 1e-15)}) {
    Problem p = good_problem();
    p.options.scale = scale;
    ASSERT_TRUE(validate(p).ok()) << scale;
    EXPECT_EQ(p.scale64, scale);
    EXPECT_EQ(p.scale, static_cast<float>(scale));
  }
}

TEST(Options, ScaleFitsFloat32UnlessTheInputsAreFloat64) {
  for (double scale : {3.4028235677973366e38, -1e39, 1e300}) {
    Problem p = good_problem();
    p.options.scale = scale;
    EXPECT_EQ(validate(p).code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(message_of(p), ::testing::HasSubstr("overflows float32"));
    EXPECT_THAT(message_of(p), names_and_advises("scale"));
    p = of_type(DType::kFloat64);
    p.options.scale = scale;
    expect_good(p);
  }
}

TEST(Options, ScaleThatOverflowsIsNamed) {
  Problem p = good_problem();
  p.options.scale = -1e39;
  EXPECT_THAT(message_of(p), ::testing::HasSubstr("-1e+39"));
}

TEST(Options, DefaultScaleIsOneOverTheRootOfD) {
  for (std::int64_t d : {1, 2, 3, 64, 100}) {
    Problem p = good_problem();
    p.inputs.query = tensor(1, {2, 4, 3, d});
    p.inputs.key = tensor(2, {2, 2, 5, d});
    ASSERT_TRUE(validate(p).ok());
    EXPECT_EQ(p.scale64, 1.0 / std::sqrt(static_cast<double>(d)));
    EXPECT_EQ(p.scale, static_cast<float>(1.0 / std::sqrt(static_cast<double>(d))));
  }
  Problem p = good_problem();
  p.inputs.query = tensor(1, {2, 4, 3, 0});
  p.inputs.key = tensor(2, {2, 2, 5, 0});
  ASSERT_TRUE(validate(p).ok());
  EXPECT_EQ(p.scale64, 1.0);
}

TEST(Options, SoftcapIsFiniteAndAboveZero) {
  expect_refused({
      {[](Problem& p) { p.options.softcap = 0.0f; },
       "softcap: 0 must be finite and above 0; leave it out for none"},
      {[](Problem& p) { p.options.softcap = -2.0f; },
       "softcap: -2 must be finite and above 0; leave it out for none"},
      {[](Problem& p) { p.options.softcap = kInf; },
       "softcap: inf must be finite and above 0; leave it out for none"},
      {[](Problem& p) { p.options.softcap = std::nanf(""); },
       "softcap: nan must be finite and above 0; leave it out for none"},
  });
  Problem p = good_problem();
  p.options.softcap = 1e-45f;
  expect_good(p);
}

TEST(Options, SinksAreOneAQueryHead) {
  expect_refused({
      {[](Problem& p) { p.options.sinks = {1, 2}; },
       "sinks: 2 logits for 4 query heads; pass one a head"},
      {[](Problem& p) { p.options.sinks = {1, 2, kInf, 4}; },
       "sinks: inf is not allowed; pass finite logits, or -inf for none"},
      {[](Problem& p) { p.options.sinks = {1, 2, 3, std::nanf("")}; },
       "sinks: nan is not allowed; pass finite logits, or -inf for none"},
  });
  Problem p = good_problem();
  p.options.sinks = {-kInf, 0, -3e38f, 3e38f};
  expect_good(p);
}

TEST(Options, SlopesAreOneAQueryHead) {
  expect_refused({
      {[](Problem& p) { p.options.alibi_slopes = {1, 2}; },
       "alibi_slopes: 2 slopes for 4 query heads; pass one a head"},
      {[](Problem& p) { p.options.alibi_slopes = {1, 2, 3, kInf}; },
       "alibi_slopes: inf is not finite; pass numbers"},
      {[](Problem& p) { p.options.alibi_slopes = {std::nanf(""), 2, 3, 4}; },
       "alibi_slopes: nan is not finite; pass numbers"},
  });
  Problem p = good_problem();
  p.options.alibi_slopes = {-1, 0, .5f, 100};
  expect_good(p);
}

TEST(Options, CallbacksThatNeedOthers) {
  expect_refused({{[](Problem& p) {
                     p.options.block_predicate = [](const MaskBlock&) {
                       return Visibility::kMixed;
                     };
                   },
                   "block_predicate: it describes mask_mod, which is absent; pass both"}});
  expect_refused(
      {{[](Problem& p) { p.options.score_mod = [](const ScoreTile&) {}; },
        "score_mod: it works on float32 scores; convert the inputs to float32"}},
      [] { return of_type(DType::kFloat64); }, StatusCode::kUnsupported);
}

// ---- Packed sequences ---------------------------------------------------------------------------

TEST(Options, PackedSequencesRunFromZeroToTheEnd) {
  expect_refused(
      {
          {[](Problem& p) { p.options.key_cu_seqlens.clear(); },
           "query_cu_seqlens, key_cu_seqlens: one is absent; pass both or none"},
          {[](Problem& p) { p.options.query_cu_seqlens.clear(); },
           "query_cu_seqlens, key_cu_seqlens: one is absent; pass both or none"},
          {[](Problem& p) { p.options.key_cu_seqlens = {0, 3, 5, 7}; },
           "query_cu_seqlens, key_cu_seqlens: 3 and 4 entries; both need one more than there are "
           "sequences"},
          {[](Problem& p) { p.options.query_cu_seqlens = {1, 2, 6}; },
           "query_cu_seqlens: runs from 1 to 6; it must run from 0 to 6, the rows of its tensor"},
          {[](Problem& p) { p.options.query_cu_seqlens = {0, 2, 5}; },
           "query_cu_seqlens: runs from 0 to 5; it must run from 0 to 6, the rows of its tensor"},
          {[](Problem& p) { p.options.key_cu_seqlens = {0, 3, 8}; },
           "key_cu_seqlens: runs from 0 to 8; it must run from 0 to 7, the rows of its tensor"},
          {[](Problem& p) {
             p.options.query_cu_seqlens = {0, 2, 4, 6};
             p.options.key_cu_seqlens = {0, 5, 3, 7};
           },
           "key_cu_seqlens: entry 2 is 3, below the entry before it, 5; entries must not fall"},
          {[](Problem& p) { p.options.query_cu_seqlens = {0, -1, 6}; },
           "query_cu_seqlens: entry 1 is -1, below the entry before it, 0; entries must not fall"},
          {[](Problem& p) { p.options.query_cu_seqlens = {0, 9, 6}; },
           "query_cu_seqlens: entry 2 is 6, below the entry before it, 9; entries must not fall"},
      },
      packed_problem);
  Problem p = packed_problem();
  p.options.query_cu_seqlens = {0, 0, 6, 6};
  p.options.key_cu_seqlens = {0, 7, 7, 7};
  expect_good(p);
}

TEST(Options, PackedSequencesRefuseTensorsAndLengths) {
  const std::string tensors =
      "mask, bias: tensors have no meaning with packed sequences; use mask_mod or score_mod";
  const std::string lengths =
      "key_lengths, key_begin, query_lengths: packed sequences have their lengths in cu_seqlens; "
      "leave these out";
  expect_refused(
      {
          {[](Problem& p) { p.options.mask = tensor(9, {1}, DType::kBool); }, tensors},
          {[](Problem& p) { p.options.bias = tensor(9, {1}); }, tensors},
          {[](Problem& p) { p.options.key_lengths = {3, 4}; }, lengths},
          {[](Problem& p) { p.options.key_begin = {0, 0}; }, lengths},
          {[](Problem& p) { p.options.query_lengths = {2, 4}; }, lengths},
      },
      packed_problem);
}

// ---- Lengths and positions ----------------------------------------------------------------------

// jax-ml/jax #23349.
TEST(Options, LengthsLieWithinTheTensors) {
  expect_refused({
      {[](Problem& p) { p.options.key_lengths = {5}; },
       "key_lengths: 1 entries for a batch of 2; pass one a sequence"},
      {[](Problem& p) { p.options.key_lengths = {5, 6}; },
       "key_lengths: entry 1 is 6; it must lie between 0 and 5, the length of key less key_begin"},
      {[](Problem& p) { p.options.key_lengths = {-1, 5}; },
       "key_lengths: entry 0 is -1; it must lie between 0 and 5, the length of key less key_begin"},
      {[](Problem& p) {
         p.options.key_begin = {0, 2};
         p.options.key_lengths = {5, 4};
       },
       "key_lengths: entry 1 is 4; it must lie between 0 and 3, the length of key less key_begin"},
      {[](Problem& p) { p.options.key_begin = {0, 1, 2}; },
       "key_begin: 3 entries for a batch of 2; pass one a sequence"},
      {[](Problem& p) { p.options.key_begin = {6, 0}; },
       "key_begin: entry 0 is 6; it must lie between 0 and 5, the length of key"},
      {[](Problem& p) { p.options.key_begin = {0, std::numeric_limits<std::int64_t>::min()}; },
       "key_begin: entry 1 is -9223372036854775808; it must lie between 0 and 5, the length of "
       "key"},
      {[](Problem& p) { p.options.query_lengths = {}, p.options.query_lengths = {3, 3, 3}; },
       "query_lengths: 3 entries for a batch of 2; pass one a sequence"},
      {[](Problem& p) { p.options.query_lengths = {3, 4}; },
       "query_lengths: entry 1 is 4; it must lie between 0 and 3, the length of query"},
      {[](Problem& p) { p.options.query_lengths = {-2, 3}; },
       "query_lengths: entry 0 is -2; it must lie between 0 and 3, the length of query"},
  });
  Problem p = good_problem();
  p.options.key_begin = {5, 0};
  p.options.key_lengths = {0, 5};
  p.options.query_lengths = {0, 3};
  expect_good(p);
}

TEST(Options, OffsetsAndWindowsAreBounded) {
  expect_refused({
      {[](Problem& p) { p.options.query_offset = {0, 1, 2}; },
       "query_offset: 3 entries for a batch of 2; pass one for all or one a sequence"},
      {[](Problem& p) { p.options.query_offset = {kFar + 1}; },
       "query_offset: 2305843009213693953 is out of range; offsets lie between -2^61 and 2^61"},
      {[](Problem& p) { p.options.query_offset = {0, -kFar - 1}; },
       "query_offset: -2305843009213693953 is out of range; offsets lie between -2^61 and 2^61"},
      {[](Problem& p) { p.options.window.left = -1; },
       "window.left: -1 is out of range; pass 0 to 2^61, or leave it out for no bound"},
      {[](Problem& p) { p.options.window.right = -7; },
       "window.right: -7 is out of range; pass 0 to 2^61, or leave it out for no bound"},
      {[](Problem& p) { p.options.window.left = kFar + 1; },
       "window.left: 2305843009213693953 is out of range; pass 0 to 2^61, or leave it out for no "
       "bound"},
  });
  Problem p = good_problem();
  p.options.query_offset = {-kFar, kFar};
  p.options.window = {kFar, 0};
  expect_good(p);
  p.options.query_offset = {7};  // one for all
  expect_good(p);
}

// A piece of the keys does not tell how many there are in all.
TEST(Options, PiecesOfTheKeysNeedTheOffsetWherePositionsMatter) {
  const std::string message =
      "query_offset: absent for a piece of the keys; positions need it, since the piece does not "
      "tell how many keys there are in all";
  const auto piece = [] {
    Problem p = good_problem();
    p.first_key = 1024;
    return p;
  };
  expect_refused(
      {
          {[](Problem& p) { p.options.causal = true; }, message},
          {[](Problem& p) { p.options.window.left = 3; }, message},
          {[](Problem& p) { p.options.window.right = 3; }, message},
          {[](Problem& p) { p.options.alibi_slopes = {1, 1, 1, 1}; }, message},
          {[](Problem& p) { p.options.mask_mod = [](const MaskTile&) {}; }, message},
          {[](Problem& p) { p.options.score_mod = [](const ScoreTile&) {}; }, message},
      },
      piece);
  Problem p = piece();
  p.options.causal = true;
  p.options.query_offset = {2000};
  expect_good(p);
}

}  // namespace
}  // namespace qkv::test
