// Overlap of strided views against the sets of bytes they name.
#include "problem/overlap.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace qkv {
namespace {

// Addresses only: nothing is read or written there.
const void* address(std::int64_t bytes) { return reinterpret_cast<const void*>(0x10000 + bytes); }

// Calls f with the address of every element.
template <class F>
void for_each_element(const TensorView& view, F f) {
  if (view.size() == 0) return;
  Extents at{};
  while (true) {
    auto place = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(view.data));
    for (int axis = 0; axis < view.rank; ++axis) {
      place += at[axis] * view.strides[axis] * static_cast<std::int64_t>(size_of(view.dtype));
    }
    f(place);
    int axis = view.rank - 1;
    while (axis >= 0 && ++at[axis] == view.extents[axis]) at[axis--] = 0;
    if (axis < 0) return;
  }
}

std::set<std::int64_t> bytes_of(const TensorView& view) {
  std::set<std::int64_t> bytes;
  for_each_element(view, [&](std::int64_t place) {
    for (std::size_t i = 0; i < size_of(view.dtype); ++i) {
      bytes.insert(place + static_cast<std::int64_t>(i));
    }
  });
  return bytes;
}

bool share_a_byte(const TensorView& a, const TensorView& b) {
  const std::set<std::int64_t> of_a = bytes_of(a);
  for (std::int64_t byte : bytes_of(b)) {
    if (of_a.contains(byte)) return true;
  }
  return false;
}

bool two_elements_meet(const TensorView& view) {
  std::set<std::int64_t> places;
  std::int64_t count = 0;
  for_each_element(view, [&](std::int64_t place) {
    places.insert(place);
    ++count;
  });
  return static_cast<std::int64_t>(places.size()) != count;
}

class RandomViews {
 public:
  explicit RandomViews(unsigned seed) : engine_(seed) {}

  std::int64_t number(std::int64_t low, std::int64_t high) {  // both included
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }

  TensorView any(std::int64_t most_stride, std::int64_t most_place) {
    static constexpr DType kTypes[] = {DType::kBool, DType::kFloat16, DType::kFloat32,
                                       DType::kFloat64};
    TensorView view;
    view.data = address(number(-most_place, most_place));
    view.dtype = kTypes[number(0, 3)];
    view.rank = static_cast<int>(number(0, 4));
    for (int axis = 0; axis < view.rank; ++axis) {
      view.extents[axis] = number(0, 12) == 0 ? 0 : number(1, 4);
      view.strides[axis] = number(-most_stride, most_stride);
    }
    return view;
  }

 private:
  std::mt19937 engine_;
};

TEST(Overlap, RandomViewsAgreeWithTheirBytes) {
  RandomViews random(1);
  int shared = 0, apart = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::int64_t stride = random.number(1, 40), place = random.number(1, 400);
    const TensorView a = random.any(stride, place), b = random.any(stride, place);
    const bool expected = share_a_byte(a, b);
    ASSERT_EQ(overlap(a, b), expected) << "round " << round;
    ASSERT_EQ(overlap(b, a), expected) << "round " << round;
    (expected ? shared : apart) += 1;
  }
  EXPECT_GT(shared, 2000);
  EXPECT_GT(apart, 2000);
}

// Slices of one buffer whose ranges of addresses interleave: the cases that ranges can't decide.
TEST(Overlap, InterleavedSlicesOfOneBuffer) {
  const TensorView fused(address(0), DType::kFloat32, {2, 5, 3, 4});
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      EXPECT_EQ(overlap(fused.slice(2, i, i + 1), fused.slice(2, j, j + 1)), i == j);
    }
  }
  TensorView even = fused, odd = fused;  // every second column
  even.extents[3] = odd.extents[3] = 2;
  even.strides[3] = odd.strides[3] = 2;
  odd.data = address(4);
  EXPECT_FALSE(overlap(even, odd));
  odd.data = address(3);  // shifted by a byte they do meet
  EXPECT_TRUE(overlap(even, odd));
}

