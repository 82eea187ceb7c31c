"""Prints a module of 100 kernels, each with its number in it.

With a number as its argument the kernel of that number has another constant.
"""

import sys

KERNEL = """
  tl.kernel @k{number} blocks(%b) in (%grid) threads(128) {{
    %c128 = arith.constant 128 : index
    %factor = arith.constant {factor} : f32
    %start = arith.muli %b, %c128 : index
    // What kernel {number} does.
    tl.parallel (%i) in (128) {{
      %at = arith.addi %start, %i : index
      %x = tl.load %A[%at] : memref<?xf32>
      %y = arith.mulf %x, %factor : f32
      tl.store %y, %A[%at] : memref<?xf32>
    }}
  }}
"""

edited = int(sys.argv[1]) if len(sys.argv) > 1 else None
print("func.func @host(%A: memref<?xf32>) attributes {tl.entry} {")
print("  %grid = arith.constant 8 : index")
for number in range(100):
    print(KERNEL.format(number=number, factor=float(number + 1000 * (number == edited))))
print("  return\n}")
