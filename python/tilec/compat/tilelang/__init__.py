"""What programs for TileLang import as `tilelang`, made of what is here.

    python -m tilec.compat.tilelang script.py arguments...

runs a script, `python -m pytest -p tilec.compat.tilelang.plugin` tests, and in a program

    import tilec.compat.tilelang
    tilec.compat.tilelang.install()

makes `import tilelang` find this package from then on, and its submodules by their names. Signatures, defaults and the
messages that programs look for are those of TileLang 0.1; docs/from-tilelang.md says what is the same and what is not.
Nothing is loaded before it is asked for.
"""

from __future__ import annotations

from importlib import import_module

from .finder import install as install
from .finder import uninstall as uninstall
from .shadow import keep_functions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.14"
"""The version whose interface this is."""

_LAZY = {
    "DataType": ".tvm",
    "Fragment": ".layout",
    "JITImpl": ".jit",
    "JITKernel": ".jit.kernel",
    "Layout": ".layout",
    "PassConfigKey": ".transform",
    "Profiler": ".profiler",
    "TensorSupplyType": ".utils.tensor",
    "autotune": ".autotuner",
    "cdiv": ".math",
    "compile": ".jit",
    "disable_cache": ".cache",
    "enable_cache": ".cache",
    "env": ".env",
    "is_cache_enabled": ".cache",
    "jit": ".jit",
    "logger": ".log",
    "lower": ".engine",
    "next_power_of_2": ".math",
    "par_compile": ".jit",
    "register_c_postproc": ".engine",
    "register_cuda_postproc": ".engine",
    "register_hip_postproc": ".engine",
    "set_log_level": ".log",
    # Modules.
    "autotuner": "",
    "backend": "",
    "cache": "",
    "carver": "",
    "contrib": "",
    "dtypes": "",
    "engine": "",
    "language": "",
    "layout": "",
    "math": "",
    "profiler": "",
    "quantize": "",
    "testing": "",
    "tools": "",
    "transform": "",
    "tvm": "",
    "utils": "",
}
"""The module of each name of the package; those without one are modules."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        from .absent import missing

        raise missing(f"tilelang.{name}", _LAZY)
    module = _LAZY[name]
    value = getattr(import_module(module, __name__), name) if module else import_module(f".{name}", __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


keep_functions(__name__, "jit", "env")
