// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm))' | FileCheck %s

gpu.module @ops {
  // An index is 32 bits wide.
  // CHECK-LABEL: llvm.func @indices
  // CHECK: nvvm.read.ptx.sreg.tid.y range <i32, 0, 1024> : i32
  // CHECK: nvvm.read.ptx.sreg.ctaid.x range <i32, 0, 2147483647> : i32
  // CHECK: nvvm.read.ptx.sreg.nctaid.z : i32
  // CHECK: llvm.add {{.*}} : i32
  gpu.func @indices(%p: !llvm.ptr<1>) {
    %a = gpu.thread_id y
    %b = gpu.block_id x
    %d = gpu.grid_dim z
    %e = arith.addi %a, %b : index
    %g = arith.addi %e, %d : index
    %h = arith.index_cast %g : index to i64
    llvm.store %h, %p : i64, !llvm.ptr<1>
    gpu.return
  }

  // Numbers of threads and blocks are below what the kernel says.
  // CHECK-LABEL: llvm.func @bounds
  // CHECK: nvvm.read.ptx.sreg.tid.x range <i32, 0, 2> : i32
  // CHECK: nvvm.read.ptx.sreg.ctaid.y range <i32, 0, 7> : i32
  gpu.func @bounds(%p: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 2, 32, 1>, tl.grid_limit = array<i64: 5, 7, 1>} {
    %a = gpu.thread_id x
    %b = gpu.block_id y
    %c = arith.addi %a, %b : index
    %d = arith.index_cast %c : index to i64
    llvm.store %d, %p : i64, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @barrier
  // CHECK: nvvm.barrier0
  gpu.func @barrier() {
    gpu.barrier
    gpu.return
  }

  // A segment's lanes are fixed by the mask in bits 8 to 12.
  // CHECK-LABEL: llvm.func @shuffle_f32
  // CHECK-DAG: %[[ALL:.+]] = llvm.mlir.constant(-1 : i32)
  // CHECK-DAG: %[[CLAMP:.+]] = llvm.mlir.constant(31 : i32)
  // CHECK: %[[BITS:.+]] = llvm.sub %{{.+}}, %arg2
  // CHECK: %[[MASK:.+]] = llvm.shl %[[BITS]]
  // CHECK: %[[CONTROL:.+]] = llvm.or %[[MASK]], %[[CLAMP]]
  // CHECK: %[[IN:.+]] = llvm.bitcast %arg0 : f32 to i32
  // CHECK: nvvm.shfl.sync bfly %[[ALL]], %[[IN]], %arg1, %[[CONTROL]]
  gpu.func @shuffle_f32(%x: f32, %lane: i32, %width: i32, %p: !llvm.ptr<1>) {
    %y, %valid = gpu.shuffle xor %x, %lane, %width : f32
    llvm.store %y, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @shuffle_up_f16
  // CHECK-NOT: llvm.or
  // CHECK: llvm.zext {{.*}} : i16 to i32
  // CHECK: nvvm.shfl.sync up
  // CHECK: llvm.trunc {{.*}} : i32 to i16
  gpu.func @shuffle_up_f16(%x: f16, %lane: i32, %width: i32, %p: !llvm.ptr<1>) {
    %y, %valid = gpu.shuffle up %x, %lane, %width : f16
    llvm.store %y, %p : f16, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @shuffle_f64
  // CHECK-COUNT-2: nvvm.shfl.sync idx
  // CHECK: llvm.bitcast {{.*}} : vector<2xi32> to f64
  gpu.func @shuffle_f64(%x: f64, %lane: i32, %width: i32, %p: !llvm.ptr<1>) {
    %y, %valid = gpu.shuffle idx %x, %lane, %width : f64
    llvm.store %y, %p : f64, !llvm.ptr<1>
    gpu.return
  }

  // Loops and branches become blocks.
  // CHECK-LABEL: llvm.func @control_flow
  // CHECK-NOT: scf.
  // CHECK: llvm.cond_br
  gpu.func @control_flow(%n: i32, %x: vector<4xf32>, %p: !llvm.ptr<1>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (vector<4xf32>) : i32 {
      %next = arith.addf %acc, %x : vector<4xf32>
      scf.yield %next : vector<4xf32>
    }
    %positive = arith.cmpi sgt, %n, %c0 : i32
    scf.if %positive {
      llvm.store %sum, %p : vector<4xf32>, !llvm.ptr<1>
    }
    %end = scf.while (%i = %n) : (i32) -> i32 {
      %more = arith.cmpi slt, %i, %c1 : i32
      scf.condition(%more) %i : i32
    } do {
    ^bb0(%i: i32):
      %j = arith.addi %i, %c1 : i32
      scf.yield %j : i32
    }
    llvm.store %end, %p : i32, !llvm.ptr<1>
    gpu.return
  }

  // Every vector op of thread level has a lowering.
  // CHECK-LABEL: llvm.func @vectors
  // CHECK-NOT: = vector.
  // CHECK: llvm.return
  gpu.func @vectors(%x: vector<8xf32>, %s: f32, %i: index, %p: !llvm.ptr<1>) {
    %b = vector.broadcast %s : f32 to vector<4xf32>
    %e = vector.extract_strided_slice %x {offsets = [2], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
    %a = arith.addf %b, %e : vector<4xf32>
    %t = vector.insert_strided_slice %a, %x {offsets = [4], strides = [1]} : vector<4xf32> into vector<8xf32>
    %f = vector.extract %t[%i] : f32 from vector<8xf32>
    %g = vector.insert %f, %t[3] : f32 into vector<8xf32>
    %u:8 = vector.to_elements %g : vector<8xf32>
    %v = vector.from_elements %u#0, %u#1, %u#7, %f : vector<4xf32>
    %w = vector.shuffle %v, %a [0, 5, 2, 7] : vector<4xf32>, vector<4xf32>
    %h = vector.bitcast %w : vector<4xf32> to vector<8xf16>
    llvm.store %h, %p : vector<8xf16>, !llvm.ptr<1>
    gpu.return
  }

  // An op of NVVM without an intrinsic becomes assembly.
  // CHECK-LABEL: llvm.func @wait
  // CHECK: llvm.inline_asm has_side_effects {{.*}}mbarrier.try_wait.parity
  gpu.func @wait(%b: !llvm.ptr<3>, %parity: i32) {
    %ticks = arith.constant 10000000 : i32
    nvvm.mbarrier.try_wait.parity %b, %parity, %ticks : !llvm.ptr<3>, i32, i32
    gpu.return
  }
}
