// Queries, keys and values as the micro-kernels want them: float32, transposed or row by row.
#ifndef QKV_KERNELS_ATTENTION_OPERANDS_INL_H_
#define QKV_KERNELS_ATTENTION_OPERANDS_INL_H_

#include <cstdint>

#include "kernels/attention/kernel.h"
#include "simd/vec-inl.h"
#include "tensor/element.h"

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

// out[c * out_stride + lane] = row(lane)[c] for `lanes` rows (a multiple of kLanes) of d floats.
template <class Row>
inline void transpose(Row row, int lanes, std::int64_t d, float* out, std::int64_t out_stride) {
  for (int lane = 0; lane < lanes; lane += kLanes) {
    std::int64_t c = 0;
    for (; c + 4 <= d; c += 4) {
      V columns[4];
      load_transposed4([&](int n) { return row(lane + n) + c; }, columns);
      for (int i = 0; i < 4; ++i) store(columns[i], out + (c + i) * out_stride + lane);
    }
    for (; c < d; ++c) {
      for (int n = 0; n < kLanes; ++n) out[c * out_stride + lane + n] = row(lane + n)[c];
    }
  }
}

// `count` elements of a float32, float16 or bfloat16 view from `offset` on, `stride` apart.
inline void widen(const TensorView& view, std::int64_t offset, std::int64_t stride,
                  std::int64_t count, float* out) {
  std::int64_t n = 0;
  if (stride == 1 && view.dtype != DType::kFloat32) {
    const auto* bits = static_cast<const std::uint16_t*>(view.data) + offset;
    const bool brain = view.dtype == DType::kBFloat16;
    for (; n + kLanes <= count; n += kLanes) {
      store(brain ? load_bfloat16(bits + n) : load_float16(bits + n), out + n);
    }
  }
  for (; n < count; ++n) out[n] = load_float(view, offset + n * stride);
}

// Rows of key or value as floats with neighbouring columns: in place where they are that already.
struct FloatRows {
  const float* data;
  std::int64_t stride;
  const float* row(std::int64_t n) const { return data + n * stride; }
};

inline bool in_place(const TensorView& view) {
  return view.dtype == DType::kFloat32 && (view.strides[3] == 1 || view.extents[3] <= 1);
}

// Rows [begin, begin + count) of one head; `scratch` holds count * view.extents[3] floats.
inline FloatRows float_rows(const TensorView& view, std::int64_t buffer, std::int64_t head,
                            std::int64_t begin, std::int64_t count, float* scratch) {
  const std::int64_t offset = offset_of(view, buffer, head, begin, 0);
  if (in_place(view)) return {static_cast<const float*>(view.data) + offset, view.strides[2]};
  const std::int64_t d = view.extents[3];
  for (std::int64_t n = 0; n < count; ++n) {
    widen(view, offset + n * view.strides[2], view.strides[3], d, scratch + n * d);
  }
  return {scratch, d};
}

// The tile's queries as [d][lanes], the last row repeated in lanes beyond tile.rows. `scratch`
// holds lanes * d floats, used if the queries can't be read in place.
inline void transpose_queries(const Problem& p, const RowTile& tile, int lanes, float* scratch,
                              float* out) {
  const std::int64_t d = p.d_qk();
  const float* rows[kMaxTileRows] = {};
  for (int r = 0; r < tile.rows; ++r) {
    rows[r] = float_rows(p.query, tile.sequence.buffer, tile.heads[r],
                         tile.sequence.query_begin + tile.queries[r], 1,
                         in_place(p.query) ? nullptr : scratch + r * d)
                  .data;
  }
  for (int r = tile.rows; r < lanes; ++r) rows[r] = rows[tile.rows - 1];
  transpose([&](int n) { return rows[n]; }, lanes, d, out, lanes);
}

// Is every number of the rows finite? 0 * x is NaN for those that are not. Four sums, so that the
// loop waits for loads and not for one chain of additions.
inline bool all_finite(const FloatRows& rows, std::int64_t count, std::int64_t d) {
  V sum[4] = {zero(), zero(), zero(), zero()};
  float tail = 0;
  for (std::int64_t n = 0; n < count; ++n) {
    const float* row = rows.row(n);
    std::int64_t c = 0;
    for (; c + 4 * kLanes <= d; c += 4 * kLanes) {
      for (int i = 0; i < 4; ++i) sum[i] = fma(load(row + c + i * kLanes), zero(), sum[i]);
    }
    for (; c + kLanes <= d; c += kLanes) sum[0] = fma(load(row + c), zero(), sum[0]);
    for (; c < d; ++c) tail += row[c] * 0.0f;
  }
  return tail == 0 && all(equal((sum[0] + sum[1]) + (sum[2] + sum[3]), zero()));
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_KERNELS_ATTENTION_OPERANDS_INL_H_
