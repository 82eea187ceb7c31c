"""What kernels were on their way through the compiler: compiled once more, with the IR after every pass kept."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from .. import _tl
from ..errors import Diagnostic, TargetError
from ..typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from ..kernel import Kernel


class Stages:
    """The IR of a function's kernels after every pass, each line with the place in the program that it came from.

    - `passes`: for each kernel, by name, the passes on it in their order, each with the text after it.
    - `compiled`: what came of them, with line information, which changes no instruction.
    - `kernels`: what the compiler says of each.
    - `messages`: what the compiler said.
    """

    def __init__(self, kernel: Kernel) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.compiled, messages = kernel.compile_with_dumps(folder)
            self.kernels: list[dict[str, Any]] = json.loads(self.compiled.info())["kernels"]
            self.passes = {described["name"]: _read(Path(folder) / described["name"]) for described in self.kernels}
        self.messages = [Diagnostic.from_json(message) for message in json.loads(messages)]

    def after(self, name: str, which: str) -> str:
        """Returns the IR of a kernel after a pass, the last one of that name."""
        return next(text for made_by, text in reversed(self.passes[name]) if made_by == which)


def _read(folder: Path) -> list[tuple[str, str]]:
    """Returns passes and what they left: files are called `15-tl-plan-shared-memory.mlir`."""
    return [(path.stem.partition("-")[2], path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.mlir"))]


def describe_tiles(kernel: Kernel) -> list[dict[str, Any]]:
    """Returns where the tiles of each kernel lie, as `tlModuleDescribeTiles` says it (`include/tl-c/Compiler.h`)."""
    if kernel.target == "cpu":
        raise TargetError(
            f"`{kernel.name}` was compiled for the CPU, where tiles have no layout: compile it for a GPU, such as "
            f'`target="sm_90a"`, which need not be there'
        )
    stages = Stages(kernel)
    described: list[dict[str, Any]] = []
    for name in stages.passes:
        module, messages = _tl.parse(stages.after(name, "tl-plan-shared-memory"), f"{name}.mlir")
        assert module is not None, messages
        described += [found for found in json.loads(module.describe_tiles()) if found["name"] == name]
    return described
