// The functions that layers need beside attention's: exp of any number, erf, log and log1p.
#ifndef QKV_TESTS_SIMD_LAYER_FUNCTIONS_H_
#define QKV_TESTS_SIMD_LAYER_FUNCTIONS_H_

#include <cmath>
#include <ostream>

#include "kernels/exact/functions.h"
#include "simd/functions.h"

namespace qkv::test {

struct LayerFunction {
  const char* name;
  VectorFunctions::Unary VectorFunctions::* vector;
  float (*scalar)(float);
  double (*right)(double);  // the C library's in double errs by less than 2^-51 of the value
  double ulps;              // the most that docs/arithmetic.md says
};

// For the names of parameters in messages.
inline void PrintTo(const LayerFunction& function, std::ostream* stream) {
  *stream << function.name;
}

// exp as the contract has it: results below 2^-126 are 0.
inline double flushed_exp(double x) { return x < -0x1.5d589ep+6 ? 0.0 : std::exp(x); }

inline const LayerFunction kLayerFunctions[] = {
    {"exp_full", &VectorFunctions::exp_full, exact::exp_full, flushed_exp, 0.9},
    {"erf", &VectorFunctions::erf, exact::erf, std::erf, 1.15},
    {"log_float", &VectorFunctions::log_float, exact::log_float, std::log, 0.95},
    {"log1p", &VectorFunctions::log1p, exact::log1p, std::log1p, 1.6},
};

}  // namespace qkv::test

#endif  // QKV_TESTS_SIMD_LAYER_FUNCTIONS_H_
