"""Compiles a program for a target, runs it, and compares what it computed with the reference."""

from __future__ import annotations

import contextlib
import functools
import io
import linecache
import math
import re
import shutil
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import tilec
import tilec.language as T
from tilec import _tl, env
from tilec.backends import sim
from tilec.errors import CheckError, TLError

from . import data, printer
from .bitwise import Bytes, Comparison, class_of, is_finding
from .elements import Array, Number, bits, decoded, is_float, stored
from .memory import Guarded
from .program import Program, printing


@dataclass(frozen=True)
class Path:
    """A way to run programs: "cpu", or a chip and what generates code for it, as in "sm_90a/nvrtc", or "sim" for the
    simulator."""

    chip: str
    backend: str = "auto"
    run: bool = True

    @staticmethod
    def parse(text: str, *, run: bool = True) -> Path:
        chip, _, backend = text.partition("/")
        return Path(chip, backend or ("auto" if chip == "cpu" else "nvptx"), run)

    def __str__(self) -> str:
        return self.chip if self.chip == "cpu" else f"{self.chip}/{self.backend}"


@dataclass
class Outcome:
    """What came of a program on a path.

    `status`: "right", "refused", "wrong", "fault" if it ended with an error that is none of a refusal, and, said by
    whoever watches the process, "crash" and "hang". With bits compared also
    "differs": right, with bits that the first path has not and should have.
    """

    status: str
    message: str = ""
    wrong: str = ""
    """The tensor that is wrong."""
    where: list[int] | None = None
    """The flat positions of its first wrong elements."""
    bits: tuple[str, str, int, dict[str, int]] | None = None
    """Beside the first path: the program's class, the worst difference, and how many elements there are and differ of
    each kind (`bitwise`)."""

    @property
    def is_finding(self) -> bool:
        return self.status in ("wrong", "fault", "crash", "hang", "differs")


# A message about an operation that is not the language's own speaks of the compiler, not of the program.
INTERNAL = re.compile(
    r"'(?!tl\.)[a-z0-9_]+\.[a-z0-9_.]+' op (?!has no lowering)"
    r"|LLVM ERROR|LLVM Translation|does not dominate|unrealized|[Ii]nternal|PLEASE submit|\.mlir:[0-9]+:[0-9]+: error"
)


@functools.lru_cache(maxsize=1)
def build(source: str, name: str = "fuzzed") -> Any:
    """Returns the function that a source text defines; one program is traced once for all of its paths."""
    file = f"<{name}>"
    # No time of change: then the text is not looked for in the file system.
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"T": T}
    exec(compile(source, file, "exec"), scope)
    return scope["fuzzed"]


Said = list[str]
"""Who said something, and what of: the lines that a program printed, without the numbers."""


Contents = dict[str, Bytes]
"""The memory of each tensor after a run."""


@dataclass
class Others:
    """What was found on paths before, for a program that has to do the same on each; None is not looked at."""

    said: list[Said] | None = None
    contents: list[Contents] | None = None


def execute(program: Program, expected: dict[str, Number], path: Path, others: Others | None = None) -> Outcome:
    """Compiles a program, runs it unless the path says otherwise, and compares.

    In the simulator it runs under three seeds, those from 0 on with each order and each pace once. With `said` the
    program prints, and what it says is compared with what others in the list have said, and added. With `contents` the
    bits of the results are compared with those of the first path.
    """
    others = others or Others()
    if others.said is not None:
        program = printing(program)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function = build(printer.source(program))
            options = {"assembler": "ptxas"} if _assembles(path) else {}
            kernel = tilec.compile(function, target=path.chip, backend=path.backend, **options)  # type: ignore[arg-type]
        except TLError as error:
            text = str(error)
            return Outcome("fault" if INTERNAL.search(text) else "refused", text)
        except Exception as error:
            return Outcome("fault", f"{type(error).__name__}: {error}")
        if not path.run:
            return Outcome("right")
        if path.backend != "sim":
            return _tried(program, expected, kernel, path, others)
        first = env.sim_seed()
        for seed in (first, first + 4, first + 8):
            sim.set_options(seed=seed)
            outcome = _tried(program, expected, kernel, path, others)
            if outcome.is_finding:
                return replace(outcome, message=f"seed {seed}: {outcome.message}")
        return outcome


def _tried(program: Program, expected: dict[str, Number], kernel: Any, path: Path, others: Others) -> Outcome:
    contents: Contents = {}
    try:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            outcome = _run(program, expected, kernel, path, contents)
    except Exception as error:
        return Outcome("fault", f"at run time: {type(error).__name__}: {error}")
    if others.said is not None and not outcome.is_finding:
        outcome = _heard(out.getvalue(), others.said)
    return outcome if others.contents is None or outcome.is_finding else _beside(program, contents, others.contents)


