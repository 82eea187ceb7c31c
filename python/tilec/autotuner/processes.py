"""Processes that can be killed, and what goes wrong in them.

A worker is a fresh interpreter that runs `tilec.autotuner.worker`: neither forked, since CUDA does not survive that,
nor made by `multiprocessing`, which would run the user's program again. It gets commands through a pipe, and each
command has a time limit.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import struct
import subprocess
import sys
import tempfile
import time

from .. import env
from ..errors import ConfigError
from ..typed import TYPE_CHECKING, cast
from ..untrusted import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import IO, Any

LENGTH = struct.Struct("<Q")


class Failure(Exception):
    """Why a configuration is out: `status` is one of `records.FAILURES`, `reason` a sentence."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(status, reason)
        self.status = status
        self.reason = reason


def send(stream: IO[bytes], message: object) -> None:
    """Writes a message."""
    data = pickle.dumps(message, protocol=5)
    stream.write(LENGTH.pack(len(data)) + data)
    stream.flush()


def pickled(hook: Callable[..., object], what: str, name: str) -> bytes:
    """Returns a hook as bytes: by reference if its module can be imported, else by value with `cloudpickle`."""
    if getattr(hook, "__module__", "__main__") != "__main__" and "<" not in getattr(hook, "__qualname__", "<"):
        return pickle.dumps(hook)
    try:
        import cloudpickle  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ConfigError(
            f"the `{what}` of `{name}` runs in another process: define it at the top of a module that can be "
            f"imported, or `pip install cloudpickle`"
        ) from None
    return cast("bytes", cloudpickle.dumps(hook))  # pyright: ignore[reportUnknownMemberType]


class Worker:
    """A process that executes commands one after the other; it is started when it gets the first."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def call(self, command: str, *arguments: Any, timeout: float) -> Any:
        """Executes a command. A process that takes longer is killed, and so is one that lost its way; the next call
        starts another.

        Raises `Failure`: "timeout", "crashed", or what the command itself reports.
        """
        process = self._process or self._start()
        assert process.stdin is not None, "stdin is a pipe"
        try:
            send(process.stdin, (command, arguments))
            verdict, value = pickle.loads(self._receive(process, time.monotonic() + timeout))
        except TimeoutError:
            self.kill()
            raise Failure("timeout", f"took longer than {timeout:g} s and was killed") from None
        except (BrokenPipeError, EOFError):
            raise Failure("crashed", self._epitaph()) from None
        except BaseException:
            self.kill()
            raise
        if verdict == "done":
            return value
        status, reason, is_sound = value
        if not is_sound:
            self.kill()
        raise Failure(status, reason)

    def _start(self) -> subprocess.Popen[bytes]:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115, the process writes to it as long as it lives
        inherited, secrets = env.for_worker()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", "from tilec.autotuner.worker import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**inherited, **self._environment, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )
        assert self._process.stdin is not None, "stdin is a pipe"
        with contextlib.suppress(BrokenPipeError):  # the first command finds out
            send(self._process.stdin, secrets)
        return self._process

    def _receive(self, process: subprocess.Popen[bytes], deadline: float) -> bytes:
        (length,) = LENGTH.unpack(self._read(process, LENGTH.size, deadline))
        return self._read(process, length, deadline)

    def _read(self, process: subprocess.Popen[bytes], size: int, deadline: float) -> bytes:
        assert process.stdout is not None, "stdout is a pipe"
        found = bytearray()
        descriptor = process.stdout.fileno()
        while len(found) < size:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1e3):
                raise TimeoutError
            piece = os.read(descriptor, min(size - len(found), 1 << 20))
            if not piece:
                raise EOFError
            found += piece
        return bytes(found)

    def _epitaph(self) -> str:
        """Says how a process died, after it did."""
        import signal

        process, errors = self._process, self._errors
        assert process is not None, "it was started"
        assert errors is not None, "it was started"
        code = process.wait()
        errors.seek(0)
        last = [shown(line) for line in errors.read().decode(errors="replace").strip().splitlines()[-1:]]
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
        self.kill()
        return ": ".join([f"its process was {how}" if code < 0 else f"its process {how}", *last])

    def kill(self) -> None:
        """Ends the process, whatever it is doing."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self._process = self._errors = None
