"""Warps: which thread this is, and what the threads of a warp, or of the block, give each other.

The threads of a block in the order of their numbers, x first, make warps of 32; the last warp may have fewer. Each
function but those that ask for a number is a statement of the whole block: every thread gives what it has, and then
each gets its result. So they stand neither in a `T.Parallel`, whose iterations run on any thread, nor where only some
threads go; there they are refused, on all targets. Nobody has to wait for anyone by hand.

`mask` says which lanes count, where something is counted; a lane that no thread is never does.
"""

from __future__ import annotations

from .. import _ops, dtypes, values
from ..buffers import alloc
from ..builder import current
from ..errors import ArgumentError, DTypeError
from ..expr import place
from ..typed import TYPE_CHECKING
from ..values import Expr, absolute, binary, condition, expr, greatest, known, least, select, simplify, static_int
from .bits import integer_operand, popcount, reinterpret
from .kernel import get_thread_binding, meeting_kernel, opened_kernel
from .loops import serial
from .tile import alloc_var

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..buffers import Buffer
    from ..dtypes import DType

__all__ = [
    "__ffs", "__fns", "activemask", "all_sync", "any_sync", "ballot", "ballot_sync", "get_lane_idx",
    "get_warp_group_idx", "get_warp_idx", "get_warp_idx_sync", "match_all_sync", "match_any_sync", "shfl_down",
    "shfl_sync", "shfl_up", "shfl_xor", "shuffle_elect", "sync_warp", "syncthreads_and", "syncthreads_count",
    "syncthreads_or", "tvm_warp_shuffle", "tvm_warp_shuffle_down", "tvm_warp_shuffle_up",
    "warp_reduce_bitand", "warp_reduce_bitor", "warp_reduce_max", "warp_reduce_min",
    "warp_reduce_sum",
]  # fmt: skip

WARP = 32
_ALL = 0xFFFFFFFF


# Numbers --------------------------------------------------------------------------------------------------------------


def thread_number(name: str) -> Any:
    """Returns the number of the thread in its block."""
    number: Any = 0
    stride = 1
    for dim, extent in enumerate(opened_kernel(f"`T.{name}`").threads):
        if extent > 1:
            number = binary("add", number, binary("mul", get_thread_binding(dim), stride))
        stride *= extent
    return get_thread_binding(0) if isinstance(number, int) else number


def _size(name: str, what: str, given: Any, default: int) -> int:
    size = default if given is None else static_int(given, f"`{what}` of `T.{name}`")
    if size < 1:
        raise ArgumentError(f"`{what}` of `T.{name}` must be positive, and {size} is not", location=place())
    return size


def get_lane_idx(warp_size: int | None = None) -> Any:
    """Returns the number of the thread in its warp, from 0 to 31.

    - `warp_size`: how many threads are counted as a warp; 32 if not given.

    >>> lane = T.get_lane_idx()
    """
    return binary("mod", thread_number("get_lane_idx"), _size("get_lane_idx", "warp_size", warp_size, WARP))


def get_warp_idx(warp_size: int | None = None) -> Any:
    """Returns the number of the thread's warp in the block.

    - `warp_size`: how many threads are counted as a warp; 32 if not given.

    >>> warp = T.get_warp_idx()
    """
    return binary("floordiv", thread_number("get_warp_idx"), _size("get_warp_idx", "warp_size", warp_size, WARP))


def get_warp_idx_sync(warp_size: int | None = None) -> Any:
    """Returns the number of the thread's warp in the block; the same as `T.get_warp_idx`.

    >>> warp = T.get_warp_idx_sync()
    """
    return get_warp_idx(warp_size)


def get_warp_group_idx(warp_size: int | None = None, warps_per_group: int | None = None) -> Any:
    """Returns the number of the thread's group of warps in the block.

    - `warp_size`: how many threads are counted as a warp; 32 if not given.
    - `warps_per_group`: how many warps are a group; 4 if not given.

    >>> group = T.get_warp_group_idx()
    """
    name = "get_warp_group_idx"
    threads = _size(name, "warp_size", warp_size, WARP) * _size(name, "warps_per_group", warps_per_group, 4)
    return binary("floordiv", thread_number(name), threads)