TEST(Overlap, LargeBuffersOfHeads) {
  // [B, L, 3, H, D] read as three tensors [B, H, L, D]: 10^9 elements.
  TensorView q(address(0), DType::kBFloat16, {8, 32, 16384, 128});
  q.strides = {16384LL * 3 * 32 * 128, 128, 3 * 32 * 128, 1};
  TensorView k = q, v = q;
  k.data = address(2LL * 32 * 128);
  v.data = address(2LL * 2 * 32 * 128);
  EXPECT_FALSE(overlap(q, k));
  EXPECT_FALSE(overlap(q, v));
  EXPECT_FALSE(overlap(k, v));
  EXPECT_TRUE(overlap(q, q));
  k.data = address(2LL * 32 * 128 - 2);
  EXPECT_TRUE(overlap(q, k));
  EXPECT_FALSE(overlaps_itself(q));
}

TEST(Overlap, NothingOverlapsAbsentOrEmptyViews) {
  const TensorView all(address(0), DType::kFloat32, {4, 4});
  EXPECT_FALSE(overlap(all, TensorView()));
  EXPECT_FALSE(overlap(TensorView(), all));
  EXPECT_FALSE(overlap(all, all.slice(0, 2, 2)));
  EXPECT_FALSE(overlaps_itself(all.slice(1, 0, 0)));
}

TEST(Overlap, NeighboursDoNotOverlap) {
  const TensorView all(address(0), DType::kFloat32, {8, 4});
  EXPECT_FALSE(overlap(all.slice(0, 0, 4), all.slice(0, 4, 8)));
  EXPECT_TRUE(overlap(all.slice(0, 0, 5), all.slice(0, 4, 8)));
  TensorView backwards = all;
  backwards.data = address(7 * 16);
  backwards.strides[0] = -4;
  EXPECT_TRUE(overlap(backwards, all.slice(0, 0, 1)));
  EXPECT_FALSE(overlap(backwards, TensorView(address(8 * 16), DType::kBool, {1})));
  EXPECT_TRUE(overlap(backwards, TensorView(address(8 * 16 - 1), DType::kBool, {1})));
}

TEST(OverlapsItself, IsExact) {
  RandomViews random(2);
  int meeting = 0, rounds = 20000;
  for (int round = 0; round < rounds; ++round) {
    const TensorView view = random.any(random.number(1, 60), 0);
    const bool expected = two_elements_meet(view);
    ASSERT_EQ(overlaps_itself(view), expected) << "round " << round;
    meeting += expected;
  }
  EXPECT_GT(meeting, 1000);
  EXPECT_LT(meeting, rounds - 1000);
  // Rows that reach into each other without meeting.
  TensorView woven(address(0), DType::kFloat32, {2, 3});
  woven.strides[0] = 3;
  woven.strides[1] = 2;
  EXPECT_FALSE(overlaps_itself(woven));
}

// Row-major, permuted, padded, stepped and reversed layouts are all outputs one may pass.
TEST(OverlapsItself, ExactForOrdinaryLayouts) {
  RandomViews random(3);
  for (int round = 0; round < 2000; ++round) {
    TensorView view(
        address(0), DType::kFloat32,
        {random.number(1, 5), random.number(1, 5), random.number(1, 5), random.number(1, 5)});
    std::int64_t step = random.number(1, 3);
    std::vector<int> order = {0, 1, 2, 3};
    for (int i = 3; i > 0; --i) std::swap(order[i], order[random.number(0, i)]);
    for (int axis : order) {
      view.strides[axis] = random.number(0, 1) == 0 ? step : -step;
      step = step * view.extents[axis] + random.number(0, 3);
    }
    ASSERT_FALSE(two_elements_meet(view));
    EXPECT_FALSE(overlaps_itself(view)) << "round " << round;
    const int axis = static_cast<int>(random.number(0, 3));
    view.strides[axis] = 0;
    EXPECT_EQ(overlaps_itself(view), view.extents[axis] > 1);
  }
}

}  // namespace
}  // namespace qkv
