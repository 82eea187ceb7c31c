//===- Support.cpp - What every part of the C API needs -------------------===//
//
// Strings cross the C API in memory of `malloc`, whoever made them, so that one
// function frees them all.
//
//===----------------------------------------------------------------------===//

#include "tl-c/Support.h"

#include <cstdlib>

void tlFree(void *pointer) { std::free(pointer); }
