// The micro-kernel of all dot products: rule 1 of contract A with lanes = queries.
#ifndef QKV_KERNELS_ATTENTION_DOT_INL_H_
#define QKV_KERNELS_ATTENTION_DOT_INL_H_

#include <algorithm>
#include <cstdint>

#include "kernels/attention/kernel.h"
#include "simd/unroll.h"
#include "simd/vec-inl.h"

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

// The largest and smallest scores of each lane so far; NaN is ignored.
template <int QV>
struct Bounds {
  // Written out, because g++ compiles an implicit one without this region's target (fails on NEON).
  QKV_INLINE Bounds() {}
  V high[QV], low[QV];
};

// s[r][lane] = scale * sum over c of queries[c][lane] * keys[r][c], for KB keys and QV vectors of
// lanes: chains of 32 fused terms, each from +0, added up in order from +0.
//   queries  [d][lane_stride], transposed so that lanes are neighbours
//   keys     KB pointers to d numbers each, read as broadcasts
//   s        [KB][lane_stride]; holds the partial sum t between groups
// QV * KB accumulators, QV query vectors and a broadcast fit the registers: 3 * 8 + 3 + 1 of 32
// (AVX-512, NEON), 3 * 4 + 3 + 1 of 16 (AVX2). At 3 * 8 a step loads 11 vectors for 24 FMAs.
// Not inlined, so that nothing of the caller's (bounds, constants) competes for registers: inlined,
// g++ 12 spilled the query vectors in the inner loop and lost a third of the speed.
template <int QV, int KB>
__attribute__((noinline)) void dot_keys(const float* queries, std::int64_t lane_stride,
                                        std::int64_t d, const float* const* keys, float scale,
                                        float* s, Bounds<QV>& bounds) {
  const float* k[KB];
  QKV_UNROLL for (int r = 0; r < KB; ++r) k[r] = keys[r];
  for (std::int64_t group = 0;; group += kGroup) {
    V u[KB][QV];
    QKV_UNROLL for (int r = 0; r < KB; ++r) {
      QKV_UNROLL for (int v = 0; v < QV; ++v) u[r][v] = zero();
    }
    const std::int64_t end = std::min(group + kGroup, d);
    for (std::int64_t c = group; c < end; ++c) {
      V q[QV];
      QKV_UNROLL for (int v = 0; v < QV; ++v) q[v] = load(queries + c * lane_stride + v * kLanes);
      QKV_UNROLL for (int r = 0; r < KB; ++r) {
        const V key = set(k[r][c]);
        QKV_UNROLL for (int v = 0; v < QV; ++v) u[r][v] = fma(key, q[v], u[r][v]);
      }
    }
    // t = 0 + u for the first group, so that a sum of -0 becomes +0.
    if (group == 0) {
      QKV_UNROLL for (int r = 0; r < KB; ++r) {
        QKV_UNROLL for (int v = 0; v < QV; ++v) u[r][v] = zero() + u[r][v];
      }
    } else {
      QKV_UNROLL for (int r = 0; r < KB; ++r) {
        QKV_UNROLL for (int v = 0; v < QV; ++v) {
          u[r][v] = load(s + r * lane_stride + v * kLanes) + u[r][v];
        }
      }
    }
    const bool last = end == d;
    if (last) {
      const V factor = set(scale);
      QKV_UNROLL for (int v = 0; v < QV; ++v) {
        V high = bounds.high[v], low = bounds.low[v];
        QKV_UNROLL for (int r = 0; r < KB; ++r) {
          u[r][v] = u[r][v] * factor;
          high = max_number(u[r][v], high);
          low = min_number(u[r][v], low);
        }
        bounds.high[v] = high;
        bounds.low[v] = low;
      }
    }
    QKV_UNROLL for (int r = 0; r < KB; ++r) {
      QKV_UNROLL for (int v = 0; v < QV; ++v) store(u[r][v], s + r * lane_stride + v * kLanes);
    }
    if (last) return;
  }
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_KERNELS_ATTENTION_DOT_INL_H_
