"""Writes the files in data/ with NumPy and the safetensors package (versions: data/README.md).

    python -m venv venv && venv/bin/pip install numpy safetensors ml_dtypes
    venv/bin/python tests/io/make_data.py

The tests compare what qkv reads from these files with numbers written out in C++, and what qkv
writes with these bytes. Every value here is simple on purpose: it can be checked by eye.
"""

import io
import json
import pathlib
import struct
import zipfile
import zlib

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

DATA = pathlib.Path(__file__).parent / "data"

# Each type's extremes and one plain value.
TYPED = {
    "f2": [1.5, -2.0, 65504.0],
    "f4": [1.5, -2.0, 3.4028234663852886e38],
    "f8": [1.5, -2.0, 1.7976931348623157e308],
    "b1": [True, False, True],
    "i1": [-128, 0, 127],
    "i2": [-32768, 1, 32767],
    "i4": [-(2**31), 1, 2**31 - 1],
    "i8": [-(2**63), 1, 2**63 - 1],
    "u1": [0, 1, 255],
    "u2": [0, 1, 65535],
    "u4": [0, 1, 2**32 - 1],
    "u8": [0, 1, 2**64 - 1],
}
# 0, 1, ..., 23 as [2, 3, 4]
CUBE = np.arange(24, dtype="<f4").reshape(2, 3, 4)


def npy_bytes(array, version=None):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asanyarray(array), version=version)
    return buffer.getvalue()


def write(name, content):
    (DATA / name).write_bytes(content)


def npy_files():
    for kind, values in TYPED.items():
        write(f"{kind}_little.npy", npy_bytes(np.array(values, "<" + kind)))
        write(f"{kind}_big.npy", npy_bytes(np.array(values, ">" + kind)))
    write("cube.npy", npy_bytes(CUBE))
    write("cube_fortran.npy", npy_bytes(np.asfortranarray(CUBE)))
    write("cube_fortran_big.npy", npy_bytes(np.asfortranarray(CUBE.astype(">f4"))))
    write("version2.npy", npy_bytes(CUBE, (2, 0)))
    write("version3.npy", npy_bytes(CUBE, (3, 0)))
    write("scalar.npy", npy_bytes(np.float32(7.25)))
    write("empty.npy", npy_bytes(np.zeros((3, 0, 2), "<f4")))
    write("rank4.npy", npy_bytes(CUBE.reshape(2, 3, 2, 2)))
    write("rank5.npy", npy_bytes(CUBE.reshape(2, 3, 2, 2, 1)))
    # The longest header an array of rank 4 can have: 21 digits of room, 20 digits in the others.
    write("longest.npy", npy_bytes(np.zeros((0, 10**5, 10**5, 10**6), "<f4")))
    write("complex.npy", npy_bytes(np.array([1 + 2j], "<c8")))
    write("unicode.npy", npy_bytes(np.array(["abc"])))
    write("bytes.npy", npy_bytes(np.array([b"abc"])))
    write("object.npy", npy_bytes(np.array([None, 1], object)))
    write("structured.npy", npy_bytes(np.zeros(2, [("a", "<f4"), ("it's", ">i8", (2,))])))
    write("void.npy", npy_bytes(np.array([1, 2], ml_dtypes.bfloat16)))
    write("longdouble.npy", npy_bytes(np.array([1], np.longdouble)))
    write("datetime.npy", npy_bytes(np.array(["2020-01-01"], "<M8[D]")))


def zip64_archive():
    """numpy.savez output with its central directory rewritten as a file above 4 GiB has it."""
    buffer = io.BytesIO()
    np.savez(buffer, cube=CUBE)
    plain = buffer.getvalue()
    end = plain.rindex(b"PK\x05\x06")
    size, start = struct.unpack("<II", plain[end + 12 : end + 20])
    entry = bytearray(plain[start : start + size])
    compressed, uncompressed, name = struct.unpack("<IIH", entry[20:30])
    # Sizes and offset move to a zip64 extra field.
    entry[20:28] = b"\xff" * 8
    entry[42:46] = b"\xff" * 4
    extra = struct.pack("<HHQQQ", 1, 24, uncompressed, compressed, 0)
    entry[30:32] = struct.pack("<H", len(extra))
    entry[46 + name :] = extra
    end64 = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, len(entry), start)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, start + len(entry), 1)
    tail = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 65535, 65535, 2**32 - 1, 2**32 - 1, 0)
    result = plain[:start] + bytes(entry) + end64 + locator + tail
    assert np.array_equal(np.load(io.BytesIO(result))["cube"], CUBE)
    return result


