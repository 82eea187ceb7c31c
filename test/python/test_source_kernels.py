"""Source kernels in Python: what is told apart, what reaches the IR, and what compilers say."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tilec
import tilec.language as T
from tilec import _tl
from tilec.errors import ArgumentError, CompileError, ShapeError, TLSyntaxError

TOOLS = json.loads(_tl.toolchain_info())
needs_compiler = pytest.mark.skipif(
    not TOOLS["nvrtc"]["path"] and not TOOLS["nvcc"]["path"], reason="there is no compiler of CUDA C++"
)

N = T.dynamic("N")
VECTOR = T.Tensor((N,), "float32")
EMPTY = "__global__ void f() {}"
COPY = """
extern "C" __global__ void copy(const float *a, float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i];
}
"""


def copy(source: Any, **options: Any) -> tilec.PrimFunc:
    @T.prim_func
    def main(A: VECTOR, B: VECTOR):
        T.CUDASourceCodeKernel(
            T.ceildiv(N, 128),
            threads=128,
            source_code_or_path=source,
            entry_name="copy",
            args=[A, B, T.int32(N)],
            **options,
        )

    return main


def build(**options: Any) -> None:
    module = T.Module()
    with module, module.function("f", A=T.Tensor((4, 8), "float32"), n=T.int32) as (A, n):
        named = {"A": A, "n": n}
        given = {k: v(**named) if callable(v) else v for k, v in options.items()}
        T.CUDASourceCodeKernel(1, **given)


# What reaches the IR.


def test_file(ir: Callable[[tilec.PrimFunc], str], tmp_path: Path) -> None:
    file = tmp_path / "copy.cu"
    file.write_text(COPY)
    for path in (file, str(file)):
        text = ir(copy(path))
        assert 'entry("copy") blocks' in text
        assert f'file = "{file}"' in text


def test_file_is_read_when_it_is_compiled(tmp_path: Path) -> None:
    file = tmp_path / "copy.cu"
    file.write_text(COPY)
    function = copy(file)
    file.unlink()
    with pytest.raises(CompileError, match=r"cannot read the source file `.*copy\.cu`: No such file"):
        tilec.compile(function, target="sm_90a")


def test_function_travels_with_its_source(tmp_path: Path, ir: Callable[[tilec.PrimFunc], str]) -> None:
    file = tmp_path / "copy.cu"
    file.write_text(COPY)
    function = pickle.loads(pickle.dumps(copy(file)))
    file.unlink()
    assert "blockIdx.x * blockDim.x" in ir(function)


@needs_compiler
def test_changed_files_are_seen_by_the_same_process(tmp_path: Path) -> None:
    """Source, header, a header that is put before another, and one that is gone: each call looks again."""
    file, header = tmp_path / "scale.cu", tmp_path / "factor.h"
    file.write_text('#include "factor.h"\nextern "C" __global__ void scale(float *a) { a[0] *= FACTOR; }')
    header.write_text("#define FACTOR 5.0f\n")

    @T.prim_func
    def main(A: VECTOR):
        T.CUDASourceCodeKernel(1, threads=1, source_code_or_path=file, entry_name="scale", args=[A])

    @tilec.jit(target="sm_90a")
    def lazy():
        return main

    def factors() -> set[bool]:
        return {f"0f{bits}" in kernel.get_ptx() for kernel in (tilec.compile(main, target="sm_90a"), lazy())}

    bits = "40A00000"
    assert factors() == {True}
    assert lazy() is lazy()
    header.write_text("#define FACTOR 3.0f\n")
    assert factors() == {False}
    bits = "40400000"
    assert factors() == {True}
    file.write_text('#include "factor.h"\nextern "C" __global__ void scale(float *a) { a[0] *= FACTOR * FACTOR; }')
    bits = "41100000"
    assert factors() == {True}
    header.unlink()
    for again in (lambda: tilec.compile(main, target="sm_90a"), lazy):
        with pytest.raises(CompileError, match=r"factor\.h"):
            again()


@needs_compiler
def test_source_that_is_not_utf8(tmp_path: Path) -> None:
    file = tmp_path / "copy.cu"
    file.write_bytes(b"// caf\xe9\n" + COPY.encode())
    kernel = tilec.compile(copy(file), target="sm_90a")
    assert "// caf\\xe9" in kernel.get_kernel_source()


def test_inline_text_knows_its_place(ir: Callable[[tilec.PrimFunc], str]) -> None:
    @T.prim_func
    def f(A: VECTOR):
        T.CUDASourceCodeKernel(
            1,
            args=[],
            source_code_or_path="""
