"""Writes expected.h: sines, cosines and powers by mpmath, each as the sum of two doubles.

    python3 tests/simd/make_expected.py > tests/simd/expected.h
"""

import math
import random
import sys

import mpmath
from mpmath import mp, mpf

mp.prec = 1400  # more than the largest double has bits, and its multiple of pi / 2


def two_doubles(value):
    high = float(value)
    return f"{high.hex()}, {float(value - mpf(high)).hex()}"


def hardest(exponent):
    """The double m 2^exponent that is nearest to a multiple of pi / 2, for its size."""
    x = mpf(2) ** exponent * 2 / mp.pi
    before, last = 0, 1  # denominators of the continued fraction's convergents
    rest = x - mpmath.floor(x)
    while True:
        rest = 1 / rest
        before, last = last, int(mpmath.floor(rest)) * last + before
        rest -= mpmath.floor(rest)
        if last >= 2**53:
            return float(before) * 2.0**exponent


def angles():
    rng = random.Random(1)
    yield from (0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1e-200, 1e-8, -1e-8)
    yield from (1e300, -1e300, 2.0**53, 1.7976931348623157e308, 6381956970095103 * 2.0**797)
    for k in (1, 2, 3, 4, 5, 6, 7, 8, 100, 12345, 2**20 + 1):  # odd: the quadrants' borders
        x = float(k * mp.pi / 4)
        yield from (x, -x, math.nextafter(x, 0), math.nextafter(x, math.inf))
    for _ in range(60):
        yield rng.uniform(-10, 10)
        yield float(rng.randrange(1, 10**6)) * 10000 ** -rng.random()
    for exponent in range(-1074, 972, 17):  # every place of a window in the bits of 2 / pi
        yield float(rng.randrange(2**52, 2**53)) * 2.0**exponent
    for exponent in range(0, 972, 13):
        yield hardest(exponent)


def powers():
    rng = random.Random(2)
    yield from ((1.0, -2, 4), (4.0, -1, 2), (10000.0, -2, 4), (10000.0, 0, 7), (2.0, -1, 1))
    yield from ((1.7976931348623157e308, -1, 1), (1.7976931348623157e308, -1, 3))
    yield from ((1.0 + 2.0**-52, -1, 3), (1.7976931348623157e308, -(2**52) + 1, 2**52))
    for d in (5, 64, 100, 512, 4096):
        for _ in range(12):
            yield 10000.0, -2 * rng.randrange(0, (d + 1) // 2), d
    for _ in range(40):
        d = rng.randrange(1, 5000)
        yield 2.0 ** rng.uniform(0, 1023), -rng.randrange(0, d), d


def main():
    print(f"// Written by make_expected.py with mpmath {mpmath.__version__}.")
    print("#ifndef QKV_TESTS_SIMD_EXPECTED_H_")
    print("#define QKV_TESTS_SIMD_EXPECTED_H_\n")
    print("namespace qkv::test {\n")
    print("// Each value is the sum of two doubles.")
    print("struct ExpectedSinCos {")
    print("  double angle, sin_high, sin_low, cos_high, cos_low;")
    print("};")
    print("struct ExpectedPower {")
    print("  double base, n, d, high, low;")
    print("};\n")
    print("// clang-format off")
    print("inline constexpr ExpectedSinCos kExpectedSinCos[] = {")
    for x in angles():
        print(f"    {{{x.hex()}, {two_doubles(mpmath.sin(mpf(x)))}, "
              f"{two_doubles(mpmath.cos(mpf(x)))}}},")
    print("};")
    print("inline constexpr ExpectedPower kExpectedPowers[] = {")
    for base, n, d in powers():
        print(f"    {{{base.hex()}, {n}, {d}, {two_doubles(mpf(base) ** (mpf(n) / d))}}},")
    print("};")
    print("// clang-format on\n")
    print("}  // namespace qkv::test\n")
    print("#endif  // QKV_TESTS_SIMD_EXPECTED_H_")


if __name__ == "__main__":
    sys.exit(main())
