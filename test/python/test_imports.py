"""What the modules of the package import: nothing that needs them, and nothing of the core what lies above it.

An import inside of a function counts as one at the head of the module: it may save time, but never a cycle. Imports for
type checkers alone do nothing when the program runs; only the core, whose order is its design, has to do without them
upwards.

Three tables name modules as text: the names of `tilec` and of `tilec.autotuner` that are loaded when they are asked
for, and the modules of backends, which register themselves.
"""

import ast
import itertools
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import tilec
from tilec import _ops

ROOT = Path(tilec.__file__).resolve().parent

CORE = (
    ("tilec.dtypes", "tilec.constants", "tilec.ranges"),
    ("tilec.types",),
    ("tilec.ir",),
    ("tilec.builder",),
    ("tilec._ops",),
    ("tilec.values", "tilec.arithmetic", "tilec.casts", "tilec.expr"),
    ("tilec.buffers",),
    ("tilec.language",),
)
"""The core, bottom first. `tilec.values` gathers under one name what the others of its layer define."""

_COMPAT = {
    "tilec.compat.tilelang",
    "tilec.compat.tilelang.carver",
    "tilec.compat.tilelang.finder",
    "tilec.compat.tilelang.tvm",
}
BY_NAME = {"tilec", "tilec.autotuner", "tilec.backends", "tilec.warm"} | _COMPAT
"""Modules that import others by names that are values: the tables above, and what `tilec.warm` is told to run."""


def modules():
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = ("tilec", *path.relative_to(ROOT).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    found["tilec._ops"] = Path(_ops.__file__)
    return found


MODULES = modules()


class Imports(ast.NodeVisitor):
    """Collects the modules of the package that one of its modules imports, and where."""

    def __init__(self, name):
        self.name = name
        self.found = {}
        self.for_types = {}
        self.by_name = False
        self._is_for_types = False

    def visit_If(self, node):
        if ast.unparse(node.test) != "TYPE_CHECKING":
            self.generic_visit(node)
            return
        self._is_for_types = True
        for statement in node.body:
            self.visit(statement)
        self._is_for_types = False
        for statement in node.orelse:
            self.visit(statement)

    def visit_Import(self, node):
        for alias in node.names:
            self._add(alias.name, node)

    def visit_ImportFrom(self, node):
        base = node.module or ""
        if node.level:
            package = self.name.split(".")
            if MODULES[self.name].name != "__init__.py":
                package.pop()
            package = package[: len(package) - node.level + 1]
            base = ".".join((*package, node.module) if node.module else package)
        for alias in node.names:
            submodule = f"{base}.{alias.name}"
            self._add(submodule if submodule in MODULES else base, node)

    def visit_Call(self, node):
        if ast.unparse(node.func) in ("import_module", "importlib.import_module", "__import__"):
            self.by_name |= not (isinstance(node.args[0], ast.Constant) and "tilec" not in node.args[0].value)
        self.generic_visit(node)

    def _add(self, module, node):
        if module in MODULES and module != self.name:
            (self.for_types if self._is_for_types else self.found).setdefault(module, node.lineno)


@pytest.fixture(scope="module")
def imports():
    found = {}
    for name, path in MODULES.items():
        found[name] = Imports(name)
        found[name].visit(ast.parse(path.read_text()))
    return found


def test_no_module_needs_itself(imports):
    try:
        TopologicalSorter({name: set(of.found) for name, of in imports.items()}).prepare()
    except CycleError as error:
        cycle = error.args[1][::-1]
        steps = [f"{a} imports {b} in line {imports[a].found[b]}" for a, b in itertools.pairwise(cycle)]
        pytest.fail("; ".join(steps))


@pytest.fixture(scope="module")
def heights():
    found = {module: i for i, layer in enumerate(CORE) for module in layer}
    assert found.keys() <= MODULES.keys()
    return found | {name: len(CORE) - 1 for name in MODULES if name.startswith("tilec.language.")}


def test_the_core_imports_downwards(imports, heights):
    upwards = [
        f"{name} imports {other} in line {line}"
        for name, height in heights.items()
        for other, line in {**imports[name].for_types, **imports[name].found}.items()
        if heights.get(other, -1) > height
    ]
    assert not upwards


def test_what_the_core_stands_on_does_not_need_it(imports, heights):
    """Modules that are no part of the core do not lead upwards either."""
    for name, height in heights.items():
        reached, todo = set(), [name]
        while todo:
            new = set(imports[todo.pop()].found) - reached
            reached |= new
            todo += new
        assert not [other for other in reached if heights.get(other, -1) > height], name


def test_modules_that_are_imported_by_name(imports):
    assert {name for name, of in imports.items() if of.by_name} == BY_NAME


def test_operators_say_what_they_lack():
    program = "import tilec.types; tilec.types.Symbol('n') + 1"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "RuntimeError: numbers of a kernel are computed with once `tilec.language` is imported" in done.stderr
