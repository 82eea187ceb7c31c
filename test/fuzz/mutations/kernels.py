"""Where kernels come from: Inputs/kernels.mlir, and functions of test/integration as the front end prints them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
FILE = Path(__file__).parent / "Inputs" / "kernels.mlir"
FIRST_WITH_CLUSTERS = 90


def get_sources(chip: str) -> Iterator[tuple[str, str]]:
    """Yields modules of tile level for a chip, each with a name; that of a file is empty, as its kernels have their
    own."""
    yield "", FILE.read_text()
    sys.path.insert(0, str(ROOT / "test" / "integration"))
    import fragment_kernels
    import pipelined_kernels

    functions = {
        "late_products": pipelined_kernels.late_products(2, 2, tiles=2),
        "loops_in_turn": pipelined_kernels.loops_in_turn(3, trips=4),
        "persistent_gemm": pipelined_kernels.persistent_gemm(2, blocks=2, M=256, N=256, K=192),
        "rescaled": pipelined_kernels.rescaled(2),
        "through_parts": pipelined_kernels.through_parts(2),
        "nested": pipelined_kernels.nested(3),
        "two_copies": pipelined_kernels.two_copies(3),
        "normalise_a_vector": fragment_kernels.normalise_a_vector()[0],
    }
    if int(re.sub(r"\D", "", chip)) >= FIRST_WITH_CLUSTERS:
        functions["in_clusters"] = pipelined_kernels.in_clusters(M=128, N=256, K=256)
    for name, function in functions.items():
        yield name, function.script()


def split(text: str) -> dict[str, list[str]]:
    """Returns the kernels of a module, each as the lines of a module of its own."""
    aliases: list[str] = []
    parts: dict[str, list[str]] = {}
    part: list[str] | None = None
    for line in text.splitlines():
        if line.startswith("#"):
            aliases.append(line)
        elif match := re.match(r"  (?:func\.func|gpu\.module) @(\w+?)(?:_kernel)?\b", line):
            part = parts.setdefault(match[1], [*aliases, "module {"])
        if part is not None and not line.startswith("#"):
            part.append(line)
        if line == "  }":
            part = None
    return {name: [*lines, "}"] for name, lines in parts.items()}
