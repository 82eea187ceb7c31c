"""What an execution backend is: a way to compile a function for a target and to make it callable."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod

from ..once import Lock
from ..typed import TYPE_CHECKING
from .kernel_cache import KernelCache

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar

    from .. import _tl
    from ..compiler import Request
    from ..kernel import Kernel


class Need(ABC):
    """Something that a backend cannot work without, and how to get it."""

    def __init__(self, name: str, remedy: str) -> None:
        self.name = name
        self.remedy = remedy

    @abstractmethod
    def is_met(self) -> bool:
        """Whether it is here."""


class Tool(Need):
    """A piece of the CUDA toolkit that the compiler can find: "nvcc", "nvrtc", "nvjitlink" or "ptxas"."""

    def __init__(self, name: str, remedy: str = "") -> None:
        super().__init__(name, remedy or f"install the CUDA toolkit's `{name}`")

    def is_met(self) -> bool:
        return bool(toolchain()[self.name]["path"])


class Package(Need):
    """A Python package: the module to import, and the name to install it by."""

    def __init__(self, module: str, package: str) -> None:
        super().__init__(module, f"`pip install {package}`")

    def is_met(self) -> bool:
        return _is_importable(self.name)


class HostCompiler(Need):
    """A C++ compiler of this machine: `$CXX`, or the first of the usual ones."""

    def __init__(self) -> None:
        super().__init__("c++", "install `g++` or `clang`, or name a C++ compiler in `CXX`")

    def path(self) -> str | None:
        """Returns where it is, or None if there is none."""
        import os
        import shutil

        chosen = os.environ.get("CXX")
        names = [chosen] if chosen else ["c++", "g++", "clang++"]
        return next((path for name in names if (path := shutil.which(name))), None)

    def is_met(self) -> bool:
        return self.path() is not None


@functools.cache
def toolchain() -> dict[str, Any]:
    """Returns what this machine has of the CUDA toolkit: for each tool "path", and "version" where that is not None."""
    import json

    from .. import _tl

    return json.loads(_tl.toolchain_info())


@functools.cache
def _is_importable(module: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a package above it is not here
        return False


class Backend:
    """An execution backend. A subclass says what it is in its class variables, and overrides what it does otherwise."""

    name: ClassVar[str]
    """What it is called in `tilec.compile(backend=…)` and in `TL_EXECUTION_BACKEND`."""
    aliases: ClassVar[tuple[str, ...]] = ()
    """Other names that it answers to."""
    targets: ClassVar[tuple[str, ...]]
    """The kinds of target that it serves: "cpu", "cuda"."""
    generator: ClassVar[str]
    """The code generator: "ptx", "cuda", "llvm", "cutedsl"."""
    pipeline: ClassVar[str]
    """What `--tl-compile` calls its way to compile: its option `backend`."""
    source_file: ClassVar[str]
    """The file of a kernel that holds its device source, which `kernel.get_kernel_source()` returns."""
    chip: ClassVar[str | None] = None
    """The chip that it compiles for where neither a target nor a GPU says one, or None if there must be one."""
    runs_on_gpu: ClassVar[bool] = True
    """Whether what it compiles for a GPU runs on one, and takes tensors that are there."""
    loader: ClassVar[str]
    """How a compiled function becomes something to call, in a few words for the documentation."""
    needs: ClassVar[tuple[Need, ...]] = ()
    """What it cannot work without; a GPU to run on is not among it."""
    options: ClassVar[frozenset[str]] = frozenset()
    """The options of `tilec.compile` that only some backends have and this one has: "assembler", "postproc"."""
    kernel_cache: ClassVar[type[KernelCache]] = KernelCache
    """How its functions are kept."""

    def __init__(self) -> None:
        self._kernels: KernelCache | None = None
        self._guard = Lock()

    @property
    def kernels(self) -> KernelCache:
        """The cache of this backend's functions, made when it is first used."""
        if self._kernels is None:
            with self._guard:
                if self._kernels is None:
                    self._kernels = self.kernel_cache(self)
        return self._kernels

    def missing(self) -> list[Need]:
        """Returns what it needs and this machine does not have."""
        return [need for need in self.needs if not need.is_met()]

    def is_available(self) -> bool:
        """Whether this machine has all that it needs to compile."""
        return not self.missing()

    def compiler(self, target: str) -> Backend:
        """Returns the backend that compiles the kernels for a kind of target: this one, or another that it builds on.

        That backend's `generator`, `pipeline`, `source_file` and `options` are then those of this one.
        """
        return self

    def compile(self, request: Request) -> Kernel:
        """Returns the function as its launch plan and compiled kernels."""
        return request.compile()

    def load(self, kernel: Kernel) -> Callable[..., Any]:
        """Returns what calls the function with all its parameters, in order. One that prints has its record behind
        them, and a checked one its own as the last.

        The result of a call is None, or `NotImplemented` for arguments that must be copied to the GPU first.
        """
        return self.launcher(kernel, kernel.compiled.load(kernel.name))

    def launcher(self, kernel: Kernel, executable: _tl.Executable) -> Callable[..., Any]:
        """Returns what reads arguments of Python, finds the stream, and calls a loaded function."""
        from .. import _tl
        from ..streams import current_stream

        parameters = [(p.name, p.is_tensor, p.is_written) for p in kernel.function.parameters]
        if kernel.is_printing:
            parameters.append(("the record of what is printed", True, True))
        if kernel.is_checked:
            parameters.append(("the record of checks", True, True))
        return _tl.Launcher(executable, tuple(parameters), kernel.is_cuda, current_stream)

    def __repr__(self) -> str:
        return f"<tilec backend {self.name}>"
