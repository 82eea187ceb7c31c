"""Kernels: where they begin, their grid and block, and how blocks are ordered."""

from __future__ import annotations

from .. import _ops, dtypes
from ..builder import current, provide_kernel
from ..errors import ArgumentError, ShapeError, TLSyntaxError, quoted
from ..ir import Block
from ..location import here
from ..typed import TYPE_CHECKING
from ..types import as_tuple
from ..values import Expr, Range, Scalar, binary, difference, index_value, known, select, simplify
from .hints import ignored
from .loops import one_or_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Literal, NoReturn

    from .._ops import Dimension
    from ..barriers import Barriers, Mark
    from ..buffers import Buffer
    from ..ir import Op, Value
    from .rng import Stream

DEFAULT_THREADS = 128
MAX_THREADS = 1024
MAX_CLUSTER = 16
_EXTENTS = Range(1, (1 << 31) - 1)
_AXES: tuple[Dimension, ...] = ("x", "y", "z")


def launch_extents(value: Any, what: str) -> tuple[int, ...]:
    """Returns one to three positive integers, or raises."""
    items = as_tuple(value)
    if not 1 <= len(items) <= 3:
        raise ShapeError(f"`{what}` needs one to three extents, not {len(items)}", location=here())
    out: list[int] = []
    for item in items:
        number = known(item) if not isinstance(item, str) else None
        if isinstance(number, bool) or not isinstance(number, int):
            raise ArgumentError(
                f"`{what}` needs integers that are known when the kernel is built, not `{item!r}`", location=here()
            )
        if number <= 0:
            raise ShapeError(f"`{what}` needs positive extents, and {number} is not", location=here())
        out.append(number)
    return tuple(out)


def block_threads(threads: Any) -> tuple[int, ...]:
    """Returns the checked extents of a thread block."""
    extents = launch_extents(DEFAULT_THREADS if threads is None else threads, "threads")
    total = _product(extents)
    if total > MAX_THREADS:
        raise ShapeError(f"a block has at most {MAX_THREADS} threads, and `threads` asks for {total}", location=here())
    return extents


def cluster_extents(cluster: Any, rank: int) -> tuple[int, ...] | None:
    """Returns the checked extents of a cluster on a grid of `rank` dimensions, or None if there is none."""
    if cluster is None:
        return None
    extents = launch_extents(cluster, "cluster")
    if _product(extents) > MAX_CLUSTER:
        raise ShapeError(
            f"a cluster has at most {MAX_CLUSTER} blocks, and `cluster` asks for {_product(extents)}", location=here()
        )
    if _product(extents[rank:]) != 1:
        raise ShapeError(f"`cluster` has {len(extents)} extents, and the grid only {rank}", location=here())
    return extents[:rank] + (1,) * (rank - len(extents))


def grid_extents(blocks: tuple[Any, ...], what: str) -> tuple[Any, ...]:
    """Returns the checked extents of a grid; they may depend on the arguments of a call."""
    if not 1 <= len(blocks) <= 3:
        raise ShapeError(f"`{what}` needs one to three grid extents, not {len(blocks)}", location=here())
    for extent in blocks:
        number = known(extent)
        if isinstance(number, bool | float):
            raise ShapeError(
                f"`{what}` needs integers as grid extents, and {number!r} is none: divide with `//` or `T.ceildiv`",
                location=here(),
            )
        if number is not None and number < 0:
            raise ShapeError(f"`{what}` needs grid extents that are not negative, and {number} is", location=here())
    return blocks


def _product(extents: tuple[int, ...]) -> int:
    out = 1
    for extent in extents:
        out *= extent
    return out


