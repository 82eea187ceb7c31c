"""Kernels that are written in CUDA C++ and launched beside tile kernels."""

from __future__ import annotations

from .. import _ops
from ..buffers import Buffer
from ..builder import current
from ..errors import ArgumentError, ShapeError, TLSyntaxError
from ..location import quote
from ..typed import TYPE_CHECKING
from ..types import as_tuple
from ..values import Expr, index_value, simplify
from .kernel import block_threads, cluster_extents, grid_extents

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from ..ir import Value

_SUFFIXES = (".cu", ".cuh", ".cuda", ".cpp", ".cc", ".c", ".ptx", ".cubin")
_SWIZZLES = (0, 32, 64, 128)


class TensorMap:
    """A tensor as the tensor memory accelerator sees it: a `const __grid_constant__ CUtensorMap` parameter.

    - `tensor`: an argument of the function.
    - `box`: the extents of the tile that one copy moves, in the order of the tensor's dimensions.
    - `swizzle`: 0, 32, 64 or 128 bytes.

    Elements outside of the tensor read as zero. The innermost extent takes a multiple of 16 bytes, and no more than
    the swizzle if there is one.

    >>> @T.prim_func
    ... def main(A: T.Tensor((256, 64), "float16")):
    ...     T.CUDASourceCodeKernel(4, threads=128, entry_name="take", args=[T.TensorMap(A, box=[64, 64], swizzle=128)],
    ...         source_code_or_path='''
    ... struct alignas(64) CUtensorMap { char opaque[128]; };
    ... extern "C" __global__ void take(const __grid_constant__ CUtensorMap map) {}''')
    """

    def __init__(self, tensor: Buffer, box: Sequence[int], swizzle: int = 0) -> None:
        location = current().here()
        if tensor.parameter is None:
            raise ArgumentError("a tensor map is of an argument of the function", location=location)
        if len(box) != len(tensor.shape) or not 1 <= len(box) <= 5:
            raise ShapeError(
                f"`box` needs one extent for each of the tensor's {len(tensor.shape)} dimensions (1 to 5), "
                f"not {len(box)}",
                location=location,
            )
        if swizzle not in _SWIZZLES:
            raise ArgumentError(f"`swizzle` is 0, 32, 64 or 128 bytes, not {swizzle!r}", location=location)
        self.tensor = tensor
        self.box = tuple(box)
        self.swizzle = swizzle


class Struct:
    """A struct that is passed by value: `T.Struct(A, T.int32(N), T.float32(0.5))`.

    - `members`: tensors (their address) and numbers with a type, in their order. They are laid out as C lays out a
      struct of such members.

    >>> @T.prim_func
    ... def main(A: T.Tensor((256,), "float32"), factor: T.float32):
    ...     T.CUDASourceCodeKernel(2, threads=128, entry_name="scale", args=[T.Struct(A, factor)],
    ...         source_code_or_path='struct P { float *a; float f; }; extern "C" __global__ void scale(P p) {}')
    """

    def __init__(self, *members: Any) -> None:
        if not members:
            raise ArgumentError("a struct needs a member", location=current().here())
        for member in members:
            if isinstance(member, Struct | TensorMap):
                raise ArgumentError(
                    f"a struct has tensors and numbers, not a `T.{type(member).__name__}`", location=current().here()
                )
        self.members = members


