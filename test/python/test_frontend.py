"""Both front ends: what Python becomes which program."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.errors import (
    ArgumentError,
    DTypeError,
    RangeError,
    RankError,
    ShapeError,
    TLError,
    TLSyntaxError,
    UnsupportedError,
)

VECTOR = T.Tensor((256,), "float32")
MATRIX = T.Tensor((256, 256), "float32")


def count(text: str, op: str) -> int:
    return text.count(op)


def line_of(function: Callable[..., object], text: str) -> int:
    """Returns the number of the line in this function's source that contains a text."""
    lines, first = inspect.getsourcelines(function)
    return next(first + i for i, line in enumerate(lines) if text in line)


# The two front ends make the same program.


def test_builder_and_decorator_agree(ir):
    m = T.dynamic("m")

    @T.prim_func
    def gemm(A: T.Tensor((m, 512), "float16"), B: T.Tensor((512, 256), "float16"), C: T.Tensor((m, 256), "float16")):
        with T.Kernel(2, T.ceildiv(m, 128), threads=256) as (bx, by):
            T.use_swizzle(4)
            As = T.alloc_shared((128, 64), "float16")
            Bs = T.alloc_shared((64, 128), "float16")
            acc = T.alloc_fragment((128, 128), "float32")
            T.clear(acc)
            for k in T.Pipelined(512 // 64, num_stages=3):
                T.copy(A[by * 128, k * 64], As)
                T.copy(B[k * 64, bx * 128], Bs)
                T.gemm(As, Bs, acc, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(128, 128):
                if i > j:
                    acc[i, j] = T.max(acc[i, j], 0)
            T.copy(acc, C[by * 128, bx * 128])

    module = T.Module()
    with (
        module,
        module.function(
            "gemm", A=T.Tensor((m, 512), "float16"), B=T.Tensor((512, 256), "float16"), C=T.Tensor((m, 256), "float16")
        ) as (A, B, C),
        T.Kernel(2, T.ceildiv(m, 128), threads=256) as (bx, by),
    ):
        T.use_swizzle(4)
        As = T.alloc_shared((128, 64), "float16")
        Bs = T.alloc_shared((64, 128), "float16")
        acc = T.alloc_fragment((128, 128), "float32")
        T.clear(acc)
        with T.Pipelined(512 // 64, num_stages=3) as k:
            T.copy(A[by * 128, k * 64], As)
            T.copy(B[k * 64, bx * 128], Bs)
            T.gemm(As, Bs, acc, policy=T.GemmWarpPolicy.FullRow)
        with T.Parallel(128, 128) as (i, j), T.If(i > j):
            acc[i, j] = T.max(acc[i, j], 0)
        T.copy(acc, C[by * 128, bx * 128])

    assert gemm.script() == module["gemm"].script()
    text = ir(gemm)
    assert ir(module["gemm"]) == text
    for op in ("tl.kernel", "tl.pipelined", "tl.gemm", "tl.parallel", "scf.if", "policy(full_row)"):
        assert count(text, op) == 1


def test_builder_needs_no_source(ir):
    scope: dict[str, object] = {}
    exec(
        "import tilec.language as T\n"
        "m = T.Module()\n"
        "with m, m.function('f', A=T.Tensor((8,), 'int32')) as A, T.Kernel(1) as b, T.serial(8) as i:\n"
        "    A[i] = i * 2\n",
        scope,
    )
    assert "scf.for" in ir(scope["m"]["f"])


def test_decorator_without_source_names_the_builder():
    program = "import tilec.language as T\n@T.prim_func\ndef f(A: T.Tensor((8,), 'int32')):\n    pass\n"
    with pytest.raises(TLSyntaxError, match=r"build the function with `T\.Module`"):
        exec(program, {})


# Parameters and symbols.


def test_parameters(ir):
    @T.prim_func
    def f(
        A: T.StridedTensor((T.dynamic("m"), "n"), (T.dynamic("ld"), 1), "float16"),
        B: T.Tensor(("n", 64), "uint8", align=4),
        s: T.float32,
        n: T.uint32,
    ):
        with T.Kernel(T.ceildiv(T.dynamic("n"), 64)):
            pass

    text = ir(f)
    assert "memref<?x?xf16, strided<[?, 1]>>" in text
    assert 'tl.shape = ["m", "n"], tl.strides = ["ld", ""]' in text
    assert 'tl.align = 4 : i64, tl.dtype = "u8", tl.name = "B", tl.shape = ["n", ""]' in text
    assert '%arg2: f32 {tl.name = "s"}, %arg3: i32 {tl.dtype = "u32", tl.name = "n"}' in text
    # `n` is read from the first tensor that has it.
    assert "memref.dim %arg0, %c1" in text


def test_string_annotations_see_closures(ir):
    columns = 96

    @T.prim_func
    def f(A: T.Tensor((4, columns), "float32")):  # a string, by `from __future__ import annotations`
        with T.Kernel(1):
            A[0, columns - 1] = 1.0

    assert "memref<4x96xf32>" in ir(f)


def test_a_symbol_of_a_stride_has_its_value():
    @T.prim_func
    def f(A: T.StridedTensor((8, T.dynamic("n")), (T.dynamic("ld"), 1), "float32")):
        with T.Kernel(T.dynamic("ld") // T.dynamic("n")):
            pass

    plan = tilec.compile(f, target="sm_80").compile_info["functions"]["f"]
    assert plan["launches"][0]["grid"][0] == ["floordiv", ["stride", 0, 0], ["dim", 0, 1]]


def test_a_symbol_that_is_nowhere_has_no_value():
    with pytest.raises(TLSyntaxError, match="the value of `ld` is unknown: it is no extent and no stride of a param"):

        @T.prim_func
        def f(A: T.Tensor((8, 8), "float32")):
            with T.Kernel(T.dynamic("ld")):
                pass


def test_an_element_outside_of_a_kernel():
    with pytest.raises(TLSyntaxError, match=r"an assignment to an element belongs inside `with T\.Kernel\(\.\.\.\)`"):

        @T.prim_func
        def f(A: VECTOR):
            A[0] = 1.0


def test_missing_annotation():
    with pytest.raises(DTypeError, match=r"test_frontend\.py(.|\n)*parameter `A` needs a type"):

        @T.prim_func
        def f(A):
            pass


# Loops.


def test_tensors_are_annotated_in_the_body():
    @T.prim_func
    def f(A, n: T.int32, B):
        m = T.dynamic("m")
        A: T.Tensor[[m], T.float32]
        B: T.Tensor[[m * 2], T.float32]
        C = T.empty((m,), T.float32)
        with T.Kernel(1, threads=32):
            for i in T.serial(m):
                C[i] = A[i] + B[2 * i] + T.cast(n, T.float32)
        return C

    assert [p.name for p in f.parameters] == ["A", "n", "B", "out0"]
    a, b = np.arange(5, dtype=np.float32), np.arange(10, dtype=np.float32)
    np.testing.assert_array_equal(tilec.compile(f, target="cpu")(a, 7, b), a + b[::2] + 7)

    with pytest.raises(TLSyntaxError, match="annotate `A` before it is used"):

        @T.prim_func
        def late(A):
            with T.Kernel(A.shape[0]):
                pass
            A: T.Tensor[[8], T.float32]

    with pytest.raises(ShapeError, match="`N` of `A` is a `T.const`"):

        @T.prim_func
        def constant(A):
            A: T.Tensor[[T.const("N")], T.float32]
            with T.Kernel(1):
                pass


def test_range_is_a_loop_of_the_kernel(ir):
    @T.prim_func
    def f(A: VECTOR, n: T.int32):
        with T.Kernel(1):
            for i in range(n):
                A[i] = 1.0
            for i in range(10, 2, -3):
                A[i] = 2.0

    text = ir(f)
    assert count(text, "scf.for") == 2
    assert "arith.index_cast %arg1 : i32 to index" in text
    # 10, 7, 4: three iterations that count upwards.
    assert "%c3 step" in text


def test_python_iterables_are_written_out(ir):
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):
            for i, x in enumerate([1.0, 2.0, 4.0]):
                if i == 2:
                    break
                A[i] = x
            for j in T.unroll(2):
                A[10 + j] = 0.0

    text = ir(f)
    assert count(text, "tl.store") == 4
    assert "scf.for" not in text


def test_while(ir):
    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            n = T.alloc_var("int32", 100)
            while n > 1 and n != 7:
                n = n // 2
            A[0] = n

    text = ir(f)
    assert "scf.while" in text
    assert "arith.andi" in text


# Branches and conditions.


def test_branches(ir):
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):
            for i in T.serial(8):
                if i < 2:
                    A[i] = 1.0
                elif i == 5:
                    A[i] = 2.0
                else:
                    A[i] = 3.0

    text = ir(f)
    assert count(text, "scf.if") == 2
    assert count(text, "else") == 2


def test_known_conditions_leave_nothing(ir):
    causal = False

    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):
            if causal and undefined_name:  # noqa: F821
                A[0] = 1.0
            elif not causal or 1 < 2 < 3:
                A[0] = 2.0
            x = 3.0 if causal else 4.0
            A[1] = x

    text = ir(f)
    assert "scf.if" not in text
    assert "2.000000e+00" in text
    assert "4.000000e+00" in text
    assert "1.000000e+00" not in text


def test_chained_comparison_and_ternary(ir):
    @T.prim_func
    def f(A: VECTOR, n: T.int32):
        with T.Kernel(1):
            for i in T.Parallel(256):
                A[i] = A[i] if 2 <= i < n else 0.0

    text = ir(f)
    assert count(text, "arith.cmpi") == 2
    # Whether anyone writes the tensor meanwhile is for the compiler to find out.
    assert count(text, "scf.if") == count(text, "{tl.total}") == 1


def test_numbers_that_are_there_are_chosen_by_a_select(ir):
    @T.prim_func
    def f(A: VECTOR, n: T.int32):
        with T.Kernel(1):
            for i in T.Parallel(256):
                A[i] = T.if_then_else(n > i, T.exp(T.cast(n // 3, "float32")), 0.0)

    text = ir(f)
    assert "scf.if" not in text
    assert count(text, "arith.select") >= 1


def test_a_guarded_read_stays_guarded(ir):
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):
            S = T.alloc_shared((256,), "float32")
            for i in T.Parallel(256):
                A[i] = S[i - 1] if i > 0 else 0.0
                A[i] = T.if_then_else(i > 0, S[i - 1], 0.0)

    text = ir(f)
    assert count(text, "scf.if") == 2
    assert "arith.select" not in text


# Names in staged code: never silently wrong.


def test_a_carried_value_is_an_error():
    with pytest.raises(TLSyntaxError, match=r"`s` carries a value .* `s = T.alloc_var\(dtype, value\)`") as caught:

        @T.prim_func
        def f(A: VECTOR):
            with T.Kernel(1):
                s = 0.0
                for i in T.serial(8):
                    s = s + A[i]
                A[0] = s

    assert "s = s + A[i]" in str(caught.value)
    assert "^" in str(caught.value)


def test_a_carried_constant_is_an_error():
    with pytest.raises(TLSyntaxError, match="`n` carries a value"):

        @T.prim_func
        def f(A: VECTOR):
            with T.Kernel(1):
                n = 0
                for i in T.serial(8):
                    n += 1
                    A[i] = n


def test_a_carried_value_in_a_while_condition_is_an_error():
    with pytest.raises(TLSyntaxError, match="`n` carries a value"):

        @T.prim_func
        def f(A: T.Tensor((8,), "int32")):
            with T.Kernel(1):
                n = A[0]
                while n > 0:
                    n = n - 1


@pytest.mark.parametrize("case", ["if", "for", "else"])
def test_a_value_that_leaves_its_construct_is_an_error(case):
    def in_if():
        @T.prim_func
        def f(A: VECTOR, n: T.int32):
            with T.Kernel(1):
                x = 1.0
                if n > 0:
                    x = 2.0
                A[0] = x

    def in_for():
        @T.prim_func
        def f(A: VECTOR, n: T.int32):
            with T.Kernel(1):
                for i in T.serial(n):
                    x = A[i]
                A[0] = x

    def in_else():
        @T.prim_func
        def f(A: VECTOR, n: T.int32):
            with T.Kernel(1):
                if n > 0:
                    x = 1.0
                else:
                    A[0] = x

    with pytest.raises(TLSyntaxError, match="`x` was assigned inside"):
        {"if": in_if, "for": in_for, "else": in_else}[case]()


def test_the_second_branch_sees_what_was_before(ir):
    @T.prim_func
    def f(A: VECTOR, n: T.int32):
        with T.Kernel(1):
            x = 1.0
            if n > 0:
                x = 2.0
                A[0] = x
            else:
                A[1] = x

    text = ir(f)
    branches = text[text.index("scf.if") :].split("else")
    assert "2.000000e+00" in branches[0]
    assert "1.000000e+00" in branches[1]


def test_names_may_be_used_again(ir):
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):
            for i in T.serial(8):
                x = A[i] * 2
                A[i] = x
            for i in T.serial(8):
                x = A[i] + 1
                y = x if i > 3 else 0.0
                A[i] = y

    assert count(ir(f), "scf.for") == 2


def test_builder_values_do_not_leave_their_block():
    module = T.Module()
    with (
        pytest.raises(TLSyntaxError, match="was made inside `T.serial`"),
        module,
        module.function("f", A=VECTOR) as A,
        T.Kernel(1),
    ):
        with T.serial(4) as i:
            x = A[i]
        A[0] = x


def test_plain_python_cannot_ask():
    def helper(x):
        return 1.0 if x > 0 else 2.0

    with pytest.raises(UnsupportedError, match=r"known only when the kernel runs.*T\.macro"):

        @T.prim_func
        def f(A: VECTOR):
            with T.Kernel(1):
                A[0] = helper(A[1])


def test_variables(ir):
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            a = T.alloc_var("int32", 1)
            b = T.alloc_var("int32", 2)
            a, b = b, a + b
            c = a  # a copy of the value
            a = 5
            A[0] = c
            A[1] = a

    assert count(ir(f), "tl.alloc") == 2


def test_swapping_variables_reads_both_first(ir):
    @T.prim_func
    def f(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            a = T.alloc_var("int32")
            b = T.alloc_var("int32")
            a, b = b, a

    text = ir(f)
    assert count(text, "tl.load") == 2
    assert text.rindex("tl.load") < text.index("tl.store")


def test_a_variable_that_is_never_set():
    """A warning for every target, at the line that reads it; one that some path sets is the program's affair."""

    @T.prim_func
    def f(A: T.Tensor((8,), "int32"), n: T.int32):
        with T.Kernel(1):
            total = T.alloc_var("int32")
            perhaps = T.alloc_var("int32")
            if n > 0:
                perhaps = 1
            A[0] = total
            A[1] = perhaps

    with pytest.warns(UserWarning, match="but nothing writes it") as warned:
        tilec.compile(f, target="cpu")
    (message,) = (" ".join(str(w.message).split()) for w in warned)
    assert "warning: reads `total`, but nothing writes it [uninitialized-read] A[0] = total ^" in message
    assert 'note: it is allocated here total = T.alloc_var("int32") ^' in message


# Macros, nested functions, closures.


def test_macros(ir):
    @T.macro
    def add_up(total, x):
        if x > 0:
            total += x
        return total * 2

    @T.prim_func
    def f(A: VECTOR):
        def half(x):
            return x / 2 if x > 1 else x

        with T.Kernel(1):
            total = T.alloc_var("float32", 0.0)
            for i in range(8):
                doubled = add_up(total, A[i])
                A[i] = half(doubled)

    text = ir(f)
    assert count(text, "scf.if") == 1
    assert count(text, "arith.select") == 1


def test_a_macro_that_calls_itself(ir):
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):
            countdown(A, 3)

    assert count(ir(f), "tl.store") == 3


@T.macro
def countdown(A, n):
    if n > 0:
        A[n] = 0.0
        countdown(A, n - 1)


@T.macro
def endless(A):
    A[0] = A[0] / 2
    if A[0] > 1:
        endless(A)


def test_a_macro_that_calls_itself_without_an_end():
    with pytest.raises(TLSyntaxError, match="`endless` calls itself without an end: a macro is built into the kernel"):

        @T.prim_func
        def f(A: VECTOR):
            with T.Kernel(1):
                endless(A)


def test_return_out_of_a_branch_of_the_kernel():
    @T.macro
    def early(x):
        if x > 0:
            return 1.0
        return 2.0

    with pytest.raises(UnsupportedError, match="`return` cannot leave an `if` of the kernel; assign the result"):

        @T.prim_func
        def f(A: VECTOR):
            with T.Kernel(1):
                A[0] = early(A[1])


# What kernels cannot contain. Each case is a body, the message, and the text under the caret.


def _try(A):
    try:
        A[0] = 1.0
    finally:
        pass


def _class(A):
    class C:
        pass


def _delete(A):
    x = 1
    del x


def _walrus(A):
    A[0] = (x := 2.0)


def _global(A):
    global VECTOR
    VECTOR = None


def _match(A):
    match 1:
        case _:
            pass


def _forever(A):
    while True:
        A[0] = 1.0


def _for_else(A):
    for i in range(3):
        A[i] = 1.0
    else:
        pass


@pytest.mark.parametrize(
    ("body", "message", "marked"),
    [
        (_try, "`try` is not supported", "try:"),
        (_class, "`class` is not supported", "class C:"),
        (_delete, "`del` is not supported", "del x"),
        (_walrus, "`:=` is not supported", "x := 2.0"),
        (_global, "`global` is not supported", "global VECTOR"),
        (_match, "`match` is not supported", "match 1:"),
        (_forever, "never ends", "True"),
        (_for_else, "`else` of a loop", "for i in range(3):"),
    ],
)
def test_unsupported_statements(body, message, marked):
    body.__annotations__["A"] = VECTOR
    with pytest.raises(UnsupportedError, match=message) as caught:
        T.prim_func(body)
    location = caught.value.location
    assert location.file == __file__
    line, carets = str(caught.value).splitlines()[1:3]
    assert line[carets.index("^") : carets.rindex("^") + 1].startswith(marked)


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        (lambda: T.Parallel(8), "`break` cannot leave `T.Parallel`; its iterations have no order"),
        (lambda: T.Pipelined(8, num_stages=2), "`break` cannot leave `T.Pipelined`; its copies run ahead"),
        (lambda: T.grid(8), "`break` cannot leave `T.grid`; use `T.serial`, once for each dimension"),
    ],
)
def test_loops_that_break_cannot_leave(loop, message):
    with pytest.raises(UnsupportedError, match=message):

        @T.prim_func
        def f(A: VECTOR):
            with T.Kernel(1):
                for i in loop():
                    if A[i] > 0:
                        break


