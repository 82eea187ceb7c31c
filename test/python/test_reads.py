"""What kernels of `@tilec.jit` depend on besides the arguments, and what tells arguments apart."""

from __future__ import annotations

import collections
import enum
import functools
import itertools
import random
import sys
import types
from collections.abc import Callable
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


# What is read, whichever way it is reached ----------------------------------------------------------------------------


class Sized:
    def __init__(self, n: Any) -> None:
        self.n = n


class Base:
    v = 1.0


class Derived(Base):
    pass


class Holder:
    tile = Sized(1.0)
    chosen = {1.0}  # noqa: RUF012
    number = np.float32(1)
    quarter = functools.partial(max, 1.0)

    class nested:
        n = 1.0

    @classmethod
    def of_class(cls) -> float:
        return cls.nested.n

    @staticmethod
    def without() -> float:
        return Base.v

    @property
    def asked(self) -> float:
        return Base.v

    def bound(self) -> float:
        return self.tile.n


class Mangled:
    __slots__ = ("__hidden",)

    def __init__(self, hidden: float) -> None:
        self.__hidden = hidden

    def shown(self) -> float:
        return self.__hidden

    def show(self, hidden: float) -> None:
        self.__hidden = hidden


class Values(list[Any]):
    pass


class Names(dict[str, Any]):
    pass


class Pair(tuple[Any, ...]):
    v = 1.0


def helper(v: float = 1.0, *, w: float = 0.0) -> float:
    return v + w


def other_helper(v: float = 1.0, *, w: float = 0.0) -> float:
    return v + w + 2.0


def marked() -> float:
    return marked.value  # type: ignore[attr-defined]


marked.value = 1.0  # type: ignore[attr-defined]
settings = sys.modules["test_reads_settings"] = types.ModuleType("test_reads_settings")
settings.v = 1.0  # type: ignore[attr-defined]
settings.deeper = types.SimpleNamespace(v=1.0)  # type: ignore[attr-defined]
values, names, mangled, holder = Values([1]), Names(), Mangled(1.0), Holder()
values.v = names.v = 1.0  # type: ignore[attr-defined]
bound, applied = holder.bound, functools.partial(helper, v=1.0)
lacking = collections.defaultdict(lambda: Base.v)


def _imported() -> float:
    import test_reads_settings

    return test_reads_settings.v


def _imported_as() -> float:
    import test_reads_settings as known

    def inner() -> float:
        return known.deeper.v

    return inner()


def _imported_name() -> float:
    from test_reads_settings import v

    return v


def _local_class() -> float:
    kind = Derived
    return kind.v


def _generated() -> float:
    return Holder.of_class()


EDITS: dict[str, tuple[Callable[[], float], Any, str, Any]] = {
    "an inherited attribute": (lambda: Derived.v, Base, "v", 2.0),
    "an inherited attribute, of a class by another name": (_local_class, Base, "v", 2.0),
    "an object that a class has": (lambda: Holder.tile.n, Holder.tile, "n", 2.0),
    "another object that a class has": (lambda: holder.tile.n, Holder, "tile", Sized(2.0)),
    "a set": (lambda: max(holder.chosen), Holder, "chosen", {2.0}),
    "a number of NumPy's": (lambda: float(holder.number), Holder, "number", np.float32(2)),
    "a class in a class": (lambda: holder.nested.n, Holder.nested, "n", 2.0),
    "a class in a class, by name": (lambda: Holder.nested.n, Holder.nested, "n", 2.0),
    "a class method": (_generated, Holder.nested, "n", 2.0),
    "a static method": (lambda: Holder.without(), Base, "v", 2.0),
    "a property": (lambda: holder.asked, Base, "v", 2.0),
    "a bound method": (lambda: bound(), Holder.tile, "n", 2.0),
    "a partial": (lambda: holder.quarter(0.5), Holder, "quarter", functools.partial(max, 2.0)),
    "keywords of a partial": (lambda: applied(), applied.keywords, "v", 2.0),
    "an attribute of a list": (lambda: values.v, values, "v", 2.0),  # type: ignore[attr-defined]
    "an attribute of a dictionary": (lambda: names.v, names, "v", 2.0),  # type: ignore[attr-defined]
    "a class that derives from tuple": (lambda: Pair((1,)).v, Pair, "v", 2.0),
    "a slot with a name of its own": (lambda: mangled.shown(), mangled, "_Mangled__hidden", 2.0),
    "what a dictionary has by default": (lambda: lacking["absent"], lacking, "absent", 2.0),
    "an attribute of a function": (lambda: marked(), marked, "value", 2.0),
    "the code of a function": (lambda: helper(), helper, "__code__", other_helper.__code__),
    "the defaults of a function": (lambda: helper(), helper, "__defaults__", (2.0,)),
    "the defaults of keywords": (lambda: helper(), helper, "__kwdefaults__", {"w": 1.0}),
    "a default of a keyword": (lambda: helper(), helper.__kwdefaults__, "w", 1.0),
    "a module that is imported inside": (_imported, settings, "v", 2.0),
    "a module that is imported inside, from a function in it": (_imported_as, settings.deeper, "v", 2.0),
    "a name that is imported inside": (_imported_name, settings, "v", 2.0),
    "a global that hides what Python has": (lambda: float(max(1.0, 0.5)), globals(), "max", lambda *_: 2.0),
}


