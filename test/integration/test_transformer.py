"""The example of a transformer on a GPU: eager, through Inductor, in CUDA graphs, on another stream."""

import itertools
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)
sys.path.append(str(Path(__file__).parents[2] / "python" / "examples" / "transformer"))

from model import TINY, batch_of, check, graphed, pair, training_step  # noqa: E402

WIDE = TINY._replace(batch=1, length=256, dim=128, heads=4, kv_heads=1, width=512, hidden=1408, layers=1)


@pytest.fixture(autouse=True)
def _fresh():
    torch.manual_seed(0)
    torch._dynamo.reset()


@pytest.mark.parametrize("size", [TINY, WIDE])
def test_gradients_are_as_exact_as_pytorchs(size):
    check(size, "cuda")


@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_compiled_in_one_graph(mode):
    check(TINY, "cuda", lambda model: torch.compile(model, fullgraph=True, mode=mode))


def losses(step, count=5):
    return [float(step()) for _ in range(count)]


def assert_like(found, expected):
    """Holds losses against others. A step lowers them by more; PyTorch's sums may have other orders."""
    torch.testing.assert_close(torch.tensor(found), torch.tensor(expected), rtol=1e-2, atol=1e-2)
    assert min(abs(a - b) for a, b in itertools.pairwise(expected)) > 0.1, expected


def two_models():
    """Returns two models of kernels with the same weights, and a batch."""
    from operators import Ours

    first, plain = pair(TINY, "cuda")
    second = type(first)(TINY, Ours).to("cuda")
    second.load_state_dict(plain.state_dict())
    return first, second, batch_of(TINY, "cuda")


@pytest.mark.parametrize("compiled", [False, True])
def test_a_step_in_a_graph_is_the_step(compiled):
    first, second, batch = two_models()
    call = torch.compile(second, fullgraph=True) if compiled else second
    replay = graphed(training_step(second, call, *batch, rate=1e-3))  # three steps on the way
    eager = losses(training_step(first, first, *batch, rate=1e-3), 8)[3:]
    assert_like(losses(replay), eager)


def test_a_step_on_another_stream_is_the_step():
    first, second, batch = two_models()
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(200_000_000)
        found = losses(training_step(second, second, *batch, rate=1e-3))
    assert_like(found, losses(training_step(first, first, *batch, rate=1e-3)))


def test_the_profiler_names_kernels():
    from torch.profiler import ProfilerActivity, profile

    model, batch = pair(TINY, "cuda")[0], batch_of(TINY, "cuda")
    step = training_step(model, model, *batch)
    step()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        step()
        torch.cuda.synchronize()
    on_gpu = {event.key for event in seen.key_averages() if event.device_type == torch.autograd.DeviceType.CUDA}
    for kernel in ("rmsnorm_rows", "heads_of_product", "attend", "gate_and_up", "losses", "rmsnorm_gradients",
                   "product_of_heads", "differentiate", "gate_up_gradients", "loss_gradients"):  # fmt: skip
        assert any(name.startswith(f"{kernel}_kernel") for name in on_gpu), (kernel, sorted(on_gpu))
