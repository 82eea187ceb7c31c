"""Takes what orders memory out of kernels, one op at a time, and has the rest verified.

Usage: delete_syncs.py tl-opt "<passes before the check>" file...

Prints for each kernel how many ops there are, of which kinds, and each one that is not missed. Ops of one line
are all it takes: barriers, fences, arrivals and waits.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

SYNC = re.compile(r"^\s*(gpu\.barrier|tl\.wait_\w+|tl\.fence_async|tl\.arrive_barrier|tl\.cluster_\w+)\b")
VERIFY = "--pass-pipeline=builtin.module(gpu.module(tl-verify-sync))"


def run(arguments: list[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, input=text, capture_output=True, text=True)


def main() -> None:
    opt, passes, *files = sys.argv[1:]
    for file in files:
        made = run([opt, file, f"--pass-pipeline={passes}"])
        if made.returncode != 0:
            sys.exit(made.stderr)
        lines = made.stdout.splitlines(keepends=True)
        if run([opt, "-", VERIFY], made.stdout).returncode != 0:
            sys.exit(f"{file}: what orders it is not enough")
        counts: Counter[str] = Counter()
        for number, line in enumerate(lines):
            match = SYNC.match(line)
            if match is None:
                continue
            counts[match[1]] += 1
            rest = run([opt, "-", VERIFY], "".join(lines[:number] + lines[number + 1 :]))
            if rest.returncode == 0:
                print(f"{Path(file).name}: not missed: {line.strip()}")
            elif "defect of the compiler" not in rest.stderr:
                sys.exit(rest.stderr)
        print(f"{Path(file).name}: {', '.join(f'{n} {op}' for op, n in sorted(counts.items()))}")


main()
