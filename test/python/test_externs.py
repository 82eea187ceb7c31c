"""Functions that programs call by their names in C++, of CUDA's library and of their own: `T.call_extern`."""

import numpy as np
import pytest

import external_programs
import tilec
import tilec.language as T
from tilec.errors import ArgumentError, DTypeError, ShapeError, TLError, UnsupportedError
from tilec.language.externs import _FUNCTIONS

OF_NUMPY = {
    "acos": "arccos", "asin": "arcsin", "atan": "arctan", "acosh": "arccosh", "asinh": "arcsinh", "atanh": "arctanh",
    "atan2": "arctan2", "nearbyint": "rint", "pow": "power", "fdivide": "divide", "rsqrt": None, "erf": None,
}  # fmt: skip
ONES = {
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "fma": lambda x, y, z: x * y + z,
}
INTEGERS = ("abs", "__popc", "__clz", "__ffs")


def called(name, count, dtype, n):
    @T.prim_func
    def f(X: T.Tensor((count, n), dtype), Y: T.Tensor((n,), dtype)):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(n):
                Y[i] = T.call_extern(dtype, name, *(X[k, i] for k in range(count)))

    return f


@pytest.mark.parametrize("name", [name for name in _FUNCTIONS if name not in INTEGERS])
def test_functions_are_those_of_the_library(name):
    _, count, dtype = _FUNCTIONS[name]
    stem = name.strip("_").removesuffix("f") if dtype == "float32" else name
    low, high = (1, 3) if stem == "acosh" else (0.1, 0.9)
    x = np.random.default_rng(0).uniform(low, high, (count, 64)).astype(dtype)
    y = np.zeros(64, dtype)
    tilec.compile(called(name, count, dtype, 64), target="cpu")(x, y)
    if stem == "erf":
        import math

        expected = np.array([math.erf(v) for v in x[0]])
    else:
        expected = ONES.get(stem, getattr(np, OF_NUMPY.get(stem) or stem, None))(*x)
    np.testing.assert_allclose(y, expected, rtol=3e-7 if dtype == "float64" else 2e-5)


@pytest.mark.parametrize("name", INTEGERS)
def test_functions_of_integers(name):
    x = np.array([[0, 1, -1, 12, -2147483648, 1 << 20, 7, -100]], np.int32)
    y = np.zeros(8, np.int32)
    tilec.compile(called(name, 1, "int32", 8), target="cpu")(x, y)
    words = [f"{int(v) & 0xFFFFFFFF:032b}" for v in x[0]]
    expected = {
        "abs": np.abs(x[0]),
        "__popc": [w.count("1") for w in words],
        "__clz": [len(w) - len(w.lstrip("0")) for w in words],
        "__ffs": [w[::-1].find("1") + 1 for w in words],
    }[name]
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(
    ("name", "arguments", "error", "message"),
    [
        (
            "decode_i4u_to_f16",
            1,
            UnsupportedError,
            "`decode_i4u_to_f16` is none: give its source by `T.import_source` in the kernel, before the call",
        ),
        ("fmnf", 2, UnsupportedError, "did you mean"),
        ("fminf", 1, ArgumentError, "`fminf` has 2 arguments, and gets 1"),
    ],
)
def test_what_is_refused(name, arguments, error, message):
    with pytest.raises(error, match=message):

        @T.prim_func
        def f(X: T.Tensor((64,), "float32")):
            with T.Kernel(1):
                X[0] = T.call_extern("float32", name, *[X[0]] * arguments)


# Functions of the program's own sources -------------------------------------------------------------------------------

gpu_compiler = pytest.mark.skipif(
    not any(tilec.backends.find(name).is_available() for name in ("nvrtc", "nvcc")),
    reason="needs a compiler of CUDA C++",
)


@gpu_compiler
@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
@pytest.mark.parametrize("name", external_programs.CASES)
def test_functions_of_sources_are_compiled_with_the_kernel(name, backend):
    kernel = tilec.compile(external_programs.CASES[name].program, target="sm_80", backend=backend)
    assert external_programs.CASES[name].text in kernel.get_kernel_source()
    assert ".extern .func" not in kernel.get_ptx()  # it is inlined


@pytest.mark.parametrize("backend", ["cpu", "sim"])
def test_functions_of_sources_need_a_gpu(backend):
    program = external_programs.CASES["a number"].program
    with pytest.raises(TLError, match=r"test_externs|external_programs.py:\d+.*`halve` is CUDA C\+\+"):
        tilec.compile(program, target="cpu" if backend == "cpu" else "sm_80", backend=backend)


@gpu_compiler
def test_functions_of_the_library_that_a_source_calls_are_the_librarys():
    """Were `pow` one of the source, the CPU would refuse it, and 0.1 would be a `float32`."""

    @T.prim_func
    def f(X: T.Tensor((64,), "float64")):
        with T.Kernel(1, threads=64):
            T.import_source("// pow takes its time\n__device__ double cube(double x) { return pow(x, 3.0); }")
            for i in T.Parallel(64):
                X[i] = T.call_extern("float64", "pow", X[i], 0.1)

    numbers = np.linspace(1, 9, 64)
    expected = numbers**0.1
    tilec.compile(f, target="cpu")(numbers)
    np.testing.assert_allclose(numbers, expected, rtol=1e-14)


