"""Writes expected_buckets.h: where T5's buckets of relative positions begin, by its formula in
float32 (NumPy), which must agree with whole numbers for every distance up to 5000.

    python3 tests/positions/make_buckets.py > tests/positions/expected_buckets.h
"""

import math
from fractions import Fraction

import numpy as np

FURTHEST = 5000
# (bidirectional, buckets, max_distance): T5's encoder and decoder first.
CASES = [(True, 32, 128), (False, 32, 128), (True, 64, 128), (True, 32, 256), (False, 64, 1024),
         (True, 320, 800), (True, 12, 100), (False, 7, 9), (False, 2, 2), (True, 4, 2),
         (False, 5, 3), (True, 128, 1024)]


def by_float32(distance, bidirectional, buckets, max_distance):
    """Raffel et al. 2020: _relative_position_bucket of their program."""
    bucket, n = 0, -distance
    if bidirectional:
        buckets //= 2
        bucket += buckets if n < 0 else 0
        n = abs(n)
    else:
        n = max(n, 0)
    exact = buckets // 2
    if n < exact:
        return bucket + n
    log = np.log(np.float32(n) / np.float32(exact)) / np.float32(math.log(max_distance / exact))
    return bucket + min(exact + int(log * np.float32(buckets - exact)), buckets - 1)


def by_whole_numbers(distance, bidirectional, buckets, max_distance):
    """The same without rounding: k is the largest with (n / exact)^m >= (max / exact)^k."""
    bucket, n = 0, -distance
    if bidirectional:
        buckets //= 2
        bucket += buckets if n < 0 else 0
        n = abs(n)
    else:
        n = max(n, 0)
    exact = buckets // 2
    if n < exact:
        return bucket + n
    m = buckets - exact
    reached, step = Fraction(n, exact) ** m, Fraction(max_distance, exact)
    k, power = 0, step
    while k < m - 1 and power <= reached:
        k, power = k + 1, power * step
    return bucket + exact + k


def main():
    print("// Written by make_buckets.py with NumPy.")
    print("#ifndef QKV_TESTS_POSITIONS_EXPECTED_BUCKETS_H_")
    print("#define QKV_TESTS_POSITIONS_EXPECTED_BUCKETS_H_\n")
    print("#include <cstdint>\n#include <vector>\n\nnamespace qkv::test {\n")
    print("// For distances of -5000 to 5000 in order: each run of one bucket, by its first distance.")
    print("struct ExpectedBuckets {\n  bool bidirectional;\n  std::int64_t buckets, max_distance;")
    print("  struct Run {\n    std::int64_t first, bucket;\n  };\n  std::vector<Run> runs;\n};\n")
    print("// clang-format off\ninline const std::vector<ExpectedBuckets> kExpectedBuckets = {")
    for case in CASES:
        runs, last = [], None
        for distance in range(-FURTHEST, FURTHEST + 1):
            bucket = by_float32(distance, *case)
            assert bucket == by_whole_numbers(distance, *case), (distance, case)
            if bucket != last:
                runs.append(f"{{{distance}, {bucket}}}")
            last = bucket
        print(f"    {{{str(case[0]).lower()}, {case[1]}, {case[2]}, {{", end="")
        lines = [", ".join(runs[n:n + 10]) for n in range(0, len(runs), 10)]
        print(",\n      ".join(lines) + "}},")
    print("};\n// clang-format on\n\n}  // namespace qkv::test\n")
    print("#endif  // QKV_TESTS_POSITIONS_EXPECTED_BUCKETS_H_")


if __name__ == "__main__":
    main()
