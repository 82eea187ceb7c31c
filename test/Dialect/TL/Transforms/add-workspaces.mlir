// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-infer-layouts,tl-add-workspaces))' --split-input-file | FileCheck %s

!tile = memref<64x64xf32, #tl.fragment>
!row = memref<64xf32, #tl.fragment>

gpu.module @reductions attributes {tl.target = #tl.target<chip = "sm_80">} {
  // A reduction across warps gets shared memory: a result for each of them.
  // One inside of warps needs none.
  // CHECK-LABEL: gpu.func @workspaces
  // CHECK:         %[[W:.+]] = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 64>) : memref<4x64xf32, #gpu.address_space<workgroup>>
  // CHECK:         tl.reduce sum {{.*}} dim(1) : memref<64x64xf32
  // CHECK:         tl.reduce max {{.*}} dim(0) workspace(%[[W]] : memref<4x64xf32
  gpu.func @workspaces() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %f = tl.alloc : !tile
    %rows = tl.alloc : !row
    %columns = tl.alloc : !row
    tl.reduce sum %f to %rows dim(1) : !tile to !row
    tl.reduce max %f to %columns dim(0) : !tile to !row
    gpu.return
  }

  // Of 48 threads, 16 have no whole warp to shuffle in: all parts of a result, one of
  // each thread along the rows, meet in memory.
  // CHECK-LABEL: gpu.func @no_whole_warps
  // CHECK:         %[[W:.+]] = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 1>) : memref<48x1xf32, #gpu.address_space<workgroup>>
  // CHECK:         tl.reduce sum {{.*}} workspace(%[[W]] : memref<48x1xf32
  gpu.func @no_whole_warps() kernel attributes {known_block_size = array<i32: 48, 1, 1>} {
    %f = tl.alloc : memref<1x512xf32, #tl.fragment>
    %r = tl.alloc : memref<1xf32, #tl.fragment>
    tl.reduce sum %f to %r dim(1) : memref<1x512xf32, #tl.fragment> to memref<1xf32, #tl.fragment>
    gpu.return
  }

  // Parts of 16-bit floats are kept in f32, so that the result is rounded once.
  // CHECK-LABEL: gpu.func @narrow_floats
  // CHECK:         tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 1>) : memref<4x1xf32, #gpu.address_space<workgroup>>
  gpu.func @narrow_floats() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %f = tl.alloc : memref<1024xf16, #tl.fragment>
    %r = tl.alloc : memref<f16, #tl.fragment>
    tl.reduce sum %f to %r dim(0) : memref<1024xf16, #tl.fragment> to memref<f16, #tl.fragment>
    gpu.return
  }

  // A scan over groups of threads gets what each of them has in all; one inside of
  // warps needs none.
  // CHECK-LABEL: gpu.func @scans
  // CHECK-DAG:     %[[W:.+]] = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 1>) : memref<4x1xf32, #gpu.address_space<workgroup>>
  // CHECK-DAG:     %[[N:.+]] = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 16>) : memref<4x16xi32, #gpu.address_space<workgroup>>
  // CHECK:         tl.scan sum {{.*}} dim(0) workspace(%[[W]] :
  // CHECK:         tl.scan sum {{.*}} dim(1) : memref<64x16xf32
  // CHECK:         tl.scan max {{.*}} dim(0) reverse workspace(%[[N]] :
  gpu.func @scans() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %f = tl.alloc : memref<1024xf16, #tl.fragment>
    %rows = tl.alloc : memref<64x16xf32, #tl.fragment>
    %columns = tl.alloc : memref<64x16xi32, #tl.fragment>
    tl.scan sum %f to %f dim(0) : memref<1024xf16, #tl.fragment>
    tl.scan sum %rows to %rows dim(1) : memref<64x16xf32, #tl.fragment>
    tl.scan max %columns to %columns dim(0) reverse : memref<64x16xi32, #tl.fragment>
    gpu.return
  }
}
