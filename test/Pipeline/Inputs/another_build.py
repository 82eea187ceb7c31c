"""Copies a library as if it had been linked from other sources: `another_build.py library copy`.

The copy differs in its build id, which the linker makes of everything that it links.
"""

import pathlib
import sys

source, copy = map(pathlib.Path, sys.argv[1:])
image = source.read_bytes()
# A note (gABI, "Note Section"): sizes of name and description, type 3, the name, 20 bytes of SHA-1.
note = (4).to_bytes(4, "little") + (20).to_bytes(4, "little") + (3).to_bytes(4, "little") + b"GNU\0"
assert image.count(note) == 1, f"`{source}` has no build id, or several"
start = image.index(note) + len(note)
copy.write_bytes(image[:start] + bytes(255 - byte for byte in image[start : start + 20]) + image[start + 20 :])
