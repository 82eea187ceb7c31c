// One case for each constraint (Cn) of each op; see TLOps.td for their text.
// RUN: tl-opt %s --allow-unregistered-dialect --verify-diagnostics --split-input-file

//===----------------------------------------------------------------------===//
// tl.kernel
//===----------------------------------------------------------------------===//

// C1
func.func @kernel_without_grid() {
  // expected-error @below {{'tl.kernel' op expects one to three grid extents, got 0}}
  tl.kernel blocks() in () threads(128) {
  }
  return
}

// -----

// C1
func.func @kernel_with_four_grid_extents(%g: index) {
  // expected-error @below {{expects one to three grid extents, got 4}}
  tl.kernel blocks(%x, %y, %z, %w) in (%g, %g, %g, %g) threads(128) {
  }
  return
}

// -----

// C2
func.func @kernel_without_threads(%g: index) {
  // expected-error @below {{expects one to three thread extents, got 0}}
  tl.kernel blocks(%x) in (%g) threads() {
  }
  return
}

// -----

// C2
func.func @kernel_with_four_thread_extents(%g: index) {
  // expected-error @below {{expects one to three thread extents, got 4}}
  tl.kernel blocks(%x) in (%g) threads(2, 2, 2, 2) {
  }
  return
}

// -----

// C2
func.func @kernel_with_zero_threads(%g: index) {
  // expected-error @below {{expects positive thread extents, got (128, 0)}}
  tl.kernel blocks(%x) in (%g) threads(128, 0) {
  }
  return
}

// -----

// C2
func.func @kernel_with_too_many_threads(%g: index) {
  // expected-error @below {{expects at most 1024 threads in a block, got 1056}}
  tl.kernel blocks(%x) in (%g) threads(32, 33) {
  }
  return
}

// -----

// C2: the product of the extents does not fit into 64 bits.
func.func @kernel_with_overflowing_threads(%g: index) {
  // expected-error @below {{expects at most 1024 threads in a block}}
  tl.kernel blocks(%x) in (%g) threads(4294967296, 4294967296) {
  }
  return
}

// -----

// C3
func.func @kernel_with_long_cluster(%g: index) {
  // expected-error @below {{expects a cluster of one to 1 extents, as the grid has, got 2}}
  tl.kernel blocks(%x) in (%g) threads(128) cluster(2, 1) {
  }
  return
}

// -----

// C3
func.func @kernel_with_empty_cluster(%g: index) {
  // expected-error @below {{expects a cluster of one to 1 extents, as the grid has, got 0}}
  tl.kernel blocks(%x) in (%g) threads(128) cluster() {
  }
  return
}

// -----

// C3
func.func @kernel_with_zero_cluster(%g: index) {
  // expected-error @below {{expects positive cluster extents, got (0)}}
  tl.kernel blocks(%x) in (%g) threads(128) cluster(0) {
  }
  return
}

// -----

// C3
func.func @kernel_with_large_cluster(%g: index) {
  // expected-error @below {{expects at most 16 blocks in a cluster, got 32}}
  tl.kernel blocks(%x, %y) in (%g, %g) threads(128) cluster(8, 4) {
  }
  return
}

// -----

// C4
func.func @kernel_with_missing_coordinate(%g: index) {
  // expected-error @below {{expects one `index` block coordinate for each of 2 grid extents, got 1 of types ('index')}}
  tl.kernel blocks(%x) in (%g, %g) threads(128) {
  }
  return
}

// -----

// C4
func.func @kernel_with_integer_coordinate(%g: index) {
  // expected-error @below {{expects one `index` block coordinate for each of 1 grid extents, got 1 of types ('i32')}}
  "tl.kernel"(%g) <{threads = array<i64: 128>}> ({
  ^bb0(%x: i32):
    "tl.yield"() : () -> ()
  }) : (index) -> ()
  return
}

// -----

// C5
module {
  %g = "test.grid"() : () -> index
  // expected-error @below {{expects to be inside a function}}
  tl.kernel blocks(%x) in (%g) threads(128) {
  }
}

// -----

func.func @yield_elsewhere() {
  // expected-error @below {{expects parent op to be one of 'tl.kernel, tl.parallel, tl.pipelined'}}
  tl.yield
}

// -----

//===----------------------------------------------------------------------===//
// tl.launch
//===----------------------------------------------------------------------===//

// C1
func.func @launch_without_grid() {
  // expected-error @below {{'tl.launch' op expects one to three grid extents, got 0}}
  tl.launch @k::@k blocks() threads(128) args()
  return
}

// -----

// C2
func.func @launch_with_zero_threads(%g: index) {
  // expected-error @below {{expects positive thread extents, got (0)}}
  tl.launch @k::@k blocks(%g) threads(0) args()
  return
}

// -----

// C3
func.func @launch_with_large_cluster(%g: index) {
  // expected-error @below {{expects at most 16 blocks in a cluster, got 17}}
  tl.launch @k::@k blocks(%g) threads(128) cluster(17) args()
  return
}

// -----

// C4
func.func @launch_of_flat_symbol(%g: index) {
  // expected-error @below {{expects a kernel of the form `@module::@function`, got `@k`}}
  tl.launch @k blocks(%g) threads(128) args()
  return
}

// -----

// C5
func.func @launch_with_other_types(%g: index, %A: memref<?xf32>, %n: i32) {
  // expected-error @below {{expects arguments of types ('memref<?xf32>', 'i64'), got ('memref<?xf32>', 'i32')}}
  tl.launch @k::@k blocks(%g) threads(128) args(%A, %n : memref<?xf32>, i32)
  return
}
gpu.module @k {
  // expected-note @below {{the kernel is here}}
  gpu.func @k(%A: memref<?xf32>, %n: i64) kernel {
    gpu.return
  }
}

// -----

// C5
func.func @launch_with_too_few(%g: index) {
  // expected-error @below {{expects arguments of types ('i64'), got ()}}
  tl.launch @k::@k blocks(%g) threads(128) args()
  return
}
gpu.module @k {
  // expected-note @below {{the kernel is here}}
  gpu.func @k(%n: i64) kernel {
    gpu.return
  }
}

// -----

//===----------------------------------------------------------------------===//
// tl.source_kernel
//===----------------------------------------------------------------------===//

