"""`tilelang.quantize`: taking numbers of a few bits out of the words that hold them, inside a kernel.

A converter is a function of the width of a number, the word, the number's place in it counted from the lowest bits,
and the type of the result.
"""

from __future__ import annotations

from ....dtypes import dtype as _dtype
from ....language import cast, reinterpret
from ....typed import TYPE_CHECKING
from ..absent import missing

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ....dtypes import DType

__all__ = [
    "_tir_packed_int_to_int_convert",
    "_tir_packed_to_signed_convert",
    "_tir_packed_to_unsigned_convert",
    "_tir_packed_to_unsigned_convert_with_zeros",
    "_tir_u8_to_f8_e4m3_to_f16",
]


def _word(storage_type: str, storage_nbit: int) -> DType:
    return _dtype(f"{storage_type}{storage_nbit}")


def _taken(nbit: int, val: Any, pos: Any, word: DType) -> Any:
    """Returns the bits of a number as an integer from 0; `word` says how wide its word is, whatever its sign."""
    unsigned = _dtype(f"uint{word.bits}")
    bits = reinterpret(val, unsigned) if val.dtype.is_signed else val
    return cast((bits >> cast(pos * nbit, unsigned)) & unsigned((1 << nbit) - 1), "int32")


def _tir_packed_to_unsigned_convert(storage_type: str = "uint", storage_nbit: int = 8) -> Callable[..., Any]:
    """Returns a converter of integers from 0 on."""
    word = _word(storage_type, storage_nbit)

    def convert(nbit: int, val: Any, pos: Any, dtype: Any) -> Any:
        return cast(_taken(nbit, val, pos, word), dtype)

    return convert


def _tir_packed_to_signed_convert(storage_type: str = "uint", storage_nbit: int = 8) -> Callable[..., Any]:
    """Returns a converter of integers that are stored with 2 to the power `nbit - 1`, less one, added."""
    word = _word(storage_type, storage_nbit)

    def convert(nbit: int, val: Any, pos: Any, dtype: Any) -> Any:
        return cast(_taken(nbit, val, pos, word) - ((1 << (nbit - 1)) - 1), dtype)

    return convert


def _tir_packed_to_unsigned_convert_with_zeros(storage_type: str = "uint", storage_nbit: int = 8) -> Callable[..., Any]:
    """Returns a converter of integers from 0 on less a given zero: `convert(nbit, val, pos, zero, dtype)`."""
    word = _word(storage_type, storage_nbit)

    def convert(nbit: int, val: Any, pos: Any, zero: Any, dtype: Any) -> Any:
        return cast(_taken(nbit, val, pos, word) - zero, dtype)

    return convert


def _tir_packed_int_to_int_convert(storage_type: str = "uint", storage_nbit: int = 8) -> Callable[..., Any]:
    """Returns a converter of integers in two's complement."""
    word = _word(storage_type, storage_nbit)

    def convert(nbit: int, val: Any, pos: Any, dtype: Any) -> Any:
        rest = 32 - nbit
        return cast((_taken(nbit, val, pos, word) << rest) >> rest, dtype)

    return convert


def _tir_u8_to_f8_e4m3_to_f16(nbit: int, val: Any, dtype: Any) -> Any:
    """Returns the number of type `float8_e4m3` whose bits are in a byte."""
    return cast(reinterpret(val, "float8_e4m3"), dtype)


def __getattr__(name: str) -> Any:
    raise missing(f"tilelang.quantize.{name}", __all__)
