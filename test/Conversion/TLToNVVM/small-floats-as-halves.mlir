// Chips of 9.0 multiply floats of 8 bits by `mma.sync` only as halves. ptxas 13.0 makes a 7 of the upper
// bytes of a register that it knows to be zero, so that they are taken apart here, by shifts.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm))' | FileCheck %s

gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90">} {
  // CHECK-LABEL: llvm.func @mixed
  // CHECK-COUNT-4: llvm.inline_asm {{.*}}shr.u32 %w, $1, 0;{{.*}}cvt.rn.f16x2.e4m3x2
  // CHECK-COUNT-2: llvm.inline_asm {{.*}}shr.u32 %w, $1, 0;{{.*}}cvt.rn.f16x2.e5m2x2
  // CHECK: nvvm.mma.sync {{.*}}k = 16>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  // CHECK-COUNT-4: llvm.inline_asm {{.*}}shr.u32 %w, $1, 16;{{.*}}cvt.rn.f16x2.e4m3x2
  // CHECK-COUNT-2: llvm.inline_asm {{.*}}shr.u32 %w, $1, 16;{{.*}}cvt.rn.f16x2.e5m2x2
  // CHECK: nvvm.mma.sync {{.*}}k = 16>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  gpu.func @mixed(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>, %p: !llvm.ptr<1>) {
    %d = tl.mma e4m3 by e5m2 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xf32>
    llvm.store %d, %p : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }
}

gpu.module @ada attributes {tl.target = #tl.target<chip = "sm_89">} {
  // CHECK-LABEL: llvm.func @whole
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.f32.e4m3.e4m3.f32"(
  gpu.func @whole(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>, %p: !llvm.ptr<1>) {
    %d = tl.mma e4m3 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xf32>
    llvm.store %d, %p : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }
}