def CUDASourceCodeKernel(
    *blocks: Any,
    threads: Any = None,
    source_code_or_path: str | Path | Sequence[str | Path],
    entry_name: str | None = None,
    cluster_dims: Any = None,
    args: Sequence[Any] | None = None,
    shared_memory: Any = None,
    prelude: str | None = None,
    compile_flags: Sequence[str] = (),
    include_paths: Sequence[str | Path] = (),
    symbols: Mapping[str, Buffer] | None = None,
    cooperative: bool = False,
    dependent: bool = False,
) -> None:
    """Launches a `__global__` function of CUDA C++, given as text or as a file.

    - `blocks`, `threads`, `cluster_dims`: as for `T.Kernel`; a statement of the function, beside its kernels.
    - `source_code_or_path`: the text, or the path of a file: `.cu`, or `.ptx` or `.cubin`. Files, and the headers that
      they include, are read when the function is compiled, and looked at again whenever it is. A list of several is
      linked together.
    - `entry_name`: the function, as code after the text would name it: `scale`, `ns::scale`, `scale<float, 4>`. May be
      left out if the text has only one.
    - `args`: the tensors, numbers, `T.Struct`s and `T.TensorMap`s to pass, in order; by default parameters are bound to
      the function's by name.
    - `shared_memory`: bytes of dynamic shared memory, which may depend on shapes.
    - `prelude`: text to compile before the source; lines of the source keep their numbers.
    - `compile_flags`: for the compiler, such as "-DN=4"; C++20 is the default language.
    - `include_paths`: folders of headers. Headers are part of the kernel's identity: editing one compiles it again.
    - `symbols`: tensors to copy to `__constant__` or `__device__` variables, by name, before each launch.
    - `cooperative`: all blocks run at once, so that the grid can synchronise.
    - `dependent`: may start before the kernel before it has ended (programmatic dependent launch).

    Constraints: CUDA targets only.

    >>> import tilec.language as T
    >>> N = T.dynamic("N")
    >>> @T.prim_func
    ... def saxpy(X: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "float32"), a: T.float32):
    ...     T.CUDASourceCodeKernel(T.ceildiv(N, 256), threads=256, entry_name="saxpy", args=[X, Y, a, T.int32(N)],
    ...         source_code_or_path='''
    ... extern "C" __global__ void saxpy(const float *x, float *y, float a, int n) {
    ...   int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...   if (i < n) y[i] += a * x[i];
    ... }''')
    """
    builder = current()
    if builder.block is not builder.body:
        raise TLSyntaxError("`T.CUDASourceCodeKernel` belongs directly inside the function", location=builder.here())
    if entry_name is not None and not entry_name:
        raise ArgumentError("`entry_name` must not be empty", location=builder.here())
    grid = [index_value(b, "a grid extent") for b in grid_extents(blocks, "T.CUDASourceCodeKernel")]
    shared = None if shared_memory is None else index_value(shared_memory, "`shared_memory`")
    given = [m for a in args or () for m in (a.members if isinstance(a, Struct) else [a])]
    passed = [p.value for p in builder.parameters] if args is None else [_argument(a) for a in given]
    variables = [_variable(name, tensor) for name, tensor in (symbols or {}).items()]
    for parameter in builder.parameters:
        if any(parameter.value is v for v in passed):
            parameter.is_written = True
    _ops.source_kernel(
        grid,
        shared,
        passed,
        variables,
        sources=_sources(source_code_or_path),
        block=block_threads(threads),
        entry=entry_name,
        prelude=prelude or None,
        flags=_list(compile_flags, "compile_flags") or None,
        include_paths=[str(path) for path in _list(include_paths, "include_paths")] or None,
        cluster=cluster_extents(cluster_dims, len(grid)),
        cooperative=cooperative,
        dependent=dependent,
        params=_parameters(args or (), passed) if any(isinstance(a, TensorMap | Struct) for a in args or ()) else None,
        symbols=list(symbols) if symbols else None,
        attributes={"tl.bind_by_name": ""} if args is None else {},
    )


def _parameters(args: Sequence[Any], values: Sequence[Value]) -> list[str]:
    """Returns how each of the kernel's parameters is made of `values`, of which a struct takes several."""
    out: list[str] = []
    first = 0
    for argument in args:
        members = argument.members if isinstance(argument, Struct) else [argument]
        made = [_parameter(first + i, m, values[first + i]) for i, m in enumerate(members)]
        is_struct = isinstance(argument, Struct)
        out.append(f"#tl.param<struct, {first}, members = [{', '.join(made)}]>" if is_struct else made[0])
        first += len(members)
    return out


def _list(items: Sequence[Any], what: str) -> Sequence[Any]:
    if isinstance(items, str):
        raise ArgumentError(f"`{what}` is a list, such as `[{items!r}]`", location=current().here())
    return items


