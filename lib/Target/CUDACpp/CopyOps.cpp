//===- CopyOps.cpp - Asynchronous copies and their barriers as C++ --------===//
//
// What a copy needs is in the support header. Forms of the instructions that no
// pass makes have none.
//
//===----------------------------------------------------------------------===//

#include "KernelPrinter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tl;
using namespace tl::cuda;

/// True for a plain copy of a box.
static bool isPlain(NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp load) {
  return load.getMode() == NVVM::TMALoadMode::TILE &&
         load.getIm2colOffsets().empty() && !load.getL2CacheHint() &&
         !load.getGroup() && !load.getPredicate();
}

static bool isPlain(NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp store) {
  return store.getMode() == NVVM::TMAStoreMode::TILE &&
         !store.getL2CacheHint() && !store.getPredicate();
}

static bool isPlainSum(NVVM::CpAsyncBulkTensorReduceOp reduce) {
  return reduce.getRedKind() == NVVM::TMAReduxKind::ADD &&
         reduce.getMode() == NVVM::TMAStoreMode::TILE &&
         !reduce.getL2CacheHint();
}

/// True for an arrival with release at the block's scope, on its own barrier.
static bool isPlain(NVVM::MBarrierArriveExpectTxOp arrive) {
  auto type = cast<LLVM::LLVMPointerType>(arrive.getAddr().getType());
  return type.getAddressSpace() == 3 && !arrive.getRelaxed() &&
         arrive.getScope() == NVVM::MemScopeKind::CTA && !arrive.getPredicate();
}

/// The same, also on that of another block of the cluster.
static bool isPlain(NVVM::MBarrierArriveOp arrive) {
  auto type = cast<LLVM::LLVMPointerType>(arrive.getAddr().getType());
  return llvm::is_contained({3u, 7u}, type.getAddressSpace()) &&
         !arrive.getRelaxed() && arrive.getScope() == NVVM::MemScopeKind::CTA &&
         !arrive.getCount();
}

bool KernelPrinter::printCopyStatement(Operation *op) {
  auto print = [&](const Expression &text) {
    statement(op, text.text);
    return true;
  };
  auto coordinates = [&](SmallVector<Expression> operands, ValueRange box) {
    for (Value coordinate : box)
      operands.push_back(get(coordinate));
    return operands;
  };
  return TypeSwitch<Operation *, bool>(op)
      .Case([&](NVVM::CpAsyncOp copy) {
        bool global = copy.getModifier() == NVVM::LoadCacheModifierKind::CG;
        SmallVector<Expression> operands = {get(copy.getDst()),
                                            get(copy.getSrc())};
        if (copy.getCpSize())
          operands.push_back(get(copy.getCpSize()));
        return print(call(global ? "tl::cp_async_cg"
                                 : "tl::cp_async<" +
                                       std::to_string(copy.getSize()) + ">",
                          operands));
      })
      .Case([&](NVVM::CpAsyncCommitGroupOp) {
        return print({"tl::cp_async_commit()"});
      })
      .Case([&](NVVM::CpAsyncWaitGroupOp wait) {
        return print(
            {"tl::cp_async_wait<" + std::to_string(wait.getN()) + ">()"});
      })
      .Case([&](NVVM::MBarrierInitOp init) {
        return !init.getPredicate() &&
               print(call("tl::mbarrier_init",
                          {get(init.getAddr()), get(init.getCount())}));
      })
      .Case([&](NVVM::FenceMbarrierInitOp) {
        return print({"tl::fence_mbarrier_init()"});
      })
      .Case([&](NVVM::MBarrierArriveExpectTxOp arrive) {
        return isPlain(arrive) && arrive->use_empty() &&
               print(call("tl::mbarrier_arrive_expect_tx",
                          {get(arrive.getAddr()), get(arrive.getTxcount())}));
      })
      .Case([&](NVVM::MBarrierArriveOp arrive) {
        bool isRemote = !arrive.getRes();
        return isPlain(arrive) && arrive->use_empty() &&
               print(call(isRemote ? "tl::mbarrier_arrive_release_cta_remote"
                                   : "tl::mbarrier_arrive",
                          {get(arrive.getAddr())}));
      })
      .Case([&](NVVM::MBarrierTryWaitParityOp wait) {
        SmallVector<Expression> arguments = {get(wait.getAddr()),
                                             get(wait.getPhase())};
        addUnlessDefault(arguments, wait.getTicks(), 10000000);
        return print(call("tl::mbarrier_wait_parity", arguments));
      })
      .Case([&](NVVM::FenceProxyOp fence) {
        if (fence.getKind() == NVVM::ProxyKind::async)
          return print({"asm volatile(\"fence.proxy.async;\" ::: \"memory\")"});
        return fence.getKind() == NVVM::ProxyKind::async_shared &&
               fence.getSpace() == NVVM::SharedSpace::shared_cta &&
               print({"tl::fence_proxy_async_shared()"});
      })
      .Case([&](NVVM::PrefetchOp prefetch) {
        return prefetch.getTensormap() && !prefetch.getPredicate() &&
               print(call("tl::prefetch_tensormap", {get(prefetch.getAddr())}));
      })
      .Case([&](NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp load) {
        SmallVector<Expression> operands = {get(load.getDstMem()),
                                            get(load.getTmaDescriptor()),
                                            get(load.getMbar())};
        if (load.getMulticastMask())
          operands.push_back(get(load.getMulticastMask()));
        return isPlain(load) &&
               print(call(load.getMulticastMask() ? "tl::tma_load_multicast"
                                                  : "tl::tma_load",
                          coordinates(operands, load.getCoordinates())));
      })
      .Case([&](NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp store) {
        return isPlain(store) &&
               print(call("tl::tma_store",
                          coordinates({get(store.getTmaDescriptor()),
                                       get(store.getSrcMem())},
                                      store.getCoordinates())));
      })
      .Case([&](NVVM::CpAsyncBulkTensorReduceOp reduce) {
        return isPlainSum(reduce) &&
               print(call("tl::tma_add",
                          coordinates({get(reduce.getTmaDescriptor()),
                                       get(reduce.getSrcMem())},
                                      reduce.getCoordinates())));
      })
      .Case([&](NVVM::CpAsyncBulkCommitGroupOp) {
        return print({"tl::bulk_commit()"});
      })
      .Case([&](NVVM::CpAsyncBulkWaitGroupOp wait) {
        return print(
            {(Twine("tl::bulk_wait") + (wait.getRead() ? "_read<" : "<") +
              Twine(wait.getGroup()) + ">()")
                 .str()});
      })
      .Default([](Operation *) { return false; });
}
