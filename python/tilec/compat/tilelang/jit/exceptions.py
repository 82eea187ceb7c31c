"""`tilelang.jit.exceptions`."""

from __future__ import annotations


class JITNoBuilderError(Exception):
    """A construct of the language stands outside of a kernel."""


class EagerJITBuildError(Exception):
    """A function that is its own program could not be built."""
