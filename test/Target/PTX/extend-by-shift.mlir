// Where denormal numbers may be flushed, a bfloat16 is extended by a shift, as it is elsewhere by `ptxas`: the
// instruction that flushes is slow.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,tl-emit-ptx))' | FileCheck %s

// CHECK-NOT: cvt.ftz
// CHECK:     shl.b32
// CHECK-NOT: cvt.ftz

gpu.module @k attributes {tl.target = #tl.target<chip = "sm_90">, tl.fast_math} {
  gpu.func @k(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %b: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %x = llvm.load %a {alignment = 8 : i64} : !llvm.ptr<1> -> vector<4xbf16>
    %y = arith.extf %x : vector<4xbf16> to vector<4xf32>
    llvm.store %y, %b {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }
}
