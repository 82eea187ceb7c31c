// RUN: tl-opt %s --tl-verify-statements --verify-diagnostics --split-input-file

// A tile op in a branch on the thread's number.
func.func @tile_op_in_a_branch(%A: memref<64xf32>, %g: index, %v: f32) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    %f = tl.alloc : memref<64xf32, #tl.fragment>
    // expected-note @below {{it comes from the thread's number}}
    %t = gpu.thread_id x
    %c = arith.cmpi ult, %t, %g : index
    // expected-note @below {{what decides here differs between threads}}
    scf.if %c {
      // expected-error @below {{'tl.fill' op is executed by the whole block, and stands where only some of its threads go; take it out of the control flow, or let a condition decide that is the same for all threads}}
      tl.fill %f, %v : memref<64xf32, #tl.fragment>
    }
  }
  return
}

// -----

// The condition is a variable, assigned where only some threads go.
func.func @condition_in_a_variable(%g: index, %v: f32, %x: i32) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    %c0 = arith.constant 0 : index
    %f = tl.alloc : memref<64xf32, #tl.fragment>
    %n = tl.alloc : memref<1xi32, #gpu.address_space<private>>
    // expected-note @below {{it comes from the thread's number}}
    %t = gpu.thread_id x
    %c = arith.cmpi ult, %t, %g : index
    scf.if %c {
      tl.store %x, %n[%c0] : memref<1xi32, #gpu.address_space<private>>
    }
    %y = tl.load %n[%c0] : memref<1xi32, #gpu.address_space<private>>
    %d = arith.cmpi eq, %y, %x : i32
    // expected-note @below {{what decides here differs between threads}}
    scf.if %d {
      // expected-error @below {{'tl.parallel' op is executed by the whole block}}
      tl.parallel (%i) in (64) {
      }
    }
  }
  return
}

// -----

func.func @barrier_in_a_loop(%g: index) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-note @below {{it comes from the thread's number}}
    %t = gpu.thread_id x
    // expected-note @below {{what decides here differs between threads}}
    scf.for %i = %c0 to %t step %c1 {
      // expected-error @below {{'gpu.barrier' op is executed by the whole block}}
      gpu.barrier
    }
  }
  return
}

// -----

func.func @tile_op_of_a_thread(%A: memref<1024xf32>, %g: index) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    %f = tl.alloc : memref<64xf32, #tl.fragment>
    // expected-note @below {{it comes from the thread's number}}
    %t = gpu.thread_id x
    // expected-error @below {{'tl.copy' op is executed by the whole block, and is given a value that differs between threads; use values that are the same for all, or write it as loads and stores of elements}}
    tl.copy %A[%t] to %f tile(64) : memref<1024xf32> to memref<64xf32, #tl.fragment>
  }
  return
}

// -----

func.func @tile_op_in_parallel(%A: memref<64xf32>, %g: index) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    %s = tl.alloc : memref<64xf32, #gpu.address_space<workgroup>>
    // expected-note @below {{the loop is here}}
    tl.parallel (%i) in (64) {
      // expected-error @below {{'tl.copy' op is executed by the whole block, and cannot stand in `tl.parallel`, whose body is a program of scalars; put it before or after the loop, or write it as loads and stores of elements}}
      tl.copy %A to %s tile(64) : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
    }
  }
  return
}

// -----

func.func @alloc_in_parallel(%g: index) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    // expected-note @below {{the loop is here}}
    tl.parallel (%i) in (64) {
      // expected-error @below {{'tl.alloc' op allocates memory of the whole block in an iteration of `tl.parallel`; put it before the loop, or use `T.alloc_local`}}
      %s = tl.alloc : memref<64xf32, #gpu.address_space<workgroup>>
    }
  }
  return
}

// -----

func.func @barrier_in_parallel(%g: index) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    // expected-note @below {{the loop is here}}
    tl.parallel (%i) in (64) {
      // expected-error @below {{'gpu.barrier' op is executed by the whole block, and cannot stand in `tl.parallel`}}
      gpu.barrier
    }
  }
  return
}

