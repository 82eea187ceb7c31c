"""What is said of mistakes that are made on the first day, most of them by who knows another library."""

import functools
import inspect
import math

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.errors import (
    ArgumentError,
    CompileError,
    DTypeError,
    MissingNameError,
    RangeError,
    RankError,
    ShapeError,
    TargetError,
    TLError,
    TLSyntaxError,
    UnsupportedError,
)


def program(body):
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=64):
            S = T.alloc_shared((64, 64), "float32")
            body(A, S)

    return main


fine = functools.partial(program, lambda A, S: T.clear(S))


def of_a_symbol():
    n = T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((n,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(64):
                A[i] = 1.0

    return tilec.compile(main, target="cpu")


def returning():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            T.clear(A)
        return A


def outside():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        T.clear(A)


def in_kernel(body):
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((4, 64, 64), "float32")):
        with T.Kernel(4, threads=64) as b:
            body(A, B, b)


@T.macro
def two_numbers(A, B, b):
    for i in T.Parallel(64, 64):
        A[i, 0] = 1


@T.macro
def list_filled(A, B, b):
    found = []
    for i in T.serial(4):
        found.append(A[i, 0])
    A[0, 0] = found[1]


@T.macro
def keys_made(A, B, b):
    found = {}
    for i in T.serial(4):
        found[0] = A[i, 0]
    A[0, 0] = found[1]


@T.macro
def printed(A, B, b):
    print(f"an element: {A[b, 0]}")


@T.macro
def few_indices(A, B, b):
    tile = T.alloc_shared((64, 64), "float32")
    T.copy(B[b, 0], tile)


@T.macro
def averaged(A, B, b):
    tile, out = T.alloc_fragment((64, 64), "float32"), T.alloc_fragment((64,), "float32")
    T.reduce(tile, out, "mean", dim=1)


@T.macro
def exchanged(A, B, b):
    s, t = T.alloc_shared((64,), "float32"), T.alloc_shared((64,), "float32")
    for _ in T.serial(4):
        s, t = t, s


@T.macro
def number_of_text(A, B, b):
    A[0, 0] = float(f"{A[0, 1]}")


def grid_of_an_element():
    @T.prim_func
    def main(A: T.Tensor((4,), "int32")):
        with T.Kernel(A[0]) as b:
            A[b] = 1


def a_tile_of_another_kernel():
    @T.prim_func
    def main(A: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((4,), "int32")
            T.copy(A, S)
        with T.Kernel(1, threads=32):
            T.copy(S, A)


def with_warps():
    @T.prim_func
    def main(A: T.Tensor((4,), "int32")):
        with T.Kernel(1, num_warps=4) as b:
            A[b] = 1


@tilec.jit
def sums(A, B):
    N = T.const("N")
    A: T.Tensor[[N], T.float32]
    B: T.Tensor[[N], T.float32]
    C = T.empty((N,), T.float32)
    with T.Kernel(1, threads=32):
        for i in T.Parallel(N):
            C[i] = A[i] + B[i]
    return C


MISTAKES = {
    "a target in place": (lambda: tilec.compile(fine(), "cpu"), ArgumentError, "did you mean `target='cpu'`"),
    "results by name": (lambda: tilec.compile(fine(), ["A"]), ArgumentError, "or a list of them, not `\\['A'\\]`"),
    "an option of others": (
        lambda: tilec.compile(fine(), num_warps=4),
        ArgumentError,
        "`tilec.compile` has no `num_warps`: give `threads=` to `T.Kernel`",
    ),
    "a misspelt option": (lambda: tilec.compile(fine(), fastmath=True), ArgumentError, "did you mean `fast_math`"),
    "a product by @": (lambda: program(lambda A, S: S @ S), UnsupportedError, "use `T.gemm\\(A, B, C\\)`"),
    "a name in lower case": (lambda: T.kernel(1), AttributeError, "did you mean `T.Kernel`"),
    "a tile outside of a kernel": (
        outside,
        TLSyntaxError,
        "test_first_mistakes.py.*`T.clear` belongs inside `with T.K",
    ),
    "float of an element": (lambda: program(lambda A, S: float(A[0, 0])), UnsupportedError, "`float\\(...\\)`, or a"),
    "a function of math": (
        lambda: program(lambda A, S: math.exp(A[0, 0])),
        UnsupportedError,
        "use `T.exp` and the like",
    ),
    "another type of a tile": (
        lambda: program(lambda A, S: S.astype("float16")),
        TLError,
        "`T.cast\\(A\\[i, j\\], dtype",
    ),
    "a transposed tile": (lambda: program(lambda A, S: S.T), TLError, "use `T.transpose\\(source, target\\)`"),
    "the greatest element": (
        lambda: program(lambda A, S: T.max(S)),
        ArgumentError,
        "use `T.reduce_max\\(tile, out\\)`",
    ),
    "a rank": (
        lambda: program(lambda A, S: A.__setitem__(0, 0.0)),
        RankError,
        "has 2 dimensions, and 1 index is given",
    ),
    "a tile of another kernel": (
        a_tile_of_another_kernel,
        TLSyntaxError,
        "`S` was made inside `T.Kernel` .*: write it to one, or to a workspace of `T.alloc_global`",
    ),
    "extents one by one": (
        lambda: program(lambda A, S: T.alloc_fragment(64, 32, "float32")),
        ArgumentError,
        "are one argument: `T.alloc_fragment\\(\\(64, 32\\), dtype\\)`",
    ),
    "strides of a tensor": (
        lambda: T.Tensor((64, 64), "float32", strides=(128, 1)),
        ArgumentError,
        "`T.Tensor` has no `strides`: use `T.StridedTensor\\(shape, strides, dtype\\)`",
    ),
    "more indices than dimensions": (
        lambda: program(lambda A, S: T.alloc_local((4,), "int32").__setitem__((0, 0), 1)),
        RankError,
        "has 1 dimension, and 2 indices are given",
    ),
    "a launch of a program": (lambda: fine()[(1,)], UnsupportedError, "call it without brackets, `main\\(...\\)`"),
    "a launch of an eager function": (lambda: eager[(1,)], UnsupportedError, "`eager` has its grid in it"),
    "a launch of a kernel": (
        lambda: tilec.compile(fine(), target="cpu")[1, 1],
        UnsupportedError,
        "`main` has its grid",
    ),
    "a number as a target": (
        lambda: tilec.compile(fine(), target=90),
        TargetError,
        'a target is a text such as "sm_90a" or "cpu", not `90`',
    ),
    "an eager function compiled": (lambda: tilec.compile(eager), ArgumentError, "or by `eager.compile\\(...\\)`"),
    "a function of Python compiled": (lambda: tilec.compile(outside), ArgumentError, "decorate it with `@T.prim_func`"),
    "a kernel compiled": (
        lambda: tilec.compile(tilec.compile(fine(), target="cpu")),
        ArgumentError,
        "`main` is compiled already",
    ),
    "a result": (returning, TLSyntaxError, "which calls return that are named by `out_idx`"),
    "an extent that is not known": (lambda: of_a_symbol().get_profiler().do_bench(), ArgumentError, "as `inputs="),
    "one name for two numbers": (
        lambda: in_kernel(two_numbers),
        DTypeError,
        "a name of its own, as in `for i, j in T.Parallel\\(m, n\\)`",
    ),
    "an element of a list that a loop filled": (
        lambda: in_kernel(list_filled),
        RangeError,
        "this list of Python's has no element of that number: .* `T.alloc_local`",
    ),
    "a key that a loop made": (lambda: in_kernel(keys_made), RangeError, "this dictionary has no key `1`: "),
    "a value in a text that is printed": (
        lambda: in_kernel(printed),
        UnsupportedError,
        "`<float32 value>` is known only when it runs: use `T.print`",
    ),
    "a variable with a shape": (
        lambda: program(lambda A, S: T.alloc_var((1,), "float32")),
        ArgumentError,
        "`T.alloc_var` makes one number, and has no shape: .*`T.alloc_local\\(shape, dtype\\)`",
    ),
    "a program of a function": (lambda: eager.get_tir(), MissingNameError, "`eager.compile\\(...\\).function`"),
    "a parameter that is not there": (
        lambda: tilec.compile(fine(), out_idx=3),
        ArgumentError,
        "`main` has 1 parameter, and the last one is 0 or -1",
    ),
    "a place with too few indices": (
        lambda: in_kernel(few_indices),
        ShapeError,
        "such as `B\\[i, :, :\\]`, or the place where a tile begins, .* `B\\[i, j, k\\]`",
    ),
    "a reduction that is not there": (
        lambda: in_kernel(averaged),
        ArgumentError,
        "there is no reduction `mean`; there are `sum`, `max`",
    ),
    "tiles that change names": (lambda: in_kernel(exchanged), TLSyntaxError, "give one a dimension more, `s\\[k % 2"),
    "a number of a text": (
        lambda: in_kernel(number_of_text),
        UnsupportedError,
        "`<float32 value>` is known only when the kernel runs, and its text is no number",
    ),
    "a panel as a text": (
        lambda: program(lambda A, S: T.use_swizzle("10")),
        ArgumentError,
        "`panel_size` of `T.use_swizzle` is an integer, not `'10'`",
    ),
    "a grid of an element": (
        grid_of_an_element,
        TLSyntaxError,
        "an element of `A` is known only when a kernel runs, .*pass a number to the program, as `n: T.int32`",
    ),
    "warps of a kernel": (
        with_warps,
        ArgumentError,
        "`num_warps`; `threads` says how many threads a block has, 32 for each warp",
    ),
    "extents that differ": (
        lambda: sums(np.zeros(3, np.float32), np.zeros(4, np.float32)),
        ShapeError,
        "test_first_mistakes.py:.*`N` is 3 by another tensor: make the two agree",
    ),
    "another rank": (
        lambda: sums(np.zeros((3, 1), np.float32), np.zeros(3, np.float32)),
        RankError,
        "test_first_mistakes.py:.*`A` has 2 dimensions, and its annotation 1: pass a tensor of as many",
    ),
    "another type": (
        lambda: sums(np.zeros(3), np.zeros(3)),
        DTypeError,
        "test_first_mistakes.py:.*its annotation says `float32`: convert the tensor",
    ),
    "a layout that is chosen later": (
        lambda: program(lambda A, S: T.make_volta_swizzled_layout(S).map_forward_index([1, 0])),
        UnsupportedError,
        "where this layout puts an element is not known here",
    ),
    "a fragment without functions": (
        lambda: T.Fragment((8, 8)),
        ArgumentError,
        "a `T.Fragment` needs `forward_fn` or `forward_thread_fn`",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes(case):
    call, kind, message = MISTAKES[case]
    with pytest.raises(kind, match=message):
        call()


def with_annotation(annotation):
    def main(A):
        with T.Kernel(1, threads=64):
            T.clear(A)

    main.__annotations__["A"] = annotation()
    return T.prim_func(main)


def with_default():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), n: T.int32 = 3):
        with T.Kernel(1):
            T.fill(A, n)


def of_any_number():
    @T.prim_func
    def main(*tensors):
        with T.Kernel(1):
            pass


def a_loop_over_blocks():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        for b in T.Kernel(64):
            A[b] = 0


def a_kernel_in_a_kernel():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        with T.Kernel(8) as b, T.Kernel(8) as c:
            A[b * 8 + c] = 0


def in_parallel(body):
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=64):
            S = T.alloc_shared((64,), "float32")
            for i in T.Parallel(64):
                body(A, S, i)

    return tilec.compile(main, target="cpu")


@T.macro
def a_loop_in_a_loop(A, S, i):
    A[i, 0] = 1
    for j in T.Parallel(63):
        A[i, j + 1] = 0


def a_tile_of_a_symbol():
    n = T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((n,), "float32")):
        with T.Kernel(1):
            T.copy(A, T.alloc_shared((n,), "float32"))


