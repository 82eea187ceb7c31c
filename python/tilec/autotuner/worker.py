"""What runs in the processes of `processes.Worker`: compiling a program, and measuring it.

Everything that a configuration can break is in here: the process, its GPU context, its memory.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import queue
import signal
import threading
import warnings

from ..errors import CompileError, TLError, TLWarning
from ..strided import Strided, view
from ..typed import TYPE_CHECKING, cast
from .nvtx import marked
from .processes import LENGTH, Failure, send
from .supplier import Arguments, Blank
from .tensors import StoredTensor, TensorFile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import IO, Any

    from ..array import Array
    from ..builder import PrimFunc
    from ..dtypes import DType
    from ..kernel import Kernel
    from ..supply import Storage


class Settings:
    """What holds for all programs that a process measures."""

    def __init__(
        self,
        device: int | None,
        *,
        rtol: float,
        atol: float,
        max_mismatched_ratio: float,
        reset_to_zero: Sequence[str] = (),
        restore_value: Sequence[str] = (),
        pre_hook: bytes | None = None,
        use_torch: bool = False,
        keep_outputs: bool = False,
    ) -> None:
        self.device = device
        self.rtol = rtol
        self.atol = atol
        self.max_mismatched_ratio = max_mismatched_ratio
        self.reset_to_zero = tuple(reset_to_zero)
        self.restore_value = tuple(restore_value)
        self.pre_hook = pre_hook
        """A pickled function of the arguments by name, called before each run."""
        self.use_torch = use_torch
        """Whether the hook takes tensors of PyTorch rather than NumPy's or our own."""
        self.keep_outputs = keep_outputs
        """Whether results are sent back, for a check that is done elsewhere."""


class Job:
    """A program to compile and measure."""

    def __init__(self, number: int, function: PrimFunc, outputs: Sequence[int] | None, options: dict[str, Any]) -> None:
        self.number = number
        self.function = function
        self.outputs = outputs
        self.options = options
        self.arguments: Arguments | None = None
        self.label = ""
        """What profilers call it."""
        self.postproc: bytes | None = None
        """The pickled function that edits the source, if there is one."""


def compiled(job: Job) -> Kernel:
    """Returns the job's kernel, one that takes its results as arguments."""
    from ..compiler import compile

    try:
        hook: Any = pickle.loads(job.postproc) if job.postproc else None
        options: dict[str, Any] = {"checks": False, **job.options, "postproc": hook}
        return compile(job.function, None, **options)
    except CompileError as error:
        raise Failure("uncompilable", "\n".join([error.message, *(d.message for d in error.diagnostics)])) from None
    except TLError as error:
        raise Failure("uncompilable", error.message) from None


