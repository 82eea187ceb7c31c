"""The builder that both front ends stand on.

A `FunctionBuilder` is a function under construction: its parameters, the symbols of their shapes, and the place where
the next operation goes. The builder of the function being built is found by `current()`, so that language functions
need no handle. What a builder makes is a `PrimFunc`; a `Module` holds several.
"""

from __future__ import annotations

import contextlib
import threading

from . import location as locations
from .errors import ArgumentError, TLSyntaxError, UnsupportedError, grid_in_brackets
from .ir import Block, Op, Printer, Value
from .location import quote
from .ranges import EXTENTS
from .typed import TYPE_CHECKING
from .types import Computed, Const, StridedTensorType, Symbol, TensorType, Told

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
    from types import CodeType
    from typing import Any, NoReturn

    from .location import Location
    from .ranges import Range
    from .types import Extent, ScalarType

_local = threading.local()

_FORMULAS = {
    "add": "arith.addi",
    "sub": "arith.subi",
    "mul": "arith.muli",
    "floordiv": "arith.floordivsi",
    "max": "arith.maxsi",
}
"""What symbols follow by from computed extents."""


def _stack() -> list[FunctionBuilder]:
    return _local.__dict__.setdefault("stack", [])


def current_or_none() -> FunctionBuilder | None:
    """Returns the builder of the function that this thread is building, if any."""
    stack = _stack()
    return stack[-1] if stack else None


def current() -> FunctionBuilder:
    """Returns the builder of the function that this thread is building."""
    builder = current_or_none()
    if builder is None:
        raise TLSyntaxError(
            "this is only possible while a function is being built: in a `@T.prim_func`, or in "
            "`with module.function(...)`",
            location=locations.here(),
        )
    return builder


_OF_KERNELS = ("tl.load", "tl.store", "tl.copy", "tl.fill")
"""Statements that need nothing that a kernel allocates."""
_ALONE = "what stands outside of `T.Kernel`"
_make_alone: Callable[[], Any] | None = None


def provide_kernel(make: Callable[[], Any]) -> None:
    """Says what makes the kernel of what stands outside of kernels."""
    global _make_alone
    _make_alone = make


def advice(construct: str, otherwise: str) -> str:
    """Returns what to do for a value that is needed outside of the construct that it was assigned in."""
    if construct == _ALONE:
        return "compute it in front of the first of these statements, or inside of `T.Kernel`"
    if construct == "`T.Kernel`":
        return "kernels share tensors alone: write it to one, or to a workspace of `T.alloc_global`"
    if "T.Parallel" not in construct:
        return otherwise
    return (
        "each iteration of `T.Parallel` has variables of its own: write what they compute to a fragment or a tensor, "
        "and combine it with `T.reduce_sum` or its kin"
    )


class Parameter:
    """A parameter of a function: its name, its type, and its value in the body."""

    def __init__(self, name: str, type: TensorType | ScalarType, value: Value) -> None:
        self.name = name
        self.type = type
        self.value = value
        self.is_written = False
        """Whether the function may write to it; for tensors."""
        self.is_workspace = False
        """Whether it is a tensor of the function's own, which calls allocate and nobody else sees."""

    @property
    def is_tensor(self) -> bool:
        return isinstance(self.type, TensorType)

    def attributes(self) -> str:
        """Returns the argument attributes of the IR."""
        out = [f"tl.name = {quote(self.name)}"]
        if isinstance(self.type, TensorType):
            out.append(f"tl.align = {self.type.align} : i64")
            out.append(f"tl.shape = [{', '.join(quote(s) for s in self.type.symbol_names(self.type.shape))}]")
            if self.type.strides is not None:
                out.append(f"tl.strides = [{', '.join(quote(s) for s in self.type.symbol_names(self.type.strides))}]")
        if self.type.dtype.plan not in (self.type.dtype.mlir, "f8e4m3", "f8e5m2"):
            out.append(f"tl.dtype = {quote(self.type.dtype.plan)}")
        return f"{{{', '.join(sorted(out))}}}"


