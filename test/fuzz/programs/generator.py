"""Draws programs. The same seed and features give the same program.

Programs are valid by construction for the most part: blocks write tensors in parts of their own, loops write each
element once, nothing is read before it is written. What slips through, `reference` finds, and another is drawn.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace

from .aliases import draw_aliases
from .arithmetic import Invalid
from .by_hand import ByHand
from .cuts import draw_cuts
from .elements import FLOAT4, FLOATS, INTEGERS, NARROW, PACKED, SMALL_FLOATS, Number, bits, is_float, is_unsigned
from .expressions import Expressions, Index, Scope, added, const, is_affine, scaled
from .features import Features
from .literals import draw_literals
from .loops import Bodies, Target
from .places import allocate_in_loop, draw_slots
from .program import (
    ALL_REDUCTIONS,
    SHUFFLES,
    WARP_REDUCTIONS,
    Alloc,
    Assign,
    Atomic,
    Binary,
    Buffer,
    Cast,
    Combined,
    Compare,
    Const,
    Copy,
    Exchange,
    Expr,
    Fill,
    Gemm,
    If,
    Jump,
    Kernel,
    Load,
    Loop,
    Name,
    Parallel,
    Persistent,
    Program,
    Reduce,
    Scalar,
    Scan,
    Select,
    Shuffled,
    Side,
    Space,
    SparseGemm,
    Stmt,
    Sync,
    Tensor,
    Threads,
    While,
    is_static,
    walk,
)
from .reference import run
from .sequences import Sequence
from .wordings import draw_wordings

SHARED_BYTES = 24_000
"""How much shared memory a kernel's tiles take, at most, before pipelines multiply them by up to four.

