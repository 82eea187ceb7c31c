"""Pictures of what a kernel was compiled to (docs/Explaining.md); its page is `kernel.explain()`.

- `plot_layout(kernel, "As")`: where each element of a tile lies: thread and register, or byte and bank.
- `plot_shared_memory(kernel)`: which tile lies where in shared memory, and when.
"""

from __future__ import annotations

from .layouts import plot_layout
from .memory import plot_shared_memory
from .picture import Picture

__all__ = ["Picture", "plot_layout", "plot_shared_memory"]
