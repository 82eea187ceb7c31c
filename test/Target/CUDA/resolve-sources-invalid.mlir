// RUN: tl-opt %s --tl-resolve-sources -split-input-file -verify-diagnostics

func.func @no_file(%g: index) {
  // expected-error @below {{cannot read the source file `/no/such/file.cu`: No such file or directory}}
  tl.source_kernel sources([#tl.cuda_source<"", file = "/no/such/file.cu">]) blocks(%g) threads(1) args()
  return
}

// -----

func.func @empty_file(%g: index) {
  // expected-error @below {{the source file `/dev/null` is empty}}
  tl.source_kernel sources([#tl.cuda_source<"", file = "/dev/null">]) blocks(%g) threads(1) args()
  return
}

// -----

func.func @path_as_flag(%g: index) {
  // expected-error @below {{give include paths and text to compile first as such, not as the flag `-I/x`}}
  tl.source_kernel sources([#tl.cuda_source<"...">]) flags ["-I/x"] blocks(%g) threads(1) args()
  return
}
