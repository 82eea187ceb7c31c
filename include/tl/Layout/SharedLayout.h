//===- SharedLayout.h - Tiles in shared memory ------------------*- C++ -*-===//
//
// Where the elements of a tile lie in shared memory: the one place that knows.
// Addresses of threads, boxes of the bulk copy engine, descriptors of wgmma and
// the sizes of buffers and ring slots are all derived from it.
//
// A tile is a matrix: its columns are its last dimension, its rows all others
// together, in row-major order. It is cut into panels of `chunk` columns, one
// after another, each of them row-major. A swizzle permutes the 16-byte units
// of a panel's lines of 128 bytes, by bits of the address alone (PTX ISA,
// "Tensor swizzling modes"), so that the units of one column lie in different
// banks.
//
// A buffer may be several tiles: its first `slotDims` dimensions count slots,
// each of them laid out and aligned as a tile of its own.
//
// What must hold for address arithmetic relative to the tile to agree with the
// hardware, which sees addresses: a swizzled panel is a whole number of the
// swizzle's periods (8 rows), and the tile starts at a multiple of one. Several
// panels without a swizzle begin at multiples of 128 bytes, as boxes of the
// bulk copy engine have to.
// `verify` checks the first; `getAlignment` and `getSlotBytes` ask for the
// second.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LAYOUT_SHAREDLAYOUT_H
#define TL_LAYOUT_SHAREDLAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/LogicalResult.h"
#include <cstdint>
#include <optional>
#include <string>

namespace tl::layout {

class SharedLayout {
public:
  /// A tile of `shape` whose elements take `elementBytes`. `swizzle` is 0, 32,
  /// 64 or 128 bytes. The first `slotDims` dimensions of `shape` count tiles.
  SharedLayout(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
               int64_t swizzle, int64_t chunk, int64_t slotDims = 0);

  /// The widest swizzle that fits a tile, 0 if none does: its rows must be a
  /// whole number of panels, and a panel a whole number of periods.
  static int64_t chooseSwizzle(llvm::ArrayRef<int64_t> shape,
                               int64_t elementBytes);

  /// Succeeds if the panels cover the tile and repeat with the swizzle.
  llvm::LogicalResult verify(std::string &why) const;

  int64_t getSwizzle() const { return swizzle; }
  int64_t getChunk() const { return chunk; }
  /// Rows and columns of one tile.
  int64_t getRows() const { return rows; }
  int64_t getColumns() const { return columns; }
  /// True if it is one tile, not slots with one in each.
  bool isTile() const { return slotDims == 0; }
  int64_t getSlotDims() const { return slotDims; }
  int64_t getPanels() const { return columns / chunk; }

  /// Bytes from one row of a panel to the next, from one panel to the next, and
  /// of everything.
  int64_t getRowBytes() const { return chunk * elementBytes; }
  int64_t getPanelBytes() const { return rows * getRowBytes(); }
  int64_t getBytes() const;

  /// What the address of a tile must be a multiple of.
  int64_t getAlignment() const;

  /// Bytes from where this lies to the next one like it in a ring, so that each
  /// tile is aligned for the bulk copy engine and begins a period of the
  /// swizzle.
  int64_t getSlotBytes() const { return align(getBytes()); }

  /// A part of an element's offset: `index[dim] / divisor % extent * bytes`. An
  /// extent of 0 says that there is no remainder to take.
  struct Term {
    int64_t dim;
    int64_t divisor;
    int64_t extent;
    int64_t bytes;
  };

  /// The terms whose sum is an element's offset before the swizzle.
  llvm::SmallVector<Term> getTerms() const;

  /// The bits of `offset / 8` that the swizzle XORs into `offset`.
  int64_t getSwizzleMask() const { return swizzle ? swizzle - 16 : 0; }

  /// The byte offset of an element from the start of the tile.
  int64_t getOffset(llvm::ArrayRef<int64_t> coordinates) const;

  /// The coordinates of the element that has the byte at `offset` from the
  /// start of the tile, the inverse of `getOffset`; none if it is of no
  /// element.
  std::optional<llvm::SmallVector<int64_t>>
  getCoordinates(int64_t offset) const;

  /// The box of one panel of a tile for the bulk copy engine, innermost
  /// dimension first.
  /// The engine fills it in row-major order, which is that of a panel.
  llvm::SmallVector<int64_t> getBox() const;

  /// Where, before the swizzle, a row and a column start. For matrix
  /// descriptors: both are whole units of 16 bytes.
  int64_t getRowOffset(int64_t row) const { return row * getRowBytes(); }
  int64_t getColumnOffset(int64_t column) const;

  /// The matrix descriptor of a tile for wgmma without its address (PTX ISA,
  /// "Matrix Descriptor Format"). `kMajor` says that K runs along the rows.
  uint64_t getMatrixDescriptor(bool kMajor) const;

private:
  int64_t getTileBytes() const { return rows * columns * elementBytes; }
  int64_t align(int64_t bytes) const;

  llvm::SmallVector<int64_t> shape;
  int64_t elementBytes, swizzle, chunk, slotDims, rows, columns;
};

} // namespace tl::layout

#endif // TL_LAYOUT_SHAREDLAYOUT_H
