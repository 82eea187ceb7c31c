// A fragment of very many elements is taken apart into pieces, which changes nothing but
// the time: elements stay where they are through insertions, shuffles, arithmetic and loops,
// and what is packed stays packed.

// RUN: tl-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,tl-emit-ptx))' | FileCheck %s

// CHECK-LABEL: tl.compiled_kernel @carried
// CHECK-SAME: ld.global.v4.b32 {{.*}}[[A:%r[0-9]+]], %r{{[0-9]+}}, %r{{[0-9]+}}, [[D:%r[0-9]+]]},
// CHECK-SAME: st.global.v2.b32 {{.*}}[[D]], [[A]]};
gpu.module @carried attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @carried(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %b: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %zero = arith.constant dense<0> : vector<300xi32>
    %x = llvm.load %a {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %y = vector.insert_strided_slice %x, %zero {offsets = [290], strides = [1]} : vector<4xi32> into vector<300xi32>
    %first = vector.extract %y[290] : i32 from vector<300xi32>
    %z = vector.insert %first, %y[7] : i32 into vector<300xi32>
    %last = vector.extract_strided_slice %z {offsets = [293], sizes = [1], strides = [1]} : vector<300xi32> to vector<1xi32>
    %seventh = vector.extract_strided_slice %z {offsets = [7], sizes = [1], strides = [1]} : vector<300xi32> to vector<1xi32>
    %r = vector.shuffle %last, %seventh [0, 1] : vector<1xi32>, vector<1xi32>
    llvm.store %r, %b {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// CHECK-LABEL: tl.compiled_kernel @packed
// CHECK-SAME: cvt.rn.f16x2.f32
// CHECK-NOT: cvt.rn.f16.f32
gpu.module @packed attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @packed(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %b: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %zero = arith.constant dense<0.0> : vector<320xf32>
    %x = llvm.load %a {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    %y = vector.insert_strided_slice %x, %zero {offsets = [256], strides = [1]} : vector<4xf32> into vector<320xf32>
    %half = arith.truncf %y : vector<320xf32> to vector<320xf16>
    %r = vector.extract_strided_slice %half {offsets = [256], sizes = [4], strides = [1]} : vector<320xf16> to vector<4xf16>
    llvm.store %r, %b {alignment = 8 : i64} : vector<4xf16>, !llvm.ptr<1>
    gpu.return
  }
}
