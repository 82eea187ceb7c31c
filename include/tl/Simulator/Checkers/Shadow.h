//===- Shadow.h - What has happened to each byte ----------------*- C++ -*-===//
//
// Beside each byte of a memory: the last write to it, and the reads since, as
// far as they do not follow from each other. Bytes that have always been
// touched together share a cell. Memory is divided into granules of 16 bytes,
// and a granule into cells once an access touches a part of it.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_CHECKERS_SHADOW_H
#define TL_SIMULATOR_CHECKERS_SHADOW_H

#include "tl/Simulator/Checkers/BlockOrder.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Compiler.h"
#include <algorithm>
#include <memory>
#include <unordered_map>

namespace tl::sim {

/// Accesses of some bytes.
class Cell {
public:
  /// Whether a report may tell the one instruction for the other.
  using AreAlike = llvm::function_ref<bool(InstructionId, InstructionId)>;

  Cell() = default;
  Cell(const Cell &other)
      : write(other.write), read(other.read), plain(other.plain),
        more(other.more ? std::make_unique<List>(*other.more) : nullptr) {}
  Cell &operator=(const Cell &other) {
    write = other.write;
    read = other.read;
    plain = other.plain;
    more = other.more ? std::make_unique<List>(*other.more) : nullptr;
    return *this;
  }

  /// The last write, or none.
  const Record &getWrite() const { return write; }
  /// A read since, or none.
  const Record &getRead() const { return read; }
  /// An access that is not atomic for other blocks, before the last write,
  /// which is; or none. For this block it matters no more.
  const Record &getPlain() const { return plain; }

  template <typename Body>
  void forEachWrite(Body body) const {
    if (!write.exists())
      return;
    body(write);
    if (more)
      for (const Record &record : *more)
        if (record.writes())
          body(record);
  }
  template <typename Body>
  void forEachRead(Body body) const {
    if (!read.exists())
      return;
    body(read);
    if (more)
      for (const Record &record : *more)
        if (!record.writes())
          body(record);
  }

  /// A write that all accesses here come before.
  void setWrite(const Record &record) {
    // A plain write races with all that other blocks do, as earlier ones would.
    if (record.isAtomicForBlocks())
      keepPlain();
    else
      plain = Record();
    write = record;
    read = Record();
    if (more)
      more->clear();
  }
  /// A write that nothing orders with the last one, and that is no race with
  /// it: of the same value, or atomic like that one.
  void addWrite(const Record &record, AreAlike areAlike);
  void addRead(const Record &record, AreAlike areAlike) {
    if (!read.exists())
      read = record;
    else if (!merge(read, record, areAlike))
      addToList(record, areAlike);
  }

  /// Whether there is nothing besides the last write and one read.
  bool isPlain() const { return !more || more->empty(); }
  bool hasSameAs(const Cell &other) const {
    return isPlain() && other.isPlain() && write == other.write &&
           read == other.read && plain == other.plain;
  }

private:
  using List = llvm::SmallVector<Record, 4>;

  /// Takes `record` in if it follows from one of the same thread or is one.
  static bool merge(Record &known, const Record &record, AreAlike areAlike) {
    if (known.warp != record.warp || known.flags != record.flags)
      return false;
    // Who knows of what a thread did last knows of what it did before.
    bool follows = !(known.lanes & ~record.lanes) && !record.isInAnyOrder();
    // Lanes that did it elsewhere are told by their own place.
    bool isSame = known.time == record.time &&
                  (known.instruction == record.instruction ||
                   areAlike(known.instruction, record.instruction));
    if (!isSame && !follows)
      return false;
    LaneMask lanes = known.lanes | record.lanes;
    known = record;
    known.lanes = lanes;
    return true;
  }
  void addToList(const Record &record, AreAlike areAlike);
  void keepPlain();

  Record write, read, plain;
  std::unique_ptr<List> more;
};

/// Cells of a memory. A `CellTy` says whether it is the same as another one, as
/// far as that is known.
template <typename CellTy>
class Shadow {
public:
  /// Calls `body(cell, address, bytes)` for each of the cells that make up the
  /// bytes.
  template <typename Body>
  void visit(uint64_t address, uint32_t bytes, Body body) {
    uint64_t end = address + bytes;
    while (address < end) {
      uint64_t base = address & ~uint64_t(kGranule - 1);
      uint64_t next = std::min(end, base + kGranule);
      visitGranule(getGranule(base), base, address, next, body);
      address = next;
    }
  }

