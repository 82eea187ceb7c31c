"""What the tests on a GPU share: the backends that each of them runs on, and the state of the cache."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilec
from tilec import backends

# The programs that tests on the CPU have too.
sys.path.append(str(Path(__file__).parents[1] / "python"))


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


@pytest.fixture
def run() -> Callable[..., None]:
    """Compiles a program and calls it on the GPU with NumPy arrays, which hold then what it has written."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU answers")

    def run(program: tilec.PrimFunc, *arguments: Any) -> None:
        tensors = [torch.from_numpy(a).cuda() if isinstance(a, np.ndarray) else a for a in arguments]
        tilec.compile(program)(*tensors)
        for array, tensor in zip(arguments, tensors, strict=True):
            if isinstance(array, np.ndarray):
                array[...] = tensor.cpu().numpy()

    return run
