"""Typical mistakes, each a function that makes one: the tests say what is answered to it."""

import math

import numpy as np

import tilec
import tilec.language as T

VECTOR = T.Tensor((256,), "float32")
MATRIX = T.Tensor((256, 256), "float32")


def in_kernel(body):
    """Builds a kernel around a body, which gets a vector, a matrix, tiles and the block's coordinate."""

    @T.prim_func
    def f(A: VECTOR, M: MATRIX):
        with T.Kernel(4, threads=128) as b:
            S = T.alloc_shared((64, 64), "float32")
            F = T.alloc_fragment((64, 64), "float32")
            body(A, M, S, F, b)

    return f


def a_tile_in_a_condition():
    @T.prim_func
    def f(M: MATRIX):
        with T.Kernel(1):
            S = T.alloc_shared((64, 64), "float32")
            if S > 0:
                T.clear(S)


def a_tile_compared():
    in_kernel(lambda A, M, S, F, b: S == 0)


def a_tile_as_a_truth_value():
    in_kernel(lambda A, M, S, F, b: 1 if S else 0)


def pythons_exp():
    in_kernel(lambda A, M, S, F, b: math.exp(A[b]))


def numpys_exp():
    in_kernel(lambda A, M, S, F, b: np.exp(A[b]))


def numpys_exp_of_a_tile():
    in_kernel(lambda A, M, S, F, b: np.exp(S))


def a_list_at_a_computed_place():
    in_kernel(lambda A, M, S, F, b: [1, 2, 3, 4][b])


def a_slice_of_a_list():
    in_kernel(lambda A, M, S, F, b: [1, 2, 3, 4][:b])


def several_coordinates_as_one():
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(2, 2) as b:
            A[b * 128] = 0


def several_indices_as_one():
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):
            for i in T.Parallel(4, 4):
                A[i + 1] = 0


def one_index_unpacked():
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):
            for i, j in T.Parallel(4):
                A[i] = 0


def one_coordinate_unpacked():
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1) as (x, y):
            A[x] = 0


def three_names_for_two_indices():
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):
            for i, j, k in T.Parallel(4, 4):
                A[i] = 0


def a_grid_of_floats():
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(256 / 128) as b:
            A[b] = 0


def a_tile_of_floats():
    in_kernel(lambda A, M, S, F, b: T.alloc_shared((64 / 2, 64), "float32"))


def a_loop_over_floats():
    in_kernel(lambda A, M, S, F, b: T.serial(64 / 2).__enter__())


def a_tensor_iterated_over():
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):
            for x in A:
                A[0] = x


def rounding_by_python():
    in_kernel(lambda A, M, S, F, b: round(A[b]))


def an_int_of_a_value():
    in_kernel(lambda A, M, S, F, b: int(A[b]))


def a_dictionary_at_a_computed_place():
    in_kernel(lambda A, M, S, F, b: {0: 1, 1: 2}[b])


def a_loop_over_a_number():
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):
            for i in 8:
                A[i] = 0


def a_print():
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1) as b:
            print("A is", A[b])


def a_condition_that_was_computed_before():
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):
            n = T.alloc_var("int32", 0)
            goes_on = n < 10
            with T.While(goes_on):
                n = n + 1
            A[0] = T.cast(n, "float32")


def a_range_of_python():
    in_kernel(lambda A, M, S, F, b: list(range(b)))


def a_sum_by_python():
    in_kernel(lambda A, M, S, F, b: sum(A[0:4]))


def arithmetic_with_a_region():
    in_kernel(lambda A, M, S, F, b: M[0:4, 0:4] * 2)


def a_region_assigned():
    @T.prim_func
    def f(A: VECTOR, M: MATRIX):
        with T.Kernel(1):
            S = T.alloc_shared((64, 64), "float32")
            S[:, 0:4] = 0


def an_element_of_a_region_assigned():
    @T.prim_func
    def f(A: VECTOR, M: MATRIX):
        with T.Kernel(1):
            S = T.alloc_shared((2, 64), "float32")
            half = S[0, :]
            half[3] = 0


