"""What is said of names of TileLang that have no counterpart here."""

from __future__ import annotations

from ...errors import suggestion
from ...typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class NoCounterpartError(AttributeError):
    """A module, function or object of TileLang that does not exist here."""


_TVM = "belongs to TVM, which is not underneath here"
_PASSES = (
    "is about TileLang's own passes, which are not underneath here; `tl-opt` runs those that are (docs/Pipeline.md)"
)
_EMITTER = (
    "writes instructions by hand with TVM's IR, which is not underneath here; `T.gemm` chooses and writes the same ones"
)

_REASONS = {
    "tvm": _TVM,
    "tvm_ffi": _TVM,
    "tilelang._ffi_api": _TVM,
    "tilelang.ir": _TVM,
    "tilelang.tvm": _TVM,
    "tilelang.analysis": _PASSES,
    "tilelang.autodd": "reduces programs by TileLang's own passes; `python -m tilec.doctor` and `dump_dir=` help here",
    "tilelang.instrumentation": _PASSES,
    "tilelang.transform": _PASSES,
    "tilelang.tools.lower_trace": f"{_PASSES}; `dump_dir=` of `tilec.compile` writes the IR after every one",
    "tilelang.tools.pass_timing": _PASSES,
    "tilelang.tools.pass_visualizer": _PASSES,
    "tilelang.utils.pass_diff": _PASSES,
    "tilelang.utils.pass_diff_hook": _PASSES,
    "tilelang.tileop": _PASSES,
    "tilelang.backend": "is how TileLang finds its own code generators; `python -m tilec.backends` lists those here",
    "tilelang.cuda": _EMITTER,
    "tilelang.intrinsics": _EMITTER,
    "tilelang.jit.adapter": "is how TileLang loads what it compiled; a kernel here is `tilec.Kernel`",
    "tilelang.layout": "is about where the compiler puts elements, which it chooses by itself",
    "tilelang.quantize": (
        "is a text in CUDA C++ for orders of weights of its own; the converters `_tir_packed_…` of `tilelang.quantize` "
        "take numbers out of words, and the compiler chooses instructions for them"
    ),
    "tilelang.rocm": "is for GPUs of AMD, and kernels here are for GPUs of NVIDIA and for CPUs",
    "tilelang.metal": "is for GPUs of Apple, and kernels here are for GPUs of NVIDIA and for CPUs",
    "tilelang.webgpu": "is for WebGPU, and kernels here are for GPUs of NVIDIA and for CPUs",
    "tilelang.carver": (
        "schedules programs of TVM, which is not underneath here; `tilec.autotune` searches configurations "
        "(docs/Autotuning.md)"
    ),
}
"""Why there is no such module or object; a name stands for those in it, too."""


def reason(name: str) -> str | None:
    """Returns why a dotted name is not there, if that is known."""
    while name:
        if name in _REASONS:
            return _REASONS[name]
        name = name.rpartition(".")[0]
    return None


def missing(name: str, present: Iterable[str] = ()) -> NoCounterpartError:
    """Returns the error for a dotted name that is not there; `present` are the names beside it."""
    why = reason(name)
    if why is not None:
        return NoCounterpartError(f"`{name}` {why}")
    package, _, last = name.rpartition(".")
    return NoCounterpartError(f"there is no `{name}` here{suggestion(last, present, f'{package}.')}")
