"""`tilelang.lower`: compiling a program to look at its source."""

from __future__ import annotations

from ....typed import TYPE_CHECKING
from ..jit import compile
from .param import CompiledArtifact

if TYPE_CHECKING:
    from typing import Any


def lower(
    func_or_mod: Any,
    target: Any = "auto",
    target_host: Any = None,
    runtime_only: bool = False,
    enable_host_codegen: bool = False,
    enable_device_compile: bool = False,
) -> CompiledArtifact:
    """Compiles a program and returns its source and parameters.

    - `target`: as of `tilelang.compile`.
    - the rest says what else TileLang would make; all of it is made here.
    """
    return CompiledArtifact(compile(func_or_mod, target=target))
