"""Runs each pass of tl-opt by itself on the program, and on every sixth dump of its compilation.

    each_pass_alone.py TL-OPT INPUT PIPELINE-OPTIONS

A pass does its work, or says why not: nothing else may end tl-opt.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

NOT_ALONE = ("tl-compile", "tl-cached", "tl-post-process")
"""What needs options."""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, check=False)


def main() -> None:
    source, options = sys.argv[2:]
    names = re.findall(r"^ +--((?:tl|convert-tl)-[a-z0-9-]+) ", run("--help").stdout, re.MULTILINE)
    passes = [name for name in names if name not in NOT_ALONE]
    with tempfile.TemporaryDirectory() as folder:
        tree = ("--mlir-print-ir-after-all", f"--mlir-print-ir-tree-dir={folder}")
        run(source, f"--tl-compile={options}", "--mlir-disable-threading", *tree)
        dumps = [Path(source), *sorted(Path(folder).rglob("*.mlir"))[::6]]
        for dump in dumps:
            for name in passes:
                done = run(str(dump), f"--{name}", "-o", "/dev/null")
                if done.returncode not in (0, 1) or (done.returncode == 1 and "error:" not in done.stderr):
                    sys.exit(f"--{name} of {dump.name} ends with {done.returncode}:\n{done.stderr}")
        print(f"{len(passes)} passes on {len(dumps)} dumps ended well")


main()
