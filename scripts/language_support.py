"""Writes which element types the examples of the language work with on which target: docs/language/support.json.

`scripts/language_support.py` tries all names, some minutes; with names it tries those and leaves the others.
"""

import json
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "test" / "python"))

import reference_examples  # noqa: E402


def main(chosen: list[str]) -> None:
    warnings.simplefilter("ignore")
    file = ROOT / "docs" / "language" / "support.json"
    before = json.loads(file.read_text()) if file.exists() else {}
    found = {}
    for name in filter(reference_examples.depends_on_type, reference_examples.names()):
        known = before.get(name) if chosen and name not in chosen else None
        found[name] = known or reference_examples.support(name)
    lines = [f"  {json.dumps(name)}: {json.dumps(works)}" for name, works in sorted(found.items())]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
