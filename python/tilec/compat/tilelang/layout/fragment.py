"""`tilelang.layout.fragment`: see `tilelang.layout`."""

from ....language.layouts import Fragment as Fragment