def _argument(argument: Any) -> Value:
    if isinstance(argument, TensorMap):
        return argument.tensor.value
    if isinstance(argument, Buffer):
        return argument.value
    number = simplify(argument)
    if not isinstance(number, Expr):
        raise ArgumentError(
            f"give the constant {number!r} a type, such as `T.int32({number!r})`, to fit the kernel's parameter",
            location=current().here(),
        )
    return number.value


def _variable(name: str, tensor: Any) -> Value:
    if not isinstance(tensor, Buffer) or tensor.parameter is None:
        raise ArgumentError(
            f"the variable `{name}` is set from an argument of the function that is a tensor, not from {tensor!r}",
            location=current().here(),
        )
    return tensor.value


def _parameter(index: int, argument: Any, value: Value) -> str:
    """Returns how the kernel's parameter is made from argument number `index`."""
    if isinstance(argument, TensorMap):
        box = ", ".join(str(extent) for extent in reversed(argument.box))
        type = argument.tensor.dtype.mlir
        return f"#tl.param<tensor_map, {index}, box = [{box}], swizzle = {argument.swizzle}, type = {type}>"
    if isinstance(argument, Buffer):
        return f"#tl.param<base, {index}>"
    return f"#tl.param<scalar, {index}, type = {value.type}>"


def _sources(given: Any) -> list[str]:
    """Returns the source attributes of what was given as source."""
    items = as_tuple(given)
    if not items:
        raise ArgumentError("`source_code_or_path` must not be empty", location=current().here())
    return [_source(item) for item in items]


def _source(source: Any) -> str:
    """Returns the source attribute: of the text of a file, or of the text given."""
    from pathlib import Path

    location = current().here()
    if not isinstance(source, str | Path):
        raise ArgumentError(
            f"`source_code_or_path` is text, a path, or a list of them, not {type(source).__name__}", location=location
        )
    text = str(source)
    if not text.strip() or source == Path():
        raise ArgumentError("`source_code_or_path` must not be empty", location=location)
    looks_like_code = any(mark in text for mark in ("\n", "__global__", "#include", 'extern "C"', ".entry"))
    if isinstance(source, Path) and looks_like_code:
        raise ArgumentError(
            "`source_code_or_path` is a `Path` that holds source code: pass the code as text", location=location
        )
    if looks_like_code and text.strip().endswith(_SUFFIXES):
        raise ArgumentError(
            f"`source_code_or_path` looks like a path with line breaks: pass {text.strip()!r}", location=location
        )
    if looks_like_code:
        return _inline(text)
    path = Path(text).expanduser()
    if path.is_file():
        return _file(path)
    if path.is_dir():
        raise ArgumentError(f"`{path}` is a folder, not a CUDA source file", location=location)
    if isinstance(source, Path) or "/" in text or text.endswith(_SUFFIXES):
        raise ArgumentError(f"there is no CUDA source file `{path}`", location=location)
    raise ArgumentError(
        f"{text!r} is neither CUDA source, which has a `__global__` function, nor the path of a file",
        location=location,
    )


def _file(path: Path) -> str:
    """Returns the source attribute of a file, which the compiler reads: what it is when it is compiled counts."""
    language = {".ptx": "ptx", ".cubin": "cubin"}.get(path.suffix, "cuda")
    if not path.stat().st_size:
        raise ArgumentError(f"the CUDA source file `{path}` is empty", location=current().here())
    text = _text_when_built(path) if current().for_tilelang and language != "cubin" else ""
    return f"#tl.cuda_source<{quote(text)}, file = {quote(str(path.absolute()))}, language = {language}>"


def _text_when_built(path: Path) -> str:
    """Returns the text of a file, which programs for TileLang may delete once they are built; "" if it is no UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""  # the compiler takes any bytes


def _inline(text: str) -> str:
    """Returns the source attribute of text, with its place in the user's program if it stands there as it is."""
    import linecache

    language = ", language = ptx" if ".entry" in text and "__global__" not in text else ""
    location = current().here()
    program = "".join(linecache.getlines(location.file))
    if program.count(text) != 1:
        return f"#tl.cuda_source<{quote(text)}{language}>"
    line = program[: program.index(text)].count("\n") + 1
    return f"#tl.cuda_source<{quote(text)}, file = {quote(location.file)}, line = {line}{language}>"
