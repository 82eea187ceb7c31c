"""`@tilec.jit`: what makes of a function one that is compiled when it is called."""

from __future__ import annotations

import sys

from .auto import Auto
from .compiler import check_options
from .frontend.functions import plain_function
from .jit import JITFunction
from .tracebacks import ends_in_program
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, overload

    @overload
    def jit(function: Callable[..., Any], /) -> JITFunction: ...
    @overload
    def jit(
        *, out_idx: Any = None, target: str = "auto", **options: Any
    ) -> Callable[[Callable[..., Any]], JITFunction]: ...


def jit(
    function: Callable[..., Any] | None = None, /, *, out_idx: Any = None, target: str = "auto", **options: Any
) -> Any:
    """Compiles a function when it is called.

    *Lazy*: the function makes and returns a `@T.prim_func`; calling it returns a `Kernel`. One kernel is kept for
    each set of arguments.

    *Eager*: the function is itself the program. Calling it with tensors compiles it for them and runs it; results are
    made with `T.empty` and returned.

    A parameter with `T.auto(...)` as its default is *open*: calls that leave it out get the value that the cost model
    chooses.

    Options are those of `tilec.compile`.
    """
    scope = sys._getframe(1).f_locals
    with ends_in_program:
        check_options(options, "`@tilec.jit`")

    def made_of(plain: Callable[..., Any]) -> Any:
        made = JITFunction(plain_function(plain, "tilec.jit"), scope, out_idx, {"target": target, **options})
        if not any(isinstance(parameter.default, Auto) for parameter in made.signature.parameters.values()):
            return made
        from .autotuner.opened import OpenFunction

        return OpenFunction(made)

    def decorate(plain: Callable[..., Any]) -> Any:
        with ends_in_program:
            return made_of(plain)

    if function is None:
        return decorate
    with ends_in_program:
        return made_of(function)
