//===- KernelPrinter.cpp - Lines, names, signatures and values ------------===//

#include "KernelPrinter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tl/Conversion/TLToNVVM/Passes.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tl;
using namespace tl::cutedsl;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

std::string tl::cutedsl::getScalarType(Type type, bool isUnsigned) {
  type = getElementTypeOrSelf(type);
  if (type.isBF16())
    return "BFloat16";
  if (isa<FloatType>(type))
    return "Float" + std::to_string(type.getIntOrFloatBitWidth());
  unsigned width = type.isIndex() ? 32 : type.getIntOrFloatBitWidth();
  if (width == 1)
    return "Boolean";
  return (isUnsigned ? "Uint" : "Int") + std::to_string(width);
}

Expression tl::cutedsl::call(const Twine &function,
                             ArrayRef<Expression> arguments) {
  auto texts = llvm::map_range(
      arguments, [](const Expression &argument) { return argument.text; });
  return {(function + "(" + llvm::join(texts, ", ") + ")").str()};
}

Expression tl::cutedsl::convert(const Expression &x, Type type,
                                StringRef scalar) {
  if (isa<VectorType>(type))
    return {x.operand() + ".to(" + scalar.str() + ")"};
  return call(scalar, x);
}

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

void KernelPrinter::line(const Twine &text) {
  os.indent(4 * depth) << text << "\n";
}

void KernelPrinter::statement(Operation *op, const Twine &text) {
  StringAttr source = getStatement(op->getLoc());
  if (source && source != lastSource) {
    lastSource = source;
    line("# " + source.getValue());
  }
  line(text);
}

