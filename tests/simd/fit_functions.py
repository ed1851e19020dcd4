"""Prints the coefficients of log, log1p and erf in src/simd/math-inl.h.

    python3 tests/simd/fit_functions.py

Each is a polynomial with the least largest error among those with float32 coefficients, nearly: the
lowest coefficient is rounded, the others are fitted again, and so on. Values
are mpmath's, to 60 digits; the linear algebra is double, which is 2^20 times finer than the errors.
"""

import mpmath
import numpy as np
from mpmath import mp, mpf

mp.dps = 60


def minimax(points, values, weights, powers):
    """Coefficients of the powers with the least largest |weight * (value - polynomial)|."""
    # Lawson 1961: least squares, in which each point then counts in proportion to its error. Unlike
    # Remez's exchange it needs no Haar condition, which x, x^2, ... lack on both sides of 0.
    basis = np.stack([points**n for n in powers], axis=1) * weights[:, None]
    scale = np.max(np.abs(basis), axis=0)
    target = values * weights
    mass = np.full(len(points), 1 / len(points))
    best, least = None, np.inf
    for _ in range(400):
        root = np.sqrt(mass)
        found = np.linalg.lstsq(basis / scale * root[:, None], target * root, rcond=None)[0] / scale
        errors = np.abs(target - basis @ found)
        if np.max(errors) < least:
            best, least = found, np.max(errors)
        mass = mass * errors / np.sum(mass * errors)
    return best, least


def fit(name, function, weight, low, high, terms):
    """function(x) = c_0 + c_1 x + ... on [low, high]."""
    places = [mpf(low) + (mpf(high) - mpf(low)) * (1 - mpmath.cos(mp.pi * (i + 0.5) / 1500)) / 2
              for i in range(1500)]
    points = np.array([float(x) for x in places])
    rest = [function(x) for x in places]
    weights = np.array([float(weight(x)) for x in places])
    coefficients = []
    for first in range(terms):
        values = np.array([float(value) for value in rest])
        found, error = minimax(points, values, weights, range(first, terms))
        if first == 0:
            unrounded = error
        coefficients.append(float(np.float32(found[0])))
        rest = [value - mpf(coefficients[-1]) * x**first for value, x in zip(rest, places)]
    rounded = max(abs(float(value)) * w for value, w in zip(rest, weights))
    print(f"{name}: error 2^{np.log2(rounded):.2f}, 2^{np.log2(unrounded):.2f} before rounding")
    print("   ", ", ".join(short_hex(c) for c in reversed(coefficients)), "(highest power first)\n")


def short_hex(x):
    """A C hexadecimal constant without the zeros at its end."""
    digits, exponent = x.hex().split("p")
    return f"{digits.rstrip('0').rstrip('.')}p{exponent}"


def main():
    # log(1 + f) = f + f^2 q(f), relative to it.
    fit("log, q(f)", lambda f: (mpmath.log1p(f) - f) / f**2, lambda f: abs(f**2 / mpmath.log1p(f)),
        mpf(-1) / 3, mpf(1) / 3, 9)
    # erf(x) = x + x q(x^2), relative to it.
    fit("erf, q(x^2)", lambda z: mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1,
        lambda z: mpmath.sqrt(z) / mpmath.erf(mpmath.sqrt(z)), mpf(2)**-40, 1, 7)
    # 1 - erf(x) = exp(x g(x)): the error of erf, which is about 1.
    fit("erf, g(x)", lambda x: mpmath.log(mpmath.erfc(x)) / x, lambda x: x * mpmath.erfc(x), 1, 4,
        6)


if __name__ == "__main__":
    main()
