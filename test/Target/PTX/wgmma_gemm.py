"""Prints the thread-level form of a Hopper GEMM: what tile kernels lower to.

C[M, N] (bf16) = A[M, K] (bf16) @ B[N, K]^T (bf16), f32 accumulation. Two warp
groups compute a tile of 128 x N; thread 0 loads stages of 64 along K one step
after their last reader, one wgmma group stays in flight over the back edge.
"""

import argparse

STAGES = 4
TILE_M = 128
SLICE_K = 64
A_BYTES = TILE_M * SLICE_K * 2


class Printer:
    """Prints ops with fresh names; constants are values like all others."""

    def __init__(self):
        self.count = 0
        self.indent = 2

    def line(self, text):
        if text.startswith("}"):
            self.indent -= 1
        print("  " * self.indent + text)
        if text.endswith("{"):
            self.indent += 1

    def value(self, op):
        self.count += 1
        self.line(f"%v{self.count} = {op}")
        return f"%v{self.count}"

    def const(self, value, of_type="i32"):
        return self.value(f"arith.constant {value} : {of_type}")

    def op(self, name, a, b, of_type="i32"):
        a, b = (self.const(x, of_type) if isinstance(x, int) else x for x in (a, b))
        return self.value(f"arith.{name} {a}, {b} : {of_type}")

    def offset(self, pointer, distance):
        index = self.const(distance) if isinstance(distance, int) else distance
        return self.value(f"llvm.getelementptr {pointer}[{index}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8")


def descriptor(p, start):
    """A K-major wgmma descriptor with the 128-byte swizzle (PTX ISA, "Matrix descriptor")."""
    low = p.op("ori", p.op("shrui", p.op("andi", start, 0x3FFFF), 4), 1 << 16)
    return p.op("ori", p.value(f"arith.extui {low} : i32 to i64"), ((64 | 1 << 30) << 32), "i64")


def load(p, barriers, smem, stage, k, row, col, n):
    """Starts the copies of slice `k` of A and B into `stage`."""
    b_bytes = n * SLICE_K * 2
    full = p.offset(barriers, p.op("muli", stage, 8))
    p.line(f"nvvm.mbarrier.arrive.expect_tx {full}, {p.const(A_BYTES + b_bytes)} : !llvm.ptr<3>, i32")
    first = p.op("muli", k, SLICE_K)
    a = p.offset(smem, p.op("muli", stage, A_BYTES))
    b = p.offset(p.offset(smem, STAGES * A_BYTES), p.op("muli", stage, b_bytes))
    for target, tensor_map, other in ((a, "%mapA", row), (b, "%mapB", col)):
        p.line(
            f"nvvm.cp.async.bulk.tensor.shared.cluster.global {target}, {tensor_map}, {full}, "
            f"box[{first}, {other}] {{isCTAOnly = true}} : !llvm.ptr<3>, !llvm.ptr"
        )


def following(p, stage, parity):
    """The stage after `stage`, and the parity of its barrier."""
    following = p.op("addi", stage, 1)
    wraps = p.op("cmpi eq,", following, STAGES)
    zero = p.const(0)
    flipped = p.op("xori", parity, 1)
    return (
        p.value(f"arith.select {wraps}, {zero}, {following} : i32"),
        p.value(f"arith.select {wraps}, {flipped}, {parity} : i32"),
    )


