"""Takes what orders memory out of the compiler's own kernels, and asks the simulator whether it notices.

A mutant is a kernel of thread level with one line changed: a barrier, wait, fence, commit or arrival less, another
parity, count of pending groups, of bytes or of arrivals, another place of shared memory, another slot of a ring, or a
descriptor that is off by a line. Of each it is said

- `reported`: the checkers report it, with the kind and the seed;
- `missed`: nothing is reported under these seeds, and under 64 of them something is, or results differ between them. A
  defect of the checkers, or of the choice of schedules;
- `other`: nothing is reported, and the results are others than those of the kernel, the same under 64 seeds: every two
  accesses that meet are ordered, but they are those of another program;
- `equivalent`: nothing is reported, and the results are those of the kernel under 64 seeds. Why is said: what else
  orders the same, that it is never executed, or that nothing which meets needs it;
- `refused`: `tl-verify-thread-level` or the decoder do not take it.

With `--agree` the other half: each op that orders memory is taken out of the tile-level IR, and what
`tl-verify-sync` says of that is held against the simulator. It may be stricter, which is printed, but must not
accept what the simulator reports.

Exits with 1 if a mutant was missed, a kernel itself reported, or the two disagree.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from pathlib import Path

from . import agreement
from .compiler import TO_THREADS, TO_TILES, Compiler
from .kernels import get_sources, split
from .mutants import find_mutants
from .verdicts import Subject, judge_all


def _get_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m mutations", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("opt", help="tl-opt")
    parser.add_argument("files", nargs="*", help="modules of tile level, instead of the suite's kernels")
    parser.add_argument("--count", type=int, default=0, help="how many mutants, at random; all by default")
    parser.add_argument("--random", type=int, default=0, help="which ones")
    parser.add_argument("--seeds", type=int, default=8, help="schedules that each is tried under")
    parser.add_argument("--target", nargs="*", default=["sm_90a", "sm_80"])
    parser.add_argument("--workers", type=int, default=1, help="how many mutants run at a time")
    parser.add_argument("--agree", action="store_true")
    return parser.parse_args()


def main() -> int:
    arguments = _get_arguments()
    compiler = Compiler(arguments.opt, arguments.seeds)
    files = [("", Path(name).read_text()) for name in arguments.files]
    totals: Counter[str] = Counter()
    if arguments.agree:
        for chip in arguments.target:
            for source, text in files or get_sources(chip):
                totals += agreement.compare(compiler, source, text, chip)
    else:
        subjects = [
            Subject(source or kernel, chip, tuple(lines))
            for chip in arguments.target
            for source, text in files or get_sources(chip)
            for kernel, lines in split(compiler.lower(f"{TO_TILES.format(chip=chip)},{TO_THREADS}", text)).items()
        ]
        drawn = [(subject, mutant) for subject in subjects for mutant in find_mutants(list(subject.lines))]
        if 0 < arguments.count < len(drawn):
            drawn = random.Random(arguments.random).sample(drawn, arguments.count)
        totals = judge_all(compiler, drawn, arguments.workers)
    print(", ".join(f"{count} {word}" for word, count in sorted(totals.items())))
    return int(bool(totals["missed"] or totals["wrong"] or totals["disagree"]))


sys.exit(main())
