"""For pytest: `python -m pytest -p tilec.compat.tilelang.plugin` runs tests that import `tilelang`."""

from .finder import install

install()
