"""Gives jobs to worker processes, and says what became of a program that ended or outlasted its process."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from .execution import Outcome
from .features import Features
from .worker import RESTART


@dataclass(frozen=True)
class Settings:
    """What all workers have in common."""

    paths: tuple[str, ...]
    features: Features
    compile_only: bool
    limit: float
    """The seconds that a program may take on one path."""


class Invalidated(Exception):
    """The program of a job is not valid."""


class Worker:
    """A process, started when it is needed and again when it ended."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""
        self._errors: Any = None
        self.rejected = 0
        """How many programs were drawn and found invalid."""

    def run(self, job: dict[str, Any], paths: tuple[str, ...] | None = None) -> dict[str, Outcome]:
        """Runs the program of a job, which names its seed or holds it, on each path."""
        left = list(self._settings.paths if paths is None else paths)
        outcomes: dict[str, Outcome] = {}
        while left:
            begun = left[0]
            self._send({**job, "paths": left, "compile_only": self._settings.compile_only})
            while True:
                answer = self._receive()
                if "begin" in answer:
                    begun = answer["begin"]
                elif "path" in answer:
                    name = answer.pop("path")
                    outcomes[name] = Outcome(**answer)
                    left.remove(begun)
                elif "done" in answer:
                    if "invalid" in answer:
                        raise Invalidated(answer["invalid"])
                    self.rejected += answer.get("rejected", 0)
                    return outcomes
                else:
                    if begun in left and answer["status"] != "restart":
                        outcomes[begun] = Outcome(answer["status"], answer["message"])
                        left.remove(begun)
                    break
        return outcomes

    def _send(self, message: Any) -> None:
        if self._process is None or self._process.poll() is not None:
            self._start()
        stdin = self._process.stdin if self._process is not None else None
        assert stdin is not None, "it was started"
        try:
            stdin.write(json.dumps(message).encode() + b"\n")
            stdin.flush()
        except BrokenPipeError:  # it ended after its last answer
            self._start()
            self._send(message)

    def _start(self) -> None:
        self.stop()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        folder = FilePath(__file__).resolve().parents[1]
        environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "programs.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
        )
        self._rest = b""
        assert self._process.stdin is not None, "it is a pipe"
        self._process.stdin.write(json.dumps(vars(self._settings.features)).encode() + b"\n")

    def _receive(self) -> dict[str, Any]:
        """Returns the next answer, or what ended the process."""
        process = self._process
        assert process is not None, "it was started"
        assert process.stdout is not None, "it is a pipe"
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(self._settings.limit):
                    self.stop()
                    return {"status": "hang", "message": f"ran for more than {self._settings.limit:g} s"}
                read = os.read(process.stdout.fileno(), 1 << 16)
                if not read:
                    return self._ended(process.wait())
                self._rest += read
        line, self._rest = self._rest.split(b"\n", 1)
        return json.loads(line)

    def _ended(self, status: int) -> dict[str, Any]:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()[-30:]
        if status == RESTART:
            return {"status": "restart", "message": ""}
        what = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        last = f": {lines[-1]}" if status > 0 and lines else ""
        return {"status": "crash", "message": "\n".join([what + last, *lines])}

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
        self._process = None
