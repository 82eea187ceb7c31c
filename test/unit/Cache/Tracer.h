//===- Tracer.h - Faults at every system call ------------------*- C++ -*-===//
//
// Runs a piece of code in a child process and stops it before and after each
// of its system calls, to look at what it did so far, to kill it there, or to
// have the call fail with an error of our choice. Nothing is interposed in the
// code under test: what fails is what the kernel would fail.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TEST_UNIT_CACHE_TRACER_H
#define TL_TEST_UNIT_CACHE_TRACER_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include "llvm/Support/FileSystem.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

namespace tl::cache::test {

/// Runs `body` in a child process; its result is the exit status.
pid_t startProcess(llvm::function_ref<int()> body);

/// Waits for a child and returns its status, as `waitpid` gives it.
int waitForProcess(pid_t child);

/// Seconds since `start`.
inline double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Notes in a file that something happened, from any process.
class Tally {
public:
  explicit Tally(std::string path) : path(std::move(path)) {}

  void add() const {
    int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (::write(fd, "x", 1) != 1)
      ::_exit(99);
    ::close(fd);
  }
  uint64_t count() const {
    uint64_t size = 0;
    return llvm::sys::fs::file_size(path, size) ? 0 : size;
  }
  void waitFor(uint64_t number) const {
    while (count() < number)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

private:
  std::string path;
};

/// A system call that the traced process is making or has made.
struct SystemCall {
  pid_t process;
  uint64_t number;
  std::array<uint64_t, 6> arguments;

  /// The call's name if it is one that works on files, else null.
  const char *fileCall() const;

  /// What an argument that is a descriptor refers to: a path that leads there
  /// whatever the file is called.
  std::string pathOf(int argument) const;

  /// An argument that is a text.
  std::string textOf(int argument) const;
};

/// What to do with a system call before it is made; a positive number is the
/// error that it fails with. A process that is released runs on and is no
/// longer looked at.
enum Decision : int { Release = -2, Kill = -1, Proceed = 0 };

/// True if processes may be traced here, and this machine is one whose
/// registers we know.
bool canTrace();

/// Runs `body` in a child process. `before` decides about each system call;
/// `after` sees those that were made and did not fail, and their results.
/// Returns the status, as `waitpid` gives it.
int trace(llvm::function_ref<int()> body,
          llvm::function_ref<int(const SystemCall &)> before,
          llvm::function_ref<void(const SystemCall &, uint64_t)> after);

} // namespace tl::cache::test

#endif // TL_TEST_UNIT_CACHE_TRACER_H
