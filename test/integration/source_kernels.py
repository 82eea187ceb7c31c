"""CUDA C++ kernels as they are published, with the functions that launch them."""

import pathlib

import tilec.language as T

FOLDER = pathlib.Path(__file__).parent / "cuda"


def source(name, inline):
    """The kernel `name`, as the text of its file or as the path."""
    path = FOLDER / f"{name}.cu"
    return path.read_text() if inline else path


def saxpy(inline):
    N = T.dynamic("N")

    @T.prim_func
    def saxpy(X: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "float32"), a: T.float32):
        T.CUDASourceCodeKernel(
            T.ceildiv(N, 256),
            threads=256,
            source_code_or_path=source("saxpy", inline),
            entry_name="saxpy",
            args=[T.int32(N), a, X, Y],
        )

    return saxpy


def transpose(inline):
    M, N = T.dynamic("M"), T.dynamic("N")

    @T.prim_func
    def transpose(A: T.Tensor((M, N), "float32"), B: T.Tensor((N, M), "float32")):
        T.CUDASourceCodeKernel(
            T.ceildiv(N, 32),
            T.ceildiv(M, 32),
            threads=(32, 8),
            source_code_or_path=source("transpose", inline),
            entry_name="transpose",
            args=[A, B, T.int32(M), T.int32(N)],
        )

    return transpose


def reduce_sum(inline, threads=256):
    N, BLOCKS = T.dynamic("N"), T.dynamic("BLOCKS")

    @T.prim_func
    def reduce_sum(A: T.Tensor((N,), "float32"), P: T.Tensor((BLOCKS,), "float32")):
        T.CUDASourceCodeKernel(
            BLOCKS,
            threads=threads,
            source_code_or_path=source("reduce", inline),
            entry_name="reduce_sum",
            args=[A, P, T.int32(N)],
            shared_memory=threads * 4,
        )

    return reduce_sum


def histogram(inline):
    N = T.dynamic("N")

    @T.prim_func
    def histogram(X: T.Tensor((N,), "uint8"), H: T.Tensor((256,), "int32")):
        # A tile kernel clears what the other one counts in.
        with T.Kernel(2, threads=128) as block, T.Parallel(128) as i:
            H[block * 128 + i] = 0
        T.CUDASourceCodeKernel(
            64,
            threads=256,
            source_code_or_path=source("histogram", inline),
            entry_name="histogram",
            args=[X, H, T.int64(N)],
        )

    return histogram


def templated(inline, dtype="float32", width=4):
    N = T.dynamic("N")
    ctype = {"float32": "float", "int32": "int", "float64": "double"}[dtype]

    @T.prim_func
    def templated(X: T.Tensor((N,), dtype), Y: T.Tensor((N,), dtype)):
        T.CUDASourceCodeKernel(
            T.ceildiv(N, 128 * width),
            threads=128,
            source_code_or_path=source("square", inline),
            entry_name=f"math::square<{ctype}, {width}>",
            args=[X, Y, T.int32(N)],
        )

    return templated


def grid_sync(inline, blocks=64):
    N = T.dynamic("N")

    @T.prim_func
    def grid_sync(X: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "float32"), P: T.Tensor((blocks,), "float32")):
        T.CUDASourceCodeKernel(
            blocks,
            threads=128,
            source_code_or_path=source("normalize", inline),
            entry_name="normalize",
            args=[X, Y, P, T.int32(N)],
            cooperative=True,
        )

    return grid_sync


def cluster(inline, size=4):
    N = T.dynamic("N")

    @T.prim_func
    def cluster(X: T.Tensor((N,), "int32"), H: T.Tensor((1024,), "int32")):
        T.CUDASourceCodeKernel(
            size * 8,
            threads=256,
            source_code_or_path=source("cluster_histogram", inline),
            entry_name="cluster_histogram",
            args=[X, H, T.int32(N)],
            cluster_dims=(size,),
            shared_memory=1024 // size * 4,
        )

    return cluster


def constant_filter(inline, taps=9):
    N = T.dynamic("N")

    @T.prim_func
    def constant_filter(X: T.Tensor((N,), "float32"), W: T.Tensor((taps,), "float32"), Y: T.Tensor((N,), "float32")):
        T.CUDASourceCodeKernel(
            T.ceildiv(N, 256),
            threads=256,
            source_code_or_path=source("filter", inline),
            entry_name="filter",
            args=[X, Y, T.int32(N)],
            compile_flags=[f"-DTAPS={taps}"],
            symbols={"weights": W},
        )

    return constant_filter


def scan(inline):
    ROWS = T.dynamic("ROWS")

    @T.prim_func
    def scan(X: T.Tensor((ROWS, 1024), "int32"), Y: T.Tensor((ROWS, 1024), "int32")):
        T.CUDASourceCodeKernel(
            ROWS, threads=1024, source_code_or_path=source("scan", inline), entry_name="scan_rows", args=[X, Y]
        )

    return scan


def mma_gemm(inline):
    M, N, K = T.dynamic("M"), T.dynamic("N"), T.dynamic("K")

    @T.prim_func
    def mma_gemm(A: T.Tensor((M, K), "float16"), B: T.Tensor((N, K), "float16"), C: T.Tensor((M, N), "float32")):
        T.CUDASourceCodeKernel(
            T.ceildiv(N, 8),
            T.ceildiv(M, 16),
            threads=32,
            source_code_or_path=source("mma", inline),
            entry_name="mma_gemm",
            args=[A, B, C, T.int32(M), T.int32(N), T.int32(K)],
        )

    return mma_gemm


ALL = [saxpy, transpose, reduce_sum, histogram, templated, grid_sync, cluster, constant_filter, scan, mma_gemm]
