"""What the documentation says is so: its programs run, and the passes, operations and files that it names exist.

A page whose programs nobody runs fails here, so that a new page comes with a test.
"""

import itertools
import json
import re
import subprocess
from pathlib import Path

import pytest

import tilec

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(p for p in ROOT.glob("docs/**/*.md") if p.parent.name != "reference"),
    ]
)
TL_OPT = Path(tilec.__file__).parent / "bin" / "tl-opt"

BEFORE = {
    "docs/AOT.md": """
        import os, sys
        import tilec, tilec.language as T
        sys.path.insert(0, os.getcwd())

        @T.prim_func
        def saxpy(X: T.Tensor(("n",), "float32"), Y: T.Tensor(("n",), "float32"), a: T.float32):
            with T.Kernel(T.ceildiv(T.dynamic("n"), 256), threads=256) as b:
                for i in T.Parallel(256):
                    Y[b * 256 + i] = a * X[b * 256 + i] + Y[b * 256 + i]

        class tvm_ffi:  # a host without Python's package
            def load_module(path):
                assert os.path.exists(path), path
                return tvm_ffi
            def saxpy(*arguments):
                pass

        x = y = None
        tilec.compile(saxpy, target="sm_90a").export_sources("out")
        """,
    "docs/Backends.md": """
        import sys, types
        import tilec, tilec.language as T
        from tilec.backends import register
        from tilec.backends.base import Backend, Tool
        from tilec.backends.kernel_cache import KernelCache

        # A package that takes what PyTorch's is asked for.
        torch = types.SimpleNamespace(
            compile=lambda **options: lambda function: function,
            library=types.SimpleNamespace(register_autograd=lambda op, backward, *, setup_context: None))
        compile, backward, save = tilec.compile, None, None
        tilec.compile = lambda function, *, out_idx, backend: types.SimpleNamespace(op=backend)
        matmul = None
        """,
    "docs/language/reference.md": "import tilec.language as T",
    "docs/SourceKernels.md": """
        import os, sys
        sys.path.insert(0, os.getcwd())
        import tilec, tilec.language as T

        @T.prim_func
        def scale(A: T.Tensor((64, 128), "float32"), B: T.Tensor((64, 128), "float32"), factor: T.float32):
            with T.Kernel(8, threads=128) as b:
                for i, j in T.Parallel(8, 128):
                    B[b * 8 + i, j] = A[b * 8 + i, j] * factor
        """,
}
"""What the programs of a page take as given."""

BETWEEN = {"docs/SourceKernels.md": {1: 'kernel.export_sources("out")'}}
"""What the text between two programs says to do."""

AFTER = {
    "docs/SourceKernels.md": 'assert "* factor * 2.0f" in source; tilec.compile(edited, assembler="none")',
    "docs/Backends.md": 'assert tilec.backends.find("kept").source_file == "kernel.ptx"',
}

TARGETS = {"docs/AOT.md": "sm_90a", "docs/SourceKernels.md": "sm_90a"}
"""The targets of programs that name none; that of the others is the CPU."""

ENVIRONMENT = {"docs/tutorials/sharing-a-cache.md": {"TL_DISABLE_CACHE": "0"}}
"""What is set for a page, whatever the other tests run with: this one is about the cache."""

NEEDS = {"docs/tutorials/pytorch.md": ["torch"]}
"""Packages that a page's programs import and that need not be installed."""

ELSEWHERE = {
    "docs/JIT.md": "test_jit.py",
    "docs/Autotuning.md": "autotuner/test_tuning.py",
    "docs/Explaining.md": "test_tools.py",
}
"""Pages whose programs other tests run."""


def name(page):
    return str(page.relative_to(ROOT))


def blocks(page, language):
    return [part.split("```")[0] for part in page.read_text().split(f"```{language}\n")[1:]]


def dedented(text):
    import textwrap

    return textwrap.dedent(text)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python") and name(p) not in ELSEWHERE], ids=name)
def test_programs(page, python, tmp_path, monkeypatch):
    for package in NEEDS.get(name(page), ()):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    between = BETWEEN.get(name(page), {})
    program = [dedented(BEFORE.get(name(page), ""))]
    for number, block in enumerate(blocks(page, "python")):
        program += [between.get(number, ""), block]
    program.append(AFTER.get(name(page), ""))
    target = TARGETS.get(name(page), "cpu")
    environment = {"TL_CACHE_DIR": str(tmp_path / "cache"), "TL_TARGET": target, **ENVIRONMENT.get(name(page), {})}
    python("\n".join(program), **environment)


@pytest.mark.parametrize(("page", "test"), ELSEWHERE.items())
def test_programs_that_are_run_elsewhere(page, test):
    assert Path(page).name in (Path(__file__).parent / test).read_text()


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "json")], ids=name)
def test_json(page):
    for block in blocks(page, "json"):
        json.loads(block)


def test_the_example_of_the_readme():
    (example,) = blocks(ROOT / "README.md", "python")
    whole = (ROOT / "python" / "examples" / "gemm_relu.py").read_text()
    assert example[example.index("@tilec.jit") : example.index("\na, b = ")].strip() in whole


