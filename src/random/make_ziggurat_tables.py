#!/usr/bin/env python3
"""Writes ziggurat_tables.h: the 256 layers of the ziggurat under f(x) = exp(-x^2 / 2).

    pip install mpmath
    python3 make_ziggurat_tables.py > ziggurat_tables.h

    pip install numpy
    python3 make_ziggurat_tables.py --check  # are they in the library that NumPy's wheel ships?

Marsaglia and Tsang, "The Ziggurat Method for Generating Random Variables", Journal of Statistical
Software 5(8), 2000, with 256 layers and 52-bit integers.

All layers have the area v. Layer 0 is the base: the rectangle [0, r] x [0, f(r)] and the tail
beyond r. Layer i in 1 to 255 is [0, x_i] x [f(x_i), f(x_(i-1))], with x_255 = r and x_0 = 0.

NumPy's numbers come from NumPy's tables, and those were once computed in double precision: the
exact recurrence differs from them in the last bits of most entries. So this script rounds where
they were rounded: every operation below is one double operation, exp and log correctly rounded.
"""

import math
import pathlib
import struct
import sys

import mpmath

LAYERS = 256
SCALE = 2.0**52
R = 3.6541528853610088
V = 0.004928673233974652  # the exact area is 0.0049286732339746549...

# This layer's density lies 0.498 ulp above a double: so near the middle of two that the exp which
# made NumPy's table took the upper one.
ROUNDED_UP = 38


def exp(x):
    return float(mpmath.exp(mpmath.mpf(x)))


def log(x):
    return float(mpmath.log(mpmath.mpf(x)))


def make_tables():
    """k: accept at once below it; w: an integer's unit of x; f: the density at a layer's edge."""
    x = [0.0] * LAYERS
    k = [0] * LAYERS
    w = [0.0] * LAYERS
    f = [1.0] * LAYERS
    x[LAYERS - 1] = R
    f[LAYERS - 1] = exp(-0.5 * R * R)
    for i in range(LAYERS - 1, 1, -1):
        x[i - 1] = math.sqrt(-2.0 * log(V / x[i] + f[i]))
        f[i - 1] = exp(-0.5 * x[i - 1] * x[i - 1])
        if i - 1 == ROUNDED_UP:
            f[i - 1] = math.nextafter(f[i - 1], 1.0)
        k[i] = round(x[i - 1] / x[i] * SCALE)
    for i in range(1, LAYERS):
        w[i] = x[i] / SCALE
    k[0] = round(R * f[LAYERS - 1] / V * SCALE)
    w[0] = V / f[LAYERS - 1] / SCALE  # the base as a rectangle of area v and height f(r)
    return k, w, f


def print_array(declaration, entries, per_line):
    print(f"inline constexpr {declaration}[{LAYERS}] = {{")
    for start in range(0, LAYERS, per_line):
        print("    " + " ".join(entry + "," for entry in entries[start : start + per_line]))
    print("};")


def check(k, w, f):
    import numpy

    library = pathlib.Path(numpy.__file__).parent / "random/lib/libnpyrandom.a"
    content = library.read_bytes()
    for name, layout, table in (("k", "<256Q", k), ("w", "<256d", w), ("f", "<256d", f)):
        if struct.pack(layout, *table) not in content:
            sys.exit(f"NumPy {numpy.__version__} has another table {name}")
    print(f"The three tables are those of NumPy {numpy.__version__}.")


def main():
    mpmath.mp.dps = 60
    k, w, f = make_tables()
    if "--check" in sys.argv[1:]:
        check(k, w, f)
        return
    inverse_r = float(1 / mpmath.mpf(R))
    print("// Written by make_ziggurat_tables.py, which says what the numbers mean.")
    print("#ifndef QKV_SRC_RANDOM_ZIGGURAT_TABLES_H_")
    print("#define QKV_SRC_RANDOM_ZIGGURAT_TABLES_H_\n")
    print("#include <cstdint>\n")
    print("namespace qkv::random {\n")
    print(f"inline constexpr double kTailStart = {R.hex()};         // r")
    print(f"inline constexpr double kInverseTailStart = {inverse_r.hex()};  // 1 / r\n")
    print("// clang-format off")
    print_array("std::uint64_t kAcceptBelow", [f"0x{entry:014x}" for entry in k], 5)
    print_array("double kUnit", [entry.hex() for entry in w], 4)
    print_array("double kDensity", [entry.hex() for entry in f], 4)
    print("// clang-format on\n")
    print("}  // namespace qkv::random\n")
    print("#endif  // QKV_SRC_RANDOM_ZIGGURAT_TABLES_H_")


if __name__ == "__main__":
    main()
