"""A kernel with sixteen loops in each other, each of which copies into one tile and out of it."""

DEPTH = 16
TILE = "memref<1x16xf32, #gpu.address_space<workgroup>>"

counts = ", ".join(f"%n{depth}: index" for depth in range(DEPTH))
print(f"""gpu.module @kernels attributes {{tl.target = #tl.target<chip = "sm_90a">}} {{
  gpu.func @nest(%A: memref<?x16xf32>, {counts}) kernel attributes {{known_block_size = array<i32: 32, 1, 1>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tile = tl.alloc : {TILE}""")
for depth in range(DEPTH):
    print(f"""    scf.for %k{depth} = %c0 to %n{depth} step %c1 {{
      tl.copy %A[%k{depth}, %c0] to %tile tile(1, 16) : memref<?x16xf32> to {TILE}
      tl.copy %tile to %A[%k{depth}, %c0] tile(1, 16) : {TILE} to memref<?x16xf32>""")
print("}" * DEPTH + "\n    gpu.return\n  }\n}")
