"""Takes what orders memory out of the compiler's own kernels, and asks the simulator whether it notices.

    python3 test/fuzz/mutations/mutate.py build/bin/tl-opt [--count N] [--seeds N] [--target sm_90a] [file.mlir...]

A mutant is a kernel of thread level with one line changed: a barrier, wait, fence, commit or arrival less, another
parity, count of pending groups or of bytes, or another slot. Of each it is said

- `reported`: the checkers report it, with the kind and the seed;
- `missed`: nothing is reported under any seed, and the results differ between seeds. A defect of the checkers;
- `other`: nothing is reported, and the results are others than those of the kernel, the same under all seeds:
  another program;
- `equivalent`: nothing is reported, and the results are the same under all seeds: every two accesses that meet are
  still ordered, by what else the kernel has. Why is said where it is plain;
- `refused`: `tl-verify-thread-level` or the decoder do not take it.

With `--agree` the other half: each op that orders memory is taken out of the tile-level IR, and what
`tl-verify-sync` says of that is held against the simulator. It may be stricter, which is printed, but must not
accept what the simulator reports.

Exits with 1 if a mutant was missed, a kernel itself reported, or the two disagree.
"""

import argparse
import random
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
FILES = ["test/fuzz/mutations/Inputs/kernels.mlir"]
TO_TILES = (
    "tl-outline-kernels,tl-attach-target{{chip={chip}}},canonicalize,cse,gpu.module(tl-privatize-variables,"
    "tl-normalize-statements,tl-promote-variables,tl-stage-stores,tl-plan-gemms,tl-infer-layouts,tl-stage-fragments,"
    "tl-add-workspaces,tl-mark-bulk-stores,tl-verify-layouts,tl-assign-stages,tl-expand-pipeline,tl-overlap-gemms,"
    "tl-specialize-warps,tl-lower-pipes,tl-plan-shared-memory,tl-insert-sync)"
)
TO_THREADS = "gpu.module(tl-lower-tile-ops,tl-promote-fragments,canonicalize,cse,tl-verify-thread-level)"
VERIFY = "gpu.module(tl-verify-sync)"


@dataclass
class Result:
    """Of one run of the simulator under several seeds."""

    reports: list[tuple[str, int, str]]  # kind, line, message
    digests: dict[tuple[str, str], set[str]]
    seed: int
    error: str


@dataclass
class Mutation:
    line: int
    text: str
    what: str


class Compiler:
    def __init__(self, opt: str, seeds: int) -> None:
        self.opt, self.seeds = opt, seeds

    def run(self, passes: str, text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.opt, "-", f"--pass-pipeline=builtin.module({passes})"], input=text, capture_output=True, text=True
        )

    def lower(self, passes: str, text: str) -> str:
        result = self.run(passes, text)
        if result.returncode != 0:
            sys.exit(result.stderr)
        return result.stdout

    def simulate(self, text: str) -> Result:
        result = self.run(f"tl-simulate-launches{{seeds={self.seeds} digests=true}}", text)
        reports: list[tuple[str, int, str]] = []
        digests: dict[tuple[str, str], set[str]] = {}
        seed, error = -1, ""
        for line in result.stderr.splitlines():
            if match := re.match(r"<stdin>:(\d+):\d+: error: ([a-z ]+): (.*)", line):
                reports.append((match[2], int(match[1]), match[3]))
            elif match := re.match(r".*remark: `(\w+)`, seed (\d+), argument (\d+): (\w+)", line):
                digests.setdefault((match[1], match[3]), set()).add(match[4])
                seed = max(seed, int(match[2]))
            elif ": error: " in line and not error:
                error = line
        if result.returncode != 0 and not reports and not error:
            error = f"tl-opt ended with {result.returncode}"
        return Result(reports, digests, seed, error)


DELETED = re.compile(
    r"^\s*(gpu\.barrier|nvvm\.barrier|nvvm\.fence\.\S+|nvvm\.mbarrier\.arrive\S*|nvvm\.mbarrier\.try_wait\S*"
    r"|nvvm\.cp\.async\.(?:bulk\.)?(?:commit|wait)\S+|tl\.wgmma_wait)\b"
)


