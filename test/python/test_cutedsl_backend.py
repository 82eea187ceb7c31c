"""Kernels as modules of CuTe DSL: what is printed, what it compiles to, and what is refused.

test/integration/test_cutedsl_backend.py runs them on a GPU.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tilec
import tilec.language as T
from tilec import backends
from tilec.backends import cutedsl
from tilec.errors import BackendError, CompileError

sys.path.append(str(Path(__file__).parents[1] / "integration"))
import cutedsl_kernels

needs_package = pytest.mark.skipif(
    not backends.find("cutedsl").is_available(), reason="there is no nvidia-cutlass-dsl here"
)


def compiled(function, target="sm_90a"):
    return tilec.compile(function, target=target, backend="cutedsl")


@pytest.fixture
def available(monkeypatch):
    """Prints modules whether or not there is something that compiles them."""
    monkeypatch.setattr(backends.find("cutedsl"), "missing", list)
    monkeypatch.setattr(cutedsl, "_version", lambda: "none")
    monkeypatch.setattr(cutedsl, "_compile", lambda name, source, chip: (f"cutlass_{name}", b"a cubin"))
    monkeypatch.setenv("TL_DISABLE_CACHE", "1")


def test_a_module_is_the_kernels_source(available):
    kernel = compiled(cutedsl_kernels.saxpy)
    source = kernel.get_kernel_source()
    assert "@cute.kernel\ndef saxpy_kernel(" in source
    assert "# Y[b * 256 + i] = a * X[b * 256 + i] + Y[b * 256 + i]" in source
    compile(source, "kernel.py", "exec")
    assert kernel.artifact["plan.json"].count(b'"entry": "cutlass_saxpy_kernel"') == 1
    assert cutedsl._unpack(kernel.artifact["kernels.zip"]) == {"saxpy_kernel": b"a cubin"}


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a"])
def test_what_is_expressed_is_so_for_all_chips(available, target):
    for function in cutedsl_kernels.KERNELS:
        compile(compiled(function, target).get_kernel_source(), "kernel.py", "exec")


def test_what_is_not_expressed_is_named_with_its_place(available):
    @T.prim_func
    def gemm(A: T.Tensor((128, 64), "float16"), B: T.Tensor((64, 128), "float16"), C: T.Tensor((128, 128), "float16")):
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((128, 64), "float16"), T.alloc_shared((64, 128), "float16")
            c = T.alloc_fragment((128, 128), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            T.gemm(a, b, c)
            T.copy(c, C)

    with pytest.raises(
        CompileError, match=r"has no form in CuTe DSL here; the backends `nvptx` and `nvrtc` have one"
    ) as found:
        compiled(gemm)
    assert Path(__file__).name in str(found.value)


def test_without_the_package():
    if backends.find("cutedsl").is_available():
        pytest.skip("it is here")
    with pytest.raises(BackendError, match="`nvidia_cutlass_dsl`; `pip install nvidia-cutlass-dsl`"):
        compiled(cutedsl_kernels.saxpy)


@needs_package
@pytest.mark.parametrize("function", cutedsl_kernels.KERNELS, ids=lambda f: f.name)
def test_cute_dsl_compiles_it(function):
    kernel = compiled(function)
    (cubin,) = cutedsl._unpack(kernel.artifact["kernels.zip"]).values()
    assert cubin.startswith(b"\x7fELF")
    (launch,) = json.loads(kernel.artifact["plan.json"])["launches"]
    assert launch["entry"].encode() in cubin


@needs_package
@pytest.mark.parametrize("target", ["sm_80", "sm_89", "sm_90", "sm_100a", "sm_120a"])
def test_for_other_chips(target):
    assert compiled(cutedsl_kernels.softmax, target).artifact["kernels.zip"]


@needs_package
def test_parameters_are_those_of_the_launch(tmp_path):
    """In the order and sizes in which a launch passes them."""
    kernel = compiled(cutedsl_kernels.integers)
    path = tmp_path / "integers.py"
    path.write_text(kernel.get_kernel_source())
    subprocess.run(
        [sys.executable, path, "--gpu-arch", "sm_90a", "--keep-ptx", "--dump-dir", "."], cwd=tmp_path, check=True
    )
    (ptx,) = tmp_path.glob("*.ptx")
    found = re.findall(r"\.param \.(\w+)", ptx.read_text().partition("{")[0])
    sizes = {"u64": 8, "b64": 8, "u32": 4, "b32": 4, "f32": 4}
    plan = kernel.compile_info["functions"]["integers"]["launches"][0]["params"]
    assert [sizes[kind] for kind in found] == [8 if "base" in p or p.get("type") == "i64" else 4 for p in plan]


@needs_package
def test_it_is_compiled_once(own_cache, monkeypatch):
    tilec.cache.clear(kernels=False, tuning=False)
    first = compiled(cutedsl_kernels.saxpy)
    assert not first.cached
    tilec.cache.clear(kernels=False, tuning=False)
    monkeypatch.setattr(cutedsl, "_compile", lambda *arguments: pytest.fail("it is in the cache"))
    again = compiled(cutedsl_kernels.saxpy)
    assert again is not first
    assert again.cached
    assert again.artifact["kernels.zip"] == first.artifact["kernels.zip"]
    assert again.get_kernel_source() == first.get_kernel_source()


@needs_package
def test_its_errors_name_the_kernel():
    with pytest.raises(CompileError, match="CuTe DSL cannot compile `broken` for `sm_90a`: .*no_such_name"):
        cutedsl._compile("broken", b"def compile_for(options):\n    pass\nno_such_name()", "sm_90a")


@needs_package
def test_it_leaves_no_files(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TL_DISABLE_CACHE", "1")
    compiled(cutedsl_kernels.saxpy)
    assert list(tmp_path.iterdir()) == []
