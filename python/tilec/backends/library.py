"""What backends share that build a library of the whole function (docs/AOT.md)."""

from __future__ import annotations

from .. import _tl, log
from ..typed import TYPE_CHECKING
from .base import HostCompiler
from .kernel_cache import KernelCache

if TYPE_CHECKING:
    from pathlib import Path
    from typing import ClassVar

    from ..kernel import Kernel

SOURCE = "host_kernel.cpp"


class LibraryKernelCache(KernelCache):
    """A function is a library, and the host side that it was built from."""

    library: ClassVar[str]
    """The file that is the library."""
    host_code = True

    def compiler(self) -> str:
        """Returns the path of what compiles the host side."""
        return HostCompiler().path() or ""

    def compilers(self) -> list[str]:
        """Returns the paths of all that takes part in that."""
        return [self.compiler()]

    def components(self, kernel: Kernel) -> dict[str, str | bytes]:
        import os

        # The compiler behind a name may be replaced; asking for its version would take longer than all the rest.
        paths = [os.path.realpath(path) for path in self.compilers()]
        status = [os.stat(path) for path in paths]
        return {
            "host compiler": "; ".join(
                f"{path} {s.st_size} {s.st_mtime_ns}" for path, s in zip(paths, status, strict=True)
            )
        }

    def build(self, kernel: Kernel) -> dict[str, bytes]:
        library, warning = _tl.build_library(
            [kernel.compiled], kernel.name, compiler=self.compiler(), keep_dir=kernel.dump_dir or ""
        )
        if warning:
            log.warning(warning)
        return {SOURCE: kernel.get_host_source().encode(), self.library: library}


class LibraryFile:
    """A library in a file, for as long as it takes to open it: `with LibraryFile(kernel, name) as path`."""

    def __init__(self, kernel: Kernel, name: str) -> None:
        assert kernel.artifact is not None, "it was built"
        self._bytes = kernel.artifact[name]
        self._name = name
        self._folder = ""

    def __enter__(self) -> Path:
        import tempfile
        from pathlib import Path

        # The dynamic linker knows libraries by their paths: each has one of its own.
        self._folder = tempfile.mkdtemp(prefix="tl-library-")
        path = Path(self._folder, self._name)
        path.write_bytes(self._bytes)
        return path

    def __exit__(self, *raised: object) -> None:
        import shutil

        try:
            shutil.rmtree(self._folder)
        except OSError as error:
            log.warning(f"the temporary folder `{self._folder}` cannot be removed: {error}")
