"""The random programs of `test/fuzz/programs` themselves: what they hold the compiler to must be right."""

import contextlib
import copy
import dataclasses
import itertools
import pathlib
import random
import re
import sys
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fuzz"))

from programs import arithmetic, bitwise, data, generator, names, printer, reach, reference, shrinker
from programs.aliases import possible_aliases
from programs.elements import PACKED, Number, decoded, encoded, neighbour, number, rounded
from programs.execution import Others, Outcome, Path, build, execute
from programs.features import Features
from programs.literals import draw_literals
from programs.program import (
    Alloc,
    Assign,
    Binary,
    Buffer,
    Cast,
    Compare,
    Const,
    Copy,
    Feed,
    Fill,
    Gemm,
    Groups,
    If,
    Kernel,
    Load,
    Name,
    Parallel,
    Part,
    Persistent,
    Pipeline,
    Program,
    Ring,
    Side,
    Tensor,
    printing,
)
from programs.rounding import nearest_in

import tilec.language as T
from tilec.backends import sim

SMALL = {
    "bfloat16": ml_dtypes.bfloat16,
    "float16": np.float16,
    "float8_e4m3": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
}


@pytest.mark.parametrize("dtype", SMALL)
def test_numbers_are_rounded_and_laid_out_as_other_libraries_do(dtype):
    random = np.random.default_rng(0)
    values = np.ldexp(random.standard_normal(4000), random.integers(-30, 20, 4000))
    values = np.concatenate([values, [0.0, -0.0, np.inf, -np.inf, np.nan, 448.0, 464.0, 465.0, 65519.0, 65520.0, 1e-9]])
    values = values.astype(np.float32).astype(np.float64)  # the libraries convert from single precision
    with np.errstate(over="ignore"):
        right = values.astype(np.float32).astype(SMALL[dtype])
    ours = rounded(values, dtype)
    np.testing.assert_array_equal(ours, right.astype(np.float64))
    memory = encoded(ours, dtype)
    finite = ~np.isnan(ours)
    np.testing.assert_array_equal(memory.view(right.view(f"u{right.itemsize}").dtype)[finite],
                                  right.view(f"u{right.itemsize}")[finite])  # fmt: skip
    np.testing.assert_array_equal(decoded(memory, dtype), ours)


@pytest.mark.parametrize("dtype", PACKED)
def test_numbers_of_4_bits_share_bytes(dtype):
    memory = np.arange(256, dtype=np.uint8)
    values = decoded(memory, dtype)
    codes = np.stack([memory & 15, memory >> 4], -1).reshape(-1)
    np.testing.assert_array_equal(values.astype(np.float32), codes.view(getattr(ml_dtypes, dtype)).astype(np.float32))
    np.testing.assert_array_equal(encoded(values, dtype), memory)


def test_numbers_become_those_of_4_bits():
    random = np.random.default_rng(0)
    numbers = np.concatenate([random.uniform(-9, 9, 4000), np.arange(-36, 37) / 4, [1e30, -np.inf]])
    right = np.clip(numbers, -6, 6).astype(np.float32).astype(ml_dtypes.float4_e2m1fn).astype(np.float64)
    found = arithmetic.cast(Number("float64", numbers.astype(np.float32).astype(np.float64)), "float4_e2m1fn").low
    np.testing.assert_array_equal(found, right)
    assert arithmetic.cast(number(np.nan, "float32"), "float4_e2m1fn").low == 6
    integers = Number("int32", np.array([7, 8, -8, -9, 255], np.int32))
    assert arithmetic.cast(integers, "int4").low.tolist() == [7, -8, -8, 7, -1]
    assert arithmetic.cast(integers, "uint4").low.tolist() == [7, 8, 8, 7, 15]
    assert arithmetic.cast(number(9.7, "float32"), "int4").low == 7


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_fractions_are_rounded_as_by_other_libraries(dtype):
    contents = data.contents(Tensor(Buffer("A", dtype, (2, 400), "global"), "extreme", 1))
    kind = SMALL.get(dtype, np.dtype(dtype))
    for a, b in contents.T:
        with np.errstate(all="ignore"):
            right = np.add(a, b, dtype=np.float64).astype(kind).astype(np.float64)
        exact = Fraction(a) + Fraction(b)
        if dtype == "float64" or exact == Fraction(a + b):  # NumPy rounds once
            assert nearest_in(exact, "rn", dtype) == right
        low, high, inwards = (nearest_in(exact, mode, dtype) for mode in ("rd", "ru", "rz"))
        assert low <= exact <= high
        assert low == high == exact or neighbour(np.array(low), np.array(np.inf), dtype) == high
        assert inwards == (low if exact > 0 else high)


