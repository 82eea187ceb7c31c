// The compiler learns nothing of the lesser or greater of two integers that are computed, whether by `min` or by a
// choice: NVVM 7, which NVRTC and nvcc 13.0 have for chips before sm_100, rewrites an extreme of extremes without
// end. Without `tl::opaque` the first two kernels are two that it does not come to the end of.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-emit-cuda))' | %unit_text | FileCheck %s
// RUN: %if nvrtc %{ timeout 60 tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-emit-cuda,tl-compile-cuda{compiler=nvrtc}))' | FileCheck %s --check-prefix=PTX %}

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: calls(
  // CHECK: tl::opaque(tl::min<int>({{.*}}, tl::opaque(tl::max<int>({{.*}}))));
  // PTX-LABEL: .entry calls(
  // PTX: max.s32
  // PTX: min.s32
  gpu.func @calls(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %a = llvm.load volatile %p {alignment = 4 : i64} : !llvm.ptr<1> -> i32
    %b = llvm.load volatile %p {alignment = 4 : i64} : !llvm.ptr<1> -> i32
    %c = llvm.load volatile %p {alignment = 4 : i64} : !llvm.ptr<1> -> i32
    %ones = arith.constant -1 : i32
    %1 = arith.constant 1 : i32
    %2 = arith.constant 2 : i32
    %x = arith.xori %a, %ones : i32
    %y = arith.addi %b, %1 : i32
    %z = arith.subi %2, %c : i32
    %greater = arith.maxsi %y, %z : i32
    %extreme = arith.minsi %x, %greater : i32
    llvm.store %extreme, %p {alignment = 4 : i64} : i32, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: choices(
  // CHECK: = tl::opaque({{.*}} > {{.*}} ? {{.*}} : {{.*}});
  // CHECK: = tl::opaque({{.*}} > {{.*}} ? {{.*}} : {{.*}});
  // PTX-LABEL: .entry choices(
  // PTX: max.u32
  // PTX: min.u32
  gpu.func @choices(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %a = llvm.load volatile %p {alignment = 4 : i64} : !llvm.ptr<1> -> i32
    %b = llvm.load volatile %p {alignment = 4 : i64} : !llvm.ptr<1> -> i32
    %c = llvm.load volatile %p {alignment = 4 : i64} : !llvm.ptr<1> -> i32
    %ones = arith.constant -1 : i32
    %1 = arith.constant 1 : i32
    %2 = arith.constant 2 : i32
    %x = arith.xori %a, %ones : i32
    %y = arith.addi %b, %1 : i32
    %z = arith.subi %2, %c : i32
    %isGreater = arith.cmpi ugt, %y, %z : i32
    %greater = arith.select %isGreater, %y, %z : i32
    // The other way about.
    %isLess = arith.cmpi ugt, %x, %greater : i32
    %extreme = arith.select %isLess, %greater, %x : i32
    llvm.store %extreme, %p {alignment = 4 : i64} : i32, !llvm.ptr<1>
    gpu.return
  }

  // Bounds are open to it, and so are choices between other numbers.
  // CHECK-LABEL: bounds(
  // CHECK-NOT: opaque
  // CHECK: tl::min<int>({{.*}}, 7));
  // CHECK: < 7 ? {{.*}} : 7);
  // CHECK: ? 1 : {{.*}});
  gpu.func @bounds(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %x = llvm.load volatile %p {alignment = 4 : i64} : !llvm.ptr<1> -> i32
    %y = llvm.load volatile %p {alignment = 4 : i64} : !llvm.ptr<1> -> i32
    %1 = arith.constant 1 : i32
    %7 = arith.constant 7 : i32
    %bounded = arith.minsi %x, %7 : i32
    llvm.store volatile %bounded, %p {alignment = 4 : i64} : i32, !llvm.ptr<1>
    %isSmall = arith.cmpi slt, %x, %7 : i32
    %small = arith.select %isSmall, %x, %7 : i32
    llvm.store volatile %small, %p {alignment = 4 : i64} : i32, !llvm.ptr<1>
    %isLess = arith.cmpi slt, %x, %y : i32
    %either = arith.select %isLess, %1, %y : i32
    llvm.store volatile %either, %p {alignment = 4 : i64} : i32, !llvm.ptr<1>
    gpu.return
  }
}
