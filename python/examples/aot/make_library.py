"""A kernel for programs without Python: compiles `saxpy` and writes it as a library for C and C++.

python make_library.py build/saxpy            # for the CPU
python make_library.py build/saxpy sm_80 sm_90a
cmake -S . -B build -DCMAKE_PREFIX_PATH=$PWD/build/saxpy && cmake --build build && build/main
"""

import sys

import tilec
import tilec.language as T

N = T.dynamic("N")


@T.prim_func
def saxpy(X: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "float32"), a: T.float32):
    with T.Kernel(T.ceildiv(N, 1024), threads=128) as b:
        for i in T.Parallel(1024):
            if b * 1024 + i < N:
                Y[b * 1024 + i] = a * X[b * 1024 + i] + Y[b * 1024 + i]


if __name__ == "__main__":
    directory, *chips = sys.argv[1:]
    chips = chips or ["cpu"]
    tilec.compile(saxpy, target=chips[0]).export_library(directory, chips)