def test_integers_become_floats_in_one_rounding():
    values = np.array([2**53 + 1, 2**62 + 2**54 + 1, -(2**63), 2**63 - 1], np.int64)
    found = arithmetic.cast(Number("int64", values), "bfloat16").low
    assert found.tolist() == [2.0**53, 2.0**62 + 2.0**55, -(2.0**63), 2.0**63]
    wide = np.array([0x5A5A5A5A5A5A5A5A, 2**64 - 1, 2**53 + 3], np.uint64)
    assert arithmetic.cast(Number("uint64", wide), "float64").low.tolist() == [float(int(v)) for v in wide]


@pytest.mark.parametrize(
    ("op", "dtype", "a", "b", "right"),
    [
        ("//", "int32", 7, 0, 0),
        ("%", "int32", 7, 0, 0),
        ("//", "int8", -128, -1, -128),
        ("%", "int8", -128, -1, 0),
        ("//", "int32", -7, 2, -4),
        ("%", "int32", -7, 2, 1),
        ("ceildiv", "int32", -7, 2, -3),
        ("<<", "int32", 1, -1, 0),
        (">>", "int32", -5, 77, -1),
        (">>", "uint8", 200, 9, 0),
        ("*", "int8", 100, 3, 44),
        ("+", "uint8", 255, 1, 0),
    ],
)
def test_integer_arithmetic(op, dtype, a, b, right):
    assert arithmetic.binary(op, number(a, dtype), number(b, dtype)).low == right


@pytest.mark.parametrize(
    ("value", "dtype", "right"),
    [(3.9, "int8", 3), (-3.9, "int8", -3), (1e9, "int8", 127), (-1.0, "uint16", 0), (np.nan, "int32", 0),
     (1e30, "int64", 2**63 - 1), (np.inf, "uint64", 2**64 - 1)],
)  # fmt: skip
def test_floats_become_integers_by_saturation(value, dtype, right):
    assert arithmetic.cast(number(value, "float64"), dtype).low == right


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_neighbours_are_those_of_other_libraries(dtype):
    numbers = np.arange(1 << 16, dtype=np.uint16).view(SMALL[dtype])
    goals = np.random.default_rng(0).permutation(numbers)
    with np.errstate(invalid="ignore"):
        right = np.where(numbers == goals, goals, np.nextafter(numbers, goals)).astype(np.float64)
        ours = neighbour(numbers.astype(np.float64), goals.astype(np.float64), dtype)
    np.testing.assert_array_equal(ours, right)
    np.testing.assert_array_equal(np.signbit(ours[right == 0]), np.signbit(right[right == 0]))


def test_what_may_be_rounded_or_not_is_an_interval():
    a = number(1 + 2.0**-10, "float16")
    product = arithmetic.binary("*", a, a)
    assert not product.is_exact
    assert product.low == 1 + 2.0**-9
    assert product.high == 1 + 2.0**-9 + 2.0**-20
    with pytest.raises(arithmetic.Invalid, match="known within bounds"):
        arithmetic.compare("<", product, number(1 + 2.0**-9 + 2.0**-21, "float16"))


def test_a_sum_of_a_product_halfway_between_numbers_goes_up_with_something_tiny():
    """In one rounding from 273 and 2⁻¹³³, of which `float64` holds 273 alone."""
    product = arithmetic.binary("*", number([39.0], "bfloat16"), number([7.0], "bfloat16"))
    total = arithmetic.binary("+", product, number([2.0**-133], "bfloat16"))
    assert (total.low, total.top) == (272.0, 274.0)


def test_infinity_times_what_may_be_zero_is_not_known():
    around_zero = Number("float32", np.array(-1e-40), np.array(1e-40))
    infinite = number(float("inf"), "float32")
    for one, other in ((around_zero, infinite), (infinite, around_zero)):
        with pytest.raises(arithmetic.Invalid, match="may be infinite by what may be zero"):
            arithmetic.binary("*", one, other)