def test_break_under_a_condition_of_the_kernel_in_a_loop_of_python():
    with pytest.raises(UnsupportedError, match="cannot leave a `while` whose condition is known"):

        @T.prim_func
        def f(A: VECTOR):
            with T.Kernel(1):
                n = 3
                while n > 0:
                    n -= 1
                    if A[n] > 0:
                        break


def test_assert_of_what_is_known_now_is_evaluated_now():
    with pytest.raises(TLSyntaxError, match="this assertion does not hold"):

        @T.prim_func
        def f(A: VECTOR):
            with T.Kernel(1) as b:
                assert b > 0  # when the kernel runs
                assert A.shape[0] < 0

    with pytest.raises(TLSyntaxError, match="needs 4"):

        @T.prim_func
        def g(A: VECTOR):
            assert A.shape[0] == 4, "needs 4"


def test_errors_show_the_chain_of_calls():
    @T.macro
    def inner(A):
        A[300] = 1.0

    with pytest.raises(RangeError) as caught:

        @T.prim_func
        def f(A: VECTOR):
            with T.Kernel(1):
                inner(A)

    text = str(caught.value)
    assert "index 300 is out of bounds of dimension 0 of `A`, whose extent is 256" in text
    assert "A[300] = 1.0" in text
    assert "note: called from here" in text