class FunctionBuilder:
    """A function under construction."""

    def __init__(
        self, name: str, *, location: Location, root: CodeType | None = None, for_tilelang: bool = False
    ) -> None:
        self.name = name
        self.location = location
        self.root = root
        self.parameters: list[Parameter] = []
        self.body = Block(label="the function")
        self.block = self.body
        self._alone: Any = None
        """The kernel that was begun for what stands outside of kernels."""
        self.control: list[Any] = []
        """Loops and branches of rewritten code that are open, outermost first."""
        self.choices: list[Any] = []
        """Every `T.If` that is open, outermost first."""
        self.is_in_macro = False
        self.assignments: dict[str, Location] = {}
        """Where rewritten code last assigned each name."""
        self.outputs: list[Parameter] = []
        """The results of an eager function; None for functions of other kinds."""
        self.constants: Mapping[str, Extent] = {}
        """The extents of an eager function that is compiled without tensors, by the name of their `T.const`."""
        self.places_of_constants: Mapping[str, Callable[[], int | None]] = {}
        """What tells the extents that names in an eager function stand for, before their annotations do."""
        self.named: set[str] = set()
        """The names of every `T.const` so far."""
        self.watch: Callable[[str, Location], None] | None = None
        """What is told of each operation, its name and where it came from, before it is there."""
        self.combiner: Callable[[Any, Any], Any] | None = None
        """What combines the numbers of threads, in the body of a `T.attr`."""
        self.for_tilelang = for_tilelang
        """Whether the program means what it means in TileLang where rules differ.

        Python's numbers are `int32` and `float32` beside narrower ones there, rather than of those's type, and each
        number of a vector of indices counts from the end if it is negative. What stands outside of kernels is a kernel
        of one thread.
        """
        self.is_annotating = False
        """Whether symbols take part in extents, rather than being their values."""
        self.outside: dict[Value, Any] = {}
        """What reads outside of tensors give in the kernel being built, where that is not zero."""
        self._in_kernels: list[Callable[[], None]] = []
        self._prologue = Block(label="the function")
        self._dims: dict[str, tuple[Value, Range | None]] = {}
        self._made_symbols = 0

    # Parameters and symbols ------------------------------------------------------------------------------------------

    def add_parameter(self, name: str, type: TensorType | ScalarType) -> Parameter:
        """Adds a parameter; `tilec.buffers.argument` is what stands for it in the body."""
        if isinstance(type, TensorType):
            type = type.resolved()
        parameter = Parameter(name, type, Value(type.mlir(), self.body, hint=name))
        self.parameters.append(parameter)
        return parameter

    @property
    def prologue(self) -> list[Op]:
        """What asks tensors for their extents and strides, before the body."""
        return self._prologue.ops

    def order_parameters(self, names: Iterable[str]) -> None:
        """Puts the parameters in the order of these names; others keep theirs and come last."""
        places = {name: i for i, name in enumerate(names)}
        self.parameters.sort(key=lambda parameter: places.get(parameter.name, len(places)))

    def constant_of(self, name: str) -> Extent | None:
        """Returns the extent that was given for a `T.const` of this name, if one was."""
        self.named.add(name)
        return self.constants.get(name)

    def dim(self, symbol: Symbol) -> tuple[Value, Range | None]:
        """Returns the value of a symbol, and what is known of it.

        It is the extent of the first dimension that the symbol names, else the first stride, else what it follows from.
        """
        if symbol.name in self._dims:
            return self._dims[symbol.name]
        for parameter in self.parameters:
            if not isinstance(parameter.type, TensorType):
                continue
            for i, extent in enumerate(parameter.type.shape):
                if isinstance(extent, Symbol) and extent.name == symbol.name:
                    where = self._emit_prologue("arith.constant", (), "index", {"value": f"{i} : index"})
                    value = self._emit_prologue("memref.dim", (parameter.value, where), "index", {})
                    value.hint = symbol.name
                    self._dims[symbol.name] = value, EXTENTS
                    return self._dims[symbol.name]
        for parameter in self.parameters:
            strides = parameter.type.strides if isinstance(parameter.type, TensorType) else None
            for i, stride in enumerate(strides or ()):
                if isinstance(stride, Symbol) and stride.name == symbol.name:
                    value = self._emit_strides(parameter)[i]
                    value.hint = symbol.name
                    self._dims[symbol.name] = value, None
                    return self._dims[symbol.name]
        from .extents import solved

        formula = solved(self.parameters).get(symbol.name)
        if formula is not None:
            value = self._emit_extent(formula)
            value.hint = symbol.name
            self._dims[symbol.name] = value, EXTENTS
            return self._dims[symbol.name]
        raise TLSyntaxError(
            f"the value of `{symbol.name}` is unknown: it is no extent and no stride of a parameter of `{self.name}`"
            f"{self._no_solution(symbol)}",
            location=self.here(),
        )

    def _no_solution(self, symbol: Symbol) -> str:
        """Returns which extent does not tell a symbol, and what helps, if the symbol stands in one."""
        from .extents import computed_extents

        if isinstance(symbol, Computed):
            return ": compute it below the tensors that tell what it is computed of"
        for name, _, extent in computed_extents(self.parameters):
            if any(part.name == symbol.name for part in extent.symbols()):
                return f", and `{extent}` of `{name}` does not tell it: pass it as a parameter of its own"
        return ""

    def _emit_extent(self, extent: Extent) -> Value:
        """Emits how a symbol follows from what tensors tell."""
        if isinstance(extent, Computed):
            op, operands = extent.parts()
            return self._emit_prologue(_FORMULAS[op], tuple(map(self._emit_extent, operands)), "index", {})
        if isinstance(extent, Symbol):
            return self.dim(extent)[0]
        return self._emit_prologue("arith.constant", (), "index", {"value": f"{extent} : index"})

    def knows(self, symbol: Symbol | Const) -> bool:
        """Whether a symbol has a value: in kernels, where no parameter is still to come, that of it or an error."""
        if self.kernel_block is not None:
            return True
        from .extents import places, solved

        name = symbol.value.name if isinstance(symbol, Const) and isinstance(symbol.value, Symbol) else symbol.name
        if name in self._dims or name in places(self.parameters) or name in solved(self.parameters):
            return True
        types = [p.type for p in self.parameters if isinstance(p.type, TensorType)]
        return any(isinstance(stride, Symbol) and stride.name == name for t in types for stride in t.strides or ())

    def bind(self, symbol: Symbol, value: Value, bounds: Range | None) -> None:
        """Gives a symbol that no parameter has a value of the kernel, of which `bounds` are known."""
        self._dims[symbol.name] = value, bounds

    def bind_twice(self, symbol: Symbol, half: Symbol) -> None:
        """Gives a symbol twice the value of another one, which tensors tell."""
        value, bounds = self.dim(half)
        two = self._emit_prologue("arith.constant", (), "index", {"value": "2 : index"})
        twice = self._emit_prologue("arith.muli", (value, two), "index", {})
        twice.hint = symbol.name
        self.bind(symbol, twice, bounds)

    def new_symbol(self, what: str) -> Symbol:
        """Returns a symbol that nothing else names; `what` is a part of its name."""
        self._made_symbols += 1
        return Symbol(f"_{what}_{self._made_symbols}")

    def _emit_strides(self, parameter: Parameter) -> list[Value]:
        """Emits what asks a tensor for its strides, in elements."""
        assert isinstance(parameter.type, TensorType), "only tensors have strides"
        rank = parameter.type.rank
        types = [f"memref<{parameter.type.dtype.mlir}>", *["index"] * (1 + 2 * rank)]
        results = tuple(Value(type, self.body) for type in types)
        parameter.value.uses += 1
        op = Op("memref.extract_strided_metadata", (parameter.value,), results, {}, {}, (), self.location)
        self._prologue.ops.append(op)
        return list(results[2 + rank :])

    def _emit_prologue(self, name: str, operands: tuple[Value, ...], type: str, properties: dict[str, str]) -> Value:
        value = Value(type, self.body)
        for operand in operands:
            operand.uses += 1
        self._prologue.ops.append(Op(name, operands, (value,), properties, {}, (), self.location))
        return value

    @contextlib.contextmanager
    def annotating(self) -> Generator[None]:
        """Computes with symbols as outside of a function: the type of a parameter is being said."""
        self.is_annotating = True
        try:
            yield
        finally:
            self.is_annotating = False

    # Operations ------------------------------------------------------------------------------------------------------

    def here(self) -> Location:
        """Returns the place in the user's program that is being executed."""
        return locations.here(self.root)

    def emit(
        self,
        name: str,
        operands: Sequence[Value] = (),
        results: Sequence[str] = (),
        properties: dict[str, str] | None = None,
        *,
        attributes: dict[str, str] | None = None,
        regions: Sequence[Block] = (),
        location: Location | None = None,
    ) -> Op:
        """Appends an operation to the current block, and keeps its properties and attributes."""
        location = location or self.here()
        if self.block is self.body and name in _OF_KERNELS:
            self._begin_alone()
        if self.watch is not None:
            self.watch(name, location)
        for operand in operands:
            self._check_visible(operand, location)
            operand.uses += 1
        values = tuple(Value(type, self.block) for type in results)
        op = Op(name, tuple(operands), values, properties or {}, attributes or {}, tuple(regions), location)
        self.block.ops.append(op)
        return op

    def _check_visible(self, value: Value, location: Location) -> None:
        if value.block.is_visible_from(self.block):
            return
        name = f"`{value.hint}`" if value.hint else "this value"
        label = value.block.label or "a block"
        remedy = "keep it in a `T.alloc_var` or a buffer that was allocated before"
        raise TLSyntaxError(
            f"{name} was made inside {label} and is used outside of it; {advice(label, remedy)}",
            location=location,
        )

    def constant(self, literal: str, type: str) -> Value:
        """Returns a constant, made at most once for each block that can see it."""
        key = (literal, type)
        for block in self.block.ancestors():
            if key in block.constants:
                return block.constants[key]
            if block.is_kernel:
                break
        attribute = literal if type == "i1" else f"{literal} : {type}"
        value = self.emit("arith.constant", (), (type,), {"value": attribute}).results[0]
        self.block.constants[key] = value
        return value

    @contextlib.contextmanager
    def inside(self, block: Block) -> Generator[Block]:
        """Makes `block` the current block."""
        outer = self.block
        self.block = block
        try:
            yield block
        finally:
            self.block = outer

    def new_block(self, label: str) -> Block:
        return Block(self.block, label)

    @property
    def kernel_block(self) -> Block | None:
        """The body of the kernel being built, if inside of one."""
        return next((block for block in self.block.ancestors() if block.is_kernel), None)

    def require_in_kernels(self, check: Callable[[], None]) -> None:
        """Has `check` build what must hold, in this kernel, or at the beginning of the next one."""
        if self.kernel_block is not None:
            check()
        else:
            self._in_kernels.append(check)

    def build_requirements(self) -> None:
        """Builds in the kernel that begins what was asked for before it."""
        checks, self._in_kernels = self._in_kernels, []
        for check in checks:
            check()

    def require_kernel(self, what: str) -> Block:
        """Returns the body of the kernel being built, or raises if there is none."""
        block = self.kernel_block
        if block is None:
            raise TLSyntaxError(f"{what} belongs inside `with T.Kernel(...)`", location=self.here())
        return block

    def reach_kernel(self, what: str) -> Block:
        """Returns the body of the kernel that `what` is a statement of; raises if there is none, and none begins."""
        if self.block is self.body:
            self._begin_alone()
        return self.require_kernel(what)

    def _begin_alone(self) -> None:
        """Begins a kernel of one thread, if the program is one that has statements outside of kernels."""
        if self.for_tilelang and _make_alone is not None:
            self._alone = _make_alone()
            self._alone.__enter__()
            self.block.label = _ALONE

    def end_alone(self) -> None:
        """Ends the kernel that was begun so, at the next one, or the end of the function."""
        if self._alone is not None and self.block.frame is self._alone:
            kernel, self._alone = self._alone, None
            kernel.__exit__(None)

    # Result ----------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def active(self) -> Generator[FunctionBuilder]:
        """Makes this the builder that `current()` returns."""
        _stack().append(self)
        try:
            yield self
        finally:
            _stack().pop()

    def finish(self) -> PrimFunc:
        """Returns the finished function. Its workspaces are the last parameters."""
        self.parameters.sort(key=lambda parameter: parameter.is_workspace)
        entry = Block()
        entry.arguments = [p.value for p in self.parameters]
        entry.ops = [*self._prologue.ops, *self.body.ops]
        entry.ops.append(Op("func.return", (), (), {}, {}, (), self.location))
        properties = _signature(self.name, self.parameters)
        op = Op("func.func", (), (), properties, {"tl.entry": ""}, (entry,), self.location)
        made = PrimFunc(self.name, tuple(self.parameters), op)
        if made.has_computed_extents or made.has_computed_strides:
            from .extents import check_computed, check_strides

            check_computed(made)
            check_strides(made)
        return made


