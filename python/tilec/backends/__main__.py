"""`python -m tilec.backends`: the table of the backends, and what this machine lacks of what they need."""

from __future__ import annotations

from . import known, table

if __name__ == "__main__":
    print(table())
    for backend in known():
        for need in backend.missing():
            print(f"\n`{backend.name}` is not available here: there is no `{need.name}`; {need.remedy}")
