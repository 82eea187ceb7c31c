"""Small kernels of thread level, each right, and what becomes of them if one thing is wrong.

Usage: broken_kernels.py tl-opt

Writes all kernels and all their mutants into one module, has `tl-simulate-launches` run them, and holds its
reports against the table: the right kinds at the right lines, and none for a kernel that is right. Prints how many
there are.

A line of a kernel has a name behind `//@`. A mutant replaces some lines, by a changed text or by nothing. In the
bodies `%cN` and `%cN_i32` are constants; `shared` and `global` make pointers.
"""

import re
import subprocess
import sys
from dataclasses import dataclass


@dataclass
class Kernel:
    threads: int
    shared: int
    body: str
    """Of parameters: name, memref type of the argument, and box of the tensor map or None. "=A" in place of a type is
    the address of what A is a map of."""
    parameters: tuple[tuple[str, str, str | None], ...] = (("A", "1024xf32", None), ("B", "1024xf32", None))
    blocks: int = 1
    launch: str = ""
    """How it is launched besides: "dependent", "cluster(2)"."""


THREADS = """
%t = gpu.thread_id x
%base = tl.shared_base : <3>
%warp = arith.divui %t, %c32 : index
%lane = arith.remui %t, %c32 : index
%first = arith.cmpi eq, %t, %c0 : index
%bytes = arith.muli %t, %c4 : index
%own = shared %bytes
%last = arith.constant LAST : index
%other = arith.subi %last, %t : index
%otherbytes = arith.muli %other, %c4 : index
%others = shared %otherbytes
%from = global %A[%t]
%to = global %B[%t]
"""

SET_UP = """
%full = llvm.getelementptr %base[MBAR] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
scf.if %first {
  nvvm.mbarrier.init %full, %c1_i32 : !llvm.ptr<3>, i32 //@init
  nvvm.fence.mbarrier.init //@initfence
}
gpu.barrier //@initbarrier
"""

LOAD_BOX = "nvvm.cp.async.bulk.tensor.shared.cluster.global"
STORE_BOX = "nvvm.cp.async.bulk.tensor.global.shared.cta"
ADD_BOX = (
    "nvvm.cp.async.bulk.tensor.reduce %A, %base, box[%c0_i32, %c0_i32] "
    "{redKind = #nvvm.tma_redux_kind<add>} : !llvm.ptr, !llvm.ptr<3>"
)
FENCE = "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}"
EXPECT = "nvvm.mbarrier.arrive.expect_tx"
WAIT = "nvvm.mbarrier.try_wait.parity"
BOXES = (("A", "64x64xf32", "[16, 16]"), ("B", "1024xf32", None))
TICKS = "%c10000000_i32 : !llvm.ptr<3>, i32, i32"

ROWS = """
%ma = llvm.getelementptr %base[512] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
%mb = llvm.getelementptr %base[520] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
%mfa = llvm.getelementptr %base[528] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
%mfb = llvm.getelementptr %base[536] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
"""
PARITIES = """%bit = arith.andi %i, %c1 : index
%parity = arith.index_cast %bit : index to i32
%before = arith.xori %parity, %c1_i32 : i32"""

