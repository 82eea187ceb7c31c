"""Runs one program for TileLang, keeps the kernels that it calls, and times them when it is told to.

`same_text.py` starts two of these for each program: one with the TileLang that is installed, one with ours in its
place. Messages are lines of JSON: the task is the only argument; on the standard input come what is to be timed, and
the standard output has the answers. What the program itself prints goes to the log.

The calls of a kernel are seen where all of them come by. Their arguments are kept, not copied, so that a kernel is
timed on the tensors of its first call, with what the program has left in them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
import json
import os
import random
import runpy
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from clocks import GpuClock, HostClock
from text_rows import Called
from timing import Timer, brief, runnable, timers

SPAN = 2e-3
"""Seconds that a sample takes at least, unless that took more than `MOST` calls."""

MOST = 200

KEPT = 24
"""How many kernels of a program are timed: tests of many sizes would take all the time."""


TOO_LONG = "it took too long"


class OutOfTimeError(KeyboardInterrupt):
    """The time of a program is over; what it called until then is timed.

    Programs do not catch it, but what they call may make another error of it: it is raised each time it is told.
    """


class Limit:
    """Ends a program when the signal comes, and knows whether it came."""

    def __init__(self) -> None:
        self.is_running = self.is_over = False
        signal.signal(signal.SIGUSR1, self._over)

    def _over(self, *_: Any) -> None:
        self.is_over = True
        if self.is_running:
            raise OutOfTimeError

    def run(self, program: Callable[[], list[str]]) -> list[str]:
        """Returns what went wrong, which is first of all the time."""
        failed: list[str] = []
        try:
            self.is_running = True
            failed = program()
        except OutOfTimeError:
            pass
        finally:
            self.is_running = False
        return [TOO_LONG, *failed] if self.is_over else failed


@dataclasses.dataclass(frozen=True)
class Task:
    """What a worker is to do.

    - `side`: "theirs" or "ours".
    - `folder`, `file`, `test`: the program, see `texts.Unit`.
    - `device`: "cuda" or "cpu": whose kernels are timed.
    - `log`: the file that gets what the program prints.
    - `parameters`: how many sets of parameters of a test are run.
    """

    side: str
    folder: str
    file: str
    test: str
    device: str
    log: str
    parameters: int = 3


@dataclasses.dataclass(frozen=True)
class Kept:
    """A kernel with the arguments of its first call.

    - `owner`: the object that it is of, kept so that no other one gets its identity.
    """

    called: Called
    owner: Any
    call: Callable[[], Any]


class Recorder:
    """Keeps the first call of each kernel for each set of types and extents."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.is_on = True
        self.kept: dict[tuple[int, str], Kept] = {}

    def note(self, owner: Any, name: Callable[[], str], run: Callable[..., Any], args: Any, kwargs: Any) -> None:
        """Keeps a call of `run` that has succeeded, if it is the first of its kind and only uses the device."""
        if not self.is_on or len(self.kept) >= KEPT:
            return
        tensors = [a for a in (*args, *kwargs.values()) if hasattr(a, "shape") and hasattr(a, "dtype")]
        if any(_device(tensor) != self.device for tensor in tensors):
            return
        said = ", ".join(map(_described, tensors))
        key = (id(owner), said)
        if key not in self.kept:
            self.kept[key] = Kept(Called(name(), said), owner, functools.partial(run, *args, **kwargs))


def _device(tensor: Any) -> str:
    return str(getattr(getattr(tensor, "device", None), "type", "cpu"))


def _described(tensor: Any) -> str:
    return f"{str(tensor.dtype).rpartition('.')[2]}[{', '.join(map(str, tensor.shape))}]"


class Side(Protocol):
    """One of the two compilers."""

    def hook(self, recorder: Recorder) -> None:
        """Has the recorder see all calls of kernels; makes `import tilelang` find this one."""
        ...

    def prepare(self, kept: Kept) -> None:
        """Makes calls of a kernel as fast as they are when nobody looks."""
        ...


class Theirs:
    """TileLang itself, as it is installed."""

    def hook(self, recorder: Recorder) -> None:
        from tilelang.jit.adapter.base import BaseKernelAdapter  # pyright: ignore[reportMissingImports]

        made = BaseKernelAdapter._post_init

        def post_init(adapter: Any) -> None:
            made(adapter)
            run = adapter.func

            def called(*args: Any, **kwargs: Any) -> Any:
                result = run(*args, **kwargs)
                if ("cuda" in str(adapter.target)) == (recorder.device == "cuda"):
                    recorder.note(adapter, lambda: str(adapter.prim_func.attrs["global_symbol"]), run, args, kwargs)
                return result

            adapter.func = called

        BaseKernelAdapter._post_init = post_init

    def prepare(self, kept: Kept) -> None:
        """Nothing was made slow: what was kept is the function itself."""


