"""Checked programs: the record that a call passes, and the error that it raises of it (docs/language/checks.md).

A checked program is compiled with `tilec.compile(…, checks=True)` or under `TL_CHECKS=1`. What the record holds is
said in `include/tl/Dialect/TL/Transforms/Checks.h`.
"""

from __future__ import annotations

import array

from . import _tl, dtypes
from .array import Array
from .errors import CheckError, LaunchError
from .location import Location
from .results import is_on_gpu
from .streams import is_capturing
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .kernel import Kernel

SLOTS = 4096
SLOT_WORDS = 8
WORDS = 1 + SLOTS * SLOT_WORDS

_KINDS = ("bounds", "division", "uninitialized", "extents")


class CheckedLaunch:
    """Calls a checked function with all its parameters, waits for it, and raises what it reports."""

    def __init__(self, kernel: Kernel, launch: Callable[..., Any]) -> None:
        self._launch = launch
        self._name = kernel.name
        self._is_cuda = kernel.is_cuda
        self._sites: list[dict[str, Any]] = kernel.sites("checks")
        # A source kernel is not looked into: what it is given counts as written, and need not be.
        has_source = "tl.source_kernel" in kernel.function.text
        parameters = kernel.function.parameters
        self._parameters = tuple((p.name, p.is_tensor, p.is_written and not has_source) for p in parameters)

    def __call__(self, *values: Any) -> Any:
        self._require_apart(values)
        device = next((v.__dlpack_device__()[1] for v in values if is_on_gpu(v)), 0)
        if self._is_cuda and is_capturing():
            raise LaunchError(
                f"`{self._name}` is compiled with checks, for which a call waits for the GPU, and cannot be captured "
                f"in a CUDA graph: compile it with `checks=False` to capture it"
            )
        record = Array.empty((WORDS,), dtypes.int64, cuda=device if self._is_cuda else None)
        words = array.array("q", bytes(8 * WORDS))
        record.copy_from(words)
        if self._launch(*values, record) is NotImplemented:
            return NotImplemented
        if self._is_cuda:
            _tl.cuda_synchronize(device)
        record.copy_into(words)
        if words[0]:
            raise _error(words, self._sites)
        return None

    def _require_apart(self, values: tuple[Any, ...]) -> None:
        """Raises an error if a tensor that is written shares memory with another (M5)."""
        found = _tl.find_overlap(values, self._parameters)
        if found is not None:
            other, written = (self._parameters[i][0] for i in found)
            raise CheckError("overlap", kernel=self._name, access="write", buffer=written, space="tensor", other=other)


def _error(words: Sequence[int], sites: list[dict[str, Any]]) -> CheckError:
    """Returns the report to raise: of those that are whole, the first in the order of the program."""
    slots = [words[i : i + SLOT_WORDS] for i in range(1, WORDS, SLOT_WORDS)]
    whole = [slot for slot in slots if slot[0] and len({word >> 32 for word in slot}) == 1]
    if not whole:
        # So many reports came at once that each slot has parts of several.
        code = next(word for slot in slots for word in slot if word) & 0xFFFFFFFF
        return _describe(sites[code >> 8], _KINDS[code >> 4 & 15])
    code, element, *block, low, high, extent = min([word & 0xFFFFFFFF for word in slot] for slot in whole)
    index = high << 32 | low
    return _describe(
        sites[code >> 8],
        _KINDS[code >> 4 & 15],
        dimension=code & 15,
        element=element,
        block=block,
        index=index - (1 << 64) if index >> 63 else index,
        extent=extent,
    )


def _describe(
    site: dict[str, Any],
    kind: str,
    *,
    dimension: int = 0,
    element: int = 0,
    block: Sequence[int] = (),
    index: int | None = None,
    extent: int = 0,
) -> CheckError:
    has_dimension = kind in ("bounds", "extents")
    place: int | tuple[int, ...] | None = None
    if index is not None:
        place = _unravel(index, site["shape"]) if kind == "uninitialized" else index
    runner: str = site["runner"]
    location = Location(site["file"], site["line"], site["column"]) if "line" in site else None
    return CheckError(
        kind,
        kernel=site["kernel"],
        access=site["access"],
        buffer=site.get("buffer"),
        space=site.get("space"),
        index=place if kind != "division" else None,
        dimension=dimension if has_dimension else None,
        extent=extent if has_dimension and index is not None else None,
        block=tuple(block[: site["grid"]]) if index is not None else None,
        iteration=_unravel(element, site["box"]) if runner == "iteration" and index is not None else None,
        thread=element if runner == "thread" and index is not None else None,
        location=location,
    )


def _unravel(number: int, shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the coordinates of the element of a row-major number."""
    coordinates: list[int] = []
    for extent in reversed(shape):
        number, coordinate = divmod(number, extent)
        coordinates.append(coordinate)
    return tuple(reversed(coordinates))
