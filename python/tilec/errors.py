"""The exceptions of the package: one class for each kind of mistake.

Every class derives from `TLError`, and from the built-in exception that a Python programmer would expect. An error that
has a place in the user's program shows it: file, line, the source line and a caret.
"""

from __future__ import annotations

from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from .location import Location

__all__ = [
    "AlignmentError",
    "ArgumentError",
    "BackendError",
    "CacheError",
    "CheckError",
    "CompileError",
    "ConfigError",
    "DTypeError",
    "DeviceAssertError",
    "DeviceError",
    "Diagnostic",
    "IdleThreadsWarning",
    "IgnoredHintWarning",
    "LaunchError",
    "LostBitsWarning",
    "MissingNameError",
    "MissingPackageError",
    "NotCachedError",
    "RacingWriteWarning",
    "RangeError",
    "RankError",
    "RegisterSpillWarning",
    "ScalarGemmWarning",
    "ShapeError",
    "StrideError",
    "TLError",
    "TLSyntaxError",
    "TLWarning",
    "TargetError",
    "TuningError",
    "UncheckedReadsWarning",
    "UndefinedNameError",
    "UninitializedReadWarning",
    "UnpipelinedLoopWarning",
    "UnsupportedError",
]


def excerpt(file: str, line: int, column: int, width: int = 1) -> str:
    """Returns the source line with carets under `width` characters from the 1-based `column` on, or "" if unknown."""
    import linecache

    text = linecache.getline(file, line).rstrip("\n")
    if not text.strip():
        return ""
    column = max(column, 1)
    width = max(1, min(width, len(text) - column + 1))
    carets = "".join("\t" if c == "\t" else " " for c in text[: column - 1]) + "^" * width
    return f"  {text}\n  {carets}"


def quoted(names: Iterable[object]) -> str:
    """Returns names as messages list them."""
    return ", ".join(f"`{name}`" for name in names)


def suggestion(name: str, present: Iterable[str], prefix: str = "") -> str:
    """Returns the end of a message that asks whether one of the names was meant that are written alike."""
    from difflib import SequenceMatcher

    def likeness(other: str) -> float:
        first, second = (n.lower().replace("_", "") for n in (name, other))
        return SequenceMatcher(None, first, second).ratio()

    found = sorted(((likeness(n), n) for n in present if not n.startswith("_")), reverse=True)[:3]
    close = [f"`{prefix}{n}`" for ratio, n in found if ratio >= max(0.7, found[0][0] - 0.1)]
    return f"; did you mean {' or '.join(close)}?" if close else ""


def wrong_arguments(function: str, error: TypeError, parameters: Iterable[str], location: Location) -> ArgumentError:
    """Returns the error for a call that a signature refuses, with what it takes."""
    text, known = str(error), list(parameters)
    unexpected = text.rpartition("unexpected keyword argument ")[2].strip("'") if "unexpected keyword" in text else ""
    remedy = (suggestion(unexpected, known) if unexpected else "") or f"; it takes {quoted(known)}"
    return ArgumentError(f"`{function}`: {text}{remedy}", location=location)


class AbsentNameError(AttributeError):
    """A name that a module does not have.

    What is known of it is found out when it is shown: `import` and `hasattr` ask for many a name, and show nothing.
    """

    def __init__(self, say: Callable[[], str]) -> None:
        super().__init__()
        self._say = say

    def __str__(self) -> str:
        return self._say()


