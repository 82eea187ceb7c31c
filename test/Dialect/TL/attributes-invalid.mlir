// RUN: tl-opt %s --allow-unregistered-dialect --verify-diagnostics --split-input-file

// expected-error @below {{expects as many strides as extents}}
"test.layout"() {layout = #tl.fragment_layout<shape = [8], thread = [8] : [], value = [] : []>} : () -> ()

// -----

// Two threads hold the same element, and nobody holds others.
// expected-error @below {{is not a fragment layout: }}
"test.layout"() {layout = #tl.fragment_layout<shape = [8], thread = [8] : [3], value = [] : []>} : () -> ()

// -----

// expected-error @below {{expects a swizzle of 0, 32, 64 or 128 bytes, got 16}}
"test.layout"() {layout = #tl.shared_layout<swizzle = 16, chunk = 64>} : () -> ()

// -----

// expected-error @below {{expects a positive chunk, got 0}}
"test.layout"() {layout = #tl.shared_layout<swizzle = 128, chunk = 0>} : () -> ()

// -----

// expected-error @+2 {{to be one of: wgmma, mma, fma}}
// expected-error @+1 {{failed to parse TL_GemmPlanAttr parameter 'instruction'}}
"test.plan"() {plan = #tl.gemm_plan<imma, warps_m = 1, warps_n = 1>} : () -> ()
