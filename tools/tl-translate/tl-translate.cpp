//===- tl-translate.cpp - Compile a module to one artifact ----------------===//
//
// The tool itself is in the library; see tl-c/Compiler.h.
//
//===----------------------------------------------------------------------===//

#include "tl-c/Compiler.h"

int main(int argc, char **argv) { return tlTranslateMain(argc, argv); }
