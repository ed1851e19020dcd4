#!/usr/bin/env python3
"""Writes numpy_prints.json: what NumPy prints for the lesson's listings with other numbers in them.

The listings are the files that the page shows, with the numbers put into their text; NumPy runs that text.
Each run's result is far enough from the edge between two roundings that float32 rounds to the same text.

    python3 tests/make_numpy_prints.py > tests/numpy_prints.json
"""

import contextlib
import io
import json
import pathlib
import sys

import numpy as np

LISTINGS = pathlib.Path(__file__).parent.parent / "lesson" / "listings"
MARGIN = 0.01  # of one unit of the last digit printed


def run(code):
    printed = io.StringIO()
    names = {}
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "listing", "exec"), names)
    return printed.getvalue().rstrip("\n"), names


def replaced(text, *changes):
    for old, new in changes:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    return text


def clear(values, digits):
    """Is no value near the edge between two roundings?"""
    rest = np.abs(np.asarray(values, dtype=np.float64)) * 10**digits % 1
    # Numbers that are 0.5 exactly in float64 and float32 would be fine too, but they are rare.
    return bool(np.all(np.abs(rest - 0.5) > MARGIN))


def rows(values):
    return [[float(x) for x in values[n : n + 2]] for n in range(0, len(values), 2)]


def attention(q, k, v, seed, d, perm):
    n = len(perm)
    text = (LISTINGS / "attention.py").read_text()
    code = replaced(
        text,
        ("Q = np.array([[1.0, 2.0]])", f"Q = np.array({rows(q)})"),
        ("K = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])", f"K = np.array({rows(k)})"),
        ("V = np.array([[10.0, 0.0], [0.0, 10.0], [5.0, 5.0]])", f"V = np.array({rows(v)})"),
        ("5 tokens with 4 numbers", f"{n} tokens with {d} numbers"),
        ("default_rng(0)", f"default_rng({seed})"),
        ("size=(5, 4)", f"size=({n}, {d})"),
        (
            "Wq, Wk, Wv = rng.normal(size=(3, 4, 4))         # three random 4 x 4",
            f"{f'Wq, Wk, Wv = rng.normal(size=(3, {d}, {d}))':48}# three random {d} x {d}",
        ),
        ("perm = [3, 0, 4, 1, 2]                          #", f"{f'perm = {perm}':48}#"),
    )
    printed, names = run(code)
    assert clear(names["w"], 3) and clear(names["out"], 2), (names["w"], names["out"])
    inputs = {"q": q, "k": k, "v": v, "seed": seed, "d": d, "perm": perm}
    return {"inputs": inputs, "code": code, "printed": printed.split("\n")}


def scaling(seed, pairs, d):
    text = (LISTINGS / "scaling.py").read_text()
    root = d**0.5
    divisor = str(int(root)) if root == int(root) else f"np.sqrt({d})"
    queries = f"q = rng.normal(size=({pairs}, {d}))"
    code = replaced(
        text,
        ("default_rng(0)", f"default_rng({seed})"),
        (
            "q = rng.normal(size=(10000, 64))     # 10,000 random queries, d_k = 64",
            f"{queries:37}# {pairs:,} random queries, d_k = {d}",
        ),
        ("k = rng.normal(size=(10000, 64))", f"k = rng.normal(size=({pairs}, {d}))"),
        ("# 10,000 dot products", f"# {pairs:,} dot products"),
        ("scores / 8", f"scores / {divisor}"),
    )
    printed, names = run(code)
    deviation = names["scores"].std()
    assert clear([deviation, deviation / root], 2), deviation
    return {"inputs": {"seed": seed, "pairs": pairs, "d": d}, "code": code, "printed": printed.split("\n")}


