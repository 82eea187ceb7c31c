"""Scalar values, their conversions and their arithmetic, under one name."""

from . import arithmetic, operators
from .arithmetic import (
    absolute,
    as_chosen,
    beside,
    binary,
    common_type,
    condition,
    difference,
    exactly,
    float_function,
    has_few_bits,
    is_as_far,
    narrowed,
    negative,
    operate,
    select,
    truth,
    typed,
    unify,
)
from .casts import bounded_index, cast, expr, index_value, to_index
from .constants import Number, greatest, least
from .expr import Expr, Linear, Lost, Scalar, known, simplify, static_int, typed_constant
from .ranges import Range

operators.provide(arithmetic)

__all__ = [
    "Expr", "Linear", "Lost", "Number", "Range", "Scalar", "absolute", "as_chosen", "beside", "binary", "bounded_index",
    "cast", "common_type", "condition", "difference", "exactly", "expr", "float_function", "greatest", "has_few_bits",
    "index_value", "is_as_far", "known", "least", "narrowed", "negative", "operate", "select", "simplify", "static_int",
    "to_index", "truth", "typed", "typed_constant", "unify",
]  # fmt: skip