The least that a chip has is 99 KiB, and what only one chip lacks is no refusal to look for.
"""

LARGE_SHARED_BYTES = 45_000
"""The same of kernels with large products: a ring of three or four slots of it leaves no room for a second block, so
that a thread of its own does the copies."""

REGISTER_BYTES = 320
"""How much of a fragment a thread holds, at most."""

TILE_ELEMENTS = 8192
"""How many elements a tile has, at most."""

ELEMENTS_PER_THREAD = 16
"""How many elements of a tile a thread has, in most kernels: each is code, and time to compile it. A tile of a product
may have four times as many."""

LARGE = 0.06
"""How many kernels have no such limit."""

_GEMM_TYPES = (
    ("float16", "float32"),
    ("bfloat16", "float32"),
    ("float32", "float32"),
    ("float16", "float16"),
    ("int8", "int32"),
    ("float8_e4m3", "float32"),
    ("float8_e5m2", "float32"),
    ("float64", "float64"),
    ("int4", "int32"),
    ("uint4", "int32"),
    (FLOAT4, "float32"),
)


def draw(seed: int, features: Features) -> tuple[Program, dict[str, Number], int]:
    """Returns a valid program, what it computes, and how many drawn before it were not valid."""
    for attempt in range(200):
        program = sketch(seed, features, random.Random(f"{seed}.{attempt}"))
        try:
            return program, run(program), attempt
        except Invalid:
            continue
    raise AssertionError(f"200 programs of seed {seed} were invalid")


def sketch(seed: int, features: Features, rng: random.Random) -> Program:
    """Returns a program that may be valid."""
    return _Drawing(rng, features).program(seed)


def _is_of_bytes(dtype: str, extents: tuple[int, ...]) -> bool:
    """Whether a tile of a tensor is one of whole bytes, as copies have it (M12)."""
    return dtype not in PACKED or extents[-1] % 2 == 0


def _is_even(index: Expr) -> bool:
    """Whether an index is seen to be even."""
    if isinstance(index, Binary) and index.op in ("+", "-", "*"):
        sides = [_is_even(side) for side in (index.a, index.b)]
        return any(sides) if index.op == "*" else all(sides)
    return isinstance(index, Const) and int(index.value) % 2 == 0


class _Drawing:
    """One program while it is drawn."""

    def __init__(self, rng: random.Random, features: Features) -> None:
        self._rng = rng
        self._features = features
        self._e = Expressions(rng, features)
        self._count = 0
        self._bodies = Bodies(self._e, self._fresh)
        self._tensors: list[Tensor] = []
        self._scalars: list[Scalar] = []

    def _fresh(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def program(self, seed: int) -> Program:
        # This has a source of its own, so that programs are otherwise what they would be without.
        is_by_hand = self._features.by_hand_alone or random.Random(f"{seed} by hand").random() < 0.1
        if self._features.pipelines_by_hand and is_by_hand:
            return self._by_hand(seed)
        for _ in range(self._rng.choice((0, 0, 1, 2))):
            dtype = self._e.pick(("int32", "float32", "int64", "float16"))
            self._scalars.append(Scalar(self._fresh("n"), dtype, self._e.constant(dtype).value))
        for _ in range(self._rng.randint(1, 3)):
            self.tensor(self._e.dtype(), self._shape())
        kernels: list[Kernel] = []
        count = self._rng.choice((1, 1, 1, 2, 3)) if self._features.several_kernels else 1
        for _ in range(count):
            kernels.append(_KernelDrawing(self, self._rng, self._features).kernel())
            if self._features.tiles_of_loops and not kernels[-1].cluster and self._e.chance(0.1):
                kernels[-1] = allocate_in_loop(kernels[-1], self._rng)
        program = Program(seed, self._tensors, self._scalars, kernels)
        used = {n.name for k in kernels for s in k.body for n in walk(s) if isinstance(n, Buffer | Name)}
        used |= {n.name for k in kernels for g in k.grid for n in walk(g) if isinstance(n, Name)}
        symbols = used & program.extents().keys()
        program.tensors = [t for t in self._tensors if t.buffer.name in used or symbols & set(t.symbols)]
        program.scalars = [s for s in self._scalars if s.name in used]
        # Of one tile with several slots it is not seen which of them other blocks reach; nor are they views.
        has_clusters = any(kernel.cluster for kernel in kernels)
        if self._features.slots and not has_clusters and self._e.chance(0.1):
            program.slots = draw_slots(program, self._rng)
        if self._features.wordings and not has_clusters and self._e.chance(0.3):
            program.wordings = draw_wordings(self._rng)
        has_variables = any(
            isinstance(n, Buffer) and n.space == "var" for k in kernels for s in k.body for n in walk(s)
        )
        if self._features.wordings and has_variables and self._e.chance(0.5):
            program.wordings = (*(w for w in program.wordings if w != "vectors"), "vectors")
        # These have sources of their own, so that programs are otherwise what they would be without.
        if self._features.wordings and random.Random(f"{seed} loops").random() < 0.25:
            program.wordings = (*program.wordings, "loops")
        if self._features.wordings and has_clusters and random.Random(f"{seed} clusters").random() < 0.7:
            program.wordings = (*program.wordings, "clusters")
        if self._features.outside and self._e.chance(0.1):
            kernel = self._rng.choice(kernels)
            kernel.outside = self._outside(kernel)
        if self._features.aliases and not has_clusters and self._e.chance(0.2):
            program.aliases = draw_aliases(program, self._rng)
        if self._features.cuts and self._e.chance(0.25):
            draw_cuts(program, self._rng)
        if self._features.literals and self._e.chance(0.1):
            draw_literals(program, self._rng)
        return program

    def _by_hand(self, seed: int) -> Program:
        """Returns a pipeline by hand, in other words perhaps."""
        drawing, features, e = ByHand(self, self._rng, self._features), self._features, self._e
        program = Program(seed, self._tensors, self._scalars, [drawing.kernel()])
        if features.wordings and e.chance(0.3):
            # Variables of different groups are not numbers of one vector, which is one variable.
            program.wordings = tuple(w for w in draw_wordings(self._rng) if w != "vectors")
        if features.outside and e.chance(0.1):
            program.kernels[0].outside = self._outside(program.kernels[0])
        if features.aliases and e.chance(0.1):
            program.aliases = draw_aliases(program, self._rng)
        if features.cuts and drawing.may_cut and e.chance(0.2):
            draw_cuts(program, self._rng)
        return program

    def _outside(self, kernel: Kernel) -> dict[str, Const]:
        """Returns what reads outside of some tensors give that a kernel reads."""
        nodes = [n for s in kernel.body for n in walk(s)]
        read = {n.buffer for n in nodes if isinstance(n, Load)} | {
            n.source.buffer for n in nodes if isinstance(n, Copy)
        }
        names = sorted((b.name, b.dtype) for b in read if b.space == "global" and b.dtype not in PACKED)
        chosen = self._rng.sample(names, min(len(names), self._rng.randint(1, 2)))
        return {name: Const(dtype, self._number_outside(dtype)) for name, dtype in chosen}

    def _number_outside(self, dtype: str) -> int | float | bool:
        if dtype == "bool":
            return True
        if is_float(dtype):
            return self._rng.choice((1.0, -2.0, 0.5))
        return self._rng.choice((1, 3, 100) if is_unsigned(dtype) else (1, -1, 100))

    def _shape(self) -> tuple[int, ...]:
        rank = self._rng.choice((1, 1, 2, 2, 2, 3))
        limit = {1: 300, 2: 96, 3: 24}[rank]
        return tuple(self._extent(limit) for _ in range(rank))

    def _extent(self, limit: int) -> int:
        choices = [1, 2, 3, 4, 5, 7, 8, 13, 16, 24, 32, 33, 48, 64, 72, 96, 128, 143, 256]
        return self._e.pick([c for c in choices if c <= limit])

    def tensor(self, dtype: str, shape: tuple[int, ...], *, is_output: bool = False) -> Buffer:
        """Adds a parameter."""
        rng, features = self._rng, self._features
        if dtype in PACKED:
            shape = (*shape[:-1], shape[-1] + shape[-1] % 2)
        buffer = Buffer(self._fresh("O" if is_output else "A"), dtype, shape, "global")
        kinds = ["small", "small", "small", "sixteenths"]
        if features.wide_integers and not is_float(dtype):
            kinds.append("wide")
        if is_float(dtype):
            kinds.append("wide")
        if features.special_values and rng.random() < 0.15:
            kinds = ["special"]
        kind = "poison" if is_output else self._e.pick(kinds)
        tensor = Tensor(buffer, kind, rng.randrange(1 << 30))
        if features.dynamic and rng.random() < 0.3:
            tensor.symbols = tuple(f"m_{buffer.name}_{d}" if rng.random() < 0.6 else "" for d in range(len(shape)))
            if features.empty_tensors and not is_output and tensor.symbols[0] and rng.random() < 0.05:
                tensor.buffer = buffer = replace(buffer, shape=(0, *shape[1:]))
            if features.computed_extents and rng.random() < 0.3:
                tensor.forms = tuple(self._form(extent) for extent in buffer.shape)
        if features.misaligned and rng.random() < 0.15:
            size = bits(dtype) // 8
            tensor.align, tensor.shift = size, rng.choice((0, 1, 2, 3))
            tensor.align = max(size, 1)
        if features.strides and len(buffer.shape) > 1 and 0 not in buffer.shape and rng.random() < 0.06:
            tensor.gap = rng.choice((2, 4, 32, 64) if dtype in PACKED else (1, 2, 8, 16))
            tensor.tells_stride = rng.random() < 0.3
        self._tensors.append(tensor)
        return buffer

    def _form(self, extent: int) -> tuple[int, int]:
        """Returns how an extent may be computed of a symbol that is not negative."""
        factor, addend = self._rng.choice((1, 2, 3, 4)), self._rng.choice((0, 0, 1, -1, 5))
        return (factor, addend) if extent >= addend and (extent - addend) % factor == 0 else (1, 0)

    @property
    def tensors(self) -> list[Tensor]:
        return self._tensors

    @property
    def scalars(self) -> list[Scalar]:
        return self._scalars

    @property
    def expressions(self) -> Expressions:
        return self._e

    @property
    def bodies(self) -> Bodies:
        return self._bodies

    def fresh(self, letter: str) -> str:
        return self._fresh(letter)


class _KernelDrawing:
    """One kernel while it is drawn."""

    def __init__(self, outer: _Drawing, rng: random.Random, features: Features) -> None:
        self._outer = outer
        self._rng = rng
        self._features = features
        self._e = outer.expressions
        self._allocs: list[Stmt] = []
        self._buffers: list[Buffer] = []
        self._thread_arrays: list[Buffer] = []
        self._shared = 0
        self._room = SHARED_BYTES
        self._outputs: list[Target] = []
        self._loops = 0
        self._cluster: tuple[int, ...] = ()

    # The kernel -------------------------------------------------------------------------------------------------------

    def kernel(self) -> Kernel:
        rng, e = self._rng, self._e
        if self._features.large_products and self._features.gemms and e.chance(0.05):
            return self._large_kernel()
        rank = rng.choice((1, 1, 2, 2, 3))
        self._grid = tuple(rng.choice((1, 2, 2, 3) if rank < 3 else (1, 2, 2)) for _ in range(rank))
        self._names = tuple(self._outer.fresh("b") for _ in range(rank))
        self._cluster = self._draw_cluster()
        self._threads = self._draw_threads()
        self._block = self._draw_block()
        self._elements = TILE_ELEMENTS if e.chance(LARGE) else max(64, ELEMENTS_PER_THREAD * self._threads)
        self._tile = [self._tile_extent() for _ in range(rng.randint(1, 3))]
        scope = self._scope()
        body: list[Stmt] = []
        self._statements(body, scope, rng.randint(2, 6), 0)
        if self._cluster:
            self._give(body, scope, 0)
        self._results(body, scope)
        grid = tuple(self._grid_extent(g) for g in self._grid)
        can_order = rank > 1 and self._features.ordered_blocks and not self._cluster
        swizzle = rng.randint(1, 3) if can_order and e.chance(0.1) else 0
        return Kernel(grid, self._names, self._block, [*self._allocs, *body], swizzle, self._cluster)

    def _scope(self) -> Scope:
        """Returns what the statements of the kernel may use."""
        rng, e = self._rng, self._e
        scope = Scope()
        scope.indices = [
            Index(Name("index", n), 0, x - 1) for n, x in zip(self._names, self._grid, strict=True)
        ]  # fmt: skip
        scope.values = [Name(s.dtype, s.name) for s in self._outer.scalars]
        symbols = [Index(Name("index", s), x, x) for t in self._outer.tensors for s, x, _ in t.named_extents()]
        scope.indices += rng.sample(symbols, min(len(symbols), 1))
        written = {t.buffer.name for t in self._outer.tensors if t.kind == "poison"}
        earlier = [t.buffer for t in self._outer.tensors if t.buffer.name in written]
        scope.tensors = [t.buffer for t in self._outer.tensors if t.buffer.name not in written]
        if earlier and e.chance(0.7):
            scope.tensors += rng.sample(earlier, min(len(earlier), 2))
        return scope

    def _draw_cluster(self) -> tuple[int, ...]:
        """Returns the extents of a cluster of several blocks, or none."""
        if not self._features.clusters or not self._e.chance(0.1):
            return ()
        cluster = tuple(self._rng.choice((1, extent)) for extent in self._grid)
        return cluster if math.prod(cluster) > 1 else ()

    def _draw_threads(self) -> int:
        common = (32, 64, 128, 128, 128, 256, 512, 1024)
        odd = (24, 48, 96, 100, 160, 33, 1, 384)
        return self._e.pick(odd) if self._features.odd_threads and self._e.chance(0.2) else self._e.pick(common)

    def _draw_block(self) -> tuple[int, ...]:
        """Returns the extents of the block, whose product is the number of its threads."""
        count = self._threads
        if not self._features.thread_boxes or count % 8 != 0 or not self._e.chance(0.15):
            return (count,)
        return self._e.pick(((count // 8, 8), (8, count // 8), (count // 8, 2, 4), (2, count // 2)))

    def _tile_extent(self) -> int:
        return self._e.pick((1, 2, 4, 5, 7, 8, 12, 13, 16, 16, 24, 32, 32, 33, 48, 64, 64, 96, 128))

    def _grid_extent(self, extent: int) -> Expr:
        """Returns an extent of the grid, computed from a tensor's if one fits."""
        for tensor in self._outer.tensors:
            for symbol, known, _ in tensor.named_extents():
                if known > 0 and self._e.chance(0.3):
                    divisor = -(-known // extent)
                    if -(-known // divisor) == extent:
                        return Binary("ceildiv", Name("index", symbol), const(divisor))
        return const(extent)

    # Buffers ----------------------------------------------------------------------------------------------------------

    def _shape(self) -> tuple[int, ...]:
        """Returns the shape of a tile: some of the kernel's extents."""
        for _ in range(20):
            rank = self._rng.choice((1, 2, 2, 2, 3))
            shape = tuple(self._e.pick(self._tile) for _ in range(rank))
            if math.prod(shape) <= min(TILE_ELEMENTS, self._elements):
                return shape
        return (16,)

    def _fits(self, shape: tuple[int, ...], dtype: str, space: Space) -> bool:
        size = math.prod(shape) * bits(dtype) // 8
        if math.prod(shape) > 4 * self._elements:
            return False
        if space == "shared":
            return self._shared + size <= self._room
        if space == "local":
            return size <= 256
        return size <= REGISTER_BYTES * self._threads

    def _alloc(self, shape: tuple[int, ...], dtype: str, space: Space) -> Buffer | None:
        if not self._fits(shape, dtype, space):
            return None
        letter = {"shared": "S", "fragment": "F", "local": "L"}[space]
        buffer = Buffer(self._outer.fresh(letter), dtype, shape, space)
        self._allocs.append(Alloc(buffer))
        self._buffers.append(buffer)
        if space == "shared":
            self._shared += math.prod(shape) * bits(dtype) // 8
        return buffer

    def _tile_buffer(self, scope: Scope, spaces: tuple[Space, ...] = ("shared", "fragment")) -> Buffer | None:
        """Returns a tile, one that there is or a new one, which may not have been written."""
        known = [b for b in self._buffers if b.space in spaces]
        if known and self._e.chance(0.6):
            return self._e.pick(known)
        return self._alloc(self._shape(), self._e.dtype(), self._e.pick(spaces))

    def _is_defined(self, buffer: Buffer, scope: Scope) -> bool:
        return any(b.name == buffer.name for b in scope.tiles)

    def _define(self, buffer: Buffer, scope: Scope) -> None:
        if not self._is_defined(buffer, scope):
            scope.tiles.append(buffer)

    def _require(self, body: list[Stmt], buffer: Buffer, scope: Scope) -> None:
        """Writes a buffer if nothing has."""
        if not self._is_defined(buffer, scope):
            self._write(body, buffer, scope)

    def _write(self, body: list[Stmt], buffer: Buffer, scope: Scope) -> None:
        """Adds a statement that writes all of a buffer."""
        e = self._e
        if e.chance(0.5) and self._load_tile(body, buffer, scope):
            return
        if e.chance(0.3) or buffer.space == "local":
            body.append(Fill(buffer, self._fill_value(buffer.dtype)))
        else:
            target = Target(buffer, (const(0),) * len(buffer.shape), buffer.shape)
            body.append(self._outer.bodies.parallel([target], scope, False))
        self._define(buffer, scope)

    def _fill_value(self, dtype: str) -> Const | None:
        if self._e.chance(0.3):
            return None
        if dtype in NARROW and is_float(dtype):
            return Const(dtype, 1.0)
        return self._e.constant(dtype)

    def _bytes_of_two(self, dtypes: tuple[str, ...] = PACKED) -> tuple[str, ...]:
        """Returns those types of 4 bits that are drawn."""
        return dtypes if self._features.four_bits else ()

    # Statements -------------------------------------------------------------------------------------------------------

    def _statements(self, body: list[Stmt], scope: Scope, count: int, depth: int) -> None:
        for _ in range(count):
            self._statement(body, scope, depth)

    def _statement(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        features = self._features
        draws: list[tuple[int, Callable[[list[Stmt], Scope, int], None]]] = [
            (6, self._parallel),
            (2, self._fill),
            (4, self._copy_in),
            (2, self._copy_between),
            (2, self._store),
        ]
        if features.barriers:
            draws.append((1, self._sync))
        if features.in_place:
            draws.append((1, self._in_place))
        if features.reductions:
            draws.append((3, self._reduce))
        if self._features.scans:
            draws.append((1, self._scan))
        if features.gemms:
            draws.append((2 if depth else 3, self._gemm))
            if features.sparse_products and depth < 2:
                draws.append((1, self._sparse_gemm))
        if features.element_stores:
            draws.append((1, self._element))
        if features.atomics:
            draws.append((2, self._atomic))
        if features.thread_bindings and self._threads > 1:  # the number of the only one is a constant
            draws.append((2, self._thread_statement))
            if features.thread_sequences and features.local_arrays:
                draws.append((2, self._thread_sequence))
        if features.variables:
            draws.append((3, self._variable))
        if features.local_arrays:
            draws.append((1, self._local_array))
        if features.roundings and features.floats:
            draws.append((1, self._rounding))
        if depth < 2:
            draws += [(2, self._serial), (2, self._branch)]
            if features.pipelines:
                draws.append((4, self._pipeline))
            if features.late_products and features.gemms and features.pipelines and features.floats:
                draws.append((1, self._late_product))
            if features.while_loops and features.variables:
                draws.append((1, self._while))
        if self._cluster and depth == 0:
            draws.append((6, self._give))
        if features.persistent and depth == 0 and len(self._grid) == 1:
            draws.append((1, self._persistent))
        weights = [w for w, _ in draws]
        self._rng.choices([d for _, d in draws], weights)[0](body, scope, depth)

    def _parallel(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        e = self._e
        buffer = self._tile_buffer(scope)
        if buffer is None:
            return
        is_defined = self._is_defined(buffer, scope)
        shape = buffer.shape
        is_free = self._features.fragments_anywhere or buffer.space != "fragment"
        if is_defined and is_free and e.chance(0.1):
            shape = tuple(self._rng.randint(1, x) for x in shape)
        zero = (const(0),) * len(shape)
        targets = [Target(buffer, zero, shape)]
        if self._features.several_stores and e.chance(0.2):
            others = [b for b in self._buffers if b.shape == buffer.shape and b.name != buffer.name]
            others = [b for b in others if b.space != "local" and self._is_defined(b, scope) == is_defined]
            targets += [Target(b, zero, shape) for b in others[:1]]
        body.append(self._outer.bodies.parallel(targets, scope, is_defined))
        for target in targets:
            self._define(target.buffer, scope)

    def _fill(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        buffer = self._tile_buffer(scope)
        if buffer is not None:
            body.append(Fill(buffer, self._fill_value(buffer.dtype)))
            self._define(buffer, scope)

    # Copies -----------------------------------------------------------------------------------------------------------

    def _convertible(self, source: str, target: str) -> bool:
        """Whether a copy converts between two types."""
        if source == target:
            return True
        if not self._features.converting_copies or any(is_unsigned(d) or d == "bool" for d in (source, target)):
            return False
        if any(d in NARROW and is_float(d) for d in (source, target)):
            return self._features.small_floats and is_float(source) and is_float(target)
        return not (is_float(source) and is_float(target) and bits(source) == bits(target))

    def _origin(self, extent: int, tile: int, scope: Scope) -> Expr:
        """Returns where a tile of a tensor begins in one dimension; it may lie outside in part."""
        e = self._e
        known = [i for i in scope.indices if not i.name.is_static]
        if extent == tile and e.chance(0.5):
            return const(0)
        if known and e.chance(0.75):
            index = e.pick(known)
            origin: Expr = scaled(index.name, tile) if e.chance(0.8) else index.name
            if e.chance(0.2):
                origin = added(origin, e.pick((-1, -4, 3, 8)))
            return origin
        if e.chance(0.15) and self._features.computed_indices:
            return e.inside(max(extent, 1), scope)
        return const(self._rng.randrange(extent)) if extent > 0 and e.chance(0.3) else const(0)

    def _tile_of(self, tensor: Buffer, tile: tuple[int, ...], scope: Scope) -> Side | None:
        """Returns a tile of a tensor with the extents `tile`, or None if the tensor has too few dimensions."""
        if len(tile) > len(tensor.shape):
            tile = tuple(x for x in tile if x != 1)
        missing = len(tensor.shape) - len(tile)
        extents = (*(1,) * missing, *tile)
        if missing < 0 or not _is_of_bytes(tensor.dtype, extents):
            return None
        offsets = [self._origin(s, x, scope) for s, x in zip(tensor.shape, extents, strict=True)]
        if self._features.tables and self._e.chance(0.15):
            dimension = self._rng.randrange(len(extents))
            offsets[dimension] = self._looked_up_origin(extents[dimension], scope)
        if tensor.dtype in PACKED and not _is_even(offsets[-1]):
            offsets[-1] = scaled(offsets[-1], 2)
        return self._side(tensor, tuple(offsets), extents, tile)

    def _looked_up_origin(self, tile: int, scope: Scope) -> Expr:
        """Returns a place that a table of tiles says, which may lie outside, as may that in the table."""
        known = [i.name for i in scope.indices if not i.name.is_static]
        table = self._outer.tensor("int32", (self._rng.randint(1, 8),))
        element = Load(table, (self._e.pick(known) if known else const(0),))
        return scaled(Cast("index", element, implicit=True), tile)

    def _side(self, tensor: Buffer, offsets: tuple[Expr, ...], extents: tuple[int, ...], tile: tuple[int, ...]) -> Side:
        if self._e.chance(0.7):
            return Side(tensor, offsets, extents, "position")
        missing = len(extents) - len(tile)
        is_index = tuple(d < missing and self._e.chance(0.5) for d in range(len(extents)))
        sliced = [o for o, single in zip(offsets, is_index, strict=True) if not single]
        fits = all(map(is_affine, sliced)) and all(
            not isinstance(o, Const) or o.value + x <= s for o, x, s in zip(offsets, extents, tensor.shape, strict=True)
        )
        return Side(tensor, offsets, extents, "region" if fits else "position", is_index)

    def _load_tile(self, body: list[Stmt], buffer: Buffer, scope: Scope, tensor: Buffer | None = None) -> bool:
        """Adds a copy from a tensor that fills a buffer; returns whether there is a tensor for it."""
        e = self._e
        if not _is_of_bytes(buffer.dtype, buffer.shape):
            return False
        source = None
        if tensor is None and self._can_gather(buffer) and e.chance(0.15):
            body.append(self._rows_copied(buffer, scope))
            self._define(buffer, scope)
            return True
        if tensor is None and self._features.indexed_dimensions and e.chance(0.2):
            source = self._indexed_tile(buffer, scope)
        if tensor is None and source is None:
            known = [t for t in scope.tensors if self._convertible(t.dtype, buffer.dtype) and self._is_exact(t)]
            known = [t for t in known if len(t.shape) >= len([x for x in buffer.shape if x != 1])]
            tensor = e.pick(known) if known and e.chance(0.6) else self._input(buffer, scope)
        if source is None:
            assert tensor is not None, "there is one, or a side of one"
            source = self._tile_of(tensor, buffer.shape, scope)
        if source is None:
            return False
        body.append(Copy(source, self._whole(buffer)))
        self._spread_fuzziness(source.buffer, buffer)
        self._define(buffer, scope)
        return True

    def _indexed_tile(self, buffer: Buffer, scope: Scope) -> Side:
        """Adds a tensor, and returns a tile of it with an index in dimensions between those of the tile."""
        shape: list[int] = []
        offsets: list[Expr] = []
        for extent in buffer.shape:
            count = self._rng.choice((1, 1, 2, 3))
            shape.append(extent * count)
            origin = self._origin(extent * count, extent, scope)
            fits = is_affine(origin) and not (isinstance(origin, Const) and origin.value + extent > shape[-1])
            fits = fits and (buffer.dtype not in PACKED or _is_even(origin))
            offsets.append(origin if fits else const(0))
        extents, is_index = list(buffer.shape), [False] * len(shape)
        for _ in range(self._rng.choice((1, 1, 2))):
            last = len(shape) - (buffer.dtype in PACKED)  # before which two elements share a byte
            place, extent = self._rng.randint(0, last), self._rng.choice((1, 2, 3, 8))
            shape.insert(place, extent)
            offsets.insert(place, self._origin(extent, 1, scope))
            extents.insert(place, 1)
            is_index.insert(place, True)
        tensor = self._outer.tensor(buffer.dtype, tuple(shape))
        scope.tensors.append(tensor)
        return Side(tensor, tuple(offsets), tuple(extents), "region", tuple(is_index))

    def _is_exact(self, tensor: Buffer) -> bool:
        return tensor.name not in self._e.fuzzy or self._e.chance(0.5)

    def _spread_fuzziness(self, source: Buffer, target: Buffer) -> None:
        if source.name in self._e.fuzzy:
            self._e.fuzzy.add(target.name)

    def _input(self, buffer: Buffer, scope: Scope) -> Buffer:
        """Adds a tensor from which tiles of a buffer's shape can be copied."""
        rng = self._rng
        shape: list[int] = []
        for extent in buffer.shape:
            total = extent * rng.choice((1, 1, 2, 3))
            if rng.random() < 0.25:
                total = max(1, total + rng.randint(-extent // 2, 9))
            shape.append(total)
        if rng.random() < 0.25 and len(shape) < 3:
            shape.insert(0, rng.choice((1, 2, 3)))
        tensor = self._outer.tensor(buffer.dtype, tuple(shape))
        scope.tensors.append(tensor)
        return tensor

    @staticmethod
    def _whole(buffer: Buffer) -> Side:
        return Side(buffer, (const(0),) * len(buffer.shape), buffer.shape, "whole")

    def _copy_in(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        buffer = self._tile_buffer(scope)
        if buffer is not None:
            self._load_tile(body, buffer, scope)

    def _copy_between(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        """Copies between tiles."""
        e = self._e
        source = self._tile_buffer(scope)
        if source is None:
            return
        self._require(body, source, scope)
        same = [
            b for b in self._buffers if b.name != source.name and b.space in ("shared", "fragment")
            and self._convertible(source.dtype, b.dtype)
        ]  # fmt: skip
        if self._features.partial_copies and source.space == "shared" and same and e.chance(0.5):
            target = source if e.chance(0.2) else e.pick(same)
            if target.space == "shared" and self._is_defined(target, scope) and len(target.shape) == len(source.shape):
                self._partial_copy(body, source, target, scope)
                return
        fitting = [b for b in same if b.shape == source.shape]
        target = e.pick(fitting) if fitting and e.chance(0.6) else None
        if target is None:
            dtype = e.pick([d for d in ("float16", "float32", "int32", "int8") if self._convertible(source.dtype, d)]
                           or [source.dtype])  # fmt: skip
            target = self._alloc(source.shape, dtype, e.pick(("shared", "fragment")))
        if target is not None:
            body.append(Copy(self._whole(source), self._whole(target)))
            self._spread_fuzziness(source, target)
            self._define(target, scope)

    def _partial_copy(self, body: list[Stmt], source: Buffer, target: Buffer, scope: Scope) -> None:
        extents = tuple(self._rng.randint(1, min(a, b)) for a, b in zip(source.shape, target.shape, strict=True))
        sides: list[Side] = []
        for buffer in (source, target):
            room = [s - x + 1 for s, x in zip(buffer.shape, extents, strict=True)]
            offsets = tuple(self._slice_offset(r, scope) for r in room)
            sides.append(Side(buffer, offsets, extents, "region"))
        body.append(Copy(*sides))
        self._spread_fuzziness(source, target)

    def _slice_offset(self, room: int, scope: Scope) -> Expr:
        offset = self._e.inside(room, scope)
        return offset if is_affine(offset) and self._e.chance(0.5) else const(self._rng.randrange(room))

    # Results ----------------------------------------------------------------------------------------------------------

    def _output(self, extents: tuple[int, ...], dtype: str, scope: Scope, moves: bool = False) -> Target:
        """Adds a tensor of which each block, and each iteration of the loops around, has a part of its own.

        - `moves`: the dimension that is theirs alone may stand anywhere.
        """
        rng = self._rng
        coordinates = [i for i in scope.indices if not i.name.is_static and i.name.name[0] in "bk"]
        base: list[Expr] = [const(0)] * len(extents)
        shape = list(extents)
        leading: list[tuple[Expr, int]] = []
        for coordinate in coordinates:
            count = coordinate.high + 1
            free = [d for d in range(len(extents)) if base[d] == const(0)]
            if free and rng.random() < 0.6:
                dimension = rng.choice(free)
                base[dimension] = scaled(coordinate.name, extents[dimension])
                shape[dimension] = extents[dimension] * count
            else:
                leading.append((coordinate.name, count))
        first: Expr = const(0)
        total = 1
        for name, count in leading:
            first = name if total == 1 else Binary("+", scaled(first, count), name)
            total *= count
        if rng.random() < 0.25:
            dimension = rng.randrange(len(shape))
            shape[dimension] = max(1, shape[dimension] + rng.randint(-extents[dimension] // 2, 5))
        if leading:
            sliced = all(
                is_affine(o) and not (isinstance(o, Const) and x > s)
                for o, x, s in zip(base, extents, shape, strict=True)
            )
            place = rng.randint(0, len(shape) - (dtype in PACKED)) if moves and sliced and rng.random() < 0.3 else 0
            base.insert(place, first)
            shape.insert(place, total)
            extents = (*extents[:place], 1, *extents[place:])
        buffer = self._outer.tensor(dtype, tuple(shape), is_output=True)
        return Target(buffer, tuple(base), extents)

    def _side_of(self, target: Target, tile: tuple[int, ...]) -> Side:
        """Returns the part of a tensor that was made for a tile."""
        missing = len(target.extents) - len(tile)
        if target.extents == (*(1,) * missing, *tile):
            return self._side(target.buffer, target.base, target.extents, tile)
        place = next(d for d, (x, y) in enumerate(zip(target.extents, (*tile, 0), strict=True)) if x != y)
        is_index = tuple(d == place for d in range(len(target.extents)))
        return Side(target.buffer, target.base, target.extents, "region", is_index)

    def _store(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        buffer = self._tile_buffer(scope)
        if buffer is None:
            return
        self._require(body, buffer, scope)
        self._write_out(body, buffer, scope)

    def _in_place(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        """Changes the block's part of a tensor, which has been given values."""
        e = self._e
        shape, dtype = self._shape(), e.dtype()
        dtype = dtype if _is_of_bytes(dtype, shape) else "int8"
        tile = self._alloc(shape, dtype, e.pick(("shared", "fragment")))
        if tile is None:
            return
        target = self._output(shape, dtype, scope)
        self._outer.tensors[-1].kind = "small"
        body.append(Copy(self._side(target.buffer, target.base, target.extents, shape), self._whole(tile)))
        self._define(tile, scope)
        zero = (const(0),) * len(shape)
        body.append(self._outer.bodies.parallel([Target(tile, zero, shape)], scope, True))
        body.append(Copy(self._whole(tile), self._side(target.buffer, target.base, target.extents, shape)))
        e.fuzzy.add(target.buffer.name)

    def _write_out(self, body: list[Stmt], buffer: Buffer, scope: Scope) -> None:
        """Adds a statement that copies a tile to a tensor, and perhaps one that reads the tensor back."""
        e = self._e
        others = ("float32", "int32", "float16", "int64", *self._bytes_of_two(("int4",)))
        dtypes = [d for d in others if self._convertible(buffer.dtype, d)]
        dtype = e.pick(dtypes) if dtypes and e.chance(0.3) else buffer.dtype
        target = self._output(buffer.shape, dtype, scope, self._features.indexed_dimensions)
        if e.chance(0.65) and _is_of_bytes(dtype, target.extents):
            side = self._side_of(target, buffer.shape)
            body.append(Copy(self._whole(buffer), side))
        else:
            inner = scope.inner(tiles=[buffer], tensors=[])
            body.append(self._outer.bodies.parallel([target], inner, False))
        self._e.fuzzy.add(target.buffer.name)
        if self._features.global_feedback and e.chance(0.15):
            self._read_back(body, target, buffer, scope)

    def _read_back(self, body: list[Stmt], target: Target, buffer: Buffer, scope: Scope) -> None:
        """Copies the block's part of a tensor to a tile, after it was written."""
        tile = self._alloc(buffer.shape, target.buffer.dtype, self._e.pick(("shared", "fragment")))
        if tile is None:
            return
        if self._e.chance(0.5) and _is_of_bytes(tile.dtype, target.extents):
            body.append(Copy(self._side_of(target, buffer.shape), self._whole(tile)))
        else:
            body.append(self._gather(target, tile, scope))
        self._e.fuzzy.add(tile.name)
        self._define(tile, scope)

    def _gather(self, target: Target, tile: Buffer, scope: Scope) -> Parallel:
        """Returns a loop that reads the block's part of a tensor at any index."""
        names = tuple(self._outer.fresh("i") for _ in tile.shape)
        inner = scope.inner(in_parallel=True)
        inner.indices = [Index(Name("index", n), 0, x - 1) for n, x in zip(names, tile.shape, strict=True)]
        places = [self._e.inside(x, inner) for x in target.extents]
        indices = [p if b == const(0) else Binary("+", b, p) for b, p in zip(target.base, places, strict=True)]
        place = tuple(Name("index", n) for n in names)
        return Parallel(names, tile.shape, [Assign(tile, place, Load(target.buffer, tuple(indices)))])

    def _results(self, body: list[Stmt], scope: Scope) -> None:
        """Writes tiles out at the end, most of them, so that what they hold is seen."""
        tiles = [b for b in self._buffers if self._is_defined(b, scope) and b.space in ("shared", "fragment")]
        for buffer in tiles:
            if self._e.chance(0.7) or len(tiles) < 3:
                self._write_out(body, buffer, scope)

    # Reductions and products ------------------------------------------------------------------------------------------

    def _reduce(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        e = self._e
        known = [b for b in self._buffers if b.space == "fragment" and not b.dtype.startswith("float8")]
        dtype = "bool" if self._features.bools and e.chance(0.2) else e.dtype()
        source = e.pick(known) if known and e.chance(0.7) else self._alloc(self._shape(), dtype, "fragment")
        if source is None or source.dtype.startswith("float8"):
            return
        if len(source.shape) == 1 and not self._features.one_dimensional_reductions:
            return
        self._require(body, source, scope)
        dim = self._rng.randrange(len(source.shape))
        dtype = self._result_type(source.dtype)
        kinds = ["sum", "max", "min", "abssum", "absmax"] if dtype not in ("bool", FLOAT4) else ["max", "min"]
        if self._features.bit_reductions and not is_float(source.dtype) and e.chance(0.3):
            kinds = ["bitand", "bitor", "bitxor"]
        if source.name not in e.fuzzy and e.chance(0.2):
            self._place_of(body, source, dim, scope)
            return
        shape = tuple(x for d, x in enumerate(source.shape) if d != dim) or (1,)
        same = [
            b for b in self._buffers
            if b.space == "fragment" and b.shape == shape and b.dtype == dtype and b.name != source.name
        ]  # fmt: skip
        target = e.pick(same) if same else self._alloc(shape, dtype, "fragment")
        if target is None:
            return
        clear = not (self._is_defined(target, scope) and e.chance(0.5))
        if e.chance(0.2):
            dim -= len(source.shape)
        kind = e.pick(kinds)
        skips_nan = kind in ("max", "min", "absmax") and e.chance(0.3)
        body.append(Reduce(source, target, kind, dim, clear, skips_nan))  # type: ignore[arg-type]
        if is_float(source.dtype):
            e.fuzzy.add(target.name)
        self._define(target, scope)

    def _result_type(self, dtype: str) -> str:
        """Returns a type in which elements of a type may be combined: their own, or a wider one of their kind."""
        wider = [
            d for d in (*FLOATS, *INTEGERS)
            if (is_float(d) == is_float(dtype) and bits(d) > bits(dtype) and (is_unsigned(dtype) or not is_unsigned(d)))
            or (dtype == "bool" and d in INTEGERS)
        ]  # fmt: skip
        wider = [d for d in wider if self._e.is_on(d)]
        can_widen = wider and dtype in ("bool", *FLOATS, *INTEGERS)
        return self._e.pick(wider) if can_widen and self._e.chance(0.6 if dtype == "bool" else 0.2) else dtype

    def _place_of(self, body: list[Stmt], source: Buffer, dim: int, scope: Scope) -> None:
        """Adds a reduction that says where the greatest or least element of a tile is."""
        shape = tuple(x for d, x in enumerate(source.shape) if d != dim) or (1,)
        target = self._alloc(shape, self._e.pick(("int32", "int64")), "fragment")
        if target is not None:
            body.append(Reduce(source, target, self._e.pick(("argmax", "argmin")), dim))  # type: ignore[arg-type]
            self._define(target, scope)

    def _scan(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        e = self._e
        known = [b for b in self._buffers if b.space in ("shared", "fragment") and not b.dtype.startswith("float8")]
        if e.chance(0.3):  # rows of more elements than one warp has
            shape = e.pick(((200,), (512,), (2, 300), (300, 3), (2, 130, 2)))
            source = self._alloc(shape, e.dtype(), e.pick(("shared", "fragment")))
        else:
            source = e.pick(known) if known else None
        if source is None or source.dtype in ("bool", *PACKED) or source.dtype.startswith("float8"):
            return
        self._require(body, source, scope)
        kind = "cummax" if is_float(source.dtype) else e.pick(("cumsum", "cummax"))
        target = source if e.chance(0.5) else self._alloc(source.shape, source.dtype, e.pick(("shared", "fragment")))
        if target is None:
            return
        dim = self._rng.randrange(-len(source.shape), len(source.shape))
        body.append(Scan(source, target, kind, dim, e.chance(0.3)))
        if is_float(source.dtype):
            e.fuzzy.add(target.name)
        self._define(target, scope)

    def _gemm(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        gemm = self._draw_gemm(body, scope)
        if gemm is not None:
            for operand in (gemm.a, gemm.b):
                self._require(body, operand, scope)
            if gemm.clear is False:
                self._require(body, gemm.c, scope)
            body.append(gemm)
            self._define(gemm.c, scope)
            if self._e.chance(0.25):
                self._chain(body, gemm, scope)

    def _sparse_gemm(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        """Adds a product of a tile of which half of the elements were left out."""
        e, rng = self._e, self._rng
        dtype, result = rng.choice((("float16", "float32"), ("bfloat16", "float32"), ("int8", "int32"),
                                    ("float32", "float32"), ("float16", "float16")))  # fmt: skip
        if not self._features.floats:
            dtype, result = "int8", "int32"
        word = rng.choice(("int16", "int32", "uint8") if self._features.unsigned else ("int16", "int32"))
        m, n, k = rng.choice((16, 32, 64)), rng.choice((8, 16, 32, 64)), rng.choice((32, 64))
        words = k * 4 // ((2 if bits(dtype) == 32 else 4) * bits(word))
        a, w, b = e.chance(0.25), e.chance(0.25), e.chance(0.35)
        if not self._fits((m, k), dtype, "shared"):
            return
        kept = self._operand((k // 2, m) if a else (m, k // 2), dtype, ())
        self._shared += m * k * bits(dtype) // 8  # that of the tile with zeros
        where = self._alloc((words, m) if w else (m, words), word, "shared")
        right = self._operand((n, k) if b else (k, n), dtype, ())
        c = self._operand((m, n), result, (), "fragment")
        if kept is None or where is None or right is None or c is None:
            return
        for operand in (kept, right):
            self._require(body, operand, scope)
        tensor = self._outer.tensor(word, where.shape)
        self._outer.tensors[-1].kind = "wide"  # any bits mean something
        body.append(Copy(self._whole(tensor), self._whole(where)))
        self._define(where, scope)
        clear = e.chance(0.4)
        if not clear:
            self._require(body, c, scope)
        if is_float(dtype):
            e.fuzzy.add(c.name)
        body.append(SparseGemm(kept, where, right, c, a, w, b, clear))
        self._define(c, scope)

    def _chain(self, body: list[Stmt], first: Gemm, scope: Scope) -> None:
        """Multiplies the result of a product with another tile, as attention does."""
        dtype = first.a.dtype if bits(first.a.dtype) != 8 and first.c.dtype != first.a.dtype else ""
        if not dtype:
            return
        m, k = first.c.shape
        n = self._e.pick((16, 32, 64))
        a = self._alloc((m, k), dtype, self._left_space(0.6))
        b = self._operand((k, n), dtype, ())
        c = self._operand((m, n), first.c.dtype, (), "fragment")
        if a is None or b is None or c is None or c is first.c:
            return
        body.append(Copy(self._whole(first.c), self._whole(a)))
        self._e.fuzzy |= {a.name, c.name}
        self._define(a, scope)
        self._require(body, b, scope)
        self._require(body, c, scope)
        body.append(Gemm(a, b, c))

    def _left_space(self, chance: float) -> Space:
        return "fragment" if self._features.register_operands and self._e.chance(chance) else "shared"

    def _draw_gemm(self, body: list[Stmt], scope: Scope) -> Gemm | None:
        """Returns a product of tiles, some of which may not have been written."""
        e, rng = self._e, self._rng
        weights = [4, 3, 3, 1, 2, *[int(self._features.small_floats)] * 2, int(self._features.float64)]
        weights += [int(self._features.four_bits)] * 3
        if not self._features.floats:
            weights = [int(not is_float(dtype)) for dtype, _ in _GEMM_TYPES]
        dtype, result = rng.choices(_GEMM_TYPES, weights)[0]
        other = e.pick(SMALL_FLOATS) if dtype in SMALL_FLOATS else dtype
        if dtype == "int8" and self._features.unsigned and e.chance(0.7):
            dtype, other = e.pick((("uint8", "int8"), ("int8", "uint8"), ("uint8", "uint8")))
        m, n, k = rng.choice((16, 32, 64, 64, 128)), rng.choice((8, 16, 32, 64, 128)), rng.choice((16, 16, 32, 64))
        if self._features.odd_gemms and e.chance(0.15):
            m, n, k = rng.choice((8, 17, 24, 48, 80)), rng.choice((4, 20, 24, 48, 50)), rng.choice((4, 8, 24, 33))
        transpose_a, transpose_b = e.chance(0.25), e.chance(0.35)
        a_at, a_shape = self._slice(shape_a := (k, m) if transpose_a else (m, k))
        b_at, b_shape = self._slice(shape_b := (n, k) if transpose_b else (k, n))
        if "uint8" in (dtype, other):
            if not self._fits(((m + n) * k,), "float16", "shared"):
                return None
            self._shared += (m + n) * k * 2  # they are multiplied as such
        a = self._operand(a_shape, dtype, (), self._left_space(0.25))
        b = self._operand(b_shape, other, (a,))
        c = self._operand((m, n), result, (), "fragment")
        if a is None or b is None or c is None:
            return None
        for at, shape, held in ((a_at, shape_a, dtype), (b_at, shape_b, other)):
            if at is not None:
                self._shared += math.prod(shape) * bits(held) // 8  # that of a copy
        if is_float(dtype):
            e.fuzzy.add(c.name)
        policy = e.pick(("Square", "Square", "FullRow", "FullCol"))
        clear = e.chance(0.3)
        depth = 0 if a_at is None and b_at is None else k
        return Gemm(a, b, c, transpose_a, transpose_b, policy, clear, a_at, b_at, depth)

    def _slice(self, shape: tuple[int, int]) -> tuple[tuple[int, int] | None, tuple[int, int]]:
        """Returns where a factor begins in a larger tile, or None, and the tile's shape.

        Most begin where instructions can, some at any row and column, and end before the tile does.
        """
        e = self._e
        if not self._features.slices_of_factors or e.chance(0.85):
            return None, shape
        units = (8, 16, 32, 64) if e.chance(0.8) else (1, 2, 4, 8)
        row, column = (e.pick((0, e.pick(units))) for _ in range(2))
        behind = [e.pick((0, e.pick(units))) for _ in range(2)]
        tile = (row + shape[0] + behind[0], column + shape[1] + behind[1])
        return (None if tile == shape else (row, column)), tile

    def _operand(
        self, shape: tuple[int, ...], dtype: str, others: tuple[Buffer | None, ...], space: Space = "shared"
    ) -> Buffer | None:
        known = [b for b in self._buffers if b.shape == shape and b.dtype == dtype and b.space == space]
        known = [b for b in known if b not in others or self._e.chance(0.3)]
        if known and self._e.chance(0.6):
            return self._e.pick(known)
        return self._alloc(shape, dtype, space)

    # Large products ---------------------------------------------------------------------------------------------------

    def _large_kernel(self) -> Kernel:
        """Returns a kernel of few blocks that share tiles, each a product of two warp groups in a pipelined loop."""
        rng, e = self._rng, self._e
        self._grid = (rng.choice((1, 2, 2, 3)),)
        self._names = (self._outer.fresh("b"),)
        self._threads = rng.choice((256, 256, 256, 384))
        self._block = (self._threads,)
        self._elements, self._room = ELEMENTS_PER_THREAD * self._threads, LARGE_SHARED_BYTES
        self._tile = [e.pick((1, 4, 8, 16, 32)) for _ in range(2)]
        scope, body = self._scope(), list[Stmt]()
        tiles, inner = self._tiles(scope)
        gemm = self._large_gemm()
        if e.chance(0.2):
            self._statements_without_outputs(tiles.body, inner, 1)
        # Rings of more than half of the memory, beside which there is room for the result.
        stages = 2 if e.chance(0.15) else 4 if gemm.c.shape == (128, 128) else 3
        tiles.body.append(Fill(gemm.c, self._fill_value(gemm.c.dtype)))
        loops = 1
        while self._features.loops_in_turn and e.chance(0.3):
            loops += 1
        for _ in range(loops):
            loop = self._large_loop(replace(gemm), inner, stages)
            guarded = e.chance(0.2)
            tiles.body.append(If(e.condition(inner, 1), [loop]) if guarded else loop)
        if e.chance(0.2):
            zero = (const(0),) * 2
            tiles.body.append(self._outer.bodies.parallel([Target(gemm.c, zero, gemm.c.shape)], inner, True))
        self._write_out(tiles.body, gemm.c, inner)
        body.append(tiles)
        if e.chance(0.3):
            self._statements(body, scope, 1, 1)
        return Kernel((const(self._grid[0]),), self._names, (self._threads,), [*self._allocs, *body])

    def _tiles(self, scope: Scope) -> tuple[Persistent | Loop, Scope]:
        """Returns a loop over the block's tiles, and what is known in it."""
        rng, e = self._rng, self._e
        if e.chance(0.4):
            name, trips = self._outer.fresh("k"), rng.randint(1, 3)
            kind = e.pick(("serial", "range"))
            return Loop(kind, name, const(0), self._bound(trips, scope), []), self._nested(
                scope, Name("index", name), trips - 1
            )
        return self._persistent_tiles(scope)

    def _persistent_tiles(self, scope: Scope) -> tuple[Persistent, Scope]:
        """Returns a loop over those tiles of a domain that are the block's, and what is known in it."""
        rng = self._rng
        domain = tuple(rng.randint(1, 3) for _ in range(rng.choice((1, 2, 2, 3))))
        names = tuple(self._outer.fresh("k") for _ in domain)
        block = Name("index", self._names[0])
        tiles = Persistent(names, domain, self._grid[0], block, rng.choice((1, 2, 8)), [])
        inner = self._nested(scope)
        # A tile is one block's, so that results need no place for each block.
        inner.indices = [i for i in inner.indices if i.name != block]
        inner.indices += [Index(Name("index", n), 0, x - 1) for n, x in zip(names, domain, strict=True)]
        return tiles, inner

    def _large_gemm(self) -> Gemm:
        e, rng = self._e, self._rng
        small = ("float8_e4m3", "float8_e5m2") if self._features.small_floats else ("int8",)
        dtype = e.pick(("float16", "float16", "bfloat16", "bfloat16", "float32", "int8", *small))
        other = e.pick(SMALL_FLOATS) if dtype in SMALL_FLOATS else dtype
        m, n = rng.choice(((128, 128), (128, 192), (256, 64)))
        if self._threads == 384:
            m, n = 192, 128
        k = 1024 // bits(dtype)
        # Warp groups read other types than those of 16 bits along the rows only.
        transpose_b = e.chance(0.5 if bits(dtype) == 16 else 0.85)
        a = Buffer(self._outer.fresh("S"), dtype, (m, k), "shared")
        b = Buffer(self._outer.fresh("S"), other, (n, k) if transpose_b else (k, n), "shared")
        c = Buffer(self._outer.fresh("F"), "int32" if dtype == "int8" else "float32", (m, n), "fragment")
        for buffer in (a, b, c):
            self._allocs.append(Alloc(buffer))
        self._shared += sum(math.prod(x.shape) * bits(x.dtype) // 8 for x in (a, b))
        if is_float(dtype):
            e.fuzzy.add(c.name)
        return Gemm(a, b, c, False, transpose_b, e.pick(("Square", "Square", "FullRow")))

    def _can_gather(self, buffer: Buffer) -> bool:
        is_tile = buffer.space == "shared" and len(buffer.shape) == 2
        return self._features.gathers and is_tile and buffer.dtype not in ("bool", *PACKED)

    def _rows_copied(self, buffer: Buffer, scope: Scope) -> Parallel:
        """Returns a loop that fills a shared tile with rows of a new tensor, some of which may be outside of it."""
        e, rng = self._e, self._rng
        rows, columns = buffer.shape
        i, j = (Name("index", self._outer.fresh("i")) for _ in buffer.shape)
        known = [x.name for x in scope.indices if not x.name.is_static and x.name.name[0] in "bk"]
        step = e.pick(known) if known and e.chance(0.7) else const(0)
        source = self._outer.tensor(buffer.dtype, (rng.randint(1, 2 * rows), columns * rng.randint(1, 3)))
        row = e.pick((i, Binary("//", i, const(2)), Binary("+", scaled(step, rng.randint(1, rows)), i)))
        if e.chance(0.5):
            table = self._outer.tensor(e.pick(("int32", "int16", "int64")), (2 * rows,))
            row = Load(table, (row,)) if table.dtype == "int64" else Cast("index", Load(table, (row,)), implicit=True)
        column = e.pick((j, Binary("+", scaled(step, columns), j), added(j, rng.choice((-8, 8, 1)))))
        element: Expr = Load(source, (row, column))
        zero = Const(buffer.dtype, 0.0 if is_float(buffer.dtype) else 0)
        condition = Compare(e.pick(("<", ">=")), i, const(rng.randint(0, rows)))
        form = e.pick(("always", "always", "choice", "branch"))
        if form == "choice":
            element = Select(condition, element, zero)
        body: list[Stmt] = [Assign(buffer, (i, j), element)]
        if form == "branch":
            body = [If(condition, body, [Assign(buffer, (i, j), zero)])]
        return Parallel((i.name, j.name), (rows, columns), body)

    def _large_loop(self, gemm: Gemm, scope: Scope, stages: int) -> Loop:
        """Returns a pipelined loop of a product, whose sums have been filled."""
        e, rng = self._e, self._rng
        name, trips = self._outer.fresh("k"), rng.randint(1, 6)
        inner = self._nested(scope, Name("index", name), trips - 1)
        loop = Loop("pipelined", name, const(0), self._bound(trips, scope), [], stages=stages)
        if e.chance(0.3):
            gemm.clear = Compare("==", Name("index", name), const(0))
        for buffer, dim in ((gemm.a, 1), (gemm.b, int(gemm.transpose_b))):
            if self._can_gather(buffer) and e.chance(0.1):
                loop.body.append(self._rows_copied(buffer, inner))
            else:
                loop.body.append(Copy(self._aligned_tile(buffer, inner, dim), self._whole(buffer)))
            self._define(buffer, inner)
        if e.chance(0.2):
            self._statements(loop.body, inner, 1, 2)
        loop.body.append(If(e.condition(inner, 1), [gemm]) if e.chance(0.15) else gemm)
        for buffer in (scope, inner):
            self._define(gemm.c, buffer)
        self._guard(loop, inner)
        return loop

    def _guard(self, loop: Loop, scope: Scope) -> None:
        """Puts all that a loop does behind a guard, perhaps: roles run ahead through that."""
        if self._e.chance(0.2):
            loop.body = [If(self._e.condition(scope, 1), loop.body)]

    def _aligned_tile(self, buffer: Buffer, scope: Scope, dim: int) -> Side:
        """Adds a tensor, and returns a tile of it that the bulk copy engine can move, if perhaps over an edge.

        `dim`: where the innermost loop goes on.
        """
        if self._features.indexed_dimensions and self._e.chance(0.25):
            side = self._indexed_tile(buffer, scope)
        else:
            known = [i for i in scope.indices if not i.name.is_static and i.name.name[0] in "bk"]
            offsets = [scaled(self._e.pick(known).name, x) for x in buffer.shape]
            offsets[dim] = scaled(known[-1].name, buffer.shape[dim])
            shape = [x * self._rng.choice((1, 2, 3)) for x in buffer.shape]
            if self._e.chance(0.3):
                shape[0] += 8 * self._rng.randint(0, 3)
            tensor = self._outer.tensor(buffer.dtype, tuple(shape))
            scope.tensors.append(tensor)
            side = Side(tensor, tuple(offsets), buffer.shape, "position")
        if self._e.chance(0.9):
            tensor = self._outer.tensors[-1]
            tensor.align, tensor.shift = 16, 0
            tensor.gap = 16 if tensor.gap else 0
            tensor.symbols = (*tensor.symbols[:1], *("" for _ in tensor.symbols[1:]))  # strides are known
        return side

    def _late_product(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        """Adds a pipelined loop of two products, as attention has: `s = a b; p = f(s); o += p v`."""
        e, rng = self._e, self._rng
        groups = self._threads // 128
        if self._threads % 128 != 0 or groups > 2:
            return
        dtype = e.pick(
            ("float16", "float16", "bfloat16", "float8_e4m3") if self._features.small_floats else ("float16",)
        )
        m, n, depth_a, depth_v = 64 * groups, e.pick((32, 64)), e.pick((32, 64)), e.pick((16, 32, 64))
        if groups == 2 and e.chance(0.3):
            n, depth_v = 128, 64  # so much that a thread of its own is to copy
        is_small = dtype in SMALL_FLOATS  # warp groups read those along the rows only
        transpose, transpose_v = is_small or e.chance(0.7), is_small
        space = self._left_space(0.3)
        a = self._alloc((m, depth_a), dtype, space)
        b = self._alloc((n, depth_a) if transpose else (depth_a, n), dtype, "shared")
        p = self._alloc((m, n), dtype, self._left_space(0.8))
        v = self._alloc((depth_v, n) if transpose_v else (n, depth_v), dtype, "shared")
        s = self._alloc((m, n), "float32", "fragment")
        o = self._alloc((m, depth_v), "float32", "fragment")
        if a is None or b is None or p is None or v is None or s is None or o is None:
            return
        e.fuzzy |= {s.name, p.name, o.name}
        self._require(body, a, scope)
        body.append(Fill(o, self._fill_value("float32")))
        self._define(o, scope)
        name, trips = self._outer.fresh("k"), rng.randint(1, 5)
        inner = self._nested(scope, Name("index", name), trips - 1)
        loop = Loop("pipelined", name, const(0), self._bound(trips, scope), [], stages=rng.choice((2, 2, 3)))
        loop.body.append(Copy(self._aligned_tile(b, inner, 0 if transpose else 1), self._whole(b)))
        copy_v = Copy(self._aligned_tile(v, inner, int(transpose_v)), self._whole(v))
        if e.chance(0.5):
            loop.body.append(copy_v)
        loop.body.append(Gemm(a, b, s, False, transpose, "FullRow" if groups == 2 else "Square", True))
        self._define(s, inner)
        if e.chance(0.5):
            loop.body.append(Copy(self._whole(s), self._whole(p)))
        else:
            own = inner.inner(tiles=[s], tensors=[])
            loop.body.append(self._outer.bodies.parallel([Target(p, (const(0),) * 2, p.shape)], own, False))
        if e.chance(0.25):
            own = inner.inner(tiles=[o], tensors=[])
            loop.body.append(self._outer.bodies.parallel([Target(o, (const(0),) * 2, o.shape)], own, True))
        if copy_v not in loop.body:
            loop.body.append(copy_v)
        loop.body.append(Gemm(p, v, o, False, transpose_v, "FullRow" if groups == 2 else "Square"))
        self._guard(loop, inner)
        body.append(loop)

    # Roundings --------------------------------------------------------------------------------------------------------

    def _rounding(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        """Adds a loop over arithmetic that says how it rounds, of numbers of all bits of their type."""
        e = self._e
        dtype = e.pick(FLOATS if self._features.float64 else FLOATS[:-1])
        tensor = self._outer.tensor(dtype, self._shape()[:2])
        self._outer.tensors[-1].kind = e.pick(("full", "extreme"))
        if 0 in tensor.shape:
            return
        target = self._output(self._shape()[:2], dtype, scope)
        names = tuple(self._outer.fresh("i") for _ in target.extents)
        inner = scope.inner(in_parallel=True)
        inner.indices = [Index(Name("index", n), 0, x - 1) for n, x in zip(names, target.extents, strict=True)]

        def operand() -> Expr:
            return Load(tensor, tuple(e.inside(x, inner, 0) for x in tensor.shape))

        own = [Name("index", n) for n in names]
        place = tuple(i if b == const(0) else Binary("+", b, i) for b, i in zip(target.base, own, strict=True))
        body.append(Parallel(names, target.extents, [Assign(target.buffer, place, e.rounding(operand, 2))]))

    # Loops and branches -----------------------------------------------------------------------------------------------

    def _nested(self, scope: Scope, name: Name | None = None, high: int = 0, low: int = 0) -> Scope:
        inner = scope.inner(in_loop=True)
        if name is not None:
            inner.indices.append(Index(name, low, high))
        return inner

    def _serial(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        e = self._e
        kind = e.pick(("serial", "range", "unroll") if self._features.unrolled else ("serial", "range"))
        name = self._outer.fresh("k")
        trips = self._rng.randint(1, 3)
        stop = const(trips) if kind == "unroll" else self._bound(trips, scope)
        inner = self._nested(scope, Name("index", name, kind == "unroll"), trips - 1)
        loop = Loop(kind, name, const(0), stop, [])
        self._before_loop(body, scope)
        if kind == "unroll":
            # Each trip is written out: outputs would be written by all of them.
            self._statements_without_outputs(loop.body, inner, depth)
        else:
            self._statements(loop.body, inner, self._rng.randint(1, 3), depth + 1)
        if self._features.jumps and e.chance(0.2):
            self._jump(loop.body, inner)
        body.append(loop)

    def _jump(self, body: list[Stmt], scope: Scope) -> None:
        """Leaves a loop, or an iteration, somewhere in its body; what is written behind is written on both ways."""
        word = self._e.pick(("break", "continue"))
        body.insert(0, If(self._e.condition(scope, 1), [Jump(word)]))

    def _statements_without_outputs(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        for draw in self._rng.choices((self._parallel, self._fill, self._copy_in, self._reduce), k=2):
            if draw != self._reduce or self._features.reductions:
                draw(body, scope, depth + 1)

    def _persistent(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        self._before_loop(body, scope)
        tiles, inner = self._persistent_tiles(scope)
        self._statements(tiles.body, inner, self._rng.randint(1, 3), depth + 1)
        body.append(tiles)

    def _bound(self, trips: int, scope: Scope) -> Expr:
        """Returns the end of a loop that runs `trips` times at most: a number, or something known at run time."""
        e = self._e
        if e.chance(0.55):
            return const(trips)
        if e.chance(0.5):
            return e.inside(trips + 1, scope, 1)
        known = [i for i in scope.indices if not i.name.is_static and i.low == 0 and i.high <= trips]
        return e.pick(known).name if known else const(trips)

    def _before_loop(self, body: list[Stmt], scope: Scope) -> None:
        """Writes some buffers before a loop, so that they can be used in it and after it."""
        for buffer in self._buffers:
            if buffer.space != "local" and not self._is_defined(buffer, scope) and self._e.chance(0.5):
                self._write(body, buffer, scope)

    def _branch(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        e = self._e
        condition = e.condition(scope, 1)
        then: list[Stmt] = []
        other: list[Stmt] = []
        self._statements(then, scope.inner(), self._rng.randint(1, 2), depth + 1)
        if e.chance(0.5):
            self._statements(other, scope.inner(), 1, depth + 1)
        if then or other:
            body.append(If(condition, then, other))

    def _while(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        count = Buffer(self._outer.fresh("v"), "int32", (1,), "var")
        self._allocs.append(Alloc(count))
        body.append(Assign(count, (), Const("int32", self._rng.randint(0, 3))))
        inner = scope.inner(in_loop=True)
        inner.tiles.append(count)
        work: list[Stmt] = []
        self._statements_without_outputs(work, inner, depth)
        if self._features.pipelines and self._e.chance(0.4):
            self._pipeline(work, inner, depth + 1)
        work.append(Assign(count, (), Const("int32", 1), "-"))
        body.append(While(Compare(">", Load(count), Const("int32", 0)), work))

    def _pipeline(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        """Adds a pipelined loop: copies whose places depend on its index, and what uses them."""
        e, rng = self._e, self._rng
        gemm = self._draw_gemm(body, scope) if self._features.gemms and e.chance(0.5) else None
        copied = [gemm.a, gemm.b] if gemm is not None else []
        for _ in range(rng.choice((0, 1, 1) if gemm is not None else (1, 1, 2))):
            buffer = self._tile_buffer(scope, ("shared",))
            if buffer is not None and buffer not in copied:
                copied.append(buffer)
        stages = rng.choice((0, 1, 2, 2, 3, 3, 4))
        self._pipelined_loop(body, scope, depth, stages, gemm, copied)
        while self._features.loops_in_turn and e.chance(0.2):
            again = replace(gemm, clear=False) if gemm is not None else None
            self._pipelined_loop(body, scope, depth, stages, again, rng.sample(copied, len(copied)))

    def _pipelined_loop(
        self, body: list[Stmt], scope: Scope, depth: int, stages: int, gemm: Gemm | None, copied: list[Buffer]
    ) -> None:
        e, rng = self._e, self._rng
        name = self._outer.fresh("k")
        trips = rng.choice((0, 1, 2, 3, 4, 5, 6))
        first = rng.choice((0, 0, 0, 1, 2))
        stop = self._bound(first + trips, scope) if first + trips else const(0)
        inner = self._nested(scope, Name("index", name), max(first + trips - 1, first), first)
        loop = Loop("pipelined", name, const(first), stop, [], stages=stages)
        if gemm is not None:
            if e.chance(0.2):
                gemm.clear = Compare("==", Name("index", name), const(first))
            if gemm.clear is not True:
                self._require(body, gemm.c, scope)
            self._define(gemm.c, inner)
        if e.chance(0.4):
            for buffer in copied:
                self._require(body, buffer, scope)
        before = len(loop.body)
        for buffer in dict.fromkeys(copied):
            self._pipelined_copy(loop.body, buffer, inner)
        if gemm is not None:
            loop.body.append(gemm)
        self._statements(loop.body, inner, rng.choice((0, 1, 1, 2)), depth + 1)
        if e.chance(0.15) and not any(isinstance(x, Atomic) and x.name for x in loop.body):
            rng.shuffle(loop.body)  # a copy behind its use: what is read is of the trip before
        if len(loop.body) > before:
            self._guard(loop, inner)
            body.append(loop)

    def _pipelined_copy(self, body: list[Stmt], buffer: Buffer, scope: Scope) -> None:
        e = self._e
        if self._features.placed_copies and self._is_defined(buffer, scope) and e.chance(0.25):
            extent = buffer.shape[0]
            tile = (1, *buffer.shape[1:])
            tensor = self._input(Buffer("", buffer.dtype, tile, "shared"), scope)
            source = self._tile_of(tensor, tile, scope)
            if source is not None:
                offsets = (e.inside(extent, scope), *(const(0) for _ in tile[1:]))
                if len(tile) == 1 and not is_affine(offsets[0]):
                    offsets = (const(self._rng.randrange(extent)),)
                is_index = (len(tile) > 1 and (not is_affine(offsets[0]) or e.chance(0.3)), *(False for _ in tile[1:]))
                body.append(Copy(source, Side(buffer, offsets, tile, "region", is_index)))
                return
        if e.chance(0.1):
            self._write(body, buffer, scope)
        else:
            self._load_tile(body, buffer, scope)

    # Elements, variables and threads ----------------------------------------------------------------------------------

    def _element(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        """Assigns to an element, once for each block."""
        e = self._e
        tiles = [b for b in self._buffers if b.space in ("shared", "local") and self._is_defined(b, scope)]
        if tiles and e.chance(0.6):
            buffer = e.pick(tiles)
            place = tuple(e.inside(x, scope) for x in buffer.shape)
        else:
            target = self._output((1,), e.pick(("int32", "float32", "int64", *self._bytes_of_two())), scope)
            buffer, place = target.buffer, target.base
        if buffer.dtype.startswith("float8"):
            return
        op = "+" if buffer.dtype in ("int32", "int16", "int64") and e.chance(0.3) else ""
        body.append(Assign(buffer, place, e.value(buffer.dtype, scope, 2), op))
        if buffer.dtype != "bool":
            e.fuzzy.add(buffer.name)

    def _variable(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        e = self._e
        known = [b for b in scope.tiles if b.space == "var" and b.name[0] == "w"]
        if known and e.chance(0.6):
            variable = e.pick(known)
            body.append(Assign(variable, (), e.value(variable.dtype, scope, 2)))
            if depth == 0:
                e.spent.discard(variable.name)
            return
        dtype = e.pick(("float32", "int64", "float16", "int16", "int32"))
        for _ in range(self._rng.choice((1, 1, 2, 3))):  # those of one type may become a vector
            variable = Buffer(self._outer.fresh("w"), dtype, (1,), "var")
            self._allocs.append(Alloc(variable, e.constant(dtype)))
            e.fuzzy.add(variable.name)
            scope.tiles.append(variable)

    def _local_array(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        e = self._e
        dtype = e.pick(("float32", "int32", "float16", "int8", *self._bytes_of_two(("uint4",))))
        array = self._alloc((self._rng.randint(1, 8),), dtype, "local")
        if array is None:
            return
        self._write(body, array, scope)
        self._hand_out(body, array, scope)
        index = (const(self._rng.randrange(array.shape[0])),)
        body.append(Assign(array, index, e.value(dtype, scope, 2)))
        anywhere = e.anywhere(array.shape[0], scope)  # outside of it nothing is written
        if e.chance(0.5) and not is_static(anywhere):
            body.append(Assign(array, (anywhere,), e.value(dtype, scope, 1)))
        e.fuzzy.add(array.name)

    def _hand_out(self, body: list[Stmt], array: Buffer, scope: Scope) -> None:
        """Copies a part of a tile's row to an array, which all threads have then."""
        count = array.shape[0]
        tiles = [b for b in self._buffers if b.space in ("shared", "fragment") and self._is_defined(b, scope)]
        tiles = [b for b in tiles if b.shape[-1] >= count and self._convertible(b.dtype, array.dtype)]
        if array.dtype in PACKED or not tiles or self._e.chance(0.5):
            return
        tile = self._e.pick(tiles)
        if tile.dtype in PACKED:
            return
        lead = len(tile.shape) - 1
        offsets = tuple(self._slice_offset(room, scope) for room in (*tile.shape[:-1], tile.shape[-1] - count + 1))
        row = Side(tile, offsets, (*(1,) * lead, count), "region", (*(True,) * lead, False))
        body.append(Copy(row, self._whole(array)))
        self._spread_fuzziness(tile, array)

    def _thread_statement(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        """Writes elements of a tile, or of a tensor, by the number of the thread."""
        e = self._e
        tiles = [b for b in self._buffers if b.space == "shared" and self._is_defined(b, scope)]
        name = Name("index", self._outer.fresh("t"))
        count = self._threads
        inner = scope.inner(in_parallel=False)
        inner.indices.append(Index(name, 0, count - 1))
        if tiles and e.chance(0.6):
            buffer = e.pick(tiles)
            count = min(count, buffer.shape[-1])
            place = (*(e.inside(x, scope) for x in buffer.shape[:-1]), name)
        else:
            dtype = e.pick(("int32", "float32", "float16", *self._bytes_of_two()))
            target = self._output((self._threads,), dtype, scope)
            buffer = target.buffer
            place = (*target.base[:-1], Binary("+", target.base[-1], name) if target.base[-1] != const(0) else name)
        if buffer.dtype.startswith("float8"):
            return
        inner.own[buffer.name] = place
        inner.tiles = [t for t in inner.tiles if t.name != buffer.name]
        store = Assign(buffer, place, e.value(buffer.dtype, inner, 2))
        if is_static(store.value):
            return
        if e.chance(0.25):
            store.value = self._chosen_by_the_block(store, name, inner)
        can_shuffle = self._features.shuffles and buffer.dtype not in ("bool", *PACKED)
        if can_shuffle and count == self._threads and e.chance(0.5):
            store.value = self._of_threads(store.value, buffer.dtype, inner)
            body.append(Threads(name.name, [store], self._block))
            e.fuzzy.add(buffer.name)
            return
        if count < self._threads or e.chance(0.3):
            limit = self._rng.randint(1, count)
            body.append(Threads(name.name, [If(Compare("<", name, const(limit)), [store])], self._block))
        else:
            body.append(Threads(name.name, [store], self._block))
        if buffer.dtype != "bool":
            e.fuzzy.add(buffer.name)

    def _chosen_by_the_block(self, store: Assign, thread: Name, scope: Scope) -> Expr:
        """Returns a value that is stored for each thread, or another one, as the block says."""
        block = scope.inner()
        block.own.pop(store.buffer.name)
        block.indices = [index for index in block.indices if index.name is not thread]
        condition = self._e.condition(block, 1)
        sides = [store.value, self._e.value(store.buffer.dtype, scope, 2)]
        self._rng.shuffle(sides)
        return store.value if is_static(condition) else Select(condition, *sides)

    def _thread_sequence(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        """Has threads do one statement after another, and keep what they have in arrays for a later time."""
        e, rng = self._e, self._rng
        sequence = Sequence(e, self._outer.fresh, scope, self._threads)
        for array in self._thread_arrays:
            if e.chance(0.5):
                sequence.add_array(array, is_known=True)
        for _ in range(rng.randint(1, 2)):
            if depth > 0 or e.chance(0.5):
                sequence.declare()
                continue
            array = sequence.new_array()
            self._allocs.append(Alloc(array))
            sequence.add_array(array, is_known=False)
            self._thread_arrays.append(array)
        draws = [sequence.change, sequence.change, lambda: self._exchange_rows(sequence, scope)]
        for _ in range(rng.randint(1, 4)):
            e.pick(draws)()
        target = self._output((self._threads,), sequence.result_type(), scope)
        sequence.store(target.buffer, target.base)
        body.append(Threads(sequence.thread.name, sequence.statements, self._block, in_step=True))

    def _exchange_rows(self, sequence: Sequence, scope: Scope) -> None:
        shape = (self._threads, self._rng.choice((1, 2, 4, 5, 8)))
        tile = self._alloc(shape, self._e.pick(("int32", "float32", "float16")), "shared")
        if tile is not None:
            sequence.exchange(tile)
            self._define(tile, scope)

    def _of_threads(self, value: Expr, dtype: str, scope: Scope) -> Expr:
        """Returns what a thread gets of what others have, or of what they have together."""
        e, rng = self._e, self._rng
        if is_float(dtype) or e.chance(0.3):
            return Shuffled(value, rng.choice(SHUFFLES), rng.randrange(32))
        value = e.value(dtype, scope.inner(is_fuzzy=False), 2)
        if is_static(value):
            value = Cast(dtype, scope.indices[-1].name)
        if self._threads > 128 or e.chance(0.4):  # each thread combines all of them
            return Combined(value, rng.choice(WARP_REDUCTIONS))
        along = rng.sample(range(len(self._block)), rng.randint(1, len(self._block)))
        return Combined(value, rng.choice(ALL_REDUCTIONS), tuple(sorted(along)))

    # Atomic operations ------------------------------------------------------------------------------------------------

    def _atomic(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        """Changes elements that blocks, iterations or threads share, or asks what each of them was."""
        draws = [self._scatter, self._scatter, self._count, self._exchange, self._add_tile]
        if self._features.floats:
            draws.append(self._add_floats)
        if self._features.thread_bindings and self._threads > 1:
            draws.append(self._scatter_of_threads)
        self._e.pick(draws)(body, scope)

    def _shared_place(self, body: list[Stmt], scope: Scope) -> Buffer | None:
        """Returns a tensor that no other statement touches, or a tile of integers that has been written."""
        e = self._e
        types = ("int32", "int64", "uint32", "uint64") if self._features.unsigned else ("int32", "int64")
        if e.chance(0.5):
            tensor = self._outer.tensor(e.pick(types), self._shape()[:2], is_output=True)
            self._outer.tensors[-1].kind = "small"
            return tensor
        known = [b for b in self._buffers if b.space == "shared" and b.dtype in types and self._is_defined(b, scope)]
        known = [b for b in known if b.name not in e.fuzzy]
        if known and e.chance(0.5):
            return e.pick(known)
        tile = self._alloc(self._shape(), e.pick(types), "shared")
        if tile is not None:
            body.append(Fill(tile, self._fill_value(tile.dtype)))
            self._define(tile, scope)
        return tile

    def _update(self, buffer: Buffer, place: tuple[Expr, ...] | None, scope: Scope, name: str = "") -> Stmt:
        """Returns an operation on an element, which some of those who come may leave out."""
        e = self._e
        own = scope.inner(is_fuzzy=False, tiles=[t for t in scope.tiles if t.name != buffer.name])
        if place is None:
            place = tuple(e.inside(x, own) for x in buffer.shape)
        op = e.pick(("add", "add", "add", "max", "min", "and", "or", "xor"))
        update = Atomic(op, buffer, place, e.value(buffer.dtype, own, 2), name, *self._order(buffer))
        return If(e.condition(own, 1), [update]) if not name and e.chance(0.25) else update

    def _order(self, buffer: Buffer) -> tuple[str, str]:
        """Returns what an operation says that it orders, and to whom it is one, which changes no result."""
        e = self._e
        order = e.pick(("relaxed", "acquire", "release", "acq_rel", "seq_cst")) if e.chance(0.3) else ""
        scope = e.pick(("block", "system") if buffer.space == "shared" else ("system",)) if e.chance(0.15) else ""
        return order, scope

    def _scatter(self, body: list[Stmt], scope: Scope) -> None:
        buffer = self._shared_place(body, scope)
        if buffer is None:
            return
        extents = tuple(self._e.pick(self._tile) for _ in range(self._rng.choice((1, 1, 2))))
        names = tuple(self._outer.fresh("i") for _ in extents)
        inner = scope.inner(in_parallel=True)
        inner.indices += [Index(Name("index", n), 0, x - 1) for n, x in zip(names, extents, strict=True)]
        body.append(Parallel(names, extents, [self._update(buffer, None, inner)]))

    def _scatter_of_threads(self, body: list[Stmt], scope: Scope) -> None:
        buffer = self._shared_place(body, scope)
        if buffer is None:
            return
        name = self._outer.fresh("t")
        inner = scope.inner(in_parallel=False)
        inner.indices.append(Index(Name("index", name), 0, self._threads - 1))
        update = self._update(buffer, None, inner)
        if any(isinstance(node, Name) and node.name == name for node in walk(update)):
            body.append(Threads(name, [update], self._block))

    def _add_tile(self, body: list[Stmt], scope: Scope) -> None:
        """Adds a tile of integers to a tensor, which on some chips the copy engine does."""
        e = self._e
        known = [b for b in self._buffers if b.space in ("shared", "fragment") and b.dtype in ("int32", "uint32")]
        known = [b for b in known if self._is_defined(b, scope) and b.name not in e.fuzzy]
        if not known:
            return
        tile = e.pick(known)
        room = e.pick((0, 4))  # before the tile, in each dimension
        tensor = self._outer.tensor(tile.dtype, tuple(x + room for x in tile.shape), is_output=True)
        self._outer.tensors[-1].kind = "small"
        names = tuple(self._outer.fresh("i") for _ in tile.shape)
        own = tuple(Name("index", n) for n in names)
        place = tuple(Binary("+", i, const(room)) for i in own) if room else own
        body.append(Parallel(names, tile.shape, [Atomic("add", tensor, place, Load(tile, own))]))

    def _add_floats(self, body: list[Stmt], scope: Scope) -> None:
        """Adds small integers to floats, whose sums are exact in any order."""
        e = self._e
        dtype = e.pick(("float16", "bfloat16", "float32", "float64"))
        tensor = self._outer.tensor(dtype, self._shape()[:2], is_output=True)
        self._outer.tensors[-1].kind = "small"
        names = tuple(self._outer.fresh("i") for _ in tensor.shape)
        place = tuple(Name("index", n) for n in names)
        value = Const(dtype, float(self._rng.randint(-2, 3)))
        body.append(Parallel(names, tensor.shape, [Atomic("add", tensor, place, value, "", *self._order(tensor))]))

    def _count(self, body: list[Stmt], scope: Scope) -> None:
        """Changes one element, once for each block."""
        buffer = self._shared_place(body, scope)
        if buffer is None:
            return
        if buffer.space == "global" or self._e.chance(0.5):
            body.append(self._update(buffer, None, scope))
            return
        name = self._outer.fresh("x")
        body.append(self._update(buffer, None, scope, name))
        target = self._output((1,), buffer.dtype, scope)
        body.append(Assign(target.buffer, target.base, Name(buffer.dtype, name)))

    def _exchange(self, body: list[Stmt], scope: Scope) -> None:
        """Changes each element of a tile, and keeps what it was."""
        tile = self._shared_place(body, scope)
        if tile is None or tile.space == "global":
            return
        kept = self._alloc(tile.shape, tile.dtype, self._e.pick(("shared", "fragment")))
        if kept is None:
            return
        names = tuple(self._outer.fresh("i") for _ in tile.shape)
        inner = scope.inner(in_parallel=True)
        inner.indices += [Index(Name("index", n), 0, x - 1) for n, x in zip(names, tile.shape, strict=True)]
        place = tuple(Name("index", n) for n in names)
        name = self._outer.fresh("x")
        update = self._update(tile, place, inner, name)
        body.append(Parallel(names, tile.shape, [update, Assign(kept, place, Name(tile.dtype, name))]))
        self._define(kept, scope)

    # Clusters ---------------------------------------------------------------------------------------------------------

    def _give(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        """Has each block of a cluster give a tile to another one, or take one."""
        source = self._tile_buffer(scope, ("shared",))
        target = source and self._alloc(source.shape, source.dtype, "shared")
        if source is None or target is None:
            return
        self._require(body, source, scope)
        shift = self._rng.randrange(math.prod(self._cluster))
        body.append(Exchange(source, target, shift, self._e.chance(0.5), self._e.chance(0.5)))
        self._spread_fuzziness(source, target)
        self._define(target, scope)

    # Barriers ---------------------------------------------------------------------------------------------------------

    def _sync(self, body: list[Stmt], scope: Scope, depth: int) -> None:
        body.append(Sync())
