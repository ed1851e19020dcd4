// Structs of other sizes: those of older and of newer headers.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "c/in_c.h"

namespace qkv::test {
namespace {

// A struct in memory of exactly `size` bytes, so that a sanitizer sees what is read beyond it.
template <class Struct>
class OfSize {
 public:
  OfSize(const Struct& s, std::size_t size) : memory_(new std::byte[size]()) {
    std::memcpy(memory_.get(), &s, std::min(size, sizeof(Struct)));
    const auto stated = static_cast<std::uint32_t>(size);
    std::memcpy(memory_.get(), &stated, sizeof(stated));
  }
  std::byte& operator[](std::size_t i) { return memory_[i]; }
  Struct* get() { return reinterpret_cast<Struct*>(memory_.get()); }
  // The field at an offset, whole in this memory though the struct may not be.
  template <class T>
  T field(std::size_t offset) const {
    T value;
    std::memcpy(&value, memory_.get() + offset, sizeof(value));
    return value;
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
};

class Structs : public ::testing::Test {
 protected:
  Structs() : c_({q_, k_, v_}, outputs()) {
    c_.options.causal = 1;
    c_.options.query_offset = &offset_;
    c_.options.query_offset_count = 1;
  }
  AttentionOutputs outputs() {
    AttentionOutputs outputs;
    outputs.out = MutableTensorView(out_, {2, 1});
    return outputs;
  }

