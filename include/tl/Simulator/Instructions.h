//===- Instructions.h - What the instructions of a GPU mean -----*- C++ -*-===//
//
// Pure functions over the registers of a warp and the bytes of memory: no
// scheduler, no checker, no IR. An instruction that is asynchronous gives the
// list of what it will move; the machine decides when each part happens.
//
// Registers are as Lanes.h says. The functions do not look at what is outside
// of `shared`: they return the first span that lies outside, and have done
// nothing then.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_INSTRUCTIONS_H
#define TL_SIMULATOR_INSTRUCTIONS_H

#include "tl/Simulator/Lanes.h"
#include "tl/Simulator/Memory.h"
#include "tl/Simulator/TensorMap.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace tl::sim {

/// Why an instruction cannot be executed.
struct Fault {
  enum class Kind : uint8_t {
    OutOfBounds, ///< `span` is not all there
    Misaligned,  ///< `span` does not begin where it must, as `text` may say
    Invalid      ///< `text` says what the operands cannot be
  };
  Kind kind = Kind::OutOfBounds;
  Span span;
  unsigned lane = 0;
  const char *text = "";
};

/// Types of the factors.
enum class MmaType : uint8_t { F16, BF16, TF32, S8, U8, E4M3, E5M2, F64 };

/// Types of sums.
enum class SumType : uint8_t { F16, F32, I32 };

//===----------------------------------------------------------------------===//
// Matrices of a warp
//===----------------------------------------------------------------------===//

/// `ldmatrix.m8n8.x<count>[.trans].b16`: `addresses` are those of the 32 lanes,
/// `result` is `count` rows.
std::optional<Fault> ldmatrix(const SharedMemory &shared,
                              const uint32_t *addresses, unsigned count,
                              bool transpose, uint32_t *result);

/// `stmatrix.m8n8.x<count>[.trans].b16`.
std::optional<Fault> stmatrix(SharedMemory &shared, const uint32_t *addresses,
                              unsigned count, bool transpose,
                              const uint32_t *value);

/// `mma.m16n8k<K>.row.col`: `a` is 4 rows of registers, `b` 2, `c` and `d` 4
/// rows of elements of `sum`. `c` and `d` may be the same. Products are exact;
/// those of floats are added in double precision in the order of K, `c` last,
/// and rounded once, to nearest. A NaN is that of PTX, all bits set but the
/// sign. Integers wrap. The factors in `b` are of `typeOfB`, if that is given:
/// of two 8-bit floats or integers, the other one.
void mma(MmaType type, SumType sum, const uint32_t *a, const uint32_t *b,
         const uint32_t *c, uint32_t *d,
         std::optional<MmaType> typeOfB = std::nullopt);

/// `mma.sync.m16n8k4.row.col.f64`, whose registers are rows of 64-bit words:
/// each product is added and rounded to nearest, in the order of K.
void mmaF64(const uint64_t *a, const uint64_t *b, const uint64_t *c,
            uint64_t *d);

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

/// Words of a lane that hold its part of A, where A is in registers.
inline constexpr unsigned kFactorRegisters = 4;

/// One `wgmma.mma_async.m64n<n>k<K>` with B in shared memory, and A there too
/// or in registers.
struct Wgmma {
  MmaType type = MmaType::F16;
  SumType sum = SumType::F32;
  unsigned n = 8;
  /// Matrix descriptors; that of A counts for nothing if it is in registers.
  uint64_t a = 0, b = 0;
  bool aMNMajor = false, bMNMajor = false;
  bool hasRegisterA = false;
  /// Of the factors of B, if it is not `type`: the other 8-bit float or
  /// integer.
  std::optional<MmaType> typeOfB = std::nullopt;
};

/// What the warp with number `warpInGroup` (0 to 3) reads of shared memory.
std::optional<Fault> wgmmaReads(const SharedMemory &shared, const Wgmma &wgmma,
                                unsigned warpInGroup,
                                llvm::SmallVectorImpl<Span> &reads);

/// Adds the product to the warp's `n / 2` rows of `sum`s, as precisely as
/// `mma`. `a` are the warp's registers of A, if it is there. `wgmmaReads` found
/// no fault.
void wgmmaMultiply(const SharedMemory &shared, const Wgmma &wgmma,
                   unsigned warpInGroup, const uint32_t *a, uint32_t *sums);

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Adjacent bytes that are moved in one go. `from` has fewer bytes than `to`
/// where the rest is filled with zeros.
struct CopyPart {
  Span from, to;
  /// The bytes are `float32`, and are rounded to `tfloat32` on the way.
  bool roundsToTF32 = false;
};

/// `cp.async` of one lane: `bytes` to shared memory, of which `sourceBytes` are
/// read.
std::optional<Fault> copyAsync(const SharedMemory &shared,
                               const GlobalMemory &global, uint32_t target,
                               uint64_t source, unsigned bytes,
                               unsigned sourceBytes, CopyPart &part);

/// `cp.async.bulk.tensor.<rank>d` to shared memory. The parts cover the whole
/// box; their bytes are what the mbarrier is told of.
std::optional<Fault>
tensorLoad(const SharedMemory &shared, const GlobalMemory &global,
           const TensorMap &map, llvm::ArrayRef<int32_t> coordinates,
           uint32_t target, llvm::SmallVectorImpl<CopyPart> &parts);

/// `cp.async.bulk.tensor.<rank>d` from shared memory. What is outside of the
/// tensor has no part.
std::optional<Fault>
tensorStore(const SharedMemory &shared, const GlobalMemory &global,
            const TensorMap &map, llvm::ArrayRef<int32_t> coordinates,
            uint32_t source, llvm::SmallVectorImpl<CopyPart> &parts);

/// Does a part.
void copyPart(SharedMemory &shared, const CopyPart &part);

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

/// The object at an address of shared memory (PTX ISA, "mbarrier"). The machine
/// keeps one for each address that was initialised; the 8 bytes in memory only
/// say that they are taken.
class Mbarrier {
public:
  /// The most arrivals and bytes that one phase can count.
  static constexpr uint32_t kMostArrivals = (1u << 20) - 1;
  static constexpr int32_t kMostBytes = (1 << 20) - 1;

  /// What is wrong with that many arrivals, or null.
  static const char *checkArrivals(uint32_t arrivals);

  explicit Mbarrier(uint32_t arrivals)
      : arrivals(arrivals), pendingArrivals(arrivals) {}

  /// Phases that are complete.
  uint64_t getPhase() const { return phase; }
  uint32_t getArrivals() const { return arrivals; }
  uint32_t getPendingArrivals() const { return pendingArrivals; }
  int64_t getPendingBytes() const { return pendingBytes; }

  /// Whether a wait for `parity` is over: the phase of that parity is complete,
  /// and is the last complete one.
  bool isComplete(uint32_t parity) const { return (phase & 1) != (parity & 1); }

  /// Return what is wrong with it, or null. A phase may be complete by it.
  const char *arrive(uint32_t count = 1);
  const char *expect(uint32_t bytes);
  const char *land(uint32_t bytes);

private:
  void completeIfDone();

  uint32_t arrivals;
  uint32_t pendingArrivals;
  /// Expected less landed; negative if bytes land before they are expected.
  int64_t pendingBytes = 0;
  uint64_t phase = 0;
};

} // namespace tl::sim

#endif // TL_SIMULATOR_INSTRUCTIONS_H
