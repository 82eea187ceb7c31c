//===- Decoder.h - What decoding an op needs --------------------*- C++ -*-===//
//
// A family of ops is a file: what its ops mean, and how they are decoded. It
// adds its ops to the table in a function that is declared here.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_SIMULATOR_DECODER_H
#define TL_LIB_SIMULATOR_DECODER_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Operation.h"
#include "tl/Simulator/Program.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace tl::sim {

/// How a value of a type lies in registers.
struct Shape {
  /// Of a vector its elements, else 1.
  uint32_t elements = 1;
  /// Of an element.
  uint32_t bits = 32;
  mlir::Type element;

  bool isWide() const { return bits > 32; }
  uint32_t words() const { return elements * kLanes * (isWide() ? 2 : 1); }
  /// Bytes of an element in memory.
  uint32_t bytes() const { return bits < 8 ? 1 : bits / 8; }

  static Shape get(mlir::Type type);
  static Shape get(mlir::Value value) { return get(value.getType()); }
};

class Decoder;

/// Appends what an op means.
using DecodeOp = llvm::LogicalResult (*)(Decoder &, mlir::Operation *);
using DecodeTable = llvm::StringMap<DecodeOp>;

class Decoder {
public:
  explicit Decoder(Program &program) : program(program) {}

  /// How many parallel loops have begun.
  uint32_t loops = 0;

  llvm::LogicalResult decode(mlir::gpu::GPUFuncOp kernel);

  /// Where a value lies that was defined before.
  Register get(mlir::Value value) const { return registers.at(value); }
  /// Makes room for a value that is defined now.
  Register define(mlir::Value value);
  /// Lets a value lie where another one does, which outlives it.
  void defineAs(mlir::Value value, Register at) {
    registers[value] = at;
    kept.insert(value);
  }
  /// Room that nothing else has, until it is released.
  Register allocate(uint32_t words);
  void release(Register at, uint32_t words) { free[words].push_back(at); }

  /// Appends an instruction of the op that is being decoded.
  Instruction &emit(Execute execute);
  /// The position that the next instruction will have.
  InstructionId next() const { return program.code.size(); }

  /// Appends that the active lanes, or all, of `from` go to `to`.
  void emitMove(Register to, Register from, Shape shape, bool isMasked);
  /// The same for several, all at the same time.
  void emitMoves(llvm::ArrayRef<Register> to, mlir::ValueRange from);

  /// Sets where an instruction jumps to.
  void setTarget(InstructionId jump, InstructionId to) {
    program.code[jump].target = to;
  }

  /// Decodes the ops of a region's one block, and that the last operands of the
  /// terminator go to `to`; calls `beforeMoves` before that.
  llvm::LogicalResult
  decodeRegion(mlir::Region &region, llvm::ArrayRef<Register> to,
               llvm::function_ref<void()> beforeMoves = nullptr);

  /// Where the accumulator lies that `value` is a state of, if a `wgmma` that
  /// is under way may write it (Accumulators.h).
  std::optional<Register> getAccumulator(mlir::Value value) const;

  /// The number of the factors whose registers `value` may be, or 0
  /// (Factors.h).
  unsigned getFactor(mlir::Value value) const { return factorOf.lookup(value); }

  Program &program;

private:
  llvm::LogicalResult decodeOp(mlir::Operation *op);
  llvm::LogicalResult decodeOps(mlir::Block &block);
  /// Lets the instructions of `op`, which begin at `first`, look at results of
  /// `wgmma` only when they are complete.
  void guardAccumulators(mlir::Operation *op, InstructionId first);
  /// Notes what `op`, whose instructions begin at `first`, says of iterations.
  llvm::LogicalResult noteIterations(mlir::Operation *op, InstructionId first);
  void releaseEnded(llvm::ArrayRef<mlir::Value> values);
  /// Reads what the kernel's shared memory is called.
  mlir::LogicalResult readTiles(mlir::gpu::GPUFuncOp kernel);
  void addParameters(mlir::gpu::GPUFuncOp kernel);

  llvm::DenseMap<mlir::Value, Register> registers;
  /// By size.
  llvm::DenseMap<uint32_t, llvm::SmallVector<Register>> free;
  llvm::DenseMap<mlir::Value, unsigned> accumulatorOf, factorOf;
  llvm::SmallVector<Register> accumulators;
  /// Where each `wgmma` is issued.
  llvm::DenseMap<mlir::Operation *, InstructionId> products;
  /// Values whose registers are not their own to give back.
  llvm::DenseSet<mlir::Value> kept;
  /// The op that is decoded, and the one that the last place is of.
  mlir::Operation *current = nullptr;
  mlir::Operation *placed = nullptr;
};

/// Decodes an op whose result has the bits of its operand.
llvm::LogicalResult decodeMove(Decoder &decoder, mlir::Operation *op);

/// Does what an instruction of `Program::guarded` does, or says that a result
/// of `wgmma` is looked at before a wait has completed it.
Step executeGuarded(Warp &warp, const Instruction &i);

void addControl(DecodeTable &table);
void addIntegers(DecodeTable &table);
void addFloats(DecodeTable &table);
void addConversions(DecodeTable &table);
void addMath(DecodeTable &table);
void addVectors(DecodeTable &table);
void addMemory(DecodeTable &table);
void addThreads(DecodeTable &table);
void addOrder(DecodeTable &table);
void addCopies(DecodeTable &table);
void addMatrices(DecodeTable &table);

} // namespace tl::sim

#endif // TL_LIB_SIMULATOR_DECODER_H