class PrimFunc:
    """A finished function of the `tl` dialect, ready for `tilec.compile`.

    >>> @T.prim_func
    ... def clear(A: T.Tensor((64,), "float32")):
    ...     with T.Kernel(1):
    ...         for i in T.Parallel(64):
    ...             A[i] = 0.0
    >>> print(clear.script())
    """

    def __init__(self, name: str, parameters: tuple[Parameter, ...], op: Op) -> None:
        self.name = name
        self.parameters = parameters
        self.op = op
        self.retrace: Callable[[Callable[[FunctionBuilder], None]], PrimFunc] | None = None
        """Builds the function again, after its builder was given to a function; None if that cannot be done."""
        self.results: tuple[int, ...] = ()
        """The parameters that `T.empty` made, which calls return."""
        self._text: str | None = None

    @property
    def declared(self) -> tuple[Parameter, ...]:
        """The parameters without workspaces, which come last."""
        return tuple(p for p in self.parameters if not p.is_workspace)

    @property
    def has_computed_extents(self) -> bool:
        """Whether a tensor has an extent that is computed of others."""
        types = [p.type for p in self.parameters if isinstance(p.type, TensorType)]
        return any(isinstance(extent, Computed) for kind in types for extent in kind.shape)

    @property
    def has_computed_strides(self) -> bool:
        """Whether a tensor of numbers of 4 bits has a stride that the program names."""
        types = [p.type for p in self.parameters if isinstance(p.type, TensorType)]
        return any(isinstance(stride, Told) for kind in types for stride in kind.strides or ())

    @property
    def reaches_addresses(self) -> bool:
        """Whether it makes tensors at addresses: it touches memory then that is none of its arguments."""
        return '"tl.tensor_at"' in self.text

    def taken(self, outputs: Sequence[int] | None) -> list[Parameter]:
        """Returns the parameters that calls take if they return those of these numbers."""
        return [p for i, p in enumerate(self.declared) if i not in (outputs or ())]

    @property
    def text(self) -> str:
        """The function as the compiler reads it, with locations. Printed once: a finished function does not change."""
        text = self._text
        if text is None:
            text = self._text = self.script(locations=True)
        return text

    def script(self, *, locations: bool = False) -> str:
        """Returns the function as a module in MLIR's generic text form."""
        return Printer(locations=locations).print([self.op])

    def whole_text(self, *, locations: bool = False) -> str:
        """Returns the same with the text of the source files that it names, as they are now."""
        text = self.script(locations=locations)
        if "tl.source_kernel" not in text:
            return text
        return _with_files(text)

    def with_source_flags(self, flags: Sequence[str], include_paths: Sequence[str]) -> PrimFunc | None:
        """Returns the same function whose kernels in CUDA C++ get options for the compiler and folders of headers,
        unless they have their own; None if there are none such."""
        from copy import copy

        added = {"flags": flags, "include_paths": include_paths}
        texts = {name: f"[{', '.join(map(quote, words))}]" for name, words in added.items() if words}
        body = copy(self.op.regions[0])
        taking = [op for op in body.ops if op.name == "tl.source_kernel" and not texts.keys() & op.properties.keys()]
        if not taking:
            return None
        body.ops = [_with_properties(op, texts) if op in taking else op for op in body.ops]
        made = copy(self.op)
        made.regions = (body, *self.op.regions[1:])
        found = PrimFunc(self.name, self.parameters, made)
        found.results = self.results
        return found

    def without_unused(self) -> PrimFunc:
        """Returns the same function without the tensors that it takes and never touches.

        Those that have an extent or a stride of a symbol stay: they may be all that says what the symbol is.
        """
        from copy import copy

        body = copy(self.op.regions[0])
        used = {operand for op in _nested(body) for operand in op.operands}
        kept = [
            i
            for i, p in enumerate(self.parameters)
            if i in self.results or p.value in used or not _has_fixed_box(p.type)
        ]
        if len(kept) == len(self.parameters):
            return self
        parameters = tuple(self.parameters[i] for i in kept)
        body.arguments = [p.value for p in parameters]
        made = copy(self.op)
        made.properties = {**self.op.properties, "arg_attrs": "[]", **_signature(self.name, parameters)}
        made.regions = (body,)
        found = PrimFunc(self.name, parameters, made)
        found.results = tuple(kept.index(i) for i in self.results)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        parameters = tuple((p.name, _fixed(p.type), p.is_written, p.is_workspace) for p in self.parameters)
        return _printed, (self.name, parameters, self.whole_text(locations=True), self.results)

    def __getitem__(self, grid: object) -> NoReturn:
        raise grid_in_brackets(self.name, locations.here())

    def __call__(self, *args: object) -> None:
        raise ArgumentError(f"`{self.name}` is not compiled yet; call `tilec.compile({self.name})` first")

    def __repr__(self) -> str:
        parameters = ", ".join(f"{p.name}: {p.type!r}" for p in self.declared)
        return f"<tilec.PrimFunc {self.name}({parameters})>"