def a_match():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), n: T.int32):
        with T.Kernel(1):
            match n:
                case 1:
                    T.clear(A)


def a_walrus():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            if (x := A[0]) > 0:
                A[1] = x


def a_global():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        global kept
        with T.Kernel(1):
            kept = A[0]


def a_yield():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            yield A[0]


def a_method():
    class Kernels:
        @T.prim_func
        def main(self, A: T.Tensor((64,), "float32")):
            with T.Kernel(1):
                T.clear(A)


def a_raise():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            if A[0] > 0:
                A[1] = 0
            else:
                raise ValueError("not positive")


def by_name():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), *, n: T.int32):
        with T.Kernel(1):
            T.fill(A, n)


@T.macro
def assign_x(A, S):
    pair = T.alloc_var("float32x2", 0)
    pair.x = 1


@T.macro
def assign_shape(A, S):
    S.shape = (32, 128)


def part_of_pairs():
    @T.prim_func
    def main(A: T.Tensor((64, 64), "int4"), n: T.int32):
        with T.Kernel(1):
            T.clear(A[0:n, :])


def tiles(function, *shapes, **options):
    """Calls a function with a tile of `float16` for each shape, and a fragment for the last one."""

    def body(A, S):
        made = [T.alloc_shared(shape, "float16") for shape in shapes[:-1]]
        function(*made, T.alloc_fragment(shapes[-1], "float32"), **options)

    return program(body)


