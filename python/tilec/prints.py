"""What calls of kernels print: the record that a call passes, and the text that is made of it (docs/Printing.md).

What the record holds is said in `include/tl/Dialect/TL/Transforms/Prints.h`.
"""

from __future__ import annotations

import array
import contextlib
import functools
import struct
import sys
import weakref

from . import _tl, assertions, dtypes, env
from .array import Array
from .errors import CheckError, DeviceAssertError, LaunchError, TLError, by_whom
from .layouts import places
from .location import Location
from .results import is_on_gpu
from .streams import current_stream, is_capturing
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from typing import Any

    from .kernel import Kernel

HEADER_WORDS = 2
ENTRY_WORDS = 3
COUNT_BIT = 36
MOST_WORDS = 1 << 27
"""The words, a GiB of them, that a call makes room for by itself."""
_LOW, _WORD = (1 << 32) - 1, (1 << 64) - 1


class Entry:
    """One thing that was printed: where, by whom, and what."""

    __slots__ = ("block", "element", "order", "site", "slot", "words")

    def __init__(self, site: dict[str, Any], slot: int, head: Sequence[int], words: Sequence[int]) -> None:
        self.site = site
        self.slot = slot
        self.element = head[0] & _LOW
        self.block = (head[1] >> 32 & _LOW, head[1] & _LOW, head[2] >> 32 & _LOW)
        self.order = head[2] & _LOW
        self.words = words

    @property
    def key(self) -> tuple[Any, ...]:
        """The order of what is printed (docs/language/semantics.md, D1)."""
        return self.site["launch"], self.block, self.order, self.element, self.slot

    @property
    def block_shown(self) -> tuple[int, ...]:
        return self.block[: self.site["grid"]]

    @property
    def iteration(self) -> tuple[int, ...] | None:
        return _unravel(self.element, self.site["box"]) if self.site["runner"] == "iteration" else None

    @property
    def thread(self) -> int | None:
        return self.element if self.site["runner"] == "thread" else None

    @property
    def location(self) -> Location | None:
        site = self.site
        return Location(site["file"], site["line"], site["column"]) if "line" in site else None

    def values(self) -> list[Any]:
        """Returns the numbers as Python's."""
        return [_number(word, self.site.get("dtype", "int64")) for word in self.words]

    def text(self, *, with_kernel: bool) -> str:
        """Returns the lines that are printed."""
        site = self.site
        who = f"block {self.block_shown}"
        if with_kernel:
            who = f"kernel `{site['kernel']}`, {who}"
        if self.thread is not None:
            who += f", thread {self.thread}"
        if self.iteration is not None:
            who += f", iteration {self.iteration}"
        what = [who, *([site["message"]] if site["message"] else [])]
        if not self.words:
            return ": ".join(what)
        name, dtype = site.get("name", ""), site["dtype"]
        numbers = [_shown(value, dtype) for value in self.values()]
        if "shape" not in site:
            return ": ".join([*what, f"{name} = {numbers[0]}" if name else numbers[0]])
        shape = ", ".join(map(str, site["shape"])) + ("," if len(site["shape"]) == 1 else "")
        head = ": ".join([*what, f"{name or 'tile'}, {dtype} ({shape}) in {_SPACES[site['space']]}:"])
        text = f"{head}\n{_rows(numbers, site['shape'])}"
        if "layout" not in site:
            return text
        kind, at = places(site["layout"], site["shape"], dtypes.dtype(dtype).bits)
        return f"{text}\n  {kind}:\n{_rows(at, site['shape'])}"


_SPACES = {"tensor": "device memory", "shared": "shared memory", "fragment": "a fragment", "local": "a local array"}


