//===- FakeToolkit.cpp - CUDA tools that can be exchanged -----------------===//

#include "FakeToolkit.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <cstdlib>

using namespace llvm;
using namespace tl::test;

/// Where a tool lies in a toolkit.
static StringRef getPlace(StringRef tool) {
  return StringSwitch<StringRef>(tool)
      .Case("ptxas", "bin/ptxas")
      .Case("nvcc", "bin/nvcc")
      .Case("nvjitlink", "lib64/libnvJitLink.so.13")
      .Case("nvrtc", "lib64/libnvrtc.so.13")
      .Case("cuda", "lib64/libcuda.so.1");
}

bool FakeToolkit::isProgram(StringRef tool) {
  return getPlace(tool).starts_with("bin/");
}

FakeToolkit &FakeToolkit::get() {
  static FakeToolkit toolkit;
  return toolkit;
}

FakeToolkit::FakeToolkit() {
  SmallString<128> directory;
  EXPECT_FALSE(sys::fs::createUniqueDirectory("tl-toolkit", directory));
  root = directory.str().str();
  for (StringRef tool : {"ptxas", "nvcc", "nvjitlink", "nvrtc", "cuda"})
    replace(tool, "13.0.88", "bytes");
  setenv("CUDA_HOME", root.c_str(), /*overwrite=*/true);
}

FakeToolkit::~FakeToolkit() { sys::fs::remove_directories(root); }

void FakeToolkit::replace(StringRef tool, StringRef version,
                          StringRef content) {
  SmallString<128> path(root);
  sys::path::append(path, getPlace(tool));
  EXPECT_FALSE(sys::fs::create_directories(sys::path::parent_path(path)));
  {
    std::error_code error;
    raw_fd_ostream os(path, error);
    ASSERT_FALSE(error) << error.message();
    if (isProgram(tool))
      os << "#!/bin/sh\necho 'Cuda compilation tools, release 13, V" << version
         << "'\n# " << content << "\n";
    else
      os << version << content;
  }
  EXPECT_FALSE(sys::fs::setPermissions(path, sys::fs::all_all));
}

namespace {
/// Before any test asks for a tool.
class ToolkitEnvironment : public testing::Environment {
  void SetUp() override { FakeToolkit::get(); }
};
} // namespace

static testing::Environment *const environment =
    testing::AddGlobalTestEnvironment(new ToolkitEnvironment);