class Ours:
    """What `tilec.compat.tilelang` puts in its place."""

    def hook(self, recorder: Recorder) -> None:
        import tilec.compat.tilelang.jit  # noqa: F401  (its classes are called, too)
        from tilec import _tl
        from tilec.compat.tilelang import install
        from tilec.kernel import Kernel

        install()
        slowly, like = Kernel._call_slowly, Kernel.call_like

        def called(kernel: Kernel, *args: Any, **kwargs: Any) -> Any:
            result = slowly(kernel, *args, **kwargs)
            if kernel.is_cuda == (recorder.device == "cuda"):
                recorder.note(kernel, lambda: kernel.name, kernel, args, kwargs)
            return result

        def called_like(kernel: Kernel, tensor: Any, /, *args: Any, **kwargs: Any) -> Any:
            result = like(kernel, tensor, *args, **kwargs)
            if kernel.is_cuda == (recorder.device == "cuda"):
                recorder.note(kernel, lambda: kernel.name, functools.partial(like, kernel, tensor), args, kwargs)
            return result

        Kernel._call_slowly, Kernel.call_like = called, called_like
        # Calls that are like an earlier one would go past it, in C++.
        for kind in _tl.FastCallable.__subclasses__():
            kind.set_fast = lambda callee, fast: None  # pyright: ignore[reportAttributeAccessIssue]
        self.see_checks()

    def see_checks(self) -> None:
        """Has checks of a profiler call the kernel once more: they launch it in another way than calls do."""
        from tilec.compat.tilelang.profiler import Profiler

        check = Profiler.assert_allclose

        def checked(profiler: Profiler, reference: Any, input_tensors: Any = None, *args: Any, **kwargs: Any) -> None:
            inputs = profiler._get_inputs() if input_tensors is None else list(input_tensors)
            try:
                check(profiler, reference, inputs, *args, **kwargs)
            finally:
                profiler.kernel(*inputs)

        Profiler.assert_allclose = checked

    def prepare(self, kept: Kept) -> None:
        from tilec import _tl

        if kept.owner.fast is not None:
            _tl.FastCallable.set_fast(kept.owner, kept.owner.fast)


SIDES: dict[str, Side] = {"theirs": Theirs(), "ours": Ours()}


def shorten() -> None:
    """Has programs measure nothing, and tune with their first configuration, which is the same one for both."""
    import tilelang  # pyright: ignore[reportMissingImports]
    import tilelang.autotuner as autotuner  # pyright: ignore[reportMissingImports]
    import tilelang.profiler as profiler  # pyright: ignore[reportMissingImports]
    import tilelang.profiler.bench as bench  # pyright: ignore[reportMissingImports]

    def do_bench(fn: Callable[[], Any], *args: Any, quantiles: Any = None, **others: Any) -> Any:
        fn()
        return 1.0 if quantiles is None or len(quantiles) == 1 else [1.0] * len(quantiles)

    profiler.do_bench = bench.do_bench = do_bench
    decorate, initialise = autotuner.autotune, autotuner.AutoTuner.__init__

    @functools.wraps(decorate)
    def autotune(*args: Any, configs: Any = None, **others: Any) -> Any:
        return decorate(*args, configs=first(configs), **others)

    def init(tuner: Any, fn: Any, configs: Any) -> None:
        initialise(tuner, fn, first(configs))

    tilelang.autotune = autotuner.autotune = autotune
    autotuner.AutoTuner.__init__ = init


def first(configs: Any) -> Any:
    """Returns the first of some configurations, in whatever form they are.

    >>> first([{"block": 32}, {"block": 64}]), first({"block": [32, 64], "threads": [128]}), first(lambda n: [n, 2])(1)
    ([{'block': 32}], {'block': [32], 'threads': [128]}, [1])
    """
    if callable(configs):
        return lambda *args, **kwargs: first(configs(*args, **kwargs))
    if isinstance(configs, dict):
        return {name: values[:1] if isinstance(values, list) else values for name, values in configs.items()}
    return configs[:1] if isinstance(configs, list | tuple) else configs


def seed() -> None:
    """Gives both sides the same numbers."""
    random.seed(0)
    with contextlib.suppress(ImportError):
        import numpy as np

        np.random.seed(0)
    with contextlib.suppress(ImportError):
        import torch  # pyright: ignore[reportMissingImports]

        torch.manual_seed(0)


def run(task: Task) -> list[str]:
    """Runs a program, and returns the last lines of what went wrong."""
    file = Path(task.folder) / task.file
    try:
        return run_tests(task, file) if task.test else run_script(file)
    except OutOfTimeError:
        raise
    except SystemExit as end:
        return [f"it ended with {end.code!r}"] if end.code not in (None, 0) else []
    except BaseException as error:
        traceback.print_exc()
        return [telling(f"{type(error).__name__}: {error}")]


def run_script(file: Path) -> list[str]:
    sys.argv = [str(file)]
    sys.path.insert(0, str(file.parent))
    runpy.run_path(str(file), run_name="__main__")
    return []


