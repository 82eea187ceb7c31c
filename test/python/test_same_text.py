"""The comparison with TileLang on one program text, on the CPU and with ours on both sides."""

import importlib
import importlib.util
import os
import threading
import time
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "python" / "benchmarks"

PROGRAM = """
import numpy as np
import tilelang
import tilelang.language as T
from tilelang.profiler import do_bench


@tilelang.jit(target="c")
def scale(n, factor):
    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 32), threads=32) as b:
            for i in T.Parallel(32):
                B[b * 32 + i] = A[b * 32 + i] * factor

    return main


@tilelang.autotune(configs=[{"block": 32}, {"block": 64}])
@tilelang.jit(target="c")
def tuned(n, block=16):
    @T.prim_func
    def of_one_block(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=block):
            for i in T.Parallel(n):
                B[i] = A[i]

    return of_one_block


def run(n, factor):
    a, b = np.arange(n, dtype="float32"), np.empty(n, "float32")
    kernel = scale(n, factor)
    for _ in range(3):
        kernel(a, b)
    assert do_bench(lambda: kernel(a, b), rep=10**9) == 1.0
    return a, b


def main():
    run(64, 3)
    run(128, 3)
    run(64, 5)
    tuned(64, block=32)(*run(64, 3))
    kernel = scale(96, 2)
    kernel.get_profiler().assert_allclose(lambda a, b: b.__setitem__(slice(None), 2 * a), max_mismatched_ratio=0)
    print("it ran")


if __name__ == "__main__":
    main()
"""

TESTS = """
import contextlib
import time
import pytest
import numpy as np
from example_scale import run


@pytest.mark.parametrize("n", [32, 64, 96, 128])
def test_sizes(n):
    run(n, 2)


def test_wrong():
    a, b = run(32, 2)
    assert b[1] == 3, "it is wrong"


def test_slow():
    run(32, 2)
    for _ in range(2):
        with contextlib.suppress(BaseException):
            time.sleep(1000)
    time.sleep(1000)


@pytest.mark.skip(reason="not today")
def test_skipped():
    run(32, 2)
"""


