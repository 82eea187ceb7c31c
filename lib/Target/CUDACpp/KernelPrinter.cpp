//===- KernelPrinter.cpp - Lines and signatures ---------------------------===//

#include "KernelPrinter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tl/Conversion/TLToNVVM/Passes.h"
#include "tl/Dialect/TL/Analysis/SharedLives.h"
#include "tl/Dialect/TL/IR/LaunchBounds.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tl;
using namespace tl::cuda;

/// So many guards of two conditions are too many for `&&`: NVVM makes a block
/// of each condition, and its time grows with the square of their number.
static constexpr int kManyGuards = 128;

static bool hasManyGuards(gpu::GPUFuncOp function) {
  int count = 0;
  function.walk([&](scf::IfOp branch) {
    count += branch.getCondition().getDefiningOp<arith::AndIOp>() != nullptr;
  });
  return count >= kManyGuards;
}

KernelPrinter::KernelPrinter(gpu::GPUFuncOp function, Preamble &preamble,
                             llvm::raw_ostream &os)
    : function(function), preamble(preamble), os(os), plan(function),
      joinsConditions(hasManyGuards(function)) {}

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

void KernelPrinter::line(const Twine &text) {
  os << lineDirective;
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
  if (function->getParentOp()->hasAttr(kLineInfoAttr)) {
    FileLineColLoc file = findFile(op->getLoc());
    if (file && file.getLine() != 0)
      lineDirective = llvm::formatv("#line {0} \"{1}\"\n", file.getLine(),
                                    file.getFilename().getValue());
    return;
  }
  StringAttr statement = getStatement(op->getLoc());
  if (!statement || statement == lastStatement)
    return;
  lastStatement = statement;
  // A backslash at the end would make the next line a comment too.
  line("// " + statement.getValue().rtrim("\\ "));
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

static bool isTensorMap(gpu::GPUFuncOp function, unsigned index) {
  auto param = function.getArgAttrOfType<ParamAttr>(index, kParamAttr);
  return param && param.getKind() == ParamKind::TensorMap;
}

void KernelPrinter::nameParameters() {
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    std::string wish = getWish(argument);
    if (auto param = function.getArgAttrOfType<ParamAttr>(index, kParamAttr))
      wish = describeParameter(param, wish);
    if (wish.empty())
      wish = "x" + std::to_string(index);
    std::string name = names.take(wish);
    variables[argument] = isTensorMap(function, index) ? "&" + name : name;
  }
}

/// The tensor map as a launch of the text as a source kernel would give it.
static std::string describeTensorMap(ParamAttr param, StringRef buffer) {
  auto outermostFirst =
      llvm::map_to_vector(llvm::reverse(param.getBox()), [](int64_t extent) {
        return std::to_string(extent);
      });
  return llvm::formatv("T.TensorMap({0}, box=[{1}], swizzle={2})", buffer,
                       llvm::join(outermostFirst, ", "), param.getSwizzle());
}

std::string KernelPrinter::getParameter(BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  std::string held = variables.lookup(argument);
  StringRef name = held;
  if (isTensorMap(function, index)) {
    auto param = function.getArgAttrOfType<ParamAttr>(index, kParamAttr);
    return llvm::formatv(
        "const __grid_constant__ tl::TensorMap {0} /* {1} */",
        name.drop_front(),
        describeTensorMap(param, getSourceArgument(param, getWish(argument))));
  }
  if (!isa<LLVM::LLVMPointerType>(argument.getType()))
    return (getValueType(argument.getType()) + " " + name).str();
  return ((isReadOnly(argument) ? "const " : "") + getPointee(argument) + " *" +
          name)
      .str();
}

void KernelPrinter::printLaunchBounds() {
  line("extern \"C\" __global__ void");
  if (auto cluster = function->getAttrOfType<DenseI64ArrayAttr>(kClusterAttr)) {
    SmallVector<std::string> extents =
        llvm::map_to_vector(cluster.asArrayRef(), [](int64_t extent) {
          return std::to_string(extent);
        });
    line("__cluster_dims__(" + llvm::join(extents, ", ") + ")");
  }
  os << lineDirective << "__launch_bounds__(" << getNumThreads(function);
  if (auto blocks = function->getAttrOfType<IntegerAttr>(kMinBlocksAttr))
    os << ", " << blocks.getInt();
  os << ") ";
}

/// What lies where in shared memory, by the program's names.
void KernelPrinter::printTiles() {
  auto tiles = function->getAttrOfType<ArrayAttr>(kSharedTilesAttr);
  if (!tiles)
    return;
  for (auto tile : tiles.getAsRange<ArrayAttr>()) {
    auto name = cast<StringAttr>(tile[0]);
    line(llvm::formatv("// smem + {0}: {1}, {2} bytes",
                       cast<IntegerAttr>(tile[1]).getInt(), name.getValue(),
                       cast<IntegerAttr>(tile[2]).getInt())
             .str());
  }
}

LogicalResult KernelPrinter::printKernel(StringRef name) {
  nameParameters();
  noteSource(function);
  printLaunchBounds();
  SmallVector<std::string> parameters =
      llvm::map_to_vector(function.getArguments(), [&](BlockArgument argument) {
        return getParameter(argument);
      });
  // One line of text where each is one of the user's.
  StringRef separator = lineDirective.empty() ? ",\n    " : ", ";
  os << name << "(" << llvm::join(parameters, separator) << ") {\n";
  ++depth;
  bool usesShared =
      function.walk([](SharedBaseOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (usesShared) {
    line("extern __shared__ __align__(1024) unsigned char smem[]; // " +
         Twine(function->getAttrOfType<IntegerAttr>(kSharedAttr).getInt()) +
         " bytes");
    printTiles();
  }
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
