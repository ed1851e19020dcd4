// What is right: attention by its textbook formula in double, row by row in plain loops. The tests'
// yardstick, and the kernel of float64 problems. Never tuned.
#ifndef QKV_KERNELS_REFERENCE_REFERENCE_H_
#define QKV_KERNELS_REFERENCE_REFERENCE_H_

#include <cstdint>
#include <functional>
#include <span>

#include "problem/problem.h"

namespace qkv::reference {

// The double-precision form of a problem's score_mod, f(s, b, h, p, j), for tests.
using ScoreMod64 =
    std::function<double(double, std::int64_t, std::int64_t, std::int64_t, std::int64_t)>;

// Rows [begin, end) of one query head: out and lse. `scores` has room for p.keys() numbers.
void attention_rows(const Problem& p, const Sequence& sequence, std::int64_t head,
                    std::int64_t begin, std::int64_t end, std::span<double> scores);

// One row of p.weights: head and row are places in the selection.
void weights_row(const Problem& p, std::int64_t batch, std::int64_t head, std::int64_t row,
                 std::span<double> scores);

// The whole problem: out, lse and weights, as far as they are present.
void attention(const Problem& p, const ScoreMod64& score_mod = {});

// The same formula in float32, left to right without fma: what a plain program gets, for the
// accuracy yardstick.
void attention_plain_float(const Problem& p, const ScoreMod64& score_mod = {});

}  // namespace qkv::reference

#endif  // QKV_KERNELS_REFERENCE_REFERENCE_H_
