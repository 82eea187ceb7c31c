//===- DirectoryRaces.cpp - What a tuner keeps while it measures ----------===//
//
// A race of configurations has a lock, so that one process of the machine holds
// it, and a journal of what was measured so far. Both lie in a part of the
// directory like any other: opened only if its owner and mode are trusted,
// following no link, and changing no file that has another name elsewhere.
//
//===----------------------------------------------------------------------===//

#include "Files.h"
#include "LeaseFile.h"
#include "LockFile.h"
#include "Ownership.h"
#include "tl/Cache/DirectoryStore.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/Errno.h"

#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
using namespace tl::cache;

/// What a journal may hold: a race of a day is far from it.
static constexpr uint64_t maxJournalBytes = 16 << 20;

static constexpr StringLiteral racesPart = "races";

static Error checkName(StringRef name) {
  if (isValidFileName(name))
    return Error::success();
  return createStringError("`" + name + "` is no name for a race");
}

Expected<std::unique_ptr<KeyLock>>
DirectoryStore::lockRace(StringRef name, std::chrono::milliseconds timeout) {
  if (Error error = checkName(name))
    return error;
  Expected<Descriptor> races = openPart(racesPart);
  if (!races)
    return races.takeError();
  bool isWait = timeout.count() > 0 && options.allowGroupWritable;
  if (isWait)
    timeout = raceLocks.allows() ? std::min(timeout, options.raceAtMost)
                                 : std::chrono::milliseconds(0);
  auto never = [] { return false; };
  std::string file = (name + ".lock").str();
  ErrorOr<std::unique_ptr<KeyLock>> lock = LockFile::acquire(
      std::move(*races), file, modes().writable, timeout, never);
  bool isHeld = lock.getError() == std::errc::timed_out;
  if (isWait && timeout.count() > 0)
    isHeld ? (void)raceLocks.failed() : raceLocks.succeeded();
  if (lock)
    return std::move(*lock);
  if (isHeld)
    return std::unique_ptr<KeyLock>();
  return failure(lock.getError(), "cannot lock a race");
}

/// Opens the journal of a race; an error without a text if there is none.
static ErrorOr<Descriptor> openJournal(const Descriptor &races, StringRef name,
                                       int flags, const Modes &modes,
                                       struct stat &status) {
  std::string file = (name + ".journal").str();
  ErrorOr<Descriptor> journal =
      openWritable(races, file, flags | O_NONBLOCK, modes.writable);
  if (!journal)
    return journal;
  if (::fstat(journal->get(), &status) != 0)
    return errnoAsErrorCode();
  bool isOurs = S_ISREG(status.st_mode) && status.st_nlink == 1 &&
                distrust(status, modes.writable & S_IWGRP).empty();
  if (!isOurs)
    return make_error_code(errc::permission_denied);
  return journal;
}

Expected<std::string> DirectoryStore::readJournal(StringRef name) const {
  if (Error error = checkName(name))
    return error;
  Expected<Descriptor> races = openPart(racesPart);
  if (!races)
    return races.takeError();
  struct stat status;
  ErrorOr<Descriptor> journal =
      openJournal(*races, name, /*flags=*/0, modes(), status);
  if (journal.getError() == errc::no_such_file_or_directory)
    return std::string();
  if (!journal)
    return failure(journal.getError(), "cannot read a journal");
  if (uint64_t(status.st_size) > maxJournalBytes)
    return failure(make_error_code(errc::file_too_large),
                   "cannot read a journal");
  ErrorOr<std::string> text = readFile(*journal, status.st_size);
  if (!text)
    return failure(text.getError(), "cannot read a journal");
  return std::move(*text);
}

Error DirectoryStore::appendJournal(StringRef name, StringRef line) {
  if (Error error = checkName(name))
    return error;
  Expected<Descriptor> races = openPart(racesPart);
  if (!races)
    return races.takeError();
  struct stat status;
  ErrorOr<Descriptor> journal =
      openJournal(*races, name, O_CREAT | O_APPEND, modes(), status);
  if (!journal)
    return failure(journal.getError(), "cannot write a journal");
  if (uint64_t(status.st_size) + line.size() > maxJournalBytes)
    return Error::success();
  // In one piece, or not at all: what is torn is left out by who reads it.
  if (::write(journal->get(), line.data(), line.size()) < 0)
    return failure(errnoAsErrorCode(), "cannot write a journal");
  return Error::success();
}

void DirectoryStore::removeJournal(StringRef name) {
  Expected<Descriptor> races = openPart(racesPart);
  if (!races)
    return consumeError(races.takeError());
  if (isValidFileName(name))
    (void)::unlinkat(races->get(), (name + ".journal").str().c_str(), 0);
}

void DirectoryStore::clearRaces() { removeOlder(racesPart, {}); }