KERNELS = {
    # Two blocks fetch a box together, half of it each, three times.
    "cluster": Kernel(
        64,
        1040,
        f"""
%full = llvm.getelementptr %base[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
%empty = llvm.getelementptr %base[1032] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
scf.if %first {{
  nvvm.mbarrier.init %full, %c1_i32 : !llvm.ptr<3>, i32 //@full
  nvvm.mbarrier.init %empty, %c2_i32 : !llvm.ptr<3>, i32 //@empty
  nvvm.fence.mbarrier.init //@initfence
}}
nvvm.cluster.arrive //@begin
nvvm.cluster.wait //@begun
%rank = gpu.block_id x
%part = arith.muli %rank, %c512 : index
%target = shared %part
%all = llvm.addrspacecast %target : !llvm.ptr<3> to !llvm.ptr<7>
%mask = arith.constant 3 : i16 //@mask
%rows = arith.muli %rank, %c8 : index
scf.if %first {{
  scf.for %i = %c0 to %c3 step %c1 {{
    %bit = arith.andi %i, %c1 : index
    %parity = arith.index_cast %bit : index to i32
    %before = arith.xori %parity, %c1_i32 : i32
    {WAIT} %empty, %before, {TICKS} //@waitempty
    {EXPECT} %full, %c1024_i32 : !llvm.ptr<3>, i32 //@expect
    %step = arith.muli %i, %c16 : index
    %at = arith.addi %step, %rows : index
    %row = arith.index_cast %at : index to i32
    {LOAD_BOX} %all, %A, %full, box[%c0_i32, %row] multicast_mask = %mask : !llvm.ptr<7>, !llvm.ptr //@load
  }}
}}
%reads = arith.cmpi uge, %t, %c32 : index
%blockfirst = arith.muli %rank, %c64 : index
%mine = arith.addi %blockfirst, %t : index
%there = global %B[%mine]
scf.if %reads {{
  scf.for %i = %c0 to %c3 step %c1 {{
    %bit = arith.andi %i, %c1 : index
    %parity = arith.index_cast %bit : index to i32
    {WAIT} %full, %parity, {TICKS} //@waitfull
    %w = llvm.load %own : !llvm.ptr<3> -> f32 //@read
    llvm.store %w, %there : f32, !llvm.ptr<1>
    nvvm.bar.warp.sync %c4294967295_i32 : i32 //@sync
    %tells = arith.cmpi ult, %lane, %c2 : index //@lanes
    scf.if %tells {{
      %number = arith.index_cast %lane : index to i32
      %other_block = nvvm.mapa %empty, %number : !llvm.ptr<3> -> !llvm.ptr<7> //@map
      nvvm.mbarrier.arrive %other_block : !llvm.ptr<7> //@arrive
    }}
  }}
}}
nvvm.cluster.arrive //@end
nvvm.cluster.wait //@ended
""",
        (("A", "64x64xf32", "[16, 8]"), ("B", "1024xf32", None)),
        blocks=2,
        launch="cluster(2)",
    ),
    # Two blocks give each other a row, and fetch one, in shared memory.
    "reach": Kernel(
        64,
        512,
        """
%block = gpu.block_id x
%rank = arith.index_cast %block : index to i32
%next = arith.xori %rank, %c1_i32 : i32 //@rank
%inboxbytes = arith.addi %bytes, %c256 : index
%inbox = shared %inboxbytes
%v = llvm.load %from : !llvm.ptr<1> -> f32
llvm.store %v, %inbox : f32, !llvm.ptr<3> //@init
nvvm.cluster.arrive //@begin
nvvm.cluster.wait //@begun
%there = nvvm.mapa %inbox, %next : !llvm.ptr<3> -> !llvm.ptr<7>
llvm.store %v, %there : f32, !llvm.ptr<7> //@give
nvvm.cluster.arrive //@given
nvvm.cluster.wait //@came
%w = llvm.load %inbox : !llvm.ptr<3> -> f32 //@take
llvm.store %w, %own : f32, !llvm.ptr<3> //@keep
nvvm.cluster.arrive //@kept
nvvm.cluster.wait //@ready
%ofother = nvvm.mapa %own, %next : !llvm.ptr<3> -> !llvm.ptr<7>
%u = llvm.load %ofother : !llvm.ptr<7> -> f32 //@fetch
nvvm.cluster.arrive //@end
nvvm.cluster.wait //@ended
%blockfirst = arith.muli %block, %c64 : index
%mine = arith.addi %blockfirst, %t : index
%out = global %B[%mine]
llvm.store %u, %out : f32, !llvm.ptr<1>
""",
        blocks=2,
        launch="cluster(2)",
    ),
    # Two warps hand each other a row.
    "exchange": Kernel(
        64,
        512,
        """
%v = llvm.load %from : !llvm.ptr<1> -> f32
llvm.store %v, %own : f32, !llvm.ptr<3> //@write
gpu.barrier //@barrier
%w = llvm.load %others : !llvm.ptr<3> -> f32 //@read
llvm.store %w, %to : f32, !llvm.ptr<1> //@out
""",
    ),
    # Again and again.
    "again": Kernel(
        64,
        256,
        """
%v = llvm.load %from : !llvm.ptr<1> -> f32
%r = scf.for %i = %c0 to %c4 step %c1 iter_args(%x = %v) -> (f32) {
  llvm.store %x, %own : f32, !llvm.ptr<3> //@write
  gpu.barrier //@filled
  %w = llvm.load %others : !llvm.ptr<3> -> f32 //@read
  gpu.barrier //@emptied
  scf.yield %w : f32
}
llvm.store %r, %to : f32, !llvm.ptr<1>
""",
    ),
    # A warp tells a thread by one lane that all of them have read.
    "tell": Kernel(
        64,
        264,
        SET_UP.replace("MBAR", "256")
        + f"""
%v = llvm.load %from : !llvm.ptr<1> -> f32
llvm.store %v, %own : f32, !llvm.ptr<3>
gpu.barrier
%reads = arith.cmpi uge, %t, %c32 : index
scf.if %reads {{
  %w = llvm.load %others : !llvm.ptr<3> -> f32 //@read
  llvm.store %w, %to : f32, !llvm.ptr<1>
  nvvm.bar.warp.sync %c4294967295_i32 : i32 //@sync
  %tells = arith.cmpi eq, %lane, %c0 : index
  scf.if %tells {{
    %phase = nvvm.mbarrier.arrive %full : !llvm.ptr<3> -> i64 //@arrive
  }}
}}
scf.if %first {{
  {WAIT} %full, %c0_i32, {TICKS} //@wait
  %more = arith.addf %v, %v : f32
  llvm.store %more, %own : f32, !llvm.ptr<3> //@overwrite
}}
""",
    ),
    # Each warp for itself, by a barrier of its own.
    "warps": Kernel(
        64,
        256,
        """
%v = llvm.load %from : !llvm.ptr<1> -> f32
%n = arith.addi %warp, %c1 : index
%number = arith.index_cast %n : index to i32
%back = arith.xori %bytes, %c124 : index
%beside = shared %back
llvm.store %v, %own : f32, !llvm.ptr<3> //@write
nvvm.barrier id = %number number_of_threads = %c32_i32 //@barrier
%w = llvm.load %beside : !llvm.ptr<3> -> f32 //@read
llvm.store %w, %to : f32, !llvm.ptr<1>
""",
    ),
    # Two of four warps meet.
    "half": Kernel(
        128,
        512,
        """
%v = llvm.load %from : !llvm.ptr<1> -> f32
%few = arith.cmpi ult, %t, %c64 : index
scf.if %few {
  %swapped = arith.xori %bytes, %c252 : index
  %beside = shared %swapped
  llvm.store %v, %own : f32, !llvm.ptr<3> //@write
  nvvm.barrier id = %c1_i32 number_of_threads = %c64_i32 //@barrier
  %w = llvm.load %beside : !llvm.ptr<3> -> f32 //@read
  llvm.store %w, %to : f32, !llvm.ptr<1>
}
""",
    ),
    # One warp has its turn behind the other, who does not wait for it.
    "turns": Kernel(
        64,
        256,
        """
%later = arith.cmpi uge, %t, %c32 : index
%earlier = arith.cmpi ult, %t, %c32 : index
scf.if %earlier {
  %v = llvm.load %from : !llvm.ptr<1> -> f32
  llvm.store %v, %own : f32, !llvm.ptr<3>
  nvvm.barrier.arrive id = %c1_i32 number_of_threads = %c64_i32 //@pass
  llvm.store %v, %to : f32, !llvm.ptr<1>
}
scf.if %later {
  nvvm.barrier id = %c1_i32 number_of_threads = %c64_i32 //@take
  %w = llvm.load %others : !llvm.ptr<3> -> f32
  llvm.store %w, %to : f32, !llvm.ptr<1>
}
""",
    ),
    # A warp group that needs few registers gives some to another one.
    "registers": Kernel(
        384,
        0,
        """
%many = arith.cmpi ult, %t, %c256 : index
%few = arith.cmpi uge, %t, %c256 : index
scf.if %few {
  nvvm.setmaxregister decrease 24 //@less
}
scf.if %many {
  nvvm.setmaxregister increase 240 //@more
}
""",
    ),
    # What thread 0 writes, all read.
    "broadcast": Kernel(
        64,
        64,
        """
scf.if %first { //@branch
  %v = llvm.load %from : !llvm.ptr<1> -> f32
  llvm.store %v, %base : f32, !llvm.ptr<3> //@write
} //@end
gpu.barrier //@barrier
%w = llvm.load %base : !llvm.ptr<3> -> f32 //@read
llvm.store %w, %to : f32, !llvm.ptr<1> //@out
""",
    ),
    # All threads hold the value, and all write it.
    "copies": Kernel(
        64,
        64,
        """
%p = global %A[%c0]
%v = llvm.load %p : !llvm.ptr<1> -> f32 //@load
llvm.store %v, %base : f32, !llvm.ptr<3> //@write
%w = llvm.load %base : !llvm.ptr<3> -> f32 //@read
llvm.store %w, %to : f32, !llvm.ptr<1>
""",
    ),
    # A sum in halves.
    "tree": Kernel(
        64,
        256,
        """
%v = llvm.load %from : !llvm.ptr<1> -> f32
llvm.store %v, %own : f32, !llvm.ptr<3> //@write
gpu.barrier //@first
%end = scf.for %i = %c0 to %c6 step %c1 iter_args(%half = %c32) -> (index) {
  %works = arith.cmpi ult, %t, %half : index
  scf.if %works {
    %distance = arith.muli %half, %c4 : index
    %there = arith.addi %bytes, %distance : index
    %far = shared %there
    %x = llvm.load %own : !llvm.ptr<3> -> f32 //@near
    %y = llvm.load %far : !llvm.ptr<3> -> f32 //@far
    %s = arith.addf %x, %y : f32
    llvm.store %s, %own : f32, !llvm.ptr<3> //@sum
  }
  gpu.barrier //@round
  %next = arith.divui %half, %c2 : index
  scf.yield %next : index
}
%w = llvm.load %base : !llvm.ptr<3> -> f32 //@read
llvm.store %w, %to : f32, !llvm.ptr<1>
""",
    ),
    # Copies by threads, one group.
    "copy": Kernel(
        64,
        1024,
        """
%quads = arith.muli %t, %c4 : index
%source = global %A[%quads]
%wide = arith.muli %t, %c16 : index
%target = shared %wide
%far = arith.muli %other, %c16 : index
%theirs = shared %far
nvvm.cp.async.shared.global %target, %source, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1> //@copy
nvvm.cp.async.commit.group //@commit
nvvm.cp.async.wait.group 0 //@wait
gpu.barrier //@barrier
%w = llvm.load %theirs : !llvm.ptr<3> -> f32 //@read
llvm.store %w, %to : f32, !llvm.ptr<1>
""",
    ),
    # Copies by threads that run one iteration ahead, in two slots.
    "copyring": Kernel(
        64,
        2048,
        """
%quads = arith.muli %t, %c4 : index
%wide = arith.muli %t, %c16 : index
%far = arith.muli %other, %c16 : index
%zero = arith.constant 0.0 : f32
%source0 = global %A[%quads]
%target0 = shared %wide
nvvm.cp.async.shared.global %target0, %source0, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1> //@ahead
nvvm.cp.async.commit.group //@commit0
%r = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %zero) -> (f32) {
  %j = arith.addi %i, %c1 : index
  %slot = arith.remui %j, %c2 : index
  %at = arith.muli %slot, %c1024 : index
  %b0 = arith.addi %at, %wide : index
  %target = shared %b0
  %e = arith.muli %j, %c256 : index
  %e0 = arith.addi %e, %quads : index
  %source = global %A[%e0]
  nvvm.cp.async.shared.global %target, %source, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1> //@copy
  nvvm.cp.async.commit.group //@commit
  nvvm.cp.async.wait.group 1 //@wait
  gpu.barrier //@filled
  %now = arith.remui %i, %c2 : index //@slot
  %here = arith.muli %now, %c1024 : index
  %b1 = arith.addi %here, %far : index
  %theirs = shared %b1
  %w = llvm.load %theirs : !llvm.ptr<3> -> f32 //@read
  %s = arith.addf %sum, %w : f32
  gpu.barrier //@emptied
  scf.yield %s : f32
}
nvvm.cp.async.wait.group 0 //@rest
llvm.store %r, %to : f32, !llvm.ptr<1>
""",
    ),
    # One bulk load.
    "load": Kernel(
        64,
        1088,
        SET_UP.replace("MBAR", "1024")
        + f"""
scf.if %first {{
  {EXPECT} %full, %c1024_i32 : !llvm.ptr<3>, i32 //@expect
  {LOAD_BOX} %base, %A, %full, box[%c0_i32, %c0_i32] {{isCTAOnly = true}} : !llvm.ptr<3>, !llvm.ptr //@load
}}
{WAIT} %full, %c0_i32, {TICKS} //@wait
%w = llvm.load %others : !llvm.ptr<3> -> f32 //@read
llvm.store %w, %to : f32, !llvm.ptr<1>
""",
        BOXES,
    ),
    # Bulk loads into two slots, refilled behind a barrier.
    "loadring": Kernel(
        64,
        2112,
        f"""
%full0 = llvm.getelementptr %base[2048] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
%full1 = llvm.getelementptr %base[2056] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8 //@second
%slot1 = llvm.getelementptr %base[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
scf.if %first {{
  nvvm.mbarrier.init %full0, %c1_i32 : !llvm.ptr<3>, i32 //@init0
  nvvm.mbarrier.init %full1, %c1_i32 : !llvm.ptr<3>, i32 //@init1
  nvvm.fence.mbarrier.init //@initfence
}}
gpu.barrier //@initbarrier
scf.if %first {{
  {EXPECT} %full0, %c1024_i32 : !llvm.ptr<3>, i32 //@expect0
  {LOAD_BOX} %base, %A, %full0, box[%c0_i32, %c0_i32] {{isCTAOnly = true}} : !llvm.ptr<3>, !llvm.ptr //@load0
  {EXPECT} %full1, %c1024_i32 : !llvm.ptr<3>, i32 //@expect1
  {LOAD_BOX} %slot1, %A, %full1, box[%c16_i32, %c0_i32] {{isCTAOnly = true}} : !llvm.ptr<3>, !llvm.ptr //@load1
}}
%zero = arith.constant 0.0 : f32
%r = scf.for %i = %c0 to %c4 step %c1 iter_args(%sum = %zero) -> (f32) {{
  %slot = arith.remui %i, %c2 : index //@slot
  %round = arith.divui %i, %c2 : index
  %odd = arith.remui %round, %c2 : index
  %parity = arith.index_cast %odd : index to i32
  %b = arith.muli %slot, %c8 : index
  %b0 = arith.addi %b, %c2048 : index
  %full = shared %b0
  {WAIT} %full, %parity, {TICKS} //@wait
  %at = arith.muli %slot, %c1024 : index
  %b1 = arith.addi %at, %otherbytes : index
  %theirs = shared %b1
  %w = llvm.load %theirs : !llvm.ptr<3> -> f32 //@read
  %s = arith.addf %sum, %w : f32
  gpu.barrier //@emptied
  %j = arith.addi %i, %c2 : index
  %more = arith.cmpi ult, %j, %c4 : index
  %refills = arith.andi %more, %first : i1
  scf.if %refills {{
    %target = shared %at
    %e = arith.muli %j, %c16 : index
    %x = arith.index_cast %e : index to i32
    {EXPECT} %full, %c1024_i32 : !llvm.ptr<3>, i32 //@expect
    {LOAD_BOX} %target, %A, %full, box[%x, %c0_i32] {{isCTAOnly = true}} : !llvm.ptr<3>, !llvm.ptr //@load
  }}
  scf.yield %s : f32
}}
llvm.store %r, %to : f32, !llvm.ptr<1>
""",
        BOXES,
    ),
    # A warp that loads, and one that reads and gives slots back by arrivals.
    "roles": Kernel(
        64,
        2144,
        f"""
%slots = arith.constant 2 : index
scf.if %first {{
  scf.for %i = %c0 to %c2 step %c1 {{
    %b = arith.muli %i, %c8 : index
    %b0 = arith.addi %b, %c2048 : index
    %b1 = arith.addi %b, %c2064 : index
    %full = shared %b0
    %empty = shared %b1
    nvvm.mbarrier.init %full, %c1_i32 : !llvm.ptr<3>, i32 //@initfull
    nvvm.mbarrier.init %empty, %c32_i32 : !llvm.ptr<3>, i32 //@initempty
  }}
  nvvm.fence.mbarrier.init //@initfence
}}
gpu.barrier //@initbarrier
%consumes = arith.cmpi uge, %t, %c32 : index
%zero = arith.constant 0.0 : f32
scf.if %first {{
  scf.for %i = %c0 to %c6 step %c1 {{
    %slot = arith.remui %i, %slots : index
    %round = arith.divui %i, %slots : index
    %before = arith.addi %round, %c1 : index //@before
    %odd = arith.remui %before, %c2 : index
    %parity = arith.index_cast %odd : index to i32
    %b = arith.muli %slot, %c8 : index
    %b0 = arith.addi %b, %c2048 : index
    %b1 = arith.addi %b, %c2064 : index //@whichempty
    %full = shared %b0
    %empty = shared %b1
    {WAIT} %empty, %parity, {TICKS} //@waitempty
    %at = arith.muli %slot, %c1024 : index
    %target = shared %at
    %e = arith.muli %i, %c8 : index
    %x = arith.index_cast %e : index to i32
    {EXPECT} %full, %c1024_i32 : !llvm.ptr<3>, i32 //@expect
    {LOAD_BOX} %target, %A, %full, box[%x, %c0_i32] {{isCTAOnly = true}} : !llvm.ptr<3>, !llvm.ptr //@load
  }}
}}
scf.if %consumes {{
  %r = scf.for %i = %c0 to %c6 step %c1 iter_args(%sum = %zero) -> (f32) {{
    %slot = arith.remui %i, %slots : index
    %round = arith.divui %i, %slots : index
    %odd = arith.remui %round, %c2 : index
    %parity = arith.index_cast %odd : index to i32
    %b = arith.muli %slot, %c8 : index
    %b0 = arith.addi %b, %c2048 : index
    %b1 = arith.addi %b, %c2064 : index
    %full = shared %b0
    %empty = shared %b1
    %at = arith.muli %slot, %c1024 : index //@whichslot
    %b2 = arith.addi %at, %otherbytes : index
    %theirs = shared %b2
    {WAIT} %full, %parity, {TICKS} //@waitfull
    %early = llvm.load %theirs : !llvm.ptr<3> -> f32 //@read
    {EXPECT} %empty, %c0_i32 : !llvm.ptr<3>, i32 //@release
    %late = arith.addf %early, %zero : f32 //@late
    %s = arith.addf %sum, %late : f32
    scf.yield %s : f32
  }}
  llvm.store %r, %to : f32, !llvm.ptr<1>
}}
""",
        BOXES,
    ),
    # What threads write, a bulk store takes.
    "store": Kernel(
        64,
        1024,
        f"""
%wide = arith.muli %t, %c16 : index
%mine = shared %wide
%quads = arith.muli %t, %c4 : index
%source = global %B[%quads]
%v = llvm.load %source : !llvm.ptr<1> -> vector<4xf32>
llvm.store %v, %mine : vector<4xf32>, !llvm.ptr<3> //@write
{FENCE} //@fence
gpu.barrier //@barrier
scf.if %first {{
  {STORE_BOX} %A, %base, box[%c0_i32, %c0_i32] : !llvm.ptr, <3> //@store
  nvvm.cp.async.bulk.commit.group //@commit
  nvvm.cp.async.bulk.wait_group 0 {{read}} //@wait
}}
gpu.barrier //@emptied
llvm.store %v, %mine : vector<4xf32>, !llvm.ptr<3> //@next
""",
        BOXES,
    ),
    # A product of what bulk loads bring.
    "gemm": Kernel(
        128,
        9280,
        SET_UP.replace("MBAR", "9216")
        + f"""
%second = llvm.getelementptr %base[8192] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
scf.if %first {{
  {EXPECT} %full, %c9216_i32 : !llvm.ptr<3>, i32 //@expect
  {LOAD_BOX} %base, %A, %full, box[%c0_i32, %c0_i32] {{isCTAOnly = true}} : !llvm.ptr<3>, !llvm.ptr //@loada
  {LOAD_BOX} %second, %B, %full, box[%c0_i32, %c0_i32] {{isCTAOnly = true}} : !llvm.ptr<3>, !llvm.ptr //@loadb
}}
{WAIT} %full, %c0_i32, {TICKS} //@wait
%b0 = llvm.ptrtoint %base : !llvm.ptr<3> to i32
%b1 = arith.shrui %b0, %c4_i32 : i32
%b2 = arith.extui %b1 : i32 to i64
%fixed = arith.constant 4611686293305360384 : i64 //@layout
%da = arith.ori %b2, %fixed : i64
%step = arith.constant 512 : i64 //@descriptor
%db = arith.addi %da, %step : i64
%zero = arith.constant dense<0.0> : vector<4xf32>
%p = tl.wgmma f16 n(8) %da, %db, %zero //@gemm
  acc_offsets([0, 0, 0, 0]) a_offsets([0, 2, 4, 6]) b_offsets([0, 2, 4, 6]) : vector<4xf32>
%done = tl.wgmma_wait 0 (%p : vector<4xf32>) //@gemmwait
gpu.barrier //@emptied
%x = vector.extract %done[0] : f32 from vector<4xf32>
llvm.store %x, %own : f32, !llvm.ptr<3> //@reuse
gpu.barrier //@swap
%w = llvm.load %others : !llvm.ptr<3> -> f32 //@read
%out = global %C[%t]
llvm.store %w, %out : f32, !llvm.ptr<1> //@out
""",
        (("A", "64x64xf16", "[64, 64]"), ("B", "8x64xf16", "[64, 8]"), ("C", "128xf32", None)),
    ),
    # A product of what threads write.
    "ownproduct": Kernel(
        128,
        9216,
        f"""
%row = arith.muli %t, %c64 : index
%mine = shared %row
%zeros = arith.constant dense<1.0> : vector<8xf16>
scf.for %i = %c0 to %c64 step %c16 {{
  %b = arith.addi %row, %i : index
  %here = shared %b
  llvm.store %zeros, %here : vector<8xf16>, !llvm.ptr<3> //@writea
}}
%few = arith.cmpi ult, %t, %c64 : index
scf.if %few {{
  %b = arith.muli %t, %c16 : index
  %there = arith.addi %b, %c8192 : index
  %here = shared %there
  llvm.store %zeros, %here : vector<8xf16>, !llvm.ptr<3> //@writeb
}}
{FENCE} //@fence
gpu.barrier //@barrier
%b0 = llvm.ptrtoint %base : !llvm.ptr<3> to i32
%b1 = arith.shrui %b0, %c4_i32 : i32
%b2 = arith.extui %b1 : i32 to i64
%fixed = arith.constant 4611686293305360384 : i64
%da = arith.ori %b2, %fixed : i64
%step = arith.constant 512 : i64
%db = arith.addi %da, %step : i64 //@factor
%zero = arith.constant dense<0.0> : vector<4xf32>
%p = tl.wgmma f16 n(8) %da, %db, %zero //@gemm
  acc_offsets([0, 0, 0, 0]) a_offsets([0, 2, 4, 6]) b_offsets([0, 2, 4, 6]) : vector<4xf32>
%done = tl.wgmma_wait 0 (%p : vector<4xf32>) //@gemmwait
%x = vector.extract %done[0] : f32 from vector<4xf32> //@use
%out = global %B[%t] //@last
llvm.store %x, %out : f32, !llvm.ptr<1>
""",
    ),
    # A product of what threads hold and what they write.
    "registerproduct": Kernel(
        128,
        1024,
        f"""
%ones = arith.constant dense<1.0> : vector<8xf16>
%few = arith.cmpi ult, %t, %c64 : index
scf.if %few {{
  %b = arith.muli %t, %c16 : index
  %here = shared %b
  llvm.store %ones, %here : vector<8xf16>, !llvm.ptr<3>
}}
{FENCE} //@fence
gpu.barrier
%v = llvm.load %from : !llvm.ptr<1> -> f32
%h = arith.truncf %v : f32 to f16
%held = vector.broadcast %h : f16 to vector<8xf16>
%a = vector.bitcast %held : vector<8xf16> to vector<4xi32>
%b0 = llvm.ptrtoint %base : !llvm.ptr<3> to i32
%b1 = arith.shrui %b0, %c4_i32 : i32
%b2 = arith.extui %b1 : i32 to i64
%fixed = arith.constant 4611686293305360384 : i64 //@layout
%db = arith.ori %b2, %fixed : i64
%zero = arith.constant dense<0.0> : vector<4xf32>
%p = tl.wgmma f16 n(8) %a, %db, %zero //@gemm
  acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xi32>, vector<4xf32>
%done, %kept = tl.wgmma_wait 0 (%p, %held : vector<4xf32>, vector<8xf16>) //@gemmwait
%x = vector.extract %done[0] : f32 from vector<4xf32>
llvm.store %x, %to : f32, !llvm.ptr<1>
""",
    ),
    # The same in rounds: each multiplies what the round before has made, and makes the next A meanwhile.
    "registerrounds": Kernel(
        128,
        1024,
        f"""
%ones = arith.constant dense<1.0> : vector<8xf16>
%few = arith.cmpi ult, %t, %c64 : index
scf.if %few {{
  %b = arith.muli %t, %c16 : index
  %here = shared %b
  llvm.store %ones, %here : vector<8xf16>, !llvm.ptr<3>
}}
{FENCE}
gpu.barrier
%v = llvm.load %from : !llvm.ptr<1> -> f32
%first_a = vector.broadcast %v : f32 to vector<8xf32>
%first_h = arith.truncf %first_a : vector<8xf32> to vector<8xf16>
%b0 = llvm.ptrtoint %base : !llvm.ptr<3> to i32
%b1 = arith.shrui %b0, %c4_i32 : i32
%b2 = arith.extui %b1 : i32 to i64
%fixed = arith.constant 4611686293305360384 : i64
%db = arith.ori %b2, %fixed : i64
%zero = arith.constant dense<0.0> : vector<4xf32>
%sum, %end = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %zero, %held = %first_h)
  -> (vector<4xf32>, vector<8xf16>) {{
  %a = vector.bitcast %held : vector<8xf16> to vector<4xi32>
  %p = tl.wgmma f16 n(8) %a, %db, %acc //@gemm
    acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xi32>, vector<4xf32>
  %w = llvm.load %from : !llvm.ptr<1> -> f32
  %next = vector.broadcast %w : f32 to vector<8xf32>
  %done, %x, %kept = tl.wgmma_wait 0 (%p, %next, %held : vector<4xf32>, vector<8xf32>, vector<8xf16>) //@gemmwait
  %h = arith.truncf %x : vector<8xf32> to vector<8xf16>
  scf.yield %done, %h : vector<4xf32>, vector<8xf16>
}}
%y = vector.extract %sum[0] : f32 from vector<4xf32>
llvm.store %y, %to : f32, !llvm.ptr<1>
""",
    ),
    # The same, of what each round compares with the greatest so far; and a last product behind the rounds.
    "registerlast": Kernel(
        128,
        1024,
        f"""
%ones = arith.constant dense<1.0> : vector<8xf16>
%few = arith.cmpi ult, %t, %c64 : index
scf.if %few {{
  %b = arith.muli %t, %c16 : index
  %here = shared %b
  llvm.store %ones, %here : vector<8xf16>, !llvm.ptr<3>
}}
{FENCE}
gpu.barrier
%v = llvm.load %from : !llvm.ptr<1> -> f32
%first_a = vector.broadcast %v : f32 to vector<8xf32>
%first_h = arith.truncf %first_a : vector<8xf32> to vector<8xf16>
%b0 = llvm.ptrtoint %base : !llvm.ptr<3> to i32
%b1 = arith.shrui %b0, %c4_i32 : i32
%b2 = arith.extui %b1 : i32 to i64
%fixed = arith.constant 4611686293305360384 : i64
%db = arith.ori %b2, %fixed : i64
%zero = arith.constant dense<0.0> : vector<4xf32>
%sum, %end, %greatest = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %zero, %held = %first_h, %top = %first_a)
  -> (vector<4xf32>, vector<8xf16>, vector<8xf32>) {{
  %a = vector.bitcast %held : vector<8xf16> to vector<4xi32>
  %p = tl.wgmma f16 n(8) %a, %db, %acc //@gemm
    acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xi32>, vector<4xf32>
  %w = llvm.load %from : !llvm.ptr<1> -> f32
  %next = vector.broadcast %w : f32 to vector<8xf32>
  %done, %x, %kept = tl.wgmma_wait 0 (%p, %next, %held : vector<4xf32>, vector<8xf32>, vector<8xf16>) //@gemmwait
  %most = arith.maximumf %top, %x : vector<8xf32>
  %less = arith.subf %most, %top : vector<8xf32>
  %new = arith.addf %x, %less : vector<8xf32>
  %h = arith.truncf %new : vector<8xf32> to vector<8xf16>
  scf.yield %done, %h, %most : vector<4xf32>, vector<8xf16>, vector<8xf32>
}}
%last_a = vector.bitcast %end : vector<8xf16> to vector<4xi32>
%q = tl.wgmma f16 n(8) %last_a, %db, %sum //@lastgemm
  acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xi32>, vector<4xf32>
%all, %also = tl.wgmma_wait 0 (%q, %end : vector<4xf32>, vector<8xf16>) //@lastwait
%y = vector.extract %all[0] : f32 from vector<4xf32>
llvm.store %y, %to : f32, !llvm.ptr<1>
""",
    ),
    # Matrices through shared memory.
    "matrix": Kernel(
        64,
        1024,
        """
%part = arith.muli %warp, %c512 : index
%l16 = arith.muli %lane, %c16 : index
%at = arith.addi %part, %l16 : index
%row = shared %at
%turned = arith.subi %c512, %part : index
%at2 = arith.addi %turned, %l16 : index
%theirs = shared %at2
%i = arith.index_cast %t : index to i32
%v = vector.broadcast %i : i32 to vector<4xi32>
tl.stmatrix %v, %row : vector<4xi32>, !llvm.ptr<3> //@write
gpu.barrier //@barrier
%m = tl.ldmatrix %theirs : !llvm.ptr<3> -> vector<4xi32> //@read
%x = vector.extract %m[0] : i32 from vector<4xi32>
%y = arith.bitcast %x : i32 to f32
llvm.store %y, %to : f32, !llvm.ptr<1>
""",
    ),
    # Through device memory, within a block.
    "device": Kernel(
        64,
        0,
        """
%far = global %B[%other]
%v = llvm.load %from : !llvm.ptr<1> -> f32
llvm.store %v, %to : f32, !llvm.ptr<1> //@write
gpu.barrier //@barrier
%w = llvm.load %far : !llvm.ptr<1> -> f32 //@read
%next = global %A[%t] //@place
llvm.store %w, %next : f32, !llvm.ptr<1> //@out
""",
    ),
    # Blocks with elements of their own.
    "blocks": Kernel(
        64,
        0,
        """
%block = gpu.block_id x
%begin = arith.muli %block, %c64 : index //@begin
%i = arith.addi %begin, %t : index
%p = global %A[%i]
%q = global %B[%i]
%v = llvm.load %p : !llvm.ptr<1> -> f32 //@read
%n = arith.index_cast %block : index to i32
%f = arith.sitofp %n : i32 to f32
%w = arith.addf %v, %f : f32
llvm.store %w, %q : f32, !llvm.ptr<1> //@write
""",
        blocks=3,
    ),
    # A warp tells the other one by a word of shared memory that its row is there.
    "mailbox": Kernel(
        64,
        264,
        """
%flag = llvm.getelementptr %base[256] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
scf.if %first {
  llvm.store %c0_i32, %flag : i32, !llvm.ptr<3> //@clear
}
gpu.barrier
%fills = arith.cmpi ult, %t, %c32 : index
%takes = arith.cmpi uge, %t, %c32 : index
scf.if %fills {
  %v = llvm.load %from : !llvm.ptr<1> -> f32
  llvm.store %v, %own : f32, !llvm.ptr<3> //@write
  nvvm.bar.warp.sync %c4294967295_i32 : i32 //@sync
  scf.if %first {
    %was = tl.atom exchange %flag, %c1_i32 order(release) scope(block) : !llvm.ptr<3>, i32 //@tell
  }
}
scf.if %takes {
  scf.while : () -> () {
    %seen = tl.atom load %flag order(acquire) scope(block) : !llvm.ptr<3>, i32 //@look
    %empty = arith.cmpi eq, %seen, %c0_i32 : i32
    scf.condition(%empty)
  } do {
    scf.yield
  }
  %w = llvm.load %others : !llvm.ptr<3> -> f32 //@read
  llvm.store %w, %to : f32, !llvm.ptr<1>
}
""",
    ),
    # Whichever warp comes last takes what all have left.
    "lastwarp": Kernel(
        64,
        264,
        """
%count = llvm.getelementptr %base[256] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
scf.if %first {
  llvm.store %c0_i32, %count : i32, !llvm.ptr<3> //@clear
}
gpu.barrier
%v = llvm.load %from : !llvm.ptr<1> -> f32
llvm.store %v, %own : f32, !llvm.ptr<3> //@write
%was = tl.atom add %count, %c1_i32 order(acq_rel) scope(block) : !llvm.ptr<3>, i32 //@count
%islast = arith.cmpi eq, %was, %c63_i32 : i32
scf.if %islast {
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %c64 step %c1 iter_args(%sum = %zero) -> (f32) {
    %at = arith.muli %i, %c4 : index
    %p = shared %at
    %w = llvm.load %p : !llvm.ptr<3> -> f32 //@read
    %s = arith.addf %sum, %w : f32
    scf.yield %s : f32
  }
  llvm.store %r, %to : f32, !llvm.ptr<1>
}
""",
    ),
    # The last block adds up what all have written.
    "lastblock": Kernel(
        64,
        64,
        """
%block = gpu.block_id x
%begin = arith.muli %block, %c64 : index
%e = arith.addi %begin, %t : index
%p = global %A[%e]
%v = arith.sitofp %c3_i32 : i32 to f32
llvm.store %v, %p : f32, !llvm.ptr<1> //@write
gpu.barrier //@barrier
scf.if %first {
  %was = tl.atom add %C, %c1_i32 order(acq_rel) : !llvm.ptr<1>, i32 //@count
  llvm.store %was, %base : i32, !llvm.ptr<3>
}
gpu.barrier //@told
%seen = llvm.load %base : !llvm.ptr<3> -> i32
%islast = arith.cmpi eq, %seen, %c0_i32 : i32
scf.if %islast {
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %zero) -> (f32) {
    %row = arith.muli %i, %c64 : index
    %at = arith.addi %row, %t : index
    %q = global %A[%at]
    %w = llvm.load %q : !llvm.ptr<1> -> f32 //@read
    %s = arith.addf %sum, %w : f32
    scf.yield %s : f32
  }
  llvm.store %r, %to : f32, !llvm.ptr<1> //@out
}
""",
        (("A", "1024xf32", None), ("B", "1024xf32", None), ("C", "4xi32", None)),
        blocks=3,
    ),
    # Blocks change one element, one at a time.
    "lock": Kernel(
        32,
        0,
        """
%free = arith.constant -2 : i32
scf.if %first {
  scf.while : () -> () {
    %was = tl.atom compare_exchange %C, %c1_i32 expected(%free) order(acquire) : !llvm.ptr<1>, i32 //@lock
    %taken = arith.cmpi ne, %was, %free : i32
    scf.condition(%taken)
  } do {
    scf.yield
  }
  %v = llvm.load %B : !llvm.ptr<1> -> f32 //@read
  %one = arith.constant 1.0 : f32
  %w = arith.addf %v, %one : f32
  llvm.store %w, %B : f32, !llvm.ptr<1> //@write
  %old = tl.atom exchange %C, %free order(release) : !llvm.ptr<1>, i32 //@unlock
}
""",
        (("A", "1024xf32", None), ("B", "1024xf32", None), ("C", "4xi32", None)),
        blocks=4,
    ),
    # Blocks of a cluster: one gives a row to the other.
    "neighbours": Kernel(
        64,
        0,
        """
%block = gpu.block_id x
%isgiver = arith.cmpi eq, %block, %c0 : index
%istaker = arith.cmpi eq, %block, %c1 : index
scf.if %isgiver {
  %v = arith.sitofp %c7_i32 : i32 to f32
  llvm.store %v, %from : f32, !llvm.ptr<1> //@write
  gpu.barrier //@written
  scf.if %first {
    %was = tl.atom exchange %C, %c1_i32 order(release) : !llvm.ptr<1>, i32 //@tell
  }
}
scf.if %istaker {
  scf.if %first {
    scf.while : () -> () {
      %seen = tl.atom load %C order(acquire) : !llvm.ptr<1>, i32 //@look
      %empty = arith.cmpi ne, %seen, %c1_i32 : i32
      scf.condition(%empty)
    } do {
      scf.yield
    }
  }
  gpu.barrier //@looked
  %w = llvm.load %from : !llvm.ptr<1> -> f32 //@read
  llvm.store %w, %to : f32, !llvm.ptr<1>
}
""",
        (("A", "1024xf32", None), ("B", "1024xf32", None), ("C", "4xi32", None)),
        blocks=2,
        launch="cluster(2)",
    ),
    # A row goes from one cluster to another: each has a block that does it, and one that lets others know.
    "relay": Kernel(
        64,
        0,
        """
%block = gpu.block_id x
%gives = arith.cmpi eq, %block, %c0 : index
%tells = arith.cmpi eq, %block, %c1 : index
%looks = arith.cmpi eq, %block, %c2 : index
%takes = arith.cmpi eq, %block, %c3 : index
scf.if %gives {
  %v = arith.sitofp %c7_i32 : i32 to f32
  llvm.store %v, %from : f32, !llvm.ptr<1> //@write
}
nvvm.cluster.arrive //@given
nvvm.cluster.wait //@givento
scf.if %tells {
  scf.if %first {
    %was = tl.atom exchange %C, %c1_i32 order(release) : !llvm.ptr<1>, i32 //@tell
  }
}
scf.if %looks {
  scf.if %first {
    scf.while : () -> () {
      %seen = tl.atom load %C order(acquire) : !llvm.ptr<1>, i32 //@look
      %empty = arith.cmpi ne, %seen, %c1_i32 : i32
      scf.condition(%empty)
    } do {
      scf.yield
    }
  }
}
nvvm.cluster.arrive //@seen
nvvm.cluster.wait //@seenby
scf.if %takes {
  %w = llvm.load %from : !llvm.ptr<1> -> f32 //@read
  llvm.store %w, %to : f32, !llvm.ptr<1>
}
""",
        (("A", "1024xf32", None), ("B", "1024xf32", None), ("C", "4xi32", None)),
        blocks=4,
        launch="cluster(2)",
    ),
    # Blocks take numbers, and each does what its number says.
    "tickets": Kernel(
        32,
        0,
        """
scf.if %first {
  %was = tl.atom add %C, %c1_i32 : !llvm.ptr<1>, i32 //@take
  %number = arith.addi %was, %c2_i32 : i32
  %n = arith.index_cast %number : i32 to index
  %p = global %B[%n]
  %v = arith.sitofp %was : i32 to f32
  llvm.store %v, %p : f32, !llvm.ptr<1> //@write
}
""",
        (("A", "1024xf32", None), ("B", "1024xf32", None), ("C", "4xi32", None)),
        blocks=4,
    ),
    # It begins while the kernel before it may run; one thread waits for that, and all read behind a barrier.
    "dependent": Kernel(
        64,
        64,
        """
%zero = arith.constant 0.0 : f32
llvm.store %zero, %base : f32, !llvm.ptr<3>
scf.if %first {
  nvvm.griddepcontrol wait //@wait
  nvvm.griddepcontrol launch_dependents //@let
}
gpu.barrier //@barrier
%v = llvm.load %from : !llvm.ptr<1> -> f32 //@read
llvm.store %v, %to : f32, !llvm.ptr<1> //@write
""",
        launch="dependent",
    ),
    # One block of a cluster waits, and all read behind the cluster's barrier.
    "dependentcluster": Kernel(
        64,
        0,
        """
%block = gpu.block_id x
%waits = arith.cmpi eq, %block, %c0 : index
scf.if %waits {
  nvvm.griddepcontrol wait //@wait
}
nvvm.cluster.arrive //@waited
nvvm.cluster.wait //@known
%begin = arith.muli %block, %c64 : index
%mine = arith.addi %begin, %t : index
%p = global %A[%mine]
%q = global %B[%mine]
%v = llvm.load %p : !llvm.ptr<1> -> f32 //@read
llvm.store %v, %q : f32, !llvm.ptr<1>
""",
        blocks=2,
        launch="cluster(2) dependent",
    ),
    # The same with a bulk load, whose issuer waits.
    "dependentload": Kernel(
        64,
        1088,
        SET_UP.replace("MBAR", "1024")
        + f"""
scf.if %first {{
  nvvm.griddepcontrol wait //@wait
  {EXPECT} %full, %c1024_i32 : !llvm.ptr<3>, i32
  {LOAD_BOX} %base, %A, %full, box[%c0_i32, %c0_i32] {{isCTAOnly = true}} : !llvm.ptr<3>, !llvm.ptr //@load
}}
{WAIT} %full, %c0_i32, {TICKS} //@waitfull
%w = llvm.load %others : !llvm.ptr<3> -> f32
llvm.store %w, %to : f32, !llvm.ptr<1> //@out
""",
        BOXES,
        launch="dependent",
    ),
    # Two groups hand a row back and forth by two named barriers.
    "pingpong": Kernel(
        64,
        128,
        """
%fills = arith.cmpi ult, %t, %c32 : index
%takes = arith.cmpi uge, %t, %c32 : index
%l4 = arith.muli %lane, %c4 : index
%mine = shared %l4
%back = arith.xori %l4, %c124 : index
%theirs = shared %back
%zero = arith.constant 0.0 : f32
scf.if %fills {
  scf.for %i = %c0 to %c4 step %c1 {
    nvvm.barrier id = %c2_i32 number_of_threads = %c64_i32 //@waitempty
    llvm.store %zero, %mine : f32, !llvm.ptr<3> //@write
    nvvm.barrier.arrive id = %c1_i32 number_of_threads = %c64_i32 //@tellfull
  }
}
scf.if %takes {
  nvvm.barrier.arrive id = %c2_i32 number_of_threads = %c64_i32 //@start
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%sum = %zero) -> (f32) {
    nvvm.barrier id = %c1_i32 number_of_threads = %c64_i32 //@waitfull
    %w = llvm.load %theirs : !llvm.ptr<3> -> f32 //@read
    %more = arith.cmpi ult, %i, %c3 : index
    scf.if %more {
      nvvm.barrier.arrive id = %c2_i32 number_of_threads = %c64_i32 //@tellempty
    }
    %s = arith.addf %sum, %w : f32
    scf.yield %s : f32
  }
  llvm.store %r, %to : f32, !llvm.ptr<1>
}
""",
    ),
    # What a bulk store has read is loaded anew.
    "reload": Kernel(
        64,
        1088,
        SET_UP.replace("MBAR", "1024")
        + f"""
%wide = arith.muli %t, %c16 : index
%mine = shared %wide
%ones = arith.constant dense<1.0> : vector<4xf32>
llvm.store %ones, %mine : vector<4xf32>, !llvm.ptr<3> //@write
{FENCE} //@fence
gpu.barrier
scf.if %first {{
  {STORE_BOX} %A, %base, box[%c0_i32, %c0_i32] : !llvm.ptr, <3> //@store
  nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.wait_group 0 {{read}} //@waitread
  {EXPECT} %full, %c1024_i32 : !llvm.ptr<3>, i32
  {LOAD_BOX} %base, %A, %full, box[%c16_i32, %c0_i32] {{isCTAOnly = true}} : !llvm.ptr<3>, !llvm.ptr //@load
}}
{WAIT} %full, %c0_i32, {TICKS} //@waitfull
%w = llvm.load %others : !llvm.ptr<3> -> f32 //@read
llvm.store %w, %to : f32, !llvm.ptr<1>
""",
        BOXES,
    ),
    # What a bulk store wrote is read from device memory behind its wait.
    "readback": Kernel(
        64,
        1024,
        f"""
%wide = arith.muli %t, %c16 : index
%mine = shared %wide
%ones = arith.constant dense<1.0> : vector<4xf32>
llvm.store %ones, %mine : vector<4xf32>, !llvm.ptr<3>
{FENCE}
gpu.barrier
scf.if %first {{
  {STORE_BOX} %A, %base, box[%c0_i32, %c0_i32] : !llvm.ptr, <3> //@store
  nvvm.cp.async.bulk.commit.group //@commit
  nvvm.cp.async.bulk.wait_group 0 //@wait
}}
gpu.barrier //@barrier
%p = global %C[%t]
%v = llvm.load %p : !llvm.ptr<1> -> f32 //@read
llvm.store %v, %to : f32, !llvm.ptr<1>
""",
        (("A", "64x64xf32", "[16, 16]"), ("B", "1024xf32", None), ("C", "=A", None)),
    ),
    # Threads copy a factor, which the async proxy reads.
    "copiedproduct": Kernel(
        128,
        9216,
        f"""
%row = arith.muli %t, %c64 : index
%quads = arith.muli %t, %c16 : index
scf.for %i = %c0 to %c4 step %c1 {{
  %b = arith.muli %i, %c16 : index
  %here = arith.addi %row, %b : index
  %target = shared %here
  %n = arith.muli %i, %c4 : index
  %f = arith.addi %quads, %n : index
  %e = arith.remui %f, %c512 : index
  %source = global %A[%e]
  nvvm.cp.async.shared.global %target, %source, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1> //@copy
}}
%few = arith.cmpi ult, %t, %c64 : index
scf.if %few {{
  %b = arith.muli %t, %c16 : index
  %there = arith.addi %b, %c8192 : index
  %target = shared %there
  %f = arith.muli %t, %c4 : index
  %source = global %A[%f]
  nvvm.cp.async.shared.global %target, %source, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1> //@copyb
}}
nvvm.cp.async.commit.group //@commit
nvvm.cp.async.wait.group 0 //@wait
{FENCE} //@fence
gpu.barrier //@barrier
%b0 = llvm.ptrtoint %base : !llvm.ptr<3> to i32
%b1 = arith.shrui %b0, %c4_i32 : i32
%b2 = arith.extui %b1 : i32 to i64
%fixed = arith.constant 4611686293305360384 : i64
%da = arith.ori %b2, %fixed : i64
%step = arith.constant 512 : i64
%db = arith.addi %da, %step : i64
%zero = arith.constant dense<0.0> : vector<4xf32>
%p = tl.wgmma f16 n(8) %da, %db, %zero //@gemm
  acc_offsets([0, 0, 0, 0]) a_offsets([0, 2, 4, 6]) b_offsets([0, 2, 4, 6]) : vector<4xf32>
%done = tl.wgmma_wait 0 (%p : vector<4xf32>) //@gemmwait
%x = vector.extract %done[0] : f32 from vector<4xf32>
llvm.store %x, %to : f32, !llvm.ptr<1>
""",
    ),
    # The bytes are asked for behind the load that brings them.
    "lateexpect": Kernel(
        64,
        1088,
        SET_UP.replace("MBAR", "1024")
        + f"""
scf.if %first {{
  {LOAD_BOX} %base, %A, %full, box[%c0_i32, %c0_i32] {{isCTAOnly = true}} : !llvm.ptr<3>, !llvm.ptr //@load
  {EXPECT} %full, %c1024_i32 : !llvm.ptr<3>, i32 //@expect
}}
{WAIT} %full, %c0_i32, {TICKS} //@wait
%w = llvm.load %others : !llvm.ptr<3> -> f32 //@read
llvm.store %w, %to : f32, !llvm.ptr<1>
""",
        BOXES,
    ),
    # One warp multiplies what another one stored as matrices.
    "warpproduct": Kernel(
        64,
        1024,
        """
%l16 = arith.muli %lane, %c16 : index
%row = shared %l16
%one = arith.constant 1006648320 : i32
%v = vector.broadcast %one : i32 to vector<4xi32>
%fills = arith.cmpi ult, %t, %c32 : index
%multiplies = arith.cmpi uge, %t, %c32 : index
scf.if %fills { //@fillbranch
  tl.stmatrix %v, %row : vector<4xi32>, !llvm.ptr<3> //@write
}
gpu.barrier //@barrier
scf.if %multiplies { //@branch
  %a = tl.ldmatrix %row : !llvm.ptr<3> -> vector<4xi32> //@read
  %b = vector.extract_strided_slice %a {offsets = [0], sizes = [2], strides = [1]} : vector<4xi32> to vector<2xi32>
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %p = tl.mma f16 %a, %b, %zero : vector<4xi32>, vector<2xi32>, vector<4xf32> //@mma
  %x = vector.extract %p[0] : f32 from vector<4xf32>
  llvm.store %x, %to : f32, !llvm.ptr<1>
}
""",
    ),
    # Three warps hand rows on: one loads, one doubles, one stores.
    "chain": Kernel(
        96,
        544,
        ROWS
        + f"""
scf.if %first {{
  nvvm.mbarrier.init %ma, %c32_i32 : !llvm.ptr<3>, i32 //@inita
  nvvm.mbarrier.init %mb, %c32_i32 : !llvm.ptr<3>, i32 //@initb
  nvvm.mbarrier.init %mfa, %c32_i32 : !llvm.ptr<3>, i32 //@initfa
  nvvm.mbarrier.init %mfb, %c32_i32 : !llvm.ptr<3>, i32 //@initfb
}}
gpu.barrier
%l4 = arith.muli %lane, %c4 : index
%s1 = shared %l4
%back = arith.xori %l4, %c124 : index
%s1b = shared %back
%at2 = arith.addi %l4, %c256 : index
%s2 = shared %at2
%at2b = arith.addi %back, %c256 : index
%s2b = shared %at2b
%isa = arith.cmpi eq, %warp, %c0 : index
%isb = arith.cmpi eq, %warp, %c1 : index
%isc = arith.cmpi eq, %warp, %c2 : index
scf.if %isa {{
  scf.for %i = %c0 to %c4 step %c1 {{
    {PARITIES}
    {WAIT} %mfa, %before, {TICKS} //@waitfa
    %v = llvm.load %from : !llvm.ptr<1> -> f32
    llvm.store %v, %s1 : f32, !llvm.ptr<3> //@writea
    nvvm.mbarrier.arrive %ma : !llvm.ptr<3> //@tella
  }}
}}
scf.if %isb {{
  scf.for %i = %c0 to %c4 step %c1 {{
    {PARITIES}
    {WAIT} %ma, %parity, {TICKS} //@waita
    %x = llvm.load %s1b : !llvm.ptr<3> -> f32 //@reada
    nvvm.mbarrier.arrive %mfa : !llvm.ptr<3> //@freea
    {WAIT} %mfb, %before, {TICKS} //@waitfb
    %y = arith.addf %x, %x : f32
    llvm.store %y, %s2 : f32, !llvm.ptr<3> //@writeb
    nvvm.mbarrier.arrive %mb : !llvm.ptr<3> //@tellb
  }}
}}
scf.if %isc {{
  scf.for %i = %c0 to %c4 step %c1 {{
    {PARITIES}
    {WAIT} %mb, %parity, {TICKS} //@waitb
    %w = llvm.load %s2b : !llvm.ptr<3> -> f32 //@readb
    nvvm.mbarrier.arrive %mfb : !llvm.ptr<3> //@freeb
    llvm.store %w, %to : f32, !llvm.ptr<1>
  }}
}}
""",
    ),
    # Two pairs of warps, a barrier each.
    "pairs": Kernel(
        128,
        512,
        """
%pair = arith.divui %t, %c64 : index
%n = arith.addi %pair, %c1 : index //@number
%number = arith.index_cast %n : index to i32
%swapped = arith.xori %bytes, %c252 : index
%beside = shared %swapped
%v = llvm.load %from : !llvm.ptr<1> -> f32
llvm.store %v, %own : f32, !llvm.ptr<3> //@write
nvvm.barrier id = %number number_of_threads = %c64_i32 //@barrier
%w = llvm.load %beside : !llvm.ptr<3> -> f32 //@read
llvm.store %w, %to : f32, !llvm.ptr<1>
""",
    ),
    # A sum over a warp of which only some lanes store.
    "shuffled": Kernel(
        32,
        0,
        """
%v = llvm.load %from : !llvm.ptr<1> -> f32
%sixteen = arith.constant 16 : i32
%all = arith.constant 32 : i32
%few = arith.cmpi ult, %lane, %c16 : index
%x, %ok = gpu.shuffle xor %v, %sixteen, %all : f32 //@shuffle
scf.if %few {
  %s = arith.addf %v, %x : f32
  llvm.store %s, %to : f32, !llvm.ptr<1>
}
""",
    ),
    # Matrices of registers, through shared memory, to device memory by a bulk store.
    "matrixstore": Kernel(
        64,
        1024,
        f"""
%part = arith.muli %warp, %c512 : index
%l16 = arith.muli %lane, %c16 : index
%at = arith.addi %part, %l16 : index
%row = shared %at
%i = arith.index_cast %t : index to i32
%v = vector.broadcast %i : i32 to vector<4xi32>
tl.stmatrix %v, %row : vector<4xi32>, !llvm.ptr<3> //@write
{FENCE} //@fence
gpu.barrier //@barrier
scf.if %first {{
  {STORE_BOX} %A, %base, box[%c0_i32, %c0_i32] : !llvm.ptr, <3> //@store
  nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.wait_group 0 {{read}} //@wait
}}
""",
        (("A", "64x64xf32", "[16, 16]"),),
    ),
    # What copies by threads bring is read as matrices.
    "matrixload": Kernel(
        64,
        1024,
        """
%quads = arith.muli %t, %c4 : index
%source = global %A[%quads]
%wide = arith.muli %t, %c16 : index
%target = shared %wide
%part = arith.muli %warp, %c512 : index
%turned = arith.subi %c512, %part : index
%l16 = arith.muli %lane, %c16 : index
%at = arith.addi %turned, %l16 : index
%theirs = shared %at
nvvm.cp.async.shared.global %target, %source, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1> //@copy
nvvm.cp.async.commit.group //@commit
nvvm.cp.async.wait.group 0 //@wait
gpu.barrier //@barrier
%m = tl.ldmatrix %theirs : !llvm.ptr<3> -> vector<4xi32> //@read
%x = vector.extract %m[0] : i32 from vector<4xi32>
%y = arith.bitcast %x : i32 to f32
llvm.store %y, %to : f32, !llvm.ptr<1>
""",
    ),
    # Lanes of one warp give each other words, round by round.
    "lanes": Kernel(
        32,
        128,
        """
%v = llvm.load %from : !llvm.ptr<1> -> f32
%r = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %v) -> (f32) {
  llvm.store %x, %own : f32, !llvm.ptr<3> //@write
  nvvm.bar.warp.sync %c4294967295_i32 : i32 //@filled
  %w = llvm.load %others : !llvm.ptr<3> -> f32 //@read
  nvvm.bar.warp.sync %c4294967295_i32 : i32 //@emptied
  scf.yield %w : f32
}
llvm.store %r, %to : f32, !llvm.ptr<1>
""",
    ),
    # Two blocks add a box to the same place.
    "added": Kernel(
        64,
        1024,
        f"""
%wide = arith.muli %t, %c16 : index
%mine = shared %wide
%ones = arith.constant dense<1.0> : vector<4xf32>
llvm.store %ones, %mine : vector<4xf32>, !llvm.ptr<3> //@write
{FENCE} //@fence
gpu.barrier //@barrier
scf.if %first {{
  {ADD_BOX} //@store
  nvvm.cp.async.bulk.commit.group //@commit
  nvvm.cp.async.bulk.wait_group 0 {{read}} //@wait
}}
""",
        (("A", "64x64xf32", "[16, 16]"),),
        blocks=2,
    ),
    # Warps of a block take turns by a lock in shared memory.
    "sharedlock": Kernel(
        96,
        16,
        """
%lock = llvm.getelementptr %base[8] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
%zero = arith.constant 0 : i32
%one = arith.constant 1 : i32
scf.if %first {
  llvm.store %zero, %lock : i32, !llvm.ptr<3>
  llvm.store %zero, %base : i32, !llvm.ptr<3>
}
gpu.barrier
%leads = arith.cmpi eq, %lane, %c0 : index
scf.if %leads {
  scf.while : () -> () {
    %was = tl.atom compare_exchange %lock, %one expected(%zero) order(acquire) scope(block) : !llvm.ptr<3>, i32 //@lock
    %taken = arith.cmpi ne, %was, %zero : i32
    scf.condition(%taken)
  } do {
    scf.yield
  }
  %v = llvm.load %base : !llvm.ptr<3> -> i32 //@read
  %w = arith.addi %v, %one : i32
  llvm.store %w, %base : i32, !llvm.ptr<3> //@write
  %old = tl.atom exchange %lock, %zero order(release) scope(block) : !llvm.ptr<3>, i32 //@unlock
}
""",
    ),
    # Blocks add to a row, and the last one reads the sums, while others let each other know elsewhere.
    "sums": Kernel(
        64,
        64,
        """
%add = tl.atom add %from, %c1_i32 : !llvm.ptr<1>, i32 //@add
gpu.barrier //@barrier
scf.if %first {
  %beside = llvm.getelementptr %C[8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
  %other_count = tl.atom add %beside, %c1_i32 order(acquire) : !llvm.ptr<1>, i32
  %was = tl.atom add %C, %c1_i32 order(acq_rel) : !llvm.ptr<1>, i32 //@count
  llvm.store %was, %base : i32, !llvm.ptr<3>
}
gpu.barrier
%seen = llvm.load %base : !llvm.ptr<3> -> i32
%islast = arith.cmpi eq, %seen, %c0_i32 : i32
scf.if %islast {
  %sum = llvm.load %from : !llvm.ptr<1> -> i32 //@read
  llvm.store %sum, %to : i32, !llvm.ptr<1>
}
""",
        (("A", "1024xf32", None), ("B", "1024xf32", None), ("C", "4xi32", None)),
        blocks=3,
    ),
    # Warps add to one element, and the last one reads it.
    "warpsums": Kernel(
        128,
        16,
        """
%count = llvm.getelementptr %base[8] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
scf.if %first {
  llvm.store %c0_i32, %base : i32, !llvm.ptr<3>
  llvm.store %c0_i32, %count : i32, !llvm.ptr<3>
}
gpu.barrier
%leads = arith.cmpi eq, %lane, %c0 : index
scf.if %leads {
  %add = tl.atom add %base, %c1_i32 scope(block) : !llvm.ptr<3>, i32 //@add
  %was = tl.atom add %count, %c1_i32 order(acq_rel) scope(block) : !llvm.ptr<3>, i32 //@count
  %islast = arith.cmpi eq, %was, %c3_i32 : i32
  scf.if %islast {
    %sum = llvm.load %base : !llvm.ptr<3> -> i32 //@read
    llvm.store %sum, %B : i32, !llvm.ptr<1>
  }
}
""",
    ),
    # Blocks, and then warps of one, update words of 8 bytes.
    "words": Kernel(
        64,
        16,
        """
%block = gpu.block_id x
%one = arith.constant 1 : i64
%isfirst = arith.cmpi eq, %block, %c0 : index
scf.if %isfirst {
  %early = tl.atom add %A, %one : !llvm.ptr<1>, i64 //@early
} else {
  %late = tl.atom add %A, %one : !llvm.ptr<1>, i64 //@late
}
scf.if %first {
  %none = arith.constant 0 : i64
  llvm.store %none, %base : i64, !llvm.ptr<3>
}
gpu.barrier
%low = arith.cmpi eq, %warp, %c0 : index
scf.if %low {
  %mine = tl.atom add %base, %one : !llvm.ptr<3>, i64 //@mine
} else {
  %theirs = tl.atom add %base, %one : !llvm.ptr<3>, i64 //@theirs
}
""",
        blocks=2,
    ),
    # One block tells a thread of the other that it has begun, whose threads that do not wait are done before.
    "told": Kernel(
        64,
        8,
        """
%block = gpu.block_id x
scf.if %first {
  nvvm.mbarrier.init %base, %c1_i32 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
}
nvvm.cluster.arrive
nvvm.cluster.wait
%there = nvvm.mapa %base, %c1_i32 : !llvm.ptr<3> -> !llvm.ptr<7>
%tells = arith.cmpi eq, %block, %c0 : index
scf.if %first {
  scf.if %tells {
    nvvm.mbarrier.arrive %there : !llvm.ptr<7> //@arrive
  } else {
    nvvm.mbarrier.try_wait.parity %base, %c0_i32, %c10000000_i32 : !llvm.ptr<3>, i32, i32 //@wait
  }
}
scf.if %tells {
  nvvm.cluster.arrive
  nvvm.cluster.wait //@meet
}
""",
        blocks=2,
        launch="cluster(2)",
    ),
    # A block updates what another one released, and a third one acquires that.
    "update": Kernel(
        32,
        0,
        """
%block = gpu.block_id x
%gives = arith.cmpi eq, %block, %c0 : index
%adds = arith.cmpi eq, %block, %c1 : index
%takes = arith.cmpi eq, %block, %c2 : index
scf.if %first {
  scf.if %gives {
    %v = arith.sitofp %c7_i32 : i32 to f32
    llvm.store %v, %from : f32, !llvm.ptr<1> //@write
    %old = tl.atom exchange %C, %c77_i32 order(release) : !llvm.ptr<1>, i32 //@tell
  }
  scf.if %adds {
    scf.while : () -> () {
      %told = tl.atom load %C : !llvm.ptr<1>, i32
      %told_more = arith.cmpi ne, %told, %c77_i32 : i32
      scf.condition(%told_more)
    } do {
      scf.yield
    }
    %sum = tl.atom add %C, %c1_i32 : !llvm.ptr<1>, i32 //@add
  }
  scf.if %takes {
    scf.while : () -> () {
      %seen = tl.atom load %C order(acquire) : !llvm.ptr<1>, i32 //@look
      %seen_more = arith.cmpi ne, %seen, %c78_i32 : i32
      scf.condition(%seen_more)
    } do {
      scf.yield
    }
    %w = llvm.load %from : !llvm.ptr<1> -> f32 //@read
    llvm.store %w, %to : f32, !llvm.ptr<1>
  }
}
""",
        (("A", "1024xf32", None), ("B", "1024xf32", None), ("C", "4xi32", None)),
        blocks=3,
    ),
    # Threads and blocks read one element, some by an atomic load.
    "atomicread": Kernel(
        64,
        8,
        """
scf.if %first {
  llvm.store %c7_i32, %base : i32, !llvm.ptr<3>
}
gpu.barrier
%block = gpu.block_id x
%isfirst = arith.cmpi eq, %block, %c0 : index
%islow = arith.cmpi eq, %warp, %c0 : index
%atomic = arith.andi %isfirst, %islow : i1
scf.if %atomic {
  %v = tl.atom load %A order(acquire) : !llvm.ptr<1>, i32 //@seen
  %w = tl.atom load %base order(acquire) scope(block) : !llvm.ptr<3>, i32 //@look
} else {
  %v = llvm.load %A : !llvm.ptr<1> -> i32 //@read
  %w = llvm.load %base : !llvm.ptr<3> -> i32 //@lookup
}
""",
        blocks=2,
    ),
}