def mutate_thread_level(lines: list[str]) -> list[Mutation]:
    """All mutants, one line changed in each."""
    found: list[Mutation] = []
    constants = {
        match[1]: match[2] for line in lines if (match := re.match(r"\s*(%c\S+) = arith\.constant (-?\d+) : i32", line))
    }
    pointers: list[tuple[int, str]] = []  # with how far in they are defined
    for number, line in enumerate(lines):

        def add(text: str, what: str, number: int = number) -> None:
            found.append(Mutation(number, text, what))

        indent = len(line) - len(line.lstrip())
        pointers = [known for known in pointers if known[0] <= indent]  # a name of another region may be another value
        if match := DELETED.match(line):
            add("", f"without {match[1]}")
        if match := re.match(r"(\s*)(%\S+) = tl\.wgmma_wait (\d+) \(", line):
            add(line.replace(f"tl.wgmma_wait {match[3]}", f"tl.wgmma_wait {int(match[3]) + 1}"), "waits for one less")
        if match := re.match(r"\s*tl\.wgmma_wait (\d+)", line):
            add(line.replace(f"wait {match[1]}", f"wait {int(match[1]) + 1}"), "waits for one less")
        if match := re.match(r"\s*nvvm\.cp\.async\.(?:bulk\.)?wait.group (\d+)", line):
            add(re.sub(r"(wait.group) \d+", rf"\1 {int(match[1]) + 1}", line), "waits for one less")
        if match := re.match(r"\s*nvvm\.mbarrier\.try_wait\.parity (%\S+), (%\S+),", line):
            one = "%mutant"
            add(
                f"{one}_1 = arith.constant 1 : i32\n{one} = arith.xori {match[2]}, {one}_1 : i32\n"
                + line.replace(f" {match[2]},", f" {one},", 1),
                "waits for the other parity",
            )
        expects = re.match(r"\s*nvvm\.mbarrier\.arrive\.expect_tx (%\S+), (%\S+) ", line)
        if expects and expects[2] in constants:
            half = int(constants[expects[2]]) // 2
            add(
                f"%mutant = arith.constant {half} : i32\n" + line.replace(f" {expects[2]} ", " %mutant ", 1),
                "expects half of the bytes",
            )
        if (match := re.match(r"\s*nvvm\.mbarrier\.init (%\S+), (%\S+) ", line)) and match[2] in constants:
            more = int(constants[match[2]]) + 1
            add(
                f"%mutant = arith.constant {more} : i32\n" + line.replace(f" {match[2]} ", " %mutant ", 1),
                "counts one arrival more",
            )
        # Another slot: what lies elsewhere in shared memory.
        if match := re.match(
            r"\s*(?:%\S+ = )?(?:nvvm\.cp\.async\.bulk\.tensor\.shared\.cluster\.global|nvvm\.cp\.async\.shared\.global"
            r"|tl\.ldmatrix|nvvm\.mbarrier\.(?:arrive\.expect_tx|try_wait\.parity)) (%\S+?)(?:,| )",
            line,
        ):
            others = [pointer for _, pointer in pointers[-6:] if pointer != match[1]]
            if others and re.search(r"ptr<3>|<3>", line):
                add(re.sub(re.escape(match[1]) + r"\b", others[0], line, count=1), "another slot")
        if match := re.match(r"\s*(%\S+) = llvm\.getelementptr .*\(!llvm\.ptr<3>", line):
            pointers.append((indent, match[1]))
    return found


def split(text: str) -> dict[str, list[str]]:
    """The kernels of a module, each as a module of its own."""
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


def classify(compiler: Compiler, text: str, expected: Result) -> tuple[str, str]:
    result = compiler.simulate(text)
    if result.reports:
        kind, line, message = result.reports[0]
        return "reported", f"{kind}, seed {result.seed}: line {line + 1}: {message}"
    if result.error:
        return "refused", result.error
    for key, digests in result.digests.items():
        if len(digests) > 1:
            return "missed", f"argument {key[1]} is one of {sorted(digests)}"
        if digests != expected.digests[key]:
            return "other", f"argument {key[1]} is {sorted(digests)}, not {sorted(expected.digests[key])}"
    return "equivalent", ""