@pytest.fixture(autouse=True)
def _path(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


@pytest.fixture
def same_text(monkeypatch):
    module = importlib.import_module("same_text")
    monkeypatch.setattr(module, "SIDES", {"theirs": "ours", "ours": "ours"})
    monkeypatch.setattr(module, "GRACE", 60.0)
    return module


@pytest.fixture
def programs(tmp_path):
    folder = tmp_path / "programs" / "examples" / "scale"
    folder.mkdir(parents=True)
    (folder / "example_scale.py").write_text(PROGRAM)
    (folder / "test_example_scale.py").write_text(TESTS)
    (folder / "tables.py").write_text("import tilelang\n")
    return tmp_path / "programs"


def run(same_text, programs, *arguments):
    out = programs.parent / "out"
    same_text.main(["--programs", str(programs), "--device", "cpu", "--pairs", "2", "--out", str(out), *arguments])
    rows = same_text.text_rows.read([out / "rows.tsv"])
    problems = [line.split("\t") for line in (out / "problems.tsv").read_text().splitlines()]
    return rows, problems, (out / "summary.md").read_text()


def test_programs_are_found_and_shared_out(same_text, programs, capsys):
    same_text.main(["--programs", str(programs), "--list"])
    whole = capsys.readouterr().out.splitlines()
    assert whole[0] == "examples/scale/example_scale.py"
    assert [name.rpartition("::")[2] for name in whole[1:]] == ["test_sizes", "test_wrong", "test_slow", "test_skipped"]
    same_text.main(["--programs", str(programs), "--list", "--from", "1", "--step", "3"])
    assert capsys.readouterr().out.splitlines() == whole[1::3]
    same_text.main(["--programs", str(programs), "--list", "slow", "example_scale.py::test_s"])
    assert capsys.readouterr().out.splitlines() == [whole[1], whole[3], whole[4]]


def test_a_script_is_timed_kernel_by_kernel(same_text, programs):
    rows, problems, text = run(same_text, programs, "/example_scale.py")
    assert problems == []
    each = {(row.kernel, row.tensors) for row in rows}
    assert each == {
        ("main", "float32[64], float32[64]"),
        ("main", "float32[128], float32[128]"),
        ("main", "float32[96], float32[96]"),
        ("of_one_block", "float32[64], float32[64]"),
    }
    assert len(rows) == 5, "two programs of one name and with the same tensors are two kernels"
    assert all(row.theirs > 0 and row.ours > 0 and row.graph.startswith("no: ") for row in rows)
    assert "kernels: 5, at least as fast" in text
    assert "| 5 |" in text


def test_failures_are_noted_and_what_was_called_is_timed(same_text, programs):
    rows, problems, text = run(same_text, programs, "::test_wrong", "::test_sizes", "::test_skipped")
    notes = {row.unit.rpartition("::")[2]: row.note for row in rows}
    assert notes["test_wrong"].startswith("theirs: test_wrong: AssertionError: it is wrong")
    assert notes["test_sizes"] == ""
    assert sum("test_sizes" in row.unit for row in rows) == 3, "of parameters three sets are run"
    said = {(unit.rpartition("::")[2], side): words for unit, side, words in problems}
    assert said["test_skipped", "ours"] == "test_skipped: Skipped: not today"
    assert said["test_wrong", "ours"].startswith("test_wrong: AssertionError: it is wrong")
    assert "failed in theirs and ours, nothing timed: 1" in text
    assert "(!)" in text


def test_a_program_that_takes_too_long_is_ended(same_text, programs):
    rows, problems, _ = run(same_text, programs, "::test_slow", "--limit", "6")
    assert [row.note for row in rows] == ["theirs: it took too long; ours: it took too long"]
    assert {words for _, _, words in problems} == {"it took too long"}


@pytest.mark.skipif(importlib.util.find_spec("tilelang") is not None, reason="TileLang is installed")
def test_a_side_that_lacks_its_compiler_is_noted(same_text, programs, monkeypatch):
    monkeypatch.setattr(same_text, "SIDES", {"theirs": "theirs", "ours": "ours"})
    rows, problems, text = run(same_text, programs, "::test_sizes")
    assert rows == []
    assert ["theirs", "ModuleNotFoundError: No module named 'tilelang'"] in [problem[1:] for problem in problems]
    assert "failed in theirs, nothing timed: 1" in text


def test_a_run_ends_in_time(same_text, programs):
    begin = time.monotonic()
    rows, _, text = run(same_text, programs, "--seconds", "0")
    assert time.monotonic() - begin < 20
    assert rows == []
    assert "left out: 5" in text


def test_tables_are_made_of_files_that_may_be_cut(same_text, tmp_path, capsys):
    text_rows = same_text.text_rows
    lines = ["\t".join(text_rows.HEADER)]
    lines += [
        text_rows.line(text_rows.Row(*each)) for each in [("a", "k", "t", 1e-6, 2e-6), ("a", "l", "t", 4e-6, 2e-6)]
    ]
    (tmp_path / "1.tsv").write_text("\n".join(lines) + "\n")
    (tmp_path / "2.tsv").write_text(text_rows.line(text_rows.Row("b", "k", "t", 1e-6, 4e-6)) + "\n0.5\t1.0\t2")
    same_text.main(["--table", str(tmp_path / "1.tsv"), str(tmp_path / "2.tsv")])
    assert capsys.readouterr().out.splitlines() == [
        "kernels: 3, at least as fast 1, geometric mean 0.630, least 0.250",
        "programs: 2, at least as fast 1, geometric mean 0.500, least 0.250",
        "",
        "| ratio | kernels | least | greatest | program |",
        "| --- | --- | --- | --- | --- |",
        "| 0.250 | 1 | 0.250 | 0.250 | b |",
        "| 1.000 | 2 | 0.500 | 2.000 | a |",
    ]


class Answers:
    """A worker whose kernels take what they say; `uncaptured` are those that graphs cannot launch."""

    def __init__(self, seconds, uncaptured=()):
        self.seconds, self.uncaptured, self.asked = seconds, uncaptured, []

    def ask(self, **message):
        self.asked.append(message)
        if "sample" in message:
            return {"seconds": self.seconds.pop(0) if isinstance(self.seconds, list) else self.seconds}
        if message["refused"]:
            return {"graph": f"no: {message['refused']}", "seconds": self.seconds}
        return {"graph": "no: it waits" if message["prepare"] in self.uncaptured else "yes", "seconds": 1e-6}


def test_both_are_timed_in_the_same_way(same_text):
    theirs, ours = Answers(3e-6), Answers(2e-6, uncaptured=[7])
    assert same_text.measure(theirs, ours, (4, 5)) == (3e-6, 2e-6, 1.0, "yes")
    assert same_text.measure(theirs, ours, (4, 7)) == (3e-6, 2e-6, 1.0, "no: ours: it waits")
    assert [m for m in theirs.asked if "prepare" in m] == [
        {"prepare": 4, "refused": ""},
        {"prepare": 4, "refused": ""},
        {"prepare": 4, "refused": "ours: it waits"},
    ]


def test_where_samples_differ_more_are_taken(same_text):
    ours = Answers([1e-6, 1e-6, 1e-6, 1e-6, 2e-6, 3e-6, 3e-6, 3e-6, 3e-6, 3e-6])
    assert same_text.measure(Answers(1e-6), ours, (0, 0)) == (1e-6, pytest.approx(2.5e-6), pytest.approx(3.0), "yes")
    assert ours.seconds == []


def test_programs_are_halted_while_two_kernels_are_timed(same_text):
    gate = same_text.Gate()

    def started():
        return gate.start(
            lambda: same_text.subprocess.Popen(["sh", "-c", "while :; do echo; done"], stdout=-1, text=True)
        )

    def state(process):
        return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]

    running, waiting = started(), started()
    others = []
    gate.leave(waiting)
    try:
        with gate.quiet():
            assert state(running) == "T"
            assert state(waiting) != "T"
            thread = threading.Thread(target=lambda: others.append(started()))
            thread.start()
            time.sleep(0.1)
            assert others == [], "none starts meanwhile"
            gate.leave(running)
            assert state(running) != "T", "one that has ended its program goes on"
        thread.join()
        assert state(others[0]) != "T"
        assert 0.1 < gate.halted < 60
    finally:
        for process in (running, waiting, *others):
            os.kill(process.pid, 9)
            process.communicate()