class PrintedFunc(PrimFunc):
    """A finished function that came from another process, as text."""

    def __init__(self, name: str, parameters: tuple[Parameter, ...], text: str) -> None:
        self.name = name
        self.parameters = parameters
        self.retrace = None
        self.results = ()
        self._text = text

    def script(self, *, locations: bool = False) -> str:
        """Returns the text; it has locations, wanted or not."""
        return self.text


def _signature(name: str, parameters: Sequence[Parameter]) -> dict[str, str]:
    """Returns the properties of a function that takes these parameters."""
    types = ", ".join(p.type.mlir() for p in parameters)
    properties = {"sym_name": quote(name), "function_type": f"({types}) -> ()"}
    if parameters:
        properties["arg_attrs"] = f"[{', '.join(p.attributes() for p in parameters)}]"
    return properties


def _nested(block: Block) -> Iterator[Op]:
    """Yields the operations of a block and of those in it."""
    for op in block.ops:
        yield op
        for region in op.regions:
            yield from _nested(region)


def _has_fixed_box(type: object) -> bool:
    """Whether it is the type of a tensor whose extents and strides are all numbers."""
    return isinstance(type, TensorType) and all(isinstance(e, int) for e in (*type.shape, *(type.strides or ())))


def _with_properties(op: Op, properties: Mapping[str, str]) -> Op:
    from copy import copy

    made = copy(op)
    made.properties = {**op.properties, **properties}
    return made