def shuffle_elect(thread_extent: int) -> Any:
    """Returns whether the thread is the first one of its group, so that of each group one does what stands behind it.

    - `thread_extent`: how many threads are a group; 0 for all of the block.

    >>> if T.shuffle_elect(128):
    ...     C[T.get_warp_group_idx(), 0] = x
    """
    extent = static_int(thread_extent, "`thread_extent` of `T.shuffle_elect`")
    if extent < 0:
        raise ArgumentError(f"`thread_extent` of `T.shuffle_elect` is not negative, and {extent} is", location=place())
    number = thread_number("shuffle_elect")
    return binary("eq", binary("mod", number, extent) if extent else number, 0)


# What goes from lane to lane ------------------------------------------------------------------------------------------


def _together(name: str) -> int:
    """Returns how many threads take part; raises where it is known that not all do."""
    kernel = meeting_kernel(name, ", or use `T.reduce_sum` and its kin on fragments")
    kernel.needs_all_threads = True
    return kernel.num_threads


def _fragment(threads: int, dtype: DType) -> Buffer:
    """Returns a fragment with an element for each thread."""
    builder = current()
    kernel = builder.kernel_block
    assert kernel is not None, "a kernel is being built"
    with builder.inside(kernel):
        made = alloc((threads,), dtype, "fragment")
    # First of all: a branch that is being built may stand in the kernel already.
    kernel.ops.insert(0, kernel.ops.pop())
    return made


class Lane:
    """A thread among those of its warp, for functions that ask others for what they have."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.threads = _together(name)
        self.number = thread_number(name)
        self.lane = binary("mod", self.number, WARP)

    @property
    def is_whole(self) -> bool:
        """Whether all warps have 32 threads."""
        return self.threads % WARP == 0

    def exists(self, lane: Any) -> Any:
        """Returns whether a lane of this warp is a thread."""
        return binary("lt", binary("add", binary("sub", self.number, self.lane), lane), self.threads)

    def read(self, value: Expr, lane: Any) -> Expr:
        """Returns what another lane has; what is undefined where it is no thread."""
        source, lanes, target = (_fragment(self.threads, dtype) for dtype in (value.dtype, dtypes.int32, value.dtype))
        source[self.number] = value
        lanes[self.number] = lane
        _ops.shuffle(source.value, lanes.value, target.value)
        return Expr(target.load_element([self.number]).results[0], value.dtype)

    def read_or(self, value: Expr, lane: Any, otherwise: Any) -> Any:
        """Returns what another lane has, or something else where it is no thread."""
        other = self.read(value, lane)
        return other if self.is_whole else select(self.exists(lane), other, otherwise)

    def combine(self, value: Expr, identity: Any, function: Callable[[Any, Any], Any]) -> Expr:
        """Returns what all lanes have, combined, to all of them."""
        for distance in (16, 8, 4, 2, 1):
            value = expr(
                function(value, self.read_or(value, binary("xor", self.lane, distance), identity)), value.dtype
            )
        # Of a warp that is not whole, the first lane alone has found all others.
        return value if self.is_whole else self.read(value, 0)


def moved(value: Any) -> Expr:
    """Returns a value that goes from lane to lane."""
    number = simplify(value)
    if not isinstance(number, Expr) or number.dtype is dtypes.index or number.dtype.kind == "bool":
        return expr(number, dtypes.float32 if isinstance(number, float) else dtypes.int32)
    return number


def _segments(name: str, width: Any) -> int:
    size = static_int(width, f"`width` of `T.{name}`")
    if size not in (1, 2, 4, 8, 16, 32):
        raise ArgumentError(
            f"`width` of `T.{name}` is a power of two up to 32, and {size} is not one", location=place()
        )
    return size


def _shuffled(name: str, value: Any, width: Any, source: Callable[[Any, int], tuple[Any, Any]]) -> Any:
    """Returns what the lane has that `source` names, or the thread's own where that says that it is none."""
    size = _segments(name, width)
    lane = Lane(name)
    own = moved(value)
    other, is_one = source(lane.lane, size)
    found = lane.read(own, other)
    if not lane.is_whole:
        exists = lane.exists(other)
        is_one = exists if is_one is None else binary("and", is_one, exists)
    return found if is_one is None else select(is_one, found, own)


