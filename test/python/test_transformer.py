"""The example of a transformer, on the CPU; test/integration/test_transformer.py has the GPU's."""

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
sys.path.append(str(Path(__file__).parents[2] / "python" / "examples" / "transformer"))


@pytest.fixture(scope="module", autouse=True)
def _target():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TL_TARGET", "cpu")
        yield


@pytest.fixture(autouse=True)
def _fresh():
    torch.manual_seed(0)
    torch._dynamo.reset()


def test_gradients_are_as_exact_as_pytorchs():
    from model import TINY, check

    check(TINY, "cpu")


def test_compiled_in_one_graph():
    from model import TINY, check

    check(TINY, "cpu", lambda model: torch.compile(model, fullgraph=True, backend="aot_eager"))


def test_a_wrong_gradient_is_found(monkeypatch):
    from model import TINY, check
    from operators import Ours

    norm = Ours.norm
    monkeypatch.setattr(Ours, "norm", lambda self, x, w: norm(self, x, w.detach()) + 0.01 * w)
    with pytest.raises(AssertionError, match="PyTorch's own is"):
        check(TINY, "cpu")


def test_it_learns():
    from model import TINY
    from train import learn

    losses = learn(TINY, "cpu", steps=5)
    assert losses[-1] < 0.8 * losses[0]


def test_it_is_trained_in_shards(tmp_path):
    """With FSDP, on one process: parameters are gathered for each layer, and gradients are those without it."""
    from model import TINY, batch_of, gradients, pair
    from torch.distributed.fsdp import fully_shard

    ours, other = pair(TINY, "cpu")
    other.functions = ours.functions
    for layer, same in zip(other.layers, ours.layers, strict=True):
        layer.functions = same.functions
    batch = batch_of(TINY, "cpu")
    expected = gradients(ours, ours, *batch)
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/meeting", rank=0, world_size=1)
    try:
        mesh = torch.distributed.init_device_mesh("cpu", (1,))
        for layer in other.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(other, mesh=mesh)
        found = gradients(other, other, *batch)
    finally:
        torch.distributed.destroy_process_group()
    for name, value in expected.items():
        assert torch.equal(found[name].full_tensor() if name != "loss" else found[name], value), name


def test_pytorchs_own_checks_of_the_operators():
    import operators

    x, w = (torch.randn(*shape).bfloat16().requires_grad_() for shape in ((3, 256), (256,)))
    torch.library.opcheck(operators.rms_norm(256, "bfloat16").op, (x, w))
    q, k, v = (torch.randn(1, h, 40, 64).bfloat16().requires_grad_() for h in (4, 2, 2))
    torch.library.opcheck(operators.attention(1, 4, 2, 40, 64, "bfloat16").op, (q, k, v))
    labels = torch.tensor([5, -100, 99], dtype=torch.int32)
    torch.library.opcheck(operators.losses(100, "bfloat16").op, (torch.randn(3, 100).bfloat16(), labels))


def test_the_profiler_names_the_kernels():
    from model import TINY, batch_of, gradients, pair

    model = pair(TINY, "cpu")[0]
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        gradients(model, model, *batch_of(TINY, "cpu"))
    names = " ".join(event.key for event in seen.key_averages())
    for kernel in ("rmsnorm_rows", "heads_of_product", "attend", "gate_and_up", "losses"):
        assert f"tilec::{kernel}_" in names or f"tilec_{kernel}_" in names, kernel
    for kernel in ("rmsnorm_gradients", "product_of_heads", "differentiate", "gate_up_gradients", "loss_gradients"):
        assert f"tilec::{kernel}_" in names, kernel
