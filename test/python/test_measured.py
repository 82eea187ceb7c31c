"""Measurements beside estimates, as far as there is no need of a GPU for them (docs/Analysis.md)."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import tilec
from counted_programs import doubling, zeros
from tilec import targets
from tilec.analysis import measured
from tilec.analysis.measured import METRICS, KernelCounters, Profile
from tilec.errors import TargetError

ARGUMENTS = zeros(1024), zeros(1024)

REPORT = (
    "==PROF== Connected to process 4711 (/usr/bin/python3)\n"
    '==PROF== Profiling "double_kernel" - 0: 0%....50%....100% - 1 pass\n'
    "==PROF== Disconnected from process 4711\n"
    '"ID","Process ID","Process Name","Kernel Name","Block Size","Grid Size",'
    '"dram__bytes_read.sum","dram__bytes_write.sum","gpu__time_duration.sum",'
    '"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum","smsp__inst_executed.sum"\n'
    '"","","","","","","byte","byte","ns","","inst"\n'
    '"0","4711","python3","fill","(256, 1, 1)","(8, 1, 1)","0","64","900","0","8"\n'
    '"1","4711","python3","double_kernel","(128, 1, 1)","(2, 1, 1)","4,224","n/a","1,504","0","112"\n'
)
"""What `ncu --csv --page raw --print-units base` prints, in its form, with lines of two kernels."""

COUNTED = KernelCounters(
    "double_kernel",
    {
        "gpu__time_duration.sum": 1504,
        "dram__bytes_read.sum": 4224,
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": 0,
        "smsp__inst_executed.sum": 112,
    },
)


@pytest.fixture
def kernel() -> tilec.Kernel:
    return tilec.compile(doubling(1024), target="sm_90a", assembler="none")


def put_ncu(folder: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Puts a program in the place of `ncu`."""
    path = folder / "ncu"
    path.write_text(f"#!{sys.executable}\n{program}")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_a_report_is_read() -> None:
    fill, double = measured.parse(REPORT)
    assert fill.kernel == "fill"
    assert double == COUNTED
    assert "bytes read from device memory: 4,224" in str(double)
    assert measured.parse("==ERROR== nothing was profiled\n") == []
    for lines in range(7):
        assert len(measured.parse("\n".join(REPORT.splitlines()[:lines]))) == max(0, lines - 5)


def test_a_process_of_its_own_has_kernel_and_arguments(
    kernel: tilec.Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_ncu(
        tmp_path,
        monkeypatch,
        f"""
import pickle, sys
*options, python, _, module, call = sys.argv[1:]
kernel, ((A, dtype), _) = pickle.load(open(call, "rb"))
assert options == ["--csv", "--page", "raw", "--print-units", "base", "--metrics", {",".join(METRICS)!r}], options
assert (python, module, kernel.name) == ({sys.executable!r}, "tilec.analysis.measured", "double")
assert A.shape == (1024,) and str(dtype) == "float32"
print({REPORT!r})
""",
    )
    assert measured.count(kernel, ARGUMENTS) == ([COUNTED], "")


def test_ncu_may_not_read_counters(kernel: tilec.Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_ncu(tmp_path, monkeypatch, "import sys; print('==ERROR== ERR_NVGPUCTRPERM'); sys.exit(1)")
    counters, remark = measured.count(kernel, ARGUMENTS)
    assert counters == []
    assert remark == f"no hardware counters: `{tmp_path}/ncu` ended with 1: ==ERROR== ERR_NVGPUCTRPERM"


def test_without_ncu(kernel: tilec.Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "find_tool", lambda tool: None)
    assert measured.count(kernel, ARGUMENTS) == (
        [],
        "no hardware counters: there is no `ncu` here, which comes with Nsight Compute",
    )


def test_without_a_gpu(kernel: tilec.Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "gpu_chip", lambda: None)
    with pytest.raises(TargetError, match="`double` cannot be measured: there is no GPU here; `kernel.analyze` estim"):
        kernel.profile(*ARGUMENTS)
    with pytest.raises(TargetError, match="`double` cannot be measured: it is compiled for `sim`; `kernel.analyze`"):
        tilec.compile(doubling(1024), target="sm_90a", backend="sim").profile(*ARGUMENTS)


def test_both_beside_each_other(kernel: tilec.Kernel) -> None:
    estimate = kernel.analyze(*ARGUMENTS, gpu="H200")
    profile = Profile(4 * estimate.seconds, (3e-6, 5e-6), estimate, [COUNTED])
    first, *rest = str(profile).splitlines()
    assert first.endswith("(3.00 µs to 5.00 µs); the estimate is 25% of it")
    assert rest[0] == "kernel `double_kernel`, by ncu"
    assert "estimate for H200, not a measurement" in str(profile)
    assert np.isclose(profile.estimate.seconds, 8192 / 4.8e12)
    lacking = Profile(1e-6, (1e-6, 1e-6), estimate, [], "no hardware counters")
    assert str(lacking).splitlines()[1] == "no hardware counters"
