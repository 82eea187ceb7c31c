// Every op of the dialect, parsed from its printed form again.
// RUN: tl-opt %s | tl-opt | FileCheck %s
// RUN: tl-opt %s --mlir-print-op-generic | tl-opt | FileCheck %s

//===----------------------------------------------------------------------===//
// Kernels and launches
//===----------------------------------------------------------------------===//

// A kernel names itself or not; its block has one to three extents.
// CHECK-LABEL: func.func @kernels(
// CHECK-SAME:      %[[G:.+]]: index)
func.func @kernels(%g: index) attributes {tl.entry} {
  // CHECK: tl.kernel blocks(%bx) in (%[[G]]) threads(128) {
  // CHECK-NOT: tl.yield
  // CHECK: }
  tl.kernel blocks(%x) in (%g) threads(128) {
  }
  // CHECK: tl.kernel @named blocks(%bx, %by, %bz) in (%[[G]], %[[G]], %[[G]]) threads(32, 4, 2) cluster(2, 1, 1) cooperative attributes {tl.fast_math} {
  // CHECK-NEXT: arith.addi %bx, %by : index
  tl.kernel @named blocks(%x, %y, %z) in (%g, %g, %g) threads(32, 4, 2) cluster(2, 1, 1) cooperative attributes {tl.fast_math} {
    %0 = arith.addi %x, %y : index
  }
  return
}

// CHECK-LABEL: func.func @launches(
// CHECK-SAME:      %[[A:.+]]: memref<?xf32>, %[[N:.+]]: i32, %[[G:.+]]: index)
func.func @launches(%A: memref<?xf32>, %n: i32, %g: index) {
  // CHECK: tl.launch @k::@k blocks(%[[G]]) threads(256) args(%[[A]], %[[N]] : memref<?xf32>, i32)
  tl.launch @k::@k blocks(%g) threads(256) args(%A, %n : memref<?xf32>, i32)
  // CHECK: tl.launch @later::@k blocks(%[[G]], %[[G]]) threads(64, 2) cluster(2, 1) shared(%[[G]]) cooperative dependent args()
  tl.launch @later::@k blocks(%g, %g) threads(64, 2) cluster(2, 1) shared(%g) cooperative dependent args()
  return
}

gpu.module @k {
  gpu.func @k(%A: memref<?xf32>, %n: i32) kernel {
    gpu.return
  }
}

// Once lowering has replaced a kernel's parameters, its launch still has the
// host's arguments.
// CHECK-LABEL: func.func @launch_lowered
func.func @launch_lowered(%A: memref<?xf32>, %g: index) {
  // CHECK: tl.launch @lowered::@k
  tl.launch @lowered::@k blocks(%g) threads(256) args(%A : memref<?xf32>)
  return
}

gpu.module @lowered attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%p: !llvm.ptr {tl.param = #tl.param<base, 0>}, %n: i64 {tl.param = #tl.param<dim, 0>}) kernel {
    gpu.return
  }
}

