"""Compiled kernels: calling them, and looking at what they were compiled to."""

from __future__ import annotations

import functools

from . import _tl
from .assertions import tell_failures
from .errors import ArgumentError, CheckError, DeviceAssertError, TargetError, grid_in_brackets, quoted
from .files import FilesRead
from .location import here
from .once import Lock
from .results import Results, is_on_gpu
from .tracebacks import ends_in_program
from .typed import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Any, NoReturn

    from .analysis.counts import Counts
    from .analysis.measured import Profile
    from .analysis.roofline import Estimate
    from .autotuner import AutotuneResult
    from .autotuner.opened import AutoChoice
    from .backends.kernel_cache import Artifact
    from .builder import Parameter, PrimFunc
    from .profiler import Profiler
    from .resources import ResourceUsage
    from .supply import TensorSupplyType
    from .targets import Choice


class Kernel(_tl.FastCallable):
    """A compiled function. Calling it checks the arguments and launches its kernels on the current stream.

    Tensors are NumPy arrays or anything that speaks DLPack (PyTorch, CuPy, JAX). On a GPU a NumPy array is copied to
    the device and back, gaps between its elements included, and the call waits for it: convenient, and slow.
    """

    def __init__(
        self,
        function: PrimFunc,
        module: _tl.Module,
        compiled: _tl.Compiled,
        seconds: dict[str, float],
        choice: Choice,
        outputs: tuple[int, ...] | None,
        options: dict[str, Any],
        again: Callable[[PrimFunc, tuple[int, ...] | None, dict[str, Any]], Kernel],
    ) -> None:
        """Takes what the compiler made, and `again`, which compiles a function with such options."""
        self.function = function
        self.target = choice.chip
        self.backend = choice.backend
        self.source_file = choice.compiler.source_file
        """The file of a kernel that holds its generated source."""
        self.outputs = outputs
        self.compiled = compiled
        self.dump_dir: str | None = None
        """Where what backends give to other compilers stays, or None if it is removed."""
        self.layouts: dict[int, str] = {}
        """The layouts that its prints ask for, by number."""
        self.artifact: Artifact | None = None
        """What the backend built of the whole function, if it builds anything."""
        self.argument_names = tuple(p.name for p in function.taken(outputs))
        """The parameters that calls take, in order."""
        self.tuning: AutotuneResult | None = None
        """What the autotuner found, if it chose this kernel."""
        self.choice: AutoChoice | None = None
        """What the cost model chose, if parameters of the kernel's function were open (`T.auto`)."""
        self.wrapper: Any = None
        """What stands for it in programs that were written for something else."""
        self._module = module
        self._options = options
        self._again = again
        self._seconds = seconds
        self._info: dict[str, Any] | None = None
        self._launch: Callable[..., Any] | None = None
        self.fast: Any = None
        """What does calls that are like an earlier one, or returns `NotImplemented`."""
        self._loading = Lock()

    # Calls -----------------------------------------------------------------------------------------------------------

    def _call_slowly(self, *args: Any, **kwargs: Any) -> Any:
        """Calls with everything that is not the fast path: keywords, results to allocate, copies to a GPU."""
        with ends_in_program:
            return self._call(args, kwargs, None)

    def call_like(self, like: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Calls, with results of the framework and on the device of a tensor, `like`, if no argument is a tensor."""
        with ends_in_program:
            return self._call(args, kwargs, like)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any], like: Any) -> Any:
        arguments = self._bind(args, kwargs)
        results = self._results.allocate(arguments, is_cuda=self.is_cuda, like=like)
        copied = self.launch(self._results.insert(arguments, results))
        if not copied and not kwargs and (fast := self._results.fast(self.launcher(), arguments)):
            self._use(fast)
        return self._results.returned(results)

    def launch(self, values: Sequence[Any]) -> bool:
        """Calls it with the value of every parameter, results included, and returns whether arrays had to be copied."""
        launch = self.launcher()
        if launch(*values) is not NotImplemented:
            return False
        self._launch_with_copies(launch, values)
        return True

    def _use(self, fast: Any) -> None:
        """Has `fast` do those calls from now on that it can do."""
        self.fast = fast
        self.set_fast(fast)

    def __getitem__(self, grid: object) -> NoReturn:
        with ends_in_program:
            raise grid_in_brackets(self.name, here())

    def launcher(self) -> Callable[..., Any]:
        """Returns what calls it with every parameter, results included, and allocates nothing.

        On a GPU it takes what lies there: for arrays of NumPy it does nothing and returns `NotImplemented`. `launch`
        copies them.
        """
        return self._launch or self._load()

    def with_results(self, inputs: Sequence[Any]) -> list[Any]:
        """Returns the value of every parameter: the inputs given, and tensors made for the results."""
        arguments = self._bind(tuple(inputs), {})
        return self._results.insert(arguments, self._results.allocate(arguments, is_cuda=self.is_cuda))

    def _load(self) -> Callable[..., Any]:
        with self._loading:
            if self._launch is None:
                launch = self.backend.load(self)
                if self.function.has_computed_extents:
                    from .extents import CheckedExtents

                    launch = CheckedExtents(self.function.parameters, launch)
                if self.is_checked:
                    from .checks import CheckedLaunch

                    launch = CheckedLaunch(self, launch)
                if self.is_printing:
                    from .prints import make_launch

                    launch = make_launch(self, launch)
                self._launch = launch
                if not self._results.made:
                    self._use(self._launch)
            return self._launch

    @functools.cached_property
    def _results(self) -> Results:
        return Results(self.function, self.outputs)

    def _parameter(self, index: int) -> Parameter:
        return self.function.parameters[index]

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Returns the given arguments in order."""
        names = self.argument_names
        if len(args) > len(names):
            raise ArgumentError(f"`{self.name}` takes {len(names)} arguments, and {len(args)} are given{self._takes()}")
        if len(args) == len(names) and not kwargs:
            return args
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names:
                raise ArgumentError(f"`{self.name}` has no argument `{name}`{self._takes()}")
            if name in given:
                raise ArgumentError(f"`{self.name}` is given argument `{name}` twice")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise ArgumentError(f"`{self.name}` lacks {quoted(missing)}{self._takes()}")
        return tuple(given[name] for name in names)

    def _takes(self) -> str:
        """Returns the end of a message about wrong arguments: which there are, and which are no arguments."""
        names = self.argument_names
        returned = [p.name for p in self.function.parameters if p.name not in names]
        return f": it takes {quoted(names)}{f', and returns {quoted(returned)}' if returned else ''}"

    def _launch_with_copies(self, launch: Callable[..., Any], values: Sequence[Any]) -> None:
        """Runs a kernel on a GPU for arrays of the host."""
        import numpy as np

        from .strided import HostCopy

        device = next((v.__dlpack_device__()[1] for v in values if is_on_gpu(v)), 0)
        copies: dict[int, HostCopy] = {}
        for i, value in enumerate(values):
            if self._parameter(i).is_tensor and isinstance(value, np.ndarray):
                array = cast("np.ndarray[Any, Any]", value)
                copies[i] = HostCopy(array, self._parameter(i), cuda=device)

        def copy_back() -> None:
            _tl.cuda_synchronize(device)
            for i, copy in copies.items():
                if self._parameter(i).is_written:
                    copy.copy_back()

        try:
            if launch(*(copies[i].tensor if i in copies else v for i, v in enumerate(values))) is NotImplemented:
                raise ArgumentError(f"`{self.name}` runs on a GPU, and takes NumPy arrays and tensors of the GPU only")
        except (CheckError, DeviceAssertError):  # it ran to its end
            copy_back()
            raise
        copy_back()
        tell_failures(device)

    @functools.cached_property
    def files_read(self) -> FilesRead:
        """The sources and headers that were read to compile it."""
        reads_files = "tl.source_kernel" in self.function.text
        return FilesRead(self.compile_info["files_read"] if reads_files else {})

    # What it was compiled to -----------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.name

    @property
    def is_cuda(self) -> bool:
        """Whether it runs on a GPU."""
        return self.target != "cpu" and self.backend.runs_on_gpu

    @property
    def is_checked(self) -> bool:
        """Whether calls raise a `CheckError` for what has no meaning."""
        return bool(self._options["checks"])

    @property
    def is_printing(self) -> bool:
        """Whether its kernels print, or assert."""
        text = self.function.text
        return ("tl.print" in text or "tl.assert" in text) and bool(self.compile_info["prints"])

    def sites(self, record: str) -> list[dict[str, Any]]:
        """Returns the places that write to a record, "checks" or "prints", each with the name of its kernel."""
        launches = self.compile_info["functions"][self.name]["launches"]
        return [{**site, "kernel": launches[site["launch"]]["kernel"]} for site in self.compile_info[record]]

    @property
    def compile_info(self) -> dict[str, Any]:
        """What the compiler says of each kernel, and how long it took."""
        if self._info is None:
            import json

            self._info = {**json.loads(self.compiled.info()), "seconds": self._seconds}
        return self._info

    @property
    def config(self) -> dict[str, Any] | None:
        """The configuration that the autotuner or the cost model chose, or None."""
        chosen = self.tuning or self.choice
        return chosen and chosen.config

    @property
    def latency(self) -> float | None:
        """The milliseconds that a run took while it was tuned, in the median, or None."""
        return self.tuning and self.tuning.latency

    @property
    def ref_latency(self) -> float | None:
        """The milliseconds that the reference took then, or None."""
        return self.tuning and self.tuning.ref_latency

    @property
    def cached(self) -> bool:
        """Whether everything came from the cache, so that nothing was compiled."""
        built = self.artifact is None or self.artifact.cached
        return built and all(k["cached"] for k in self.compile_info["kernels"])

    @property
    def is_unsigned(self) -> bool:
        """Whether a part came from the cache that nobody vouches for: unsigned, or from a group's directory."""
        return any(k["unsigned"] for k in self.compile_info["kernels"])

    @property
    def cache_path(self) -> Path | None:
        """The directory that holds the first kernel's files, or None if it is in memory only."""
        from pathlib import Path

        paths = [k.get("path") for k in self.compile_info["kernels"]]
        return Path(paths[0]) if paths and paths[0] else None

    def file(self, name: str, kernel: str | None = None) -> bytes | None:
        """Returns a file that was made for a kernel, such as "kernel.ptx", or None."""
        return self.compiled.file(kernel or self._kernel_names()[0], name)

    def _kernel_names(self) -> list[str]:
        names = [k["name"] for k in self.compile_info["kernels"]]
        if not names:
            raise ArgumentError(f"`{self.name}` launches no kernel")
        return names

    def _text(self, file: str) -> str:
        parts = [self.file(file, kernel) for kernel in self._kernel_names()]
        found = [_readable(part) for part in parts if part is not None]
        if not found:
            made = sorted({f for k in self.compile_info["kernels"] for f in k["files"]})
            raise TargetError(f"`{self.name}` has no `{file}` for {self.target}; it has {', '.join(made)}")
        return "\n".join(found)

    def get_kernel_source(self) -> str:
        """Returns the kernels' source: what the user wrote of source kernels, and of others what the backend's code
        generator made, PTX or CUDA C++, assembly for the CPU.

        It is "" for a function that launches no kernel.
        """
        texts: dict[str, None] = {}  # several kernels can be of one text
        for kernel in self.compile_info["kernels"]:
            written = sorted(file for file in kernel["files"] if file.startswith("device_kernel"))
            for file in written or [self.source_file]:
                text = self.file(file, kernel["name"])
                texts[f"kernel `{kernel['name']}` is a cubin" if text is None else _readable(text)] = None
        return "\n".join(texts)

    def get_ptx(self) -> str:
        """Returns the kernels' PTX."""
        return self._text("kernel.ptx")

    def get_sass(self) -> str:
        """Returns the kernels' machine code as text, with the help of `nvdisasm` or `cuobjdump`."""
        from .toolkit import disassemble

        out: list[str] = []
        for kernel in self._kernel_names():
            cubin = self.file("kernel.cubin", kernel)
            if cubin is None:
                raise TargetError(f"`{self.name}` has no cubin: it was compiled for {self.target} without an assembler")
            out.append(disassemble(cubin))
        return "\n".join(out)

    def export_ptx(self, path: str | Path) -> None:
        """Writes the PTX that the executed code was assembled from."""
        _write(path, self.get_ptx())

    def export_sass(self, path: str | Path) -> None:
        """Writes the machine code that is executed, as text."""
        _write(path, self.get_sass())

    def get_host_source(self) -> str:
        """Returns the host side as C++: the checks, computations and launches of a call (docs/AOT.md)."""
        return _tl.host_source([self.compiled], self.name)

    def export_sources(self, directory: str | Path) -> None:
        """Writes the sources to a folder, to be read or edited.

        - `device_kernel.cu`, `.ptx` or, for the CPU, `.s`: what `get_kernel_source` returns; with several kernels one
          for each, `device_kernel_<kernel>.cu`.
        - `host_kernel.cpp`: what `get_host_source` returns, with the headers that it includes and the machine code.
        - `<function>.py`, for a GPU: the function again, of `T.CUDASourceCodeKernel`s of these files.
        """
        from . import export

        export.sources(self, directory)

    def export_library(self, directory: str | Path, chips: Sequence[str] | None = None) -> None:
        """Writes a shared library with a C header and a package for CMake: all that a program without Python needs.

        - `chips`: several GPUs, such as `["sm_80", "sm_90a"]`, among which calls choose; by default what the function
          is compiled for.

        Needs a C++ compiler: `$CXX`, `c++`, `g++` or `clang++`.
        """
        from . import export

        export.library(self, directory, chips)

    def compiled_for(self, target: str) -> _tl.Compiled:
        """Returns the same function, compiled for another target."""
        if target == self.target:
            return self.compiled
        return self._again(self.function, self.outputs, {**self._options, "target": target}).compiled

    def again(self, function: PrimFunc) -> Kernel:
        """Returns another function, compiled as this one was."""
        return self._again(function, self.outputs, self._options)

    def compiled_by(self, backend: str, **options: Any) -> Kernel:
        """Returns the same function for the same target, compiled by another backend, perhaps with other options.

        What was asked for by an option that it does not have is left out.
        """
        from . import backends

        known = backends.find(backend).compiler("cpu" if self.target == "cpu" else "cuda").options
        unknown = {name: value for name, value in _OF_SOME_BACKENDS.items() if name not in known}
        return self._again(self.function, self.outputs, {**self._options, **unknown, "backend": backend, **options})

    def compile_with_dumps(self, directory: str | Path) -> tuple[_tl.Compiled, str]:
        """Compiles it again, without the cache and with line information, and returns that and the messages as JSON.

        The IR after every pass goes to a folder, each operation with its place in the program.
        """
        from . import targets
        from .postproc import PostProcessor

        hook = self._options["postproc"]
        compiled, messages = self._module.compile(
            chip=self.target,
            backend=targets.resolve(self.target, self.backend.name).compiler.pipeline,
            assembler=self._options["assembler"],
            cache_dir="",
            use_cache=False,
            require_cached=False,
            line_info=True,
            fast_math=self._options["fast_math"],
            checks=self._options["checks"],
            dump_dir=str(directory),
            dump_locations=True,
            post_processor=hook and PostProcessor(hook).handle(),
        )
        assert compiled is not None, messages
        return compiled, messages

    def explain(
        self, path: str | Path | None = None, *, against: Kernel | None = None, counts: Counts | None = None
    ) -> Path:
        """Writes a page that shows the kernel at every level, linked line by line (docs/Explaining.md).

        - `path`: the file, by default `<function>.html` in the current folder.
        - `against`: another kernel, such as the same one for another chip: lines that only one of both has are marked.
        - `counts`: what `sim.count(kernel, A, B)` returned, to be shown at the lines: bank conflicts, and sectors of
          device memory.

        It returns the path. The page is one file, and loads nothing. The function is compiled once more, without the
        cache, so that the IR after every pass is there.
        """
        from .tools.explain import explain

        return explain(self, path or f"{self.name}.html", against, counts)

    @property
    def resource_usage(self) -> dict[str, ResourceUsage]:
        """What each kernel needs of the GPU, by name: registers, spills, shared memory, occupancy."""
        from .resources import ResourceUsage

        return {k["name"]: ResourceUsage(self.target, k) for k in self.compile_info["kernels"]}

    @property
    def n_regs(self) -> int:
        """The registers of a thread, of the kernel that needs most."""
        return max(usage.registers for usage in self.resource_usage.values())

    @property
    def n_spills(self) -> int:
        """The bytes that a thread writes to and reads from local memory for want of registers, in all kernels."""
        return sum(usage.spill_loads + usage.spill_stores for usage in self.resource_usage.values())

    def analyze(self, *args: Any, gpu: str, blocks: int | None = 64) -> Estimate:
        """Estimates how long a call takes at least on a GPU, in all and by line, and what binds it. Needs no GPU.

        - `args`: as for a call; they are copied.
        - `gpu`: "A100", "H100", "H200" or "L40S", or what the driver calls it.
        - `blocks`: how many blocks of each launch the simulator executes to count the work; None for all.

        `print(kernel.analyze(A, B, gpu="H200"))` shows all. It is an estimate by a cost model, and no measurement:
        docs/Analysis.md says what it leaves out.
        """
        from .analysis import gpus, roofline
        from .backends import sim

        found = gpus.find(gpu)
        found.check_runs(self.name, self.target)
        counts = sim.count(self, *args, blocks=blocks)
        return roofline.estimate(counts, found, self._usage_on(f"sm_{found.capability}"))

    def profile(self, *args: Any) -> Profile:
        """Measures a call on the first GPU, and returns that beside the estimate of `analyze`.

        - `args`: as for a call; they are copied.

        Where NVIDIA's `ncu` is found it counts what the hardware did; where not, the result says so. Without a GPU it
        is a `TargetError`.
        """
        from .analysis import measured

        return measured.measure(self, args)

    def _usage_on(self, chip: str) -> dict[str, ResourceUsage]:
        """Returns what the kernels need of a chip's multiprocessor, or nothing if no assembler has said so."""
        from .resources import ResourceUsage

        assembled = self if self.is_cuda else self.compiled_by("nvptx")
        kernels = assembled.compile_info["kernels"]
        return {k["name"]: ResourceUsage(chip, k) for k in kernels if k.get("resources")}

    def get_mlir(self, *, locations: bool = False) -> str:
        """Returns the program that was compiled."""
        return self._module.print(locations)

    def get_profiler(self, tensor_supply_type: TensorSupplyType | None = None, *, seed: int = 0) -> Profiler:
        """Returns what measures it: `kernel.get_profiler().do_bench()` is its time in milliseconds."""
        from .profiler import Profiler
        from .supply import TensorSupplyType

        return Profiler(self, tensor_supply_type or TensorSupplyType.Auto, seed=seed)

    def summary(self) -> str:
        """Returns one line: what it is, and whether it was compiled."""
        state = "from the cache" if self.cached else "compiled"
        seconds = sum(self._seconds.values())
        place = f", {self.cache_path}" if self.cache_path else ""
        return f"`{self.name}` for {self.target}: {state} in {seconds * 1e3:.0f} ms{place}"

    def __repr__(self) -> str:
        return f"<tilec.Kernel {self.summary()}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Kernels travel as their programs: who unpickles one compiles it, or finds it in the cache."""
        return self._again, (self.function, self.outputs, self._options)


_OF_SOME_BACKENDS = {"assembler": "auto", "postproc": None}
"""Options that not all backends have, with what leaves them out."""


def _readable(source: bytes) -> str:
    """Returns source as text; bytes that are no UTF-8 are written as `\\xe9`."""
    return source.decode(errors="backslashreplace")


def _write(path: str | Path, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