def shfl_sync(value: Any, srcLane: Any, width: int = WARP, mask: Any = _ALL) -> Any:
    """Returns what lane `srcLane` of each segment of the warp has.

    - `value`: what the thread gives: a number of any type; a condition is 0 or 1.
    - `srcLane`: a lane of the segment, counted modulo `width`; it may differ between threads.
    - `width`: how many lanes are a segment: a power of two up to 32.
    - `mask`: all lanes take part.

    >>> first = T.shfl_sync(x, 0)
    """

    def source(lane: Any, size: int) -> tuple[Any, Any]:
        wanted = binary("and", srcLane, size - 1)
        return (wanted if size == WARP else binary("add", binary("and", lane, -size), wanted)), None

    return _shuffled("shfl_sync", value, width, source)


def shfl_xor(value: Any, delta: Any, width: int = WARP, mask: Any = _ALL) -> Any:
    """Returns what the lane has whose number is the thread's with the bits of `delta` flipped.

    - `delta`: 0 to 31.
    - `value`, `width`, `mask`: as of `T.shfl_sync`. A lane of a later segment is not reached: then it is `value`.

    >>> total = x
    >>> for i in T.unroll(5):
    ...     total = total + T.shfl_xor(total, 1 << i)
    """

    def source(lane: Any, size: int) -> tuple[Any, Any]:
        other = binary("xor", lane, binary("and", delta, WARP - 1))
        number = known(delta)
        if size == WARP or (number is not None and 0 <= number < size):
            return other, None
        return other, binary("le", other, binary("or", lane, size - 1))

    return _shuffled("shfl_xor", value, width, source)


def shfl_down(value: Any, delta: Any, width: int = WARP, mask: Any = _ALL) -> Any:
    """Returns what the lane has that is `delta` lanes further; `value` where the segment has none.

    Arguments are those of `T.shfl_xor`.

    >>> following = T.shfl_down(x, 1)
    """

    def source(lane: Any, size: int) -> tuple[Any, Any]:
        other = binary("add", lane, binary("and", delta, WARP - 1))
        return other, binary("le", other, binary("or", lane, size - 1))

    return _shuffled("shfl_down", value, width, source)


def shfl_up(value: Any, delta: Any, width: int = WARP, mask: Any = _ALL) -> Any:
    """Returns what the lane has that is `delta` lanes before; `value` where the segment has none.

    Arguments are those of `T.shfl_xor`.

    >>> before = T.shfl_up(x, 1)
    """

    def source(lane: Any, size: int) -> tuple[Any, Any]:
        other = binary("sub", lane, binary("and", delta, WARP - 1))
        return other, binary("ge", other, binary("and", lane, -size))

    return _shuffled("shfl_up", value, width, source)


def tvm_warp_shuffle(mask: Any, value: Any, warp_id: Any, width: int, warp_size: int = WARP) -> Any:
    """Returns `T.shfl_sync(value, warp_id, width, mask)`: the same with its arguments in another order.

    - `warp_id`: a lane of the segment, as `srcLane` there.
    - `warp_size`: nothing that counts: warps have 32 lanes.

    >>> first = T.tvm_warp_shuffle(0xFFFFFFFF, x, 0, 32, 32)
    """
    return shfl_sync(value, warp_id, width, mask)


