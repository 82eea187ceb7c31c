"""The autotuner: finds the fastest of many configurations of a kernel, and remembers it.

`@tilec.autotune` goes over a `@tilec.jit` function, lazy or eager; `AutoTuner` does the same step by step. Programs are
traced here, compiled in processes of their own, and measured in another, so that a configuration that crashes, hangs or
computes the wrong thing is found out and disturbs nothing. What was measured is kept in the cache, a record for each
configuration. See docs/Autotuning.md.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .decorator import TunedFunction as TunedFunction
    from .decorator import autotune as autotune
    from .inputs import get_autotune_inputs as get_autotune_inputs
    from .inputs import set_autotune_inputs as set_autotune_inputs
    from .result import AutotuneResult as AutotuneResult
    from .tuner import AutoTuner as AutoTuner

_LAZY = {
    "AutoTuner": ".tuner",
    "AutotuneResult": ".result",
    "TunedFunction": ".decorator",
    "autotune": ".decorator",
    "get_autotune_inputs": ".inputs",
    "set_autotune_inputs": ".inputs",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module `tilec.autotuner` has no attribute `{name}`")
    value = globals()[name] = getattr(import_module(_LAZY[name], __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
