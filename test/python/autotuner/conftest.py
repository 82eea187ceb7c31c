"""What the autotuner's tests share: a cache for each, and a look at what processes are told."""

import pytest

from tilec.autotuner.processes import Worker


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    """A cache for each test."""
    monkeypatch.setenv("TL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TL_DISABLE_CACHE", raising=False)
    monkeypatch.delenv("TL_AUTOTUNE_FROZEN", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def commands(monkeypatch):
    """What processes are told to do."""
    given = []
    call = Worker.call

    def note(self, command, *arguments, timeout):
        given.append(command)
        return call(self, command, *arguments, timeout=timeout)

    monkeypatch.setattr(Worker, "call", note)
    return given
