//===- Tracer.cpp - Faults at every system call ---------------------------===//

#include "Tracer.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <csignal>
#include <iterator>

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace tl::cache::test;

pid_t tl::cache::test::startProcess(function_ref<int()> body) {
  pid_t child = ::fork();
  if (child == 0)
    ::_exit(body());
  EXPECT_GT(child, 0);
  return child;
}

int tl::cache::test::waitForProcess(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

const char *SystemCall::fileCall() const {
  static constexpr struct {
    uint64_t number;
    const char *name;
  } calls[] = {
      {SYS_openat, "openat"},
      {SYS_read, "read"},
      {SYS_write, "write"},
      {SYS_close, "close"},
      {SYS_fsync, "fsync"},
      {SYS_mkdirat, "mkdirat"},
      {SYS_unlinkat, "unlinkat"},
      {SYS_fstat, "fstat"},
      {SYS_newfstatat, "newfstatat"},
      {SYS_getdents64, "getdents64"},
      {SYS_flock, "flock"},
      {SYS_lseek, "lseek"},
      {SYS_fcntl, "fcntl"},
      {SYS_utimensat, "utimensat"},
      {SYS_renameat, "renameat"},
      {SYS_fchmod, "fchmod"},
      {SYS_statfs, "statfs"},
#if defined(__x86_64__)
      {SYS_open, "open"},
      {SYS_mkdir, "mkdir"},
      {SYS_rename, "rename"},
      {SYS_stat, "stat"},
      {SYS_lstat, "lstat"},
      {SYS_unlink, "unlink"},
      {SYS_chmod, "chmod"},
      {SYS_readlink, "readlink"},
      {SYS_access, "access"},
#endif
  };
  auto call = std::find_if(std::begin(calls), std::end(calls),
                           [&](auto &known) { return known.number == number; });
  return call == std::end(calls) ? nullptr : call->name;
}

std::string SystemCall::pathOf(int argument) const {
  return "/proc/" + std::to_string(process) + "/fd/" +
         std::to_string(arguments[argument]);
}

std::string SystemCall::textOf(int argument) const {
  std::string memory = "/proc/" + std::to_string(process) + "/mem";
  int fd = ::open(memory.c_str(), O_RDONLY | O_CLOEXEC);
  char text[256] = {};
  ssize_t count = ::pread(fd, text, sizeof(text) - 1, arguments[argument]);
  ::close(fd);
  EXPECT_GT(count, 0);
  return text;
}

#if defined(__x86_64__)

bool tl::cache::test::canTrace() {
  pid_t child = startProcess([] {
    return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : 1;
  });
  return waitForProcess(child) == 0;
}

/// The call that a stopped process is about to make or has just made.
static SystemCall readCall(pid_t child, user_regs_struct &registers) {
  EXPECT_EQ(::ptrace(PTRACE_GETREGS, child, nullptr, &registers), 0);
  return {child,
          registers.orig_rax,
          {registers.rdi, registers.rsi, registers.rdx, registers.r10,
           registers.r8, registers.r9}};
}

int tl::cache::test::trace(
    function_ref<int()> body, function_ref<int(const SystemCall &)> before,
    function_ref<void(const SystemCall &, uint64_t)> after) {
  pid_t child = startProcess([&] {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    return body();
  });
  int status = waitForProcess(child);
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr,
           PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  bool isBefore = true;
  int decision = Proceed;
  SystemCall call = {};
  while (WIFSTOPPED(status)) {
    user_regs_struct registers;
    int signal = 0;
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
      signal = WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
    } else if (isBefore) {
      call = readCall(child, registers);
      decision = before(call);
      if (decision == Kill)
        ::kill(child, SIGKILL);
      if (decision > 0) {
        // No call has this number, so none is made.
        registers.orig_rax = -1;
        ::ptrace(PTRACE_SETREGS, child, nullptr, &registers);
      }
      if (decision == Release) {
        ::ptrace(PTRACE_DETACH, child, nullptr, nullptr);
        return waitForProcess(child);
      }
      isBefore = false;
    } else {
      (void)readCall(child, registers);
      if (decision > 0) {
        registers.rax = -decision;
        ::ptrace(PTRACE_SETREGS, child, nullptr, &registers);
      } else if (int64_t(registers.rax) >= 0) {
        after(call, registers.rax);
      }
      isBefore = true;
    }
    ::ptrace(PTRACE_SYSCALL, child, nullptr, signal);
    status = waitForProcess(child);
  }
  return status;
}

#else

bool tl::cache::test::canTrace() { return false; }

int tl::cache::test::trace(function_ref<int()>,
                           function_ref<int(const SystemCall &)>,
                           function_ref<void(const SystemCall &, uint64_t)>) {
  return -1;
}

#endif
