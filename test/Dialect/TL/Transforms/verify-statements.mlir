// The pass changes nothing about what has a meaning, and says nothing.
// RUN: tl-opt %s --tl-verify-statements --verify-diagnostics | FileCheck %s

// Scalars where only some threads go, arrays among them, and tile ops where all
// go.
// CHECK-LABEL: func.func @threads
func.func @threads(%A: memref<128xf32>, %g: index, %v: f32) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc : memref<128xf32, #gpu.address_space<workgroup>>
    %p = tl.alloc : memref<4xf32, #gpu.address_space<private>>
    %t = gpu.thread_id x
    %c = arith.cmpi ult, %t, %g : index
    // CHECK: scf.if
    scf.if %c {
      scf.for %i = %c0 to %t step %c1 {
        tl.store %v, %A[%i] : memref<128xf32>
      }
      tl.fill %p, %v : memref<4xf32, #gpu.address_space<private>>
    }
    %d = arith.cmpi ult, %b, %g : index
    scf.if %d {
      tl.copy %A to %s tile(128) : memref<128xf32> to memref<128xf32, #gpu.address_space<workgroup>>
      gpu.barrier
    }
  }
  return
}

// Variables of iterations: assigned before they are read, in the same loop, in
// another one, or after it.
// CHECK-LABEL: func.func @variables
func.func @variables(%A: memref<64xf32>, %g: index, %x: f32) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %v = tl.alloc : memref<1xf32, #gpu.address_space<private>>
    tl.store %x, %v[%c0] : memref<1xf32, #gpu.address_space<private>>
    tl.parallel (%i) in (64) {
      %y = tl.load %v[%c0] : memref<1xf32, #gpu.address_space<private>>
      tl.store %y, %v[%c0] : memref<1xf32, #gpu.address_space<private>>
    }
    tl.parallel (%i) in (64) {
      tl.store %x, %v[%c0] : memref<1xf32, #gpu.address_space<private>>
      %y = tl.load %v[%c0] : memref<1xf32, #gpu.address_space<private>>
    }
    scf.for %k = %c0 to %g step %c1 {
      tl.store %x, %v[%c0] : memref<1xf32, #gpu.address_space<private>>
    }
    %y = tl.load %v[%c0] : memref<1xf32, #gpu.address_space<private>>
  }
  return
}