// CHECK-LABEL: func.func @source_kernels(
// CHECK-SAME:      %[[A:.+]]: memref<?xf32>, %[[G:.+]]: index)
func.func @source_kernels(%A: memref<?xf32>, %g: index) {
  // CHECK: tl.source_kernel sources([#tl.cuda_source<"__global__ void f(float *x) {}">]) entry("f") blocks(%[[G]]) threads(256) args(%[[A]] : memref<?xf32>)
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(float *x) {}">]) entry("f") blocks(%g) threads(256) args(%A : memref<?xf32>)
  // CHECK: tl.source_kernel sources([#tl.cuda_source<"", file = "scale.cu">]) blocks(%[[G]], %[[G]]) threads(32) cluster(1, 2) shared(%[[G]]) cooperative dependent args()
  tl.source_kernel sources([#tl.cuda_source<"", file = "scale.cu">]) blocks(%g, %g) threads(32) cluster(1, 2) shared(%g) cooperative dependent args()
  // CHECK: tl.source_kernel sources([#tl.cuda_source<"...", file = "a.py", line = 3>, #tl.cuda_source<"...", language = ptx>]) prelude "..." flags ["-O1"] include_paths ["include"] headers {i.h = "..."} toolkit "..." uncached "..." blocks(%[[G]]) threads(1) args(%[[A]] : memref<?xf32>) params [#tl.param<tensor_map, 0, box = [8]>] symbols ["w"](%[[A]] : memref<?xf32>)
  tl.source_kernel sources([#tl.cuda_source<"...", file = "a.py", line = 3>, #tl.cuda_source<"...", language = ptx>]) prelude "..." flags ["-O1"]
    include_paths ["include"] headers {i.h = "..."} toolkit "..." uncached "..." blocks(%g) threads(1)
    args(%A : memref<?xf32>) params [#tl.param<tensor_map, 0, box = [8]>] symbols ["w"](%A : memref<?xf32>)
  return
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

// Buffers are named after the memory that they are in.
// CHECK-LABEL: func.func @allocs
func.func @allocs() {
  // CHECK: %shared = tl.alloc : memref<128x64xf16, #gpu.address_space<workgroup>>
  %0 = tl.alloc : memref<128x64xf16, #gpu.address_space<workgroup>>
  // CHECK: %shared_0 = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(1024) : memref<3x128x64xf16, #gpu.address_space<workgroup>>
  %1 = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(1024) : memref<3x128x64xf16, #gpu.address_space<workgroup>>
  // CHECK: %fragment = tl.alloc layout(#tl.fragment_layout<shape = [16, 8], thread = [4, 8] : [2, 8], value = [2, 2] : [1, 64]>) : memref<16x8xf32, #tl.fragment>
  %2 = tl.alloc layout(#tl.fragment_layout<shape = [16, 8], thread = [4, 8] : [2, 8], value = [2, 2] : [1, 64]>) : memref<16x8xf32, #tl.fragment>
  // CHECK: %local = tl.alloc : memref<4xi32, #gpu.address_space<private>>
  %3 = tl.alloc : memref<4xi32, #gpu.address_space<private>>
  return
}

// CHECK-LABEL: func.func @slots(
// CHECK-SAME:      %[[I:.+]]: index)
func.func @slots(%i: index) {
  // CHECK: %[[RING:.+]] = tl.alloc
  %ring = tl.alloc : memref<4x128x64xf16, #gpu.address_space<workgroup>>
  // CHECK: tl.slot %[[RING]][%[[I]]] : memref<4x128x64xf16, #gpu.address_space<workgroup>> to memref<128x64xf16, #gpu.address_space<workgroup>>
  %0 = tl.slot %ring[%i] : memref<4x128x64xf16, #gpu.address_space<workgroup>> to memref<128x64xf16, #gpu.address_space<workgroup>>
  return
}

// A buffer of no dimensions takes no index.
// CHECK-LABEL: func.func @elements(
// CHECK-SAME:      %[[A:.+]]: memref<?x?xf16>, %[[S:.+]]: memref<f16>, %[[I:.+]]: index)
func.func @elements(%A: memref<?x?xf16>, %s: memref<f16>, %i: index) {
  // CHECK: %[[X:.+]] = tl.load %[[A]][%[[I]], %[[I]]] : memref<?x?xf16>
  %x = tl.load %A[%i, %i] : memref<?x?xf16>
  // CHECK: tl.cut inside %[[A]][1] length(%[[I]]) extent(%[[I]]) : memref<?x?xf16>
  tl.cut inside %A[1] length(%i) extent(%i) : memref<?x?xf16>
  // CHECK: tl.cut at_most %[[A]][0] length(%[[I]]) extent(%[[I]]) : memref<?x?xf16>
  tl.cut at_most %A[0] length(%i) extent(%i) : memref<?x?xf16>
  // CHECK: tl.cut equal %[[A]][0] length(%[[I]]) extent(%[[I]]) : memref<?x?xf16>
  tl.cut equal %A[0] length(%i) extent(%i) : memref<?x?xf16>
  // CHECK: tl.store %[[X]], %[[A]][%[[I]], %[[I]]] : memref<?x?xf16>
  tl.store %x, %A[%i, %i] : memref<?x?xf16>
  // CHECK: tl.store %[[X]], %[[S]][] : memref<f16>
  tl.store %x, %s[] : memref<f16>
  return
}

// CHECK-LABEL: func.func @atomics_of_bytes(
func.func @atomics_of_bytes(%A: memref<?xi8>, %i: index, %x: i8) {
  // CHECK: tl.atomic and %{{.+}}, %{{.+}}[%{{.+}}] : memref<?xi8>
  %0 = tl.atomic and %x, %A[%i] : memref<?xi8>
  // CHECK: tl.atomic or %{{.+}}, %{{.+}}[%{{.+}}] : memref<?xi8>
  %1 = tl.atomic or %x, %A[%i] : memref<?xi8>
  return
}

// CHECK-LABEL: func.func @atomics(
// CHECK-SAME:      %[[A:.+]]: memref<?xi32>, %[[S:.+]]: memref<4xbf16, #gpu.address_space<workgroup>>, %[[I:.+]]: index, %[[N:.+]]: i32, %[[X:.+]]: bf16)
func.func @atomics(%A: memref<?xi32>, %s: memref<4xbf16, #gpu.address_space<workgroup>>, %i: index, %n: i32, %x: bf16) {
  // CHECK: tl.atomic add %[[N]], %[[A]][%[[I]]] : memref<?xi32>
  %0 = tl.atomic add %n, %A[%i] : memref<?xi32>
  // CHECK: tl.atomic add %[[N]], %[[A]][%[[I]]] each_thread : memref<?xi32>
  %each = tl.atomic add %n, %A[%i] each_thread : memref<?xi32>
  // CHECK: tl.atomic max %[[X]], %[[S]][%[[I]]] scope(block) : memref<4xbf16, #gpu.address_space<workgroup>>
  %1 = tl.atomic max %x, %s[%i] scope(block) : memref<4xbf16, #gpu.address_space<workgroup>>
  // CHECK: tl.atomic umin %[[N]], %[[A]][%[[I]]] order(acq_rel) scope(system) {note} : memref<?xi32>
  %2 = tl.atomic umin %n, %A[%i] order(acq_rel) scope(system) {note} : memref<?xi32>
  // CHECK: tl.atomic compare_exchange %[[N]], %[[A]][%[[I]]] expected(%[[N]]) order(seq_cst) : memref<?xi32>
  %3 = tl.atomic compare_exchange %n, %A[%i] expected(%n) order(seq_cst) : memref<?xi32>
  // CHECK: tl.atomic load %[[A]][%[[I]]] order(acquire) : memref<?xi32>
  %4 = tl.atomic load %A[%i] order(acquire) : memref<?xi32>
  return
}

//===----------------------------------------------------------------------===//
// Tile ops
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @copies(
// CHECK-SAME:      %[[A:[^:]+]]: memref<?x?xf16>, %[[B:[^:]+]]: memref<8x?x?xf16>, %[[I:.+]]: index)
func.func @copies(%A: memref<?x?xf16>, %B: memref<8x?x?xf16>, %i: index) {
  // CHECK: %[[S:.+]] = tl.alloc
  %s = tl.alloc : memref<128x64xf16, #gpu.address_space<workgroup>>
  // CHECK: %[[F:.+]] = tl.alloc
  %f = tl.alloc : memref<128x64xf32, #tl.fragment>
  // CHECK: %[[BARS:.+]] = tl.alloc_barriers
  %bars = tl.alloc_barriers arrivals(1) : memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
  // CHECK: tl.copy %[[A]][%[[I]], %[[I]]] to %[[S]] tile(128, 64) : memref<?x?xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
  tl.copy %A[%i, %i] to %s tile(128, 64) : memref<?x?xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
  // CHECK: tl.copy %[[S]] to %[[F]] tile(128, 64) : memref<128x64xf16, #gpu.address_space<workgroup>> to memref<128x64xf32, #tl.fragment>
  tl.copy %s to %f tile(128, 64) : memref<128x64xf16, #gpu.address_space<workgroup>> to memref<128x64xf32, #tl.fragment>
  // CHECK: tl.copy %[[F]] to %[[B]][%[[I]], %[[I]], %[[I]]] tile(128, 64)
  tl.copy %f to %B[%i, %i, %i] tile(128, 64) : memref<128x64xf32, #tl.fragment> to memref<8x?x?xf16>
  // CHECK: tl.copy %[[A]] to %[[S]] tile(64, 64) async :
  tl.copy %A to %s tile(64, 64) async : memref<?x?xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
  // CHECK: tl.copy %[[S]] to %[[A]] tile(64, 64) async bulk :
  tl.copy %s to %A tile(64, 64) async bulk : memref<128x64xf16, #gpu.address_space<workgroup>> to memref<?x?xf16>
  // CHECK: tl.copy %[[S]] to %[[A]] tile(64, 64) bulk accumulate :
  tl.copy %s to %A tile(64, 64) bulk accumulate : memref<128x64xf16, #gpu.address_space<workgroup>> to memref<?x?xf16>
  // CHECK: tl.copy %[[A]] to %[[S]] tile(128, 64) async bulk multicast barrier(%[[BARS]][%[[I]]] : memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>) :
  tl.copy %A to %s tile(128, 64) async bulk multicast barrier(%bars[%i] : memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>) : memref<?x?xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
  // CHECK: tl.copy %[[A]] to %[[S]] tile(128, 64) async bulk barrier(%[[BARS]][%[[I]]] : memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>) :
  tl.copy %A to %s tile(128, 64) async bulk barrier(%bars[%i] : memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>) : memref<?x?xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
  return
}

// CHECK-LABEL: func.func @rounding_copy(
func.func @rounding_copy(%A: memref<?x?xf32>, %s: memref<8x8xf32, #gpu.address_space<workgroup>>) {
  // CHECK: tl.copy %{{.+}} to %{{.+}} tile(8, 8) async bulk round_tf32 :
  tl.copy %A to %s tile(8, 8) async bulk round_tf32 : memref<?x?xf32> to memref<8x8xf32, #gpu.address_space<workgroup>>
  return
}

// CHECK-LABEL: func.func @fill(
// CHECK-SAME:      %[[V:.+]]: f32)
func.func @fill(%v: f32) {
  // CHECK: %[[F:.+]] = tl.alloc
  %f = tl.alloc : memref<128x64xf32, #tl.fragment>
  // CHECK: tl.fill %[[F]], %[[V]] : memref<128x64xf32, #tl.fragment>
  tl.fill %f, %v : memref<128x64xf32, #tl.fragment>
  return
}

// The policy is printed where it is not `square`.
// CHECK-LABEL: func.func @gemms
func.func @gemms() {
  // CHECK: %[[A:.+]] = tl.alloc
  %a = tl.alloc : memref<128x64xf16, #gpu.address_space<workgroup>>
  // CHECK: %[[B:.+]] = tl.alloc
  %b = tl.alloc : memref<64x128xf16, #gpu.address_space<workgroup>>
  // CHECK: %[[ACC:.+]] = tl.alloc
  %acc = tl.alloc : memref<128x128xf32, #tl.fragment>
  // CHECK: %[[ACC64:.+]] = tl.alloc
  %acc64 = tl.alloc : memref<64x64xf32, #tl.fragment>
  // CHECK: tl.gemm %[[A]], %[[B]], %[[ACC]] : memref<128x64xf16, #gpu.address_space<workgroup>>, memref<64x128xf16, #gpu.address_space<workgroup>>, memref<128x128xf32, #tl.fragment>
  tl.gemm %a, %b, %acc : memref<128x64xf16, #gpu.address_space<workgroup>>, memref<64x128xf16, #gpu.address_space<workgroup>>, memref<128x128xf32, #tl.fragment>
  // CHECK: tl.gemm %[[A]], %[[B]], %[[ACC64]] transpose_a transpose_b policy(full_row) async plan(<wgmma, warps_m = 1, warps_n = 1>) :
  tl.gemm %a, %b, %acc64 transpose_a transpose_b policy(full_row) async plan(<wgmma, warps_m = 1, warps_n = 1>) : memref<128x64xf16, #gpu.address_space<workgroup>>, memref<64x128xf16, #gpu.address_space<workgroup>>, memref<64x64xf32, #tl.fragment>
  // CHECK: tl.gemm %[[A]], %[[B]], %[[ACC64]] a_at [64, 16] b_at [8, 64] depth(32) policy(full_row) :
  tl.gemm %a, %b, %acc64 a_at [64, 16] b_at [8, 64] depth(32) policy(full_row) : memref<128x64xf16, #gpu.address_space<workgroup>>, memref<64x128xf16, #gpu.address_space<workgroup>>, memref<64x64xf32, #tl.fragment>
  // CHECK: tl.gemm %[[A]], %[[A]], %[[ACC]] transpose_b policy(full_col) plan(<mma, warps_m = 2, warps_n = 2>) :
  tl.gemm %a, %a, %acc transpose_b policy(full_col) plan(<mma, warps_m = 2, warps_n = 2>) : memref<128x64xf16, #gpu.address_space<workgroup>>, memref<128x64xf16, #gpu.address_space<workgroup>>, memref<128x128xf32, #tl.fragment>
  return
}

// The element types that can be multiplied.
// CHECK-LABEL: func.func @gemm_types(
// CHECK-COUNT-6: tl.gemm
func.func @gemm_types(%f16: memref<16x16xf16, #gpu.address_space<workgroup>>,
                      %bf16: memref<16x16xbf16, #gpu.address_space<workgroup>>,
                      %f32: memref<16x16xf32, #gpu.address_space<workgroup>>,
                      %f64: memref<16x16xf64, #gpu.address_space<workgroup>>,
                      %i8: memref<16x16xi8, #gpu.address_space<workgroup>>,
                      %h: memref<16x16xf16, #tl.fragment>, %f: memref<16x16xf32, #tl.fragment>,
                      %d: memref<16x16xf64, #tl.fragment>, %i: memref<16x16xi32, #tl.fragment>) {
  tl.gemm %f16, %f16, %f : memref<16x16xf16, #gpu.address_space<workgroup>>, memref<16x16xf16, #gpu.address_space<workgroup>>, memref<16x16xf32, #tl.fragment>
  tl.gemm %f16, %f16, %h : memref<16x16xf16, #gpu.address_space<workgroup>>, memref<16x16xf16, #gpu.address_space<workgroup>>, memref<16x16xf16, #tl.fragment>
  tl.gemm %bf16, %bf16, %f : memref<16x16xbf16, #gpu.address_space<workgroup>>, memref<16x16xbf16, #gpu.address_space<workgroup>>, memref<16x16xf32, #tl.fragment>
  tl.gemm %f32, %f32, %f : memref<16x16xf32, #gpu.address_space<workgroup>>, memref<16x16xf32, #gpu.address_space<workgroup>>, memref<16x16xf32, #tl.fragment>
  tl.gemm %f64, %f64, %d : memref<16x16xf64, #gpu.address_space<workgroup>>, memref<16x16xf64, #gpu.address_space<workgroup>>, memref<16x16xf64, #tl.fragment>
  tl.gemm %i8, %i8, %i : memref<16x16xi8, #gpu.address_space<workgroup>>, memref<16x16xi8, #gpu.address_space<workgroup>>, memref<16x16xi32, #tl.fragment>
  return
}

// CHECK-LABEL: func.func @reductions
func.func @reductions() {
  // CHECK: %[[S:.+]] = tl.alloc
  %s = tl.alloc : memref<128x64xf32, #tl.fragment>
  // CHECK: %[[ROWS:.+]] = tl.alloc
  %rows = tl.alloc : memref<128xf32, #tl.fragment>
  // CHECK: %[[COLS:.+]] = tl.alloc
  %cols = tl.alloc : memref<64xf32, #tl.fragment>
  // CHECK: %[[W:.+]] = tl.alloc
  %w = tl.alloc : memref<512xf32, #gpu.address_space<workgroup>>
  %truths = tl.alloc : memref<64xi1, #tl.fragment>
  %any = tl.alloc : memref<1xi1, #tl.fragment>
  // CHECK: tl.reduce max %[[S]] to %[[ROWS]] dim(1) : memref<128x64xf32, #tl.fragment> to memref<128xf32, #tl.fragment>
  tl.reduce max %s to %rows dim(1) : memref<128x64xf32, #tl.fragment> to memref<128xf32, #tl.fragment>
  // CHECK: tl.reduce sum %[[S]] to %[[COLS]] dim(0) accumulate workspace(%[[W]] : memref<512xf32, #gpu.address_space<workgroup>>) :
  tl.reduce sum %s to %cols dim(0) accumulate workspace(%w : memref<512xf32, #gpu.address_space<workgroup>>) : memref<128x64xf32, #tl.fragment> to memref<64xf32, #tl.fragment>
  // CHECK: tl.reduce min
  tl.reduce min %s to %rows dim(1) : memref<128x64xf32, #tl.fragment> to memref<128xf32, #tl.fragment>
  // CHECK: tl.reduce abssum
  tl.reduce abssum %s to %rows dim(1) : memref<128x64xf32, #tl.fragment> to memref<128xf32, #tl.fragment>
  // CHECK: tl.reduce absmax
  tl.reduce absmax %s to %rows dim(1) : memref<128x64xf32, #tl.fragment> to memref<128xf32, #tl.fragment>
  // CHECK: tl.reduce umax
  tl.reduce umax %truths to %any dim(0) : memref<64xi1, #tl.fragment> to memref<1xi1, #tl.fragment>
  // CHECK: tl.reduce umin
  tl.reduce umin %truths to %any dim(0) : memref<64xi1, #tl.fragment> to memref<1xi1, #tl.fragment>
  return
}

// CHECK-LABEL: func.func @scans(
// CHECK-SAME:    %[[S:.+]]: memref<128x64xf32, #tl.fragment>, %[[T:.+]]: memref<128x64xf32, #tl.fragment>, %[[N:.+]]: memref<8xi8
func.func @scans(%s: memref<128x64xf32, #tl.fragment>, %t: memref<128x64xf32, #tl.fragment>, %n: memref<8xi8, #tl.fragment>) {
  // CHECK: %[[W:.+]] = tl.alloc
  %w = tl.alloc : memref<4x64xf32, #gpu.address_space<workgroup>>
  // CHECK: tl.scan sum %[[S]] to %[[S]] dim(1) : memref<128x64xf32, #tl.fragment>
  tl.scan sum %s to %s dim(1) : memref<128x64xf32, #tl.fragment>
  // CHECK: tl.scan max %[[S]] to %[[T]] dim(0) reverse workspace(%[[W]] : memref<4x64xf32, #gpu.address_space<workgroup>>) :
  tl.scan max %s to %t dim(0) reverse workspace(%w : memref<4x64xf32, #gpu.address_space<workgroup>>) : memref<128x64xf32, #tl.fragment>
  // CHECK: tl.scan umax %[[N]] to %[[N]] dim(0) : memref<8xi8, #tl.fragment>
  tl.scan umax %n to %n dim(0) : memref<8xi8, #tl.fragment>
  return
}

// CHECK-LABEL: func.func @parallel(
// CHECK-SAME:      %[[A:[^:]+]]: memref<128x64xf32>
func.func @parallel(%A: memref<128x64xf32>) {
  // CHECK: tl.parallel (%[[I:.+]], %[[J:.+]]) in (128, 64) {
  // CHECK-NEXT: %[[X:.+]] = tl.load %[[A]][%[[I]], %[[J]]] : memref<128x64xf32>
  // CHECK-NEXT: tl.store %[[X]], %[[A]][%[[I]], %[[J]]] : memref<128x64xf32>
  // CHECK-NEXT: }
  tl.parallel (%i, %j) in (128, 64) {
    %x = tl.load %A[%i, %j] : memref<128x64xf32>
    tl.store %x, %A[%i, %j] : memref<128x64xf32>
  }
  // CHECK: tl.parallel (%{{.+}}) in (128) layout(#tl.fragment_layout<shape = [128], thread = [128] : [1], value = [] : []>) attributes {note} {
  tl.parallel (%i) in (128) layout(#tl.fragment_layout<shape = [128], thread = [128] : [1], value = [] : []>) attributes {note} {
  }
  return
}

// CHECK-LABEL: func.func @pipelined(
// CHECK-SAME:      %[[L:.+]]: index, %[[U:.+]]: index)
func.func @pipelined(%l: index, %u: index) {
  // CHECK: tl.pipelined %[[K:.+]] = %[[L]] to %[[U]] stages(3) {
  // CHECK-NEXT: arith.addi %[[K]], %[[K]] : index
  // CHECK-NEXT: }
  tl.pipelined %k = %l to %u stages(3) {
    %0 = arith.addi %k, %k : index
  }
  // CHECK: tl.pipelined %{{.+}} = %[[L]] to %[[U]] stages(1) attributes {note} {
  tl.pipelined %k = %l to %u stages(1) attributes {note} {
  }
  return
}

// CHECK-LABEL: func.func @stages(
// CHECK-SAME:      %[[A:[^:]+]]: memref<64xf32>, %[[U:.+]]: index)
func.func @stages(%A: memref<64xf32>, %u: index) {
  // CHECK: %[[S:.+]] = tl.alloc
  %s = tl.alloc : memref<64xf32, #gpu.address_space<workgroup>>
  // CHECK: tl.pipelined %[[K:.+]] = %[[U]] to %[[U]] stages(3) attributes {note, tl.engine = "groups"} {
  // CHECK-NEXT: tl.copy %[[A]][%[[K]]] to %[[S]] tile(64) {tl.ahead} :
  tl.pipelined %k = %u to %u stages(3) attributes {note, tl.engine = "groups"} {
    tl.copy %A[%k] to %s tile(64) {tl.ahead} : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
  }
  return
}

//===----------------------------------------------------------------------===//
// Pipes
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @pipes(
// CHECK-SAME:      %[[S:.+]]: index, %[[P:.+]]: i32)
func.func @pipes(%s: index, %p: i32) {
  // CHECK: %[[RING:.+]] = tl.alloc
  %ring = tl.alloc : memref<3x64xf32, #gpu.address_space<workgroup>>
  // CHECK: %pipe = tl.pipe rings(%[[RING]], %[[RING]] : memref<3x64xf32, #gpu.address_space<workgroup>>, memref<3x64xf32, #gpu.address_space<workgroup>>) : <bulk, 3>
  %bulk = tl.pipe rings(%ring, %ring : memref<3x64xf32, #gpu.address_space<workgroup>>, memref<3x64xf32, #gpu.address_space<workgroup>>) : !tl.pipe<bulk, 3>
  // CHECK: %[[GROUPS:.+]] = tl.pipe rings(%[[RING]] : {{.*}}) : <groups, 3>
  %groups = tl.pipe rings(%ring : memref<3x64xf32, #gpu.address_space<workgroup>>) : !tl.pipe<groups, 3>
  // CHECK: tl.pipe_acquire %pipe[%[[S]]] : <bulk, 3>
  tl.pipe_acquire %bulk[%s] : !tl.pipe<bulk, 3>
  // CHECK: tl.pipe_acquire %pipe[%[[S]]] count(3) : <bulk, 3>
  tl.pipe_acquire %bulk[%s] count(3) : !tl.pipe<bulk, 3>
  // CHECK: tl.pipe_commit %pipe[%[[S]]] : <bulk, 3>
  tl.pipe_commit %bulk[%s] : !tl.pipe<bulk, 3>
  // CHECK: tl.pipe_wait %pipe[%[[S]]] ahead(2) phase(%[[P]]) : <bulk, 3>
  tl.pipe_wait %bulk[%s] ahead(2) phase(%p) : !tl.pipe<bulk, 3>
  // CHECK: tl.pipe_wait %[[GROUPS]][%[[S]]] ahead(0) : <groups, 3>
  tl.pipe_wait %groups[%s] ahead(0) : !tl.pipe<groups, 3>
  // CHECK: tl.pipe_release %pipe[%[[S]]] : <bulk, 3>
  tl.pipe_release %bulk[%s] : !tl.pipe<bulk, 3>
  // CHECK: tl.pipe_drain %pipe : <bulk, 3>
  tl.pipe_drain %bulk : !tl.pipe<bulk, 3>
  // CHECK: tl.rotate %[[S]] by 2 of 3
  %0 = tl.rotate %s by 2 of 3
  // CHECK: tl.next_phase %[[P]] after %[[S]] of 3
  %1 = tl.next_phase %p after %s of 3
  return
}

//===----------------------------------------------------------------------===//
// Synchronisation at tile level
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @barriers(
// CHECK-SAME:      %[[I:.+]]: index, %[[P:.+]]: i32)
func.func @barriers(%i: index, %p: i32) {
  // CHECK: %barriers = tl.alloc_barriers arrivals(2) : memref<4x!tl.mbarrier, #gpu.address_space<workgroup>>
  %0 = tl.alloc_barriers arrivals(2) : memref<4x!tl.mbarrier, #gpu.address_space<workgroup>>
  // CHECK: tl.alloc_barriers arrivals(1) offset(65536) :
  %1 = tl.alloc_barriers arrivals(1) offset(65536) : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>
  // CHECK: tl.wait_barrier %barriers[%[[I]]] parity(%[[P]]) : memref<4x!tl.mbarrier, #gpu.address_space<workgroup>>
  tl.wait_barrier %0[%i] parity(%p) : memref<4x!tl.mbarrier, #gpu.address_space<workgroup>>
  return
}

// CHECK-LABEL: func.func @waits
func.func @waits() {
  // CHECK: %[[ACC:.+]] = tl.alloc
  %acc = tl.alloc : memref<128x128xf32, #tl.fragment>
  // CHECK: tl.commit_copies
  tl.commit_copies
  // CHECK: tl.wait_copies 2
  tl.wait_copies 2
  // CHECK: tl.wait_gemm 1{{$}}
  tl.wait_gemm 1
  // CHECK: tl.wait_gemm 0 (%[[ACC]] : memref<128x128xf32, #tl.fragment>)
  tl.wait_gemm 0 (%acc : memref<128x128xf32, #tl.fragment>)
  // CHECK: tl.fence_async{{$}}
  tl.fence_async
  // CHECK: tl.fence_async device
  tl.fence_async device
  // CHECK: tl.wait_stores 1{{$}}
  tl.wait_stores 1
  // CHECK: tl.wait_stores 0 read
  tl.wait_stores 0 read
  return
}

//===----------------------------------------------------------------------===//
// Thread level
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @matrices
func.func @matrices() -> vector<4xi32> {
  // CHECK: %[[P:.+]] = tl.shared_base : <3>
  %p = tl.shared_base : !llvm.ptr<3>
  // CHECK: %[[V1:.+]] = tl.ldmatrix %[[P]] : <3> -> vector<1xi32>
  %v1 = tl.ldmatrix %p : !llvm.ptr<3> -> vector<1xi32>
  // CHECK: tl.ldmatrix %[[P]] : <3> -> vector<2xi32>
  %v2 = tl.ldmatrix %p : !llvm.ptr<3> -> vector<2xi32>
  // CHECK: %[[V4:.+]] = tl.ldmatrix %[[P]] transpose : <3> -> vector<4xi32>
  %v4 = tl.ldmatrix %p transpose : !llvm.ptr<3> -> vector<4xi32>
  // CHECK: tl.stmatrix %[[V1]], %[[P]] : vector<1xi32>, <3>
  tl.stmatrix %v1, %p : vector<1xi32>, !llvm.ptr<3>
  // CHECK: tl.stmatrix %[[V4]], %[[P]] transpose : vector<4xi32>, <3>
  tl.stmatrix %v4, %p transpose : vector<4xi32>, !llvm.ptr<3>
  return %v4 : vector<4xi32>
}

// CHECK-LABEL: func.func @words(
// CHECK-SAME:      %[[P:.+]]: !llvm.ptr<1>, %[[S:.+]]: !llvm.ptr<3>, %[[X:.+]]: f32, %[[N:.+]]: i16)
func.func @words(%p: !llvm.ptr<1>, %s: !llvm.ptr<3>, %x: f32, %n: i16) {
  // CHECK: tl.atom add %[[P]], %[[X]] : <1>, f32
  %0 = tl.atom add %p, %x : !llvm.ptr<1>, f32
  // CHECK: tl.atom compare_exchange %[[S]], %[[N]] expected(%[[N]]) order(release) scope(block) : <3>, i16
  %1 = tl.atom compare_exchange %s, %n expected(%n) order(release) scope(block) : !llvm.ptr<3>, i16
  // CHECK: tl.atom load %[[P]] order(seq_cst) : <1>, f64
  %2 = tl.atom load %p order(seq_cst) : !llvm.ptr<1>, f64
  return
}

// CHECK-LABEL: func.func @mma(
// CHECK-SAME:      %[[A:.+]]: vector<4xi32>, %[[B:.+]]: vector<2xi32>, %[[F32:.+]]: vector<4xf32>, %[[F16:.+]]: vector<4xf16>, %[[I32:.+]]: vector<4xi32>)
func.func @mma(%a: vector<4xi32>, %b: vector<2xi32>, %f32: vector<4xf32>, %f16: vector<4xf16>, %i32: vector<4xi32>) {
  // CHECK: tl.mma bf16 %[[A]], %[[B]], %[[F32]] : vector<4xi32>, vector<2xi32>, vector<4xf32>
  %0 = tl.mma bf16 %a, %b, %f32 : vector<4xi32>, vector<2xi32>, vector<4xf32>
  // CHECK: tl.mma f16 %[[A]], %[[B]], %[[F32]] :
  %1 = tl.mma f16 %a, %b, %f32 : vector<4xi32>, vector<2xi32>, vector<4xf32>
  // CHECK: tl.mma f16 %[[A]], %[[B]], %[[F16]] :
  %2 = tl.mma f16 %a, %b, %f16 : vector<4xi32>, vector<2xi32>, vector<4xf16>
  // CHECK: tl.mma tf32 %[[A]], %[[B]], %[[F32]] :
  %3 = tl.mma tf32 %a, %b, %f32 : vector<4xi32>, vector<2xi32>, vector<4xf32>
  // CHECK: tl.mma s8 %[[A]], %[[B]], %[[I32]] :
  %4 = tl.mma s8 %a, %b, %i32 : vector<4xi32>, vector<2xi32>, vector<4xi32>
  // CHECK: tl.mma u8 %[[A]], %[[B]], %[[I32]] :
  %5 = tl.mma u8 %a, %b, %i32 : vector<4xi32>, vector<2xi32>, vector<4xi32>
  // CHECK: tl.mma e4m3 by e5m2 %[[A]], %[[B]], %[[F32]] :
  %6 = tl.mma e4m3 by e5m2 %a, %b, %f32 : vector<4xi32>, vector<2xi32>, vector<4xf32>
  return
}

// CHECK-LABEL: func.func @wgmma_from_registers(
// CHECK-SAME:    %[[A:[^:]+]]: vector<8xi32>, %[[B:[^:]+]]: i64, %[[ACC:[^:]+]]: vector<32xf32>
func.func @wgmma_from_registers(%a: vector<8xi32>, %b: i64, %acc: vector<32xf32>) -> vector<32xf32> {
  // CHECK: tl.wgmma e5m2 by e4m3 n(64) %[[A]], %[[B]], %[[ACC]] acc_offsets([0, 0]) a_offsets([0, 4]) b_offsets([0, 2]) : vector<8xi32>, vector<32xf32>
  %0 = tl.wgmma e5m2 by e4m3 n(64) %a, %b, %acc acc_offsets([0, 0]) a_offsets([0, 4]) b_offsets([0, 2]) : vector<8xi32>, vector<32xf32>
  return %0 : vector<32xf32>
}

// CHECK-LABEL: func.func @wgmma(
// CHECK-SAME:      %[[A:[^:]+]]: i64, %[[B:[^:]+]]: i64, %[[ACC:.+]]: vector<64xf32>)
func.func @wgmma(%a: i64, %b: i64, %acc: vector<64xf32>) -> vector<64xf32> {
  // CHECK: %[[R:.+]] = tl.wgmma bf16 n(128) %[[A]], %[[B]], %[[ACC]] acc_offsets([0, 0]) a_offsets([0, 2]) b_offsets([0, 2]) : vector<64xf32>
  %0 = tl.wgmma bf16 n(128) %a, %b, %acc acc_offsets([0, 0]) a_offsets([0, 2]) b_offsets([0, 2]) : vector<64xf32>
  // CHECK: %[[S:.+]] = tl.wgmma f16 n(64) %[[A]], %[[B]], %[[R]] a_mn_major b_mn_major acc_offsets([0, 32]) a_offsets([0, 512]) b_offsets([0, 0]) : vector<64xf32>
  %1 = tl.wgmma f16 n(64) %a, %b, %0 a_mn_major b_mn_major acc_offsets([0, 32]) a_offsets([0, 512]) b_offsets([0, 0]) : vector<64xf32>
  // CHECK: tl.wgmma_wait 1{{$}}
  tl.wgmma_wait 1
  // CHECK: %[[T:.+]] = tl.wgmma_wait 0 (%[[S]] : vector<64xf32>)
  %2 = tl.wgmma_wait 0 (%1 : vector<64xf32>)
  // CHECK: return %[[T]]
  return %2 : vector<64xf32>
}

//===----------------------------------------------------------------------===//
// Target level
//===----------------------------------------------------------------------===//

// CHECK: tl.compiled_kernel @compiled params([#tl.param<base, 0>, #tl.param<tensor_map, 1, box = [64, 128], swizzle = 128, type = bf16>]) block(128, 2) shared(98304) files({kernel.ptx = ".version 8.0"})
tl.compiled_kernel @compiled params([#tl.param<base, 0>, #tl.param<tensor_map, 1, box = [64, 128], swizzle = 128, type = bf16>]) block(128, 2) shared(98304) files({kernel.ptx = ".version 8.0"})

// CHECK: tl.launch_plan @f {args = [], launches = []}
tl.launch_plan @f {args = [], launches = []}

//===----------------------------------------------------------------------===//
// Device code as text
//===----------------------------------------------------------------------===//

// CHECK-LABEL: gpu.module @scale
gpu.module @scale {
  // CHECK: tl.cuda_unit "src/scale.cu" "#include <two.h>" prelude "..." flags ["-DN=4"] headers {"1/two.h" = "..."} include_paths ["1"] toolkit "..."
  tl.cuda_unit "src/scale.cu" "#include <two.h>" prelude "..." flags ["-DN=4"] headers {"1/two.h" = "..."} include_paths ["1"] toolkit "..."
  // CHECK: tl.cuda_unit "more.ptx" "..." language ptx
  tl.cuda_unit "more.ptx" "..." language ptx
  // CHECK: tl.cuda_entry @scale entry("scale<float>") params([#tl.param<base, 0>]) block(128) shared(0)
  tl.cuda_entry @scale entry("scale<float>") params([#tl.param<base, 0>]) block(128) shared(0)
  // CHECK: tl.cuda_entry @shift params([]) block(8, 8) shared(16) symbols ["ns::table"]
  tl.cuda_entry @shift params([]) block(8, 8) shared(16) symbols ["ns::table"]
}

// CHECK-LABEL: gpu.module @compiled_unit
gpu.module @compiled_unit {
  // CHECK: tl.compiled_kernel @scale entry("_Z5scalef") params([]) block(32) shared(0) symbols ["table"] files({})
  tl.compiled_kernel @scale entry("_Z5scalef") params([]) block(32) shared(0) symbols ["table"] files({})
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

// CHECK-LABEL: gpu.module @roles
gpu.module @roles {
  gpu.func @two() kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    %slot = arith.constant 0 : index
    // CHECK: %[[EMPTY:.+]] = tl.alloc_barriers arrivals(4)
    %empty = tl.alloc_barriers arrivals(4) : memref<4x!tl.mbarrier, #gpu.address_space<workgroup>>
    // CHECK:      tl.role threads(128, 1) barrier(1) {
    // CHECK-NEXT: }
    tl.role threads(128, 1) barrier(1) {
    }
    // CHECK:      tl.role threads(0, 128) barrier(2) {
    // CHECK-NEXT:   tl.arrive_barrier %[[EMPTY]][%{{.+}}] : memref<4x!tl.mbarrier
    tl.role threads(0, 128) barrier(2) {
      tl.arrive_barrier %empty[%slot] : memref<4x!tl.mbarrier, #gpu.address_space<workgroup>>
    }
    gpu.return
  }
}

// CHECK-LABEL: gpu.module @roles_with_registers
gpu.module @roles_with_registers {
  gpu.func @turns() kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    // CHECK: tl.role threads(256, 1) barrier(1) registers(24) {
    tl.role threads(256, 1) barrier(1) registers(24) {
    }
    // CHECK: tl.role threads(0, 256) barrier(2) registers(240) {
    tl.role threads(0, 256) barrier(2) registers(240) {
      // CHECK-NEXT: tl.open_turns barrier(3)
      // CHECK-NEXT: tl.take_turn barrier(3)
      // CHECK-NEXT: tl.pass_turn barrier(3)
      // CHECK-NEXT: tl.close_turns barrier(3)
      tl.open_turns barrier(3)
      tl.take_turn barrier(3)
      tl.pass_turn barrier(3)
      tl.close_turns barrier(3)
    }
    gpu.return
  }
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

// CHECK-LABEL: gpu.module @warps
gpu.module @warps {
  gpu.func @shuffle() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %mine = tl.alloc : memref<64xf16, #tl.fragment>
    %lanes = tl.alloc : memref<64xi32, #tl.fragment>
    %other = tl.alloc : memref<64xf16, #tl.fragment>
    // CHECK: tl.shuffle %{{.+}}, %{{.+}} to %{{.+}} : memref<64xf16, #tl.fragment>, memref<64xi32, #tl.fragment>
    tl.shuffle %mine, %lanes to %other : memref<64xf16, #tl.fragment>, memref<64xi32, #tl.fragment>
    gpu.return
  }

  gpu.func @vote() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %mine = tl.alloc : memref<64xi32, #tl.fragment>
    // CHECK: tl.vote %[[F:.+]] to %[[F]] : memref<64xi32, #tl.fragment>
    tl.vote %mine to %mine : memref<64xi32, #tl.fragment>
    gpu.return
  }
}

//===----------------------------------------------------------------------===//
// Prints
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @prints(
// CHECK-SAME:      %[[X:.+]]: f32, %[[A:.+]]: memref<8x8xf32>, %[[I:.+]]: index, %[[C:.+]]: i1)
func.func @prints(%x: f32, %A: memref<8x8xf32>, %i: index, %c: i1) {
  // CHECK: tl.print "here"{{$}}
  tl.print "here"
  // CHECK: tl.print "" %[[X]] named "x" as "float32" stop last : f32
  tl.print "" %x named "x" as "float32" stop last : f32
  // CHECK: tl.print "a" %[[A]][%[[I]], %[[I]]] tile [1, 4] shown [4] named "A" as "float32" : memref<8x8xf32>
  tl.print "a" %A[%i, %i] tile [1, 4] shown [4] named "A" as "float32" : memref<8x8xf32>
  // CHECK: tl.assert %[[C]], "c", "why"
  tl.assert %c, "c", "why"
  return
}

//===----------------------------------------------------------------------===//
// Functions of users' sources
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @calls(
// CHECK-SAME:      %[[A:.+]]: i8, %[[X:.+]]: f32, %[[V:.+]]: vector<4xf32>, %[[M:.+]]: vector<4xi1>)
func.func @calls(%a: i8, %x: f32, %v: vector<4xf32>, %m: vector<4xi1>) {
  // CHECK: tl.call_source "f" of ["text"](%[[A]], %[[A]], %[[X]]) {counts = array<i64: 2, 0>, params = [ui8, f32], place = 1 : i64} : (i8, i8, f32) -> i8
  %0 = tl.call_source "f" of ["text"] (%a, %a, %x) {counts = array<i64: 2, 0>, params = [ui8, f32], place = 1 : i64} : (i8, i8, f32) -> i8
  // CHECK: tl.call_source "g" of ["a", "b"] toolkit "3f"(%[[V]]) where %[[M]] : vector<4xi1> {counts = array<i64: 0>, params = [f32], place = -1 : i64, returned = f32} : (vector<4xf32>) -> vector<4xf32>
  %1 = tl.call_source "g" of ["a", "b"] toolkit "3f" (%v) where %m : vector<4xi1> {counts = array<i64: 0>, params = [f32], place = -1 : i64, returned = f32} : (vector<4xf32>) -> vector<4xf32>
  return
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @clusters(
// CHECK-SAME:      %[[R:.+]]: index)
func.func @clusters(%r: index) {
  %tile = tl.alloc : memref<64xf32, #gpu.address_space<workgroup>>
  // CHECK: tl.cluster_barrier
  tl.cluster_barrier
  // CHECK: %[[THERE:.+]] = tl.map_shared_rank %{{.+}}[%[[R]]] : memref<64xf32, #gpu.address_space<workgroup>>
  %there = tl.map_shared_rank %tile[%r] : memref<64xf32, #gpu.address_space<workgroup>>
  // CHECK: tl.cluster_arrive
  tl.cluster_arrive
  // CHECK: tl.cluster_wait
  tl.cluster_wait
  // CHECK: tl.load %[[THERE]]
  %x = tl.load %there[%r] : memref<64xf32, #gpu.address_space<workgroup>>
  return
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @addresses(
// CHECK-SAME:      %[[P:.+]]: i64, %[[M:.+]]: index, %[[LD:.+]]: i64)
func.func @addresses(%p: i64, %m: index, %ld: i64) {
  // CHECK: %[[A:.+]] = tl.tensor_at %[[P]][%[[M]]] align(16) : memref<?x64xf16>
  %A = tl.tensor_at %p[%m] align(16) : memref<?x64xf16>
  // CHECK: tl.tensor_at %[[P]] strides[%[[LD]]] align(2) : memref<64x64xf16, strided<[?, 1]>>
  %B = tl.tensor_at %p strides[%ld] align(2) : memref<64x64xf16, strided<[?, 1]>>
  // CHECK: tl.load %[[A]]
  %x = tl.load %A[%m, %m] : memref<?x64xf16>
  // CHECK: tl.device_pointer %[[P]] bytes(%[[LD]]) : <1>
  %q = tl.device_pointer %p bytes(%ld) : !llvm.ptr<1>
  return
}

//===----------------------------------------------------------------------===//
// Iterations
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @iterations(
// CHECK-SAME:      %[[I:.+]]: index, %[[J:.+]]: index)
func.func @iterations(%i: index, %j: index) {
  // CHECK: tl.begin_iterations [64, 32]
  tl.begin_iterations [64, 32]
  // CHECK: tl.at_iterations %[[I]], %[[J]]
  tl.at_iterations %i, %j
  // CHECK: tl.touch_fragment "x" 0[%[[I]]]
  tl.touch_fragment "x" 0[%i]
  // CHECK: tl.touch_fragment write "x" 0[%[[J]]]
  tl.touch_fragment write "x" 0[%j]
  return
}
