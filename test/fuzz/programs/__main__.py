"""Draws programs and runs them against their references: `python -m programs`, in `test/fuzz`."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path as FilePath

from . import generator, printer, reference
from .features import Features
from .processes import Invalidated, Settings, Worker
from .program import Program
from .report import Finding, Report, cause, script
from .shrinker import shrink
from .worker import packed


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m programs", description=__doc__)
    parser.add_argument(
        "--path",
        action="append",
        default=[],
        help='where programs run: "cpu" (the default), or a chip with "nvptx", "nvrtc" or "sim", as in "sm_90a/sim"',
    )
    parser.add_argument(
        "--checks", action="store_true", help="compile programs with checks, which find nothing undefined"
    )
    parser.add_argument("--prints", action="store_true", help="let programs print, which changes nothing else")
    parser.add_argument("--bits", action="store_true", help="compare the bits of results with those of the first path")
    parser.add_argument("--compile-only", action="store_true", help="do not run what was compiled; needs no GPU")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="how many programs")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no program after so long")
    parser.add_argument("--workers", type=int, default=1, help="how many processes run programs")
    parser.add_argument("--limit", type=float, default=60, help="seconds that a program may take on a path")
    parser.add_argument("--without", default="", help="features to leave out, separated by commas: features.py")
    parser.add_argument("--by-hand", action="store_true", help="draw nothing but pipelines by hand")
    parser.add_argument("--shrink", type=int, default=3, help="how many findings of each cause are made small")
    parser.add_argument("--shrink-seconds", type=float, default=60, help="how long each of them takes at most")
    parser.add_argument(
        "--refusals", type=float, default=100, metavar="PERCENT", help="how many programs of a path may be refused"
    )
    parser.add_argument("--output", type=FilePath, help="a folder for summary.json, findings.json and scripts")
    parser.add_argument("--print", type=int, metavar="SEED", help="print the program of a seed, and end")
    return parser.parse_args()


def main() -> int:
    arguments = _arguments()
    features = Features(by_hand_alone=arguments.by_hand).without([n for n in arguments.without.split(",") if n])
    if arguments.print is not None:
        print(printer.source(generator.draw(arguments.print, features)[0]))
        return 0
    if arguments.checks:
        os.environ["TL_CHECKS"] = "1"  # for the processes that run programs
    if arguments.prints:
        os.environ["TL_FUZZ_PRINTS"] = "1"
        os.environ["TL_PRINT_BYTES"] = str(1 << 25)
    if arguments.bits:
        os.environ["TL_FUZZ_BITS"] = "1"
    settings = Settings(tuple(arguments.path or ["cpu"]), features, arguments.compile_only, arguments.limit)
    report = _run(settings, arguments)
    _shrink(report, settings, arguments)
    if arguments.output:
        report.write(arguments.output)
    print(json.dumps(report.summary(), indent=1))
    for finding in report.findings[:50]:
        print(f"seed {finding.seed} on {finding.path}: {finding.outcome.status}: {finding.outcome.message[:400]}")
    share = report.refused_share()
    if share > arguments.refusals / 100:
        print(f"{share:.1%} of the programs of a path are refused, which is more than {arguments.refusals:g} %")
        return 1
    return 1 if report.findings else 0


def _run(settings: Settings, arguments: argparse.Namespace) -> Report:
    """Runs the programs of all seeds on worker processes."""
    report = Report()
    guard = threading.Lock()
    begin = time.monotonic()
    seeds: Iterator[int] = iter(range(arguments.seed, arguments.seed + arguments.count))

    def work() -> None:
        worker = Worker(settings)
        while True:
            with guard:
                seed = next(seeds, None) if time.monotonic() - begin < arguments.seconds else None
            if seed is None:
                break
            outcomes = worker.run({"seed": seed})
            with guard:
                report.programs += 1
                for path, outcome in outcomes.items():
                    report.add(seed, path, outcome)
                if report.programs % 200 == 0:
                    print(f"{report.programs} programs, {len(report.findings)} findings", flush=True)
                    if arguments.output:
                        report.write(arguments.output)
        with guard:
            report.invalid += worker.rejected
        worker.stop()

    threads = [threading.Thread(target=work) for _ in range(arguments.workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report.seconds = time.monotonic() - begin
    return report


# Shrinking ------------------------------------------------------------------------------------------------------------


def _shrink(report: Report, settings: Settings, arguments: argparse.Namespace) -> None:
    """Makes some findings of each cause small, and writes scripts of them."""
    chosen: list[Finding] = []
    for _, group in itertools.groupby(sorted(report.findings, key=_key), _key):
        chosen += itertools.islice(group, arguments.shrink)
    guard = threading.Lock()
    waiting = iter(chosen)

    def work() -> None:
        worker = Worker(settings)
        while True:
            with guard:
                finding = next(waiting, None)
            if finding is None:
                break
            _shrink_one(finding, worker, settings, arguments)
        worker.stop()

    threads = [threading.Thread(target=work) for _ in range(min(arguments.workers, len(chosen)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _key(finding: Finding) -> tuple[str, str]:
    return finding.path, cause(finding.outcome)


def _shrink_one(finding: Finding, worker: Worker, settings: Settings, arguments: argparse.Namespace) -> None:
    first = cause(finding.outcome)
    # What differs does so from the first path.
    paths = (settings.paths[0], finding.path) if finding.outcome.status == "differs" else (finding.path,)

    def fails(program: Program) -> bool:
        try:
            outcome = worker.run({"program": packed(program)}, paths).get(finding.path)
        except Invalidated:
            return False
        if outcome is None or cause(outcome) != first:
            return False
        finding.outcome = outcome
        return True

    program, _, _ = generator.draw(finding.seed, settings.features)
    program = finding.program = shrink(program, fails, arguments.shrink_seconds)
    if arguments.output and finding.outcome.status != "differs":
        arguments.output.mkdir(parents=True, exist_ok=True)
        name = f"{finding.path.replace('/', '-')}-{finding.outcome.status}-{finding.seed}.py"
        (arguments.output / name).write_text(script(finding, program, reference.run(program)))


if __name__ == "__main__":
    raise SystemExit(main())