def tvm_warp_shuffle_up(mask: Any, value: Any, offset: Any, width: int, warp_size: int = WARP) -> Any:
    """Returns `T.shfl_up(value, offset, width, mask)`; see `T.tvm_warp_shuffle`.

    >>> before = T.tvm_warp_shuffle_up(0xFFFFFFFF, x, 1, 32, 32)
    """
    return shfl_up(value, offset, width, mask)


def tvm_warp_shuffle_down(mask: Any, value: Any, offset: Any, width: int, warp_size: int = WARP) -> Any:
    """Returns `T.shfl_down(value, offset, width, mask)`; see `T.tvm_warp_shuffle`.

    >>> following = T.tvm_warp_shuffle_down(0xFFFFFFFF, x, 1, 32, 32)
    """
    return shfl_down(value, offset, width, mask)


# Reductions -----------------------------------------------------------------------------------------------------------


def _reduced(name: str, value: Any, identity: Callable[[DType], Any], operation: str) -> Any:
    lane = Lane(name)
    own = moved(value)
    wide = dtypes.float32 if own.dtype.is_float and own.dtype.bits < 32 else own.dtype
    if operation in ("and", "or") and own.dtype.is_float:
        raise DTypeError(f"`T.{name}` combines the bits of integers, not `{own.dtype}`", location=place())
    start = expr(identity(wide), wide)
    combined = lane.combine(expr(own, wide), start, lambda a, b: binary(operation, a, b))
    return values.cast(combined, own.dtype)


def warp_reduce_sum(value: Any) -> Any:
    """Returns the sum of what the threads of the warp have, to each of them.

    Integers wrap; floats of 16 bits are added in `float32`, and the sum is rounded once.

    >>> total = T.warp_reduce_sum(x)
    """
    return _reduced("warp_reduce_sum", value, lambda _: 0, "add")


def warp_reduce_max(value: Any) -> Any:
    """Returns the greatest of what the threads of the warp have, to each of them; a NaN if there is one.

    >>> greatest = T.warp_reduce_max(x)
    """
    return _reduced("warp_reduce_max", value, lambda t: float("-inf") if t.is_float else least(t), "max")


def warp_reduce_min(value: Any) -> Any:
    """Returns the least of what the threads of the warp have, to each of them; a NaN if there is one.

    >>> least = T.warp_reduce_min(x)
    """
    return _reduced("warp_reduce_min", value, lambda t: float("inf") if t.is_float else greatest(t), "min")


def warp_reduce_bitand(value: Any) -> Any:
    """Returns the bits that all threads of the warp have set in an integer, to each of them.

    >>> common = T.warp_reduce_bitand(k)
    """
    return _reduced("warp_reduce_bitand", value, lambda t: -1 if t.is_signed else t.range[1], "and")


def warp_reduce_bitor(value: Any) -> Any:
    """Returns the bits that some thread of the warp has set in an integer, to each of them.

    >>> some = T.warp_reduce_bitor(k)
    """
    return _reduced("warp_reduce_bitor", value, lambda _: 0, "or")


# Votes ----------------------------------------------------------------------------------------------------------------


def _predicate(name: str, predicate: Any) -> Any:
    number = simplify(predicate)
    if isinstance(number, float) or (isinstance(number, Expr) and number.dtype.is_float):
        raise DTypeError(
            f"`T.{name}` requires an integer or boolean predicate, not `{predicate!r}`: compare it", location=place()
        )
    return condition(number)


def _mask(mask: Any) -> Expr:
    """Returns the lanes that count."""
    return expr(mask & _ALL if isinstance(mask, int) else mask, dtypes.uint32)


def _bit(lane: Any) -> Any:
    return binary("shl", expr(1, dtypes.uint32), expr(lane, dtypes.uint32))


def _votes(lane: Lane, predicate: Any) -> Expr:
    """Returns the lanes that say yes."""
    source, target = _fragment(lane.threads, dtypes.uint32), _fragment(lane.threads, dtypes.uint32)
    source[lane.number] = values.cast(predicate, dtypes.uint32)
    _ops.vote(source.value, target.value)
    return Expr(target.load_element([lane.number]).results[0], dtypes.uint32)


