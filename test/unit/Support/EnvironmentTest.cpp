//===- EnvironmentTest.cpp - What the process was started with ------------===//

#include "tl/Support/Environment.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <cstdlib>

#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace tl;

namespace {
/// While it lives a variable has another value.
class VariableScope {
public:
  VariableScope(const char *name, StringRef value)
      : name(name), before(readVariable(name)) {
    ::setenv(name, value.str().c_str(), 1);
  }
  ~VariableScope() {
    if (before)
      ::setenv(name, before->c_str(), 1);
    else
      ::unsetenv(name);
  }

private:
  const char *name;
  std::optional<std::string> before;
};
} // namespace

/// A program in a folder of its own, both of which anyone may read and execute.
static std::string makeProgram(StringRef name) {
  SmallString<128> path;
  EXPECT_FALSE(makeTemporaryFolder("tl-environment", path));
  ::chmod(path.c_str(), 0755);
  sys::path::append(path, name);
  std::error_code error;
  raw_fd_ostream(path, error) << "#!/bin/sh\n";
  EXPECT_FALSE(error);
  ::chmod(path.c_str(), 0755);
  return path.str().str();
}

TEST(EnvironmentTest, IsTheUsers) {
  std::string program = makeProgram("tl-test-program");
  StringRef folder = sys::path::parent_path(program);
  VariableScope path("PATH", folder), user("HOME", "/home/of/somebody"),
      temporary("TMPDIR", folder);
  EXPECT_EQ(readVariable("HOME"), "/home/of/somebody");
  EXPECT_EQ(readVariable("TL_NOT_SET"), std::nullopt);
  EXPECT_EQ(findProgram("tl-test-program"), program);
  EXPECT_EQ(findProgram("tl-test-program", {"/usr/bin"}), "");
  EXPECT_EQ(findProgram("tl-test-program", {"/usr/bin", folder}), program);
  SmallString<128> home, file, other;
  EXPECT_TRUE(findHome(home));
  EXPECT_EQ(home, "/home/of/somebody");
  EXPECT_FALSE(makeTemporaryFile("tl-test", "txt", file));
  EXPECT_FALSE(makeTemporaryFile("tl-test", "txt", other));
  EXPECT_TRUE(StringRef(file).starts_with((folder + "/tl-test-").str()));
  EXPECT_TRUE(StringRef(file).ends_with(".txt"));
  EXPECT_NE(file, other);
  EXPECT_FALSE(sys::fs::remove_directories(folder));
}

/// Whoever else is in the user's group, and whatever the mask says.
TEST(EnvironmentTest, WhatIsTemporaryIsOnesOwn) {
  mode_t mask = ::umask(0);
  SmallString<128> file, folder;
  EXPECT_FALSE(makeTemporaryFile("tl-test", "txt", file));
  EXPECT_FALSE(makeTemporaryFolder("tl-test", folder));
  ::umask(mask);
  struct stat status;
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & ALLPERMS, mode_t(S_IRUSR | S_IWUSR));
  ASSERT_EQ(::stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & ALLPERMS, mode_t(S_IRWXU));
  sys::fs::remove(file);
  sys::fs::remove(folder);
}

/// What the copy of this program tells that has more rights than its user.
TEST(EnvironmentTest, DISABLED_Tell) {
  SmallString<128> home, file, folder;
  EXPECT_TRUE(findHome(home));
  EXPECT_FALSE(makeTemporaryFile("tl-test", "txt", file));
  EXPECT_FALSE(makeTemporaryFolder("tl-test", folder));
  EXPECT_EQ(readVariable("TL_TEST_VARIABLE"), std::nullopt);
  EXPECT_EQ(findProgram("tl-test-program"), "");
  EXPECT_NE(findProgram("sh"), "");
  EXPECT_FALSE(StringRef(home).starts_with("/home/of"));
  EXPECT_TRUE(StringRef(file).starts_with("/tmp/tl-test-"));
  EXPECT_TRUE(StringRef(folder).starts_with("/tmp/tl-test-"));
  sys::fs::remove(file);
  sys::fs::remove(folder);
  EXPECT_NE(::getauxval(AT_SECURE), 0u);
}

TEST(EnvironmentTest, OfAProgramWithMoreRightsCountsForNothing) {
  constexpr uid_t nobody = 65534;
  if (::geteuid() != 0)
    GTEST_SKIP() << "only the superuser can give a program another owner";
  std::string program = makeProgram("tl-test-program");
  SmallString<128> folder = sys::path::parent_path(program), copy = folder;
  sys::path::append(copy, "tests");
  ASSERT_FALSE(sys::fs::copy_file("/proc/self/exe", copy));
  ASSERT_EQ(::chown(copy.c_str(), nobody, nobody), 0);
  ASSERT_EQ(::chmod(copy.c_str(), 04755), 0);
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    VariableScope path("PATH", folder), user("HOME", "/home/of/somebody"),
        temporary("TMPDIR", folder), variable("TL_TEST_VARIABLE", "value");
    ::unsetenv("GTEST_OUTPUT"); // which the other owner may not write
    ::execl(copy.c_str(), copy.c_str(), "--gtest_also_run_disabled_tests",
            "--gtest_filter=EnvironmentTest.DISABLED_Tell", nullptr);
    ::_exit(127);
  }
  int status;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(sys::fs::remove_directories(folder));
}