class Kernel:
    """A kernel and its launch: `with T.Kernel(grid_x, grid_y, threads=128) as (bx, by):`.

    - `blocks`: one to three grid extents.
    - `threads`: one to three extents of a block; 128 threads if nothing is said. A GPU may run more, 256 at most, where
      fragments need their registers and nothing depends on the threads.
    - `cluster`, or `cluster_dims`: extents of a thread block cluster, in blocks.
    - `name`: the kernel's name; by default it is made from the function's.
    - `prelude`: CUDA C++ with device functions, for `T.call_extern`; the same as `T.import_source`.

    Without grid extents there is one block. A grid with an extent of zero runs nothing. Enters with the block's
    coordinate, or a tuple of them, or None without extents.

    >>> @T.prim_func
    ... def main(A: T.Tensor((128, 256), "float32")):
    ...     with T.Kernel(T.ceildiv(256, 64), T.ceildiv(128, 64), threads=128) as (bx, by):
    ...         for i, j in T.Parallel(64, 64):
    ...             A[by * 64 + i, bx * 64 + j] = 0.0
    """

    label = "T.Kernel"

    def __init__(
        self,
        *blocks: Any,
        threads: Any = None,
        prelude: str | None = None,
        cluster: Any = None,
        cluster_dims: Any = None,
        name: str | None = None,
    ) -> None:
        if cluster is not None and cluster_dims is not None:
            raise ArgumentError("`cluster` and `cluster_dims` of `T.Kernel` are the same: give one", location=here())
        self.is_without_grid = not blocks
        self.blocks = grid_extents(blocks or (1,), "T.Kernel")
        self.threads = block_threads(threads)
        extents = cluster_extents(cluster_dims if cluster is None else cluster, len(self.blocks))
        self.cluster = None if extents is None or _product(extents) == 1 else extents
        if name is not None and not name.isidentifier():
            raise ArgumentError(f"a kernel's name must be an identifier, and `{name}` is not", location=here())
        self.name = name
        self.is_swizzled = False
        self.min_blocks: int | None = None
        """How many blocks are to fit on a multiprocessor."""
        self.marks: dict[Op, Mark] = {}
        """Where the program arrives and waits by hand, and groups of threads go; see `tilec.turns`."""
        self.streams: list[Stream] = []
        """What random numbers are drawn from: the last one, at each place."""
        self.sources: list[str] = [] if prelude is None else [source_text(prelude, "`prelude` of `T.Kernel`")]
        """CUDA C++ whose functions `T.call_extern` calls."""
        self.meets_in_clusters: str | None = None
        """The first function by which the blocks of a cluster meet, or reach each other; None in most kernels."""
        self.needs_all_threads = False
        """Whether threads exchange numbers, for which all of them have to come."""
        self.arrivals: Buffer | None = None
        """What counts the blocks that have come to a `T.sync_grid`; None in a kernel without one."""
        self.named_barriers: dict[tuple[int, int], Barriers] = {}
        self.labels: set[str] = set()
        """The names that statements have for a schedule of roles."""
        self.check_schedule: Callable[[], None] | None = None
        """Compares the schedule of roles, if there is one, with the kernel when that is all there."""

    def __enter__(self) -> Any:
        builder = current()
        builder.end_alone()
        if builder.block is not builder.body:
            raise TLSyntaxError(
                "`T.Kernel` belongs directly inside the function: kernels follow each other, and a grid has up to "
                "three extents",
                location=builder.here(),
            )
        self.location = builder.here()
        self._grid = [index_value(b, "a grid extent") for b in self.blocks]
        self.block = Block(builder.block, "`T.Kernel`", is_kernel=True)
        self.block.frame = self
        self.coordinates = tuple(
            Expr(self.block.add_argument("index", f"b{axis}"), bounds=_coordinates(extent))
            for axis, extent in zip(_AXES, self.blocks, strict=False)
        )
        self._scope = builder.inside(self.block)
        self._scope.__enter__()
        # The one that `T.sync_grid` has for its counter stands beside one that goes on.
        self._outside_before, builder.outside = builder.outside, {}
        builder.build_requirements()
        return None if self.is_without_grid else one_or_all(self.coordinates, "T.Kernel")

    def __iter__(self) -> NoReturn:
        raise TLSyntaxError(
            "`T.Kernel` is executed for all of its blocks at once: write `with T.Kernel(...) as b`, not `for`",
            location=here(),
        )

    @property
    def num_threads(self) -> int:
        """How many threads a block has."""
        return _product(self.threads)

    @property
    def _may_have_groups(self) -> bool:
        """Whether a branch on the thread may be one of a group: not where all threads of the block have to come."""
        return self.arrivals is None and not self.meets_in_clusters and not self.needs_all_threads

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            _ops.yield_(location=self.location)
        self._scope.__exit__(None, None, None)
        current().outside = self._outside_before
        if kind is not None:
            return
        if self.check_schedule is not None:
            self.check_schedule()
        self._put_in_order()
        _ops.kernel(
            self._grid,
            threads=self.threads,
            cluster=self.cluster,
            name=self.name,
            body=self.block,
            cooperative=self.arrivals is not None,
            attributes={} if self.min_blocks is None else {"tl.min_blocks": f"{self.min_blocks} : i64"},
            location=self.location,
        )

    def _put_in_order(self) -> None:
        """Makes the body one without barriers and groups of its own."""
        if self.marks and self.arrivals is not None:
            raise TLSyntaxError(
                "`T.sync_grid` does not work in a kernel with barriers or groups of its own: `T.copy` and `T.gemm` "
                "need none",
                location=self.location,
            )
        if self.marks:
            from ..meetings import has_cluster_barriers, order_blocks

            if has_cluster_barriers(self):
                order_blocks(self)
                return
        if self.marks and self.meets_in_clusters:
            raise TLSyntaxError(
                f"`{self.meets_in_clusters}` does not work in a kernel with barriers or groups of its own: `T.copy` "
                f"and `T.gemm` need none",
                location=self.location,
            )
        if self.marks or self._may_have_groups:
            from ..turns import has_groups, put_in_order

            if self.marks or has_groups(self):
                put_in_order(self)


