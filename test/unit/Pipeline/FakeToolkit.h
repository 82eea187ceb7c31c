//===- FakeToolkit.h - CUDA tools that can be exchanged ---------*- C++ -*-===//
//
// Keys name the tools of the machine. Here they are files of a temporary
// directory, `$CUDA_HOME`, so that the tests are the same on every machine and
// can put other tools in their place.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TEST_UNIT_PIPELINE_FAKETOOLKIT_H
#define TL_TEST_UNIT_PIPELINE_FAKETOOLKIT_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace tl::test {

class FakeToolkit {
public:
  /// The one that this process uses.
  static FakeToolkit &get();

  /// Puts another file in the place of `tool`. Libraries say their version by
  /// their names alone.
  void replace(llvm::StringRef tool, llvm::StringRef version,
               llvm::StringRef content);

  static bool isProgram(llvm::StringRef tool);

private:
  FakeToolkit();
  ~FakeToolkit();

  std::string root;
};

} // namespace tl::test

#endif // TL_TEST_UNIT_PIPELINE_FAKETOOLKIT_H
