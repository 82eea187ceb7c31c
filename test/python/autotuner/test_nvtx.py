"""What profilers are told of a tuning run."""

import subprocess
from pathlib import Path

import numpy as np

from tuned_kernels import reference, tuned

HERE = Path(__file__).parent


def ranges(tmp_path, monkeypatch, listens):
    library, noted = tmp_path / "libnvToolsExt.so.1", tmp_path / "ranges"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, HERE / "nvtx.c"], check=True)
    noted.touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    monkeypatch.setenv("RANGES", str(noted))
    if listens:
        monkeypatch.setenv("NVTX_INJECTION64_PATH", "a profiler")
    kernel = tuned([{"block": 8}, {"block": 16}, {"block": 8, "fault": 3}], ref_prog=reference)(64)
    np.testing.assert_array_equal(kernel(np.ones(64, np.float32)), np.full(64, 2))
    return noted.read_text().splitlines()


def test_each_configuration_has_ranges(tmp_path, monkeypatch):
    noted = ranges(tmp_path, monkeypatch, listens=True)
    begun = {line.removeprefix("+ ") for line in noted if line != "-"}
    for what in ("compile", "check", "samples"):
        for config in ("block=8", "block=16"):
            assert f"{what} scale: {config}" in begun
    # What fails ends its range too.
    assert "check scale: block=8, fault=3" in begun
    assert "samples scale: block=8, fault=3" not in begun
    assert noted.count("-") * 2 == len(noted)


def test_nothing_is_loaded_where_nobody_listens(tmp_path, monkeypatch):
    assert ranges(tmp_path, monkeypatch, listens=False) == []