@pytest.mark.parametrize("place", range(3))
def test_products_of_what_may_be_infinite_or_not_are_not_known(place):
    """As an element is whose product may be contracted: times 0 it is 0 or NaN."""
    operands = [number([[0.0]], dtype) for dtype in ("float16", "float16", "float32")]
    operands[place] = Number(operands[place].dtype, np.array([[65504.0]]), np.array([[np.inf]]))
    with pytest.raises(arithmetic.Invalid, match="may be infinite or not"):
        arithmetic.matrix_product(*operands)


def test_sums_are_exact_as_long_as_no_order_matters():
    exact = arithmetic.total(Number("float32", np.arange(64.0)), 0)
    assert exact.is_exact
    assert exact.low == 2016
    vague = arithmetic.total(Number("float32", np.array([1.0, 2.0**30, -(2.0**30)])), 0)
    assert not vague.is_exact
    assert vague.low <= 0 <= 1 <= vague.high


# Programs that are not valid ------------------------------------------------------------------------------------------

A = Buffer("A", "int32", (8,), "global")
S = Buffer("S", "int32", (8,), "shared")
I = Name("index", "i")  # noqa: E741
ZERO, ONE = Const("index", 0), Const("index", 1)


def program(*body, grid=1):
    kernel = Kernel((Const("index", grid),), ("b",), (32,), list(body))
    return Program(0, [Tensor(A, "small", 0)], [], [kernel])


def loop(*body):
    return Parallel(("i",), (8,), list(body))


def whole(buffer):
    return Side(buffer, (ZERO,), (8,), "whole")


def part(buffer, length):
    return Side(buffer, (ZERO,), (8,), "region", (), (Const("index", length),))


@pytest.mark.parametrize(
    ("message", "body", "grid"),
    [
        ("nothing has written", [Alloc(S), loop(Assign(A, (I,), Load(S, (I,))))], 1),
        ("two iterations write", [loop(Assign(A, (ZERO,), Const("int32", 1)))], 1),
        ("what another", [loop(Assign(A, (I,), Load(A, (Binary("-", Const("index", 7), I),))))], 1),
        ("beyond the end", [Alloc(S), Fill(S), loop(Assign(A, (I,), Load(S, (Binary("+", I, I),))))], 1),
        ("what another", [loop(Assign(A, (I,), Const("int32", 1)))], 2),
        ("beyond the end", [Alloc(S), Copy(Side(A, (ZERO,), (8,), "whole"), Side(S, (ONE,), (8,), "position"))], 1),
        ("nothing has written", [Alloc(S), Copy(part(A, 7), part(S, 7)), Copy(whole(S), whole(A))], 1),
        ("longer than the other side", [Alloc(S), Fill(S), Copy(part(S, 9), whole(A))], 1),
        ("a length that the other side has not", [Alloc(S), Copy(part(A, 5), part(S, 4))], 1),
    ],
)
def test_what_is_undefined_is_found(message, body, grid):
    with pytest.raises(arithmetic.Invalid, match=message):
        reference.run(program(*body, grid=grid))


def test_what_a_condition_guards_is_not_read():
    safe = If(Compare("<", I, Const("index", 4)), [Assign(A, (I,), Load(S, (Binary("+", I, I),)))])
    found = reference.run(program(Alloc(S), Fill(S, Const("int32", 5)), loop(safe)))["A"]
    assert found.low[:4].tolist() == [5] * 4


def test_slices_of_computed_length_are_zero_behind_them_or_left_alone():
    """What the source's slice lacks is zero, and what is behind the target's stays as it is (T7)."""
    fives = [Alloc(S), Fill(S, Const("int32", 5))]
    before = reference.run(program())["A"].low.tolist()
    at_two = Side(S, (Const("index", 2),), (8,), "position")
    for copied, right in (
        (Copy(part(A, 3), whole(S)), before[:3] + [0] * 5),
        (Copy(part(A, 20), whole(S)), before),
        (Copy(part(A, 3), part(S, 3)), before[:3] + [5] * 5),
        (Copy(part(A, -1), part(S, -1)), [5] * 8),
        (Copy(whole(A), part(S, 6)), before[:6] + [5] * 2),
        (Copy(part(A, 3), at_two), [5, 5, *before[:3], 5, 5, 5]),
        (Fill(S, None, part(S, 6)), [0] * 6 + [5] * 2),
    ):
        assert reference.run(program(*fives, copied, Copy(whole(S), whole(A))))["A"].low.tolist() == right