__global__ void somewhere() {}""",
        )

    line = Path(__file__).read_text().split("__global__ void somewhere", 1)[0].count("\n")
    assert f'file = "{__file__}", line = {line}>' in ir(f)


def test_everything(ir: Callable[[tilec.PrimFunc], str]) -> None:
    @T.prim_func
    def f(A: VECTOR, W: VECTOR, n: T.int32):
        T.CUDASourceCodeKernel(
            4,
            2,
            threads=(8, 8),
            source_code_or_path=[EMPTY, "__global__ void g() {}"],
            entry_name="f",
            cluster_dims=(2, 1),
            args=[A, n, T.TensorMap(A, box=[64], swizzle=32)],
            shared_memory=N * 4,
            prelude="#define ONE 1",
            compile_flags=["-DN=4"],
            include_paths=[Path("include")],
            symbols={"w": W},
            cooperative=True,
            dependent=True,
        )

    text = ir(f)
    assert 'entry("f") prelude "#define ONE 1" flags ["-DN=4"] include_paths ["include"] blocks' in text
    assert "threads(8, 8) cluster(2, 1) shared(" in text
    assert ") cooperative dependent args(" in text
    assert "#tl.param<base, 0>, #tl.param<scalar, 1, type = i32>" in text
    assert "#tl.param<tensor_map, 2, box = [64], swizzle = 32, type = f32>" in text
    assert 'symbols ["w"](' in text


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"source_code_or_path": ""}, ArgumentError, "must not be empty"),
        ({"source_code_or_path": " \n"}, ArgumentError, "must not be empty"),
        ({"source_code_or_path": []}, ArgumentError, "must not be empty"),
        ({"source_code_or_path": 3}, ArgumentError, "is text, a path, or a list of them, not int"),
        ({"source_code_or_path": "missing/file.cu"}, ArgumentError, "there is no CUDA source file `missing/file.cu`"),
        ({"source_code_or_path": "file.cu"}, ArgumentError, "there is no CUDA source file"),
        ({"source_code_or_path": Path("file")}, ArgumentError, "there is no CUDA source file"),
        ({"source_code_or_path": Path(EMPTY)}, ArgumentError, "is a `Path` that holds source code"),
        ({"source_code_or_path": "file.cu\n"}, ArgumentError, "looks like a path with line breaks: pass 'file.cu'"),
        ({"source_code_or_path": "scale"}, ArgumentError, "'scale' is neither CUDA source, which has"),
        ({"source_code_or_path": os.curdir}, ArgumentError, "`.` is a folder, not a CUDA source file"),
        ({"source_code_or_path": os.devnull}, ArgumentError, "is neither|there is no"),
        ({"source_code_or_path": EMPTY, "entry_name": ""}, ArgumentError, "`entry_name` must not be empty"),
        ({"source_code_or_path": EMPTY, "args": [1]}, ArgumentError, "give the constant 1 a type"),
        ({"source_code_or_path": EMPTY, "compile_flags": "-DN"}, ArgumentError, "`compile_flags` is a list"),
        ({"source_code_or_path": EMPTY, "include_paths": "x"}, ArgumentError, "`include_paths` is a list"),
        (
            {"source_code_or_path": EMPTY, "symbols": {"w": 3}},
            ArgumentError,
            "the variable `w` is set from an argument",
        ),
        (
            {"source_code_or_path": EMPTY, "args": lambda A, n: [T.TensorMap(A, box=[8])]},
            ShapeError,
            "`box` needs one extent for each of the tensor's 2 dimensions",
        ),
        (
            {"source_code_or_path": EMPTY, "args": lambda A, n: [T.TensorMap(A, box=[8, 8], swizzle=7)]},
            ArgumentError,
            "`swizzle` is 0, 32, 64 or 128 bytes, not 7",
        ),
        ({"source_code_or_path": EMPTY, "threads": 2048}, ShapeError, "at most 1024 threads"),
    ],
)
def test_wrong_source_kernels(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build(**options)


def test_empty_file(tmp_path: Path) -> None:
    (tmp_path / "a.cu").touch()
    with pytest.raises(ArgumentError, match="is empty"):
        build(source_code_or_path=tmp_path / "a.cu")


def test_belongs_beside_kernels() -> None:
    with pytest.raises(TLSyntaxError, match="belongs directly inside the function"):

        @T.prim_func
        def f(A: VECTOR):
            with T.Kernel(1):
                T.CUDASourceCodeKernel(1, source_code_or_path=EMPTY)


def test_not_on_the_cpu() -> None:
    with pytest.raises(CompileError, match="source kernel `copy` is device code, and cannot be compiled for `cpu`"):
        tilec.compile(copy(COPY), target="cpu")


# What comes out.


@needs_compiler
def test_source_is_verbatim() -> None:
    kernel = tilec.compile(copy(COPY), target="sm_90a")
    assert COPY in kernel.get_kernel_source()
    assert ".entry copy(" in kernel.get_ptx()
    (launch,) = kernel.compile_info["functions"]["main"]["launches"]
    assert launch["kernel"] == "copy"


TRAITS = """
template <typename T> struct Traits { typedef double type; };
template <typename T> __global__ void scale(typename Traits<T>::type *x, T factor) { x[0] *= factor; }
"""


@needs_compiler
@pytest.mark.parametrize(
    ("entry", "argument", "message"),
    [
        (
            "scale<float>",
            T.float32,
            r"is given `float \*` for `Traits<T>::type \*x`, which is of another type",
        ),
        (
            "scale<int, 2>",
            T.float32,
            r"`scale<int, 2>` cannot be named at the end of the source: cannot determine which",
        ),
    ],
)
def test_types_that_only_the_compiler_knows(entry: str, argument: Any, message: str) -> None:
    """What the text does not say of a parameter is held against the launch when it is compiled, and said there."""

    @T.prim_func
    def f(A: VECTOR, factor: argument):
        T.CUDASourceCodeKernel(1, threads=1, entry_name=entry, args=[A, factor], source_code_or_path=TRAITS)

    line = Path(__file__).read_text().split("entry_name=entry, args=[A, factor]", 1)[0].count("\n") + 1
    with pytest.raises(CompileError, match=message) as caught:
        tilec.compile(f, target="sm_90a")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.file, diagnostic.line) == (__file__, line)


@needs_compiler
def test_types_that_only_the_compiler_knows_fit() -> None:
    @T.prim_func
    def f(A: T.Tensor((N,), "float64"), factor: T.float32):
        T.CUDASourceCodeKernel(1, threads=1, entry_name="scale<float>", args=[A, factor], source_code_or_path=TRAITS)

    kernel = tilec.compile(f, target="sm_90a")
    assert "tl_" not in kernel.get_ptx()
    assert "tl_" not in kernel.get_kernel_source()


@needs_compiler
def test_kernel_that_a_macro_makes() -> None:
    """The compiler pastes; whoever launches the result names it and says what it takes."""
    source = "#define MAKE(T) __global__ void fill_##T(T *x) { x[0] = 1; }\nMAKE(float)\n"

    @T.prim_func
    def f(A: VECTOR):
        T.CUDASourceCodeKernel(1, threads=1, entry_name="fill_float", args=[A], source_code_or_path=source)

    @T.prim_func
    def g(A: VECTOR):
        T.CUDASourceCodeKernel(1, threads=1, entry_name="fill_float", source_code_or_path=source)

    assert "fill_float" in tilec.compile(f, target="sm_90a").get_ptx()
    with pytest.raises(CompileError, match="one that a macro makes needs its name and `args`"):
        tilec.compile(g, target="sm_90a")


@needs_compiler
def test_bounds_that_only_the_compiler_knows() -> None:
    @T.prim_func
    def f(A: VECTOR):
        T.CUDASourceCodeKernel(
            1,
            threads=256,
            entry_name="f<64>",
            args=[A],
            source_code_or_path="template <int N> __global__ void __launch_bounds__(2 * N) f(float *x) {}",
        )

    with pytest.raises(CompileError, match="launches 256 threads; `__launch_bounds__` allows 128"):
        tilec.compile(f, target="sm_90a")


@needs_compiler
def test_header_after_a_string_that_looks_like_a_comment(tmp_path: Path) -> None:
    (tmp_path / "value.h").write_text("#define VALUE 5.0f\n")
    file = tmp_path / "f.cu"
    file.write_text(
        '__device__ const char text[] = R"(/*)";\n#include "value.h"\n'
        'extern "C" __global__ void f(float *x) { x[0] = VALUE + text[0]; }\n'
    )

    @T.prim_func
    def f(A: VECTOR):
        T.CUDASourceCodeKernel(1, threads=1, entry_name="f", args=[A], source_code_or_path=file)

    assert tilec.compile(f, target="sm_90a").get_ptx()


@needs_compiler
def test_errors_are_in_the_users_file(tmp_path: Path) -> None:
    file = tmp_path / "copy.cu"
    file.write_text(COPY.replace("a[i]", "c[i]"))
    with pytest.raises(CompileError) as caught:
        tilec.compile(copy(file), target="sm_90a")
    (first, *_) = caught.value.diagnostics
    assert (first.file, first.line) == (str(file), 4)
    assert 'identifier "c" is undefined' in first.message
    assert "extern" not in str(caught.value), "the program is not dumped"


@needs_compiler
def test_errors_are_in_the_users_program() -> None:
    @T.prim_func
    def f(A: VECTOR):
        T.CUDASourceCodeKernel(
            1,
            entry_name="wrong",
            args=[A],
            source_code_or_path="""