class Stop:
    """A breakpoint that was reached: where, by whom, and the values that it names."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        first = entries[0]
        self.kernel: str = first.site["kernel"]
        self.block = first.block_shown
        self.iteration = first.iteration
        self.thread = first.thread
        self.location = first.location
        self.message: str = first.site["message"]
        self.values: dict[str, Any] = {entry.site["name"]: _as_array(entry) for entry in entries if entry.words}
        """What was noted, by its text or name: numbers, and tiles as NumPy arrays, or nested lists without NumPy."""

    def __str__(self) -> str:
        """Everything that it holds, for people to read."""
        values = [
            f"{name} = {value}" if "\n" not in str(value) else f"{name} =\n{value}"
            for name, value in self.values.items()
        ]
        return "\n".join([repr(self), *values])

    def __repr__(self) -> str:
        by = by_whom(self.kernel, self.block, self.thread, self.iteration)
        where = f"{self.location.file}:{self.location.line}: " if self.location else ""
        said = f"{self.message}: " if self.message else ""
        return f"<{where}{said}stop {by}, with {', '.join(self.values) or 'no values'}>"


def _debug(stop: Stop) -> None:
    """Shows a stop, and starts the debugger that `breakpoint()` starts, with the values as variables."""
    print(repr(stop))
    names = {name if name.isidentifier() else f"value{i}": v for i, (name, v) in enumerate(stop.values.items())}
    # The frame of the debugger is this text's, whose variables are the values.
    exec(compile("breakpoint()", "<T.breakpoint>", "exec"), {"stop": stop}, names)


hook: Callable[[Stop], Any] = _debug
"""What is called with each breakpoint that a call reached."""


def _with_layouts(kernel: Kernel) -> list[dict[str, Any]]:
    """Returns the places that print, with the layout of a tile that is to be printed with it, if it has one."""
    sites = kernel.sites("prints")
    for site in sites:
        layout = kernel.layouts.get(site.pop("layout", -1))
        if layout is not None:
            site["layout"] = layout
    return sites


class PrintingLaunch:
    """Calls a function that prints with all its parameters, waits for it, and prints.

    If what is printed finds no room, the tensors get what they held before, and it is called again with more, before
    anybody is told anything.
    """

    def __init__(self, kernel: Kernel, launch: Callable[..., Any]) -> None:
        self._launch = launch
        self._name = kernel.name
        self._is_cuda = kernel.is_cuda
        self._written = [i for i, p in enumerate(kernel.function.parameters) if p.is_tensor and p.is_written]
        self._sites: list[dict[str, Any]] = _with_layouts(kernel)
        self._with_kernel = len({site["launch"] for site in self._sites}) > 1
        self._wanted = 0
        self._listener: Callable[[Stop], Any] | None = None
        self._runs_once = False

    @contextlib.contextmanager
    def heard_by(self, listener: Callable[[Stop], Any]) -> Generator[None]:
        """Gives stops to a function; what else is printed or asserted is left out."""
        before, self._listener = self._listener, listener
        try:
            yield
        finally:
            self._listener = before

    @contextlib.contextmanager
    def running_once(self) -> Generator[None]:
        """Makes one run of each call, for who counts what runs do: what finds no room is lost."""
        before, self._runs_once = self._runs_once, True
        try:
            yield
        finally:
            self._runs_once = before

    def __call__(self, *values: Any) -> Any:
        tensor = next((v for v in values if is_on_gpu(v)), None) if self._is_cuda else None
        device = 0 if tensor is None else tensor.__dlpack_device__()[1]
        if self._is_cuda and is_capturing():
            raise LaunchError(
                f"`{self._name}` prints, for which a call waits for the GPU, and cannot be captured in a CUDA graph: "
                f"capture it without `T.print`, `T.device_assert` and `T.breakpoint`"
            )

        def make_record(words: int) -> Array:
            record = Array.empty((words,), dtypes.int64, cuda=device if self._is_cuda else None)
            record.clear(current_stream(device, tensor) if self._is_cuda else 0)
            return record

        words = max(env.print_bytes() // 8, self._wanted, HEADER_WORDS)
        record = make_record(words)
        put_back = None if self._runs_once else self._keep(values, device)
        failed: BaseException | None = None
        while True:
            try:
                if self._launch(*values, record) is NotImplemented:
                    return NotImplemented
                if self._is_cuda:
                    _tl.cuda_synchronize(device)
            except BaseException as error:
                # A GPU that failed has nothing to say any more. But a check fails after a run to the end.
                if self._is_cuda and not isinstance(error, CheckError):
                    raise
                failed = error
            self._wanted = max(self._wanted, _words_for(record, words))
            if self._wanted <= words or put_back is None or isinstance(failed, KeyboardInterrupt):
                break
            try:
                record = make_record(self._wanted)
            except (LaunchError, MemoryError):
                break
            words = self._wanted
            put_back()
        # What was printed says how far a run came that has failed.
        assertion = self._tell(record, words)
        if failed is not None:
            raise failed
        if assertion is not None and self._listener is None:
            raise assertion
        return None

    def _keep(self, values: Sequence[Any], device: int) -> Callable[[], None] | None:
        """Notes what the tensors hold that the function writes, and returns what puts it back.

        Returns None if that is not known, or if there is no memory for it.
        """
        written = tuple(values[i] for i in self._written if i < len(values))
        try:
            return _keep_on_gpu(written, device) if self._is_cuda else _tl.Contents(written).put_back
        except (MemoryError, RuntimeError):  # PyTorch's, and ours, derive from the latter
            return None

    def _tell(self, record: Array, words: int) -> DeviceAssertError | None:
        """Prints what the record holds, and returns the first assertion that failed."""
        count, wanted, has_failed = _read_head(record)
        if not count and not has_failed:
            return None
        body = array.array("q", bytes(8 * min(wanted, words)))
        record.copy_start_into(body)
        entries = _entries(body, self._sites)
        self._print(entries)
        if lost := count - len(entries):
            why = "the kernel was ended while it wrote them"
            if wanted > words:
                why = f"they need {8 * wanted} bytes, and there were {8 * words}: "
                why += (
                    f"the next call has {8 * self._wanted}, and `TL_PRINT_BYTES` says how many the first one has"
                    if self._wanted > words
                    else "`TL_PRINT_BYTES` says how many a call has that needs more"
                )
            print(f"`{self._name}`: {lost} things to print are lost, because {why}", file=sys.stderr)
        failed = [entry for entry in entries if entry.site["kind"] == "assert"]
        return _error(failed, max(len(failed), 1)) if has_failed else None

    def _print(self, entries: Sequence[Entry]) -> None:
        noted: list[Entry] = []
        lines: list[str] = []
        for entry in entries:
            kind = entry.site["kind"]
            if kind == "print" and self._listener is None:
                lines.append(entry.text(with_kernel=self._with_kernel))
            elif kind in ("stop", "last stop"):
                noted.append(entry)
            if kind == "last stop":
                _flush(lines)
                (self._listener or hook)(Stop(noted))
                noted = []
        _flush(lines)


class Failures:
    """What assertions of a function have noted on each GPU that it was called on, in memory of the host."""

    def __init__(self, sites: list[dict[str, Any]]) -> None:
        self._sites = sites
        self._records: dict[int, Array] = {}

    def record(self, device: int) -> Array | None:
        """Returns where kernels on a GPU are to note what fails, if there is room for it already."""
        return self._records.get(device)

    def make_record(self, device: int) -> Array:
        """Makes room for what fails on a GPU."""
        words = max(min(env.print_bytes(), MOST_BYTES_NOTED) // 8, HEADER_WORDS)
        return self._records.setdefault(device, Array.shared((words,), dtypes.int64, cuda=device))

    def tell(self, device: int | None) -> None:
        """Raises what was noted, if something was."""
        for number, record in tuple(self._records.items()):
            if device in (None, number) and (error := self._take(number, record)) is not None:
                raise error

    def say(self) -> None:
        """Waits for the GPUs, and writes what was noted to `sys.stderr`: nobody will make another call."""
        for device, record in self._records.items():
            try:
                _tl.cuda_synchronize(device)
                error = self._take(device, record)
            except (TLError, RuntimeError):  # a GPU that failed, or a driver that is gone, has nothing to say any more
                continue
            if error is not None:
                print(f"{type(error).__name__}: {error}", file=sys.stderr)

    def _take(self, device: int, record: Array) -> DeviceAssertError | None:
        """Returns what was noted, and forgets it."""
        if not _read_head(record)[2]:
            return None
        _tl.cuda_synchronize(device)  # it may be about to note more
        count, wanted, _ = _read_head(record)
        body = array.array("q", bytes(8 * min(wanted, record.shape[0])))
        record.copy_start_into(body)
        record.clear(0)
        return _error(_entries(body, self._sites), max(count, 1))


MOST_BYTES_NOTED = 1 << 20
"""The most memory of the host that is kept for what fails on a GPU."""


class AssertingLaunch:
    """Calls a function that asserts, and prints nothing, on a GPU with all its parameters; does not wait for it.

    What fails is noted in memory of the host, which says so to the next call, to whoever else waits for the GPU, or
    when the kernel is given up. A kernel whose assertions hold does not touch it.
    """

    def __init__(self, kernel: Kernel, launch: Callable[..., Any]) -> None:
        self._launch = launch
        self._name = kernel.name
        self._failures = Failures(kernel.sites("prints"))
        assertions.noted.add(self._failures)
        weakref.finalize(self, self._failures.say)

    def __call__(self, *values: Any) -> Any:
        device = next((v.__dlpack_device__()[1] for v in values if is_on_gpu(v)), 0)
        is_captured = is_capturing()
        if not is_captured:
            self._failures.tell(device)
        record = self._failures.record(device)
        if record is None:
            if is_captured:
                raise LaunchError(
                    f"`{self._name}` asserts, and has no memory yet for what fails, which cannot be allocated while a "
                    f"CUDA graph is captured: call it once before"
                )
            record = self._failures.make_record(device)
        if self._launch(*values, record) is NotImplemented:
            return NotImplemented
        if env.do_launches_wait() and not is_captured:
            assertions.synchronize(device)
        return None


def make_launch(kernel: Kernel, launch: Callable[..., Any]) -> PrintingLaunch | AssertingLaunch:
    """Returns what calls a function that prints or asserts."""
    only_asserts = all(site["kind"] == "assert" for site in kernel.sites("prints"))
    return (AssertingLaunch if kernel.is_cuda and only_asserts else PrintingLaunch)(kernel, launch)


def _entries(body: Sequence[int], sites: Sequence[dict[str, Any]]) -> list[Entry]:
    """Returns what a record holds, in order."""

    def walk() -> Iterator[Entry]:
        at = HEADER_WORDS
        while at < len(body):
            number = body[at] >> 32
            if not 0 < number <= len(sites):  # of a kernel that was ended
                return
            site = sites[number - 1]
            first = at + ENTRY_WORDS
            if first + site["elements"] > len(body):
                return
            yield Entry(site, at, body[at:first], body[first : first + site["elements"]])
            at = first + site["elements"]

    return sorted(walk(), key=lambda entry: entry.key)


def _error(entries: Sequence[Entry], count: int) -> DeviceAssertError:
    """Returns the error of the first of the assertions that failed, of which there are `count`."""
    if not entries:
        return DeviceAssertError("", "", count=count)
    failed, site = entries[0], entries[0].site
    return DeviceAssertError(
        site["name"],
        site["message"],
        count=count,
        kernel=site["kernel"],
        block=failed.block_shown,
        iteration=failed.iteration,
        thread=failed.thread,
        location=failed.location,
    )


def _read_head(record: Array) -> tuple[int, int, bool]:
    """Returns how many entries there are, the words that a record for all would have, and if an assertion failed."""
    head = array.array("q", bytes(8 * HEADER_WORDS))
    record.copy_start_into(head)
    wanted = head[0] & _WORD
    return wanted >> COUNT_BIT, HEADER_WORDS + (wanted & (1 << COUNT_BIT) - 1), head[1] != 0


def _words_for(record: Array, words: int) -> int:
    """Returns how many words a record is to have, after one of `words`: as many, if all found room or may have no more.

    It is twice as many at least, because runs differ: a few of them come to an end.
    """
    _, wanted, _ = _read_head(record)
    return words if wanted <= words else max(words, min(max(wanted, 2 * words), MOST_WORDS))


def _keep_on_gpu(tensors: Sequence[Any], device: int) -> Callable[[], None] | None:
    """Notes what tensors on a GPU hold, and returns what puts it back; None unless it is known of all how.

    PyTorch copies on its current stream, to which the call belongs.
    """
    torch: Any = sys.modules.get("torch")
    kept: list[Callable[[], Any]] = []
    for tensor in tensors:
        if isinstance(tensor, Array):
            _tl.cuda_synchronize(device)
            contents = bytearray(tensor.nbytes)
            tensor.copy_into(contents)
            kept.append(functools.partial(tensor.copy_from, contents))
        elif torch is not None and isinstance(tensor, torch.Tensor):
            with torch.inference_mode():
                for dimension, stride in enumerate(tensor.stride()):
                    if stride == 0:  # all elements of such a dimension are one
                        tensor = tensor.narrow(dimension, 0, min(1, tensor.shape[dimension]))
                kept.append(functools.partial(tensor.copy_, tensor.clone()))
        elif tensor is not None:
            return None

    def put_back() -> None:
        with torch.inference_mode() if torch is not None else contextlib.nullcontext():
            for put in kept:
                put()
        _tl.cuda_synchronize(device)

    return put_back


def _flush(lines: list[str]) -> None:
    if lines:
        print("\n".join(lines))
        lines.clear()


# Numbers --------------------------------------------------------------------------------------------------------------


def _number(word: int, dtype: str) -> Any:
    """Returns the number that a word of the record stands for."""
    element = dtypes.index if dtype == "index" else dtypes.dtype(dtype)
    bits = word & (1 << max(element.bits, 32)) - 1 if element.is_float else word & (1 << element.bits) - 1
    if element.kind == "bool":
        return word & 0xFF != 0
    if element.is_float:
        return struct.unpack(
            "<d" if element.bits == 64 else "<f", bits.to_bytes(8 if element.bits == 64 else 4, "little")
        )[0]
    return bits - (1 << element.bits) if element.is_signed and bits >> (element.bits - 1) else bits


_DIGITS = {"float16": 5, "bfloat16": 4, "float8_e4m3fn": 4, "float8_e5m2": 4, "tfloat32": 5}
"""Digits that tell all numbers of a type apart."""


def _shown(value: Any, dtype: str) -> str:
    """Returns a number's text: of a float the shortest that tells it from its neighbours."""
    if not isinstance(value, float):
        return str(value)
    if dtype == "float64":
        return repr(value)
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    if dtype in _DIGITS:
        text = f"{value:.{_DIGITS[dtype]}g}"
    else:
        text = next(t for digits in (6, 7, 8, 9) if _to_f32(float(t := f"{value:.{digits}g}")) == value)
    return text if any(c in text for c in ".en") else f"{text}.0"


