//===- Usage.cpp - How much a directory holds -----------------------------===//
//
// The file holds a measured total, then one line for each insertion since.
// Lines are appended by one write each, which needs no lock on a local disk.
// What is lost elsewhere, or when a process dies between an insertion and its
// line, is found by the next measurement; one is due when the file has grown
// long.
//
//===----------------------------------------------------------------------===//

#include "Usage.h"

#include "llvm/ADT/Twine.h"

#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
using namespace tl::cache;

/// Longer files are replaced by a new measurement: a few thousand insertions.
static constexpr uint64_t maxLength = 64 << 10;

static constexpr char fileName[] = "usage";
static constexpr StringLiteral measuredPrefix = "measured ";
static constexpr StringLiteral addedPrefix = "+";

/// The sum of the numbers in `text`; none if it is not what is written here.
/// Every line says what it is, so that one that was cut short and ran together
/// with the next is not taken for another number.
static std::optional<uint64_t> sumLines(StringRef text) {
  uint64_t total = 0;
  StringRef prefix = measuredPrefix;
  do {
    auto [line, rest] = text.split('\n');
    uint64_t number;
    if (!line.consume_front(prefix) || line.getAsInteger(10, number))
      return std::nullopt;
    total += number;
    text = rest;
    prefix = addedPrefix;
  } while (!text.empty());
  return total;
}

std::optional<uint64_t> Usage::add(uint64_t bytes) const {
  ErrorOr<Descriptor> file = openWritable(directory, fileName, O_APPEND, 0);
  if (!file)
    return std::nullopt;
  std::string line = (addedPrefix + Twine(bytes) + "\n").str();
  struct stat status;
  // Not a file that has another name elsewhere.
  if (::fstat(file->get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_nlink != 1)
    return std::nullopt;
  if (::write(file->get(), line.data(), line.size()) != ssize_t(line.size()) ||
      ::lseek(file->get(), 0, SEEK_SET) != 0 ||
      ::fstat(file->get(), &status) != 0 ||
      uint64_t(status.st_size) > maxLength)
    return std::nullopt;
  ErrorOr<std::string> text = readFile(*file, status.st_size);
  return text ? sumLines(*text) : std::nullopt;
}

void Usage::set(uint64_t total) const {
  ErrorOr<Descriptor> tmp = openDirectory(directory, "tmp");
  if (!tmp)
    return forget();
  std::string name = uniqueName();
  std::string text = (measuredPrefix + Twine(total) + "\n").str();
  // A total that cannot be written stays unknown and is measured again.
  if (writeNewFile(*tmp, name, text, modes.writable) ||
      ::renameat(tmp->get(), name.c_str(), directory.get(), fileName) != 0)
    forget();
}

void Usage::forget() const { (void)::unlinkat(directory.get(), fileName, 0); }
