"""Checks that no file includes one of a layer above its own.

    layers.py ROOT

The layers are those of docs/Architecture.md. A folder that is in none of them is
an error, so that a new one gets its place.
"""

import pathlib
import re
import sys

# From the lowest on; folders of one layer do not include each other.
LAYERS = [
    ["Support", "CUDAScanner"],
    ["Cache", "Layout", "Runtime"],
    ["Target/HostCpp"],
    ["Dialect/TL/IR"],
    ["Dialect/TL/Analysis", "Simulator"],
    ["Dialect/TL/Transforms", "Conversion/MathFunctions"],
    ["Conversion/TLToThreads", "Conversion/TLToNVVM", "Conversion/TLToCPU"],
    ["Target"],
    ["Pipeline"],
    ["CAPI"],
]
# What stands on LLVM's support library alone.
WITHOUT_MLIR = {"Cache", "CUDAScanner", "Runtime", "Support", "Target/HostCpp"}
# Headers for programs of users, which stand alone.
ALONE = ("cuda.h", "host/")


def find_layer(path):
    """The folder that is a layer's and the number of that layer, or None."""
    best = None
    for number, folders in enumerate(LAYERS):
        for folder in folders:
            if path.startswith(folder + "/") and (best is None or len(folder) > len(best[0])):
                best = (folder, number)
    return best


def main(root):
    problems = []
    for top in (root / "include/tl", root / "lib"):
        for file in sorted(top.rglob("*")):
            if file.suffix not in (".h", ".cpp", ".td", ".def"):
                continue
            name = file.relative_to(top).as_posix()
            if name.startswith(ALONE):
                continue
            own = find_layer(name)
            if own is None:
                problems.append(f"{name}: is in no layer")
                continue
            text = file.read_text()
            if own[0] in WITHOUT_MLIR and re.search(r'^#?include "mlir/', text, re.M):
                problems.append(f"{name}: includes a header of MLIR")
            for included in re.findall(r'^#?include "tl/([^"]+)"', text, re.M):
                other = find_layer(included)
                if included.startswith(ALONE) or (other and (other[0] == own[0] or other[1] < own[1])):
                    continue
                problems.append(f"{name}: includes {included}, which is not below it")
    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main(pathlib.Path(sys.argv[1])))
