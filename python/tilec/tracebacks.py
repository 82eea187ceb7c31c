"""Tracebacks of the user's mistakes, which end in the user's program: what this package was doing says nothing to him.

What his program raises itself while a kernel is built is shown so, too. Other errors that are no `TLError` are defects
of ours, and keep all frames.
"""

from __future__ import annotations

from types import TracebackType

from . import location
from .errors import TLError


class _EndsInProgram:
    """A context in which the traceback of the user's mistake loses this package's frames.

    That of the function with the `with` is lost as well: Python adds a frame where an exception is raised or comes from
    a call, and not where a context manager lets it pass.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            return
        frames = _of_program(trace)
        if isinstance(error, TLError) or (frames and frames[-1].tb_next is None):
            error.__traceback__ = _chain(frames)


def _of_program(trace: TracebackType | None) -> list[TracebackType]:
    """Returns the entries of a traceback without those of this package, and of Python's library where it calls that."""
    frames: list[TracebackType] = []
    is_inside = False
    while trace is not None:
        is_own = location.is_own(trace.tb_frame)
        is_inside = is_own or (is_inside and location.is_of_python(trace.tb_frame))
        if not is_inside:
            frames.append(trace)
        trace = trace.tb_next
    return frames


def _chain(frames: list[TracebackType]) -> TracebackType | None:
    kept = None
    for frame in reversed(frames):
        kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept


ends_in_program = _EndsInProgram()
"""What functions that programs call put around what they do: `with ends_in_program:`."""
