"""Reductions over the threads of a block, along dimensions of the block, as programs of TVM write them."""

from __future__ import annotations

import contextlib
import itertools
import math

from ..buffers import Buffer, Element, alloc
from ..builder import current
from ..errors import ArgumentError, TLSyntaxError
from ..expr import place, shortened
from ..typed import TYPE_CHECKING
from ..values import binary, expr, known
from .barriers import sync_threads
from .hints import ignored
from .kernel import Binding, ThreadCoordinate, get_thread_bindings, opened_kernel
from .warps import WARP, Lane, moved

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Any

__all__ = ["attr", "comm_reducer", "evaluate", "tvm_thread_allreduce"]


class Combiner:
    """A function that combines two numbers, and the number that changes none."""

    def __init__(self, function: Callable[[Any, Any], Any], identity: Sequence[Any]) -> None:
        self.function = function
        self.identity = identity


def comm_reducer(fcombine: Callable[[Any, Any], Any], identity: Sequence[Any]) -> Combiner:
    """Returns what combines numbers in the `T.tvm_thread_allreduce` of the `T.attr` that it is given to.

    - `fcombine`: a function of two numbers, such as `lambda x, y: x + y`, for which their order does not matter.
    - `identity`: a list of the number that changes no other.

    >>> value = T.alloc_local((1,), "float32")
    >>> out = T.alloc_local((1,), "float32")
    >>> value[0] = x
    >>> with T.attr(T.comm_reducer(lambda x, y: T.max(x, y), [T.min_value("float32")]), "reduce_scope", None):
    ...     T.tvm_thread_allreduce(T.uint32(1), value[0], True, out[0], T.get_thread_binding())
    """
    if not callable(fcombine):
        raise ArgumentError(f"`fcombine` of `T.comm_reducer` is a function, not `{fcombine!r}`", location=place())
    return Combiner(fcombine, identity)


@contextlib.contextmanager
def attr(node: Any, attr_key: str, value: Any) -> Generator[None]:
    """Says how `T.tvm_thread_allreduce` in its body combines numbers, or that copies there may run ahead.

    - `node`: a `T.comm_reducer`.
    - `attr_key`: "reduce_scope". "async_scope" is a hint, without effect: the compiler knows which copies may.
    - `value`: nothing that counts.

    >>> value = T.alloc_local((1,), "float32")
    >>> out = T.alloc_local((1,), "float32")
    >>> value[0] = x
    >>> with T.attr(T.comm_reducer(lambda x, y: x + y, [0.0]), "reduce_scope", None):
    ...     T.tvm_thread_allreduce(T.uint32(1), value[0], True, out[0], T.get_thread_binding())
    """
    if attr_key == "async_scope":
        ignored('`T.attr(..., "async_scope", ...)`', "copies run ahead where the compiler finds that they may")
        yield
        return
    if attr_key != "reduce_scope" or not isinstance(node, Combiner):
        raise ArgumentError(
            f'`T.attr` takes a `T.comm_reducer` and "reduce_scope", not `{shortened(node)}` and `{attr_key!r}`: other '
            f"attributes belong to TVM's own IR, which is not underneath here",
            location=current().here(),
        )
    builder = current()
    outer, builder.combiner = builder.combiner, node.function
    try:
        yield
    finally:
        builder.combiner = outer


def evaluate(value: Any) -> None:
    """Does nothing: what its argument does is done when that is built.

    >>> T.evaluate(T.atomic_add(C[0, 0], 1.0))
    """


