// Pipelined loops with a guard that is false up to some iteration.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-split-loops,canonicalize))' --split-input-file | FileCheck %s

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // (k + 1) * 64 > n is false up to k = n / 64. The sum has 64 bits, for n may be
  // any number of 32.
  // CHECK-LABEL: gpu.func @greater(
  // CHECK-SAME:    %[[N:[^:]+]]: index, %[[COUNT:[^:]+]]: index,
  // CHECK:         %[[WIDE:.+]] = arith.index_cast %[[N]] : index to i64
  // CHECK-NEXT:    %[[ROOM:.+]] = arith.maxsi %[[WIDE]], %c0_i64
  // CHECK-NEXT:    %[[AT:.+]] = arith.divui %[[ROOM]], %c64_i64
  // CHECK-NEXT:    %[[END:.+]] = arith.index_cast %[[COUNT]] : index to i64
  // CHECK-NEXT:    %[[FIRST:.+]] = arith.minsi %[[AT]], %[[END]]
  // CHECK-NEXT:    %[[CAST:.+]] = arith.index_cast %[[FIRST]] : i64 to index
  // CHECK-NEXT:    %[[MIDDLE:.+]] = arith.maxsi %[[CAST]], %c0
  // CHECK-NEXT:    tl.pipelined %{{.+}} = %c0 to %[[MIDDLE]] stages(2) attributes {tl.engine = "bulk"} {
  // CHECK-NEXT:      tl.copy {{.*}} {tl.ahead}
  // CHECK-NEXT:      tl.gemm
  // CHECK-NEXT:    }
  // CHECK-NEXT:    tl.pipelined %{{.+}} = %[[MIDDLE]] to %[[COUNT]] stages(2) attributes {tl.engine = "bulk"} {
  // CHECK:           arith.cmpi sgt
  // CHECK-NEXT:      scf.if
  // CHECK:           tl.gemm
  gpu.func @greater(%A: !A {tl.align = 16 : i64}, %n: index, %count: index, %always: i1, %N: memref<64xindex>) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %less = arith.constant -1 : index
    %zero = arith.constant 0.0 : f32
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %count stages(2) attributes {tl.engine = "bulk"} {
      tl.copy %A[%c0, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
      %next = arith.addi %k, %c1 : index
      %end = arith.muli %next, %c64 : index
      %masks = arith.cmpi sgt, %end, %n : index
      scf.if %masks {
        tl.parallel (%i, %j) in (64, 64) {
          tl.store %zero, %acc[%i, %j] : !acc
        }
      }
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // n + 1 <= k * 64 + 5, and from 0 on if a condition of the block says so:
  // (n + 1 - 5 + 63) / 64.
  // CHECK-LABEL: gpu.func @or(
  // CHECK-SAME:    %[[N:[^:]+]]: index, %{{[^:]+}}: index, %[[ALWAYS:[^:]+]]: i1
  // CHECK:         %[[BOUND:.+]] = arith.addi %[[N]], %c1
  // CHECK:         %[[WIDE:.+]] = arith.index_cast %[[BOUND]] : index to i64
  // CHECK:         %[[SUM:.+]] = arith.addi %[[WIDE]], %c58_i64
  // CHECK:         %[[ROOM:.+]] = arith.maxsi %[[SUM]], %c0_i64
  // CHECK:         %[[AT:.+]] = arith.divui %[[ROOM]], %c64_i64
  // CHECK:         %[[OTHER:.+]] = arith.select %[[ALWAYS]], %c0_i64, %c2147483647_i64
  // CHECK:         %[[BOTH:.+]] = arith.minsi %[[AT]], %[[OTHER]]
  // CHECK:         tl.pipelined
  // CHECK-NOT:     scf.if
  // CHECK:         tl.pipelined
  // CHECK:           scf.if
  gpu.func @or(%A: !A {tl.align = 16 : i64}, %n: index, %count: index, %always: i1, %N: memref<64xindex>) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %less = arith.constant -1 : index
    %zero = arith.constant 0.0 : f32
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %count stages(2) attributes {tl.engine = "bulk"} {
      tl.copy %A[%c0, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
      %c5 = arith.constant 5 : index
      %bound = arith.addi %n, %c1 : index
      %kk = arith.muli %k, %c64 : index
      %sum = arith.addi %kk, %c5 : index
      %ends = arith.cmpi sle, %bound, %sum : index
      %masks = arith.ori %ends, %always : i1
      scf.if %masks {
        tl.parallel (%i, %j) in (64, 64) {
          tl.store %zero, %acc[%i, %j] : !acc
        }
      }
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // Of two conditions that must both hold one is enough.
  // CHECK-LABEL: gpu.func @and(
  // CHECK:         %[[FIRST:.+]] = arith.minsi
  // CHECK-NOT:     arith.select
  // CHECK:         tl.pipelined
  // CHECK-NOT:     scf.if
  // CHECK:         tl.pipelined
  // CHECK:           scf.if
  gpu.func @and(%A: !A {tl.align = 16 : i64}, %n: index, %count: index, %always: i1, %N: memref<64xindex>) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %less = arith.constant -1 : index
    %zero = arith.constant 0.0 : f32
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %count stages(2) attributes {tl.engine = "bulk"} {
      tl.copy %A[%c0, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
      %some = arith.cmpi ne, %k, %n : index
      %ends = arith.cmpi sge, %k, %n : index
      %masks = arith.andi %ends, %some : i1
      scf.if %masks {
        tl.parallel (%i, %j) in (64, 64) {
          tl.store %zero, %acc[%i, %j] : !acc
        }
      }
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // k * 64 < n is false from k = (n + 63) / 64 on, if the last k * 64 does not wrap:
  // else nothing is known.
  // CHECK-LABEL: gpu.func @less(
  // CHECK-SAME:    %[[N:[^:]+]]: index, %[[COUNT:[^:]+]]: index)
  // CHECK:         %[[WIDE:.+]] = arith.index_cast %[[N]] : index to i64
  // CHECK-NEXT:    %[[SUM:.+]] = arith.addi %[[WIDE]], %c63_i64
  // CHECK-NEXT:    %[[ROOM:.+]] = arith.maxsi %[[SUM]], %c0_i64
  // CHECK-NEXT:    %[[LEAST:.+]] = arith.divui %[[ROOM]], %c64_i64
  // CHECK-NEXT:    %[[UPPER:.+]] = arith.index_cast %[[COUNT]] : index to i64
  // CHECK-NEXT:    %[[LAST:.+]] = arith.subi %[[UPPER]], %c1_i64
  // CHECK-NEXT:    %[[GREATEST:.+]] = arith.muli %[[LAST]], %c64_i64
  // CHECK-NEXT:    %[[WRAPS:.+]] = arith.cmpi sgt, %[[GREATEST]], %c2147483647_i64
  // CHECK-NEXT:    %[[BEGIN:.+]] = arith.select %[[WRAPS]], %c2147483647_i64, %[[LEAST]]
  // CHECK:         %[[MIDDLE:.+]] = arith.maxsi %{{.+}}, %c0
  // CHECK-NEXT:    tl.pipelined %{{.+}} = %c0 to %[[MIDDLE]] stages(2)
  // CHECK:           scf.if
  // CHECK:         tl.pipelined %{{.+}} = %[[MIDDLE]] to %[[COUNT]] stages(2)
  // CHECK-NOT:       scf.if
  // CHECK:         gpu.return
  gpu.func @less(%A: !A {tl.align = 16 : i64}, %n: index, %count: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %count stages(2) attributes {tl.engine = "bulk"} {
      tl.copy %A[%c0, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
      %kk = arith.muli %k, %c64 : index
      %masks = arith.cmpi slt, %kk, %n : index
      scf.if %masks {
        tl.parallel (%i, %j) in (64, 64) {
          tl.store %zero, %acc[%i, %j] : !acc
        }
      }
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // A window has an end on either side.
  // CHECK-LABEL: gpu.func @window(
  // CHECK-SAME:    %{{[^:]+}}: index, %[[COUNT:[^:]+]]: index)
  // CHECK:         tl.pipelined %{{.+}} = %c0 to %[[BEGIN:.+]] stages(2)
  // CHECK:           scf.if
  // CHECK:         tl.pipelined %{{.+}} = %[[BEGIN]] to %[[END:.+]] stages(2)
  // CHECK-NOT:       scf.if
  // CHECK:         tl.pipelined %{{.+}} = %[[END]] to %[[COUNT]] stages(2)
  // CHECK:           scf.if
  gpu.func @window(%A: !A {tl.align = 16 : i64}, %n: index, %count: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %count stages(2) attributes {tl.engine = "bulk"} {
      tl.copy %A[%c0, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
      %kk = arith.muli %k, %c64 : index
      %begins = arith.cmpi sgt, %n, %kk : index
      %end = arith.addi %n, %c64 : index
      %ends = arith.cmpi sge, %kk, %end : index
      %masks = arith.ori %begins, %ends : i1
      scf.if %masks {
        tl.parallel (%i, %j) in (64, 64) {
          tl.store %zero, %acc[%i, %j] : !acc
        }
      }
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // How far a sum falls is another question.
  // CHECK-LABEL: gpu.func @descends(
  // CHECK:         tl.pipelined
  // CHECK:           scf.if
  // CHECK-NOT:     tl.pipelined
  gpu.func @descends(%A: !A {tl.align = 16 : i64}, %n: index, %count: index, %always: i1, %N: memref<64xindex>) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %less = arith.constant -1 : index
    %zero = arith.constant 0.0 : f32
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %count stages(2) attributes {tl.engine = "bulk"} {
      tl.copy %A[%c0, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
      %kk = arith.subi %n, %k : index
      %masks = arith.cmpi sgt, %kk, %c64 : index
      scf.if %masks {
        tl.parallel (%i, %j) in (64, 64) {
          tl.store %zero, %acc[%i, %j] : !acc
        }
      }
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // A bound that an iteration may change.
  // CHECK-LABEL: gpu.func @changes(
  // CHECK:         tl.pipelined
  // CHECK:           scf.if
  // CHECK-NOT:     tl.pipelined
  gpu.func @changes(%A: !A {tl.align = 16 : i64}, %n: index, %count: index, %always: i1, %N: memref<64xindex>) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %less = arith.constant -1 : index
    %zero = arith.constant 0.0 : f32
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %count stages(2) attributes {tl.engine = "bulk"} {
      tl.copy %A[%c0, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
      %bound = tl.load %N[%c0] : memref<64xindex>
      %masks = arith.cmpi sgt, %k, %bound : index
      scf.if %masks {
        tl.parallel (%i, %j) in (64, 64) {
          tl.store %zero, %acc[%i, %j] : !acc
        }
      }
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // Nor is what wraps, where a comparison has no sign.
  // CHECK-LABEL: gpu.func @unsigned(
  // CHECK:         tl.pipelined
  // CHECK:           scf.if
  // CHECK-NOT:     tl.pipelined
  gpu.func @unsigned(%A: !A {tl.align = 16 : i64}, %n: index, %count: index, %always: i1, %N: memref<64xindex>) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %less = arith.constant -1 : index
    %zero = arith.constant 0.0 : f32
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %count stages(2) attributes {tl.engine = "bulk"} {
      tl.copy %A[%c0, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
      %masks = arith.cmpi ugt, %k, %n : index
      scf.if %masks {
        tl.parallel (%i, %j) in (64, 64) {
          tl.store %zero, %acc[%i, %j] : !acc
        }
      }
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // Either may hold.
  // CHECK-LABEL: gpu.func @or_unknown(
  // CHECK:         tl.pipelined
  // CHECK:           scf.if
  // CHECK-NOT:     tl.pipelined
  gpu.func @or_unknown(%A: !A {tl.align = 16 : i64}, %n: index, %count: index, %always: i1, %N: memref<64xindex>) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %less = arith.constant -1 : index
    %zero = arith.constant 0.0 : f32
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %count stages(2) attributes {tl.engine = "bulk"} {
      tl.copy %A[%c0, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
      %some = arith.cmpi ne, %k, %n : index
      %ends = arith.cmpi sge, %k, %n : index
      %masks = arith.ori %ends, %some : i1
      scf.if %masks {
        tl.parallel (%i, %j) in (64, 64) {
          tl.store %zero, %acc[%i, %j] : !acc
        }
      }
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // Below zero a sum may wrap.
  // CHECK-LABEL: gpu.func @negative(
  // CHECK:         tl.pipelined
  // CHECK:           scf.if
  // CHECK-NOT:     tl.pipelined
  gpu.func @negative(%A: !A {tl.align = 16 : i64}, %n: index, %count: index, %always: i1, %N: memref<64xindex>) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %less = arith.constant -1 : index
    %zero = arith.constant 0.0 : f32
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %less to %count stages(2) attributes {tl.engine = "bulk"} {
      tl.copy %A[%c0, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
      %next = arith.addi %k, %c1 : index
      %end = arith.muli %next, %c64 : index
      %masks = arith.cmpi sgt, %end, %n : index
      scf.if %masks {
        tl.parallel (%i, %j) in (64, 64) {
          tl.store %zero, %acc[%i, %j] : !acc
        }
      }
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // There is something to do where it is false.
  // CHECK-LABEL: gpu.func @otherwise(
  // CHECK:         tl.pipelined
  // CHECK:           scf.if
  // CHECK-NOT:     tl.pipelined
  gpu.func @otherwise(%A: !A {tl.align = 16 : i64}, %n: index, %count: index, %always: i1, %N: memref<64xindex>) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %less = arith.constant -1 : index
    %zero = arith.constant 0.0 : f32
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %count stages(2) attributes {tl.engine = "bulk"} {
      tl.copy %A[%c0, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
      %next = arith.addi %k, %c1 : index
      %end = arith.muli %next, %c64 : index
      %masks = arith.cmpi sgt, %end, %n : index
      scf.if %masks {
        tl.parallel (%i, %j) in (64, 64) {
          tl.store %zero, %acc[%i, %j] : !acc
        }
      } else {
        tl.fill %acc, %zero : !acc
      }
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // What blocks of a cluster fetch together they fetch in step.
  // CHECK-LABEL: gpu.func @in_step(
  // CHECK:         tl.pipelined
  // CHECK:           scf.if
  // CHECK-NOT:     tl.pipelined
  gpu.func @in_step(%A: !A {tl.align = 16 : i64}, %n: index, %count: index, %always: i1, %N: memref<64xindex>) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %less = arith.constant -1 : index
    %zero = arith.constant 0.0 : f32
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %count stages(2) attributes {tl.engine = "bulk"} {
      tl.copy %A[%c0, %k] to %a tile(64, 64) multicast {tl.ahead} : !A to !tile
      %next = arith.addi %k, %c1 : index
      %end = arith.muli %next, %c64 : index
      %masks = arith.cmpi sgt, %end, %n : index
      scf.if %masks {
        tl.parallel (%i, %j) in (64, 64) {
          tl.store %zero, %acc[%i, %j] : !acc
        }
      }
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // Two loops would have their buffers twice.
  // CHECK-LABEL: gpu.func @own_buffer(
  // CHECK:         tl.pipelined
  // CHECK:           scf.if
  // CHECK-NOT:     tl.pipelined
  gpu.func @own_buffer(%A: !A {tl.align = 16 : i64}, %n: index, %count: index, %always: i1, %N: memref<64xindex>) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %less = arith.constant -1 : index
    %zero = arith.constant 0.0 : f32
    %a = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %count stages(2) attributes {tl.engine = "bulk"} {
      %acc = tl.alloc : !acc
      tl.copy %A[%c0, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
      %next = arith.addi %k, %c1 : index
      %end = arith.muli %next, %c64 : index
      %masks = arith.cmpi sgt, %end, %n : index
      scf.if %masks {
        tl.parallel (%i, %j) in (64, 64) {
          tl.store %zero, %acc[%i, %j] : !acc
        }
      }
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // Without a role for copies slots would be filled again in between.
  // CHECK-LABEL: gpu.func @no_role(
  // CHECK:         tl.pipelined
  // CHECK:           scf.if
  // CHECK-NOT:     tl.pipelined
  gpu.func @no_role(%A: !A {tl.align = 16 : i64}, %n: index, %count: index, %always: i1, %N: memref<64xindex>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %less = arith.constant -1 : index
    %zero = arith.constant 0.0 : f32
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %count stages(2) attributes {tl.engine = "bulk"} {
      tl.copy %A[%c0, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
      %next = arith.addi %k, %c1 : index
      %end = arith.muli %next, %c64 : index
      %masks = arith.cmpi sgt, %end, %n : index
      scf.if %masks {
        tl.parallel (%i, %j) in (64, 64) {
          tl.store %zero, %acc[%i, %j] : !acc
        }
      }
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }
}
