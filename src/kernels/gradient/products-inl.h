// The products of a backward pass beside the dot products: sums over keys for d_query (lanes are
// query rows) and over query rows for d_key and d_value (lanes are columns). Blocks of 32 terms are
// added up from +0 by fma, then to the sum before them, as the contract says.
#ifndef QKV_KERNELS_GRADIENT_PRODUCTS_INL_H_
#define QKV_KERNELS_GRADIENT_PRODUCTS_INL_H_

#include <cstdint>

#include "kernels/gradient/kernel.h"
#include "simd/unroll.h"
#include "simd/vec-inl.h"

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

// sums[c][lane] += sum over keys of x[key][lane] * rows[key][c], for CB columns and QV vectors of
// lanes. Not inlined: see dot_keys().
template <int QV, int CB>
__attribute__((noinline)) void add_over_keys(const float* x, int keys, const float* rows,
                                             std::int64_t stride, float* sums) {
  V b[CB][QV];
  QKV_UNROLL for (int c = 0; c < CB; ++c) {
    QKV_UNROLL for (int v = 0; v < QV; ++v) b[c][v] = zero();
  }
  for (int key = 0; key < keys; ++key) {
    V lanes[QV];
    QKV_UNROLL for (int v = 0; v < QV; ++v) lanes[v] = load(x + key * kGradientRows + v * kLanes);
    QKV_UNROLL for (int c = 0; c < CB; ++c) {
      const V number = set(rows[key * stride + c]);
      QKV_UNROLL for (int v = 0; v < QV; ++v) b[c][v] = fma(number, lanes[v], b[c][v]);
    }
  }
  QKV_UNROLL for (int c = 0; c < CB; ++c) {
    QKV_UNROLL for (int v = 0; v < QV; ++v) {
      float* place = sums + c * kGradientRows + v * kLanes;
      store(load(place) + b[c][v], place);
    }
  }
}

// sums[key][column] += sum over rows of x[key][row] * rows[row][column], for KB keys and CV vectors
// of columns.
template <int KB, int CV>
__attribute__((noinline)) void add_over_rows(const float* x, int count, const float* rows,
                                             std::int64_t stride, float* sums) {
  V b[KB][CV];
  QKV_UNROLL for (int r = 0; r < KB; ++r) {
    QKV_UNROLL for (int v = 0; v < CV; ++v) b[r][v] = zero();
  }
  for (int row = 0; row < count; ++row) {
    V columns[CV];
    QKV_UNROLL for (int v = 0; v < CV; ++v) columns[v] = load(rows + row * stride + v * kLanes);
    QKV_UNROLL for (int r = 0; r < KB; ++r) {
      const V number = set(x[r * kGradientRows + row]);
      QKV_UNROLL for (int v = 0; v < CV; ++v) b[r][v] = fma(number, columns[v], b[r][v]);
    }
  }
  QKV_UNROLL for (int r = 0; r < KB; ++r) {
    QKV_UNROLL for (int v = 0; v < CV; ++v) {
      float* place = sums + r * stride + v * kLanes;
      store(load(place) + b[r][v], place);
    }
  }
}

// Vectors of lanes, keys and vectors of columns that the micro-kernels take at once: 16 sums, 4
// vectors and a broadcast of 32 registers, or 8, 2 and 1 of 16. At 4 x 4 a step loads 8 times for
// 16 FMAs.
#if QKV_TARGET == QKV_TARGET_AVX512 || QKV_TARGET == QKV_TARGET_NEON
inline constexpr int kLaneVectors = 4, kTermsAtOnce = 4, kColumnVectors = 4;
#else
inline constexpr int kLaneVectors = 2, kTermsAtOnce = 4, kColumnVectors = 2;
#endif

// f.template operator()<n>(first) for pieces of n = `Most` or 1 of `count` that cover it.
template <int Most, class F>
QKV_INLINE void in_pieces(int count, F f) {
  int first = 0;
  for (; first + Most <= count; first += Most) f.template operator()<Most>(first);
  for (; first < count; ++first) f.template operator()<1>(first);
}

// d_query [d][kGradientRows] from x [keys][kGradientRows] and the rows of the keys. `vectors` of
// lanes are in use.
inline void add_d_query(const float* x, int keys, const float* rows, std::int64_t stride,
                        std::int64_t d, int vectors, float* sums) {
  in_pieces<kLaneVectors>(vectors, [&]<int QV>(int vector) {
    in_pieces<kTermsAtOnce>(static_cast<int>(d), [&]<int CB>(int c) {
      add_over_keys<QV, CB>(x + vector * kLanes, keys, rows + c, stride,
                            sums + c * kGradientRows + vector * kLanes);
    });
  });
}

// Sums [keys][stride] over `count` query rows, block by block, from x [keys][kGradientRows] and the
// rows [count][stride].
inline void add_d_keys(const float* x, int keys, int count, const float* rows, std::int64_t stride,
                       float* sums) {
  for (int block = 0; block < count; block += kBlock) {
    const int terms = count - block < kBlock ? count - block : static_cast<int>(kBlock);
    in_pieces<kColumnVectors>(static_cast<int>(stride / kLanes), [&]<int CV>(int vector) {
      in_pieces<kTermsAtOnce>(keys, [&]<int KB>(int key) {
        add_over_rows<KB, CV>(x + key * kGradientRows + block, terms,
                              rows + block * stride + vector * kLanes, stride,
                              sums + key * stride + vector * kLanes);
      });
    });
  }
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_KERNELS_GRADIENT_PRODUCTS_INL_H_
