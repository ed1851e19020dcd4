// The layer kernel of one instruction set.
#ifndef QKV_KERNELS_LAYERS_KERNEL_INL_H_
#define QKV_KERNELS_LAYERS_KERNEL_INL_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/layers/kernel.h"
#include "simd/log.h"
#include "simd/math-inl.h"

QKV_BEFORE_NAMESPACE();
namespace qkv::QKV_ISA {

// y[n] = f(x[n]) for whole vectors and, padded, what is left.
template <class F>
inline void for_numbers(const float* x, std::int64_t count, float* y, F f) {
  std::int64_t n = 0;
  for (; n + kLanes <= count; n += kLanes) store(f(load(x + n)), y + n);
  if (n == count) return;
  float lanes[kLanes] = {};
  std::copy(x + n, x + count, lanes);
  store(f(load(lanes)), lanes);
  std::copy(lanes, lanes + (count - n), y + n);
}

// sums[n] += f(x[n]) * factors[n].
template <class F>
inline void add_products(const float* x, const float* factors, std::int64_t count, float* sums,
                         F f) {
  std::int64_t n = 0;
  for (; n + kLanes <= count; n += kLanes) {
    store(load(sums + n) + load(factors + n) * f(load(x + n)), sums + n);
  }
  float lanes[3][kLanes] = {};
  if (n == count) return;
  std::copy(x + n, x + count, lanes[0]);
  std::copy(factors + n, factors + count, lanes[1]);
  std::copy(sums + n, sums + count, lanes[2]);
  store(load(lanes[2]) + load(lanes[1]) * f(load(lanes[0])), lanes[2]);
  std::copy(lanes[2], lanes[2] + (count - n), sums + n);
}

// ---- GELU and SiLU ------------------------------------------------------------------------------

// The normal distribution up to x, 0.5 (1 + erf(x / sqrt 2)).
QKV_INLINE V normal_share(V x) { return set(0.5f) * (set(1.0f) + erf(x * set(0x1.6a09e6p-1f))); }

inline void gelu(const float* x, std::int64_t count, float* y) {
  for_numbers(x, count, y, [](V v) { return v * normal_share(v); });
}

inline void gelu_gradient(const float* x, const float* d_y, std::int64_t count, float* d_x) {
  add_products(x, d_y, count, d_x, [](V v) {
    // Its density, exp(-x^2 / 2) / sqrt(2 pi).
    const V density = exp(set(-0.5f) * (v * v)) * set(0x1.988454p-2f);
    return fma(v, density, normal_share(v));
  });
}

QKV_INLINE V logistic(V x) { return set(1.0f) / (set(1.0f) + exp_full(zero() - x)); }

inline void silu(const float* x, std::int64_t count, float* y) {
  for_numbers(x, count, y, [](V v) { return v * logistic(v); });
}

inline void silu_gradient(const float* x, const float* d_y, std::int64_t count, float* d_x) {
  add_products(x, d_y, count, d_x, [](V v) {
    const V share = logistic(v);
    return share * fma(v, set(1.0f) - share, set(1.0f));
  });
}

// ---- Rows ---------------------------------------------------------------------------------------

// Sums over a row are 16 chains, one over the columns c = k mod 16 each, from +0; then chain k + 8
// joins chain k, k + 4, k + 2 and k + 1 likewise. Any number of lanes up to 16 keeps that order.
inline constexpr int kChains = 16;
inline constexpr int kChainVectors = kChains / kLanes;

class RowSum {
 public:
  QKV_INLINE RowSum() {
    for (V& v : chains_) v = zero();
  }
  // chains = f(chains, columns) for each 16 columns of `count`; beyond the last they are 0.
  template <class F>
  QKV_INLINE void add(const float* x, const float* y, std::int64_t count, F f) {
    std::int64_t c = 0;
    for (; c + kChains <= count; c += kChains) {
      for (int n = 0; n < kChainVectors; ++n) {
        chains_[n] = f(load(x + c + n * kLanes), load(y + c + n * kLanes), chains_[n]);
      }
    }
    if (c == count) return;
    float rest[2][kChains] = {};
    std::copy(x + c, x + count, rest[0]);
    std::copy(y + c, y + count, rest[1]);
    for (int n = 0; n < kChainVectors; ++n) {
      chains_[n] = f(load(rest[0] + n * kLanes), load(rest[1] + n * kLanes), chains_[n]);
    }
  }
  QKV_INLINE float total() const {
    float sums[kChains];
    for (int n = 0; n < kChainVectors; ++n) store(chains_[n], sums + n * kLanes);
    for (int step = kChains / 2; step > 0; step /= 2) {
      for (int k = 0; k < step; ++k) sums[k] = sums[k] + sums[k + step];
    }
    return sums[0];
  }

 private:
  V chains_[kChainVectors];
};

inline float sum_of(const float* x, std::int64_t count) {
  RowSum sum;
  sum.add(x, x, count, [](V v, V, V chain) { return chain + v; });
  return sum.total();
}

inline float sum_of_products(const float* x, const float* y, std::int64_t count) {
  RowSum sum;
  sum.add(x, y, count, [](V a, V b, V chain) { return fma(a, b, chain); });
  return sum.total();
}

inline void normalize(const float* x, std::int64_t rows, std::int64_t d, bool center, float epsilon,
                      float* y, float* factors) {
  const auto count = static_cast<float>(d);
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* from = x + r * d;
    float* to = y + r * d;
    const V mean = set(center ? sum_of(from, d) / count : 0.0f);
    for_numbers(from, d, to, [&](V v) { return v - mean; });
    const float factor = 1.0f / std::sqrt(sum_of_products(to, to, d) / count + epsilon);
    factors[r] = factor;
    for_numbers(to, d, to, [&](V v) { return v * set(factor); });
  }
}

