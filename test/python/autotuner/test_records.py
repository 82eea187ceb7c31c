"""What is kept of a tuning, and what ships."""

import json
from pathlib import Path

import numpy as np
import pytest

import tilec
from tilec import _tl
from tilec.autotuner import set_autotune_inputs
from tilec.autotuner.records import Record, Store
from tilec.errors import TuningError
from tuned_kernels import QUICK, reference, scale, tuned


def test_a_new_configuration_measures_only_itself(commands):
    tuned({"block": [16, 32]}, ref_prog=reference)(64)
    del commands[:]
    result = tuned({"block": [16, 32, 64]}, ref_prog=reference).tune(64)
    assert commands.count("check") == 1
    assert len(result.records) == 3
    assert result.ref_latency > 0


def test_the_same_kernel_is_measured_once(commands):
    result = tuned([{"fault": 0}, {"fault": 5}, {"fault": 6}]).tune(16)
    assert commands.count("check") == 1
    assert len({r.latency for r in result.records}) == 1
    assert len(result.records) == 3


def test_memory_and_disk_agree(commands):
    configs = {"block": [16, 32], "fault": [0, 3, 4, 5]}
    first = tuned(configs, ref_prog=reference).tune(64)
    del commands[:]
    second = tuned(configs, ref_prog=reference).tune(64)
    assert not commands
    assert second.from_cache
    for name in ("config", "latency", "ref_latency", "out_idx", "checked", "key"):
        assert getattr(first, name) == getattr(second, name)
    assert [(r.config, r.samples, r.status) for r in first.records] == [
        (r.config, r.samples, r.status) for r in second.records
    ]
    tilec.cache.clear()
    assert not list(Store().bodies())
    tuned({"block": [16, 32]}).tune(64)
    assert commands


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", None])
def test_damaged_records_are_tuned_again(directory, commands, damage):
    configs = {"block": [16]}
    tuned(configs).tune(32)
    files = sorted(directory.rglob("tuning.json"))
    assert len(files) == 2, "a record and a choice"
    for file in files:
        file.chmod(0o600)
        file.write_bytes(file.read_bytes().replace(b"0", b"1") if damage is None else damage)
    _tl.cache_forget()
    del commands[:]
    assert not tuned(configs).tune(32).from_cache
    assert commands.count("check") == 1
    assert tuned(configs).tune(32).from_cache


def test_every_field_counts(commands, monkeypatch):
    def without(body, field):
        return {k: v for k, v in body.items() if k != field}

    configs = {"block": [16]}
    result = tuned(configs, ref_prog=reference).tune(32)
    store = Store()
    versions, choice = Store.versions, store.load(result.key)

    def find(patch, body):
        patch.setattr(Store, "versions", lambda s, key: [body] if key == result.key else versions(s, key))

    for field in ("config", "latency", "ref_latency", "out_idx", "checked", "kernels", "records", "patience"):
        with monkeypatch.context() as patch:
            damaged = {result.key: [without(choice, field)]}
            patch.setattr(Store, "versions", lambda store, key: damaged.get(key) or versions(store, key))
            again = tuned(configs, ref_prog=reference).tune(32)
        assert not again.from_cache or field == "ref_latency", field
        assert again.latency == result.latency, "its record is still there"
    wrong = [{"records": items} for items in ("x", [3], [None], [{"key": 5}])]
    wrong += [{"latency": "x"}, {"patience": "x"}, {"config": 3}, {"shared": []}, {"checked": 1}, {"out_idx": [0]}]
    for change in wrong:
        with monkeypatch.context() as patch:
            find(patch, {**choice, **change})
            assert not tuned(configs, ref_prog=reference).tune(32).from_cache, change
    key = result.records[0].key
    body = store.load(key)
    assert Record.from_json(body, None, key) is not None
    for field in ("config", "status", "samples", "reason", "checked", "kernels", "device"):
        assert Record.from_json(without(body, field), None, key) is None, field
    for wrong in ({"status": "good"}, {"samples": []}, {"samples": ["x"]}, {"samples": [-1.0]}, {"config": 3}):
        assert Record.from_json({**body, **wrong}, None, key) is None, wrong
    assert Record.from_json([body], None, key) is None
    timeout = {**body, "status": "timeout", "samples": [], "patience": 3.0}
    assert Record.from_json(timeout, None, key) is not None
    assert Record.from_json({**timeout, "patience": None}, None, key) is None


