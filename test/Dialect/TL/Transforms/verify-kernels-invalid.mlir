// RUN: tl-opt %s --tl-verify-kernels --verify-diagnostics --split-input-file

func.func @equal_names(%g: index) {
  // expected-note @below {{the other one is here}}
  tl.kernel @same blocks(%b) in (%g) threads(128) {
  }
  return
}
func.func @in_another_function(%g: index) {
  // expected-error @below {{'tl.kernel' op is named `same`, as another kernel of this module is}}
  tl.kernel @same blocks(%b) in (%g) threads(128) {
  }
  return
}

// -----

func.func @alloc_on_the_host() {
  // expected-error @below {{'tl.alloc' op belongs inside a kernel (`with T.Kernel(...)`)}}
  %f = tl.alloc : memref<128xf32, #tl.fragment>
  return
}

// -----

func.func @load_on_the_host(%A: memref<128xf32>, %i: index) {
  // expected-error @below {{'tl.load' op belongs inside a kernel (`with T.Kernel(...)`)}}
  %x = tl.load %A[%i] : memref<128xf32>
  return
}

// -----

func.func @loop_on_the_host() {
  // expected-error @below {{'tl.parallel' op belongs inside a kernel (`with T.Kernel(...)`)}}
  tl.parallel (%i) in (128) {
  }
  return
}

// -----

func.func @kernel_inside_a_kernel(%g: index) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    // expected-error @below {{'tl.kernel' op cannot be inside another kernel}}
    tl.kernel blocks(%c) in (%g) threads(128) {
    }
  }
  return
}

// -----

func.func @kernel_inside_a_kernels_loop(%g: index, %c0: index, %c1: index) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    scf.for %i = %c0 to %g step %c1 {
      // expected-error @below {{'tl.kernel' op cannot be inside another kernel}}
      tl.kernel blocks(%c) in (%g) threads(128) {
      }
    }
  }
  return
}

// -----

func.func @kernel_in_host_control_flow(%g: index, %c: i1) {
  // expected-note @below {{the control flow is here}}
  scf.if %c {
    // expected-error @below {{'tl.kernel' op cannot be inside host control flow: a launch plan is a list of launches; decide with Python values, or inside the kernel}}
    tl.kernel blocks(%b) in (%g) threads(128) {
    }
  }
  return
}

// -----

func.func @source_kernel_in_host_control_flow(%g: index, %c0: index, %c1: index) {
  // expected-note @below {{the control flow is here}}
  scf.for %i = %c0 to %g step %c1 {
    // expected-error @below {{'tl.source_kernel' op cannot be inside host control flow}}
    tl.source_kernel sources([#tl.cuda_source<"__global__ void f() {}">]) entry("f") blocks(%g) threads(32) args()
  }
  return
}

// -----

func.func @variable_never_set(%A: memref<128xf32>, %g: index) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    %c0 = arith.constant 0 : index
    // expected-note @below {{it is allocated here}}
    %x = tl.alloc : memref<1xf32, #gpu.address_space<private>>
    // expected-warning @below {{reads a buffer, but nothing writes it}}
    %v = tl.load %x[%c0] : memref<1xf32, #gpu.address_space<private>>
    tl.store %v, %A[%b] : memref<128xf32>
  }
  return
}

// -----

func.func @slot_never_filled(%A: memref<64x64xf16>, %g: index) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    // expected-note @below {{it is allocated here}}
    %ring = tl.alloc : memref<2x64x64xf16, #gpu.address_space<workgroup>>
    %slot = tl.slot %ring[%b] : memref<2x64x64xf16, #gpu.address_space<workgroup>> to memref<64x64xf16, #gpu.address_space<workgroup>>
    %c0 = arith.constant 0 : index
    // expected-warning @below {{reads a buffer, but nothing writes it}}
    tl.copy %slot to %A tile(64, 64) : memref<64x64xf16, #gpu.address_space<workgroup>> to memref<64x64xf16>
  }
  return
}

// -----

// An accumulator that is cleared too late.
func.func @cleared_too_late(%g: index, %zero: f32) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    %A = tl.alloc : memref<64x64xf16, #gpu.address_space<workgroup>>
    // expected-note @below {{it is allocated here}}
    %acc = tl.alloc : memref<64x64xf32, #tl.fragment>
    %h = arith.constant 0.0 : f16
    tl.fill %A, %h : memref<64x64xf16, #gpu.address_space<workgroup>>
    // expected-warning @below {{reads a buffer before anything is written to it; fill it first, as with `T.clear` [uninitialized-read]}}
    tl.gemm %A, %A, %acc : memref<64x64xf16, #gpu.address_space<workgroup>>, memref<64x64xf16, #gpu.address_space<workgroup>>, memref<64x64xf32, #tl.fragment>
    tl.fill %acc, %zero : memref<64x64xf32, #tl.fragment>
  }
  return
}

// -----

