"""`nvrtc`: CUDA C++ from tile kernels, compiled in the process. What it shows, what it keys, and what it says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tilec
import tilec.language as T
from tilec import _tl, backends
from tilec.errors import BackendError, CompileError

TOOLS = json.loads(_tl.toolchain_info())
needs_nvrtc = pytest.mark.skipif(not TOOLS["nvrtc"]["path"], reason="there is no NVRTC here")
has_assembler = bool(TOOLS["nvjitlink"]["path"] or TOOLS["ptxas"]["path"])
compilers = pytest.mark.parametrize(
    "backend",
    [
        pytest.param("nvrtc", marks=needs_nvrtc),
        pytest.param("nvcc", marks=pytest.mark.skipif(not TOOLS["nvcc"]["path"], reason="there is no nvcc here")),
    ],
)
CHIP = {"target": "sm_90a", "backend": "nvrtc", "assembler": "none"}


@T.prim_func
def scale(A: T.Tensor((64, 128), "float32"), B: T.Tensor((64, 128), "float32"), factor: T.float32):
    with T.Kernel(8, threads=128) as block:
        tile = T.alloc_fragment((8, 128), "float32")
        T.copy(A[block * 8, 0], tile)
        for i, j in T.Parallel(8, 128):
            tile[i, j] = tile[i, j] * factor  # a remark
        T.copy(tile, B[block * 8, 0])


def compile_anew(function: tilec.PrimFunc = scale, **options: object) -> tilec.Kernel:
    """Compiles as a new process would, with the directory alone to draw on."""
    tilec.cache.clear(kernels=False, tuning=False)
    return tilec.compile(function, **{**CHIP, **options})  # pyright: ignore[reportArgumentType]


# What it shows.


@needs_nvrtc
def test_the_source_is_cuda_in_the_users_words() -> None:
    kernel = tilec.compile(scale, **CHIP)
    source = kernel.get_kernel_source()
    assert source.startswith("#include <tl/cuda.h>\n")
    assert 'extern "C" __global__ void' in source
    for name in ("A", "B", "factor", "tile", "block"):
        assert re.search(rf"\b{name}\b", source), f"`{name}` is a name of the program"
    assert "// tile[i, j] = tile[i, j] * factor\n" in source, "statements are shown, without their comments"
    assert "asm" not in source
    assert "NVVM Compiler" in kernel.get_ptx()


@needs_nvrtc
@pytest.mark.usefixtures("own_cache")
def test_the_text_is_the_same_without_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    cached = compile_anew().get_kernel_source()
    monkeypatch.setenv("TL_DISABLE_CACHE", "1")
    assert compile_anew().get_kernel_source() == cached


# What it keys.

PROGRAM = """
import json
import tilec, tilec.language as T

@T.prim_func
def scale(A: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=64):
        tile = T.alloc_fragment((64,), "float32")
        for i in T.Parallel(64):
            tile[i] = A[i] * 2.0  # a remark
        T.copy(tile, A)

kernels = [tilec.compile(scale, target="sm_90a", backend=b, assembler="none") for b in ("nvptx", "nvrtc")]
print(json.dumps([k.cached for k in kernels]))
"""


@needs_nvrtc
@pytest.mark.usefixtures("own_cache")
def test_what_is_compiled_again(python: Callable[..., str]) -> None:
    """Names and statements are part of this backend's source, and so of its key; places and comments are not."""

    def cached(program: str) -> list[bool]:
        return json.loads(python(program))

    assert cached(PROGRAM) == [False, False]
    assert cached(PROGRAM) == [True, True]
    assert cached("# a comment\n\n" + PROGRAM.replace("a remark", "another")) == [True, True]
    assert cached(re.sub(r"\btile\b", "piece", PROGRAM)) == [True, False]
    assert cached(PROGRAM.replace("* 2.0", "* 3.0")) == [False, False]


# Edits.


