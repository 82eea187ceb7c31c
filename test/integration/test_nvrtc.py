"""`nvrtc` beside `nvptx`: the same kernels from both code generators, new and from the cache.

Copies and integers come out bit for bit alike. Where floats are rounded, contraction and the order of sums are the
compilers' choice, so that both are held against float64.
"""

import re

import pytest

import kernels
import tilec
import tilec.language as T
from tilec import backends

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)
if backends.find("nvrtc").missing():
    pytest.skip("there is no NVRTC", allow_module_level=True)

MAJOR, MINOR = torch.cuda.get_device_capability()
CHIPS = ["sm_90a", "sm_90"] if (MAJOR, MINOR) == (9, 0) else [f"sm_{MAJOR}{MINOR}"]


def integers(*shape, dtype=torch.int32):
    info = torch.iinfo(dtype)
    return torch.randint(info.min, info.max, shape, device="cuda", dtype=dtype)


def floats(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda").to(dtype)


def poisoned(*shape, dtype):
    value = float("nan") if dtype.is_floating_point else -77
    return torch.full(shape, value, device="cuda", dtype=dtype)


EXACT = {
    "copy f16": (lambda: kernels.transpose(1000, 777, "float16"), lambda: [floats(1000, 777, dtype=torch.half)], 1),
    "copy i8": (lambda: kernels.transpose(512, 640, "int8"), lambda: [integers(512, 640, dtype=torch.int8)], 1),
    "copy f32": (lambda: kernels.transpose(333, 100, "float32", tile=32), lambda: [floats(333, 100)], 1),
    "integers": (lambda: kernels.integers(100_003), lambda: [integers(100_003), integers(100_003)], 1),
    "axpy i32": (lambda: kernels.axpy(4097, "int32"), lambda: [integers(4097), integers(4097)], 1),
    "row sums": (lambda: kernels.row_sums(513, 777), lambda: [integers(513, 777)], 2),
    "gemm i8": (
        lambda: kernels.gemm(300, 260, 200, "int8", nt=True, relu=False, out="int32", acc="int32"),
        lambda: [integers(300, 200, dtype=torch.int8), integers(260, 200, dtype=torch.int8)],
        1,
    ),
}

HALF = {"float16": torch.half, "bfloat16": torch.bfloat16}
ROUNDED = {
    f"gemm {name} {'NT' if nt else 'NN'} {tile}": (
        lambda name=name, nt=nt, tile=tile, stages=stages, threads=threads: kernels.gemm(
            500, 392, 264, name, nt=nt, relu=False, tile=tile, stages=stages, threads=threads
        ),
        lambda name=name, nt=nt: [
            floats(500, 264, dtype=HALF[name]),
            floats(*((392, 264) if nt else (264, 392)), dtype=HALF[name]),
        ],
        lambda A, B, nt=nt: A @ (B.t() if nt else B),
        lambda _, A, B, nt=nt: 264 * 2.0**-23 * (A.abs() @ (B.t() if nt else B).abs()),
    )
    for name in HALF
    for nt in (False, True)
    for tile, stages, threads in [((128, 128, 64), 3, 256), ((64, 64, 32), 2, 128), ((128, 64, 64), 4, 256)]
}
ROUNDED |= {
    f"{kind} {name}": (
        lambda kind=kind, name=name: getattr(kernels, kind)(133, 777, name),
        lambda name=name: [floats(133, 777, dtype=HALF.get(name, torch.float32)) * 3],
        (lambda A: torch.softmax(A, 1))
        if kind == "softmax"
        else (lambda A: A / torch.sqrt((A * A).mean(1, keepdim=True) + 1e-5)),
        lambda expected, _: 2e-6 * expected.abs(),
    )
    for kind in ("softmax", "rms_norm")
    for name in ("float16", "bfloat16", "float32")
}
ROUNDED |= {
    f"axpy {name}": (
        lambda name=name: kernels.axpy(1_000_003, name),
        lambda name=name: [floats(1_000_003, dtype=HALF.get(name, torch.float32)) for _ in range(2)],
        lambda A, B: 2 * A + B,
        lambda *_: 0,
    )
    for name in ("float16", "bfloat16", "float32")
}
UNIT = {torch.half: 2.0**-11, torch.bfloat16: 2.0**-8, torch.float32: 2.0**-24}
# Half of the smallest subnormal: what rounding costs near zero.
TINY = {torch.half: 2.0**-25, torch.bfloat16: 2.0**-134, torch.float32: 2.0**-150}


@pytest.fixture(autouse=True)
def _cold(tmp_path, monkeypatch):
    monkeypatch.setenv("TL_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TL_DISABLE_CACHE", raising=False)


def cold_and_warm(make, chip, backend):
    """Yields the kernel as it is compiled, and as another process would find it."""
    for cached in (False, True):
        tilec.cache.clear(kernels=False, tuning=False)
        kernel = tilec.compile(make(), target=chip, backend=backend)
        assert kernel.cached is cached
        assert kernel.n_spills == 0
        yield kernel


def results(make, inputs, chip, backend):
    """Runs the kernel cold and warm; both must agree, and leave no element unwritten."""
    found = []
    for kernel in cold_and_warm(make, chip, backend):
        outputs = [
            poisoned(*parameter.type.shape, dtype=getattr(torch, parameter.type.dtype.name))
            for parameter in kernel.function.parameters[len(inputs) :]
        ]
        kernel(*inputs, *outputs)
        torch.cuda.synchronize()
        found.append(outputs)
    for cold, warm in zip(*found, strict=True):
        assert torch.equal(cold, warm)
    return found[0]


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", EXACT)
def test_bit_for_bit(name, chip):
    make, inputs, outputs = EXACT[name]
    data = inputs()
    ours = results(make, data, chip, "nvrtc")
    theirs = results(make, data, chip, "nvptx")
    assert len(ours) == outputs
    for a, b in zip(ours, theirs, strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", ROUNDED)
def test_within_rounding(name, chip):
    """Each result is the output's unit from the exact one, plus what the arithmetic on the way may cost."""
    make, inputs, reference, bound = ROUNDED[name]
    data = inputs()
    wide = [x.double() for x in data]
    expected = reference(*wide)
    on_the_way = bound(expected, *wide)
    for backend in ("nvrtc", "nvptx"):
        (result,) = results(make, data, chip, backend)
        error = (result.double() - expected).abs()
        limit = UNIT[result.dtype] * expected.abs() + TINY[result.dtype] + on_the_way
        assert (error <= limit).all(), f"{backend}: {(error / limit).max().item():.2f} times the bound"


def test_the_edited_text_runs():
    n = 100_003
    source = tilec.compile(kernels.axpy(n, "float32"), target=CHIPS[0], backend="nvrtc").get_kernel_source()
    assert "* 2.0f" in source
    source = source.replace("* 2.0f", "* 4.0f")

    @T.prim_func
    def edited(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
        T.CUDASourceCodeKernel(T.ceildiv(n, 1024), threads=128, source_code_or_path=source, entry_name="main_kernel")

    A, B, C = floats(n), floats(n), poisoned(n, dtype=torch.float32)
    tilec.compile(edited, target=CHIPS[0])(A, B, C)
    assert torch.equal(C, A * 4 + B)


@pytest.mark.skipif(MAJOR != 9, reason="bulk copies and wgmma")
def test_the_text_of_a_gemm_runs():
    """As a source kernel, with the tensor maps and the shared memory that the text speaks of."""
    M, N, K = 512, 384, 256
    kernel = tilec.compile(kernels.gemm(M, N, K, "float16"), target=CHIPS[0], backend="nvrtc")
    source = kernel.get_kernel_source()
    shared = int(re.search(r"smem\[\]; // (\d+) bytes", source)[1])

    def arguments(A, B, C):
        return [
            eval(text, {"T": T, "A": A, "B": B, "C": C})
            for text in re.findall(r"/\* (T\.TensorMap\(.*?\)) \*/", source)
        ]

    @T.prim_func
    def again(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        T.CUDASourceCodeKernel(
            T.ceildiv(N, 128),
            T.ceildiv(M, 128),
            threads=128,
            source_code_or_path=source,
            entry_name="main_kernel",
            args=arguments(A, B, C),
            shared_memory=shared,
        )

    A, B = floats(M, K, dtype=torch.half), floats(K, N, dtype=torch.half)
    C, D = (poisoned(M, N, dtype=torch.half) for _ in range(2))
    kernel(A, B, C)
    tilec.compile(again, target=CHIPS[0])(A, B, D)
    assert torch.equal(C, D)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_constants_that_are_no_numbers(dtype):
    @T.prim_func
    def constants(C: T.Tensor((5,), dtype)):
        with T.Kernel(1, threads=32):
            C[0] = T.infinity(dtype) - T.infinity(dtype)
            C[1] = T.infinity(dtype)
            C[2] = -T.infinity(dtype)
            C[3] = T.cast(-0.0, dtype)
            T.atomic_max(C[4], T.infinity(dtype) - T.infinity(dtype))

    found = torch.zeros(5, device="cuda", dtype=getattr(torch, dtype))
    tilec.compile(constants, backend="nvrtc")(found)
    assert torch.isnan(found).tolist() == [True, False, False, False, True]
    assert found[1:3].tolist() == [float("inf"), -float("inf")]
    assert torch.signbit(found).tolist()[2:4] == [True, True]
