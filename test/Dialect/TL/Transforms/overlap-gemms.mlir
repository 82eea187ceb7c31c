// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-overlap-gemms))' | FileCheck %s

!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<3x64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @kernels {
  // The product runs on until its accumulator is touched.
  // CHECK-LABEL: gpu.func @first_use(
  // CHECK:         %[[ACC:.+]] = tl.alloc : memref<64x64xf32, #tl.fragment>
  // CHECK:         %[[OTHER:.+]] = tl.alloc : memref<64x64xf32, #tl.fragment>
  // CHECK-NEXT:    tl.gemm %{{.+}}, %{{.+}}, %[[ACC]] async plan
  // CHECK-NEXT:    tl.fill %[[OTHER]]
  // CHECK-NEXT:    tl.wait_gemm 0 (%[[ACC]] :
  // CHECK-NEXT:    tl.parallel
  // CHECK-NOT:     tl.wait_gemm
  // CHECK:         gpu.return
  gpu.func @first_use(%a: !tile, %v: f32) kernel {
    %acc = tl.alloc : !acc
    %other = tl.alloc : !acc
    tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    tl.fill %other, %v : !acc
    tl.parallel (%i, %j) in (64, 64) {
      %x = tl.load %acc[%i, %j] : !acc
      tl.store %x, %other[%i, %j] : !acc
    }
    gpu.return
  }

  // An operand in registers may be read beside the product, and not be written. The
  // wait names it, and what it is computed from next, which is then not computed
  // into registers that the product reads.
  // CHECK-LABEL: gpu.func @operand_in_registers(
  // CHECK:         %[[P:.+]] = tl.alloc layout({{.*}}) : memref<64x64xf16, #tl.fragment>
  // CHECK:         %[[S:.+]] = tl.alloc layout({{.*}}) : memref<64x64xf32, #tl.fragment>
  // CHECK:         tl.gemm %[[P]], %{{.+}}, %[[ACC:.+]] async
  // CHECK-NEXT:    tl.copy %[[P]] to
  // CHECK-NEXT:    tl.fill %[[S]]
  // CHECK-NEXT:    tl.wait_gemm 0 (%[[ACC]], %[[P]], %[[S]] :
  // CHECK-NEXT:    tl.copy %[[S]] to %[[P]]
  gpu.func @operand_in_registers(%b: !tile, %C: !A, %v: f32) kernel {
    %p = tl.alloc layout(#tl.fragment_layout<shape = [64, 64], thread = [4, 8, 4] : [2, 64, 1024], value = [2, 2, 8] : [1, 512, 8]>) : memref<64x64xf16, #tl.fragment>
    %s = tl.alloc layout(#tl.fragment_layout<shape = [64, 64], thread = [4, 8, 4] : [2, 64, 1024], value = [2, 2, 8] : [1, 512, 8]>) : !acc
    %acc = tl.alloc : !acc
    tl.gemm %p, %b, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : memref<64x64xf16, #tl.fragment>, !tile, !acc
    tl.copy %p to %C tile(64, 64) : memref<64x64xf16, #tl.fragment> to !A
    tl.fill %s, %v : !acc
    tl.copy %s to %p tile(64, 64) : !acc to memref<64x64xf16, #tl.fragment>
    gpu.return
  }

  // What is allocated behind the wait is in no register that the product reads.
  // CHECK-LABEL: gpu.func @sources_behind_the_wait(
  // CHECK:         tl.gemm %[[P:.+]], %{{.+}}, %[[ACC:.+]] async
  // CHECK-NEXT:    tl.wait_gemm 0 (%[[ACC]], %[[P]] :
  // CHECK-NEXT:    tl.fill %[[ACC]]
  // CHECK-NEXT:    scf.for
  gpu.func @sources_behind_the_wait(%b: !tile, %n: index, %v: f32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p = tl.alloc layout(#tl.fragment_layout<shape = [64, 64], thread = [4, 8, 4] : [2, 64, 1024], value = [2, 2, 8] : [1, 512, 8]>) : memref<64x64xf16, #tl.fragment>
    %acc = tl.alloc : !acc
    tl.gemm %p, %b, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : memref<64x64xf16, #tl.fragment>, !tile, !acc
    tl.fill %acc, %v : !acc
    scf.for %k = %c0 to %n step %c1 {
      %s = tl.alloc layout(#tl.fragment_layout<shape = [64, 64], thread = [4, 8, 4] : [2, 64, 1024], value = [2, 2, 8] : [1, 512, 8]>) : !acc
      tl.fill %s, %v : !acc
      tl.copy %s to %p tile(64, 64) : !acc to memref<64x64xf16, #tl.fragment>
    }
    gpu.return
  }

  // What an iteration allocates ends with it, also if nobody reads the sum.
  // CHECK-LABEL: gpu.func @allocated_in_loop(
  // CHECK:         scf.for
  // CHECK-NEXT:      %[[ACC:.+]] = tl.alloc
  // CHECK:           tl.gemm %{{.+}}, %{{.+}}, %[[ACC]]{{.*}} async
  // CHECK-NEXT:      tl.wait_gemm 0 (%[[ACC]] :
  // CHECK-NEXT:    }
  gpu.func @allocated_in_loop(%a: !tile, %b: !tile, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %k = %c0 to %n step %c1 {
      %acc = tl.alloc : !acc
      tl.gemm %a, %b, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // It does not go around a loop that changes the operand, also if nothing else
  // there touches the accumulator.
  // CHECK-LABEL: gpu.func @operand_changed_in_loop(
  // CHECK:         scf.for
  // CHECK:           tl.fill %[[P:[^,]+]],
  // CHECK-NEXT:      tl.gemm %[[P]], %{{.+}}, %[[ACC:.+]] async
  // CHECK-NEXT:      tl.wait_gemm 0 (%[[ACC]], %[[P]] :
  // CHECK-NEXT:    }
  gpu.func @operand_changed_in_loop(%b: !tile, %n: index, %v: f16) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p = tl.alloc : memref<64x64xf16, #tl.fragment>
    %acc = tl.alloc : !acc
    scf.for %k = %c0 to %n step %c1 {
      tl.fill %p, %v : memref<64x64xf16, #tl.fragment>
      tl.gemm %p, %b, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : memref<64x64xf16, #tl.fragment>, !tile, !acc
    }
    gpu.return
  }

  // Or until an operand is overwritten.
  // CHECK-LABEL: gpu.func @operand_overwritten(
  // CHECK:         %[[A:.+]] = tl.alloc
  // CHECK:         tl.gemm
  // CHECK-NEXT:    tl.copy %[[A]] to
  // CHECK-NEXT:    tl.wait_gemm 0 (%{{.+}} :
  // CHECK-NEXT:    tl.fill %[[A]]
  gpu.func @operand_overwritten(%C: !A, %v: f16) kernel {
    %a = tl.alloc : !tile
    %acc = tl.alloc : !acc
    tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    tl.copy %a to %C tile(64, 64) : !tile to !A
    tl.fill %a, %v : !tile
    gpu.return
  }

  // A wait lets younger products run: of two, the one that is needed first.
  // CHECK-LABEL: gpu.func @two_products(
  // CHECK:         %[[X:.+]] = tl.alloc
  // CHECK-NEXT:    %[[Y:.+]] = tl.alloc
  // CHECK-NEXT:    tl.gemm %{{.+}}, %{{.+}}, %[[X]] async
  // CHECK-NEXT:    tl.gemm %{{.+}}, %{{.+}}, %[[Y]] async
  // CHECK-NEXT:    tl.wait_gemm 1 (%[[X]] :
  // CHECK-NEXT:    tl.copy %[[X]] to
  // CHECK-NEXT:    tl.wait_gemm 0 (%[[Y]] :
  // CHECK-NEXT:    tl.copy %[[Y]] to
  gpu.func @two_products(%a: !tile, %C: memref<64x64xf32>) kernel {
    %x = tl.alloc : !acc
    %y = tl.alloc : !acc
    tl.gemm %a, %a, %x plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    tl.gemm %a, %a, %y plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    tl.copy %x to %C tile(64, 64) : !acc to memref<64x64xf32>
    tl.copy %y to %C tile(64, 64) : !acc to memref<64x64xf32>
    gpu.return
  }

  // Needing the younger one completes both, and both are named.
  // CHECK-LABEL: gpu.func @younger_first(
  // CHECK:         %[[X:.+]] = tl.alloc
  // CHECK-NEXT:    %[[Y:.+]] = tl.alloc
  // CHECK:         tl.wait_gemm 0 (%[[X]], %[[Y]] :
  // CHECK-NEXT:    tl.copy %[[Y]] to
  // CHECK-NEXT:    tl.copy %[[X]] to
  gpu.func @younger_first(%a: !tile, %C: memref<64x64xf32>) kernel {
    %x = tl.alloc : !acc
    %y = tl.alloc : !acc
    tl.gemm %a, %a, %x plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    tl.gemm %a, %a, %y plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    tl.copy %y to %C tile(64, 64) : !acc to memref<64x64xf32>
    tl.copy %x to %C tile(64, 64) : !acc to memref<64x64xf32>
    gpu.return
  }

  // Gemms that add to one accumulator by one plan follow each other; by another
  // instruction they do not.
  // CHECK-LABEL: gpu.func @chained(
  // CHECK:         tl.gemm {{.*}} async plan(<wgmma
  // CHECK-NEXT:    tl.gemm {{.*}} async plan(<wgmma
  // CHECK-NEXT:    tl.wait_gemm 0
  // CHECK-NEXT:    tl.gemm {{.*}} plan(<mma
  // CHECK-NEXT:    gpu.return
  gpu.func @chained(%a: !tile, %b: !tile) kernel {
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    tl.gemm %b, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    tl.gemm %a, %a, %acc plan(<mma, warps_m = 2, warps_n = 2>) : !tile, !tile, !acc
    gpu.return
  }

  // On a pipe a product runs on while the next one is started. Its slot is
  // released an iteration later; by then only the next product may run. After
  // the loop the last slot is released as well.
  // CHECK-LABEL: gpu.func @on_a_pipe(
  // CHECK:         %[[ACC:.+]] = tl.alloc : memref<64x64xf32
  // CHECK:         scf.for
  // CHECK:           %[[PREVIOUS:.+]] = tl.rotate %{{.+}} by 2 of 3
  // CHECK:           tl.gemm %{{.+}}, %{{.+}}, %[[ACC]] async
  // CHECK-NEXT:      tl.wait_gemm 1{{$}}
  // CHECK-NEXT:      tl.pipe_release %{{.+}}[%[[PREVIOUS]]]
  // CHECK-NOT:       tl.wait_gemm
  // CHECK:           scf.yield %{{.+}}, %{{.+}} : index, i32
  // CHECK-NEXT:    }
  // CHECK-NEXT:    tl.rotate
  // CHECK-NEXT:    tl.wait_gemm 0 (%[[ACC]] :
  // CHECK-NEXT:    tl.pipe_release
  // CHECK-NOT:     tl.wait_gemm
  // CHECK:         gpu.return
  gpu.func @on_a_pipe(%A: !A, %C: memref<64x64xf32>, %zero: index, %p: i32, %n: index, %c: i1) kernel {
    %ring = tl.alloc : !ring
    %pipe = tl.pipe rings(%ring : !ring) : !tl.pipe<bulk, 3>
    %acc = tl.alloc : !acc
    %end:2 = scf.for %k = %zero to %n step %n iter_args(%slot = %zero, %phase = %p) -> (index, i32) {
      %previous = tl.rotate %slot by 2 of 3
      tl.pipe_wait %pipe[%slot] ahead(1) phase(%phase) : !tl.pipe<bulk, 3>
      %s = tl.slot %ring[%slot] : !ring to !tile
      tl.gemm %s, %s, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.pipe_release %pipe[%previous] : !tl.pipe<bulk, 3>
      tl.pipe_acquire %pipe[%previous] : !tl.pipe<bulk, 3>
      scf.if %c {
        %r = tl.slot %ring[%previous] : !ring to !tile
        tl.copy %A to %r tile(64, 64) async bulk : !A to !tile
      }
      tl.pipe_commit %pipe[%previous] : !tl.pipe<bulk, 3>
      %next = tl.rotate %slot by 1 of 3
      %nextPhase = tl.next_phase %phase after %slot of 3
      scf.yield %next, %nextPhase : index, i32
    }
    %last = tl.rotate %end#0 by 2 of 3
    tl.pipe_release %pipe[%last] : !tl.pipe<bulk, 3>
    tl.copy %acc to %C tile(64, 64) : !acc to memref<64x64xf32>
    gpu.return
  }

  // Two products an iteration: both may run on.
  // CHECK-LABEL: gpu.func @two_on_a_pipe(
  // CHECK:         scf.for
  // CHECK-COUNT-2:   tl.gemm {{.*}} async
  // CHECK-NEXT:      tl.wait_gemm 2{{$}}
  // CHECK-NEXT:      tl.pipe_release
  gpu.func @two_on_a_pipe(%zero: index, %p: i32, %n: index) kernel {
    %ring = tl.alloc : !ring
    %pipe = tl.pipe rings(%ring : !ring) : !tl.pipe<bulk, 3>
    %x = tl.alloc : !acc
    %y = tl.alloc : !acc
    scf.for %k = %zero to %n step %n iter_args(%slot = %zero, %phase = %p) -> (index, i32) {
      %previous = tl.rotate %slot by 2 of 3
      tl.pipe_wait %pipe[%slot] ahead(1) phase(%phase) : !tl.pipe<bulk, 3>
      %s = tl.slot %ring[%slot] : !ring to !tile
      tl.gemm %s, %s, %x plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.gemm %s, %s, %y plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.pipe_release %pipe[%previous] : !tl.pipe<bulk, 3>
      %next = tl.rotate %slot by 1 of 3
      %nextPhase = tl.next_phase %phase after %slot of 3
      scf.yield %next, %nextPhase : index, i32
    }
    gpu.return
  }

  // An accumulator that the loop touches elsewhere, as attention rescales its
  // sums: waits stand before the touch and at the end of the iteration, and
  // what is in between overlaps.
  // CHECK-LABEL: gpu.func @touched_in_the_loop(
  // CHECK:         %[[S:.+]] = tl.alloc : memref<64x64xf32
  // CHECK-NEXT:    %[[O:.+]] = tl.alloc : memref<64x64xf32
  // CHECK:         scf.for
  // CHECK-NEXT:      tl.gemm %{{.+}}, %{{.+}}, %[[S]] async
  // CHECK-NEXT:      tl.fill %[[O]]
  // CHECK-NEXT:      tl.wait_gemm 0 (%[[S]] :
  // CHECK-NEXT:      tl.copy %[[S]] to
  // CHECK-NEXT:      tl.gemm %{{.+}}, %{{.+}}, %[[O]] async
  // CHECK-NEXT:      gpu.barrier
  // CHECK-NEXT:      tl.wait_gemm 0 (%[[O]] :
  // CHECK-NEXT:    }
  // CHECK-NEXT:    gpu.return
  gpu.func @touched_in_the_loop(%q: !tile, %k: !tile, %zero: index, %n: index, %v: f32) kernel {
    %s = tl.alloc : !acc
    %o = tl.alloc : !acc
    %p = tl.alloc : !tile
    scf.for %i = %zero to %n step %n {
      tl.gemm %q, %k, %s plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.fill %o, %v : !acc
      tl.copy %s to %p tile(64, 64) : !acc to !tile
      tl.gemm %p, %k, %o plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      gpu.barrier
    }
    gpu.return
  }

  // An operand that the next iteration writes: the product goes around the
  // loop, and is complete before the write.
  // CHECK-LABEL: gpu.func @operand_of_the_loop(
  // CHECK:         scf.for
  // CHECK-NEXT:      tl.wait_gemm 0 (%[[ACC:.+]] :
  // CHECK-NEXT:      tl.fill
  // CHECK-NEXT:      tl.gemm {{.*}} async
  // CHECK-NEXT:    }
  // CHECK-NEXT:    tl.wait_gemm 0 (%[[ACC]] :
  // CHECK-NEXT:    tl.copy %[[ACC]]
  gpu.func @operand_of_the_loop(%C: memref<64x64xf32>, %zero: index, %n: index, %v: f16) kernel {
    %a = tl.alloc : !tile
    %acc = tl.alloc : !acc
    scf.for %i = %zero to %n step %n {
      tl.fill %a, %v : !tile
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    tl.copy %acc to %C tile(64, 64) : !acc to memref<64x64xf32>
    gpu.return
  }

  // A branch completes what it starts; what was started before it runs on, if
  // nothing in it minds.
  // CHECK-LABEL: gpu.func @in_a_branch(
  // CHECK:         %[[X:.+]] = tl.alloc
  // CHECK-NEXT:    %[[Y:.+]] = tl.alloc
  // CHECK-NEXT:    tl.gemm %{{.+}}, %{{.+}}, %[[X]] async
  // CHECK-NEXT:    scf.if
  // CHECK-NEXT:      tl.gemm %{{.+}}, %{{.+}}, %[[Y]] async
  // CHECK-NEXT:      tl.wait_gemm 0 (%[[Y]] :
  // CHECK-NEXT:    }
  // CHECK-NEXT:    tl.wait_gemm 0 (%[[X]] :
  // CHECK-NEXT:    tl.copy %[[X]] to
  gpu.func @in_a_branch(%a: !tile, %C: memref<64x64xf32>, %c: i1) kernel {
    %x = tl.alloc : !acc
    %y = tl.alloc : !acc
    tl.gemm %a, %a, %x plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    scf.if %c {
      tl.gemm %a, %a, %y plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    tl.copy %x to %C tile(64, 64) : !acc to memref<64x64xf32>
    gpu.return
  }

  // What a branch touches is complete before it, on both of its ways.
  // CHECK-LABEL: gpu.func @touched_in_a_branch(
  // CHECK:         tl.gemm {{.*}} async
  // CHECK-NEXT:    tl.wait_gemm 0
  // CHECK-NEXT:    scf.if
  gpu.func @touched_in_a_branch(%a: !tile, %C: memref<64x64xf32>, %c: i1) kernel {
    %x = tl.alloc : !acc
    tl.gemm %a, %a, %x plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    scf.if %c {
      tl.copy %x to %C tile(64, 64) : !acc to memref<64x64xf32>
    }
    gpu.return
  }

  // Other instructions are complete when they are done.
  // CHECK-LABEL: gpu.func @other_instructions(
  // CHECK-NOT:     async
  // CHECK-NOT:     tl.wait_gemm
  // CHECK:         gpu.return
  gpu.func @other_instructions(%a: !tile, %C: memref<64x64xf32>) kernel {
    %acc = tl.alloc : !acc
    tl.gemm %a, %a, %acc plan(<mma, warps_m = 2, warps_n = 2>) : !tile, !tile, !acc
    tl.copy %acc to %C tile(64, 64) : !acc to memref<64x64xf32>
    gpu.return
  }
}