@dataclass
class Mutant:
    kernel: str
    """What becomes of lines, by name: nothing, or an old text and a new one."""
    edits: dict[str, tuple[str, str] | None]
    kind: str
    at: str
    other: str | None = None


def cut(kernel: str, line: str, kind: str, at: str, other: str | None = None) -> Mutant:
    return Mutant(kernel, {line: None}, kind, at, other)


def change(kernel: str, line: str, old: str, new: str, kind: str, at: str, other: str | None = None) -> Mutant:
    return Mutant(kernel, {line: (old, new)}, kind, at, other)


# What two of four warps do by themselves, and a factor that each warp has another one of.
HALF_A_WAIT = "%some = arith.cmpi ult, %warp, %c2 : index scf.if %some { tl.wgmma_wait 0 }"
HALF_A_PRODUCT = HALF_A_WAIT.replace(
    "{",
    "{ %odd = tl.wgmma f16 n(8) %da, %db, %zero acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xf32>",
).replace("tl.wgmma_wait 0", "%sums = tl.wgmma_wait 0 (%odd : vector<4xf32>)")
OWN_FACTOR = (
    "%w = arith.index_cast %warp : index to i64 %own_step = arith.addi %step, %w : i64 %db = arith.addi %da, %own_step"
)

# A product that each round adds to, and looks at what it carries, which is still under way.
IN_ROUNDS = (
    "%sums = scf.for %i = %c0 to %c2 step %c1 iter_args(%sum = %zero) -> (vector<4xf32>) { "
    "%seen = arith.negf %sum : vector<4xf32> "
    "%next = tl.wgmma f16 n(8) %da, %db, %sum acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xf32> "
    "scf.yield %next : vector<4xf32> } %all = tl.wgmma_wait 0 (%sums : vector<4xf32>)"
)

