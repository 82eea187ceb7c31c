"""Why a mutant that nobody reports computes the same: found by further runs, not by reading the kernel."""

from __future__ import annotations

from .compiler import Compiler
from .mutants import ORDERS, Mutant

TRAP = (
    "%trap_at = arith.constant 16777216 : i32 %trap_base = tl.shared_base : <3> "
    "%trap = llvm.getelementptr %trap_base[%trap_at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8 "
    "%trapped = llvm.load %trap : !llvm.ptr<3> -> i32 "
)
"""An access that is out of bounds wherever it is executed."""


def explain(compiler: Compiler, lines: list[str], mutant: Mutant) -> str:
    """Returns why a mutant of a kernel is one that no checker may report."""
    trapped = compiler.simulate(Mutant(mutant.line, TRAP + lines[mutant.line], "").apply(lines), seeds=1)
    if trapped.seeds and not trapped.reports:
        return "it is never executed"
    return _find_partner(compiler, lines, mutant) or "nothing that meets needs it"


def _find_partner(compiler: Compiler, lines: list[str], mutant: Mutant) -> str | None:
    """Says which other op orders the same: without both, what is reported is more than without that one."""
    for number in sorted(range(len(lines)), key=lambda number: abs(number - mutant.line)):
        if number == mutant.line or not (match := ORDERS.match(lines[number])):
            continue
        alone = Mutant(number, "", "").apply(lines)
        known = {(report.kind, report.line) for report in compiler.simulate(alone).reports}
        both = compiler.simulate(mutant.apply(alone))
        for report in both.reports:
            if (report.kind, report.line) not in known:
                return f"{match[1]} in line {number + 1} orders the same; without both, {report}"
    return None
