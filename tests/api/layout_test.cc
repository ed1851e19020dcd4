// Shapes, strides, sizes and heads, after public reports about other attention implementations.
#include <sys/mman.h>

#include "api/attention_test_util.h"

namespace qkv::test {
namespace {

class Layout : public SettingTest {
 protected:
  // A view of `shape` whose axes lie in memory in `order` (the outermost first), with `gap` unused
  // elements between neighbours, over memory of its own that is filled with junk.
  TensorView laid_out(const Array& values, const std::vector<int>& order, std::int64_t gap) {
    const Shape& shape = values.shape();
    std::int64_t step = 1 + gap;
    TensorView view = values.view();
    for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
      view.strides[static_cast<std::size_t>(*axis)] = step;
      step *= shape[static_cast<std::size_t>(*axis)];
    }
    storage_.emplace_back(dtype(), Shape{step}, std::vector<double>{kNaN});
    view.data = storage_.back().view().data;
    for_each_place(shape, [&](const Extents& at, std::int64_t i) {
      std::int64_t offset = 0;
      for (int axis = 0; axis < view.rank; ++axis) offset += at[axis] * view.strides[axis];
      storage_.back().set(offset, values[i]);
    });
    return view;
  }

  template <class F>
  static void for_each_place(const Shape& shape, F f) {
    Extents at{};
    std::int64_t size = 1;
    for (std::int64_t extent : shape) size *= extent;
    for (std::int64_t i = 0; i < size; ++i) {
      std::int64_t rest = i;
      for (int axis = static_cast<int>(shape.size()) - 1; axis >= 0; --axis) {
        at[axis] = rest % shape[static_cast<std::size_t>(axis)];
        rest /= shape[static_cast<std::size_t>(axis)];
      }
      f(at, i);
    }
  }

