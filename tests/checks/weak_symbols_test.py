"""Compiles an object with a shared weak symbol, and expects it to be found."""

import subprocess
import sys
import tempfile
from pathlib import Path

OWN = "namespace qkv::avx2 { template <class T> T twice(T x) { return x + x; } }\n"
USE = "int user(int x) { return qkv::avx2::twice(x)%s; }\n"
SHARED = "namespace std_like { template <class T> T half(T x) { return x / 2; } }\n"


def run(avx2, avx512="int nothing;\n"):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("avx2", avx2), ("avx512", avx512)):
            source = Path(folder) / f"{name}.cc"
            source.write_text(text)
            subprocess.run(["c++", "-O0", "-c", source, "-o", f"{source}.o"], check=True)
        script = Path(__file__).with_name("weak_symbols.py")
        done = subprocess.run([sys.executable, script, folder], capture_output=True, text=True)
        return done.returncode, done.stdout


def main():
    code, output = run(OWN + USE % "")
    assert code == 0, output
    code, output = run(OWN + SHARED + USE % " + std_like::half(x)")
    assert code == 1 and "std_like::half" in output, output
    # Another instruction set's namespace is not one's own.
    code, output = run(OWN + USE % "", OWN + USE % "")
    assert code == 1 and "avx512.cc.o" in output, output


main()
