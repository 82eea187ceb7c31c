//===- tl-cache.cpp - Look into the artifact cache ------------------------===//
//
// The tool itself is in the library; see tl-c/Compiler.h.
//
//===----------------------------------------------------------------------===//

#include "tl-c/Compiler.h"

int main(int argc, char **argv) { return tlCacheMain(argc, argv); }