@needs_nvrtc
@pytest.mark.usefixtures("own_cache")
def test_a_hook_edits_what_is_compiled() -> None:
    """And a hit does not run it."""
    plain = compile_anew().get_ptx()

    def double(source: str, target: str) -> str:
        return source.replace("* factor", "* factor * 3.0f")

    kernel = compile_anew(postproc=double)
    assert "* factor * 3.0f" in kernel.get_kernel_source()
    assert "0f40400000" in kernel.get_ptx()
    assert "0f40400000" not in plain
    assert not kernel.cached
    assert compile_anew(postproc=double).cached


@needs_nvrtc
@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.usefixtures("own_cache")
def test_a_hook_leaves_alone_what_a_user_wrote(cached: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not cached:
        monkeypatch.setenv("TL_DISABLE_CACHE", "1")

    @T.prim_func
    def mixed(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                A[i] = A[i] + 1.0
        T.CUDASourceCodeKernel(
            1, threads=64, args=[A], source_code_or_path="__global__ void f(float *x) { x[threadIdx.x] += 2; }"
        )

    kernel = compile_anew(mixed, postproc=lambda source, target: f"{source}// edited\n")
    texts = {k["name"]: kernel.file("device_kernel.cu", k["name"]) or b"" for k in kernel.compile_info["kernels"]}
    assert texts.pop("f") == b"__global__ void f(float *x) { x[threadIdx.x] += 2; }"
    (generated,) = texts.values()
    assert generated.endswith(b"}\n// edited\n")


@compilers
@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.usefixtures("own_cache")
def test_an_error_in_edited_text(backend: str, cached: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said to be about the edited text, at its line, in the compiler's words, and shows that line alone."""
    if not cached:
        monkeypatch.setenv("TL_DISABLE_CACHE", "1")
    edited = ""

    def damage(source: str, target: str) -> str:
        nonlocal edited
        edited = source.replace("* factor;", "* no_such_name;")
        return edited

    with pytest.raises(CompileError) as caught:
        compile_anew(postproc=damage, backend=backend)
    said = str(caught.value)
    line = edited[: edited.index("no_such_name")].count("\n") + 1
    assert f"scale_kernel.cu:{line}:" in said, said
    assert 'identifier "no_such_name" is undefined' in said
    assert "note: in the post-processed CUDA C++ of this kernel" in said
    assert f"{__file__}:" in said
    assert "#include" not in said
    assert len(said) < 1000


@needs_nvrtc
def test_a_hook_that_returns_nothing() -> None:
    with pytest.raises(CompileError, match="the post-processor returned no source"):
        tilec.compile(scale, **CHIP, postproc=lambda source, target: "\n")


@compilers
def test_the_text_runs_again_as_a_source_kernel(backend: str) -> None:
    """The header is found from a user's text, and so the edited source of a kernel is one."""
    source = tilec.compile(scale, **CHIP).get_kernel_source()

    @T.prim_func
    def again(A: T.Tensor((64, 128), "float32"), B: T.Tensor((64, 128), "float32"), factor: T.float32):
        T.CUDASourceCodeKernel(8, threads=128, source_code_or_path=source, entry_name="scale_kernel")

    kernel = tilec.compile(again, target="sm_90a", backend=backend, assembler="none")
    assert kernel.get_kernel_source() == source


@needs_nvrtc
def test_a_kernel_with_bulk_copies_runs_again() -> None:
    """What a launch of the text needs stands in the text: tensor maps, and bytes of shared memory."""
    shape = (256, 128)

    @T.prim_func
    def move(A: T.Tensor(shape, "float16"), C: T.Tensor(shape, "float16")):
        with T.Kernel(4, threads=128) as block:
            tile = T.alloc_shared((64, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.clear(acc)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[block * 64, k * 64], tile)
                T.gemm(tile, tile, acc, transpose_B=True)
            T.copy(acc, C[block * 64, 0])

    source = tilec.compile(move, **CHIP).get_kernel_source()
    shared = re.search(r"smem\[\]; // (\d+) bytes", source)
    assert shared is not None

    def arguments(A: object, C: object) -> list[T.TensorMap]:
        return [eval(text, {"T": T, "A": A, "C": C}) for text in re.findall(r"/\* (T\.TensorMap\(.*?\)) \*/", source)]

    @T.prim_func
    def again(A: T.Tensor(shape, "float16"), C: T.Tensor(shape, "float16")):
        T.CUDASourceCodeKernel(
            4,
            threads=128,
            source_code_or_path=source,
            entry_name="move_kernel",
            args=arguments(A, C),
            shared_memory=int(shared[1]),
        )

    kernel = tilec.compile(again, **CHIP)
    assert kernel.get_kernel_source() == source


@compilers
@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("form", ["<tl/cuda.h>", '"tl/cuda.h"'])
def test_the_header_in_a_users_text(backend: str, form: str, tmp_path: Path) -> None:
    source = f"""#include {form}
extern "C" __global__ void f(float *x) {{
  tl::store(x, tl::splat<4>(1.0f));
}}
"""

    def program(**options: object) -> tilec.PrimFunc:
        @T.prim_func
        def f(X: T.Tensor((4,), "float32")):
            T.CUDASourceCodeKernel(1, source_code_or_path=source, args=[X], **options)

        return f

    tilec.cache.clear(kernels=False, tuning=False)
    options = {"target": "sm_90a", "backend": backend, "assembler": "none"}
    assert "st.global.v4" in tilec.compile(program(), **options).get_ptx()
    # Their own header of that name comes first.
    (tmp_path / "tl").mkdir()
    (tmp_path / "tl" / "cuda.h").write_text("#error this is ours\n")
    with pytest.raises(CompileError, match="this is ours"):
        tilec.compile(program(include_paths=[tmp_path]), **options)


# Lines.


def lines_of(ptx: str, file: str) -> list[int]:
    """Returns the lines of a file that instructions of PTX belong to, and fails if there are others."""
    files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', ptx, re.M))
    found = re.findall(r"^\s*\.loc\s+(\d+)\s+(\d+)", ptx, re.M)
    assert {files[number] for number, _ in found} == {file}
    return sorted({int(line) for _, line in found} - {0})  # 0: of no line, such as a jump


def lines_with(text: str) -> list[int]:
    """Returns the numbers of this file's lines that contain a text."""
    return [i for i, line in enumerate(Path(__file__).read_text().split("\n"), 1) if text in line]


@compilers
@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("cached", [True, False])
def test_line_info(backend: str, cached: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Instructions belong to lines of the program, those in functions of the header as well; no folder is named."""
    if not cached:
        monkeypatch.setenv("TL_DISABLE_CACHE", "1")
    monkeypatch.chdir(tmp_path)
    ptx = compile_anew(line_info=True, backend=backend).get_ptx()
    lines = lines_of(ptx, Path(__file__).name)
    start = lines_with("def scale(A: T.Tensor((64, 128)")[0]
    assert lines_with("* factor  # a remark")[0] in lines
    assert start <= lines[0]
    assert lines[-1] <= start + 8
    assert str(tmp_path) not in ptx


@needs_nvrtc
def test_line_info_of_a_users_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Lines of a user's CUDA C++ are those of their files, headers included."""
    # The kernel has the file's path, which is another in each run.
    monkeypatch.setenv("TL_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "src").mkdir()
    (tmp_path / "near.h").write_text("__device__ __forceinline__ float near(float x) {\n  return x * x * x;\n}\n")
    file = tmp_path / "src" / "f.cu"
    file.write_text("""#include "../near.h"

extern "C" __global__ void f(float *x) {
  x[threadIdx.x] = near(x[threadIdx.x]);
}
""")

    @T.prim_func
    def f(X: T.Tensor((32,), "float32")):
        T.CUDASourceCodeKernel(1, threads=32, source_code_or_path=file, args=[X])

    ptx = tilec.compile(f, **CHIP, line_info=True).get_ptx()
    files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', ptx, re.M))
    places = {(files[number], int(line)) for number, line in re.findall(r"\.loc\s+(\d+)\s+(\d+)", ptx)}
    own, header = (next(name for name in files.values() if name.endswith(end)) for end in ("src/f.cu", "near.h"))
    assert {(own, 4), (header, 2)} <= places
    assert os.path.normpath(Path(own).parent / "../near.h") == header


@pytest.mark.skipif(not has_assembler, reason="there is no assembler here")
@needs_nvrtc
def test_line_info_of_machine_code(tmp_path: Path) -> None:
    from tilec.toolkit import find_tool

    tool = find_tool("nvdisasm")
    if tool is None:
        pytest.skip("there is no nvdisasm here")
    kernel = tilec.compile(scale, target="sm_90a", backend="nvrtc", line_info=True)
    path = tmp_path / "lines.cubin"
    path.write_bytes(kernel.file("kernel.cubin") or b"")
    out = subprocess.run([tool, "-g", "-c", str(path)], capture_output=True, text=True, check=True).stdout
    found = set(re.findall(r'//## File "([^"]*)", line (\d+)', out))
    assert {Path(file).name for file, _ in found} == {Path(__file__).name}


# What it needs.


def test_without_nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = backends.find("nvrtc")
    monkeypatch.setattr(type(backend.needs[0]), "is_met", lambda self: False)
    with pytest.raises(
        BackendError, match="`nvrtc` is not available here: there is no `nvrtc`; `pip install nvidia-cuda-nvrtc`"
    ):
        tilec.compile(scale, **CHIP)


def test_it_is_for_gpus() -> None:
    with pytest.raises(BackendError, match="`nvrtc` is for `cuda`, and the target is `cpu`; .* are `cpu`"):
        tilec.compile(scale, target="cpu", backend="nvrtc")


# What it becomes.


@needs_nvrtc
@pytest.mark.skipif(not has_assembler, reason="there is no assembler here")
def test_a_gemm_has_the_same_instructions() -> None:
    """As many multiplications and copies, in as many registers; no loop is unrolled and nothing is spilled."""
    bm, bn, bk = 128, 256, 64

    @T.prim_func
    def gemm(
        A: T.Tensor((1024, 512), "bfloat16"), B: T.Tensor((512, 768), "bfloat16"), C: T.Tensor((1024, 768), "bfloat16")
    ):
        with T.Kernel(768 // bn, 1024 // bm, threads=256) as (bx, by):
            As = T.alloc_shared((bm, bk), "bfloat16")
            Bs = T.alloc_shared((bk, bn), "bfloat16")
            acc = T.alloc_fragment((bm, bn), "float32")
            T.clear(acc)
            for k in T.Pipelined(512 // bk, num_stages=4):
                T.copy(A[by * bm, k * bk], As)
                T.copy(B[k * bk, bx * bn], Bs)
                T.gemm(As, Bs, acc)
            T.copy(acc, C[by * bm, bx * bn])

    kernels = [tilec.compile(gemm, target="sm_90a", backend=backend) for backend in ("nvptx", "nvrtc")]
    counts = [
        [kernel.get_ptx().count(name) for name in ("wgmma.mma_async", "wgmma.wait_group", "cp.async.bulk.tensor")]
        for kernel in kernels
    ]
    assert counts[0] == counts[1]
    registers = [kernel.n_regs for kernel in kernels]
    assert abs(registers[0] - registers[1]) <= 8
    assert [kernel.n_spills for kernel in kernels] == [0, 0]


@needs_nvrtc
@pytest.mark.skipif(not has_assembler, reason="there is no assembler here")
@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
@pytest.mark.parametrize("zeros", ["float32", "float16"])
@pytest.mark.parametrize("steps", [1, 8])
def test_accumulators_have_their_values_before_the_first_wgmma(backend: str, zeros: str, steps: int) -> None:
    """What writes them while one is under way has the assembler wait, which it warns of: C7510 to C7519."""
    m, n, k = 128, 128, 64

    @T.prim_func
    def gemm(
        A: T.Tensor((m, steps * k), "float16"), B: T.Tensor((steps * k, n), "float16"), C: T.Tensor((m, n), "float16")
    ):
        with T.Kernel(1, threads=128):
            As = T.alloc_shared((m, k), "float16")
            Bs = T.alloc_shared((k, n), "float16")
            acc = T.alloc_fragment((m, n), zeros)
            T.clear(acc)
            for i in T.Pipelined(steps, num_stages=min(steps, 3)):
                T.copy(A[0, i * k], As)
                T.copy(B[i * k, 0], Bs)
                T.gemm(As, Bs, acc)
            T.copy(acc, C)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = tilec.compile(gemm, target="sm_90a", backend=backend)
    assert kernel.get_ptx().count("wgmma.mma_async") == 8


@needs_nvrtc
@pytest.mark.skipif(not has_assembler, reason="there is no assembler here")
@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
def test_sums_from_zero_are_not_set_while_others_are_under_way(backend: str) -> None:
    """As with scales of blocks, where one product runs beside the arithmetic of another; else C7517."""
    m, n, k = 128, 128, 128

    @T.prim_func
    def gemm(
        A: T.Tensor((8, m, k), "float8_e4m3"),
        B: T.Tensor((8, n, k), "float8_e4m3"),
        scales: T.Tensor((8, m), "float32"),
        C: T.Tensor((m, n), "bfloat16"),
    ):
        with T.Kernel(1, threads=256):
            As = [T.alloc_shared((m, k), "float8_e4m3") for _ in range(2)]
            Bs = [T.alloc_shared((n, k), "float8_e4m3") for _ in range(2)]
            step = [T.alloc_fragment((m, n), "float32") for _ in range(2)]
            rows = [T.alloc_fragment((m,), "float32") for _ in range(2)]
            acc = T.alloc_fragment((m, n), "float32")
            T.clear(acc)
            for i in T.Pipelined(4, num_stages=2):
                for h in T.unroll(2):
                    T.copy(A[2 * i + h, 0, 0], As[h])
                    T.copy(B[2 * i + h, 0, 0], Bs[h])
                for h in T.unroll(2):
                    T.copy(scales[2 * i + h, 0], rows[h])
                for h in T.unroll(2):
                    T.gemm(As[h], Bs[h], step[h], transpose_B=True, clear_accum=True)
                for h in T.unroll(2):
                    for x, y in T.Parallel(m, n):
                        acc[x, y] += step[h][x, y] * rows[h][x]
            T.copy(acc, C)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = tilec.compile(gemm, target="sm_90a", backend=backend)
    assert kernel.get_sass().count("QGMMA") == 8
    assert kernel.get_sass().count("WARPGROUP.DEPBAR") == 2


@compilers
def test_variables_that_nothing_reads_are_not_warned_of(backend: str) -> None:
    """No user wrote them: here it is what the inner loop leaves for its next run, which looks at none of it."""

    @T.prim_func
    def ranks(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32"), n: T.int32):
        with T.Kernel(1, threads=256):
            S = T.alloc_shared((256,), "int32")
            for k in T.serial(8):
                for _ in T.serial(n):
                    for i in T.Parallel(256):
                        S[i] = T.cast(A[i] == k, "int32")
                    T.cumsum(S)
                    for i in T.Parallel(256):
                        if A[i] == k:
                            B[i] = S[i]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = tilec.compile(ranks, target="sm_90a", backend=backend, assembler="none")
    assert "carried" in kernel.get_kernel_source()


@needs_nvrtc
@pytest.mark.parametrize(("dtype", "bits"), [("float16", 0x7E00), ("bfloat16", 0x7FC0)])
def test_nan_in_16_bits_is_its_bits(dtype: str, bits: int) -> None:
    """No number that is converted."""

    @T.prim_func
    def constant(C: T.Tensor((1,), dtype)):
        with T.Kernel(1, threads=32):
            C[0] = T.infinity(dtype) - T.infinity(dtype)

    ptx = tilec.compile(constant, target="sm_90a", backend="nvrtc", assembler="none").get_ptx()
    assert re.search(rf"mov\.\w+\s+%\w+, {bits};", ptx)
    assert "cvt.rn" not in ptx


# Completeness.


@needs_nvrtc
@pytest.mark.skipif(not has_assembler, reason="there is no assembler here")
def test_programs_of_these_tests(programs: dict[str, tilec.PrimFunc]) -> None:
    """What becomes PTX by way of LLVM becomes machine code by way of CUDA C++.

    It runs last, when all are known, and takes some 300 evenly out of them: all would take minutes.
    """
    texts = sorted(programs)
    chosen = [programs[text] for text in texts[:: max(1, len(texts) // 300)]]

    def check(function: tilec.PrimFunc) -> str:
        try:
            tilec.compile(function, target="sm_90a", backend="nvptx", assembler="none")
        except tilec.TLError:
            return ""
        try:
            kernel = tilec.compile(function, target="sm_90a", backend="nvrtc")
        except CompileError as error:
            return f"{error}\n"
        missing = [k["name"] for k in kernel.compile_info["kernels"] if "kernel.cubin" not in k["files"]]
        return f"no cubin of {missing}\n" if missing else ""

    with ThreadPoolExecutor(2) as pool:
        failures = [failure for failure in pool.map(check, chosen) if failure]
    assert not failures, "\n".join(failures)


HALF_AND_BYTES = """
#include <tl/cuda.h>
extern "C" __global__ void f(signed char *A, signed char *B, int extent) {
  extern __shared__ __align__(1024) unsigned char smem[];
  int t = threadIdx.x;
  tl::half loaded = tl::load<tl::half>(smem + t * 2);
  __syncthreads();
  tl::store<int>(smem + t * 4, t);
  __syncthreads();
  int lane = tl::load<int>(smem + t * 4);
  unsigned bits = (unsigned short)tl::bit_cast<short>(loaded);
  int shuffled = tl::shuffle_idx<int>(bits, lane).first;
  auto bytes = tl::load<tl::vec<signed char, 4>>(smem + t * 4 + 4096);
  if (t < extent)
    tl::store<tl::vec<signed char, 4>>(A + t * 4, bytes);
  tl::vec<signed char, 2> both;
  #pragma unroll
  for (int i = 0; i < 2; ++i)
    both[i] = (signed char)-9ll;
  if (t < extent && t < 50)
    tl::store<tl::vec<signed char, 2>>(B + t * 2, tl::slice<2>(both, 0));
  if (t > 100)
    B[t] = shuffled;
}
"""


@compilers
def test_a_load_is_done_where_it_stands(backend: str) -> None:
    """NVVM 7 did half of a load of two bytes behind the store, where `load` and `bit_cast` were a `memcpy`."""

    @T.prim_func
    def program(A: T.Tensor((512,), "int8"), B: T.Tensor((512,), "int8"), extent: T.int32):
        T.CUDASourceCodeKernel(
            1, threads=128, shared_memory=8192, args=[A, B, extent], source_code_or_path=HALF_AND_BYTES, entry_name="f"
        )

    ptx = tilec.compile(program, target="sm_90", backend=backend, assembler="none").get_ptx()
    accesses = re.findall(r"\b(ld|st)\.shared\.(\w+)", ptx)
    assert accesses == [("ld", "u16"), ("st", "u32"), ("ld", "u32"), ("ld", "u32")]


def test_text_has_the_programs_names_and_ptx_is_shared() -> None:
    @T.prim_func
    def first(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            A_shared = T.alloc_shared((64, 64), "float32")
            row_sum = T.alloc_fragment((64,), "float32")
            T.copy(A, A_shared)
            T.reduce_sum(A_shared, row_sum, dim=1)
            for i in T.Parallel(64):
                B[i] = abs(row_sum[i])

    @T.prim_func
    def second(X: T.Tensor((64, 64), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared((64, 64), "float32")
            total = T.alloc_fragment((64,), "float32")
            T.copy(X, tile)
            T.reduce_sum(tile, total, dim=1)
            for j in T.Parallel(64):
                Y[j] = abs(total[j])

    texts = [tilec.compile(f, **CHIP).get_kernel_source() for f in (first, second)]
    for text, names, others in zip(texts, ("A A_shared", "X tile"), ("X tile", "A A_shared"), strict=True):
        assert re.search(rf"// smem \+ 0: {names.split()[1]}, 16384 bytes", text)
        assert all(re.search(rf"\b{name}\b", text) for name in names.split())
        assert not any(re.search(rf"\b{name}\b", text) for name in others.split())
        assert "fabsf(" in text
    ptx = [tilec.compile(f, target="sm_90a", backend="nvptx").get_ptx() for f in (first, second)]
    assert ptx[0].replace("first", "second") == ptx[1]
