// Masked accesses whose lanes are on or off together become predicated instructions: one
// for each, also for vectors, with the constants of their addresses inside.

// RUN: tl-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tl-emit-ptx))' | FileCheck %s

// CHECK-LABEL: tl.compiled_kernel @vectors
// CHECK-NOT: bra
// CHECK-SAME: setp.gt.u32{{[^%]+}}[[P:%p[0-9]+]],
// CHECK-SAME: mov.b32 [[A:%r[0-9]+]], 0;{{.*}}mov.b32 [[D:%r[0-9]+]], 0;
// CHECK-SAME: @[[P]] ld.global.v4.b32 {[[A]], %r{{[0-9]+}}, %r{{[0-9]+}}, [[D]]}, [%rd{{[0-9]+}}+32];
// CHECK-SAME: add.f16x2
// CHECK-SAME: @[[P]] st.global.v4.b32 [%rd{{[0-9]+}}+-16], {
// CHECK-NOT: bra
gpu.module @vectors attributes {tl.target = #tl.target<chip = "sm_90a">} {
  llvm.func @vectors(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %b: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}, %n: i32 {tl.param = #tl.param<dim, 0>})
      attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %c5 = llvm.mlir.constant(5 : i32) : i32
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %zero = llvm.mlir.constant(dense<0.0> : vector<8xf16>) : vector<8xf16>
    %none = llvm.mlir.poison : vector<8xi1>
    %p = llvm.icmp "ult" %c5, %n : i32
    %q = llvm.insertelement %p, %none[%c0 : i32] : vector<8xi1>
    %mask = llvm.shufflevector %q, %none [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xi1>
    %from = llvm.getelementptr %a[16] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f16
    %to = llvm.getelementptr %b[-8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f16
    %x = llvm.intr.masked.load %from, %mask, %zero {alignment = 16 : i32} : (!llvm.ptr<1>, vector<8xi1>, vector<8xf16>) -> vector<8xf16>
    %y = llvm.fadd %x, %x : vector<8xf16>
    llvm.intr.masked.store %y, %to, %mask {alignment = 16 : i32} : vector<8xf16>, vector<8xi1> into !llvm.ptr<1>
    llvm.return
  }
}

// -----

// Bytes are in registers of 16 bits; shared memory and memory of any kind have their forms.
// CHECK-LABEL: tl.compiled_kernel @scalars
// CHECK-NOT: bra
// CHECK-SAME: mov.b16 [[B:%rs[0-9]+]], 0;
// CHECK-SAME: @%p{{[0-9]+}} ld.global.b8 [[B]], [%rd{{[0-9]+}}];
// CHECK-SAME: @%p{{[0-9]+}} st.shared.b8
// CHECK-SAME: mov.b64 [[L:%rd[0-9]+]], 0;
// CHECK-SAME: @%p{{[0-9]+}} ld.shared.b64 [[L]],
// CHECK-SAME: @%p{{[0-9]+}} st.global.b64 [%rd{{[0-9]+}}+8], [[L]];
// CHECK-NOT: bra
gpu.module @scalars attributes {tl.target = #tl.target<chip = "sm_90a">} {
  llvm.func @scalars(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %s: !llvm.ptr<3> {tl.param = #tl.param<base, 1>}, %n: i32 {tl.param = #tl.param<dim, 0>})
      attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %c5 = llvm.mlir.constant(5 : i32) : i32
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %zero = llvm.mlir.constant(dense<0> : vector<1xi8>) : vector<1xi8>
    %wide = llvm.mlir.constant(dense<0> : vector<1xi64>) : vector<1xi64>
    %none = llvm.mlir.poison : vector<1xi1>
    %p = llvm.icmp "ult" %c5, %n : i32
    %mask = llvm.insertelement %p, %none[%c0 : i32] : vector<1xi1>
    %x = llvm.intr.masked.load %a, %mask, %zero {alignment = 1 : i32} : (!llvm.ptr<1>, vector<1xi1>, vector<1xi8>) -> vector<1xi8>
    llvm.intr.masked.store %x, %s, %mask {alignment = 1 : i32} : vector<1xi8>, vector<1xi1> into !llvm.ptr<3>
    %y = llvm.intr.masked.load %s, %mask, %wide {alignment = 8 : i32} : (!llvm.ptr<3>, vector<1xi1>, vector<1xi64>) -> vector<1xi64>
    %to = llvm.getelementptr %a[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i64
    llvm.intr.masked.store %y, %to, %mask {alignment = 8 : i32} : vector<1xi64>, vector<1xi1> into !llvm.ptr<1>
    llvm.return
  }
}

// -----

// Lanes with guards of their own are left to the backend, which branches.
// CHECK-LABEL: tl.compiled_kernel @lanes
// CHECK-SAME: bra
// CHECK-NOT: @%p{{[0-9]+}} st.
gpu.module @lanes attributes {tl.target = #tl.target<chip = "sm_90a">} {
  llvm.func @lanes(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %x: i32 {tl.param = #tl.param<dim, 0>}, %n: i32 {tl.param = #tl.param<dim, 1>})
      attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %c5 = llvm.mlir.constant(5 : i32) : i32
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %none = llvm.mlir.poison : vector<2xi1>
    %nothing = llvm.mlir.poison : vector<2xi32>
    %p = llvm.icmp "ult" %c5, %n : i32
    %q = llvm.icmp "ult" %c1, %x : i32
    %m0 = llvm.insertelement %p, %none[%c0 : i32] : vector<2xi1>
    %mask = llvm.insertelement %q, %m0[%c1 : i32] : vector<2xi1>
    %v0 = llvm.insertelement %x, %nothing[%c0 : i32] : vector<2xi32>
    %v = llvm.insertelement %n, %v0[%c1 : i32] : vector<2xi32>
    llvm.intr.masked.store %v, %a, %mask {alignment = 8 : i32} : vector<2xi32>, vector<2xi1> into !llvm.ptr<1>
    llvm.return
  }
}

// -----

// The backend knows what to do with memory of another block of the cluster, and with
// elements that do not lie at a multiple of all of them.
// CHECK-LABEL: tl.compiled_kernel @spaces
// CHECK-NOT: @%p{{[0-9]+}} st.
// CHECK-SAME: st.shared::cluster
// CHECK-NOT: @%p{{[0-9]+}} st.
// CHECK-SAME: st.shared.b32
// CHECK-NOT: @%p{{[0-9]+}} st.
gpu.module @spaces attributes {tl.target = #tl.target<chip = "sm_90a">} {
  llvm.func @spaces(%s: !llvm.ptr<3> {tl.param = #tl.param<base, 0>}, %x: i32 {tl.param = #tl.param<dim, 0>}, %n: i32 {tl.param = #tl.param<dim, 1>})
      attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %c5 = llvm.mlir.constant(5 : i32) : i32
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %none = llvm.mlir.poison : vector<2xi1>
    %nothing = llvm.mlir.poison : vector<2xi32>
    %p = llvm.icmp "ult" %c5, %n : i32
    %q = llvm.insertelement %p, %none[%c0 : i32] : vector<2xi1>
    %mask = llvm.shufflevector %q, %none [0, 0] : vector<2xi1>
    %v0 = llvm.insertelement %x, %nothing[%c0 : i32] : vector<2xi32>
    %v = llvm.shufflevector %v0, %nothing [0, 0] : vector<2xi32>
    %there = nvvm.mapa %s, %x : !llvm.ptr<3> -> !llvm.ptr<7>
    llvm.intr.masked.store %v, %there, %mask {alignment = 8 : i32} : vector<2xi32>, vector<2xi1> into !llvm.ptr<7>
    llvm.intr.masked.store %v, %s, %mask {alignment = 4 : i32} : vector<2xi32>, vector<2xi1> into !llvm.ptr<3>
    llvm.return
  }
}
