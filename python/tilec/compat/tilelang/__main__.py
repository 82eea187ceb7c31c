"""Runs a program for TileLang: `python -m tilec.compat.tilelang script.py arguments...`, or `-m module ...`."""

from __future__ import annotations

import os
import runpy
import sys

from .finder import install

USAGE = "usage: python -m tilec.compat.tilelang (SCRIPT | -m MODULE) [ARGUMENT...]"


def main() -> None:
    """Runs what the command line names, as `python` would."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help") or arguments == ["-m"]:
        print(USAGE, file=sys.stdout if arguments[:1] in (["-h"], ["--help"]) else sys.stderr)
        sys.exit(0 if arguments[:1] in (["-h"], ["--help"]) else 2)
    install()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