extern "C" __global__ void wrong(float *a) {
  a[0] = undefined_name;
}""",
        )

    line = Path(__file__).read_text().split("a[0] = undefined_name", 1)[0].count("\n") + 1
    with pytest.raises(CompileError) as caught:
        tilec.compile(f, target="sm_90a")
    assert (caught.value.diagnostics[0].file, caught.value.diagnostics[0].line) == (__file__, line)


@needs_compiler
def test_errors_in_headers_are_there(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "include").mkdir()
    (tmp_path / "src" / "copy.cu").write_text('#include "../include/wrong.h"\n' + COPY)
    (tmp_path / "include" / "wrong.h").write_text("\n__device__ int wrong() { return nothing; }\n")
    with pytest.raises(CompileError) as caught:
        tilec.compile(copy(tmp_path / "src" / "copy.cu"), target="sm_90a")
    (first, *_) = caught.value.diagnostics
    assert (first.file, first.line) == (str(tmp_path / "include" / "wrong.h"), 2)


@needs_compiler
def test_arguments_are_compared_with_what_was_compiled() -> None:
    @T.prim_func
    def f(A: VECTOR, B: VECTOR):
        T.CUDASourceCodeKernel(1, entry_name="copy", args=[A, B, T.int64(N)], source_code_or_path=COPY)

    with pytest.raises(CompileError, match=r"\(pointer, pointer, i64\)|int64|i64"):
        tilec.compile(f, target="sm_90a")


PROGRAM = """
    import sys, tilec, tilec.language as T
    N = T.dynamic("N")
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        T.CUDASourceCodeKernel(1, threads=32, source_code_or_path=sys.argv[1], entry_name="f", args=[A],
                               include_paths=[sys.argv[1].replace("f.cu", "include")])
    kernel = tilec.compile(main, target="sm_90a")
    print(kernel.cached)