class TLError(Exception):
    """Base of all errors of this package."""

    def __init__(self, message: str, *, location: Location | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.location = location

    def __str__(self) -> str:
        if self.location is None:
            return self.message
        return self.location.render(self.message)


class ShapeError(TLError, ValueError):
    """An extent differs from what the program or another argument demands."""


class RankError(TLError, ValueError):
    """A tensor or an index list has the wrong number of dimensions."""


class DTypeError(TLError, TypeError):
    """Element types do not fit together, or a type is unknown."""


class StrideError(TLError, ValueError):
    """A tensor's strides are not what its annotation asks for."""


class AlignmentError(TLError, ValueError):
    """A tensor's address is not aligned as its annotation asks for."""


class DeviceError(TLError, ValueError):
    """A tensor is on the wrong device, or tensors are on different devices."""


class ArgumentError(TLError, TypeError):
    """An argument is missing, left over, or of the wrong kind."""


class MissingNameError(TLError, AttributeError):
    """The language has no such name, or a tensor or tile no such attribute."""


class UndefinedNameError(TLError, NameError):
    """A name that the program has not, or that has no value yet."""


class RangeError(TLError, ValueError):
    """A number does not fit where it goes."""


class TLSyntaxError(TLError, ValueError):
    """The program is written in a way that has no meaning in a kernel."""


class UnsupportedError(TLSyntaxError):
    """A Python construct that kernels cannot contain."""


class TargetError(TLError, ValueError):
    """The target is unknown, or lacks what was asked of it."""


class BackendError(TargetError):
    """The execution backend is unknown, does not fit the target, or lacks what it needs here."""


class CacheError(TLError, RuntimeError):
    """The cache cannot do what was asked of it; compiling does not need it to."""


class ConfigError(TLError, ValueError):
    """Tuning was asked for something that makes no sense."""


class TuningError(TLError, RuntimeError):
    """No configuration is left, or there is no result where none may be measured."""


class MissingPackageError(TLError, ImportError):
    """A feature needs a Python package that is not installed."""


class LaunchError(TLError, RuntimeError):
    """A compiled kernel cannot be loaded or run here."""


class SimulationError(TLError, RuntimeError):
    """The simulator found that a kernel does what it may not do on a GPU (docs/Simulator.md).

    The message says in which kernel, at which line, block and thread.
    """

    @property
    def reports(self) -> list[dict[str, Any]]:
        """What the message says, as dictionaries that JSON can hold.

        Each has `kernel`, `kind` ("race", "deadlock", …), `message` and `sides`: where it was found, and what it is in
        conflict with. A side has `file` and `line`, if they are known, `block`, `thread` or `warp`, `text` and `op`.
        """
        import re

        side_of = re.compile(
            r"  (?:(.+?):(\d+): )?block \((.+?)\), (thread|warp) (\(.+?\)|\d+) (.*) \(`(.+?)`\)$"
        ).match
        found: list[dict[str, Any]] = []
        for text in str(self).splitlines():
            if head := re.match(r"kernel `(.+?)`: ([a-z ]+): (.*)", text):
                found.append({"kernel": head[1], "kind": head[2], "message": head[3], "sides": []})
            elif found and (side := side_of(text)):
                place: dict[str, Any] = {"file": side[1], "line": int(side[2])} if side[1] else {}
                place["block"] = [int(x) for x in side[3].split(", ")]
                numbers = [int(x) for x in side[5].strip("()").split(", ")]
                place[side[4]] = numbers if side[4] == "thread" else numbers[0]
                found[-1]["sides"].append({**place, "text": side[6], "op": side[7]})
        return found

    @property
    def schedule(self) -> str | None:
        """The shortest schedule that fails, for `sim.replay`, if one was looked for and found."""
        import re

        found = re.search(r"^schedule: (.+)$", str(self), flags=re.MULTILINE)
        return found[1] if found else None


class CheckError(TLError, RuntimeError):
    """A checked program did what has no meaning, or hardly was meant (docs/language/checks.md).

    It ran to its end, and its results are what they are without checks; but a call whose tensors overlap is not made.
    """

    def __init__(
        self,
        kind: str,
        *,
        kernel: str,
        access: str,
        buffer: str | None,
        space: str | None,
        index: int | tuple[int, ...] | None = None,
        dimension: int | None = None,
        extent: int | None = None,
        block: tuple[int, ...] | None = None,
        iteration: tuple[int, ...] | None = None,
        thread: int | None = None,
        other: str | None = None,
        location: Location | None = None,
    ) -> None:
        self.kind = kind
        """"bounds", "division", "uninitialized", "extents" or "overlap"."""
        self.kernel = kernel
        """The kernel's name; the function's of an overlap."""
        self.access = access
        """What was done: "read", "write", "access" for a slot of a buffer, or "division"; of a length "slice" if the
        buffer lacks elements, and "copy" if the other side of a copy has another one."""
        self.buffer = buffer
        """The name of the buffer; None for a division."""
        self.space = space
        """Where the buffer is: "tensor", "shared", "fragment" or "local"."""
        self.index = index
        """The index that is outside; the element that nothing has written; the length of a slice; or None."""
        self.dimension = dimension
        """The dimension in which the index is outside, or which a slice is of, or None."""
        self.extent = extent
        """The buffer's extent in it, or how many elements of a slice there are; or None."""
        self.block = block
        """The block's coordinates, or None if they got lost among many reports."""
        self.iteration = iteration
        """The indices of the `T.Parallel`, if it was in one."""
        self.thread = thread
        """The thread's number, if the statement depends on the thread."""
        self.other = other
        """The argument with which `buffer`, which is written, shares memory, or None."""
        super().__init__(self._say(), location=location)

    def _say(self) -> str:
        if self.kind == "overlap":
            return (
                f"`{self.buffer}` is written, and shares memory with `{self.other}`, in a call of `{self.kernel}`: "
                f"what is computed is not defined; pass a copy"
            )
        done = {"read": "is read", "write": "is written", "access": "is accessed"}
        if self.kind == "division":
            what = "an integer is divided by zero"
        elif self.kind == "bounds":
            where = "" if self.index is None else f" at index {self.index} of dimension {self.dimension}, whose extent"
            where = f"{where} is {self.extent}" if where else " out of bounds"
            what = f"`{self.buffer}` {done[self.access]}{where}"
        elif self.kind == "extents":
            what = self._say_extents()
        else:
            at = "" if self.index is None else f" at {self.index}"
            what = f"`{self.buffer}` is read{at}, where nothing has been written"
        return f"{what}, {by_whom(self.kernel, self.block, self.thread, self.iteration)}"

    def _say_extents(self) -> str:
        if self.index is None:
            return f"the length of a slice of `{self.buffer}` does not fit"
        slice_ = f"the slice of `{self.buffer}` has {self.index} elements along dimension {self.dimension}"
        if self.access == "copy":
            return f"{slice_}, and the other side {self.extent}"
        return f"{slice_}, of which `{self.buffer}` has {self.extent}"


class DeviceAssertError(TLError, AssertionError):
    """A condition of `T.device_assert` did not hold (docs/Printing.md).

    The function ran to its end, and its results are what they are without the assertion.
    """

    def __init__(
        self,
        condition: str,
        message: str,
        *,
        count: int,
        kernel: str | None = None,
        block: tuple[int, ...] | None = None,
        iteration: tuple[int, ...] | None = None,
        thread: int | None = None,
        location: Location | None = None,
    ) -> None:
        self.condition = condition
        """The condition, as it is written."""
        self.note = message
        """The assertion's own message."""
        self.count = count
        """How often an assertion did not hold in the call, or in those on a GPU since one was told of."""
        self.kernel = kernel
        """The kernel's name; None, as all of the place, if there was no room to note which one it was."""
        self.block = block
        """The block's coordinates."""
        self.iteration = iteration
        """The indices of the `T.Parallel`, if it was in one."""
        self.thread = thread
        """The thread's number, if the statement depends on the thread."""
        super().__init__(self._say(), location=location)

    def _say(self) -> str:
        said = f"{self.note}: " if self.note else ""
        what = f"`{self.condition}` does not hold" if self.condition else "an assertion does not hold"
        times = "" if self.count == 1 else f"; assertions failed {self.count} times"
        if self.kernel is None:
            return f"{what}, and `TL_PRINT_BYTES` is too little to note which one{times}"
        return f"{said}{what}, {by_whom(self.kernel, self.block, self.thread, self.iteration)}{times}"


def by_whom(kernel: str, block: tuple[int, ...] | None, thread: int | None, iteration: tuple[int, ...] | None) -> str:
    """Returns who did something, for the end of a sentence."""
    by = f"kernel `{kernel}`"
    if block is not None:
        by = f"block {block} of {by}"
    if thread is not None:
        by = f"thread {thread} of {by}"
    if iteration is not None:
        by = f"iteration {iteration} in {by}"
    return f"by {by}"


class TLWarning(UserWarning):
    """Base of all warnings about programs; `warnings.filterwarnings` silences them by class."""


class UninitializedReadWarning(TLWarning):
    """On-chip memory is read before anything is written to it."""


class UncheckedReadsWarning(TLWarning):
    """A checked kernel has no room to note what was written of some of its tiles."""


class RacingWriteWarning(TLWarning):
    """Many iterations or threads write one element."""


class IdleThreadsWarning(TLWarning):
    """A kernel has more threads than work."""


class IgnoredHintWarning(TLWarning):
    """A hint for another compiler has no counterpart here."""


class LostBitsWarning(TLWarning):
    """A shift leaves no bit of a number."""


class ScalarGemmWarning(TLWarning):
    """No matrix instruction fits a `T.gemm`."""


class UnpipelinedLoopWarning(TLWarning):
    """A loop is marked as pipelined, and no copy runs ahead, or one with a slice of computed length does not."""


class RegisterSpillWarning(TLWarning):
    """A kernel keeps values in local memory because it has no more registers."""


WARNINGS: dict[str, type[TLWarning]] = {
    "uninitialized-read": UninitializedReadWarning,
    "unchecked-reads": UncheckedReadsWarning,
    "racing-write": RacingWriteWarning,
    "idle-threads": IdleThreadsWarning,
    "ignored-hint": IgnoredHintWarning,
    "lost-bits": LostBitsWarning,
    "scalar-gemm": ScalarGemmWarning,
    "unpipelined-loop": UnpipelinedLoopWarning,
    "register-spill": RegisterSpillWarning,
}
"""The classes of warnings, by the name that the compiler ends them with in brackets."""

_warned: dict[str, dict[Any, Any]] = {}
"""For each file of the user's what was warned of, as `warnings` keeps it."""


def warn_at(location: Location, text: str, category: type[TLWarning]) -> None:
    """Warns of what a program says at a place, once for each place."""
    import warnings

    name = next(name for name, known in WARNINGS.items() if known is category)
    warnings.warn_explicit(
        f"{location.file}:{location.line}:{location.column}: warning: {text} [{name}]",
        category,
        location.file,
        location.line,
        registry=_warned.setdefault(location.file, {}),
    )


_MISSED = {
    "gemm uses fma: no matrix instruction fits": (
        "scalar-gemm",
        "use `threads` that are a multiple of 32, a tile that warps can cut into parts of 16 rows and 8 columns, and a "
        "multiple of 32 bytes along K",
    ),
    "gemm uses fma: the chip has no": (
        "scalar-gemm",
        "use operands of `float16` or `int8`, or compile for `sm_80` or later",
    ),
    "loop is not pipelined: the chip": (
        "unpipelined-loop",
        "use `T.serial`, or compile for `sm_80` or later",
    ),
    "loop is not pipelined": ("unpipelined-loop", "use `T.serial`, or mend what is in the way"),
    "copy does not run ahead: a slice ends": (
        "unpipelined-loop",
        "give the place where a tile of a fixed size begins, such as `A[i, 0]`, and leave out what is behind the end "
        "where the tile is used",
    ),
}
"""The remarks that are worth a warning, by how they begin: its name, and the remedy."""


def _promoted(severity: str, message: str) -> tuple[str, str]:
    """Returns severity and text of a message; remarks about what users do not expect are warnings.

    The text of a remark is `[Missed] name | Category:category | Remark="text"`.
    """
    if severity == "remark" and message.startswith("[Missed]"):
        text = message.partition('Remark="')[2].removesuffix('"')
        for start, (name, remedy) in _MISSED.items():
            if text.startswith(start):
                return "warning", f"{text}; {remedy} [{name}]"
    return severity, message


def grid_in_brackets(name: str, location: Location) -> UnsupportedError:
    """Returns the error for a launch as in `kernel[grid](...)`."""
    return UnsupportedError(
        f"`{name}` has its grid in it, in `T.Kernel(...)`: call it without brackets, `{name}(...)`", location=location
    )


_IN_PROGRAMS = {
    "gpu.barrier": "T.sync_threads",
    "tl.copy": "T.copy",
    "tl.fill": "T.fill",
    "tl.gemm": "T.gemm",
    "tl.parallel": "T.Parallel",
    "tl.pipelined": "T.Pipelined",
    "tl.reduce": "T.reduce",
    "tl.scan": "T.cumsum` or `T.cummax",
    "tl.tensor_at": "T.make_tensor_from_addr",
}
"""What programs call the operations that messages of the compiler are about."""


def _in_words_of_programs(message: str, called: str) -> str:
    """Returns a message with names that a program has, where the compiler says those of operations.

    `called` is what the program calls at the place of the message, if it calls something there.
    """
    subject, is_of_op, rest = message.partition("' op ")
    if called and is_of_op and subject.startswith("'"):
        message = f"`{called}` {rest}"
    for op, name in _IN_PROGRAMS.items():
        message = message.replace(f"'{op}' op ", f"`{name}` ").replace(f"`{op}`", f"`{name}`")
    return message


def called_at(file: str, line: int, column: int) -> str:
    """Returns what is called at a place of a program, such as `T.copy`, or "" if nothing of a module is."""
    import linecache
    import re

    found = re.match(r"\w+(\.\w+)+(?=\()", linecache.getline(file, line)[max(column, 1) - 1 :])
    return found[0] if found else ""


class Diagnostic:
    """One message of the compiler, at a place in the user's program."""

    def __init__(
        self,
        severity: str,
        message: str,
        file: str = "",
        line: int = 0,
        column: int = 0,
        notes: tuple[Diagnostic, ...] = (),
        kind: str = "",
    ) -> None:
        self.severity = severity
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.notes = notes
        self.kind = kind
        """"not-cached" for a kernel that must not be compiled; else ""."""

    @staticmethod
    def from_json(data: dict[str, Any]) -> Diagnostic:
        severity, message = _promoted(data.get("severity", "note"), data.get("message", ""))
        file, line, column = data.get("file") or "", data.get("line") or 0, data.get("column") or 0
        # An error is of a program that is being compiled; the file of another message may be anybody's.
        called = called_at(file, line, column) if severity == "error" else ""
        return Diagnostic(
            severity=severity,
            message=_in_words_of_programs(message, called),
            file=file,
            line=line,
            column=column,
            notes=tuple(Diagnostic.from_json(note) for note in data.get("notes", ())),
            kind=data.get("kind", ""),
        )

    @property
    def category(self) -> type[TLWarning]:
        """The class of the warning that this message is."""
        return WARNINGS.get(self.message.rpartition("[")[2].removesuffix("]"), TLWarning)

    def render(self) -> str:
        """Returns the message with its place, its source line, and its notes below."""
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else ""
        lines = [f"{place}{self.severity}: {self.message}"]
        if source := excerpt(self.file, self.line, self.column) if self.line else "":
            lines.append(source)
        lines += [note.render() for note in self.notes]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<{self.severity} at {self.file}:{self.line}:{self.column}: {self.message}>"


class CompileError(TLError, ValueError):
    """The compiler rejected a program; `diagnostics` holds every message."""

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)

    def __str__(self) -> str:
        return "\n".join([self.message, *(d.render() for d in self.diagnostics)])


class NotCachedError(CompileError):
    """Nothing may be compiled (`tilec.never_compile`), and the cache does not have a kernel."""