def _beside(program: Program, contents: Contents, others: list[Contents]) -> Outcome:
    """Compares the bits of a right result with those of the first one."""
    others.append(contents)
    if len(others) == 1:
        return Outcome("right")
    found = Comparison()
    for tensor in program.tensors:
        name = tensor.buffer.name
        found.add(name, tensor.buffer.dtype, contents[name], others[0][name])
    status = "differs" if is_finding(program, found.worst) else "right"
    return Outcome(status, found.first, bits=(class_of(program), found.worst, found.elements, found.differing))


def _heard(text: str, said: list[Said]) -> Outcome:
    """Compares who printed what with what the first path did; numbers may differ in what is not defined."""
    now = [line.split(" = ")[0] for line in text.splitlines() if line.startswith(("block", "kernel"))]
    if said and now != said[0]:
        at = next(
            (i for i, (a, b) in enumerate(zip(now, said[0], strict=False)) if a != b), min(len(now), len(said[0]))
        )
        there = said[0][at] if at < len(said[0]) else "nothing"
        here = now[at] if at < len(now) else "nothing"
        return Outcome("wrong", f"line {at} of what is printed: `{here}`, and by another path `{there}`")
    said.append(now)
    return Outcome("right")


def _assembles(path: Path) -> bool:
    return path.backend == "nvptx" and not path.run and shutil.which("ptxas") is not None


def _run(program: Program, expected: dict[str, Number], kernel: Any, path: Path, found: Contents) -> Outcome:
    """Runs a program; what it computed is in `found` then."""
    is_gpu = path.chip != "cpu" and path.backend != "sim"
    tensors: dict[str, Guarded] = {}
    odd: dict[str, bool] = {}  # tensors of `bool` that hold other bytes than 0 and 1 from the beginning
    for tensor in program.tensors:
        buffer = tensor.buffer
        contents = data.memory(tensor)
        odd[buffer.name] = buffer.dtype == "bool" and bool(contents.max(initial=0) > 1)
        shift = tensor.shift * bits(buffer.dtype) // 8
        shape, dtype = stored(buffer.shape, buffer.dtype)
        gap = tensor.gap * math.prod(shape) * bits(buffer.dtype) // 8 // max(math.prod(buffer.shape), 1)
        tensors[buffer.name] = Guarded(contents, shape, dtype, shift, is_gpu, gap)
    arguments = [*tensors.values(), *(s.value for s in program.scalars)]
    if program.aliases:
        addresses = np.array([tensors[name].address for name in program.aliases], np.int64)
        arguments.append(Guarded(addresses.view(np.uint8), addresses.shape, "int64", 0, is_gpu))
    try:
        kernel(*arguments)
    except CheckError as error:
        # Programs divide by zero, leave tensors and write beside arrays, because that is defined; the results are what
        # they are anyway.
        is_dropped = error.space == "local" and error.access == "write"
        if error.kind != "division" and error.space != "tensor" and not is_dropped:
            return Outcome("fault", f"the check of a valid program: {error}")
    if is_gpu:
        _tl.cuda_synchronize(0)
    for name, tensor in tensors.items():
        contents, changed = tensor.read()
        if changed is not None:
            return Outcome("wrong", f"`{name}`: wrote outside of the tensor, at byte {changed}", name, [])
        found[name] = contents
        outcome = _compared(name, contents, expected[name], odd[name])
        if outcome is not None:
            return outcome
    return Outcome("right")


def _compared(name: str, contents: Array, expected: Number, is_odd: bool) -> Outcome | None:
    dtype = expected.dtype
    got = decoded(contents, dtype).reshape(expected.low.shape)
    with np.errstate(invalid="ignore"):
        if is_float(dtype):
            low, high = expected.low, expected.top
            right = ((got >= low) & (got <= high)) | (np.isnan(got) & np.isnan(low))
        else:
            right = got == expected.low
    if dtype == "bool" and not is_odd:
        right &= contents.reshape(right.shape) <= 1
    if right.all():
        return None
    where = np.flatnonzero(~right)
    first = np.unravel_index(where[0], right.shape)
    values = f"{got[first]!s}, expected {expected.low[first]!s}"
    if expected.high is not None:
        values += f" to {expected.high[first]!s}"
    place = ", ".join(str(int(i)) for i in first)
    return Outcome(
        "wrong", f"`{name}`: {where.size} of {right.size} wrong; [{place}] is {values}", name, where[:32].tolist()
    )
