// A kernel that does not compile: the error is at the user's op, and nothing is
// stored, so that the next run says it again.

// RUN: rm -rf %t && mkdir %t
// DEFINE: %{compile} = tl-opt %s --verify-diagnostics --tl-compile="chip=sm_80 assembler=none cache-dir=%t/cache"
// RUN: %{compile}
// RUN: %{compile}
// RUN: find %t/cache -name manifest.json | count 0

func.func @host(%A: memref<64xf32>, %n: index) attributes {tl.entry} {
  tl.kernel blocks(%b) in (%n) threads(32) {
    tl.parallel (%i) in (64) {
      // expected-error @below {{`gpu.lane_id` is not a thread-level op}}
      %x = gpu.lane_id
      %y = arith.index_cast %x : index to i32
      %z = arith.sitofp %y : i32 to f32
      tl.store %z, %A[%i] : memref<64xf32>
    }
  }
  return
}
