// RUN: tl-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm))' | FileCheck %s
// RUN: %if ptxas %{ tl-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,tl-emit-ptx,tl-assemble{assembler=ptxas}))' | FileCheck %s --check-prefix=CUBIN %}

// Each is inline assembly: LLVM's own forms have no orders. `ptxas` takes all of
// them.

// CUBIN-COUNT-4: kernel.cubin
gpu.module @unused attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Nobody asks what was there.
  // CHECK-LABEL: llvm.func @unused(
  // CHECK: llvm.inline_asm has_side_effects asm_dialect = att "red.relaxed.gpu.global.add.f32 [$0], $1;", "l,f,~{memory}" %{{.+}}, %{{.+}} : (!llvm.ptr<1>, f32) -> ()
  // CHECK: "red.release.cta.shared.max.s32 [$0], $1;", "l,r,~{memory}"
  // CHECK: "red.relaxed.sys.global.add.noftz.f16 [$0], $1;", "l,h,~{memory}"
  // CHECK: "atom.acquire.gpu.global.add.f64 _, [$0], $1;", "l,d,~{memory}"
  // CHECK: "st.release.gpu.global.b64 [$0], $1;", "l,l,~{memory}"
  // CHECK: "atom.acquire.gpu.global.exch.b64 _, [$0], $1;", "l,l,~{memory}"
  // CHECK: "fence.sc.gpu; atom.acq_rel.gpu.global.exch.b64 _, [$0], $1;", "l,l,~{memory}"
  // CHECK: "{ .reg .b16 unused; atom.acquire.gpu.global.add.noftz.bf16 unused, [$0], $1; }", "l,h,~{memory}"
  gpu.func @unused(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %x: f32 {tl.param = #tl.param<scalar, 1, type = f32>}, %n: i32 {tl.param = #tl.param<scalar, 2, type = i32>}, %h: f16 {tl.param = #tl.param<scalar, 3, type = f16>}, %d: f64 {tl.param = #tl.param<scalar, 4, type = f64>}, %l: i64 {tl.param = #tl.param<scalar, 5, type = i64>}) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 1024 : i64} {
    %s = tl.shared_base : !llvm.ptr<3>
    %0 = tl.atom add %p, %x : !llvm.ptr<1>, f32
    %1 = tl.atom max %s, %n order(release) scope(block) : !llvm.ptr<3>, i32
    %2 = tl.atom add %p, %h scope(system) : !llvm.ptr<1>, f16
    %3 = tl.atom add %p, %d order(acquire) : !llvm.ptr<1>, f64
    %4 = tl.atom exchange %p, %l order(release) : !llvm.ptr<1>, i64
    %5 = tl.atom exchange %p, %l order(acquire) : !llvm.ptr<1>, i64
    %6 = tl.atom exchange %p, %l order(seq_cst) : !llvm.ptr<1>, i64
    %one = arith.constant 1.0 : bf16
    %7 = tl.atom add %p, %one order(acquire) : !llvm.ptr<1>, bf16
    gpu.return
  }
}

// -----

gpu.module @asked attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Somebody does.
  // CHECK-LABEL: llvm.func @asked(
  // CHECK: %[[OLD:.+]] = llvm.inline_asm has_side_effects asm_dialect = att "atom.relaxed.gpu.global.add.noftz.bf16 $0, [$1], $2;", "=h,l,h,~{memory}"
  // CHECK: llvm.bitcast %[[OLD]] : i16 to bf16
  // CHECK: "atom.acq_rel.gpu.global.cas.b32 $0, [$1], $3, $2;", "=r,l,r,r,~{memory}"
  // CHECK: "ld.acquire.sys.global.b32 $0, [$1];", "=f,l,~{memory}"
  // CHECK: "fence.sc.gpu; ld.acquire.gpu.global.b32 $0, [$1];", "=r,l,~{memory}"
  // CHECK: "atom.relaxed.gpu.global.max.u64 $0, [$1], $2;", "=l,l,l,~{memory}"
  // CHECK: "atom.relaxed.gpu.global.cas.b16 $0, [$1], $3, $2;", "=h,l,h,h,~{memory}"
  // CHECK: "ld.relaxed.gpu.b32 $0, [$1];", "=r,l,~{memory}"
  gpu.func @asked(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %b: bf16 {tl.param = #tl.param<scalar, 1, type = bf16>}, %n: i32 {tl.param = #tl.param<scalar, 2, type = i32>}, %l: i64 {tl.param = #tl.param<scalar, 3, type = i64>}, %h: i16 {tl.param = #tl.param<scalar, 4, type = i16>}, %q: !llvm.ptr {tl.param = #tl.param<base, 5>}) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %0 = tl.atom add %p, %b : !llvm.ptr<1>, bf16
    llvm.store %0, %p : bf16, !llvm.ptr<1>
    %1 = tl.atom compare_exchange %p, %n expected(%n) order(acq_rel) : !llvm.ptr<1>, i32
    llvm.store %1, %p : i32, !llvm.ptr<1>
    %2 = tl.atom load %p order(acquire) scope(system) : !llvm.ptr<1>, f32
    llvm.store %2, %p : f32, !llvm.ptr<1>
    %3 = tl.atom load %p order(seq_cst) : !llvm.ptr<1>, i32
    llvm.store %3, %p : i32, !llvm.ptr<1>
    %4 = tl.atom umax %p, %l : !llvm.ptr<1>, i64
    llvm.store %4, %p : i64, !llvm.ptr<1>
    %5 = tl.atom compare_exchange %p, %h expected(%h) : !llvm.ptr<1>, i16
    llvm.store %5, %p : i16, !llvm.ptr<1>
    %6 = tl.atom load %q : !llvm.ptr, i32
    gpu.return
  }
}

