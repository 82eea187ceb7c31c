"""Two machines, which share nothing but a server, and one that is told nonsense."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = """
import sys
import tilec
import tilec.language as T

@T.prim_func
def add(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
    with T.Kernel(1, threads=128):
        for i in T.Parallel(128):
            B[i] = A[i] + 1.0

options = {} if sys.argv[1] == "cpu" else {"assembler": "none"}
tilec.compile(add, target=sys.argv[1], **options)
stats = tilec.cache.stats()
print(stats["hits"], stats["misses"])
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A Redis server, as its URL."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed; scripts/setup.sh does it")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)],
        stdout=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.01)
        yield f"redis://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def run(directory: Path, target: str = "sm_90a", program: str = PROGRAM, **variables: str) -> tuple[str, str]:
    """Compiles on a machine whose cache is `directory`; returns its hits and misses, and what it complains of."""
    file = directory.with_suffix(".py")
    file.write_text(program)
    done = subprocess.run(
        [sys.executable, str(file), target],
        env={**os.environ, "TL_CACHE_DIR": str(directory), "TL_DISABLE_CACHE": "", **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip(), done.stderr


def test_another_machine_hits(server: str, tmp_path: Path) -> None:
    variables = {"TL_CACHE_REMOTE": server, "TL_CACHE_ALLOW_UNSIGNED": "1"}
    assert run(tmp_path / "first", **variables) == ("0 1", "")
    assert run(tmp_path / "second", **variables) == ("1 0", "")
    # It is in the directory now, as a stranger's.
    assert run(tmp_path / "second", TL_CACHE_ALLOW_UNSIGNED="1") == ("1 0", "")
    result, complaint = run(tmp_path / "second")
    assert result == "0 1"
    assert "holds device code without a signature" in complaint


def test_unsigned_device_code_needs_the_users_word(server: str, tmp_path: Path) -> None:
    result, complaint = run(tmp_path / "first", TL_CACHE_REMOTE=server)
    assert result == "0 1"
    assert complaint.count("allow unsigned device code with `TL_CACHE_ALLOW_UNSIGNED`") == 1
    assert run(tmp_path / "second", TL_CACHE_REMOTE=server)[0] == "0 1"


def test_leaving_the_signature_out_is_not_enough(server: str, tmp_path: Path) -> None:
    run(tmp_path / "first", TL_CACHE_REMOTE=server)
    key = tmp_path / "key"
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    result, complaint = run(tmp_path / "second", TL_CACHE_REMOTE=server, TL_CACHE_KEY_FILE=str(key))
    assert result == "0 1"
    assert "holds entries without a signature, which are not used by those who have a key" in complaint
    variables = {"TL_CACHE_KEY_FILE": str(key), "TL_CACHE_ALLOW_UNSIGNED": "1"}
    _, complaint = run(tmp_path / "third", TL_CACHE_REMOTE=server, **variables)
    assert "entries without a signature are used although there is a key" in complaint


def test_looking_at_the_cache_first_does_not_keep_it_from_being_shared(server: str, tmp_path: Path) -> None:
    variables = {"TL_CACHE_REMOTE": server, "TL_CACHE_ALLOW_UNSIGNED": "1"}
    assert run(tmp_path / "first", **variables) == ("0 1", "")
    (tmp_path / "second").mkdir(mode=0o700)
    look = "import tilec\ntilec.cache.stats()\ntilec.cache.clear()\n"
    assert run(tmp_path / "second", program=look + PROGRAM, **variables) == ("1 0", "")


def test_host_code_is_shared_with_a_signature(server: str, tmp_path: Path) -> None:
    for machine in ("first", "second"):
        result, complaint = run(tmp_path / machine, "cpu", TL_CACHE_REMOTE=server, TL_CACHE_ALLOW_UNSIGNED="1")
        assert result == "0 1"
        assert "holds machine code of the host, which is used only with a valid signature" in complaint

    key = tmp_path / "key"
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    # The signed entry replaces the one that was found wanting.
    for machine, expected in (("third", "0 1"), ("fourth", "1 0")):
        result, _ = run(tmp_path / machine, "cpu", TL_CACHE_REMOTE=server, TL_CACHE_KEY_FILE=str(key))
        assert result == expected


@pytest.mark.parametrize(
    ("variables", "complaint"),
    [
        ({"TL_CACHE_REMOTE": "ftp://nowhere"}, "`TL_CACHE_REMOTE`: `ftp://nowhere` is not a URL of"),
        ({"TL_CACHE_KEY_FILE": "/not/there"}, "`TL_CACHE_KEY_FILE`: key file `/not/there` cannot be read"),
        (
            {"TL_CACHE_MAX_BYTES": "big"},
            "`TL_CACHE_MAX_BYTES`: `big` is not a number of bytes such as `4GiB`; the cache's directory has",
        ),
        (
            {"TL_CACHE_REMOTE": "http://127.0.0.1:1", "TL_CACHE_ALLOW_UNSIGNED": "1"},
            "cannot be reached: Couldn't connect to server",
        ),
    ],
)
def test_nonsense_is_one_warning(tmp_path: Path, variables: dict[str, str], complaint: str) -> None:
    result, complaints = run(tmp_path / "machine", **variables)
    assert result == "0 1"
    assert complaints.count(complaint) == 1


TUNING = """
import tilec
import tilec.language as T
from tilec.autotuner.records import Store

@tilec.autotune(configs={"block": [16, 32]}, warmup=0, rep=0)
@tilec.jit(target="cpu", out_idx=1)
def double(n: int, block: int = 8):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block)) as b:
            for i in T.Parallel(block):
                B[b * block + i] = A[b * block + i] * 2
    return kernel

result = double.tune(64)
print(result.from_cache, [len(record.samples) for record in result.records], result.choice["latency"])
Store().save(result.key, {**result.choice, "latency": result.latency + 1})
"""


def test_tuning_goes_on_on_another_machine(server: str, tmp_path: Path) -> None:
    found = [run(tmp_path / m, program=TUNING, TL_CACHE_REMOTE=server)[0].split(" ", 1) for m in ("1", "2", "3")]
    assert [from_cache for from_cache, _ in found] == ["False", "True", "True"]
    samples, latencies = zip(*(rest.rsplit(" ", 1) for _, rest in found), strict=True)
    assert samples == ("[5, 5]",) * 3
    first = float(latencies[0])
    assert [float(latency) for latency in latencies] == [first, first + 1, first + 2], "replaced for all machines"
