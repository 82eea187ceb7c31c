"""The package itself: what importing it costs, its tools."""

import pytest

import tilec


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


def test_doctor(python):
    out = python("import runpy; runpy.run_module('tilec.doctor', run_name='__main__')")
    for line in ("compiler", "cache", "disassembler"):
        assert line in out
    assert len(out.splitlines()) <= 24


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