MUTANTS = [
    cut("cluster", "waitempty", "barrier", "expect"),
    cut("cluster", "waitfull", "uninitialized", "read"),
    cut("cluster", "sync", "race", "load", "read"),
    cut("cluster", "arrive", "deadlock", "waitempty"),
    cut("cluster", "expect", "deadlock", "waitempty", "waitfull"),
    cut("cluster", "initfence", "missing fence", "load", "full"),
    cut("cluster", "begun", "barrier", "waitfull"),
    cut("cluster", "begin", "barrier", "begun"),
    change("cluster", "waitempty", "%before", "%parity", "deadlock", "waitempty"),
    change("cluster", "mask", "3", "1", "deadlock", "waitempty", "waitfull"),
    change("cluster", "mask", "3", "7", "out of bounds", "load"),
    change("cluster", "empty", "%c2_i32", "%c3_i32", "deadlock", "waitempty"),
    change("cluster", "empty", "%c2_i32", "%c1_i32", "barrier", "expect"),
    change("cluster", "lanes", "%c2", "%c1", "deadlock", "waitempty"),
    change("cluster", "lanes", "%c2", "%c3", "out of bounds", "arrive"),
    Mutant("cluster", {"begin": ("nvvm.cluster.arrive", "gpu.barrier"), "begun": None}, "race", "load", "full"),
    Mutant("cluster", {"end": None, "ended": None}, "out of bounds", "arrive"),
    cut("cluster", "ended", "out of bounds", "arrive"),
    Mutant("reach", {"given": None, "came": None}, "race", "take", "give"),
    Mutant("reach", {"kept": None, "ready": None}, "race", "fetch", "keep"),
    Mutant("reach", {"end": None, "ended": None}, "out of bounds", "fetch"),
    cut("reach", "came", "barrier", "kept"),
    cut("reach", "given", "barrier", "came"),
    change("reach", "rank", "arith.xori", "arith.addi", "out of bounds", "give"),
    cut("exchange", "barrier", "race", "read", "write"),
    cut("exchange", "write", "uninitialized", "read"),
    change("exchange", "barrier", "gpu.barrier", "scf.if %first { gpu.barrier }", "divergence", "barrier"),
    change("exchange", "write", "%own", "%base", "race", "write", "write"),
    change("exchange", "out", "%to", "%B", "race", "out", "out"),
    cut("again", "filled", "race", "read", "write"),
    cut("again", "emptied", "race", "read", "write"),
    cut("tell", "sync", "race", "overwrite", "read"),
    cut("tell", "arrive", "deadlock", "wait"),
    cut("turns", "pass", "deadlock", "take"),
    cut("registers", "less", "deadlock", "more"),
    change("registers", "less", "decrease 24", "decrease 32", "deadlock", "more"),
    change("registers", "more", "increase 240", "increase 160", "unsupported", "more"),
    cut("tell", "wait", "race", "read", "overwrite"),
    cut("tell", "init", "barrier", "wait"),
    change("tell", "init", "%c1_i32", "%c2_i32", "deadlock", "wait"),
    change(
        "tell",
        "sync",
        "nvvm.bar.warp.sync %c4294967295_i32 : i32",
        "%some = arith.cmpi ult, %lane, %c4 : index scf.if %some { nvvm.bar.warp.sync %c4294967295_i32 : i32 }",
        "divergence",
        "sync",
    ),
    change("tell", "sync", "%c4294967295_i32", "%c1_i32", "divergence", "sync"),
    cut("warps", "barrier", "race", "read", "write"),
    change("warps", "barrier", "%c32_i32", "%c64_i32", "deadlock", "barrier"),
    change("warps", "read", "%beside", "%others", "race", "read", "write"),
    cut("half", "barrier", "race", "read", "write"),
    change("half", "barrier", "%c64_i32", "%c128_i32", "deadlock", "barrier"),
    change("half", "barrier", "%c64_i32", "%c32_i32", "race", "read", "write"),
    change(
        "half",
        "barrier",
        "nvvm.barrier id = %c1_i32 number_of_threads = %c64_i32",
        "gpu.barrier",
        "deadlock",
        "barrier",
    ),
    cut("broadcast", "barrier", "race", "read", "write"),
    cut("broadcast", "write", "uninitialized", "read"),
    Mutant("broadcast", {"end": None, "barrier": ("gpu.barrier", "gpu.barrier }")}, "divergence", "barrier"),
    change("copies", "load", "%p", "%from", "race", "write", "write"),
    cut("tree", "first", "uninitialized", "far"),
    cut("tree", "round", "race", "far", "sum"),
    change("tree", "near", "%own", "%base", "race", "sum", "near"),
    cut("copy", "wait", "race", "read", "copy"),
    cut("copy", "barrier", "race", "read", "copy"),
    cut("copy", "commit", "race", "read", "copy"),
    change("copy", "wait", "0", "1", "race", "read", "copy"),
    Mutant(
        "copy",
        {
            "wait": ("nvvm.cp.async.wait.group 0", "gpu.barrier"),
            "barrier": ("gpu.barrier", "nvvm.cp.async.wait.group 0"),
        },
        "race",
        "read",
        "copy",
    ),
    change("copy", "copy", "%target", "%own", "misaligned", "copy"),
    cut("copyring", "wait", "race", "read", "ahead"),
    change("copyring", "wait", "1", "2", "race", "read", "ahead"),
    cut("copyring", "filled", "race", "read", "ahead"),
    cut("copyring", "emptied", "race", "copy", "read"),
    cut("copyring", "commit", "race", "read", "ahead"),
    cut("copyring", "rest", "race", "copy"),
    change("copyring", "slot", "%i", "%j", "race", "read", "copy"),
    cut("load", "initbarrier", "race", "wait", "init"),
    cut("load", "initfence", "missing fence", "load", "init"),
    cut("load", "init", "barrier", "expect"),
    cut("load", "expect", "deadlock", "wait"),
    cut("load", "load", "deadlock", "wait"),
    cut("load", "wait", "race", "read", "load"),
    change("load", "wait", "%c0_i32", "%c1_i32", "race", "read", "load"),
    change("load", "expect", "%c1024_i32", "%c512_i32", "barrier", "expect"),
    change("load", "expect", "%c1024_i32", "%c2048_i32", "deadlock", "wait"),
    change("load", "init", "%c1_i32", "%c2_i32", "deadlock", "wait"),
    change("load", "load", "%base", "%others", "misaligned", "load"),
    change("load", "read", "%others", "%full", "barrier", "read", "init"),
    cut("loadring", "emptied", "race", "load", "read"),
    cut("loadring", "wait", "race", "read", "load0"),
    cut("loadring", "expect", "deadlock", "wait"),
    change("loadring", "wait", "%parity", "%c0_i32", "race", "read", "load"),
    change("loadring", "wait", "%parity", "%c1_i32", "race", "read", "load0"),
    change("loadring", "load", "%target", "%base", "race", "load", "load"),
    change("loadring", "load1", "%full1", "%full0", "barrier", "expect0"),
    change("loadring", "second", "2056", "2052", "misaligned", "init1"),
    change("loadring", "slot", "remui %i, %c2", "addi %c0, %c0", "race", "read", "load"),
    cut("roles", "waitempty", "barrier", "expect"),
    cut("roles", "waitfull", "race", "read", "load"),
    cut("roles", "release", "deadlock", "waitempty"),
    change("roles", "before", "%c1", "%c0", "deadlock", "waitempty"),
    change("roles", "whichempty", "%b,", "%c0,", "barrier", "expect"),
    change("roles", "initempty", "%c32_i32", "%c16_i32", "race", "load", "read"),
    change("roles", "initempty", "%c32_i32", "%c64_i32", "deadlock", "waitempty"),
    change(
        "roles",
        "late",
        "arith.addf %early, %zero : f32",
        "llvm.load %theirs : !llvm.ptr<3> -> f32",
        "race",
        "load",
        "late",
    ),
    cut("store", "fence", "missing fence", "store", "write"),
    cut("store", "barrier", "race", "store", "write"),
    Mutant("store", {"fence": ("nvvm", "gpu.barrier nvvm"), "barrier": None}, "missing fence", "store", "write"),
    cut("store", "wait", "race", "next", "store"),
    cut("store", "commit", "race", "next", "store"),
    cut("store", "emptied", "race", "next", "store"),
    cut("store", "write", "uninitialized", "store"),
    change("store", "write", "%mine", "%own", "misaligned", "write"),
    cut("gemm", "wait", "race", "gemm", "loada"),
    cut("gemm", "emptied", "race", "reuse", "gemm"),
    change("gemm", "gemmwait", "0 (", "1 (", "in flight", "gemmwait", "gemm"),
    cut("gemm", "loadb", "deadlock", "wait"),
    change("gemm", "expect", "%c9216_i32", "%c8192_i32", "barrier", "expect"),
    change("gemm", "descriptor", "512", "576", "out of bounds", "gemm"),
    change("gemm", "descriptor", "512", "520", "misaligned", "gemm"),
    change("gemm", "layout", "4611686293305360384", "4611686293305360392", "misaligned", "gemm"),
    change("registerproduct", "layout", "4611686293305360384", "4611686293305360392", "misaligned", "gemm"),
    cut("registerproduct", "fence", "missing fence", "gemm"),
    change(
        "registerproduct",
        "gemmwait",
        "%done, %kept = tl.wgmma_wait 0 (%p, %held : vector<4xf32>, vector<8xf16>)",
        "%done = tl.wgmma_wait 0 (%p : vector<4xf32>)",
        "in flight",
        "gemmwait",
        "gemm",
    ),
    # The next A is of the same op, and not the registers that the product reads.
    change(
        "registerrounds",
        "gemmwait",
        "%done, %x, %kept = tl.wgmma_wait 0 (%p, %next, %held : vector<4xf32>, vector<8xf32>, vector<8xf16>)",
        "%done, %x = tl.wgmma_wait 0 (%p, %next : vector<4xf32>, vector<8xf32>)",
        "in flight",
        "gemmwait",
        "gemm",
    ),
    # Nor are they those of the last product.
    change(
        "registerlast",
        "gemmwait",
        "%done, %x, %kept = tl.wgmma_wait 0 (%p, %next, %held : vector<4xf32>, vector<8xf32>, vector<8xf16>)",
        "%done, %x = tl.wgmma_wait 0 (%p, %next : vector<4xf32>, vector<8xf32>)",
        "in flight",
        "gemmwait",
        "gemm",
    ),
    change(
        "registerlast",
        "lastwait",
        "%all, %also = tl.wgmma_wait 0 (%q, %end : vector<4xf32>, vector<8xf16>)",
        "%all = tl.wgmma_wait 0 (%q : vector<4xf32>)",
        "in flight",
        "lastwait",
        "lastgemm",
    ),
    cut("ownproduct", "fence", "missing fence", "gemm", "writea"),
    cut("ownproduct", "barrier", "race", "gemm", "writea"),
    cut("ownproduct", "writeb", "uninitialized", "gemm"),
    # The result is looked at without a wait, in front of it, and behind it by another name than the wait gave it.
    Mutant("ownproduct", {"gemmwait": None, "use": ("%done", "%p")}, "in flight", "use", "gemm"),
    change(
        "ownproduct",
        "gemmwait",
        "%done =",
        "%q = arith.negf %p : vector<4xf32> %done =",
        "in flight",
        "gemmwait",
        "gemm",
    ),
    change("ownproduct", "use", "%done", "%p", "in flight", "use", "gemm"),
    change("ownproduct", "gemmwait", "%done =", f"{IN_ROUNDS} %done =", "in flight", "gemmwait", "gemmwait"),
    # Two of the four warps multiply once more, in front of what all do and behind it.
    change("ownproduct", "gemm", "%p =", f"{HALF_A_PRODUCT} %p =", "divergence", "gemm"),
    change("ownproduct", "last", "%out = global", f"{HALF_A_PRODUCT} %out = global", "divergence", "last"),
    # They wait once more, or multiply by another factor.
    change("ownproduct", "last", "%out = global", HALF_A_WAIT + " %out = global", "divergence", "last"),
    change("ownproduct", "factor", "%db = arith.addi %da, %step", OWN_FACTOR, "divergence", "gemm", "gemm"),
    cut("matrix", "barrier", "race", "read", "write"),
    change("matrix", "read", "%theirs", "%own", "misaligned", "read"),
    cut("device", "barrier", "race", "read", "write"),
    change("device", "place", "%t", "%c5", "race", "out", "out"),
    change("device", "place", "%t", "%last", "race", "out", "out"),
    change("blocks", "begin", "%block", "%c0", "race", "write", "write"),
    change("blocks", "begin", "%c64", "%c32", "race", "write", "write"),
    change("blocks", "begin", "%c64", "%c512", "out of bounds", "read"),
    change("mailbox", "tell", "order(release)", "order(relaxed)", "race", "read", "write"),
    change("mailbox", "look", "order(acquire)", "order(relaxed)", "race", "read", "write"),
    cut("mailbox", "sync", "race", "read", "write"),
    change(
        "mailbox",
        "tell",
        "%was = tl.atom exchange %flag, %c1_i32 order(release) scope(block) : !llvm.ptr<3>, i32",
        "llvm.store %c1_i32, %flag : i32, !llvm.ptr<3>",
        "race",
        "look",
        "tell",
    ),
    cut("lastwarp", "clear", "uninitialized", "count"),
    change("lastwarp", "count", "order(acq_rel)", "order(release)", "race", "read", "write"),
    change("lastwarp", "count", "order(acq_rel)", "order(acquire)", "race", "read", "write"),
    change("lastblock", "count", "order(acq_rel)", "order(relaxed)", "race", "read", "write"),
    change("lastblock", "count", "order(acq_rel)", "order(acquire)", "race", "read", "write"),
    change("lastblock", "count", "order(acq_rel)", "order(release)", "race", "read", "write"),
    cut("lastblock", "barrier", "race", "read", "write"),
    change("lastblock", "count", "order(acq_rel)", "order(acq_rel) scope(block)", "race", "count", "count"),
    change("lock", "lock", "order(acquire)", "order(relaxed)", "race", "read", "write"),
    change("lock", "unlock", "order(release)", "order(relaxed)", "race", "read", "write"),
    change("lock", "unlock", "order(release)", "order(release) scope(block)", "race", "lock", "unlock"),
    cut("neighbours", "written", "race", "read", "write"),
    cut("neighbours", "looked", "race", "write", "read"),
    change("neighbours", "look", "order(acquire)", "order(relaxed)", "race", "read", "write"),
    change("neighbours", "tell", "order(release)", "order(release) scope(block)", "race", "read", "write"),
    change("neighbours", "look", "order(acquire)", "order(acquire) scope(block)", "race", "read", "write"),
    Mutant("relay", {"given": None, "givento": None}, "race", "read", "write"),
    Mutant("relay", {"seen": None, "seenby": None}, "race", "read", "write"),
    change("relay", "tell", "order(release)", "order(relaxed)", "race", "read", "write"),
    change("relay", "look", "order(acquire)", "order(relaxed)", "race", "read", "write"),
    change("relay", "tell", "order(release)", "order(release) scope(block)", "race", "read", "write"),
    change(
        "tickets",
        "take",
        "%was = tl.atom add %C, %c1_i32 : !llvm.ptr<1>, i32",
        "%was = llvm.load %C : !llvm.ptr<1> -> i32 %next = arith.addi %was, %c1_i32 : i32 "
        "llvm.store %next, %C : i32, !llvm.ptr<1>",
        "race",
        "take",
        "take",
    ),
    cut("dependent", "wait", "race", "read"),
    cut("dependent", "barrier", "race", "read"),
    Mutant("dependent", {"wait": None, "write": ("llvm", "nvvm.griddepcontrol wait llvm")}, "race", "read"),
    cut("dependentcluster", "wait", "race", "read"),
    Mutant("dependentcluster", {"waited": None, "known": None}, "race", "read"),
    cut("dependentload", "wait", "race", "load"),
    cut("pingpong", "waitempty", "deadlock", "waitfull"),
    cut("pingpong", "waitfull", "race", "write", "read"),
    cut("pingpong", "tellempty", "deadlock", "waitempty"),
    change("pingpong", "tellfull", "%c1_i32", "%c2_i32", "deadlock", "waitfull"),
    change("pingpong", "waitempty", "%c64_i32", "%c96_i32", "barrier", "start"),
    cut("reload", "waitread", "race", "load", "store"),
    cut("reload", "fence", "missing fence", "store", "write"),
    cut("readback", "wait", "race", "read", "store"),
    change("readback", "wait", "wait_group 0", "wait_group 0 {read}", "race", "read", "store"),
    cut("readback", "barrier", "race", "read", "store"),
    cut("copiedproduct", "fence", "missing fence", "gemm", "copy"),
    cut("copiedproduct", "wait", "race", "gemm", "copy"),
    cut("copiedproduct", "barrier", "race", "gemm", "copy"),
    cut("copiedproduct", "copyb", "uninitialized", "gemm"),
    cut("lateexpect", "expect", "deadlock", "wait"),
    change("lateexpect", "expect", "%c1024_i32", "%c512_i32", "barrier", "expect"),
    cut("warpproduct", "barrier", "race", "read", "write"),
    change(
        "warpproduct",
        "branch",
        "scf.if %multiplies {",
        "%half = arith.cmpi uge, %t, %c48 : index scf.if %half {",
        "divergence",
        "read",
    ),
    cut("warpproduct", "write", "uninitialized", "read"),
    cut("chain", "tellb", "deadlock", "waitfa", "waitb"),
    cut("chain", "freea", "deadlock", "waitfa", "waita"),
    cut("chain", "waita", "race", "reada", "writea"),
    cut("chain", "waitfb", "deadlock", "waitb"),
    Mutant(
        "chain",
        {"waita": ("nvvm", "nvvm.mbarrier.arrive %mfa : !llvm.ptr<3> nvvm"), "freea": None},
        "race",
        "reada",
        "writea",
    ),
    change("chain", "initb", "%c32_i32", "%c31_i32", "race", "readb", "writeb"),
    change("chain", "waitfa", "%before", "%parity", "deadlock", "waitfa"),
    change("chain", "waitfb", "%mfb", "%mfa", "deadlock", "waitfa", "waitb"),
    change("chain", "tella", "%ma", "%mb", "deadlock", "waitfa", "waita"),
    Mutant(
        "chain",
        {"writea": ("llvm", "nvvm.mbarrier.arrive %ma : !llvm.ptr<3> llvm"), "tella": None},
        "race",
        "reada",
        "writea",
    ),
    change("pairs", "number", "%pair, %c1", "%c1, %c1", "race", "read", "write"),
    change("pairs", "number", "%pair, %c1", "%warp, %c1", "deadlock", "barrier"),
    change("pairs", "barrier", "%c64_i32", "%c96_i32", "deadlock", "barrier"),
    change(
        "shuffled",
        "shuffle",
        "%x, %ok = gpu.shuffle xor %v, %sixteen, %all : f32",
        "%x = scf.if %few -> (f32) { %y, %ok = gpu.shuffle xor %v, %sixteen, %all : f32 scf.yield %y : f32 } "
        "else { scf.yield %v : f32 }",
        "divergence",
        "shuffle",
    ),
    cut("matrixstore", "fence", "missing fence", "store", "write"),
    cut("matrixstore", "barrier", "race", "store", "write"),
    cut("matrixstore", "wait", "race", "store"),
    cut("matrixstore", "write", "uninitialized", "store"),
    cut("matrixload", "wait", "race", "read", "copy"),
    cut("matrixload", "barrier", "race", "read", "copy"),
    change("matrixload", "commit", "nvvm.cp.async.commit.group", "gpu.barrier", "race", "read", "copy"),
    change("matrixload", "copy", "%source, 16", "%from, 16", "misaligned", "copy"),
    cut("lanes", "filled", "race", "read", "write"),
    cut("lanes", "emptied", "race", "write", "read"),
    change(
        "added",
        "store",
        ADD_BOX,
        STORE_BOX + " %A, %base, box[%c0_i32, %c0_i32] : !llvm.ptr, <3>",
        "race",
        "store",
        "store",
    ),
    cut("added", "fence", "missing fence", "store", "write"),
    cut("sharedlock", "unlock", "deadlock", "lock"),
    change("sharedlock", "unlock", "order(release)", "order(relaxed)", "race", "read", "write"),
    change("sharedlock", "lock", "order(acquire)", "order(relaxed)", "race", "read", "write"),
    change("sharedlock", "unlock", "exchange %lock", "exchange %base", "deadlock", "lock"),
    cut("sums", "barrier", "race", "read", "add"),
    change("sums", "count", "order(acq_rel)", "order(relaxed)", "race", "read", "add"),
    change("warpsums", "count", "order(acq_rel)", "order(relaxed)", "race", "read", "add"),
    change("warpsums", "count", "order(acq_rel)", "order(release)", "race", "read", "add"),
    change(
        "words",
        "late",
        "add %A, %one : !llvm.ptr<1>, i64",
        "add %A, %c1_i32 : !llvm.ptr<1>, i32",
        "race",
        "late",
        "early",
    ),
    change(
        "words",
        "theirs",
        "add %base, %one : !llvm.ptr<3>, i64",
        "add %base, %c1_i32 : !llvm.ptr<3>, i32",
        "race",
        "theirs",
        "mine",
    ),
    cut("told", "arrive", "deadlock", "meet", "wait"),
    change("update", "add", "add %C, %c1_i32", "exchange %C, %c78_i32", "race", "read", "write"),
    change("update", "look", "order(acquire)", "order(relaxed)", "race", "read", "write"),
    change("atomicread", "seen", "load %A", "exchange %A, %c1_i32", "race", "read", "seen"),
    change("atomicread", "look", "load %base", "exchange %base, %c1_i32", "race", "lookup", "look"),
    change(
        "atomicread",
        "read",
        "%v = llvm.load %A : !llvm.ptr<1> -> i32",
        "llvm.store %c1_i32, %A : i32, !llvm.ptr<1>",
        "race",
        "read",
        "seen",
    ),
    change(
        "atomicread",
        "lookup",
        "%w = llvm.load %base : !llvm.ptr<3> -> i32",
        "llvm.store %c1_i32, %base : i32, !llvm.ptr<3>",
        "race",
        "lookup",
        "look",
    ),
]

