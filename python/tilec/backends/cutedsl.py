"""`cutedsl`: kernels as Python modules of NVIDIA's CuTe DSL, compiled by it and launched by us.

A kernel's source is its module, `kernel.get_kernel_source()`. It stands by itself: whoever has the package can import
it, edit it, and launch or compile the kernel in it. Kernels that CuTe DSL is not made to express are errors that name
what it cannot (docs/Backends.md).
"""

from __future__ import annotations

import functools

from .. import env
from ..errors import CacheError, CompileError
from ..typed import TYPE_CHECKING
from ..untrusted import read_json, shown
from . import register
from .base import Backend, Package
from .kernel_cache import KernelCache
from .nvptx import require_gpu

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from typing import Any

    from ..kernel import Kernel

SOURCE = "kernel.py"


class CuTeDSLKernelCache(KernelCache):
    """A function is its launch plan, which names the kernels as CuTe DSL does, and the cubins that CuTe DSL made."""

    files = ("plan.json", "kernels.zip")

    def check(self, kernel: Kernel, files: dict[str, bytes]) -> None:
        from .. import _tl

        if why := _tl.check_plan(files["plan.json"]):
            raise CacheError(why)
        plan = read_json(files["plan.json"])
        names = _modules(kernel)
        entries = [launch["entry"] for launch in plan["launches"] if "entry" in launch]
        # The plan says what is done with the arguments: but for the names of symbols it is the compiler's.
        if _without_entries(plan, names) != _without_entries(kernel.compile_info["functions"][kernel.name], names):
            raise CacheError("has the launch plan of another function")
        if strange := next((entry for entry in entries if shown(entry) != entry), None):
            raise CacheError(f"has a kernel `{shown(strange)}`")
        if _tl.read_archive(files["kernels.zip"]).keys() != set(names):
            raise CacheError("has the cubins of another function")

    def components(self, kernel: Kernel) -> dict[str, str | bytes]:
        return {"nvidia-cutlass-dsl": _version()}

    def build(self, kernel: Kernel) -> dict[str, bytes]:
        import json

        names = _modules(kernel)
        if strange := next((name for name in names if not name.isidentifier()), None):
            raise CompileError(f"`{shown(strange)}` is no name for a module")
        cubins: dict[str, bytes] = {}
        entries: dict[str, str] = {}
        for name in names:
            source = kernel.file(SOURCE, name)
            assert source is not None, "it is among the files"
            entries[name], cubins[name] = _compile(name, source, kernel.target)
        plan = kernel.compile_info["functions"][kernel.name]
        for launch in plan["launches"]:
            if launch["kernel"] in entries:
                launch["entry"] = entries[launch["kernel"]]
        return {"plan.json": json.dumps(plan, sort_keys=True).encode(), "kernels.zip": _pack(cubins)}


def _modules(kernel: Kernel) -> list[str]:
    """Returns the names of the kernels that are modules."""
    return [made["name"] for made in kernel.compile_info["kernels"] if SOURCE in made["files"]]


def _without_entries(plan: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Returns a launch plan without the symbols of these kernels, which CuTe DSL chooses."""
    launches = [
        {name: value for name, value in launch.items() if name != "entry" or launch["kernel"] not in names}
        for launch in plan["launches"]
    ]
    return {**plan, "launches": launches}


@register
class CuTeDSLBackend(Backend):
    """Prints kernels as CuTe DSL, which compiles them, and launches them through the driver."""

    name = "cutedsl"
    targets = ("cuda",)
    generator = "cutedsl"
    pipeline = "cutedsl"
    source_file = SOURCE
    loader = "the CUDA driver"
    needs = (Package("nvidia_cutlass_dsl", "nvidia-cutlass-dsl"),)
    kernel_cache = CuTeDSLKernelCache

    def load(self, kernel: Kernel) -> Callable[..., Any]:
        from .. import _tl

        require_gpu(kernel)
        assert kernel.artifact is not None, "it was built with the kernel"
        images = _unpack(kernel.artifact["kernels.zip"])
        for made in kernel.compile_info["kernels"]:  # source kernels are cubins of ours
            if made["name"] not in images:
                images[made["name"]] = kernel.file("kernel.cubin", made["name"]) or b""
        return self.launcher(kernel, _tl.load_cuda(kernel.artifact.text("plan.json"), images))


@functools.cache
def _version() -> str:
    from importlib.metadata import version

    return version("nvidia-cutlass-dsl")


def _compile(name: str, source: bytes, chip: str) -> tuple[str, bytes]:
    """Returns the symbol and the cubin that CuTe DSL makes of a kernel's module.

    In a process of its own: it keeps state, writes files into the current directory, and may crash.
    """
    import subprocess
    import sys
    from pathlib import Path
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="tilec-", ignore_cleanup_errors=True) as directory:
        folder = Path(directory)
        (folder / f"{name}.py").write_bytes(source)
        run = subprocess.run(
            [sys.executable, f"{name}.py", "--gpu-arch", chip, "--keep-cubin", "--dump-dir", "."],
            cwd=folder,
            env={**_environment(), "TMPDIR": directory},
            capture_output=True,
            text=True,
            check=False,
        )
        cubins = list(folder.glob("*.cubin"))
        if run.returncode != 0 or len(cubins) != 1:
            raise CompileError(f"CuTe DSL cannot compile `{name}` for `{chip}`: {_message(run)}")
        return run.stdout.split()[-1], cubins[0].read_bytes()


def _environment() -> dict[str, str]:
    """Returns what the other process needs of this one's environment, to import what this one would."""
    import os
    import sys

    return {**env.for_program(), "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}


def _message(run: subprocess.CompletedProcess[str]) -> str:
    """Returns what the process said, without colours and without how it came to say that."""
    import re

    if run.returncode < 0:
        return f"it crashed with signal {-run.returncode}"
    text = re.sub(r"\x1b\[[0-9;]*m", "", run.stderr).strip()
    _, found, last = text.rpartition("\nTraceback")
    lines = text.splitlines()
    said = last.strip().splitlines()[-1] if found or text.startswith("Traceback") else "\n".join(lines[-12:])
    return shown(said, keep_lines=True)


def _pack(files: dict[str, bytes]) -> bytes:
    from io import BytesIO
    from zipfile import ZipFile, ZipInfo

    packed = BytesIO()
    with ZipFile(packed, "w") as archive:
        for name, content in sorted(files.items()):
            archive.writestr(ZipInfo(name), content)  # without a date: the same files are the same bytes
    return packed.getvalue()


def _unpack(packed: bytes) -> dict[str, bytes]:
    from .. import _tl

    return _tl.read_archive(packed)
