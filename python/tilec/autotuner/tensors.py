"""Tensors in a file in memory.

Processes that measure read tensors from a file, which outlives any of them: one that was killed is replaced, and its
successor has the same data at no cost. The file has no name but that of its descriptor, and is gone when the process
that made it is, however that ends.
"""

from __future__ import annotations

import os
import threading

from ..strided import span, view
from ..supply import storage_type
from ..typed import TYPE_CHECKING

if TYPE_CHECKING:
    from ..dtypes import DType
    from ..supply import Storage


class StoredTensor:
    """A tensor in a file."""

    def __init__(
        self, path: str, offset: int, shape: tuple[int, ...], dtype: DType, strides: tuple[int, ...] | None
    ) -> None:
        self.place = path, offset
        """Which file, and where in it."""
        self.shape = shape
        self.dtype = dtype
        self.strides = strides
        """In elements, or None for a contiguous tensor."""

    def read(self) -> Storage:
        """Returns its elements, which share the file's memory and cannot be written."""
        return self.memory() if self.strides is None else view(self.memory(), self.shape, self.strides)

    def memory(self) -> Storage:
        """Returns the same for a contiguous tensor, and for another all that lies where its elements do, in a row."""
        import numpy as np

        if 0 in self.shape:
            return np.empty(self.shape, storage_type(self.dtype))
        path, offset = self.place
        shape = self.shape if self.strides is None else (span(self.shape, self.strides),)
        return np.memmap(path, storage_type(self.dtype), "r", offset, shape)


class TensorFile:
    """A temporary file of tensors; in memory where there is room."""

    ALIGNMENT = 64

    def __init__(self) -> None:
        import tempfile

        memory = "/dev/shm"
        roomy = os.path.isdir(memory) and os.access(memory, os.W_OK) and _free(memory) > 4 << 30
        self._file = tempfile.TemporaryFile(dir=memory if roomy else None)  # noqa: SIM115, `close` closes it
        self._path = f"/proc/{os.getpid()}/fd/{self._file.fileno()}"
        self._lock = threading.Lock()

    def add(self, storage: Storage, dtype: DType, strides: tuple[int, ...] | None = None) -> StoredTensor:
        """Writes a tensor, with these strides if it shall not be contiguous."""
        import numpy as np

        shape = storage.shape
        if strides is not None:
            dense, storage = storage, np.zeros(span(shape, strides), storage.dtype)
            view(storage, shape, strides)[...] = dense
        with self._lock:
            end = self._file.seek(0, os.SEEK_END)
            offset = self._file.seek(-(-end // self.ALIGNMENT) * self.ALIGNMENT)
            storage.tofile(self._file)
            self._file.flush()
        return StoredTensor(self._path, offset, shape, dtype, strides)

    def close(self) -> None:
        self._file.close()


def _free(path: str) -> int:
    import shutil

    return shutil.disk_usage(path).free
