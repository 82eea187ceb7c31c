"""`tilelang.layout.layout`: see `tilelang.layout`."""

from ....language.layouts import Layout as Layout
