"""Checks what clang-format and the compiler don't: style.py ROOT."""

import re
import sys
from pathlib import Path

TOPS = ("include", "src", "apps", "bindings", "examples", "tests", "bench", "cmake", "scripts")
SUFFIXES = (".h", ".cc", ".inc", ".py", ".sh", ".cmake", ".txt")
# Readable in one sitting.
MAX_LINES, MAX_LINES_KERNELS = 400, 600
GENERATED = {"src/random/ziggurat_tables.h"}
# The library never prints and never ends the program.
FORBIDDEN = re.compile(
    r"\b(?:std::)?(?:printf|fprintf|puts|fputs|abort|exit|_Exit|quick_exit|terminate)\s*\(|"
    r"\bstd::(?:cout|cerr|clog)\b|\bassert\s*\(")


def problems_of(path, text):
    lines = text.splitlines()
    code = path.endswith((".h", ".cc", ".inc"))
    limit = MAX_LINES_KERNELS if path.startswith(("src/kernels/", "tests/")) else MAX_LINES
    if code and len(lines) > limit and path not in GENERATED:
        yield f"{path}: {len(lines)} lines; more than {limit} don't read in one sitting"
    if text and not text.endswith("\n"):
        yield f"{path}: no newline at its end"
    for number, line in enumerate(lines, 1):
        if line != line.rstrip() or "\t" in line:
            yield f"{path}:{number}: trailing space or a tab"
        if code and path.startswith(("src/", "include/")) and "//" not in line:
            if match := FORBIDDEN.search(re.sub(r'"(?:\\.|[^"\\])*"', '""', line)):
                yield f"{path}:{number}: the library must not call {match[0].rstrip('( ')}"


def guard_problems(headers):
    """Every header has an include guard, and no two the same."""
    owners = {}
    for path, text in headers:
        match = re.search(r"^#ifndef (\w+)\n#define \1$", text, re.MULTILINE)
        if not match:
            yield f"{path}: no include guard"
        elif (first := owners.setdefault(match[1], path)) != path:
            yield f"{path}: has the include guard of {first}"


def main():
    root = Path(sys.argv[1]).resolve()
    files = [(file.relative_to(root).as_posix(), file.read_text())
             for top in TOPS for file in sorted((root / top).rglob("*"))
             if file.suffix in SUFFIXES and file.is_file() and "data" not in file.parts]
    problems = [problem for path, text in files for problem in problems_of(path, text)]
    # Files that are included several times on purpose end in -inl.h or .inc.
    problems += guard_problems([(path, text) for path, text in files if path.endswith(".h")])
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{len(files)} files, {len(problems)} problems")
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main())
