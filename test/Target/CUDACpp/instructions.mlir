// Each instruction is a function of the support header, and compiles.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-emit-cuda))' | %unit_text | FileCheck %s
// RUN: %if nvcc %{ rm -rf %t && mkdir %t && \
// RUN:   tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-emit-cuda))' | %unit_text > %t/unit.cu && \
// RUN:   %nvcc -std=c++17 -Werror all-warnings -I %tl_src/include -arch=sm_90a -cubin -o %t/unit.cubin %t/unit.cu %}

// An instruction of a warp group has a function that lists its registers.
// CHECK: #include <tl/cuda.h>
// CHECK: static __device__ __forceinline__ void wgmma_m64n8k16_f16_f16(
// CHECK: tl::bit_cast<tl::vec<unsigned, 2>>(tl::slice<4>(acc, At))
// CHECK: static __device__ __forceinline__ void wgmma_m64n8k16_f16_f16_zero(
// CHECK: tl::vec<unsigned, 2> d;
// CHECK: static __device__ __forceinline__ void wgmma_m64n8k16_f32_bf16_tb(
// CHECK-NEXT: tl::vec<float, N> &acc, unsigned long long a, unsigned long long b
// CHECK: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 1;"
// CHECK: static __device__ __forceinline__ void wgmma_m64n8k16_f32_f16_ra_zero(
// CHECK: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 0, 1, 1, 0;"
// CHECK-NEXT: : "=&f"(d[0])
// CHECK: wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8