class Bench:
    """The programs that a process measures, and their data."""

    def __init__(self, settings: Settings) -> None:
        from ..profiler import stopwatch

        self._settings = settings
        self._watch = stopwatch(settings.device)
        self._hook: Any = pickle.loads(settings.pre_hook) if settings.pre_hook else None
        self._arrays: dict[Any, Array] = {}
        self._accepted: dict[Any, list[Storage]] = {}
        self._programs: dict[int, Program] = {}
        self._kept: TensorFile | None = None

    def check(self, job: Job) -> tuple[float, list[StoredTensor] | None]:
        """Runs a program once and compares what it computes; returns about how many milliseconds it takes."""
        program = self._load(job)
        program.restore(everything=True)
        program.prepare()
        program.run()
        self._synchronize()
        found = program.outputs()
        if program.arguments.expected is not None:
            problem = self._compare(program, found)
            if problem:
                self._arrays.clear()  # who computes the wrong thing may have written anywhere
                self._programs.clear()
                raise Failure("wrong", problem)
        kept = self._keep(found) if self._settings.keep_outputs else None
        return min(self._watch.samples(program.run, 2, program.prepare)), kept

    def _keep(self, found: list[Any]) -> list[StoredTensor]:
        """Makes results readable for the parent, until the next check."""
        if self._kept is not None:
            self._kept.close()
        self._kept = TensorFile()
        return [self._kept.add(*f) for f in found]

    def samples(self, job: Job, warmup: int, count: int) -> list[float]:
        """Runs a program `warmup` times, then measures it."""
        program = self._programs.get(job.number) or self._load(job)
        for _ in range(warmup):
            program.prepare()
            program.run()
        return self._watch.samples(program.run, count, program.prepare)

    def is_sound(self) -> bool:
        """Whether the GPU still works for this process."""
        try:
            self._synchronize()
        except TLError:
            return False
        return True

    def _synchronize(self) -> None:
        from .. import _tl

        if self._settings.device is not None:
            _tl.cuda_synchronize(self._settings.device)

    def _load(self, job: Job) -> Program:
        assert job.arguments is not None, "the job was given arguments"
        program = Program(compiled(job), job, job.arguments, self._settings, self._array, self._hook)
        self._programs[job.number] = program
        return program

    def _array(self, value: StoredTensor | Blank, copy: int = 0) -> Array:
        """Returns the memory of a stored tensor, or room for a result, shared by all programs."""
        from ..array import Array

        key = (value.place, copy) if isinstance(value, StoredTensor) else (value.shape, value.dtype.name, copy)
        if key not in self._arrays:
            if isinstance(value, StoredTensor):
                self._arrays[key] = Array.from_numpy(value.memory(), value.dtype, cuda=self._settings.device)
            else:
                self._arrays[key] = Array.empty(value.shape, value.dtype, cuda=self._settings.device)
        return self._arrays[key]

    def _compare(self, program: Program, found: list[Any]) -> str | None:
        import numpy as np

        from ..supply import storage_type
        from ..verify import compare

        s = self._settings
        for name, (storage, dtype), wanted in zip(
            program.result_names(), found, program.arguments.expected or (), strict=True
        ):
            # Most configurations agree with one another to the last bit, which is quicker to see.
            bits = storage.reshape(-1).view(f"u{storage_type(dtype).itemsize}")
            known = self._accepted.setdefault(wanted.place, [])
            if any(np.array_equal(bits, other) for other in known):
                continue
            problem = compare(
                name, (storage, dtype), (wanted.read(), wanted.dtype), s.rtol, s.atol, s.max_mismatched_ratio
            )
            if problem:
                return problem
            if len(known) < 4:
                known.append(bits)
        return None


class Program:
    """A kernel with its arguments."""

    def __init__(
        self,
        kernel: Kernel,
        job: Job,
        arguments: Arguments,
        settings: Settings,
        array: Callable[..., Array],
        hook: Any,
    ) -> None:
        from ..verify import written

        self.arguments = arguments
        self._parameters = kernel.function.parameters
        self._written = written(job.function, job.outputs)
        self._device = settings.device
        self._memory = {i: array(v) for i, v in enumerate(arguments.values) if isinstance(v, StoredTensor | Blank)}
        self._values = [_seen(v, self._memory.get(i)) for i, v in enumerate(arguments.values)]
        self._launch = kernel.launcher()
        self._zeroed = self._numbers(settings.reset_to_zero, "reset_to_zero")
        restored = self._numbers(settings.restore_value, "restore_value")
        self._pristine = {i: array(arguments.values[i], 1) for i in restored}
        self._hook = hook
        self._hook_arguments = (
            {p.name: _for_user(v, settings) for p, v in zip(self._parameters, self._values, strict=True)}
            if hook
            else {}
        )

    def _numbers(self, names: Sequence[str], what: str) -> list[int]:
        known = {self._parameters[i].name: i for i in self._memory}
        for name in names:
            if name not in known:
                raise Failure("failed", f"`{what}` names `{name}`, which is no tensor of the kernel")
        return [known[name] for name in names]

    def run(self) -> None:
        self._launch(*self._values)

    def prepare(self) -> None:
        """Does what comes before each run."""
        for i in self._zeroed:
            _fill(self._memory[i], 0, self._device)
        self.restore(everything=False)
        if self._hook:
            self._hook(self._hook_arguments)

    def restore(self, *, everything: bool) -> None:
        """Gives tensors their first values again: those that must have them before each run, or all that is written."""
        from .. import _tl

        for i, pristine in self._pristine.items():
            memory = self._memory[i]
            if self._device is None:
                ctypes.memmove(memory.address, pristine.address, memory.nbytes)
            else:
                _tl.cuda_copy(self._device, memory.address, pristine.address, memory.nbytes, _stream(self._device))
        if not everything:
            return
        for i, memory in self._memory.items():
            source = self.arguments.values[i]
            if isinstance(source, Blank):
                _fill(memory, 0xFF, self._device)  # NaN, for floats: what is not written shows
            elif self._parameters[i].is_written:
                memory.copy_from(source.memory().reshape(-1).view("u1"))

    def outputs(self) -> list[Any]:
        return [self._output(i) for i in self._written]

    def _output(self, number: int) -> tuple[Storage, DType]:
        import numpy as np

        from ..supply import to_storage

        storage, dtype = to_storage(self._memory[number])
        source = self.arguments.values[number]
        if isinstance(source, StoredTensor) and source.strides is not None:
            storage = np.ascontiguousarray(view(storage, source.shape, source.strides))
        return storage, dtype

    def result_names(self) -> list[str]:
        return [self._parameters[i].name for i in self._written]


