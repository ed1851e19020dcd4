// The caller's floating-point mode: it reaches no bit, and is as it was after a call. Also denormal
// inputs and weights, which some implementations flush (ggml-org/llama.cpp PR #7154).
#include "api/attention_test_util.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace qkv::test {
namespace {

class FloatMode : public SettingTest {
 protected:
  void SetUp() override {
    SettingTest::SetUp();
    q_ = scrambled(dtype(), {2, 60, 8}, 1);
    k_ = scrambled(dtype(), {2, 100, 8}, 2);
    v_ = scrambled(dtype(), {2, 100, 5}, 3);
    if (dtype() != DType::kFloat16) {
      for (std::int64_t i = 0; i < 1000; i += 5) v_.set(i, 1e-40 * static_cast<double>(1 + i));
    }
    out_ = Array(setting().result_type(), {2, 60, 5});
    lse_ = Array(setting().result_type(), {2, 60});
    weights_ = Array(setting().result_type(), {2, 60, 100});
    options_ = widened({});
    options_.causal = true;
    options_.softcap = 3.0f;
    options_.sinks = {1, 2};
    options_.query_offset = {-5};  // some rows see no key
  }
  AttentionOutputs outputs() {
    AttentionOutputs outputs;
    outputs.out = out_;
    outputs.lse = lse_;
    outputs.weights = weights_;
    return outputs;
  }
  using Bytes = std::vector<Bits>;
  Bytes results() const { return {out_.bytes(), lse_.bytes(), weights_.bytes()}; }
  void run(int threads) {
    attention({q_, k_, v_}, outputs(), options_, setting().execution(threads));
  }

  Array q_, k_, v_, out_, lse_, weights_;
  AttentionOptions options_;
};
INSTANTIATE_TEST_SUITE_P(AllKernels, FloatMode, ::testing::ValuesIn(all_settings()), setting_name);

TEST_P(FloatMode, SubnormalValuesAndResultsAreKept) {
  if (dtype() == DType::kFloat16) GTEST_SKIP() << "1e-40 is 0 in float16";
  const double tiny = array({1}, {1e-40})[0];
  const Results r = attend(setting(), column({0}), column({0, 0}), column({tiny, tiny}));
  EXPECT_EQ(r.out[0], tiny);
  EXPECT_NE(r.out[0], 0.0);
}

// exp(-95) lies below 2^-126: the weights are 0 or tiny, the sum is not disturbed.
TEST_P(FloatMode, WeightsBelowTheNormalRange) {
  Array k(dtype(), {4096, 1}, {-95}), v(dtype(), {4096, 1});
  k.set(0, 0);
  v.set(0, 1);
  const Results r = attend(setting(), column({1}), k, v, unscaled());
  EXPECT_NEAR(r.out[0], 1.0, 1e-30);
  EXPECT_LT(r.weights[1], 1e-40);
}

#if defined(__x86_64__)

constexpr unsigned kFlags = 0x3f, kDaz = 0x40, kMasks = 0x1f80, kRoundDown = 0x2000,
                   kRoundUp = 0x4000, kRoundToZero = 0x6000, kFtz = 0x8000;

// Sets MXCSR while it lives. No floating-point operation may stand beside it in a test.
class Mxcsr {
 public:
  explicit Mxcsr(unsigned value) : before_(_mm_getcsr()) { _mm_setcsr(value); }
  ~Mxcsr() { _mm_setcsr(before_); }
  Mxcsr(const Mxcsr&) = delete;

 private:
  unsigned before_;
};

const unsigned kModes[] = {
    kMasks,                        // the ordinary one
    kMasks | kFtz | kDaz,          // as many audio and ML programs run
    kMasks | kRoundUp,             //
    kMasks | kRoundDown | kFtz,    //
    kMasks | kRoundToZero | kDaz,  //
    kMasks | kFlags,               // all sticky flags set
    kMasks | 0x11,                 // some of them
    0,                             // all traps on: one inexact operation would end the process
    kRoundUp | kFtz | 0x20,        //
    kMasks & ~0x400u,              // only overflow traps
};

TEST_P(FloatMode, TheCallersModeReachesNoBitAndIsPutBack) {
  run(1);
  const Bytes expected = results();
  for (unsigned mode : kModes) {
    for (int threads : {1, 2}) {
      for (Array* array : {&out_, &lse_, &weights_}) fill_with_junk(*array);
      unsigned after = 0;
      {
        const Mxcsr set(mode);
        run(threads);
        after = _mm_getcsr();
      }
      EXPECT_EQ(after, mode) << std::hex << mode;
      EXPECT_EQ(results(), expected) << "mode " << std::hex << mode;
    }
  }
}

TEST_P(FloatMode, PlanningAndRunningApartKeepTheModeToo) {
  run(1);
  const Bytes expected = results();
  for (unsigned mode : kModes) {
    for (Array* array : {&out_, &lse_, &weights_}) fill_with_junk(*array);
    unsigned planned = 0, ran = 0;
    {
      const Mxcsr set(mode);
      AttentionPlan plan({q_, k_, v_}, outputs(), options_, setting().execution(2));
      planned = _mm_getcsr();
      plan.run();
      ran = _mm_getcsr();
    }
    EXPECT_EQ(planned, mode) << std::hex << mode;
    EXPECT_EQ(ran, mode) << std::hex << mode;
    EXPECT_EQ(results(), expected);
  }
}

// The default scale 1 / sqrt(d) is a rounded number as well.
TEST_P(FloatMode, TheDefaultScaleIsRoundedToNearest) {
  const Array q = scrambled(dtype(), {1, 3}, 4), k = scrambled(dtype(), {5, 3}, 5);
  const auto bits = [&](unsigned mode) {
    Array lse(setting().result_type(), {1});
    AttentionOutputs outputs;
    outputs.lse = lse;
    const AttentionOptions options = widened({});
    const ExecutionOptions execution = setting().execution(1);
    const Mxcsr set(mode);
    attention({q, k, k}, outputs, options, execution);
    return lse.bytes();
  };
  for (unsigned mode : kModes) EXPECT_EQ(bits(mode), bits(kMasks)) << std::hex << mode;
}

TEST_P(FloatMode, ErrorsAndExceptionsPutItBackToo) {
  const unsigned mode = kMasks | kFtz | kRoundUp | 0x21;
  AttentionOptions bad = options_;
  bad.scale = kNaN;
  AttentionOptions throwing = options_;
  throwing.mask_mod = [](const MaskTile&) { throw 1; };
  unsigned after[2] = {};
  {
    const Mxcsr set(mode);
    EXPECT_THROW(attention({q_, k_, v_}, outputs(), bad, setting().execution(1)), InvalidArgument);
    after[0] = _mm_getcsr();
    _mm_setcsr(mode);
    EXPECT_THROW(attention({q_, k_, v_}, outputs(), throwing, setting().execution(1)), int);
    after[1] = _mm_getcsr();
  }
  EXPECT_EQ(after[0], mode);
  EXPECT_EQ(after[1], mode);
}

// Callbacks see the mode of the contract, whatever the caller's is.
TEST_P(FloatMode, CallbacksRunInTheContractsMode) {
  std::atomic<unsigned> seen{0};
  options_.mask_mod = [&](const MaskTile&) { seen = seen | (_mm_getcsr() & ~kFlags); };
  {
    const Mxcsr set(kMasks | kFtz | kDaz | kRoundUp);
    run(1);
  }
  EXPECT_EQ(seen, kMasks);
}

#endif  // x86-64

}  // namespace
}  // namespace qkv::test
