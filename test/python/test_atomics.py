"""Atomic operations: what they compute, how often, in which order, and what is refused (semantics A1 to A5)."""

import re
import warnings

import numpy as np
import pytest

import atomic_programs
import tilec
import tilec.language as T
from tilec.errors import (
    ArgumentError,
    CheckError,
    CompileError,
    DTypeError,
    RacingWriteWarning,
    RangeError,
    ShapeError,
    TLSyntaxError,
    UninitializedReadWarning,
)

CHIPS = ["sm_80", "sm_90a"]


def source(function, chip, backend="nvptx"):
    """Returns the PTX or the CUDA C++ of a program."""
    return tilec.compile(function, target=chip, backend=backend, assembler="none").get_kernel_source()


@pytest.mark.parametrize("name", atomic_programs.CASES)
def test_atomic_programs(name):
    case = atomic_programs.CASES[name]
    kernel = tilec.compile(case.program, target="cpu")
    random = np.random.default_rng(0)
    for _ in range(3):
        arrays = case.inputs(random)
        found = [array.copy() for array in arrays]
        kernel(*found)
        atomic_programs.check(name, arrays, found)


@pytest.mark.parametrize(("chip", "backend"), [("sm_80", "nvptx"), ("sm_90a", "nvptx"), ("sm_80", "nvrtc")])
@pytest.mark.parametrize("name", atomic_programs.CASES)
def test_every_chip_and_generator_takes_them(name, chip, backend):
    tilec.compile(atomic_programs.CASES[name].program, target=chip, backend=backend)


@pytest.mark.parametrize("name", atomic_programs.CASES)
def test_checked_programs_mean_the_same(name):
    case = atomic_programs.CASES[name]
    kernel = tilec.compile(case.program, target="cpu", checks=True)
    arrays = case.inputs(np.random.default_rng(1))
    found = [array.copy() for array in arrays]
    if case.program is atomic_programs.guarded:
        with pytest.raises(CheckError, match="`A` is accessed at index -50 of dimension 0, whose extent is 100"):
            kernel(*found)
    else:
        kernel(*found)
    atomic_programs.check(name, arrays, found)


# What programs are told.


def refuse(kind, match, body, dtype="int32"):
    """Builds a kernel of `body`, which is refused."""
    with pytest.raises(kind, match=match):

        @T.prim_func
        def refused(A: T.Tensor((8, 16), dtype)):
            with T.Kernel(1, threads=32):
                body(A)


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "uint16", "bool", "float8_e4m3fn"])
def test_other_types_are_refused_by_name(dtype):
    refuse(
        DTypeError,
        f"`T.atomic_add` works on int32, uint32, .* and float64, and `A` holds `{dtype}`",
        lambda A: T.atomic_add(A[0, 0], 1),
        dtype,
    )


def test_bits_of_floats_are_refused():
    refuse(
        DTypeError,
        "`T.atomic_xor` works on int32, uint32, int64 and uint64",
        lambda A: T.atomic_xor(A[0, 0], 1),
        "float32",
    )


def test_fragments_are_refused():
    def fragment(A):
        F = T.alloc_fragment((4,), "int32")
        T.atomic_add(F[0], 1)

    refuse(DTypeError, "is in fragment memory, which no other thread reaches: assign to it", fragment)


@pytest.mark.parametrize("kind", ["array", "variable"])
def test_what_iterations_have_for_themselves_is_no_sum_of_them(kind):
    @T.prim_func
    def total(A: T.Tensor((8,), "int32"), B: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=32):
            s = T.alloc_local((1,), "int32") if kind == "array" else T.alloc_var("int32", 0)
            s[0] = 0
            for i in T.Parallel(8):
                T.atomic_add(s if kind == "variable" else s[0], A[i])
            B[0] = s[0]

    with pytest.raises(CompileError, match="reads `s`, which a parallel loop before has assigned"):
        tilec.compile(total, target="cpu")


def test_what_names_no_element_is_refused():
    refuse(TLSyntaxError, r"`T.atomic_load` needs an element, such as `C\[i, j\]`, not", lambda A: T.atomic_load(A))
    refuse(TLSyntaxError, "`T.atomic_add` needs an element or a tile, not `3`", lambda A: T.atomic_add(3, A))
    refuse(TLSyntaxError, "`T.atomic_addx2` adds 2 elements from a position on", lambda A: T.atomic_addx2(A[0, 0], 1))
    refuse(TLSyntaxError, "`T.atomic_addx4` adds 4 elements from a position on",
           lambda A: T.atomic_addx4(A[0, T.Ramp(0, 1, 2)], A[0, 0]))  # fmt: skip
    refuse(RangeError, "index 16 is out of bounds of dimension 1 of `A`", lambda A: T.atomic_add(A[0, 16], 1))