// -----

gpu.module @integers attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: llvm.func @integers(
  // CHECK: "red.relaxed.gpu.global.add.u32 [$0], $1;"
  // CHECK: "red.relaxed.gpu.global.min.s32 [$0], $1;"
  // CHECK: "red.relaxed.gpu.global.min.u32 [$0], $1;"
  // CHECK: "red.relaxed.gpu.global.and.b32 [$0], $1;"
  // CHECK: "red.relaxed.gpu.global.or.b32 [$0], $1;"
  // CHECK: "red.relaxed.gpu.global.xor.b32 [$0], $1;"
  gpu.func @integers(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %n: i32 {tl.param = #tl.param<scalar, 1, type = i32>}) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %0 = tl.atom add %p, %n : !llvm.ptr<1>, i32
    %1 = tl.atom min %p, %n : !llvm.ptr<1>, i32
    %2 = tl.atom umin %p, %n : !llvm.ptr<1>, i32
    %3 = tl.atom and %p, %n : !llvm.ptr<1>, i32
    %4 = tl.atom or %p, %n : !llvm.ptr<1>, i32
    %5 = tl.atom xor %p, %n : !llvm.ptr<1>, i32
    gpu.return
  }
}

// -----

gpu.module @bytes attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // A byte is changed in the word that it lies in, by what leaves the others.
  // CHECK-LABEL: llvm.func @bytes(
  // CHECK: %[[WIDE:.+]] = llvm.zext %{{.+}} : i8 to i32
  // CHECK: "{ .reg .b64 word; .reg .b32 at, bits, others, old; and.b64 word, $0, -4; cvt.u32.u64 at, $0; and.b32 at, at, 3; shl.b32 at, at, 3; shl.b32 bits, $1, at; shl.b32 others, 255, at; not.b32 others, others; or.b32 bits, bits, others; red.relaxed.gpu.global.and.b32 [word], bits; }", "l,r,~{memory}" %{{.+}}, %[[WIDE]] : (!llvm.ptr<1>, i32) -> ()
  // CHECK: shl.b32 bits, $1, at; red.relaxed.cta.shared.or.b32 [word], bits; }", "l,r,~{memory}"
  // CHECK: shl.b32 bits, $1, at; fence.sc.gpu; atom.acq_rel.gpu.global.or.b32 old, [word], bits; }", "l,r,~{memory}"
  // CHECK: %[[OLD:.+]] = llvm.inline_asm {{.*}} shl.b32 bits, $2, at; atom.relaxed.gpu.global.or.b32 old, [word], bits; shr.u32 $0, old, at; and.b32 $0, $0, 255; }", "=r,l,r,~{memory}"
  // CHECK: llvm.trunc %[[OLD]] : i32 to i8
  gpu.func @bytes(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %x: i8 {tl.param = #tl.param<scalar, 1, type = i8>}) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 1024 : i64} {
    %s = tl.shared_base : !llvm.ptr<3>
    %0 = tl.atom and %p, %x : !llvm.ptr<1>, i8
    %1 = tl.atom or %s, %x scope(block) : !llvm.ptr<3>, i8
    %2 = tl.atom or %p, %x order(seq_cst) : !llvm.ptr<1>, i8
    %3 = tl.atom or %p, %x : !llvm.ptr<1>, i8
    llvm.store %3, %p : i8, !llvm.ptr<1>
    gpu.return
  }
}

// -----

gpu.module @neighbours attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Two numbers of 16 bits are in a register.
  // CHECK-LABEL: @neighbours
  // CHECK: "red.relaxed.gpu.global.add.v2.f32 [$0], {$1, $2};", "l,f,f,~{memory}"
  // CHECK: "red.relaxed.gpu.global.add.v4.f32 [$0], {$1, $2, $3, $4};", "l,f,f,f,f,~{memory}"
  // CHECK: "red.relaxed.gpu.global.add.noftz.f16x2 [$0], $1;", "l,r,~{memory}"
  // CHECK: "red.relaxed.gpu.global.add.noftz.v2.bf16x2 [$0], {$1, $2};", "l,r,r,~{memory}"
  // CHECK: "red.relaxed.sys.global.add.noftz.v4.bf16x2 [$0], {$1, $2, $3, $4};", "l,r,r,r,r,~{memory}"
  gpu.func @neighbours(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %f2 = arith.constant dense<1.0> : vector<2xf32>
    %f4 = arith.constant dense<1.0> : vector<4xf32>
    %h2 = arith.constant dense<1.0> : vector<2xf16>
    %b4 = arith.constant dense<1.0> : vector<4xbf16>
    %b8 = arith.constant dense<1.0> : vector<8xbf16>
    %0 = tl.atom add %p, %f2 : !llvm.ptr<1>, vector<2xf32>
    %1 = tl.atom add %p, %f4 : !llvm.ptr<1>, vector<4xf32>
    %2 = tl.atom add %p, %h2 : !llvm.ptr<1>, vector<2xf16>
    %3 = tl.atom add %p, %b4 : !llvm.ptr<1>, vector<4xbf16>
    %4 = tl.atom add %p, %b8 scope(system) : !llvm.ptr<1>, vector<8xbf16>
    gpu.return
  }
}