def run_tests(task: Task, file: Path) -> list[str]:
    import pytest

    tests = Tests(task.parameters)
    # Neither the settings nor the `conftest.py` of the programs: that would find another TileLang.
    options = ["--noconftest", "-c", os.devnull, f"--rootdir={task.folder}", "-p", "no:cacheprovider", "-q", "-s"]
    code = pytest.main([f"{file}::{task.test}", *options], plugins=[tests])
    if code == pytest.ExitCode.INTERRUPTED:
        return tests.failed
    return tests.failed or ([] if code == pytest.ExitCode.OK else [f"pytest: {code!s}"])


class Tests:
    """Chooses the parameters of a test, and notes what fails; a plugin of pytest."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.failed: list[str] = []

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        del items[self.most :]

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(telling(str(report.longrepr).strip().rpartition("\n")[2]))

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            self.failed.append(f"{report.nodeid.rpartition('::')[2]}: {reason}")
        elif report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            self.failed.append(f"{report.nodeid.rpartition('::')[2]}: {telling(crash.message if crash else '')}")


def telling(message: str) -> str:
    """Returns the line of an error's message that tells the most: the first, or the last behind a traceback.

    >>> telling("AssertionError: they differ\\nby 3"), telling("TVMError: \\nTraceback ...\\n  Check failed: x > 0")
    ('AssertionError: they differ', 'TVMError: Check failed: x > 0')
    """
    lines = [line.strip() for line in message.strip().splitlines() if line.strip()] or [""]
    kind, colon, rest = lines[0].partition(":")
    if len(lines) > 1 and (not colon or not rest.strip() or rest.strip().startswith("Traceback")):
        return f"{kind}: {lines[-1]}"
    return lines[0]


class Worker:
    """Answers for the kernels that were kept."""

    def __init__(self, side: Side, clock: Any, kept: list[Kept]) -> None:
        self.side, self.clock, self.kept = side, clock, kept
        self.timer: Timer | None = None

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """Returns what is answered to {"prepare": number, "refused": words}, and then to {"sample": true}."""
        try:
            if "prepare" in message:
                return self.prepare(self.kept[message["prepare"]], message.get("refused", ""))
            assert self.timer, "a kernel was prepared"
            return {"seconds": self.timer()}
        except Exception as error:
            return {"error": brief(error)}

    def prepare(self, kept: Kept, refused: str) -> dict[str, Any]:
        self.timer = None
        self.side.prepare(kept)
        notes: list[str] = []
        calls = {"it": [kept.call]}
        seconds = runnable(self.clock, calls, notes)
        if not seconds:
            return {"error": notes[0].removeprefix("it: ")}
        chosen, graph = timers(self.clock, calls, seconds, span=SPAN, most=MOST, refused=refused)
        self.timer = chosen["it"]
        return {"graph": graph.replace("no: it: ", "no: "), "seconds": seconds["it"]}


def free(device: str) -> None:
    """Gives back what the program has left; raises RuntimeError if it has lost the GPU."""
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        vars(sys).pop(name, None)  # its frames have tensors
    gc.collect()
    gc.freeze()  # each capture of a graph collects again
    torch: Any = sys.modules.get("torch")
    if device == "cuda" and torch is not None:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


def about(device: str) -> str:
    """Returns what ran, and on what."""
    said = [f"{name} {sys.modules[name].__version__}" for name in ("tilelang", "tilec", "torch") if name in sys.modules]
    if device == "cuda" and "torch" in sys.modules:
        with contextlib.suppress(RuntimeError, AssertionError):
            said.append(sys.modules["torch"].cuda.get_device_name())
    return ", ".join(said)


def main() -> None:
    task = Task(**json.loads(sys.argv[1]))
    messages, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    with open(os.devnull) as nothing, open(task.log, "a") as log:
        os.dup2(nothing.fileno(), 0)
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)

    def say(what: dict[str, Any]) -> None:
        print(json.dumps(what), file=answers, flush=True)

    # Modules of the programs may be called as those of this folder.
    here = str(Path(__file__).resolve().parent)
    sys.path[:] = [folder for folder in sys.path if folder != here]
    recorder, side, limit = Recorder(task.device), SIDES[task.side], Limit()
    failed: list[str]
    try:
        side.hook(recorder)
        shorten()
        seed()
        say({"begins": True})
        failed = limit.run(lambda: run(task))
        recorder.is_on = False
        free(task.device)
    except BaseException as error:
        traceback.print_exc()
        failed = [brief(error)]
        recorder.kept.clear()
    sys.stdout.flush()
    worker = Worker(side, GpuClock() if task.device == "cuda" else HostClock(), [*recorder.kept.values()])
    called = [dataclasses.asdict(kept.called) for kept in worker.kept]
    say({"kernels": called, "failed": failed, "about": about(task.device)})
    for message in messages:
        say(worker.answer(json.loads(message)))
    answers.flush()
    os._exit(0)  # what programs leave running must not keep it


if __name__ == "__main__":
    main()
