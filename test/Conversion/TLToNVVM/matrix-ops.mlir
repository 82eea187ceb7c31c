// RUN: tl-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm))' | FileCheck %s

// The multiplicands of mma.sync are pairs of f16 for f16 and plain registers for
// all other types.

gpu.module @warp {
  // CHECK-LABEL: llvm.func @mma_f16_f32
  // CHECK: nvvm.mma.sync A[{{.*}}] B[{{.*}}] C[{{.*}}] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  gpu.func @mma_f16_f32(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>, %p: !llvm.ptr<1>) {
    %d = tl.mma f16 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xf32>
    llvm.store %d, %p : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @mma_f16_f16
  // CHECK: nvvm.mma.sync {{.*}} : (vector<2xf16>, vector<2xf16>, vector<2xf16>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>)>
  gpu.func @mma_f16_f16(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf16>, %p: !llvm.ptr<1>) {
    %d = tl.mma f16 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xf16>
    llvm.store %d, %p : vector<4xf16>, !llvm.ptr<1>
    gpu.return
  }

  // One instruction for eight rows each.
  // CHECK-LABEL: llvm.func @mma_f64
  // CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.mma.m8n8k4.row.col.f64"({{.*}}) : (f64, f64, f64, f64) -> !llvm.struct<(f64, f64)>
  llvm.func @mma_f64(%a: vector<2xf64>, %b: f64, %c: vector<4xf64>) -> vector<4xf64> {
    %d = tl.mma_f64 %a, %b, %c : vector<2xf64>, vector<4xf64>
    llvm.return %d : vector<4xf64>
  }

  // CHECK-LABEL: llvm.func @mma_bf16
  // CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>{{.*}}k = 16>} : (i32, i32, f32)
  gpu.func @mma_bf16(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>, %p: !llvm.ptr<1>) {
    %d = tl.mma bf16 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xf32>
    llvm.store %d, %p : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @mma_tf32
  // CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>{{.*}}k = 8>} : (i32, i32, f32)
  gpu.func @mma_tf32(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>, %p: !llvm.ptr<1>) {
    %d = tl.mma tf32 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xf32>
    llvm.store %d, %p : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @mma_u8
  // CHECK: nvvm.mma.sync {{.*}}intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>{{.*}}multiplicandAPtxType = #nvvm.mma_type<u8>{{.*}}k = 32>} : (i32, i32, i32)
  gpu.func @mma_u8(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xi32>, %p: !llvm.ptr<1>) {
    %d = tl.mma u8 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xi32>
    llvm.store %d, %p : vector<4xi32>, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @mma_s8
  // CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<s8>
  gpu.func @mma_s8(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xi32>, %p: !llvm.ptr<1>) {
    %d = tl.mma s8 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xi32>
    llvm.store %d, %p : vector<4xi32>, !llvm.ptr<1>
    gpu.return
  }

  // The op of NVVM has no 8-bit floats.
  // CHECK-LABEL: llvm.func @mma_e4m3
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.f32.e4m3.e4m3.f32"(
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.f32.e4m3.e5m2.f32"({{.*}}) : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  gpu.func @mma_e4m3(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>, %p: !llvm.ptr<1>) {
    %d = tl.mma e4m3 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xf32>
    %e = tl.mma e4m3 by e5m2 %a, %b, %d : vector<4xi32>, vector<2xi32>, vector<4xf32>
    llvm.store %e, %p : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }

  // One matrix comes back as a register, four as a struct.
  // CHECK-LABEL: llvm.func @ldmatrix
  // CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>, num = 4 {{.*}} -> !llvm.struct<(i32, i32, i32, i32)>
  // CHECK: %[[R:.+]] = nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>, num = 1 {{.*}} -> i32
  // CHECK: llvm.insertelement %[[R]]
  gpu.func @ldmatrix(%s: !llvm.ptr<3>, %p: !llvm.ptr<1>) {
    %a = tl.ldmatrix %s transpose : !llvm.ptr<3> -> vector<4xi32>
    llvm.store %a, %p : vector<4xi32>, !llvm.ptr<1>
    %b = tl.ldmatrix %s : !llvm.ptr<3> -> vector<1xi32>
    llvm.store %b, %p : vector<1xi32>, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @stmatrix
  // CHECK: nvvm.stmatrix %arg1, %{{.+}}, %{{.+}} {{.*}}layout = #nvvm.mma_layout<col>{{.*}} : !llvm.ptr<3>, i32, i32
  gpu.func @stmatrix(%v: vector<2xi32>, %s: !llvm.ptr<3>) {
    tl.stmatrix %v, %s transpose : vector<2xi32>, !llvm.ptr<3>
    gpu.return
  }
}

// -----

gpu.module @warp_group {
  // A group is one piece of assembly, from fence to commit. Its registers are
  // outputs tied to inputs, so that ptxas moves none, and the second part of the
  // accumulator starts at the fifth.
  // CHECK-LABEL: llvm.func @wgmma_two_parts
  // CHECK: %[[LOW:.+]] = llvm.trunc %arg0 : i64 to i32
  // CHECK: llvm.add %[[LOW]]
  // CHECK: llvm.inline_asm has_side_effects asm_dialect = att
  // CHECK-SAME: "wgmma.fence.sync.aligned;\0A
  // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, $8, $9, 1, 1, 1, 0, 1;\0A
  // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$4, $5, $6, $7}, $10, $11, 1, 1, 1, 0, 1;\0A
  // CHECK-SAME: wgmma.commit_group.sync.aligned;"
  // CHECK-SAME: "=&f,=&f,=&f,=&f,=&f,=&f,=&f,=&f,l,l,l,l,0,1,2,3,4,5,6,7,~{memory}"
  gpu.func @wgmma_two_parts(%a: i64, %b: i64, %acc: vector<8xf32>, %p: !llvm.ptr<1>) {
    %r = tl.wgmma bf16 n(8) %a, %b, %acc b_mn_major acc_offsets([0, 4]) a_offsets([0, 512]) b_offsets([0, 0]) : vector<8xf32>
    %d = tl.wgmma_wait 0 (%r : vector<8xf32>)
    llvm.store %d, %p : vector<8xf32>, !llvm.ptr<1>
    gpu.return
  }

  // A in registers: four of them for each instruction, which has no flag for how A
  // lies. The wait hands on what they were made of.
  // CHECK-LABEL: llvm.func @wgmma_from_registers
  // CHECK: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, {$4, $5, $6, $7}, $12, 1, 1, 1, 1;\0A
  // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, {$8, $9, $10, $11}, $13, 1, 1, 1, 1;\0A
  // CHECK-SAME: "=&f,=&f,=&f,=&f,r,r,r,r,r,r,r,r,l,l,0,1,2,3,~{memory}"
  // CHECK: wgmma.wait_group.sync.aligned 0;", "=&f,=&f,=&f,=&f,=&r,=&r,=&r,=&r,=&r,=&r,=&r,=&r,0,1,2,3,4,5,6,7,8,9,10,11,~{memory}"
  gpu.func @wgmma_from_registers(%a: vector<16xf16>, %b: i64, %acc: vector<4xf32>, %p: !llvm.ptr<1>) {
    %registers = vector.bitcast %a : vector<16xf16> to vector<8xi32>
    %r = tl.wgmma f16 n(8) %registers, %b, %acc b_mn_major acc_offsets([0, 0]) a_offsets([0, 4]) b_offsets([0, 64]) : vector<8xi32>, vector<4xf32>
    %d:2 = tl.wgmma_wait 0 (%r, %a : vector<4xf32>, vector<16xf16>)
    llvm.store %d#0, %p : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }

  // The same with floats of 8 bits, which LLVM has no type for.
  // CHECK-LABEL: llvm.func @small_floats_from_registers
  // CHECK: wgmma.wait_group.sync.aligned 0;", "=&f,=&f,=&f,=&f,=&r,=&r,=&r,=&r,0,1,2,3,4,5,6,7,~{memory}"
  // CHECK-NOT: unrealized
  gpu.func @small_floats_from_registers(%a: vector<16xf8E4M3FN>, %b: i64, %acc: vector<4xf32>, %p: !llvm.ptr<1>) {
    %registers = vector.bitcast %a : vector<16xf8E4M3FN> to vector<4xi32>
    %r = tl.wgmma e4m3 n(8) %registers, %b, %acc acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xi32>, vector<4xf32>
    %d:2 = tl.wgmma_wait 0 (%r, %a : vector<4xf32>, vector<16xf8E4M3FN>)
    %bytes = vector.bitcast %d#1 : vector<16xf8E4M3FN> to vector<4xi32>
    llvm.store %bytes, %p : vector<4xi32>, !llvm.ptr<1>
    gpu.return
  }

  // Products of one B with further rows from registers begin behind a fence of
  // their own: ptxas 13.0 makes one instruction of two with equal registers.
  // CHECK-LABEL: llvm.func @wgmma_of_equal_rows
  // CHECK: "wgmma.fence.sync.aligned;\0A
  // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, {$8, $9, $10, $11}, $16, 0, 1, 1, 0;\0A
  // CHECK-SAME: wgmma.fence.sync.aligned;\0A
  // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$4, $5, $6, $7}, {$12, $13, $14, $15}, $17, 0, 1, 1, 0;\0A
  // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, {$8, $9, $10, $11}, $18, 1, 1, 1, 0;\0A
  // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$4, $5, $6, $7}, {$12, $13, $14, $15}, $19, 1, 1, 1, 0;\0A
  // CHECK-SAME: wgmma.commit_group.sync.aligned;"
  gpu.func @wgmma_of_equal_rows(%a: vector<8xi32>, %b: i64, %p: !llvm.ptr<1>) {
    %zero = arith.constant dense<0.0> : vector<8xf32>
    %r = tl.wgmma f16 n(8) %a, %b, %zero acc_offsets([0, 4, 0, 4]) a_offsets([0, 4, 0, 4]) b_offsets([0, 0, 64, 64]) : vector<8xi32>, vector<8xf32>
    %d = tl.wgmma_wait 0 (%r : vector<8xf32>)
    llvm.store %d, %p : vector<8xf32>, !llvm.ptr<1>
    gpu.return
  }

  // Zeros are not added to, nor made: the first instruction on each part of the
  // accumulator replaces it.
  // CHECK-LABEL: llvm.func @wgmma_from_zero
  // CHECK: m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, $4, $5, 0, 1, 1, 0, 0;\0A
  // CHECK-SAME: m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, $6, $7, 1, 1, 1, 0, 0;\0A
  // CHECK-SAME: "=&f,=&f,=&f,=&f,l,l,l,l,~{memory}"
  gpu.func @wgmma_from_zero(%a: i64, %b: i64, %p: !llvm.ptr<1>) {
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %r = tl.wgmma f16 n(8) %a, %b, %zero acc_offsets([0, 0]) a_offsets([0, 2]) b_offsets([0, 2]) : vector<4xf32>
    %d = tl.wgmma_wait 0 (%r : vector<4xf32>)
    llvm.store %d, %p : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }

  // Negative zeros are, and what no instruction writes.
  // CHECK-LABEL: llvm.func @wgmma_from_other_values
  // CHECK: $4, $5, 1, 1, 1, 0, 0;
  // CHECK: "=&f,=&f,=&f,=&f,=&f,=&f,=&f,=&f,l,l,0,1,2,3,4,5,6,7,~{memory}"
  gpu.func @wgmma_from_other_values(%a: i64, %b: i64, %p: !llvm.ptr<1>) {
    %negative = arith.constant dense<-0.0> : vector<4xf32>
    %zero = arith.constant dense<0.0> : vector<8xf32>
    %r = tl.wgmma f16 n(8) %a, %b, %negative acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xf32>
    %s = tl.wgmma f16 n(8) %a, %b, %zero acc_offsets([4]) a_offsets([0]) b_offsets([0]) : vector<8xf32>
    %d:2 = tl.wgmma_wait 0 (%r, %s : vector<4xf32>, vector<8xf32>)
    llvm.store %d#0, %p : vector<4xf32>, !llvm.ptr<1>
    llvm.store %d#1, %p : vector<8xf32>, !llvm.ptr<1>
    gpu.return
  }

  // Accumulators of f16 are pairs in registers.
  // CHECK-LABEL: llvm.func @wgmma_f16
  // CHECK: llvm.bitcast %arg2 : vector<8xf16> to vector<4xi32>
  // CHECK: m64n16k16.f16.f16.f16 {$0, $1, $2, $3}, $4, $5, 1, 1, 1, 1, 0;
  // CHECK-SAME: "=&r,=&r,=&r,=&r,l,l,0,1,2,3,~{memory}"
  gpu.func @wgmma_f16(%a: i64, %b: i64, %acc: vector<8xf16>, %p: !llvm.ptr<1>) {
    %r = tl.wgmma f16 n(16) %a, %b, %acc a_mn_major acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<8xf16>
    %d = tl.wgmma_wait 0 (%r : vector<8xf16>)
    llvm.store %d, %p : vector<8xf16>, !llvm.ptr<1>
    gpu.return
  }

  // tf32 has no transposed forms, integers no negation either.
  // CHECK-LABEL: llvm.func @wgmma_tf32
  // CHECK: m64n8k8.f32.tf32.tf32 {$0, $1, $2, $3}, $4, $5, 1, 1, 1;
  gpu.func @wgmma_tf32(%a: i64, %b: i64, %acc: vector<4xf32>, %p: !llvm.ptr<1>) {
    %r = tl.wgmma tf32 n(8) %a, %b, %acc acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xf32>
    %d = tl.wgmma_wait 0 (%r : vector<4xf32>)
    llvm.store %d, %p : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @wgmma_s8
  // CHECK: m64n8k32.s32.s8.s8 {$0, $1, $2, $3}, $4, $5, 1;
  gpu.func @wgmma_s8(%a: i64, %b: i64, %acc: vector<4xi32>, %p: !llvm.ptr<1>) {
    %r = tl.wgmma s8 n(8) %a, %b, %acc acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xi32>
    %d = tl.wgmma_wait 0 (%r : vector<4xi32>)
    llvm.store %d, %p : vector<4xi32>, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @wgmma_e5m2
  // CHECK: m64n8k32.f32.e5m2.e4m3 {$0, $1, $2, $3}, $4, $5, 1, 1, 1;
  gpu.func @wgmma_e5m2(%a: i64, %b: i64, %acc: vector<4xf32>, %p: !llvm.ptr<1>) {
    %r = tl.wgmma e5m2 by e4m3 n(8) %a, %b, %acc acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xf32>
    %d = tl.wgmma_wait 0 (%r : vector<4xf32>)
    llvm.store %d, %p : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @wgmma_u8
  // CHECK: m64n8k32.s32.u8.u8 {$0, $1, $2, $3}, $4, $5, 1;
  gpu.func @wgmma_u8(%a: i64, %b: i64, %acc: vector<4xi32>, %p: !llvm.ptr<1>) {
    %r = tl.wgmma u8 n(8) %a, %b, %acc acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xi32>
    %d = tl.wgmma_wait 0 (%r : vector<4xi32>)
    llvm.store %d, %p : vector<4xi32>, !llvm.ptr<1>
    gpu.return
  }

  // A wait passes all that it completes through one instruction; without values
  // it is the plain instruction.
  // CHECK-LABEL: llvm.func @waits
  // CHECK: nvvm.wgmma.wait.group.sync.aligned 1
  // CHECK: llvm.inline_asm has_side_effects asm_dialect = att "wgmma.wait_group.sync.aligned 0;", "=&f,=&f,=&r,0,1,2,~{memory}"
  // CHECK-SAME: (f32, f32, i32) -> !llvm.struct<(f32, f32, i32)>
  gpu.func @waits(%x: vector<2xf32>, %y: vector<2xf16>, %p: !llvm.ptr<1>) {
    tl.wgmma_wait 1
    %d:2 = tl.wgmma_wait 0 (%x, %y : vector<2xf32>, vector<2xf16>)
    llvm.store %d#0, %p : vector<2xf32>, !llvm.ptr<1>
    llvm.store %d#1, %p : vector<2xf16>, !llvm.ptr<1>
    gpu.return
  }
}
