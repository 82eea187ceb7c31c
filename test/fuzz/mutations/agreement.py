"""What `tl-verify-sync` says of kernels that lack an op which orders memory, held against the simulator.

The verifier knows tiles, and asks for more where it cannot tell which thread has which element. It must not accept what
the simulator reports.
"""

from __future__ import annotations

import re
from collections import Counter

from .compiler import TO_THREADS, TO_TILES, VERIFY, Compiler
from .kernels import split

SYNC = re.compile(r"^\s*(gpu\.barrier|tl\.wait_\w+|tl\.arrive_barrier|tl\.fence_async)\b")


def compare(compiler: Compiler, source: str, text: str, chip: str) -> Counter[str]:
    """Counts how often both say the same of a module's kernels without one op, and prints where they do not."""
    totals: Counter[str] = Counter()
    for kernel, lines in split(compiler.lower(TO_TILES.format(chip=chip), text)).items():
        for number, line in enumerate(lines):
            if not SYNC.match(line):
                continue
            mutant = [*lines[:number], "", *lines[number + 1 :]]
            lowered = compiler.run(TO_THREADS, "\n".join(mutant))
            if lowered.returncode != 0:
                totals["not lowered"] += 1
                continue
            verified = compiler.run(VERIFY, "\n".join(mutant))
            result = compiler.simulate(lowered.stdout.splitlines())
            is_refuted = verified.returncode != 0
            if is_refuted == bool(result.reports):
                totals["agree"] += 1
                continue
            verdict = "stricter" if is_refuted else "disagree"
            totals[verdict] += 1
            first = next((error for error in verified.stderr.splitlines() if ": error: " in error), "accepts it")
            said = result.error or (str(result.reports[0]) if result.reports else "nothing")
            print(
                f"{verdict}: {source or kernel}, {chip}, without `{line.strip()}`, line {number + 1}: "
                f"tl-verify-sync: {first}; simulator: {said}",
                flush=True,
            )
    return totals
