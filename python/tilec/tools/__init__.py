"""Pictures of what a kernel was compiled to (docs/Explaining.md); its page is `kernel.explain()`.

- `plot_layout(kernel, "As")`: where each element of a tile lies: thread and register, or byte and bank.
- `plot_shared_memory(kernel)`: which tile lies where in shared memory, and when.
- `plot_timeline(kernel, A, B)`: what the roles of a block do and wait for, and which stage holds what.
- `plot_roofline(estimate)`: what `kernel.analyze` estimated, against what the GPU can do.
"""

from __future__ import annotations

from .layouts import plot_layout
from .memory import plot_shared_memory
from .picture import Picture
from .roofline import plot_roofline
from .timeline import plot_timeline

__all__ = ["Picture", "plot_layout", "plot_roofline", "plot_shared_memory", "plot_timeline"]
