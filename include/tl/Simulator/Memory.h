//===- Memory.h - Memory of a simulated launch ------------------*- C++ -*-===//
//
// Device memory is the host's: the tensors of a call stay where they are, and
// an address is one of the process. What a kernel may touch of it is a list of
// ranges: those of the call's tensors, and those of tensors at addresses, which
// are known when the kernel makes them. Shared memory is an array for each
// block, whose addresses begin at `SharedMemory::kBase`, so that no valid one
// is zero.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_MEMORY_H
#define TL_SIMULATOR_MEMORY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tl::sim {

enum class Space : uint8_t { Global, Shared, Local };

/// Adjacent bytes of one space.
struct Span {
  Space space = Space::Global;
  uint64_t address = 0;
  uint32_t bytes = 0;
};

/// Shared memory of one block.
class SharedMemory {
public:
  /// A multiple of 1024, as kernels rely on.
  static constexpr uint32_t kBase = 1024;

  explicit SharedMemory(uint32_t size) : bytes(size) {}

  uint32_t size() const { return bytes.size(); }

  /// Whether all `count` bytes at `address` are the block's.
  bool contains(uint64_t address, uint64_t count) const {
    return address >= kBase && address - kBase <= bytes.size() &&
           count <= bytes.size() - (address - kBase);
  }

  /// The byte at `address`, of which the caller knows that it is contained.
  uint8_t *at(uint64_t address) { return bytes.data() + (address - kBase); }
  const uint8_t *at(uint64_t address) const {
    return bytes.data() + (address - kBase);
  }

private:
  std::vector<uint8_t> bytes;
};

/// What a launch may touch of the process's memory. Blocks that run at the same
/// time may add to it.
class GlobalMemory {
public:
  struct Dim {
    int64_t extent = 0;
    /// In bytes; may be zero or negative.
    int64_t stride = 0;
  };

  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
    /// What the user calls it.
    std::string name;
    /// Blocks and threads race on it on purpose.
    bool isRecord = false;
    /// Of the tensor that it is, or zero if that is not known.
    uint32_t elementBytes = 0;
    std::vector<Dim> dims = {};
  };

  /// `ranges` may touch and overlap.
  explicit GlobalMemory(std::vector<Range> ranges);
  GlobalMemory(GlobalMemory &&);
  ~GlobalMemory();

  /// Lets the kernel touch `range`, too. False if not all of it is memory of
  /// the process.
  bool add(Range range) const;

  /// Whether one range holds all `count` bytes at `address`.
  bool contains(uint64_t address, uint64_t count) const {
    return find(address, count) != nullptr;
  }

  /// The range that holds all `count` bytes at `address`, or null.
  const Range *find(uint64_t address, uint64_t count) const;

  /// Those of the beginning, by where they begin.
  llvm::ArrayRef<Range> getRanges() const { return ranges; }

  /// The range that ends nearest to `address` or begins there, or null if there
  /// is none: what an access out of bounds was meant for.
  const Range *findNearest(uint64_t address) const;

  /// A copy of all bytes, and what puts them back. What is added later is
  /// copied when it is.
  std::vector<std::vector<uint8_t>> save() const;
  void restore(const std::vector<std::vector<uint8_t>> &saved) const;

  static uint8_t *at(uint64_t address) {
    return reinterpret_cast<uint8_t *>(address);
  }

private:
  struct Added;

  /// By where they begin.
  std::vector<Range> ranges;
  std::unique_ptr<Added> added;
};

} // namespace tl::sim

#endif // TL_SIMULATOR_MEMORY_H
