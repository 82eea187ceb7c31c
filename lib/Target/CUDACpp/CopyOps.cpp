//===- CopyOps.cpp - Asynchronous copies and their barriers as C++ --------===//
//
// What a plain copy needs is in the support header. The rarer forms of bulk
// tensor copies (im2col, multicast, cache hints) differ in text only, and are
// inline assembly.
//
//===----------------------------------------------------------------------===//

#include "KernelPrinter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tl;
using namespace tl::cuda;

//===----------------------------------------------------------------------===//
// Inline assembly
//===----------------------------------------------------------------------===//

namespace {
/// An `asm` statement that reads registers and memory.
class Assembly {
public:
  /// Adds an operand and returns its place in the text.
  std::string add(char constraint, const Twine &value) {
    operands.push_back(
        llvm::formatv("\"{0}\"({1})", constraint, value.str()).str());
    return "%" + std::to_string(operands.size() - 1);
  }

  std::string print(const Twine &instruction) const {
    return ("asm volatile(\"" + instruction +
            ";\" ::" + llvm::join(operands, ", ") + " : \"memory\")")
        .str();
  }

private:
  SmallVector<std::string> operands;
};
} // namespace

static StringRef getLoadMode(NVVM::TMALoadMode mode) {
  switch (mode) {
  case NVVM::TMALoadMode::TILE:
    return "";
  case NVVM::TMALoadMode::IM2COL:
    return ".im2col";
  case NVVM::TMALoadMode::IM2COL_W:
    return ".im2col::w";
  case NVVM::TMALoadMode::IM2COL_W_128:
    return ".im2col::w::128";
  case NVVM::TMALoadMode::TILE_GATHER4:
    return ".tile::gather4";
  }
  llvm_unreachable("unknown mode of load");
}

/// The dimensions of the tensor, which gathers do not give coordinates for.
static unsigned getRank(NVVM::TMALoadMode mode, unsigned coordinates) {
  return mode == NVVM::TMALoadMode::TILE_GATHER4 ? 2 : coordinates;
}

static std::string braces(ArrayRef<std::string> parts) {
  return "{" + llvm::join(parts, ", ") + "}";
}

void KernelPrinter::printTensorLoad(Operation *op) {
  auto load = cast<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(op);
  bool plain = load.getMode() == NVVM::TMALoadMode::TILE &&
               load.getIm2colOffsets().empty() && !load.getMulticastMask() &&
               !load.getL2CacheHint() && !load.getGroup();
  if (plain) {
    SmallVector<Expression> operands = {get(load.getDstMem()),
                                        get(load.getTmaDescriptor()),
                                        get(load.getMbar())};
    for (Value coordinate : load.getCoordinates())
      operands.push_back(get(coordinate));
    return statement(op, call("tl::tma_load", operands).text);
  }

  Assembly assembly;
  auto shared = [&](Value pointer) {
    return assembly.add('r', call("tl::shared_address", get(pointer)).text);
  };
  std::string target = shared(load.getDstMem());
  std::string map = assembly.add('l', get(load.getTmaDescriptor()).text);
  std::string barrier = shared(load.getMbar());
  SmallVector<std::string> coordinates, offsets;
  for (Value coordinate : load.getCoordinates())
    coordinates.push_back(assembly.add('r', get(coordinate).text));
  for (Value offset : load.getIm2colOffsets())
    offsets.push_back(assembly.add('h', cast("short", get(offset)).text));
  std::string text = llvm::formatv(
      "cp.async.bulk.tensor.{0}d.shared::cluster.global{1}.mbarrier::complete_"
      "tx::bytes",
      getRank(load.getMode(), coordinates.size()), getLoadMode(load.getMode()));
  if (load.getMulticastMask())
    text += ".multicast::cluster";
  if (auto group = load.getGroup())
    text +=
        (".cta_group::" + Twine(*group == NVVM::CTAGroupKind::CTA_1 ? 1 : 2))
            .str();
  if (load.getL2CacheHint())
    text += ".L2::cache_hint";
  text += " [" + target + "], [" + map + ", " + braces(coordinates) + "], [" +
          barrier + "]";
  if (!offsets.empty())
    text += ", " + braces(offsets);
  if (Value mask = load.getMulticastMask())
    text += ", " + assembly.add('h', cast("short", get(mask)).text);
  if (Value hint = load.getL2CacheHint())
    text += ", " + assembly.add('l', get(hint).text);
  statement(op, assembly.print(text));
}

