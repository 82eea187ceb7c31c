// RUN: tl-opt %s --split-input-file --convert-tl-to-cpu --canonicalize --cse --canonicalize | FileCheck %s

// Parameters: addresses, the extents and strides that are not in the type, and
// scalars. An argument that is not used is not passed.
// CHECK-LABEL: func.func @parameters(
// CHECK-SAME:    %[[PARAMS:.+]]: !llvm.ptr, %[[BEGIN:.+]]: i64, %[[END:.+]]: i64, %[[GRIDX:.+]]: i64, %{{.+}}: i64)
// CHECK-SAME:    tl.block = array<i64: 128, 1, 1>
// CHECK-SAME:    tl.params = [#tl.param<base, 0>, #tl.param<dim, 0>, #tl.param<dim, 0, index = 1>, #tl.param<stride, 0>, #tl.param<base, 2>, #tl.param<scalar, 3, type = f32>]
// CHECK-DAG:     %[[FROM:.+]] = arith.index_cast %[[BEGIN]]
// CHECK-DAG:     %[[TO:.+]] = arith.index_cast %[[END]]
// CHECK-DAG:     %[[COUNT:.+]] = arith.index_cast %[[GRIDX]]
// CHECK:         scf.for %[[BLOCK:.+]] = %[[FROM]] to %[[TO]]
// CHECK:           %[[X:.+]] = arith.remui %[[BLOCK]], %[[COUNT]]
// CHECK:           memref.store %{{.+}}, %{{.+}}[%[[X]]]
gpu.module @parameters attributes {tl.target = #tl.target<chip = "cpu">} {
  gpu.func @parameters(%A: memref<?x?xf32, strided<[?, 1]>>, %unused: memref<?xf32>, %B: memref<64xf32>, %alpha: f32)
      kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %x = gpu.block_id x
    %a = tl.load %A[%x, %c0] : memref<?x?xf32, strided<[?, 1]>>
    %b = arith.mulf %a, %alpha : f32
    tl.store %b, %B[%x] : memref<64xf32>
    gpu.return
  }
}

// -----

// A tile that is inside goes through plain loops. One that hangs over the edge
// is filled with zeros first, and what there is, is copied.
// CHECK-LABEL: func.func @copy(
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
// CHECK-DAG:     %[[C16:.+]] = arith.constant 16 : index
// CHECK-DAG:     %[[C32:.+]] = arith.constant 32 : index
// CHECK:         %[[TILE:.+]] = memref.alloca() {alignment = 64 : i64} : memref<16x32xf32, #tl.fragment>
// CHECK:         scf.if
// CHECK:           scf.for %[[I:.+]] = %[[C0]] to %[[C16]] step %[[C1]] {
// CHECK:             scf.for %[[J:.+]] = %[[C0]] to %[[C32]] step %[[C1]] {
// CHECK:               %[[H:.+]] = memref.load %{{.+}} : memref<?x32xf16>
// CHECK:               %[[F:.+]] = arith.extf %[[H]] : f16 to f32
// CHECK:               memref.store %[[F]], %[[TILE]][%[[I]], %[[J]]]
// CHECK:         } else {
// CHECK:           memref.store %[[ZERO]], %[[TILE]]
// CHECK:           scf.for %{{.+}} = %[[LOWER:.+]] to %[[UPPER:.+]] step
// CHECK:             scf.for %{{.+}} = %[[C0]] to %[[C32]] step
// CHECK:               memref.load
// CHECK:               memref.store
gpu.module @copy attributes {tl.target = #tl.target<chip = "cpu">} {
  gpu.func @copy(%A: memref<?x32xf16>, %B: memref<16x32xf32>, %r: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc : memref<16x32xf32, #tl.fragment>
    tl.copy %A[%r, %c0] to %s tile(16, 32) : memref<?x32xf16> to memref<16x32xf32, #tl.fragment>
    tl.copy %s to %B tile(16, 32) : memref<16x32xf32, #tl.fragment> to memref<16x32xf32>
    gpu.return
  }
}

