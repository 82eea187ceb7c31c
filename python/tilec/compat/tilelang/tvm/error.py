"""`tvm.error`: what compiling raises."""

from __future__ import annotations

from ....errors import CompileError as InternalError
from ....errors import CompileError as TVMError

__all__ = ["InternalError", "TVMError"]
