#!/usr/bin/env python3
"""Writes expected.h: what NumPy itself gives for the calls that generator_test.cc makes.

    pip install numpy==2.4.6
    python3 make_expected.py > expected.h

The normal numbers are those of glibc on a processor with FMA; see include/qkv/random.h.
"""

import math

import numpy as np

SEEDS = [0, 1, 42, 12345, 2**32, 2**63 + 5, 2**64 - 1]
ENTROPIES = [[0], [1, 2], [1, 2, 3, 4], [5, 4, 3, 2, 1], [2**32 - 1] * 9]
RANGES = [
    (0, 1), (0, 2), (-5, 17), (0, 3 * 2**30), (0, 2**32 - 1), (0, 2**32), (-7, 2**32 - 7),
    (2**31, 2**31 + 2**32), (0, 2**32 + 1), (-(2**40), 2**41), (5, 3 * 2**61), (0, 2**63 - 1),
    (-(2**63), 0), (-(2**63), 2**63 - 1), (2**63 - 2, 2**63 - 1),
]  # fmt: skip
LENGTHS = [0, 1, 2, 5, 10]
FEW = 4
MANY = 1_000_000


def fnv1a(array):
    """FNV-1a, 64 bits, over 64-bit words instead of bytes."""
    value = 0xCBF29CE484222325
    for word in array.view(np.uint64).tolist():
        value = (value ^ word) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def hexes(array):
    return "{" + ", ".join(float(x).hex() for x in array) + "}"


def integers(array):
    smallest = -(2**63)  # C++ has no literal for it
    return "{" + ", ".join("kMin" if x == smallest else f"{x}" for x in array.tolist()) + "}"


def words(entropy):
    return "{" + ", ".join(f"{word}u" for word in entropy) + "}"


def print_seeds():
    print("inline const SeedCase kSeeds[] = {")
    for seed in SEEDS:
        uniform = np.random.default_rng(seed).random(FEW)
        normal = np.random.default_rng(seed).normal(size=FEW)
        print(f"    {{{seed}u,\n     {hexes(uniform)},\n     {hexes(normal)},")
        print(f"     {fnv1a(np.random.default_rng(seed).random(MANY)):#018x},")
        print(f"     {fnv1a(np.random.default_rng(seed).normal(size=MANY)):#018x},")
        print(f"     {fnv1a(np.random.default_rng(seed).permutation(1000)):#018x}}},")
    print("};\n")


def print_entropies():
    print("inline const EntropyCase kEntropies[] = {")
    for entropy in ENTROPIES:
        uniform = np.random.default_rng(entropy).random(FEW)
        print(f"    {{{words(entropy)},\n     {hexes(uniform)}}},")
    print("};\n")


def print_ranges():
    print("// Seed 42.")
    print("inline const RangeCase kRanges[] = {")
    for low, high in RANGES:
        rng = np.random.default_rng(42)
        few = rng.integers(low, high, size=FEW)
        rest = fnv1a(rng.integers(low, high, size=1000))
        bound = "kMin" if low == -(2**63) else low
        print(f"    {{{bound}, {high}, {integers(few)}, {rest:#018x}}},")
    print("};\n")


def print_permutations():
    print("// Seed 12345.")
    print("inline const std::vector<std::int64_t> kPermutations[] = {")
    for length in LENGTHS:
        print(f"    {integers(np.random.default_rng(12345).permutation(length))},")
    print("};\n")


def find_tail():
    """A seed whose first normal number lies in the tail, for either sign."""
    found = {}
    for seed in range(100_000):
        first = np.random.default_rng(seed).normal()
        if abs(first) > 3.6541528853610088:
            found.setdefault(first > 0, (seed, first))
        if len(found) == 2:
            return [found[True], found[False]]
    raise RuntimeError("no seed found")


def print_tails():
    print("// Seeds whose very first normal number comes from the tail.")
    print("inline const TailCase kTails[] = {")
    for seed, first in find_tail():
        print(f"    {{{seed}u, {float(first).hex()}}},")
    print("};\n")