@tilec.jit(target="cpu")
def eager(A):
    with T.Kernel(1, threads=64):
        T.clear(A)


def a_tensor_of_an_eager_function():
    eager(np.zeros(64, np.float32))


def arithmetic(function):
    def body(A, S, i):
        A[i, 0] = function(A[i, 0], A[i, 1])

    return in_parallel(body)


PLACED = {
    "a tensor without annotation": (a_tensor_of_an_eager_function, "not `A, .*: write `A: T.Tensor"),
    "conditions without parentheses": (
        lambda: arithmetic(lambda a, b: a > 0 & b),
        "write `and`, `or` between conditions",
    ),
    "the rest of floats": (lambda: arithmetic(lambda a, b: a % b), "`%` does not work on `float32`; use `T.fmod`"),
    "a name as an extent": (
        lambda: with_annotation(lambda: T.Tensor("64", "float32")),
        "`64` is not; an extent that is known is a number",
    ),
    "a negative extent": (
        lambda: with_annotation(lambda: T.Tensor((-64,), "float32")),
        "an extent must not be negative, and -64 is",
    ),
    "the shape last": (lambda: T.Tensor("float32", (64,)), "needed here, not `\\(64,\\)`: the shape comes first"),
    "half by its short name": (lambda: T.Tensor((64,), "fp16"), "unknown element type `fp16`; it is called `float16`"),
    "integers by a short name": (lambda: T.Tensor((64,), "i32"), "`i32`; it is called `int32`"),
    "an array as a type": (lambda: with_annotation(lambda: np.ndarray), "`A` needs a type: annotate it with `T.Tens"),
    "a default": (with_default, "`n` of `main` has a default, .*: give it at each call"),
    "any number of tensors": (of_any_number, "takes a variable number of arguments, .*: name each tensor"),
    "a loop over blocks": (a_loop_over_blocks, "write `with T.Kernel\\(...\\) as b`, not `for`"),
    "a kernel in a kernel": (a_kernel_in_a_kernel, "belongs directly inside the function: .* up to three extents"),
    "a loop in a loop": (lambda: in_parallel(a_loop_in_a_loop), "in a `T.Parallel`, .*: give all extents to one"),
    "an extent of a symbol": (a_tile_of_a_symbol, "`n` is not: take a fixed size, and a loop or the grid for the rest"),
    "an extent of floats": (
        lambda: program(lambda A, S: T.alloc_shared((64 / 2,), "float32")),
        "`32.0` is not: divide with `//`",
    ),
    "factors that do not fit": (
        lambda: tiles(T.gemm, (64, 32), (64, 64), (64, 64)),
        "the columns of `A`, 32, are to be as many as the rows of `B`, 64",
    ),
    "a factor that lies the other way": (
        lambda: tiles(T.gemm, (64, 32), (128, 32), (64, 128)),
        "`C` is 64 x 128; they do not .* the rows of `B`, 128; with `transpose_B=True` they do",
    ),
    "a factor that is turned by mistake": (
        lambda: tiles(T.gemm, (64, 32), (32, 128), (64, 128), transpose_B=True),
        "`C` is 64 x 128 \\(after transposition\\); they .* `B`, 128; with `transpose_B=False` they do",
    ),
    "factors that both lie the other way": (
        lambda: tiles(T.gemm, (32, 64), (128, 32), (64, 128)),
        "with `transpose_A=True` and `transpose_B=True` they do",
    ),
    "sums of another shape": (
        lambda: tiles(T.gemm, (64, 64), (64, 64), (64, 32)),
        "fit together: `C` is to be 64 x 64",
    ),
    "an axis": (
        lambda: tiles(T.reduce_sum, (64, 64), (64,), axis=1),
        "`T.reduce_sum` got an unexpected keyword argument `axis`; it is called `dim`",
    ),
    "a transposition by another name": (
        lambda: tiles(T.gemm, (64, 64), (64, 64), (64, 64), trans_b=True),
        "`trans_b`; it is called `transpose_B`",
    ),
    "sums of a narrower type": (
        lambda: program(lambda A, S: T.reduce_sum(S, T.alloc_fragment((64,), "float16"), dim=1)),
        "`T.reduce_sum` of `float32` to `float16`: `T.copy` the tile to a fragment of `float16` first",
    ),
    "sums of a tensor": (
        lambda: program(lambda A, S: T.reduce_sum(A, T.alloc_fragment((64,), "float32"), dim=1)),
        "`T.reduce_sum` works on tiles on the chip, .*: `T.copy` it to a tile of `T.alloc_fragment`",
    ),
    "a list as a tile": (lambda: program(lambda A, S: T.copy([1, 2], S)), "is none; pass it to the kernel as a tensor"),
    "every other row": (
        lambda: program(lambda A, S: T.copy(A[0:64:2, :], S)),
        "a region has no step: write a loop over elements, such as `for i in T.Parallel",
    ),
    "an ellipsis": (lambda: program(lambda A, S: A[..., 0] + 1), "not `Ellipsis`; write `:` for each dimension"),
    "a match": (a_match, "`match` is not supported in a kernel function: use `if` and `elif`"),
    "a walrus": (a_walrus, "`:=` is not supported in a kernel function: assign in a line before"),
    "a global": (a_global, "`global` is not supported .*: write what is to be kept to a tensor"),
    "a yield": (a_yield, "`yield` is not supported .*: write results to a tensor"),
    "a raise": (a_raise, "`raise` in a branch that only the running kernel .*; write `T.device_assert\\(condition\\)`"),
    "a method": (a_method, "a kernel is no method, and `self` is no tensor: leave it out and put `@staticmethod`"),
    "a parameter by its name": (by_name, "`n` of `main` is given by its name only, .*: take the `\\*` out"),
    "a lambda": (lambda: T.prim_func(lambda A: T.clear(A)), "is not a function that `def` made, .*: write `def`"),
    "an attribute of a vector": (
        lambda: program(assign_x),
        "`x` is assigned to as an attribute of `a variable of 2 .*: assign to .*, `v\\[0\\] = x`",
    ),
    "an attribute of a tile": (
        lambda: program(assign_shape),
        "`shape` is assigned to as an attribute of `<shared buff",
    ),
    "a vector as a tile": (
        lambda: program(lambda A, S: T.copy(A[0, 0:2], T.alloc_var("float32x2", 0))),
        "is none: assign to a variable, `vector = T.float32x2\\(...\\)`, and to elements, `A\\[i, 0:2\\] = vector`",
    ),
    "vectors as elements": (
        lambda: with_annotation(lambda: T.Tensor((64,), "float32x2")),
        "a type of vectors, and elements are scalars: use `float32`, and of tensors and tiles a last dimension of 2\n",
    ),
    "a slice that leaves its tile": (
        lambda: program(lambda A, S: T.copy(S[60:70, :], A[0:10, :])),
        "this slice of `.*` is 60 to 70 along dimension 0, whose extent is 64: only what is outside of a tensor",
    ),
    "a slice before its tile": (
        lambda: program(lambda A, S: T.fill(S[-70 : T.get_block_binding(), :], 1)),
        "this slice of `.*` begins at -6 along dimension 0",
    ),
    "a part of a tensor of 4 bits": (
        part_of_pairs,
        "give the place where a tile of a fixed size begins; two numbers of 4 bits share a byte",
    ),
}


