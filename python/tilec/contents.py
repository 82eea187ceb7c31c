"""The names of the language by group, as the package's docstring lists them, which `help` shows."""

from __future__ import annotations


def parse(documentation: str) -> dict[str, list[str]]:
    """Returns the names of each group, given a docstring with a paragraph of `Group: name, name`.

    >>> parse("The language.\\n\\nTiles: alloc_shared,\\n    view\\nBits: clz\\n")
    {'Tiles': ['alloc_shared', 'view'], 'Bits': ['clz']}
    """
    groups: dict[str, list[str]] = {}
    names: list[str] = []
    for line in documentation.rpartition("\n\n")[2].splitlines():
        title, separator, rest = line.partition(": ")
        if separator:
            names = groups.setdefault(title, [])
        names += [name.strip() for name in (rest if separator else line).split(",") if name.strip()]
    return groups


def public_names(documentation: str) -> list[str]:
    """Returns the names of all groups."""
    return [name for names in parse(documentation).values() for name in names]
