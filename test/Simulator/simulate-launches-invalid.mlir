// RUN: tl-opt %s --tl-simulate-launches --split-input-file --verify-diagnostics -o /dev/null

func.func @grid(%a: memref<64xi32>, %blocks: index) {
  // expected-error @below {{needs a grid of constants to be simulated}}
  tl.launch @k::@k blocks(%blocks) threads(32) args(%a : memref<64xi32>)
  return
}
gpu.module @k attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @k(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel {
    gpu.return
  }
}

// -----

func.func @shape(%a: memref<?xi32>) {
  %blocks = arith.constant 1 : index
  // expected-error @below {{needs buffers of constant shapes to be simulated}}
  tl.launch @k::@k blocks(%blocks) threads(32) args(%a : memref<?xi32>)
  return
}
gpu.module @k attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @k(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel {
    gpu.return
  }
}

// -----

func.func @scalar(%a: i32) {
  %blocks = arith.constant 1 : index
  // expected-error @below {{needs constants for scalars to be simulated}}
  tl.launch @k::@k blocks(%blocks) threads(32) args(%a : i32)
  return
}
gpu.module @k attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @k(%a: i32 {tl.param = #tl.param<scalar, 0, type = i32>}) kernel {
    gpu.return
  }
}

// -----

func.func @unknown(%a: i32) {
  %blocks = arith.constant 1 : index
  tl.launch @k::@k blocks(%blocks) threads(32) args(%a : i32)
  return
}
gpu.module @k attributes {tl.target = #tl.target<chip = "sm_80">} {
  // expected-error @below {{has a parameter without `tl.param`}}
  gpu.func @k(%a: i32) kernel {
    gpu.return
  }
}

// -----

func.func @struct(%a: memref<64xi32>) {
  %blocks = arith.constant 1 : index
  %n = arith.constant 1 : i32
  // expected-error @below {{has a parameter that is a struct, which only a program can be simulated with}}
  tl.launch @k::@k blocks(%blocks) threads(32) args(%n, %a : i32, memref<64xi32>)
  return
}
gpu.module @k attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @k(%n: i32 {tl.param = #tl.param<scalar, 0, type = i32>}, %a: !llvm.ptr<1> {tl.param = #tl.param<struct, 1, members = [#tl.param<base, 1>]>}) kernel {
    gpu.return
  }
}

// -----

// Who did what is said on both sides.
func.func @race(%a: memref<64xi32>) {
  %blocks = arith.constant 2 : index
  tl.launch @k::@k blocks(%blocks) threads(32) args(%a : memref<64xi32>)
  return
}
gpu.module @k attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @k(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %thread = gpu.thread_id x
    %block = gpu.block_id x
    %t = arith.index_cast %thread : index to i32
    %b = arith.index_cast %block : index to i32
    %at = llvm.getelementptr %a[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    // expected-error @below {{race: block (1, 0, 0), thread (0, 0, 0) writes bytes 0 to 3 of `argument 0`; blocks run in any order}}
    // expected-note @below {{block (0, 0, 0), thread (0, 0, 0) writes bytes 0 to 3 of `argument 0`}}
    llvm.store %b, %at : i32, !llvm.ptr<1>
    gpu.return
  }
}

// -----

func.func @arrivals(%a: memref<64xi32>) {
  %blocks = arith.constant 1 : index
  tl.launch @k::@k blocks(%blocks) threads(32) args(%a : memref<64xi32>)
  return
}
gpu.module @k attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 1024 : i64} {
    %c0 = arith.constant 0 : index
    %c1_i32 = arith.constant 1 : i32
    %c16_i32 = arith.constant 16 : i32
    %base = tl.shared_base : !llvm.ptr<3>
    %t = gpu.thread_id x
    %first = arith.cmpi eq, %t, %c0 : index
    scf.if %first {
      nvvm.mbarrier.init %base, %c1_i32 : !llvm.ptr<3>, i32
      // expected-note @below {{makes the last arrival that the phase counts}}
      nvvm.mbarrier.arrive.expect_tx %base, %c16_i32 : !llvm.ptr<3>, i32
      // expected-error @below {{more arrivals at an mbarrier than its phase has pending}}
      %1 = nvvm.mbarrier.arrive %base : !llvm.ptr<3> -> i64
    }
    gpu.return
  }
}

// -----

// Each element of an access is of as many iterations.
func.func @distances(%a: memref<64xi32>) {
  %blocks = arith.constant 1 : index
  tl.launch @k::@k blocks(%blocks) threads(32) args(%a : memref<64xi32>)
  return
}
gpu.module @k attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    // expected-error @below {{`tl.iterations` is no list of distances for each of the 2 elements}}
    %x = llvm.load %a {tl.iterations = array<i64: 0, 1, 2>} : !llvm.ptr<1> -> vector<2xi32>
    gpu.return
  }
}

// -----

func.func @no_access(%a: memref<64xi32>) {
  %blocks = arith.constant 1 : index
  tl.launch @k::@k blocks(%blocks) threads(32) args(%a : memref<64xi32>)
  return
}
gpu.module @k attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    // expected-error @below {{`tl.iterations` is of loads, stores and atomic operations}}
    %t = gpu.thread_id x {tl.iterations = array<i64: 0>}
    gpu.return
  }
}

// -----

// Lane 0 does iterations 0 and 1 of a loop of 64, and so on.
func.func @iterations(%a: memref<64xi32>) {
  %blocks = arith.constant 1 : index
  tl.launch @k::@k blocks(%blocks) threads(32) args(%a : memref<64xi32>)
  return
}
gpu.module @k attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %two = arith.constant 2 : index
    %one = arith.constant 1 : i32
    %thread = gpu.thread_id x
    %first = arith.muli %thread, %two : index
    %t = arith.index_cast %first : index to i32
    %at = llvm.getelementptr %a[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    tl.begin_iterations [64]
    tl.at_iterations %first
    // expected-note @below {{block (0, 0, 0), thread (0, 0, 0) reads bytes 0 to 3 of `argument 0` in iteration (0)}}
    %x = llvm.load %at {tl.iterations = array<i64: 0>} : !llvm.ptr<1> -> i32
    %y = arith.addi %x, %one : i32
    // expected-error @below {{race: block (0, 0, 0), thread (0, 0, 0) writes bytes 0 to 3 of `argument 0` in iteration (1); two iterations of one `T.Parallel`, or two threads at one statement, touch one element}}
    llvm.store %y, %at {tl.iterations = array<i64: 1>} : i32, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// A kernel that says what its shared memory is called says all of it.
func.func @no_shape(%a: memref<64xi32>) {
  %blocks = arith.constant 1 : index
  tl.launch @k::@k blocks(%blocks) threads(32) args(%a : memref<64xi32>)
  return
}
gpu.module @k attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // expected-error @below {{`tl.tiles` has an entry that is no tile in shared memory}}
  gpu.func @k(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64, tl.tiles = [{name = "S"}]} {
    gpu.return
  }
}

// -----

func.func @no_tile(%a: memref<64xi32>) {
  %blocks = arith.constant 1 : index
  tl.launch @k::@k blocks(%blocks) threads(32) args(%a : memref<64xi32>)
  return
}
gpu.module @k attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    // expected-error @below {{`tl.uses` has a number that is of no tile}}
    %x = llvm.load %a {tl.uses = array<i64: 0>} : !llvm.ptr<1> -> i32
    gpu.return
  }
}
