// RUN: tl-opt %s --tl-simulate-launches="seeds=2 digests=true" --split-input-file --verify-diagnostics -o /dev/null

// Buffers hold the same in each run. A scalar, an extent and a stride are passed as a launch does.
func.func @scaled(%a: memref<4x8xi32>) {
  %blocks = arith.constant 1 : index
  %factor = arith.constant 3 : i32
  // expected-remark-re @below {{`scaled`, seed 0, argument 0: {{[0-9A-F]+}}}}
  // expected-remark-re @below {{`scaled`, seed 1, argument 0: {{[0-9A-F]+}}}}
  tl.launch @k::@scaled blocks(%blocks) threads(32) args(%a, %factor : memref<4x8xi32>, i32)
  return
}
gpu.module @k attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @scaled(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %rows: i64 {tl.param = #tl.param<dim, 0, index = 0>}, %stride: i64 {tl.param = #tl.param<stride, 0, index = 0>}, %factor: i32 {tl.param = #tl.param<scalar, 1, type = i32>}) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %t = gpu.thread_id x
    %n = arith.index_cast %t : index to i64
    %size = arith.muli %rows, %stride : i64
    %in = arith.cmpi ult, %n, %size : i64
    scf.if %in {
      %p = llvm.getelementptr %a[%n] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
      %x = llvm.load %p : !llvm.ptr<1> -> i32
      %y = arith.muli %x, %factor : i32
      llvm.store %y, %p : i32, !llvm.ptr<1>
    }
    gpu.return
  }
}

// -----

// What is wrong is an error at one place and a note at the other.
func.func @racing(%a: memref<64xi32>) {
  %blocks = arith.constant 1 : index
  // expected-remark @below {{seed 0}}
  tl.launch @k::@racing blocks(%blocks) threads(64) args(%a : memref<64xi32>)
  return
}
gpu.module @k attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @racing(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %n = arith.index_cast %t : index to i32
    // expected-error-re @+2 {{race: block (0, 0, 0), thread ({{[0-9]+}}, 0, 0) writes bytes 0 to 3 of `argument 0`; lanes of one warp are threads, which nothing orders; where both are one statement, give each thread an element of its own, or use `T.atomic_add` or its kin}}
    // expected-note-re @+1 {{block (0, 0, 0), thread ({{[0-9]+}}, 0, 0) writes bytes 0 to 3 of `argument 0`}}
    llvm.store %n, %a : i32, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// A launch finds what those before it in the function left in its buffers: what the first one writes is a place for the
// second one, and what was there before would be outside of the buffer.
func.func @handed_on(%n: memref<32xi32>, %a: memref<32xi32>) {
  %blocks = arith.constant 1 : index
  // expected-remark @below {{`numbered`, seed 0}}
  // expected-remark @below {{`numbered`, seed 1}}
  tl.launch @k::@numbered blocks(%blocks) threads(32) args(%n : memref<32xi32>)
  // expected-remark @below {{`placed`, seed 0, argument 0}}
  // expected-remark @below {{`placed`, seed 0, argument 1}}
  // expected-remark @below {{`placed`, seed 1, argument 0}}
  // expected-remark @below {{`placed`, seed 1, argument 1}}
  tl.launch @k::@placed blocks(%blocks) threads(32) args(%n, %a : memref<32xi32>, memref<32xi32>)
  return
}
gpu.module @k attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @numbered(%n: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %t = gpu.thread_id x
    %i = arith.index_cast %t : index to i64
    %v = arith.index_cast %t : index to i32
    %p = llvm.getelementptr %n[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    llvm.store %v, %p : i32, !llvm.ptr<1>
    gpu.return
  }
  gpu.func @placed(%n: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %a: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %t = gpu.thread_id x
    %i = arith.index_cast %t : index to i64
    %p = llvm.getelementptr %n[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %at = llvm.load %p : !llvm.ptr<1> -> i32
    %q = llvm.getelementptr %a[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %at, %q : i32, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// Of a deadlock it is said who waits, who arrived last where they do, and where nobody has.
func.func @stuck(%a: memref<64xi32>) {
  %blocks = arith.constant 1 : index
  // expected-remark @below {{`stuck`, seed 0, argument 0}}
  tl.launch @k::@stuck blocks(%blocks) threads(64) args(%a : memref<64xi32>)
  return
}
gpu.module @k attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @stuck(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 64, 1, 1>, tl.shared = 16 : i64} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : index
    %first = arith.constant 0 : index
    %t = gpu.thread_id x
    %once = tl.shared_base : <3>
    %never = llvm.getelementptr %once[8] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %is_first = arith.cmpi eq, %t, %first : index
    scf.if %is_first {
      nvvm.mbarrier.init %once, %c1 : !llvm.ptr<3>, i32
      nvvm.mbarrier.init %never, %c1 : !llvm.ptr<3>, i32
    }
    gpu.barrier
    scf.if %is_first {
      // expected-note @below {{block (0, 0, 0), thread (0, 0, 0) made the last arrival at the mbarrier at byte 0 of shared memory}}
      %state = nvvm.mbarrier.arrive %once : !llvm.ptr<3> -> i64
    }
    %is_second_warp = arith.cmpi uge, %t, %c32 : index
    scf.if %is_second_warp {
      nvvm.mbarrier.try_wait.parity %once, %c0, %c1 : !llvm.ptr<3>, i32, i32
      // expected-note @below {{warp 1 waits for a phase of parity 1 of the mbarrier at byte 0 of shared memory, which is in phase 1 and lacks 1 of 1 arrivals and 0 bytes}}
      nvvm.mbarrier.try_wait.parity %once, %c1, %c1 : !llvm.ptr<3>, i32, i32
    } else {
      // expected-error @below {{deadlock: block (0, 0, 0), warp 0 waits for a phase of parity 0 of the mbarrier at byte 8 of shared memory, which is in phase 0 and lacks 1 of 1 arrivals and 0 bytes; nobody has arrived at it; no warp of the block can go on}}
      nvvm.mbarrier.try_wait.parity %never, %c0, %c1 : !llvm.ptr<3>, i32, i32
    }
    gpu.return
  }
}

// -----

// A block that fails in front of its wait for the kernel before is not said to have none.
func.func @failed(%a: memref<64xi32>) {
  %blocks = arith.constant 1 : index
  // expected-remark @below {{`failed`, seed 0, argument 0}}
  tl.launch @k::@failed blocks(%blocks) threads(32) dependent args(%a : memref<64xi32>)
  return
}
gpu.module @k attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @failed(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 16 : i64} {
    %c0 = arith.constant 0 : i32
    %base = tl.shared_base : <3>
    %far = llvm.getelementptr %base[64] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    // expected-error @below {{out of bounds}}
    llvm.store %c0, %far : i32, !llvm.ptr<3>
    nvvm.griddepcontrol wait
    gpu.return
  }
}
