#!/usr/bin/env python3
"""big_trace.py FILE BYTES - a trace in the form of PyTorch's profiler, for the reader's time and memory:

    tests/bench/big_trace.py /tmp/big.json 2000000000
    \\time -v build/orrery compare --trace /tmp/big.json

Of 60 events 53 are Python functions, four operators, two launches and one a kernel or a collective, as in a real trace
that was taken with stacks. A name that ends in .gz is compressed.
"""

import gzip
import json
import sys

KERNELS = ["nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN", "flash_fwd_kernel",
           "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
           "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)"]
PERIOD_US = 60


def block(start):
    """One kernel and what surrounds it."""
    for i in range(53):
        yield {"ph": "X", "cat": "python_function", "name": f"torch/nn/modules/module.py(1553): _call_impl_{i}", "pid": 7, "tid": 7,
               "ts": start + i, "dur": 1.5, "args": {"Python id": i, "Python parent id": i - 1, "Ev Idx": i}}
    for i in range(4):
        yield {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 7, "tid": 7, "ts": start + 53 + i, "dur": 0.9,
               "args": {"External id": i, "Record function id": 0, "Input Dims": [[8192, 8192], [8192, 8192]]}}
    for name in ("cudaLaunchKernel", "cudaStreamSynchronize"):
        yield {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 7, "tid": 7, "ts": start + 58, "dur": 1.0, "args": {"cbid": 211}}
    number = int(start / PERIOD_US)
    yield {"ph": "X", "cat": "kernel", "name": KERNELS[number % len(KERNELS)], "pid": 0, "tid": 7, "ts": start + 10, "dur": 45.125,
           "args": {"device": 0, "stream": 7, "correlation": number, "grid": [512, 1, 1], "block": [256, 1, 1]}}


def main():
    path, size = sys.argv[1], int(sys.argv[2])
    written = number = 0
    with (gzip.open(path, "wt", compresslevel=1) if path.endswith(".gz") else open(path, "w", encoding="ascii")) as out:
        out.write('{"schemaVersion": 1, "traceEvents": [\n')
        while written < size:
            if number % 1000 == 0:
                step = {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number // 1000}", "pid": 7, "tid": 7,
                        "ts": number * PERIOD_US, "dur": 1000 * PERIOD_US}
                out.write(json.dumps(step) + ",\n")
            text = ",\n".join(json.dumps(event) for event in block(number * PERIOD_US))
            written += len(text) + 2
            number += 1
            out.write(text + (",\n" if written < size else "\n"))
        out.write("]}\n")


main()