def test_orders_and_scopes_are_words():
    refuse(ArgumentError, '`memory_order` of `T.atomic_add` is "relaxed", "consume"',
           lambda A: T.atomic_add(A[0, 0], 1, memory_order="strong"))  # fmt: skip
    refuse(ArgumentError, '`memory_order` of `T.atomic_load` is "relaxed", "acquire" or "seq_cst": it writes nothing',
           lambda A: T.atomic_load(A[0, 0], memory_order="release"))  # fmt: skip
    for order in ("consume", "acquire", "acq_rel"):
        refuse(ArgumentError, '`memory_order` of `T.atomic_store` is "relaxed", "release" or "seq_cst": it reads',
               lambda A, order=order: T.atomic_store(A[0, 0], 1, memory_order=order))  # fmt: skip
    refuse(ArgumentError, '`scope` of `T.atomic_max` is "block", "device" or "system", not',
           lambda A: T.atomic_max(A[0, 0], 1, scope="grid"))  # fmt: skip


def test_tiles_fit_together_and_return_nothing():
    def differ(A):
        S = T.alloc_shared((4, 4), "int32")
        T.atomic_add(A[0:8, 0:4], S)

    refuse(ShapeError, r"`T.atomic_add` from `buffer\(4, 4\)` to `A\(8, 4\)`: the extents differ", differ)
    refuse(ArgumentError, "`T.atomic_add` of a tile returns nothing", lambda A: T.atomic_add(A, 1, return_prev=True))

    n = T.dynamic("n")
    with pytest.raises(ShapeError, match="`T.atomic_add` of a number and a tile needs the tile's extents"):

        @T.prim_func
        def unknown(A: T.Tensor((n,), "int32")):
            with T.Kernel(1, threads=32):
                T.atomic_add(A, 1)


def test_a_view_is_changed_where_its_elements_are():
    @T.prim_func
    def program(A: T.Tensor((8, 16), "int32")):
        with T.Kernel(2, threads=32):
            for i in T.Parallel(128):
                T.atomic_add(T.reshape(A, (128,))[i], i)
                T.atomic_max(T.view(A, dtype="uint32")[0, 0], 5)

    a = np.zeros((8, 16), np.int32)
    tilec.compile(program, target="cpu")(a)
    right = 2 * np.arange(128).reshape(8, 16)
    right[0, 0] = 5
    np.testing.assert_array_equal(a, right)

    refuse(
        DTypeError,
        "changes elements as what they are: `A` holds `int32`, and this is a view of it as `float32`",
        lambda A: T.atomic_add(T.view(A, dtype="float32")[0, 0], 1),
    )


# What programs are warned of.


def warned(program, kind):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tilec.compile(program, target="cpu")
    return [str(w.message) for w in caught if issubclass(w.category, kind)]