# Types and arithmetic.


def test_signs_choose_the_operation(ir):
    @T.prim_func
    def f(A: T.Tensor((8,), "uint32"), B: T.Tensor((8,), "int32"), C: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            A[0] = A[1] // 3
            A[3] = T.max(A[1], A[2]) >> 1
            B[0] = B[1] // 3
            B[3] = T.max(B[1], B[2]) >> 1
            C[0] = A[0]
            C[1] = B[0]

    text = ir(f)
    for op in ("divui", "maxui", "shrui", "floordivsi", "maxsi", "shrsi", "uitofp", "sitofp"):
        assert count(text, f"arith.{op}") == 1, op


def test_constants_are_folded(ir):
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(T.ceildiv(1000, 256) * 2) as b:
            A[b * 1 + 0] = -T.infinity("float32")
            A[1] = T.exp2(3) + T.max(1, 2) + T.max_value("int8")

    text = ir(f)
    assert "0xFF800000" in text
    assert "1.370000e+02" in text
    assert "arith.muli" not in text
    assert "arith.addi" not in text


@pytest.mark.parametrize(
    ("expression", "error", "message"),
    [
        (lambda A, B, i: i / 2, DTypeError, "`/` of two integers"),
        (lambda A, B, i: A[i] % 2, DTypeError, "`%` does not work on `float32`"),
        (lambda A, B, i: B[i] + 300, RangeError, "300 does not fit into `uint8`"),
        (lambda A, B, i: T.float16(A[i]) + T.bfloat16(A[i]), DTypeError, "has no obvious type"),
        (lambda A, B, i: T.exp(i), DTypeError, "`T.exp` needs a float"),
        (lambda A, B, i: A[A[0]], DTypeError, "an index must be an integer"),
        (lambda A, B, i: A[i, 0], RankError, "has 1 dimension, and 2 indices"),
        (lambda A, B, i: A[-300] + 1, RangeError, "out of bounds"),
        (lambda A, B, i: i // 0, RangeError, "divides by zero: its divisor is the constant 0"),
        (
            lambda A, B, i: i % (T.int32(3) - T.int32(3)),
            RangeError,
            "`%` divides by zero: its divisor is the constant 0;",
        ),
        (lambda A, B, i: T.uint8(1) // 0, RangeError, "`1 // 0` divides by zero: give another divisor"),
        (lambda A, B, i: T.pow(10.0, 400.0), RangeError, r"`10.0 \*\* 400.0` is too large for a float"),
        (lambda A, B, i: T.pow(-1.0, 0.5), RangeError, r"`-1.0 \*\* 0.5` is no real number"),
        (lambda A, B, i: T.ldexp(3.0, 5000), RangeError, "`T.ldexp(3.0.`: math range error"),
        (lambda A, B, i: T.rsqrt(0.0), RangeError, "`T.rsqrt(0.0.`: float division by zero"),
        (lambda A, B, i: T.float8_e4m3(1e9), RangeError, "too large for `float8_e4m3fn`"),
        (lambda A, B, i: T.dtype("float13"), DTypeError, "unknown element type `float13`"),
    ],
)
def test_wrong_expressions(expression, error, message):
    module = T.Module()
    with (
        pytest.raises(error, match=message.replace("(", r"\(")),
        module,
        module.function("f", A=VECTOR, B=T.Tensor((8,), "uint8")) as (A, B),
        T.Kernel(1),
        T.serial(8) as i,
    ):
        expression(A, B, i)


# Tile operations.


def test_regions(ir):
    @T.prim_func
    def f(A: T.Tensor((2, 256, 4, 64), "float16"), B: MATRIX):
        with T.Kernel(4) as b:
            S = T.alloc_shared((2, 64, 64), "float32")
            T.copy(B[b * 64 : (b + 1) * 64, 0:64], S[0, :, :])  # extents of two unknown bounds
            T.copy(S[1, 0, 0], B[0:64, 64])  # a column
            T.copy(A[1, b * 64 : b * 64 + 64, b, :], S[1])  # a dimension between is indexed
            T.clear(S[b % 2])

    text = ir(f)
    assert count(text, "tile(64, 64)") == 1
    assert count(text, "tl.parallel") == 1  # element by element where a tile's last dimension is not the last one
    assert count(text, "tile(64, 1, 64)") == 1
    assert count(text, "tl.slot") == 3


def test_a_position_reads_nothing(ir):
    @T.prim_func
    def f(A: MATRIX):
        with T.Kernel(1):
            S = T.alloc_shared((64, 64), "float32")
            T.copy(A[0, 64], S)

    assert "tl.load" not in ir(f)


def _halves(F):
    return T.view(F, (32, 128), "float16")


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda A, S, F: T.copy(A[0:32, 0:64], S), ShapeError, "the extents differ"),
        (lambda A, S, F: T.copy(A[0, 256], A[64, 64]), ShapeError, "extents of this copy are unknown"),
        (lambda A, S, F: T.copy(A, S), ShapeError, "the extents differ"),
        (lambda A, S, F: T.copy(1, S), TLSyntaxError, "copies between buffers"),
        (lambda A, S, F: T.gemm(S, S, F), ShapeError, "they do not fit together"),
        (
            lambda A, S, F: T.gemm(A, S, F),
            DTypeError,
            "`A` of `T.gemm` is <global buffer .*`T.copy` it to one of the tiles of `T.alloc_shared`",
        ),
        (lambda A, S, F: T.gemm(S, S, S), DTypeError, "`C` of `T.gemm` is <shared buffer"),
        (
            lambda A, S, F: T.gemm(S, T.alloc_local((64, 64), "float16"), F),
            DTypeError,
            "`B` of `T.gemm` is <local buffer .* only where `A`, `B` and `C` all are whole ones; .*`T.alloc_shared`",
        ),
        (
            lambda A, S, F: T.gemm(S, S, T.alloc_local((64, 64), "float32")),
            DTypeError,
            "`C` of `T.gemm` is <local buffer .* only where .*; `T.copy` it to one of the fragments",
        ),
        (lambda A, S, F: T.gemm(S, S, T.alloc_fragment((64, 64), "float32"), policy=3), Exception, "GemmWarpPolicy"),
        (lambda A, S, F: T.reduce_sum(A, F), DTypeError, "this is <global buffer .*`T.copy` it to a tile"),
        (
            lambda A, S, F: T.reduce_sum(F, T.alloc_fragment((32,), "float16")),
            DTypeError,
            "`T.copy` the tile to a fragment of `float16` first",
        ),
        (lambda A, S, F: F * 2, TLSyntaxError, "is a tile, and arithmetic is on elements: write a loop"),
        (lambda A, S, F: 1 - F, TLSyntaxError, "is a tile"),
        (lambda A, S, F: -F, TLSyntaxError, "is a tile"),
        (lambda A, S, F: T.reduce_sum(F, F), ShapeError, "along dimension 1"),
        (lambda A, S, F: T.reduce(F, F, "prod"), Exception, "no reduction `prod`"),
        (lambda A, S, F: T.reduce_sum(F, F, dim=3), RankError, "`dim` is 3"),
        (lambda A, S, F: T.cumsum(A), DTypeError, "must be in shared or fragment or local memory"),
        (lambda A, S, F: T.cumsum(S, F), ShapeError, "`dst` of `T.cumsum` is .*they are the same"),
        (lambda A, S, F: T.transpose(S, F), ShapeError, "the dimensions of the first, the last two exchanged"),
        (lambda A, S, F: T.reshape(S, (3, 5)), ShapeError, "`T.reshape` keeps the elements"),
        (lambda A, S, F: T.view(S, dtype="int8"), ShapeError, "keeps the elements.*of 8 bits, where [0-9]+ were"),
        (lambda A, S, F: T.view(S, dtype="bool"), ShapeError, "keeps the elements"),
        (lambda A, S, F: _halves(F).__setitem__((0, 0), 1), UnsupportedError, "would write its neighbours too"),
        (lambda A, S, F: T.atomic_add(_halves(F)[0, 0], 1), DTypeError, "has no place of its own"),
        (lambda A, S, F: T.reduce_bitand(F, F), DTypeError, "`T.reduce_bitand` needs integers"),
        (lambda A, S, F: T.reduce(F, F, "summ"), Exception, "no reduction `summ`; did you mean `sum`"),
        (lambda A, S, F: T.any_of(S[0, 0]), TLSyntaxError, "works on tiles, and this is an element of"),
        (lambda A, S, F: T.alloc_shared((4,), "int8", scope="global"), Exception, "tensors are parameters"),
        (lambda A, S, F: T.annotate_safe_value({A: A[0, 0]}), ArgumentError, "numbers that are known when the kernel"),
        (lambda A, S, F: T.annotate_safe_value({S: 1}), ArgumentError, "is on the chip, and only tensors are read"),
        (lambda A, S, F: (A[0, 0] + 1, T.annotate_safe_value({A: 1})), TLSyntaxError, "before what reads `A`"),
        (lambda A, S, F: T.annotate_restrict_buffers(A), Exception, "overlaps no other one"),
        (lambda A, S, F: T.gemm(S, S, F, mbar=A), Exception, "needs a chip of `sm_100`"),
        (lambda A, S, F: T.alloc_shared((0, 4), "float32"), ShapeError, "positive extents"),
        (lambda A, S, F: T.alloc_shared((T.dynamic("m"),), "float32"), TLSyntaxError, "the value of `m` is unknown"),
        (lambda A, S, F: A[0:32, 5:2], ShapeError, "must be positive"),
    ],
)
def test_wrong_tile_operations(use, error, message):
    module = T.Module()
    with (
        pytest.raises(error, match=message),
        module,
        module.function("f", A=MATRIX) as A,
        T.Kernel(1),
    ):
        use(A, T.alloc_shared((64, 64), "float32"), T.alloc_fragment((32, 64), "float32"))


