//===- Elements.cpp - Bytes as the program calls them ---------------------===//
//
// Several tiles may have a byte, at different times. Of those an instruction
// means one that its statement uses; if what it touches is in none of them, the
// index was wrong, or it is memory of the compiler's own.
//
//===----------------------------------------------------------------------===//

#include "tl/Simulator/Checkers/Elements.h"

#include "tl/Simulator/Program.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tl::sim;
using llvm::formatv;

using Coordinates = llvm::SmallVector<int64_t>;

static std::string join(llvm::ArrayRef<int64_t> numbers) {
  return llvm::join(
      llvm::map_range(numbers,
                      [](int64_t number) { return std::to_string(number); }),
      ", ");
}

/// "bytes 4 to 7 of `A`".
static std::string describeBytes(uint64_t begin, uint32_t bytes,
                                 const std::string &of) {
  if (bytes == 1)
    return formatv("byte {0} of {1}", begin, of);
  return formatv("bytes {0} to {1} of {2}", begin, begin + bytes - 1, of);
}

/// "`S[3, 4]`"; a tile without dimensions is its only element.
static std::string nameElement(const std::string &name,
                               llvm::ArrayRef<int64_t> coordinates) {
  if (coordinates.empty())
    return "`" + name + "`";
  return "`" + name + "[" + join(coordinates) + "]`";
}

/// The first and the last of the elements that have bytes from `begin` on,
/// which `find` gives for one; nothing if a byte is of none.
template <typename Find>
static std::optional<std::pair<Coordinates, Coordinates>>
findEnds(int64_t begin, uint32_t bytes, uint32_t elementBytes, Find find) {
  std::optional<std::pair<Coordinates, Coordinates>> ends;
  int64_t end = begin + bytes;
  for (int64_t at = begin; at < end;
       at += elementBytes - at % int64_t(elementBytes)) {
    std::optional<Coordinates> element = find(at);
    if (!element)
      return std::nullopt;
    if (!ends)
      ends = {*element, *element};
    ends->first = std::min(ends->first, *element);
    ends->second = std::max(ends->second, *element);
  }
  return ends;
}

static std::string
nameElements(const std::string &name,
             const std::pair<Coordinates, Coordinates> &ends) {
  std::string text = nameElement(name, ends.first);
  if (ends.first != ends.second)
    text += " to " + nameElement(name, ends.second);
  return text;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

static int64_t getArenaOffset(uint64_t address) {
  return int64_t(address) - SharedMemory::kBase;
}

static bool contains(const Tile &tile, int64_t offset) {
  return offset >= tile.offset && offset - tile.offset < tile.layout.getBytes();
}

/// What bytes from `offset` on are in `tile`, which has the first of them.
static std::string nameInTile(const Tile &tile, int64_t offset,
                              uint32_t bytes) {
  auto ends =
      findEnds(offset - tile.offset, bytes, tile.elementBytes,
               [&](int64_t at) { return tile.layout.getCoordinates(at); });
  if (!ends)
    return describeBytes(offset - tile.offset, bytes, "`" + tile.name + "`");
  if (!tile.isRing)
    return nameElements(tile.name, *ends);
  int64_t first = ends->first.front(), last = ends->second.front();
  ends->first.erase(ends->first.begin());
  ends->second.erase(ends->second.begin());
  std::string slots = first == last
                          ? formatv(" in slot {0}", first).str()
                          : formatv(" in slots {0} to {1}", first, last).str();
  return nameElements(tile.name, *ends) + slots;
}

/// The tiles that the statement of an instruction uses.
static llvm::SmallVector<const Tile *> findUsed(const Program *program,
                                                InstructionId instruction) {
  llvm::SmallVector<const Tile *> used;
  if (program)
    for (uint32_t number : program->getPlace(instruction).tiles)
      used.push_back(&program->tiles[number]);
  return used;
}

/// "`S` and `R`".
static std::string nameTiles(llvm::ArrayRef<const Tile *> tiles) {
  return llvm::join(
      llvm::map_range(tiles,
                      [](const Tile *tile) { return "`" + tile->name + "`"; }),
      " and ");
}

std::string Elements::describeShared(InstructionId instruction,
                                     const Span &span) const {
  int64_t offset = getArenaOffset(span.address);
  std::string asBytes = describeBytes(offset, span.bytes, "shared memory");
  auto hasIt = [&](const Tile *tile) { return contains(*tile, offset); };
  llvm::SmallVector<const Tile *> used = findUsed(program, instruction);
  if (auto found = llvm::find_if(used, hasIt); found != used.end())
    return (*found)->name.empty() ? asBytes
                                  : nameInTile(**found, offset, span.bytes);
  llvm::SmallVector<const Tile *> others;
  if (program)
    for (const Tile &tile : program->tiles)
      if (hasIt(&tile))
        others.push_back(&tile);
  bool isKnown = others.size() == 1 && !others.front()->name.empty();
  std::string text =
      isKnown ? nameInTile(*others.front(), offset, span.bytes) : asBytes;
  llvm::erase_if(used, [](const Tile *tile) { return tile->name.empty(); });
  if (!used.empty())
    text += ", outside of " + nameTiles(used);
  return text;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// The element that has the byte at `address`, or nothing. Outside of the
/// tensor the index of its widest dimension is out of bounds, if `goesOutside`.
static std::optional<Coordinates> findElement(const GlobalMemory::Range &range,
                                              uint64_t address,
                                              bool goesOutside = false) {
  if (range.elementBytes == 0)
    return std::nullopt;
  int64_t rest = int64_t(address - range.begin);
  Coordinates element(range.dims.size(), 0);
  llvm::SmallVector<size_t> order =
      llvm::to_vector(llvm::seq<size_t>(0, range.dims.size()));
  auto getStep = [&](size_t dim) { return std::abs(range.dims[dim].stride); };
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(getStep(b), a) < std::pair(getStep(a), b);
  });
  for (size_t dim : order) {
    auto [extent, stride] = range.dims[dim];
    if (stride == 0 || (extent <= 1 && !goesOutside))
      continue;
    int64_t step = getStep(dim), digit = rest / step - (rest % step < 0);
    if (!std::exchange(goesOutside, false))
      digit = std::min(digit, extent - 1);
    rest -= digit * step;
    element[dim] = stride < 0 ? extent - 1 - digit : digit;
  }
  if (rest < 0 || rest >= range.elementBytes)
    return std::nullopt;
  return element;
}

