"""What was found: findings by cause, refusals by message, and scripts that show a finding without this package."""

from __future__ import annotations

import base64
import collections
import json
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from . import data, printer
from .elements import PACKED, Number, bits, encoded, stored
from .execution import INTERNAL, Outcome, Path
from .program import Cast, Copy, Gemm, If, Jump, Loop, Program, Reduce, Scan, Select, Threads, While, walk

MAX_FINDINGS = 200


def cause(outcome: Outcome) -> str:
    """Returns an outcome's message without what differs between programs of one cause."""
    if outcome.status == "differs":
        return "differs from the first path"
    if outcome.status == "wrong":
        return "wrong: outside of the tensor" if "outside" in outcome.message else "wrong"
    text = outcome.message
    errors = re.findall(r"error: (.*)", text)
    if outcome.status == "fault":  # what the compiler says of itself counts, not what else is refused
        errors = [e for e in errors if INTERNAL.search(e)] or errors
    line = errors[0] if errors else next((n for n in text.splitlines() if n.strip()), "")
    line = re.sub(r"`[^`]*`", "`_`", line)
    line = re.sub(r"-?\d+(\.\d+)?", "N", line)
    return f"{outcome.status}: {line[:200]}"


@dataclass
class Finding:
    seed: int
    path: str
    outcome: Outcome
    program: Program | None = None
    """The program made small."""


@dataclass
class Report:
    """Counts of everything that ran."""

    counts: dict[str, collections.Counter[str]] = field(default_factory=dict)
    refusals: collections.Counter[str] = field(default_factory=collections.Counter)
    findings: list[Finding] = field(default_factory=list)
    examples: dict[str, str] = field(default_factory=dict)
    """A program, by its seed, and a path for each refusal."""
    bits: dict[str, dict[str, collections.Counter[str]]] = field(default_factory=dict)
    """Of each path and class of programs: how many have which worst difference from the first path."""
    elements: collections.Counter[str] = field(default_factory=collections.Counter)
    """How many elements were compared with the first path, and how many differ, of each kind."""
    differences: list[str] = field(default_factory=list)
    """The first difference of each program that has one."""
    programs: int = 0
    invalid: int = 0
    seconds: float = 0.0

    def add(self, seed: int, path: str, outcome: Outcome) -> None:
        self.counts.setdefault(path, collections.Counter())[outcome.status] += 1
        if outcome.status == "refused":
            self.refusals[cause(outcome)] += 1
            self.examples.setdefault(cause(outcome), f"--print {seed} on {path}: {outcome.message[:600]}")
        if outcome.bits:
            self._compare(seed, path, outcome)
        if outcome.is_finding:
            self.findings.append(Finding(seed, path, outcome))

    def _compare(self, seed: int, path: str, outcome: Outcome) -> None:
        assert outcome.bits is not None, "bits were compared"
        kind, worst, elements, differing = outcome.bits
        self.bits.setdefault(path, {}).setdefault(kind, collections.Counter())[worst] += 1
        self.elements.update({"compared": elements, **differing})
        if differing:
            self.differences.append(f"seed {seed} on {path}, {kind}, {worst}: {outcome.message}")

    def refused_share(self) -> float:
        """Returns the share of programs that are refused, of the path that refuses most."""
        return max((counts["refused"] / counts.total() for counts in self.counts.values()), default=0.0)

    def summary(self) -> dict[str, Any]:
        causes = collections.Counter(cause(f.outcome) for f in self.findings)
        compared = {path: {kind: dict(n) for kind, n in sorted(kinds.items())} for path, kinds in self.bits.items()}
        bits = {"programs by their worst difference": compared, "elements": dict(self.elements)} if compared else {}
        return {
            "programs": self.programs,
            "drawn and found invalid": self.invalid,
            "seconds": round(self.seconds),
            "paths": {path: dict(counts) for path, counts in sorted(self.counts.items())},
            **bits,
            "findings by cause": dict(causes.most_common()),
            "refusals by message": dict(self.refusals.most_common(60)),
        }

    def write(self, folder: FilePath) -> None:
        """Writes `summary.json`, and `findings.json`, in which the first findings of each cause come first."""
        folder.mkdir(parents=True, exist_ok=True)
        summary = {**self.summary(), "examples of refusals": dict(list(self.examples.items())[:60])}
        (folder / "summary.json").write_text(json.dumps(summary, indent=1))
        if self.bits:
            (folder / "differences.txt").write_text("".join(f"{line}\n" for line in self.differences))
        seen: collections.Counter[tuple[str, str]] = collections.Counter()
        ranked: list[tuple[int, Finding]] = []
        for finding in self.findings:
            key = (finding.path, cause(finding.outcome))
            ranked.append((seen[key], finding))
            seen[key] += 1
        ranked.sort(key=lambda r: r[0])
        entries = [_entry(finding) for _, finding in ranked[:MAX_FINDINGS]]
        (folder / "findings.json").write_text(json.dumps(entries, indent=1))


