"""Random numbers: the same on every target, however the work is spread over threads.

They are those of Philox4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC'11): a function of a
key, which is the seed, and of a counter of 128 bits, whose upper half is the sequence, and whose lower half says which
four numbers of it. So there is no state but the place in the sequence, and an iteration of `T.Parallel` can compute its
numbers without those before it.
"""

from __future__ import annotations

import math
from functools import reduce

from .. import dtypes
from ..builder import current, unsupported
from ..errors import ArgumentError, DTypeError, TLSyntaxError
from ..expr import place
from ..typed import TYPE_CHECKING
from ..typed import cast as _typed
from ..values import Expr, binary, cast, expr, select, simplify
from .hints import ignored
from .kernel import linear_block, opened_kernel
from .loops import Parallel, serial
from .scalar import log, sin, sqrt
from .tile import alloc_var

if TYPE_CHECKING:
    from typing import Any, Literal

    from ..ir import Op, Value

__all__ = ["rng_init", "rng_rand", "rng_rand_float"]

_GENERATOR = "curandStatePhilox4_32_10_t"
_OTHER_GENERATORS = "curandStateXORWOW_t", "curandStateMRG32k3a_t"
_ROUNDS = 10
_FACTORS = 0xD2511F53, 0xCD9E8D57
_KEY_STEPS = 0x9E3779B9, 0xBB67AE85
_WORD = dtypes.uint32
_WIDE = dtypes.uint64


# The generator -------------------------------------------------------------------------------------------------------


def philox(counter: list[Any], key: list[Any]) -> list[Any]:
    """Returns four numbers of 32 bits, given a counter of four and a key of two, the low ones first."""
    a, b, c, d = counter
    first, second = key
    for _ in range(_ROUNDS):
        (low_a, high_a), (low_c, high_c) = (_product(word, by) for word, by in zip((a, c), _FACTORS, strict=True))
        a, b = binary("xor", binary("xor", high_c, b), first), low_c
        c, d = binary("xor", binary("xor", high_a, d), second), low_a
        first, second = (binary("add", k, step) for k, step in zip((first, second), _KEY_STEPS, strict=True))
    return [a, b, c, d]


def _product(word: Any, factor: int) -> tuple[Any, Any]:
    """Returns the halves of a product, the low one first.

    The low one is a product of 32 bits, of which GPUs make one instruction with the high one; halves of one number of
    64 bits become operations on pairs of registers.
    """
    _, high = _words(binary("mul", cast(word, _WIDE), factor))
    return binary("mul", cast(word, _WORD), cast(factor, _WORD)), high


def _words(number: Any) -> tuple[Any, Any]:
    """Returns the halves of an integer of 64 bits, the low one first."""
    return cast(number, _WORD), cast(binary("shr", number, 32), _WORD)


