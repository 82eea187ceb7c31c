// RUN: not tl-opt %s --tl-verify-entries 2>&1 | FileCheck %s

// The text is part of a file, from a line of it on.
// CHECK: verify-entries-place.mlir:[[@LINE+4]]:3: error: {{.*}}it has 1 parameter and gets 0 arguments
// CHECK: saxpy.py:8:17: note: `f(int n)` is declared here
func.func @place() {
  %g = arith.constant 1 : index
  tl.source_kernel sources([#tl.cuda_source<"\0A__global__ void f(int n) {}", file = "saxpy.py", line = 7>]) blocks(%g) threads(1) args()
  return
}