def too_many_indices():
    in_kernel(lambda A, M, S, F, b: A[b, 0] + 1)


def too_few_indices():
    in_kernel(lambda A, M, S, F, b: M[b] + 1)


def an_index_that_is_outside():
    in_kernel(lambda A, M, S, F, b: A[256] + 1)


def an_index_that_is_a_float():
    in_kernel(lambda A, M, S, F, b: A[b / 2] + 1)


def an_index_that_is_a_string():
    in_kernel(lambda A, M, S, F, b: A["x"])


def a_copy_of_other_extents():
    in_kernel(lambda A, M, S, F, b: T.copy(M[0:32, 0:64], S))


def a_copy_of_a_number():
    in_kernel(lambda A, M, S, F, b: T.copy(0, S))


def a_copy_to_one_argument():
    in_kernel(lambda A, M, S, F, b: T.copy(S))


def a_misspelt_keyword():
    in_kernel(lambda A, M, S, F, b: T.gemm(S, S, F, transpose_b=True))


def a_gemm_into_shared_memory():
    in_kernel(lambda A, M, S, F, b: T.gemm(S, S, S))


def a_gemm_of_other_types():
    in_kernel(lambda A, M, S, F, b: T.gemm(T.alloc_shared((64, 64), "float16"), S, F))


def a_reduction_along_a_dimension_that_is_not_there():
    in_kernel(lambda A, M, S, F, b: T.reduce_sum(F, T.alloc_fragment((64,), "float32"), dim=2))


def a_reduction_to_another_shape():
    in_kernel(lambda A, M, S, F, b: T.reduce_sum(F, T.alloc_fragment((32,), "float32"), dim=1))


def a_dimension_by_name():
    in_kernel(lambda A, M, S, F, b: T.reduce_sum(F, T.alloc_fragment((64,), "float32"), dim="rows"))


def a_name_of_the_documentation():
    in_kernel(lambda A, M, S, F, b: T.dyn["m"])


def a_name_that_is_not_there():
    in_kernel(lambda A, M, S, F, b: T.alloc_shred((4,), "float32"))


def an_unknown_type():
    in_kernel(lambda A, M, S, F, b: T.alloc_shared((4,), "flaot32"))


def a_type_that_is_none():
    in_kernel(lambda A, M, S, F, b: T.alloc_shared((4,), 32))


def an_allocation_outside_of_a_kernel():
    @T.prim_func
    def f(A: VECTOR):
        S = T.alloc_shared((4,), "float32")


def an_operation_outside_of_a_function():
    T.alloc_shared((4,), "float32")


def a_parameter_without_a_type():
    @T.prim_func
    def f(A):
        with T.Kernel(1):
            A[0] = 1


def a_result():
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1) as b:
            A[0] = 1
        return A


def a_macro_that_calls_itself():
    @T.macro
    def power(x, n):
        return x * power(x, n - 1)

    in_kernel(lambda A, M, S, F, b: power(A[b], 3))


def a_macro_with_too_few_arguments():
    @T.macro
    def scale(x, y):
        return x * y

    in_kernel(lambda A, M, S, F, b: scale(A[b]))


def a_macro_with_an_argument_that_it_has_not():
    @T.macro
    def scale(x, y=1):
        return x * y

    in_kernel(lambda A, M, S, F, b: scale(A[b], z=2))


def a_workspace_beyond_all_memory():
    @T.prim_func
    def f(A: VECTOR):
        W = T.alloc_global((1 << 30, 1 << 30), "float32")
        with T.Kernel(1):
            W[0, 0] = A[0]


def a_layout_by_a_function_of_other_indices():
    T.Layout((4, 8), lambda i: i)


def a_layout_by_no_function():
    T.Layout((4, 8), 3)


def a_layout_that_gives_no_number():
    T.Layout((4, 8), lambda i, j: None).inverse()


def a_fragment_by_a_function_of_other_indices():
    T.Fragment((4, 8), forward_thread_fn=lambda i: i)


