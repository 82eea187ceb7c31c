// RUN: tl-opt %s --tl-guard-arrays | FileCheck %s

#private = #gpu.address_space<private>

gpu.module @kernels {
  // An index that may be outside is cut to the last one; what is stored there
  // is what was there.
  // CHECK-LABEL: gpu.func @any_index
  // CHECK: %[[ARRAY:.*]] = tl.alloc : memref<5xi32
  // CHECK: %[[LAST:.*]] = arith.constant 4 : index
  // CHECK: %[[INSIDE:.*]] = arith.cmpi ule, %[[I:.*]], %[[LAST]]
  // CHECK: %[[CUT:.*]] = arith.minui %[[I]], %[[LAST]]
  // CHECK: %[[OLD:.*]] = tl.load %[[ARRAY]][%[[CUT]]]
  // CHECK: %[[NEW:.*]] = arith.select %[[INSIDE]], %{{.*}}, %[[OLD]]
  // CHECK: tl.store %[[NEW]], %[[ARRAY]][%[[CUT]]]
  // CHECK: %[[READ:.*]] = arith.minui
  // CHECK: tl.load %[[ARRAY]][%[[READ]]]
  gpu.func @any_index(%n: i32, %out: memref<8xi32>) kernel {
    %array = tl.alloc : memref<5xi32, #private>
    %i = arith.index_cast %n : i32 to index
    tl.store %n, %array[%i] : memref<5xi32, #private>
    %x = tl.load %array[%i] : memref<5xi32, #private>
    tl.store %x, %out[%i] : memref<8xi32>
    gpu.return
  }

  // Only the dimension that is not seen to be inside is.
  // CHECK-LABEL: gpu.func @one_dimension
  // CHECK: tl.parallel (%[[ROW:.*]]) in (4)
  // CHECK: %[[CUT:.*]] = arith.minui
  // CHECK: tl.load %{{.*}}[%[[ROW]], %[[CUT]]]
  // CHECK: tl.store %{{.*}}, %{{.*}}[%[[ROW]], %[[CUT]]]
  gpu.func @one_dimension(%n: i32) kernel {
    tl.parallel (%row) in (4) {
      %array = tl.alloc : memref<4x2xi32, #private>
      %i = arith.index_cast %n : i32 to index
      tl.store %n, %array[%row, %i] : memref<4x2xi32, #private>
    }
    gpu.return
  }

  // What is seen to be inside stays: loops, remainders, and constants; and so
  // does other memory.
  // CHECK-LABEL: gpu.func @inside
  // CHECK-NOT: arith.minui
  // CHECK: gpu.return
  gpu.func @inside(%n: i32, %m: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %array = tl.alloc : memref<8xi32, #private>
    %tile = tl.alloc : memref<8xi32, #gpu.address_space<workgroup>>
    tl.store %n, %array[%c1] : memref<8xi32, #private>
    scf.for %i = %c0 to %c8 step %c1 {
      tl.store %n, %array[%i] : memref<8xi32, #private>
      %rest = arith.remui %m, %c8 : index
      %x = tl.load %array[%rest] : memref<8xi32, #private>
      tl.store %x, %tile[%m] : memref<8xi32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }
}