def wrong_length_archive(claimed, actual):
    """A deflated member whose sizes claim other content than its data have."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        info = zipfile.ZipInfo("x.npy")
        archive.writestr(info, actual, zipfile.ZIP_DEFLATED)
        info.file_size = len(claimed)  # the directory is written on closing
        info.CRC = zlib.crc32(claimed)
    return buffer.getvalue()


def npz_files():
    arrays = {
        "cube": CUBE,
        "fortran": np.asfortranarray(CUBE),
        "big": np.array(TYPED["i4"], ">i4"),
        "flags": np.array(TYPED["b1"]),
        "größe": np.array([1.0, 2.0]),
    }
    np.savez(DATA / "stored.npz", **arrays)
    np.savez_compressed(DATA / "deflated.npz", **arrays)
    write("zip64.npz", zip64_archive())
    with zipfile.ZipFile(DATA / "mixed.npz", "w") as archive:
        # As numpy.load: "bare" is an array without the suffix, README.txt is none.
        for name, content in [
            ("bare", npy_bytes(np.array([5, 6], "<i2"))),
            ("README.txt", b"not an array"),
            ("sub/inner.npy", npy_bytes(np.array([7], "<i2"))),
        ]:
            archive.writestr(zipfile.ZipInfo(name), content)
    with zipfile.ZipFile(DATA / "duplicate.npz", "w") as archive:
        for name in ["x", "x.npy"]:
            archive.writestr(zipfile.ZipInfo(name), npy_bytes(np.array([5], "<i2")))
    three = npy_bytes(np.array(TYPED["f4"], "<f4"))
    write("deflated_shorter.npz", wrong_length_archive(three, three[:-4]))
    write("deflated_longer.npz", wrong_length_archive(three, three + bytes(4)))
    np.savez(DATA / "no_arrays.npz")
    with zipfile.ZipFile(DATA / "bzip2.npz", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr(zipfile.ZipInfo("x.npy"), npy_bytes(CUBE), zipfile.ZIP_BZIP2)


def safetensors_bytes(header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def safetensors_files():
    typed = {f"x_{kind}": np.array(values, "<" + kind) for kind, values in TYPED.items()}
    typed["x_bf16"] = np.array([1.5, -2.0, 3.0], ml_dtypes.bfloat16)
    save_file(typed, DATA / "typed.safetensors")
    save_file({"cube": CUBE, "scalar": np.array(7.25, "<f4"), "empty": np.zeros((3, 0), "<f4")},
              DATA / "cube.safetensors", {"format": "np"})
    # No package writes this: the header is not padded, so the data start at an odd byte.
    odd = {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "__metadata__": {"a": ""}}
    text = json.dumps(odd).encode()
    text += b" " * (1 - len(text) % 2)
    write("odd.safetensors", safetensors_bytes(text, np.array([1, 2], "<f4").tobytes()))
    float8 = {
        "f8": np.array([1.0, 2.0], ml_dtypes.float8_e4m3fn),
        "x": np.array([1.0], "<f4"),
    }
    save_file(float8, DATA / "float8.safetensors")


def readme():
    import safetensors

    (DATA / "README.md").write_text(
        "Small files that `../make_data.py` wrote with NumPy "
        f"{np.__version__}, safetensors {safetensors.__version__} and ml_dtypes "
        f"{ml_dtypes.__version__}.\n"
        "The tests hold their values as C++ literals. `odd.safetensors` and the archives that "
        "numpy.savez does\nnot write (zip64, mixed, duplicate, bzip2, deflated_shorter, "
        "deflated_longer) are laid out by the\nscript itself.\n"
    )


if __name__ == "__main__":
    DATA.mkdir(exist_ok=True)
    npy_files()
    npz_files()
    safetensors_files()
    readme()
    for path in DATA.iterdir():
        path.chmod(0o644)