def tvm_thread_allreduce(*args: Any, dtype: Any = "handle") -> None:
    """Combines a number of each thread with those of other threads of the block, and gives each the result.

    The threads are those that differ in the coordinates that are named. By their numbers, the first half of them is
    combined with the second, one with one, and so on until one is left. It is a statement of the whole block.

    - `args`: `T.uint32(1)`; the number; True; an element for the result; and coordinates of the thread,
      `T.get_thread_binding(dim)`, along which numbers are combined.
    - `dtype`: "handle".

    >>> value = T.alloc_local((1,), "float32")
    >>> out = T.alloc_local((1,), "float32")
    >>> value[0] = x
    >>> with T.attr(T.comm_reducer(lambda x, y: x + y, [0.0]), "reduce_scope", None):
    ...     T.evaluate(T.tvm_thread_allreduce(T.uint32(1), value[0], True, out[0], T.get_thread_binding()))
    """
    location = current().here()
    combine = current().combiner
    if combine is None:
        raise TLSyntaxError(
            "`T.tvm_thread_allreduce` stands in `with T.attr(T.comm_reducer(...), ...)`, which says how to combine",
            location=location,
        )
    if len(args) < 5 or known(args[0]) != 1 or known(args[2]) != 1:
        raise ArgumentError(
            "`T.tvm_thread_allreduce` takes 1, a number, True, an element and coordinates of the thread",
            location=location,
        )
    _, value, _, out, *along = args
    if not isinstance(out, Element):
        raise TLSyntaxError(
            f"the result of `T.tvm_thread_allreduce` is an element, such as `total[0]`, not `{out!r}`",
            location=location,
        )
    element = out.dtype
    target, where = out.buffer, tuple(out.as_place())
    dims = [_dimension(coordinate) for coordinate in along]
    extents = opened_kernel("`T.tvm_thread_allreduce`").threads
    number = expr(value, element)
    size = _segment(extents, [d for d in dims if d is not None])
    if size is not None and number.dtype.kind != "bool":
        target[where] = _combined_by_shuffles(number, size, combine)
        return
    given = alloc(extents, element, "shared")
    own = get_thread_bindings()
    given[tuple(own)] = number
    sync_threads()  # what makes it a statement of the whole block, which is refused where only some threads go
    target[where] = _combined(given, own, [d for d in dims if d is not None], combine)


def _dimension(coordinate: Any) -> int | None:
    """Returns the dimension of a coordinate of the thread; None for one along which there is one thread."""
    if isinstance(coordinate, Binding):
        coordinate = coordinate.coordinate
    if isinstance(coordinate, ThreadCoordinate):
        return coordinate.dim
    if known(coordinate) == 0:
        return None
    raise ArgumentError(
        f"`T.tvm_thread_allreduce` combines along `T.get_thread_binding(dim)`, not along `{coordinate!r}`",
        location=current().here(),
    )


def _segment(extents: Sequence[int], dims: Sequence[int]) -> int | None:
    """Returns how many lanes that follow each other are combined, if no warp has threads of others' segments or lacks
    some of its own: by shuffles then, which need neither memory nor barriers."""
    threads = math.prod(extents)
    named = [extent > 1 and d in dims for d, extent in enumerate(extents) if extent > 1]
    size = math.prod(extent for d, extent in enumerate(extents) if d in dims)
    is_first = named == sorted(named, reverse=True)
    return size if is_first and threads % WARP == 0 and size in (1, 2, 4, 8, 16, 32) else None


def _combined_by_shuffles(number: Any, size: int, combine: Callable[[Any, Any], Any]) -> Any:
    """Returns what the threads of a segment make, to each of them."""
    lane = Lane("tvm_thread_allreduce")
    distance = size // 2
    while distance:
        # Right in the first half of the threads that are left. The others combine too, and nobody asks them.
        number = moved(combine(number, lane.read(number, binary("xor", lane.lane, distance))))
        distance //= 2
    return number if size == 1 else lane.read(number, binary("and", lane.lane, -size))


def _combined(given: Buffer, own: tuple[Any, ...], dims: list[int], combine: Callable[[Any, Any], Any]) -> Any:
    """Returns what the numbers of the threads that differ from this one along some dimensions make."""
    ranges = [range(int(known(e) or 0)) if d in dims else (own[d],) for d, e in enumerate(given.shape)]
    numbers: list[Any] = [given[tuple(reversed(threads))] for threads in itertools.product(*reversed(ranges))]
    # By halves: of so many roundings few follow each other.
    while len(numbers) > 1:
        half = (len(numbers) + 1) // 2
        pairs = zip(numbers[:half], numbers[half:], strict=False)
        numbers = [combine(a, b) for a, b in pairs] + numbers[len(numbers) - half : half]
    return numbers[0]