// Iterations share a place that is a quotient or a remainder of their number.
func.func @shared_places(%A: memref<64xf32>, %H: memref<64xf32>, %R: memref<32x2xf32>, %g: index) {
  tl.kernel blocks(%b) in (%g) threads(64) {
    %c2 = arith.constant 2 : index
    %c64 = arith.constant 64 : index
    tl.parallel (%i) in (64) {
      %x = tl.load %A[%i] : memref<64xf32>
      %moved = arith.addi %i, %b : index
      %half = arith.divui %moved, %c2 : index
      // expected-warning @below {{several iterations of the parallel loop write the same element of the buffer at the same time}}
      tl.store %x, %H[%half] : memref<64xf32>
    }
    tl.parallel (%i) in (64) {
      %half = arith.divui %i, %c2 : index
      %x = tl.load %H[%half] : memref<64xf32>
      %y = arith.addf %x, %x : f32
      // expected-warning @below {{several iterations of the parallel loop write the same element of the buffer at the same time}}
      tl.store %y, %H[%half] : memref<64xf32>
    }
    tl.parallel (%i) in (64) {
      %x = tl.load %A[%i] : memref<64xf32>
      %c3 = arith.constant 3 : index
      %moved = arith.addi %i, %c3 : index
      %parity = arith.remui %moved, %c2 : index
      // expected-warning @below {{several iterations of the parallel loop write the same element of the buffer at the same time}}
      tl.store %x, %H[%parity] : memref<64xf32>
    }
    // One value of all that share the place, a place of their own, or one of them alone.
    tl.parallel (%i) in (64) {
      %half = arith.divui %i, %c2 : index
      %again = arith.divui %i, %c2 : index
      %x = tl.load %A[%again] : memref<64xf32>
      tl.store %x, %H[%half] : memref<64xf32>
    }
    tl.parallel (%i) in (64) {
      %x = tl.load %A[%i] : memref<64xf32>
      %half = arith.divui %i, %c2 : index
      %parity = arith.remui %i, %c2 : index
      tl.store %x, %R[%half, %parity] : memref<32x2xf32>
    }
    tl.parallel (%i) in (64) {
      %x = tl.load %A[%i] : memref<64xf32>
      %whole = arith.remui %i, %c64 : index
      tl.store %x, %H[%whole] : memref<64xf32>
    }
    tl.parallel (%i) in (64) {
      %c0 = arith.constant 0 : index
      %x = tl.load %A[%i] : memref<64xf32>
      %half = arith.divui %i, %c2 : index
      %parity = arith.remui %i, %c2 : index
      %even = arith.cmpi eq, %parity, %c0 : index
      scf.if %even {
        tl.store %x, %H[%half] : memref<64xf32>
      }
    }
  }
  return
}

// -----

// A sum in a parallel loop, a histogram, and threads that all write one place.
func.func @races(%A: memref<64xf32>, %I: memref<64xi32>, %H: memref<64xf32>, %R: memref<64x8xf32>, %g: index) {
  tl.kernel blocks(%b) in (%g) threads(64) {
    %c0 = arith.constant 0 : index
    tl.parallel (%i) in (64) {
      %x = tl.load %H[%c0] : memref<64xf32>
      %a = tl.load %A[%i] : memref<64xf32>
      %y = arith.addf %x, %a : f32
      // expected-warning @below {{64 iterations of the parallel loop write the same element of the buffer at the same time, and one of them is what is left; to combine what they compute, use `T.atomic_add` or its kin, write it to a fragment and use `T.reduce_sum` or its kin, or use `T.serial` [racing-write]}}
      tl.store %y, %H[%c0] : memref<64xf32>
    }
    tl.parallel (%i) in (64) {
      %k = tl.load %I[%i] : memref<64xi32>
      %at = arith.index_cast %k : i32 to index
      %x = tl.load %H[%at] : memref<64xf32>
      %y = arith.addf %x, %x : f32
      // expected-warning @below {{iterations of the parallel loop that find the same index read, change and write the same element of the buffer}}
      tl.store %y, %H[%at] : memref<64xf32>
    }
    // Each iteration has a row of its own, but not where rows are shared.
    tl.parallel (%i) in (64) {
      %k = tl.load %I[%i] : memref<64xi32>
      %at = arith.index_cast %k : i32 to index
      %row = arith.addi %i, %b : index
      %x = tl.load %R[%row, %at] : memref<64x8xf32>
      %y = arith.addf %x, %x : f32
      tl.store %y, %R[%row, %at] : memref<64x8xf32>
    }
    tl.parallel (%i, %j) in (32, 2) {
      %k = tl.load %I[%i] : memref<64xi32>
      %at = arith.index_cast %k : i32 to index
      %x = tl.load %R[%i, %at] : memref<64x8xf32>
      %n = arith.index_cast %j : index to i32
      %f = arith.sitofp %n : i32 to f32
      %y = arith.addf %x, %f : f32
      // expected-warning @below {{2 iterations of the parallel loop write the same element of the buffer}}
      tl.store %y, %R[%i, %at] : memref<64x8xf32>
    }
    %t = gpu.thread_id x
    %z = tl.load %A[%t] : memref<64xf32>
    // expected-warning @below {{all threads of the block write the same element of the buffer}}
    tl.store %z, %H[%c0] : memref<64xf32>
  }
  return
}

// -----

func.func @idle(%A: memref<64xf32>, %g: index, %v: f32) {
  // expected-warning @below {{the kernel has 256 threads, and no operation in it has more than 40 elements for them; use `threads=64` [idle-threads]}}
  tl.kernel blocks(%b) in (%g) threads(256) {
    tl.parallel (%i) in (40) {
      tl.store %v, %A[%i] : memref<64xf32>
    }
  }
  return
}

// -----

func.func @print_outside(%x: f32) {
  // expected-error @below {{belongs inside a kernel}}
  tl.print "" %x named "x" as "float32" : f32
  return
}

// -----

gpu.module @outlined {
  gpu.func @print_in_an_outlined_kernel(%c: i1) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error @below {{belongs inside a kernel}}
    tl.assert %c, "c", ""
    gpu.return
  }
}