@pytest.mark.parametrize("case", EDITS)
def test_whatever_is_edited_makes_another_kernel_and_is_guarded(case, monkeypatch):
    read, place, name, value = EDITS[case]

    @tilec.jit(target="cpu")
    def reads_it():
        return filled(read())

    @tilec.jit(target="cpu")
    def gets_it(read):
        return filled(read())

    before = [run(f) for f in (reads_it(), reads_it(), gets_it(read), gets_it(read))]
    key, guards = reads.read_by(reads_it.function), reads.guards(reads_it.function)
    edit = monkeypatch.setitem if isinstance(place, dict) and place is not names else monkeypatch.setattr
    edit(place, name, value)
    assert reads.read_by(reads_it.function) != key
    assert guards is None or any(reads.guard(*g[:2]) != g for g in guards)
    assert [run(f) for f in (reads_it(), gets_it(read))] == [read(), read()] != before[:2]


def test_a_class_that_is_passed_and_changed(monkeypatch):
    @tilec.jit(target="cpu")
    def lazy(settings):
        return filled(settings.factor)

    @tilec.jit(target="cpu")
    def listed(settings):
        return filled(settings[0].factor)

    @tilec.jit(target="cpu")
    def eager(A, settings):
        A: T.Tensor[[8], T.float32]
        with T.Kernel(1):
            for i in T.Parallel(8):
                A[i] = settings.factor

    def all_of_them() -> list[float]:
        return [run(lazy(Settings)), run(listed([Settings])), run(lambda out: eager(out, Settings))]

    assert all_of_them() == all_of_them() == [2.0] * 3
    monkeypatch.setattr(Settings, "factor", 3.0)
    assert all_of_them() == [3.0] * 3


def test_what_another_jit_function_reads(monkeypatch):
    @tilec.jit(target="cpu")
    def inner():
        return filled(SCALE)

    @tilec.jit(target="cpu")
    def outer():
        return inner.trace()[0]

    assert [run(outer()), run(outer())] == [5.0, 5.0]
    monkeypatch.setitem(globals(), "SCALE", 7.0)
    assert run(outer()) == 7.0


def test_a_macro_that_is_edited_in_place():
    """As IPython's `%autoreload 2` does: the function stays, and gets the attributes of the new one."""

    def made(value):
        @T.macro
        def write(A, i):
            A[i] = value

        return write

    write, edited = made(1.0), made(2.0)

    @tilec.jit(target="cpu")
    def by_macro():
        @T.prim_func
        def main(A: T.Tensor((8,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(8):
                    write(A, i)

        return main

    assert [run(by_macro()), run(by_macro())] == [1.0, 1.0]
    write.__dict__["__wrapped__"] = edited.__wrapped__
    assert run(by_macro()) == 2.0


def test_a_module_that_makes_its_attributes_has_no_key():
    module = types.ModuleType("test_reads_lazy")
    module.__getattr__ = lambda name: 1.0  # type: ignore[method-assign]

    def reads_it() -> Any:
        return module.v

    with pytest.raises(reads.UnknownError, match="`v` of the module `test_reads_lazy`"):
        reads.read_by(reads_it)


@pytest.mark.parametrize("value", [random.Random(0), iter([1]), itertools.count(), bytearray(1), np.zeros(3), config])
def test_what_shows_nothing_of_itself_has_no_key(value):
    with pytest.raises(reads.UnknownError):
        reads.frozen(value)


def test_values_that_never_change_leave_calls_to_cpp():
    factor, mode, kind = np.float32(2), Mode.FAST, T.float16

    def reads_them() -> Any:
        return factor, mode, kind, functools.reduce, np.sin, Base.v

    assert reads.guards(reads_them) is not None


def test_keys_that_mean_the_same_in_every_process():
    def stable(value: Any) -> Any:
        return reads.stable(reads.frozen(value))

    assert stable([1, 2.5, None, {"a": True}, {3, 1}]) == [1, "2.5", None, {"a": True}, [1, 3]]
    assert stable({1: 2}) != stable({"1": 2})
    assert stable(Sized(1)) == stable(Sized(1)) != stable(Sized(2))
    assert stable(helper) != stable(other_helper)
    assert stable(Holder().bound) == stable(Holder().bound)
    assert stable(np.sin) == {"numpy.ufunc": "numpy.sin"}
    with pytest.raises(reads.UnknownError):
        stable(object())


def test_a_variable_that_is_set_after_the_decorator():
    def program():
        @tilec.jit(target="cpu")
        def early(n):
            return late(n)

        def late(n):
            return filled(n)

        return early

    assert run(program()(3.0)) == 3.0
