"""The names of the backends as a type, for editors and type checkers; a test compares it with the list."""

from __future__ import annotations

from typing import Literal

BackendName = Literal["auto", "nvptx", "nvrtc", "nvcc", "cython", "ctypes", "cpu", "tvm_ffi", "torch", "cutedsl", "sim"]