class Stream:
    """What is drawn behind a `T.rng_init`: numbers of a sequence, one after the other.

    Iterations of a `T.Parallel` draw as if they came one after the other, and each as many numbers as its body has
    places that draw: the place in the sequence is computed of the loop's indices.
    """

    def __init__(self, seed: Any, sequence: Any, first: Any) -> None:
        self._key = list(_words(seed))
        self._sequence = list(_words(sequence))
        self._block = current().block
        self._next = alloc_var(_WIDE, first)
        """The place in the sequence of what is drawn next; in a `T.Parallel`, by its first iteration."""
        self.location = place()
        self._bodies: dict[Parallel | serial, _Body] = {}
        """The loops that are open and draw, from a `T.Parallel` inwards."""

    @property
    def values(self) -> list[Value]:
        """What says which sequence it is, but for numbers."""
        return [number.value for number in (*self._key, *self._sequence) if isinstance(number, Expr)]

    @property
    def position(self) -> Value:
        """The variable that says how far it is."""
        return self._next.buffer.value

    def draw(self, name: str) -> Any:
        """Returns the next number, of 32 bits."""
        at = self._advance(name)
        low, high = _words(binary("shr", at, 2))
        words = philox([low, high, *self._sequence], self._key)
        which = binary("and", at, 3)
        chosen = words[3]
        for k in (2, 1, 0):
            chosen = select(binary("eq", which, k), words[k], chosen)
        return chosen

    def _advance(self, name: str) -> Any:
        """Returns the place of the next number in the sequence, and goes on behind it."""
        loops = self._loops(name)
        at: Any = self._next.load()
        if not loops:
            self._next.set(binary("add", at, 1))
            return at
        for outer, loop in zip([None, *loops], loops, strict=False):
            if loop not in self._bodies:
                self._bodies[loop] = _Body(loop)
                loop.afterwards.append(lambda outer=outer, loop=loop: self._close(outer, loop))
            at = binary("add", at, self._bodies[loop].place())
        self._bodies[loops[-1]].count += 1
        return at

    def _loops(self, name: str) -> list[Parallel | serial]:
        """Returns the `T.Parallel` that draws, unless the stream began in it, and the loops inside of it."""
        found: list[Parallel | serial] = []
        is_known = True
        for block in current().block.ancestors():
            if block is self._block:
                return []
            if isinstance(block.frame, Parallel | serial):
                found.insert(0, block.frame)
            is_known &= not isinstance(block.frame, serial) or block.frame.trips() is not None
            is_known &= block.label not in ("`while`", "the condition of a loop")
            if isinstance(block.frame, Parallel):
                break
        if not self._block.is_visible_from(current().block):
            raise TLSyntaxError(
                f"`T.{name}` draws from a `T.rng_init` that stands inside {self._block.label}, which has ended: put "
                f"`T.rng_init` before it",
                location=place(),
            )
        if not is_known:
            raise unsupported(
                f"how many numbers an iteration of `T.Parallel` draws must be known, and this `T.{name}` is in a loop "
                f"that runs as often as is known later: begin a sequence for each iteration, with "
                f"`T.rng_init(seed, seq)` in the `T.Parallel`"
            )
        return found

    def _close(self, outer: Parallel | serial | None, loop: Parallel | serial) -> None:
        """Goes on behind what all iterations of a loop draw."""
        body = self._bodies.pop(loop)
        body.close()
        if outer is not None:
            self._bodies[outer].count += body.count * (_typed("serial", loop).trips() or 0)
            return
        extents = (binary("max", extent, 0) for extent in _typed("Parallel", loop).extents)
        total = reduce(lambda a, b: binary("mul", a, cast(b, _WIDE)), extents, expr(body.count, _WIDE))
        self._next.set(binary("add", self._next, total))


class _Body:
    """What an iteration of a loop draws, while the body is being built."""

    def __init__(self, loop: Parallel | serial) -> None:
        self._loop = loop
        self.count = 0
        """How many places have drawn so far, each as often as it does."""
        self._uses: list[Op] = []

    def place(self) -> Any:
        """Returns how many numbers the loop has drawn here: in iterations before this one, and in this one."""
        # How many it is in an iteration is known when the body ends.
        op = current().emit("arith.constant", (), (_WIDE.mlir,), {"value": f"0 : {_WIDE.mlir}"})
        self._uses.append(op)
        return binary("add", binary("mul", self._number(), Expr(op.results[0], _WIDE)), self.count)

    def _number(self) -> Any:
        """Returns the number of the iteration."""
        if isinstance(self._loop, serial):
            return cast(expr(self._loop.number()), _WIDE)
        number: Any = expr(0, _WIDE)
        for index, extent in zip(self._loop.indices, self._loop.extents, strict=True):
            number = binary("add", binary("mul", number, cast(extent, _WIDE)), cast(index, _WIDE))
        return number

    def close(self) -> None:
        """Says how many numbers an iteration draws."""
        for op in self._uses:
            op.properties["value"] = f"{self.count} : {_WIDE.mlir}"


# What programs call --------------------------------------------------------------------------------------------------


def _integer(number: Any, what: str) -> Any:
    found = simplify(number)
    if isinstance(found, float) or (isinstance(found, Expr) and not found.dtype.is_integer):
        raise DTypeError(f"`{what}` of `T.rng_init` is an integer, not `{number!r}`", location=place())
    return expr(found, _WIDE) if isinstance(found, Expr) else expr(found & _WIDE.range[1], _WIDE)


