"""How a backend keeps its functions: loaded in this process, and what it builds for them in the cache.

What the compiler makes of a kernel the compiler itself stores (`tl-cached`). A `KernelCache` adds the table of this
process, and stores what a backend builds of a whole function once its launch plan is there, such as a shared library.
"""

from __future__ import annotations

from .. import cache, log
from ..errors import CacheError
from ..once import OnceTable
from ..typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import ClassVar

    from ..compiler import Request
    from ..kernel import Kernel
    from .base import Backend


class Artifact:
    """The files that a backend built for a function. They were verified when they were read, and are in memory."""

    def __init__(
        self, files: dict[str, bytes], key: str | None = None, directory: Path | None = None, *, cached: bool = False
    ) -> None:
        self.files = files
        self.key = key
        self.directory = directory
        """The entry's directory, for people to look at; it may be pruned at any time."""
        self.cached = cached

    def __getitem__(self, name: str) -> bytes:
        return self.files[name]

    def text(self, name: str) -> str:
        """Returns a file as text; "" is a file that is rightly empty."""
        return self.files[name].decode()


class KernelCache:
    """The functions of one backend. A subclass declares its files and says how they are built.

    Instances share nothing: each backend has its own, made when it is first used.
    """

    files: ClassVar[tuple[str, ...]] = ()
    """What is built for a function, beside what the compiler makes for its kernels."""
    host_code: ClassVar[bool] = False
    """Whether the host executes these files; else a GPU does. It decides who may have made them (docs/security.md)."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._table = OnceTable(lambda kernel: kernel.files_read.is_current())

    def __len__(self) -> int:
        return len(self._table)

    # What a subclass overrides ----------------------------------------------------------------------------------------

    def build(self, kernel: Kernel) -> dict[str, bytes]:
        """Makes the declared files. Everything that it depends on is in `components`."""
        return {}

    def check(self, kernel: Kernel, files: dict[str, bytes]) -> None:
        """Reads files that were found for a kernel, all that will be used of them; anyone may have made them. What is
        wrong is an exception."""

    def components(self, kernel: Kernel) -> dict[str, str | bytes]:
        """Returns what the built files depend on beside launch plan, kernels and compiler: tools, options."""
        return {}

    # What it does with that -------------------------------------------------------------------------------------------

    def kernel(self, request: Request) -> Kernel:
        """Returns the function, compiled and built at most once by this process."""
        why = request.why_uncached
        if why is None:
            return self._table.get(request.key, lambda: self._make(request))
        if cache.is_required():
            raise cache.missing(request.function.name, why)
        return self._make(request)

    @property
    def reused(self) -> int:
        """How often the table had what was asked for."""
        return self._table.reused

    def forget(self) -> None:
        """Drops the table; functions in use live on."""
        self._table.clear()

    def _make(self, request: Request) -> Kernel:
        kernel = self.backend.compile(request)
        if self.files:
            kernel.artifact = self.artifact(kernel, stored=request.why_uncached is None)
        log.info(kernel.summary, request.verbose)
        return kernel

    def artifact(self, kernel: Kernel, *, stored: bool = True) -> Artifact:
        """Returns the built files: from the cache, or from `build`, which then runs once for all who ask."""
        if not stored:
            return Artifact(self._build(kernel))
        import json
        from pathlib import Path

        metadata = {"kernel": kernel.name, "backend": self.backend.name, "host_code": self.host_code}
        key = self._key(kernel)

        def read(file: Callable[[str], bytes | None]) -> None:
            found = {name: file(name) for name in self.files}
            if missing := [name for name, content in found.items() if content is None]:
                raise CacheError(f"lacks `{missing[0]}`")
            self.check(kernel, {name: content or b"" for name, content in found.items()})

        if cache.is_required() or kernel.is_unsigned:
            entry = cache.lookup(key, read)
            if entry is None and cache.is_required():
                raise cache.missing(kernel.name, cache.explain_miss(key))
            if entry is None:
                # Kept, and passed on with our signature, it would be ours, and hold what a stranger made.
                return Artifact(self._build(kernel))
        else:
            entry = cache.fetch(key, lambda: (self._build(kernel), metadata), read)
        info = json.loads(entry.info())
        files = {name: entry.file(name) or b"" for name in self.files}
        directory = Path(info["directory"]) if info["directory"] else None
        return Artifact(files, info["key"], directory, cached=info["origin"] != "made")

    def _build(self, kernel: Kernel) -> dict[str, bytes]:
        files = self.build(kernel)
        if files.keys() != set(self.files):
            raise CacheError(
                f"the backend `{self.backend.name}` declares {', '.join(self.files)} and built {', '.join(files)}"
            )
        return files

    def _key(self, kernel: Kernel) -> dict[str, str | bytes]:
        import json

        from .. import _tl

        info = kernel.compile_info
        # Stores look at the key, which is ours, and not at the entry, which may be a forger's.
        use = {"host_code": "true"} if self.host_code else {"use": "device"}
        return {
            **self.components(kernel),
            **use,
            "backend": self.backend.name,
            "compiler": _tl.build_id(),
            "function": kernel.name,
            "kernels": " ".join(sorted(f"{k['name']}={k['key']}" for k in info["kernels"])),
            "plan": json.dumps(info["functions"], sort_keys=True),
            "target": kernel.target,
        }
