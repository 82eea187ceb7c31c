// RUN: tl-opt %s --tl-attach-target | FileCheck %s --check-prefixes=CHECK,DEFAULT
// RUN: tl-opt %s --tl-attach-target=chip=sm_80 | FileCheck %s --check-prefixes=CHECK,SM80
// RUN: tl-opt %s --tl-attach-target=chip=cpu | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: tl-opt %s --tl-attach-target="line-info fast-math" | FileCheck %s --check-prefix=OPTIONS

// A module without a target gets the one asked for, by default a Hopper chip.
// CHECK:   gpu.module @none attributes {
// DEFAULT-SAME: tl.target = #tl.target<chip = "sm_90a">
// SM80-SAME:    tl.target = #tl.target<chip = "sm_80">
// CPU-SAME:     tl.target = #tl.target<chip = "cpu">
// CHECK-NOT: tl.line_info
// CHECK-NOT: tl.fast_math
// OPTIONS: gpu.module @none attributes {tl.fast_math, tl.line_info = "{{.*}}TL/Transforms", tl.target = #tl.target<chip = "sm_90a">}
gpu.module @none {
}

// A target that is there stays; the options hold for its module too.
// CHECK:   gpu.module @given attributes {tl.target = #tl.target<chip = "sm_89">}
// OPTIONS: gpu.module @given attributes {tl.fast_math, tl.line_info = "{{.*}}TL/Transforms", tl.target = #tl.target<chip = "sm_89">}
gpu.module @given attributes {tl.target = #tl.target<chip = "sm_89">} {
}
