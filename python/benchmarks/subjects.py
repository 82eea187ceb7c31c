"""What is measured, after it was found to be right."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from cases import Case, poisoned
from devices import Device
from timing import brief

import tilec
from tilec.errors import TLError

FEW = 1e11
"""Operations up to which NumPy computes a reference at full size, in seconds and some GB."""

Outputs = Sequence[Any]


def check(cases: Sequence[Case], device: Device, backends: Sequence[str]) -> tuple[list[str], set[str]]:
    """Checks small cases by each backend; returns what is wrong, and the names of peers that agree."""
    problems: list[str] = []
    agree: dict[str, bool] = {}
    for case in cases:
        for backend in backends:
            try:
                case.check(target=device.target, backend=backend)
            except (AssertionError, TLError, RuntimeError) as error:
                problems.append(f"{case.name}: {backend}: {brief(error)}")
        arrays = case.inputs(np.random.default_rng())
        found, _ = run_peers(case, device, device.place(arrays))
        expected = reference_of(case, device, arrays) if found else []
        for name, outputs in found.items():
            agree[name] = agree.get(name, True) and is_near(case, device, outputs, expected)
    return problems, {name for name, does in agree.items() if does}


def is_near(case: Case, device: Device, found: Outputs, expected: Outputs) -> bool:
    """Returns whether two results, each of which may be off by the case's tolerance, could be the same."""
    try:
        return device.is_close(found, expected, 2 * case.rtol, 2 * case.atol)
    except (RuntimeError, ValueError):  # shapes that have not as many elements
        return False


def reference_of(case: Case, device: Device, arrays: Sequence[np.ndarray]) -> Outputs:
    """Returns the reference's outputs on the device; None for those that only the program itself reads."""
    found = case.reference(*(a if a.dtype.kind in "iub" else a.astype(np.float64) for a in arrays))
    return [None if one is None else device.place([np.asarray(one)])[0] for one in _as_tuple(found)]


def run_peers(case: Case, device: Device, given: Sequence[Any]) -> tuple[dict[str, Outputs], list[str]]:
    """Returns the outputs of the peers that run, and of the others why they do not."""
    found: dict[str, Outputs] = {}
    notes: list[str] = []
    for name, peer in device.peers(case).items():
        try:
            found[name] = _as_tuple(peer(*given))
        except Exception as error:  # a peer is somebody else's, and what it raises, too
            notes.append(f"{name}: {brief(error)}")
    return found, notes


def _as_tuple(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


class Subject:
    """A case, and what computes it: the programs that are right, by each backend, and the peers that run.

    Each program runs on poisoned outputs, and is compared with the first peer of those that are believed. Where that
    differs, for ties or an error of its own, or there is none, the reference decides if it is not too slow. Without
    either the small cases have to do.

    - `kernels`: for each backend those that are right, by the number of the program.
    - `against`, `differs`, `notes`, `wrong`: see `report.Row`.
    """

    def __init__(self, case: Case, device: Device, backends: Sequence[str], believed: set[str]) -> None:
        self.case, self.device = case, device
        self.arrays = case.inputs(np.random.default_rng())
        self.poison = [poisoned(*output) for output in case.outputs]
        self.wrong: list[str] = []
        self.differs: dict[str, float] = {}
        self._expected: Outputs | None = None
        given = device.place(self.arrays)
        found, self.notes = run_peers(case, device, given)
        self.peers = {name: peer for name, peer in device.peers(case).items() if name in found}
        peer = next((name for name in found if name in believed), "")
        self.against = peer or ("reference" if case.flop <= FEW else "CHECKED")
        self.kernels = {backend: self._right(backend, given, found) for backend in backends}

    def _right(self, backend: str, given: Sequence[Any], found: dict[str, Outputs]) -> dict[int, Callable[..., Any]]:
        """Returns the kernels that compile and are right; notes the others."""
        right: dict[int, Callable[..., Any]] = {}
        for number, program in enumerate(self.case.programs):
            name = f"{backend}: program {number}"
            try:
                kernel = tilec.compile(program(), target=self.device.target, backend=backend, **self.case.options)
                outputs = self.device.place(self.poison)
                kernel(*given, *outputs)
                if self._accepts(outputs, found):
                    right[number] = kernel
                    self._compare(outputs, found)
                else:
                    self.wrong.append(f"{name} differs from {self.against}")
            except (TLError, RuntimeError) as error:
                self.notes.append(f"{name}: {brief(error)}")
        return right

    def _accepts(self, outputs: Outputs, found: dict[str, Outputs]) -> bool:
        case, device = self.case, self.device
        if self.against in found and is_near(case, device, outputs, found[self.against]):
            return True
        if case.flop > FEW:
            return self.against == "CHECKED"
        if self._expected is None:
            self._expected = reference_of(case, device, self.arrays)
        return device.is_close(outputs, self._expected, case.rtol, case.atol)

    def _compare(self, outputs: Outputs, found: dict[str, Outputs]) -> None:
        """Notes how far the first program that is right is from each peer that computes outputs of its shapes."""
        for peer, theirs in found.items():
            if peer not in self.differs:
                with contextlib.suppress(RuntimeError, ValueError):
                    self.differs[peer] = self.device.difference(outputs, theirs)
