// RUN: tl-opt %s -split-input-file --pass-pipeline='builtin.module(gpu.module(tl-emit-cuda))' | %unit_text | FileCheck %s
// RUN: tl-opt %s -split-input-file --pass-pipeline='builtin.module(gpu.module(tl-emit-cuda))' | FileCheck %s --check-prefix=ENTRY

// The unit stands beside an entry for each kernel, which says what launches need.
// ENTRY: tl.cuda_unit "m.cu" "#include <tl/cuda.h>
// ENTRY: tl.cuda_entry @saxpy params([#tl.param<base, 0>, #tl.param<base, 1>, #tl.param<scalar, 2>]) block(128, 1, 1) shared(0)
// ENTRY-NOT: gpu.func

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Names come from locations, statements are in comments, and what is used once
  // is written where it is used. What may overflow is computed unsigned.
  // CHECK:      extern "C" __global__ void
  // CHECK-NEXT: __launch_bounds__(128) saxpy(const float *x,
  // CHECK-NEXT:     float *y,
  // CHECK-NEXT:     int n) {
  // CHECK-NEXT:   // with T.Kernel(4, threads=128) as bx:{{$}}
  // CHECK-NEXT:   int tid = threadIdx.x;
  // CHECK-NEXT:   int bx = blockIdx.x;
  // CHECK-NEXT:   // i = bx * 128 + tid{{$}}
  // CHECK-NEXT:   int i = bx * 128u + tid;
  // CHECK-NEXT:   // if i < n:{{$}}
  // CHECK-NEXT:   if (i < n) {
  // CHECK-NEXT:     long long n_1 = (long long)i;
  // CHECK-NEXT:     // y[i] = x[i] * 2 + 1{{$}}
  // CHECK-NEXT:     float x_value = x[n_1];
  // CHECK-NEXT:     y[n_1] = x_value * 2.0f + 1.0f;
  // CHECK-NEXT:   }
  // CHECK-NEXT: }
  gpu.func @saxpy(%x: !llvm.ptr<1> {tl.param = #tl.param<base, 0>} loc("x"),
      %y: !llvm.ptr<1> {tl.param = #tl.param<base, 1>} loc("y"),
      %n: i32 {tl.param = #tl.param<scalar, 2>} loc("n")) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %c128 = arith.constant 128 : index
    %two = arith.constant 2.0 : f32
    %one = arith.constant 1.0 : f32
    %tid = gpu.thread_id x loc(fused<{tl.statement = "with T.Kernel(4, threads=128) as bx:"}>["tile.py":3:1])
    %bid = gpu.block_id x loc(fused<{tl.statement = "with T.Kernel(4, threads=128) as bx:"}>["tile.py":3:1])
    %start = arith.muli %bid, %c128 : index loc(fused<{tl.statement = "i = bx * 128 + tid"}>["tile.py":4:1])
    %i = arith.addi %start, %tid : index loc("i"(fused<{tl.statement = "i = bx * 128 + tid"}>["tile.py":4:1]))
    %i32 = arith.index_cast %i : index to i32
    %inside = arith.cmpi slt, %i32, %n : i32
    scf.if %inside {
      %i64 = arith.index_cast %i : index to i64
      %from = llvm.getelementptr %x[%i64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      %to = llvm.getelementptr %y[%i64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      %a = llvm.load %from : !llvm.ptr<1> -> f32 loc(fused<{tl.statement = "y[i] = x[i] * 2 + 1 \\\\"}>["tile.py":6:1])
      %b = arith.mulf %a, %two : f32
      %c = arith.addf %b, %one : f32
      llvm.store %c, %to : f32, !llvm.ptr<1> loc(fused<{tl.statement = "y[i] = x[i] * 2 + 1 \\\\"}>["tile.py":6:1])
    } loc(fused<{tl.statement = "if i < n:"}>["tile.py":5:1])
    gpu.return
  }

  // A guarded load starts as what it is where nothing is loaded. Vectors are
  // computed in one loop, in the variable that nobody else reads.
  // CHECK-LABEL: vectors(
  // CHECK:        tl::vec<float, 4> [[A:.*]] = {};
  // CHECK-NEXT:   if (go) {
  // CHECK-NEXT:     [[A]] = tl::load<tl::vec<float, 4>>(p);
  // CHECK-NEXT:   }
  // CHECK:        #pragma unroll
  // CHECK-NEXT:   for (int i = 0; i < 4; ++i)
  // CHECK-NEXT:     {{.*}}[i] = -([[A]][i] * 2.0f) + {{.*}}[i];
  // CHECK:        tl::store<tl::vec<float, 4>>(p, {{.*}});
  gpu.func @vectors(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>} loc("p"),
      %go: i1 {tl.param = #tl.param<scalar, 1>} loc("go")) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %two = arith.constant dense<2.0> : vector<4xf32>
    %a = scf.if %go -> (vector<4xf32>) {
      %loaded = llvm.load %p : !llvm.ptr<1> -> vector<4xf32>
      scf.yield %loaded : vector<4xf32>
    } else {
      scf.yield %zero : vector<4xf32>
    }
    %b = llvm.load volatile %p : !llvm.ptr<1> -> vector<4xf32>
    %c = arith.mulf %a, %two : vector<4xf32>
    %d = arith.negf %c : vector<4xf32>
    %e = arith.addf %d, %b : vector<4xf32>
    llvm.store %e, %p : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }

  // Carried values change places at once: what is still to be read waits.
  // CHECK-LABEL: swap(
  // CHECK:      #pragma unroll 1
  // CHECK-NEXT: for (int k = 0; k < n; ++k) {
  // CHECK-NEXT:   auto next_[[X:.*]] = [[Y:carried.*]];
  // CHECK-NEXT:   auto next_[[Y]] = [[X]];
  // CHECK-NEXT:   [[X]] = next_[[X]];
  // CHECK-NEXT:   [[Y]] = next_[[Y]];
  // CHECK-NEXT: }
  // CHECK:      while (true) {
  // CHECK:        if (!({{.*}} < n)) {
  // CHECK-NEXT:     break;
  gpu.func @swap(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>} loc("p"),
      %n: i32 {tl.param = #tl.param<scalar, 1>} loc("n")) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%x = %c0, %y = %c1) -> (i32, i32) : i32 {
      scf.yield %y, %x : i32, i32
    } {llvm.loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>} loc(unknown)
    llvm.store volatile %r#0, %p : i32, !llvm.ptr<1>
    %end = scf.while (%i = %r#1) : (i32) -> i32 {
      %more = arith.cmpi slt, %i, %n : i32
      scf.condition(%more) %i : i32
    } do {
    ^bb0(%i: i32):
      %j = arith.addi %i, %c1 : i32
      scf.yield %j : i32
    }
    llvm.store volatile %end, %p : i32, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// With line information, `#line` takes the place of comments, and paths are as
// the kernel's folder sees them.
// CHECK-LABEL: #line 2 "tile.py"
// CHECK-NEXT:  extern "C" __global__ void
// CHECK-NEXT:  #line 2 "tile.py"
// CHECK-NEXT:  __launch_bounds__(32) lines(float *x) {
// CHECK-NEXT:  #line 3 "tile.py"
// CHECK-NEXT:    *x = 1.0f;
gpu.module @lines attributes {tl.target = #tl.target<chip = "sm_90a">, tl.line_info = "/home/me"} {
  gpu.func @lines(%x: !llvm.ptr<1> {tl.param = #tl.param<base, 0>} loc("x")) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %one = arith.constant 1.0 : f32
    llvm.store %one, %x : f32, !llvm.ptr<1> loc(fused<{tl.statement = "x[0] = 1"}>["/home/me/tile.py":3:1])
    gpu.return loc("/home/me/tile.py":3:1)
  } loc("/home/me/tile.py":2:1)
} loc("/home/me/tile.py":2:1)

// -----

// A module without kernels at thread level is left alone.
// ENTRY-LABEL: gpu.module @source
// ENTRY-NEXT:    tl.cuda_unit "a.cu" "void f();"
// ENTRY-NEXT:  }
gpu.module @source attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "a.cu" "void f();"
}

// -----

// A name that CUDA has a function of is another one in the text, and so are
// words of C++ and what is no identifier; the kernel's own name stays.
// CHECK-LABEL: __launch_bounds__(32) fma_kernel(
// CHECK-SAME:    float int_1,
// CHECK-NEXT:    float v0
// ENTRY-LABEL: gpu.module @names
// ENTRY:         tl.cuda_entry @fma entry("fma_kernel") params(
gpu.module @names attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @fma(%x: f32 {tl.param = #tl.param<scalar, 0>} loc("int"),
      %y: f32 {tl.param = #tl.param<scalar, 1>} loc("_0")) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    gpu.return
  }
}