def a_pointer_of_which_no_tensor_is_made():
    @T.prim_func
    def f(a: T.ptr):
        with T.Kernel(1):
            T.get_thread_binding()


def a_pointer_that_is_indexed():
    @T.prim_func
    def f(a: T.ptr):
        with T.Kernel(1):
            a[0] = 1


def two_tensors_of_one_pointer():
    @T.prim_func
    def f(a: T.ptr):
        A = T.make_tensor(a, (4,), "float32")
        B = T.make_tensor(a, (2, 2), "float32")
        with T.Kernel(1):
            A[0] = B[0, 0]


def a_tensor_of_no_pointer():
    @T.prim_func
    def f(A: VECTOR):
        B = T.make_tensor(A, (4,), "float32")
        with T.Kernel(1):
            A[0] = B[0]


def threads_that_combine_without_saying_how():
    in_kernel(lambda A, M, S, F, b: T.tvm_thread_allreduce(1, A[b], True, A[b], T.get_thread_binding()))


def metadata_of_another_shape():
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):
            kept, where = T.alloc_shared((64, 32), "float16"), T.alloc_shared((64, 8), "int16")
            dense, product = T.alloc_shared((64, 64), "float16"), T.alloc_fragment((64, 64), "float32")
            T.gemm_sp(kept, where, dense, product)


def a_carried_number():
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):
            s = 0.0
            for i in T.serial(8):
                s = s + A[i]
            A[0] = s


def a_value_of_a_branch():
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1) as b:
            if A[b] > 0:
                y = A[b]
            A[0] = y


def an_exception_in_a_kernel():
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):
            try:
                A[0] = 1
            except ValueError:
                A[0] = 2


def an_unknown_option():
    @tilec.jit(pass_configs={"tl.disable_tma_lower": True})
    def make(n):
        return None


def a_misspelt_option():
    @tilec.jit(outidx=[1])
    def make(n):
        return None


def a_decorator_on_a_value():
    T.prim_func(3)


def too_many_threads():
    T.Kernel(1, threads=2048)


def a_number_that_does_not_fit():
    in_kernel(lambda A, M, S, F, b: A[b].astype("int8") + 300)


def integers_divided():
    in_kernel(lambda A, M, S, F, b: b / 2)


def a_string_as_a_number():
    in_kernel(lambda A, M, S, F, b: A[b] + "1")


def none_as_a_number():
    in_kernel(lambda A, M, S, F, b: A[b] + None)


def a_tile_as_a_number():
    in_kernel(lambda A, M, S, F, b: A[b] + S)


def a_tile_as_an_index():
    in_kernel(lambda A, M, S, F, b: A[S])


def a_schedule_without_an_order():
    in_kernel(lambda A, M, S, F, b: T.BaseTileScheduler(4, 1).init(b))


def an_array_of_numpys_as_a_tile():
    in_kernel(lambda A, M, S, F, b: T.copy(np.zeros((64, 64), np.float32), S))


def a_read_of_numpys_array_at_a_computed_place():
    in_kernel(lambda A, M, S, F, b: np.zeros(4)[b])


def an_attribute_that_is_not_there():
    in_kernel(lambda A, M, S, F, b: S.shap)


def a_format_of_a_value():
    in_kernel(lambda A, M, S, F, b: f"{A[b]:.3f}")


def numpys_numbers_are_fine():
    in_kernel(lambda A, M, S, F, b: np.float32(2) * A[b] + np.int64(1) + len(S) * (np.float16(1) < A[b]))


def a_reducer_assigned():
    def body(A, M, S, F, b):
        total = T.alloc_reducer((64,), "float32")
        total[0] = A[b]

    in_kernel(body)


def a_tile_as_a_reducer():
    in_kernel(lambda A, M, S, F, b: T.finalize_reducer(S))


def a_reducer_of_an_unknown_kind():
    in_kernel(lambda A, M, S, F, b: T.alloc_reducer((64,), "float32", op="mean"))


def a_barrier_for_some_threads():
    in_kernel(lambda A, M, S, F, b: T.sync_threads(1, 32))


