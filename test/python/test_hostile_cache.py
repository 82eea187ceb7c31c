"""Entries that an enemy made: nothing of them is executed, written or obeyed, whichever way they come.

Each is sealed as its owner would have sealed it, and reaches the user through a server, a bundle, a group's directory
or the user's own. Where unsigned device code is allowed by name, which is as far as a user can go, the same holds.
"""

from __future__ import annotations

import contextlib
import http.server
import io
import json
import os
import re
import shutil
import socketserver
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

import tilec
from hostile import Forgery, blake3, serve

PROGRAM = """
import json
import tilec
import tilec.language as T

@T.prim_func
def add(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
    with T.Kernel(1, threads=128):
        for i in T.Parallel(128):
            B[i] = A[i] + 1.0

kernel = tilec.compile(add, target="sm_90a", assembler="none")
print(json.dumps({"cached": kernel.cached, "path": str(kernel.cache_path), "source": kernel.get_kernel_source()}))
"""

TIERS = ("http", "redis", "bundle", "group", "own")


def run(program: str, directory: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TL_")}
    file = directory.parent / "program.py"  # kernels are made of their source
    file.write_text(program)
    path = os.pathsep.join(p for p in sys.path if p)
    return subprocess.run(
        [sys.executable, str(file)],
        env={**clean, "PYTHONPATH": path, "TL_CACHE_DIR": str(directory), **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def tool() -> str:
    return str(Path(tilec.__file__).parent / "bin" / "tl-cache")


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The entry that the program makes."""
    done = run(PROGRAM, tmp_path_factory.mktemp("honest") / "cache")
    assert done.returncode == 0, done.stderr
    return Path(json.loads(done.stdout)["path"])


@pytest.fixture(params=TIERS)
def through(request: pytest.FixtureRequest, tmp_path: Path):
    """Runs a program after an entry has reached it by one of the ways."""

    def call(forgery: Forgery, program: str = PROGRAM, **variables: str) -> subprocess.CompletedProcess[str]:
        directory = tmp_path / "cache"
        if request.param in ("http", "redis"):
            with contextlib.contextmanager(serve)(request.param, forgery.blobs()) as (url, _):
                return run(program, directory, TL_CACHE_REMOTE=url, **variables)
        if request.param == "bundle":
            bundle = tmp_path / "bundle"
            bundle.write_bytes(forgery.bundle())
            done = subprocess.run(
                [tool(), "import", str(bundle), f"--dir={directory}"],
                env={**os.environ, **variables},
                capture_output=True,
                check=False,
                timeout=60,
            )
            assert done.returncode in (0, 1), done.stderr
        elif request.param == "group":
            forgery.write(directory, 0o2770)
            variables["TL_CACHE_ALLOW_GROUP"] = "1"
        else:
            forgery.write(directory)
        return run(program, directory, **variables)

    call.tier = request.param
    return call


def by_two_ways(name: str, values: Iterable[object]) -> pytest.MarkDecorator:
    """Gives a test each value by two of the ways, in turn: they all end in one reader of what is in an entry."""
    pairs = [(value, TIERS[(i + step) % len(TIERS)]) for i, value in enumerate(values) for step in (0, 2)]
    return pytest.mark.parametrize((name, "through"), pairs, indirect=["through"])


def test_the_enemys_seal_is_right(honest):
    assert blake3(b"") == "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
    manifest = (honest / "manifest.json").read_text()
    body, _, rest = manifest.rpartition(',\n  "seal": "')
    assert rest.startswith(blake3(body.encode()))


def test_what_is_not_forged_is_used(honest, through):
    """Without this the tests below would test nothing."""
    done = through(Forgery(honest), TL_CACHE_ALLOW_UNSIGNED="1")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cached"]


def test_unsigned_device_code_is_used_only_if_that_is_allowed(honest, through):
    done = through(Forgery(honest))
    assert done.returncode == 0, done.stderr
    # A group's directory was allowed by name, and the user's own needs no leave.
    assert json.loads(done.stdout)["cached"] == (through.tier in ("group", "own"))


def unit(name="unit.cu", headers="", flags=""):
    return (
        'gpu.module @add_kernel attributes {tl.target = #tl.target<chip = "sm_90a">} {\n'
        f'  tl.cuda_unit "{name}" "__global__ void f() {{}}" {flags} {headers}\n'
        '  tl.cuda_entry @add_kernel entry("f") params([]) block(128, 1, 1) shared(0)\n}\n'
    )


def kernel(params="#tl.param<base, 0>, #tl.param<base, 1>", files='kernel.ptx = "kernel.ptx"', rest=""):
    return (
        "gpu.module @add_kernel {\n"
        f"  tl.compiled_kernel @add_kernel params([{params}]) block(128, 1, 1) shared(0) "
        f"files({{{files}}}) {rest}\n}}\n"
    )


RECORDS = {
    "a_unit_that_writes": unit(name="../../../../../../../../CANARY"),
    "a_header_that_writes": unit(headers='headers {"../../../../../../../../CANARY" = "x"}'),
    "a_flag_that_runs": unit(flags='flags ["-ccbin=CANARY.sh"]'),
    "another_op": "gpu.module @add_kernel {\n  func.func private @f()\n}\n",
    "an_op_beside": kernel() + kernel(),
    "a_generic_op": '"gpu.module"() ({}) {sym_name = "add_kernel"} : () -> ()\n',
    "deep_brackets": kernel(params="[" * 200_000),
    "deep_attributes": "gpu.module @add_kernel attributes {a = " + "[" * 200_000,
    "deep_types": kernel(rest="{a = " + "tuple<" * 100_000),
    "a_param_out_of_range": kernel(params="#tl.param<base, 100000000>"),
    "a_param_beyond_the_launch": kernel(params="#tl.param<base, 2>"),
    "a_dimension_beyond_the_rank": kernel(params="#tl.param<dim, 0, index = 1>"),
    "a_negative_param": kernel(params="#tl.param<base, -1>"),
    "a_scalar_without_a_type": kernel(params="#tl.param<scalar, 0>"),
    "a_struct_in_a_struct": kernel(
        params="#tl.param<struct, 0, members = [#tl.param<struct, 0, members = [#tl.param<base, 0>]>]>"
    ),
    "a_file_elsewhere": kernel(files='kernel.ptx = "../../../../etc/passwd"'),
    "a_file_that_is_not_there": kernel(files='kernel.ptx = "kernel.cubin"'),
    "a_name_that_is_code": kernel().replace("@add_kernel params", '@"\\22); system(\\22id" params'),
    "a_kernel_twice": kernel().replace("\n}\n", "\n" + kernel().split("\n", 1)[1]),
    "a_kernel_without_files": kernel(files=""),
    "files_that_are_named_again_and_again": kernel()[:-2]
    + "".join(
        f"  tl.compiled_kernel @k{i} params([]) block(1, 1, 1) shared(0) files({{"
        + ", ".join(f'k{j}.ptx = "huge.ptx"' for j in range(256))
        + "})\n"
        for i in range(64)
    )
    + "}\n",
    "a_map_of_what_has_none": kernel(
        params="#tl.param<tensor_map, 0, box = [32], swizzle = 128, type = index>, #tl.param<base, 1>"
    ),
    "a_map_of_another_size": kernel(params="#tl.param<tensor_map, 0, box = [32], type = f16>, #tl.param<base, 1>"),
    "more_than_a_kernel_takes": kernel(
        params=f"#tl.param<struct, 0, members = [{', '.join(['#tl.param<base, 0>'] * 4096)}]>"
    ),
    "more_threads_than_a_block_has": kernel().replace("128, 1, 1", "1024, 2, 1"),
    "a_block_of_nothing": kernel().replace("128, 1, 1", ""),
    "a_resource_twice": kernel(rest="{tl.resources = {a = 1 : i64, a = 2 : i64}}"),
    "a_program_for_the_host": kernel(files='kernel.ptx = "kernel.ptx", kernel.py = "kernel.ptx"'),
    "an_object_for_the_host": kernel(files='kernel.o = "kernel.ptx"'),
    "no_kernel": "gpu.module @add_kernel {\n}\n",
    "bytecode": "ML\u00efR" + "\x01" * 100,
    "nothing": "",
    "a_resource": kernel() + '{-# dialect_resources: { builtin: { a: "0x00" } } #-}\n',
}


@by_two_ways("name", RECORDS)
def test_a_record_holds_compiled_kernels_and_no_more(honest, through, tmp_path, name):
    canary = tmp_path / "canary"
    forgery = Forgery(honest)
    forgery.files["kernel.mlir"] = RECORDS[name].replace("CANARY", str(canary).lstrip("/")).encode("latin-1")
    if "huge.ptx" in RECORDS[name]:
        forgery.files["huge.ptx"] = b"x" * 70_000
    start = time.monotonic()
    done = through(forgery, TL_CACHE_ALLOW_UNSIGNED="1")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert not answer["cached"]
    assert ".entry add_kernel" in answer["source"]
    assert not list(tmp_path.glob("canary*"))
    assert time.monotonic() - start < 60, "most of it is Python"
    entry = tmp_path / "cache" / "v1" / forgery.key[:2] / forgery.key
    assert (entry / "kernel.mlir").read_bytes() == (honest / "kernel.mlir").read_bytes(), "it does not lie in wait"


def test_what_was_refused_is_not_met_again(honest, through, tmp_path):
    forgery = Forgery(honest)
    forgery.files["kernel.mlir"] = RECORDS["another_op"].encode()
    first = through(forgery, TL_CACHE_ALLOW_UNSIGNED="1")
    again = run(PROGRAM, tmp_path / "cache", **({"TL_CACHE_ALLOW_GROUP": "1"} if through.tier == "group" else {}))
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == {**json.loads(first.stdout), "cached": True}


ASSEMBLED = PROGRAM.replace(', assembler="none"', "")


def written_by_strangers(directory: Path) -> list[dict[str, object]]:
    """Returns the manifests of entries that hold something that a stranger wrote."""
    found = {path.parent for path in directory.glob("v1/??/*/*") if b"STRANGER" in path.read_bytes()}
    return [json.loads((path / "manifest.json").read_text()) for path in found]


def test_what_is_made_of_a_strangers_stage_is_not_ours(tmp_path):
    """It would be kept as if we had made it, signed, and passed on to those who use nothing without a signature."""
    done = run(ASSEMBLED, tmp_path / "honest")
    assert done.returncode == 0, done.stderr
    # Beside the whole, which has its input.
    stages = [
        p.parent for p in (tmp_path / "honest").glob("v1/??/*/kernel.cubin") if not (p.parent / "input.mlir").exists()
    ]
    if not stages:
        pytest.skip("nothing assembles PTX here")
    forgery = Forgery(stages[0])
    forgery.files["kernel.cubin"] += b"STRANGER"
    key = tmp_path / "key"
    key.write_text("0" * 64)
    key.chmod(0o600)
    with contextlib.contextmanager(serve)("http", forgery.blobs()) as (url, server):
        variables = {"TL_CACHE_REMOTE": url, "TL_CACHE_KEY_FILE": str(key), "TL_CACHE_ALLOW_UNSIGNED": "1"}
        done = run(ASSEMBLED, tmp_path / "cache", **variables)
    assert done.returncode == 0, done.stderr
    assert all(manifest.get("unsigned") for manifest in written_by_strangers(tmp_path / "cache"))
    assert "not used" not in done.stderr, "of a stage nobody is told"


def test_what_is_built_of_a_strangers_kernel_is_not_kept(tmp_path):
    """A library is code of the host, and holds the kernel: who signs it, signs a stranger's kernel."""
    program = ASSEMBLED.replace("kernel = tilec.compile(add, ", 'kernel = tilec.compile(add, backend="tvm_ffi", ')
    done = run(program, tmp_path / "honest")
    if "BackendError" in done.stderr:
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    (whole,) = (p.parent for p in (tmp_path / "honest").glob("v1/??/*/input.mlir"))
    forgery = Forgery(whole)
    image = "kernel.cubin" if "kernel.cubin" in forgery.files else "kernel.ptx"
    forgery.files[image] += b"\n// STRANGER\n"
    with contextlib.contextmanager(serve)("http", forgery.blobs()) as (url, _):
        done = run(program, tmp_path / "cache", TL_CACHE_REMOTE=url, TL_CACHE_ALLOW_UNSIGNED="1")
    assert done.returncode == 0, done.stderr
    assert not json.loads(done.stdout)["cached"], "the library was built"
    assert len(written_by_strangers(tmp_path / "cache")) == 1, "the kernel, which is marked"
    assert not list((tmp_path / "cache").glob("v1/??/*/*.so"))


MANIFESTS = {
    "a_file_of_terabytes": lambda forgery: forgery.sizes.update({"kernel.ptx": 15 << 40}),
    "a_file_of_less_than_nothing": lambda forgery: forgery.sizes.update({"kernel.ptx": -1}),
    "very_many_files": lambda forgery: forgery.files.update({f"file{i}": b"" for i in range(1000)}),
    "deep_metadata": lambda forgery: setattr(forgery, "text", '{\n  "metadata": ' + "[" * 1_000_000),
    "very_many_values": lambda forgery: setattr(forgery, "text", '{\n  "metadata": [' + "0," * 2_000_000),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_takes_no_more_than_it_may(honest, through, name):
    forgery = Forgery(honest)
    MANIFESTS[name](forgery)
    if forgery.text is not None and len(forgery.text) > 2_000_000:
        pytest.importorskip("hashlib")
        forgery.text = forgery.text[:600_000]
    done = through(forgery, TL_CACHE_ALLOW_UNSIGNED="1")
    assert done.returncode == 0, done.stderr
    assert not json.loads(done.stdout)["cached"]


@pytest.mark.parametrize(
    "text", ['{"metadata": [A]}', '{"metadata": {"a": [[Z', '{"files": [{"size": 99999999999999999999}]}']
)
def test_a_list_comes_to_an_end(honest, tmp_path, text):
    """Lists read no seals."""
    forgery = Forgery(honest)
    forgery.write(tmp_path / "cache")
    (manifest,) = (tmp_path / "cache").glob("v1/*/*/manifest.json")
    manifest.write_text(text)
    for command in (["ls"], ["stats"], ["--json", "ls"]):
        subprocess.run([tool(), *command, f"--dir={tmp_path / 'cache'}"], capture_output=True, check=True, timeout=20)


def warning(text, **members):
    return {"severity": 1, "text": text, "notes": [], **members}


def test_a_message_is_shown_harmlessly(honest, through):
    forgery = Forgery(honest)
    forgery.record["metadata"]["messages"] = [
        warning("a \x1b]0;title\x07 b \u009b2J c \u202e d\nerror: forged", notes=[{"severity": 0, "text": "\x1b[2K"}])
    ]
    done = through(forgery, TL_CACHE_ALLOW_UNSIGNED="1")
    assert done.returncode == 0, done.stderr
    shown = done.stdout + done.stderr
    assert not any(c in shown for c in "\x1b\x07\u009b\u202e")
    assert "\nerror: forged" not in shown


@by_two_ways("seconds", [1e308, -1e308, "nonsense", 10**400])
def test_a_time_that_nothing_takes_is_none(honest, through, seconds):
    forgery = Forgery(honest)
    forgery.record["metadata"]["seconds"] = seconds
    twice = PROGRAM + "assert 0 <= tilec.cache.stats()['seconds_saved'] < 1e6\n"
    done = through(forgery, twice, TL_CACHE_ALLOW_UNSIGNED="1")
    assert done.returncode == 0, done.stderr


@by_two_ways(
    "message",
    [
        {"severity": 2, "text": "an error"},
        {"severity": 9, "text": "nonsense"},
        warning("a place", file="/dev/zero", line=1),
        warning("a place", file="../../secret", line=1),
        warning("x" * 100_000),
        warning("deep", notes=[{"severity": 0, "text": "n", "notes": [{"severity": 0, "text": "n"}]}]),
        warning("an op", op=-1),
        3,
    ],
)
def test_a_message_that_is_none_makes_a_miss(honest, through, message):
    forgery = Forgery(honest)
    forgery.record["metadata"]["messages"] = [message]
    done = through(forgery, TL_CACHE_ALLOW_UNSIGNED="1")
    assert done.returncode == 0, done.stderr
    assert not json.loads(done.stdout)["cached"]


@pytest.mark.parametrize("file", [".env", "notes.txt", "pipe"])
def test_a_message_opens_no_file(honest, tmp_path, monkeypatch, file):
    """To show the line that it is about would show whatever that file holds, or wait for ever."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    for name in (".env", "notes.txt"):
        Path(name).write_text("TOKEN=swordfish\n")
    forgery = Forgery(honest)
    note = {"severity": 0, "text": "look", "file": file, "line": 1}
    forgery.record["metadata"]["messages"] = [warning("look", file=file, line=1), warning("again", notes=[note])]
    forgery.write(tmp_path / "cache")
    done = run(PROGRAM, tmp_path / "cache")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cached"]
    assert f"{file}:1: look" in done.stderr
    assert "swordfish" not in done.stderr


def test_a_list_is_shown_harmlessly(honest, tmp_path):
    forgery = Forgery(honest)
    text = "größe \U0001f4a5 \x1b]0;title\x07 \u009b2J\nforged"
    forgery.record["metadata"]["kernel"] = text
    forgery.record["creator"] = forgery.record["created"] = text
    forgery.record["components"] = [{**c, "value": text} for c in forgery.record["components"]]
    forgery.write(tmp_path / "cache")
    for command in (["ls"], ["show", forgery.key], ["stats"], ["--json", "ls"]):
        done = subprocess.run([tool(), *command, f"--dir={tmp_path / 'cache'}"], capture_output=True, check=True)
        assert b"\x1b" not in done.stdout
        assert "\u009b".encode() not in done.stdout
        assert b"\nforged" not in done.stdout
    assert json.loads(done.stdout)[0]["metadata"]["kernel"] == text


def test_a_token_stays_at_home(honest, tmp_path):
    """Not over `http` without leave, and not to programs that are started."""
    with contextlib.contextmanager(serve)("http", {}) as (url, server):
        done = run(PROGRAM, tmp_path / "a", TL_CACHE_REMOTE=url, TL_CACHE_TOKEN="secret", TL_CACHE_ALLOW_UNSIGNED="1")
        assert done.returncode == 0, done.stderr
        assert "`TL_CACHE_TOKEN`: would be readable on its way" in done.stderr
        assert not server.headers
        variables = {"TL_CACHE_ALLOW_PLAINTEXT": "1", "TL_CACHE_ALLOW_UNSIGNED": "1"}
        done = run(PROGRAM, tmp_path / "b", TL_CACHE_REMOTE=url, TL_CACHE_TOKEN="secret", **variables)
        assert done.returncode == 0, done.stderr
        assert {h.get("Authorization") for h in server.headers} == {"Bearer secret"}


def test_programs_get_no_secrets(monkeypatch):
    from tilec import env

    for name in env.SECRETS:
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("CUDA_HOME", "/cuda")
    assert "secret" not in env.for_program().values()
    assert env.for_program()["CUDA_HOME"] == "/cuda"
    inherited, secrets = env.for_worker()
    assert "secret" not in inherited.values()
    assert set(secrets) == set(env.SECRETS)


def test_one_place_reads_the_environment():
    """Of a program with more rights than its user everything in it counts as not set."""
    root = Path(__file__).parents[2]
    reads = re.compile(
        r"getenv\(|GetEnv\(|\benviron\b|findProgramByName\(|home_directory\(|system_temp_directory\(|createTemporaryFile\("
        r"|createUniqueDirectory\("
    )
    sources = (p for part in ("include", "lib", "python/extension", "tools") for p in (root / part).rglob("*.[ch]*"))
    places = [str(path.relative_to(root)) for path in sources if reads.search(path.read_text())]
    assert places == ["lib/Support/Environment.cpp"]


FORKS = """
import os, signal, sys, threading
from tilec import cache

def look(i):
    make = lambda: ({"file": b"%d" % i}, {})
    assert cache.fetch({"n": str(i)}, make).file("file") == b"%d" % i
    assert cache.lookup({"absent": str(i)}) is None

def look_for_ever():
    while True:
        for i in range(20):
            look(i)

for i in range(20):
    look(i)
for _ in range(4):
    threading.Thread(target=look_for_ever, daemon=True).start()
for n in range(FORKS):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        for i in range(30):
            look(i)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, (n, status)
os._exit(0)
"""


def test_a_forked_child_looks_up(tmp_path):
    """Whatever its parent's threads were doing. Some hundreds of forks, because only some of them meet a lock."""
    done = run(FORKS.replace("FORKS", "300"), tmp_path / "cache")
    assert done.returncode == 0, done.stderr


EXIT = """
import threading, time
from tilec import cache

def look_for_ever():
    i = 0
    while True:
        i += 1
        cache.fetch({"n": str(i)}, lambda: ({"file": b"x"}, {}), lambda file: None)
        cache.lookup({"n": str(i // 2)}, lambda file: time.sleep(0))

for _ in range(8):
    threading.Thread(target=look_for_ever, daemon=True).start()
time.sleep(0.3)
"""


def test_lookups_at_exit_end_quietly(tmp_path):
    for i in range(5):
        done = run(EXIT, tmp_path / f"cache{i}")
        assert (done.returncode, done.stderr) == (0, "")


MODULE = (
    """
import tilec
from tilec import backends
from tilec.backends import cutedsl

def compile_module(name, source, chip):
    print("given", source)
    return f"cutlass_{name}", b"a cubin"

backends.find("cutedsl").missing = list
cutedsl._version = lambda: "none"
cutedsl._compile = compile_module
"""
    + PROGRAM.partition("kernel =")[0]
    + 'kernel = tilec.compile(add, target="sm_90a", backend="cutedsl")\n'
)


@pytest.fixture(scope="module")
def module_entry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The entry of a module that CuTe DSL would run."""
    root = tmp_path_factory.mktemp("module")
    done = run(MODULE, root / "cache")
    assert done.returncode == 0, done.stderr
    (module,) = root.glob("cache/v1/*/*/kernel.py")
    return module.parent


def test_a_strangers_module_is_not_run(module_entry, through):
    """Whoever runs a module of CuTe DSL runs a program."""
    forgery = Forgery(module_entry)
    forgery.files["kernel.py"] = b"CANARY"
    done = through(forgery, MODULE, TL_CACHE_ALLOW_UNSIGNED="1")
    assert done.returncode == 0, done.stderr
    assert "given" in done.stdout
    assert ("CANARY" in done.stdout) == (through.tier == "own")


def archive(**files: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as written:
        for name, content in files.items():
            written.writestr(name, content)
    return packed.getvalue()


def other_plan(change):
    def forge(forgery: Forgery) -> None:
        plan = json.loads(forgery.files["plan.json"])
        change(plan)
        forgery.files["plan.json"] = json.dumps(plan).encode()

    return forge


PACKAGES = {
    "arguments_that_nobody_gives": other_plan(lambda p: p["args"].append({**p["args"][0], "name": "C"})),
    "arguments_of_another_kind": other_plan(
        lambda p: p["args"].__setitem__(0, {"kind": "scalar", "name": "A", "dtype": "i64"})
    ),
    "arguments_of_any_shape": other_plan(lambda p: p["args"][0].update(shape=["n"])),
    "a_launch_twice": other_plan(lambda p: p["launches"].append(p["launches"][0])),
    "no_launch": other_plan(lambda p: p.update(launches=[])),
    "another_block": other_plan(lambda p: p["launches"][0].update(block=[1024, 1, 1])),
    "a_name_that_a_terminal_obeys": other_plan(lambda p: p["launches"][0].update(entry="\x1b]0;title\x07")),
    "no_cubin": lambda f: f.files.update({"kernels.zip": archive()}),
    "a_cubin_too_many": lambda f: f.files.update({"kernels.zip": archive(add_kernel=b"a", other=b"b")}),
}


@by_two_ways("name", PACKAGES)
def test_a_package_is_of_its_function(module_entry, through, name):
    """The launch plan of a package says what the host does with the arguments."""
    (package,) = (p.parent for p in module_entry.parent.parent.glob("*/*/kernels.zip"))
    forgery = Forgery(package)
    PACKAGES[name](forgery)
    done = through(forgery, MODULE, TL_CACHE_ALLOW_UNSIGNED="1")
    assert done.returncode == 0, done.stderr
    assert "given" in done.stdout, "it is built again"
    assert "\x1b" not in done.stdout + done.stderr


def test_a_package_that_is_not_forged_is_used(module_entry, through):
    (package,) = (p.parent for p in module_entry.parent.parent.glob("*/*/kernels.zip"))
    done = through(Forgery(package), MODULE + "print(kernel.artifact.cached)\n", TL_CACHE_ALLOW_UNSIGNED="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("True\n")


SILENT_NAMES = """
#include <netdb.h>
#include <unistd.h>
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
  (void)node, (void)service, (void)hints, (void)result;
  sleep(60);
  return EAI_FAIL;
}
"""

LOOKUP = """
import time
from tilec import cache
start = time.monotonic()
assert cache.lookup({"n": "1"}) is None
assert time.monotonic() - start < 10
"""


@pytest.mark.parametrize("kind", ["http", "redis"])
def test_names_that_nobody_knows_are_not_waited_for(tmp_path, kind):
    """A name server that is silent is asked again and again, for longer than a lookup may take."""
    compiler = shutil.which("cc") or shutil.which("clang-22")
    if compiler is None:
        pytest.skip("there is no C compiler")
    source, library = tmp_path / "names.c", tmp_path / "names.so"
    source.write_text(SILENT_NAMES)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    done = run(LOOKUP, tmp_path / "cache", TL_CACHE_REMOTE=f"{kind}://cache.example", LD_PRELOAD=str(library))
    assert done.returncode == 0, done.stderr
    assert "cannot be reached: Timeout was reached" in done.stderr


def test_a_server_without_end_is_left(honest, tmp_path):
    """One that answers each request, slowly, costs a compilation some seconds once, and the next nothing."""

    class Slow(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            time.sleep(1.5)
            content = Forgery(honest).blobs().get(self.path.lstrip("/"), b"")
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    timed = PROGRAM.replace("kernel =", "import time\nstart = time.monotonic()\nkernel =").replace(
        "print(json", "took = time.monotonic() - start\nprint(json"
    )
    timed = timed.replace('"cached"', '"took": took, "cached"')
    url = f"http://127.0.0.1:{server.server_address[1]}"
    done = run(timed, tmp_path / "cache", TL_CACHE_REMOTE=f"{url}/a,{url}/b,{url}/c", TL_CACHE_ALLOW_UNSIGNED="1")
    server.shutdown()
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["took"] < 10


MANY = (
    PROGRAM.replace(
        "            B[i] = A[i] + 1.0\n",
        "            B[i] = A[i] + 0.5\n"
        + "".join(
            f"    with T.Kernel(1, threads=128):\n        for i in T.Parallel(128):\n            B[i] = A[i] + {n}.0\n"
            for n in range(9)
        ),
    )
    .replace("kernel =", "import time\nstart = time.monotonic()\nkernel =")
    .replace('"cached"', '"took": time.monotonic() - start, "cached"')
)


def blobs_of(cache: Path) -> dict[str, bytes]:
    """Returns what a server holds that has all entries of a cache."""
    blobs: dict[str, bytes] = {}
    for entry in cache.glob("v1/??/*"):
        forgery = Forgery(entry)
        forgery.manifest()
        blobs |= forgery.blobs()
    return blobs


class Slow(dict[str, bytes]):
    """What a server holds that thinks before it answers."""

    def __init__(self, blobs: dict[str, bytes], seconds: float) -> None:
        super().__init__(blobs)
        self._seconds = seconds

    def get(self, *arguments):
        time.sleep(self._seconds)
        return super().get(*arguments)


def test_slow_hits_of_many_kernels_are_not_waited_for(tmp_path):
    """Each is within the time of its lookup, and all would delay a function by that time for each of its kernels."""
    done = run(MANY, tmp_path / "honest")
    assert done.returncode == 0, done.stderr
    with contextlib.contextmanager(serve)("http", Slow(blobs_of(tmp_path / "honest"), 1.1)) as (url, _):
        done = run(MANY, tmp_path / "cache", TL_CACHE_REMOTE=f"{url}?mode=ro", TL_CACHE_ALLOW_UNSIGNED="1")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["took"] < 10


LOOKUPS = """
import sys, time
from tilec import cache
start = time.monotonic()
found = [cache.lookup({"n": str(i)}) is not None for i in range(40)]
print(time.monotonic() - start, any(found))
"""

STORES = """
from tilec import cache
for i in range(40):
    cache.fetch({"n": str(i)}, lambda: ({"file": b"x"}, {}))
"""


@pytest.mark.parametrize("kind", ["hits", "misses"])
@pytest.mark.parametrize("servers", [1, 3])
def test_many_slow_answers_are_not_waited_for(tmp_path, kind, servers):
    """Each takes less than compiling may take, and all of them would delay a program of many kernels for long."""
    if kind == "hits":
        done = run(STORES, tmp_path / "honest")
        assert done.returncode == 0, done.stderr
    with contextlib.contextmanager(serve)("http", Slow(blobs_of(tmp_path / "honest"), 0.4)) as (url, _):
        urls = ",".join(f"{url}/{'./' * i}?mode=ro" for i in range(servers))
        done = run(LOOKUPS, tmp_path / "cache", TL_CACHE_REMOTE=urls)
    assert done.returncode == 0, done.stderr
    took, found = done.stdout.split()
    assert float(took) < 8, "forty would take half a minute"
    assert found == str(kind == "hits")


FLOOD = """
import resource, time
from tilec import cache
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.monotonic()
assert cache.lookup({"n": "1"}) is None
assert time.monotonic() - start < 10
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""

ENDLESS = {
    "headers": b"HTTP/1.1 200 OK\r\n",
    "answers": b"",
    "trailers": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n",
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_headers_without_end_are_not_kept(tmp_path, kind):
    """libcurl keeps what stands before and after the contents, however much it is."""
    line = b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" if kind == "answers" else b"X: %s\r\n" % (b"a" * 900)

    class Endless(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(65536)
            with contextlib.suppress(OSError):
                self.request.sendall(ENDLESS[kind])
                while True:
                    self.request.sendall(line * 1000)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Endless) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = run(FLOOD, tmp_path / "cache", TL_CACHE_REMOTE=f"http://127.0.0.1:{server.server_address[1]}")
        server.shutdown()
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 60_000, "kilobytes, most of them libcurl's own"
