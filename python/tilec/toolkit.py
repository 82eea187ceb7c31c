"""The tools of the CUDA toolkit, and machine code as text by them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from . import env
from .errors import TargetError


def disassemble(cubin: bytes, *, places: bool = False) -> str:
    """Returns a cubin's machine code as text; with `places` the code alone, with the lines that it came from."""
    tools = (("nvdisasm", ("-c", "-g")),) if places else (("nvdisasm", ()), ("cuobjdump", ("-sass",)))
    for tool, arguments in tools:
        path = find_tool(tool)
        if path is None:
            continue
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(cubin)
            file.flush()
            run = subprocess.run(
                [path, *arguments, file.name], env=env.for_program(), capture_output=True, text=True, check=False
            )
        if run.returncode != 0:
            raise TargetError(f"`{tool}` failed: {run.stderr.strip()}")
        return run.stdout
    raise TargetError(
        "there is no `nvdisasm` or `cuobjdump` here: install the CUDA toolkit, or `pip install nvidia-cuda-nvdisasm`"
    )


def find_tool(tool: str) -> str | None:
    """Finds a tool of the CUDA toolkit: on the path, in the toolkit, or in a Python package of NVIDIA's."""
    toolkit = os.path.join(os.environ.get("CUDA_HOME") or "/usr/local/cuda", "bin")
    if found := shutil.which(tool) or shutil.which(tool, path=toolkit):
        return found
    for entry in sys.path:
        for path in Path(entry or ".").glob(f"nvidia/*/bin/{tool}"):
            return str(path)
    return None