def _counted(lane: Lane, mask: Any) -> Expr:
    """Returns the lanes of a mask that are threads."""
    lanes = _mask(mask)
    return lanes if lane.is_whole else expr(binary("and", lanes, _votes(lane, True)), dtypes.uint32)


def ballot_sync(predicate: Any, mask: Any = _ALL) -> Any:
    """Returns the lanes of the warp for which a condition holds, as bits of a `uint64`; bit 0 is lane 0.

    - `predicate`: a condition, or an integer, which counts as one that holds if it is not zero.
    - `mask`: the lanes that count, as bits.

    >>> first = T.__ffs(T.ballot_sync(x > 0)) - 1
    """
    chosen = _predicate("ballot_sync", predicate)
    votes = _votes(Lane("ballot_sync"), chosen)
    return values.cast(votes if known(mask) == _ALL else binary("and", votes, _mask(mask)), dtypes.uint64)


def ballot(predicate: Any) -> Any:
    """Returns the lanes of the warp for which a condition holds; see `T.ballot_sync`.

    >>> lanes = T.ballot(x > 0)
    """
    return values.cast(_votes(Lane("ballot"), _predicate("ballot", predicate)), dtypes.uint64)


def activemask() -> Any:
    """Returns the lanes of the warp that are threads, as bits of a `uint64`: all of them are here.

    >>> lanes = T.activemask()
    """
    return values.cast(_votes(Lane("activemask"), True), dtypes.uint64)


def any_sync(predicate: Any, mask: Any = _ALL) -> Any:
    """Returns 1 if a condition holds for some lane of `mask`, else 0; arguments are those of `T.ballot_sync`.

    >>> flag = T.any_sync(x > 0)
    """
    votes = _votes(Lane("any_sync"), _predicate("any_sync", predicate))
    return values.cast(binary("ne", binary("and", votes, _mask(mask)), 0), dtypes.int32)


def all_sync(predicate: Any, mask: Any = _ALL) -> Any:
    """Returns 1 if a condition holds for all lanes of `mask`, else 0; arguments are those of `T.ballot_sync`.

    >>> flag = T.all_sync(x > 0)
    """
    chosen = _predicate("all_sync", predicate)
    against = binary("xor", chosen, True) if isinstance(chosen, Expr) else not chosen
    votes = _votes(Lane("all_sync"), against)
    return values.cast(binary("eq", binary("and", votes, _mask(mask)), 0), dtypes.int32)


def _bits_of(value: Expr) -> Expr:
    """Returns what is compared of a value: its bits."""
    return reinterpret(value, f"uint{value.dtype.bits}") if value.dtype.is_float else value


def match_any_sync(value: Any, mask: Any = _ALL) -> Any:
    """Returns the lanes of `mask` that have the same bits as the thread has, as bits of a `uint32`.

    >>> peers = T.match_any_sync(k)
    """
    lane = Lane("match_any_sync")
    own = _bits_of(moved(value))
    found = alloc_var("uint32", 0)
    with serial(WARP) as other:
        is_same = binary("eq", lane.read(own, other), own)
        if not lane.is_whole:
            is_same = binary("and", is_same, lane.exists(other))
        found.set(binary("or", found, select(is_same, _bit(other), expr(0, dtypes.uint32))))
    return binary("and", found.load(), _mask(mask))


def match_all_sync(value: Any, mask: Any = _ALL) -> Any:
    """Returns the lanes of `mask`, as bits of a `uint32`, if all of them have the same bits, else 0.

    >>> same = T.match_all_sync(x)
    """
    lane = Lane("match_all_sync")
    own = _bits_of(moved(value))
    lanes = _counted(lane, mask)
    first = binary("sub", __ffs(lanes), 1)
    differs = binary("and", _votes(lane, binary("ne", lane.read(own, first), own)), lanes)
    return select(binary("eq", differs, 0), lanes, expr(0, dtypes.uint32))


