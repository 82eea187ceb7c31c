// The pass changes nothing about a valid module.
// RUN: tl-opt %s --tl-verify-kernels --verify-diagnostics | FileCheck %s

// Tile ops inside a kernel, two kernels in a row, and names that differ.
// CHECK-LABEL: func.func @two_kernels
// CHECK:         tl.kernel @first
// CHECK:           tl.fill
// CHECK:         tl.kernel @second
func.func @two_kernels(%g: index, %v: f32) {
  tl.kernel @first blocks(%b) in (%g) threads(128) {
    %f = tl.alloc : memref<128xf32, #tl.fragment>
    tl.fill %f, %v : memref<128xf32, #tl.fragment>
  }
  tl.kernel @second blocks(%b) in (%g) threads(128) {
  }
  return
}

// Kernels without a name cannot have equal ones.
// CHECK-LABEL: func.func @unnamed_kernels
func.func @unnamed_kernels(%g: index) {
  tl.kernel blocks(%b) in (%g) threads(128) {
  }
  tl.kernel blocks(%b) in (%g) threads(128) {
  }
  return
}

// Fragments inside of `tl.parallel`; other memory anywhere.
// CHECK-LABEL: func.func @element_accesses
func.func @element_accesses(%A: memref<128xf32>, %g: index, %z: f32) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    %f = tl.alloc : memref<128xf32, #tl.fragment>
    %s = tl.alloc : memref<128xf32, #gpu.address_space<workgroup>>
    %p = tl.alloc : memref<4xf32, #gpu.address_space<private>>
    tl.parallel (%i) in (128) {
      tl.store %z, %f[%i] : memref<128xf32, #tl.fragment>
      %x = tl.load %f[%i] : memref<128xf32, #tl.fragment>
      tl.store %x, %f[%i] : memref<128xf32, #tl.fragment>
    }
    %x = tl.load %A[%b] : memref<128xf32>
    tl.store %x, %s[%b] : memref<128xf32, #gpu.address_space<workgroup>>
    tl.store %x, %p[%b] : memref<4xf32, #gpu.address_space<private>>
  }
  return
}

// Control flow inside a kernel, and host control flow without a launch.
// CHECK-LABEL: func.func @control_flow
func.func @control_flow(%g: index, %c: i1, %v: f32) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    %f = tl.alloc : memref<128xf32, #tl.fragment>
    scf.if %c {
      tl.fill %f, %v : memref<128xf32, #tl.fragment>
    }
  }
  scf.if %c {
  }
  return
}

// What is read is written somewhere: on a path, through a view, or by an op that
// also reads it.
// CHECK-LABEL: func.func @written_somewhere
func.func @written_somewhere(%g: index, %c: i1, %v: f32) {
  tl.kernel blocks(%b) in (%g) threads(64) {
    %c0 = arith.constant 0 : index
    %x = tl.alloc : memref<1xf32, #gpu.address_space<private>>
    scf.if %c {
      tl.store %v, %x[%c0] : memref<1xf32, #gpu.address_space<private>>
    }
    %ring = tl.alloc : memref<2x64xf32, #gpu.address_space<workgroup>>
    %slot = tl.slot %ring[%b] : memref<2x64xf32, #gpu.address_space<workgroup>> to memref<64xf32, #gpu.address_space<workgroup>>
    tl.fill %slot, %v : memref<64xf32, #gpu.address_space<workgroup>>
    %y = tl.load %ring[%c0, %c0] : memref<2x64xf32, #gpu.address_space<workgroup>>
    %z = tl.load %x[%c0] : memref<1xf32, #gpu.address_space<private>>
  }
  return
}

// Iterations that write one element the same value, that are kept apart by a
// condition, or that write elements found in data.
// CHECK-LABEL: func.func @no_race
func.func @no_race(%A: memref<64xf32>, %I: memref<64xi32>, %B: memref<64xf32>, %g: index, %v: f32) {
  tl.kernel blocks(%b) in (%g) threads(64) {
    %c0 = arith.constant 0 : index
    tl.parallel (%i, %j) in (64, 64) {
      tl.store %v, %A[%i] : memref<64xf32>
      %is = arith.cmpi eq, %i, %j : index
      scf.if %is {
        %x = tl.load %A[%c0] : memref<64xf32>
        %y = arith.addf %x, %v : f32
        tl.store %y, %A[%i] : memref<64xf32>
      }
    }
    tl.parallel (%i) in (64) {
      %k = tl.load %I[%i] : memref<64xi32>
      %at = arith.index_cast %k : i32 to index
      %x = tl.load %A[%i] : memref<64xf32>
      tl.store %x, %B[%at] : memref<64xf32>
    }
  }
  return
}

// An outlined kernel is a kernel too.
// CHECK: gpu.func @outlined
gpu.module @outlined {
  gpu.func @outlined(%v: f32) kernel {
    %f = tl.alloc : memref<128xf32, #tl.fragment>
    tl.fill %f, %v : memref<128xf32, #tl.fragment>
    gpu.return
  }
}
