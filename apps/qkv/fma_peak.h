// What this machine's multiply-add units can do at most, measured.
#ifndef QKV_APPS_QKV_FMA_PEAK_H_
#define QKV_APPS_QKV_FMA_PEAK_H_

#include "qkv/cpu.h"

namespace qkv::app {

struct FmaPeak {
  double gflops;     // of all threads together, a multiply-add counting as two
  const char* kind;  // "512-bit fma"
};

// float32, with the widest fused multiply-add that the kernels of `isa` use, on so many threads at
// once for about 10 ms, of which the quickest fraction of a millisecond counts. `isa` must be
// usable and not kBest; `threads` at most those that the machine can run at once.
FmaPeak measure_fma_peak(Isa isa, int threads);

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_FMA_PEAK_H_