  float q_data_[2] = {1, 2}, k_data_[3] = {1, 0, 2}, v_data_[3] = {3, 5, 7}, out_[2] = {};
  TensorView q_{q_data_, {2, 1}}, k_{k_data_, {3, 1}}, v_{v_data_, {3, 1}};
  std::int64_t offset_ = 0;
  InC c_;
};

TEST_F(Structs, FieldsAnOlderHeaderLacksAreAtTheirDefaults) {
  EXPECT_OK(qkv_attention(&c_.inputs, &c_.outputs, &c_.options, nullptr));
  EXPECT_EQ(out_[0], 3);  // offset 0: the first query sees one key

  // Without the offset the queries end where the keys do.
  qkv_attention_options all = c_.options;
  all.query_offset = nullptr;
  all.query_offset_count = 0;
  EXPECT_OK(qkv_attention(&c_.inputs, &c_.outputs, &all, nullptr));
  const float expected = out_[0];
  EXPECT_NE(expected, 3);
  OfSize<qkv_attention_options> older(c_.options, offsetof(qkv_attention_options, query_offset));
  EXPECT_OK(qkv_attention(&c_.inputs, &c_.outputs, older.get(), nullptr));
  EXPECT_EQ(out_[0], expected);

  // Every size at which a header can have ended.
  for (std::size_t size = 8; size < sizeof(qkv_attention_options); size += 8) {
    OfSize<qkv_attention_options> some(c_.options, size);
    EXPECT_OK(qkv_attention(&c_.inputs, &c_.outputs, some.get(), nullptr)) << size;
    const bool has_offset = size > offsetof(qkv_attention_options, query_offset_count);
    EXPECT_EQ(out_[0], has_offset ? 3 : expected) << size;
  }
}

TEST_F(Structs, OtherStructsOfOlderHeaders) {
  c_.execution.progress = [](void*, double) { return 1; };
  EXPECT_EQ(qkv_attention(&c_.inputs, &c_.outputs, nullptr, &c_.execution), QKV_CALLBACK_FAILED);
  OfSize<qkv_execution> execution(c_.execution, offsetof(qkv_execution, progress));
  EXPECT_OK(qkv_attention(&c_.inputs, &c_.outputs, nullptr, execution.get()));

  c_.outputs.row_count = -1;
  OfSize<qkv_attention_outputs> outputs(c_.outputs, offsetof(qkv_attention_outputs, heads));
  EXPECT_OK(qkv_attention(&c_.inputs, outputs.get(), nullptr, nullptr));

  OfSize<qkv_attention_inputs> inputs(c_.inputs, offsetof(qkv_attention_inputs, value));
  EXPECT_FAILS(qkv_attention(inputs.get(), outputs.get(), nullptr, nullptr), QKV_INVALID_ARGUMENT,
               "value: ");
}

TEST_F(Structs, FieldsOfANewerHeaderMustBeZero) {
  const std::size_t size = sizeof(qkv_attention_options) + 24;
  OfSize<qkv_attention_options> newer(c_.options, size);
  EXPECT_OK(qkv_attention(&c_.inputs, &c_.outputs, newer.get(), nullptr));
  EXPECT_EQ(out_[0], 3);
  for (std::size_t i = sizeof(qkv_attention_options); i < size; ++i) {
    newer[i] = std::byte{1};
    EXPECT_FAILS(qkv_attention(&c_.inputs, &c_.outputs, newer.get(), nullptr), QKV_UNSUPPORTED,
                 "options: a field at byte " + std::to_string(i));
    newer[i] = std::byte{0};
  }
  OfSize<qkv_execution> execution(c_.execution, sizeof(qkv_execution) + 8);
  execution[sizeof(qkv_execution)] = std::byte{1};
  EXPECT_FAILS(qkv_attention(&c_.inputs, &c_.outputs, nullptr, execution.get()), QKV_UNSUPPORTED,
               "execution: ");
  OfSize<qkv_attention_inputs> inputs(c_.inputs, sizeof(qkv_attention_inputs) + 8);
  inputs[sizeof(qkv_attention_inputs) + 7] = std::byte{1};
  EXPECT_FAILS(qkv_attention(inputs.get(), &c_.outputs, nullptr, nullptr), QKV_UNSUPPORTED,
               "inputs: ");
  OfSize<qkv_attention_outputs> outputs(c_.outputs, sizeof(qkv_attention_outputs) + 8);
  outputs[sizeof(qkv_attention_outputs) + 3] = std::byte{1};
  EXPECT_FAILS(qkv_attention(&c_.inputs, outputs.get(), nullptr, nullptr), QKV_UNSUPPORTED,
               "outputs: ");
}

TEST_F(Structs, SizesThatNoHeaderHasAreRefused) {
  for (std::uint32_t size : {0u, 4u, 7u, 12u, 247u, 5000u, 0xa5a5a5a5u}) {
    c_.options.struct_size = size;
    EXPECT_FAILS(qkv_attention(&c_.inputs, &c_.outputs, &c_.options, nullptr), QKV_INVALID_ARGUMENT,
                 "options: struct_size " + std::to_string(size));
  }
  c_.inputs.struct_size = 0;
  EXPECT_FAILS(qkv_attention(&c_.inputs, &c_.outputs, nullptr, nullptr), QKV_INVALID_ARGUMENT,
               "inputs: struct_size 0");
}

TEST_F(Structs, ReservedFieldsMustBeZero) {
  c_.inputs.reserved = 1;
  EXPECT_FAILS(qkv_attention(&c_.inputs, &c_.outputs, nullptr, nullptr), QKV_UNSUPPORTED,
               "inputs: reserved is 1");
  c_.inputs.reserved = 0;
  c_.outputs.reserved = 2;
  EXPECT_FAILS(qkv_attention(&c_.inputs, &c_.outputs, nullptr, nullptr), QKV_UNSUPPORTED,
               "outputs: reserved is 2");
}

TEST_F(Structs, FilledStructsKeepTheirSize) {
  qkv_contract full;
  qkv_contract_init(&full);
  EXPECT_OK(qkv_get_contract(&full));
  EXPECT_EQ(full.struct_size, sizeof(full));
  qkv_contract junk;
  std::memset(&junk, 0x5a, sizeof(junk));

  OfSize<qkv_contract> older(junk, offsetof(qkv_contract, span));
  EXPECT_OK(qkv_get_contract(older.get()));
  EXPECT_EQ(older.field<std::uint32_t>(0), offsetof(qkv_contract, span));
  EXPECT_EQ(older.field<std::int64_t>(offsetof(qkv_contract, block)), full.block);

  OfSize<qkv_contract> newer(junk, sizeof(qkv_contract) + 16);
  newer[sizeof(qkv_contract) + 15] = std::byte{7};
  EXPECT_OK(qkv_get_contract(newer.get()));
  EXPECT_EQ(newer.get()->struct_size, sizeof(qkv_contract) + 16);
  EXPECT_EQ(newer.get()->span, full.span);
  EXPECT_EQ(newer[sizeof(qkv_contract) + 15], std::byte{0});

  junk.struct_size = 3;
  EXPECT_FAILS(qkv_get_contract(&junk), QKV_INVALID_ARGUMENT, "contract: struct_size 3");
  EXPECT_FAILS(qkv_get_contract(nullptr), QKV_INVALID_ARGUMENT, "contract: null pointer");
}

// All zeros but the size is every default, as for callers that know no initialisers.
TEST_F(Structs, ZerosAreTheDefaults) {
  qkv_attention_options zeros;
  std::memset(&zeros, 0, sizeof(zeros));
  zeros.struct_size = sizeof(zeros);
  EXPECT_OK(qkv_attention(&c_.inputs, &c_.outputs, &zeros, nullptr));
  float expected[2];
  AttentionOutputs outputs;
  outputs.out = MutableTensorView(expected, {2, 1});
  attention({q_, k_, v_}, outputs);
  EXPECT_EQ(std::memcmp(out_, expected, sizeof(out_)), 0);
}

TEST(Tensors, RowMajor) {
  const float data[24] = {};
  const qkv_tensor t = tensor_in_c(data, DType::kFloat32, {2, 3, 4});
  EXPECT_EQ(t.data, data);
  EXPECT_EQ(t.rank, 3);
  EXPECT_EQ(std::vector(t.extents, t.extents + 3), (std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_EQ(std::vector(t.strides, t.strides + 3), (std::vector<std::int64_t>{12, 4, 1}));
  EXPECT_EQ(t.extents[3], 0);
  qkv_tensor_init(nullptr, data, QKV_FLOAT32, 0, nullptr);
}

TEST_F(Structs, TensorsOfNoRankOrTypeAreRefused) {
  const std::int64_t shape[5] = {1, 1, 1, 1, 1};
  for (std::int32_t rank : {-1, 5, 1000}) {
    qkv_tensor_init(&c_.query, q_data_, QKV_FLOAT32, rank, shape);
    EXPECT_FAILS(qkv_attention(&c_.inputs, &c_.outputs, nullptr, nullptr), QKV_INVALID_ARGUMENT,
                 "query: rank " + std::to_string(rank));
  }
  qkv_tensor_init(&c_.query, q_data_, QKV_FLOAT32, 2, nullptr);
  EXPECT_FAILS(qkv_attention(&c_.inputs, &c_.outputs, nullptr, nullptr), QKV_INVALID_ARGUMENT,
               "query: rank -1");
  for (std::int32_t dtype : {-1, 13, 260}) {
    qkv_tensor_init(&c_.query, q_data_, dtype, 2, shape);
    EXPECT_FAILS(qkv_attention(&c_.inputs, &c_.outputs, nullptr, nullptr), QKV_INVALID_ARGUMENT,
                 "query: dtype " + std::to_string(dtype));
  }
}

}  // namespace
}  // namespace qkv::test