def kernel(n):
    p = Printer()
    b_bytes = n * SLICE_K * 2
    barrier_offset = STAGES * (A_BYTES + b_bytes)
    shared = barrier_offset + STAGES * 8
    accumulator = f"vector<{n // 2}xf32>"
    print(f"""gpu.module @gemm attributes {{tl.target = #tl.target<chip = "sm_90a">}} {{
  gpu.func @gemm(%C: !llvm.ptr<1> {{tl.param = #tl.param<base, 2>}},
      %mapA: !llvm.ptr {{tl.param = #tl.param<tensor_map, 0, box = [64, {TILE_M}], swizzle = 128, type = bf16>}},
      %mapB: !llvm.ptr {{tl.param = #tl.param<tensor_map, 1, box = [64, {n}], swizzle = 128, type = bf16>}},
      %n: i64 {{tl.param = #tl.param<dim, 1, index = 0>}}, %k: i64 {{tl.param = #tl.param<dim, 0, index = 1>}})
      kernel attributes {{known_block_size = array<i32: 256, 1, 1>, tl.shared = {shared} : i64}} {{""")

    def index(op):
        return p.value(f"arith.index_cast {p.value(op)} : index to i32")

    smem = p.value("tl.shared_base : !llvm.ptr<3>")
    barriers = p.offset(smem, barrier_offset)
    thread = index("gpu.thread_id x")
    row = p.op("muli", index("gpu.block_id y"), TILE_M)
    col = p.op("muli", index("gpu.block_id x"), n)
    steps = p.op("divui", p.value("arith.trunci %k : i64 to i32"), SLICE_K)
    leader = p.op("cmpi eq,", thread, 0)

    p.line(f"scf.if {leader} {{")
    for stage in range(STAGES):
        p.line(f"nvvm.mbarrier.init {p.offset(barriers, 8 * stage)}, {p.const(1)} : !llvm.ptr<3>, i32")
    p.line("nvvm.fence.mbarrier.init")
    p.line("}")
    p.line("gpu.barrier")
    p.line(f"scf.if {leader} {{")
    for stage in range(STAGES - 1):
        p.line(f"scf.if {p.op('cmpi ugt,', steps, stage)} {{")
        load(p, barriers, smem, p.const(stage), p.const(stage), row, col, n)
        p.line("}")
    p.line("}")

    warp, valid = "%warp", "%valid"
    p.line(f"{warp}, {valid} = gpu.shuffle idx {p.op('shrui', thread, 5)}, {p.const(0)}, {p.const(32)} : i32")
    group = p.op("shrui", warp, 2)
    start = p.value(f"llvm.ptrtoint {smem} : !llvm.ptr<3> to i32")
    start_a = p.op("addi", start, p.op("muli", group, A_BYTES // 2))
    start_b = p.op("addi", start, STAGES * A_BYTES)
    zero = p.const("dense<0.0>", accumulator)
    c0, c1 = p.const(0), p.const(1)
    p.line(
        f"%r:4 = scf.for %i = {c0} to {steps} step {c1} iter_args(%stage = {c0}, %parity = {c0}, "
        f"%refill = {p.const(STAGES - 1)}, %acc = {zero}) -> (i32, i32, i32, {accumulator}) : i32 {{"
    )
    full = p.offset(barriers, p.op("muli", "%stage", 8))
    p.line(f"nvvm.mbarrier.try_wait.parity {full}, %parity, {p.const(10000000)} : !llvm.ptr<3>, i32, i32")
    a = descriptor(p, p.op("addi", start_a, p.op("muli", "%stage", A_BYTES)))
    b = descriptor(p, p.op("addi", start_b, p.op("muli", "%stage", b_bytes)))
    p.line(
        f"%next = tl.wgmma bf16 n({n}) {a}, {b}, %acc acc_offsets([0, 0, 0, 0]) "
        f"a_offsets([0, 2, 4, 6]) b_offsets([0, 2, 4, 6]) : {accumulator}"
    )
    p.line("tl.wgmma_wait 1")
    p.line("gpu.barrier")
    ahead = p.op("addi", "%i", STAGES - 1)
    more = p.op("andi", leader, p.op("cmpi ult,", ahead, steps), "i1")
    p.line(f"scf.if {more} {{")
    load(p, barriers, smem, "%refill", ahead, row, col, n)
    p.line("}")
    stage, parity = following(p, "%stage", "%parity")
    refill, _ = following(p, "%refill", "%parity")
    p.line(f"scf.yield {stage}, {parity}, {refill}, %next : i32, i32, i32, {accumulator}")
    p.line("}")
    p.line(f"%done = tl.wgmma_wait 0 (%r#3 : {accumulator})")

    # A thread holds pairs of columns of two rows, eight rows apart.
    lane = p.op("andi", thread, 31)
    own_row = p.op("addi", p.op("addi", row, p.op("muli", warp, 16)), p.op("shrui", lane, 2))
    own_col = p.op("addi", col, p.op("muli", p.op("andi", lane, 3), 2))
    for half in range(2):
        wide = p.value(f"arith.extui {p.op('addi', own_row, 8 * half)} : i32 to i64")
        offset = p.op("addi", p.op("muli", wide, "%n", "i64"), p.value(f"arith.extui {own_col} : i32 to i64"), "i64")
        base = p.value(f"llvm.getelementptr %C[{offset}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, bf16")
        for j in range(n // 8):
            pair = p.value(
                f"vector.extract_strided_slice %done {{offsets = [{4 * j + 2 * half}], sizes = [2], "
                f"strides = [1]}} : {accumulator} to vector<2xf32>"
            )
            pair = p.value(f"arith.truncf {pair} : vector<2xf32> to vector<2xbf16>")
            target = p.value(f"llvm.getelementptr {base}[{8 * j}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, bf16")
            p.line(f"llvm.store {pair}, {target} : vector<2xbf16>, !llvm.ptr<1>")
    p.line("gpu.return")
    print("  }\n}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=256, help="columns of a tile")
    kernel(parser.parse_args().n)
