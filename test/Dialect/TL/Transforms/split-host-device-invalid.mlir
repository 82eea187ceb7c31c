// RUN: tl-opt %s --tl-split-host-device --verify-diagnostics --split-input-file

func.func @not_compiled(%g: index) attributes {tl.entry} {
  // expected-error @below {{'tl.launch' op launches `k`, which has not been compiled}}
  tl.launch @k::@k blocks(%g) threads(128) args()
  return
}
gpu.module @k {
  gpu.func @k() kernel {
    gpu.return
  }
}

// -----

func.func @unknown_kernel(%g: index) attributes {tl.entry} {
  // expected-error @below {{'tl.launch' op launches `missing`, which has not been compiled}}
  tl.launch @missing::@missing blocks(%g) threads(128) args()
  return
}

// -----

func.func @control_flow(%g: index, %c: i1) attributes {tl.entry} {
  // expected-error @below {{'scf.if' op cannot be part of a launch plan: host functions hold launches and integer arithmetic on extents and scalar arguments}}
  scf.if %c {
  }
  return
}

// -----

func.func @float_arithmetic(%x: f32) attributes {tl.entry} {
  // expected-error @below {{'arith.addf' op cannot be part of a launch plan}}
  %y = arith.addf %x, %x : f32
  return
}

// -----

func.func @extent_of_no_argument() attributes {tl.entry} {
  // expected-error @below {{'memref.alloc' op cannot be part of a launch plan}}
  %A = memref.alloc() : memref<4xf32>
  return
}

// -----

// The first extent must be known to be the first.
func.func @extent_of_an_unknown_dimension(%A: memref<?x?xf32>, %d: index) attributes {tl.entry} {
  // expected-error @below {{'memref.dim' op cannot be part of a launch plan}}
  %n = memref.dim %A, %d : memref<?x?xf32>
  return
}

// -----

// A constant that is no number is harmless until a kernel takes it.
func.func @vector_constant(%g: index) attributes {tl.entry} {
  %x = arith.constant dense<1.0> : vector<2xf32>
  // expected-error @below {{'tl.launch' op passes a value that is neither an argument of the entry function nor integer arithmetic on its extents}}
  tl.launch @k::@k blocks(%g) threads(128) args(%x : vector<2xf32>)
  return
}
gpu.module @k {
  tl.compiled_kernel @k params([#tl.param<scalar, 0, type = vector<2xf32>>]) block(128) shared(0) files({})
}

// -----

func.func @narrow(%n: i16, %g: index) attributes {tl.entry} {
  %narrow = arith.addi %n, %n : i16
  // expected-error @below {{'tl.launch' op computes a parameter of type 'i16'; use one of 32 or 64 bits}}
  tl.launch @k::@k blocks(%g) threads(128) args(%narrow : i16)
  return
}
gpu.module @k {
  tl.compiled_kernel @k params([#tl.param<scalar, 0, type = i16>]) block(128) shared(0) files({})
}

// -----

func.func @variable_from_elsewhere(%g: index) attributes {tl.entry} {
  // expected-error @below {{cannot be part of a launch plan}}
  %A = memref.alloc() : memref<8xf32>
  tl.launch @k::@k blocks(%g) threads(32) args() symbols ["w"](%A : memref<8xf32>)
  return
}

// -----

// A kernel that was compiled for another launch.
func.func @parameter_of_nothing(%A: memref<4xf32>, %g: index) attributes {tl.entry} {
  // expected-error @below {{'tl.launch' op does not pass what the parameter #tl.param<base, 7> of the kernel is made of}}
  tl.launch @k::@k blocks(%g) threads(128) args(%A : memref<4xf32>)
  return
}
gpu.module @k {
  tl.compiled_kernel @k params([#tl.param<base, 7>]) block(128) shared(0) files({})
}