def _entry(finding: Finding) -> dict[str, Any]:
    return {
        "seed": finding.seed,
        "path": finding.path,
        "status": finding.outcome.status,
        "cause": cause(finding.outcome),
        "holds": signature(finding.program) if finding.program else "",
        "message": finding.outcome.message[:1500],
        "program": printer.source(finding.program)[:20000] if finding.program else "",
    }


def signature(program: Program) -> str:
    """Returns what a program is made of, in words: findings of one cause look alike when they are small."""
    words: list[str] = []
    for kernel in program.kernels:
        for node in (n for s in kernel.body for n in walk(s)):
            op = getattr(node, "op", "")
            if isinstance(node, Copy):
                words.append(f"copy {node.source.buffer.dtype} to {node.target.buffer.dtype}")
            elif isinstance(node, Reduce):
                words.append(f"reduce {node.kind} {node.source.dtype}")
            elif isinstance(node, Scan):
                words.append(f"{node.kind} {node.source.dtype}")
            elif isinstance(node, Jump):
                words.append(node.word)
            elif isinstance(node, Cast):
                words.append(f"cast {node.a.dtype} to {node.dtype}")
            elif isinstance(node, Loop | Gemm | While | Threads | Select | If):
                words.append(getattr(node, "kind", type(node).__name__.lower()))
            elif op:
                words.append(f"{op} {getattr(node, 'dtype', '')}")
    return ", ".join(dict.fromkeys(words))


# Scripts --------------------------------------------------------------------------------------------------------------

_HEAD = '''"""{title}

Exits with 1 if that is still so. Made by test/fuzz/programs, seed {seed}."""

import base64
import sys
import zlib

import numpy as np
import tilec
import tilec.language as T


{source}

def tensor(shape, dtype, text):
    """Returns a tensor of the bytes given, on the device."""
    memory = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)
    kind = tilec.dtypes.dtype(dtype)
    words = memory.view("u" + str(kind.bytes)).reshape(shape)
    return tilec.Array.from_numpy(words, kind, cuda=0 if TARGET != "cpu" else None)


TARGET, BACKEND = sys.argv[1:3] if len(sys.argv) > 2 else {target}
kernel = tilec.compile(fuzzed, target=TARGET, backend=BACKEND)
'''

_CHECK = """

def words(array, size):
    out = np.empty(array.nbytes, np.uint8)
    array.copy_into(out)
    return out.view("u" + str(size))


expected = np.frombuffer(zlib.decompress(base64.b64decode("{expected}")), "{kind}")  # of {name}, flattened
got = words({name}, {size})
where = np.array({where})
print("{name}: at", where.tolist(), "is", [hex(w) for w in got[where]], "(bits), expected", expected[where].tolist())
wrong = got[where] != np.frombuffer(zlib.decompress(base64.b64decode("{bits}")), "u{size}")[where]
sys.exit(bool(wrong.any()))
"""


def script(finding: Finding, program: Program, expected: dict[str, Number]) -> str:
    """Returns a script that runs a program and compares it with what the reference says."""
    path = Path.parse(finding.path)
    title = f"{finding.path}: {finding.outcome.status}: " + finding.outcome.message.splitlines()[0][:200]
    title = title.replace('"""', "'''").replace("\\", "/")
    target = repr((path.chip, path.backend))
    text = _HEAD.format(title=title, seed=finding.seed, source=printer.source(program), target=target)
    names: list[str] = []
    for entry in program.tensors:
        buffer = entry.buffer
        names.append(buffer.name)
        memory = _text(data.memory(entry).tobytes())
        shape, dtype = stored(buffer.shape, buffer.dtype)
        if entry.gap:
            text += f"# {buffer.name} has strides {entry.strides()} in the program; this passes none\n"
        text += f'{buffer.name} = tensor({shape}, "{dtype}", "{memory}")\n'
    arguments = [*names, *(repr(s.value) for s in program.scalars)]
    if program.aliases:
        listed = ", ".join(f"{n}.address" for n in program.aliases)
        text += f"words_of = np.array([{listed}], np.int64).view(np.uint8)\n"
        text += f'addresses = tensor(({len(program.aliases)},), "int64", base64.b64encode(zlib.compress(words_of)))\n'
        arguments.append("addresses")
    text += f"kernel({', '.join(arguments)})\n"
    name = finding.outcome.wrong
    if not name or name not in expected:
        return text
    number = expected[name]
    size = bits(number.dtype) // 8
    where = (finding.outcome.where or [0])[:16]
    if number.dtype in PACKED:  # by bytes
        number = Number("uint8", encoded(number.low, number.dtype))
        where = [at // 2 for at in where]
    return text + _CHECK.format(
        name=name,
        size=size,
        kind=number.low.dtype.str.lstrip("|"),
        expected=_text(np.ascontiguousarray(number.low).tobytes()),
        bits=_text(encoded(number.low, number.dtype).tobytes()),
        where=where,
    )


def _text(memory: bytes) -> str:
    return base64.b64encode(zlib.compress(memory, 9)).decode()
