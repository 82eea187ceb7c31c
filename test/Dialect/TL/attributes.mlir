// Attributes and types by themselves, parsed from their printed form again.
// RUN: tl-opt %s --allow-unregistered-dialect | tl-opt --allow-unregistered-dialect | FileCheck %s

// CHECK: "test.spaces"() : () -> (memref<4xf32, #tl.fragment>, memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>)
%0:2 = "test.spaces"() : () -> (memref<4xf32, #tl.fragment>, memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>)

// Modes may be empty, and a thread mode of stride 0 replicates the tile.
// CHECK: #tl.fragment_layout<shape = [16, 8], thread = [4, 8] : [2, 8], value = [2, 2] : [1, 64]>
"test.layout"() {layout = #tl.fragment_layout<shape = [16, 8], thread = [4, 8] : [2, 8], value = [2, 2] : [1, 64]>} : () -> ()
// CHECK: #tl.fragment_layout<shape = [8], thread = [8, 4] : [1, 0], value = [] : []>
"test.layout"() {layout = #tl.fragment_layout<shape = [8], thread = [8, 4] : [1, 0], value = [] : []>} : () -> ()

// CHECK: #tl.shared_layout<swizzle = 0, chunk = 40>
"test.layout"() {layout = #tl.shared_layout<swizzle = 0, chunk = 40>} : () -> ()
// CHECK: #tl.shared_layout<swizzle = 128, chunk = 64>
"test.layout"() {layout = #tl.shared_layout<swizzle = 128, chunk = 64>} : () -> ()

// CHECK: #tl.target<chip = "sm_90a">
"test.target"() {target = #tl.target<chip = "sm_90a">} : () -> ()

// CHECK: #tl.gemm_plan<fma, warps_m = 4, warps_n = 1>
"test.plan"() {plan = #tl.gemm_plan<fma, warps_m = 4, warps_n = 1>} : () -> ()

// A parameter prints only what differs from the default.
// CHECK: #tl.param<base, 0>
"test.param"() {param = #tl.param<base, 0>} : () -> ()
// CHECK: #tl.param<dim, 2, index = 1>
"test.param"() {param = #tl.param<dim, 2, index = 1>} : () -> ()
// CHECK: #tl.param<stride, 2>
"test.param"() {param = #tl.param<stride, 2, index = 0>} : () -> ()
// CHECK: #tl.param<scalar, 3, type = f32>
"test.param"() {param = #tl.param<scalar, 3, type = f32>} : () -> ()
// CHECK: #tl.param<tensor_map, 1, box = [64, 128], swizzle = 128, type = bf16>
"test.param"() {param = #tl.param<tensor_map, 1, box = [64, 128], swizzle = 128, type = bf16>} : () -> ()

// CHECK: #tl.cuda_source<"extern \22C\22 __global__ void f(float *x) {}">
"test.source"() {source = #tl.cuda_source<"extern \"C\" __global__ void f(float *x) {}">} : () -> ()
// CHECK: #tl.cuda_source<"", file = "scale.cu">
"test.source"() {source = #tl.cuda_source<"", file = "scale.cu">} : () -> ()
