"""`tvm.DataType`: an element type, as a text that knows its width."""

from __future__ import annotations

from ....dtypes import dtype


class DataType(str):
    """The name of an element type: `DataType("float16").bits` is 16."""

    __slots__ = ()

    def __new__(cls, name: object) -> DataType:
        return super().__new__(cls, dtype(name).name)

    @property
    def bits(self) -> int:
        """The bits of an element."""
        return dtype(str(self)).bits

    @property
    def lanes(self) -> int:
        """How many elements a value has: one."""
        return 1

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return dtype(str(self)).bytes
