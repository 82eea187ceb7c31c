"""The runner of benchmarks, on the CPU: which cases it finds, what it computes of times, and what it writes."""

import importlib
import json
from pathlib import Path

import pytest

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


def row(report, **times):
    return report.Row("case", "warm", times, ["ours"], {"ours": 0}, {"theirs": 1e-3}, 4000, 1000, {"clocks.sm": 1500.0})


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
    rows = runner.main(["transpose", "--rounds", "3", "--json", str(data), "--plot", str(picture)])
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
    assert [r.case for r in runner.main(["transpose", "--rounds", "1", "--cases", "77x"])] == [
        "transpose 77x99 float32"
    ]


def test_an_example_that_is_not_there(runner, capsys):
    with pytest.raises(SystemExit):
        runner.main(["transpos"])
    assert "no examples with cases are transpos" in capsys.readouterr().err


def test_rounds_take_turns_in_an_order_that_changes(runner):
    taken = []

    def contender(name):
        return lambda: taken.append(name) or float(len(taken))

    times = runner.race({name: contender(name) for name in "ab"}, rounds=20)
    assert all(set(taken[i : i + 2]) == {"a", "b"} for i in range(0, 40, 2))
    assert len({tuple(taken[i : i + 2]) for i in range(0, 40, 2)}) == 2
    assert sorted(times["a"] + times["b"]) == [float(i + 1) for i in range(40)]


def test_the_fastest_is_chosen(runner):
    assert runner.fastest([lambda: 3.0, lambda: 1.0, lambda: 2.0]) == 1


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
        "| case | warm | 1.0 us | 0.004 TB/s | theirs | 2.000 | 2.000 to 2.000 | 1.0e-03 | 1500 |"
    ]
