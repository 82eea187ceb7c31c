//===- Wgmma.cpp - Warp-group matrix multiplication -----------------------===//
//
// Where the elements of a factor lie is what its matrix descriptor says (PTX
// ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout", "Strides",
// "Canonical Layouts" and "Matrix Descriptor Format"). In units of 16 bytes a
// factor is made of atoms: 8 lines of 1, 2, 4 or 8 units, by the width of the
// swizzle, the lines adjacent. K-major, lines are rows or columns of the
// product, and an instruction takes 2 units of each; MN-major, lines are
// numbers of K.
//
// The swizzle exchanges the units of lines of 128 bytes by bits of the address
// alone, wherever the factor begins.
//
//===----------------------------------------------------------------------===//

#include "Multiply.h"
#include "tl/Simulator/Instructions.h"
#include <cstring>

using namespace tl::sim;

static constexpr unsigned kUnit = 16;
static constexpr unsigned kAtomLines = 8;
/// Bytes of K that an instruction takes from each row of a factor.
static constexpr unsigned kDepthBytes = 32;
static constexpr unsigned kRowsOfWarp = 16;
static constexpr unsigned kMostColumns = 256;

static unsigned getBytes(MmaType type) {
  unsigned bytes = 0;
  visitFactors(type, [&](auto constant) {
    bytes = Factors<decltype(constant)::value>::kBytes;
  });
  return bytes;
}

namespace {

class Descriptor {
public:
  explicit Descriptor(uint64_t bits)
      : start(getField(bits, 0)), leading(getField(bits, 16)),
        stride(getField(bits, 32)), base(bits >> 49 & 7) {
    static constexpr unsigned widths[] = {1, 8, 4, 2};
    units = widths[bits >> 62];
  }

