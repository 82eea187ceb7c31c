// A formula of many elements has its instructions in a scope in place of each call. Halves
// are passed in 16 bits, doubles in 64.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,tl-emit-ptx))' | FileCheck %s
// RUN: %if ptxas %{ tl-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,tl-emit-ptx,tl-assemble{assembler=ptxas}))' | FileCheck %s --check-prefix=CUBIN %}

// CUBIN: tl.compiled_kernel @k

// CHECK-NOT: .func
// CHECK:     .reg .b16 \09%f_rs<
// CHECK:     mov.b16 %f_rs{{[0-9]+}}, %rs
// CHECK:     mov.b16 %rs{{[0-9]+}}, %f_rs
// CHECK:     .reg .b64 \09%f_rd<
// CHECK:     mov.b64 %f_rd{{[0-9]+}}, %rd
// CHECK:     @%f_p{{[0-9]+}} bra \09$L__BB
// CHECK:     mov.b64 %rd{{[0-9]+}}, %f_rd
// CHECK-NOT: .func

gpu.module @k attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %b: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %x = llvm.load %a {alignment = 16 : i64} : !llvm.ptr<1> -> vector<256xf16>
    %t = math.tanh %x : vector<256xf16>
    llvm.store %t, %a {alignment = 16 : i64} : vector<256xf16>, !llvm.ptr<1>
    %y = llvm.load %b {alignment = 16 : i64} : !llvm.ptr<1> -> vector<256xf64>
    %z = llvm.load %b {alignment = 16 : i64} : !llvm.ptr<1> -> vector<256xf64>
    %q = arith.divf %y, %z : vector<256xf64>
    llvm.store %q, %b {alignment = 16 : i64} : vector<256xf64>, !llvm.ptr<1>
    gpu.return
  }
}