def rng_init(seed: Any, seq: Any = None, off: Any = 0, generator: str = "curandStatePhilox4_32_10_t") -> None:
    """Begins a sequence of random numbers, which `T.rng_rand` and `T.rng_rand_float` draw from then on.

    The numbers depend on the three integers, of 64 bits, and on nothing else: they are the same on every target. What
    a block draws, it draws in order; the iterations of a `T.Parallel` draw as if they came one after the other, so that
    no two get the same number. A sequence has 2^64 numbers.

    - `seed`: chooses all sequences.
    - `seq`: which sequence; that of the block's number in the grid, x fastest, if not given. One that depends on the
      thread gives each thread its own, and one that depends on an index of the `T.Parallel` around it each iteration.
    - `off`: which number of the sequence is the first.
    - `generator`: Philox4x32-10, under the name that cuRAND has for it. For another of cuRAND's there are its numbers
      too, which a warning says: the same distributions, and not what cuRAND would give.

    >>> T.rng_init(42)
    >>> for i in T.Parallel(64):
    ...     C[0, i] = T.rng_rand_float()
    """
    if generator in _OTHER_GENERATORS:
        ignored(f"`{generator}`, whose state only one thread can go through,", "the numbers are those of Philox4x32-10")
    elif generator != _GENERATOR:
        raise ArgumentError(
            f'`generator` of `T.rng_init` is "{_GENERATOR}", not `{generator!r}`: leave it out', location=place()
        )
    kernel = opened_kernel("`T.rng_init`")
    sequence = linear_block(kernel) if seq is None else _integer(seq, "seq")
    kernel.streams.append(Stream(_integer(seed, "seed"), cast(sequence, _WIDE), _integer(off, "off")))


def _stream(name: str) -> Stream:
    streams = opened_kernel(f"`T.{name}`").streams
    if not streams:
        raise TLSyntaxError(f"`T.{name}` needs a `T.rng_init(seed)` before it in the kernel", location=place())
    return streams[-1]


def rng_rand() -> Any:
    """Returns the next random number of the sequence that `T.rng_init` began, a `uint32`; all are as likely.

    In a `T.Parallel` each place that draws has its own number, whether a condition lets it draw or not.

    >>> T.rng_init(42)
    >>> n[0] = (T.rng_rand() % 6).astype("int32")
    """
    return _stream("rng_rand").draw("rng_rand")


def rng_rand_float(bit: Literal[32, 64] = 32, dist: Literal["uniform", "normal"] = "uniform") -> Any:
    """Returns a random float of the sequence that `T.rng_init` began.

    - `bit`: 32 for `float32`, 64 for `float64`.
    - `dist`: "uniform" for numbers above 0 up to 1, of 32 or 53 random digits; "normal" for those of mean 0 and
      variance 1, by Box and Muller, computed in `float64` and rounded once.

    A uniform `float32` takes one number of the sequence, a `float64` two, and normal ones twice as many.

    >>> t = T.get_thread_binding()
    >>> T.rng_init(42, seq=t)
    >>> C[t // 64, t % 64] = T.rng_rand_float(dist="normal")
    """
    if bit not in (32, 64):
        raise ArgumentError(f"`bit` of `T.rng_rand_float` is 32 or 64, not `{bit!r}`", location=place())
    if dist not in ("uniform", "normal"):
        raise ArgumentError(f'`dist` of `T.rng_rand_float` is "uniform" or "normal", not `{dist!r}`', location=place())
    if dist == "uniform":
        return _uniform(bit, dtypes.float32 if bit == 32 else dtypes.float64)
    size, turn = (_uniform(bit, dtypes.float64) for _ in range(2))
    radius = sqrt(binary("mul", log(size), -2.0))
    return cast(binary("mul", radius, sin(binary("mul", turn, 2 * math.pi))), f"float{bit}")


def _uniform(bit: int, dtype: Any) -> Any:
    """Returns a number above 0 up to 1: the middle of one of as many parts as there are random integers."""
    stream = _stream("rng_rand_float")
    number = stream.draw("rng_rand_float")
    digits = 32
    if bit == 64:
        high, low = (cast(word, _WIDE) for word in (number, stream.draw("rng_rand_float")))
        number = binary("add", binary("shl", binary("shr", high, 5), 26), binary("shr", low, 6))
        digits = 53
    return binary("add", binary("mul", cast(number, dtype), 2.0**-digits), 2.0 ** (-digits - 1))