NAME = re.compile(r"\s*//@(\w+)\s*$")


def apply(body: list[str], edits: dict[str, tuple[str, str] | None]) -> list[str]:
    lines: list[str] = []
    done: set[str] = set()
    for line in body:
        name = NAME.search(line)
        if name and name[1] in edits:
            done.add(name[1])
            edit = edits[name[1]]
            text = line[: name.start()]
            if edit is None:
                text = ""
            elif edit[0] not in text:
                sys.exit(f"no `{edit[0]}` in `{text}`")
            else:
                text = text.replace(edit[0], edit[1], 1)
            line = text + name[0]
        lines.append(line)
    if done != set(edits):
        sys.exit(f"no line {set(edits) - done}")
    return lines


def expand(line: str) -> str:
    line = re.sub(
        r"(%\w+) = shared (%\w+)",
        r"\1_ = arith.index_cast \2 : index to i32 "
        r"\1 = llvm.getelementptr %base[\1_] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8",
        line,
    )
    return re.sub(
        r"(%\w+) = global (%\w+)\[(%\w+)\]",
        r"\1_ = arith.index_cast \3 : index to i64 "
        r"\1 = llvm.getelementptr \2[\1_] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32",
        line,
    )


def write(symbol: str, kernel: Kernel, edits: dict[str, tuple[str, str] | None]) -> list[str]:
    """The function that launches a kernel, and the kernel."""
    prologue = THREADS.replace("LAST", str(kernel.threads - 1))
    has_base = {name for name, _, box in kernel.parameters if box is None}
    body = [
        line
        for line in prologue.strip().splitlines()
        if not (line.startswith("%from") and "A" not in has_base)
        and not (line.startswith("%to") and "B" not in has_base)
    ]
    body = [expand(line) for line in apply(body + kernel.body.strip().splitlines(), edits)]
    text = "\n".join(body)
    constants = [
        f"{name} = arith.constant {name[2:]} : index" for name in sorted(set(re.findall(r"%c\d+\b(?!_)", text)))
    ]
    constants += [
        f"{name} = arith.constant {name[2:-4]} : i32" for name in sorted(set(re.findall(r"%c\d+_i32\b", text)))
    ]
    parameters: list[str] = []
    numbers = {name: number for number, (name, _, _) in enumerate(kernel.parameters)}
    for name, tensor, box in kernel.parameters:
        number = numbers[tensor.removeprefix("=")] if tensor.startswith("=") else numbers[name]
        element = tensor.split("x")[-1]
        swizzle = ", swizzle = 128" if element == "f16" else ""
        parameters.append(
            f"%{name}: !llvm.ptr<1> {{tl.param = #tl.param<base, {number}>}}"
            if box is None
            else f"%{name}: !llvm.ptr {{tl.param = #tl.param<tensor_map, {number}, box = {box}{swizzle}, "
            f"type = {element}>}}"
        )
    tensors = [tensor for _, tensor, _ in kernel.parameters if not tensor.startswith("=")]
    types = ", ".join(f"memref<{tensor}>" for tensor in tensors)
    arguments = ", ".join(f"%a{i}" for i in range(len(tensors)))
    declared = ", ".join(f"%a{i}: memref<{tensor}>" for i, tensor in enumerate(tensors))
    return [
        f"func.func @{symbol}({declared}) {{",
        f"  %n = arith.constant {kernel.blocks} : index",
        f"  tl.launch @{symbol}_module::@{symbol} blocks(%n) threads({kernel.threads}) {kernel.launch} "
        f"args({arguments} : {types})",
        "  return",
        "}",
        f'gpu.module @{symbol}_module attributes {{tl.target = #tl.target<chip = "sm_90a">}} {{',
        f"gpu.func @{symbol}({', '.join(parameters)}) kernel attributes {{known_block_size = array<i32: "
        f"{kernel.threads}, 1, 1>, tl.shared = {kernel.shared} : i64}} {{",
        *constants,
        *body,
        "gpu.return",
        "}",
        "}",
    ]


