//===- HostLoader.cpp - Run object files in this process ------------------===//
//
// A small arrangement of ORC: one session with one library and JITLink, no
// threads, no compiler and no platform runtime, which kernels do not need.
//
//===----------------------------------------------------------------------===//

#include "tl/Target/CPU/HostLoader.h"

#include "tl/Runtime/HostWaits.h"

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace tl;

class HostObject::Linker {
public:
  static Expected<std::unique_ptr<Linker>> create();
  ~Linker() { cantFail(session.endSession()); }

  Expected<HostFunction> link(StringRef object, StringRef function);

private:
  explicit Linker(std::unique_ptr<orc::ExecutorProcessControl> process)
      : session(std::move(process)), layer(session),
        library(session.createBareJITDylib("kernel")) {
    // An error reaches us twice: here with the details, and again, without
    // them, as the failure of the look-up.
    session.setErrorReporter(
        [this](Error error) { details += toString(std::move(error)) + "; "; });
  }

  orc::ExecutionSession session;
  orc::ObjectLinkingLayer layer;
  orc::JITDylib &library;
  std::string details;
};

static orc::ExecutorSymbolDef getSymbol(auto *function) {
  return orc::ExecutorSymbolDef::fromPtr(function, JITSymbolFlags::Callable);
}

#ifdef __x86_64__
static float extendHalf(_Float16 x) { return static_cast<float>(x); }
static _Float16 truncateFloat(float x) { return static_cast<_Float16>(x); }
static _Float16 truncateDouble(double x) { return static_cast<_Float16>(x); }

/// What code for processors without F16C, and conversions from f64, call: a
/// process need not have the library of the compiler that defines them.
static orc::SymbolMap getHalfConversions(orc::ExecutionSession &session) {
  return {{session.intern("__extendhfsf2"), getSymbol(extendHalf)},
          {session.intern("__truncsfhf2"), getSymbol(truncateFloat)},
          {session.intern("__truncdfhf2"), getSymbol(truncateDouble)}};
}
#else
static orc::SymbolMap getHalfConversions(orc::ExecutionSession &) { return {}; }
#endif

Expected<std::unique_ptr<HostObject::Linker>> HostObject::Linker::create() {
  // Linking is too short to be worth a thread.
  auto process = orc::SelfExecutorProcessControl::Create(
      /*SSP=*/nullptr, std::make_unique<orc::InPlaceTaskDispatcher>());
  if (!process)
    return process.takeError();
  std::unique_ptr<Linker> linker(new Linker(std::move(*process)));
  auto symbols = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      /*GlobalPrefix=*/'\0');
  if (!symbols)
    return symbols.takeError();
  linker->library.addGenerator(std::move(*symbols));
  orc::SymbolMap ours = getHalfConversions(linker->session);
  // Kernels that wait ask the runtime whether they are to end.
  ours[linker->session.intern("sched_yield")] =
      getSymbol(runtime::waitInKernel);
  if (Error error =
          linker->library.define(orc::absoluteSymbols(std::move(ours))))
    return std::move(error);
  return linker;
}

Expected<HostFunction> HostObject::Linker::link(StringRef object,
                                                StringRef function) {
  // The layer takes the buffer over, and with it the alignment of the bytes.
  auto buffer = MemoryBuffer::getMemBufferCopy(object, function);
  if (Error error = layer.add(library, std::move(buffer)))
    return std::move(error);
  Expected<orc::ExecutorSymbolDef> symbol =
      session.lookup({&library}, session.intern(function));
  if (!symbol) {
    std::string why = toString(symbol.takeError());
    return createStringError(details + why);
  }
  return symbol->getAddress().toPtr<HostFunction>();
}

HostObject::HostObject(std::unique_ptr<Linker> linker, HostFunction function)
    : linker(std::move(linker)), function(function) {}

HostObject::~HostObject() = default;

Expected<std::unique_ptr<HostObject>> HostObject::load(StringRef object,
                                                       StringRef function) {
  auto fail = [&](Error error) {
    return createStringError("cannot load the host code of kernel `" +
                             function + "`: " + toString(std::move(error)));
  };
  Expected<std::unique_ptr<Linker>> linker = Linker::create();
  if (!linker)
    return fail(linker.takeError());
  Expected<HostFunction> address = (*linker)->link(object, function);
  if (!address)
    return fail(address.takeError());
  return std::unique_ptr<HostObject>(
      new HostObject(std::move(*linker), *address));
}
