// Every status code, null pointers and counts that don't fit, and the message of each thread.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "c/in_c.h"

namespace qkv::test {
namespace {

class CFailures : public ::testing::Test {
 protected:
  CFailures() : c_({q_, k_, k_}, outputs()) {}
  AttentionOutputs outputs() {
    AttentionOutputs outputs;
    outputs.out = MutableTensorView(out_, {2, 1});
    return outputs;
  }
  qkv_status run() { return qkv_attention(&c_.inputs, &c_.outputs, &c_.options, &c_.execution); }

  float q_data_[2] = {1, 2}, k_data_[3] = {1, 0, 2}, out_[2] = {-1, -1};
  TensorView q_{q_data_, {2, 1}}, k_{k_data_, {3, 1}};
  InC c_;
};

TEST_F(CFailures, NamesOfCodes) {
  EXPECT_STREQ(qkv_status_name(QKV_OK), "ok");
  EXPECT_STREQ(qkv_status_name(QKV_INVALID_ARGUMENT), "invalid argument");
  EXPECT_STREQ(qkv_status_name(QKV_UNSUPPORTED), "unsupported");
  EXPECT_STREQ(qkv_status_name(QKV_OUT_OF_MEMORY), "out of memory");
  EXPECT_STREQ(qkv_status_name(QKV_CANCELLED), "cancelled");
  EXPECT_STREQ(qkv_status_name(QKV_CALLBACK_FAILED), "callback failed");
  EXPECT_STREQ(qkv_status_name(6), "unknown status");
  EXPECT_STREQ(qkv_status_name(-1), "unknown status");
}

// The message is that of the C++ exception; nothing is written.
TEST_F(CFailures, InvalidArgument) {
  const std::int64_t lengths[] = {1};
  c_.options.key_lengths = lengths;
  c_.options.key_length_count = 1;
  EXPECT_OK(run());
  std::fill(out_, out_ + 2, -1.0F);
  c_.options.key_length_count = 0;
  c_.key.extents[1] = c_.value.extents[1] = 2;
  AttentionInputs inputs{q_, k_, k_};
  inputs.key.extents[1] = inputs.value.extents[1] = 2;
  try {
    attention(inputs, outputs());
    ADD_FAILURE();
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(run(), QKV_INVALID_ARGUMENT);
    EXPECT_STREQ(qkv_last_error(), error.what());
  }
  EXPECT_EQ(out_[0], -1);
}

TEST_F(CFailures, Unsupported) {
  const std::vector<Isa> isas = usable_isas();
  for (Isa isa : {Isa::kNeon, Isa::kAvx2, Isa::kAvx512}) {
    c_.execution.isa = static_cast<std::int32_t>(isa);
    const bool usable = std::find(isas.begin(), isas.end(), isa) != isas.end();
    EXPECT_EQ(run(), usable ? QKV_OK : QKV_UNSUPPORTED) << qkv_last_error();
  }
  c_.execution.isa = 0;
  c_.query.dtype = c_.key.dtype = c_.value.dtype = QKV_BFLOAT16;
  EXPECT_FAILS(run(), QKV_UNSUPPORTED, "bfloat16");
}

TEST_F(CFailures, OutOfMemory) {
  qkv_generator* generator = nullptr;
  ASSERT_EQ(qkv_generator_create(0, &generator), QKV_OK);
  std::int64_t number = 0;
  EXPECT_FAILS(
      qkv_generator_permutation(generator, &number, std::numeric_limits<std::int64_t>::max()),
      QKV_OUT_OF_MEMORY, "no memory");
  qkv_generator_destroy(generator);
}

TEST_F(CFailures, EnumerationsOutOfRange) {
  c_.options.alignment = 2;
  EXPECT_FAILS(run(), QKV_INVALID_ARGUMENT, "alignment: 2 is none of the values it can have");
  c_.options.alignment = 0;
  c_.options.arithmetic = -1;
  EXPECT_FAILS(run(), QKV_INVALID_ARGUMENT, "arithmetic: -1");
  c_.options.arithmetic = 0;
  c_.execution.isa = 5;
  EXPECT_FAILS(run(), QKV_INVALID_ARGUMENT, "isa: 5");
  c_.execution.isa = 0;
  c_.execution.threads = -2;
  EXPECT_FAILS(run(), QKV_INVALID_ARGUMENT, "threads: -2");
}

TEST_F(CFailures, Windows) {
  c_.options.has_window = 1;
  c_.options.window_left = 0;
  c_.options.window_right = -1;
  EXPECT_OK(run());
  c_.options.window_left = -2;
  EXPECT_FAILS(run(), QKV_INVALID_ARGUMENT, "window_left: -2 is below -1");
  c_.options.window_left = -1;
  c_.options.window_right = std::numeric_limits<std::int64_t>::min();
  EXPECT_FAILS(run(), QKV_INVALID_ARGUMENT, "window_right: ");
  c_.options.has_window = 0;
  EXPECT_OK(run());
}

TEST_F(CFailures, ArraysAndCounts) {
  const auto refused = [&](const char* name, auto& data, std::int64_t& count) {
    count = 1;
    EXPECT_FAILS(run(), QKV_INVALID_ARGUMENT,
                 std::string(name) + ": null pointer with a count of 1");
    count = -1;
    EXPECT_FAILS(run(), QKV_INVALID_ARGUMENT, std::string(name) + ": a count of -1");
    count = 0;
    // A pointer to no elements is as good as none.
    data = reinterpret_cast<std::remove_reference_t<decltype(data)>>(&c_);
    EXPECT_OK(run());
    data = nullptr;
  };
  qkv_attention_options& o = c_.options;
  refused("alibi_slopes", o.alibi_slopes, o.alibi_slope_count);
  refused("sinks", o.sinks, o.sink_count);
  refused("key_begin", o.key_begin, o.key_begin_count);
  refused("key_lengths", o.key_lengths, o.key_length_count);
  refused("query_lengths", o.query_lengths, o.query_length_count);
  refused("query_cu_seqlens", o.query_cu_seqlens, o.query_cu_seqlen_count);
  refused("key_cu_seqlens", o.key_cu_seqlens, o.key_cu_seqlen_count);
  refused("query_offset", o.query_offset, o.query_offset_count);
  refused("heads", c_.outputs.heads, c_.outputs.head_count);
  refused("rows", c_.outputs.rows, c_.outputs.row_count);
}

TEST_F(CFailures, NullPointersInAttention) {
  EXPECT_FAILS(qkv_attention(nullptr, &c_.outputs, nullptr, nullptr), QKV_INVALID_ARGUMENT,
               "inputs: null pointer");
  EXPECT_FAILS(qkv_attention(&c_.inputs, nullptr, nullptr, nullptr), QKV_INVALID_ARGUMENT,
               "outputs: null pointer");
  for (const qkv_tensor** tensor : {&c_.inputs.query, &c_.inputs.key, &c_.inputs.value}) {
    const qkv_tensor* kept = *tensor;
    *tensor = nullptr;
    EXPECT_FAILS(run(), QKV_INVALID_ARGUMENT, "absent");
    *tensor = kept;
  }
  c_.key.data = nullptr;
  EXPECT_FAILS(run(), QKV_INVALID_ARGUMENT, "key: null pointer");
  c_.key.data = k_data_;
  // No outputs at all: nothing to do.
  c_.outputs.out = nullptr;
  EXPECT_OK(run());
  std::int64_t extents[4];
  std::int32_t rank = 0;
  EXPECT_FAILS(qkv_output_shape(nullptr, nullptr, extents, &rank), QKV_INVALID_ARGUMENT, "inputs");
  EXPECT_FAILS(qkv_output_shape(&c_.inputs, nullptr, nullptr, &rank), QKV_INVALID_ARGUMENT,
               "extents");
  EXPECT_FAILS(qkv_output_shape(&c_.inputs, nullptr, extents, nullptr), QKV_INVALID_ARGUMENT,
               "rank");
}

TEST_F(CFailures, NullPointersInPlansAndStates) {
  qkv_plan_description description;
  qkv_plan_description_init(&description);
  EXPECT_FAILS(qkv_plan_create(&c_.inputs, &c_.outputs, nullptr, nullptr, nullptr),
               QKV_INVALID_ARGUMENT, "plan");
  auto* plan = reinterpret_cast<qkv_plan*>(&description);
  EXPECT_FAILS(qkv_plan_create(nullptr, &c_.outputs, nullptr, nullptr, &plan), QKV_INVALID_ARGUMENT,
               "inputs");
  EXPECT_EQ(plan, nullptr);
  EXPECT_FAILS(qkv_plan_describe(nullptr, &description), QKV_INVALID_ARGUMENT, "plan");
  EXPECT_FAILS(qkv_plan_run(nullptr, nullptr, 0), QKV_INVALID_ARGUMENT, "plan");
  EXPECT_FAILS(qkv_plan_run_on(nullptr, &c_.inputs, &c_.outputs, nullptr, 0), QKV_INVALID_ARGUMENT,
               "plan");

  qkv_state* state = nullptr;
  std::int64_t number = 0;
  EXPECT_FAILS(qkv_state_of(&c_.inputs, 0, nullptr, nullptr, nullptr), QKV_INVALID_ARGUMENT,
               "state");
  EXPECT_FAILS(qkv_state_of(nullptr, 0, nullptr, nullptr, &state), QKV_INVALID_ARGUMENT, "inputs");
  EXPECT_FAILS(qkv_state_of(&c_.inputs, 5, nullptr, nullptr, &state), QKV_INVALID_ARGUMENT,
               "first_key: 5");
  EXPECT_EQ(state, nullptr);
  ASSERT_EQ(qkv_state_of(&c_.inputs, 0, nullptr, nullptr, &state), QKV_OK);
  EXPECT_FAILS(qkv_state_keys(nullptr, &number, &number), QKV_INVALID_ARGUMENT, "state");
  EXPECT_FAILS(qkv_state_keys(state, nullptr, &number), QKV_INVALID_ARGUMENT, "first_key");
  EXPECT_FAILS(qkv_state_keys(state, &number, nullptr), QKV_INVALID_ARGUMENT, "end_key");
  EXPECT_FAILS(qkv_state_merge(nullptr, state), QKV_INVALID_ARGUMENT, "state");
  EXPECT_FAILS(qkv_state_merge(state, nullptr), QKV_INVALID_ARGUMENT, "other");
  EXPECT_FAILS(qkv_state_merge(state, state), QKV_INVALID_ARGUMENT, "other");
  EXPECT_FAILS(qkv_state_finish(nullptr, &c_.outputs, nullptr, 0), QKV_INVALID_ARGUMENT, "state");
  EXPECT_FAILS(qkv_state_finish(state, nullptr, nullptr, 0), QKV_INVALID_ARGUMENT, "outputs");
  EXPECT_FAILS(qkv_state_finish(state, &c_.outputs, nullptr, 1), QKV_INVALID_ARGUMENT, "sinks");
  EXPECT_FAILS(qkv_state_serialize(nullptr, nullptr, 0, &number), QKV_INVALID_ARGUMENT, "state");
  EXPECT_FAILS(qkv_state_serialize(state, nullptr, 0, nullptr), QKV_INVALID_ARGUMENT, "size");
  EXPECT_FAILS(qkv_state_serialize(state, nullptr, 9, &number), QKV_INVALID_ARGUMENT, "bytes");
  EXPECT_FAILS(qkv_state_serialize(state, &number, 0, &number), QKV_INVALID_ARGUMENT,
               "bytes: a capacity of 0");
  EXPECT_FAILS(qkv_state_copy(state, nullptr), QKV_INVALID_ARGUMENT, "copy");
  qkv_state* none = state;
  EXPECT_FAILS(qkv_state_copy(nullptr, &none), QKV_INVALID_ARGUMENT, "state");
  EXPECT_EQ(none, nullptr);
  EXPECT_FAILS(qkv_state_deserialize("QKVSTATE", 8, nullptr), QKV_INVALID_ARGUMENT, "state");
  EXPECT_FAILS(qkv_state_deserialize(nullptr, 8, &none), QKV_INVALID_ARGUMENT, "bytes");
  EXPECT_FAILS(qkv_state_deserialize("QKVSTATE", 8, &none), QKV_INVALID_ARGUMENT, "bytes");
  EXPECT_EQ(none, nullptr);
  qkv_state_destroy(state);
}

TEST_F(CFailures, NullPointersElsewhere) {
  EXPECT_FAILS(qkv_matmul(nullptr, &c_.key, &c_.out_, nullptr), QKV_INVALID_ARGUMENT, "a: ");
  EXPECT_FAILS(qkv_matmul(&c_.query, nullptr, &c_.out_, nullptr), QKV_INVALID_ARGUMENT, "b: ");
  qkv_tensor transposed = tensor_in_c(k_data_, DType::kFloat32, {1, 2});
  EXPECT_FAILS(qkv_matmul(&c_.query, &transposed, nullptr, nullptr), QKV_INVALID_ARGUMENT, "out: ");

  double number = 0;
  std::int64_t integer = 0, count = 0;
  const std::uint32_t word = 1;
  EXPECT_FAILS(qkv_generator_create(0, nullptr), QKV_INVALID_ARGUMENT, "generator");
  EXPECT_FAILS(qkv_generator_create_from_words(&word, 1, nullptr), QKV_INVALID_ARGUMENT,
               "generator");
  auto* generator = reinterpret_cast<qkv_generator*>(&number);
  EXPECT_FAILS(qkv_generator_create_from_words(nullptr, 1, &generator), QKV_INVALID_ARGUMENT,
               "words");
  EXPECT_EQ(generator, nullptr);
  EXPECT_FAILS(qkv_generator_copy(nullptr, &generator), QKV_INVALID_ARGUMENT, "generator");
  EXPECT_FAILS(qkv_generator_random(nullptr, &number, 1), QKV_INVALID_ARGUMENT, "generator");
  EXPECT_FAILS(qkv_generator_normal(nullptr, &number, 1, 0, 1), QKV_INVALID_ARGUMENT, "generator");
  EXPECT_FAILS(qkv_generator_integers(nullptr, &integer, 1, 0, 1), QKV_INVALID_ARGUMENT,
               "generator");
  EXPECT_FAILS(qkv_generator_permutation(nullptr, &integer, 1), QKV_INVALID_ARGUMENT, "generator");
  ASSERT_EQ(qkv_generator_create(0, &generator), QKV_OK);
  EXPECT_FAILS(qkv_generator_copy(generator, nullptr), QKV_INVALID_ARGUMENT, "copy");
  EXPECT_FAILS(qkv_generator_random(generator, nullptr, 1), QKV_INVALID_ARGUMENT, "out");
  EXPECT_FAILS(qkv_generator_random(generator, &number, -1), QKV_INVALID_ARGUMENT, "out");
  EXPECT_OK(qkv_generator_random(generator, nullptr, 0));
  qkv_generator_destroy(generator);

  float slope = 0;
  EXPECT_FAILS(qkv_alibi_slopes(1, nullptr), QKV_INVALID_ARGUMENT, "slopes");
  EXPECT_FAILS(qkv_alibi_slopes(-1, &slope), QKV_INVALID_ARGUMENT, "slopes");
  EXPECT_OK(qkv_alibi_slopes(0, nullptr));
  std::int32_t isa = 0;
  EXPECT_FAILS(qkv_built_isas(&isa, 1, nullptr), QKV_INVALID_ARGUMENT, "count");
  EXPECT_FAILS(qkv_usable_isas(nullptr, 1, &count), QKV_INVALID_ARGUMENT, "isas");
  EXPECT_FAILS(qkv_isa_from_name(nullptr, &isa), QKV_INVALID_ARGUMENT, "name");
  EXPECT_FAILS(qkv_isa_from_name("avx2", nullptr), QKV_INVALID_ARGUMENT, "isa");
  EXPECT_FAILS(qkv_dtype_from_name(nullptr, &isa), QKV_INVALID_ARGUMENT, "name");
  EXPECT_FAILS(qkv_dtype_from_name("f32", nullptr), QKV_INVALID_ARGUMENT, "dtype");
  EXPECT_FAILS(qkv_cancel_flag_create(nullptr), QKV_INVALID_ARGUMENT, "flag");
}

TEST_F(CFailures, TheMessageStaysUntilTheNextFailureOfItsThread) {
  c_.options.alignment = 9;
  EXPECT_EQ(run(), QKV_INVALID_ARGUMENT);
  const std::string before = qkv_last_error();
  std::thread([&] {
    EXPECT_STREQ(qkv_last_error(), "");
    EXPECT_EQ(qkv_plan_run(nullptr, nullptr, 0), QKV_INVALID_ARGUMENT);
    EXPECT_STREQ(qkv_last_error(), "plan: null pointer");
  }).join();
  c_.options.alignment = 0;
  EXPECT_OK(run());
  EXPECT_EQ(qkv_last_error(), before);
}

TEST(CLastError, LongMessagesAreCut) {
  const std::string name(5000, 'x');
  std::int32_t isa = 0;
  EXPECT_EQ(qkv_isa_from_name(name.c_str(), &isa), QKV_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(qkv_last_error()), ("name: '" + name).substr(0, 1023));
}

TEST(CLastError, ManyThreadsFailAtOnce) {
  std::vector<std::thread> threads;
  for (int n = 0; n < 16; ++n) {
    threads.emplace_back([n] {
      const std::string name = "thread" + std::to_string(n);
      for (int i = 0; i < 200; ++i) {
        std::int32_t dtype = 0;
        EXPECT_EQ(qkv_dtype_from_name(name.c_str(), &dtype), QKV_INVALID_ARGUMENT);
        EXPECT_EQ(qkv_last_error(), "name: '" + name + "' is the name of no dtype");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace qkv::test
