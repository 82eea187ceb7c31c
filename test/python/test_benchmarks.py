"""The runner of benchmarks, on the CPU: which cases it finds, what it computes of times, and what it writes."""

import importlib
import json
import sys
import time
from pathlib import Path

import pytest

import tilec.language as T
from tilec.errors import CompileError

PYTHON = Path(__file__).parents[2] / "python"


@pytest.fixture
def runner(monkeypatch):
    monkeypatch.syspath_prepend(str(PYTHON / "examples"))
    monkeypatch.syspath_prepend(str(PYTHON / "benchmarks"))
    monkeypatch.setenv("TL_TARGET", "cpu")
    return importlib.import_module("run")


@pytest.fixture
def report(runner):
    return importlib.import_module("report")


@pytest.fixture
def timing(runner):
    return importlib.import_module("timing")


@pytest.fixture
def devices(runner):
    return importlib.import_module("devices")


def row(report, **times):
    return report.Row(
        "case",
        "warm",
        times,
        ["ours"],
        {"ours": 0},
        {"theirs": 1e-3},
        4000,
        1000,
        {"clocks.sm": 1500.0},
        "theirs",
        "yes",
    )


class Fake:
    """A clock of which calls take what they say, and the host `launch` seconds for each launch of its own."""

    def __init__(self, launch=0.0, refused=()):
        self.launch, self.refused, self.spans = launch, refused, []
        self.now, self.is_captured = 0.0, False

    def call(self, name, seconds):
        def run():
            if self.is_captured is None and name in self.refused:
                raise RuntimeError("it waits\nfor the device")
            self.now += seconds if self.is_captured else max(seconds, self.launch)

        return run

    def between(self, run):
        start = self.now
        run()
        self.spans.append(self.now - start)
        return self.spans[-1]

    def capture(self, run):
        self.is_captured = None
        try:
            run()
        finally:
            self.is_captured = False

        def replay():
            self.is_captured = True
            run()
            self.is_captured = False

        return replay


def timed(timing, clock, **seconds):
    contenders = {name: [clock.call(name, each)] * 2 for name, each in seconds.items()}
    timers, graph = timing.timers(clock, contenders, timing.runnable(clock, contenders, []))
    del clock.spans[:]
    return {name: pytest.approx(timer()) for name, timer in timers.items()}, graph


def test_graphs_hide_what_launches_take(timing):
    clock = Fake(launch=1e-3)
    assert timed(timing, clock, ours=1e-5, theirs=2e-5) == ({"ours": 1e-5, "theirs": 2e-5}, "yes")
    assert min(clock.spans) >= 0.99 * timing.SPAN


def test_all_contenders_are_launched_alike(timing):
    clock = Fake(launch=1e-3, refused=["theirs"])
    times, graph = timed(timing, clock, ours=1e-5, theirs=2e-5)
    assert times == {"ours": 1e-3, "theirs": 1e-3}
    assert graph == "no: theirs: RuntimeError: it waits"
    assert min(clock.spans) >= 0.99 * timing.SPAN


def test_long_calls_need_no_graph(timing):
    assert timed(timing, Fake(refused=["ours"]), ours=0.25, theirs=0.5) == (
        {"ours": 0.25, "theirs": 0.5},
        "no: every call is long",
    )


def test_a_long_contender_beside_a_short_one_has_a_graph(timing):
    assert timed(timing, Fake(), ours=1e-4, theirs=0.5)[1] == "yes"


def test_a_contender_that_does_not_run_is_noted(timing):
    def fails():
        raise RuntimeError("out of memory")

    clock, notes = Fake(), []
    seconds = timing.runnable(clock, {"theirs": [fails], "ours": [clock.call("ours", 1.0)]}, notes)
    assert seconds == {"ours": 1.0}
    assert notes == ["theirs: RuntimeError: out of memory"]


def test_results_of_a_sample_live_together(timing):
    """What one call returns is kept until the last is made, so that each has memory of its own."""
    alive, most = set(), []

    class Result:
        def __init__(self):
            alive.add(id(self))
            most.append(len(alive))

        def __del__(self):
            alive.discard(id(self))

    timing.runnable(Fake(), {"theirs": [Result] * 3}, [])
    assert max(most) == 3


def test_a_watch_takes_medians_of_what_it_saw(devices):
    watch = devices.Watch([], ["clocks.sm", "power.draw"])
    watch.samples = [(0.0, [1.0, 1.0]), (1.0, [10.0, 100.0]), (2.0, [30.0, 200.0]), (3.0, [20.0, 300.0]), (4.0, [9.0])]
    assert watch.medians(0.5, 3.5) == {"clocks.sm": 20.0, "power.draw": 200.0}
    assert watch.medians(5.0, 6.0) == {}


