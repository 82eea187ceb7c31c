"""The package itself: what importing it costs, its tools."""

import subprocess
import tomllib
from pathlib import Path

import pytest

import tilec
import tilec.language as T
from tilec.errors import ConfigError

ROOT = Path(__file__).parents[2]


def test_import_loads_nothing(python):
    out = python(
        "import sys, time; start = time.process_time(); import tilec; spent = time.process_time() - start\n"
        "loaded = [m for m in sys.modules if m.split('.')[0] in ('numpy', 'torch') or m.startswith('tilec.')]\n"
        "print(loaded, spent < 0.04)"
    )
    assert out.strip() == "[] True"


def test_the_language_loads_no_heavy_modules(python):
    """The front end that reads source code, errors and tools load what they need when they run."""
    heavy = ["ast", "dataclasses", "inspect", "json", "linecache", "numpy", "pathlib", "re", "torch", "typing"]
    # Without `site`, whose `.pth` files load modules of their own.
    out = python(f"import sys, tilec.language; print([m for m in {heavy} if m in sys.modules])", "-S")
    assert out.strip() == "[]"


def test_unknown_names():
    with pytest.raises(AttributeError, match="module `tilec` has no attribute `nonsense`"):
        tilec.nonsense
    assert "compile" in dir(tilec)
    for name, said in {
        "alloc_shared": r"it is `T.alloc_shared`, of `import tilec.language as T`",
        "layout": r"`tilec.compat.tilelang.layout` has what programs for TileLang use of it",
        "complie": r"did you mean `tilec.compile`",
    }.items():
        with pytest.raises(AttributeError, match=f"module `tilec` has no attribute `{name}`.*{said}"):
            getattr(tilec, name)


def test_doctor(python):
    out = python("import runpy; runpy.run_module('tilec.doctor', run_name='__main__')")
    for line in ("compiler", "cache", "disassembler"):
        assert line in out
    assert len(out.splitlines()) <= 24


def programs():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return sorted(settings["project"]["scripts"].items())


@pytest.mark.parametrize(("name", "entry"), programs())
def test_programs_are_on_the_path(name, entry, python):
    """Those in the package that was installed; a build tree has them elsewhere."""
    if not (Path(tilec.__file__).parent / "bin" / name).exists():
        pytest.skip("the package was built by hand")
    module, _, function = entry.partition(":")
    said = python(f"import sys; from {module} import {function} as main; sys.argv = [{name!r}, '--help']; main()")
    assert "USAGE" in said or "OVERVIEW" in said


def test_tl_translate_of_the_package_needs_nothing_beside_it():
    """One file of CUDA C++, of a module from standard input: no compiler, no folder of headers, no environment."""
    program = Path(tilec.__file__).parent / "bin" / "tl-translate"
    if not program.exists():
        pytest.skip("the package was built by hand")
    module = (ROOT / "test/Pipeline/Inputs/gemm.mlir").read_text()
    made = subprocess.run(
        [program, "--emit=cuda", "--chip=sm_90a"], input=module, env={}, capture_output=True, text=True, check=True
    )
    assert "gemm_kernel(" in made.stdout
    assert not [line for line in made.stdout.splitlines() if line.startswith("#include")]


def test_the_quickstart_needs_nothing_but_python(python):
    said = python(
        "import runpy, sys\n"
        "sys.modules.update(dict.fromkeys(('numpy', 'torch', 'ml_dtypes')))  # importing them fails\n"
        "try:\n    runpy.run_module('tilec.quickstart', run_name='__main__')\n"
        "except SystemExit as end:\n    print(end.code)"
    )
    assert "result: correct" in said
    assert said.splitlines()[-1] == "0"


def test_environment(monkeypatch, tmp_path):
    from tilec import env

    monkeypatch.setenv("TL_CACHE_DIR", str(tmp_path))
    assert env.cache_directory() == str(tmp_path)
    monkeypatch.delenv("TL_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert env.cache_directory() == "/somewhere/tilec"
    monkeypatch.setenv("TL_DISABLE_CACHE", "0")
    assert not env.is_cache_disabled()
    monkeypatch.setenv("TL_DISABLE_CACHE", "1")
    assert env.is_cache_disabled()


def test_sizes_have_units(monkeypatch):
    from tilec import env

    for text, size in (("", 16 << 20), ("1000", 1000), ("64K", 64 << 10), ("1.5 MiB", 3 << 19), ("100G", 1 << 33)):
        monkeypatch.setenv("TL_PRINT_BYTES", text)
        assert env.print_bytes() == size
    monkeypatch.setenv("TL_PRINT_BYTES", "plenty")
    with pytest.raises(ConfigError, match="`TL_PRINT_BYTES` is `plenty`, and is to be a number of bytes such as `64M`"):
        env.print_bytes()


def test_dumps_sort_in_the_order_of_the_passes(tmp_path):
    @T.prim_func
    def two(A: T.Tensor((64,), "float32")):
        for k in range(2):
            with T.Kernel(1, threads=32):
                T.clear(A)

    kernel = tilec.compile(two, target="sm_90a", assembler="none", dump_dir=str(tmp_path))
    on_module = sorted(p.name for p in tmp_path.glob("*.mlir"))
    assert on_module[0] == "00-tl-verify-kernels.mlir"
    assert on_module[-1] == f"{len(on_module) - 1}-tl-split-host-device.mlir"
    names = [entry["name"] for entry in kernel.compile_info["kernels"]]
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_dir()) == sorted(names)
    for name in names:
        passes = [p.stem.partition("-")[2] for p in sorted((tmp_path / name).iterdir())]
        order = ["tl-normalize-statements", "tl-plan-gemms", "tl-lower-tile-ops", "convert-tl-to-nvvm", "tl-emit-ptx"]
        assert sorted(order, key=passes.index) == order
    whole = min((tmp_path / names[0]).iterdir()).read_text()
    assert all(f"@{name}" in whole for name in names), "files hold the whole module"
