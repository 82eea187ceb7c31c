//===- Program.h - A kernel as bytecode -------------------------*- C++ -*-===//
//
// A kernel at thread level, decoded once: a flat list of instructions over the
// registers of a warp. An instruction is a function with its operands, so that
// to execute one is a call. Structured control flow has become jumps between
// instructions that narrow and widen the mask of active lanes (Control.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_PROGRAM_H
#define TL_SIMULATOR_PROGRAM_H

#include "tl/Layout/SharedLayout.h"
#include "tl/Simulator/Instructions.h"
#include "tl/Simulator/Lanes.h"
#include "tl/Simulator/Report.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <memory>
#include <string>
#include <vector>

namespace tl::sim {

class Warp;
struct Instruction;

/// What a warp does after an instruction.
enum class Step : uint8_t {
  Next,   ///< the next instruction
  Jumped, ///< the one that the instruction has set
  Paused, ///< the next one, once what it waits for is there
  Ended,  ///< nothing more
  Failed  ///< nothing more, and the launch has failed
};

using Execute = Step (*)(Warp &, const Instruction &);

/// Where a value lies among the registers of a warp, in words of 32 bits.
using Register = uint32_t;

struct Instruction {
  Execute execute = nullptr;
  /// Where the result goes, and the operands lie.
  Register result = 0;
  Register a = 0, b = 0, c = 0;
  /// Elements of the value, or bytes of an element: whatever the function says.
  uint32_t count = 1;
  uint32_t bits = 0;
  /// An immediate operand, or the position of more of them in a table of the
  /// program.
  uint64_t immediate = 0;
  /// For control flow: where to go.
  InstructionId target = 0;
};

/// A place in the user's program.
struct Place {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
  /// What stands there, if that is known.
  std::string statement;
  /// The name of the op.
  std::string op;
  /// What kind of instruction that is, as counts name it.
  llvm::StringRef kind = "move";
  /// Of its first result, if that is a vector.
  uint32_t elements = 1;
  /// The numbers of the tiles in shared memory that the statement uses.
  llvm::SmallVector<uint32_t, 2> tiles;
};

/// A tile in shared memory, or mbarriers.
struct Tile {
  /// What the user calls it; empty for the compiler's own.
  std::string name;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> shape;
  int64_t elementBytes = 1;
  layout::SharedLayout layout;
  /// Its first dimension counts the slots of a pipelined loop.
  bool isRing = false;
};

/// The bytes of a constant, which each warp finds in its registers.
struct ConstantRows {
  Register at = 0;
  /// Of 32 or 64 bits each, one for each element.
  bool isWide = false;
  std::vector<uint64_t> elements;
};

/// A kernel parameter.
struct ProgramParameter {
  Register at = 0;
  bool isWide = false;
  /// Bits that are the value's, of those that are given.
  unsigned bits = 64;
  bool isTensorMap = false;
};

/// One instruction of a series of `wgmma`: which elements of the accumulator it
/// adds to, and what is added to the descriptors.
struct WgmmaStep {
  uint32_t sums = 0;
  uint32_t a = 0, b = 0;
};

/// A form of `wgmma`, and the number of the factors whose registers it reads,
/// or 0.
struct WgmmaForm {
  Wgmma wgmma;
  uint32_t factor = 0;
};

/// What an instruction does once the results of `wgmma` that it looks at are
/// complete.
struct Guarded {
  struct Use {
    /// Registers of an accumulator.
    Register at = 0;
    /// The `wgmma` of which the value is the result, before any wait.
    std::optional<InstructionId> writer;
  };

  Execute execute = nullptr;
  llvm::SmallVector<Use, 2> uses;
};

/// The iterations of a parallel loop that an access is of.
struct Iterations {
  /// Which loop of the program it is.
  uint32_t loop = 0;
  /// Of the access, each of which has the same number of iterations.
  uint32_t elements = 1;
  /// Distances from where the lane is, one for each index of the loop, of one
  /// iteration after another.
  llvm::SmallVector<int32_t, 4> distances;
};

class Program {
public:
  std::string kernel;
  std::array<uint32_t, 3> block = {1, 1, 1};
  uint32_t sharedBytes = 0;
  /// Words of the registers of a warp.
  uint32_t registerWords = 0;
  /// Bytes of local memory of a thread.
  uint32_t localBytes = 0;
  /// It has atomic operations that release or acquire, for other blocks too.
  bool ordersBlocks = false;
  /// How many loops it has that end by a condition.
  uint32_t openLoops = 0;
  /// One of them has atomic operations on what other blocks may change.
  bool mayWaitForBlocks = false;

  std::vector<Instruction> code;
  std::vector<ProgramParameter> parameters;
  std::vector<ConstantRows> constants;
  /// Tables that instructions point into.
  std::vector<uint32_t> numbers;
  std::vector<WgmmaForm> wgmmas;
  std::vector<WgmmaStep> wgmmaSteps;
  llvm::DenseMap<InstructionId, Guarded> guarded;
  /// Of the accesses that say which they are of.
  llvm::DenseMap<InstructionId, Iterations> iterations;
  std::vector<Tile> tiles;
  /// What the user calls the tensors at addresses.
  std::vector<std::string> namesOfTensors;
  /// And the fragments that iterations touch, by their numbers.
  llvm::DenseMap<uint32_t, std::string> namesOfFragments;

  /// Where an instruction comes from.
  const Place &getPlace(InstructionId instruction) const {
    return places[placeOf[instruction]];
  }

  std::vector<Place> places;
  std::vector<uint32_t> placeOf;
};

} // namespace tl::sim

#endif // TL_SIMULATOR_PROGRAM_H
