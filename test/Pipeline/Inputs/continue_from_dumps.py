"""Stops a pipeline after each of its passes, and goes on from the printed IR.

    continue_from_dumps.py TL-OPT INPUT PIPELINE-OPTIONS

The IR between two passes is all that there is between them: written to text and
read again it must lead to the same result. Prints how many passes it stopped
after, or ends with the first one after which the results differ.
"""

import difflib
import re
import subprocess
import sys


def tl_opt(*arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.argv[1], *arguments], input=text, capture_output=True, text=True, check=True)


def split(passes: str) -> list[str]:
    """The elements of a list separated by commas outside of any bracket."""
    elements, depth = [""], 0
    for character in passes:
        depth += (character in "({") - (character in ")}")
        if character == "," and depth == 0:
            elements.append("")
        else:
            elements[-1] += character
    return [element.strip() for element in elements]


def flatten(passes: str, nesting: tuple[str, ...]) -> list[str]:
    """Pipelines of one pass each, in the order in which they run."""
    steps: list[str] = []
    for element in split(passes):
        nested = re.fullmatch(r"([\w.]+)\((.*)\)", element, re.DOTALL)
        if nested:
            steps += flatten(nested[2], (*nesting, nested[1]))
        else:
            steps.append("(".join((*nesting, element)) + ")" * len(nesting))
    return steps


def main() -> None:
    path, options = sys.argv[2:]
    whole = tl_opt(path, f"--tl-compile={options}", "--dump-pass-pipeline")
    dumped = whole.stderr[whole.stderr.index("builtin.module(") :].strip()
    (top,) = re.findall(r"^builtin\.module\((.*)\)$", dumped, re.DOTALL)
    steps = flatten(top, ())
    pipeline = "builtin.module({})".format

    with open(path, encoding="utf-8") as file:
        text = file.read()
    for index, step in enumerate(steps):
        text = tl_opt(f"--pass-pipeline={pipeline(step)}", text=text).stdout
        rest = ",".join(steps[index + 1 :])
        result = tl_opt(f"--pass-pipeline={pipeline(rest)}", text=text).stdout
        if result != whole.stdout:
            difference = difflib.unified_diff(
                whole.stdout.splitlines(), result.splitlines(), "at once", f"after {step}", n=0
            )
            sys.exit("\n".join(line[:400] for line in difference))
    print(f"went on after each of {len(steps)} passes")


main()
