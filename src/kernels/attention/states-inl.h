// States of rows in memory: merging them, adding sinks, writing results (rules 4 to 6).
#ifndef QKV_KERNELS_ATTENTION_STATES_INL_H_
#define QKV_KERNELS_ATTENTION_STATES_INL_H_

#include <cstdint>
#include <span>
#include <utility>

#include "kernels/attention/kernel.h"
#include "simd/log.h"
#include "simd/math-inl.h"
#include "tensor/element.h"

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

inline float exp1(float x) {
  float lanes[kLanes];
  store(exp(set(x)), lanes);
  return lanes[0];
}

inline float fma1(float a, float b, float c) {
  float lanes[kLanes];
  store(fma(set(a), set(b), set(c)), lanes);
  return lanes[0];
}

// x = merge(x, y) for one row: the state with the larger m stays, the other joins it.
inline void merge_row(float* x, const float* y, std::int64_t stride) {
  if (y[1] == 0) return;
  const bool take_y = x[1] == 0 || y[0] > x[0];
  const float* high = take_y ? y : x;
  const float* low = take_y ? x : y;
  const float e = low[1] == 0 ? 0.0f : exp1(low[0] - high[0]);
  const V factor = set(e);
  const float m = high[0];
  x[1] = fma1(low[1], e, high[1]);
  x[0] = m;
  for (std::int64_t c = kStateValues; c < stride; c += kLanes) {
    store(fma(load(low + c), factor, load(high + c)), x + c);
  }
}

inline void merge_rows(float* x, const float* y, std::int64_t rows, std::int64_t d_v) {
  const std::int64_t stride = state_stride(d_v);
  for (std::int64_t r = 0; r < rows; ++r) merge_row(x + r * stride, y + r * stride, stride);
}

inline void add_sinks(const RowTile& tile, std::span<const float> sinks, float* states,
                      std::int64_t d_v) {
  if (sinks.empty()) return;
  const std::int64_t stride = state_stride(d_v);
  for (int r = 0; r < tile.rows; ++r) {
    const float sink = sinks[tile.heads[r]];
    if (sink == -std::numeric_limits<float>::infinity()) continue;
    float* x = states + r * stride;
    if (x[1] == 0 || sink > x[0]) {
      // The sink's state (sink, 1, 0) stays; the keys' state joins it.
      const float e = x[1] == 0 ? 0.0f : exp1(x[0] - sink);
      x[1] = fma1(x[1], e, 1.0f);
      x[0] = sink;
      for (std::int64_t c = kStateValues; c < stride; c += kLanes) {
        store(fma(load(x + c), set(e), zero()), x + c);
      }
    } else {
      x[1] = fma1(1.0f, exp1(sink - x[0]), x[1]);
    }
  }
}

// out[c] = o[c] / l * factor, rounded to out's type.
inline void write_row(const MutableTensorView& out, std::int64_t offset, const float* state,
                      std::int64_t d_v, float factor) {
  const float l = state[1];
  const float* o = state + kStateValues;
  const bool empty = l == 0;
#if QKV_FAULT_CODE == QKV_FAULT_RECIPROCAL
  const float reciprocal = 1.0f / l;
  const auto divide = [&](V x) { return x * set(reciprocal); };
#else
  const auto divide = [&](V x) { return x / set(l); };
#endif
  const bool plain = out.dtype == DType::kFloat32 && out.strides[3] == 1;
  for (std::int64_t c = 0; c < d_v; c += kLanes) {
    const V result = empty ? zero() : canonical(divide(load(o + c)) * set(factor));
    if (plain && c + kLanes <= d_v) {
      store(result, static_cast<float*>(out.data) + offset + c);
      continue;
    }
    float lanes[kLanes];
    store(result, lanes);
    for (std::int64_t n = c; n < d_v && n < c + kLanes; ++n) {
      store_result(out, offset + n * out.strides[3], lanes[n - c]);
    }
  }
}

inline void finish_rows(const RowResults& results, const RowTile& tile, const float* states,
                        std::int64_t d_v) {
  const auto& [out, lse, row_max, row_sum, out_factor] = results;
  const std::int64_t stride = state_stride(d_v);
  for (int r = 0; r < tile.rows; ++r) {
    const float* state = states + r * stride;
    const std::int64_t row = tile.sequence.query_begin + tile.queries[r];
    if (out.defined()) {
      write_row(out, offset_of(out, tile.sequence.buffer, tile.heads[r], row, 0), state, d_v,
                out_factor);
    }
    if (lse.defined()) {
      const double value = state[1] == 0 ? -std::numeric_limits<double>::infinity()
                                         : double{state[0]} + log(double{state[1]});
      store_result(lse, offset_of(lse, tile.sequence.buffer, tile.heads[r], row, 0),
                   static_cast<float>(value));
    }
    for (const auto& [view, number] : {std::pair(&row_max, state[0]), {&row_sum, state[1]}}) {
      if (!view->defined()) continue;
      store_result(*view, offset_of(*view, tile.sequence.buffer, tile.heads[r], row, 0), number);
    }
  }
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_KERNELS_ATTENTION_STATES_INL_H_
