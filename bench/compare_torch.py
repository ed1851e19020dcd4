#!/usr/bin/env python3
"""qkv against PyTorch's scaled_dot_product_attention on this CPU: speed and accuracy, in one run.

    python3 -m venv venv && venv/bin/pip install torch==2.13.0
    venv/bin/python bench/compare_torch.py [--threads 1] [--repeats 9] [--accuracy] [--gradients]

Builds the shared C library into build/compare (cmake, ninja, g++) and calls it through ctypes.
Repeats of both are interleaved, since machines are shared and noisy; ratios are of medians. The peak
of fused multiply-adds is measured between them by `qkv bench`'s own loop where it is built.
"""

import argparse
import ctypes
import json
import pathlib
import statistics
import subprocess
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "compare"

SHAPES = [  # name, B, H, L, D, causal
    ("1x8x4096x64", 1, 8, 4096, 64, False),
    ("1x8x4096x64 causal", 1, 8, 4096, 64, True),
    ("1x8x2048x128", 1, 8, 2048, 128, False),
    ("1x8x2048x128 causal", 1, 8, 2048, 128, True),
    ("32x12x128x64", 32, 12, 128, 64, False),
]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("extents", ctypes.c_int64 * 4), ("strides", ctypes.c_int64 * 4)]

    def __init__(self, tensor):
        strides = [s for s in tensor.stride()]
        super().__init__(tensor.data_ptr(), 0, 4, (ctypes.c_int64 * 4)(*tensor.shape),
                         (ctypes.c_int64 * 4)(*strides))


class Inputs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("query", ctypes.POINTER(Tensor)), ("key", ctypes.POINTER(Tensor)),
                ("value", ctypes.POINTER(Tensor))]


class Outputs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("out", ctypes.POINTER(Tensor)), ("rest", ctypes.c_int64 * 6)]


class ForwardOutputs(ctypes.Structure):  # with what gradients start from
    _fields_ = [("struct_size", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("out", ctypes.POINTER(Tensor)), ("rest", ctypes.c_int64 * 6),
                ("row_max", ctypes.POINTER(Tensor)), ("row_sum", ctypes.POINTER(Tensor))]


class GradientInputs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("reserved", ctypes.c_uint32)] + [
        (name, ctypes.POINTER(Tensor)) for name in
        ("query", "key", "value", "d_out", "d_lse", "out", "row_max", "row_sum", "lse")]


class GradientOutputs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("reserved", ctypes.c_uint32)] + [
        (name, ctypes.POINTER(Tensor)) for name in
        ("d_query", "d_key", "d_value", "d_bias", "d_sinks")]


class Options(ctypes.Structure):  # only the first fields; the library takes a smaller struct
    _fields_ = [("struct_size", ctypes.c_uint32), ("causal", ctypes.c_int32)]


class Execution(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("threads", ctypes.c_int32)]


def load_library():
    subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", BUILD, "-DBUILD_SHARED_LIBS=ON",
                    "-DQKV_BUILD_TESTS=OFF", "-DQKV_BUILD_EXAMPLES=OFF"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD, "--target", "qkv_c", "qkv_command"], check=True,
                   stdout=subprocess.DEVNULL)
    library = ctypes.CDLL(str(next(BUILD.glob("**/libqkv_c.so"))))
    library.qkv_last_error.restype = ctypes.c_char_p
    return library


class Plan:
    """One qkv plan on the memory of torch tensors."""

    def __init__(self, library, query, key, value, causal, threads):
        self.library, self.handle = library, ctypes.c_void_p()
        self.out = torch.empty_like(query)
        self.tensors = [Tensor(t) for t in (query, key, value, self.out)]
        pointers = [ctypes.pointer(t) for t in self.tensors]
        self.keep = (query, key, value)
        inputs = Inputs(ctypes.sizeof(Inputs), 0, *pointers[:3])
        outputs = Outputs(ctypes.sizeof(Outputs), 0, pointers[3])
        options = Options(ctypes.sizeof(Options), int(causal))
        execution = Execution(ctypes.sizeof(Execution), threads)
        self.check(library.qkv_plan_create(ctypes.byref(inputs), ctypes.byref(outputs),
                                           ctypes.byref(options), ctypes.byref(execution),
                                           ctypes.byref(self.handle)))

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.library.qkv_last_error().decode())

    def run(self):
        self.check(self.library.qkv_plan_run(self.handle, None, ctypes.c_int64(0)))
        return self.out


class TrainingPlan:
    """A forward and a backward plan on the memory of torch tensors."""

    def __init__(self, library, query, key, value, d_out, causal, threads):
        self.library = library
        rows = query.shape[:3]
        self.out = torch.empty_like(query)
        self.numbers = [torch.empty(rows) for _ in range(2)]
        self.gradients = [torch.empty_like(t) for t in (query, key, value)]
        self.keep = (query, key, value, d_out)
        self.structs = [Tensor(t) for t in (query, key, value, self.out, d_out, *self.gradients)]
        for numbers in self.numbers:
            struct = Tensor(numbers.unsqueeze(3))
            struct.rank = 3
            self.structs.append(struct)
        q, k, v, out, d, d_q, d_k, d_v, row_max, row_sum = map(ctypes.pointer, self.structs)
        inputs = Inputs(ctypes.sizeof(Inputs), 0, q, k, v)
        outputs = ForwardOutputs(ctypes.sizeof(ForwardOutputs), 0, out)
        outputs.row_max, outputs.row_sum = row_max, row_sum
        options = Options(ctypes.sizeof(Options), int(causal))
        execution = Execution(ctypes.sizeof(Execution), threads)
        self.forward, self.backward = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(library.qkv_plan_create(ctypes.byref(inputs), ctypes.byref(outputs),
                                           ctypes.byref(options), ctypes.byref(execution),
                                           ctypes.byref(self.forward)))
        into = GradientInputs(ctypes.sizeof(GradientInputs), 0, q, k, v, d)
        into.out, into.row_max, into.row_sum = out, row_max, row_sum
        results = GradientOutputs(ctypes.sizeof(GradientOutputs), 0, d_q, d_k, d_v)
        self.check(library.qkv_gradient_plan_create(ctypes.byref(into), ctypes.byref(results),
                                                    ctypes.byref(options), ctypes.byref(execution),
                                                    ctypes.byref(self.backward)))

    check = Plan.check

    def run(self):
        self.check(self.library.qkv_plan_run(self.forward, None, ctypes.c_int64(0)))
        self.check(self.library.qkv_gradient_plan_run(self.backward, None, ctypes.c_int64(0)))
        return self.gradients


