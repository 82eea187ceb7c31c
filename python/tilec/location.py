"""Where in the user's program something came from.

A location is found by walking the Python stack to the first frame that is not this package's own, so both front ends
and plain helper functions get it without saying anything. Rewritten functions keep their original positions.
"""

from __future__ import annotations

import functools
import os
import sys

from .errors import excerpt
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from types import CodeType, FrameType

_LIBRARY = os.path.dirname(os.__file__) + os.sep
"""Where Python's own modules lie, and in folders of their own the packages that were installed."""


class Location:
    """A span of source text; lines and columns are 1-based, columns count characters."""

    __slots__ = ("callers", "column", "end_column", "file", "line", "statement")

    def __init__(
        self,
        file: str,
        line: int,
        column: int = 1,
        end_column: int = 0,
        callers: tuple[Location, ...] = (),
        statement: str = "",
    ) -> None:
        self.file = file
        self.line = line
        self.column = column
        self.end_column = end_column
        self.callers = callers
        self.statement = statement
        """The text of the line, which generated source shows in comments."""

    def __repr__(self) -> str:
        return f"<{self.file}:{self.line}:{self.column}>"

    def render(self, message: str) -> str:
        """Returns `message` with this place, the source line and a caret, and the chain of callers."""
        lines = [f"{self.file}:{self.line}:{self.column}: error: {message}"]
        if source := excerpt(self.file, self.line, self.column, self.end_column - self.column):
            lines.append(source)
        lines += [f"{c.file}:{c.line}:{c.column}: note: called from here" for c in self.callers]
        return "\n".join(lines)

    def mlir(self) -> str:
        """Returns the location as the inside of MLIR's `loc(...)`."""
        text = f"{quote(self.file)}:{self.line}:{self.column}"
        if self.callers:
            caller, *rest = self.callers
            outer = Location(caller.file, caller.line, caller.column, callers=tuple(rest))
            text = f"callsite({text} at {outer.mlir()})"
        return f"fused<{{tl.statement = {quote(self.statement)}}}>[{text}]" if self.statement else text


def quote(text: str) -> str:
    """Returns `text` as an MLIR string literal."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    out: list[str] = []
    for byte in text.encode("utf-8", "surrogateescape"):
        if byte in (0x22, 0x5C) or byte < 0x20 or byte > 0x7E:
            out.append(f"\\{byte:02X}")
        else:
            out.append(chr(byte))
    return f'"{"".join(out)}"'


def user_frame() -> FrameType | None:
    """Returns the frame of the user's program that called into this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own(frame):
        frame = frame.f_back
    return frame


def of_span(file: str, line: int, offset: int, end_line: int, end_offset: int) -> Location:
    """Makes a location from 0-based byte offsets, as `ast` and code objects have them."""
    import linecache

    text = linecache.getline(file, line).encode()
    column = len(text[:offset].decode("utf-8", "replace")) + 1
    stop = end_offset if end_line == line else len(text.rstrip())
    return Location(file, line, column, len(text[:stop].decode("utf-8", "replace")) + 1)


@functools.lru_cache(maxsize=64)
def _positions(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return list(code.co_positions())


@functools.lru_cache(maxsize=4096)
def of_frame(code: CodeType, instruction: int) -> Location:
    """Returns the place of an instruction, as frames and tracebacks have it."""
    line, end_line, offset, end_offset = _positions(code)[instruction // 2]
    if line is None or end_line is None or offset is None or end_offset is None:
        return Location(code.co_filename, line or code.co_firstlineno)
    found = of_span(code.co_filename, line, offset, end_line, end_offset)
    found.statement = _statement(code.co_filename, line)
    return found


def _statement(file: str, line: int) -> str:
    """Returns what a line of source says, without a comment: editing that changes nothing."""
    import linecache

    text = linecache.getline(file, line).strip()
    if "#" not in text:
        return text
    import tokenize

    try:
        for token in tokenize.generate_tokens(iter([text]).__next__):
            if token.type == tokenize.COMMENT:
                return text[: token.start[1]].rstrip()
    except (tokenize.TokenError, SyntaxError):  # a statement of several lines
        pass
    return text


def is_own(frame: FrameType) -> bool:
    """Returns whether a frame is this package's own, or of a module of Python's that it is called through."""
    name = frame.f_globals.get("__name__", "")
    return name.startswith("tilec.") or name in ("tilec", "contextlib")


def is_of_python(frame: FrameType) -> bool:
    """Returns whether a frame is of a module of Python's library, and not of a package that was installed."""
    file = frame.f_code.co_filename
    return file.startswith(_LIBRARY) and "-packages" not in file[len(_LIBRARY) :]


def here(root: CodeType | None = None) -> Location:
    """Returns where the user's program called into this package.

    With `root`, the code of the function being traced, the result has the chain of calls from there.
    """
    frames: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not is_own(frame):
            frames.append(frame)
            if root is None or frame.f_code is root:
                break
        frame = frame.f_back
    if not frames:
        return Location("<unknown>", 1)
    if frame is None:
        del frames[1:]
    # Where a lambda is called from says less than where it stands; rewritten operands are lambdas too.
    shown = [f for i, f in enumerate(frames) if i == 0 or frames[i - 1].f_code.co_name != "<lambda>"]
    chain = [of_frame(f.f_code, f.f_lasti) for f in shown]
    first, callers = chain[0], tuple(chain[1:])
    if not callers:
        return first
    return Location(first.file, first.line, first.column, first.end_column, callers, first.statement)


def argument_text(location: Location, function: str, which: int | str) -> str:
    """Returns how the user wrote an argument of the call at a place: the one of a number, or the first by its name too.

    Of an `assert` it is the condition. It is "" where that cannot be told: the call stands in several lines, or its
    source is gone.
    """
    import ast
    import linecache

    line = linecache.getline(location.file, location.line)
    text = line[location.column - 1 : location.end_column - 1 if location.end_column else None].strip()
    try:
        statement = ast.parse(text).body[0]
    except (SyntaxError, ValueError, IndexError):
        return ""
    if isinstance(statement, ast.Assert):
        return " ".join((ast.get_source_segment(text, statement.test) or "").split())
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or function != getattr(call.func, "attr", getattr(call.func, "id", "")):
        return ""
    number = which if isinstance(which, int) else 0
    given = [*call.args[number : number + 1], *(word.value for word in call.keywords if word.arg == which)]
    found = ast.get_source_segment(text, given[0]) if given and not isinstance(given[0], ast.Starred) else None
    return " ".join((found or "").split())
