//===- tl-opt.cpp - Run passes on the IR of tile kernels ------------------===//
//
// The tool itself is in the library; see tl-c/Compiler.h.
//
//===----------------------------------------------------------------------===//

#include "tl-c/Compiler.h"

int main(int argc, char **argv) { return tlOptMain(argc, argv); }