// -----

func.func @thread_in_parallel(%A: memref<128xindex>, %g: index) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    // expected-note @below {{it comes from the thread's number}}
    %t = gpu.thread_id x
    // expected-note @below {{the loop is here}}
    tl.parallel (%i) in (64) {
      // expected-error @below {{an iteration of `tl.parallel` cannot use what differs between threads: it runs on any of them; use the loop's index instead}}
      tl.store %t, %A[%i] : memref<128xindex>
    }
  }
  return
}

// -----

func.func @thread_asked_in_parallel(%g: index) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    // expected-note @below {{the loop is here}}
    tl.parallel (%i) in (64) {
      // expected-error @below {{an iteration of `tl.parallel` cannot use what differs between threads}}
      %t = gpu.thread_id x
    }
  }
  return
}

// -----

func.func @variable_of_a_thread_in_parallel(%A: memref<128xindex>, %g: index) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    %c0 = arith.constant 0 : index
    // expected-note @below {{it comes from the thread's number}}
    %t = gpu.thread_id x
    %v = tl.alloc : memref<1xindex, #gpu.address_space<private>>
    tl.store %t, %v[%c0] : memref<1xindex, #gpu.address_space<private>>
    // expected-note @below {{the loop is here}}
    tl.parallel (%i) in (64) {
      // expected-error @below {{an iteration of `tl.parallel` cannot use what differs between threads}}
      %x = tl.load %v[%c0] : memref<1xindex, #gpu.address_space<private>>
      tl.store %x, %A[%i] : memref<128xindex>
    }
  }
  return
}

// -----

// A variable of an iteration is gone after the loop.
func.func @read_after_the_loop(%A: memref<64xf32>, %g: index) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    %c0 = arith.constant 0 : index
    %v = tl.alloc : memref<1xf32, #gpu.address_space<private>>
    // expected-note @below {{the parallel loop is here}}
    tl.parallel (%i) in (64) {
      %x = tl.load %A[%i] : memref<64xf32>
      tl.store %x, %v[%c0] : memref<1xf32, #gpu.address_space<private>>
    }
    // expected-error @below {{reads a variable, which a parallel loop before has assigned: each of its iterations has a variable of its own, whose value is gone after the loop; to combine what iterations compute, write it to a fragment and use `T.reduce_sum` or its kin, or assign the variable again before reading it}}
    %y = tl.load %v[%c0] : memref<1xf32, #gpu.address_space<private>>
    tl.store %y, %A[%c0] : memref<64xf32>
  }
  return
}

// -----

// Neither does it reach the next run of the loop.
func.func @read_in_the_next_run(%A: memref<64xf32>, %g: index) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %v = tl.alloc : memref<1xf32, #gpu.address_space<private>>
    scf.for %k = %c0 to %g step %c1 {
      // expected-note @below {{the parallel loop is here}}
      tl.parallel (%i) in (64) {
        // expected-error @below {{reads a variable, which a parallel loop before has assigned}}
        %x = tl.load %v[%c0] : memref<1xf32, #gpu.address_space<private>>
        tl.store %x, %v[%c0] : memref<1xf32, #gpu.address_space<private>>
      }
    }
  }
  return
}

// -----

// It is assigned on one path only.
func.func @assigned_on_one_path(%A: memref<64xf32>, %g: index, %c: i1, %x: f32) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    %c0 = arith.constant 0 : index
    %v = tl.alloc : memref<1xf32, #gpu.address_space<private>> loc("v")
    // expected-note @below {{the parallel loop is here}}
    tl.parallel (%i) in (64) {
      tl.store %x, %v[%c0] : memref<1xf32, #gpu.address_space<private>>
    }
    scf.if %c {
      tl.store %x, %v[%c0] : memref<1xf32, #gpu.address_space<private>>
    }
    // expected-error @below {{reads `v`, which a parallel loop before has assigned}}
    %y = tl.load %v[%c0] : memref<1xf32, #gpu.address_space<private>>
  }
  return
}

