"""TL: tile kernels for NVIDIA GPUs and CPUs, written in Python.

`import tilec` loads nothing but this file; everything else is loaded when it is first used.
"""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # importing `typing` would take longer than all else here
if TYPE_CHECKING:
    from typing import Any

    from . import backends as backends
    from . import cache as cache
    from . import errors as errors
    from . import language as language
    from . import tools as tools
    from .array import Array as Array
    from .autotuner.decorator import autotune as autotune
    from .autotuner.inputs import set_autotune_inputs as set_autotune_inputs
    from .autotuner.tuner import AutoTuner as AutoTuner
    from .builder import PrimFunc as PrimFunc
    from .cache import never_compile as never_compile
    from .compiler import compile as compile
    from .decorators import jit as jit
    from .errors import TLError as TLError
    from .kernel import Kernel as Kernel
    from .module import Module as Module
    from .parallel import compile_async as compile_async
    from .parallel import par_compile as par_compile
    from .postproc import register_cuda_postproc as register_cuda_postproc
    from .postproc import register_ptx_postproc as register_ptx_postproc
    from .profiler import Profiler as Profiler
    from .profiler import do_bench as do_bench
    from .supply import TensorSupplyType as TensorSupplyType

__version__ = "0.1.0"

_LAZY = {
    "Array": ".array",
    "AutoTuner": ".autotuner.tuner",
    "Kernel": ".kernel",
    "Module": ".module",
    "PrimFunc": ".builder",
    "Profiler": ".profiler",
    "TLError": ".errors",
    "TensorSupplyType": ".supply",
    "backends": "",
    "autotune": ".autotuner.decorator",
    "cache": "",
    "compile": ".compiler",
    "compile_async": ".parallel",
    "do_bench": ".profiler",
    "env": "",
    "errors": "",
    "jit": ".decorators",
    "language": "",
    "never_compile": ".cache",
    "register_cuda_postproc": ".postproc",
    "register_ptx_postproc": ".postproc",
    "par_compile": ".parallel",
    "set_autotune_inputs": ".autotuner.inputs",
    "tools": "",
}


def _instead(name: str) -> str:
    """Returns the end of the message about a name that is not there: where it is, or what was meant."""
    from .errors import suggestion

    if name in dir(import_module(".language", __name__)):
        return f": it is `T.{name}`, of `import tilec.language as T`"
    from importlib.util import find_spec

    if find_spec(f"{__name__}.compat.tilelang.{name}"):
        return f": `tilec.compat.tilelang.{name}` has what programs for TileLang use of it"
    return suggestion(name, _LAZY, "tilec.")


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        # `from . import name` asks before it imports, and is answered before anything is loaded.
        from .errors import AbsentNameError

        raise AbsentNameError(lambda: f"module `tilec` has no attribute `{name}`{_instead(name)}")
    module = _LAZY[name]
    value = getattr(import_module(module, __name__), name) if module else import_module(f".{name}", __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


class _Package(type(sys)):  # pyright: ignore[reportUntypedBaseClass]
    """Keeps `tilec.jit` the decorator: importing a module binds its name in the package, and one has the same name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "jit" or not isinstance(value, type(sys)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
