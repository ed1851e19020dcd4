// exp and log1p in double, from additions, multiplications and divisions alone, so that they give
// the same bits on every machine. Only for the arguments that the generator has.
#ifndef QKV_SRC_RANDOM_DOUBLE_MATH_H_
#define QKV_SRC_RANDOM_DOUBLE_MATH_H_

namespace qkv::random {

// exp(x) for x in [-700, 0], to less than 1 ulp.
double exp_nonpositive(double x);

// log(1 - u) for u in [0, 1) that is a multiple of 2^-53, to less than 1 ulp.
double log_of_complement(double u);

}  // namespace qkv::random

#endif  // QKV_SRC_RANDOM_DOUBLE_MATH_H_
