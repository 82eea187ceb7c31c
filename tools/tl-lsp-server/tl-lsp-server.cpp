//===- tl-lsp-server.cpp - Language server for editors --------------------===//
//
// The tool itself is in the library; see tl-c/Compiler.h.
//
//===----------------------------------------------------------------------===//

#include "tl-c/Compiler.h"

int main(int argc, char **argv) { return tlLspServerMain(argc, argv); }
