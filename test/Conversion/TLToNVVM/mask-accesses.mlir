// REQUIRES: python

// Few guarded accesses stay branches.
// RUN: %python %S/guards.py 60 | tl-opt --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm))' | FileCheck %s --check-prefix=FEW
// FEW-NOT: masked

// RUN: %python %S/guards.py 64 | tl-opt --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm))' | FileCheck %s

// Many become masked accesses in the block that they stand in, each with the guard as all
// of its mask; addresses are computed in any case.
// CHECK:       %[[P:.+]] = llvm.icmp "ugt" %arg3, {{.*}} : i32
// CHECK-NOT:   llvm.cond_br
// CHECK:       %[[M:.+]] = llvm.insertelement %[[P]], {{.*}} : vector<1xi1>
// CHECK-NOT:   llvm.cond_br
// CHECK:       llvm.intr.masked.load %arg0, %[[M]], %{{.+}} {alignment = 4 : i32}
// CHECK-SAME:    vector<1xf32>
// CHECK-NOT:   llvm.cond_br
// CHECK:       llvm.intr.masked.store

// A vector is guarded as a whole.
// CHECK-NOT:   llvm.cond_br
// CHECK:       llvm.intr.masked.load {{.*}} {alignment = 16 : i32} : (!llvm.ptr<1>, vector<8xi1>, vector<8xf16>)
// CHECK-NOT:   llvm.cond_br
// CHECK:       llvm.intr.masked.store {{.*}} {alignment = 16 : i32} : vector<8xf16>, vector<8xi1>
// CHECK-NOT:   llvm.cond_br
// CHECK:       llvm.intr.masked.store {{.*}} : vector<1xi8>
// CHECK-NOT:   llvm.cond_br
// CHECK:       llvm.intr.masked.store {{.*}} : vector<1xf64>, vector<1xi1> into !llvm.ptr<3>

// What gives something else than zero stays a branch, and so do two accesses, a division,
// which may trap, and a volatile access.
// CHECK-NOT:   masked
// CHECK:       llvm.cond_br
// CHECK:       llvm.load {{.*}} -> i32
// CHECK:       llvm.cond_br
// CHECK:       llvm.store
// CHECK-NEXT:  llvm.store
// CHECK:       llvm.cond_br
// CHECK:       llvm.udiv
// CHECK-NEXT:  llvm.store
// CHECK:       llvm.cond_br
// CHECK:       llvm.store volatile
// CHECK-NOT:   masked