static StringRef getStoreMode(NVVM::TMAStoreMode mode) {
  switch (mode) {
  case NVVM::TMAStoreMode::TILE:
    return "";
  case NVVM::TMAStoreMode::IM2COL:
    return ".im2col_no_offs";
  case NVVM::TMAStoreMode::TILE_SCATTER4:
    return ".tile::scatter4";
  }
  llvm_unreachable("unknown mode of store");
}

void KernelPrinter::printTensorStore(Operation *op) {
  auto store = cast<NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp>(op);
  if (store.getMode() == NVVM::TMAStoreMode::TILE && !store.getL2CacheHint()) {
    SmallVector<Expression> operands = {get(store.getTmaDescriptor()),
                                        get(store.getSrcMem())};
    for (Value coordinate : store.getCoordinates())
      operands.push_back(get(coordinate));
    return statement(op, call("tl::tma_store", operands).text);
  }

  Assembly assembly;
  std::string map = assembly.add('l', get(store.getTmaDescriptor()).text);
  std::string source = assembly.add(
      'r', call("tl::shared_address", get(store.getSrcMem())).text);
  SmallVector<std::string> coordinates;
  for (Value coordinate : store.getCoordinates())
    coordinates.push_back(assembly.add('r', get(coordinate).text));
  bool scatter = store.getMode() == NVVM::TMAStoreMode::TILE_SCATTER4;
  std::string text = llvm::formatv(
      "cp.async.bulk.tensor.{0}d.global.shared::cta{1}.bulk_group",
      scatter ? 2 : coordinates.size(), getStoreMode(store.getMode()));
  if (store.getL2CacheHint())
    text += ".L2::cache_hint";
  text += " [" + map + ", " + braces(coordinates) + "], [" + source + "]";
  if (Value hint = store.getL2CacheHint())
    text += ", " + assembly.add('l', get(hint).text);
  statement(op, assembly.print(text));
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// What follows `mbarrier.arrive` in the name of the header's function: blocks
/// of the cluster, and orders other than release at the block's scope.
template <typename OpTy>
static std::string getArrival(OpTy op, StringRef kind) {
  std::string name = ("tl::mbarrier_arrive" + kind).str();
  auto type = cast<LLVM::LLVMPointerType>(op.getAddr().getType());
  bool remote = type.getAddressSpace() == 7;
  bool cluster = op.getScope() == NVVM::MemScopeKind::CLUSTER;
  if (remote)
    name += "_remote";
  else if (cluster || op.getRelaxed())
    name += llvm::formatv("_{0}_{1}", op.getRelaxed() ? "relaxed" : "release",
                          cluster ? "cluster" : "cta");
  return name;
}

static StringRef getProxy(NVVM::FenceProxyOp fence) {
  switch (fence.getKind()) {
  case NVVM::ProxyKind::alias:
    return "fence.proxy.alias";
  case NVVM::ProxyKind::async:
    return "fence.proxy.async";
  case NVVM::ProxyKind::async_global:
    return "fence.proxy.async.global";
  case NVVM::ProxyKind::async_shared:
    return fence.getSpace() == NVVM::SharedSpace::shared_cta
               ? "fence.proxy.async.shared::cta"
               : "fence.proxy.async.shared::cluster";
  default:
    return "";
  }
}

static std::string getPrefetch(NVVM::PrefetchOp prefetch) {
  if (prefetch.getTensormap())
    return "prefetch.tensormap";
  std::string text = prefetch.getUniform() ? "prefetchu" : "prefetch";
  auto type = cast<LLVM::LLVMPointerType>(prefetch.getAddr().getType());
  if (type.getAddressSpace() == 1)
    text += ".global";
  if (auto level = prefetch.getCacheLevel())
    text += *level == NVVM::PrefetchCacheLevel::L1 ? ".L1" : ".L2";
  if (auto priority = prefetch.getEvictPriority())
    text += *priority == NVVM::CacheEvictionPriority::EvictLast
                ? "::evict_last"
                : "::evict_normal";
  return text;
}

/// The predicate of an op that has one.
static Value getPredicate(Operation *op) {
  return TypeSwitch<Operation *, Value>(op)
      .Case<NVVM::MBarrierInitOp, NVVM::MBarrierArriveExpectTxOp,
            NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp,
            NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp, NVVM::PrefetchOp>(
          [](auto op) { return op.getPredicate(); })
      .Default([](Operation *) { return Value(); });
}

bool KernelPrinter::printCopyStatement(Operation *op) {
  Value predicate = getPredicate(op);
  if (predicate)
    open("if (" + get(predicate).text + ")");
  auto print = [&](const Expression &text) {
    bool hasResult = op->getNumResults() == 1 && !op->getResult(0).use_empty();
    if (hasResult)
      define(op->getResult(0), text);
    else
      statement(op, text.text);
    return true;
  };
  bool done =
      TypeSwitch<Operation *, bool>(op)
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
          .Case([&](NVVM::CpAsyncMBarrierArriveOp arrive) {
            return print(call(arrive.getNoinc()
                                  ? "tl::cp_async_mbarrier_arrive_noinc"
                                  : "tl::cp_async_mbarrier_arrive",
                              get(arrive.getAddr())));
          })
          .Case([&](NVVM::MBarrierInitOp init) {
            return print(call("tl::mbarrier_init",
                              {get(init.getAddr()), get(init.getCount())}));
          })
          .Case([&](NVVM::MBarrierInvalOp inval) {
            return print(call("tl::mbarrier_inval", get(inval.getAddr())));
          })
          .Case([&](NVVM::FenceMbarrierInitOp) {
            return print({"tl::fence_mbarrier_init()"});
          })
          .Case([&](NVVM::MBarrierArriveOp arrive) {
            SmallVector<Expression> operands = {get(arrive.getAddr())};
            if (arrive.getCount())
              operands.push_back(get(arrive.getCount()));
            return print(call(getArrival(arrive, ""), operands));
          })
          .Case([&](NVVM::MBarrierArriveExpectTxOp arrive) {
            return print(
                call(getArrival(arrive, "_expect_tx"),
                     {get(arrive.getAddr()), get(arrive.getTxcount())}));
          })
          .Case([&](NVVM::MBarrierTryWaitParityOp wait) {
            SmallVector<Expression> arguments = {get(wait.getAddr()),
                                                 get(wait.getPhase())};
            addUnlessDefault(arguments, wait.getTicks(), 10000000);
            return print(call("tl::mbarrier_wait_parity", arguments));
          })
          .Case([&](NVVM::FenceProxyOp fence) {
            if (getProxy(fence).empty())
              return false;
            if (getProxy(fence) == "fence.proxy.async.shared::cta")
              return print({"tl::fence_proxy_async_shared()"});
            return print(
                {("asm volatile(\"" + getProxy(fence) + ";\" ::: \"memory\")")
                     .str()});
          })
          .Case([&](NVVM::PrefetchOp prefetch) {
            if (prefetch.getTensormap())
              return print(
                  call("tl::prefetch_tensormap",
                       cast("const tl::TensorMap *", get(prefetch.getAddr()))));
            Assembly assembly;
            auto type =
                mlir::cast<LLVM::LLVMPointerType>(prefetch.getAddr().getType());
            std::string address = get(prefetch.getAddr()).text;
            if (type.getAddressSpace() == 1)
              address = "__cvta_generic_to_global(" + address + ")";
            std::string place = assembly.add('l', address);
            return print(
                {assembly.print(getPrefetch(prefetch) + " [" + place + "]")});
          })
          .Case([&](NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp) {
            return printTensorLoad(op), true;
          })
          .Case([&](NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp) {
            return printTensorStore(op), true;
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
  if (predicate)
    close();
  return done;
}
