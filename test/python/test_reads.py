"""What kernels of `@tilec.jit` depend on besides the arguments, and what tells arguments apart."""

from __future__ import annotations

import enum
import types
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec import reads

SCALE = 5.0
LIMITS = {"low": 1}
config = types.ModuleType("test_reads_config")
config.scale = 2.0  # type: ignore[attr-defined]


class Settings:
    factor = 2.0


class Mode(enum.Enum):
    FAST = 1
    SAFE = 2


@dataclass
class Tile:
    n: Any


def filled(value: float) -> Any:
    @T.prim_func
    def main(A: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(8):
                A[i] = value

    return main


def run(kernel: Any) -> float:
    out = np.full(8, np.nan, np.float32)
    kernel(out)
    assert (out == out[0]).all()
    return float(out[0])


def test_a_global_that_changes(monkeypatch):
    @tilec.jit(target="cpu")
    def scaled():
        return filled(SCALE)

    assert run(scaled()) == 5.0
    assert scaled() is scaled()
    monkeypatch.setitem(globals(), "SCALE", 7.0)
    assert run(scaled()) == 7.0
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert run(scaled()) == 5.0


def test_an_eager_function_reads_a_global_that_changes(monkeypatch):
    @tilec.jit(target="cpu")
    def eager(A):
        A: T.Tensor[[8], T.float32]
        with T.Kernel(1):
            for i in T.Parallel(8):
                A[i] = SCALE

    assert run(eager) == 5.0
    monkeypatch.setitem(globals(), "SCALE", 7.0)
    assert run(eager) == 7.0
    assert run(eager) == 7.0


def test_a_variable_of_an_enclosing_function():
    value = 1.0

    @tilec.jit(target="cpu")
    def enclosed():
        return filled(value)

    assert run(enclosed()) == 1.0
    value = 2.0
    assert run(enclosed()) == 2.0


@pytest.mark.parametrize("holder", [config, Settings])
def test_an_attribute_of_a_module_or_a_class(holder, monkeypatch):
    @tilec.jit(target="cpu")
    def from_module():
        return filled(config.scale)

    @tilec.jit(target="cpu")
    def from_class():
        return filled(Settings.factor)

    function, name = (from_module, "scale") if holder is config else (from_class, "factor")
    assert run(function()) == 2.0
    monkeypatch.setattr(holder, name, 3.0)
    assert run(function()) == 3.0


def test_the_contents_of_a_list_and_of_an_object(monkeypatch):
    tile = Tile(1)
    sizes = [8]

    @tilec.jit(target="cpu")
    def listed():
        return filled(float(sizes[0] + LIMITS["low"] + tile.n))

    assert run(listed()) == 10.0
    sizes[0] = 16
    assert run(listed()) == 18.0
    monkeypatch.setitem(LIMITS, "low", 2)
    assert run(listed()) == 19.0
    tile.n = 5
    assert run(listed()) == 23.0


def test_what_called_functions_and_macros_read(monkeypatch):
    def twice() -> float:
        return 2 * SCALE

    @T.macro
    def write(A, i):
        A[i] = SCALE

    @tilec.jit(target="cpu")
    def by_function():
        return filled(twice())

    @tilec.jit(target="cpu")
    def by_macro():
        @T.prim_func
        def main(A: T.Tensor((8,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(8):
                    write(A, i)

        return main

    assert (run(by_function()), run(by_macro())) == (10.0, 5.0)
    monkeypatch.setitem(globals(), "SCALE", 7.0)
    assert (run(by_function()), run(by_macro())) == (14.0, 7.0)


def test_an_object_that_is_passed_and_changed():
    @tilec.jit(target="cpu")
    def sized(tile):
        return filled(float(tile.n))

    tile = Tile(3)
    assert run(sized(tile)) == 3.0
    tile.n = 4
    assert run(sized(tile)) == 4.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Tile(2), Tile(2.0)),
        (np.float32(0.0), np.float32(-0.0)),
        (0.0, -0.0),
        (frozenset({1}), frozenset({True})),
        ((1,), (True,)),
        ((1,), [1]),
        (1, 1.0),
        (Mode.FAST, Mode.SAFE),
        (np.int64(1), 1),
    ],
)
def test_what_python_calls_equal_is_told_apart(one, other):
    assert reads.frozen(one) != reads.frozen(other)


@pytest.mark.parametrize(
    "make",
    [lambda: Tile(2), lambda: np.float32(0.5), lambda: {"a": [1, (2.0, None)]}, lambda: float("nan"), lambda: {1, 2}],
)
def test_the_same_is_found_again(make):
    assert reads.frozen(make()) == reads.frozen(make())
    assert hash(reads.frozen(make())) == hash(reads.frozen(make()))


def test_an_object_inside_itself():
    ring: list[Any] = [1]
    ring.append(ring)
    other: list[Any] = [2]
    other.append(other)
    assert reads.frozen(ring) == reads.frozen(ring)
    assert reads.frozen(ring) != reads.frozen(other)


def test_what_cannot_be_told_apart_is_looked_at_each_time():
    table = np.zeros(1)

    @tilec.jit(target="cpu")
    def tabled():
        return filled(float(table[0]))

    assert run(tabled()) == 0.0
    table[0] = 3.0
    assert run(tabled()) == 3.0


def test_a_lazy_function_refuses_tensors():
    @tilec.jit(target="cpu")
    def lazy(value):
        return filled(float(value))

    with pytest.raises(tilec.errors.ArgumentError, match="`value` of `lazy` is a tensor"):
        lazy(np.zeros(3))


def test_the_target_of_the_environment(monkeypatch):
    @tilec.jit(assembler="none")
    def anywhere():
        return filled(1.0)

    monkeypatch.setenv("TL_TARGET", "sm_90a")
    assert anywhere().target == "sm_90a"
    monkeypatch.setenv("TL_TARGET", "sm_80")
    assert anywhere().target == "sm_80"
    assert anywhere() is anywhere()


def test_a_hook_that_is_registered_later():
    @tilec.jit(target="sm_90a", assembler="none")
    def hooked():
        return filled(1.0)

    assert "edited" not in hooked().get_ptx()
    try:
        tilec.register_ptx_postproc(lambda source, target: source + "// edited\n")
        assert "edited" in hooked().get_ptx()
    finally:
        tilec.register_ptx_postproc(None)
    assert "edited" not in hooked().get_ptx()


def test_installed_packages_are_taken_as_they_are():
    def uses_numpy() -> Any:
        return np.float32(np.pi)

    assert reads.guards(uses_numpy) is not None
    assert reads.read_by(uses_numpy) == reads.read_by(uses_numpy)


def test_programs_by_other_names():
    """A function is a program if it launches kernels, whatever it calls `T.Kernel`."""
    K = T.Kernel

    @tilec.jit(target="cpu")
    def by_alias(A):
        A: T.Tensor[[8], T.float32]
        with K(1):
            for i in T.Parallel(8):
                A[i] = 1.0

    @tilec.jit(target="cpu")
    def by_local_alias(A):
        A: T.Tensor[[8], T.float32]
        Launch = T.Kernel
        with Launch(1):
            for i in T.Parallel(8):
                A[i] = 2.0

    @tilec.jit
    def only_source(A):
        A: T.Tensor[[8], T.float32]
        T.CUDASourceCodeKernel(1, source_code_or_path="__global__ void f(float *A) {}", args=[A])

    class Kernel:
        def __enter__(self):
            return None

        def __exit__(self, *_):
            return None

    @tilec.jit(target="cpu")
    def of_another(value):
        with Kernel():
            return filled(value)

    assert by_alias.is_eager
    assert by_local_alias.is_eager
    assert only_source.is_eager
    assert not of_another.is_eager
    assert run(by_alias) == 1.0
    assert run(by_local_alias) == 2.0
    assert run(of_another(3.0)) == 3.0
