"""Checks the objects compiled for one instruction set: weak_symbols.py BUILD_FOLDER.

A weak symbol (an inline function, an instance of a template) may be kept from any object that has
it. One that an AVX2 or AVX-512 object shares with the others would bring its instructions to
machines that lack them. So such objects may define weak symbols only in a namespace of their own,
which then is a part of the symbol's name.
"""

import re
import subprocess
import sys
from pathlib import Path

# Source name: namespaces, as they are spelled in mangled names.
NAMESPACES = {
    "avx2": ("3qkv4avx2", "3hwy6N_AVX2"),
    "avx512": ("3qkv6avx512", "3hwy6N_AVX3"),
}
# `nm -P` prints: name, type, value, size. W, V: weak; u: unique.
SYMBOL = re.compile(r"^(\S+) ([WVu]) ", re.MULTILINE)


def shared_weak_symbols(nm_output, isa):
    # DW.ref. symbols are pointers to one function for exception tables, not code.
    return [name for name, _ in SYMBOL.findall(nm_output)
            if not name.startswith("DW.ref.")
            and not any(namespace in name for namespace in NAMESPACES[isa])]


def main():
    problems = []
    seen = dict.fromkeys(NAMESPACES, 0)
    for isa in NAMESPACES:
        for file in sorted(Path(sys.argv[1]).rglob(f"{isa}.cc.o")):
            seen[isa] += 1
            output = subprocess.run(["nm", "-P", "--defined-only", file], check=True,
                                    capture_output=True, text=True).stdout
            problems += [f"{file}: {name}" for name in shared_weak_symbols(output, isa)]
    text = "\n".join(problems)
    print(subprocess.run(["c++filt"], input=text, capture_output=True, text=True).stdout)
    print(f"objects: {seen}, weak symbols shared with other code: {len(problems)}")
    return 1 if problems or 0 in seen.values() else 0


if __name__ == "__main__":
    sys.exit(main())
