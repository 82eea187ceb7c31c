// RUN: tl-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm))' | FileCheck %s

gpu.module @precise {
  // exp is range reduced in two steps, and scaled by a power of two.
  // CHECK-LABEL: llvm.func @exp
  // CHECK-DAG: %[[LOG2E:.+]] = llvm.mlir.constant(1.442695{{.*}} : f32)
  // CHECK-DAG: %[[REST:.+]] = llvm.mlir.constant(1.92596{{.*}}E-8 : f32)
  // CHECK-DAG: %[[BIAS:.+]] = llvm.mlir.constant(0x4B40007F : f32)
  // CHECK: %[[T:.+]] = llvm.intr.fma(%arg0, %[[LOG2E]], %[[BIAS]])
  // CHECK: %[[LOW:.+]] = llvm.intr.maxnum(%[[T]]
  // CHECK: %[[N:.+]] = llvm.intr.minnum(%[[LOW]]
  // CHECK: %[[NEG:.+]] = llvm.fsub %[[BIAS]], %[[N]]
  // CHECK: %[[F:.+]] = llvm.intr.fma(%arg0, %[[LOG2E]], %[[NEG]])
  // CHECK: %[[G:.+]] = llvm.intr.fma(%arg0, %[[REST]], %[[F]])
  // CHECK: %[[P:.+]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[G]])
  // CHECK: llvm.fmul %[[P]]
  gpu.func @exp(%x: f32, %p: !llvm.ptr<1>) {
    %y = math.exp %x : f32
    llvm.store %y, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // Where the error of exp is doubled by what follows, a polynomial, scaled by
  // two powers of two; and a quotient of moderate numbers has no other branch.
  // CHECK-LABEL: llvm.func @of_sigmoid
  // CHECK-NOT: ex2.approx
  // CHECK-COUNT-8: llvm.intr.fma
  // CHECK: llvm.ashr
  // CHECK-COUNT-2: llvm.fmul %{{.+}}, %{{.+}} : f32
  // CHECK: %[[INVERSE:.+]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%[[D:[0-9]+]])
  // CHECK: %[[Q:.+]] = llvm.fmul %[[E:[0-9]+]], %[[INVERSE]]
  // CHECK: %[[MINUS:.+]] = llvm.fneg %[[D]]
  // CHECK: %[[REMAINDER:.+]] = llvm.intr.fma(%[[MINUS]], %[[Q]], %[[E]])
  // CHECK: llvm.intr.fma(%[[INVERSE]], %[[REMAINDER]], %[[Q]])
  // CHECK-NOT: llvm.cond_br
  // CHECK: llvm.return
  gpu.func @of_sigmoid(%x: f32, %p: !llvm.ptr<1>) {
    %e = math.exp %x {tl.sigmoid} : f32
    %one = arith.constant 1.0 : f32
    %d = arith.addf %e, %one : f32
    %q = arith.divf %e, %d {tl.sigmoid} : f32
    llvm.store %q, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // Denormal results of exp2 are kept, unless the op is approximate.
  // CHECK-LABEL: llvm.func @exp2
  // CHECK: "llvm.nvvm.ex2.approx.f32"(%arg0)
  // CHECK: "llvm.nvvm.ex2.approx.ftz.f32"(%arg0)
  gpu.func @exp2(%x: f32, %p: !llvm.ptr<1>) {
    %y = math.exp2 %x : f32
    llvm.store %y, %p : f32, !llvm.ptr<1>
    %z = math.exp2 %x fastmath<afn> : f32
    llvm.store %z, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @roots
  // CHECK: "llvm.nvvm.rsqrt.approx.f"(%arg0)
  // CHECK: "llvm.nvvm.rsqrt.approx.ftz.f"
  // CHECK-NOT: llvm.intr.sqrt
  gpu.func @roots(%x: f32, %p: !llvm.ptr<1>) {
    %y = math.rsqrt %x : f32
    llvm.store %y, %p : f32, !llvm.ptr<1>
    %z = math.sqrt %x : f32
    llvm.store %z, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // f16 and bf16 are computed in f32.
  // CHECK-LABEL: llvm.func @half
  // CHECK: %[[X:.+]] = llvm.fpext %arg0 : bf16 to f32
  // CHECK: "llvm.nvvm.ex2.approx.f32"(%[[X]])
  // CHECK: llvm.fptrunc
  gpu.func @half(%x: bf16, %p: !llvm.ptr<1>) {
    %y = math.exp2 %x : bf16
    llvm.store %y, %p : bf16, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @vectors
  // CHECK-COUNT-2: "llvm.nvvm.ex2.approx.f32"
  gpu.func @vectors(%x: vector<2xf32>, %p: !llvm.ptr<1>) {
    %y = math.exp2 %x : vector<2xf32>
    llvm.store %y, %p : vector<2xf32>, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @integers
  // CHECK: llvm.intr.ctpop
  // CHECK: llvm.intr.abs
  gpu.func @integers(%x: i32, %p: !llvm.ptr<1>) {
    %y = math.ctpop %x : i32
    %z = math.absi %y : i32
    llvm.store %z, %p : i32, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// Fast math takes the hardware's functions, without reduction.
gpu.module @fast attributes {tl.fast_math} {
  // CHECK-LABEL: llvm.func @functions
  // CHECK-NOT: roundeven
  // CHECK: "llvm.nvvm.ex2.approx.ftz.f32"
  // CHECK: "llvm.nvvm.lg2.approx.ftz.f"
  // CHECK: llvm.fmul
  // CHECK: "llvm.nvvm.sin.approx.ftz.f"
  // CHECK: "llvm.nvvm.cos.approx.ftz.f"
  // CHECK: "llvm.nvvm.rsqrt.approx.ftz.f"
  gpu.func @functions(%x: f32, %p: !llvm.ptr<1>) {
    %a = math.exp %x : f32
    %b = math.log %a : f32
    %c = math.sin %b : f32
    %d = math.cos %c : f32
    %e = math.rsqrt %d : f32
    llvm.store %e, %p : f32, !llvm.ptr<1>
    gpu.return
  }
}

// -----

gpu.module @formulas {
  // sin of a small argument is the argument: nothing is added to it but multiples
  // of it. A large one is reduced in f64, by the bits of 2 / pi. Zeros are what
  // they were, also the negative one.
  // CHECK-LABEL: llvm.func @sin
  // CHECK-SAME: (%[[X:.+]]: f32, %
  // CHECK: llvm.fsub
  // CHECK-COUNT-3: llvm.intr.fma
  // CHECK: llvm.cond_br %{{.+}}, ^{{bb[0-9]+}}, ^[[LARGE:bb[0-9]+]]
  // CHECK: ^[[LARGE]]
  // CHECK: llvm.fpext
  // CHECK: llvm.fptrunc
  // CHECK: %[[IS_ZERO:.+]] = llvm.fcmp "oeq" %[[X]], %{{.+}} : f32
  // CHECK: llvm.select %[[IS_ZERO]], %[[X]], %{{.+}} : i1, f32
  // CHECK: llvm.select
  gpu.func @sin(%x: f32, %p: !llvm.ptr<1>) {
    %y = math.sin %x : f32
    llvm.store %y, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // The large ones of several elements are reduced one after the other.
  // CHECK-LABEL: llvm.func @sines
  // CHECK: llvm.and
  // CHECK: llvm.cond_br
  // CHECK: llvm.cond_br
  // CHECK: llvm.fpext %{{.+}} : f32 to f64
  // CHECK: llvm.insertelement
  // CHECK: llvm.cond_br
  // CHECK: llvm.fpext %{{.+}} : f32 to f64
  // CHECK: llvm.insertelement
  gpu.func @sines(%x: vector<2xf32>, %p: !llvm.ptr<1>) {
    %y = math.sin %x : vector<2xf32>
    llvm.store %y, %p : vector<2xf32>, !llvm.ptr<1>
    gpu.return
  }

  // Functions of f64 are formulas too.
  // CHECK-LABEL: llvm.func @double
  // CHECK: "llvm.nvvm.rcp.approx.ftz.d"
  gpu.func @double(%x: f64, %p: !llvm.ptr<1>) {
    %a = math.exp %x : f64
    %b = math.log2 %a : f64
    %c = math.sin %b : f64
    %d = math.powf %c, %x : f64
    llvm.store %d, %p : f64, !llvm.ptr<1>
    gpu.return
  }

  // A power needs no f64: its logarithm is in two parts.
  // CHECK-LABEL: llvm.func @power
  // CHECK-NOT: f64
  // CHECK: llvm.return
  gpu.func @power(%x: f32, %p: !llvm.ptr<1>) {
    %y = math.powf %x, %x : f32
    llvm.store %y, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // The product of log2, whose rounding error is made good, has zero added to
  // it: nothing fuses it with the sum that takes it.
  // CHECK-LABEL: llvm.func @log2
  // CHECK-DAG: %[[ZERO:.+]] = llvm.mlir.constant(0.000000e+00 : f32)
  // CHECK-DAG: %[[LOG2E:.+]] = llvm.mlir.constant(1.442695{{.*}} : f32)
  // CHECK: llvm.intr.fma(%{{.+}}, %[[LOG2E]], %[[ZERO]])
  gpu.func @log2(%x: f32, %p: !llvm.ptr<1>) {
    %y = math.log2 %x : f32
    llvm.store %y, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // log10 is log by log(10).
  // CHECK-LABEL: llvm.func @log10
  // CHECK: llvm.mlir.constant(0.434294{{.*}} : f32)
  gpu.func @log10(%x: f32, %p: !llvm.ptr<1>) {
    %y = math.log10 %x : f32
    llvm.store %y, %p : f32, !llvm.ptr<1>
    gpu.return
  }
}
