"""Element types.

A `DType` is what programs write (`T.float16`, `"float16"`, `torch.float16`, `numpy.float16`) and what values carry:
MLIR's integers have no sign, so the sign lives here.
"""

from __future__ import annotations

from . import operators
from .errors import DTypeError, suggestion
from .location import here
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Literal, NoReturn

    Kind = Literal["int", "uint", "float", "bool", "index"]


class DType(str):
    """An element type; calling it converts a value to it, as in `T.float32(x)`. There is one object for each.

    It is the text of its name, too, under which libraries know it: `getattr(torch, T.float16)`, `np.zeros(4, T.int8)`.
    As a text it is compared, hashed, printed and written to files; `T.dtype` knows other names ("half", "float").

    >>> T.float16.itemsize, T.float16 == "float16"
    (2, True)
    """

    __slots__ = ("bits", "kind", "mlir", "name", "plan")

    def __new__(cls, name: str, mlir: str, kind: Kind, bits: int, plan: str) -> DType:
        return super().__new__(cls, name)

    def __init__(self, name: str, mlir: str, kind: Kind, bits: int, plan: str) -> None:
        self.name = name
        self.mlir = mlir
        self.kind: Kind = kind
        self.bits = bits
        self.plan = plan
        """Its name in a launch plan."""

    def __reduce__(self) -> tuple[Any, ...]:
        return dtype, (self.name,)  # copies are the same object, in another process too

    def __call__(self, *values: Any) -> Any:
        if not values and operators.arithmetic.is_for_tilelang():
            return operators.make_variable(self)  # to which `T.let` gives its value
        if len(values) != 1:
            raise DTypeError(
                f"`{self!r}` converts one value, as in `{self!r}(x)`, and gets {len(values)}", location=here()
            )
        return operators.arithmetic.cast(values[0], self)

    def __repr__(self) -> str:
        return f"T.{self.name}"

    def _refuse(self, other: Any) -> NoReturn:
        raise DTypeError(
            f"`{self!r}` is an element type, which has no order and is no number: compare or compute with its `bits`",
            location=here(),
        )

    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __mul__ = __rmul__ = _refuse  # pyright: ignore[reportAssignmentType]

    def __add__(self, other: Any) -> str:
        """Texts can be put behind and before its name."""
        return str(self) + other if type(other) is str else self._refuse(other)

    def __radd__(self, other: Any) -> str:
        return other + str(self) if type(other) is str else self._refuse(other)

    @property
    def library_name(self) -> str:
        """What NumPy's and PyTorch's types of these elements are called."""
        return "float32" if self.name == "tfloat32" else self.name

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        """Whether it holds integers; `bool` does not count."""
        return self.kind in ("int", "uint", "index")

    @property
    def is_only_stored(self) -> bool:
        """Whether numbers of this type are moved and converted, and nothing is computed with them."""
        return self.kind == "float" and self.bits <= 8

    @property
    def is_signed(self) -> bool:
        return self.kind in ("int", "index")

    @property
    def bytes(self) -> int:
        """Size of an element in memory."""
        return (self.bits + 7) // 8

    @property
    def itemsize(self) -> int:
        """The same as `bytes`."""
        return self.bytes

    def as_torch(self) -> Any:
        """Returns PyTorch's type of these elements."""
        from importlib import import_module

        return getattr(import_module("torch"), self.library_name)

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest integer it can hold; for integer types only."""
        if self.kind == "bool":
            return 0, 1
        if self.is_signed:
            return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        return 0, (1 << self.bits) - 1


class Format(DType):
    """A type whose elements are bits to the compiler, a byte for each on the chip.

    Programs convert them; what a conversion does is arithmetic on the bits (`tilec.formats`), the same on all targets.
    Integers of 4 bits are kept as integers of 8. In a tensor two numbers of 4 bits share a byte (`tilec.packed`).
    """

    __slots__ = ("bias", "exponent_bits", "mantissa_bits", "nan", "value")

    def __init__(
        self,
        name: str,
        kind: Literal["int", "uint", "float"],
        bits: int,
        plan: str,
        value: DType,
        *,
        fields: tuple[int, int] = (0, 0),
        bias: int = 0,
        nan: int | None = None,
    ) -> None:
        super().__init__(name, "i8", kind, bits, plan)
        self.value = value
        """A type that holds all its numbers, and that is computed with."""
        self.exponent_bits, self.mantissa_bits = fields
        self.bias = bias
        self.nan = nan
        """The bits of the only NaN; None if there is none."""

    def __new__(cls, name: str, *_: Any, **__: Any) -> Format:
        return str.__new__(cls, name)

    @property
    def is_only_stored(self) -> bool:
        return True

    @property
    def has_sign_bit(self) -> bool:
        """Whether a bit above exponent and mantissa is the sign."""
        return self.exponent_bits + self.mantissa_bits < self.bits

    @property
    def has_negative_zero(self) -> bool:
        return self.has_sign_bit and self.nan != 1 << (self.bits - 1)


bool_ = DType("bool", "i1", "bool", 1, "i1")
int8 = DType("int8", "i8", "int", 8, "i8")
int16 = DType("int16", "i16", "int", 16, "i16")
int32 = DType("int32", "i32", "int", 32, "i32")
int64 = DType("int64", "i64", "int", 64, "i64")
uint8 = DType("uint8", "i8", "uint", 8, "u8")
uint16 = DType("uint16", "i16", "uint", 16, "u16")
uint32 = DType("uint32", "i32", "uint", 32, "u32")
uint64 = DType("uint64", "i64", "uint", 64, "u64")
float16 = DType("float16", "f16", "float", 16, "f16")
bfloat16 = DType("bfloat16", "bf16", "float", 16, "bf16")
float32 = DType("float32", "f32", "float", 32, "f32")
float64 = DType("float64", "f64", "float", 64, "f64")
tfloat32 = DType("tfloat32", "f32", "float", 32, "tf32")
float8_e4m3 = DType("float8_e4m3fn", "f8E4M3FN", "float", 8, "f8e4m3")
float8_e5m2 = DType("float8_e5m2", "f8E5M2", "float", 8, "f8e5m2")
float8_e8m0fnu = Format("float8_e8m0fnu", "float", 8, "f8e8m0", float32, fields=(8, 0), bias=127, nan=0xFF)
float8_e4m3fnuz = Format("float8_e4m3fnuz", "float", 8, "f8e4m3fnuz", float32, fields=(4, 3), bias=8, nan=0x80)
float8_e5m2fnuz = Format("float8_e5m2fnuz", "float", 8, "f8e5m2fnuz", float32, fields=(5, 2), bias=16, nan=0x80)
float4_e2m1fn = Format("float4_e2m1fn", "float", 4, "x8", float32, fields=(2, 1), bias=1)
int4 = Format("int4", "int", 4, "x8", int8)
uint4 = Format("uint4", "uint", 4, "x8", uint8)

pair = DType("int8", "i8", "int", 8, "x8")
"""The bytes of a tensor of two numbers to a byte, as it is passed to a kernel; not an element type."""

index = DType("index", "index", "index", 32, "")
"""The type of coordinates and loop variables; not an element type."""

_ELEMENT_TYPES = (
    bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
    float16, bfloat16, float32, float64, tfloat32, float8_e4m3, float8_e5m2,
    float8_e8m0fnu, float8_e4m3fnuz, float8_e5m2fnuz, float4_e2m1fn, int4, uint4,
)  # fmt: skip

_BY_NAME = {t.name: t for t in _ELEMENT_TYPES} | {
    "bool_": bool_,
    "half": float16,
    "float": float32,
    "double": float64,
    "int": int32,
    "char": int8,
    "short": int16,
    "long": int64,
    "uchar": uint8,
    "ushort": uint16,
    "uint": uint32,
    "ulong": uint64,
    "float8_e4m3": float8_e4m3,
}


_LIBRARIES = frozenset(("", "cupy", "jax.numpy", "jnp", "ml_dtypes", "np", "numpy", "T", "torch"))
"""What may stand before a name, as in "torch.float16"."""


def is_name(name: str) -> bool:
    """Whether there is an element type of this name."""
    return name in _BY_NAME


def dtype(spec: Any) -> DType:
    """Returns the element type that `spec` names: a `DType`, a name, or a type of NumPy, PyTorch, JAX or Python.

    >>> T.dtype("half") is T.float16
    True
    """
    if isinstance(spec, DType):
        if spec is index:
            raise DTypeError("`index` is not an element type; use `T.int32` or `T.int64`")
        return spec
    name = spec if isinstance(spec, str) else getattr(spec, "name", None) or getattr(spec, "__name__", None)
    if not isinstance(name, str):
        name = str(spec)
    library, _, stem = name.rpartition(".")
    found = _BY_NAME.get(stem) if library in _LIBRARIES or not isinstance(spec, str) else None
    if found is None:
        known = ", ".join(f"`{t.name}`" for t in _ELEMENT_TYPES)
        meant = written_out(stem)
        guess = f"; it is called `{meant.name}`" if meant else suggestion(name, _BY_NAME)
        if isinstance(spec, tuple | list):
            raise DTypeError(f"an element type is needed here, not `{spec}`: the shape comes first", location=here())
        if isinstance(spec, operators.Operators):
            raise DTypeError(f"an element type is needed here, not `{spec!r}`: the value comes first", location=here())
        if of_vectors := vector(name):
            raise DTypeError(
                f"`{spec}` is a type of vectors, and elements are scalars: use `{of_vectors[0].name}`, and of "
                f"tensors and tiles a last dimension of {of_vectors[1]}",
                location=here(),
            )
        raise DTypeError(f"unknown element type `{spec}`{guess or f'; known are {known}'}", location=here())
    return found


def unsigned(bits: int) -> DType:
    """Returns the unsigned integers of so many bits."""
    return _BY_NAME[f"uint{bits}"]


def vector(spec: Any) -> tuple[DType, int] | None:
    """Returns what the numbers of a type of vectors are, and how many, as of "float32x4"; None for other types."""
    if not isinstance(spec, str):
        return None
    stem, _, lanes = spec.rpartition(".")[2].rpartition("x")
    return (_BY_NAME[stem], int(lanes)) if lanes.isdigit() and int(lanes) > 1 and is_name(stem) else None


def written_out(name: str) -> DType | None:
    """Returns the type that an abbreviation such as "fp16", "bf16", "i32" or "u8" stands for."""
    stem = name.rstrip("0123456789")
    kind = {"bf": "bfloat", "f": "float", "fp": "float", "i": "int", "s": "int", "u": "uint"}.get(stem, "")
    return _BY_NAME.get(kind + name[len(stem) :]) if kind else None
