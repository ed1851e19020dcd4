"""Checks which folder includes which: include_rule.py ROOT. The table is that of the design."""

import re
import sys
from pathlib import Path

PUBLIC = "include/qkv/"
KERNEL = [PUBLIC, "src/tensor/", "src/problem/", "src/simd/", "src/kernels/"]

# What a folder, or one file, may include besides its own folder. The longest match counts.
MAY_INCLUDE = {
    "include/qkv/": [],
    "src/tensor/": [PUBLIC],
    "src/io/": [PUBLIC, "src/tensor/"],
    "src/problem/": [PUBLIC, "src/tensor/", "src/simd/philox.h"],
    "src/simd/": ["src/tensor/float16.h"],
    "src/kernels/reference/": [PUBLIC, "src/tensor/", "src/problem/", "src/simd/philox.h"],
    "src/kernels/exact/": [PUBLIC, "src/tensor/", "src/problem/"],
    "src/kernels/attention/": KERNEL,
    "src/kernels/matmul/": KERNEL,
    "src/kernels/": KERNEL,
    "src/parallel/": [],
    "src/plan/": [PUBLIC, "src/tensor/", "src/problem/", "src/kernels/", "src/parallel/",
                  "src/simd/float_environment.h"],
    "src/inspect/": [PUBLIC, "src/tensor/", "src/problem/", "src/kernels/exact/",
                     "src/simd/float_environment.h"],
    "src/positions/": [PUBLIC, "src/tensor/", "src/problem/", "src/simd/"],
    "src/nn/": [PUBLIC, "src/kernels/registry.h", "src/plan/", "src/positions/", "src/simd/",
                "src/problem/checks.h"],
    "src/models/": [PUBLIC, "src/positions/", "src/simd/"],
    "src/checkpoint/": [PUBLIC, "src/io/guard.h"],
    "src/api/": [PUBLIC, "src/"],
    "src/random/": [PUBLIC, "src/tensor/"],
    "apps/": [PUBLIC, "apps/"],
    "apps/qkv/make_golden.cc": [PUBLIC, "apps/", "src/"],
    "bindings/c/": [PUBLIC, "src/plan/", "src/inspect/", "src/positions/",
                    "src/problem/problem.h"],
    "examples/": [PUBLIC],
}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<(qkv/[^>]+)>)')
TOPS = ("include", "src", "apps", "bindings", "examples")


def longest_match(path, places):
    return max((place for place in places if path.startswith(place)), key=len, default=None)


def resolve(root, source, included):
    """The included file as a path from the root: beside the source, or under an include folder."""
    for base in (source.parent, root / "include", root / "src", root / "apps", root):
        candidate = (base / included).resolve()
        if candidate.is_file() and candidate.is_relative_to(root):
            return candidate.relative_to(root).as_posix()
    return None


def problems_of(root, source):
    path = source.relative_to(root).as_posix()
    place = longest_match(path, MAY_INCLUDE)
    if place is None:
        yield f"{path}: its folder is not in the table of tests/checks/include_rule.py"
        return
    own_folder = path.rsplit("/", 1)[0] + "/"
    for number, line in enumerate(source.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        included = match[1] or match[2]
        target = resolve(root, source, included)
        if ".." in Path(included).parts:
            yield f"{path}:{number}: '{included}' climbs out of its folder"
        elif target is None:
            yield f"{path}:{number}: '{included}' is not a file of qkv; write <...> for others"
        elif not any(target.startswith(allowed)
                     for allowed in [own_folder, *MAY_INCLUDE[place]]):
            yield f"{path}:{number}: {place} must not include {target}"


def main():
    root = Path(sys.argv[1]).resolve()
    sources = sorted(file for top in TOPS for file in (root / top).rglob("*")
                     if file.suffix in (".h", ".cc", ".inc"))
    problems = [problem for source in sources for problem in problems_of(root, source)]
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{len(sources)} files, {len(problems)} violations")
    return 1 if problems or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
