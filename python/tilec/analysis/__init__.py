"""How much a kernel does, and how long that takes at least (docs/Analysis.md)."""
