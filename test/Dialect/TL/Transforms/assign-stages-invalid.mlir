// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-assign-stages))' --remarks-filter='tl-.*' --verify-diagnostics --split-input-file

// expected-error @below {{has no target: run `tl-attach-target` first}}
gpu.module @no_target {
}

// -----

!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>

gpu.module @kernels attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @no_layout(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{has no layout: run `tl-infer-layouts` first}}
    %s = tl.alloc : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%c0, %k] to %s tile(64, 64) : !A to !tile
    }
    gpu.return
  }
}

// -----

// Why a loop is not pipelined.

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @kernels attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @nothing_to_copy(%n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    // expected-remark @below {{loop is not pipelined: it has no copy from device memory into shared memory}}
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.gemm %s, %s, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  gpu.func @single_elements(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    // expected-remark @below {{is one of single elements: of a `T.Parallel` that does not go along the rows of a tensor which the kernel only reads, or of a `T.copy` whose tile does not lie along the last dimensions of the tensor}}
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.parallel (%i, %j) in (64, 64) {
        %x = tl.load %A[%i, %j] : !A
        tl.store %x, %s[%i, %j] : !tile
      }
    }
    gpu.return
  }

  gpu.func @of_computed_length(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    // expected-remark @below {{loop is not pipelined: a slice ends where only the running kernel knows, so that its copy is made element by element}}
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.parallel (%i, %j) in (64, 64) attributes {tl.copied, tl.cut} {
        %below = arith.cmpi slt, %i, %k : index
        scf.if %below {
          %x = tl.load %A[%i, %j] : !A
          tl.store %x, %s[%i, %j] : !tile
        }
      }
    }
    gpu.return
  }

  gpu.func @of_computed_length_beside_another(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    %t = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%k, %c0] to %t tile(64, 64) : !A to !tile
      // expected-remark @below {{copy does not run ahead: a slice ends where only the running kernel knows}}
      tl.parallel (%i, %j) in (64, 64) attributes {tl.copied, tl.cut} {
        %below = arith.cmpi slt, %i, %k : index
        scf.if %below {
          %x = tl.load %A[%i, %j] : !A
          tl.store %x, %s[%i, %j] : !tile
        }
      }
      tl.gemm %s, %t, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // A loop of one stage does not ask for a pipeline.
  gpu.func @one_stage(%n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    tl.pipelined %k = %c0 to %n stages(1) {
    }
    gpu.return
  }

  gpu.func @under_a_condition(%A: !A, %n: index, %c: i1) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile loc("Ks")
    // expected-remark @below {{loop is not pipelined: the copy into `Ks` stands in a branch or an inner loop}}
    tl.pipelined %k = %c0 to %n stages(2) {
      scf.if %c {
        tl.copy %A[%c0, %k] to %s tile(64, 64) : !A to !tile
      }
    }
    gpu.return
  }

  // Each iteration fills another row; what the others filled stays.
  gpu.func @row_by_row(%A: !A, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    // expected-remark @below {{loop is not pipelined: the copy fills only a part of the tile, and the rest is left by other iterations}}
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%k, %c0] to %s[%k, %c0] tile(1, 64) : !A to !tile
      tl.copy %s to %B tile(64, 64) : !tile to !A
    }
    gpu.return
  }

  // A whole tile, but not from the first element on: the rest is cut off.
  gpu.func @moved(%A: !A, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    // expected-remark @below {{the copy fills only a part of the tile}}
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%k, %c0] to %s[%k, %c0] tile(64, 64) : !A to !tile
    }
    gpu.return
  }

  gpu.func @program_chose_the_slot(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %ring = tl.alloc layout(#swizzled) : memref<2x64x64xf16, #gpu.address_space<workgroup>>
    // expected-remark @below {{loop is not pipelined: the copy fills a slot that the program itself chose}}
    tl.pipelined %k = %c0 to %n stages(2) {
      %s = tl.slot %ring[%c0] : memref<2x64x64xf16, #gpu.address_space<workgroup>> to !tile
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
    }
    gpu.return
  }

  // What the loop itself changes is not read before.
  gpu.func @looked_up_in_what_changes(%A: !A, %table: memref<64xindex>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    // expected-remark @below {{loop is not pipelined: where the copy into the tile reads takes more to find out than arithmetic on the loop index and elements of tensors that the loop does not write}}
    tl.pipelined %k = %c0 to %n stages(2) {
      %place = tl.load %table[%k] : memref<64xindex>
      tl.copy %A[%c0, %place] to %s tile(64, 64) : !A to !tile
      tl.parallel (%i) in (1) {
        tl.store %place, %table[%i] : memref<64xindex>
      }
    }
    gpu.return
  }

  // What comes after an operation that acquires is not read before it.
  gpu.func @atomic_with_an_order(%A: !A, %F: memref<1xi32>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    // expected-remark @below {{loop is not pipelined: the loop has an atomic operation that other accesses are ordered by}}
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.parallel (%i) in (1) {
        %0 = tl.atomic load %F[%i] order(acquire) : memref<1xi32>
      }
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
    }
    gpu.return
  }

  // The next iteration reads what this one writes.
  gpu.func @feeds_itself(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#swizzled) : !tile
    // expected-remark @below {{loop is not pipelined: the loop writes to the tensor that the copy into the tile reads}}
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      %next = arith.addi %k, %c1 : index
      tl.copy %s to %A[%next, %c0] tile(64, 64) : !tile to !A
    }
    gpu.return
  }

  gpu.func @read_after(%A: !A, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    // expected-remark @below {{loop is not pipelined: what the loop leaves in the tile may be read outside of it}}
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
    }
    tl.copy %s to %B tile(64, 64) : !tile to !A
    gpu.return
  }

  // The read stands before the loop, and yet sees it: in the next round.
  gpu.func @read_in_the_next_round(%A: !A, %B: !A, %n: index, %v: f16) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#swizzled) : !tile
    tl.fill %s, %v : !tile
    scf.for %i = %c0 to %n step %c1 {
      tl.copy %s to %B tile(64, 64) : !tile to !A
      // expected-remark @below {{what the loop leaves in the tile may be read outside of it}}
      tl.pipelined %k = %c0 to %n stages(2) {
        tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      }
    }
    gpu.return
  }

  gpu.func @written_too(%A: !A, %n: index, %v: f16) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    // expected-remark @below {{loop is not pipelined: the copy is not all that the loop writes to the tile}}
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      tl.fill %s, %v : !tile
    }
    gpu.return
  }

  gpu.func @read_before(%A: !A, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    // expected-remark @below {{loop is not pipelined: the loop reads the tile before it is filled}}
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %s to %B tile(64, 64) : !tile to !A
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
    }
    gpu.return
  }

  // Two loops have the slots of one.
  gpu.func @over_one_tile(%A: !A {tl.align = 16 : i64}, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    // expected-remark @below {{loop runs ahead in 4 slots, as another one over its tiles does}}
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %B[%c0, %k] tile(64, 64) : !tile to !A
    }
    tl.pipelined %k = %c0 to %n stages(4) {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %B[%k, %c0] tile(64, 64) : !tile to !A
    }
    gpu.return
  }

  // One copy goes ahead, the other stays.
  gpu.func @one_of_two(%A: !A {tl.align = 16 : i64}, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    %t = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      // expected-remark @below {{copy does not run ahead: what the loop leaves in the tile may be read outside of it}}
      tl.copy %A[%c0, %k] to %t tile(64, 64) : !A to !tile
    }
    tl.copy %t to %B tile(64, 64) : !tile to !A
    gpu.return
  }
}

