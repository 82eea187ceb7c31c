//===- Environment.cpp - What the process was started with ----------------===//
//
// See Environment.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Support/Environment.h"

#include "llvm/Support/Errno.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cstdlib>

#include <fcntl.h>
#include <pwd.h>
#include <sys/auxv.h>
#include <unistd.h>

using namespace llvm;

/// True if who started the process must not decide for it.
static bool hasForeignEnvironment() { return ::getauxval(AT_SECURE) != 0; }

std::optional<std::string> tl::readVariable(StringRef name) {
  const char *value = ::secure_getenv(name.str().c_str());
  if (!value)
    return std::nullopt;
  return value;
}

std::string tl::findProgram(StringRef name, ArrayRef<StringRef> folders) {
  static constexpr StringRef system[] = {"/usr/local/bin", "/usr/bin", "/bin"};
  if (folders.empty() && hasForeignEnvironment())
    folders = system;
  ErrorOr<std::string> path = sys::findProgramByName(name, folders);
  return path ? *path : "";
}

bool tl::findHome(SmallVectorImpl<char> &path) {
  if (!hasForeignEnvironment())
    return sys::path::home_directory(path);
  const struct passwd *user = ::getpwuid(::geteuid());
  if (!user || !user->pw_dir)
    return false;
  StringRef home(user->pw_dir);
  path.assign(home.begin(), home.end());
  return true;
}

/// What `mkstemps` and `mkdtemp` make a path of, in the folder for temporary
/// files.
static std::string getTemplate(const Twine &prefix, const Twine &suffix = "") {
  SmallString<128> path("/tmp");
  if (!hasForeignEnvironment())
    sys::path::system_temp_directory(/*ErasedOnReboot=*/true, path);
  sys::path::append(path, prefix + "-XXXXXX" + suffix);
  return path.str().str();
}

std::error_code tl::makeTemporaryFile(const Twine &prefix, StringRef extension,
                                      SmallVectorImpl<char> &path) {
  std::string made = getTemplate(prefix, "." + extension);
  int descriptor = ::mkostemps(made.data(), extension.size() + 1, O_CLOEXEC);
  if (descriptor < 0)
    return errnoAsErrorCode();
  ::close(descriptor);
  path.assign(made.begin(), made.end());
  return {};
}

std::error_code tl::makeTemporaryFolder(const Twine &prefix,
                                        SmallVectorImpl<char> &path) {
  std::string made = getTemplate(prefix);
  if (!::mkdtemp(made.data()))
    return errnoAsErrorCode();
  path.assign(made.begin(), made.end());
  return {};
}
