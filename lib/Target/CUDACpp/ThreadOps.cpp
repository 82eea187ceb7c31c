//===- ThreadOps.cpp - Threads, warps, blocks and clusters as C++ ---------===//

#include "KernelPrinter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tl;
using namespace tl::cuda;

/// A member of one of CUDA's built-in variables, which are unsigned.
static Expression member(StringRef variable, gpu::Dimension dimension) {
  Expression result;
  result.text = (variable + "." + gpu::stringifyDimension(dimension)).str();
  result.isUnsigned = true;
  return result;
}

/// A mask of lanes.
Expression KernelPrinter::getMask(Value mask) {
  APInt bits;
  if (matchPattern(lookThroughAliases(mask), m_ConstantInt(&bits)))
    return getHexLiteral(bits, mask.getType());
  return asUnsigned(get(mask), mask.getType());
}

static StringRef getShuffle(gpu::ShuffleMode mode) {
  switch (mode) {
  case gpu::ShuffleMode::XOR:
    return "tl::shuffle_xor";
  case gpu::ShuffleMode::UP:
    return "tl::shuffle_up";
  case gpu::ShuffleMode::DOWN:
    return "tl::shuffle_down";
  case gpu::ShuffleMode::IDX:
    return "tl::shuffle_idx";
  }
  llvm_unreachable("unknown mode of shuffle");
}

static Expression vote(NVVM::VoteSyncKind kind, const Expression &mask,
                       const Expression &test) {
  switch (kind) {
  case NVVM::VoteSyncKind::any:
    return {"(bool)" + call("__any_sync", {mask, test}).text, Binding::Unary};
  case NVVM::VoteSyncKind::all:
    return {"(bool)" + call("__all_sync", {mask, test}).text, Binding::Unary};
  case NVVM::VoteSyncKind::ballot: {
    Expression result = call("__ballot_sync", {mask, test});
    result.isUnsigned = true;
    return result;
  }
  case NVVM::VoteSyncKind::uni:
    return call("tl::vote_uniform", {mask, test});
  }
  llvm_unreachable("unknown kind of vote");
}

std::optional<Expression> KernelPrinter::printThread(Operation *op) {
  return TypeSwitch<Operation *, std::optional<Expression>>(op)
      .Case([](gpu::ThreadIdOp id) {
        return member("threadIdx", id.getDimension());
      })
      .Case([](gpu::BlockIdOp id) {
        return member("blockIdx", id.getDimension());
      })
      .Case([](gpu::BlockDimOp dim) {
        return member("blockDim", dim.getDimension());
      })
      .Case([](gpu::GridDimOp dim) {
        return member("gridDim", dim.getDimension());
      })
      .Case([](NVVM::ClusterId) { return Expression{"tl::cluster_rank()"}; })
      .Case([&](NVVM::ElectSyncOp elect) {
        if (elect.getMembermask())
          return call("tl::elect_sync", getMask(elect.getMembermask()));
        return Expression{"tl::elect_sync()"};
      })
      .Case([&](NVVM::MapaOp map) {
        return call("tl::map_shared", {get(map.getA()), get(map.getB())});
      })
      .Case([&](NVVM::VoteSyncOp op) {
        return vote(op.getKind(), getMask(op.getMask()), get(op.getPred()));
      })
      .Case([&](NVVM::ShflOp shuffle) {
        SmallVector<Expression> operands = {getMask(shuffle.getThreadMask())};
        for (Value operand : shuffle->getOperands().drop_front())
          operands.push_back(getSigned(operand));
        Expression result = call(
            "tl::shfl_sync_" + stringifyShflKind(shuffle.getKind()), operands);
        if (!shuffle.getReturnValueAndIsValid())
          result.text += ".first";
        return result;
      })
      .Default([](Operation *) { return std::nullopt; });
}

static std::string getClusterCall(StringRef name, bool aligned) {
  return ("tl::cluster_" + name + (aligned ? "_aligned()" : "()")).str();
}

bool KernelPrinter::printThreadStatement(Operation *op) {
  return TypeSwitch<Operation *, bool>(op)
      .Case([&](gpu::ShuffleOp shuffle) {
        SmallVector<Expression> arguments = {get(shuffle.getValue()),
                                             getSigned(shuffle.getOffset())};
        addUnlessDefault(arguments, shuffle.getWidth(), 32);
        Expression moved = call(getShuffle(shuffle.getMode()), arguments);
        // Not an argument's type: a narrow value may be an `int` in C++.
        Type type = shuffle.getValue().getType();
        moved.text.insert(moved.text.find('('), "<" + getValueType(type) + ">");
        Value value = shuffle.getShuffleResult(), valid = shuffle.getValid();
        if (valid.use_empty()) {
          moved.text += ".first";
          define(value, moved);
          return true;
        }
        std::string name = names.take("shuffled");
        statement(op, "auto " + name + " = " + moved.text);
        variables[value] = name + ".first";
        variables[valid] = name + ".second";
        return true;
      })
      .Case([&](gpu::BarrierOp) {
        statement(op, "__syncthreads()");
        return true;
      })
      .Case([&](NVVM::SyncWarpOp sync) {
        statement(op, call("__syncwarp", getMask(sync.getMask())).text);
        return true;
      })
      .Case([&](NVVM::BarrierOp barrier) {
        if (auto kind = barrier.getReductionOp()) {
          std::string function =
              *kind == NVVM::BarrierReduction::POPC  ? "__syncthreads_count"
              : *kind == NVVM::BarrierReduction::AND ? "__syncthreads_and"
                                                     : "__syncthreads_or";
          define(barrier.getRes(),
                 call(function, get(barrier.getReductionPredicate())));
          return true;
        }
        if (!barrier.getBarrierId() && !barrier.getNumberOfThreads()) {
          statement(op, "__syncthreads()");
          return true;
        }
        SmallVector<Expression> operands = {barrier.getBarrierId()
                                                ? get(barrier.getBarrierId())
                                                : Expression{"0"}};
        if (barrier.getNumberOfThreads())
          operands.push_back(get(barrier.getNumberOfThreads()));
        statement(op, call("tl::barrier_sync", operands).text);
        return true;
      })
      .Case([&](NVVM::BarrierArriveOp barrier) {
        Expression id = barrier.getBarrierId() ? get(barrier.getBarrierId())
                                               : Expression{"0"};
        statement(op, call("tl::barrier_arrive",
                           {id, get(barrier.getNumberOfThreads())})
                          .text);
        return true;
      })
      .Case([&](NVVM::ClusterArriveOp arrive) {
        statement(op, getClusterCall("arrive", bool(arrive.getAligned())));
        return true;
      })
      .Case([&](NVVM::ClusterWaitOp wait) {
        statement(op, getClusterCall("wait", bool(wait.getAligned())));
        return true;
      })
      .Case([&](NVVM::GriddepcontrolOp control) {
        statement(op, control.getKind() == NVVM::GridDepActionKind::wait
                          ? "tl::griddep_wait()"
                          : "tl::griddep_launch_dependents()");
        return true;
      })
      .Case([&](NVVM::SetMaxRegisterOp set) {
        bool more = set.getAction() == NVVM::SetMaxRegisterAction::increase;
        statement(op, Twine("tl::setmaxnreg_") + (more ? "inc<" : "dec<") +
                          Twine(set.getRegCount()) + ">()");
        return true;
      })
      .Default([](Operation *) { return false; });
}