@pytest.fixture(scope="module")
def passes():
    text = subprocess.run([TL_OPT, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"--([a-z][\w-]+)", text))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_passes_exist(page, passes):
    """What begins as our passes do is one, a tool, or a target of the build."""
    others = {"tl-opt", "tl-translate", "tl-cache", "tl-lsp-server", "tl-verb-object", "tl-c"}
    named = set(re.findall(r"`-{0,2}((?:convert-)?tl-[a-z]+(?:-[a-z]+)*)(?:[`{=])", page.read_text()))
    assert named - others <= passes


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_exist(page):
    """Paths in backquotes, from the root, below `lib`, `include` or `python`, or beside the page; and links."""
    text = page.read_text()
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    quoted = re.findall(r"`((?:[\w.{},*-]+/)+[\w.{},*-]*)`", text)
    missing = [link for link in links if not (page.parent / link).exists()]
    roots = [ROOT, ROOT / "lib", ROOT / "include", ROOT / "include" / "tl", ROOT / "python", page.parent]
    for path in quoted:
        if path.split("/")[0] in NOT_OURS or ".*" in path:
            continue
        if not any(any(root.glob(p)) for root in roots for p in alternatives(path.rstrip("/"))):
            missing.append(path)
    assert not missing


NOT_OURS = {"build", "build-fuzz", "v1", "out", "dump", "mlir", "tl"}
"""What the build or a program makes, and what is another project's."""


def alternatives(path):
    """Returns the paths that `a/{b,c}` stands for."""
    parts = re.split(r"\{([^}]*)\}", path)
    choices = [part.split(",") if i % 2 else [part] for i, part in enumerate(parts)]
    return ["".join(chosen) for chosen in itertools.product(*choices)]


EXCERPTS = [
    (name(page), block)
    for page in sorted((ROOT / "docs" / "tutorials").glob("adding-*.md"))
    for language in ("cpp", "tablegen", "mlir", "cmake")
    for block in blocks(page, language)
]
"""What tutorials on the compiler show of it: a path in the first line, then lines of that file."""


@pytest.mark.parametrize(("page", "block"), EXCERPTS, ids=lambda text: text.strip().split("\n")[0])
def test_excerpts_stand_in_their_files(page, block):
    """Each part of an excerpt, between lines of an ellipsis, comes after the one before it."""
    head, _, shown = block.partition("\n")
    rest = "\n" + (ROOT / head.split()[1]).read_text()
    for part in re.split(r"^…\n", shown, flags=re.MULTILINE):
        _, found, rest = rest.partition("\n" + part.rstrip("\n"))
        assert found, f"{page}: not in {head}:\n{part}"


def test_what_the_readme_says_to_look_at(tmp_path):
    """Its commands, on a kernel as Python prints it; what is not in a package is tried where it was built."""
    program = "import tilec.language as T\n" + dedented("""
        @T.prim_func
        def copy(A: T.Tensor((256, 64), "float16"), B: T.Tensor((256, 64), "float16")):
            with T.Kernel(4, threads=128) as b:
                S = T.alloc_shared((64, 64), "float16")
                T.copy(A[b * 64, 0], S)
                T.copy(S, B[b * 64, 0])
    """)
    (tmp_path / "kernel.py").write_text(program)
    scope = {}
    exec(compile(program, str(tmp_path / "kernel.py"), "exec"), scope)
    (tmp_path / "kernel.mlir").write_text(scope["copy"].script())
    commands = re.findall(r"build/bin/(tl-(?:opt|translate) .*?)(?:  +#.*)?\n", (ROOT / "README.md").read_text())
    assert len(commands) == 3
    for command in commands:
        tool, *arguments = command.replace('"', "").split()
        path = next((p for p in (TL_OPT.with_name(tool), ROOT / "build" / "bin" / tool) if p.exists()), None)
        if path is None:
            continue
        done = subprocess.run([path, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stderr)


def test_the_tests_of_the_semantics_exist():
    """The table at the end names a file for each rule, and most often what to look for in it."""
    rules, _, tests = (ROOT / "docs" / "language" / "semantics.md").read_text().partition("## Tests")
    table = tests.split("\n| ")[1:]
    heads = [row if row.startswith("all") else row.split(" | ")[0] for row in table]
    has_tests = {rule for head in heads for rule in re.findall(r"\b[A-Z]\d+\b", head)}
    assert set(re.findall(r"\*\*([A-Z]\d+)\b", rules)) == has_tests
    named = [found for row in table for found in re.findall(r"(test/[\w./-]+)(?: \(([^)]*)\))?", row)]
    assert len(named) > 30
    missing = []
    for file, words in named:
        path = ROOT / file
        text = path.read_text() if path.is_file() else ""
        if not path.exists():
            missing.append(file)
        missing += [f"{file}: {word}" for word in re.findall(r"`(\w+)`", words) if word not in text]
    assert not missing