def _with_files(program: str) -> str:
    """Returns a program's text with the contents of the source files that it names."""
    import re

    def filled(found: re.Match[str]) -> str:
        name = re.sub(r"\\([0-9A-F]{2})", lambda byte: chr(int(byte[1], 16)), found[1]).encode("latin-1")
        with open(name, "rb") as file:
            text = file.read().decode("utf-8", "surrogateescape")
        return f'#tl.cuda_source<{quote(text)}, file = "{found[1]}"'

    return re.sub(r'#tl\.cuda_source<"", file = "((?:[^"\\]|\\[0-9A-F]{2})*)"', filled, program)


def _printed(
    name: str,
    parameters: Sequence[tuple[str, TensorType | ScalarType, bool, bool]],
    text: str,
    results: tuple[int, ...] = (),
) -> PrintedFunc:
    made: list[Parameter] = []
    for parameter, type, is_written, is_workspace in parameters:
        made.append(Parameter(parameter, type, Value(type.mlir(), Block())))
        made[-1].is_written, made[-1].is_workspace = is_written, is_workspace
    function = PrintedFunc(name, tuple(made), text)
    function.results = results
    return function


def _fixed(type: TensorType | ScalarType) -> TensorType | ScalarType:
    """Returns the type with extents of `T.const` as the numbers that they are now."""
    if not isinstance(type, TensorType):
        return type
    if type.strides is None:
        return TensorType(type.shape, type.dtype, align=type.align)
    return StridedTensorType(type.shape, type.strides, type.dtype, align=type.align)


def unsupported(message: str) -> UnsupportedError:
    """Returns an error at the place in the user's program that is being executed."""
    builder = current_or_none()
    return UnsupportedError(message, location=builder.here() if builder else locations.here())
