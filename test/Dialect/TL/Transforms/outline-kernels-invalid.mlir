// RUN: tl-opt %s --tl-outline-kernels -split-input-file -verify-diagnostics

func.func @no_entry(%g: index) attributes {tl.entry} {
  // expected-error @below {{the source kernel has no entry name; give it with `entry_name`}}
  tl.source_kernel sources([#tl.cuda_source<"...">]) blocks(%g) threads(32) args()
  return
}
