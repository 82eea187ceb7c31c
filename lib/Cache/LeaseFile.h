//===- LeaseFile.h - One process at a time, without locks ------*- C++ -*-===//
//
// Some file systems have no locks. All have files that are made by one process
// alone: such a file is a claim, which its holder renews for as long as it
// lives and which others take over once it is not renewed. This is slower than
// a lock and, unlike one, can have two holders for a moment; work may then be
// done twice and nothing worse.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CACHE_LEASEFILE_H
#define TL_LIB_CACHE_LEASEFILE_H

#include "Files.h"
#include "tl/Cache/Store.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/ErrorOr.h"

#include <chrono>

namespace tl::cache {

class LeaseFile final : public KeyLock {
public:
  /// Claims the file `name` in a directory. The error is
  /// `std::errc::timed_out` if others hold it for all of `timeout`. The
  /// directory is taken only with the claim. Null if `isDone` while others hold
  /// it.
  static llvm::ErrorOr<std::unique_ptr<KeyLock>>
  acquire(Descriptor &&directory, const std::string &name, mode_t mode,
          std::chrono::milliseconds timeout, llvm::function_ref<bool()> isDone);

  ~LeaseFile() override;

private:
  struct Claim;

  explicit LeaseFile(std::unique_ptr<Claim> claim);

  std::unique_ptr<Claim> claim;
};

} // namespace tl::cache

#endif // TL_LIB_CACHE_LEASEFILE_H