 private:
  std::vector<Array> storage_;
};
INSTANTIATE_TEST_SUITE_P(AllKernels, Layout, ::testing::ValuesIn(all_settings()), setting_name);

// ---- Strides ------------------------------------------------------------------------------------

// pytorch/pytorch PR #187506, #181133; BobMcDear/attorch #14; flagos-ai/FlagGems #5896.
TEST_P(Layout, AnyOrderOfAxesGivesTheBitsOfContiguousCopies) {
  for (const Shape& shape : {Shape{2, 3, 5, 64}, Shape{9, 3, 3, 64}, Shape{1, 4, 62, 33}}) {
    const Array q = scrambled(dtype(), shape, 1), k = scrambled(dtype(), shape, 2);
    const Array v = scrambled(dtype(), shape, 3);
    const Results plain = attend(setting(), q, k, v);
    const std::vector<std::vector<int>> orders = {
        {0, 1, 2, 3}, {0, 2, 1, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}};
    for (const std::vector<int>& order : orders) {
      for (std::int64_t gap : {0, 2}) {
        const Results all = attend(setting(), laid_out(q, order, gap), laid_out(k, order, gap),
                                   laid_out(v, order, gap));
        EXPECT_EQ(all.out.bytes(), plain.out.bytes());
        EXPECT_EQ(all.lse.bytes(), plain.lse.bytes());
        EXPECT_EQ(all.weights.bytes(), plain.weights.bytes());
        EXPECT_EQ(attend(setting(), q, k, laid_out(v, order, gap)).out.bytes(), plain.out.bytes());
      }
    }
  }
}

TEST_P(Layout, SlicesOfOneFusedBuffer) {
  // [B, L, 3, H * D] as projections write it.
  const std::int64_t batch = 2, length = 5, heads = 3, d = 4;
  Array fused = scrambled(dtype(), {batch, length, 3, heads * d}, 4);
  const auto part = [&](std::int64_t which) {
    TensorView view = fused.view();
    view.data = static_cast<const std::byte*>(view.data) +
                static_cast<std::size_t>(which * heads * d) * size_of(dtype());
    view.extents = {batch, heads, length, d};
    view.strides = {length * 3 * heads * d, d, 3 * heads * d, 1};
    return view;
  };
  const auto copy = [&](std::int64_t which) {
    Array result(dtype(), {batch, heads, length, d});
    for_each_place(result.shape(), [&](const Extents& at, std::int64_t i) {
      result.set(i, fused[((at[0] * length + at[2]) * 3 + which) * heads * d + at[1] * d + at[3]]);
    });
    return result;
  };
  const Array before = fused;
  const Results views = attend(setting(), part(0), part(1), part(2));
  EXPECT_EQ(views.out.bytes(), attend(setting(), copy(0), copy(1), copy(2)).out.bytes());
  EXPECT_EQ(fused.bytes(), before.bytes()) << "an input was written";
}

TEST_P(Layout, HeadsAreNotMixedUp) {
  Array v(dtype(), {2, 3, 5, 64});
  for (std::int64_t i = 0; i < v.size(); ++i) v.set(i, static_cast<double>(i / 320 % 3 + 1));
  const Array q = scrambled(dtype(), {2, 3, 5, 64}, 5), k = scrambled(dtype(), {2, 3, 5, 64}, 6);
  const Results r = attend(setting(), laid_out(q, {0, 2, 1, 3}, 0), laid_out(k, {0, 2, 1, 3}, 0),
                           laid_out(v, {0, 2, 1, 3}, 0));
  near(r.out, v.values());
}

// wjakob/nanobind #206, #42: broadcast and reversed arrays.
TEST_P(Layout, StridesOfZeroAndBelow) {
  const Array q = scrambled(dtype(), {7, 8}, 7), k = scrambled(dtype(), {9, 8}, 8);
  const Array v = scrambled(dtype(), {9, 3}, 9);
  const auto reversed = [](TensorView view) {
    view = view.slice(0, view.extents[0] - 1, view.extents[0]);
    view.extents[0] = 9;
    view.strides[0] = -view.strides[0];
    return view;
  };
  const Results plain = attend(setting(), q, k, v);
  near(attend(setting(), q, reversed(k), reversed(v)).out, plain.out.values());

  TensorView one_key = k.view(), one_query = q.view();
  one_key.strides[0] = one_query.strides[0] = 0;
  const Results same = attend(setting(), one_query, one_key, v);
  for (std::int64_t c = 0; c < 3; ++c) {
    double mean = 0;
    for (std::int64_t j = 0; j < 9; ++j) mean += v[j * 3 + c] / 9;
    for (std::int64_t i = 0; i < 7; ++i) {
      EXPECT_NEAR(same.out[i * 3 + c], mean, setting().tolerance());
    }
  }
}

TEST_P(Layout, OutputsOfAnyStrides) {
  const Array q = scrambled(dtype(), {2, 3, 5, 4}, 10), k = scrambled(dtype(), {2, 3, 6, 4}, 11);
  const Array v = scrambled(dtype(), {2, 3, 6, 7}, 12);
  const Results plain = attend(setting(), q, k, v);
  Array memory(setting().result_type(), {2, 5, 3, 14}, {-77});  // [B, L, H, 2 D], every second
  Array lse(setting().result_type(), {5, 3, 2}, {-77});
  AttentionOutputs outputs;
  outputs.out = memory.view();
  outputs.out.extents = {2, 3, 5, 7};
  outputs.out.strides = {5 * 3 * 14, 14, 3 * 14, 2};
  outputs.lse = lse.view().transposed(0, 2);  // [2, 3, 5]
  attention({q, k, v}, outputs, widened({}), setting().execution());
  for_each_place({2, 3, 5, 7}, [&](const Extents& at, std::int64_t i) {
    const std::int64_t place = ((at[0] * 5 + at[2]) * 3 + at[1]) * 14 + 2 * at[3];
    EXPECT_EQ(memory[place], plain.out[i]);
    EXPECT_EQ(memory[place + 1], -77) << "written between the elements";
  });
  for_each_place({2, 3, 5}, [&](const Extents& at, std::int64_t i) {
    EXPECT_EQ(lse[(at[2] * 3 + at[1]) * 2 + at[0]], plain.lse[i]);
  });
}

// Offsets beyond 2^31 elements: two keys 2^31 + 8 elements apart in reserved, untouched memory.
TEST_P(Layout, OffsetsBeyond32Bits) {
  const std::int64_t step = (std::int64_t{1} << 31) + 8;
  const std::size_t bytes = static_cast<std::size_t>(step + 8) * size_of(dtype());
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no address space for " << bytes << " bytes";
  const Array keys = array({2, 2}, {1, 0, 0, 1});
  for (std::int64_t j = 0; j < 2; ++j) {
    std::memcpy(
        static_cast<std::byte*>(memory) + static_cast<std::size_t>(j * step) * size_of(dtype()),
        keys.bytes().data() + 2 * static_cast<std::size_t>(j) * size_of(dtype()),
        2 * size_of(dtype()));
  }
  TensorView far(memory, dtype(), {2, 2});
  far.strides = {step, 1};
  const Results r = attend(setting(), array({1, 2}, {1, 2}), far, far, unscaled());
  near(r.out, {sigmoid(-1), sigmoid(1)});
  TensorView far_columns = far.transposed(0, 1);  // d_qk and d_v lie far apart
  near(attend(setting(), array({1, 2}, {1, 2}), far_columns, far_columns, unscaled()).out,
       {sigmoid(-1), sigmoid(1)});
  ::munmap(memory, bytes);
}

// ---- Sizes --------------------------------------------------------------------------------------

// pytorch/pytorch #141218, #141219; Dao-AILab/flash-attention #1159: nothing at all crashes.
TEST_P(Layout, EmptySizes) {
  const auto zeros = [&](Shape shape) { return Array(dtype(), std::move(shape)); };
  EXPECT_EQ(
      attend(setting(), zeros({0, 2, 3, 4}), zeros({0, 2, 5, 4}), zeros({0, 2, 5, 6})).out.shape(),
      (Shape{0, 2, 3, 6}));
  attend(setting(), zeros({2, 0, 3, 4}), zeros({2, 0, 5, 4}), zeros({2, 0, 5, 6}));
  attend(setting(), zeros({2, 0, 3, 4}), zeros({2, 2, 5, 4}), zeros({2, 2, 5, 6}));
  attend(setting(), zeros({2, 2, 0, 4}), zeros({2, 2, 5, 4}), zeros({2, 2, 5, 6}));
  const Results no_columns = attend(setting(), zeros({3, 4}), zeros({5, 4}), zeros({5, 0}));
  near(no_columns.lse, std::vector<double>(3, std::log(5)));
  near(no_columns.weights, std::vector<double>(15, .2));
  const Results no_keys = attend(setting(), zeros({3, 4}), zeros({0, 4}), zeros({0, 2}));
  near(no_keys.out, std::vector<double>(6, 0.0));
  near(no_keys.lse, std::vector<double>(3, -kInf));
}

TEST_P(Layout, EmptySizesWithOptions) {
  const auto zeros = [&](Shape shape) { return Array(dtype(), std::move(shape)); };
  AttentionOptions options;
  options.causal = true;
  options.window.left = 1;
  options.sinks = {2.0f, 3.0f};
  options.alibi_slopes = {1.0f, 1.0f};
  const Results no_keys =
      attend(setting(), zeros({2, 3, 4}), zeros({1, 0, 4}), zeros({1, 0, 2}), options);
  near(no_keys.out, std::vector<double>(12, 0.0));
  near(no_keys.lse, {2, 2, 2, 3, 3, 3});
  AttentionOptions packed;
  packed.query_cu_seqlens = packed.key_cu_seqlens = {0};  // no sequence at all
  attend(setting(), zeros({0, 2, 4}), zeros({0, 2, 4}), zeros({0, 2, 4}), packed);
  packed.query_cu_seqlens = {0, 2, 2};
  packed.key_cu_seqlens = {0, 0, 3};  // queries without keys, keys without queries
  near(attend(setting(), zeros({2, 1, 4}), zeros({3, 1, 4}), zeros({3, 1, 1}), packed).out, {0, 0});
}

TEST_P(Layout, NoColumnsInTheKeysGivesTheMean) {
  const Results r = attend(setting(), array({1, 0}, {}), array({2, 0}, {}), column({1, 3}));
  near(r.out, {2});
  near(r.lse, {std::log(2)});
}

// triton-lang/triton #621; Dao-AILab/flash-attention #28, #1347, #801: head sizes.
TEST_P(Layout, AnyHeadSizeUsesItsLastColumn) {
  for (std::int64_t d : {1, 3, 7, 33, 63, 65, 80, 96, 100, 128, 192, 256, 257, 320, 512, 576}) {
    Array q(dtype(), {1, d}), k(dtype(), {2, d});
    q.set(d - 1, 2);
    k.set(d - 1, 1);
    for (std::int64_t rows : {1, 20}) {  // few rows and tiles are different kernels
      TensorView queries = q.view();
      queries.extents[0] = rows;
      queries.strides[0] = 0;
      const Results r = attend(setting(), queries, k, column({1, 0}), unscaled());
      near(r.out, std::vector<double>(static_cast<std::size_t>(rows), sigmoid(2)));  // .8807971
    }
  }
}

// pytorch/pytorch #176767; huggingface/transformers #44554: d_v is not d_qk.
TEST_P(Layout, ValuesHaveTheirOwnSize) {
  for (std::int64_t d_v : {1, 2, 5, 17, 64, 65, 200}) {
    const Array q = array({1, 4}, {1}), k = array({2, 4}, {1, 1, 1, 1, 0, 0, 0, 0});
    Array v(dtype(), {2, d_v});
    std::vector<double> expected;
    for (std::int64_t c = 0; c < d_v; ++c) {
      v.set(c, static_cast<double>(c + 1));
      expected.push_back(sigmoid(2) * static_cast<double>(c + 1));  // the scale is 1 / sqrt(4)
    }
    const Results r = attend(setting(), q, k, v);
    EXPECT_EQ(r.out.shape(), (Shape{1, d_v}));
    near(r.out, expected);
    EXPECT_EQ(r.out.bytes(), attend(setting(), q, k, v).out.bytes());
  }
}

// openxla/tokamax #316; pytorch/pytorch #153799; flashinfer-ai/flashinfer PR #5090: tile tails.
TEST_P(Layout, LengthsAroundTheTileSizes) {
  for (std::int64_t keys : {1, 7, 8, 9, 15, 17, 31, 33, 63, 64, 65, 127, 129, 1023, 1025}) {
    for (std::int64_t more : {0, 1, 3}) {
      if (dtype() != DType::kFloat32 && keys > 200 && more != 1) continue;  // takes long
      const std::int64_t rows = std::min<std::int64_t>(keys + more, 130);
      const Results r =
          attend(setting(), array({rows, 8}, {1}), array({keys, 8}, {1}), array({keys, 8}, {1}));
      const double lse = 8 / std::sqrt(8.0) + std::log(static_cast<double>(keys));
      near(r.out, std::vector<double>(static_cast<std::size_t>(rows * 8), 1.0));
      near(r.lse, std::vector<double>(static_cast<std::size_t>(rows), lse));
      near(r.weights, std::vector<double>(static_cast<std::size_t>(rows * keys),
                                          1.0 / static_cast<double>(keys)));
    }
  }
}

// ---- Heads --------------------------------------------------------------------------------------

// fla-org/flash-linear-attention #1029.
TEST_P(Layout, QueryHeadsReadTheirGroupsKeyHead) {
  for (const auto& [query_heads, key_heads] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{4, 2}, {4, 1}, {4, 4}, {6, 3}}) {
    for (std::int64_t rows : {1, 2, 30}) {
      const Array q = array({query_heads, rows, 1}, {0}), k = array({key_heads, 2, 1}, {0});
      Array v(dtype(), {key_heads, 2, 1});
      for (std::int64_t i = 0; i < v.size(); ++i)
        v.set(i, static_cast<double>(10 * (i / 2) + i % 2));
      const Results r = attend(setting(), q, k, v);
      for (std::int64_t i = 0; i < r.out.size(); ++i) {
        const std::int64_t key_head = (i / rows) * key_heads / query_heads;
        EXPECT_NEAR(r.out[i], static_cast<double>(10 * key_head) + .5, 1e-5);
      }
    }
  }
}

