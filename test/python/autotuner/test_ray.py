"""Tuning on a Ray cluster of several nodes: each a Ray process of its own, here all on one machine."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("ray")

HOOKS = """
import os
import time
from pathlib import Path

NODES = 3

def note(arguments):
    # Ray starts the workers of a node from one process, which tells the nodes apart.
    seen = Path(os.environ["SEEN"])
    (seen / os.environ["RAY_RAYLET_PID"]).touch()
    # A node that is fast leaves some to those that are still starting.
    deadline = time.monotonic() + 60
    while len(list(seen.iterdir())) < NODES and time.monotonic() < deadline:
        time.sleep(0.01)
"""

PROGRAM = """
import os
from pathlib import Path

import numpy as np
import ray
import tilec
import tilec.language as T
from hooks import NODES, note
from ray.cluster_utils import Cluster

def reference(A):
    return A * 2

@tilec.autotune(configs={"block": [8, 16, 32, 64], "wrong": [0.0, 1.0]}, executor="ray", warmup=0, rep=0,
                ref_prog=reference, pre_hook=note)
@tilec.jit(target="cpu", out_idx=-1)
def double(n, block=8, wrong=0.0):
    @T.prim_func
    def multiply(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block)) as b:
            for i in T.Parallel(block):
                B[b * block + i] = A[b * block + i] * 2.0 + wrong

    return multiply

if __name__ == "__main__":
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    for _ in range(NODES - 1):
        cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        result = double.tune(1000)
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert sorted(r.status for r in result.records) == ["ok"] * 4 + ["wrong"] * 4, result.records
    assert result.config["wrong"] == 0.0
    assert len(list(Path(os.environ["SEEN"]).iterdir())) == NODES, "every node measured"
    a = np.random.rand(1000).astype(np.float32)
    np.testing.assert_array_equal(double(1000)(a), a * 2)
"""


def test_every_node_of_a_cluster_measures(tmp_path):
    program, seen = tmp_path / "program.py", tmp_path / "seen"
    program.write_text(PROGRAM)
    (tmp_path / "hooks.py").write_text(HOOKS)
    seen.mkdir()
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "TL_CACHE_DIR": str(tmp_path / "cache"), "SEEN": str(seen)}
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