def timed(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def fma_peak(threads):
    """GFLOP/s of fused multiply-adds, by `qkv bench` on a small problem."""
    run = subprocess.run([BUILD / "qkv", "bench", "--op", "forward", "--shape", "1,1,256,256,64",
                          "--threads", str(threads), "--repeat", "5", "--json"],
                         capture_output=True, text=True, check=True)
    result = json.loads(run.stdout)
    return result["gflops"] / result["peak_share"]


def compare_speed(library, threads, repeats):
    sdpa = torch.nn.functional.scaled_dot_product_attention
    print(f"{'shape':22} {'qkv ms':>9} {'torch ms':>9} {'ratio':>6} {'GFLOP/s':>8} {'of peak':>8}")
    for name, b, h, n, d, causal in SHAPES:
        query, key, value = (torch.randn(b, h, n, d) for _ in range(3))
        plan = Plan(library, query, key, value, causal, threads)
        theirs = lambda: sdpa(query, key, value, is_causal=causal)
        plan.run(), theirs()
        times, peaks = ([], []), []
        for _ in range(repeats):
            times[0].append(timed(plan.run))
            times[1].append(timed(theirs))
            if len(peaks) < 3:
                peaks.append(fma_peak(threads))
        mine, other = (statistics.median(t) for t in times)
        pairs = n * (n + 1) / 2 if causal else n * n
        gflops = 4 * b * h * pairs * d / mine / 1e9
        print(f"{name:22} {1e3 * mine:9.2f} {1e3 * other:9.2f} {other / mine:6.2f} {gflops:8.1f} "
              f"{gflops / statistics.median(peaks):8.2f}")


def compare_gradients(library, threads, repeats):
    """Forward and backward together, and the rms error of the gradients against float64."""
    sdpa = torch.nn.functional.scaled_dot_product_attention
    shapes = SHAPES + [("1x1x16384x64", 1, 1, 16384, 64, False)]
    print(f"\n{'forward + backward':22} {'qkv ms':>9} {'torch ms':>9} {'ratio':>6} {'GFLOP/s':>8}")
    for name, b, h, n, d, causal in shapes:
        tensors = [torch.randn(b, h, n, d, requires_grad=True) for _ in range(3)]
        d_out = torch.randn(b, h, n, d)
        plan = TrainingPlan(library, *(t.detach() for t in tensors), d_out, causal, threads)

        def theirs():
            for t in tensors:
                t.grad = None
            sdpa(*tensors, is_causal=causal).backward(d_out)

        mine_now = plan.run()
        theirs()
        for mine, tensor in zip(mine_now, tensors):
            torch.testing.assert_close(mine, tensor.grad, rtol=1e-3, atol=1e-3)
        times = [], []
        for _ in range(repeats):
            times[0].append(timed(plan.run))
            times[1].append(timed(theirs))
        mine, other = (statistics.median(t) for t in times)
        pairs = n * (n + 1) / 2 if causal else n * n
        print(f"{name:22} {1e3 * mine:9.2f} {1e3 * other:9.2f} {other / mine:6.2f} "
              f"{14 * b * h * pairs * d / mine / 1e9:8.1f}")


def compare_accuracy(library):
    """Root mean square error against float64 of the same data, ours as a share of PyTorch's."""
    sdpa = torch.nn.functional.scaled_dot_product_attention
    print(f"\n{'rms error':34} {'qkv':>10} {'torch':>10} {'ratio':>6}")
    torch.manual_seed(0)
    for d in (64, 128, 256, 512):
        for causal in (False, True):
            for factor in (1, 3):
                n = 1024
                query, key, value = (torch.randn(1, 4, n, d) for _ in range(3))
                query *= factor
                plan = Plan(library, query, key, value, causal, 0)
                right = sdpa(query.double(), key.double(), value.double(), is_causal=causal)
                rms = lambda x: (x.double() - right).pow(2).mean().sqrt().item()
                mine, theirs = rms(plan.run()), rms(sdpa(query, key, value, is_causal=causal))
                print(f"1x4x{n}x{d}{' causal' if causal else '':8}{' q times 3' if factor == 3 else '':12}"
                      f"{'':6} {mine:10.3e} {theirs:10.3e} {mine / theirs:6.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--accuracy", action="store_true", help="compare errors too")
    parser.add_argument("--gradients", action="store_true", help="forward and backward instead")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    library = load_library()
    print(f"PyTorch {torch.__version__}, {arguments.threads} thread(s), medians of "
          f"{arguments.repeats} interleaved repeats")
    if arguments.gradients:
        compare_gradients(library, arguments.threads, arguments.repeats)
        return
    compare_speed(library, arguments.threads, arguments.repeats)
    if arguments.accuracy:
        compare_accuracy(library)


if __name__ == "__main__":
    main()
