// RUN: tl-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tl-emit-ptx))' | FileCheck %s

// The compiled kernel says what the function said: parameters, block, memory.

// CHECK-LABEL: gpu.module @m
// CHECK-NEXT: tl.compiled_kernel @k params([#tl.param<base, 0>, #tl.param<tensor_map, 1, box = [64], type = f16>]) block(128, 1, 1) shared(512) files({kernel.ptx = "
// CHECK-SAME: .visible .entry k(
// CHECK-SAME: .param .u64 .ptr .global .align 16 k_param_0
// A tensor map is read where the launch put it, not copied to the stack.
// CHECK-SAME: .param .align 64 .b8 k_param_1[128]
// CHECK-SAME: .reqntid 128, 1, 1
// CHECK-NOT: .local
// CHECK-NOT: .loc
// CHECK-SAME: "})
// CHECK-NOT: llvm.func
gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  llvm.func @k(%p: !llvm.ptr<1> {llvm.align = 16 : i64, tl.param = #tl.param<base, 0>},
      %map: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant,
                       tl.param = #tl.param<tensor_map, 1, box = [64], type = f16>})
      attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, tl.shared = 512 : i64} {
    nvvm.prefetch tensormap, %map : !llvm.ptr
    %c = llvm.mlir.constant(1 : i32) : i32
    llvm.store %c, %p : i32, !llvm.ptr<1>
    llvm.return
  }
}

// -----

// With line information, the lines are the IR's.

// CHECK-LABEL: gpu.module @lines
// CHECK: tl.compiled_kernel
// CHECK-SAME: .loc\091 7 3
// CHECK-SAME: .file\091 \22tile/kernel.py\22
gpu.module @lines attributes {tl.target = #tl.target<chip = "sm_90a">, tl.line_info} {
  llvm.func @k(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>})
      attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %c = llvm.mlir.constant(1 : i32) : i32
    llvm.store %c, %p : i32, !llvm.ptr<1> loc("tile/kernel.py":7:3)
    llvm.return
  } loc("tile/kernel.py":1:1)
}

// -----

// Assembly is not duplicated into the two arms of a divergent branch, because it
// is convergent; without that, LLVM threads the second branch over it, and half of
// a warp waits at each copy of the barrier.

// CHECK-LABEL: gpu.module @convergent
// CHECK: tl.compiled_kernel
// CHECK-SAME: bar.warp.sync
// CHECK-NOT: bar.warp.sync
// CHECK: }
gpu.module @convergent attributes {tl.target = #tl.target<chip = "sm_90a">} {
  llvm.func @k(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>})
      attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %leader = llvm.icmp "eq" %tid, %c0 : i32
    llvm.cond_br %leader, ^first, ^join
  ^first:
    llvm.store volatile %c0, %p : i32, !llvm.ptr<1>
    llvm.br ^join
  ^join:
    llvm.inline_asm has_side_effects "bar.warp.sync -1;", "~{memory}" : () -> ()
    llvm.cond_br %leader, ^second, ^end
  ^second:
    llvm.store volatile %c1, %p : i32, !llvm.ptr<1>
    llvm.br ^end
  ^end:
    llvm.return
  }
}