@pytest.mark.parametrize("block", [64, 65])
def test_errors_that_are_known_early_are_raised(block):
    def build():
        @T.prim_func
        def main(A: T.Tensor((64,), "float32")):
            with T.Kernel(1):
                if A[0] > 0:
                    if block > 64:
                        raise ValueError("too large")
                    A[0] = block

    if block > 64:
        with pytest.raises(ValueError, match="too large"):
            build()
    else:
        build()


def test_the_axes_of_a_vector():
    with pytest.raises(AttributeError, match=r"a vector has no `y`: number 1 of it is `vector\[1\]`"):
        program(lambda A, S: T.float32x2(1, 2).y)


@pytest.mark.parametrize("case", PLACED)
def test_mistakes_with_a_place(case):
    call, message = PLACED[case]
    with pytest.raises(TLError, match=message) as caught:
        call()
    assert caught.value.location is not None
    assert caught.value.location.file == __file__


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (lambda A, S, i: T.copy(A[i, :], S), "T.copy"),
        (lambda A, S, i: T.clear(S), "T.clear"),
        (lambda A, S, i: T.print(S), "T.print"),
    ],
)
def test_messages_of_the_compiler_say_names_of_programs(body, name):
    with pytest.raises(CompileError, match=f"error: `{name}` .* cannot stand in `T.Parallel`") as caught:
        in_parallel(body)
    assert "tl." not in str(caught.value).replace("tl.py", "")


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("program_id", "T.Kernel"),
        ("load", "T.copy"),
        ("store", "T.copy"),
        ("where", "T.if_then_else"),
        ("arange", "T.Parallel"),
        ("dot", "T.gemm"),
        ("zeros", "T.alloc_fragment"),
        ("sum", "T.reduce_sum"),
        ("reduce_mean", "T.reduce_sum"),
        ("softmax", "T.reduce_max"),
        ("relu", "T.max"),
        ("static_range", "T.unroll"),
        ("fp16", "T.float16"),
        ("i64", "T.int64"),
    ],
)
def test_names_of_triton(name, instead):
    with pytest.raises(AttributeError, match=f"`T.{name}` is .*{instead}"):
        getattr(T, name)


def test_layouts_that_are_known():
    assert T.make_linear_layout((4, 8)).map_forward_index([1, 2]) == [1, 2]


def test_a_tensor_over_the_data_of_a_tile():
    @T.prim_func
    def bits(A: T.Tensor((4, 8), "float32"), B: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((4, 8), "float32")
            T.copy(A, S)
            V = T.Tensor((32,), "int32", S.data)
            W = T.Buffer((32,), "int32", A.data)
            for i in T.Parallel(32):
                B[i] = V[i] + W[i] * 0

    a = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
    b = np.zeros(32, np.int32)
    tilec.compile(bits, target="cpu")(a, b)
    np.testing.assert_array_equal(b, a.reshape(-1).view(np.int32))
    with pytest.raises(ShapeError, match="`T.view` keeps the elements"):
        program(lambda A, S: T.Tensor((3,), "int32", S.data))


def test_options_are_those_that_compile_takes():
    from tilec.compiler import OPTIONS

    taken = set(inspect.signature(tilec.compile).parameters) - {"func", "out_idx", "others"}
    assert set(OPTIONS) == taken