def print_functions():
    """log1p(-u) and exp(x) of the C library: every branch of log_of_complement, and its borders."""
    edge = 0x12BEC4 / 2**22  # where the argument is first split into 2^k (1 + f)
    step = 2.0**-53
    places = [0.0, step, 2.0**-30, 2.0**-29 - step, 2.0**-29, 1e-3, 0.1, edge - step, edge]
    places += [0.4, 0.5 - 2.0**-22, 0.5 - step, 0.5, 0.5 + 2.0**-22, 0.5 + 2.0**-21, 0.6302]
    places += [0.75 + 2.0**-23, 0.75, 0.9, 0.999, 1.0 - 2.0**-30, 1.0 - 3 * step, 1.0 - step]
    places = [round(place / step) * step for place in places]
    print("inline const Point kLogs[] = {  // u, log1p(-u)")
    for place in places:
        print(f"    {{{place.hex()}, {math.log1p(-place).hex()}}},")
    print("};\n")
    near = [c + (i - 10_000) * (2.0**-33 + step) for c in (edge, 0.5, 0.75) for i in range(20_001)]
    many = np.random.default_rng(11).random(200_000).tolist() + near
    print("// Of log1p(-u) for 200,000 random u from seed 11 and 3 * 20,001 around the borders.")
    logs_hash = fnv1a(np.array([math.log1p(-u) for u in many]))
    print(f"inline constexpr std::uint64_t kLogsHash = {logs_hash:#018x};\n")
    print("inline const Point kExps[] = {  // x, exp(x)")
    for x in [0.0, -1e-9, -0.1, -0.34657, -0.34658, -1.0, -2.5, -6.7, -30.0]:
        print(f"    {{{x.hex()}, {math.exp(x).hex()}}},")
    print("};\n")


def print_mixture():
    """Scalar and array calls of all kinds from one stream, 32-bit halves left over in between."""
    rng = np.random.default_rng(7)
    reals = [rng.random()]
    whole = [rng.integers(0, 10)]  # leaves a half
    reals += [rng.random(), rng.normal()]
    whole += [rng.integers(0, 10)]  # takes it
    whole += rng.integers(-3, 4, size=3).tolist()  # leaves one
    whole += [rng.integers(0, 2**40)]
    whole += rng.permutation(6).tolist()
    reals += rng.normal(3.0, 0.5, size=3).tolist()
    whole += [rng.integers(0, 2**32)]
    reals += rng.random(2).tolist()
    whole += [rng.integers(5, 6), rng.integers(0, 100)]
    print(f"inline const std::vector<double> kMixtureReals = {hexes(reals)};")
    print(f"inline const std::vector<std::int64_t> kMixtureIntegers = {integers(np.array(whole))};")


def main():
    print(f"// Written by make_expected.py with NumPy {np.__version__}.")
    print("#ifndef QKV_TESTS_RANDOM_EXPECTED_H_")
    print("#define QKV_TESTS_RANDOM_EXPECTED_H_\n")
    print("#include <cstdint>\n#include <limits>\n#include <vector>\n")
    print("namespace qkv::random {\n")
    print("inline constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();\n")
    print("struct SeedCase {")
    print("  std::uint64_t seed;")
    print("  std::vector<double> uniform, normal;")
    print("  std::uint64_t uniform_hash, normal_hash;  // of a million")
    print("  std::uint64_t permutation_hash;           // of permutation(1000)")
    print("};")
    print("struct EntropyCase {")
    print("  std::vector<std::uint32_t> entropy;")
    print("  std::vector<double> uniform;")
    print("};")
    print("struct RangeCase {")
    print("  std::int64_t low, high;")
    print("  std::vector<std::int64_t> first;")
    print("  std::uint64_t next_hash;  // of the thousand after them")
    print("};")
    print("struct TailCase {")
    print("  std::uint64_t seed;")
    print("  double first;")
    print("};")
    print("struct Point {")
    print("  double x, y;")
    print("};\n")
    print("// clang-format off")
    print_seeds()
    print_entropies()
    print_ranges()
    print_permutations()
    print_tails()
    print_functions()
    print_mixture()
    print("// clang-format on\n")
    print("}  // namespace qkv::random\n")
    print("#endif  // QKV_TESTS_RANDOM_EXPECTED_H_")


if __name__ == "__main__":
    main()
