"""What this machine has, and what it lacks: `python -m tilec.doctor`."""

from __future__ import annotations

import json
import platform
import sys
from typing import Any

from . import __version__, cache
from .errors import TLError

_COST = {
    "nvjitlink": "cubins are made by `ptxas` or by the driver instead",
    "ptxas": "cubins are made by nvJitLink or by the driver instead",
    "nvrtc": "source kernels cannot be compiled",
    "nvcc": "only needed where source kernels ask for it",
    "driver": "kernels can be compiled for GPUs, and run on the CPU only",
    "nvdisasm": "no SASS listings; `pip install nvidia-cuda-nvdisasm`",
}


def report() -> list[str]:
    """Returns the lines of the report."""
    lines = [f"tilec {__version__}, Python {platform.python_version()} at {sys.executable}"]
    try:
        from . import _tl
    except ImportError as error:
        return [*lines, f"  compiler      cannot be loaded: {error}"]
    lines.append(f"  compiler      {_tl.version()}, build {_tl.build_id()}")
    lines += _gpus(_tl)
    tools: dict[str, Any] = json.loads(_tl.toolchain_info())
    lines += [_tool(name, found) for name, found in sorted(tools.items()) if name != "cuda"]
    lines += _disassembler()
    found = cache.stats()
    count = found["entries_on_disk"]
    held = "cannot be read" if count is None else f"{count} entries, {found['bytes_on_disk'] / 1e6:.1f} MB"
    state = "" if cache.is_enabled() else " (disabled)"
    lines.append(f"  cache         {cache.directory()}: {held}{state}")
    return lines


def _gpus(tl: Any) -> list[str]:
    try:
        version, count = tl.cuda_driver_version(), tl.cuda_device_count()
    except TLError as error:
        return [f"  GPU           none: {error.message}", f"                {_COST['driver']}"]
    lines = [f"  CUDA driver   {version // 1000}.{version % 1000 // 10}, {count} GPUs"]
    for number in range(count):
        info = json.loads(tl.cuda_device_info(number))
        major, minor = info["compute_capability"]
        lines.append(f"  GPU {number}         {info['name']}, sm_{major}{minor}, {info['memory'] / 2**30:.0f} GiB")
    return lines


def _tool(name: str, found: dict[str, Any] | None) -> str:
    known: list[str] = []
    if found and found.get("path"):
        version = str(found.get("version", "")).split()[1:2]  # name, version, digest of the file
        known = [*version, str(found["path"])]
    return f"  {name:<13} {' '.join(known) or 'not found: ' + _COST.get(name, 'what needs it is off')}"


def _disassembler() -> list[str]:
    from .toolkit import find_tool

    path = find_tool("nvdisasm") or find_tool("cuobjdump")
    return [f"  disassembler  {path}" if path else f"  disassembler  not found: {_COST['nvdisasm']}"]


if __name__ == "__main__":
    print("\n".join(report()))
