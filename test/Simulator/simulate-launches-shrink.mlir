// RUN: tl-opt %s --tl-simulate-launches="seeds=8 shrink=true" --split-input-file --verify-diagnostics -o /dev/null

// The lower warp waits for the phase before the first, which is over as long as the first is not. It takes one decision
// to let the upper warp, which ends the first one, go ahead.
func.func @late(%a: memref<64xi32>) {
  %blocks = arith.constant 1 : index
  // expected-note-re @below {{the shortest schedule of block (0, 0, 0) that fails has 1 of {{[0-9]+}} decisions that are not the default:{{.}}  of the warps that can go on, the last one does}}
  tl.launch @k::@late blocks(%blocks) threads(64) args(%a : memref<64xi32>)
  return
}
gpu.module @k attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @late(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 64, 1, 1>, tl.shared = 1024 : i64} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %one = arith.constant 1 : i32
    %arrivals = arith.constant 32 : i32
    %ticks = arith.constant 10000000 : i32
    %t = gpu.thread_id x
    %mbarrier = tl.shared_base : <3>
    %first = arith.cmpi eq, %t, %c0 : index
    %low = arith.cmpi ult, %t, %c32 : index
    %high = arith.cmpi uge, %t, %c32 : index
    scf.if %first {
      nvvm.mbarrier.init %mbarrier, %arrivals : !llvm.ptr<3>, i32
      nvvm.fence.mbarrier.init
    }
    gpu.barrier
    scf.if %low {
      // expected-error @below {{deadlock: block (0, 0, 0), warp 0 waits for a phase of parity 1 of the mbarrier at byte 0 of shared memory, which is in phase 1}}
      nvvm.mbarrier.try_wait.parity %mbarrier, %one, %ticks : !llvm.ptr<3>, i32, i32
    }
    scf.if %high {
      // expected-note @below {{block (0, 0, 0), thread (63, 0, 0) made the last arrival at the mbarrier at byte 0 of shared memory}}
      %state = nvvm.mbarrier.arrive %mbarrier : !llvm.ptr<3> -> i64
    }
    gpu.return
  }
}

// -----

// What nothing orders is a race in every schedule, and so in that without any decision.
func.func @racing(%a: memref<64xi32>) {
  %blocks = arith.constant 1 : index
  // expected-note @below {{it fails in the default order as well: the first warp that can go on does, and asynchronous operations happen as late as they may}}
  tl.launch @k::@racing blocks(%blocks) threads(64) args(%a : memref<64xi32>)
  return
}
gpu.module @k attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @racing(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %n = arith.index_cast %t : index to i32
    // expected-error @+2 {{race}}
    // expected-note @+1 {{writes bytes 0 to 3 of `argument 0`}}
    llvm.store %n, %a : i32, !llvm.ptr<1>
    gpu.return
  }
}