# Launches.


@pytest.mark.parametrize(
    ("launch", "message"),
    [
        (lambda: T.Kernel(1, prelude=7), "`prelude` of `T.Kernel`"),
        (lambda: T.Kernel(1, 2, 3, 4), "one to three grid extents, not 4"),
        (lambda: T.Kernel(-1), "grid extents that are not negative"),
        (lambda: T.Kernel(2.5), r"integers as grid extents, and 2.5 is none: divide with `//` or `T.ceildiv`"),
        (lambda: T.Kernel(1, threads=0), "`threads` needs positive extents"),
        (lambda: T.Kernel(1, threads=(1, 2, 3, 4)), "`threads` needs one to three extents"),
        (lambda: T.Kernel(1, threads="x"), "`threads` needs integers"),
        (lambda: T.Kernel(1, threads=2048), "at most 1024 threads"),
        (lambda: T.Kernel(1, threads=True), "`threads` needs integers"),
        (lambda: T.Kernel(4, cluster=(2, 2)), "`cluster` has 2 extents, and the grid only 1"),
        (lambda: T.Kernel(4, cluster=-1), "`cluster` needs positive extents"),
        (lambda: T.Kernel(64, cluster=32), "at most 16 blocks"),
        (lambda: T.Kernel(1, name="a b"), "must be an identifier"),
    ],
)
def test_launch_shapes_are_checked_at_the_call(launch, message):
    with pytest.raises((ValueError, TypeError), match=message):
        launch()


