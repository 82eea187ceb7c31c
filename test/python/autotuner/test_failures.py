"""Configurations that go wrong, and that nobody else is disturbed by them."""

import os
import signal
import threading

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.autotuner import set_autotune_inputs
from tilec.autotuner.processes import Failure, Worker
from tilec.autotuner.records import Store
from tilec.errors import ConfigError, TuningError
from tuned_kernels import QUICK, reference, tuned


def test_bad_configurations_disturb_nobody(commands):
    configs = [{"block": b, "fault": f} for f in (1, 3, 4, 0) for b in (16, 32)]
    function = tuned(configs, ref_prog=reference, timeout=2.5)
    result = function.tune(64)
    assert {(r.config["fault"], r.status) for r in result.records} == {
        (0, "ok"),
        (1, "timeout"),
        (3, "wrong"),
        (4, "invalid"),
    }
    reasons = {r.config["fault"]: r.reason for r in result.records}
    assert reasons[1] == "took longer than 2.5 s and was killed"
    assert "of 64 elements of `B` are wrong, worst at (" in reasons[3]
    assert "`A` of `T.gemm` is <global buffer A" in reasons[4]
    assert result.config["fault"] == 0
    text = result.table()
    assert all(status in text for status in ("timeout", "wrong", "invalid"))

    del commands[:]
    again = tuned([*configs, {"block": 64, "fault": 0}], ref_prog=reference, timeout=2.5).tune(64)
    assert commands.count("check") == 1, "failures have records too"
    assert len(again.records) == 9


def test_who_waits_longer_tries_again(commands):
    configs = [{"fault": 0}, {"fault": 1}]
    statuses = {r.config["fault"]: r.status for r in tuned(configs, timeout=0.8).tune(16).records}
    assert statuses == {0: "ok", 1: "timeout"}
    del commands[:]
    assert tuned(configs, timeout=0.5).tune(16).from_cache
    assert not commands
    result = tuned(configs, timeout=1).tune(16)
    assert commands.count("check") == 1
    assert result.records[1].reason == "took longer than 1 s and was killed"
    assert tuned(configs, timeout=20, frozen=True).tune(16).from_cache, "who may not measure takes what there is"


def test_a_process_that_somebody_kills_is_no_configurations_fault(monkeypatch):
    call = Worker.call
    victims = iter([True])

    def kill(self, command, *arguments, timeout):
        if command == "check" and next(victims, False):
            os.kill(self._process.pid, signal.SIGKILL)
        return call(self, command, *arguments, timeout=timeout)

    monkeypatch.setattr(Worker, "call", kill)
    configs = {"block": [16, 32]}
    result = tuned(configs).tune(64)
    assert [r.status for r in result.records] == ["ok", "crashed"]
    assert "killed by SIGKILL" in result.records[1].reason
    assert len(tuned({"block": [16, 32, 64]}).tune(64).contenders) > 0
    assert all(r.is_ok for r in tuned({"block": [16, 32, 64]}).tune(64).records)


def test_nothing_works():
    with pytest.raises(TuningError, match=r"no configuration of `.*scale` works:\n.*'fault': 3.*: wrong: 1. of 16"):
        tuned({"fault": [3, 4]}, ref_prog=reference)(16)


def test_what_the_compiler_rejects(commands):
    @tilec.autotune(configs={"place": ["block", "iteration"]}, **QUICK)
    @tilec.jit(target="cpu", out_idx=0)
    def gemm(place: str = ""):
        @T.prim_func
        def kernel(C: T.Tensor((64, 64), "float32")):
            with T.Kernel(1):
                S = T.alloc_shared((64, 64), "float32")
                acc = T.alloc_fragment((64, 64), "float32")
                T.clear(S)
                T.clear(acc)
                if place == "iteration":
                    for i in T.Parallel(64):
                        T.clear(S)
                T.gemm(S, S, acc)
                T.copy(acc, C)

        return kernel

    result = gemm.tune()
    assert result.config == {"place": "block"}
    failed = result.records[-1]
    assert failed.status == "uncompilable"
    assert "`kernel` cannot be compiled" in failed.reason


def test_checks_by_hand():
    seen = []

    def check(found, wanted):
        seen.append((found, wanted))
        assert np.array_equal(found[0], wanted[0]), "not what was asked for"

    configs = {"fault": [0, 3]}
    result = tuned(configs, ref_prog=reference, manual_check_prog=check).tune(16)
    assert [r.status for r in result.records] == ["ok", "wrong"]
    assert result.records[1].reason.startswith("`manual_check_prog` objects: not what was asked for")
    assert len(seen) == 2
    result = tuned(configs, manual_check_prog=lambda found, wanted: np.abs(found[0]).max() < 0).tune
    with pytest.raises(TuningError, match="`manual_check_prog` returns False"):
        result(16)


def test_without_a_reference_nothing_is_checked():
    result = tuned({"fault": [0, 3]}).tune(16)
    assert not result.checked
    assert "unchecked" in repr(result)
    assert all(r.is_ok and not r.checked for r in result.records)
    result = tuned({"fault": [0, 3]}, ref_prog=reference, skip_check=True).tune(16)
    assert not result.checked
    assert len(tuned({"fault": [0, 3]}, ref_prog=reference, max_mismatched_ratio=1.0).tune(16).contenders) >= 1


def test_failures_of_workers():
    worker = Worker({})
    with pytest.raises(Failure) as caught:
        worker.call("nothing", timeout=30)
    assert caught.value.status == "failed"
    assert "AttributeError" in caught.value.reason
    worker.kill()
    worker.kill()


def test_a_process_that_cannot_be_had_is_no_configurations_fault(monkeypatch):
    call = Worker.call

    def refuse(self, command, *arguments, timeout):
        if command == "configure":
            raise Failure("crashed", "no room")
        return call(self, command, *arguments, timeout=timeout)

    monkeypatch.setattr(Worker, "call", refuse)
    with pytest.raises(TuningError, match="there is no process to measure in on the CPU: no room"):
        tuned({"block": [16]})(32)
    assert not list(Store().bodies())


def test_a_process_that_cannot_be_had_to_compile_in(monkeypatch):
    call = Worker.call

    def refuse(self, command, *arguments, timeout):
        if command == "compile" and arguments[0].number == 0:
            raise OSError("no room")
        return call(self, command, *arguments, timeout=timeout)

    monkeypatch.setattr(Worker, "call", refuse)
    result = tuned({"block": [16, 32]}).tune(64)
    assert result.config == {"block": 32}
    assert (result.records[1].status, result.records[1].key) == ("failed", ""), "another time there may be one"
    assert result.records[1].reason == "it cannot be compiled in another process: no room"


def test_no_thread_outlives_a_tuning_that_fails():
    before = threading.active_count()
    with set_autotune_inputs(1, 2, 3), pytest.raises(ConfigError):
        tuned({"block": [8, 16, 24, 32, 40, 48]})(64)
    assert threading.active_count() == before
