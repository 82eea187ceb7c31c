"""Parameters of source kernels that are bound by name: to the declaration that is compiled, or not at all.

Random texts declare one kernel several times: in branches of `#if` that the text decides and in others, with lists of
parameters from macros, with names that stand in a branch. All parameters have one type, so that only their names tell
them apart, and no compiler would notice a wrong order.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
from pathlib import Path

import pytest

import tilec

NAMES = ("a", "b", "c")
TL_OPT = Path(tilec.__file__).parent / "bin" / "tl-opt"
pytestmark = pytest.mark.skipif(not TL_OPT.exists(), reason="tl-opt is not beside the package")


class Texts:
    """Makes texts, with the order of the parameters that a compiler for sm_90a sees in C++20."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.flags: dict[str, int] = {}
        self.macros = 0

    def condition(self) -> tuple[str, bool]:
        a, b = self.flags.get("A", 0), self.flags.get("B", 0)
        return self.random.choice(
            [
                ("A", a != 0),
                ("!defined(A)", "A" not in self.flags),
                ("defined(B) && B > 2", b > 2),
                ("(B + 1) * 2 > 6", (b + 1) * 2 > 6),
                ("0", False),
                ("-1 > 0u", True),
                ("__CUDA_ARCH__ >= 900", True),
                ("!defined(__CUDA_ARCH__)", False),
                ("__cplusplus >= 202002L", True),
            ]
        )

    def order(self) -> list[str]:
        return self.random.sample(NAMES, 3)

    def macro(self) -> str:
        self.macros += 1
        return f"MACRO{self.macros}"

    def parameters(self, order: list[str], before: list[str]) -> str:
        plain = ", ".join(f"int {name}" for name in order)
        condition, holds = self.condition()
        other = ", ".join(f"int {name}" for name in self.order())
        yes, no = (plain, other) if holds else (other, plain)
        kind = self.random.randrange(5)
        if kind == 0:
            return plain
        if kind == 1:
            return f"\n#if {condition}\n{yes}\n#else\n{no}\n#endif\n"
        macro = self.macro()
        if kind == 2:
            before.append(f"#if {condition}\n#define {macro} {yes}\n#else\n#define {macro} {no}\n#endif")
            return macro
        if kind == 3:
            before.append(f"#define {macro}(name, type) type name")
            return ", ".join(f"{macro}({name}, int)" for name in order)
        first, second = (order[0], order[1]) if holds else (order[1], order[0])
        return f"int\n#if {condition}\n{first}\n#else\n{second}\n#endif\n, int {order[1]}, int {order[2]}"

    def definition(self) -> tuple[str, list[str]]:
        order = self.order()
        before: list[str] = []
        parameters = self.parameters(order, before)
        head = self.random.choice(["__global__ void", 'extern "C" __global__ void __launch_bounds__(64)', "KERNEL"])
        if head == "KERNEL":
            before.append("#define KERNEL __global__ void")
        return "\n".join([*before, f"{head} f({parameters}) {{}}", ""]), order

    def branches(self, depth: int) -> tuple[str, list[str]]:
        if depth == 0 or self.random.random() < 0.3:
            return self.definition()
        conditions = [self.condition() for _ in range(self.random.randrange(1, 3))]
        taken = next((i for i, (_, holds) in enumerate(conditions) if holds), len(conditions))
        text, seen = "", []
        for i in range(len(conditions) + 1):
            text += "#else\n" if i == len(conditions) else f"#{'el' * (i > 0)}if {conditions[i][0]}\n"
            branch, order = self.branches(depth - 1)
            text += branch
            seen = order if i == taken else seen
        return text + "#endif\n", seen

    def declaration(self) -> str:
        return f"__global__ void f({', '.join(f'int {name}' for name in self.order())});\n"

    def make(self) -> tuple[str, list[str]]:
        self.flags = {name: self.random.randrange(5) for name in "AB" if self.random.random() < 0.5}
        text, seen = self.branches(self.random.randrange(3))
        before = self.random.choice(["", "", "#include <cuda.h>\n", self.declaration()])
        after = self.declaration() if self.random.random() < 0.2 else ""
        return before + text + after, seen


def test_names_of_what_is_compiled(tmp_path: Path) -> None:
    seed = os.environ.get("TL_TEST_SEED", "names")
    texts = Texts(seed)
    functions, expected = [], []
    for i in range(400):
        text, order = texts.make()
        quoted = text.replace('"', "\\22").replace("\n", "\\0A")
        flags = ", ".join(f'"-D{name}={value}"' for name, value in texts.flags.items())
        arguments = ", ".join(f'%{name}: i32 {{tl.name = "{name}"}}' for name in NAMES)
        functions.append(
            f"func.func @t{i}({arguments}) {{\n  %g = arith.constant 1 : index\n"
            f'  tl.source_kernel sources([#tl.cuda_source<"{quoted}">]) entry("f") flags [{flags}]\n'
            f"    blocks(%g) threads(1) args() {{tl.bind_by_name}}\n  return\n}}\n"
        )
        expected.append((text, order))
    file = tmp_path / "names.mlir"
    file.write_text("// -----\n".join(functions))
    run = subprocess.run(
        [TL_OPT, file, "--tl-verify-entries", "--split-input-file"], capture_output=True, text=True, check=False
    )
    bound = 0
    for function in re.finditer(
        r"@t(\d+)\(%(\w+): i32[^,]*, %(\w+): i32[^,]*, %(\w+): i32.*?args\(([^:)]*)", run.stdout, re.DOTALL
    ):
        names = dict(zip(function.groups()[1:4], NAMES, strict=True))
        got = [names[value.strip(" %")] for value in function[5].split(",")]
        text, order = expected[int(function[1])]
        # Another number of parameters is an error when the text is compiled.
        assert got == order or len(got) != len(order), f"seed {seed}: bound to {got} in\n{text}"
        bound += 1
    assert bound > 100