  /// Bits between the fields.
  static bool hasReservedBits(uint64_t bits) {
    return (bits & 0x3FF1'C000'C000'C000) != 0;
  }

  uint32_t getStart() const { return start; }
  bool isSwizzled() const { return units != 1; }
  bool hasBase() const { return base != 0; }
  unsigned getLineBytes() const { return units * kUnit; }
  /// Whether it begins in one of the first 128 bytes of the pattern.
  bool beginsWithPattern() const {
    return (((start >> 7) - base) & (units - 1)) == 0;
  }

  /// Address of unit `unit` (0 or 1) of K of row or column `mn`.
  uint32_t getKMajor(unsigned mn, unsigned unit) const {
    uint32_t linear = start + mn / kAtomLines * stride +
                      mn % kAtomLines * getLineBytes() +
                      unit * (isSwizzled() ? kUnit : leading);
    return swizzle(linear);
  }

  /// Address of the unit that holds number `k` of K of the rows or columns
  /// from `unit` times as many as a unit holds on.
  uint32_t getMNMajor(unsigned unit, unsigned k) const {
    uint32_t linear = start + k % kAtomLines * getLineBytes() +
                      unit % units * kUnit +
                      unit / units * (isSwizzled() ? leading : stride) +
                      k / kAtomLines * (isSwizzled() ? stride : leading);
    return swizzle(linear);
  }

private:
  static uint32_t getField(uint64_t bits, unsigned shift) {
    return uint32_t(bits >> shift & 0x3FFF) * kUnit;
  }

  /// Bits 4 and up are exchanged by as many from bit 7 on, which count lines of
  /// 128 bytes from where the pattern begins: a multiple of 1024 bytes, or as
  /// many lines after one as the base offset says.
  uint32_t swizzle(uint32_t address) const {
    uint32_t lines = (address >> 7) - base;
    return address ^ (lines & (units - 1)) << 4;
  }

  uint32_t start, leading, stride;
  uint32_t base;
  unsigned units;
};

/// A part of a factor: `count` rows of A or columns of B, from `first` on.
struct Factor {
  Descriptor descriptor;
  bool mnMajor;
  unsigned first, count;
};

} // namespace

static Factor getRows(const Wgmma &wgmma, unsigned warpInGroup) {
  return {Descriptor(wgmma.a), wgmma.aMNMajor, warpInGroup * kRowsOfWarp,
          kRowsOfWarp};
}

static Factor getColumns(const Wgmma &wgmma) {
  return {Descriptor(wgmma.b), wgmma.bMNMajor, 0, wgmma.n};
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static std::optional<Fault> makeFault(const char *text, uint32_t address = 0) {
  return Fault{Fault::Kind::Invalid, {Space::Shared, address, 0}, 0, text};
}

/// PTX ISA, "wgmma.mma_async", tables of shapes and types.
static std::optional<Fault> checkShape(const Wgmma &wgmma) {
  bool isInteger = wgmma.type == MmaType::S8 || wgmma.type == MmaType::U8;
  if (wgmma.n % 8 != 0 || wgmma.n == 0 || wgmma.n > kMostColumns)
    return makeFault("N of wgmma must be a multiple of 8 from 8 to 256");
  if (isInteger && wgmma.n > 32 && wgmma.n % 16 != 0)
    return makeFault("N of an integer wgmma above 32 must be a multiple of 16");
  if (isInteger != (wgmma.sum == SumType::I32))
    return makeFault("wgmma has no such pair of types");
  if (wgmma.typeOfB && *wgmma.typeOfB != wgmma.type &&
      wgmma.typeOfB != getOther(wgmma.type))
    return makeFault("wgmma has no such pair of types");
  if (wgmma.sum == SumType::F16 &&
      (wgmma.type == MmaType::BF16 || wgmma.type == MmaType::TF32))
    return makeFault("wgmma has no such pair of types");
  if ((wgmma.aMNMajor || wgmma.bMNMajor) && getBytes(wgmma.type) != 2)
    return makeFault("only factors of 16 bits may be MN-major");
  if (wgmma.hasRegisterA && wgmma.aMNMajor)
    return makeFault("a factor in registers is not MN-major");
  return std::nullopt;
}

/// `mn` is the rows or columns of the whole factor.
static std::optional<Fault> checkDescriptor(uint64_t bits, bool mnMajor,
                                            unsigned mn, unsigned bytes) {
  Descriptor descriptor(bits);
  uint32_t start = descriptor.getStart();
  if (Descriptor::hasReservedBits(bits))
    return makeFault("a matrix descriptor has reserved bits set", start);
  if (!descriptor.isSwizzled())
    return descriptor.hasBase()
               ? makeFault("a matrix descriptor without a swizzle has a base "
                           "offset",
                           start)
               : std::nullopt;
  // PTX ISA, "Matrix Descriptor Format": the base offset is zero only if the
  // pattern begins at a multiple of its size, and says else where it begins.
  if (!descriptor.beginsWithPattern())
    return Fault{Fault::Kind::Misaligned,
                 {Space::Shared, start, kUnit},
                 0,
                 "a factor of `wgmma` begins with another line of its swizzle "
                 "than the first one"};
  // The first line of the first atom would go on in the second one.
  unsigned needed =
      mnMajor ? std::min(mn * bytes, descriptor.getLineBytes()) : kDepthBytes;
  if (start % descriptor.getLineBytes() + needed > descriptor.getLineBytes())
    return makeFault("a factor begins in the middle of a line of its swizzle, "
                     "and does not end with it",
                     start);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

/// Calls `visit` with the address of each unit of the factor, its first row or
/// column and its first number of K.
template <typename Visitor>
static void visitUnits(const Factor &factor, unsigned bytes, Visitor visit) {
  unsigned elements = kUnit / bytes;
  if (!factor.mnMajor) {
    for (unsigned i = 0; i < factor.count; ++i)
      for (unsigned unit : {0u, 1u})
        visit(factor.descriptor.getKMajor(factor.first + i, unit), i,
              unit * elements);
    return;
  }
  for (unsigned k = 0; k < kDepthBytes / bytes; ++k)
    for (unsigned i = 0; i < factor.count; i += elements)
      visit(factor.descriptor.getMNMajor((factor.first + i) / elements, k), i,
            k);
}

static std::optional<Fault> addReads(const SharedMemory &shared,
                                     const Factor &factor, unsigned bytes,
                                     llvm::SmallVectorImpl<Span> &reads) {
  std::optional<Fault> fault;
  visitUnits(factor, bytes, [&](uint32_t address, unsigned, unsigned) {
    if (!shared.contains(address, kUnit)) {
      if (!fault)
        fault = {Fault::Kind::OutOfBounds, {Space::Shared, address, kUnit}};
      return;
    }
    // The swizzle leaves what is adjacent in a line adjacent, or exchanges it.
    if (!reads.empty() && reads.back().bytes == kUnit) {
      Span &last = reads.back();
      if (last.address + kUnit == address || address + kUnit == last.address) {
        last = {Space::Shared, std::min<uint64_t>(last.address, address),
                2 * kUnit};
        return;
      }
    }
    reads.push_back({Space::Shared, address, kUnit});
  });
  return fault;
}

std::optional<Fault> tl::sim::wgmmaReads(const SharedMemory &shared,
                                         const Wgmma &wgmma,
                                         unsigned warpInGroup,
                                         llvm::SmallVectorImpl<Span> &reads) {
  unsigned bytes = getBytes(wgmma.type);
  if (auto fault = checkShape(wgmma))
    return fault;
  if (auto fault = checkDescriptor(wgmma.b, wgmma.bMNMajor, wgmma.n, bytes))
    return fault;
  if (!wgmma.hasRegisterA) {
    if (auto fault =
            checkDescriptor(wgmma.a, wgmma.aMNMajor, 4 * kRowsOfWarp, bytes))
      return fault;
    if (auto fault =
            addReads(shared, getRows(wgmma, warpInGroup), bytes, reads))
      return fault;
  }
  return addReads(shared, getColumns(wgmma), bytes, reads);
}

//===----------------------------------------------------------------------===//
// Product
//===----------------------------------------------------------------------===//

/// Calls `set` with the row or column, the number of K and the value of each
/// element, which `decode` makes of its bits.
template <typename Decoder, typename Setter>
static void readFactor(const SharedMemory &shared, const Factor &factor,
                       unsigned bytes, Decoder decode, Setter set) {
  visitUnits(factor, bytes, [&](uint32_t address, unsigned mn, unsigned k) {
    const uint8_t *unit = shared.at(address);
    for (unsigned i = 0; i < kUnit / bytes; ++i) {
      uint32_t bits = 0;
      std::memcpy(&bits, unit + i * bytes, bytes);
      auto value = decode(bits);
      if (factor.mnMajor)
        set(mn + i, k, value);
      else
        set(mn, k + i, value);
    }
  });
}

/// Like `readFactor`, of a warp's rows of A in registers, which lie as those of
/// mma.sync do (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNkK",
/// matrix A): register r is of the upper eight rows if it is odd, and of the
/// second 16 bytes of K from 2 on.
template <MmaType type, typename Setter>
static void readRegisters(const uint32_t *a, Setter set) {
  constexpr unsigned bytes = Factors<type>::kBytes;
  constexpr unsigned perRegister = 4 / bytes;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (unsigned r = 0; r < kFactorRegisters; ++r)
      for (unsigned i = 0; i < perRegister; ++i)
        set(lane / 4 + r % 2 * 8,
            lane % 4 * perRegister + r / 2 * (kUnit / bytes) + i,
            decodeOperand<type>(row(a, r)[lane] >> 8 * bytes * i));
}

/// An accumulator's bits and a row times a column.
template <unsigned depth>
static uint32_t addRow(uint32_t accumulator, const FloatFactor *row,
                       const FloatFactor *column, SumType sum) {
  Products<depth> products;
  for (unsigned k = 0; k < depth; ++k)
    products.add(row[k], column[k]);
  return products.addTo(accumulator, sum, depth == 32 ? kNarrowSum : kWideSum);
}

template <MmaType type>
static void multiplyGroup(const SharedMemory &shared, const Wgmma &wgmma,
                          unsigned warpInGroup, const uint32_t *a,
                          uint32_t *sums) {
  constexpr unsigned depth = kDepthBytes / Factors<type>::kBytes;
  Operand<type> rows[kRowsOfWarp][depth], columns[kMostColumns][depth];
  auto setRow = [&](unsigned m, unsigned k, auto value) { rows[m][k] = value; };
  if (wgmma.hasRegisterA)
    readRegisters<type>(a, setRow);
  else
    readFactor(shared, getRows(wgmma, warpInGroup), Factors<type>::kBytes,
               decodeOperand<type>, setRow);
  bool isSame = wgmma.typeOfB.value_or(type) == type;
  readFactor(
      shared, getColumns(wgmma), Factors<type>::kBytes,
      [&](uint32_t bits) { return decodeOperandB<type>(bits, isSame); },
      [&](unsigned n, unsigned k, auto value) { columns[n][k] = value; });
  for (unsigned line = 0; line < kRowsOfWarp; ++line) {
    // As in mma.m16n8: each 8 columns are 4 elements of a lane, the upper two
    // of rows 8 to 15 (PTX ISA, "Register Fragments for
    // wgmma.mma_async.m64nNkK", matrix D).
    for (unsigned n = 0; n < wgmma.n; ++n) {
      unsigned lane = line % 8 * 4 + n % 8 / 2;
      unsigned element = n / 8 * 4 + line / 8 * 2 + n % 2;
      uint32_t &sum = row(sums, element)[lane];
      sum = addRow<depth>(sum, rows[line], columns[n], wgmma.sum);
    }
  }
}

void tl::sim::wgmmaMultiply(const SharedMemory &shared, const Wgmma &wgmma,
                            unsigned warpInGroup, const uint32_t *a,
                            uint32_t *sums) {
  visitFactors(wgmma.type, [&](auto constant) {
    multiplyGroup<decltype(constant)::value>(shared, wgmma, warpInGroup, a,
                                             sums);
  });
}