def test_functions_that_a_source_defines_are_the_sources():
    """Also of a name that the library has for other types."""

    @T.prim_func
    def f(X: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            T.import_source("template <typename T>\n__device__ T fmax(T a, T b) {\n  return a < b ? b : a;\n}")
            for i in T.Parallel(64):
                X[i] = T.call_extern("int32", "fmax", X[i], 3)

    with pytest.raises(TLError, match="`fmax`"):
        tilec.compile(f, target="cpu")


def test_the_text_is_part_of_the_kernels_identity(tmp_path):
    def kernel(text):
        @T.prim_func
        def f(X: T.Tensor((32,), "float32")):
            with T.Kernel(1, threads=32):
                T.import_source(text)
                for i in T.Parallel(32):
                    X[i] = T.call_extern("float32", "g", X[i])

        return tilec.compile(f, target="sm_80")

    texts = [f"__device__ float g(float x) {{ return x + {n}; }}" for n in (1, 2, 1)]
    first, second, again = (kernel(text).get_ptx() for text in texts)
    assert first == again != second


@gpu_compiler
def test_mistakes_in_a_source_are_the_compilers_to_tell():
    @T.prim_func
    def f(X: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            T.import_source("__device__ float g(float x) { return y; }")
            X[0] = T.call_extern("float32", "g", X[0])

    with pytest.raises(TLError, match=r'"y" is undefined'):
        tilec.compile(f, target="sm_80")


@gpu_compiler
def test_pointers_are_to_elements_of_the_size_that_the_function_takes():
    @T.prim_func
    def f(X: T.Tensor((32, 8), "float16")):
        with T.Kernel(1, threads=32):
            T.import_source("__device__ void g(float *x) { x[7] = 1; }")
            for i in T.Parallel(32):
                T.call_extern("handle", "g", T.access_ptr(X[i, 0], "rw", 8))

    with pytest.raises(TLError, match="the function takes a pointer to elements of another size"):
        tilec.compile(f, target="sm_80")


def test_the_type_may_stand_behind_the_arguments(run):
    @T.prim_func
    def f(X: T.Tensor((32,), "float32"), Y: T.Tensor((2, 32), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                Y[0, i] = T.call_extern("fminf", X[i], 0.5, dtype="float32")
                Y[1, i] = T.call_pure_extern("fmaxf", X[i], 0.5, dtype="float32")

    x = np.linspace(-1, 1, 32, dtype=np.float32)
    y = np.zeros((2, 32), np.float32)
    run(f, x, y)
    np.testing.assert_array_equal(y, [np.minimum(x, 0.5), np.maximum(x, 0.5)])


def building(body):
    @T.prim_func
    def f(X: T.Tensor((64, 64), "float32"), H: T.Tensor((64, 64), "int4")):
        with T.Kernel(1, threads=64):
            body(X, H)


def imported(text, *arguments):
    def body(X, H):
        T.import_source(text)
        T.call_extern(*arguments[:2], *(a(X, H) if callable(a) else a for a in arguments[2:]))

    return body


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (
            lambda X, H: T.import_source(7),
            ArgumentError,
            "`source` of `T.import_source` is a text of CUDA C\\+\\+, not `7`",
        ),
        (
            lambda X, H: T.call_extern("float32"),
            ArgumentError,
            "takes the type of the result, the name of the function and its arguments, as in",
        ),
        (lambda X, H: T.import_source(" "), ArgumentError, "is empty: it needs the functions that the kernel calls"),
        (
            imported("__device__ void g(float x);", "handle", "g", 1.0),
            ArgumentError,
            "`g` returns nothing, and has no pointer of `T.access_ptr` to write to",
        ),
        (
            imported("__device__ void g(float *x);", "handle", "g", lambda X, H: T.address_of(X[0, 0])),
            ShapeError,
            r"argument 1 of `g` points into `X`: say how many elements it has",
        ),
        (
            imported("__device__ void g(float *x);", "handle", "g", lambda X, H: T.access_ptr(X[0, 0], "w", 100)),
            ShapeError,
            "points to 100 elements of `X`, which go through registers",
        ),
        (
            imported("__device__ void g(float *x);", "handle", "g", lambda X, H: T.access_ptr(X[0, 0], "w", 2, 2)),
            ArgumentError,
            "neighbours along the last dimension",
        ),
        (
            imported("__device__ int g(int x);", "int32", "g", lambda X, H: H[0, 0]),
            DTypeError,
            "`g` cannot be given `int4`",
        ),
        (imported("__device__ int g(int x);", "int32", "g", "x"), ArgumentError, "argument 1 of `g` is a number or a"),
    ],
)
def test_what_is_refused_of_sources(body, error, message):
    with pytest.raises(error, match=message):
        building(body)


def test_a_source_needs_a_kernel():
    with pytest.raises(TLError, match="`T.import_source` belongs inside `with T.Kernel"):

        @T.prim_func
        def f(X: T.Tensor((64,), "float32")):
            T.import_source("__device__ float g(float x) { return x; }")
            with T.Kernel(1):
                X[0] = 1
