// RUN: tl-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm))' | FileCheck %s

// What a kernel and its parameters say goes to the LLVM function: launch bounds,
// tensor maps by value, alignment, and how the host makes each parameter.

// CHECK: llvm.mlir.global external @tl_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// CHECK-LABEL: llvm.func @kernel
// CHECK-SAME: %arg0: !llvm.ptr<1> {llvm.align = 16 : i64, tl.param = #tl.param<base, 0>}
// CHECK-SAME: %arg1: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant, tl.param = #tl.param<tensor_map, 1,
// CHECK-SAME: %arg2: i64 {tl.param = #tl.param<dim, 0>}
// CHECK-SAME: nvvm.cluster_dim = array<i32: 2, 1, 1>
// CHECK-SAME: nvvm.kernel
// CHECK-SAME: nvvm.reqntid = array<i32: 256, 1, 1>
// CHECK-SAME: tl.shared = 1024 : i64
// CHECK: llvm.mlir.addressof @tl_shared : !llvm.ptr<3>
// CHECK: llvm.return
gpu.module @kernel_attributes {
  gpu.func @kernel(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>},
      %map: !llvm.ptr {tl.param = #tl.param<tensor_map, 1, box = [64, 128], swizzle = 128, type = bf16>},
      %n: i64 {tl.param = #tl.param<dim, 0>}) kernel
      attributes {known_block_size = array<i32: 256, 1, 1>, tl.shared = 1024 : i64,
                  tl.cluster = array<i64: 2, 1, 1>} {
    %s = tl.shared_base : !llvm.ptr<3>
    llvm.store %n, %s : i64, !llvm.ptr<3>
    gpu.return
  }
}

// -----

// Pointers may alias, and say how they are aligned.

// CHECK-LABEL: llvm.func @aliases
// CHECK-SAME: (%arg0: !llvm.ptr<1> {llvm.align = 16 : i64}, %arg1: !llvm.ptr<1> {llvm.align = 4 : i64})
gpu.module @pointers {
  gpu.func @aliases(%p: !llvm.ptr<1>, %q: !llvm.ptr<1> {tl.align = 4 : i64}) kernel {
    gpu.return
  }
}

// -----

// The flush of denormals that fast math allows is the function's.

// CHECK-LABEL: llvm.func @fast
// CHECK-SAME: denormal_fp_math_f32 = "preserve-sign,preserve-sign"
// CHECK: llvm.fdiv %{{.*}}, %{{.*}} {fastmathFlags = #llvm.fastmath<arcp, contract, afn>} : f32
gpu.module @fast_math attributes {tl.fast_math} {
  gpu.func @fast(%x: f32, %p: !llvm.ptr<1>) kernel {
    %y = arith.divf %x, %x : f32
    llvm.store %y, %p : f32, !llvm.ptr<1>
    gpu.return
  }
}
