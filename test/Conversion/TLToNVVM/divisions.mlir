// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm))' | FileCheck %s

gpu.module @m {
  // A quotient is an approximation, corrected twice by its remainder. Where one
  // of the elements is out of the range in which that is right, all are computed
  // in f64.
  // CHECK-LABEL: llvm.func @quotients
  // CHECK-COUNT-2: "llvm.nvvm.rcp.approx.ftz.f"
  // CHECK:         llvm.cond_br %{{.+}}, ^{{bb[0-9]+}}, ^[[WIDE:bb[0-9]+]]
  // CHECK:       ^[[WIDE]]
  // CHECK-COUNT-2: "llvm.nvvm.rcp.approx.ftz.d"
  // CHECK:         llvm.fptrunc
  // CHECK-NOT:     llvm.fdiv
  gpu.func @quotients(%x: vector<2xf32>, %y: vector<2xf32>, %p: !llvm.ptr<1>) {
    %q = arith.divf %x, %y : vector<2xf32>
    llvm.store %q, %p : vector<2xf32>, !llvm.ptr<1>
    gpu.return
  }

  // Narrower floats are divided in f32.
  // CHECK-LABEL: llvm.func @narrow
  // CHECK:         llvm.fpext
  // CHECK-NOT:     llvm.fdiv
  gpu.func @narrow(%x: f16, %y: f16, %p: !llvm.ptr<1>) {
    %q = arith.divf %x, %y : f16
    llvm.store %q, %p : f16, !llvm.ptr<1>
    gpu.return
  }

  // An approximate quotient is the assembler's.
  // CHECK-LABEL: llvm.func @approximate
  // CHECK:         llvm.fdiv %arg0, %arg1 {fastmathFlags = #llvm.fastmath<afn>}
  gpu.func @approximate(%x: f32, %y: f32, %p: !llvm.ptr<1>) {
    %q = arith.divf %x, %y fastmath<afn> : f32
    llvm.store %q, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // `cvt.rzi` saturates; LLVM's conversions are undefined out of range.
  // CHECK-LABEL: llvm.func @conversions
  // CHECK:         "llvm.nvvm.f2i.rz"(%arg0) : (f32) -> i32
  // CHECK:         "llvm.nvvm.f2ui.rz"(%arg0) : (f32) -> i32
  // CHECK:         "llvm.nvvm.d2ll.rz"(%arg1) : (f64) -> i64
  gpu.func @conversions(%x: f32, %y: f64, %p: !llvm.ptr<1>) {
    %a = arith.fptosi %x : f32 to i32
    llvm.store %a, %p : i32, !llvm.ptr<1>
    %b = arith.fptoui %x : f32 to i32
    llvm.store %b, %p : i32, !llvm.ptr<1>
    %c = arith.fptosi %y : f64 to i64
    llvm.store %c, %p : i64, !llvm.ptr<1>
    gpu.return
  }
}
