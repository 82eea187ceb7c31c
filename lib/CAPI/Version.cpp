//===- Version.cpp - Which compiler this is -------------------------------===//
//
// The version says which compiler was meant, the build id which bytes run.
//
//===----------------------------------------------------------------------===//

#include "tl-c/Compiler.h"

#include "tl/Pipeline/Pipelines.h"

const char *tlVersion() { return TL_VERSION; }

const char *tlBuildId() { return tl::getBuildId().data(); }
