//===- RunProgram.cpp - Other programs, and what they are given -----------===//
//
// A list of what is passed on, and not of what is held back: nobody knows all
// the variables that some compiler obeys.
//
//===----------------------------------------------------------------------===//

#include "tl/Support/RunProgram.h"

#include "tl/Support/Environment.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace llvm;

/// `python/tilec/env.py` has the same for programs of Python.
static constexpr StringLiteral passedOn[] = {
    "HOME", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "TEMP",
    "TMP",  "TMPDIR",          "TZ",      "USER",
};

std::vector<std::string> tl::getProgramEnvironment() {
  std::vector<std::string> environment;
  for (StringRef name : passedOn)
    if (std::optional<std::string> value = readVariable(name))
      environment.push_back((name + "=" + *value).str());
  environment.push_back("LC_ALL=C");
  return environment;
}

int tl::runProgram(StringRef program, ArrayRef<StringRef> arguments,
                   StringRef log, std::string &message) {
  std::vector<std::string> environment = getProgramEnvironment();
  SmallVector<StringRef> variables(environment.begin(), environment.end());
  StringRef none;
  return sys::ExecuteAndWait(program, arguments, variables, {none, log, log},
                             /*SecondsToWait=*/0, /*MemoryLimit=*/0, &message);
}

std::string tl::findHostCompiler() {
  SmallString<128> named(readVariable("NVCC_CCBIN").value_or(""));
  // As for nvcc, it may be the compiler's folder.
  if (sys::fs::is_directory(named))
    sys::path::append(named, "g++");
  for (StringRef name : {named.str(), StringRef("g++")}) {
    if (name.empty())
      continue;
    std::string path = findProgram(name);
    if (!path.empty() && sys::fs::can_execute(path))
      return path;
  }
  return "";
}