# The generator and the shrinker ---------------------------------------------------------------------------------------


def test_a_seed_is_a_program():
    first, second = (printer.source(generator.draw(9, Features())[0]) for _ in range(2))
    assert first == second


def test_a_program_that_prints_is_the_same_otherwise():
    for seed in range(20, 26):
        program, _, _ = generator.draw(seed, Features().without(["wordings"]))  # they are drawn place by place
        before = printer.source(program).splitlines()
        after = printer.source(printing(program)).splitlines()
        assert [line for line in after if not line.lstrip().startswith("T.print(")] == before
        assert printer.source(program).splitlines() == before
    assert after != before


@pytest.mark.parametrize(
    ("way", "text"),
    [
        ("address", "make_tensor_from_addr"),
        ("narrow", "T.view"),
        ("wide", "T.view"),
        ("reshaped", "T.reshape(T.reshape"),
    ],
)
def test_tensors_have_second_names(way, text):
    """A program that reaches tensors at addresses, in memory of its own type or another, computes the same."""
    tried = 0
    for seed in itertools.count(40):
        program, expected, _ = generator.draw(seed, Features().without(["wordings", "clusters", "outside"]))
        ways = {t.buffer.name: way for t in program.tensors if way in possible_aliases(program, t)}
        program = dataclasses.replace(program, aliases=ways)
        source = printer.source(program)
        if not re.search(rf"\b({'|'.join(ways)})_at[0-9]+\[" if ways else "$^", source):
            continue
        assert text in source
        outcome = execute(program, expected, Path.parse("cpu"))
        assert outcome.status == "right", outcome.message
        tried += 1
        if tried == 3:
            break


def _worded(drawn, wording):
    """A drawn program, written with one of the ways that the printer has, and what else was drawn."""
    program, *rest = drawn
    return dataclasses.replace(program, wordings=(wording,)), *rest


def _run_those_with(wanted, drawn):
    """Runs programs whose text matches a pattern of `wanted`, which all have to be right, until each was seen."""
    for program, expected, _ in drawn:
        source = printer.source(program)
        found = {pattern for pattern in wanted if re.search(pattern, source)}
        if not found:
            continue
        outcome = execute(program, expected, Path.parse("cpu"))
        assert outcome.status == "right", outcome.message
        wanted -= found
        if not wanted:
            break


def test_variables_are_numbers_of_vectors():
    """A program whose variables are numbers of vectors, which it assigns to one by one and as a whole, is the same."""
    wanted = {r"_vector\[\d\] = ", r"_vector\[\d\] \+= ", r"_vector = T\.\w+x\d\("}
    features = Features().without(["aliases", "clusters", "outside"])
    _run_those_with(wanted, (_worded(generator.draw(seed, features), "vectors") for seed in itertools.count(200)))


def test_a_program_says_what_is_outside():
    for seed in itertools.count(60):
        program, _, _ = generator.draw(seed, Features().without(["wordings", "aliases", "clusters"]))
        kernel = next((k for k in program.kernels if k.outside), None)
        if kernel is None:
            continue
        assert f"T.annotate_safe_value({{{next(iter(kernel.outside))}: " in printer.source(program)
        expected = reference.run(program)
        assert execute(program, expected, Path.parse("cpu")).status == "right"
        break


def test_loops_are_written_in_each_other():
    """With indices that begin anywhere, jumps, and loops that run nothing; all of them are right."""
    wanted = {
        r"for .* in T.Parallel\(.*\n *for .* in T.Parallel\(",
        r"for (\w+) in T.parallel\([17], \d+\):\n",
        r"in T.Parallel\(.*\b(0|-3)\b.*\)",
        r"if not .*:\n *continue",
        r"\n +continue\n",
    }
    features = Features().without(["wordings", "clusters"])
    _run_those_with(wanted, (_worded(generator.draw(seed, features), "loops") for seed in itertools.count()))


def test_blocks_of_clusters_wait_at_barriers():
    wanted = {r"remote_barrier=came_0\)", r"ptx_arrive_cluster_barrier\(came_", r"T.get_cluster_extent\("}
    wanted.add(r"ptx_init_barrier_thread_count\(came_")
    sketches = ((seed, generator.sketch(seed, Features(), random.Random(f"{seed}.0"))) for seed in itertools.count())
    seeds = (seed for seed, program in sketches if any(kernel.cluster for kernel in program.kernels))
    _run_those_with(wanted, (generator.draw(seed, Features()) for seed in seeds))


