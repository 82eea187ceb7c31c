module {
  func.func @f(%arg0: memref<4096xf32> {tl.align = 16 : i64, tl.name = "A", tl.shape = [""]}, %arg1: memref<16xf32> {tl.align = 16 : i64, tl.name = "O", tl.shape = [""]}, %arg2: i32 {tl.name = "n0"}, %arg3: i32 {tl.name = "n1"}, %arg4: i32 {tl.name = "n2"}, %arg5: i32 {tl.name = "n3"}, %arg6: i32 {tl.name = "n4"}, %arg7: i32 {tl.name = "n5"}, %arg8: i32 {tl.name = "n6"}, %arg9: i32 {tl.name = "n7"}) attributes {tl.entry} {
    %c16_i32 = arith.constant 16 : i32
    %c0 = arith.constant 0 : index
    %cst = arith.constant 0.000000e+00 : f32
    %c1 = arith.constant 1 : index
    tl.kernel blocks(%bx) in (%c1) threads(32) {
      %shared = tl.alloc : memref<16xf32, #gpu.address_space<workgroup>>
      %fragment = tl.alloc : memref<16xf32, #tl.fragment>
      tl.fill %fragment, %cst : memref<16xf32, #tl.fragment>
      %0 = arith.index_cast %arg2 : i32 to index
      tl.pipelined %arg10 = %c0 to %0 stages(2) {
        %1 = arith.index_cast %arg10 : index to i32
        %2 = arith.muli %1, %c16_i32 : i32
        %3 = arith.index_cast %2 : i32 to index
        tl.copy %arg0[%3] to %shared tile(16) : memref<4096xf32> to memref<16xf32, #gpu.address_space<workgroup>>
        tl.parallel (%arg11) in (16) {
          %5 = tl.load %fragment[%arg11] : memref<16xf32, #tl.fragment>
          %6 = tl.load %shared[%arg11] : memref<16xf32, #gpu.address_space<workgroup>>
          %7 = arith.addf %5, %6 : f32
          tl.store %7, %fragment[%arg11] : memref<16xf32, #tl.fragment>
        }
        %4 = arith.index_cast %arg3 : i32 to index
        tl.pipelined %arg11 = %c0 to %4 stages(2) {
          %5 = arith.index_cast %arg11 : index to i32
          %6 = arith.muli %5, %c16_i32 : i32
          %7 = arith.index_cast %6 : i32 to index
          tl.copy %arg0[%7] to %shared tile(16) : memref<4096xf32> to memref<16xf32, #gpu.address_space<workgroup>>
          tl.parallel (%arg12) in (16) {
            %9 = tl.load %fragment[%arg12] : memref<16xf32, #tl.fragment>
            %10 = tl.load %shared[%arg12] : memref<16xf32, #gpu.address_space<workgroup>>
            %11 = arith.addf %9, %10 : f32
            tl.store %11, %fragment[%arg12] : memref<16xf32, #tl.fragment>
          }
          %8 = arith.index_cast %arg4 : i32 to index
          tl.pipelined %arg12 = %c0 to %8 stages(2) {
            %9 = arith.index_cast %arg12 : index to i32
            %10 = arith.muli %9, %c16_i32 : i32
            %11 = arith.index_cast %10 : i32 to index
            tl.copy %arg0[%11] to %shared tile(16) : memref<4096xf32> to memref<16xf32, #gpu.address_space<workgroup>>
            tl.parallel (%arg13) in (16) {
              %13 = tl.load %fragment[%arg13] : memref<16xf32, #tl.fragment>
              %14 = tl.load %shared[%arg13] : memref<16xf32, #gpu.address_space<workgroup>>
              %15 = arith.addf %13, %14 : f32
              tl.store %15, %fragment[%arg13] : memref<16xf32, #tl.fragment>
            }
            %12 = arith.index_cast %arg5 : i32 to index
            tl.pipelined %arg13 = %c0 to %12 stages(2) {
              %13 = arith.index_cast %arg13 : index to i32
              %14 = arith.muli %13, %c16_i32 : i32
              %15 = arith.index_cast %14 : i32 to index
              tl.copy %arg0[%15] to %shared tile(16) : memref<4096xf32> to memref<16xf32, #gpu.address_space<workgroup>>
              tl.parallel (%arg14) in (16) {
                %17 = tl.load %fragment[%arg14] : memref<16xf32, #tl.fragment>
                %18 = tl.load %shared[%arg14] : memref<16xf32, #gpu.address_space<workgroup>>
                %19 = arith.addf %17, %18 : f32
                tl.store %19, %fragment[%arg14] : memref<16xf32, #tl.fragment>
              }
              %16 = arith.index_cast %arg6 : i32 to index
              tl.pipelined %arg14 = %c0 to %16 stages(2) {
                %17 = arith.index_cast %arg14 : index to i32
                %18 = arith.muli %17, %c16_i32 : i32
                %19 = arith.index_cast %18 : i32 to index
                tl.copy %arg0[%19] to %shared tile(16) : memref<4096xf32> to memref<16xf32, #gpu.address_space<workgroup>>
                tl.parallel (%arg15) in (16) {
                  %21 = tl.load %fragment[%arg15] : memref<16xf32, #tl.fragment>
                  %22 = tl.load %shared[%arg15] : memref<16xf32, #gpu.address_space<workgroup>>
                  %23 = arith.addf %21, %22 : f32
                  tl.store %23, %fragment[%arg15] : memref<16xf32, #tl.fragment>
                }
                %20 = arith.index_cast %arg7 : i32 to index
                tl.pipelined %arg15 = %c0 to %20 stages(2) {
                  %21 = arith.index_cast %arg15 : index to i32
                  %22 = arith.muli %21, %c16_i32 : i32
                  %23 = arith.index_cast %22 : i32 to index
                  tl.copy %arg0[%23] to %shared tile(16) : memref<4096xf32> to memref<16xf32, #gpu.address_space<workgroup>>
                  tl.parallel (%arg16) in (16) {
                    %25 = tl.load %fragment[%arg16] : memref<16xf32, #tl.fragment>
                    %26 = tl.load %shared[%arg16] : memref<16xf32, #gpu.address_space<workgroup>>
                    %27 = arith.addf %25, %26 : f32
                    tl.store %27, %fragment[%arg16] : memref<16xf32, #tl.fragment>
                  }
                  %24 = arith.index_cast %arg8 : i32 to index
                  tl.pipelined %arg16 = %c0 to %24 stages(2) {
                    %25 = arith.index_cast %arg16 : index to i32
                    %26 = arith.muli %25, %c16_i32 : i32
                    %27 = arith.index_cast %26 : i32 to index
                    tl.copy %arg0[%27] to %shared tile(16) : memref<4096xf32> to memref<16xf32, #gpu.address_space<workgroup>>
                    tl.parallel (%arg17) in (16) {
                      %29 = tl.load %fragment[%arg17] : memref<16xf32, #tl.fragment>
                      %30 = tl.load %shared[%arg17] : memref<16xf32, #gpu.address_space<workgroup>>
                      %31 = arith.addf %29, %30 : f32
                      tl.store %31, %fragment[%arg17] : memref<16xf32, #tl.fragment>
                    }
                    %28 = arith.index_cast %arg9 : i32 to index
                    tl.pipelined %arg17 = %c0 to %28 stages(2) {
                      %29 = arith.index_cast %arg17 : index to i32
                      %30 = arith.muli %29, %c16_i32 : i32
                      %31 = arith.index_cast %30 : i32 to index
                      tl.copy %arg0[%31] to %shared tile(16) : memref<4096xf32> to memref<16xf32, #gpu.address_space<workgroup>>
                      tl.parallel (%arg18) in (16) {
                        %32 = tl.load %fragment[%arg18] : memref<16xf32, #tl.fragment>
                        %33 = tl.load %shared[%arg18] : memref<16xf32, #gpu.address_space<workgroup>>
                        %34 = arith.addf %32, %33 : f32
                        tl.store %34, %fragment[%arg18] : memref<16xf32, #tl.fragment>
                      }
                    }
                  }
                }
              }
            }
          }
        }
      }
      tl.copy %fragment to %arg1 tile(16) : memref<16xf32, #tl.fragment> to memref<16xf32>
    }
    return
  }
}

