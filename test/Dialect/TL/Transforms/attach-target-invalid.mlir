// RUN: tl-opt %s --tl-attach-target=chip=sm_70 --verify-diagnostics
// RUN: not tl-opt %s --tl-attach-target=chip=sm_80a 2>&1 | FileCheck %s --check-prefix=SPECIFIC
// RUN: not tl-opt %s --tl-attach-target=chip=hopper 2>&1 | FileCheck %s --check-prefix=NAME

// A chip that is too old, one without an architecture-specific variant, and no
// chip at all.
// SPECIFIC: error: unknown chip `sm_80a`; known are
// NAME:     error: unknown chip `hopper`; known are
// expected-error @below {{unknown chip `sm_70`; known are `cpu`, `sm_75`, `sm_80`, `sm_86`, `sm_87`, `sm_89`, `sm_90`, `sm_90a`}}
module {
}
