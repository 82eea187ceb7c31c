"""Prints the `kernel.py` of the `tl.compiled_kernel`s of a module on standard input."""

import re
import sys

for literal in re.findall(r'kernel\.py = "((?:[^"\\]|\\.)*)"', sys.stdin.read()):
    print(re.sub(r"\\([0-9A-F]{2}|.)", lambda m: chr(int(m[1], 16)) if len(m[1]) == 2 else m[1], literal))
