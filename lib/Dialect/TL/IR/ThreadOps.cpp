//===- ThreadOps.cpp - The table of thread-level ops ----------------------===//

#include "tl/Dialect/TL/IR/ThreadOps.h"

#include "llvm/ADT/StringMap.h"

using namespace tl;

static constexpr unsigned getBit(Generator generator) {
  return 1u << static_cast<unsigned>(generator);
}

/// Words of the table.
static constexpr std::optional<Proxy> None = std::nullopt,
                                      Generic = Proxy::Generic,
                                      Async = Proxy::Async;
static constexpr unsigned Simulator = 0;
static constexpr unsigned Native =
    getBit(Generator::PTX) | getBit(Generator::CUDA);
static constexpr unsigned CUDAOnly = getBit(Generator::CUDA);
static constexpr unsigned All = Native | getBit(Generator::CuTeDSL);

static constexpr ThreadOp kOps[] = {
#define THREAD_OP(name, category, together, proxy, generators)                 \
  {llvm::StringLiteral(name), ThreadOp::Category::category,                    \
   Together::together, proxy, generators},
#include "tl/Dialect/TL/IR/ThreadOps.def"
};

llvm::ArrayRef<ThreadOp> tl::getThreadOps() { return kOps; }

const ThreadOp *tl::getThreadOp(llvm::StringRef name) {
  static const llvm::StringMap<const ThreadOp *> ops = [] {
    llvm::StringMap<const ThreadOp *> map;
    for (const ThreadOp &op : kOps)
      map[op.name] = &op;
    return map;
  }();
  return ops.lookup(name);
}
