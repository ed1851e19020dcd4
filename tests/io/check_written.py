"""Reads files that qkv wrote with NumPy and, if it is there, the safetensors package.

    check_written.py DIRECTORY        the files of numpy_check_test.cc
    check_written.py --large FILE.npz the archive of write_test.cc

Exits with 0 if all is right, 77 if NumPy is missing, anything else if a file is wrong.
"""

import pathlib
import sys
import zipfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

CUBE = np.arange(24, dtype="<f4").reshape(2, 3, 4)


def check(array, expected):
    assert array.dtype == expected.dtype, (array.dtype, expected.dtype)
    assert array.shape == expected.shape, (array.shape, expected.shape)
    assert array.tobytes() == expected.tobytes(), (array, expected)


def expected_arrays():
    return {
        "cube": CUBE,
        "turned": np.ascontiguousarray(CUBE.transpose(2, 1, 0)),
        "halves": np.array([1.5, -2.0], "<f2"),
        "flags": np.array([True, False]),
        "größe": np.array([-(2**63), 2**63 - 1], "<i8"),
        "scalar": np.array(7.25, "<f4"),
        "empty": np.zeros((3, 0), "<u2"),
    }


def check_directory(directory):
    expected = expected_arrays()
    for name, array in expected.items():
        check(np.load(directory / f"{name}.npy"), array)
    with zipfile.ZipFile(directory / "all.npz") as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [f"{name}.npy" for name in expected]
        assert all(member.date_time == (1980, 1, 1, 0, 0, 0) for member in archive.infolist())
    with np.load(directory / "all.npz") as archive:
        for name, array in expected.items():
            check(archive[name], array)
    try:
        from safetensors import safe_open
    except ImportError:
        print("safetensors is missing: .safetensors not checked")
        return
    with safe_open(directory / "all.safetensors", "np") as file:
        assert file.metadata() == {"made by": "qkv \"test\""}
        assert set(file.keys()) == set(expected)
        for name, array in expected.items():
            check(file.get_tensor(name), array)


def check_large(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
    with np.load(path) as archive:
        check(archive["first"], CUBE)
        check(archive["last"], CUBE)
        large = archive["large"]
        assert large.shape == (5, 2**27) and (large[:, ::4096] == 2.5).all()


if __name__ == "__main__":
    if sys.argv[1] == "--large":
        check_large(pathlib.Path(sys.argv[2]))
    else:
        check_directory(pathlib.Path(sys.argv[1]))