def test_an_operand_may_be_of_another_type():
    """A conversion that the language makes is left out beside an operand that says the type, and nowhere else."""
    load = Load(Buffer("A", "int32", (4,), "global"), (Name("index", "i"),))
    other = Load(Buffer("B", "uint32", (4,), "global"), (Name("index", "i"),))
    mixed = Cast("uint32", load, mixed=True)
    assert printer.expr(Binary("-", mixed, other)) == "(A[i] - B[i])"
    assert printer.expr(Binary("-", mixed, Const("uint32", 3))) == '(T.cast(A[i], "uint32") - 3)'
    assert printer.expr(Compare("<", other, mixed)) == "(B[i] < A[i])"
    assert printer.expr(Binary("+", mixed, mixed)) == '(A[i] + T.cast(A[i], "uint32"))'
    assert printer.expr(mixed) == 'T.cast(A[i], "uint32")'


def test_numbers_have_the_types_of_tilelang_in_its_programs():
    tensor = Buffer("A", "int8", (8,), "global")
    sum_ = Binary("+", Load(tensor, (I,)), Const("int8", 100))
    drawn = program(loop(Assign(tensor, (I,), Binary("//", sum_, Const("int8", 3)))))
    drawn.tensors = [Tensor(tensor, "wide", 0)]
    texts = set()
    for seed in range(20):
        other = copy.deepcopy(drawn)
        draw_literals(other, random.Random(seed))
        assert execute(other, reference.run(other), Path.parse("cpu")).status == "right"
        texts.add(printer.source(other).splitlines()[-1].strip())
    assert texts >= {
        "A[i] = ((A[i] + T.int8(100)) // T.int8(3))",
        'A[i] = (T.cast((A[i] + 100), "int8") // T.int8(3))',
        'A[i] = T.cast((T.cast((A[i] + 100), "int8") // 3), "int8")',
    }


def test_features_can_be_left_out():
    features = Features().without(["gemms", "pipelines"])
    for seed in range(10):
        text = printer.source(generator.draw(seed, features)[0])
        assert "T.gemm" not in text
        assert "T.Pipelined" not in text


def test_names_of_the_language_are_drawn_or_tried_elsewhere():
    drawn, left = names.drawn(700), {name for entry in names.LEFT for name in entry.names.split()}
    public = set(T.__all__)
    assert sorted(public - drawn - left) == [], "a new name: draw it, or say why not"
    assert sorted(drawn & left) == [], "drawn by now"
    assert sorted(left - public) == []


@pytest.mark.parametrize("entry", names.LEFT, ids=lambda entry: f"{entry.where}-{entry.names.split()[0]}")
def test_names_that_are_not_drawn_are_tried_where_it_is_said(entry):
    text = (pathlib.Path(__file__).parent / entry.where).read_text()
    assert [name for name in entry.names.split() if not re.search(rf"\b{name}\b", text)] == []


def test_tiles_of_persistent_kernels_are_numbered_by_groups_of_rows():
    """Two blocks share three rows of two tiles: (0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)."""
    row, column, block = (Name("index", n) for n in ("r", "c", "b"))
    written = Assign(A, (Binary("+", Binary("*", row, Const("index", 2)), column),), Cast("int32", block))
    tiles = Persistent(("r", "c"), (3, 2), 2, block, 2, [written])
    found = reference.run(program(tiles, grid=2))["A"]
    assert found.low[:6].tolist() == [0, 0, 1, 1, 0, 1]


KINDS = (
    r"with T\.ws\(", r"elif t_", r"    if t_.* >= ", r"T\.shuffle_elect", r"T\.tma_copy", r"T\.ptx_cp_async",
    r"T\.vectorized", r"for stage in T\.unroll", r"_all\[0, :", r"R\d+p_1", r"% 1\b|_all\[0\b", r"% 4",
    r"phase\d_\d \^ 1", r"count\d_\d \+ 1", r"\(slot\d_\d \+ 1\)", r"\d+ - 1\) % ", r"full1\b", r"given\d_",
    r"T\.min\(A\d+\[", r"T\.ceildiv\(m_", r"n_k\d+ = T\.cast", r"x\d+ = A", r"if \(A.* >= 0\)", r"T\.reduce_",
    r"T\.gemm\(F", r"T\.gemm\(R.*:.*:", r"T\.sync_threads\(\d, ", r"empty\d_R", r"barriers\d", r"\) & 1",
    r"T\.set_max_nreg",
)  # fmt: skip
"""What stands in pipelines by hand."""