InFlightDiagnostic KernelPrinter::fail(Operation *op) {
  failed = true;
  return op->emitOpError();
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Names that the module needs for itself, and the keywords of Python.
static constexpr StringLiteral kReserved[] = {
    "BFloat16", "Boolean",     "CUstream",  "Float16", "Float32", "Float64",
    "False",    "Int16",       "Int32",     "Int64",   "Int8",    "None",
    "True",     "Uint16",      "Uint32",    "Uint64",  "Uint8",   "Vector",
    "and",      "as",          "assert",    "async",   "await",   "break",
    "class",    "compile_for", "continue",  "cute",    "cutlass", "def",
    "del",      "elif",        "else",      "except",  "finally", "float",
    "for",      "from",        "functools", "global",  "if",      "import",
    "in",       "is",          "lambda",    "launch",  "list",    "make_ptr",
    "nonlocal", "not",         "operator",  "or",      "pass",    "raise",
    "range",    "return",      "try",       "tuple",   "while",   "with",
    "yield"};

std::string KernelPrinter::takeName(StringRef wish) {
  std::string base;
  for (char c : wish)
    base += llvm::isAlnum(c) ? c : '_';
  base = StringRef(base).trim('_').str();
  if (base.empty() || llvm::isDigit(base.front()))
    base = "v" + base;
  std::string name = base;
  for (unsigned number = 1;
       is_contained(kReserved, name) || !names.insert(name).second; ++number)
    name = base + "_" + std::to_string(number);
  return name;
}

std::string KernelPrinter::bind(Value value, StringRef wish) {
  if (StringAttr given = getGivenName(value.getLoc()))
    wish = given;
  return variables[value] = takeName(
             wish.empty() ? describeResult(cast<OpResult>(value)) : wish.str());
}

void KernelPrinter::define(Value value, const Expression &text) {
  std::string name = bind(value);
  statement(value.getDefiningOp(), name + " = " + text.text);
}

//===----------------------------------------------------------------------===//
// The kernel, its launch and its compilation
//===----------------------------------------------------------------------===//

LogicalResult KernelPrinter::nameParameters() {
  for (BlockArgument argument : kernel.getArguments()) {
    auto param =
        kernel.getArgAttrOfType<ParamAttr>(argument.getArgNumber(), kParamAttr);
    if (param.getKind() == ParamKind::TensorMap)
      return fail(kernel)
             << "copies through a tensor map, which has no form in CuTe DSL "
                "here; the backends `nvptx` and `nvrtc` have one";
    StringAttr given = getGivenName(argument.getLoc());
    variables[argument] =
        takeName(describeParameter(param, given ? given.getValue() : ""));
  }
  return success();
}

/// The element type that a pointer to `argument`'s memory has: that of its
/// first use, or bytes.
static std::string getPointee(BlockArgument argument) {
  std::string first = "Int8";
  for (Operation *user : argument.getUsers()) { // from the last to the first
    Type type;
    if (auto address = dyn_cast<LLVM::GEPOp>(user))
      type = address.getElemType();
    else if (auto load = dyn_cast<LLVM::LoadOp>(user))
      type = load.getType();
    else if (auto store = dyn_cast<LLVM::StoreOp>(user))
      type = store.getValue().getType();
    if (type && getElementTypeOrSelf(type).isIntOrFloat())
      first = getScalarType(type);
  }
  return first;
}

std::string KernelPrinter::getPointee(Value pointer) {
  if (auto argument = dyn_cast<BlockArgument>(pointer))
    return ::getPointee(argument);
  if (auto address = pointer.getDefiningOp<LLVM::GEPOp>())
    return getScalarType(address.getElemType());
  return "Int8"; // shared memory
}

static bool isPointer(Value value) {
  return isa<LLVM::LLVMPointerType>(value.getType());
}

std::string KernelPrinter::getSignature() {
  auto parameters =
      llvm::map_range(kernel.getArguments(), [&](BlockArgument argument) {
        std::string type = isPointer(argument)
                               ? "cute.Pointer"
                               : getScalarType(argument.getType());
        return variables.lookup(argument) + ": " + type;
      });
  return llvm::join(parameters, ", ");
}

/// A launch is ours when a program calls the function; this one is for whoever
/// takes the module as it is, and for CuTe DSL, which compiles launches.
void KernelPrinter::printLaunch(StringRef name) {
  std::string signature = getSignature();
  if (!signature.empty())
    signature += ", ";
  line("@cute.jit");
  line("def launch(" + signature +
       "grid_x: Int32, grid_y: Int32, grid_z: Int32, stream: CUstream):");
  auto arguments = llvm::map_range(kernel.getArguments(), [&](Value argument) {
    return variables.lookup(argument);
  });
  ArrayRef<int32_t> block = *kernel.getKnownBlockSize();
  os << "    " << name << "(" << llvm::join(arguments, ", ") << ").launch(\n"
     << "        grid=(grid_x, grid_y, grid_z), block=("
     << llvm::join(
            llvm::map_range(block, [](int32_t x) { return std::to_string(x); }),
            ", ")
     << "), smem=" << kernel->getAttrOfType<IntegerAttr>(kSharedAttr).getInt()
     << ", stream=stream\n    )\n";
}

void KernelPrinter::printCompilation() {
  line("def compile_for(options):");
  line("    \"\"\"Compiles the kernel; `options` are those of "
       "`cute.compile`.\"\"\"");
  line("    return cute.compile(");
  line("        launch,");
  for (BlockArgument argument : kernel.getArguments()) {
    if (!isPointer(argument)) {
      line("        " + getScalarType(argument.getType()) + "(1),");
      continue;
    }
    std::string type = getPointee(argument);
    line("        make_ptr(" + type +
         ", 16, cute.AddressSpace.gmem, assumed_align=" + type +
         ".width // 8),");
  }
  line("        *[Int32(1)] * 3,  # the grid");
  line("        CUstream(0),");
  line("        options=options,");
  line("    )");
  os << "\n\n";
  line("if __name__ == \"__main__\":");
  line("    # Such as `--gpu-arch sm_90a --keep-cubin --dump-dir .`.");
  line("    print(*compile_for(\" \".join(sys.argv[1:])).kernel_info)");
}

LogicalResult KernelPrinter::print() {
  if (kernel->hasAttr(kClusterAttr))
    return fail(kernel)
           << "is launched in clusters, which have no form in CuTe DSL here; "
              "the backends `nvptx` and `nvrtc` have one";
  std::string name = takeName(kernel.getName());
  if (::failed(nameParameters()))
    return failure();
  planFolding();
  line("@cute.kernel");
  line("def " + name + "(" + getSignature() + "):");
  ++depth;
  printBlock(kernel.getBody().front());
  --depth;
  os << "\n\n";
  printLaunch(name);
  os << "\n\n";
  printCompilation();
  return failure(failed);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Ops in one expression: a line of text.
static constexpr unsigned kMaxWeight = 4;

/// The only user of `value`, behind aliases, or null.
static Operation *getOnlyUser(Value value) {
  while (value.hasOneUse()) {
    Operation *user = *value.getUsers().begin();
    if (!isAlias(user))
      return user;
    value = user->getResult(0);
  }
  return nullptr;
}

void KernelPrinter::planFolding() {
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getNumResults() != 1 || op->getNumRegions() ||
        !isMemoryEffectFree(op) || isAlias(op) ||
        isa<arith::ConstantOp, SharedBaseOp, gpu::ThreadIdOp, gpu::BlockIdOp,
            vector::FromElementsOp, vector::InsertOp,
            vector::InsertStridedSliceOp, vector::ShuffleOp>(op))
      return;
    unsigned weight = 1;
    for (Value operand : op->getOperands())
      if (Operation *producer = lookThroughAliases(operand).getDefiningOp())
        weight += folded.lookup(producer);
    Operation *user = getOnlyUser(op->getResult(0));
    if (user && user->getBlock() == op->getBlock() && weight <= kMaxWeight)
      folded[op] = weight;
  });
}

