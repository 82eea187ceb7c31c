"""Tuning in several threads and processes, some of which are killed."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tilec.autotuner.processes import Worker
from tuned_kernels import tuned


def test_threads_tune_once(commands):
    function = tuned({"block": [16]})
    kernels = []
    threads = [threading.Thread(target=lambda: kernels.append(function(32))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(k) for k in kernels}) == 1
    assert commands.count("check") == 1


def test_tunings_of_other_kernels_take_turns_on_a_device(monkeypatch):
    told = []
    call = Worker.call

    def note(self, command, *arguments, timeout):
        if command in ("check", "samples"):
            told.append(self)
        return call(self, command, *arguments, timeout=timeout)

    monkeypatch.setattr(Worker, "call", note)
    function = tuned({"block": [8, 16, 24, 32]})
    threads = [threading.Thread(target=function, args=(n,)) for n in (32, 33, 34)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    turns = [worker for i, worker in enumerate(told) if i == 0 or told[i - 1] is not worker]
    assert len(turns) == len(set(turns)) == 3


PROGRAM = """
import json, os, signal, sys
import tilec
import tilec.language as T
from tilec.autotuner import processes, records

samples, commands = [], []
call = processes.Worker.call
def note(self, command, *arguments, timeout):
    commands.append(command)
    result = call(self, command, *arguments, timeout=timeout)
    if command == "samples":
        samples.extend(result)
    return result
processes.Worker.call = note

if die_after := int(os.environ.get("DIE_AFTER", "0")):
    add = records.Journal.add
    def die(self, key, samples):
        global die_after
        add(self, key, samples)
        die_after -= 1
        if die_after == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    records.Journal.add = die

@tilec.autotune(configs={"block": [16, 32, 48, 64]}, warmup=0, rep=0.1, early_stop=False)
@tilec.jit(target="cpu", out_idx=1)
def double(n: int, block: int = 8):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block)) as b:
            for i in T.Parallel(block):
                B[b * block + i] = A[b * block + i] * 2
    return kernel

result = double.tune(1024)
modules = sorted(sys.modules)
print(json.dumps({"config": result.config, "latency": result.latency, "samples": samples, "commands": commands,
                  "records": [r.samples for r in result.records], "modules": modules,
                  "compiled": json.loads(tilec._tl.cache_counters())["compiled"]}))
"""


def test_the_second_process_compiles_and_measures_nothing(python):
    first, second = (json.loads(python(PROGRAM)) for _ in range(2))
    assert first["commands"].count("check") == 4
    assert second["commands"] == []
    assert second["compiled"] == 0
    assert (second["config"], second["latency"]) == (first["config"], first["latency"])
    heavy = {"numpy", "tilec.autotuner.race", "tilec.autotuner.executors"}
    assert not heavy & set(second["modules"])


def test_killed_and_started_again(python, tmp_path, directory):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    path = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "PYTHONPATH": path, "DIE_AFTER": "3"}
    killed = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    journal = next(directory.rglob("*.journal"))
    before = [json.loads(line) for line in journal.read_text().splitlines()]
    assert len(before) == 3
    resumed = json.loads(python(PROGRAM))
    kept = sum(len(samples) for _, samples in before)
    assert len(resumed["samples"]) + kept == sum(map(len, resumed["records"])), "no sample was taken twice"
    assert not list(directory.rglob("*.journal"))


def test_two_processes_at_once(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    both = [
        subprocess.Popen([sys.executable, program], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    results = [json.loads(process.communicate()[0]) for process in both]
    assert sorted(r["commands"].count("check") for r in results) == [0, 4]
    assert results[0]["config"] == results[1]["config"]


def test_workers_die_with_their_parent(tmp_path):
    """Even one whose kernel never ends."""
    program = tmp_path / "program.py"
    program.write_text(
        """
import os, sys, threading, time
sys.path.insert(0, sys.argv[1])
import tuned_kernels
from tilec.autotuner import processes

def watch():
    while True:
        time.sleep(0.02)
        for worker in list(workers):
            if worker._process is not None and "check" in worker.told:
                time.sleep(0.2)
                print(worker._process.pid, flush=True)
                os._exit(1)

workers = []
call = processes.Worker.call
def note(self, command, *arguments, timeout):
    if self not in workers:
        self.told = set()
        workers.append(self)
    self.told.add(command)
    return call(self, command, *arguments, timeout=timeout)
processes.Worker.call = note
threading.Thread(target=watch, daemon=True).start()
tuned_kernels.tuned({"fault": [1]}, timeout=60).tune(16)
"""
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    folder = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, program, folder], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    pid = int(done.stdout)
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists() or "(zombie)" in Path(f"/proc/{pid}/status").read_text():
            return
        threading.Event().wait(0.05)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("the worker outlived its parent")


def test_what_is_compiled_is_checked_while_others_are_compiled(monkeypatch):
    checked = threading.Event()
    call = Worker.call

    def meet(self, command, *arguments, timeout):
        if command == "check":
            checked.set()
        if command == "compile" and arguments[0].number == 1:
            assert checked.wait(60)
        return call(self, command, *arguments, timeout=timeout)

    monkeypatch.setattr(Worker, "call", meet)
    result = tuned({"block": [16, 32]}, workers=1).tune(64)
    assert [r.status for r in result.records] == ["ok", "ok"]