  /// Calls `body(cell, address, bytes, number)` for each of the cells that make
  /// up `count` elements of `width` bytes, a power of two, with the number of
  /// the element. No cell has bytes of two elements.
  template <typename Body>
  void visitElements(uint64_t address, uint32_t width, uint32_t count,
                     Body body) {
    uint64_t end = address + uint64_t(width) * count, at = address;
    while (at < end) {
      uint64_t base = at & ~uint64_t(kGranule - 1);
      uint64_t next = std::min(end, base + kGranule);
      Granule &granule = getGranule(base);
      divideFor(granule, (at - base) | (next - base) | width | kGranule);
      if (!granule.isDivided()) {
        body(granule.whole, base, kGranule, (base - address) / width);
      } else {
        unsigned size = granule.size();
        CellTy *cell = &granule.parts[(at - base) >> granule.shift];
        for (; at < next; at += size)
          body(*cell++, at, size, (at - address) / width);
      }
      at = next;
    }
  }

  /// Calls `body(cell, address, bytes)` for all that was ever touched.
  template <typename Body>
  void forEach(Body body) const {
    for (const auto &[number, page] : pages)
      for (unsigned i = 0; i < kPage / kGranule; ++i) {
        const Granule &granule = page->granules[i];
        uint64_t base = number * kPage + i * kGranule;
        unsigned size = granule.size();
        for (unsigned j = 0; j < kGranule / size; ++j)
          body(granule.isDivided() ? granule.parts[j] : granule.whole,
               base + j * size, size);
      }
  }

private:
  static constexpr unsigned kWhole = 4, kGranule = 1 << kWhole, kPage = 1024;

  struct Granule {
    CellTy whole;
    /// One for each `size` bytes, if it is divided. What was divided once stays
    /// here to be divided again: wide stores and narrow loads take turns.
    std::unique_ptr<CellTy[]> parts;
    uint8_t shift = kWhole;
    /// What there are `parts` for.
    uint8_t room = kWhole;

    unsigned size() const { return 1u << shift; }
    bool isDivided() const { return shift != kWhole; }
  };
  struct Page {
    std::array<Granule, kPage / kGranule> granules;
  };

  Granule &getGranule(uint64_t base) {
    uint64_t number = base / kPage;
    auto &[known, page] = recent[number % recent.size()];
    if (LLVM_UNLIKELY(known != number || !page)) {
      known = number;
      page = findPage(number);
    }
    return page->granules[base % kPage / kGranule];
  }

  Page *findPage(uint64_t number) {
    std::unique_ptr<Page> &page = pages[number];
    if (!page)
      page = std::make_unique<Page>();
    return page.get();
  }

  template <typename Body>
  void visitGranule(Granule &granule, uint64_t base, uint64_t begin,
                    uint64_t end, Body body) {
    divideFor(granule, (begin - base) | (end - base) | kGranule);
    if (!granule.isDivided())
      return body(granule.whole, base, kGranule);
    unsigned size = granule.size();
    for (uint64_t at = begin; at < end; at += size)
      body(granule.parts[(at - base) / size], at, size);
    if (end - begin == kGranule)
      unite(granule);
  }

  /// Makes cells so small that all of `sizes`, which are or-ed, are multiples.
  static void divideFor(Granule &granule, uint64_t sizes) {
    unsigned shift = llvm::countr_zero(sizes);
    if (LLVM_UNLIKELY(shift < granule.shift))
      divide(granule, shift);
  }

  static void divide(Granule &granule, unsigned shift) {
    unsigned count = kGranule >> shift;
    if (granule.isDivided() || granule.room > shift) {
      auto parts = std::make_unique<CellTy[]>(count);
      if (granule.isDivided())
        for (unsigned i = 0; i < count; ++i)
          parts[i] = granule.parts[(i << shift) >> granule.shift];
      granule.parts = std::move(parts);
      granule.room = shift;
    }
    if (!granule.isDivided())
      std::fill_n(granule.parts.get(), count, granule.whole);
    granule.shift = shift;
  }

  /// Makes one cell of a granule again if its parts have become equal.
  static void unite(Granule &granule) {
    unsigned count = kGranule >> granule.shift;
    for (unsigned i = 1; i < count; ++i)
      if (!granule.parts[i].hasSameAs(granule.parts[0]))
        return;
    granule.whole = granule.parts[0];
    granule.shift = kWhole;
  }

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
  /// Some that were asked for lately, with their numbers: accesses of several
  /// places take turns.
  std::array<std::pair<uint64_t, Page *>, 32> recent = {};
};

} // namespace tl::sim

#endif // TL_SIMULATOR_CHECKERS_SHADOW_H
