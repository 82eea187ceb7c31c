"""How compile time grows with what a thread holds. Processor time, so that others on the machine do not count."""

import re
import time

import numpy as np
import pytest

import tilec
import tilec.language as T

ROWS, THREADS = 4, 128


def elements(function, columns, width):
    """Rows of `columns` elements of a fragment of `width`, so that those beyond are guarded."""

    @T.prim_func
    def program(A: T.Tensor((64, columns), "float32"), B: T.Tensor((64, columns), "float32")):
        with T.Kernel(16, threads=THREADS) as block:
            x = T.alloc_fragment((ROWS, width), "float32")
            T.copy(A[block * ROWS, 0], x)
            for i, j in T.Parallel(ROWS, width):
                x[i, j] = function(x[i, j])
            T.copy(x, B[block * ROWS, 0])

    return program


def sums(width):
    @T.prim_func
    def program(A: T.Tensor((64, width), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(16, threads=THREADS) as block:
            x = T.alloc_fragment((ROWS, width), "float32")
            s = T.alloc_fragment((ROWS,), "float32")
            T.copy(A[block * ROWS, 0], x)
            T.reduce_sum(x, s, dim=1)
            T.copy(s, B[block * ROWS])

    return program


def softmax(width):
    @T.prim_func
    def program(A: T.Tensor((64, width), "float32"), B: T.Tensor((64, width), "float32")):
        with T.Kernel(16, threads=THREADS) as block:
            x = T.alloc_fragment((ROWS, width), "float32")
            m = T.alloc_fragment((ROWS,), "float32")
            s = T.alloc_fragment((ROWS,), "float32")
            T.copy(A[block * ROWS, 0], x)
            T.reduce_max(x, m, dim=1)
            for i, j in T.Parallel(ROWS, width):
                x[i, j] = T.exp(x[i, j] - m[i])
            T.reduce_sum(x, s, dim=1)
            for i, j in T.Parallel(ROWS, width):
                x[i, j] = x[i, j] / s[i]
            T.copy(x, B[block * ROWS, 0])

    return program


def quotients(width):
    @T.prim_func
    def program(A: T.Tensor((64, width), "int32"), B: T.Tensor((64, width), "int32")):
        with T.Kernel(16, threads=THREADS) as block:
            x = T.alloc_fragment((ROWS, width), "int32")
            y = T.alloc_fragment((ROWS, width), "int32")
            T.copy(A[block * ROWS, 0], x)
            T.copy(B[block * ROWS, 0], y)
            for i, j in T.Parallel(ROWS, width):
                x[i, j] = x[i, j] // y[i, j]
            T.copy(x, B[block * ROWS, 0])

    return program


def rows(count):
    """One thread loads an element of each of many rows, at an address that none of the others has a part of."""
    m, n = T.dynamic("m"), T.dynamic("n")

    @T.prim_func
    def program(A: T.Tensor((m, n), "uint16"), B: T.Tensor((count,), "uint16"), first: T.int32):
        with T.Kernel(1, threads=1):
            x = T.alloc_fragment((count,), "uint16")
            for i in T.Parallel(count):
                x[i] = A[first - i, first + i]
            T.copy(x, B)

    return program


def pipelines(count, own):
    """Pipelined loops behind each other, which run as often as memory says: on one tile, or on others in its bytes."""

    @T.prim_func
    def program(A: T.Tensor((64, 64), "float32"), trips: T.Tensor((count,), "int32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            s = [T.alloc_shared((64,), "float32") for _ in range(count if own else 1)]
            x = T.alloc_fragment((64,), "float32")
            T.clear(x)
            for loop in T.unroll(count):
                for k in T.Pipelined(T.cast(trips[loop], "int32") % 6, num_stages=4):
                    T.copy(A[k, 0], s[loop if own else 0])
                    for i in T.Parallel(64):
                        x[i] += s[loop if own else 0][i]
            T.copy(x, B)

    return program


def late_products(stages):
    """Two loops behind each other over the same tiles, each with a product in the next iteration, for each of a block's
    tiles."""

    @T.prim_func
    def program(
        Q: T.Tensor((256, 64), "float16"),
        K: T.Tensor((1024, 64), "float16"),
        V: T.Tensor((1024, 64), "float16"),
        trips: T.int32,
        Out: T.Tensor((256, 64), "float32"),
    ):
        with T.Kernel(1, threads=256):
            Qs = T.alloc_shared((128, 64), "float16")
            Ks = T.alloc_shared((64, 64), "float16")
            Vs = T.alloc_shared((64, 64), "float16")
            s = T.alloc_fragment((128, 64), "float32")
            p = T.alloc_fragment((128, 64), "float16")
            o = T.alloc_fragment((128, 64), "float32")
            for tile in T.serial(2):
                T.copy(Q[tile * 128, 0], Qs)
                T.clear(o)
                for _ in T.unroll(2):
                    for k in T.Pipelined(trips, num_stages=stages):
                        T.copy(K[k * 64, 0], Ks)
                        T.gemm(Qs, Ks, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow, clear_accum=True)
                        T.copy(s, p)
                        T.copy(V[k * 64, 0], Vs)
                        T.gemm(p, Vs, o, policy=T.GemmWarpPolicy.FullRow)
                T.copy(o, Out[tile * 128, 0])

    return program


def changed_rows(count):
    """Rows of a product in a pipelined loop, which go through shared memory: barriers stand between them, and bytes of
    all are read by bulk copies in the end."""

    @T.prim_func
    def program(A: T.Tensor((128, 32), "float32"), B: T.Tensor((32, 16), "float32"), C: T.Tensor((128, 16), "float32")):
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((128, 32), "float32")
            b = T.alloc_shared((32, 16), "float32")
            c = T.alloc_fragment((128, 16), "float32")
            T.copy(B, b)
            for _ in T.Pipelined(1, num_stages=2):
                T.copy(A, a)
                T.gemm(a, b, c, clear_accum=True)
                for row in T.unroll(count):
                    for j in T.Parallel(16):
                        c[row, j] += 1
                T.copy(c, C)

    return program


def box(width):
    """A thread's iterations of long formulas go through a small fragment."""

    @T.prim_func
    def program(A: T.Tensor((64, width), "float32"), B: T.Tensor((64, width), "float32")):
        with T.Kernel(1, threads=1):
            m = T.alloc_fragment((64,), "float32")
            T.copy(A[0:64, 0], m)
            for i, j in T.Parallel(64, width):
                B[i, j] = T.atan(A[i, j] - m[i])

    return program


PROGRAMS = {
    "pipelines": lambda width: pipelines(width // 2048, own=False),
    "pipelines of their own": lambda width: pipelines(width // 2048, own=True),
    "copy": lambda width: elements(lambda x: x, width, width),
    "exp": lambda width: elements(T.exp, width, width),
    "softmax": softmax,
    "quotients": quotients,
    "rows": lambda width: rows(width // 32),
    "guarded": lambda width: elements(lambda x: x * 2, width - 77, width),
    "sums": sums,
}


def doubled(times, alloc):
    """An index, of which zero is left, is a sum of one number and itself, so often."""

    @T.prim_func
    def program(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            x = alloc((64,), "float32")
            T.copy(A, x)
            for i in T.Parallel(64):
                j = i // 64
                for _ in T.unroll(times):
                    j = j + j
                B[i] = x[i + j]

    return program


def doubled_rows(times):
    """The same of a loop that copies rows, in a tensor whose extents only a call knows."""
    m, n = T.dynamic("m"), T.dynamic("n")

    @T.prim_func
    def program(A: T.Tensor((m, n), "float32"), B: T.Tensor((8, 64), "float32")):
        with T.Kernel(1, threads=64):
            x = T.alloc_shared((8, 64), "float32")
            for i, j in T.Parallel(8, 64):
                k = j // 64
                for _ in T.unroll(times):
                    k = k + k
                x[i, j] = A[i, k]
            T.copy(x, B)

    return program


def seconds(program):
    """Returns the processor seconds to PTX, without a cache."""
    begin = time.process_time()
    tilec.compile(program, target="sm_90a", assembler="none")
    return time.process_time() - begin


def test_stages_do_not_multiply_what_is_known_of_late_products(monkeypatch):
    """It is 6 times, and was 170 when the proof kept apart in which order phases had told of an access."""
    monkeypatch.setenv("TL_DISABLE_CACHE", "1")
    few, many = (min(seconds(late_products(stages)) for _ in range(3)) for stages in (2, 8))
    assert many < 20 * few


def test_barriers_are_not_each_tried_on_the_whole_kernel(monkeypatch):
    """It is 5 times, and was 17 when the kernel was walked for each barrier and for each fence."""
    monkeypatch.setenv("TL_DISABLE_CACHE", "1")
    few, many = (min(seconds(changed_rows(count)) for _ in range(3)) for count in (28, 112))
    assert many < 9 * few


@pytest.mark.parametrize("alloc", [T.alloc_shared, T.alloc_fragment])
def test_a_number_is_read_once_where_it_is_added_to_itself(alloc, monkeypatch):
    monkeypatch.setenv("TL_DISABLE_CACHE", "1")
    seconds(doubled(4, alloc))
    few, many = (min(seconds(doubled(times, alloc)) for _ in range(3)) for times in (4, 28))
    assert many < 5 * few


def test_a_row_is_found_once_where_an_index_is_added_to_itself(monkeypatch):
    monkeypatch.setenv("TL_DISABLE_CACHE", "1")
    seconds(doubled_rows(4))
    few, many = (min(seconds(doubled_rows(times)) for _ in range(3)) for times in (4, 28))
    assert many < 5 * few


@pytest.mark.parametrize("name", PROGRAMS)
def test_four_times_the_elements_take_no_more_than_seven_times_as_long(name, monkeypatch):
    """It is 3 to 5 times, and was 16 when passes walked over the whole fragment for each element."""
    monkeypatch.setenv("TL_DISABLE_CACHE", "1")
    few, many = (min(seconds(PROGRAMS[name](width)) for _ in range(3)) for width in (4096, 16384))
    assert many < 7 * few


@pytest.mark.parametrize("function", [lambda x: 1 / x, T.exp, T.tanh])
def test_a_formula_is_made_once_and_stands_in_place_of_each_call(function):
    """Each piece of eight elements has its instructions in a scope; LLVM gave registers to one of them."""
    kernel = tilec.compile(elements(function, 16384, 16384), target="sm_90a", assembler="none", line_info=True)
    ptx = kernel.get_ptx()
    bodies = re.findall(r"^\t\{\n(.*?)^\t\}\n", ptx, re.DOTALL | re.MULTILINE)
    assert len(bodies) == 512 // 8
    # Operands aside they are the same text, with the lines of the source.
    assert len({re.sub(r"%r\d+", "", body) for body in bodies}) == 1
    assert ".loc\t1 " in bodies[0]
    assert ".file\t1 " in ptx
    # Nothing is called, and no register of a body has a name of the kernel's.
    assert "call" not in ptx
    assert ".func" not in ptx
    assert len(re.findall(r"%r\d+", bodies[0])) == 8 + 8
    assert int(re.findall(r"\.reg \.b32 \t%r<(\d+)>", ptx)[0]) < 1200


@pytest.mark.parametrize(
    ("program", "instruction", "pieces"), [(softmax, "ex2.approx.ftz.f32", 128), (quotients, "div.s32", 64)]
)
def test_instructions_of_exponentials_and_of_quotients_stand_in_scopes(program, instruction, pieces):
    """Also of exponentials that a row adds up, whose last products LLVM fuses with the sum."""
    ptx = tilec.compile(program(16384), target="sm_90a", assembler="none").get_ptx()
    bodies = re.findall(r"^\t\{\n(.*?)^\t\}\n", ptx, re.DOTALL | re.MULTILINE)
    assert len(bodies) == pieces
    assert sum(body.count(instruction) for body in bodies) == 512
    assert ptx.count(instruction) == 512


@pytest.mark.parametrize(("count", "joint", "other"), [(64, " && ", " & "), (512, " & ", " && ")])
def test_conditions_of_many_guards_are_one_for_nvrtc(count, joint, other):
    """A block of each condition takes NVRTC four times as long for some hundred of them."""
    source = tilec.compile(rows(count), target="sm_90a", backend="nvrtc", assembler="none").get_kernel_source()
    guards = [line for line in source.splitlines() if line.lstrip().startswith("if (")]
    assert len(guards) == count
    assert all(joint in guard and other not in guard for guard in guards)


def test_iterations_of_long_formulas_are_a_loop():
    """They go through a small fragment, by which rows differ: they were written out, each of them."""
    few, many = (tilec.compile(box(n), target="sm_90a", assembler="none").get_ptx() for n in (1024, 2048))
    assert len(many) < 1.1 * len(few)
    assert many.count("rcp.approx") < 64


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_conversions_without_an_instruction_are_the_formulas_that_they_are(dtype):
    """3,072 of them were 44,000 lines of PTX and took 18 s to a cubin."""

    @T.prim_func
    def program(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=32):
            x = T.alloc_fragment((64, 64), "float32")
            T.copy(A, x)
            for i, j in T.Parallel(64, 64):
                for _ in T.unroll(12):
                    x[i, j] = T.cast(T.cast(x[i, j] * 1.5, dtype), "float32")
            T.copy(x, B)

    assert len(tilec.compile(program, target="sm_80", assembler="none").get_ptx().splitlines()) < 1500


@pytest.mark.parametrize("function", [T.sin, T.log])
def test_long_formulas_in_an_inner_loop_are_not_written_out(function):
    """512 sines were 59,600 lines of PTX, and took 17 s to a cubin and 29 by way of CUDA C++."""

    @T.prim_func
    def program(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=32):
            x = T.alloc_fragment((64, 64), "float32")
            T.copy(A, x)
            for i, j in T.Parallel(64, 64):
                for _ in T.serial(4):
                    x[i, j] = x[i, j] * 0.5 + function(function(x[i, j]) + function(function(x[i, j])))
            T.copy(x, B)

    assert len(tilec.compile(program, target="sm_90a", assembler="none").get_ptx().splitlines()) < 3000


def test_formulas_of_few_elements_stay_in_llvms_hands():
    kernel = tilec.compile(elements(T.tanh, 4096, 4096), target="sm_90a", assembler="none")
    assert "%f_r" not in kernel.get_ptx()


def test_columns_that_shuffles_do_not_reach_are_added_in_a_loop():
    """Each of 50 threads has a part of 70 sums: 3,500 reads are a loop, and not as much text."""

    @T.prim_func
    def program(A: T.Tensor((50, 70), "float32"), B: T.Tensor((70,), "float32")):
        with T.Kernel(1, threads=77):
            x = T.alloc_fragment((50, 70), "float32")
            s = T.alloc_fragment((70,), "float32")
            T.copy(A, x)
            T.reduce_sum(x, s, dim=0)
            T.copy(s, B)

    assert tilec.compile(program, target="sm_90a", assembler="none").get_ptx().count("ld.shared") < 200


@pytest.mark.parametrize("program", [lambda: softmax(32768), lambda: rows_of_one_thread(1024)])
def test_statistics_of_what_is_in_memory_are_loops(program):
    """1,024 numbers a thread were 3,000 reads, for which LLVM took half a second."""
    ptx = tilec.compile(program(), target="sm_90a", assembler="none").get_ptx()
    assert ptx.count("ld.local") < 100
    assert len(ptx.splitlines()) < 1500


def rows_of_one_thread(width):
    @T.prim_func
    def program(A: T.Tensor((width,), "float32"), B: T.Tensor((width,), "float32")):
        with T.Kernel(1, threads=1):
            x = T.alloc_fragment((width,), "float32")
            s = T.alloc_fragment((1,), "float32")
            T.copy(A, x)
            T.reduce_sum(x, s, dim=0)
            for i in T.Parallel(width):
                x[i] = x[i] / s[0]
            T.copy(x, B)

    return program


def test_a_loop_of_one_thread_is_not_written_out():
    """Extents that a call tells are gone through in chunks of 1,024, here by one thread."""
    n = T.dynamic("n")

    @T.prim_func
    def program(A: T.Tensor((n,), "float64"), B: T.Tensor((n,), "float64")):
        with T.Kernel(1, threads=1):
            for i in T.Parallel(n):
                if A[i] > 0:
                    B[i] = A[n - i] / A[i]

    assert len(tilec.compile(program, target="sm_90a", assembler="none").get_ptx().splitlines()) < 5000


def products(size, dtype, threads, reduced=True):
    """A tile of `size` squared, which no matrix instruction multiplies, and what is done with its sums on their way."""
    sums = dtype if dtype.startswith("float") else "int32"

    @T.prim_func
    def program(
        A: T.Tensor((size, 14), dtype),
        B: T.Tensor((size, 14), dtype),
        C: T.Tensor((size, size), sums),
        D: T.Tensor((size,), sums),
    ):
        with T.Kernel(1, threads=threads):
            a = T.alloc_shared((size, 7), dtype)
            b = T.alloc_shared((size, 7), dtype)
            c = T.alloc_fragment((size, size), sums)
            d = T.alloc_fragment((size,), sums)
            T.clear(c)
            for k in T.serial(2):
                T.copy(A[0, k * 7], a)
                T.copy(B[0, k * 7], b)
                T.gemm(a, b, c, transpose_B=True)
                for i, j in T.Parallel(size, size):
                    c[i, j] = T.max(c[i, j], T.cast(a[i, k], sums))
            T.copy(c, C)
            if reduced:
                T.reduce_max(c, d, dim=1)
                T.copy(d, D)

    return program


@pytest.mark.filterwarnings("ignore::tilec.errors.ScalarGemmWarning")
@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "float64"])
def test_sums_that_no_thread_has_registers_for_are_added_in_loops(dtype, backend):
    """Written out, 4,356 sums are many times the text, and took 24 s to assemble and minutes from CUDA C++."""
    program = products(66, dtype, 1, reduced=False)
    kernel = tilec.compile(program, target="sm_90a", backend=backend, assembler="none")
    assert kernel.get_kernel_source().count("\n") < 1200


@pytest.mark.filterwarnings("ignore::tilec.errors.ScalarGemmWarning")
@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "float64"])
def test_sums_in_memory_are_those_in_registers(dtype):
    """One thread has 1,444 sums, of 38 rows. Of 128 threads each has a few, in registers."""
    random = np.random.default_rng(0)
    A, B = (random.integers(-99, 99, (38, 14)).astype(dtype) for _ in range(2))
    if dtype.startswith("float"):
        A, B = A / 7, B / 13
    results = []
    for threads in (1, 128):
        C, D = (np.zeros(shape, dtype if dtype.startswith("float") else "int32") for shape in ((38, 38), (38,)))
        tilec.compile(products(38, dtype, threads), target="sm_90a", backend="sim")(A, B, C, D)
        results.append((C, D))
    for in_memory, in_registers in zip(*results, strict=True):
        assert in_memory.any()
        np.testing.assert_array_equal(in_memory, in_registers)


@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
def test_elements_that_no_thread_has_registers_for_are_computed_in_loops(backend):
    """Written out, these are 140,000 lines of PTX, which take minutes to assemble."""

    @T.prim_func
    def program(A: T.Tensor((96, 12), "float64"), B: T.Tensor((96,), "float64"), C: T.Tensor((96, 12), "float64")):
        with T.Kernel(1, threads=1):
            a = T.alloc_fragment((96, 12), "float64")
            b = T.alloc_fragment((96,), "float64")
            T.copy(A, a)
            T.copy(B, b)
            for i, j in T.Parallel(96, 12):
                a[i, j] = T.tanh(b[i]) - b[i] / a[i, j]
            T.copy(a, C)

    kernel = tilec.compile(program, target="sm_90a", backend=backend, assembler="none")
    assert kernel.get_kernel_source().count("\n") < 1200


@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
def test_many_statements_on_a_fragment_are_loops(backend):
    """Each of them is short enough to be written out for the 50 elements of a thread, and all of them are not."""

    @T.prim_func
    def program(A: T.Tensor((1600,), "float32"), B: T.Tensor((1600,), "float32")):
        with T.Kernel(1, threads=32):
            x = T.alloc_fragment((1600,), "float32")
            T.copy(A, x)
            for k in T.unroll(100):
                for i in T.Parallel(1600):
                    x[i] = T.tanh(x[i] + A[i + k]) - x[i] * 0.25
            T.copy(x, B)

    kernel = tilec.compile(program, target="sm_90a", backend=backend, assembler="none")
    assert kernel.get_kernel_source().count("\n") < 10_000
    A = np.random.default_rng().standard_normal(1600, "float32")
    x = A.astype("float64")
    for k in range(100):
        x = np.tanh(x + np.pad(A, (0, k))[k:]) - x * 0.25
    for target, backend in (("cpu", "cpu"), ("sm_90a", "sim")):
        B = np.full(1600, np.nan, "float32")
        tilec.compile(program, target=target, backend=backend)(A, B)
        np.testing.assert_allclose(B, x, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
def test_many_gemms_without_matrix_instructions_are_loops(backend):
    """31 threads have no warp, and 96 elements each of which some are none. Each of 16 gemms is short enough."""
    steps = 16

    @T.prim_func
    def program(
        A: T.Tensor((32, 16 * steps), "float16"),
        B: T.Tensor((16 * steps, 64), "float16"),
        C: T.Tensor((32, 64), "float32"),
    ):
        with T.Kernel(1, threads=31):
            a = T.alloc_shared((32, 16), "float16")
            b = T.alloc_shared((16, 64), "float16")
            c = T.alloc_fragment((32, 64), "float32")
            T.clear(c)
            for k in T.unroll(steps):
                T.copy(A[0, k * 16], a)
                T.copy(B[k * 16, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    kernel = tilec.compile(program, target="sm_90a", backend=backend, assembler="none")
    assert kernel.get_kernel_source().count("\n") < 5_000
    random = np.random.default_rng()
    A, B = random.standard_normal((32, 16 * steps)), random.standard_normal((16 * steps, 64))
    A, B = A.astype("float16"), B.astype("float16")
    for target, backend in (("cpu", "cpu"), ("sm_90a", "sim")):
        C = np.full((32, 64), np.nan, "float32")
        tilec.compile(program, target=target, backend=backend)(A, B, C)
        np.testing.assert_allclose(C, A.astype("float64") @ B.astype("float64"), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
def test_iterations_that_read_one_element_of_a_fragment_are_a_loop(backend):
    """Written out, they are 13,000 lines of PTX, and NVRTC takes a minute and more."""

    @T.prim_func
    def program(A: T.Tensor((683, 2), "int32"), places: T.Tensor((683,), "int32"), C: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=1):
            least = T.alloc_fragment((2,), "int32")
            T.copy(A[0, :], least)
            for i in T.Parallel(683):
                if A[i, 0] >= least[0]:
                    T.atomic_add(C[places[i]], A[i, 1] - least[1])

    kernel = tilec.compile(program, target="sm_90a", backend=backend, assembler="none")
    assert kernel.get_kernel_source().count("\n") < 200
    random = np.random.default_rng()
    A, places = random.integers(-99, 99, (683, 2), "int32"), random.integers(-9, 70, 683, "int32")
    for target, backend in (("cpu", "cpu"), ("sm_90a", "sim")):
        found, expected = np.zeros(64, "int32"), np.zeros(64, "int32")
        tilec.compile(program, target=target, backend=backend)(A, places, found)
        for (first, second), place in zip(A, places, strict=True):
            if first >= A[0, 0] and 0 <= place < 64:
                expected[place] += second - A[0, 1]
        np.testing.assert_array_equal(found, expected)


def test_a_number_of_all_iterations_that_each_step_uses_twice():
    """LLVM asks whether all iterations compute the same, and went 3^30 ways through this to know it."""

    @T.prim_func
    def program(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(1024):
                x = T.alloc_var("int32", A[5])
                for k in T.unroll(30):
                    x = T.if_then_else(x > k, x * 3 + 1, x ^ k)
                B[i] = x + A[i]

    begin = time.process_time()
    kernel = tilec.compile(program, target="cpu")
    assert time.process_time() - begin < 5
    A, B = np.random.default_rng().integers(-99, 99, 1024, "int32"), np.zeros(1024, "int32")
    kernel(A, B)
    x = int(A[5])
    for k in range(30):
        x = x * 3 + 1 if x > k else x ^ k
        x = (x + 2**31) % 2**32 - 2**31
    np.testing.assert_array_equal(B, A + np.int32(x))


def test_scans_are_not_written_out_by_threads_that_cannot_share_a_row():
    """999 threads have no power of two in them but one: each would have the whole row."""

    @T.prim_func
    def program(A: T.Tensor((4096,), "float32"), B: T.Tensor((4096,), "float32")):
        with T.Kernel(1, threads=999):
            s = T.alloc_shared((4096,), "float32")
            T.copy(A, s)
            T.cumsum(s)
            T.copy(s, B)

    assert tilec.compile(program, target="sm_90a").get_ptx().count("\n") < 1000
