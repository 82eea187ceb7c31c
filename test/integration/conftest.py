"""What the tests on a GPU share: the backends that each of them runs on."""

import pytest

from tilec import backends


@pytest.fixture(scope="module", params=["nvptx", "nvrtc"])
def backend(request):
    """The backend that a module's programs mean by "auto": every test runs on each code generator in turn."""
    if lacking := backends.find(request.param).missing():
        pytest.skip(f"there is no `{lacking[0].name}`")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TL_EXECUTION_BACKEND", request.param)
        yield request.param