bool KernelPrinter::isWritten(Operation *op) const {
  return !folded.contains(op) && !isAlias(op) && !isa<arith::ConstantOp>(op);
}

/// A float as Python writes it.
static std::string getNumber(const APFloat &value) {
  if (value.isNaN())
    return "float(\"nan\")";
  if (value.isInfinity())
    return value.isNegative() ? "-float(\"inf\")" : "float(\"inf\")";
  SmallString<32> text;
  value.toString(text);
  if (StringRef(text).find_first_of(".E") == StringRef::npos)
    text += ".0";
  return text.str().str();
}

/// A constant as Python writes it, without a type.
static std::string getNumber(Attribute value, bool isUnsigned = false) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return getNumber(number.getValue());
  APInt bits = cast<IntegerAttr>(value).getValue();
  if (bits.getBitWidth() == 1)
    return bits.isZero() ? "False" : "True";
  if (cast<IntegerAttr>(value).getType().isIndex())
    bits = bits.trunc(32);
  return llvm::toString(bits, 10, !isUnsigned);
}

/// A constant of the DSL's type `scalar`.
static Expression getConstant(arith::ConstantOp op, bool isUnsigned = false) {
  std::string scalar = getScalarType(op.getType(), isUnsigned);
  auto vector = dyn_cast<VectorType>(op.getType());
  if (!vector)
    return call(scalar, {{getNumber(op.getValue(), isUnsigned)}});
  auto elements = cast<DenseElementsAttr>(op.getValue());
  if (elements.isSplat())
    return call("cutlass.vector.full",
                {{std::to_string(vector.getNumElements())},
                 {getNumber(elements.getSplatValue<Attribute>(), isUnsigned)},
                 {scalar}});
  std::string all;
  for (Attribute element : elements.getValues<Attribute>())
    all += getNumber(element, isUnsigned) + ", ";
  return call("Vector.from_elements", {{"(" + all + ")"}, {scalar}});
}

Expression KernelPrinter::get(Value value) {
  value = lookThroughAliases(value);
  auto it = variables.find(value);
  if (it != variables.end())
    return {it->second};
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    return getConstant(constant);
  return print(value.getDefiningOp());
}

/// True if a number takes the type of the other operand, and does not give its
/// own: a literal is 32 bits wide.
static bool isTypedByLiteral(Attribute number) {
  if (auto integer = dyn_cast<IntegerAttr>(number))
    return integer.getValue().getBitWidth() >= 32 &&
           integer.getValue().isSignedIntN(32);
  return cast<FloatAttr>(number).getType().isF32();
}

Expression KernelPrinter::getLiteral(Value value) {
  value = lookThroughAliases(value);
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return get(value);
  Attribute number = constant.getValue();
  if (auto splat = dyn_cast<SplatElementsAttr>(number))
    number = splat.getSplatValue<Attribute>();
  else if (isa<DenseElementsAttr>(number) || !isTypedByLiteral(number))
    return get(value);
  std::string text = getNumber(number);
  return {text, text.front() != '-'};
}

Expression KernelPrinter::getUnsigned(Value value) {
  value = lookThroughAliases(value);
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    return getConstant(constant, /*isUnsigned=*/true);
  return convert(get(value), value.getType(),
                 getScalarType(value.getType(), /*isUnsigned=*/true));
}

/// Floats of 8 bits would be converted as CuTe DSL does it, which saturates.
static bool usesSmallFloats(Operation *op) {
  auto isSmall = [](Type type) {
    return isa<Float8E4M3FNType, Float8E5M2Type>(getElementTypeOrSelf(type));
  };
  return llvm::any_of(op->getOperandTypes(), isSmall) ||
         llvm::any_of(op->getResultTypes(), isSmall);
}

Expression KernelPrinter::print(Operation *op) {
  if (usesSmallFloats(op)) {
    failFor(op);
    return {};
  }
  if (std::optional<Expression> text = printArith(op))
    return *text;
  if (std::optional<Expression> text = printMath(op))
    return *text;
  if (std::optional<Expression> text = printVector(op))
    return *text;
  if (std::optional<Expression> text = printMemory(op))
    return *text;
  if (std::optional<Expression> text = printThread(op))
    return *text;
  failFor(op);
  return {};
}

void KernelPrinter::failFor(Operation *op) {
  fail(op) << "has no form in CuTe DSL here; the backends `nvptx` and `nvrtc` "
              "have one";
}

Expression KernelPrinter::help(StringRef name, ArrayRef<Expression> arguments) {
  helpers.insert(name.str());
  return call(name, arguments);
}
