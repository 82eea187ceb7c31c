"""Lists of configurations: what they may say, how they are cut down, how they are searched."""

import sys

import numpy as np
import pytest

import tilec
from tilec.autotuner.problem import Problem
from tilec.errors import MissingPackageError
from tuned_kernels import QUICK, increment, reference, tuned


def test_options_of_a_configuration():
    configs = [{"block": 16, "pass_configs": {"fast_math": f}} for f in (False, True)]
    result = tuned(configs).tune(32)
    assert len(result.records) == 2
    assert {r.config["pass_configs"]["fast_math"] for r in result.records} == {False, True}
    for fast in (False, True):
        function = tuned([{"block": 16, "pass_configs": {"fast_math": fast}}])
        kernel = function(32)
        assert kernel is function.tune(32).kernel is function.compile(32)
        assert kernel._options["fast_math"] is fast


def test_a_callable_gets_the_raw_arguments_each_time():
    seen = []

    def configs(*args, **kwargs):
        seen.append((args, kwargs))
        return {"block": [8]}

    function = tuned(configs)
    function(16)
    function(n=32)
    function(16)
    function(32)
    assert seen == [((16,), {}), ((), {"n": 32})], "once for each key"
    assert callable(function.configs)
    function = tilec.autotune(configs=configs, **QUICK)(increment)
    del seen[:]
    for n in (16, 32, 16):
        function(np.zeros(n, np.float32))
    assert [args[0].shape for args, _ in seen] == [(16,), (32,)]


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ([], "there are no configurations to tune `scale` with"),
        ({"block": []}, "there are no configurations"),
        ([{"blocks": 3}], "unused keys in config of `scale`: `blocks`; its parameters are `n`, `block`"),
        ([3], "must be a dictionary, not `3`"),
        ({"block": 3}, "the values of `block` for `scale` must be a list"),
        ("block", "must be a list, a dictionary or a callable"),
        ([{"pass_configs": 3}], "`pass_configs` of a config of `scale` must be a dictionary"),
        ([{"pass_configs": {"quick": 3}}], "unused keys in `pass_configs` of `scale`: `quick`; known are"),
    ],
)
def test_lists_that_make_no_sense(configs, message):
    with pytest.raises(ValueError, match=message):
        tuned(configs)(16)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"early_stop_factor": 0.5}, "`early_stop_factor` must be at least 1, and 0.5 is not"),
        ({"timeout": 0}, "`timeout` must be positive"),
        ({"executor": "slurm"}, "unknown executor `slurm`; known are `local`, `ray`"),
        ({"do_not_specialize": ["m"]}, "`do_not_specialize` names `m`, no parameter of `scale`"),
        ({"search": "luck"}, "unknown search `luck`; known are `exhaustive`, `optuna`"),
        ({"search": "optuna"}, "needs `trials`"),
        ({"search": "optuna", "trials": 0}, "`trials` must be at least 1, and 0 is not"),
        ({"trials": 3}, '`trials` is for `search="optuna"`, and nothing else'),
        ({"workers": -1}, "`workers` must be at least 1, and -1 is not"),
        ({"warmup": -0.5}, "`warmup` must be at least 0, and -0.5 is not"),
        ({"supply_type": "zero"}, r"`supply_type` must be a `tilec\.TensorSupplyType`, not `'zero'`"),
        ({"prune_configs_by": {"top": 3}}, "unused keys in `prune_configs_by` of .*: `top`"),
        ({"prune_configs_by": {"early_config_prune": lambda c, a: []}}, "leaves no configurations"),
    ],
)
def test_arguments_that_make_no_sense(arguments, message):
    with pytest.raises(ValueError, match=message):
        tuned([{"block": 8}], **arguments)(16)


def test_pruning(commands):
    named = []

    def early(configs, arguments):
        named.append(arguments)
        return [c for c in configs if c["block"] != 8]

    rules = {"early_config_prune": early, "perf_model": lambda n, block, factor, fault: -block, "top_k": 0.5}
    result = tuned({"block": [8, 16, 32, 48, 64]}, prune_configs_by=rules).tune(64)
    assert named == [{"n": 64, "factor": 2.0, "fault": 0}], "all arguments but those that are tuned, given or not"
    assert sorted(r.config["block"] for r in result.records) == [48, 64]
    rules["top_k"] = 1
    assert tuned({"block": [8, 16, 32]}, prune_configs_by=rules).tune(64).config == {"block": 32}


def test_pruned_otherwise_is_tuned_otherwise(commands):
    def tried(count):
        rules = {"perf_model": lambda block, **_: -block, "top_k": count}
        return len(tuned({"block": [8, 16, 32]}, prune_configs_by=rules if count else None).tune(64).records)

    assert [tried(count) for count in (1, 2, None)] == [1, 2, 3]
    assert commands.count("check") == 3
    assert tried(1) == 1
    assert commands.count("compile") == 6


def test_optuna(commands):
    pytest.importorskip("optuna")
    result = tuned({"block": [8, 16, 24, 32, 40, 48], "fault": [0, 3]}, ref_prog=reference, search="optuna", trials=5)
    result = result.tune(64)
    assert len(result.records) == 5
    assert result.config["fault"] == 0


def test_ray():
    pytest.importorskip("ray")
    result = tuned({"block": [8, 16], "fault": [0, 3]}, ref_prog=reference, executor="ray").tune(64)
    assert [r.status for r in result.records] == ["ok", "ok", "wrong", "wrong"]


def test_several_devices(monkeypatch, commands):
    """Two of the CPU stand for two GPUs: each measures half of the list, and the best meet once more."""
    monkeypatch.setattr(Problem, "devices", property(lambda problem: [None, None]))
    result = tuned({"block": [8, 16, 24, 32], "fault": [0, 3]}, ref_prog=reference, early_stop=False).tune(64)
    assert [r.status for r in result.records] == ["ok"] * 4 + ["wrong"] * 4
    assert commands.count("configure") in (2, 3), "once more if several may be the best"
    assert commands.count("check") >= 8


@pytest.mark.parametrize(
    ("package", "arguments"), [("optuna", {"search": "optuna", "trials": 3}), ("ray", {"executor": "ray"})]
)
def test_optional_packages_are_named(package, arguments, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=f"needs the package `{package}`: `pip install {package}`"):
        tuned({"block": [8]}, **arguments)(16)