// -----

// A tile is printed by the block, a number by whoever executes the op.
func.func @printed_tile_in_a_loop(%A: memref<64xf32>, %g: index) {
  tl.kernel blocks(%b) in (%g) threads(64) {
    // expected-note @below {{the loop is here}}
    tl.parallel (%i) in (64) {
      tl.print "" %i named "i" as "index" : index
      // expected-error @below {{is executed by the whole block, and cannot stand in `tl.parallel`}}
      tl.print "" %A tile [64] named "A" as "float32" : memref<64xf32>
    }
  }
  return
}

// -----

func.func @printed_tile_where_threads_part(%A: memref<64xf32>, %g: index, %n: index) {
  tl.kernel blocks(%b) in (%g) threads(64) {
    // expected-note @below {{it comes from the thread's number}}
    %t = gpu.thread_id x
    %c = arith.cmpi slt, %t, %n : index
    // expected-note @below {{what decides here differs between threads}}
    scf.if %c {
      tl.print "" %t named "t" as "index" : index
      // expected-error @below {{is executed by the whole block, and stands where only some of its threads go}}
      tl.print "" %A tile [64] named "A" as "float32" : memref<64xf32>
    }
  }
  return
}

// -----

!s = memref<64xf32, #gpu.address_space<workgroup>>

// What another block may write meanwhile.
func.func @no_barrier_of_the_cluster(%A: memref<64xf32>, %g: index) {
  tl.kernel blocks(%b) in (%g) threads(64) cluster(2) {
    %c1 = arith.constant 1 : index
    %tile = tl.alloc : !s
    %other = tl.alloc : !s
    %there = tl.map_shared_rank %other[%c1] : !s
    // expected-note @below {{written here}}
    tl.copy %tile to %there tile(64) : !s to !s
    // expected-error @below {{reads a shared tile, which another block may be writing at the same time; put `T.cluster_sync()` between the two}}
    tl.copy %other to %A tile(64) : !s to memref<64xf32>
  }
  return
}

// -----

!s = memref<64xf32, #gpu.address_space<workgroup>>

// One block is in one branch, and the other one in the other.
func.func @branches_of_blocks(%A: memref<64xf32>, %g: index) {
  tl.kernel blocks(%b) in (%g) threads(64) cluster(2) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tile = tl.alloc : !s
    %other = tl.alloc : !s
    %there = tl.map_shared_rank %other[%c1] : !s
    %first = arith.cmpi eq, %b, %c0 : index
    scf.if %first {
      // expected-note @below {{written here}}
      tl.copy %tile to %there tile(64) : !s to !s
    } else {
      // expected-error @below {{reads a shared tile, which another block may be writing at the same time}}
      tl.copy %other to %A tile(64) : !s to memref<64xf32>
    }
  }
  return
}

// -----

// Only some blocks come.
func.func @barrier_of_some_blocks(%g: index) {
  tl.kernel blocks(%b) in (%g) threads(64) cluster(2) {
    %c0 = arith.constant 0 : index
    %first = arith.cmpi eq, %b, %c0 : index
    // expected-note @below {{what decides here may differ between blocks of a cluster}}
    scf.if %first {
      // expected-error @below {{waits for all blocks of the cluster, and stands where not all of them come equally often}}
      tl.cluster_barrier
    }
  }
  return
}

// -----

// On one way the block has arrived, and on the other it has not.
func.func @wait_without_an_arrival(%g: index, %n: i32) {
  tl.kernel blocks(%b) in (%g) threads(64) cluster(2) {
    %c0 = arith.constant 0 : i32
    %any = arith.cmpi sgt, %n, %c0 : i32
    scf.if %any {
      tl.cluster_arrive
    }
    // expected-error @below {{waits at the barrier of the cluster, where the block need not have arrived; put `T.cluster_arrive()` before it}}
    tl.cluster_wait
  }
  return
}
