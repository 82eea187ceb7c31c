"""The process that compiles and runs programs: one that crashes or hangs takes none with it but itself.

It reads jobs from its input, one a line, and says on its output what it begins and what came of it, so that whoever
started it knows which program it was that ended it.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import sys
from collections.abc import Callable
from typing import Any

from .arithmetic import Invalid
from .features import Features
from .program import Program

RESTART = 3
"""The exit status with which it asks for another: a fault on a GPU leaves a process that cannot use it."""

MAX_JOBS = 300
"""After so many it asks as well: compilers and drivers keep memory."""


def packed(program: Program) -> str:
    """Returns a program as text."""
    return base64.b64encode(pickle.dumps(program)).decode()


def unpacked(text: str) -> Program:
    return pickle.loads(base64.b64decode(text))


def main() -> None:
    """Serves jobs until there are none. The first line says which features programs have."""
    os.environ["TL_DISABLE_CACHE"] = "1"
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the compiler prints is no answer
    features = Features(**json.loads(sys.stdin.readline()))

    def say(**answer: Any) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    for number, line in enumerate(sys.stdin, 1):
        if not _serve(json.loads(line), features, say) or number == MAX_JOBS:
            raise SystemExit(RESTART)


def _serve(job: dict[str, Any], features: Features, say: Callable[..., None]) -> bool:
    """Does a job; returns whether the process can do another."""
    from . import generator, reference
    from .execution import Others, Path, execute

    rejected = 0
    if "program" in job:
        program = unpacked(job["program"])
        try:
            expected = reference.run(program)
        except Exception as error:  # a program made smaller may be no program at all
            if not isinstance(error, Invalid | AssertionError | KeyError | ValueError | IndexError | TypeError):
                raise
            say(done=True, invalid=str(error))
            return True
    else:
        program, expected, rejected = generator.draw(job["seed"], features)
    others = Others(
        said=[] if os.environ.get("TL_FUZZ_PRINTS") else None, contents=[] if os.environ.get("TL_FUZZ_BITS") else None
    )
    for name in job["paths"]:
        path = Path.parse(name, run=not job["compile_only"])
        say(begin=name)
        outcome = execute(program, expected, path, others)
        say(path=name, **vars(outcome))
        if outcome.status == "fault" and path.chip != "cpu" and outcome.message.startswith("at run time"):
            return False
    say(done=True, rejected=rejected)
    return True


if __name__ == "__main__":
    main()