provide_kernel(lambda: Kernel(threads=1))


def source_text(source: Any, what: str) -> str:
    """Returns a text of CUDA C++ that is not empty; `what` names it in errors."""
    if not isinstance(source, str):
        raise ArgumentError(f"{what} is a text of CUDA C++, not `{source!r}`", location=here())
    if not source.strip():
        raise ArgumentError(f"{what} is empty: it needs the functions that the kernel calls", location=here())
    return source


def opened_kernel(what: str) -> Kernel:
    """Returns the kernel that is being built, or raises if there is none."""
    frame = current().require_kernel(what).frame
    assert isinstance(frame, Kernel), "only `Kernel` opens kernel blocks"
    return frame


def meeting_kernel(name: str, remedy: str = "") -> Kernel:
    """Returns the kernel whose threads all execute `T.<name>` together, or raises where no block does as one."""
    builder = current()
    if any(block.label == "`T.Parallel`" for block in builder.block.ancestors()):
        raise TLSyntaxError(
            f"`T.{name}` is done by all threads of the block together, and iterations of `T.Parallel` run on any "
            f"of them: put it before or after the loop{remedy}",
            location=builder.here(),
        )
    return opened_kernel(f"`T.{name}`")


def annotate_min_blocks_per_sm(n: int) -> None:
    """Says how many blocks of the kernel are to fit on a multiprocessor.

    - `n`: at least 1, and at most 32. Threads get no more registers than that leaves them, and keep what does not fit
      in local memory, of which `RegisterSpillWarning` tells. A kernel that needs fewer is as it was.

    >>> T.annotate_min_blocks_per_sm(2)
    """
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= 32:
        raise ArgumentError(
            f"`T.annotate_min_blocks_per_sm` needs an integer from 1 to 32, not `{n!r}`", location=here()
        )
    opened_kernel("`T.annotate_min_blocks_per_sm`").min_blocks = n


def linear_block(kernel: Kernel) -> Any:
    """Returns the number of the thread block in the grid, x fastest."""
    number: Any = 0
    for coordinate, extent in zip(reversed(kernel.coordinates), reversed(kernel.blocks), strict=True):
        number = binary("add", binary("mul", number, extent), coordinate)
    return number


def _dimension(dim: int, count: int, what: str) -> int:
    if not 0 <= dim < count:
        raise ShapeError(f"`{what}` has dimensions 0 to {count - 1} here, not {dim}", location=here())
    return dim


def get_block_binding(dim: int = 0) -> Expr:
    """Returns a coordinate of the thread block in the grid.

    >>> C[T.get_block_binding(), 0] = 1.0
    """
    kernel = opened_kernel("`T.get_block_binding`")
    return kernel.coordinates[_dimension(dim, len(kernel.coordinates), "T.get_block_binding")]


def get_block_bindings() -> tuple[Expr, ...]:
    """Returns all coordinates of the thread block.

    >>> bx, by = T.get_block_bindings()
    """
    return opened_kernel("`T.get_block_bindings`").coordinates


class ThreadCoordinate(Expr):
    """A coordinate of the thread, which knows its dimension."""

    __slots__ = ("dim",)

    def __init__(self, value: Value, dim: int, bounds: Range) -> None:
        super().__init__(value, bounds=bounds)
        self.dim = dim


def get_thread_binding(dim: int = 0) -> Expr:
    """Returns a coordinate of the thread in its block.

    A statement that depends on it is executed once for each thread; others are executed once by the block. Tile
    operations and `T.Parallel` cannot depend on it. Along an extent of one it is 0, on which nothing depends.

    >>> C[0, T.get_thread_binding() % 64] = 1.0
    """
    kernel = opened_kernel("`T.get_thread_binding`")
    axis = _AXES[_dimension(dim, len(kernel.threads), "T.get_thread_binding")]
    if kernel.threads[dim] == 1:
        return Expr(None, const=0, is_found=True)  # nothing differs between threads of which there is one
    op = _ops.gpu_thread_id(dimension=axis)
    return ThreadCoordinate(op.results[0], dim, Range(0, kernel.threads[dim] - 1))