// -----

// Nothing to check: the tile lies inside by its types.
// CHECK-LABEL: func.func @static_copy(
// CHECK-NOT:     scf.if
// CHECK:         memref.load
// CHECK-NOT:     scf.if
gpu.module @static_copy attributes {tl.target = #tl.target<chip = "cpu">} {
  gpu.func @static_copy(%A: memref<64x64xf32>, %B: memref<64x64xf32>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    tl.copy %A[%c16, %c32] to %B[%c32, %c16] tile(16, 32) : memref<64x64xf32> to memref<64x64xf32>
    gpu.return
  }
}

// -----

// One check before the loop; where it fails, one in each iteration.
// CHECK-LABEL: func.func @parallel(
// CHECK:         %[[LAST:.+]] = arith.addi %[[R:.+]], %{{.+}} : index
// CHECK:         %[[LOW:.+]] = arith.cmpi sge, %[[R]], %{{.+}} : index
// CHECK:         %[[HIGH:.+]] = arith.cmpi slt, %[[LAST]], %[[EXTENT:.+]] : index
// CHECK:         %[[INSIDE:.+]] = arith.andi %[[LOW]], %[[HIGH]]
// CHECK:         scf.if %[[INSIDE]] {
// CHECK-NEXT:      scf.for
// CHECK-NOT:         scf.if
// CHECK:             memref.load
// CHECK-NOT:         scf.if
// CHECK:             memref.store
// CHECK:         } else {
// CHECK:           scf.for
// CHECK:             %[[OK:.+]] = arith.cmpi ult, %{{.+}}, %[[EXTENT]] : index
// CHECK:             scf.if %[[OK]] -> (f32)
// CHECK:             scf.if %[[OK]] {
gpu.module @parallel attributes {tl.target = #tl.target<chip = "cpu">} {
  gpu.func @parallel(%A: memref<?xf32>, %r: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    tl.parallel (%i) in (256) {
      %p = arith.addi %r, %i : index
      %x = tl.load %A[%p] : memref<?xf32>
      %y = arith.addf %x, %x : f32
      tl.store %y, %A[%p] : memref<?xf32>
    }
    gpu.return
  }
}

// -----

// With 32-byte vectors a 6 x 16 tile is one block of 6 x 2 vectors.
// CHECK-LABEL: func.func @gemm(
// CHECK-COUNT-12: vector.load %{{.+}} : memref<6x16xf32, #tl.fragment>, vector<8xf32>
// CHECK:         scf.for %[[K:.+]] = %{{.+}} to %{{.+}} step %{{.+}} iter_args
// CHECK-COUNT-2:   vector.load %{{.+}}[%[[K]], %{{.+}}] : memref<4x16xf32, #gpu.address_space<workgroup>>, vector<8xf32>
// CHECK:           %[[A:.+]] = memref.load %{{.+}}[%{{.+}}, %[[K]]] : memref<6x4xf32, #gpu.address_space<workgroup>>
// CHECK:           %[[FACTOR:.+]] = vector.broadcast %[[A]] : f32 to vector<8xf32>
// CHECK-COUNT-12:  vector.fma
// CHECK:         vector.store
gpu.module @gemm attributes {tl.target = #tl.target<chip = "cpu">} {
  gpu.func @gemm() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : memref<6x4xf32, #gpu.address_space<workgroup>>
    %b = tl.alloc : memref<4x16xf32, #gpu.address_space<workgroup>>
    %c = tl.alloc : memref<6x16xf32, #tl.fragment>
    tl.gemm %a, %b, %c : memref<6x4xf32, #gpu.address_space<workgroup>>, memref<4x16xf32, #gpu.address_space<workgroup>>, memref<6x16xf32, #tl.fragment>
    gpu.return
  }
}

// -----

