// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm))' | FileCheck %s

gpu.module @m {
  // A quotient is an approximation, corrected once by its remainder, of an
  // inverse whose error is rounded up. Where one of the elements is out of the
  // range in which that is right, those that are so are computed in f64, each
  // behind a branch of its own.
  // CHECK-LABEL: llvm.func @quotients
  // CHECK-COUNT-2: "llvm.nvvm.rcp.approx.ftz.f"
  // CHECK:         llvm.intr.fma
  // CHECK-COUNT-2: "llvm.nvvm.fma.rp.f"
  // CHECK-COUNT-3: llvm.intr.fma
  // CHECK-COUNT-2: llvm.fcmp "oge"
  // CHECK-NOT:     llvm.fcmp
  // CHECK:         llvm.cond_br %{{.+}}, ^{{bb[0-9]+}}, ^[[WIDE:bb[0-9]+]]
  // CHECK:       ^[[WIDE]]
  // CHECK:         llvm.cond_br
  // CHECK:         "llvm.nvvm.rcp.approx.ftz.d"(%{{.+}}) : (f64) -> f64
  // CHECK:         llvm.cond_br
  // CHECK:         "llvm.nvvm.rcp.approx.ftz.d"(%{{.+}}) : (f64) -> f64
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

  // In f64 the exceptions are computed of scaled numbers.
  // CHECK-LABEL: llvm.func @double
  // CHECK:         "llvm.nvvm.rcp.approx.ftz.d"
  // CHECK:         "llvm.nvvm.rsqrt.approx.ftz.d"
  // CHECK-NOT:     llvm.fdiv
  // CHECK-NOT:     llvm.intr.sqrt
  // CHECK:         llvm.return
  gpu.func @double(%x: f64, %y: f64, %p: !llvm.ptr<1>) {
    %q = arith.divf %x, %y : f64
    %s = math.sqrt %q : f64
    llvm.store %s, %p : f64, !llvm.ptr<1>
    gpu.return
  }

  // Integers of 64 bits that fit are divided in 32 bits; LLVM divides by
  // constants.
  // CHECK-LABEL: llvm.func @integers
  // CHECK:         llvm.udiv %{{.+}}, %{{.+}} : i32
  // CHECK:         "llvm.nvvm.rcp.approx.ftz.d"
  // CHECK:         llvm.urem %{{.+}}, %{{.+}} : i64
  gpu.func @integers(%x: i64, %y: i64, %p: !llvm.ptr<1>) {
    %q = arith.divsi %x, %y : i64
    %ten = arith.constant 10 : i64
    %r = arith.remui %q, %ten : i64
    llvm.store %r, %p : i64, !llvm.ptr<1>
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