def test_a_watch_reads_while_it_is_entered(devices):
    script = "import time\nwhile True: print('1500, 700\\nnot numbers', flush=True); time.sleep(0.01)"
    with devices.Watch([sys.executable, "-c", script], ["clocks.sm", "power.draw"]) as watch:
        end = time.monotonic() + 30
        while not watch.samples and time.monotonic() < end:
            time.sleep(0.01)
    assert watch.process.returncode is not None
    assert watch.medians(0.0, time.perf_counter()) == {"clocks.sm": 1500.0, "power.draw": 700.0}


def test_a_watch_without_its_command_sees_nothing(devices):
    with devices.Watch(["no-such-command"], ["clocks.sm"]) as watch:
        pass
    assert watch.medians(0.0, time.perf_counter()) == {}


def doubled(error=0.0, threads=128):
    @T.prim_func
    def main(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=threads):
            for i in T.Parallel(128):
                B[i] = A[i] * 2.0 + error

    return main


def untouched():
    @T.prim_func
    def main(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            if A[0] != A[0]:
                B[0] = A[0]

    return main


def refused():
    raise CompileError("no such tile")


@pytest.fixture
def subject_of(runner, devices):
    cases, subjects = importlib.import_module("cases"), importlib.import_module("subjects")

    def make(*programs, believed=("numpy",), **changes):
        values = {
            "name": "doubled",
            "programs": programs,
            "inputs": lambda random: [cases.normal(random, (128,), "float32")],
            "outputs": [((128,), "float32")],
            "reference": lambda a: 2 * a,
        }
        return subjects.Subject(cases.Case(**{**values, **changes}), devices.Host(), ["auto"], set(believed))

    return make


def test_programs_that_are_wrong_or_refused_are_not_timed(runner, subject_of):
    subject = subject_of(refused, lambda: doubled(1.0), untouched, doubled)
    assert list(subject.kernels["auto"]) == [3]
    assert subject.wrong == ["auto: program 1 differs from numpy", "auto: program 2 differs from numpy"]
    assert len(subject.notes) == 1
    assert "auto: program 0: CompileError" in subject.notes[0]
    row = runner.measure(subject, False, rounds=2, pause=0.0)
    assert row.chosen == {"auto": 3}
    assert row.against == "numpy"
    assert row.wrong == subject.wrong


def test_without_a_peer_to_believe_the_reference_decides(subject_of):
    subject = subject_of(doubled, lambda: doubled(1.0), believed=[])
    assert (subject.against, list(subject.kernels["auto"])) == ("reference", [0])


def test_where_the_reference_takes_too_long_small_cases_have_to_do(subject_of):
    subject = subject_of(doubled, believed=[], flop=10**12)
    assert (subject.against, list(subject.kernels["auto"])) == ("CHECKED", [0])


def test_a_peer_that_fails_is_noted(runner, subject_of, devices, monkeypatch):
    def fails(*_):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(devices.Host, "peers", lambda self, case: {"theirs": fails})
    subject = subject_of(doubled)
    assert subject.notes == ["theirs: RuntimeError: out of memory"]
    assert list(runner.measure(subject, False, rounds=2, pause=0.0).times) == ["auto"]


def test_small_cases_say_which_peers_agree(subject_of, devices, monkeypatch):
    subjects = importlib.import_module("subjects")
    peers = {"right": lambda a: 2 * a, "wrong": lambda a: 3 * a, "short": lambda a: a[:3], "broken": None}
    monkeypatch.setattr(devices.Host, "peers", lambda self, case: peers)
    good, bad = subject_of(doubled).case, subject_of(lambda: doubled(1.0)).case
    problems, believed = subjects.check([good, bad], devices.Host(), ["auto"])
    assert believed == {"right"}
    assert len(problems) == 1
    assert problems[0].startswith("doubled: auto: AssertionError")


def test_cases_are_found_and_declared_alike(runner):
    names = runner.modules()
    assert {"gemm", "layernorm", "paged_decode"} <= set(names)
    assert "cases" not in names
    for name in names:
        module = importlib.import_module(name)
        found = [case.name for case in [*module.CHECKED, *module.CASES]]
        assert len(set(found)) == len(found), f"two cases of {name} have one name"
        assert all(case.programs and case.outputs and case.bytes for case in module.CASES), name


def test_a_run_on_the_cpu(runner, tmp_path, capsys):
    data, picture = tmp_path / "figures.json", tmp_path / "figures.svg"
    run = runner.main(["transpose", "--rounds", "3", "--json", str(data), "--plot", str(picture)])
    rows = run.rows
    assert (run.problems, run.left_out) == ([], [])
    assert [(r.case, r.l2) for r in rows] == [
        ("transpose 130x72 bfloat16", "warm"),
        ("transpose 77x99 float32", "warm"),
    ]
    assert all(len(times) == 3 and min(times) > 0 for r in rows for times in r.times.values())
    assert all(r.differs == {"numpy": 0.0} for r in rows)
    assert json.loads(data.read_text())["rows"][1]["times"]["numpy"] == rows[1].times["numpy"]
    assert "<svg" in picture.read_text()
    assert "| transpose 77x99 float32 | warm |" in capsys.readouterr().out


def test_cases_are_chosen_by_name(runner):
    run = runner.main(["transpose", "--rounds", "1", "--cases", "77x"])
    assert [r.case for r in run.rows] == ["transpose 77x99 float32"]


def test_a_run_ends_in_time_and_says_what_it_left_out(runner, tmp_path, capsys):
    data = tmp_path / "figures.json"
    run = runner.main(["transpose", "--seconds", "0", "--json", str(data)])
    assert run.rows == []
    assert run.left_out == ["transpose 130x72 bfloat16", "transpose 77x99 float32"]
    assert json.loads(data.read_text())["left_out"] == run.left_out
    assert "Left out:\n- transpose 130x72 bfloat16\n" in capsys.readouterr().out


def test_a_run_that_is_over_ends_after_the_row_at_hand(runner, monkeypatch):
    monkeypatch.setattr(runner.Run, "add", lambda run, row: (run.rows.append(row), setattr(run, "end", 0.0)))
    run = runner.main(["transpose", "--rounds", "1"])
    assert [r.case for r in run.rows] == ["transpose 130x72 bfloat16"]
    assert run.left_out == ["transpose 77x99 float32, L2 warm"]


def test_a_case_that_fails_leaves_the_others(runner, monkeypatch, tmp_path):
    data, measure = tmp_path / "figures.json", runner.measure

    def fails_once(subject, *options):
        if "130x72" in subject.case.name:
            raise RuntimeError("out of memory")
        return measure(subject, *options)

    monkeypatch.setattr(runner, "measure", fails_once)
    run = runner.main(["transpose", "--rounds", "1", "--json", str(data)])
    assert [r.case for r in run.rows] == ["transpose 77x99 float32"]
    assert run.problems == ["transpose 130x72 bfloat16, L2 warm: RuntimeError: out of memory"]
    assert run.left_out == ["transpose 130x72 bfloat16, L2 warm"]
    assert json.loads(data.read_text())["problems"] == run.problems


def test_without_a_check_no_peer_is_believed(runner, monkeypatch):
    def fails(*_):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(runner, "check", fails)
    run = runner.main(["transpose", "--rounds", "1"])
    assert run.problems == ["transpose: RuntimeError: out of memory"]
    assert [r.against for r in run.rows] == ["reference", "reference"]


def test_a_device_that_is_lost_ends_the_run(runner, devices, monkeypatch):
    def lost(_):
        raise RuntimeError("an illegal memory access")

    monkeypatch.setattr(devices.Host, "free", lost)
    run = runner.main(["transpose", "--rounds", "1"])
    assert [r.case for r in run.rows] == ["transpose 130x72 bfloat16"]
    assert run.problems[-1] == "the device is lost: RuntimeError: an illegal memory access"
    assert run.left_out[-1] == "transpose 77x99 float32, L2 warm"


def test_an_example_that_is_not_there(runner, capsys):
    with pytest.raises(SystemExit):
        runner.main(["transpos"])
    assert "no examples with cases are transpos" in capsys.readouterr().err


def test_rounds_take_turns_in_an_order_that_changes(timing):
    taken = []

    def contender(name):
        return lambda: taken.append(name) or float(len(taken))

    times = timing.race({name: contender(name) for name in "ab"}, rounds=20)
    assert all(set(taken[i : i + 2]) == {"a", "b"} for i in range(0, 40, 2))
    assert len({tuple(taken[i : i + 2]) for i in range(0, 40, 2)}) == 2
    assert sorted(times["a"] + times["b"]) == [float(i + 1) for i in range(40)]


def test_the_fastest_is_chosen(timing):
    assert timing.fastest({"a": lambda: 3.0, "b": lambda: 1.0, "c": lambda: 2.0}) == "b"


def test_arguments_for_a_cold_cache_exceed_it_twice(runner):
    assert runner.sets_for(10, 100, True) == 21
    assert runner.sets_for(300, 100, True) == 2
    assert runner.sets_for(10, 100, False) == 1


def test_ratios_are_of_pairs(report):
    # Both become slower together: what one has to do with the other does not change.
    assert report.ratio([2.0, 4.0, 6.0], [1.0, 2.0, 3.0]) == (2.0, 2.0, 2.0)
    middle, low, high = report.ratio([1.0, 2.0, 3.0, 4.0, 5.0], [1.0] * 5)
    assert middle == 3.0
    assert 1.0 <= low < 3.0 < high <= 5.0


def test_rates(report):
    measured = row(report, ours=[1e-6], theirs=[2e-6])
    assert report.rate(measured, 1e-9) == "4.000 TB/s"
    assert report.rate(report.dataclasses.replace(measured, flop=10**6), 1e-9) == "1000.0 TFLOP/s"


def test_a_table(report):
    text = report.table([row(report, ours=[1e-6, 1e-6], theirs=[2e-6, 2e-6])])
    assert text.splitlines()[2:] == [
        "| case | warm | 1.0 us | 0.004 TB/s | theirs | 2.000 | 2.000 to 2.000 | 1.0e-03 | theirs | yes | 1500 |"
    ]