def test_launch_shapes_are_checked_without_asserts(python):
    program = """
import tilec.language as T
for launch in (lambda: T.Kernel(1, threads=0), lambda: T.Kernel(1, cluster=0)):
    try:
        launch()
    except ValueError as error:
        print(error)
"""
    assert python(program, "-O").count("positive") == 2


def test_default_threads(ir):
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):
            pass

    assert "threads(128)" in ir(f)


def test_swizzle_comes_first():
    with pytest.raises(TLSyntaxError, match="call it once, first in the kernel"):

        @T.prim_func
        def f(A: VECTOR):
            with T.Kernel(4, 4) as (bx, by):
                for _ in T.serial(2):
                    T.use_swizzle(4)


def test_host_code_has_no_branches():
    with pytest.raises(TLSyntaxError, match=r"belongs inside `with T\.Kernel"):

        @T.prim_func
        def f(A: VECTOR, n: T.int32):
            if n > 0:
                with T.Kernel(1):
                    pass


# Locations.


def test_operations_carry_their_line():
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):
            total = T.alloc_fragment((64,), "float32")
            T.fill(total, 1.0)  # a comment, which is no part of the statement

    line = line_of(test_operations_carry_their_line, "T.fill(total")
    fill = next(text for text in f.script(locations=True).splitlines() if "tl.fill" in text)
    assert f'loc(fused<{{tl.statement = "T.fill(total, 1.0)"}}>["{__file__}":{line}:13])' in fill
    assert 'loc("total"(' in f.script(locations=True)


