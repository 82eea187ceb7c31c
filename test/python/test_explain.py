"""The page of `kernel.explain()` (docs/Explaining.md): what it says, and in a browser."""

import json
import os
import re

import pytest

import tilec
import tilec.language as T
from browser import PROGRAM, Browser
from counted_programs import transposing, zeros
from tilec import backends
from tilec.backends import sim
from tilec.errors import TargetError
from tilec.toolkit import find_tool
from tilec.tools import differences, levels, lines


@T.prim_func
def scale(A: T.Tensor((64, 500), "float16"), B: T.Tensor((64, 500), "float16"), factor: T.float32):
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((64, 60), "float16")
        F = T.alloc_fragment((64, 60), "float16")
        for k in T.Pipelined(8, num_stages=2):
            T.copy(A[0, k * 60], S)
            for i, j in T.Parallel(64, 60):
                F[i, j] = T.cast(S[i, j] * factor, "float16")
            T.copy(F, B[0, k * 60])


@T.prim_func
def two(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            B[i] = A[i] * 2
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            A[i] = B[i] + 1


def data_of(page):
    """Returns what the page was given to show."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text())[1])


def place_of(data, text):
    """Returns the number of the place of a source line."""
    (file,) = data["files"]
    line = file["first"] + next(i for i, each in enumerate(file["lines"]) if text in each)
    return data["places"].index([file["name"], line])


def texts(data, title, place, version=-1):
    """Returns the lines of a level that came from a place."""
    level = next(level for level in data["levels"] if level["title"] == title)
    return [data["texts"][text] for text, *places in level["versions"][version]["lines"] if place in places]


def has_sass(kernel):
    return kernel.file("kernel.cubin") is not None and find_tool("nvdisasm") is not None


def expected_levels(kernel):
    """Returns the levels that there are on this machine."""
    cuda = ["CUDA C++"] if backends.find("nvrtc").is_available() else []
    return ["Tiles", "Threads", *cuda, "PTX", *(["SASS"] if has_sass(kernel) else [])]


@pytest.fixture(scope="module")
def kernel():
    return tilec.compile(scale, target="sm_90a")


@pytest.fixture(scope="module")
def page(kernel, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "scale.html"
    assert kernel.explain(path) == path
    return path


# What is in the page ------------------------------------------------------------------------------------------------


def test_a_line_is_found_again_at_every_level(page, kernel):
    data = data_of(page)
    assert [level["title"] for level in data["levels"]] == expected_levels(kernel)
    product = place_of(data, "S[i, j] * factor")
    assert any("arith.mulf" in text for text in texts(data, "Tiles", product))
    assert any("arith.mulf" in text and "vector<" in text for text in texts(data, "Threads", product))
    assert any(text.startswith("\tmul.") for text in texts(data, "PTX", product))
    if "CUDA C++" in expected_levels(kernel):
        assert any(" * " in text for text in texts(data, "CUDA C++", product))
    if has_sass(kernel):
        assert any("MUL" in text for text in texts(data, "SASS", product))
    assert not any(" loc(" in text or "#loc" in text for text in data["texts"])


def test_a_copy_keeps_its_line_through_the_pipeline(page):
    """The copies before the loop and those in it."""
    data = data_of(page)
    copy = place_of(data, "T.copy(A[0, k * 60], S)")
    first = [text for text in texts(data, "Tiles", copy, version=0) if "tl.copy" in text]
    last = [text for text in texts(data, "Tiles", copy) if "tl.copy" in text]
    assert (len(first), len(last)) == (1, 2)


def test_versions_are_those_of_passes_that_changed_something(page):
    tiles, threads = data_of(page)["levels"][:2]
    passes = [version["madeBy"] for version in tiles["versions"]]
    assert {"tl-infer-layouts", "tl-expand-pipeline", "tl-plan-shared-memory"} <= set(passes)
    assert "tl-verify-layouts" not in passes, "it changes nothing"
    assert threads["versions"][0]["madeBy"] == "tl-lower-tile-ops"


def test_counts_are_of_the_lines_of_code(page, kernel):
    data = data_of(page)
    loop, product = place_of(data, "T.Pipelined"), place_of(data, "S[i, j] * factor")
    assert data["counts"]["waits"][str(loop)] >= 1
    if has_sass(kernel):
        found = [text for text in texts(data, "SASS", product) if text.startswith("/*")]
        assert data["counts"]["instructions"][str(product)] == len(found) > 0


def test_what_the_compiler_said_has_its_pass_and_place(page):
    data = data_of(page)
    (said,) = [message for message in data["messages"] if message["madeBy"] == "tl-assign-stages"]
    assert said["text"]
    assert said["places"] == [place_of(data, "T.copy(A[0, k * 60], S)")]


def test_several_kernels_are_versions_with_their_names(tmp_path):
    data = data_of(tilec.compile(two, target="sm_80").explain(tmp_path / "two.html"))
    ptx = next(level for level in data["levels"] if level["title"] == "PTX")
    assert [version["madeBy"] for version in ptx["versions"]] == ["two_kernel", "two_kernel_0"]
    assert [kernel["name"] for kernel in data["kernels"]] == ["two_kernel", "two_kernel_0"]
    assert {version["madeBy"].split(": ")[0] for version in data["levels"][0]["versions"]} == {
        "two_kernel",
        "two_kernel_0",
    }


def test_two_kernels_are_compared(tmp_path, page, kernel):
    both = kernel.explain(tmp_path / "chips.html", against=tilec.compile(scale, target="sm_80"))
    data = data_of(both)
    assert data["title"] == "scale for sm_90a against scale for sm_80"
    ptx = next(level for level in data["levels"] if level["title"] == "PTX")["versions"][-1]
    changed = {data["texts"][ptx["lines"][int(i)][0]]: change for i, change in ptx["changes"].items()}
    assert changed[".target sm_90a"] == "added"
    assert changed[".target sm_80"] == "removed"
    assert len(data["others"]) == len(data["kernels"]) == 1
    assert data["counts"] == data_of(page)["counts"], "they are of the one kernel"


def test_numbers_of_values_and_registers_do_not_count():
    def level(*texts):
        return [levels.Level("X", [levels.Version("y", [lines.Line(text) for text in texts])])]

    old = level("%1 = add %0#2 : i32", "FADD R12, UR3, P0", "/*0010*/ EXIT", "int n_1 = m;", "f16")
    new = level("%7 = add %5#1 : i32", "FADD R1, UR5, P1", "/*0020*/ EXIT", "more", "int n_2 = m;", "f32")
    ((_, ((_, merged, changes),)),) = differences.compared(new, old)
    assert [line.text for line in merged][-4:] == ["more", "int n_2 = m;", "f16", "f32"]
    assert changes == {3: "added", 5: "removed", 6: "added"}


def test_what_is_not_there_is_said(tmp_path, monkeypatch, kernel):
    with pytest.raises(TargetError, match="compiled for the CPU, and `explain` shows kernels of GPUs"):
        tilec.compile(scale, target="cpu").explain(tmp_path / "cpu.html")
    monkeypatch.setattr("tilec.toolkit.find_tool", lambda tool: None)
    notes = data_of(kernel.explain(tmp_path / "no-tool.html"))["notes"]
    assert any(note.startswith("There is no SASS: ") for note in notes)
    simulated = tilec.compile(scale, target="sm_80", backend="sim").explain(tmp_path / "sim.html")
    assert "There is no PTX: the backend `sim` makes none." in data_of(simulated)["notes"]


def test_code_of_strangers_opens_no_file(tmp_path, monkeypatch, kernel):
    """CUDA C++ may come from a server; its `#line`s would have lines of any file shown, or a pipe read for ever."""
    (tmp_path / "secret.txt").write_text("TOKEN=swordfish\n" * 9)
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    places = ((1, "secret.txt"), (2, tmp_path / "secret.txt"), (1, "pipe"), ("9" * 5000, "secret.txt"))
    forged = "".join(f'#line {line} "{file}"\nint x;\n' for line, file in places).encode() + b"// \xff\n"
    read = tilec.Kernel.file

    def file(self, name, of=None):
        found = read(self, name, of)
        return forged + found if name.endswith(".cu") else found

    monkeypatch.setattr(tilec.Kernel, "file", file)
    page = kernel.explain(tmp_path / "page.html")
    assert "swordfish" not in page.read_text()
    assert len(data_of(page)["files"]) == 1
    assert texts(data_of(page), "CUDA C++", place_of(data_of(page), "F[i, j] = T.cast"))


# Reading lines ------------------------------------------------------------------------------------------------------


def test_locations_of_ir():
    """Behind an operation, through aliases, names, statements and calls; of a region at its end, branches included."""
    read = lines.of_ir(
        """// -----// IR Dump After X //----- //
#loc1 = loc("a.py":1:2)
module {
  %0 = op "loc(" {s = "x loc(y)"} loc("n"(#loc2))
  scf.if %0 {
    inside(%arg: i32 loc("b.py":9:9)) loc(callsite("f.py":3:1 at #loc1))
  } else {
    other loc(unknown)
  } loc(#loc1)
} loc(#loc)
#loc = loc("a.py":0:0)
#loc2 = loc(fused<{tl.statement = "\\22b.py\\22:7:8 #loc1"}>[#loc3])
#loc3 = loc("a.py":2:2)
"""
    )
    assert [(line.text.strip(), line.places) for line in read] == [
        ("module {", (("a.py", 0),)),
        ('%0 = op "loc(" {s = "x loc(y)"}', (("a.py", 2),)),
        ("scf.if %0 {", (("a.py", 1),)),
        ("inside(%arg: i32)", (("f.py", 3), ("a.py", 1))),
        ("} else {", (("a.py", 1),)),
        ("other", ()),
        ("}", (("a.py", 1),)),
        ("}", (("a.py", 0),)),
    ]


def test_locations_of_generated_text():
    ptx = """\
.file 1 "a.py"
.file\t2 "b.py"
{
\t.loc\t1 5 1
\tadd;
\t.loc 2 7 1, function_name $L, inlined_at 1 6 2
\tmul;
\t.loc 1 0 1
\tret;
}
"""
    assert lines.of_ptx(ptx) == [
        ("{", ()), ("\tadd;", (("a.py", 5),)), ("\tmul;", (("b.py", 7), ("a.py", 6))), ("\tret;", ()), ("}", ())
    ]  # fmt: skip
    cuda = '#include <x>\n#line 4 "a.py"\nint a;\nint b;\n'
    assert lines.of_cuda(cuda) == [("#include <x>", ()), ("int a;", (("a.py", 4),)), ("int b;", ())]
    sass = (
        '.text.k:\n\t//## File "b.py", line 7 inlined at "a.py", line 6\n\t//## File "a.py", line 6\n'
        '        /*0000*/          MOV R1 ;\n\t//## File "a.py", line 8\n        /*0010*/  EXIT ;\n'
    )
    chain = (("b.py", 7), ("a.py", 6), ("a.py", 6))
    assert lines.of_sass(sass) == [
        (".text.k:", ()), ("/*0000*/  MOV R1 ;", chain), ("/*0010*/  EXIT ;", (("a.py", 8),))
    ]  # fmt: skip


def test_bank_conflicts_stand_at_their_lines(tmp_path):
    """And in the browser, behind the text of the line."""
    kernel = tilec.compile(transposing(32), target="sm_90a")
    counted = sim.count(kernel, zeros(32, 32), zeros(32, 32))
    page = kernel.explain(tmp_path / "transpose.html", counts=counted)
    data = data_of(page)
    reads = str(place_of(data, "S[t * width + i]"))
    assert data["counts"]["bank conflicts"] == {reads: 32 * 31}
    assert data["counts"]["sectors of device memory"][reads] == 32 * 32 * 4 // 32
    if PROGRAM is None:
        pytest.skip("there is no Chromium here")
    with Browser(page, tmp_path / "profile") as browser:
        shown = browser.evaluate(f"{line('Source', 'S[t * width + i]')}.querySelector('.counts').textContent")
        assert shown.endswith("992 bank conflicts, 128 sectors of device memory")
        assert not browser.problems


# In a browser -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(page, tmp_path_factory):
    if PROGRAM is None:
        pytest.skip("there is no Chromium here")
    with Browser(page, tmp_path_factory.mktemp("profile")) as browser:
        yield browser
        assert not browser.problems
        assert browser.requests == [page.as_uri()], "it loads nothing else"


def line(title, text):
    """Returns an expression for the first line of a pane that has a text."""
    return (
        f"[...document.querySelectorAll('[data-title=\"{title}\"] .line')].find(e => e.textContent.includes({text!r}))"
    )


def lines_with(browser, title, name):
    """Returns the lines of a pane that have a class."""
    return browser.evaluate(
        f"[...document.querySelectorAll('[data-title=\"{title}\"] .line.{name}')].map(e => e.firstChild.data)"
    )


def test_a_source_line_lights_up_what_came_of_it(browser, page, kernel):
    data = data_of(page)
    browser.hover(line("Source", "S[i, j] * factor"))
    place = place_of(data, "S[i, j] * factor")
    for title in expected_levels(kernel):
        assert lines_with(browser, title, "lit") == texts(data, title, place) != []
    assert len(lines_with(browser, "Source", "lit")) == 1
    browser.hover("document.getElementById('title')")
    assert not lines_with(browser, "PTX", "lit")


def test_a_line_of_code_lights_up_its_source_and_pins_it(browser):
    browser.click(line("PTX", "ld.global"))
    (pinned,) = lines_with(browser, "Source", "pinned")
    assert "T.copy(A[0, k * 60], S)" in pinned
    visible = browser.evaluate(
        "(() => { const pane = document.querySelector('[data-title=Threads] .lines');"
        "const [a, b] = [pane.querySelector('.pinned'), pane].map(e => e.getBoundingClientRect());"
        "return a.top >= b.top && a.bottom <= b.bottom })()"
    )
    assert visible, "the other panes are scrolled to it"
    browser.hover("document.getElementById('title')")
    assert len(lines_with(browser, "Source", "pinned")) == 1, "it stays"


def test_a_pass_can_be_chosen(browser, page):
    """And what is pinned is marked in what it made."""
    browser.click(line("Source", "T.copy(F, B"))
    browser.evaluate(
        "(() => { const s = document.querySelector('[data-title=Tiles] select'); s.value = 0;"
        "s.dispatchEvent(new Event('change')) })()"
    )
    data = data_of(page)
    assert (
        lines_with(browser, "Tiles", "pinned") == texts(data, "Tiles", place_of(data, "T.copy(F, B"), version=0) != []
    )
    browser.hover(line("Source", "S[i, j] * factor"))
    lit = texts(data, "Tiles", place_of(data, "S[i, j] * factor"), version=0)
    assert lines_with(browser, "Tiles", "lit") == lit != []


def test_panes_and_messages_can_be_hidden(browser):
    box = "[...document.querySelectorAll('#choice label')].find(e => e.textContent === 'PTX').firstChild"
    hidden = "document.querySelector('[data-title=PTX]').hidden"
    for expected in (True, False):
        browser.click(box)
        assert browser.evaluate(hidden) is expected
    shown = "[...document.querySelectorAll('[data-by]')].filter(e => !e.hidden).map(e => e.dataset.by)"
    everything = browser.evaluate(shown)
    assert "tl-assign-stages" in everything
    browser.evaluate(
        "(() => { const s = document.getElementById('messages-of'); s.value = 'tl-assign-stages';"
        "s.dispatchEvent(new Event('change')) })()"
    )
    assert set(browser.evaluate(shown)) == {"tl-assign-stages"}