def sync_warp(mask: Any = None) -> None:
    """Waits for the other threads of the warp. Each statement sees what those before it wrote, so nobody has to.

    - `mask`: all threads come.

    >>> T.sync_warp()
    """
    _together("sync_warp")
    _ops.gpu_barrier()


# All threads of the block ---------------------------------------------------------------------------------------------


def _block_reduced(name: str, predicate: Any, kind: Any) -> Any:
    chosen = _predicate(name, predicate)
    threads = _together(name)
    votes = _fragment(threads, dtypes.int32)
    votes[thread_number(name)] = values.cast(chosen, dtypes.int32)
    total = _fragment(1, dtypes.int32)
    _ops.reduce(votes.value, total.value, kind=kind, dim=0)
    return Expr(total.load_element([0]).results[0], dtypes.int32)


def syncthreads_count(predicate: Any) -> Any:
    """Returns for how many threads of the block a condition holds, to all of them.

    - `predicate`: a condition, or an integer, which counts as one that holds if it is not zero.

    >>> positive = T.syncthreads_count(x > 0)
    """
    return _block_reduced("syncthreads_count", predicate, "sum")


def syncthreads_and(predicate: Any) -> Any:
    """Returns 1 if a condition holds for all threads of the block, else 0; see `T.syncthreads_count`.

    >>> flag = T.syncthreads_and(x > 0)
    """
    return _block_reduced("syncthreads_and", predicate, "min")


def syncthreads_or(predicate: Any) -> Any:
    """Returns 1 if a condition holds for some thread of the block, else 0; see `T.syncthreads_count`.

    >>> flag = T.syncthreads_or(x > 0)
    """
    return _block_reduced("syncthreads_or", predicate, "max")


# Bits -----------------------------------------------------------------------------------------------------------------


def __ffs(value: Any) -> Any:
    """Returns the place of the lowest bit of an integer that is set, counted from one; 0 if none is.

    >>> T.__ffs(12)
    3
    """
    number = integer_operand("__ffs", value)
    if not isinstance(number, Expr):
        return (int(number) & -int(number)).bit_length()
    # The bits below the lowest one, and that one itself; of zero they are all, and so is the number of bits.
    below = popcount(binary("xor", number, binary("sub", number, 1)))
    return select(binary("eq", number, 0), 0, below)


def __fns(mask: Any, base: Any, offset: Any) -> Any:
    """Returns the place of a bit that is set in `mask`, counted from zero; 0xFFFFFFFF if there is none.

    - `mask`: an integer, of which 32 bits count.
    - `base`: where the search begins, 0 to 31.
    - `offset`: which one it is from there: 1 for the first at `base` or above, −1 for the first at or below; 0 for the
      one at `base` itself.

    >>> second = T.__fns(k, 0, 2)
    """
    word = expr(mask & _ALL if isinstance(mask, int) else integer_operand("__fns", mask), dtypes.uint32)
    start, count = (expr(integer_operand("__fns", number), dtypes.int32) for number in (base, offset))
    # How many are still to be found; the only one that is looked at for 0 is the first.
    left = alloc_var("int32", binary("max", absolute(count), 1))
    found = alloc_var("uint32", _ALL)
    step = select(binary("lt", count, 0), -1, 1)
    with serial(select(binary("eq", count, 0), 1, WARP)) as i:
        at = expr(binary("add", start, binary("mul", step, i)), dtypes.int32)
        bit = binary("and", binary("shr", word, expr(binary("and", at, WARP - 1), dtypes.uint32)), 1)
        inside = binary("and", binary("ge", at, 0), binary("lt", at, WARP))
        is_set = binary("and", inside, binary("eq", bit, 1))
        left.set(select(is_set, binary("sub", left, 1), left))
        is_it = binary("and", is_set, binary("eq", left, 0))
        found.set(select(is_it, expr(at, dtypes.uint32), found))
    return found.load()