def get_thread_bindings() -> tuple[Expr, ...]:
    """Returns all coordinates of the thread in its block; see `get_thread_binding`.

    >>> (tx,) = T.get_thread_bindings()
    """
    return tuple(get_thread_binding(dim) for dim in range(len(opened_kernel("`T.get_thread_bindings`").threads)))


def get_thread_extent(dim: int = 0) -> int:
    """Returns an extent of the thread block.

    >>> threads = T.get_thread_extent()
    """
    kernel = opened_kernel("`T.get_thread_extent`")
    return kernel.threads[_dimension(dim, len(kernel.threads), "T.get_thread_extent")]


def get_thread_extents() -> tuple[int, ...]:
    """Returns all extents of the thread block.

    >>> (threads,) = T.get_thread_extents()
    """
    return opened_kernel("`T.get_thread_extents`").threads


def get_block_extent(dim: int = 0) -> Any:
    """Returns an extent of the grid, as `T.Kernel` was given it.

    >>> blocks = T.get_block_extent(0)
    """
    kernel = opened_kernel("`T.get_block_extent`")
    return kernel.blocks[_dimension(dim, len(kernel.blocks), "T.get_block_extent")]


def get_block_extents() -> tuple[Any, ...]:
    """Returns all extents of the grid.

    >>> columns, rows = T.get_block_extents()
    """
    return opened_kernel("`T.get_block_extents`").blocks


class ClusterKernel(Kernel):
    """A kernel whose blocks form clusters: `with T.ClusterKernel(8, cluster_dims=2) as bx:`.

    - `blocks`, `threads`: as of `T.Kernel`.
    - `cluster_dims`: the extents of a cluster, in blocks.

    >>> @T.prim_func
    ... def main(A: T.Tensor((8, 64), "float32")):
    ...     with T.ClusterKernel(8, cluster_dims=2, threads=64) as b:
    ...         for j in T.Parallel(64):
    ...             A[b, j] = 0.0
    """

    def __init__(self, *blocks: Any, cluster_dims: Any, threads: Any = None, prelude: str | None = None) -> None:
        super().__init__(*blocks, threads=threads, prelude=prelude, cluster_dims=cluster_dims)


class Binding(Scalar):
    """A coordinate of the thread or block: a number, and a loop that runs over this number alone."""

    __slots__ = ("coordinate",)

    def __init__(self, coordinate: Expr) -> None:
        self.coordinate = coordinate

    def load(self) -> Expr:
        """Returns the number."""
        return self.coordinate

    def __iter__(self) -> Iterator[Expr]:
        yield self.coordinate

    def __repr__(self) -> str:
        return repr(self.coordinate)


def thread_binding(
    start: Any, stop: Any = None, thread: str | None = None, *, annotations: dict[str, Any] | None = None
) -> Binding:
    """Returns the coordinate of the thread, or block: a number, or what a loop over all of them runs over in each.

    - `start`, `stop`: the extent of the loop, which is that of `T.Kernel`.
    - `thread`: "threadIdx.x" and the like, or "blockIdx.x".
    - `annotations`: hints for other compilers, without effect.

    >>> for t in T.thread_binding(128, thread="threadIdx.x"):
    ...     C[0, t % 64] = 1.0
    >>> t = T.thread_binding(0, 128, thread="threadIdx.x")
    """
    kernel = opened_kernel("`T.thread_binding`")
    names = {f"{kind}.{axis}": (kind, dim) for kind in ("threadIdx", "blockIdx") for dim, axis in enumerate(_AXES)}
    if thread not in names:
        raise ArgumentError(
            f"`thread` of `T.thread_binding` is one of {quoted(names)}, not `{thread!r}`", location=here()
        )
    kind, dim = names[thread]
    extents = kernel.threads if kind == "threadIdx" else kernel.blocks
    actual = extents[_dimension(dim, len(extents), "T.thread_binding")]
    first, last = (0, start) if stop is None else (start, stop)
    if known(first) != 0 or difference(last, actual) != 0:
        raise ShapeError(
            f"`T.thread_binding` runs from {first!r} to {last!r}, and `T.Kernel` has {actual!r} of `{thread}`: "
            f"they are the same",
            location=here(),
        )
    return Binding(get_thread_binding(dim) if kind == "threadIdx" else get_block_binding(dim))