// ---- Masks and biases of every shape ------------------------------------------------------------

// openvinotoolkit/openvino PR #21217; pytorch/pytorch #120810; tenstorrent/tt-metal #39946.
TEST_P(Layout, MasksBroadcastLikeNumPy) {
  const Array q = array({2, 2, 2, 1}, {0}), k = array({2, 2, 2, 1}, {0});
  const Array v = array({2, 2, 2, 1}, {1, 3, 1, 3, 1, 3, 1, 3});
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{2}, Shape{1, 2}, Shape{2, 1}, Shape{2, 2},
                             Shape{1, 1, 2}, Shape{2, 2, 2}, Shape{2, 1, 1, 2}, Shape{1, 2, 1, 2},
                             Shape{1, 1, 2, 2}, Shape{2, 1, 2, 1}, Shape{2, 2, 2, 2}}) {
    Array mask(DType::kBool, shape), bias(setting().result_type(), shape);
    for (std::int64_t i = 0; i < mask.size(); ++i) {
      mask.set(i, static_cast<double>((i * 5 + 1) % 3 != 0));
      bias.set(i, static_cast<double>(i % 4) / 2);
    }
    // Where a place of [2, 2, 2, 2] is found in the smaller shape, aligned at the right.
    const auto source = [&](const Extents& at) {
      std::int64_t place = 0;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        place = place * shape[axis] + (shape[axis] == 1 ? 0 : at[4 - shape.size() + axis]);
      }
      return place;
    };
    AttentionOptions options;
    options.mask = mask;
    options.bias = bias;
    const Results r = attend(setting(), q, k, v, options);
    for_each_place({2, 2, 2, 1}, [&](const Extents& at, std::int64_t i) {
      double sum = 0, weighted = 0;
      for (std::int64_t j = 0; j < 2; ++j) {
        const std::int64_t place = source({at[0], at[1], at[2], j});
        const double weight = mask[place] != 0 ? std::exp(bias[place]) : 0;
        sum += weight;
        weighted += weight * static_cast<double>(1 + 2 * j);
      }
      EXPECT_NEAR(r.out[i], sum == 0 ? 0 : weighted / sum, setting().tolerance() * 3)
          << ::testing::PrintToString(shape);
    });
  }
}

TEST_P(Layout, DecodeMaskHidesTheEndOfTheCache) {
  const Array q = array({1, 32, 1, 1}, {0}), k = array({1, 32, 128, 1}, {0});
  Array v(dtype(), {1, 32, 128, 1});
  for (std::int64_t i = 0; i < v.size(); ++i) v.set(i, i % 128 < 100 ? 1.0 : 1000.0);
  Array mask(DType::kBool, {1, 1, 1, 128});
  for (std::int64_t j = 0; j < 100; ++j) mask.set(j, 1);
  AttentionOptions options;
  options.mask = mask;
  near(attend(setting(), q, k, v, options).out, std::vector<double>(32, 1.0));
}

// oneapi-src/oneDNN PR #4398: rows of the mask with padding between them; any byte but 0 is true.
TEST_P(Layout, MaskRowsWithPadding) {
  const std::vector<std::uint8_t> bytes = {1, 0, 7, 255, 2, 9};
  TensorView mask(bytes.data(), DType::kBool, {2, 2});
  mask.strides = {3, 1};
  AttentionOptions options;
  options.mask = mask;
  near(attend(setting(), column({0, 0}), column({0, 0}), column({1, 3}), options).out, {1, 2});
}

}  // namespace
}  // namespace qkv::test
