"""Plants violations of the include rule and expects each to be found, and good files to pass."""

import subprocess
import sys
import tempfile
from pathlib import Path

GOOD = {
    "include/qkv/tensor.h": "",
    "include/qkv/io.h": '#include "qkv/tensor.h"\n',
    "src/tensor/element.h": '#include "qkv/tensor.h"\n#include <vector>\n',
    "src/tensor/float16.h": "",
    "src/simd/vec-inl.h": '#include "tensor/float16.h"\n',
    "src/simd/float_environment.h": "",
    "src/problem/problem.h": '#include "tensor/element.h"\n',
    "src/kernels/exact/exact.h": '#include "problem/problem.h"\n',
    "src/kernels/registry.h": '#include "problem/problem.h"\n#include "simd/vec-inl.h"\n',
    "src/plan/plan.cc": '#include "kernels/registry.h"\n#include "simd/float_environment.h"\n',
    "src/inspect/steps.cc": '#include "kernels/exact/exact.h"\n#include "simd/float_environment.h"\n',
    "src/api/api.cc": '#include "plan/plan.cc"\n',
    "apps/qkv/main.cc": '#include <qkv/tensor.h>\n',
    "apps/qkv/make_golden.cc": '#include "problem/problem.h"\n',
}

# File, its text, a part of the message.
BAD = [
    ("include/qkv/bad.h", '#include "tensor/element.h"', "bad.h:1"),
    ("src/tensor/bad.h", '#include "problem/problem.h"', "src/tensor/ must not"),
    ("src/simd/bad.h", '#include "tensor/element.h"', "src/simd/ must not"),
    ("src/io/bad.cc", '\n # include "problem/problem.h"', "bad.cc:2"),
    ("src/problem/bad.cc", '#include "plan/plan.cc"', "src/problem/ must not"),
    ("src/problem/bad.cc", '#include "../simd/vec-inl.h"', "climbs"),
    ("src/kernels/exact/bad.cc", '#include "simd/vec-inl.h"', "src/kernels/exact/ must not"),
    ("src/kernels/attention/bad.cc", '#include "plan/plan.cc"', "must not"),
    ("src/parallel/bad.cc", '#include "qkv/tensor.h"', "src/parallel/ must not"),
    ("src/plan/bad.cc", '#include "simd/vec-inl.h"', "src/plan/ must not"),
    ("src/inspect/bad.cc", '#include "kernels/registry.h"', "src/inspect/ must not"),
    ("apps/qkv/bad.cc", '#include "problem/problem.h"', "apps/ must not"),
    ("examples/bad.cc", '#include "plan/plan.cc"', "examples/ must not"),
    ("src/plan/bad.cc", '#include "vector"', "not a file of qkv"),
    ("src/new_folder/new.cc", "", "not in the table"),
]


def run(files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            file = Path(root) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        script = Path(__file__).with_name("include_rule.py")
        done = subprocess.run([sys.executable, script, root], capture_output=True, text=True)
        return done.returncode, done.stdout


def main():
    code, output = run(GOOD)
    assert code == 0, output
    for name, text, message in BAD:
        code, output = run({**GOOD, name: text})
        assert code == 1 and message in output and "1 violations" in output, (name, output)
    code, output = run({})
    assert code == 1, "an empty tree must not pass"


main()