def test_pipelines_by_hand_are_of_all_kinds():
    features = Features(by_hand_alone=True)
    text = "".join(printer.source(generator.sketch(s, features, random.Random(f"{s}.0"))) for s in range(80))
    assert [kind for kind in KINDS if not re.search(kind, text)] == []


def test_a_share_of_the_programs_are_pipelines_by_hand():
    def drawn(features):
        return [printer.source(generator.sketch(s, features, random.Random(f"{s}.0"))) for s in range(40)]

    by_hand = ["T.alloc_barrier" in source for source in drawn(Features())]
    assert 1 <= sum(by_hand) <= 12
    without = drawn(Features(pipelines_by_hand=False))
    assert not any("T.alloc_barrier" in source for source in without)
    others = [source for source, is_by_hand in zip(drawn(Features()), by_hand, strict=True) if not is_by_hand]
    assert set(others) <= set(without)


@pytest.mark.parametrize(("form", "apart"), [("modulo", False), ("written", True), ("unroll", False)])
def test_slots_keep_what_they_hold(form, apart):
    """Even steps fill: the others find what the slot held two or three steps before."""
    tile = Buffer("R1p" if apart else "R1", "int32", (1, 8), "shared")
    source, out = Buffer("A", "int32", (6, 8), "global"), Buffer("O", "int32", (6, 8), "global")
    k, none = Name("index", "k1"), Const("index", 0)
    row = Copy(Side(source, (k, none), (1, 8), "position"), Side(tile, (none, none), (1, 8), "whole"))
    given = Copy(Side(tile, (none, none), (1, 8), "whole"), Side(out, (k, none), (1, 8), "position"))
    even = If(Compare("==", Binary("%", k, Const("index", 2)), none), [row])
    for slots in (2, 3):
        feed = Feed("k1", Const("index", 6), [even], [Part(0, [given])], form, "and", 0)
        groups = Groups((128, 128), ((0, 128),), (-1, 0), "ws", "copy", False, False, False, False, "all", 1, False)
        body = [Ring(tile, slots, apart, Const("int32", 100)), Pipeline(slots, (tile.name,), [], [feed], [], groups)]
        tensors = [Tensor(source, "small", 0), Tensor(out, "poison", 1)]
        drawn = Program(0, tensors, [], [Kernel((Const("index", 1),), ("b",), (256,), body)])
        expected = reference.run(drawn)
        a = expected["A"].low
        right = [a[s] if s % 2 == 0 else a[s - 3] if slots == 3 and s >= 3 else np.full(8, 100) for s in range(6)]
        np.testing.assert_array_equal(expected["O"].low, np.stack(right))
        outcome = execute(drawn, expected, Path.parse("cpu"))
        assert outcome.status == "right", outcome.message


# Seeds that are looked at from where one was found when this was written.
@pytest.mark.parametrize(("word", "mark", "first"), [("T.Persistent", "roles", 0), ("T.gemm", "late products", 188)])
def test_what_is_drawn_reaches_what_it_is_for(word, mark, first):
    """Loops are drawn whose copies have a thread of their own, and loops with a product that is done late."""
    for seed in (*range(first, 300), *range(first)):
        program = generator.sketch(seed, Features(), random.Random(f"{seed}.0"))
        source = printer.source(program)
        if not source.count("T.Pipelined") or source.count(word) <= (word == "T.gemm"):
            continue
        # The reference takes most of the time, and says whether it is one of those that are drawn.
        with contextlib.suppress(arithmetic.Invalid):
            reference.run(program)
            if mark in reach.marks(build(source).text, "sm_90a"):
                return
    pytest.fail(f"no program has {mark}")


def test_shrinking_leaves_what_fails():
    """Of a program of many statements the one is left that is asked for."""

    def fails(candidate):
        try:
            reference.run(candidate)
        except (arithmetic.Invalid, KeyError, ValueError, IndexError):
            return False
        return "T.Pipelined" in printer.source(candidate)

    large = next(p for p in (generator.draw(seed, Features())[0] for seed in range(50)) if fails(p))
    small = shrinker.shrink(large, fails, 60)
    assert len(printer.source(small)) < 600


