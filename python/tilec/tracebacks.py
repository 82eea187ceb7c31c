"""Tracebacks of the user's mistakes, which end in the user's program: what this package was doing says nothing to him.

Errors that are no `TLError` are defects of ours, and keep all frames.
"""

from __future__ import annotations

from types import TracebackType

from . import location
from .errors import TLError


class _EndsInProgram:
    """A context in which the traceback of a `TLError` loses this package's frames.

    That of the function with the `with` is lost as well: Python adds a frame where an exception is raised or comes from
    a call, and not where a context manager lets it pass.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, TLError):
            error.__traceback__ = in_program(trace)


def in_program(trace: TracebackType | None) -> TracebackType | None:
    """Returns a traceback without frames of this package."""
    frames: list[TracebackType] = []
    while trace is not None:
        if not location.is_own(trace.tb_frame):
            frames.append(trace)
        trace = trace.tb_next
    kept = None
    for frame in reversed(frames):
        kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept


ends_in_program = _EndsInProgram()
"""What functions that programs call put around what they do: `with ends_in_program:`."""