def _to_f32(value: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:  # rounded up beyond the greatest
        return float("inf")


def _unravel(number: int, shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the coordinates of the element of a row-major number."""
    coordinates: list[int] = []
    for extent in reversed(shape):
        number, coordinate = divmod(number, extent)
        coordinates.append(coordinate)
    return tuple(reversed(coordinates))


def _rows(numbers: list[str], shape: Sequence[int]) -> str:
    """Returns the elements of a tile in brackets, a line for each row, in columns."""
    width = max(map(len, numbers))
    padded = iter([number.rjust(width) for number in numbers])

    def nest(extents: Sequence[int], depth: int) -> str:
        if not extents:
            return next(padded)
        inner = [nest(extents[1:], depth + 1) for _ in range(extents[0])]
        if len(extents) == 1:
            return f"[{', '.join(inner)}]"
        gap = "," + "\n" * (len(extents) - 1) + " " * (depth + 1)
        return f"[{gap.join(inner)}]"

    return "  " + nest(shape, 2)


def _as_array(entry: Entry) -> Any:
    """Returns a number as Python's, a tile as an array of NumPy's, or as nested lists where there is no NumPy."""
    values = entry.values()
    if "shape" not in entry.site:
        return values[0]
    shape: list[int] = entry.site["shape"]
    try:
        import numpy as np
    except ImportError:
        for extent in reversed(shape[1:]):
            values = [values[i : i + extent] for i in range(0, len(values), extent)]
        return values if shape else values[0]
    name = entry.site["dtype"]
    kept = name if hasattr(np, name) else "bool" if name == "bool" else "float32"
    return np.array(values, kept).reshape(shape)
