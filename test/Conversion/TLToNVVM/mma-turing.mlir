// RUN: tl-opt %s --convert-tl-to-nvvm | FileCheck %s

// Chips before 8.0 have instructions of half the depth: the first two registers
// of A are of one half, with the first of B, and the last two of the other.
gpu.module @kernels attributes {tl.target = #tl.target<chip = "sm_75">} {
  // CHECK-LABEL: llvm.func @f16
  // CHECK-SAME:    (%[[A:.+]]: vector<4xi32>, %[[B:.+]]: vector<2xi32>, %[[C:.+]]: vector<4xf32>
  // CHECK:         %[[SUM:.+]] = nvvm.mma.sync A[%{{.+}}, %{{.+}}] B[%{{.+}}] C[%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}] {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (vector<2xf16>, vector<2xf16>, f32)
  // CHECK:         %[[FIRST:.+]] = llvm.extractvalue %[[SUM]][0]
  // CHECK:         nvvm.mma.sync A[{{.+}}] B[{{.+}}] C[%[[FIRST]], {{.+}}] {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 8>}
  // CHECK-NOT:     nvvm.mma.sync
  gpu.func @f16(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>, %p: !llvm.ptr<1>) {
    %d = tl.mma f16 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xf32>
    llvm.store %d, %p : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @f16_f16
  // CHECK-COUNT-2: nvvm.mma.sync {{.*}}k = 8>} : (vector<2xf16>, vector<2xf16>, vector<2xf16>)
  gpu.func @f16_f16(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf16>, %p: !llvm.ptr<1>) {
    %d = tl.mma f16 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xf16>
    llvm.store %d, %p : vector<4xf16>, !llvm.ptr<1>
    gpu.return
  }

  // Those of bytes have half of the rows, too.
  // CHECK-LABEL: llvm.func @bytes
  // CHECK-COUNT-4: nvvm.mma.sync A[%{{[^,]+}}] B[%{{[^,]+}}] C[%{{[^,]+}}, %{{[^,]+}}] {{.*}}<s8>{{.*}}shape = #nvvm.shape<m = 8, n = 8, k = 16>} : (i32, i32, i32)
  // CHECK-NOT:     nvvm.mma.sync
  gpu.func @bytes(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xi32>, %p: !llvm.ptr<1>) {
    %d = tl.mma s8 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xi32>
    llvm.store %d, %p : vector<4xi32>, !llvm.ptr<1>
    gpu.return
  }

  // What f32 rounds may be a tie of bf16 only then: `fma` goes through f64.
  // CHECK-LABEL: llvm.func @fused
  // CHECK-NOT:     fma({{.+}}) {{.*}}bf16
  // CHECK:         llvm.intr.fma({{.+}}) : (f64, f64, f64) -> f64
  // CHECK:         llvm.fptrunc {{.+}} : f64 to bf16
  gpu.func @fused(%a: bf16, %b: bf16, %c: bf16, %p: !llvm.ptr<1>) {
    %d = math.fma %a, %b, %c : bf16
    llvm.store %d, %p : bf16, !llvm.ptr<1>
    gpu.return
  }
}