// With g = d_y: d_x = factor ((g - mean g) - y mean(g y)); without `center`, mean g is 0.
inline void normalize_gradient(const float* y, const float* factors, const float* d_y,
                               std::int64_t rows, std::int64_t d, bool center, float* d_x) {
  const auto count = static_cast<float>(d);
  for (std::int64_t r = 0; r < rows; ++r) {
    const float *of_y = y + r * d, *g = d_y + r * d;
    const V mean = set(center ? sum_of(g, d) / count : 0.0f);
    const V along = set(-(sum_of_products(g, of_y, d) / count)), factor = set(factors[r]);
    const auto gradient = [&](V y_c, V g_c) { return factor * fma(y_c, along, g_c - mean); };
    float* to = d_x + r * d;
    std::int64_t c = 0;
    for (; c + kLanes <= d; c += kLanes) {
      store(load(to + c) + gradient(load(of_y + c), load(g + c)), to + c);
    }
    if (c == d) continue;
    float lanes[3][kLanes] = {};
    std::copy(of_y + c, of_y + d, lanes[0]);
    std::copy(g + c, g + d, lanes[1]);
    std::copy(to + c, to + d, lanes[2]);
    store(load(lanes[2]) + gradient(load(lanes[0]), load(lanes[1])), lanes[2]);
    std::copy(lanes[2], lanes[2] + (d - c), to + c);
  }
}

inline void softmax(const float* logits, std::int64_t rows, std::int64_t classes,
                    float* probabilities, double* lse) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* x = logits + r * classes;
    float* p = probabilities + r * classes;
    float most = -std::numeric_limits<float>::infinity();
    for (std::int64_t c = 0; c < classes; ++c) most = x[c] > most ? x[c] : most;
    for_numbers(x, classes, p, [&](V v) { return exp(v - set(most)); });
    const float sum = sum_of(p, classes);
    for_numbers(p, classes, p, [&](V v) { return v / set(sum); });
    lse[r] = double{most} + log(double{sum});
  }
}

// ---- Rotation -----------------------------------------------------------------------------------

QKV_INLINE V turned(V x, V partner, V cosines, V sines) {
  return canonical(fma(partner, sines, x * cosines));
}

inline void rotate_neighbours(const float* x, const float* cosines, const float* sines,
                              std::int64_t d, float* y) {
  const auto turn = [](const float* from, const float* cos, const float* sin, float* to) {
    const V v = load(from);
    store(turned(v, swap_pairs(v), load(cos), load(sin)), to);
  };
  std::int64_t c = 0;
  for (; c + kLanes <= d; c += kLanes) turn(x + c, cosines + c, sines + c, y + c);
  if (c == d) return;
  float lanes[3][kLanes] = {};
  std::copy(x + c, x + d, lanes[0]);
  std::copy(cosines + c, cosines + d, lanes[1]);
  std::copy(sines + c, sines + d, lanes[2]);
  turn(lanes[0], lanes[1], lanes[2], lanes[0]);
  std::copy(lanes[0], lanes[0] + (d - c), y + c);
}

inline void rotate_halves(const float* x, const float* cosines, const float* sines, std::int64_t d,
                          float* y) {
  const std::int64_t half = d / 2;
  // Columns from c on, of both halves; `step` is from one half to the other.
  const auto turn = [](const float* from, const float* cos, const float* sin, std::int64_t step,
                       float* to) {
    const V a = load(from), b = load(from + step);
    store(turned(a, b, load(cos), load(sin)), to);
    store(turned(b, a, load(cos + step), load(sin + step)), to + step);
  };
  std::int64_t c = 0;
  for (; c + kLanes <= half; c += kLanes) turn(x + c, cosines + c, sines + c, half, y + c);
  if (c == half) return;
  const std::int64_t rest = half - c;
  float lanes[3][2 * kLanes] = {};
  int n = 0;
  for (const float* from : {x, cosines, sines}) {
    for (std::int64_t h = 0; h < 2; ++h) {
      std::copy(from + h * half + c, from + (h + 1) * half, lanes[n] + h * kLanes);
    }
    ++n;
  }
  turn(lanes[0], lanes[1], lanes[2], kLanes, lanes[0]);
  for (std::int64_t h = 0; h < 2; ++h) {
    std::copy(lanes[0] + h * kLanes, lanes[0] + h * kLanes + rest, y + h * half + c);
  }
}

inline void rotate(const float* x, const float* cosines, const float* sines, std::int64_t d,
                   bool interleaved, float* y) {
  if (interleaved) {
    rotate_neighbours(x, cosines, sines, d, y);
  } else {
    rotate_halves(x, cosines, sines, d, y);
  }
}

inline LayerKernel layer_kernel(Isa isa) {
  return {isa,     gelu,  gelu_gradient, silu, silu_gradient, normalize, normalize_gradient,
          softmax, rotate};
}

}  // namespace qkv::QKV_ISA
QKV_AFTER_NAMESPACE();

#endif  // QKV_KERNELS_LAYERS_KERNEL_INL_H_
