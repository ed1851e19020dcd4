#include "fma_peak.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace qkv::app {
namespace {

// Each loop has independent chains x = x * a + a, which go to 1 from different places, so that a
// compiler can't make one of two. Two units of latency 4 or 5
// need 10 chains; more only have to fit in the registers, one of which is `a`.
using Chains16 = std::make_index_sequence<12>;  // of 16 registers
using Chains32 = std::make_index_sequence<24>;  // of 32 registers

constexpr float kFactor = 0.5f;

// Runs the chains so often, and returns something that depends on all of them. The chains are
// numbered by a pack, not by a loop: only so does GCC keep all of them in registers.
using Loop = float (*)(std::int64_t rounds);

struct Unit {
  Loop loop;
  int lanes;
  std::size_t chains;
  const char* kind;
};

#if defined(__x86_64__)

template <std::size_t... c>
__attribute__((target("avx512f"))) float loop_avx512(std::int64_t rounds,
                                                     std::index_sequence<c...>) {
  const __m512 a = _mm512_set1_ps(kFactor);
  __m512 x[] = {_mm512_set1_ps(static_cast<float>(c))...};
  for (std::int64_t i = 0; i < rounds; ++i) {
    ((x[c] = _mm512_fmadd_ps(x[c], a, a)), ...);
  }
  __m512 sum = a;
  ((sum = _mm512_add_ps(sum, x[c])), ...);
  return _mm512_cvtss_f32(sum);
}

template <std::size_t... c>
__attribute__((target("avx2,fma"))) float loop_avx2(std::int64_t rounds,
                                                    std::index_sequence<c...>) {
  const __m256 a = _mm256_set1_ps(kFactor);
  __m256 x[] = {_mm256_set1_ps(static_cast<float>(c))...};
  for (std::int64_t i = 0; i < rounds; ++i) {
    ((x[c] = _mm256_fmadd_ps(x[c], a, a)), ...);
  }
  __m256 sum = a;
  ((sum = _mm256_add_ps(sum, x[c])), ...);
  return _mm256_cvtss_f32(sum);
}

template <std::size_t... c>
float loop_portable(std::int64_t rounds, std::index_sequence<c...>) {
  const __m128 a = _mm_set1_ps(kFactor);
  __m128 x[] = {_mm_set1_ps(static_cast<float>(c))...};
  for (std::int64_t i = 0; i < rounds; ++i) {
    ((x[c] = _mm_add_ps(_mm_mul_ps(x[c], a), a)), ...);
  }
  __m128 sum = a;
  ((sum = _mm_add_ps(sum, x[c])), ...);
  return _mm_cvtss_f32(sum);
}

Unit unit_of(Isa isa) {
  constexpr auto loop512 = [](std::int64_t n) { return loop_avx512(n, Chains32()); };
  constexpr auto loop256 = [](std::int64_t n) { return loop_avx2(n, Chains16()); };
  constexpr auto loop128 = [](std::int64_t n) { return loop_portable(n, Chains16()); };
  if (isa == Isa::kAvx512) return {loop512, 16, Chains32::size(), "512-bit fma"};
  if (isa == Isa::kAvx2) return {loop256, 8, Chains16::size(), "256-bit fma"};
  return {loop128, 4, Chains16::size(), "128-bit multiply and add"};
}

#elif defined(__aarch64__)

template <std::size_t... c>
float loop_neon(std::int64_t rounds, std::index_sequence<c...>) {
  const float32x4_t a = vdupq_n_f32(kFactor);
  float32x4_t x[] = {vdupq_n_f32(static_cast<float>(c))...};
  for (std::int64_t i = 0; i < rounds; ++i) {
    ((x[c] = vfmaq_f32(a, x[c], a)), ...);
  }
  float32x4_t sum = a;
  ((sum = vaddq_f32(sum, x[c])), ...);
  return vgetq_lane_f32(sum, 0);
}

Unit unit_of(Isa) {
  constexpr auto loop = [](std::int64_t n) { return loop_neon(n, Chains32()); };
  return {loop, 4, Chains32::size(), "128-bit fma"};
}

#else

float loop_scalar(std::int64_t rounds) {
  float x[Chains16::size()];
  for (float& chain : x) chain = kFactor;
  for (std::int64_t i = 0; i < rounds; ++i) {
    for (float& chain : x) chain = chain * kFactor + kFactor;
  }
  float sum = 0;
  for (float chain : x) sum += chain;
  return sum;
}

Unit unit_of(Isa) { return {loop_scalar, 1, Chains16::size(), "scalar multiply and add"}; }

#endif

double seconds_of(const Unit& unit, std::int64_t rounds) {
  const auto start = std::chrono::steady_clock::now();
  volatile float sink = unit.loop(rounds);
  (void)sink;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The least time of several short slices: a peak is what other programs don't take part of.
double least_seconds(const Unit& unit, std::int64_t rounds) {
  constexpr int kSlices = 20;
  double least = seconds_of(unit, rounds);
  for (int i = 1; i < kSlices; ++i) least = std::min(least, seconds_of(unit, rounds));
  return least;
}

}  // namespace

FmaPeak measure_fma_peak(Isa isa, int threads) {
  const Unit unit = unit_of(isa);
  constexpr std::int64_t kRounds = 50000;  // 0.1 to 0.5 ms
  std::atomic<int> waiting{threads};
  std::vector<double> seconds(static_cast<std::size_t>(threads));
  const auto work = [&](std::size_t index) {
    --waiting;
    while (waiting > 0) std::this_thread::yield();
    seconds[index] = least_seconds(unit, kRounds);
  };
  std::vector<std::jthread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work, static_cast<std::size_t>(i));
  work(0);
  others.clear();  // joins

  const double flops = 2.0 * unit.lanes * static_cast<double>(unit.chains) * kRounds;
  double gflops = 0;
  for (double s : seconds) gflops += flops / s * 1e-9;
  return {gflops, unit.kind};
}

}  // namespace qkv::app
