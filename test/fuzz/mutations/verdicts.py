"""What the simulator makes of a mutant."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from . import reasons
from .compiler import Compiler, Result
from .mutants import Mutant

MANY_SEEDS = 64
"""For what the first few say nothing of."""


@dataclass(frozen=True)
class Subject:
    """A kernel for a chip, at thread level."""

    name: str
    chip: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    word: str
    """reported, missed, other, equivalent or refused; see `python -m mutations --help`."""
    why: str


def judge(compiler: Compiler, subject: Subject, mutant: Mutant, expected: Result) -> Verdict:
    """Runs a mutant of a kernel that gives `expected`."""
    lines = list(subject.lines)
    result = compiler.simulate(mutant.apply(lines))
    if result.reports:
        return Verdict("reported", f"seed {result.seeds - 1}: {result.reports[0]}")
    if result.error:
        return Verdict("refused", result.error)
    result = compiler.simulate(mutant.apply(lines), MANY_SEEDS)
    if result.reports:
        return Verdict("missed", f"by the first seeds, and found by seed {result.seeds - 1}: {result.reports[0]}")
    for argument, digests in result.digests.items():
        if len(digests) > 1:
            return Verdict("missed", f"argument {argument} is one of {sorted(digests)}")
    for argument, digests in result.digests.items():
        if digests != expected.digests[argument]:
            return Verdict("other", f"argument {argument} is another, the same under all seeds")
    return Verdict("equivalent", reasons.explain(compiler, lines, mutant))


def judge_all(compiler: Compiler, drawn: list[tuple[Subject, Mutant]], workers: int) -> Counter[str]:
    """Judges mutants, says what came of each, and counts. `wrong` are kernels that are reported as they are."""
    totals: Counter[str] = Counter()
    expected: dict[Subject, Result] = {}
    for subject in dict.fromkeys(subject for subject, _ in drawn):
        result = expected[subject] = compiler.simulate(list(subject.lines))
        if result.reports or result.error:
            totals["wrong"] += 1
            print(f"wrong: {subject.name}, {subject.chip}: {result.error or result.reports[0]}")
    good = [(subject, mutant) for subject, mutant in drawn if not expected[subject].reports]
    with ThreadPoolExecutor(workers) as pool:
        verdicts = pool.map(lambda drawn: judge(compiler, *drawn, expected[drawn[0]]), good)
        for (subject, mutant), verdict in zip(good, verdicts, strict=True):
            totals[verdict.word] += 1
            line = subject.lines[mutant.line].strip()[:90]
            print(f"{verdict.word}: {subject.name}, {subject.chip}, {mutant.what}: {line}: {verdict.why}", flush=True)
    return totals
