//===- ThreadOps.cpp - Threads, warps and blocks as C++ -------------------===//

#include "KernelPrinter.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
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

/// The support header's function, which also says whether the lane was there.
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

/// CUDA's own function of values of these types, by the name that readers know.
static StringRef getCudaShuffle(gpu::ShuffleMode mode) {
  switch (mode) {
  case gpu::ShuffleMode::XOR:
    return "__shfl_xor_sync";
  case gpu::ShuffleMode::UP:
    return "__shfl_up_sync";
  case gpu::ShuffleMode::DOWN:
    return "__shfl_down_sync";
  case gpu::ShuffleMode::IDX:
    return "__shfl_sync";
  }
  llvm_unreachable("unknown mode of shuffle");
}

/// True for what CUDA's shuffles have overloads for, without its header of
/// 16-bit floats. Narrower integers would come back as an `int`.
static bool hasCudaShuffle(Type type) {
  return type.isIndex() || type.isF32() || type.isF64() || type.isInteger(32) ||
         type.isInteger(64);
}

std::optional<Expression> KernelPrinter::printThread(Operation *op) {
  return TypeSwitch<Operation *, std::optional<Expression>>(op)
      .Case([](gpu::ThreadIdOp id) {
        return member("threadIdx", id.getDimension());
      })
      .Case([](gpu::BlockIdOp id) {
        return member("blockIdx", id.getDimension());
      })
      .Case([](gpu::GridDimOp dim) {
        return member("gridDim", dim.getDimension());
      })
      .Default([](Operation *) { return std::nullopt; });
}

bool KernelPrinter::printThreadStatement(Operation *op) {
  return TypeSwitch<Operation *, bool>(op)
      .Case([&](gpu::ShuffleOp shuffle) {
        SmallVector<Expression> arguments = {get(shuffle.getValue()),
                                             getSigned(shuffle.getOffset())};
        addUnlessDefault(arguments, shuffle.getWidth(), 32);
        Value value = shuffle.getShuffleResult(), valid = shuffle.getValid();
        if (valid.use_empty() && hasCudaShuffle(value.getType())) {
          arguments.insert(arguments.begin(), Expression{"0xffffffff"});
          define(value, call(getCudaShuffle(shuffle.getMode()), arguments));
          return true;
        }
        Expression moved = call(getShuffle(shuffle.getMode()), arguments);
        // Not an argument's type: a narrow value may be an `int` in C++.
        Type type = shuffle.getValue().getType();
        moved.text.insert(moved.text.find('('), "<" + getValueType(type) + ">");
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
      .Case([&](NVVM::VoteSyncOp vote) {
        if (vote.getKind() != NVVM::VoteSyncKind::ballot)
          return false;
        APInt mask;
        bool isWhole = matchPattern(vote.getMask(), m_ConstantInt(&mask)) &&
                       mask.isAllOnes();
        Expression lanes =
            isWhole ? Expression{"0xffffffff"} : get(vote.getMask());
        define(vote.getRes(),
               call("__ballot_sync", {lanes, get(vote.getPred())}));
        return true;
      })
      .Case([&](gpu::BarrierOp) {
        statement(op, "__syncthreads()");
        return true;
      })
      .Case([&](NVVM::SyncWarpOp sync) {
        SmallVector<Expression> arguments;
        addUnlessDefault(arguments, sync.getMask(), -1);
        statement(op, call("__syncwarp", arguments).text);
        return true;
      })
      .Case([&](NVVM::BarrierOp barrier) {
        if (barrier.getReductionOp())
          return false;
        SmallVector<Expression> operands = {barrier.getBarrierId()
                                                ? get(barrier.getBarrierId())
                                                : Expression{"0"}};
        if (barrier.getNumberOfThreads())
          operands.push_back(get(barrier.getNumberOfThreads()));
        statement(op, call("tl::barrier_sync", operands).text);
        return true;
      })
      .Case([&](NVVM::BarrierArriveOp arrive) {
        SmallVector<Expression> operands = {arrive.getBarrierId()
                                                ? get(arrive.getBarrierId())
                                                : Expression{"0"},
                                            get(arrive.getNumberOfThreads())};
        statement(op, call("tl::barrier_arrive", operands).text);
        return true;
      })
      .Case([&](NVVM::ClusterArriveOp arrive) {
        statement(op, arrive.getAligned() ? "tl::cluster_arrive_aligned()"
                                          : "tl::cluster_arrive()");
        return true;
      })
      .Case([&](NVVM::ClusterWaitOp wait) {
        statement(op, wait.getAligned() ? "tl::cluster_wait_aligned()"
                                        : "tl::cluster_wait()");
        return true;
      })
      .Case([&](NVVM::GriddepcontrolOp control) {
        bool isWait = control.getKind() == NVVM::GridDepActionKind::wait;
        statement(op, isWait ? "tl::griddep_wait()"
                             : "tl::griddep_launch_dependents()");
        return true;
      })
      .Case([&](NVVM::SetMaxRegisterOp set) {
        bool isMore = set.getAction() == NVVM::SetMaxRegisterAction::increase;
        statement(op, "tl::setmaxnreg_" + std::string(isMore ? "inc" : "dec") +
                          "<" + std::to_string(set.getRegCount()) + ">()");
        return true;
      })
      .Default([](Operation *) { return false; });
}
