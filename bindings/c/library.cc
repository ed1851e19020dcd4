// What the library and the machine are, types, slopes and cancel flags.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "boundary.h"
#include "convert.h"
#include "qkv/contract.h"
#include "qkv/cpu.h"
#include "structs.h"

using qkv::DType;
using qkv::Isa;
using qkv::Status;
using namespace qkv::c;

namespace {

qkv_status give_isas(std::vector<Isa> (*list)(), std::int32_t* isas, std::int64_t capacity,
                     std::int64_t* count) {
  return guarded([&]() -> Status {
    if (count == nullptr) return null_argument("count");
    if (Status s = check_array("isas", isas, capacity); !s.ok()) return s;
    const std::vector<Isa> all = list();
    *count = static_cast<std::int64_t>(all.size());
    for (std::int64_t i = 0; i < std::min(capacity, *count); ++i) {
      isas[i] = static_cast<std::int32_t>(all[static_cast<std::size_t>(i)]);
    }
    return {};
  });
}

// Finds the number of `name` by `find`; `what` it names is for the message.
template <class Enum>
qkv_status number_of(const char* name, bool (*find)(std::string_view, Enum&), const char* what,
                     std::int32_t* number) {
  return guarded([&]() -> Status {
    if (name == nullptr) return null_argument("name");
    if (number == nullptr) return null_argument(what);
    Enum value;
    if (!find(name, value)) {
      return qkv::invalid_argument("name: '" + std::string(name) + "' is the name of no " + what);
    }
    *number = static_cast<std::int32_t>(value);
    return {};
  });
}

}  // namespace

// The library's names and its version are literals, which end in a zero.
const char* qkv_version(void) { return qkv::version().data(); }

const char* qkv_cpu_name(void) {
  const char* known = "unknown";
  guarded([&]() -> Status {
    static const std::string name = qkv::cpu_name();
    known = name.c_str();
    return {};
  });
  return known;
}

qkv_status qkv_get_contract(qkv_contract* contract) {
  return guarded([&]() -> Status {
    const qkv::Contract promised = qkv::contract();
    qkv_contract filled = {};
    filled.version = promised.version;
    filled.block = promised.block;
    filled.span = promised.span;
    filled.group = promised.group;
    filled.name = promised.name.data();
    return write_struct("contract", filled, contract);
  });
}

const char* qkv_isa_name(int32_t isa) {
  return is_isa(isa) ? qkv::name_of(static_cast<Isa>(isa)).data() : nullptr;
}

qkv_status qkv_isa_from_name(const char* name, int32_t* isa) {
  return number_of<Isa>(name, qkv::isa_from_name, "isa", isa);
}

qkv_status qkv_built_isas(int32_t* isas, int64_t capacity, int64_t* count) {
  return give_isas(qkv::built_isas, isas, capacity, count);
}

qkv_status qkv_usable_isas(int32_t* isas, int64_t capacity, int64_t* count) {
  return give_isas(qkv::usable_isas, isas, capacity, count);
}

const char* qkv_dtype_name(int32_t dtype) {
  return is_dtype(dtype) ? qkv::name_of(static_cast<DType>(dtype)).data() : nullptr;
}

int64_t qkv_dtype_size(int32_t dtype) {
  return is_dtype(dtype) ? static_cast<std::int64_t>(qkv::size_of(static_cast<DType>(dtype))) : 0;
}

int32_t qkv_dtype_is_floating(int32_t dtype) {
  return is_dtype(dtype) && qkv::is_floating(static_cast<DType>(dtype)) ? 1 : 0;
}

qkv_status qkv_dtype_from_name(const char* name, int32_t* dtype) {
  return number_of<DType>(name, qkv::dtype_from_name, "dtype", dtype);
}

void qkv_tensor_init(qkv_tensor* tensor, const void* data, int32_t dtype, int32_t rank,
                     const int64_t* extents) {
  if (tensor == nullptr) return;
  *tensor = {};
  tensor->data = const_cast<void*>(data);
  tensor->dtype = dtype;
  // No rank is refused here: the calls that take the tensor do so.
  tensor->rank = extents == nullptr && rank > 0 ? -1 : rank;
  std::uint64_t stride = 1;
  for (int axis = std::min(rank, qkv::kMaxRank) - 1; axis >= 0 && tensor->rank > 0; --axis) {
    tensor->extents[axis] = extents[axis];
    tensor->strides[axis] = static_cast<std::int64_t>(stride);
    // Unsigned, so that absurd extents wrap instead of being undefined; validation refuses them.
    stride *= static_cast<std::uint64_t>(extents[axis]);
  }
}

qkv_status qkv_alibi_slopes(int64_t heads, float* slopes) {
  return guarded([&]() -> Status {
    std::span<float> out;
    if (Status s = to_span("slopes", slopes, heads, out); !s.ok()) return s;
    const std::vector<float> all = qkv::alibi_slopes(heads);
    std::copy(all.begin(), all.end(), out.begin());
    return {};
  });
}

qkv_status qkv_cancel_flag_create(qkv_cancel_flag** flag) {
  return guarded([&]() -> Status {
    if (flag == nullptr) return null_argument("flag");
    *flag = nullptr;
    *flag = new qkv_cancel_flag;
    return {};
  });
}

void qkv_cancel(qkv_cancel_flag* flag) {
  if (flag != nullptr) flag->requested = true;
}

void qkv_cancel_flag_reset(qkv_cancel_flag* flag) {
  if (flag != nullptr) flag->requested = false;
}

void qkv_cancel_flag_destroy(qkv_cancel_flag* flag) { delete flag; }
