#include "positions/rotary.h"

#include "boundary.h"
#include "convert.h"
#include "plan/rotation.h"
#include "positions/relative.h"
#include "qkv_positions.h"
#include "structs.h"

using qkv::Status;
using namespace qkv::c;

namespace {

static_assert(QKV_ROTARY_INTERLEAVED == static_cast<int>(qkv::RotaryLayout::kInterleaved) &&
              QKV_ROTARY_HALVES == static_cast<int>(qkv::RotaryLayout::kHalves));
static_assert(QKV_ROTARY_NONE == static_cast<int>(qkv::RotaryScaling::kNone) &&
              QKV_ROTARY_LINEAR == static_cast<int>(qkv::RotaryScaling::kLinear) &&
              QKV_ROTARY_NTK == static_cast<int>(qkv::RotaryScaling::kNtk) &&
              QKV_ROTARY_YARN == static_cast<int>(qkv::RotaryScaling::kYarn) &&
              QKV_ROTARY_LLAMA3 == static_cast<int>(qkv::RotaryScaling::kLlama3));

Status to_options(const qkv_rotary_options* given, qkv::RotaryOptions& options) {
  qkv_rotary_options in;
  if (Status s = read_struct("options", given, in); !s.ok()) return s;
  if (in.reserved != 0) {
    return qkv::unsupported("options: reserved is " + std::to_string(in.reserved) +
                            "; set all fields to 0 before the others are filled");
  }
  options.scaling = static_cast<qkv::RotaryScaling>(in.scaling);
  if (in.base != 0) options.base = in.base;
  if (in.factor != 0) options.factor = in.factor;
  options.original_length = in.original_length;
  if (in.beta_fast != 0) options.beta_fast = in.beta_fast;
  if (in.beta_slow != 0) options.beta_slow = in.beta_slow;
  if (in.low_factor != 0) options.low_factor = in.low_factor;
  if (in.high_factor != 0) options.high_factor = in.high_factor;
  options.whole_pairs = in.parts_of_pairs == 0;
  return {};
}

qkv_status rotation_of(const qkv_tensor* x, const qkv_tensor* cosines, const qkv_tensor* sines,
                       int32_t layout, const qkv_tensor* out, const qkv_execution* execution,
                       bool back) {
  return guarded([&]() -> Status {
    qkv::Rotation rotation;
    qkv::ExecutionOptions how;
    CallbackRecord callbacks;
    if (Status s = to_view(back ? "d_out" : "x", x, rotation.x); !s.ok()) return s;
    if (Status s = to_view("cosines", cosines, rotation.cosines); !s.ok()) return s;
    if (Status s = to_view("sines", sines, rotation.sines); !s.ok()) return s;
    if (Status s = to_view(back ? "d_x" : "out", out, rotation.out); !s.ok()) return s;
    if (Status s = to_execution(execution, callbacks, how); !s.ok()) return s;
    rotation.layout = static_cast<qkv::RotaryLayout>(layout);
    rotation.back = back;
    return callbacks.status_of(qkv::run_rotation(rotation, how, callbacks.stop()));
  });
}

}  // namespace

qkv_status qkv_rotary_frequencies(int64_t r, const qkv_rotary_options* options, double* frequencies,
                                  int64_t count, double* magnitude) {
  return guarded([&]() -> Status {
    qkv::RotaryOptions what;
    std::span<double> places;
    if (Status s = to_options(options, what); !s.ok()) return s;
    if (Status s = to_span("frequencies", frequencies, count, places); !s.ok()) return s;
    if (magnitude == nullptr) return null_argument("magnitude");
    return qkv::fill_rotary_frequencies(r, what, places, *magnitude);
  });
}

qkv_status qkv_rotary_tables(const qkv_tensor* positions, const double* frequencies, int64_t count,
                             double magnitude, const qkv_tensor* cosines, const qkv_tensor* sines) {
  return guarded([&]() -> Status {
    qkv::TensorView at;
    std::span<const double> turns;
    qkv::MutableTensorView to_cosines, to_sines;
    if (Status s = to_view("positions", positions, at); !s.ok()) return s;
    if (Status s = to_span("frequencies", frequencies, count, turns); !s.ok()) return s;
    if (Status s = to_view("cosines", cosines, to_cosines); !s.ok()) return s;
    if (Status s = to_view("sines", sines, to_sines); !s.ok()) return s;
    return qkv::fill_rotary_tables(at, turns, magnitude, to_cosines, to_sines);
  });
}

qkv_status qkv_rotate(const qkv_tensor* x, const qkv_tensor* cosines, const qkv_tensor* sines,
                      int32_t layout, const qkv_tensor* out, const qkv_execution* execution) {
  return rotation_of(x, cosines, sines, layout, out, execution, false);
}

qkv_status qkv_rotate_gradient(const qkv_tensor* d_out, const qkv_tensor* cosines,
                               const qkv_tensor* sines, int32_t layout, const qkv_tensor* d_x,
                               const qkv_execution* execution) {
  return rotation_of(d_out, cosines, sines, layout, d_x, execution, true);
}

qkv_status qkv_relative_position_bucket(int64_t distance, int32_t bidirectional, int64_t buckets,
                                        int64_t max_distance, int64_t* bucket) {
  return guarded([&]() -> Status {
    if (bucket == nullptr) return null_argument("bucket");
    return qkv::find_bucket(distance, {bidirectional != 0, buckets, max_distance}, *bucket);
  });
}