# fmt: off
def test_branches_stand_where_they_begin():
    """Python places a call of a method in the line where its name ends."""
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):
            if A[0] > 0:
                A[1] = 2.0
            elif (A[2] > 0
                  and A[3] > 0):
                A[4] = 5.0
            else:
                A[6] = 7.0
            A[8] = (A[9] if A[10] > 0
                    else A[11])
    # fmt: on
    ends = re.findall(r'^ *}\) .*tl.statement = "(.*)"}>\[.*:(\d+):(\d+)\]', f.script(locations=True), re.MULTILINE)
    first = line_of(test_branches_stand_where_they_begin, "if A[0] > 0:")
    assert ends[:-1] == [  # in the order in which they end
        ("elif (A[2] > 0", str(first + 2), "19"),
        ("elif (A[2] > 0", str(first + 2), "13"),
        ("if A[0] > 0:", str(first), "13"),
        ("A[8] = (A[9] if A[10] > 0", str(first + 7), "21"),
    ]


# Sources.


def keep(_):
    return lambda function: function


# fmt: off
def test_definitions_are_found_whole():
    @T.prim_func
    @keep(
        """
    def not_this_one():
"""
    )
    def f(
        A: VECTOR,
    ):
        text = """
at the margin
    def nor_this_one
    """