def a_rounding_that_is_not_there():
    in_kernel(lambda A, M, S, F, b: T.round(A[b], "up"))


def a_symbol_of_floats():
    T.dynamic("n", dtype="float32")


def a_swizzle_in_a_loop():
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(4, 4) as (bx, by):
            for _ in T.serial(2):
                T.use_swizzle(4)


def an_unknown_name():
    in_kernel(lambda A, M, S, F, b: A[b] * aplha)  # noqa: F821


def a_misspelt_name():
    factor = 2.0
    in_kernel(lambda A, M, S, F, b: (factor, A[b] * factr))  # noqa: F821


def a_name_of_cudas():
    in_kernel(lambda A, M, S, F, b: A[threadIdx.x])  # noqa: F821


def a_name_of_the_language_in_the_package():
    in_kernel(lambda A, M, S, F, b: tilec.copy(M[0, 0], S))


def a_variable_that_hides_the_language():
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):  # noqa: F823
            T = 3
            A[0] = T


def a_value_printed_after_its_message():
    in_kernel(lambda A, M, S, F, b: T.print("A is", A[b]))


def a_type_before_its_value():
    in_kernel(lambda A, M, S, F, b: T.cast("float16", A[b]))


def a_copy_of_other_dimensions():
    in_kernel(lambda A, M, S, F, b: T.copy(S, T.alloc_shared((64,), "float32")))


def an_extent_before_its_symbol():
    @tilec.jit(target="cpu")
    def f(A):
        A: T.Tensor[[N], T.float32]  # noqa: F821
        N = T.const("N")
        with T.Kernel(1):
            A[0] = N

    f(np.zeros(4, np.float32))


def fewer_symbols_than_names():
    @tilec.jit(target="cpu")
    def f(A):
        M, N, K = T.const("M, N")
        A: T.Tensor[[M, N], T.float32]
        with T.Kernel(1):
            A[0, 0] = K

    f(np.zeros((4, 4), np.float32))


def more_symbols_than_names():
    @tilec.jit(target="cpu")
    def f(A):
        M, N = T.const("M, N, K")
        A: T.Tensor[[M, N], T.float32]
        with T.Kernel(1):
            A[0, 0] = 0

    f(np.zeros((4, 4), np.float32))


def a_method_of_a_value():
    in_kernel(lambda A, M, S, F, b: A[b].exp())


def a_method_that_the_language_has_not():
    in_kernel(lambda A, M, S, F, b: A[b].relu())


def a_kernel_called_in_a_kernel():
    @tilec.jit(target="cpu")
    def inner(A):
        N = T.const("N")
        A: T.Tensor[[N], T.float32]
        with T.Kernel(1):
            T.clear(A)

    in_kernel(lambda A, M, S, F, b: inner(A))


def a_float_as_an_index():
    in_kernel(lambda A, M, S, F, b: A[b * 0.5])


def a_loop_counted_by_enumerate():
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):
            for i, k in enumerate(T.serial(4)):
                A[k] = i


def a_list_of_a_loop():
    @T.prim_func
    def f(A: VECTOR):
        with T.Kernel(1):
            A[0] = sum([A[i] for i in T.serial(4)])


def a_kernel_that_waits():
    @T.prim_func
    async def f(A: VECTOR):
        with T.Kernel(1):
            T.clear(A)


def a_static_method():
    class Kernels:
        @tilec.jit
        @staticmethod
        def f(A):
            pass


def a_class_as_a_kernel():
    @tilec.jit
    class Kernel:
        pass


def tuning_without_brackets():
    @tilec.autotune
    @tilec.jit
    def f(n):
        pass


def a_grid_in_brackets():
    @tilec.jit
    def f(A):
        pass

    f[4](np.zeros(4, np.float32))


def a_keyword_that_the_kernel_has_not():
    @tilec.jit
    def f(A, block: int = 64):
        T.clear(A)

    f(np.zeros(4, np.float32), BLOCK=32)


def an_argument_left_out():
    @tilec.jit
    def f(A, block):
        T.clear(A)

    f(np.zeros(4, np.float32))