std::string Elements::describeTensor(const Span &span) const {
  const GlobalMemory::Range *range =
      memory ? memory->find(span.address, span.bytes) : nullptr;
  if (!range)
    return describeBytes(span.address, span.bytes, "device memory");
  int64_t begin = int64_t(span.address - range->begin);
  if (range->elementBytes)
    if (auto ends =
            findEnds(begin, span.bytes, range->elementBytes, [&](int64_t at) {
              return findElement(*range, range->begin + at);
            }))
      return nameElements(range->name, *ends);
  return describeBytes(begin, span.bytes, "`" + range->name + "`");
}

//===----------------------------------------------------------------------===//
// What others ask for
//===----------------------------------------------------------------------===//

std::string Elements::describe(InstructionId instruction,
                               const Span &span) const {
  switch (span.space) {
  case Space::Shared:
    return describeShared(instruction, span);
  case Space::Global:
    return describeTensor(span);
  case Space::Local:
    return "local memory";
  }
  llvm_unreachable("all spaces are handled");
}

/// "outside of its shape (128)".
static std::string describeOutsideOf(const std::string &element, uint32_t bytes,
                                     llvm::ArrayRef<int64_t> shape) {
  return formatv("{0} bytes at {1}, outside of its shape ({2})", bytes, element,
                 join(shape));
}

/// The tiles that bytes behind the end of shared memory may have been meant
/// for: that which has the first of them, or all in front of it.
static llvm::SmallVector<const Tile *>
findMeant(const Program *program, InstructionId instruction, int64_t offset) {
  llvm::SmallVector<const Tile *> tiles = findUsed(program, instruction);
  if (program && tiles.empty())
    for (const Tile &tile : program->tiles)
      tiles.push_back(&tile);
  llvm::erase_if(tiles, [&](const Tile *tile) {
    return tile->name.empty() || tile->offset > offset;
  });
  auto found = llvm::find_if(
      tiles, [&](const Tile *tile) { return contains(*tile, offset); });
  if (found != tiles.end())
    return {*found};
  return tiles;
}

std::string Elements::describeOutside(InstructionId instruction,
                                      const Span &span,
                                      uint32_t sharedBytes) const {
  if (span.space == Space::Local)
    return formatv("{0} bytes of the thread's local memory", span.bytes);
  if (span.space == Space::Shared) {
    int64_t offset = getArenaOffset(span.address);
    std::string where = formatv("{0} bytes at byte {1} of {2} bytes of shared "
                                "memory",
                                span.bytes, offset, sharedBytes);
    llvm::SmallVector<const Tile *> meant =
        findMeant(program, instruction, offset);
    if (meant.empty())
      return where;
    // Which one's index is wrong is not known.
    if (meant.size() > 1)
      return where + ", outside of " + nameTiles(meant);
    const Tile *tile = meant.front();
    const layout::SharedLayout &layout = tile->layout;
    int64_t at = offset - tile->offset;
    if (at < layout.getBytes())
      return formatv("{0} bytes from {1} on, beyond the end of shared memory",
                     span.bytes, nameInTile(*tile, offset, 1));
    // Rows go on behind the last one; panels and slots do not.
    if (!layout.isTile() || layout.getPanels() != 1 || tile->shape.empty())
      return formatv(
          "{0}, behind the end of `{1}`, whose shape is ({2})", where,
          tile->name,
          join(llvm::ArrayRef(tile->shape).drop_front(tile->isRing)));
    at ^= at / 8 & layout.getSwizzleMask();
    Coordinates element(tile->shape.size());
    int64_t number = at / tile->elementBytes;
    for (size_t dim = tile->shape.size(); dim-- > 1;) {
      element[dim] = number % tile->shape[dim];
      number /= tile->shape[dim];
    }
    element[0] = number;
    return describeOutsideOf(nameElement(tile->name, element), span.bytes,
                             tile->shape);
  }
  const GlobalMemory::Range *range =
      memory ? memory->findNearest(span.address) : nullptr;
  if (!range)
    return formatv("{0} bytes at {1:x} of device memory", span.bytes,
                   span.address);
  if (auto element = findElement(*range, span.address, /*goesOutside=*/true);
      element && !element->empty())
    return describeOutsideOf(
        nameElement(range->name, *element), span.bytes,
        llvm::map_to_vector(range->dims, [](const GlobalMemory::Dim &dim) {
          return dim.extent;
        }));
  return formatv("{0} bytes at byte {1} of `{2}`, which has {3}", span.bytes,
                 int64_t(span.address - range->begin), range->name,
                 range->end - range->begin);
}

std::string Elements::describeMbarrier(InstructionId instruction,
                                       uint64_t address) const {
  constexpr uint32_t bytes = 8;
  std::string text =
      describeShared(instruction, {Space::Shared, address, bytes});
  if (text.front() == '`')
    return "the mbarrier " + text;
  return formatv("the mbarrier at byte {0} of shared memory",
                 getArenaOffset(address));
}
