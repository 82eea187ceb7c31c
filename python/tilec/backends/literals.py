"""The names of the backends as a type, for editors and type checkers; a test compares it with the list."""

from __future__ import annotations

from typing import Literal

BackendName = Literal["auto", "nvptx", "nvrtc", "cpu", "tvm_ffi", "torch"]