"""


@needs_compiler
def test_cache(tmp_path: Path) -> None:
    """Editing a comment in a header compiles again; its time stamp and where the project lies do not matter."""
    project = tmp_path / "project"
    (project / "include").mkdir(parents=True)
    (project / "f.cu").write_text('#include "near.h"\nextern "C" __global__ void f(float *x) { *x = VALUE; }\n')
    (project / "near.h").write_text("#include <far.h>\n")
    (project / "include" / "far.h").write_text("#define VALUE 1 // one\n")
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))

    def is_cached(where: Path) -> bool:
        environment = {**os.environ, "TL_CACHE_DIR": str(tmp_path / "cache")}
        environment.pop("TL_DISABLE_CACHE", None)
        run = subprocess.run(
            [sys.executable, str(tmp_path / "program.py"), str(where / "f.cu")],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        return run.stdout.strip() == "True"

    assert not is_cached(project)
    assert is_cached(project)
    os.utime(project / "include" / "far.h")
    assert is_cached(project)
    shutil.move(project, tmp_path / "moved")
    assert is_cached(tmp_path / "moved")
    (tmp_path / "moved" / "include" / "far.h").write_text("#define VALUE 1 // a one\n")
    assert not is_cached(tmp_path / "moved")
    # A header that is found earlier takes the place of the other.
    (tmp_path / "moved" / "include" / "near.h").write_text("#define VALUE 2\n")
    assert is_cached(tmp_path / "moved"), "the one beside the file comes first"
    (tmp_path / "moved" / "near.h").unlink()
    assert not is_cached(tmp_path / "moved")


@needs_compiler
def test_temporary_files_go_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    tilec.compile(copy(COPY + "// another text\n"), target="sm_90a")
    assert list(tmp_path.iterdir()) == []


@needs_compiler
def test_they_stay_where_asked_for(tmp_path: Path) -> None:
    tilec.compile(copy(COPY + "// a third text\n"), target="sm_90a", dump_dir=str(tmp_path))
    (folder,) = tmp_path.glob("cuda-*")
    assert "a third text" in (folder / "copy.cu").read_text()