def main() -> None:
    lines: list[str] = []
    ranges: list[tuple[int, int, str, Mutant | None]] = []
    entries: list[tuple[str, str, Mutant | None]] = [(name, f"good_{name}", None) for name in KERNELS]
    entries += [(mutant.kernel, f"broken_{i}_{mutant.kernel}", mutant) for i, mutant in enumerate(MUTANTS)]
    for name, symbol, mutant in entries:
        begin = len(lines) + 1
        lines += write(symbol, KERNELS[name], mutant.edits if mutant else {})
        ranges.append((begin, len(lines), symbol, mutant))
    text = "\n".join(lines) + "\n"
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w") as file:
            file.write(text)
    result = subprocess.run(
        [sys.argv[1], "-", "--tl-simulate-launches=seeds=8", "-o", "/dev/null"],
        input=text,
        capture_output=True,
        text=True,
    )
    # Of each report: line, kind, and the lines of its notes.
    reports: list[tuple[int, str, list[int]]] = []
    for match in re.finditer(r"^<stdin>:(\d+):\d+: (error|note): (.*)$", result.stderr, re.MULTILINE):
        if match[2] == "error":
            reports.append((int(match[1]), match[3].split(":")[0], []))
        elif reports and "see current operation" not in match[3]:
            reports[-1][2].append(int(match[1]))
    wrong = 0
    for begin, end, symbol, mutant in ranges:
        named = {match[1]: i + 1 for i in range(begin - 1, end) if (match := NAME.search(lines[i]))}
        own = [report for report in reports if begin <= report[0] <= end]
        if mutant is None:
            is_right = not own
        else:
            is_right = any(
                line == named[mutant.at]
                and kind == mutant.kind
                and (mutant.other is None or named[mutant.other] in notes)
                for line, kind, notes in own
            )
        if not is_right:
            wrong += 1
            names = {line: name for name, line in named.items()}
            found = [
                (kind, names.get(line, line), [names.get(note, note) for note in notes]) for line, kind, notes in own
            ]
            print(
                f"{symbol}: expected {mutant and (mutant.edits, mutant.kind, mutant.at, mutant.other)}, found {found}"
            )
    if not reports:
        print(result.stderr)
    print(f"{len(MUTANTS)} broken kernels, {len(KERNELS)} good ones, {wrong} not as they should be")


main()
