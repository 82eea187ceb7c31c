//===- LeaseFile.cpp - One process at a time, without locks ---------------===//
//
// Whether a claim was renewed is told by its modification time changing, and
// how long ago that was by the clock of who waits: no two clocks are compared.
//
//===----------------------------------------------------------------------===//

#include "LeaseFile.h"

#include "llvm/Support/Errc.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/Error.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
using namespace tl::cache;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Others take a claim over that was not renewed for several times as long.
static constexpr auto renewEvery = 100ms;
static constexpr auto expiresAfter = 600ms;

/// The claim that this process holds, and the thread that renews it.
struct LeaseFile::Claim {
  Claim(Descriptor directory, std::string name, Descriptor file)
      : directory(std::move(directory)), name(std::move(name)),
        file(std::move(file)), renewer([this] { renew(); }) {}

  void renew() {
    std::unique_lock<std::mutex> guard(mutex);
    while (!released.wait_for(guard, renewEvery, [this] { return isReleased; }))
      (void)::futimens(file.get(), nullptr);
  }

  const pid_t process = ::getpid();
  Descriptor directory;
  std::string name;
  Descriptor file;
  std::mutex mutex;
  std::condition_variable released;
  bool isReleased = false;
  std::thread renewer;
};

LeaseFile::LeaseFile(std::unique_ptr<Claim> claim) : claim(std::move(claim)) {}

LeaseFile::~LeaseFile() {
  // A child that was forked meanwhile has the claim but not the thread.
  if (claim->process != ::getpid()) {
    (void)claim.release();
    return;
  }
  {
    std::lock_guard<std::mutex> guard(claim->mutex);
    claim->isReleased = true;
  }
  claim->released.notify_all();
  claim->renewer.join();
  // Not if others took it over.
  struct stat ours, named;
  if (::fstat(claim->file.get(), &ours) == 0 &&
      ::fstatat(claim->directory.get(), claim->name.c_str(), &named,
                AT_SYMLINK_NOFOLLOW) == 0 &&
      isSameFile(ours, named))
    (void)::unlinkat(claim->directory.get(), claim->name.c_str(), 0);
}

/// What tells one renewal of a claim from another; nothing if there is no
/// claim. The file is opened, because a server's file is then looked at anew.
static std::optional<struct stat> look(const Descriptor &directory,
                                       const std::string &name) {
  struct stat status;
  if (!openRegularFile(directory, name, status))
    return std::nullopt;
  return status;
}

static bool isSameRenewal(const struct stat &lhs, const struct stat &rhs) {
  return isSameFile(lhs, rhs) && lhs.st_mtim.tv_sec == rhs.st_mtim.tv_sec &&
         lhs.st_mtim.tv_nsec == rhs.st_mtim.tv_nsec;
}

ErrorOr<std::unique_ptr<KeyLock>>
LeaseFile::acquire(Descriptor &&directory, const std::string &name, mode_t mode,
                   std::chrono::milliseconds timeout,
                   function_ref<bool()> isDone) {
  auto deadline = Clock::now() + timeout;
  std::optional<struct stat> seen;
  Clock::time_point seenAt;
  for (auto pause = 1ms;; pause = std::min(pause * 2, 20ms)) {
    ErrorOr<Descriptor> file =
        openWritable(directory, name, O_CREAT | O_EXCL, mode);
    if (file)
      return std::unique_ptr<KeyLock>(new LeaseFile(std::make_unique<Claim>(
          std::move(directory), name, std::move(*file))));
    if (file.getError() != errc::file_exists)
      return file.getError();

    if (isDone())
      return std::unique_ptr<KeyLock>();
    std::optional<struct stat> found = look(directory, name);
    if (!found || !seen || !isSameRenewal(*found, *seen)) {
      seen = found;
      seenAt = Clock::now();
    } else if (Clock::now() - seenAt > expiresAfter) {
      (void)::unlinkat(directory.get(), name.c_str(), 0);
      continue;
    }
    if (Clock::now() >= deadline)
      return make_error_code(std::errc::timed_out);
    std::this_thread::sleep_for(pause);
  }
}
