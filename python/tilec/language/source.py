"""Kernels that are written in CUDA C++ and launched beside tile kernels."""

from __future__ import annotations

from ..buffers import Buffer
from ..builder import current
from ..errors import ArgumentError, TLSyntaxError
from ..ir import integers
from ..location import quote
from ..typed import TYPE_CHECKING
from ..values import Expr, index_value, simplify
from .kernel import block_threads, cluster_extents, grid_extents

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from ..ir import Value

_SUFFIXES = (".cu", ".cuh", ".cuda", ".cpp", ".cc", ".c")


def CUDASourceCodeKernel(
    *blocks: Any,
    threads: Any = None,
    source_code_or_path: str | Path,
    entry_name: str | None = None,
    cluster_dims: Any = None,
    args: Any = None,
    shared_memory: Any = None,
) -> None:
    """Launches a `__global__` function of CUDA C++, given as text or as a file.

    - `blocks`, `threads`, `cluster_dims`: as for `T.Kernel`; a statement of the function, beside its kernels.
    - `source_code_or_path`: the text, or the path of a file that holds it.
    - `entry_name`: the function; may be left out if the text has only one.
    - `args`: the tensors and numbers to pass, in order; by default parameters are bound to the function's by name.
    - `shared_memory`: bytes of dynamic shared memory.

    Constraints: CUDA targets only.
    """
    builder = current()
    if builder.block is not builder.body:
        raise TLSyntaxError("`T.CUDASourceCodeKernel` belongs directly inside the function", location=builder.here())
    if entry_name is not None and not entry_name:
        raise ArgumentError("`entry_name` must not be empty", location=builder.here())
    grid = [index_value(b, "a grid extent") for b in grid_extents(blocks, "T.CUDASourceCodeKernel")]
    shared = [] if shared_memory is None else [index_value(shared_memory, "`shared_memory`")]
    passed = [p.value for p in builder.parameters] if args is None else [_argument(a) for a in args]
    properties = {
        "sources": f"[{_source(source_code_or_path)}]",
        "block": integers(block_threads(threads)),
        "operandSegmentSizes": integers([len(grid), len(shared), len(passed), 0], "i32"),
    }
    if entry_name is not None:
        properties["entry"] = quote(entry_name)
    if (cluster := cluster_extents(cluster_dims, len(grid))) is not None:
        properties["cluster"] = integers(cluster)
    for parameter in builder.parameters:
        if any(parameter.value is v for v in passed):
            parameter.is_written = True
    attributes = {"tl.bind_by_name": ""} if args is None else {}
    builder.emit("tl.source_kernel", [*grid, *shared, *passed], (), properties, attributes=attributes)


def _argument(argument: Any) -> Value:
    if isinstance(argument, Buffer):
        return argument.value
    number = simplify(argument)
    if not isinstance(number, Expr):
        raise ArgumentError(
            f"give the constant {number!r} a type, such as `T.int32({number!r})`, to fit the kernel's parameter",
            location=current().here(),
        )
    return number.value


def _source(source: str | Path) -> str:
    """Returns the source attribute: the text of a file, or the text given."""
    from pathlib import Path

    builder = current()
    if not str(source):
        raise ArgumentError("`source_code_or_path` must not be empty", location=builder.here())
    text = str(source)
    is_code = isinstance(source, str) and ("\n" in text or "__global__" in text or "#include" in text)
    path = Path(text).expanduser()
    if not is_code and path.is_file():
        return f"#tl.cuda_source<{quote(path.read_text(encoding='utf-8'))}, file = {quote(str(path))}>"
    if isinstance(source, Path) or (not is_code and ("/" in text or text.endswith(_SUFFIXES))):
        raise ArgumentError(f"there is no CUDA source file `{path}`", location=builder.here())
    return f"#tl.cuda_source<{quote(text)}>"