def use_swizzle(panel_size: int, order: Literal["row", "column"] = "row", enable: bool = True) -> None:
    """Orders the blocks of the first two grid dimensions so that neighbours in time share tiles in the L2 cache.

    Blocks are started in panels, `panel_size` rows (or columns) of the grid high; in a panel they go along the short
    side first, and every second panel is walked backwards. Call it first in the kernel: it changes what the block's
    coordinates are. Of a kernel with clusters it orders these, of which the grid has to be made; their blocks stay side
    by side, and `panel_size` is in clusters.

    Where coordinates were used before, it warns and does nothing.

    Constraints: the grid has at least two dimensions.

    >>> T.use_swizzle(8)
    """
    if not enable:
        return
    kernel = opened_kernel("`T.use_swizzle`")
    if isinstance(panel_size, bool) or not isinstance(panel_size, int):
        raise ArgumentError(f"`panel_size` of `T.use_swizzle` is an integer, not `{panel_size!r}`", location=here())
    if panel_size < 1:
        raise ShapeError(f"`panel_size` must be positive, and {panel_size} is not", location=here())
    if order not in ("row", "column"):
        raise ArgumentError(f'`order` is "row" or "column", not `{order!r}`', location=here())
    if len(kernel.coordinates) < 2:
        if current().for_tilelang:
            return  # where it changes nothing
        raise ShapeError("`T.use_swizzle` needs a grid of two dimensions at least", location=here())
    bx, by = kernel.coordinates[:2]
    if kernel.is_swizzled or current().block is not kernel.block:
        raise TLSyntaxError(
            "`T.use_swizzle` changes the block's coordinates: call it once, first in the kernel, before they are used",
            location=here(),
        )
    if bx.value.uses or by.value.uses:
        ignored("`T.use_swizzle`", "the block's coordinates are used before it; call it first in the kernel")
        return
    kernel.is_swizzled = True
    along, across = (0, 1) if order == "row" else (1, 0)
    cluster = (*(kernel.cluster or ()), 1, 1)[:2]
    extents = [_clusters(_extent(extent), of) for extent, of in zip(kernel.blocks[:2], cluster, strict=True)]
    # Copies of what the coordinates are now: they are about to be replaced.
    old = [c.assume(c.range) for c in (bx, by)]
    x, y = (_clusters(c, of) for c, of in zip(old, cluster, strict=True))
    linear = binary("add", x, binary("mul", y, extents[0]))
    new_along, new_across = _panel_order(linear, extents[along], extents[across], panel_size)
    for dim, new in ((along, new_along), (across, new_across)):
        of = cluster[dim]
        inside = binary("mod", old[dim], of)
        kernel.coordinates[dim].replace(new if of == 1 else binary("add", binary("mul", new, of), inside))


def _clusters(number: Any, of: int) -> Any:
    """Returns how many whole clusters of an extent there are in a number of blocks."""
    return number if of == 1 else binary("floordiv", number, of)


def _extent(extent: Any) -> Any:
    number = simplify(extent)
    if isinstance(number, Expr) and number.dtype is dtypes.index:
        return number.assume(_EXTENTS)  # a block runs, so the grid is not empty
    return number


def _coordinates(extent: Any) -> Range:
    """Returns what is known of the coordinate of a block in a grid of this extent."""
    number = simplify(extent)
    high = number.range.high if isinstance(number, Expr) else int(number)
    return Range(0, min(max(high, 1), _EXTENTS.high) - 1)


def _panel_order(linear: Any, width: Any, height: Any, panel: int) -> tuple[Expr, Expr]:
    """Returns the coordinates, along and across panels, of the block that is started as number `linear`."""
    area = binary("mul", width, panel)
    number = binary("floordiv", linear, area)
    first = binary("mul", number, panel)
    # The last panel may be lower than the others.
    rows = _between(binary("min", binary("sub", height, first), panel), 1, panel)
    inside = binary("mod", linear, area)
    across = binary("add", first, binary("mod", inside, rows))
    forward = binary("floordiv", inside, rows)
    backward = binary("sub", binary("sub", width, 1), forward)
    along = select(binary("eq", binary("mod", number, 2), 0), forward, backward)
    return _inside(along, width), _inside(across, height)


def _inside(coordinate: Any, extent: Any) -> Any:
    """Returns a coordinate that is inside anyway, so that it can be seen: the bulk copy engine needs proof."""
    last = binary("sub", extent, 1)
    return _between(binary("max", binary("min", coordinate, last), 0), 0, _EXTENTS.high - 1)


def _between(value: Any, low: int, high: int) -> Any:
    """Says what is known of a number; one that is a constant needs no telling."""
    number = simplify(value)
    return number.assume(Range(low, high)) if isinstance(number, Expr) else number