def a_type_before_its_shape():
    @T.prim_func
    def f(A: T.Tensor("float32", (4,))):
        pass


MISTAKES = {
    a_tile_in_a_condition: "`S` is a tile, and arithmetic is on elements: write a loop",
    a_tile_compared: "`S` is a tile, and arithmetic is on elements: write a loop",
    a_tile_as_a_truth_value: "is not a truth value: look at elements, or use `T.any_of` or `T.all_of`",
    pythons_exp: "`float\\(...\\)`, or a function of `math`, needs a number that is known now.*use `T.exp`",
    numpys_exp: "NumPy's `exp` needs a number that is known now.*use .* `T.exp`, on each element",
    numpys_exp_of_a_tile: "NumPy's `exp` cannot compute with `S`.*use .* `T.exp`",
    a_list_at_a_computed_place: "an index of Python's lists.*take elements of a tensor or of `T.alloc_local`",
    a_slice_of_a_list: "an index of Python's lists.*take elements of a tensor or of `T.alloc_local`",
    a_dictionary_at_a_computed_place: "a key of a dictionary must be known now.*take elements of a tensor",
    a_loop_over_a_number: "a number cannot be iterated over: write `for ... in range\\(8\\)`",
    a_print: "`print` runs when the kernel is built.*use `T.print`",
    a_condition_that_was_computed_before: (
        "the condition of `T.While` is asked before each iteration.*write `with T.While\\(n < 10\\):`"
    ),
    a_range_of_python: "a bound of `range` needs a number that is known now.*write `T.serial",
    a_read_of_numpys_array_at_a_computed_place: "an index of NumPy's arrays.*pass the array to the kernel as a tensor",
    several_coordinates_as_one: "`T.Kernel` gives 2 numbers here, and one is needed: take them apart",
    several_indices_as_one: "`T.Parallel` gives 2 numbers here, and one is needed: take them apart",
    one_index_unpacked: "`T.Parallel` gives 1 number here.*and 2 names take them: give as many extents",
    one_coordinate_unpacked: "`T.Kernel` gives 1 number here.*and 2 names take them: give as many extents",
    three_names_for_two_indices: "`T.Parallel` gives 2 numbers here.*and 3 names take them: give as many extents",
    a_grid_of_floats: "`T.Kernel` needs integers as grid extents, and 2.0 is none: divide with `//`",
    a_tile_of_floats: "an extent of `T.alloc_shared` must be an integer that is known when the kernel is built",
    a_loop_over_floats: "a loop bound must be an integer, not `32.0`",
    a_tensor_iterated_over: "`A` cannot be iterated over: write `for i in T.serial\\(256\\)`",
    rounding_by_python: "`round\\(...\\)` needs a number that is known now.*use `T.round`",
    an_int_of_a_value: "`int\\(...\\)` needs a number that is known now.*`.astype",
    a_format_of_a_value: "a text by `:.3f` needs a number that is known now.*write it to a tensor",
    a_sum_by_python: "a region of `A` cannot be iterated over: write `for i in T.serial",
    arithmetic_with_a_region: "this is a region of `M`, not an element, which has 2 indices: write a loop",
    an_element_of_a_region_assigned: "is sliced twice: give all indices in one pair of brackets",
    a_region_assigned: "only single elements can be assigned to; use `T.copy` or `T.fill` for tiles",
    too_many_indices: "`A` has 1 dimension, and 2 indices are given",
    too_few_indices: "this is a region of `M`, not an element, which has 2 indices",
    an_index_that_is_outside: "index 256 is out of bounds of dimension 0 of `A`, whose extent is 256",
    an_index_that_is_a_float: "`/` of two integers: use `//`",
    an_index_that_is_a_string: "a number is needed here, not `'x'`",
    a_copy_of_other_extents: "`T.copy` from .* the extents differ; .* give the place where it begins",
    a_copy_of_a_number: "`T.copy` copies between buffers, and `0` is none",
    a_copy_to_one_argument: "`T.copy` missing 1 required positional argument: `dst`; it takes `src`, `dst`",
    a_misspelt_keyword: "`T.gemm` got an unexpected keyword argument `transpose_b`; did you mean `transpose_B`",
    a_gemm_into_shared_memory: "`C` of `T.gemm` is <shared buffer S .*`T.copy` it to one of the fragments",
    a_gemm_of_other_types: "`A` of `T.gemm` is of `float16` and `B` of `float32`: they are the same; `T.copy` one",
    a_reduction_along_a_dimension_that_is_not_there: "`dim` of `T.reduce_sum` is 2, and those of `F` are 0 to 1",
    a_reduction_to_another_shape: r"`T.reduce_sum` along .* gives \(64,?\), and `out` is \(32\): allocate",
    a_name_that_is_not_there: "there is no `T.alloc_shred`; did you mean `T.alloc_shared`?",
    an_attribute_that_is_not_there: "a tensor or tile has no `shap`; did you mean `shape`?",
    an_unknown_type: "unknown element type `flaot32`; did you mean `float32`",
    a_type_that_is_none: "unknown element type `32`; known are `bool`",
    an_allocation_outside_of_a_kernel: "`T.alloc_shared` belongs inside `with T.Kernel",
    an_operation_outside_of_a_function: "only possible while a function is being built: in a `@T.prim_func`",
    a_parameter_without_a_type: "parameter `A` needs a type: annotate it with `T.Tensor",
    a_dimension_by_name: "`dim` of `T.reduce_sum` must be an integer that is known when .* is built, not `'rows'`",
    a_name_of_the_documentation: r'`T.dyn` is called `T.dynamic\("m"\)` here',
    a_result: "`f` returns a value; a kernel function writes its results to tensor parameters",
    a_macro_that_calls_itself: "`power` calls itself without an end: .* known when the kernel is built",
    a_macro_with_too_few_arguments: r"the macro `scale\(x, y\)` is called wrongly: missing a required argument: `y`",
    a_macro_with_an_argument_that_it_has_not: r"the macro `scale\(x, y\)` is called wrongly: .*unexpected keyword",
    a_workspace_beyond_all_memory: "this workspace has 4611686018427387904 bytes, which no memory has: .* in elements",
    a_layout_by_a_function_of_other_indices: "`forward_fn` of a layout of .* is a function of 2 numbers, and .* takes",
    a_layout_by_no_function: "`forward_fn` of a layout of .* is a function of its indices, not `3`",
    a_layout_that_gives_no_number: "a function of a layout of .* gives `None`, and a place is a number",
    a_fragment_by_a_function_of_other_indices: "`forward_thread_fn` of .* is a function of 2 numbers",
    a_pointer_of_which_no_tensor_is_made: "`a` of `f` is a pointer of which no tensor is made: write `T.make_tensor",
    a_pointer_that_is_indexed: "`a` is a pointer: make a tensor of it, `T.make_tensor",
    two_tensors_of_one_pointer: "`a` is a tensor already, and one parameter is one tensor: use `T.reshape`",
    a_tensor_of_no_pointer: "`T.make_tensor` needs a parameter that is annotated with `T.ptr`",
    threads_that_combine_without_saying_how: "stands in `with T.attr",
    metadata_of_another_shape: "`E` of `T.gemm_sp` is 64 x 4 for 64 x 32 elements that are kept and `int16`",
    an_unknown_name: "there is no `aplha` here: assign it in front of the kernel, or make it a parameter",
    a_misspelt_name: "there is no `factr` here; did you mean `factor`",
    a_name_of_cudas: "there is no `threadIdx` here: the number of a thread is `T.get_thread_binding\\(\\)`",
    a_name_of_the_language_in_the_package: "module `tilec` has no attribute `copy`: it is `T.copy`",
    a_variable_that_hides_the_language: "`T` has no value yet: .*call that which is assigned in `f` by another name",
    a_value_printed_after_its_message: "`T.print\\(value, msg='A is'\\)`",
    a_type_before_its_value: "an element type is needed here, not `<float32 value>`: the value comes first",
    a_copy_of_other_dimensions: "the extents differ; take a part of as many dimensions, such as `S\\[i, :\\]`",
    an_extent_before_its_symbol: "`N` has no value yet: assign it in a line before",
    fewer_symbols_than_names: "3 names take 2 values",
    more_symbols_than_names: "2 names take more values than that",
    a_method_of_a_value: "a value of the kernel has no `exp`: use `T.exp\\(x\\)`",
    a_method_that_the_language_has_not: "a value of the kernel has no `relu`: use `T.max\\(x, 0\\)`",
    a_kernel_called_in_a_kernel: "`inner` is a kernel of its own.*make what both need a `T.macro`",
    a_float_as_an_index: "an index must be an integer, not `<float32 value>`: divide with `//`, or `T.cast",
    a_loop_counted_by_enumerate: "a loop of the kernel is no sequence of Python's.*`for i in T.serial",
    a_list_of_a_loop: "a loop of the kernel is no sequence of Python's.*`for i in T.serial",
    a_kernel_that_waits: "`f` is an `async def`: write `def`",
    a_static_method: "`@tilec.jit` goes on a function.*put `@staticmethod` over it",
    a_class_as_a_kernel: "`@tilec.jit` goes on a function, not on the class `Kernel`: put it on a method",
    tuning_without_brackets: "`@tilec.autotune` takes its configurations in brackets",
    a_grid_in_brackets: "`f` has its grid in it",
    a_keyword_that_the_kernel_has_not: "`f`: got an unexpected keyword argument 'BLOCK'; did you mean `block`",
    an_argument_left_out: "`f`: missing a required argument: 'block'; it takes `A`, `block`",
    a_type_before_its_shape: "an element type is needed here, not `\\(4,\\)`: the shape comes first",
    a_carried_number: "`s` carries a value from one iteration.*`s = T.alloc_var",
    a_value_of_a_branch: "`y` was assigned inside an `if`.*`y = T.alloc_var",
    an_exception_in_a_kernel: "`try` is not supported in a kernel function: .*`T.device_assert`",
    an_unknown_option: "`@tilec.jit` has no `pass_configs`: passes have no options that programs set",
    a_misspelt_option: "`@tilec.jit` has no `outidx`; did you mean `out_idx`?",
    a_decorator_on_a_value: "`@T.prim_func` goes on a function, not on `3`",
    too_many_threads: "a block has at most 1024 threads, and `threads` asks for 2048",
    a_number_that_does_not_fit: "300 does not fit into `int8`",
    integers_divided: "`/` of two integers: use `//` for the integer quotient",
    a_string_as_a_number: "a number is needed here, not `'1'`",
    none_as_a_number: "a number is needed here, not `None`",
    a_tile_as_a_number: "a number is needed here, not `<shared buffer S.*give the element, such as `S\\[i, j\\]`",
    a_tile_as_an_index: "a number is needed here, not `<shared buffer S.*give the element, such as `S\\[i, j\\]`",
    a_schedule_without_an_order: "`BaseTileScheduler` does not say which tile has number `tile_id`: give it a method",
    a_reducer_assigned: "is a reducer that combines by `sum`: contributions go into it by `T.reducer_update",
    a_tile_as_a_reducer: "`T.finalize_reducer` needs what `T.alloc_reducer` returns, not `<shared buffer S",
    a_reducer_of_an_unknown_kind: "`op` of `T.alloc_reducer` is `sum`, `max`, .* not `'mean'`",
    a_barrier_for_some_threads: "128 threads arrive at `barrier 1`, of which 32 are missing to complete a phase",
    a_rounding_that_is_not_there: "`rounding_mode` of `T.round` is \"ties-to-even\" or .* not `'up'`",
    a_symbol_of_floats: "a symbol is an integer, not of `float32`",
    a_swizzle_in_a_loop: "`T.use_swizzle` changes the block's coordinates: call it once, first in the kernel",
    an_array_of_numpys_as_a_tile: "`T.copy` copies between buffers, and `array.*pass it to the kernel as a tensor",
}
"""What is answered to each mistake."""