# a comment at the margin
        with T.Kernel(1):
    # and another
            T.fill(T.alloc_fragment((64,), "float32"), len(text))
            T.fill(T.alloc_fragment((64,), "float32"), 77)
    # fmt: on
    program = f.script(locations=True)
    assert "40.0 : f32" in program
    line = line_of(test_definitions_are_found_whole, '"float32"), 77')
    fill = next(text for text in program.splitlines()[::-1] if "tl.fill" in text)
    assert f'["{__file__}":{line}:13])' in fill


def test_lambdas_have_no_definition():
    nothing = T.macro(lambda: None)
    with pytest.raises(TLSyntaxError, match=r"is not a function that `def` made, .*: write `def`"):

        @T.prim_func
        def f(A: VECTOR):
            nothing()


def begun_outside(A):
    with T.Then():
        A[0] = 1


def begun_twice(A):
    with T.If(A[0] < 1):
        with T.Then():
            A[0] = 1
        with T.Then():
            A[0] = 2


def begun_with_the_other(A):
    with T.If(A[0] < 1), T.Else():
        A[0] = 2


def beside_the_sides(A):
    with T.If(A[0] < 1):
        with T.Then():
            A[0] = 1
        A[1] = 2


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (begun_outside, r"`T.Then` belongs directly into `with T.If\(...\)`"),
        (begun_twice, "`T.Then` stands here twice, or in the wrong order"),
        (begun_with_the_other, r"`T.Else` belongs directly behind `with T.If\(...\)`"),
        (beside_the_sides, "this `T.If` has statements beside `T.Then` and `T.Else`"),
    ],
)
def test_where_sides_of_a_choice_are_refused(body, message):
    with pytest.raises(TLError, match=message):

        @T.prim_func
        def f(A: T.Tensor((4,), "int32")):
            with T.Kernel(1, threads=32):
                body(A)
