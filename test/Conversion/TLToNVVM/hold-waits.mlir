// What is computed beside a product comes before the wait for it: a branch in front
// of the wait depends on the results.

// RUN: tl-opt %s --split-input-file --convert-tl-to-nvvm | FileCheck %s

gpu.module @kernels {
  // The sum is used behind the wait, and all of the scores went into it.
  // CHECK-LABEL: llvm.func @beside_a_product
  // CHECK:         wgmma.wait_group.sync.aligned 1;
  // CHECK:         %[[SUM:.+]] = llvm.fadd
  // CHECK:         %[[BITS:.+]] = llvm.bitcast %[[SUM]] : f32 to i32
  // CHECK:         llvm.inline_asm has_side_effects asm_dialect = att "{\0A.reg .pred HIT;\0Asetp.eq.u32 HIT, $0, 0x7FB5C3A1;\0A@!HIT bra GO;\0Ananosleep.u32 1;\0AGO:\0A}", "r" %[[BITS]] : (i32) -> ()
  // CHECK:         wgmma.wait_group.sync.aligned 0;
  gpu.func @beside_a_product(%a: i64, %b: i64, %zero: vector<8xf32>, %p: !llvm.ptr<1>) {
    %s = tl.wgmma bf16 n(16) %a, %b, %zero acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<8xf32>
    %o = tl.wgmma bf16 n(16) %a, %b, %zero acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<8xf32>
    %scores = tl.wgmma_wait 1 (%s : vector<8xf32>)
    %x = vector.extract %scores[0] : f32 from vector<8xf32>
    %y = vector.extract %scores[1] : f32 from vector<8xf32>
    %sum = arith.addf %x, %y : f32
    %done = tl.wgmma_wait 0 (%o : vector<8xf32>)
    llvm.store %done, %p : vector<8xf32>, !llvm.ptr<1>
    llvm.store %sum, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // Nothing runs beside the only product, nor behind a wait for all of them.
  // CHECK-LABEL: llvm.func @after_a_product
  // CHECK-NOT:     setp
  // CHECK:         llvm.return
  gpu.func @after_a_product(%a: i64, %b: i64, %zero: vector<8xf32>, %p: !llvm.ptr<1>) {
    %s = tl.wgmma bf16 n(16) %a, %b, %zero acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<8xf32>
    %scores = tl.wgmma_wait 0 (%s : vector<8xf32>)
    %x = vector.extract %scores[0] : f32 from vector<8xf32>
    %sum = arith.addf %x, %x : f32
    %o = tl.wgmma bf16 n(16) %a, %b, %zero acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<8xf32>
    %done = tl.wgmma_wait 0 (%o : vector<8xf32>)
    llvm.store %done, %p : vector<8xf32>, !llvm.ptr<1>
    llvm.store %sum, %p : f32, !llvm.ptr<1>
    gpu.return
  }
}
