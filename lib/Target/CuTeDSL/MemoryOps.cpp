//===- MemoryOps.cpp - Memory and threads ---------------------------------===//
//
// Pointers of the IR have no element type, those of CuTe DSL step by one. An
// access names the type that it reads or writes.
//
//===----------------------------------------------------------------------===//

#include "KernelPrinter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tl;
using namespace tl::cutedsl;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Expression KernelPrinter::printAddress(LLVM::GEPOp op) {
  Type element = op.getElemType();
  if (op.getIndices().size() != 1 || !isa<FloatType, IntegerType>(element)) {
    failFor(op);
    return {};
  }
  Expression base = getTyped(op.getBase(), element);
  auto index = *op.getIndices().begin();
  std::string offset;
  if (auto constant = dyn_cast<IntegerAttr>(index))
    offset = std::to_string(constant.getInt());
  else
    offset = get(cast<Value>(index)).operand();
  return {base.operand() + " + " + offset, /*isPrimary=*/false};
}

/// An address as a pointer that steps over elements of `type`.
Expression KernelPrinter::getTyped(Value address, Type type) {
  if (getPointee(address) == getScalarType(type))
    return get(address);
  return call("cute.recast_ptr",
              {get(address), {"dtype=" + getScalarType(type)}});
}

static bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

/// True for what the DSL's loads and stores do: no order, plain types.
template <typename OpTy>
static bool isPlain(OpTy access, Type type) {
  Type element = getElementTypeOrSelf(type);
  return !access.getVolatile_() &&
         access.getOrdering() == LLVM::AtomicOrdering::not_atomic &&
         element.isIntOrFloat() && !element.isInteger(1);
}

/// The elements that one instruction may access, where it is not all of a
/// vector's: 0 if it is.
template <typename OpTy>
static int64_t getElementsAtOnce(OpTy access, VectorType type) {
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  int64_t alignment = access.getAlignment().value_or(bytes);
  // CuTe DSL has no vectors of one element in memory.
  if (type.getNumElements() > 1 && alignment >= type.getNumElements() * bytes)
    return 0;
  int64_t once = std::max<int64_t>(std::min<int64_t>(alignment, 16) / bytes, 1);
  while (type.getNumElements() % once)
    once /= 2;
  return once;
}