// -----

// Why a loop does not use the bulk copy engine.

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>

gpu.module @kernels attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @unaligned_address(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      // expected-remark @below {{the loop's copies do not use the bulk copy engine: the address of its buffer is not known to be a multiple of 16 bytes}}
      tl.copy %A[%c0, %k] to %s tile(64, 64) : !A to !tile
    }
    gpu.return
  }

  gpu.func @unaligned_strides(%A: memref<?x?xf16> {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      // expected-remark @below {{the loop's copies do not use the bulk copy engine: a stride of its buffer is not known to be a multiple of 16 bytes}}
      tl.copy %A[%c0, %k] to %s tile(64, 64) : memref<?x?xf16> to !tile
    }
    gpu.return
  }

  gpu.func @unknown_control_flow(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    scf.index_switch %n
    default {
      // expected-remark @below {{the loop's copies do not use the bulk copy engine: the loop stands in control flow through which its state cannot be carried}}
      tl.pipelined %k = %c0 to %n stages(2) {
        tl.copy %A[%c0, %k] to %s tile(64, 64) : !A to !tile
      }
    }
    gpu.return
  }
}

// -----

// Why a gemm is done in its own iteration.

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>
!p = memref<64x64xf16, #tl.fragment>

gpu.module @late attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @used_after(%A: !A {tl.align = 16 : i64}, %B: !A, %q: !tile, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %k = tl.alloc layout(#swizzled) : !tile
    %v = tl.alloc layout(#swizzled) : !tile
    %s = tl.alloc : !acc
    %p = tl.alloc : !p
    %o = tl.alloc : !acc
    // expected-remark @below {{the last gemm does not run beside the next iteration: its iteration goes on to use what it computes}}
    tl.pipelined %i = %c0 to %n stages(2) {
      %ii = arith.muli %i, %c64 : index
      tl.copy %A[%ii, %c0] to %k tile(64, 64) : !A to !tile
      tl.fill %s, %zero : !acc
      tl.gemm %q, %k, %s transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.copy %s to %p tile(64, 64) : !acc to !p
      tl.copy %A[%c0, %ii] to %v tile(64, 64) : !A to !tile
      tl.gemm %p, %v, %o plan(<wgmma, warps_m = 1, warps_n = 1>) : !p, !tile, !acc
      tl.copy %o to %B[%ii, %ii] tile(64, 64) : !acc to !A
    }
    gpu.return
  }

  gpu.func @used_before(%A: !A {tl.align = 16 : i64}, %B: !A, %q: !tile, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %k = tl.alloc layout(#swizzled) : !tile
    %v = tl.alloc layout(#swizzled) : !tile
    %s = tl.alloc : !acc
    %p = tl.alloc : !p
    %o = tl.alloc : !acc
    // expected-remark @below {{the last gemm does not run beside the next iteration: the next iteration uses what it computes, or changes an operand, before it has a product of its own to wait for}}
    tl.pipelined %i = %c0 to %n stages(2) {
      %ii = arith.muli %i, %c64 : index
      tl.copy %A[%ii, %c0] to %k tile(64, 64) : !A to !tile
      tl.copy %o to %B[%ii, %ii] tile(64, 64) : !acc to !A
      tl.fill %s, %zero : !acc
      tl.gemm %q, %k, %s transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.copy %s to %p tile(64, 64) : !acc to !p
      tl.copy %A[%c0, %ii] to %v tile(64, 64) : !A to !tile
      tl.gemm %p, %v, %o plan(<wgmma, warps_m = 1, warps_n = 1>) : !p, !tile, !acc
    }
    gpu.return
  }

  gpu.func @read_twice(%A: !A {tl.align = 16 : i64}, %B: !A, %q: !tile, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %k = tl.alloc layout(#swizzled) : !tile
    %v = tl.alloc layout(#swizzled) : !tile
    %s = tl.alloc : !acc
    %p = tl.alloc : !p
    %o = tl.alloc : !acc
    // expected-remark @below {{the last gemm does not run beside the next iteration: another statement reads the tile that is copied for it}}
    tl.pipelined %i = %c0 to %n stages(2) {
      %ii = arith.muli %i, %c64 : index
      tl.copy %A[%ii, %c0] to %k tile(64, 64) : !A to !tile
      tl.fill %s, %zero : !acc
      tl.gemm %q, %k, %s transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.copy %s to %p tile(64, 64) : !acc to !p
      tl.copy %A[%c0, %ii] to %v tile(64, 64) : !A to !tile
      tl.gemm %p, %v, %o plan(<wgmma, warps_m = 1, warps_n = 1>) : !p, !tile, !acc
      tl.copy %v to %B[%ii, %ii] tile(64, 64) : !tile to !A
    }
    gpu.return
  }

  gpu.func @nothing_copied(%A: !A {tl.align = 16 : i64}, %B: !A, %q: !tile, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %k = tl.alloc layout(#swizzled) : !tile
    %v = tl.alloc layout(#swizzled) : !tile
    %s = tl.alloc : !acc
    %p = tl.alloc : !p
    %o = tl.alloc : !acc
    // expected-remark @below {{the last gemm does not run beside the next iteration: no copy that runs ahead fills its operands}}
    tl.pipelined %i = %c0 to %n stages(2) {
      %ii = arith.muli %i, %c64 : index
      tl.copy %A[%ii, %c0] to %k tile(64, 64) : !A to !tile
      tl.fill %s, %zero : !acc
      tl.gemm %q, %k, %s transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.copy %s to %p tile(64, 64) : !acc to !p
      tl.copy %A[%c0, %ii] to %v tile(64, 64) : !A to !tile
      tl.gemm %p, %q, %o plan(<wgmma, warps_m = 1, warps_n = 1>) : !p, !tile, !acc
    }
    gpu.return
  }

  gpu.func @nothing_else_copied(%A: !A {tl.align = 16 : i64}, %B: !A, %q: !tile, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %k = tl.alloc layout(#swizzled) : !tile
    %v = tl.alloc layout(#swizzled) : !tile
    %s = tl.alloc : !acc
    %p = tl.alloc : !p
    %o = tl.alloc : !acc
    // expected-remark @below {{the last gemm does not run beside the next iteration: no copy that runs ahead is for the products before it}}
    tl.pipelined %i = %c0 to %n stages(2) {
      %ii = arith.muli %i, %c64 : index
      tl.copy %A[%c0, %ii] to %v tile(64, 64) : !A to !tile
      tl.fill %s, %zero : !acc
      tl.gemm %q, %q, %s transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.copy %s to %p tile(64, 64) : !acc to !p
      tl.gemm %p, %v, %o plan(<wgmma, warps_m = 1, warps_n = 1>) : !p, !tile, !acc
    }
    gpu.return
  }
}

// -----

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
#acc = #tl.fragment_layout<shape = [128, 256], thread = [4, 8, 8] : [2, 256, 4096], value = [2, 2, 32] : [1, 2048, 8]>
!A = memref<4096x4096xf16>
!wide = memref<128x64xf16, #gpu.address_space<workgroup>>
!high = memref<64x256xf16, #gpu.address_space<workgroup>>
!acc = memref<128x256xf32, #tl.fragment>

// Why the copies of a kernel get no thread of their own.
gpu.module @roles attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // The tensor is written too.
  gpu.func @writes_the_tensor(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc layout(#swizzled) : !wide
    %b = tl.alloc layout(#swizzled) : !high
    %acc = tl.alloc layout(#acc) : !acc
    scf.for %t = %c0 to %n step %c64 {
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%t, %kk] to %a tile(128, 64) : !A to !wide
      tl.copy %A[%kk, %c0] to %b tile(64, 256) : !A to !high
      tl.gemm %a, %b, %acc plan(<wgmma, warps_m = 2, warps_n = 1>) : !wide, !high, !acc
    }
      // expected-remark @below {{no thread of its own starts the kernel's copies: the kernel writes a tensor, which it also copies from or finds its way by}}
      tl.copy %acc to %A[%t, %c0] tile(128, 256) : !acc to !A
    }
    gpu.return
  }

  // Which tile it is stands in shared memory.
  gpu.func @depends_on_a_tile(%A: !A {tl.align = 16 : i64}, %n: index, %i: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc layout(#swizzled) : !wide
    %b = tl.alloc layout(#swizzled) : !high
    %acc = tl.alloc layout(#acc) : !acc
    scf.for %t = %c0 to %n step %c64 {
      %flags = tl.alloc layout(#swizzled) : memref<64xi32, #gpu.address_space<workgroup>>
      // expected-remark @below {{no thread of its own starts the kernel's copies: where it copies from, or how often, depends on an element of a buffer that the kernel itself writes}}
      %flag = tl.load %flags[%t] : memref<64xi32, #gpu.address_space<workgroup>>
      %zero = arith.constant 0 : i32
      %goes = arith.cmpi eq, %flag, %zero : i32
      scf.if %goes {
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%t, %kk] to %a tile(128, 64) : !A to !wide
      tl.copy %A[%kk, %c0] to %b tile(64, 256) : !A to !high
      tl.gemm %a, %b, %acc plan(<wgmma, warps_m = 2, warps_n = 1>) : !wide, !high, !acc
    }
      }
    }
    gpu.return
  }

  // An atomic operation orders what is read behind it.
  gpu.func @ordered(%A: !A {tl.align = 16 : i64}, %n: index, %f: memref<4xi32>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc layout(#swizzled) : !wide
    %b = tl.alloc layout(#swizzled) : !high
    %acc = tl.alloc layout(#acc) : !acc
    scf.for %t = %c0 to %n step %c64 {
      %one = arith.constant 1 : i32
      // expected-remark @below {{no thread of its own starts the kernel's copies: the kernel has an atomic operation that other accesses are ordered by}}
      %old = tl.atomic add %one, %f[%c0] order(acq_rel) : memref<4xi32>
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%t, %kk] to %a tile(128, 64) : !A to !wide
      tl.copy %A[%kk, %c0] to %b tile(64, 256) : !A to !high
      tl.gemm %a, %b, %acc plan(<wgmma, warps_m = 2, warps_n = 1>) : !wide, !high, !acc
    }
    }
    gpu.return
  }
}

// -----

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>

gpu.module @turing attributes {tl.target = #tl.target<chip = "sm_75">} {
  gpu.func @no_asynchronous_copies(%A: !A {tl.align = 16 : i64}, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    // expected-remark @below {{loop is not pipelined: the chip has no asynchronous copies}}
    tl.pipelined %k = %c0 to %n stages(4) {
      tl.copy %A[%c0, %k] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %B[%k, %c0] tile(64, 64) : !tile to !A
    }
    gpu.return
  }
}
