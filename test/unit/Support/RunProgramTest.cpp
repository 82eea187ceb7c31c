//===- RunProgramTest.cpp - Other programs, and what they are given -------===//

#include "tl/Support/RunProgram.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <cstdlib>

using namespace llvm;
using namespace tl;

/// What `program` prints, after its exit status.
static std::string run(ArrayRef<StringRef> command) {
  SmallString<128> log;
  EXPECT_FALSE(sys::fs::createTemporaryFile("run", "txt", log));
  FileRemover remover(log);
  std::string message;
  int status = runProgram(command.front(), command, log, message);
  return itostr(status) + ":" +
         (*MemoryBuffer::getFile(log))->getBuffer().str() + message;
}

/// Neither secrets nor what adds to a compiler's options.
TEST(RunProgramTest, ProgramsGetNoMoreThanTheyNeed) {
  for (const char *name :
       {"TL_CACHE_TOKEN", "TL_CACHE_PASSWORD", "NVCC_PREPEND_FLAGS",
        "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "CPATH", "CPLUS_INCLUDE_PATH",
        "LIBRARY_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH", "LD_PRELOAD",
        "SOURCE_DATE_EPOCH", "LANG"})
    ::setenv(name, "", 1);
  ::setenv("TMPDIR", "/tmp", 1);
  std::string shown = run({"/usr/bin/env"});
  for (StringRef line : split(StringRef(shown).drop_front(2), '\n'))
    EXPECT_TRUE(line.empty() ||
                is_contained({"HOME", "LC_ALL", "LD_LIBRARY_PATH", "LOGNAME",
                              "PATH", "TEMP", "TMP", "TMPDIR", "TZ", "USER"},
                             line.split('=').first))
        << line.str();
  EXPECT_NE(shown.find("\nTMPDIR=/tmp\n"), std::string::npos);
  EXPECT_NE(shown.find("\nLC_ALL=C\n"), std::string::npos);
  for (const char *name : {"CPATH", "LIBRARY_PATH", "LD_PRELOAD"})
    ::unsetenv(name);
}

TEST(RunProgramTest, TellsHowItEnded) {
  EXPECT_EQ(run({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}),
            "3:out\nerr\n");
  EXPECT_TRUE(StringRef(run({"/does/not/exist"})).starts_with("-1:"));
}
