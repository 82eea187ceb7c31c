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


def _bits(array: np.ndarray, torch: Any) -> Any:
    """Returns an array's memory as a tensor, of whole numbers if PyTorch does not take the array's type from NumPy."""
    return torch.from_numpy(array.view(f"u{array.itemsize}") if array.dtype.kind == "V" else array)


def _moved(array: np.ndarray, torch: Any) -> Any:
    """Returns an array's elements on the GPU, as far from each other as they are in the array."""
    bits = _bits(array, torch)
    moved = torch.empty_strided(bits.size(), bits.stride(), dtype=bits.dtype, device="cuda")
    return moved.copy_(bits).view(_type_of(array, torch))


def _type_of(array: np.ndarray, torch: Any) -> Any:
    return getattr(torch, array.dtype.name)


@pytest.fixture
def run() -> Callable[..., None]:
    """Compiles a program and calls it on the GPU with NumPy arrays, which hold then what it has written."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU answers")

    def run(program: tilec.PrimFunc, *arguments: Any) -> None:
        tensors = [_moved(a, torch) if isinstance(a, np.ndarray) else a for a in arguments]
        tilec.compile(program)(*tensors)
        for array, tensor in zip(arguments, tensors, strict=True):
            if isinstance(array, np.ndarray):
                bits = _bits(array, torch)
                bits.copy_(tensor.view(bits.dtype))

    return run
