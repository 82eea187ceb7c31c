//===- KernelPrinter.cpp - Lines and signatures ---------------------------===//

#include "KernelPrinter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tl/Conversion/TLToNVVM/Passes.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace tl;
using namespace tl::cuda;

KernelPrinter::KernelPrinter(gpu::GPUFuncOp function, Preamble &preamble,
                             llvm::raw_ostream &os)
    : function(function), preamble(preamble), os(os), plan(function) {}

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

void KernelPrinter::line(const Twine &text) {
  os.indent(2 * depth) << text << "\n";
}

void KernelPrinter::open(const Twine &text) {
  line(text + " {");
  ++depth;
}

void KernelPrinter::close(const Twine &text) {
  --depth;
  line(text);
}

void KernelPrinter::statement(Operation *op, const Twine &text) {
  noteSource(op);
  line(text + ";");
}

static FileLineColLoc findFile(Location location) {
  FileLineColLoc found;
  location->walk([&](Location part) {
    found = dyn_cast<FileLineColLoc>(part);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

void KernelPrinter::noteSource(Operation *op) {
  FileLineColLoc file = findFile(op->getLoc());
  // Numbered locations (`<op>`) name no file.
  if (!file || file.getLine() == 0 ||
      file.getFilename().getValue().starts_with("<"))
    return;
  StringRef path = file.getFilename().getValue();
  bool lineInfo = function->getParentOp()->hasAttr(kLineInfoAttr);
  std::string source =
      lineInfo ? llvm::formatv("#line {0} \"{1}\"", file.getLine(), path).str()
               : llvm::formatv("// {0}:{1}", llvm::sys::path::filename(path),
                               file.getLine())
                     .str();
  if (source == lastSource && !lineInfo)
    return;
  lastSource = source;
  if (lineInfo)
    os << source << "\n";
  else
    line(source);
}

InFlightDiagnostic KernelPrinter::fail(Operation *op) {
  failed = true;
  return op->emitOpError();
}

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

/// True if memory behind `pointer` is only read.
static bool isReadOnly(Value pointer) {
  return llvm::all_of(pointer.getUsers(), [&](Operation *user) {
    if (isa<LLVM::LoadOp>(user))
      return true;
    return isa<LLVM::GEPOp>(user) && isReadOnly(user->getResult(0));
  });
}

/// A name for a parameter that the source has none for.
static std::string describeParameter(ParamAttr param) {
  std::string buffer = "arg" + std::to_string(param.getOperand());
  switch (param.getKind()) {
  case ParamKind::Base:
  case ParamKind::Scalar:
    return buffer;
  case ParamKind::Dim:
    return llvm::formatv("{0}_dim{1}", buffer, param.getIndex());
  case ParamKind::Stride:
    return llvm::formatv("{0}_stride{1}", buffer, param.getIndex());
  case ParamKind::TensorMap:
    return buffer + "_map";
  case ParamKind::Struct:
    break; // only external kernels take structs
  }
  llvm_unreachable("unknown kind of parameter");
}

static bool isTensorMap(gpu::GPUFuncOp function, unsigned index) {
  auto param = function.getArgAttrOfType<ParamAttr>(index, kParamAttr);
  return param && param.getKind() == ParamKind::TensorMap;
}

void KernelPrinter::nameParameters() {
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    std::string wish = getWish(argument);
    if (wish.empty()) {
      auto param = function.getArgAttrOfType<ParamAttr>(index, kParamAttr);
      wish = param ? describeParameter(param) : "x" + std::to_string(index);
    }
    std::string name = names.take(wish);
    variables[argument] = isTensorMap(function, index) ? "&" + name : name;
  }
}

std::string KernelPrinter::getParameter(BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  std::string held = variables.lookup(argument);
  StringRef name = held;
  if (isTensorMap(function, index))
    return ("const __grid_constant__ tl::TensorMap " + name.drop_front()).str();
  if (!isa<LLVM::LLVMPointerType>(argument.getType()))
    return (getValueType(argument.getType()) + " " + name).str();
  bool restricted = bool(function.getArgAttr(index, kNoAliasAttr));
  return ((isReadOnly(argument) ? "const " : "") + getPointee(argument) + " *" +
          (restricted ? "__restrict__ " : "") + name)
      .str();
}

void KernelPrinter::printLaunchBounds() {
  std::string bounds = std::to_string(getNumThreads(function));
  if (auto blocks = function->getAttrOfType<IntegerAttr>(kMinBlocksAttr))
    bounds += ", " + std::to_string(blocks.getInt());
  line("extern \"C\" __global__ void");
  if (auto cluster = function->getAttrOfType<DenseI64ArrayAttr>(kClusterAttr)) {
    SmallVector<std::string> extents =
        llvm::map_to_vector(cluster.asArrayRef(), [](int64_t extent) {
          return std::to_string(extent);
        });
    line("__cluster_dims__(" + llvm::join(extents, ", ") + ")");
  }
  os << "__launch_bounds__(" << bounds << ") ";
}

LogicalResult KernelPrinter::printKernel() {
  nameParameters();
  printLaunchBounds();
  SmallVector<std::string> parameters =
      llvm::map_to_vector(function.getArguments(), [&](BlockArgument argument) {
        return getParameter(argument);
      });
  os << function.getName() << "(" << llvm::join(parameters, ",\n    ")
     << ") {\n";
  ++depth;
  bool usesShared =
      function.walk([](SharedBaseOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (usesShared)
    line("extern __shared__ __align__(1024) unsigned char smem[];");
  printBlock(function.getBody().front());
  close();
  return failure(failed);
}

LogicalResult KernelPrinter::printFunction(StringRef name) {
  nameParameters();
  SmallVector<std::string> parameters =
      llvm::map_to_vector(function.getArguments(), [&](BlockArgument argument) {
        return getParameter(argument);
      });
  open("static __device__ __forceinline__ " +
       getValueType(function.getResultTypes().front()) + " " + name + "(" +
       llvm::join(parameters, ", ") + ")");
  printBlock(function.getBody().front());
  close();
  return failure(failed);
}