def test_what_replaces_a_record_is_its_next_version():
    store = Store()
    assert store.versions("key") == []
    for number in range(3):
        store.save("key", {"number": number})
    assert store.load("key") == {"number": 2}
    assert store.versions("key") == [{"number": 2}, {"number": 1}, {"number": 0}]
    assert list(store.bodies()) == [{"number": 2}]


def test_programs_that_cannot_be_told_apart_have_a_choice_each(commands):
    constant = [2.0]

    class Hidden:
        def __call__(self):
            return constant[0]

    hidden = Hidden()

    def tune(value):
        @tilec.autotune(configs={"block": [8, 16]}, **QUICK)
        @tilec.jit(target="cpu", out_idx=1)
        def function(block: int = 8):
            return scale(16, block, hidden())

        constant[0] = value
        return function.tune().from_cache

    assert [tune(value) for value in (2.0, 4.0, 2.0, 4.0)] == [False, False, True, True]


def test_a_directory_that_cannot_be_written(directory, commands, caplog):
    directory.write_text("in the way")
    result = tuned({"block": [16]}).tune(32)
    assert result.latency > 0


def test_without_a_cache(monkeypatch, directory, commands):
    monkeypatch.setenv("TL_DISABLE_CACHE", "1")
    function = tuned({"block": [16, 32]}, ref_prog=reference)
    result = function.tune(32)
    assert function.tune(32) is result
    assert len(result.records) == 2
    assert not directory.exists()


def test_results_are_saved_whole(monkeypatch, tmp_path):
    file, copy = str(tmp_path / "one.json"), str(tmp_path / "two.json")
    monkeypatch.setenv("TL_DISABLE_CACHE", "1")
    function = tuned({"block": [16, 32]})
    with set_autotune_inputs(np.zeros(64, np.float32)):
        function(64)
    function.save_results(file)
    assert len(json.loads(Path(file).read_text())["results"]) == 1, "with inputs and without is one"
    again = tuned({"block": [16, 32]}, results=file, frozen=True)
    again(64)
    again.save_results(copy)
    assert Path(copy).read_text() == Path(file).read_text()


def test_results_of_a_program_serve_who_imports_it(monkeypatch, tmp_path):
    monkeypatch.setattr(scale, "__module__", "__main__")
    function = tuned({"block": [16, 32]})
    function(64)
    function.save_results(str(tmp_path / "scale.json"))
    monkeypatch.setattr(scale, "__module__", "kernels")
    monkeypatch.setenv("TL_CACHE_DIR", str(tmp_path / "elsewhere"))
    assert tuned({"block": [16, 32]}, results=str(tmp_path / "scale.json"), frozen=True).tune(64).from_cache


def test_frozen(monkeypatch, tmp_path, commands):
    configs = {"block": [16, 32]}
    function = tuned(configs)
    function(64)
    file = str(tmp_path / "scale.json")
    function.save_results(file)
    del commands[:]

    monkeypatch.setenv("TL_AUTOTUNE_FROZEN", "1")
    assert tuned(configs).tune(64).from_cache
    with pytest.raises(TuningError) as caught:
        tuned(configs)(65)
    message = str(caught.value)
    assert "scale` is not tuned for {" in message
    assert '"n": 65' in message
    assert "the nearest result chose" in message
    assert '"n": 64' in message
    assert "(key " in message

    monkeypatch.setenv("TL_CACHE_DIR", str(tmp_path / "elsewhere"))
    with pytest.raises(TuningError, match="there are no results of it at all"):
        tuned(configs)(64)
    shipped = tuned(configs, results=file, rep=50)  # measured otherwise, but measured
    kernel = shipped(64)
    np.testing.assert_array_equal(kernel(np.ones(64, np.float32)), np.full(64, 2.0))
    with pytest.raises(TuningError, match='the nearest result chose .*; *|differs in .*arguments: {.*"n": 64'):
        shipped(65)
    monkeypatch.delenv("TL_AUTOTUNE_FROZEN")
    with pytest.raises(TuningError, match="is not tuned"):
        tuned(configs, frozen=True)(66)
    assert not commands
    damaged = json.loads(Path(file).read_text())
    del damaged["results"][0]["latency"]
    Path(file).write_text(json.dumps(damaged))
    with pytest.raises(TuningError, match="and differs in profile|and lacks something, or is damaged"):
        tuned(configs, results=file, frozen=True)(64)
    Path(file).write_text("{}")
    with pytest.raises(TuningError, match="the results of `scale` cannot be read from `.*scale.json`"):
        tuned(configs, results=file)(64)
