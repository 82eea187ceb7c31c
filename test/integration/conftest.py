"""What the tests on a GPU share: the backends that each of them runs on, and the state of the cache."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilec import backends


@pytest.fixture(scope="session", autouse=True)
def _warm_cache_has_everything() -> Iterator[None]:
    """The second run of the suite, in a new process, finds what the first one compiled (docs/Testing.md)."""
    found = _entries()
    yield
    if os.environ.get("TL_TEST_CACHE") == "warm":
        assert _entries() == found, "a warm cache has everything"


def _entries() -> set[str]:
    directory = os.environ.get("TL_CACHE_DIR")
    return {path.name for path in Path(directory).glob("v1/??/*")} if directory else set()


@pytest.fixture(scope="module", params=["nvptx", "nvrtc"])
def backend(request):
    """The backend that a module's programs mean by "auto": every test runs on each code generator in turn."""
    if lacking := backends.find(request.param).missing():
        pytest.skip(f"there is no `{lacking[0].name}`")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TL_EXECUTION_BACKEND", request.param)
        yield request.param
