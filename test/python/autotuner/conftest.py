"""What the autotuner's tests share: a cache for each, and a look at what processes are told."""

import pytest

from tilec.autotuner.processes import Worker


@pytest.fixture(autouse=True)
def directory(own_cache, monkeypatch):
    """A cache for each test."""
    monkeypatch.delenv("TL_AUTOTUNE_FROZEN", raising=False)
    return own_cache


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
