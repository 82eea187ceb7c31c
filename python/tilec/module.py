"""Modules: functions that are built op by op."""

from __future__ import annotations

import contextlib

from .builder import FunctionBuilder
from .errors import ArgumentError, TLSyntaxError
from .ir import Printer
from .location import here
from .parameters import argument
from .typed import TYPE_CHECKING
from .types import annotation_type

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from .builder import PrimFunc


class Module:
    """Functions that are built without source code, op by op.

    >>> import tilec.language as T
    >>> module = T.Module()
    >>> with module, module.function("double", A=T.Tensor((256,), "float32")) as A:
    ...     with T.Kernel(2, threads=128) as block:
    ...         with T.Parallel(128) as i:
    ...             A[block * 128 + i] = A[block * 128 + i] * 2
    >>> module["double"]
    <tilec.PrimFunc double(A: T.Tensor((256,), T.float32))>
    """

    def __init__(self) -> None:
        self.functions: dict[str, PrimFunc] = {}

    def __enter__(self) -> Module:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __getitem__(self, name: str) -> PrimFunc:
        return self.functions[name]

    def script(self, *, locations: bool = False) -> str:
        """Returns the module in MLIR's generic text form."""
        return Printer(locations=locations).print([f.op for f in self.functions.values()])

    @contextlib.contextmanager
    def function(self, name: str, /, *annotations: Any, **named: Any) -> Generator[Any]:
        """Opens a function whose parameters have the given types; enters with the parameters.

        Parameters given by position are called `arg0`, `arg1` and so on.
        """
        if name in self.functions:
            raise ArgumentError(f"the module already has a function `{name}`")
        builder = FunctionBuilder(name, location=here())
        numbered = ((f"arg{i}", a) for i, a in enumerate(annotations))
        values = [argument(builder, n, annotation_type(n, a)) for n, a in (*numbered, *named.items())]
        with builder.active():
            yield values[0] if len(values) == 1 else tuple(values)
        if builder.outputs:
            raise TLSyntaxError(
                f"`T.empty` makes results of functions that return them, and `{name}` returns nothing: take the tensor "
                f"as a parameter",
                location=builder.location,
            )
        self.functions[name] = builder.finish()