// A transposed bf16 operand is turned and converted first, in squares of eight
// lines: three rounds of interleaving.
// CHECK-LABEL: func.func @transposed(
// CHECK:         memref.alloca() {{.+}} : memref<8x16xf32, #gpu.address_space<private>>
// CHECK-COUNT-24: vector.shuffle %{{.+}} : vector<8xf32>, vector<8xf32>
// CHECK:         vector.fma
gpu.module @transposed attributes {tl.target = #tl.target<chip = "cpu">} {
  gpu.func @transposed() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : memref<6x8xbf16, #gpu.address_space<workgroup>>
    %b = tl.alloc : memref<16x8xbf16, #gpu.address_space<workgroup>>
    %c = tl.alloc : memref<6x16xf32, #tl.fragment>
    tl.gemm %a, %b, %c transpose_b : memref<6x8xbf16, #gpu.address_space<workgroup>>, memref<16x8xbf16, #gpu.address_space<workgroup>>, memref<6x16xf32, #tl.fragment>
    gpu.return
  }
}

// -----

// A pipelined loop is a loop, a slot is an index, and waits are nothing.
// CHECK-LABEL: func.func @pipelined(
// CHECK:         %[[RING:.+]] = memref.alloca() {{.+}} : memref<2x8xf32, #gpu.address_space<workgroup>>
// CHECK:         scf.for %[[K:.+]] = %{{.+}} to
// CHECK:           memref.store %{{.+}}, %[[RING]][%{{.+}}, %{{.+}}]
// CHECK-NOT:     {{tl\.(commit|fill|pipelined|slot|wait)}}
// CHECK:         return
gpu.module @pipelined attributes {tl.target = #tl.target<chip = "cpu">} {
  gpu.func @pipelined(%A: memref<8xf32>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant 0.0 : f32
    %ring = tl.alloc : memref<2x8xf32, #gpu.address_space<workgroup>>
    tl.pipelined %k = %c0 to %n stages(2) {
      %s = arith.remui %k, %c2 : index
      %slot = tl.slot %ring[%s] : memref<2x8xf32, #gpu.address_space<workgroup>> to memref<8xf32, #gpu.address_space<workgroup>>
      tl.fill %slot, %zero : memref<8xf32, #gpu.address_space<workgroup>>
      tl.commit_copies
      tl.wait_copies 0
      tl.copy %slot to %A tile(8) : memref<8xf32, #gpu.address_space<workgroup>> to memref<8xf32>
    }
    gpu.return
  }
}

// -----

// More than a stack should hold.
// CHECK-LABEL: func.func @large(
// CHECK:         %[[MEMORY:.+]] = memref.alloc() {alignment = 64 : i64} : memref<1024x1024xf32, #gpu.address_space<workgroup>>
// CHECK:         scf.for
// CHECK:         memref.dealloc %[[MEMORY]]
// CHECK-NEXT:    return
gpu.module @large attributes {tl.target = #tl.target<chip = "cpu">} {
  gpu.func @large(%A: memref<1024xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %zero = arith.constant 0.0 : f32
    %s = tl.alloc : memref<1024x1024xf32, #gpu.address_space<workgroup>>
    tl.fill %s, %zero : memref<1024x1024xf32, #gpu.address_space<workgroup>>
    tl.copy %s to %A tile(1024) : memref<1024x1024xf32, #gpu.address_space<workgroup>> to memref<1024xf32>
    gpu.return
  }
}

// -----

// A tensor at an address is a buffer made of it, with the extents that it says.
// CHECK-LABEL: func.func @at_an_address(
// CHECK:         scf.for
// CHECK:           %[[P:.+]] = llvm.inttoptr %{{.+}} : i64 to !llvm.ptr
// CHECK:           builtin.unrealized_conversion_cast %{{.+}} to memref<?x8xf32>
gpu.module @at_an_address attributes {tl.target = #tl.target<chip = "cpu">} {
  gpu.func @at_an_address(%p: i64, %m: index) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %A = tl.tensor_at %p[%m] align(16) : memref<?x8xf32>
    tl.store %zero, %A[%c0, %c0] : memref<?x8xf32>
    gpu.return
  }
}