def _seen(value: Any, memory: Array | None) -> Any:
    """Returns what a kernel is called with: a value, or the tensor that lies in an array."""
    if isinstance(value, StoredTensor) and value.strides is not None:
        assert memory is not None, "it was loaded"
        return Strided(memory, value.shape, value.strides)
    return value if memory is None else memory


def _stream(device: int) -> int:
    from ..streams import current_stream

    return current_stream(device)


def _fill(array: Array, byte: int, device: int | None) -> None:
    from .. import _tl

    if device is not None:
        _tl.cuda_fill(device, array.address, byte, array.nbytes, _stream(device))
        return
    ctypes.memset(array.address, byte, array.nbytes)


def _for_user(value: Any, settings: Settings) -> Any:
    from ..array import Array

    if not isinstance(value, Array | Strided):
        return value
    if settings.use_torch:
        import torch  # pyright: ignore[reportMissingImports]

        return torch.from_dlpack(value)  # pyright: ignore[reportUnknownVariableType]
    if settings.device is not None:
        return value
    return value.numpy() if isinstance(value, Array) else view(value.array.numpy(), value.shape, value.strides)


# The process ---------------------------------------------------------------------------------------------------------


class Server:
    """The commands."""

    def __init__(self) -> None:
        self._bench: Bench | None = None

    def compile(self, job: Job) -> dict[str, Any]:
        """Puts a program's kernels into the cache; returns what identifies them."""
        import json

        from .identity import digest

        kernel = compiled(job)
        info = kernel.compile_info
        return {
            "kernels": [k["key"] for k in info["kernels"]],
            "plan": digest(json.dumps(info["functions"], sort_keys=True)),
            "compiled": not kernel.cached,
        }

    def configure(self, settings: Settings) -> None:
        self._bench = Bench(settings)

    def check(self, job: Job) -> Any:
        return cast("Bench", self._bench).check(job)

    def samples(self, job: Job, warmup: int, count: int) -> list[float]:
        return cast("Bench", self._bench).samples(job, warmup, count)

    def answer(self, command: str, arguments: tuple[Any, ...]) -> tuple[str, Any]:
        """Executes a command; returns "done" and the result, or "failed", why, and whether the process can go on."""
        job = arguments[0] if arguments else None
        try:
            with marked(f"{command} {job.label}") if isinstance(job, Job) else contextlib.nullcontext():
                return "done", getattr(self, command)(*arguments)
        except Failure as failure:
            return "failed", (failure.status, failure.reason, True)
        except Exception as error:
            message = error.message if isinstance(error, TLError) else f"{type(error).__name__}: {error}"
            return "failed", ("failed", message, self._bench is not None and self._bench.is_sound())


def main() -> None:
    """Reads commands until there are no more. A parent that dies closes the pipe, which ends this process at once, even
    in the midst of a kernel that never ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # what kernels and compilers print is no answer
    warnings.simplefilter("ignore", TLWarning)  # of configurations that lose; the best one is compiled again
    _configure(_receive(source))
    commands: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(source, commands), daemon=True).start()
    server = Server()
    while True:
        command, arguments = commands.get()
        send(sink, server.answer(command, arguments))


def _receive(source: IO[bytes]) -> Any:
    """Returns a message; ends this process if the parent has died."""
    header = source.read(LENGTH.size)
    if len(header) != LENGTH.size:
        os._exit(0)
    (length,) = LENGTH.unpack(header)
    return pickle.loads(source.read(length))


def _configure(secrets: dict[str, str]) -> None:
    """Lets the compiler's library read what reaches the servers that share the cache, and nobody else: what kernels and
    compilers start inherits the environment."""
    from .. import cache

    if not secrets:
        return
    os.environ.update(secrets)
    cache.configure()
    for name in secrets:
        os.environ.pop(name, None)


def _listen(source: IO[bytes], commands: queue.SimpleQueue[Any]) -> None:
    while True:
        commands.put(_receive(source))