// C1
func.func @source_without_grid() {
  // expected-error @below {{'tl.source_kernel' op expects one to three grid extents, got 0}}
  tl.source_kernel sources([#tl.cuda_source<"…">]) blocks() threads(128) args()
  return
}

// -----

// C2
func.func @source_with_too_many_threads(%g: index) {
  // expected-error @below {{expects at most 1024 threads in a block, got 2048}}
  tl.source_kernel sources([#tl.cuda_source<"…">]) blocks(%g) threads(2048) args()
  return
}

// -----

// C3
func.func @source_with_long_cluster(%g: index) {
  // expected-error @below {{expects a cluster of one to 1 extents, as the grid has, got 3}}
  tl.source_kernel sources([#tl.cuda_source<"…">]) blocks(%g) threads(128) cluster(1, 1, 1) args()
  return
}

// -----

// C4
func.func @source_without_source(%g: index) {
  // expected-error @below {{expects CUDA source: give its text, or the name of a file}}
  tl.source_kernel sources([#tl.cuda_source<"">]) blocks(%g) threads(128) args()
  return
}

// -----

// C5
func.func @source_with_empty_entry(%g: index) {
  // expected-error @below {{expects an entry name that is not empty; leave it out if the source has one entry}}
  tl.source_kernel sources([#tl.cuda_source<"…">]) entry("") blocks(%g) threads(128) args()
  return
}

// -----

// C4
func.func @source_without_any(%g: index) {
  // expected-error @below {{expects CUDA source: give its text, or the name of a file}}
  tl.source_kernel sources([]) blocks(%g) threads(128) args()
  return
}

// -----

// C6
func.func @source_with_foreign_param(%g: index) {
  // expected-error @below {{expects parameters of its 1 arguments, got #tl.param<base, 1>}}
  tl.source_kernel sources([#tl.cuda_source<"…">]) blocks(%g) threads(128) args(%g : index) params [#tl.param<base, 1>]
  return
}

// -----

// C6
func.func @source_with_nested_struct(%g: index) {
  // expected-error @below {{expects parameters of its 1 arguments, got #tl.param<struct, 0, members = [#tl.param<tensor_map, 0>]>}}
  tl.source_kernel sources([#tl.cuda_source<"…">]) blocks(%g) threads(128) args(%g : index) params [#tl.param<struct, 0, members = [#tl.param<tensor_map, 0>]>]
  return
}

// -----

// C7
func.func @source_with_symbols(%g: index, %A: memref<4xf32>) {
  // expected-error @below {{expects a buffer for each of 2 symbols, got 1}}
  tl.source_kernel sources([#tl.cuda_source<"…">]) blocks(%g) threads(128) args() symbols ["a", "b"](%A : memref<4xf32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// tl.cuda_unit, tl.cuda_entry
//===----------------------------------------------------------------------===//

// C1
gpu.module @empty_unit {
  // expected-error @below {{`a.cu` expects text that is not empty}}
  tl.cuda_unit "a.cu" ""
}

// -----

// C2
gpu.module @ptx_with_flags {
  // expected-error @below {{`a.ptx` is ptx, and prelude, flags, headers and include paths are for CUDA C++ only}}
  tl.cuda_unit "a.ptx" "…" language ptx flags ["-DN=4"]
}

// -----

// C3
gpu.module @strange_header {
  // expected-error @below {{expects the text of header `a.h`, got 1 : i64}}
  tl.cuda_unit "a.cu" "…" headers {a.h = 1}
}

// -----

// Units become files, and leave no folder of ours.
gpu.module @unit_that_leaves {
  // expected-error @below {{expects a name that leads below the unit's folder, got `../a.cu`}}
  tl.cuda_unit "../a.cu" "…"
}

// -----

gpu.module @header_that_leaves {
  // expected-error @below {{expects headers that lie below the unit's folder, got `/etc/a.h`}}
  tl.cuda_unit "a.cu" "…" headers {"/etc/a.h" = "…"}
}

// -----

// C1
gpu.module @entry_without_name {
  // expected-error @below {{expects an entry name that is not empty}}
  tl.cuda_entry @a entry("") params([]) block(32) shared(0)
}

// -----

// C2
gpu.module @entry_with_large_block {
  // expected-error @below {{expects at most 1024 threads in a block, got 2048}}
  tl.cuda_entry @a params([]) block(2048) shared(0)
}

// -----

//===----------------------------------------------------------------------===//
// tl.alloc
//===----------------------------------------------------------------------===//

// C1
func.func @alloc_dynamic() {
  // expected-error @below {{'tl.alloc' op expects a static shape without zeros and no memref layout, got `'memref<?xf32, #tl.fragment>'`}}
  %0 = tl.alloc : memref<?xf32, #tl.fragment>
  return
}

// -----

// C1
func.func @alloc_zero() {
  // expected-error @below {{expects a static shape without zeros and no memref layout}}
  %0 = tl.alloc : memref<4x0xf32, #tl.fragment>
  return
}

// -----

// C1
func.func @alloc_strided() {
  // expected-error @below {{expects a static shape without zeros and no memref layout}}
  %0 = tl.alloc : memref<4xf32, strided<[2]>, #tl.fragment>
  return
}

// -----

// C2
func.func @alloc_in_device_memory() {
  // expected-error @below {{expects a buffer in workgroup memory, `#tl.fragment` or private memory, got `'memref<4xf32>'`}}
  %0 = tl.alloc : memref<4xf32>
  return
}

// -----

// C2
func.func @alloc_in_unknown_memory() {
  // expected-error @below {{expects a buffer in workgroup memory, `#tl.fragment` or private memory, got `'memref<4xf32, 3 : i32>'`}}
  %0 = tl.alloc : memref<4xf32, 3 : i32>
  return
}

// -----

// C3
func.func @alloc_shared_with_fragment_layout() {
  // expected-error @below {{expects a layout for its memory space, got `#tl.fragment_layout<}}
  %0 = tl.alloc layout(#tl.fragment_layout<shape = [32], thread = [32] : [1], value = [] : []>) : memref<32xf32, #gpu.address_space<workgroup>>
  return
}

// -----

// C3
func.func @alloc_fragment_with_shared_layout() {
  // expected-error @below {{expects a layout for its memory space, got `#tl.shared_layout<swizzle = 0, chunk = 32>`}}
  %0 = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 32>) : memref<32xf32, #tl.fragment>
  return
}

// -----

// C3
func.func @alloc_private_with_layout() {
  // expected-error @below {{expects a layout for its memory space}}
  %0 = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 32>) : memref<32xf32, #gpu.address_space<private>>
  return
}

// -----

//===----------------------------------------------------------------------===//
// tl.slot
//===----------------------------------------------------------------------===//

// C1
func.func @slot_of_other_shape(%s: memref<4x8x16xf16, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @below {{'tl.slot' op expects `'memref<4x8x16xf16, #gpu.address_space<workgroup>>'` without its first dimension, got `'memref<8x8xf16, #gpu.address_space<workgroup>>'`}}
  %0 = tl.slot %s[%i] : memref<4x8x16xf16, #gpu.address_space<workgroup>> to memref<8x8xf16, #gpu.address_space<workgroup>>
  return
}

// -----

// C1
func.func @slot_of_other_element_type(%s: memref<4x8xf16, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @below {{without its first dimension}}
  %0 = tl.slot %s[%i] : memref<4x8xf16, #gpu.address_space<workgroup>> to memref<8xf32, #gpu.address_space<workgroup>>
  return
}

// -----

// C1
func.func @slot_of_other_space(%s: memref<4x8xf16, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @below {{without its first dimension}}
  %0 = tl.slot %s[%i] : memref<4x8xf16, #gpu.address_space<workgroup>> to memref<8xf16>
  return
}

// -----

// C1
func.func @slot_of_element(%s: memref<f16>, %i: index) {
  // expected-error @below {{without its first dimension}}
  %0 = tl.slot %s[%i] : memref<f16> to memref<f16>
  return
}

// -----

//===----------------------------------------------------------------------===//
// tl.cut
//===----------------------------------------------------------------------===//

// C1
func.func @cut_of_no_dimension(%A: memref<?x?xf16>, %n: index) {
  // expected-error @below {{'tl.cut' op expects a dimension from 0 to 15, got 16}}
  tl.cut inside %A[16] length(%n) extent(%n) : memref<?x?xf16>
  return
}

// -----

//===----------------------------------------------------------------------===//
// tl.load, tl.store
//===----------------------------------------------------------------------===//

// C1
func.func @load_with_too_few(%A: memref<?x?xf16>, %i: index) {
  // expected-error @below {{'tl.load' op expects one index for each of 2 dimensions, got 1}}
  %0 = tl.load %A[%i] : memref<?x?xf16>
  return
}

// -----

// C1
func.func @store_with_too_many(%A: memref<?xf16>, %x: f16, %i: index) {
  // expected-error @below {{'tl.store' op expects one index for each of 1 dimensions, got 2}}
  tl.store %x, %A[%i, %i] : memref<?xf16>
  return
}

// -----

//===----------------------------------------------------------------------===//
// tl.atomic, tl.atom
//===----------------------------------------------------------------------===//

// C1
func.func @atomic_with_too_few(%A: memref<?x?xf16>, %x: f16, %i: index) {
  // expected-error @below {{'tl.atomic' op expects one index for each of 2 dimensions, got 1}}
  %0 = tl.atomic add %x, %A[%i] : memref<?x?xf16>
  return
}

// -----

// C2
func.func @atomic_on_a_fragment(%F: memref<8xf32, #tl.fragment>, %x: f32, %i: index) {
  // expected-error @below {{expects a target in device or workgroup memory, got 'memref<8xf32, #tl.fragment>'}}
  %0 = tl.atomic add %x, %F[%i] : memref<8xf32, #tl.fragment>
  return
}

// -----

// C3
func.func @load_of_a_value(%A: memref<?xi32>, %x: i32, %i: index) {
  // expected-error @below {{of kind `load` expects no value}}
  %0 = "tl.atomic"(%x, %A, %i) <{kind = #tl<atomic_kind load>, operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (i32, memref<?xi32>, index) -> i32
  return
}

// -----

// C3
func.func @sum_of_nothing(%A: memref<?xi32>, %i: index) {
  // expected-error @below {{of kind `add` expects a value}}
  %0 = "tl.atomic"(%A, %i) <{kind = #tl<atomic_kind add>, operandSegmentSizes = array<i32: 0, 1, 1, 0>}> : (memref<?xi32>, index) -> i32
  return
}

// -----

// C3
func.func @exchange_that_expects(%A: memref<?xi32>, %x: i32, %i: index) {
  // expected-error @below {{of kind `exchange` expects no expected value}}
  %0 = "tl.atomic"(%x, %A, %i, %x) <{kind = #tl<atomic_kind exchange>, operandSegmentSizes = array<i32: 1, 1, 1, 1>}> : (i32, memref<?xi32>, index, i32) -> i32
  return
}

// -----

// C3
func.func @sum_of_types(%A: memref<?xi32>, %x: i64, %i: index) {
  // expected-error @below {{expects operands of the element's type 'i32', got 'i64'}}
  %0 = "tl.atomic"(%x, %A, %i) <{kind = #tl<atomic_kind add>, operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (i64, memref<?xi32>, index) -> i32
  return
}

// -----

func.func @result_of_another_type(%A: memref<?xi32>, %x: i32, %i: index) {
  // expected-error @below {{expects a result of the element's type 'i32', got 'i64'}}
  %0 = "tl.atomic"(%x, %A, %i) <{kind = #tl<atomic_kind add>, operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (i32, memref<?xi32>, index) -> i64
  return
}

// -----

// C4
func.func @atomic_bytes(%A: memref<?xi8>, %x: i8, %i: index) {
  // expected-error @below {{of kind `add` expects elements of i32, i64, f16, bf16, f32 or f64, got 'i8'}}
  %0 = tl.atomic add %x, %A[%i] : memref<?xi8>
  return
}

// -----

// C4
func.func @atomic_bits_of_halves(%A: memref<?xi16>, %x: i16, %i: index) {
  // expected-error @below {{of kind `or` expects elements of i8, i32 or i64, got 'i16'}}
  %0 = tl.atomic or %x, %A[%i] : memref<?xi16>
  return
}

// -----

// C4
func.func @atomic_bits_of_floats(%A: memref<?xf32>, %x: f32, %i: index) {
  // expected-error @below {{of kind `xor` expects elements of i32 or i64, got 'f32'}}
  %0 = tl.atomic xor %x, %A[%i] : memref<?xf32>
  return
}

// -----

// C5
func.func @load_that_releases(%A: memref<?xi32>, %i: index) {
  // expected-error @below {{of kind `load` expects order `relaxed`, `acquire` or `seq_cst`, got `release`}}
  %0 = tl.atomic load %A[%i] order(release) : memref<?xi32>
  return
}

// -----

func.func @unknown_order(%A: memref<?xi32>, %i: index) {
  // expected-error @below {{expects `relaxed`, `acquire`, `release`, `acq_rel` or `seq_cst`, got `strong`}}
  %0 = tl.atomic load %A[%i] order(strong) : memref<?xi32>
  return
}

// -----

func.func @unknown_scope(%A: memref<?xi32>, %i: index) {
  // expected-error @below {{expects `block`, `device` or `system`, got `grid`}}
  %0 = tl.atomic load %A[%i] scope(grid) : memref<?xi32>
  return
}

// -----

// C1
func.func @word_without_a_value(%p: !llvm.ptr<1>) {
  // expected-error @below {{'tl.atom' op of kind `add` expects a value}}
  %0 = "tl.atom"(%p) <{kind = #tl<atomic_kind add>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (!llvm.ptr<1>) -> i32
  return
}

// -----

// C2
func.func @no_instruction(%p: !llvm.ptr<1>, %x: f32) {
  // expected-error @below {{has no instruction for `max` of 'f32'}}
  %0 = tl.atom max %p, %x : !llvm.ptr<1>, f32
  return
}

// -----

// C3
func.func @constant_memory(%p: !llvm.ptr<4>, %x: f32) {
  // expected-error @below {{expects a generic pointer, or one to device or shared memory, got '!llvm.ptr<4>'}}
  %0 = tl.atom add %p, %x : !llvm.ptr<4>, f32
  return
}

// -----

// C4
func.func @word_that_releases(%p: !llvm.ptr<1>) {
  // expected-error @below {{of kind `load` expects order}}
  %0 = tl.atom load %p order(acq_rel) : !llvm.ptr<1>, f32
  return
}

// -----

// C5
func.func @neighbours_in_shared_memory(%p: !llvm.ptr<3>, %x: vector<2xf32>) {
  // expected-error @below {{of neighbours expects a pointer to device memory, the order `relaxed`, and nobody who asks what was there}}
  %0 = tl.atom add %p, %x : !llvm.ptr<3>, vector<2xf32>
  return
}

// -----

// C2
func.func @too_many_neighbours(%p: !llvm.ptr<1>, %x: vector<8xf32>) {
  // expected-error @below {{has no instruction for `add` of 'vector<8xf32>'}}
  %0 = tl.atom add %p, %x : !llvm.ptr<1>, vector<8xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// tl.copy
//===----------------------------------------------------------------------===//

// C1
func.func @copy_with_too_few_offsets(%A: memref<?x?xf16>, %s: memref<8x8xf16, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @below {{'tl.copy' op expects no offsets for the source or one for each of its 2 dimensions, got 1}}
  tl.copy %A[%i] to %s tile(8, 8) : memref<?x?xf16> to memref<8x8xf16, #gpu.address_space<workgroup>>
  return
}

// -----

// C1
func.func @copy_with_too_many_offsets(%A: memref<?x?xf16>, %s: memref<8x8xf16, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @below {{expects no offsets for the target or one for each of its 2 dimensions, got 3}}
  tl.copy %A to %s[%i, %i, %i] tile(8, 8) : memref<?x?xf16> to memref<8x8xf16, #gpu.address_space<workgroup>>
  return
}

// -----

// C2
func.func @copy_of_nothing(%A: memref<?x?xf16>, %s: memref<8x8xf16, #gpu.address_space<workgroup>>) {
  // expected-error @below {{expects positive tile extents, got 8x0}}
  tl.copy %A to %s tile(8, 0) : memref<?x?xf16> to memref<8x8xf16, #gpu.address_space<workgroup>>
  return
}

// -----

// C2
func.func @copy_of_too_many_dimensions(%A: memref<?x?x?xf16>, %s: memref<8x8xf16, #gpu.address_space<workgroup>>) {
  // expected-error @below {{expects a tile of at most 2 dimensions, as the target has, and more of extent one, got 3}}
  tl.copy %A to %s tile(2, 8, 8) : memref<?x?x?xf16> to memref<8x8xf16, #gpu.address_space<workgroup>>
  return
}

// -----

// C2
func.func @copy_of_more_dimensions_than_sides_have(%A: memref<?x?xf16>, %s: memref<8x8xf16, #gpu.address_space<workgroup>>) {
  // expected-error @below {{expects one side to have all of the tile's 3 dimensions}}
  tl.copy %A to %s tile(8, 1, 8) : memref<?x?xf16> to memref<8x8xf16, #gpu.address_space<workgroup>>
  return
}

// -----

// C2
func.func @copy_of_fragments_of_other_ranks(%a: memref<8x1x8xf16, #tl.fragment>, %b: memref<8x8xf16, #tl.fragment>) {
  // expected-error @below {{expects both fragments to have all of the tile's 3 dimensions}}
  tl.copy %a to %b tile(8, 1, 8) : memref<8x1x8xf16, #tl.fragment> to memref<8x8xf16, #tl.fragment>
  return
}

// -----

// C3
func.func @copy_of_too_much(%A: memref<?x?xf16>, %s: memref<8x8xf16, #gpu.address_space<workgroup>>) {
  // expected-error @below {{copies a tile of 8x16, but the target is only 8x8; use a smaller tile or a larger buffer}}
  tl.copy %A to %s tile(8, 16) : memref<?x?xf16> to memref<8x8xf16, #gpu.address_space<workgroup>>
  return
}

// -----

// C3
func.func @copy_from_too_little(%s: memref<8x8xf16, #gpu.address_space<workgroup>>, %A: memref<?x?xf16>) {
  // expected-error @below {{copies a tile of 16x8, but the source is only 8x8; use a smaller tile or a larger buffer}}
  tl.copy %s to %A tile(16, 8) : memref<8x8xf16, #gpu.address_space<workgroup>> to memref<?x?xf16>
  return
}

// -----

// C4
func.func @copy_with_barrier_not_bulk(%A: memref<?x?xf16>, %s: memref<8x8xf16, #gpu.address_space<workgroup>>, %b: memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @below {{with a barrier expects `async bulk`, a source in device memory and a target in workgroup memory of the same element type}}
  tl.copy %A to %s tile(8, 8) async barrier(%b[%i] : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>) : memref<?x?xf16> to memref<8x8xf16, #gpu.address_space<workgroup>>
  return
}

// -----

// C4
func.func @copy_with_barrier_not_async(%A: memref<?x?xf16>, %s: memref<8x8xf16, #gpu.address_space<workgroup>>, %b: memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @below {{with a barrier expects `async bulk`}}
  tl.copy %A to %s tile(8, 8) bulk barrier(%b[%i] : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>) : memref<?x?xf16> to memref<8x8xf16, #gpu.address_space<workgroup>>
  return
}

// -----

// C4
func.func @copy_with_barrier_to_device(%A: memref<?x?xf16>, %s: memref<8x8xf16, #gpu.address_space<workgroup>>, %b: memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @below {{with a barrier expects `async bulk`}}
  tl.copy %s to %A tile(8, 8) async bulk barrier(%b[%i] : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>) : memref<8x8xf16, #gpu.address_space<workgroup>> to memref<?x?xf16>
  return
}

// -----

// C4
func.func @copy_with_barrier_converts(%A: memref<?x?xf32>, %s: memref<8x8xf16, #gpu.address_space<workgroup>>, %b: memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @below {{with a barrier expects `async bulk`}}
  tl.copy %A to %s tile(8, 8) async bulk barrier(%b[%i] : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>) : memref<?x?xf32> to memref<8x8xf16, #gpu.address_space<workgroup>>
  return
}

// -----

// C4
func.func @copy_with_barrier_without_index(%A: memref<?x?xf16>, %s: memref<8x8xf16, #gpu.address_space<workgroup>>, %b: memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>) {
  // expected-error @below {{expects an index with its barrier}}
  "tl.copy"(%A, %s, %b) <{tile = array<i64: 8, 8>, async, bulk, operandSegmentSizes = array<i32: 1, 0, 1, 0, 1, 0>}> : (memref<?x?xf16>, memref<8x8xf16, #gpu.address_space<workgroup>>, memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>) -> ()
  return
}

// -----

// C5
func.func @copy_of_vectors(%A: memref<?xvector<2xf16>>, %s: memref<8xf16, #gpu.address_space<workgroup>>) {
  // expected-error @below {{expects numbers as elements, got `'vector<2xf16>'` and `'f16'`}}
  tl.copy %A to %s tile(8) : memref<?xvector<2xf16>> to memref<8xf16, #gpu.address_space<workgroup>>
  return
}

// -----

// C6: threads do not add.
func.func @copy_accumulates_without_engine(%s: memref<8x8xf32, #gpu.address_space<workgroup>>, %A: memref<?x?xf32>) {
  // expected-error @below {{with `accumulate` expects `bulk`, a source in workgroup memory and a target in device memory, both of f32, f16, bf16 or i32}}
  tl.copy %s to %A tile(8, 8) accumulate : memref<8x8xf32, #gpu.address_space<workgroup>> to memref<?x?xf32>
  return
}

// -----

// C6: nor is anything added on the chip.
func.func @copy_accumulates_a_load(%A: memref<?x?xf32>, %s: memref<8x8xf32, #gpu.address_space<workgroup>>) {
  // expected-error @below {{with `accumulate` expects `bulk`}}
  tl.copy %A to %s tile(8, 8) bulk accumulate : memref<?x?xf32> to memref<8x8xf32, #gpu.address_space<workgroup>>
  return
}

// -----

// C6
func.func @copy_accumulates_other_numbers(%s: memref<8x8xf64, #gpu.address_space<workgroup>>, %A: memref<?x?xf64>) {
  // expected-error @below {{with `accumulate` expects `bulk`}}
  tl.copy %s to %A tile(8, 8) bulk accumulate : memref<8x8xf64, #gpu.address_space<workgroup>> to memref<?x?xf64>
  return
}

// -----

// C7
func.func @copy_multicasts_a_store(%s: memref<8x8xf32, #gpu.address_space<workgroup>>, %A: memref<?x?xf32>) {
  // expected-error @below {{with `multicast` expects a source in device memory and a target in workgroup memory of the same element type}}
  tl.copy %s to %A tile(8, 8) bulk multicast : memref<8x8xf32, #gpu.address_space<workgroup>> to memref<?x?xf32>
  return
}

// -----

// C8
func.func @copy_rounds_what_threads_load(%s: memref<8x8xf32, #gpu.address_space<workgroup>>, %A: memref<?x?xf32>) {
  // expected-error @below {{with `round_tf32` expects `bulk`, a source in device memory and a target in workgroup memory, both of f32}}
  tl.copy %A to %s tile(8, 8) async round_tf32 : memref<?x?xf32> to memref<8x8xf32, #gpu.address_space<workgroup>>
  return
}

// -----

// C8
func.func @copy_rounds_a_store(%s: memref<8x8xf32, #gpu.address_space<workgroup>>, %A: memref<?x?xf32>) {
  // expected-error @below {{with `round_tf32` expects `bulk`}}
  tl.copy %s to %A tile(8, 8) bulk round_tf32 : memref<8x8xf32, #gpu.address_space<workgroup>> to memref<?x?xf32>
  return
}

// -----

// C8
func.func @copy_rounds_f16(%s: memref<8x8xf16, #gpu.address_space<workgroup>>, %A: memref<?x?xf16>) {
  // expected-error @below {{with `round_tf32` expects `bulk`}}
  tl.copy %A to %s tile(8, 8) async bulk round_tf32 : memref<?x?xf16> to memref<8x8xf16, #gpu.address_space<workgroup>>
  return
}

// -----

//===----------------------------------------------------------------------===//
// tl.fill
//===----------------------------------------------------------------------===//

// C1
func.func @fill_device_memory(%A: memref<8xf32>, %v: f32) {
  // expected-error @below {{'tl.fill' op expects an on-chip buffer, got `'memref<8xf32>'`}}
  tl.fill %A, %v : memref<8xf32>
  return
}

// -----

// C2
func.func @fill_with_other_type(%f: memref<8xf32, #tl.fragment>, %v: f16) {
  // expected-error @below {{failed to verify that value has the buffer's element type}}
  "tl.fill"(%f, %v) : (memref<8xf32, #tl.fragment>, f16) -> ()
  return
}

// -----

//===----------------------------------------------------------------------===//
// tl.gemm
//===----------------------------------------------------------------------===//

// C1
func.func @gemm_of_vectors(%a: memref<8xf16, #gpu.address_space<workgroup>>, %b: memref<8x8xf16, #gpu.address_space<workgroup>>, %c: memref<8x8xf32, #tl.fragment>) {
  // expected-error @below {{'tl.gemm' op expects tiles of rank 2, got}}
  tl.gemm %a, %b, %c : memref<8xf16, #gpu.address_space<workgroup>>, memref<8x8xf16, #gpu.address_space<workgroup>>, memref<8x8xf32, #tl.fragment>
  return
}

// -----

// C2
func.func @gemm_of_unequal_k(%a: memref<8x16xf16, #gpu.address_space<workgroup>>, %b: memref<32x8xf16, #gpu.address_space<workgroup>>, %c: memref<8x8xf32, #tl.fragment>) {
  // expected-error @below {{expects shapes M x K, K x N and M x N, got 8x16, 32x8 and 8x8}}
  tl.gemm %a, %b, %c : memref<8x16xf16, #gpu.address_space<workgroup>>, memref<32x8xf16, #gpu.address_space<workgroup>>, memref<8x8xf32, #tl.fragment>
  return
}

// -----

// C2
func.func @gemm_of_other_accumulator(%a: memref<8x16xf16, #gpu.address_space<workgroup>>, %b: memref<8x16xf16, #gpu.address_space<workgroup>>, %c: memref<16x8xf32, #tl.fragment>) {
  // expected-error @below {{expects shapes M x K, K x N and M x N, got 8x16, 16x8 and 16x8 (after transposition)}}
  tl.gemm %a, %b, %c transpose_b : memref<8x16xf16, #gpu.address_space<workgroup>>, memref<8x16xf16, #gpu.address_space<workgroup>>, memref<16x8xf32, #tl.fragment>
  return
}

// -----

// C3
func.func @gemm_of_mixed_types(%a: memref<8x8xf16, #gpu.address_space<workgroup>>, %b: memref<8x8xbf16, #gpu.address_space<workgroup>>, %c: memref<8x8xf32, #tl.fragment>) {
  // expected-error @below {{expects operands of one element type, or of 8-bit floats, got `'f16'` and `'bf16'`}}
  tl.gemm %a, %b, %c : memref<8x8xf16, #gpu.address_space<workgroup>>, memref<8x8xbf16, #gpu.address_space<workgroup>>, memref<8x8xf32, #tl.fragment>
  return
}

// -----

// C4
func.func @gemm_into_narrow(%a: memref<8x8xbf16, #gpu.address_space<workgroup>>, %c: memref<8x8xbf16, #tl.fragment>) {
  // expected-error @below {{cannot multiply `'bf16'` into `'bf16'`: use f16, bf16, f32 or an 8-bit float with an f32 accumulator, f16 with f16, i8 with i32, or f64 with f64}}
  tl.gemm %a, %a, %c : memref<8x8xbf16, #gpu.address_space<workgroup>>, memref<8x8xbf16, #gpu.address_space<workgroup>>, memref<8x8xbf16, #tl.fragment>
  return
}

// -----

// C5
func.func @gemm_from_device_memory(%a: memref<8x8xf16>, %b: memref<8x8xf16, #gpu.address_space<workgroup>>, %c: memref<8x8xf32, #tl.fragment>) {
  // expected-error @below {{expects A in workgroup memory or a fragment, B in workgroup memory and the accumulator in a fragment}}
  tl.gemm %a, %b, %c : memref<8x8xf16>, memref<8x8xf16, #gpu.address_space<workgroup>>, memref<8x8xf32, #tl.fragment>
  return
}

// -----

// C5
func.func @gemm_into_shared_memory(%a: memref<8x8xf16, #gpu.address_space<workgroup>>, %c: memref<8x8xf32, #gpu.address_space<workgroup>>) {
  // expected-error @below {{expects A in workgroup memory or a fragment, B in workgroup memory and the accumulator in a fragment}}
  tl.gemm %a, %a, %c : memref<8x8xf16, #gpu.address_space<workgroup>>, memref<8x8xf16, #gpu.address_space<workgroup>>, memref<8x8xf32, #gpu.address_space<workgroup>>
  return
}

// -----

// C5
func.func @gemm_by_fragment(%a: memref<8x8xf16, #tl.fragment>, %c: memref<8x8xf32, #tl.fragment>) {
  // expected-error @below {{expects A in workgroup memory or a fragment, B in workgroup memory and the accumulator in a fragment}}
  tl.gemm %a, %a, %c : memref<8x8xf16, #tl.fragment>, memref<8x8xf16, #tl.fragment>, memref<8x8xf32, #tl.fragment>
  return
}

// -----

// C5
func.func @gemm_of_its_accumulator(%b: memref<8x8xf16, #gpu.address_space<workgroup>>, %c: memref<8x8xf16, #tl.fragment>) {
  // expected-error @below {{expects an accumulator that is not A as well}}
  tl.gemm %c, %b, %c : memref<8x8xf16, #tl.fragment>, memref<8x8xf16, #gpu.address_space<workgroup>>, memref<8x8xf16, #tl.fragment>
  return
}

// -----

// C6
func.func @gemm_of_a_window_without_a_depth(%a: memref<8x8xf16, #gpu.address_space<workgroup>>, %b: memref<8x8xf16, #gpu.address_space<workgroup>>, %c: memref<8x8xf32, #tl.fragment>) {
  // expected-error @below {{expects a depth beside a window}}
  tl.gemm %a, %b, %c a_at [0, 0] : memref<8x8xf16, #gpu.address_space<workgroup>>, memref<8x8xf16, #gpu.address_space<workgroup>>, memref<8x8xf32, #tl.fragment>
  return
}

// -----

// C6
func.func @gemm_of_a_depth_without_a_window(%a: memref<8x8xf16, #gpu.address_space<workgroup>>, %b: memref<8x8xf16, #gpu.address_space<workgroup>>, %c: memref<8x8xf32, #tl.fragment>) {
  // expected-error @below {{expects a depth beside windows only}}
  tl.gemm %a, %b, %c depth(8) : memref<8x8xf16, #gpu.address_space<workgroup>>, memref<8x8xf16, #gpu.address_space<workgroup>>, memref<8x8xf32, #tl.fragment>
  return
}

// -----

// C6
func.func @gemm_of_an_empty_window(%a: memref<8x8xf16, #gpu.address_space<workgroup>>, %b: memref<8x8xf16, #gpu.address_space<workgroup>>, %c: memref<8x8xf32, #tl.fragment>) {
  // expected-error @below {{expects a positive depth, got 0}}
  tl.gemm %a, %b, %c a_at [0, 0] depth(0) : memref<8x8xf16, #gpu.address_space<workgroup>>, memref<8x8xf16, #gpu.address_space<workgroup>>, memref<8x8xf32, #tl.fragment>
  return
}

// -----

// C7
func.func @gemm_of_narrow_halves(%a: memref<8x8xf16, #gpu.address_space<workgroup>>, %c: memref<8x8xf32, #tl.fragment>) {
  // expected-error @below {{expects f32 of what is narrow, got `'f16'`}}
  tl.gemm %a, %a, %c narrow_b : memref<8x8xf16, #gpu.address_space<workgroup>>, memref<8x8xf16, #gpu.address_space<workgroup>>, memref<8x8xf32, #tl.fragment>
  return
}

// -----

// C6
func.func @gemm_of_a_window_at_one_number(%a: memref<8x8xf16, #gpu.address_space<workgroup>>, %b: memref<8x8xf16, #gpu.address_space<workgroup>>, %c: memref<8x8xf32, #tl.fragment>) {
  // expected-error @below {{expects a window at a row and a column, got 1 numbers for A}}
  tl.gemm %a, %b, %c a_at [0] depth(8) : memref<8x8xf16, #gpu.address_space<workgroup>>, memref<8x8xf16, #gpu.address_space<workgroup>>, memref<8x8xf32, #tl.fragment>
  return
}

// -----

// C6
func.func @gemm_of_a_window_that_leaves_its_tile(%a: memref<8x8xf16, #gpu.address_space<workgroup>>, %b: memref<8x16xf16, #gpu.address_space<workgroup>>, %c: memref<8x8xf32, #tl.fragment>) {
  // expected-error @below {{expects a window inside of its tile, got 8x8 at (0, 9) of 8x16 for B}}
  tl.gemm %a, %b, %c b_at [0, 9] depth(8) : memref<8x8xf16, #gpu.address_space<workgroup>>, memref<8x16xf16, #gpu.address_space<workgroup>>, memref<8x8xf32, #tl.fragment>
  return
}

// -----

// C6
func.func @gemm_of_a_window_in_front_of_its_tile(%a: memref<16x8xf16, #gpu.address_space<workgroup>>, %b: memref<8x8xf16, #gpu.address_space<workgroup>>, %c: memref<8x8xf32, #tl.fragment>) {
  // expected-error @below {{expects a window inside of its tile, got 8x8 at (-1, 0) of 16x8 for A}}
  tl.gemm %a, %b, %c a_at [-1, 0] depth(8) : memref<16x8xf16, #gpu.address_space<workgroup>>, memref<8x8xf16, #gpu.address_space<workgroup>>, memref<8x8xf32, #tl.fragment>
  return
}

// -----

// C6
func.func @gemm_of_a_window_of_another_depth(%a: memref<8x32xf16, #gpu.address_space<workgroup>>, %b: memref<8x8xf16, #gpu.address_space<workgroup>>, %c: memref<8x8xf32, #tl.fragment>) {
  // expected-error @below {{expects shapes M x K, K x N and M x N, got 8x16, 8x8 and 8x8}}
  tl.gemm %a, %b, %c a_at [0, 0] depth(16) : memref<8x32xf16, #gpu.address_space<workgroup>>, memref<8x8xf16, #gpu.address_space<workgroup>>, memref<8x8xf32, #tl.fragment>
  return
}

// -----

// C6
func.func @gemm_of_a_window_of_a_fragment(%a: memref<16x8xf16, #tl.fragment>, %b: memref<8x8xf16, #gpu.address_space<workgroup>>, %c: memref<8x8xf32, #tl.fragment>) {
  // expected-error @below {{expects a window of a tile in workgroup memory, and A is}}
  tl.gemm %a, %b, %c a_at [8, 0] depth(8) : memref<16x8xf16, #tl.fragment>, memref<8x8xf16, #gpu.address_space<workgroup>>, memref<8x8xf32, #tl.fragment>
  return
}

// -----

//===----------------------------------------------------------------------===//
// tl.reduce
//===----------------------------------------------------------------------===//

// C1
func.func @reduce_of_no_dimension(%s: memref<8x16xf32, #tl.fragment>, %t: memref<8xf32, #tl.fragment>) {
  // expected-error @below {{'tl.reduce' op expects a dimension below 2, got 2}}
  tl.reduce max %s to %t dim(2) : memref<8x16xf32, #tl.fragment> to memref<8xf32, #tl.fragment>
  return
}

// -----

// C1
func.func @reduce_of_negative_dimension(%s: memref<8x16xf32, #tl.fragment>, %t: memref<8xf32, #tl.fragment>) {
  // expected-error @below {{expects a dimension below 2, got -1}}
  tl.reduce max %s to %t dim(-1) : memref<8x16xf32, #tl.fragment> to memref<8xf32, #tl.fragment>
  return
}

// -----

// C2
func.func @reduce_into_other_shape(%s: memref<8x16xf32, #tl.fragment>, %t: memref<8xf32, #tl.fragment>) {
  // expected-error @below {{expects a target of 16, got 8}}
  tl.reduce max %s to %t dim(0) : memref<8x16xf32, #tl.fragment> to memref<8xf32, #tl.fragment>
  return
}

// -----

// C2: a reduced vector has one element, or no dimensions.
func.func @reduce_of_vector(%s: memref<8xf32, #tl.fragment>, %t: memref<2xf32, #tl.fragment>) {
  // expected-error @below {{expects a target of 1, got 2}}
  tl.reduce max %s to %t dim(0) : memref<8xf32, #tl.fragment> to memref<2xf32, #tl.fragment>
  return
}

// -----

// C3
func.func @reduce_converts(%s: memref<8x16xf16, #tl.fragment>, %t: memref<8xf32, #tl.fragment>) {
  // expected-error @below {{expects one element type, a float or an integer, got `'f16'` and `'f32'`}}
  tl.reduce max %s to %t dim(1) : memref<8x16xf16, #tl.fragment> to memref<8xf32, #tl.fragment>
  return
}

// -----

// C4
func.func @reduce_in_shared_memory(%s: memref<8x16xf32, #gpu.address_space<workgroup>>, %t: memref<8xf32, #tl.fragment>) {
  // expected-error @below {{expects fragments, got `'memref<8x16xf32, #gpu.address_space<workgroup>>'` and `'memref<8xf32, #tl.fragment>'`}}
  tl.reduce max %s to %t dim(1) : memref<8x16xf32, #gpu.address_space<workgroup>> to memref<8xf32, #tl.fragment>
  return
}

// -----

// C5
func.func @reduce_of_unsigned_floats(%s: memref<8x16xf32, #tl.fragment>, %t: memref<8xf32, #tl.fragment>) {
  // expected-error @below {{expects integers for `umax` and `umin`, and those for `i1`, got `umax` of `'f32'`}}
  tl.reduce umax %s to %t dim(1) : memref<8x16xf32, #tl.fragment> to memref<8xf32, #tl.fragment>
  return
}

// -----

// C5: as a signed number of one bit, true is less than false.
func.func @reduce_of_signed_truth(%s: memref<8x16xi1, #tl.fragment>, %t: memref<8xi1, #tl.fragment>) {
  // expected-error @below {{expects integers for `umax` and `umin`, and those for `i1`, got `max` of `'i1'`}}
  tl.reduce max %s to %t dim(1) : memref<8x16xi1, #tl.fragment> to memref<8xi1, #tl.fragment>
  return
}

// -----

//===----------------------------------------------------------------------===//
// tl.scan
//===----------------------------------------------------------------------===//

// C1
func.func @scan_of_no_dimension(%s: memref<8x16xf32, #tl.fragment>) {
  // expected-error @below {{'tl.scan' op expects a dimension below 2, got 2}}
  tl.scan sum %s to %s dim(2) : memref<8x16xf32, #tl.fragment>
  return
}

// -----

// C2
func.func @scan_in_shared_memory(%s: memref<8xf32, #gpu.address_space<workgroup>>) {
  // expected-error @below {{expects fragments, got `'memref<8xf32, #gpu.address_space<workgroup>>'`}}
  tl.scan sum %s to %s dim(0) : memref<8xf32, #gpu.address_space<workgroup>>
  return
}

// -----

// C3
func.func @scan_of_truths(%s: memref<8xi1, #tl.fragment>) {
  // expected-error @below {{expects a float or an integer wider than `i1`, got `'i1'`}}
  tl.scan sum %s to %s dim(0) : memref<8xi1, #tl.fragment>
  return
}

// -----

// C4
func.func @scan_of_absolute_values(%s: memref<8xf32, #tl.fragment>) {
  // expected-error @below {{expects `sum`, `max` or `min`, and `umax` and `umin` for integers, got `absmax` of `'f32'`}}
  tl.scan absmax %s to %s dim(0) : memref<8xf32, #tl.fragment>
  return
}

// -----

// C4
func.func @scan_of_unsigned_floats(%s: memref<8xf32, #tl.fragment>) {
  // expected-error @below {{expects `sum`, `max` or `min`, and `umax` and `umin` for integers, got `umax` of `'f32'`}}
  tl.scan umax %s to %s dim(0) : memref<8xf32, #tl.fragment>
  return
}

// -----

//===----------------------------------------------------------------------===//
// tl.parallel, tl.pipelined
//===----------------------------------------------------------------------===//

// C1
func.func @parallel_of_nothing() {
  // expected-error @below {{'tl.parallel' op expects positive extents, got no dimensions}}
  tl.parallel () in () {
  }
  return
}

// -----

// C1
func.func @parallel_of_zero() {
  // expected-error @below {{expects positive extents, got 8x0}}
  tl.parallel (%i, %j) in (8, 0) {
  }
  return
}

// -----

// C2
func.func @parallel_with_missing_index() {
  // expected-error @below {{expects one `index` argument for each of 2 extents, got ('index')}}
  tl.parallel (%i) in (8, 8) {
  }
  return
}

// -----

// C2
func.func @parallel_with_integer_index() {
  // expected-error @below {{expects one `index` argument for each of 1 extents, got ('i32')}}
  "tl.parallel"() <{extents = array<i64: 8>}> ({
  ^bb0(%i: i32):
    "tl.yield"() : () -> ()
  }) : () -> ()
  return
}

// -----

// C1
func.func @pipelined_without_stages(%n: index) {
  // expected-error @below {{'tl.pipelined' op expects at least one stage, got 0}}
  tl.pipelined %k = %n to %n stages(0) {
  }
  return
}

// -----

// C1
func.func @pipelined_with_negative_stages(%n: index) {
  // expected-error @below {{expects at least one stage, got -1}}
  tl.pipelined %k = %n to %n stages(-1) {
  }
  return
}

// -----

// C2
func.func @pipelined_without_index(%n: index) {
  // expected-error @below {{expects one argument of type `index`, got ()}}
  "tl.pipelined"(%n, %n) <{stages = 2 : i64}> ({
    "tl.yield"() : () -> ()
  }) : (index, index) -> ()
  return
}

// -----

// `tl.engine`
func.func @engine_for_one_stage(%A: memref<64xf32>, %n: index) {
  %s = tl.alloc : memref<64xf32, #gpu.address_space<workgroup>>
  // expected-error @below {{'tl.pipelined' op has an engine and expects two stages at least, got 1}}
  tl.pipelined %k = %n to %n stages(1) attributes {tl.engine = "bulk"} {
    tl.copy %A[%k] to %s tile(64) {tl.ahead} : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
  }
  return
}

// -----

// `tl.engine`
func.func @unknown_engine(%n: index) {
  // expected-error @below {{'tl.pipelined' op expects `tl.engine` to be "bulk" or "groups", got "steam"}}
  tl.pipelined %k = %n to %n stages(2) attributes {tl.engine = "steam"} {
  }
  return
}

// -----

// `tl.engine`
func.func @engine_for_no_copy(%n: index) {
  // expected-error @below {{'tl.pipelined' op has an engine, and expects a copy that runs ahead}}
  tl.pipelined %k = %n to %n stages(2) attributes {tl.engine = "groups"} {
  }
  return
}

// -----

// `tl.ahead`
func.func @ahead_of_no_loop(%A: memref<64xf32>) {
  %s = tl.alloc : memref<64xf32, #gpu.address_space<workgroup>>
  // expected-error @below {{'tl.copy' op runs ahead, and expects to stand directly in a `tl.pipelined` with an engine}}
  tl.copy %A to %s tile(64) {tl.ahead} : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
  return
}

// -----

// `tl.ahead`
func.func @ahead_and_async(%A: memref<64xf32>, %n: index) {
  %s = tl.alloc : memref<64xf32, #gpu.address_space<workgroup>>
  tl.pipelined %k = %n to %n stages(2) attributes {tl.engine = "groups"} {
    // expected-error @below {{'tl.copy' op runs ahead, and cannot be `async` as well: who waits for it is decided when the loop is expanded}}
    tl.copy %A to %s tile(64) async {tl.ahead} : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
  }
  return
}

// -----

// `tl.ahead`: the rest of the tile would be what another iteration left.
func.func @ahead_into_a_part(%A: memref<1x64xf32>, %n: index) {
  %s = tl.alloc : memref<4x64xf32, #gpu.address_space<workgroup>>
  tl.pipelined %k = %n to %n stages(2) attributes {tl.engine = "groups"} {
    // expected-error @below {{'tl.copy' op runs ahead, and expects a source in device memory and the whole of a `tl.alloc` in workgroup memory as its target}}
    tl.copy %A to %s[%k, %n] tile(1, 64) {tl.ahead} : memref<1x64xf32> to memref<4x64xf32, #gpu.address_space<workgroup>>
  }
  return
}

// -----

//===----------------------------------------------------------------------===//
// Pipes
//===----------------------------------------------------------------------===//

// expected-error @below {{expects two slots at least, got 1}}
func.func private @pipe_of_one_slot(!tl.pipe<bulk, 1>)

// -----

// C1
func.func @pipe_without_rings() {
  // expected-error @below {{'tl.pipe' op expects one ring at least}}
  %0 = "tl.pipe"() : () -> !tl.pipe<bulk, 2>
  return
}

// -----

// C2
func.func @pipe_of_other_length() {
  %ring = tl.alloc : memref<3x64xf32, #gpu.address_space<workgroup>>
  // expected-error @below {{'tl.pipe' op expects rings made by `tl.alloc` in workgroup memory, each with 2 slots, got `'memref<3x64xf32, #gpu.address_space<workgroup>>'`}}
  %0 = tl.pipe rings(%ring : memref<3x64xf32, #gpu.address_space<workgroup>>) : !tl.pipe<bulk, 2>
  return
}

// -----

// C2
func.func @pipe_of_an_argument(%ring: memref<2x64xf32, #gpu.address_space<workgroup>>) {
  // expected-error @below {{expects rings made by `tl.alloc` in workgroup memory}}
  %0 = tl.pipe rings(%ring : memref<2x64xf32, #gpu.address_space<workgroup>>) : !tl.pipe<bulk, 2>
  return
}

// -----

// C3
func.func @pipe_in_a_loop(%n: index) {
  %ring = tl.alloc : memref<2x64xf32, #gpu.address_space<workgroup>>
  scf.for %i = %n to %n step %n {
    // expected-error @below {{'tl.pipe' op stands in a loop; its slots are empty at the start of the kernel only}}
    %0 = tl.pipe rings(%ring : memref<2x64xf32, #gpu.address_space<workgroup>>) : !tl.pipe<bulk, 2>
  }
  return
}

// -----

// C1
func.func @acquire_too_many(%pipe: !tl.pipe<bulk, 2>, %s: index) {
  // expected-error @below {{'tl.pipe_acquire' op expects to acquire 1 to 2 slots, got 3}}
  tl.pipe_acquire %pipe[%s] count(3) : !tl.pipe<bulk, 2>
  return
}

// -----

// C1
func.func @wait_without_phase(%pipe: !tl.pipe<bulk, 2>, %s: index) {
  // expected-error @below {{'tl.pipe_wait' op expects a phase: bulk copies complete phases}}
  tl.pipe_wait %pipe[%s] ahead(0) : !tl.pipe<bulk, 2>
  return
}

// -----

// C1
func.func @wait_for_phase_of_groups(%pipe: !tl.pipe<groups, 2>, %s: index, %p: i32) {
  // expected-error @below {{'tl.pipe_wait' op expects no phase: only bulk copies complete phases}}
  tl.pipe_wait %pipe[%s] ahead(0) phase(%p) : !tl.pipe<groups, 2>
  return
}

// -----

// C2
func.func @wait_far_ahead(%pipe: !tl.pipe<groups, 2>, %s: index) {
  // expected-error @below {{'tl.pipe_wait' op expects less than 2 slots to be under way, got 2}}
  tl.pipe_wait %pipe[%s] ahead(2) : !tl.pipe<groups, 2>
  return
}

// -----

// C1
func.func @rotate_too_far(%s: index) {
  // expected-error @below {{'tl.rotate' op expects to rotate by less than the number of slots, got 3 of 3}}
  %0 = tl.rotate %s by 3 of 3
  return
}

// -----

// C1
func.func @next_phase_of_nothing(%s: index, %p: i32) {
  // expected-error @below {{'tl.next_phase' op expects a positive number of slots, got 0}}
  %0 = tl.next_phase %p after %s of 0
  return
}

// -----

//===----------------------------------------------------------------------===//
// tl.mma, tl.wgmma, tl.wgmma_wait
//===----------------------------------------------------------------------===//

// C1
func.func @mma_with_few_registers(%a: vector<2xi32>, %b: vector<2xi32>, %c: vector<4xf32>) {
  // expected-error @below {{'tl.mma' op operand #0 must be}}
  %0 = tl.mma bf16 %a, %b, %c : vector<2xi32>, vector<2xi32>, vector<4xf32>
  return
}

// -----

// C2
func.func @mma_of_integers_into_floats(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>) {
  // expected-error @below {{cannot accumulate `s8` products in `'f32'`}}
  %0 = tl.mma s8 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xf32>
  return
}

// -----

// C2
func.func @mma_of_bf16_into_f16(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf16>) {
  // expected-error @below {{cannot accumulate `bf16` products in `'f16'`}}
  %0 = tl.mma bf16 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xf16>
  return
}

// -----

// C1
func.func @wgmma_with_unequal_lists(%d: i64, %acc: vector<64xf32>) {
  // expected-error @below {{'tl.wgmma' op expects one accumulator, A and B offset for each instruction, got 1, 2 and 1}}
  %0 = tl.wgmma bf16 n(128) %d, %d, %acc acc_offsets([0]) a_offsets([0, 2]) b_offsets([0]) : vector<64xf32>
  return
}

// -----

// C1
func.func @wgmma_without_instructions(%d: i64, %acc: vector<64xf32>) {
  // expected-error @below {{expects one accumulator, A and B offset for each instruction, got 0, 0 and 0}}
  %0 = tl.wgmma bf16 n(128) %d, %d, %acc acc_offsets([]) a_offsets([]) b_offsets([]) : vector<64xf32>
  return
}

// -----

// C2
func.func @wgmma_of_odd_n(%d: i64, %acc: vector<64xf32>) {
  // expected-error @below {{expects n to be a multiple of 8 from 8 to 256, got 12}}
  %0 = tl.wgmma bf16 n(12) %d, %d, %acc acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<64xf32>
  return
}

// -----

// C2
func.func @wgmma_of_large_n(%d: i64, %acc: vector<132xf32>) {
  // expected-error @below {{expects n to be a multiple of 8 from 8 to 256, got 264}}
  %0 = tl.wgmma bf16 n(264) %d, %d, %acc acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<132xf32>
  return
}

// -----

// C2
func.func @wgmma_of_odd_n_of_integers(%d: i64, %acc: vector<20xi32>) {
  // expected-error @below {{expects n above 32 to be a multiple of 16 for `s8`, got 40}}
  %0 = tl.wgmma s8 n(40) %d, %d, %acc acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<20xi32>
  return
}

// -----

// C3
func.func @wgmma_outside_accumulator(%d: i64, %acc: vector<64xf32>) {
  // expected-error @below {{uses 32 accumulator elements from 48, but there are 64}}
  %0 = tl.wgmma bf16 n(64) %d, %d, %acc acc_offsets([48]) a_offsets([0]) b_offsets([0]) : vector<64xf32>
  return
}

// -----

// C3
func.func @wgmma_of_matrix(%d: i64, %acc: vector<2x32xf32>) {
  // expected-error @below {{expects a one-dimensional accumulator, got `'vector<2x32xf32>'`}}
  %0 = tl.wgmma bf16 n(64) %d, %d, %acc acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<2x32xf32>
  return
}

// -----

// C4
func.func @wgmma_into_integers(%d: i64, %acc: vector<64xi32>) {
  // expected-error @below {{cannot accumulate `f16` products in `'i32'`}}
  %0 = tl.wgmma f16 n(128) %d, %d, %acc acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<64xi32>
  return
}

// -----

// C5
func.func @wgmma_of_wide_mn_major(%d: i64, %acc: vector<64xf32>) {
  // expected-error @below {{can read MN-major operands only of 16-bit types; store `tf32` tiles K-major}}
  %0 = tl.wgmma tf32 n(128) %d, %d, %acc b_mn_major acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<64xf32>
  return
}

// -----

// C3
func.func @mma_of_mixed_widths(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>) {
  // expected-error @below {{'tl.mma' op cannot multiply `e4m3` by `bf16`: `by` names the other one of two 8-bit floats or two 8-bit integers}}
  %0 = tl.mma e4m3 by bf16 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xf32>
  return
}

// -----

// C6
func.func @wgmma_by_its_own_kind(%d: i64, %acc: vector<64xf32>) {
  // expected-error @below {{'tl.wgmma' op cannot multiply `e5m2` by `e5m2`}}
  %0 = tl.wgmma e5m2 by e5m2 n(128) %d, %d, %acc acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<64xf32>
  return
}

// -----

// C5
func.func @wgmma_of_mn_major_registers(%a: vector<4xi32>, %d: i64, %acc: vector<64xf32>) {
  // expected-error @below {{'tl.wgmma' op has A in registers, where it is not MN-major}}
  %0 = tl.wgmma bf16 n(128) %a, %d, %acc a_mn_major acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xi32>, vector<64xf32>
  return
}

// -----

// C7
func.func @wgmma_outside_registers(%a: vector<4xi32>, %d: i64, %acc: vector<64xf32>) {
  // expected-error @below {{'tl.wgmma' op uses 4 registers of A from 2, but there are 4}}
  %0 = tl.wgmma bf16 n(128) %a, %d, %acc acc_offsets([0]) a_offsets([2]) b_offsets([0]) : vector<4xi32>, vector<64xf32>
  return
}

// -----

// C1
func.func @wgmma_wait_changes_type(%acc: vector<64xf32>) {
  // expected-error @below {{'tl.wgmma_wait' op inferred type(s) 'vector<64xf32>' are incompatible with return type(s) of operation 'vector<32xf32>'}}
  // expected-error @below {{'tl.wgmma_wait' op failed to infer returned types}}
  %0 = "tl.wgmma_wait"(%acc) <{pending = 0 : i64}> : (vector<64xf32>) -> vector<32xf32>
  return
}

// -----

// C1
gpu.module @begin_within_a_warp {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    // expected-error @below {{expects to begin with a warp, got thread 16}}
    tl.role threads(16, 32) barrier(1) {
    }
    gpu.return
  }
}

// -----

// C2
gpu.module @part_of_a_warp {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    // expected-error @below {{expects one thread or whole warps, got 16 threads}}
    tl.role threads(0, 16) barrier(1) {
    }
    gpu.return
  }
}

// -----

// C3
gpu.module @beyond_the_block {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    // expected-error @below {{expects threads of the block, which has 160, got 128 to 192}}
    tl.role threads(128, 64) barrier(1) {
    }
    gpu.return
  }
}

// -----

// C4
gpu.module @no_such_barrier {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    // expected-error @below {{expects a barrier from 1 to 15, got 16}}
    tl.role threads(0, 32) barrier(16) {
    }
    gpu.return
  }
}

// -----

// C4
gpu.module @barrier_of_the_block {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    // expected-error @below {{expects a barrier from 1 to 15, got 0}}
    tl.role threads(0, 32) barrier(0) {
    }
    gpu.return
  }
}

// -----

// C5
gpu.module @shared_threads {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    tl.role threads(0, 128) barrier(1) {
    }
    // expected-error @below {{has threads in common with another role}}
    tl.role threads(64, 32) barrier(2) {
    }
    gpu.return
  }
}

// -----

// C5
gpu.module @shared_barrier {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    tl.role threads(0, 128) barrier(1) {
    }
    // expected-error @below {{has barrier 1 in common with another role}}
    tl.role threads(128, 32) barrier(1) {
    }
    gpu.return
  }
}

// -----

gpu.module @no_size {
  gpu.func @k() kernel {
    // expected-error @below {{expects a kernel with `known_block_size`}}
    tl.role threads(0, 32) barrier(1) {
    }
    gpu.return
  }
}

// -----

func.func @arrival_at_a_buffer(%a: memref<4xf32>, %i: index) {
  // expected-error @below {{expects an array of mbarriers, got `'memref<4xf32>'`}}
  tl.arrive_barrier %a[%i] : memref<4xf32>
  return
}

// -----

// C2
func.func @phase_of_several_slots(%slot: index, %phase: i32) {
  %ring = tl.alloc : memref<3x64xf16, #gpu.address_space<workgroup>>
  %pipe = tl.pipe rings(%ring : memref<3x64xf16, #gpu.address_space<workgroup>>) : !tl.pipe<bulk, 3>
  // expected-error @below {{expects a phase for one slot of bulk copies only}}
  tl.pipe_acquire %pipe[%slot] count(2) phase(%phase) : <bulk, 3>
  return
}

// -----

!f = memref<64xf32, #tl.fragment>
!l = memref<64xi32, #tl.fragment>
!s = memref<64xf32, #gpu.address_space<workgroup>>

// C1
func.func @shuffle_of_shared_memory(%s: !s, %l: !l) {
  // expected-error @below {{expects fragments, got `'memref<64xf32, #gpu.address_space<workgroup>>'`}}
  tl.shuffle %s, %l to %s : !s, !l
  return
}

// -----

// C1
func.func @shuffle_of_rows(%f: memref<2x32xf32, #tl.fragment>, %l: memref<2x32xi32, #tl.fragment>) {
  // expected-error @below {{expects an element for each thread, got}}
  tl.shuffle %f, %l to %f : memref<2x32xf32, #tl.fragment>, memref<2x32xi32, #tl.fragment>
  return
}

// -----

gpu.module @shuffle_of_other_threads {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %f = tl.alloc : memref<64xf32, #tl.fragment>
    %l = tl.alloc : memref<64xi32, #tl.fragment>
    // C1
    // expected-error @below {{expects an element for each of 32 threads, got}}
    tl.shuffle %f, %l to %f : memref<64xf32, #tl.fragment>, memref<64xi32, #tl.fragment>
    gpu.return
  }
}

// -----

// C2
func.func @shuffle_by_floats(%f: memref<64xf32, #tl.fragment>) {
  // expected-error @below {{expects numbers of lanes of i32, got}}
  tl.shuffle %f, %f to %f : memref<64xf32, #tl.fragment>, memref<64xf32, #tl.fragment>
  return
}

// -----

// C2
func.func @shuffle_of_bits(%f: memref<64xi1, #tl.fragment>, %l: memref<64xi32, #tl.fragment>) {
  // expected-error @below {{expects numbers of 8 to 64 bits, got}}
  tl.shuffle %f, %l to %f : memref<64xi1, #tl.fragment>, memref<64xi32, #tl.fragment>
  return
}

// -----

// C1
func.func @vote_in_shared_memory(%s: memref<64xi32, #gpu.address_space<workgroup>>) {
  // expected-error @below {{expects fragments, got `'memref<64xi32, #gpu.address_space<workgroup>>'`}}
  tl.vote %s to %s : memref<64xi32, #gpu.address_space<workgroup>>
  return
}

// -----

// C1
func.func @vote_of_rows(%f: memref<2x32xi32, #tl.fragment>) {
  // expected-error @below {{expects an element for each thread, got}}
  tl.vote %f to %f : memref<2x32xi32, #tl.fragment>
  return
}

// -----

gpu.module @vote_of_other_threads {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %f = tl.alloc : memref<64xi32, #tl.fragment>
    // C1
    // expected-error @below {{expects an element for each of 32 threads, got}}
    tl.vote %f to %f : memref<64xi32, #tl.fragment>
    gpu.return
  }
}

// -----

// C2
func.func @vote_of_floats(%f: memref<64xf32, #tl.fragment>) {
  // expected-error @below {{expects numbers of i32, got}}
  tl.vote %f to %f : memref<64xf32, #tl.fragment>
  return
}

// -----

// C1
func.func @tile_of_a_number(%x: f32) {
  // expected-error @below {{expects a tile of a buffer only}}
  tl.print "" %x tile [4] named "x" as "float32" : f32
  return
}

// -----

// C2
func.func @printed_tile_of_other_rank(%A: memref<8x8xf32>) {
  // expected-error @below {{expects a positive extent of the tile for each of 2 dimensions}}
  tl.print "" %A tile [4] named "A" as "float32" : memref<8x8xf32>
  return
}

// -----

// C2
func.func @printed_tile_with_one_offset(%A: memref<8x8xf32>, %i: index) {
  // expected-error @below {{expects an offset for each of 2 dimensions, or none}}
  tl.print "" %A[%i] tile [4, 4] named "A" as "float32" : memref<8x8xf32>
  return
}

// -----

// C3
func.func @large_print(%A: memref<1024x1024xf32>) {
  // expected-error @below {{prints a tile of more than 65536 elements; print a region of it}}
  tl.print "" %A tile [1024, 1024] named "A" as "float32" : memref<1024x1024xf32>
  return
}

// -----

// C6
gpu.module @few_registers {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    // expected-error @below {{expects a multiple of 8 registers from 24 to 240, got 16}}
    tl.role threads(256, 1) barrier(1) registers(16) {
    }
    gpu.return
  }
}

// -----

// C6
gpu.module @odd_registers {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    // expected-error @below {{expects a multiple of 8 registers from 24 to 240, got 170}}
    tl.role threads(0, 256) barrier(1) registers(170) {
    }
    gpu.return
  }
}

// -----

// C7
gpu.module @registers_within_a_warp_group {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    // expected-error @below {{with registers expects to begin with a warp group, in a block of whole ones}}
    tl.role threads(32, 1) barrier(1) registers(24) {
    }
    gpu.return
  }
}

// -----

// C7
gpu.module @registers_of_a_part {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 320, 1, 1>} {
    // expected-error @below {{with registers expects to begin with a warp group, in a block of whole ones}}
    tl.role threads(0, 256) barrier(1) registers(168) {
    }
    gpu.return
  }
}

// -----

// C7
gpu.module @registers_of_two {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    // expected-error @below {{with registers has a warp group in common with another role}}
    tl.role threads(256, 1) barrier(1) registers(24) {
    }
    tl.role threads(288, 32) barrier(2) {
    }
    gpu.return
  }
}

// -----

// C8
gpu.module @too_many_registers {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    // expected-error @below {{expects roles to have no more registers than the block begins with, 168 for each thread}}
    tl.role threads(256, 1) barrier(1) registers(40) {
    }
    tl.role threads(0, 256) barrier(2) registers(240) {
    }
    gpu.return
  }
}

// -----

// C8
gpu.module @too_many_beside_others {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    // expected-error @below {{expects roles to have no more registers than the block begins with, 168 for each thread}}
    tl.role threads(0, 256) barrier(2) registers(176) {
    }
    gpu.return
  }
}

// -----

// C1
gpu.module @turns_of_one_warp_group {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    tl.role threads(0, 128) barrier(1) {
      // expected-error @below {{expects a role of two whole warp groups or more}}
      tl.open_turns barrier(2)
    }
    gpu.return
  }
}

// -----

// C1
gpu.module @turns_of_parts {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 320, 1, 1>} {
    tl.role threads(0, 320) barrier(1) {
      // expected-error @below {{expects a role of two whole warp groups or more}}
      tl.take_turn barrier(2)
    }
    gpu.return
  }
}

// -----

// C2
gpu.module @turns_beyond_the_barriers {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    tl.role threads(0, 256) barrier(1) {
      // expected-error @below {{expects barriers from 1 to 15, got 15 to 16}}
      tl.pass_turn barrier(15)
    }
    gpu.return
  }
}

// -----

// C2
gpu.module @turns_at_the_barrier_of_a_role {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 288, 1, 1>} {
    tl.role threads(256, 1) barrier(4) {
    }
    tl.role threads(0, 256) barrier(1) {
      // expected-error @below {{takes barrier 4, which a role has}}
      tl.close_turns barrier(3)
    }
    gpu.return
  }
}

// -----

// C4
gpu.module @meeting_in_a_turn {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bar = tl.alloc_barriers arrivals(8) : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>
    tl.role threads(0, 256) barrier(2) {
      tl.open_turns barrier(3)
      // expected-error @below {{begins a turn in which others may be waiting}}
      tl.take_turn barrier(3)
      // expected-note @below {{they wait for this}}
      gpu.barrier
      tl.pass_turn barrier(3)
      tl.close_turns barrier(3)
    }
    gpu.return
  }
}

// -----

// C4
gpu.module @arrival_in_a_turn {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bar = tl.alloc_barriers arrivals(8) : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>
    tl.role threads(0, 256) barrier(2) {
      tl.open_turns barrier(3)
      // expected-error @below {{begins a turn in which others may be waiting}}
      tl.take_turn barrier(3)
      // expected-note @below {{they wait for this}}
      tl.arrive_barrier %bar[%c0] : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>
      tl.pass_turn barrier(3)
      tl.close_turns barrier(3)
    }
    gpu.return
  }
}

// -----

// C4
gpu.module @turn_in_a_turn {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bar = tl.alloc_barriers arrivals(8) : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>
    tl.role threads(0, 256) barrier(2) {
      tl.open_turns barrier(3)
      // expected-error @below {{begins a turn in which others may be waiting}}
      tl.take_turn barrier(3)
      // expected-note @below {{they wait for this}}
      tl.take_turn barrier(3)
      tl.pass_turn barrier(3)
      tl.close_turns barrier(3)
    }
    gpu.return
  }
}

// -----

// C3
gpu.module @turn_without_end {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bar = tl.alloc_barriers arrivals(8) : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>
    tl.role threads(0, 256) barrier(2) {
      tl.open_turns barrier(3)
      scf.for %i = %c0 to %c1 step %c1 {
      // expected-error @below {{begins a turn that does not end in its block}}
      tl.take_turn barrier(3)
      }
      tl.close_turns barrier(3)
    }
    gpu.return
  }
}

// -----

// C3
gpu.module @end_without_turn {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bar = tl.alloc_barriers arrivals(8) : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>
    tl.role threads(0, 256) barrier(2) {
      tl.open_turns barrier(3)
      // expected-error @below {{ends a turn that has not begun}}
      tl.pass_turn barrier(3)
      tl.close_turns barrier(3)
    }
    gpu.return
  }
}

// -----

// C9
gpu.module @turns_not_opened {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bar = tl.alloc_barriers arrivals(8) : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>
    tl.role threads(0, 256) barrier(2) {
      // expected-error @below {{does not stand between one opening and one closing of the role's turns, of one barrier}}
      tl.take_turn barrier(3)
      tl.pass_turn barrier(3)
      tl.close_turns barrier(3)
    }
    gpu.return
  }
}

// -----

// C9
gpu.module @turns_not_closed {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bar = tl.alloc_barriers arrivals(8) : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>
    tl.role threads(0, 256) barrier(2) {
      tl.open_turns barrier(3)
      tl.take_turn barrier(3)
      // expected-error @below {{does not stand between one opening and one closing of the role's turns, of one barrier}}
      tl.pass_turn barrier(3)
    }
    gpu.return
  }
}

// -----

// C9
gpu.module @turns_at_two_barriers {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bar = tl.alloc_barriers arrivals(8) : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>
    tl.role threads(0, 256) barrier(2) {
      tl.open_turns barrier(3)
      // expected-error @below {{does not stand between one opening and one closing of the role's turns, of one barrier}}
      tl.take_turn barrier(5)
      tl.pass_turn barrier(5)
      tl.close_turns barrier(3)
    }
    gpu.return
  }
}

// -----

// C1 of tl.call_source
func.func @counts_of_other_parameters(%x: f32) {
  // expected-error @below {{expects a count for each of 1 parameters, got 2}}
  %0 = tl.call_source "f" of ["text"] (%x) {counts = array<i64: 0, 0>, params = [f32], place = -1 : i64, returned = f32} : (f32) -> f32
  return
}

// -----

// C1 of tl.call_source
func.func @a_negative_count(%x: f32) {
  // expected-error @below {{expects counts from 0 on, got -1}}
  %0 = tl.call_source "f" of ["text"] (%x) {counts = array<i64: -1>, params = [f32], place = -1 : i64, returned = f32} : (f32) -> f32
  return
}

// -----

// C1 of tl.call_source
func.func @too_few_arguments(%x: f32) {
  // expected-error @below {{expects 2 arguments, got 1}}
  %0 = tl.call_source "f" of ["text"] (%x) {counts = array<i64: 2>, params = [f32], place = -1 : i64, returned = f32} : (f32) -> f32
  return
}

// -----

// C1 of tl.call_source
func.func @an_argument_of_another_type(%x: f32) {
  // expected-error @below {{expects an argument of 'i32', got 'f32'}}
  %0 = tl.call_source "f" of ["text"] (%x) {counts = array<i64: 0>, params = [ui32], place = -1 : i64, returned = f32} : (f32) -> f32
  return
}

// -----

// C2 of tl.call_source
func.func @a_result_of_nothing(%x: f32) {
  // expected-error @below {{gives what the function neither returns nor leaves behind a pointer}}
  %0 = tl.call_source "f" of ["text"] (%x) {counts = array<i64: 0>, params = [f32], place = -1 : i64} : (f32) -> f32
  return
}

// -----

// C2 of tl.call_source
func.func @a_number_that_stays(%x: f32) {
  // expected-error @below {{gives what the function neither returns nor leaves behind a pointer}}
  %0 = tl.call_source "f" of ["text"] (%x) {counts = array<i64: 0>, params = [f32], place = 0 : i64} : (f32) -> f32
  return
}

// -----

// C3 of tl.call_source
func.func @a_result_of_another_type(%x: f32) {
  // expected-error @below {{gives 'f16', not 'f32'}}
  %0 = tl.call_source "f" of ["text"] (%x) {counts = array<i64: 0>, params = [f32], place = -1 : i64, returned = f16} : (f32) -> f32
  return
}

// -----

// C4 of tl.call_source
func.func @no_source(%x: f32) {
  // expected-error @below {{expects the name of a function, and its source}}
  %0 = tl.call_source "f" of [] (%x) {counts = array<i64: 0>, params = [f32], place = -1 : i64, returned = f32} : (f32) -> f32
  return
}

// -----

// C1
func.func @tile_of_another_block_in_a_fragment(%r: index) {
  %f = tl.alloc : memref<64xf32, #tl.fragment>
  // expected-error @below {{expects a buffer in workgroup memory of the block itself, got `'memref<64xf32, #tl.fragment>'`}}
  %there = tl.map_shared_rank %f[%r] : memref<64xf32, #tl.fragment>
  return
}

// -----

// C2
func.func @tile_of_another_block_of_another_block(%r: index) {
  %tile = tl.alloc : memref<64xf32, #gpu.address_space<workgroup>>
  // expected-error @below {{expects to be used by `tl.load`, `tl.store` and copies that the threads carry out}}
  %there = tl.map_shared_rank %tile[%r] : memref<64xf32, #gpu.address_space<workgroup>>
  // expected-note @below {{used here}}
  %further = tl.map_shared_rank %there[%r] : memref<64xf32, #gpu.address_space<workgroup>>
  return
}

// -----

// C2
func.func @fill_of_a_tile_of_another_block(%r: index, %v: f32) {
  %tile = tl.alloc : memref<64xf32, #gpu.address_space<workgroup>>
  // expected-error @below {{expects to be used by `tl.load`, `tl.store` and copies that the threads carry out}}
  %there = tl.map_shared_rank %tile[%r] : memref<64xf32, #gpu.address_space<workgroup>>
  // expected-note @below {{used here}}
  tl.fill %there, %v : memref<64xf32, #gpu.address_space<workgroup>>
  return
}

//===----------------------------------------------------------------------===//
// tl.tensor_at
//===----------------------------------------------------------------------===//

// -----

// C1
func.func @tensor_at_of_a_tile(%p: i64) {
  // expected-error @below {{makes a tensor in device memory, not `'memref<64xf32, #gpu.address_space<workgroup>>'`}}
  %A = tl.tensor_at %p align(16) : memref<64xf32, #gpu.address_space<workgroup>>
  return
}

// -----

// C2
func.func @tensor_at_without_an_extent(%p: i64) {
  // expected-error @below {{expects 1 extents for `'memref<?xf32>'`, got 0}}
  %A = tl.tensor_at %p align(16) : memref<?xf32>
  return
}

// -----

// C3
func.func @tensor_at_without_a_stride(%p: i64) {
  // expected-error @below {{expects 1 strides for `'memref<8x8xf32, strided<[?, 1]>>'`, got 0}}
  %A = tl.tensor_at %p align(16) : memref<8x8xf32, strided<[?, 1]>>
  return
}

// -----

// C3
func.func @tensor_at_with_an_offset(%p: i64) {
  // expected-error @below {{expects a layout of strides alone, got `'memref<8xf32, strided<[1], offset: 4>>'`}}
  %A = tl.tensor_at %p align(16) : memref<8xf32, strided<[1], offset: 4>>
  return
}

// -----

// C4
func.func @tensor_at_between_elements(%p: i64) {
  // expected-error @below {{expects an alignment that is a power of two and 4 at least, got 2}}
  %A = tl.tensor_at %p align(2) : memref<8xf32>
  return
}

// -----

// C1
func.func @iterations_of_no_loop() {
  // expected-error @below {{expects positive extents, got [64, 0]}}
  tl.begin_iterations [64, 0]
  return
}

// -----

// C1
func.func @at_no_iteration() {
  // expected-error @below {{expects an index for each extent of the loop}}
  "tl.at_iterations"() : () -> ()
  return
}

// -----

// C9
func.func @rows_of_a_store(%A: memref<64x64xf16>) {
  %S = tl.alloc : memref<8x64xf16, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  // expected-error @below {{with `places` expects a source in device memory, a target in workgroup memory of the same element type and of the tile's dimensions}}
  tl.copy %S to %A tile(8, 64) places {
  ^bb0(%i: index):
    tl.places %i, %c0
  } : memref<8x64xf16, #gpu.address_space<workgroup>> to memref<64x64xf16>
  return
}

// -----

// C9
func.func @rows_without_all_places(%A: memref<64x64xf16>) {
  %S = tl.alloc : memref<8x64xf16, #gpu.address_space<workgroup>>
  // expected-error @below {{expects a block of an index for each dimension of the tile but the last, which ends in `tl.places` for all dimensions of the source}}
  tl.copy %A to %S tile(8, 64) places {
  ^bb0(%i: index):
    tl.places %i
  } : memref<64x64xf16> to memref<8x64xf16, #gpu.address_space<workgroup>>
  return
}

// -----

// C9
func.func @rows_that_write(%A: memref<64x64xf16>, %n: i32) {
  %S = tl.alloc : memref<8x64xf16, #gpu.address_space<workgroup>>
  %T = tl.alloc : memref<8xi32, #gpu.address_space<workgroup>>
  %c0 = arith.constant 0 : index
  tl.copy %A to %S tile(8, 64) places {
  ^bb0(%i: index):
    // expected-error @below {{is not arithmetic, nor reads device memory, as all has to in the `places` of a copy}}
    tl.store %n, %T[%i] : memref<8xi32, #gpu.address_space<workgroup>>
    tl.places %i, %c0
  } : memref<64x64xf16> to memref<8x64xf16, #gpu.address_space<workgroup>>
  return
}