gpu.module @instructions attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: threads(
  // CHECK: threadIdx.y
  // CHECK: gridDim.z
  // CHECK: __syncthreads();
  // CHECK: tl::barrier_sync(1, 64);
  // CHECK: tl::barrier_arrive(1, 64);
  // CHECK: __syncwarp();
  // CHECK: tl::setmaxnreg_dec<24>();
  // CHECK: auto [[S:shuffled.*]] = tl::shuffle_up<tl::half>({{.*}}, 1);
  // CHECK: __shfl_xor_sync(0xffffffff, {{.*}}, 1);
  // CHECK: __ballot_sync(0xffffffff, {{.*}} > 0.0f);
  gpu.func @threads(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 64, 2, 1>, tl.shared = 64 : i64} {
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %c64 = arith.constant 64 : i32
    %all = arith.constant -1 : i32
    %a = gpu.thread_id y
    %c = gpu.grid_dim z
    %d = arith.addi %a, %c : index
    %n = arith.index_cast %d : index to i32
    llvm.store volatile %n, %p : i32, !llvm.ptr<1>
    gpu.barrier
    nvvm.barrier id = %c1 number_of_threads = %c64
    nvvm.barrier.arrive id = %c1 number_of_threads = %c64
    nvvm.bar.warp.sync %all : i32
    nvvm.setmaxregister decrease 24
    %h = llvm.load %p : !llvm.ptr<1> -> f16
    %up, %valid = gpu.shuffle up %h, %c1, %c32 : f16
    scf.if %valid {
      llvm.store %up, %p : f16, !llvm.ptr<1>
    }
    %f = llvm.load %p : !llvm.ptr<1> -> f32
    %x, %ignored = gpu.shuffle xor %f, %c1, %c32 : f32
    llvm.store %x, %p : f32, !llvm.ptr<1>
    %zero = arith.constant 0.0 : f32
    %positive = arith.cmpf ogt, %x, %zero : f32
    %votes = nvvm.vote.sync ballot %all, %positive -> i32
    llvm.store %votes, %p : i32, !llvm.ptr<1>
    gpu.return
  }

  // A tensor map is a parameter by value, in memory that the whole grid shares.
  // CHECK-LABEL: copies(const __grid_constant__ tl::TensorMap arg0_map /* T.TensorMap(arg0, box=[128, 64], swizzle=128) */,
  // CHECK: extern __shared__ __align__(1024) unsigned char smem[]; // {{[0-9]+}} bytes
  // CHECK-NEXT: // smem + 0: full, 8 bytes
  // CHECK-NEXT: // smem + 128: A_shared, 3968 bytes
  // CHECK: tl::mbarrier_init(smem, 2);
  // CHECK: tl::fence_mbarrier_init();
  // CHECK: tl::mbarrier_arrive_expect_tx(smem, 128);
  // CHECK: tl::tma_load(smem + 128, &arg0_map, smem, 0, 1);
  // CHECK: tl::mbarrier_wait_parity(smem, 0);
  // CHECK: tl::fence_proxy_async_shared();
  // CHECK: tl::tma_store(&arg0_map, smem + 128, 0, 1);
  // CHECK: tl::tma_add(&arg0_map, smem + 128, 0, 1);
  // CHECK: tl::bulk_commit();
  // CHECK: tl::bulk_wait_read<0>();
  // CHECK: tl::cp_async_cg(smem + 128, arg1);
  // CHECK: tl::cp_async<8>(smem + 128, arg1, 4);
  // CHECK: tl::cp_async_commit();
  // CHECK: tl::cp_async_wait<1>();
  gpu.func @copies(%map: !llvm.ptr {tl.param = #tl.param<tensor_map, 0, box = [64, 128], swizzle = 128, type = bf16>},
      %p: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 4096 : i64,
                  tl.shared_tiles = [["full", 0, 8], ["A_shared", 128, 3968]]} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c4 = arith.constant 4 : i32
    %c128 = arith.constant 128 : i32
    %ticks = arith.constant 10000000 : i32
    %s = tl.shared_base : !llvm.ptr<3>
    %t = llvm.getelementptr %s[128] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    nvvm.mbarrier.init %s, %c2 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    nvvm.mbarrier.arrive.expect_tx %s, %c128 : !llvm.ptr<3>, i32
    %t1 = llvm.getelementptr %s[128] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    nvvm.cp.async.bulk.tensor.shared.cluster.global %t1, %map, %s, box[%c0, %c1] {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
    nvvm.mbarrier.try_wait.parity %s, %c0, %ticks : !llvm.ptr<3>, i32, i32
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    %t3 = llvm.getelementptr %s[128] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    nvvm.cp.async.bulk.tensor.global.shared.cta %map, %t3, box[%c0, %c1] : !llvm.ptr, !llvm.ptr<3>
    %t6 = llvm.getelementptr %s[128] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    nvvm.cp.async.bulk.tensor.reduce %map, %t6, box[%c0, %c1] {redKind = #nvvm.tma_redux_kind<add>} : !llvm.ptr, !llvm.ptr<3>
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0 {read}
    %t4 = llvm.getelementptr %s[128] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    nvvm.cp.async.shared.global %t4, %p, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    %t5 = llvm.getelementptr %s[128] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    nvvm.cp.async.shared.global %t5, %p, 8, cache = ca, %c4 : !llvm.ptr<3>, !llvm.ptr<1>, i32
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 1
    gpu.return
  }

  // What blocks of a cluster do to each other's shared memory.
  // CHECK-LABEL: clusters(
  // CHECK: tl::cluster_arrive();
  // CHECK: tl::cluster_wait();
  // CHECK: auto [[THERE:.+]] = tl::map_shared(smem, 1);
  // CHECK: tl::mbarrier_arrive_release_cta_remote([[THERE]]);
  // CHECK: auto [[ROW:.+]] = tl::map_shared(smem + 64, 1);
  // CHECK: tl::store<tl::vec<float, 4>>([[ROW]], tl::load<tl::vec<float, 4>>([[ROW]]));
  // CHECK: tl::tma_load_multicast(smem + 128, &arg0_map, smem, 3, 0, 1);
  // CHECK: tl::cluster_arrive_aligned();
  // CHECK: tl::cluster_wait_aligned();
  gpu.func @clusters(%map: !llvm.ptr {tl.param = #tl.param<tensor_map, 0, box = [64, 128], swizzle = 128, type = bf16>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 4096 : i64, tl.cluster = array<i64: 2, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %mask = arith.constant 3 : i16
    %s = tl.shared_base : !llvm.ptr<3>
    nvvm.cluster.arrive
    nvvm.cluster.wait
    %there = nvvm.mapa %s, %c1 : !llvm.ptr<3> -> !llvm.ptr<7>
    nvvm.mbarrier.arrive %there : !llvm.ptr<7>
    %own = llvm.getelementptr %s[64] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %row = nvvm.mapa %own, %c1 : !llvm.ptr<3> -> !llvm.ptr<7>
    %v = llvm.load %row : !llvm.ptr<7> -> vector<4xf32>
    llvm.store %v, %row : vector<4xf32>, !llvm.ptr<7>
    %t = llvm.getelementptr %s[128] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %all = llvm.addrspacecast %t : !llvm.ptr<3> to !llvm.ptr<7>
    nvvm.cp.async.bulk.tensor.shared.cluster.global %all, %map, %s, box[%c0, %c1] multicast_mask = %mask : !llvm.ptr<7>, !llvm.ptr
    nvvm.cluster.arrive {aligned}
    nvvm.cluster.wait {aligned}
    gpu.return
  }

  // Products of one B with further rows from registers begin behind a fence of
  // their own, which touches no register. Sums that begin with them are not set
  // to zero.
  // CHECK-LABEL: equal_rows(
  // CHECK: tl::vec<float, 8> [[ACC:.+]];
  // CHECK-NEXT: tl::wgmma_fence([[A:.+]]);
  // CHECK-NEXT: wgmma_{{.+}}_zero<0, 0>([[ACC]], [[A]], {{.+}});
  // CHECK-NEXT: tl::wgmma_fence();
  // CHECK-NEXT: wgmma_{{.+}}_zero<4, 4>([[ACC]], [[A]], {{.+}});
  // CHECK-NEXT: tl::wgmma_commit();
  gpu.func @equal_rows(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>},
      %b: i64 {tl.param = #tl.param<scalar, 1, type = i64>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %a = llvm.load %p : !llvm.ptr<1> -> vector<8xi32>
    %zero = arith.constant dense<0.0> : vector<8xf32>
    %r = tl.wgmma f16 n(8) %a, %b, %zero acc_offsets([0, 4]) a_offsets([0, 4]) b_offsets([0, 0]) : vector<8xi32>, vector<8xf32>
    %d = tl.wgmma_wait 0 (%r : vector<8xf32>)
    llvm.store %d, %p : vector<8xf32>, !llvm.ptr<1>
    gpu.return
  }

  // Accumulators are one array from their first value to their last: nothing is
  // copied while instructions are under way.
  // CHECK-LABEL: matrices(
  // CHECK: tl::ldmatrix<4>(smem);
  // CHECK: tl::ldmatrix_trans<2>(smem);
  // CHECK: tl::vec<float, 4> [[ACC:carried.*]] = {};
  // CHECK-NEXT: for (int k = 0; k < 8; ++k) {
  // CHECK-NOT: {{ = }}
  // CHECK: tl::wgmma_fence([[ACC]]);
  // CHECK-NEXT: wgmma_m64n8k16_f32_bf16_tb<0>([[ACC]], arg1, arg2);
  // CHECK-NEXT: wgmma_m64n8k16_f32_bf16_tb<0>([[ACC]], tl::advance(arg1, 2), tl::advance(arg2, 4));
  // CHECK-NEXT: tl::wgmma_commit();
  // CHECK-NOT: {{ = }}
  // CHECK: tl::wgmma_wait<1>();
  // CHECK-NEXT: }
  // CHECK-NOT: {{ = }}
  // CHECK: tl::wgmma_wait<0>([[ACC]]);
  // CHECK: = tl::mma_bf16({{.*}}, {{.*}}, [[ACC]]);
  // CHECK: tl::stmatrix<2>(smem, tl::bit_cast<tl::vec<int, 2>>(tl::convert<tl::half>(
  gpu.func @matrices(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>},
      %a: i64 {tl.param = #tl.param<scalar, 1, type = i64>}, %b: i64 {tl.param = #tl.param<scalar, 2, type = i64>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 4096 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %half = arith.constant dense<0.0> : vector<4xf16>
    %none = arith.constant dense<0> : vector<4xi32>
    %s = tl.shared_base : !llvm.ptr<3>
    %ra = tl.ldmatrix %s : !llvm.ptr<3> -> vector<4xi32>
    %rb = tl.ldmatrix %s transpose : !llvm.ptr<3> -> vector<2xi32>
    %acc = scf.for %k = %c0 to %c8 step %c1 iter_args(%sum = %zero) -> (vector<4xf32>) {
      %next = tl.wgmma bf16 n(8) %a, %b, %sum b_mn_major acc_offsets([0, 0]) a_offsets([0, 2]) b_offsets([0, 4]) : vector<4xf32>
      tl.wgmma_wait 1
      scf.yield %next : vector<4xf32>
    }
    %done = tl.wgmma_wait 0 (%acc : vector<4xf32>)
    %d = tl.mma bf16 %ra, %rb, %done : vector<4xi32>, vector<2xi32>, vector<4xf32>
    %n = arith.truncf %d : vector<4xf32> to vector<4xf16>
    %w = vector.bitcast %n : vector<4xf16> to vector<2xi32>
    tl.stmatrix %w, %s : vector<2xi32>, !llvm.ptr<3>
    %e = tl.wgmma f16 n(8) %a, %b, %half acc_offsets([0, 0]) a_offsets([0, 2]) b_offsets([0, 2]) : vector<4xf16>
    %f = tl.wgmma s8 n(8) %a, %b, %none acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xi32>
    %ends:2 = tl.wgmma_wait 0 (%e, %f : vector<4xf16>, vector<4xi32>)
    llvm.store %ends#0, %p : vector<4xf16>, !llvm.ptr<1>
    llvm.store %ends#1, %p : vector<4xi32>, !llvm.ptr<1>
    gpu.return
  }

  // An array of the thread.
  // CHECK-LABEL: locals(
  // CHECK: float row[8];
  // CHECK: auto address = row + n;
  // CHECK: *address = 1.0f;
  gpu.func @locals(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %n: i32 {tl.param = #tl.param<scalar, 1, type = i32>} loc("n")) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %c8 = arith.constant 8 : i32
    %one = arith.constant 1.0 : f32
    %row = llvm.alloca %c8 x f32 : (i32) -> !llvm.ptr loc("row")
    %at = llvm.getelementptr %row[%n] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    llvm.store %one, %at : f32, !llvm.ptr
    %x = llvm.load %at : !llvm.ptr -> f32
    llvm.store %x, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // One element is a variable; its address is taken where one is needed.
  // CHECK-LABEL: variable(
  // CHECK: float total;
  // CHECK-NEXT: total = 1.0f;
  // CHECK-NEXT: (&total)[n] = total;
  // CHECK: tl::load<tl::vec<tl::half, 2>>(&total)
  gpu.func @variable(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %n: i32 {tl.param = #tl.param<scalar, 1, type = i32>} loc("n")) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %c1 = arith.constant 1 : i32
    %one = arith.constant 1.0 : f32
    %total = llvm.alloca %c1 x f32 : (i32) -> !llvm.ptr loc("total")
    llvm.store %one, %total : f32, !llvm.ptr
    %x = llvm.load %total : !llvm.ptr -> f32
    %at = llvm.getelementptr %total[%n] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    llvm.store %x, %at : f32, !llvm.ptr
    %halves = llvm.load %total : !llvm.ptr -> vector<2xf16>
    llvm.store %halves, %p : vector<2xf16>, !llvm.ptr<1>
    gpu.return
  }

  // An infinity is of the type that it stands for, wherever a type is deduced.
  // CHECK-LABEL: infinities(
  // CHECK: = tl::splat<2>(-double(tl::inf));
  gpu.func @infinities(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %n: i32 {tl.param = #tl.param<scalar, 1, type = i32>} loc("n")) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %least = arith.constant dense<0xFFF0000000000000> : vector<2xf64>
    %all = scf.for %k = %c0 to %n step %c1 iter_args(%x = %least) -> (vector<2xf64>) : i32 {
      %y = llvm.load %p : !llvm.ptr<1> -> vector<2xf64>
      %z = arith.maximumf %x, %y : vector<2xf64>
      scf.yield %z : vector<2xf64>
    }
    llvm.store %all, %p : vector<2xf64>, !llvm.ptr<1>
    gpu.return
  }
}