std::optional<Expression> KernelPrinter::printMemory(Operation *op) {
  return TypeSwitch<Operation *, std::optional<Expression>>(op)
      .Case([](SharedBaseOp) {
        return call("cute.arch.get_dyn_smem", {{"Int8"}, {"1024"}});
      })
      .Case([&](LLVM::GEPOp address) { return printAddress(address); })
      .Case([&](LLVM::LoadOp load) -> std::optional<Expression> {
        Type type = load.getType();
        if (!isPlain(load, type))
          return std::nullopt;
        Expression address = get(load.getAddr());
        Expression scalar{getScalarType(type)};
        auto vector = dyn_cast<VectorType>(type);
        if (!vector && isHalf(type))
          return help("_load_half", {address, scalar});
        if (!vector)
          return call("cute.arch.load", {address, scalar});
        std::string count = std::to_string(vector.getNumElements());
        if (int64_t once = getElementsAtOnce(load, vector))
          return help("_load", {getTyped(load.getAddr(), type),
                                scalar,
                                {count},
                                {std::to_string(once)}});
        Expression all{"Vector[" + scalar.text + ", " + count + "].mlir_type"};
        return call("cute.arch.load", {address, all});
      })
      .Default([](Operation *) { return std::nullopt; });
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

static Expression getCoordinate(StringRef function, gpu::Dimension dimension) {
  return {llvm::formatv("cute.arch.{0}()[{1}]", function,
                        static_cast<unsigned>(dimension))};
}

static StringRef getShuffle(gpu::ShuffleMode mode) {
  switch (mode) {
  case gpu::ShuffleMode::XOR:
    return "_bfly";
  case gpu::ShuffleMode::UP:
    return "_up";
  case gpu::ShuffleMode::DOWN:
    return "_down";
  case gpu::ShuffleMode::IDX:
    return "";
  }
  llvm_unreachable("unknown mode of shuffle");
}

Expression KernelPrinter::printShuffle(gpu::ShuffleOp shuffle) {
  APInt width;
  if (!shuffle.getValid().use_empty() ||
      !matchPattern(shuffle.getWidth(), m_ConstantInt(&width))) {
    failFor(shuffle);
    return {};
  }
  // The mask of segments, and the lane that none goes beyond: PTX ISA,
  // "shfl.sync".
  uint64_t last = shuffle.getMode() == gpu::ShuffleMode::UP ? 0 : 31;
  uint64_t bounds = (32 - width.getZExtValue()) << 8 | last;
  APInt constant;
  bool isConstant = matchPattern(shuffle.getOffset(), m_ConstantInt(&constant));
  Expression offset =
      isConstant ? getLiteral(shuffle.getOffset()) : get(shuffle.getOffset());
  SmallVector<Expression> operands = {get(shuffle.getValue()),
                                      {"offset=" + offset.text}};
  if (bounds != 31)
    operands.push_back({"mask_and_clamp=" + std::to_string(bounds)});
  return call("cute.arch.shuffle_sync" + getShuffle(shuffle.getMode()),
              operands);
}

std::optional<Expression> KernelPrinter::printThread(Operation *op) {
  return TypeSwitch<Operation *, std::optional<Expression>>(op)
      .Case([](gpu::ThreadIdOp id) {
        return getCoordinate("thread_idx", id.getDimension());
      })
      .Case([](gpu::BlockIdOp id) {
        return getCoordinate("block_idx", id.getDimension());
      })
      .Case([](gpu::GridDimOp dim) {
        return getCoordinate("grid_dim", dim.getDimension());
      })
      .Default([](Operation *) { return std::nullopt; });
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

bool KernelPrinter::printStatement(Operation *op) {
  return TypeSwitch<Operation *, bool>(op)
      .Case([&](LLVM::StoreOp store) {
        Type type = store.getValue().getType();
        if (!isPlain(store, type)) {
          failFor(store);
          return true;
        }
        SmallVector<Expression> operands = {get(store.getAddr()),
                                            get(store.getValue())};
        auto vector = dyn_cast<VectorType>(type);
        int64_t once = vector ? getElementsAtOnce(store, vector) : 0;
        if (once) {
          operands.front() = getTyped(store.getAddr(), type);
          operands.push_back({std::to_string(once)});
          statement(store, help("_store", operands).text);
        } else {
          bool half = !vector && isHalf(type);
          statement(store, half ? help("_store_half", operands).text
                                : call("cute.arch.store", operands).text);
        }
        return true;
      })
      .Case([&](gpu::BarrierOp) {
        statement(op, "cute.arch.sync_threads()");
        return true;
      })
      .Case([&](gpu::ShuffleOp shuffle) {
        define(shuffle.getShuffleResult(), printShuffle(shuffle));
        return true;
      })
      .Case([&](NVVM::VoteSyncOp vote) {
        APInt mask;
        if (vote.getKind() != NVVM::VoteSyncKind::ballot ||
            !matchPattern(vote.getMask(), m_ConstantInt(&mask)) ||
            !mask.isAllOnes()) {
          failFor(vote);
          return true;
        }
        define(vote.getRes(),
               call("cute.arch.vote_ballot_sync", {get(vote.getPred())}));
        return true;
      })
      .Case([&](vector::ToElementsOp elements) {
        std::string source = get(elements.getSource()).operand();
        SmallVector<std::string> targets = llvm::map_to_vector(
            elements.getResults(), [&](Value x) { return bind(x); });
        statement(op, llvm::join(targets, ", ") + ", = " + source +
                          ".to_elements()");
        return true;
      })
      .Default([](Operation *) { return false; });
}
