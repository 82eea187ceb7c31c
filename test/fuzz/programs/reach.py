"""Counts what the compiler makes of programs: `python -m programs.reach`, in `test/fuzz`.

A part of the language is tested only if the compiler does with it what it is there for. A pipelined loop whose copies
nobody can start early tests nothing of pipelines. So programs are taken through the passes that decide, and what is in
the IR behind them is counted.
"""

from __future__ import annotations

import argparse
import collections
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path as FilePath

import tilec

from . import generator, printer
from .execution import build
from .features import Features

MARKS = {
    "pipelines of bulk copies": r"tl\.engine = \"bulk\"",
    "pipelines of cp.async": r"tl\.engine = \"groups\"",
    "roles": r"tl\.role ",
    "roles with branches": r"tl\.role (?:.|\n)*scf\.if",
    "pipelines behind guards": r"tl\.guarded",
    "late products": r"tl\.delayed",
    "turns": r"tl\.take_turn",
    "products of warp groups": r"plan\(<wgmma",
    "products by mma": r"plan\(<mma",
    "left factors in registers": r"tl\.gemm %fragment.*plan",
    "products of 8-bit floats": r"tl\.gemm .*f8E",
    "conversions of 8-bit floats": r"arith\.(ext|trunc)f .*f8E|tl\.copy .*f8E",
    "gathers that run ahead": r"tl\.places(?:.|\n){0,60}tl\.ahead",
    "gathers": r"tl\.places ",
    "bulk stores": r"tl\.copy .*bulk",
}
"""Of each thing to be reached, what says so in the IR."""


def marks(text: str, chip: str) -> set[str]:
    """Returns what the compiler makes of a module of tile kernels."""
    tool = FilePath(tilec.__file__).parent / "bin" / "tl-opt"
    command = [str(tool), "-", f"--tl-compile=chip={chip} backend=sim", "-o", "/dev/null"]
    command += [f"--mlir-print-ir-after={p}" for p in ("tl-assign-stages", "tl-overlap-gemms", "tl-specialize-warps")]
    ir = subprocess.run(command, input=text, capture_output=True, text=True, check=False).stderr
    return {name for name, mark in MARKS.items() if re.search(mark, ir)}


def count(seeds: Iterable[int], chip: str, features: Features) -> collections.Counter[str]:
    """Returns in how many programs each thing is reached."""
    found: collections.Counter[str] = collections.Counter()
    for seed in seeds:
        source = printer.source(generator.draw(seed, features)[0])
        found["programs"] += 1
        found["`T.Persistent`"] += "T.Persistent" in source
        found.update(marks(build(source).text, chip))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m programs.reach", description=__doc__)
    parser.add_argument("--chip", default="sm_90a")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=200, help="how many programs")
    arguments = parser.parse_args()
    seeds = range(arguments.seed, arguments.seed + arguments.count)
    for name, number in sorted(count(seeds, arguments.chip, Features()).items(), key=lambda item: -item[1]):
        print(f"{number:6} {name}")


if __name__ == "__main__":
    main()
