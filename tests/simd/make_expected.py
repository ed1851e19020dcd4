"""Writes expected.h: sines, cosines and powers by mpmath, each as the sum of two doubles; the words
of Philox by Python's whole numbers.

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


def philox(counter, key, rounds=10):
    """Salmon, Moraes, Dror and Shaw 2011: the counter and the key as one number each, least word
    first. Each round replaces a pair of words by the product of one and mixes in the other."""
    words = [counter >> 32 * n & 0xffffffff for n in range(4)]
    for _ in range(rounds):
        high0, low0 = divmod(words[0] * 0xd2511f53, 2**32)
        high1, low1 = divmod(words[2] * 0xcd9e8d57, 2**32)
        words = [high1 ^ words[1] ^ key % 2**32, low1, high0 ^ words[3] ^ key >> 32, low0]
        key = (key + 0x9e3779b9) % 2**32 + ((key >> 32) + 0xbb67ae85) % 2**32 * 2**32
    return words


def philox_arguments():
    rng = random.Random(3)
    yield from ((0, 0), (2**128 - 1, 2**64 - 1))
    yield 0x03707344_13198a2e_85a308d3_243f6a88, 0x299f31d0_a4093822  # Random123 has these three
    yield from ((2 ** (32 * n), 0) for n in range(4))
    yield from ((0, 2 ** (32 * n)) for n in range(2))
    for _ in range(24):
        yield rng.getrandbits(128), rng.getrandbits(64)


def main():
    print(f"// Written by make_expected.py with mpmath {mpmath.__version__}.")
    print("#ifndef QKV_TESTS_SIMD_EXPECTED_H_")
    print("#define QKV_TESTS_SIMD_EXPECTED_H_\n")
    print("#include <cstdint>\n")
    print("namespace qkv::test {\n")
    print("// Each value is the sum of two doubles.")
    print("struct ExpectedSinCos {")
    print("  double angle, sin_high, sin_low, cos_high, cos_low;")
    print("};")
    print("struct ExpectedPower {")
    print("  double base, n, d, high, low;")
    print("};")
    print("struct ExpectedPhilox {")
    print("  std::uint32_t counter[4];")
    print("  std::uint64_t key;")
    print("  std::uint32_t word[4];")
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
    print("inline constexpr ExpectedPhilox kExpectedPhilox[] = {")
    for counter, key in philox_arguments():
        listed = [", ".join(f"0x{word:08x}" for word in words)
                  for words in ([counter >> 32 * n & 0xffffffff for n in range(4)],
                                philox(counter, key))]
        print(f"    {{{{{listed[0]}}}, 0x{key:016x}, {{{listed[1]}}}}},")
    print("};")
    print("// clang-format on\n")
    print("}  // namespace qkv::test\n")
    print("#endif  // QKV_TESTS_SIMD_EXPECTED_H_")


if __name__ == "__main__":
    sys.exit(main())