def test_updates_that_race_are_told_of_atomic_operations():
    @T.prim_func
    def racing(X: T.Tensor((64,), "int32"), H: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                H[X[i]] += 1

    @T.prim_func
    def atomic(X: T.Tensor((64,), "int32"), H: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                T.atomic_add(H[X[i]], 1)

    (message,) = warned(racing, RacingWriteWarning)
    assert "use `T.atomic_add` or its kin" in message
    assert not warned(atomic, RacingWriteWarning)


def test_bins_that_nothing_cleared_are_warned_of():
    def count(clear):
        @T.prim_func
        def counted(H: T.Tensor((64,), "int32")):
            with T.Kernel(1, threads=64):
                bins = T.alloc_shared((64,), "int32")
                if clear:
                    T.atomic_store(bins[0], 0)
                T.atomic_add(bins[0], 1)
                H[0] = bins[0]

        return counted

    assert warned(count(clear=False), UninitializedReadWarning)
    assert not warned(count(clear=True), UninitializedReadWarning)


def test_checks_find_what_is_outside_and_what_nothing_has_written():
    @T.prim_func
    def outside(X: T.Tensor((8,), "int32"), H: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=32):
            bins = T.alloc_shared((4,), "int32")
            T.clear(bins)
            for i in T.Parallel(8):
                T.atomic_add(bins[X[i]], 1)
            T.copy(bins, H)

    @T.prim_func
    def unset(X: T.Tensor((8,), "int32"), H: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=32):
            bins = T.alloc_shared((4,), "int32")
            for i in T.Parallel(2):
                bins[i] = 0
            for i in T.Parallel(8):
                T.atomic_add(bins[X[i]], 1)
            T.copy(bins, H)

    x, h = np.array([0, 1, 2, 3, 0, 1, 2, 4], np.int32), np.zeros(4, np.int32)
    with pytest.raises(CheckError, match="`bins` is accessed at index 4 of dimension 0, whose extent is 4"):
        tilec.compile(outside, target="cpu", checks=True)(x, h)
    x[7] = 0
    tilec.compile(outside, target="cpu", checks=True)(x, h)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel = tilec.compile(unset, target="cpu", checks=True)
    with pytest.raises(CheckError, match=r"`bins` is read at \(2,\), where nothing has been written"):
        kernel(x, h)


# Orders.


def test_what_an_order_orders_has_come_before():
    """The barrier lets all threads be done before one of them releases, and none begin before it has acquired."""

    @T.prim_func
    def flag(A: T.Tensor((128,), "int32"), F: T.Tensor((1,), "int32"), B: T.Tensor((128,), "int32")):
        with T.Kernel(2, threads=128):
            for i in T.Parallel(128):
                A[i] = i
            T.atomic_add(F[0], 1, memory_order="acq_rel")
            for i in T.Parallel(128):
                B[i] = A[127 - i]

    for chip in CHIPS:
        text = source(flag, chip)
        store, operation, load = (text.index(s) for s in ("st.global", "atom.acq_rel.gpu.global.add.u32", "ld.global"))
        assert store < operation < load
        for begin, end in ((store, operation), (operation, load)):
            assert "bar" in text[begin:end], "threads meet in between"


@pytest.mark.parametrize(
    ("order", "scope", "instruction"),
    [
        ("relaxed", "device", "red.relaxed.gpu.global.add.f32"),
        ("release", "block", "red.release.cta.global.add.f32"),
        ("acquire", "device", "atom.acquire.gpu.global.add.f32"),
        ("acq_rel", "system", "atom.acq_rel.sys.global.add.f32"),
        ("seq_cst", "device", "fence.sc.gpu; atom.acq_rel.gpu.global.add.f32"),
    ],
)
def test_instructions_of_orders_and_scopes(order, scope, instruction):
    @T.prim_func
    def add(A: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=32):
            T.atomic_add(A[3], 1.5, memory_order=order, scope=scope)

    for chip in CHIPS:
        assert instruction in source(add, chip)
        assert instruction in source(add, chip, "nvrtc")


def test_sums_of_bf16_are_an_instruction_where_there_is_one():
    @T.prim_func
    def add(A: T.Tensor((8,), "bfloat16")):
        with T.Kernel(1, threads=32):
            T.atomic_add(A[3], 1.5)

    assert "red.relaxed.gpu.global.add.noftz.bf16" in source(add, "sm_90a")
    assert re.search(r"atom.relaxed.gpu.global.cas.b16", source(add, "sm_80"))


@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", ["int32", "uint64", "float16", "bfloat16", "float32", "float64"])
def test_all_orders_and_scopes_are_assembled(dtype, chip, backend):
    """ptxas and nvJitLink 13.0 crash at a sum of bf16 that acquires and of which nothing is to become."""

    @T.prim_func
    def add(A: T.Tensor((8,), dtype)):
        with T.Kernel(1, threads=32):
            for order in ("relaxed", "acquire", "release", "acq_rel", "seq_cst"):
                for scope in ("block", "device", "system"):
                    T.atomic_add(A[3], 1, memory_order=order, scope=scope)

    assert tilec.compile(add, target=chip, backend=backend).file("kernel.cubin")


def test_cute_dsl_has_no_form_for_them():
    with pytest.raises(CompileError, match="`T.atomic_add` has no form in CuTe DSL"):
        tilec.compile(atomic_programs.histogram, target="sm_90a", backend="cutedsl")


def test_contention_between_blocks_loses_nothing():
    """Blocks of the CPU run on several threads, all of which change the same few elements."""

    @T.prim_func
    def contend(N: T.Tensor((2,), "int64"), F: T.Tensor((2,), "float32"), H: T.Tensor((2,), "bfloat16")):
        with T.Kernel(512, threads=128) as b:
            for i in T.Parallel(256):
                T.atomic_add(N[i % 2], 1)
                T.atomic_add(F[i % 2], 1.0)
                T.atomic_max(H[i % 2], T.cast((b + i) % 256, "bfloat16"))

    n, f = np.zeros(2, np.int64), np.zeros(2, np.float32)
    h = np.zeros(2, np.uint16)
    ml_dtypes = pytest.importorskip("ml_dtypes")
    tilec.compile(contend, target="cpu")(n, f, h.view(ml_dtypes.bfloat16))
    assert n.tolist() == [512 * 128] * 2
    assert f.tolist() == [512 * 128.0] * 2
    assert h.view(ml_dtypes.bfloat16).astype(np.float32).tolist() == [255.0, 255.0]