def attention_cases():
    lesson = ([1, 2], [1, 0, 0, 1, 1, 1], [10, 0, 0, 10, 5, 5])
    yield attention(*lesson, 0, 4, [3, 0, 4, 1, 2])
    yield attention(*lesson, 7, 8, [7, 6, 5, 4, 3, 2, 1, 0])
    yield attention(*lesson, 4294967295, 1, [1, 0])
    yield attention([-1, 0.5], [1, 0, 0, 1, 1, 1], [-10, 0, 0, -10, 5, 5], 3, 2, [2, 0, 1])
    yield attention([9, 9], [1, 0, 0, 1, 1, 1], [20, 0.25, 0, 3, -7.5, 20], 1, 3, [0, 1, 2, 3])  # one weight is 1.
    yield attention([3, 2], [1, 0, 0, 1, -1, -1], [0.02, 20, 0.01, -20, 0, 20], 2, 4, [1, 0])  # powers of ten
    yield attention([0, 0], [1, 0, 0, 1, 1, 1], [1, 2, 4, 8, 16, 20], 11, 4, [4, 3, 2, 1, 0])
    yield attention([2, -1], [0.5, 3, -2, 0.25, 1, -1], [-0.01, 13, 3, -0.5, -1, 0], 123456789, 5, [0, 5, 1, 4, 2, 3])
    rng = np.random.default_rng(1)
    made = 0
    while made < 20:
        q, k, v = ((rng.integers(-40, 41, size) / 20).tolist() for size in (2, 6, 6))
        n, d = (int(x) for x in rng.integers(2, 9, 2))
        try:
            case = attention(q, k, [10 * x for x in v], int(rng.integers(2**32)), d, rng.permutation(n).tolist())
        except AssertionError:
            continue  # too near the edge
        made += 1
        yield case


def scaling_cases():
    for seed, pairs, d in [(0, 10000, 64), (1, 10000, 64), (2, 5000, 32), (3, 100, 1), (4, 20000, 128),
                           (5, 1234, 16), (4294967295, 10000, 4), (8, 10000, 100), (9, 10, 50)]:
        yield scaling(seed, pairs, d)


def arrays():
    """Arrays that are printed as they are."""
    rng = np.random.default_rng(2)
    given = [
        [[0.0]], [[-0.0, 1]], [[1, 10, 100]], [[0.5], [10]], [[1000.0, 1.0]], [[1001.0, 1.0]], [[12.5, 0.01]],
        [[-12.5, 0.01]], [[0.0001]], [[0.00009]], [[1e8]], [[99999999.0]], [[123456.789, 1000]], [[0, 0.001], [-1, 0]],
        [[1e8, 1]], [[-0.25, 0.125], [3, -100.5]], [[2e-5, -3]], [[1e-10, 1]], [[1e100, -1]],
    ]
    for rows_ in given:
        yield np.array(rows_, dtype=np.float64)
    for n in range(60):
        shape = (int(rng.integers(1, 4)), int(rng.integers(1, 5)))
        yield np.round(rng.normal(size=shape) * 10.0 ** rng.integers(-2, 4), int(rng.integers(0, 4)))


def main():
    attentions = list(attention_cases())
    scalings = list(scaling_cases())
    assert attentions[0]["printed"] == ["[[0.14  0.284 0.576]] [[4.28 5.72]]", "True"]
    assert attentions[0]["code"] == (LISTINGS / "attention.py").read_text()
    assert scalings[0]["printed"] == ["8.08 1.01"]
    assert scalings[0]["code"] == (LISTINGS / "scaling.py").read_text()
    floats = [8.08, 1.0, 0.0, -0.0, 0.5, 12.25, 100.0, 0.01, -3.0]
    rounded = [[x, d] for d in (0, 2, 3) for x in (0.5, 1.5, 2.5, -0.5, -1.5, 0.125, 0.375, -0.001, 2.675, 1.005, -0.0, 1e5)]
    json.dump(
        {
            "numpy": np.__version__,
            "attention": attentions,
            "scaling": scalings,
            "arrays": [{"rows": [[repr(float(x)) for x in row] for row in a], "text": str(a)} for a in arrays()],
            "floats": [{"value": repr(x), "text": str(np.float64(x))} for x in floats],
            "rounded": [{"value": repr(x), "digits": d, "text": str(np.round(np.float64(x), d))} for x, d in rounded],
        },
        sys.stdout,
        indent=1,
    )
    print()


if __name__ == "__main__":
    main()