def explain(lines: list[str], number: int) -> str:
    """Why the line does not matter, where the text shows it."""
    line = lines[number]
    behind = [text for text in lines[number + 1 :] if text.strip()]
    touches = re.compile(r"llvm\.(load|store)|ldmatrix|stmatrix|cp\.async|wgmma |mbarrier")
    if "barrier" in line and "mbarrier" not in line:
        for text in behind:
            if re.match(r"\s*(gpu|nvvm)\.barrier", text):
                return "a barrier follows with no access between them"
            if touches.search(text) or re.match(r"\s*(scf\.|\})", text):
                break
        if not any(
            re.search(r"ptr<3>|<3>", text)
            for text in behind[: next((i for i, t in enumerate(behind) if "gpu.return" in t), 0)]
        ):
            return "nothing behind it touches shared memory"
    if "another slot" in line:
        return "the other place holds the same"
    return "all that it orders is ordered by others too"


def run_mutants(compiler: Compiler, file: Path, chip: str, count: int, random_: random.Random) -> Counter[str]:
    totals: Counter[str] = Counter()
    kernels = split(compiler.lower(TO_TILES.format(chip=chip) + "," + TO_THREADS, file.read_text()))
    mutations = [(kernel, mutation) for kernel, lines in kernels.items() for mutation in mutate_thread_level(lines)]
    if count and len(mutations) > count:
        mutations = random_.sample(mutations, count)
    for kernel, lines in kernels.items():
        expected = compiler.simulate("\n".join(lines))
        if expected.reports or expected.error:
            print(f"{kernel}, {chip}: reported as it is: {expected.reports or expected.error}")
            totals["wrong"] += 1
            continue
        for mutation in (mutation for name, mutation in mutations if name == kernel):
            mutant = "\n".join([*lines[: mutation.line], mutation.text, *lines[mutation.line + 1 :]])
            verdict, why = classify(compiler, mutant, expected)
            if verdict == "equivalent":
                why = explain(lines, mutation.line)
            totals[verdict] += 1
            print(
                f"{verdict}: {kernel}, {chip}, {mutation.what}: {lines[mutation.line].strip()[:90]}: {why}", flush=True
            )
    return totals


SYNC = re.compile(r"^\s*(gpu\.barrier|tl\.wait_\w+|tl\.arrive_barrier|tl\.fence_async)\b")


def compare_verdicts(compiler: Compiler, file: Path, chip: str) -> Counter[str]:
    totals: Counter[str] = Counter()
    kernels = split(compiler.lower(TO_TILES.format(chip=chip), file.read_text()))
    for kernel, lines in kernels.items():
        for number, line in enumerate(lines):
            if not SYNC.match(line):
                continue
            mutant = "\n".join(lines[:number] + lines[number + 1 :])
            verified = compiler.run(VERIFY, mutant)
            lowered = compiler.run(TO_THREADS, mutant)
            if lowered.returncode != 0:
                totals["not lowered"] += 1
                continue
            result = compiler.simulate(lowered.stdout)
            is_refuted = verified.returncode != 0
            if is_refuted == bool(result.reports):
                totals["agree"] += 1
                continue
            # The verifier knows tiles, and asks for more where it cannot tell which thread has which element.
            verdict = "stricter" if is_refuted else "disagree"
            totals[verdict] += 1
            first = next((error for error in verified.stderr.splitlines() if ": error: " in error), "accepts it")
            print(
                f"{verdict}: {kernel}, {chip}, without `{line.strip()}`, line {number + 1}: tl-verify-sync: {first}; "
                f"simulator: {result.reports or result.error or 'nothing'}",
                flush=True,
            )
    return totals


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("opt")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--count", type=int, default=0, help="mutants of each file, at random; all by default")
    parser.add_argument("--random", type=int, default=0, help="which ones")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--target", nargs="*", default=["sm_90a", "sm_80"])
    parser.add_argument("--agree", action="store_true")
    arguments = parser.parse_args()
    compiler = Compiler(arguments.opt, arguments.seeds)
    totals: Counter[str] = Counter()
    for name in arguments.files or FILES:
        for chip in arguments.target:
            file = Path(name) if arguments.files else ROOT / name
            if arguments.agree:
                totals += compare_verdicts(compiler, file, chip)
            else:
                totals += run_mutants(compiler, file, chip, arguments.count, random.Random(arguments.random))
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(totals.items())))
    sys.exit(bool(totals["missed"] or totals["wrong"] or totals["disagree"]))


main()