def test_the_simulator_runs_them_under_several_seeds(monkeypatch):
    """Programs that are right under each of them, and one that some of them find wrong, which is told with the seed."""
    seeds = []
    set_options = sim.set_options

    def noted(*, seed, **options):
        seeds.append(seed)
        set_options(seed=seed, **options)

    monkeypatch.setattr(sim, "set_options", noted)
    program, expected, _ = generator.draw(3, Features())
    assert execute(program, expected, Path.parse("sm_90a/sim")).status == "right"
    assert seeds == [0, 4, 8]
    monkeypatch.setenv("TL_SIM_SEED", "2")
    monkeypatch.setattr("programs.execution._run", lambda *_: Outcome("wrong" if seeds[-1] == 6 else "right", "off"))
    outcome = execute(program, expected, Path.parse("sm_90a/sim"))
    assert (outcome.status, outcome.message) == ("wrong", "seed 6: off")
    assert seeds[3:] == [2, 6]
    set_options()


@pytest.mark.parametrize(
    ("dtype", "one", "other", "kind"),
    [
        ("int8", [1, 2], [1, 2], "equal"),
        ("int8", [1, 2], [1, 3], "more"),
        ("bool", [0, 1], [0, 0], "more"),
        ("float32", [1.0, np.nan], [1.0, -np.nan], "NaN"),
        ("float32", [0.0, np.nan], [-0.0, -np.nan], "zero"),
        ("float32", [1.0, 2.0], [1.0, np.nextafter(np.float32(2), np.float32(0))], "rounding"),
        ("float16", [1.0, 2.0], [1.0, 2.004], "more"),
        ("float32", [np.inf, 0.0], [np.nan, 0.0], "more"),
        ("float32", [np.inf, 0.0], [3.4e38, 0.0], "more"),
    ],
)
def test_differences_of_bits_have_a_kind(dtype, one, other, kind):
    found = bitwise.Comparison()
    found.add("A", dtype, *(np.array(values, dtype).view(np.uint8) for values in (one, other)))
    assert (found.worst, found.elements) == (kind, 2)
    assert ("`A`: " in found.first) == (kind != "equal")


@pytest.mark.parametrize(
    ("features", "classes"), [(["floats"], {"integers and copies"}), (["functions", "gemms"], {"arithmetic of floats"})]
)
def test_programs_have_the_class_of_what_they_may_contain(features, classes):
    drawn = [generator.draw(seed, Features().without(features))[0] for seed in range(8)]
    assert {bitwise.class_of(program) for program in drawn} <= classes | {"integers and copies"}


def test_products_with_arithmetic_that_may_be_contracted_are_no_products_alone():
    """One with `f16(x) * f16(n) - -1.0` was off by 2 on an H200, which contracts it, as the simulator does not."""
    tile, place = Buffer("F", "float16", (16, 16), "fragment"), (Name("index", "i"), Name("index", "j"))
    number = Load(tile, place)
    product = Binary("*", number, number)

    def multiplied(op):
        loop = Parallel(("i", "j"), (16, 16), [Assign(tile, place, Binary(op, product, Const("float16", -1.0)))])
        return program(Gemm(tile, tile, tile), loop)

    assert bitwise.class_of(multiplied("-")) == "arithmetic of floats"
    assert bitwise.class_of(multiplied("max")) == "products of floats"
    assert not bitwise.is_finding(multiplied("max"), "rounding")
    assert bitwise.is_finding(multiplied("max"), "more")


def test_bits_are_compared_with_those_of_the_first_path():
    """The element is exact, so that bits that differ are those of another program, as a path would be that is wrong."""
    program, expected, _ = generator.draw(0, Features().without(["floats"]))
    others = Others(contents=[])
    assert execute(program, expected, Path.parse("cpu"), others).bits is None
    outcome = execute(program, expected, Path.parse("cpu"), others)
    assert outcome.status == "right"
    assert outcome.bits[:2] == ("integers and copies", "equal")
    name = next(t.buffer.name for t in program.tensors if t.buffer.shape and others.contents[0][t.buffer.name].size)
    others.contents[0][name][0] ^= 1
    outcome = execute(program, expected, Path.parse("cpu"), others)
    assert outcome.status == "differs"
    assert outcome.message.startswith(f"`{name}`: 1 of ")
