"""`tl-opt`, as the mutations need it."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, field

TO_TILES = (
    "tl-outline-kernels,tl-attach-target{{chip={chip}}},canonicalize,cse,gpu.module(tl-privatize-variables,"
    "tl-normalize-statements,tl-promote-variables,tl-stage-stores,tl-plan-gemms,tl-infer-layouts,tl-stage-fragments,"
    "tl-add-workspaces,tl-mark-bulk-stores,tl-verify-layouts,tl-assign-stages,tl-expand-pipeline,tl-overlap-gemms,"
    "tl-specialize-warps,tl-lower-pipes,tl-plan-shared-memory,tl-insert-sync)"
)
TO_THREADS = (
    "gpu.module(tl-lower-tile-ops,tl-promote-fragments,tl-prefetch-operands,canonicalize,cse,tl-verify-thread-level)"
)
VERIFY = "gpu.module(tl-verify-sync)"


@dataclass(frozen=True)
class Report:
    kind: str
    line: int
    """From 1 on."""
    message: str

    def __str__(self) -> str:
        return f"{self.kind}, line {self.line}: {self.message}"


@dataclass
class Result:
    """Of one run of the simulator under several seeds."""

    reports: list[Report] = field(default_factory=list)
    """Those of the first seed that has any."""
    digests: dict[str, set[str]] = field(default_factory=dict)
    """What each argument held in the end, by its number."""
    seeds: int = 0
    """How many were tried: the last one may have reported."""
    error: str = ""
    """Why the program was refused, or nothing."""


class Compiler:
    """Runs passes. `seeds` is under how many schedules a kernel is simulated."""

    def __init__(self, opt: str, seeds: int) -> None:
        self.opt, self.seeds = opt, seeds

    def run(self, passes: str, text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.opt, "-", f"--pass-pipeline=builtin.module({passes})"], input=text, capture_output=True, text=True
        )

    def lower(self, passes: str, text: str) -> str:
        """Returns the module after some passes. Ends the process where they fail."""
        result = self.run(passes, text)
        if result.returncode != 0:
            sys.exit(result.stderr)
        return result.stdout

    def simulate(self, lines: list[str], seeds: int | None = None) -> Result:
        """Runs a kernel of thread level under `seeds` schedules, or as many as usual."""
        passes = f"tl-simulate-launches{{seeds={seeds or self.seeds} digests=true}}"
        process = self.run(passes, "\n".join(lines))
        result = Result()
        for line in process.stderr.splitlines():
            if match := re.match(r"<stdin>:(\d+):\d+: error: ([a-z ]+): (.*)", line):
                result.reports.append(Report(match[2], int(match[1]), match[3]))
            elif match := re.match(r".*remark: `\w+`, seed (\d+), argument (\d+): (\w+)", line):
                result.digests.setdefault(match[2], set()).add(match[3])
                result.seeds = max(result.seeds, int(match[1]) + 1)
            elif ": error: " in line and not result.error:
                result.error = line
        if process.returncode != 0 and not result.reports and not result.error:
            result.error = f"tl-opt ended with {process.returncode}"
        return result
