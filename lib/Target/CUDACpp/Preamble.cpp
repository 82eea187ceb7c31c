//===- Preamble.cpp - Functions that generated kernels call ---------------===//

#include "Preamble.h"

#include "KernelPrinter.h"

#include "tl/Conversion/TLToNVVM/AtomInstruction.h"
#include "tl/Conversion/TLToNVVM/MatrixInstructions.h"
#include "tl/Conversion/TLToNVVM/Passes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tl;
using namespace tl::cuda;

//===----------------------------------------------------------------------===//
// Functions of floats
//===----------------------------------------------------------------------===//

/// `exp` for f32; other types, approximations and what is made for `T.sigmoid`
/// are told apart.
static std::string getFunctionName(Operation *op) {
  std::string name = op->getName().stripDialect().str();
  Type type = getElementTypeOrSelf(op->getOperand(0).getType());
  if (!type.isF32()) {
    llvm::raw_string_ostream text(name);
    text << "_" << type;
  }
  if (isApproximate(op))
    name += "_approx";
  else if (op->hasAttr(kSigmoidAttr))
    name += "_of_sigmoid";
  return name;
}

/// A function that computes one element of `op`, before the lowering of `math`.
static gpu::GPUFuncOp buildFunction(Operation *op, OpBuilder &builder) {
  SmallVector<Type> inputs =
      llvm::map_to_vector(op->getOperandTypes(),
                          [](Type type) { return getElementTypeOrSelf(type); });
  Type output = getElementTypeOrSelf(op->getResult(0).getType());
  Location loc = op->getLoc();
  auto function = gpu::GPUFuncOp::create(
      builder, loc, "function", builder.getFunctionType(inputs, output));
  builder.setInsertionPointToStart(&function.getBody().front());
  Operation *scalar =
      builder.create(loc, op->getName().getIdentifier(),
                     function.getArguments(), output, op->getAttrs());
  gpu::ReturnOp::create(builder, loc, scalar->getResults());
  return function;
}

/// Takes the locations off: a formula belongs to no line.
static void forgetLocations(Operation *root) {
  root->walk([](Operation *op) {
    op->setLoc(UnknownLoc::get(op->getContext()));
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        argument.setLoc(op->getLoc());
  });
}

FailureOr<std::string> Preamble::getMathFunction(Operation *op) {
  std::string name = getFunctionName(op);
  if (functions.contains(name))
    return "math::" + name;
  OpBuilder builder(op->getContext());
  OwningOpRef<gpu::GPUModuleOp> module =
      gpu::GPUModuleOp::create(builder, op->getLoc(), "functions");
  builder.setInsertionPointToStart(module->getBody());
  gpu::GPUFuncOp function = buildFunction(op, builder);
  if (failed(lowerMath(function, fastMath)) || failed(lowerDivisions(function)))
    return failure();
  forgetLocations(function);
  std::string text;
  llvm::raw_string_ostream os(text);
  if (failed(KernelPrinter(function, *this, os).printFunction(name)))
    return failure();
  functions[name] = text;
  return "math::" + name;
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

std::string Preamble::getWgmma(WgmmaOp op, bool adds) {
  WgmmaInstruction instruction = WgmmaInstruction::of(op);
  Type element = cast<VectorType>(op.getType()).getElementType();
  std::string name = llvm::formatv("wgmma_{0}_{1}_{2}", instruction.shape,
                                   instruction.accumulator, instruction.kindA);
  if (op.getBy())
    name += "_" + instruction.kindB.str();
  if (op.hasRegisterA())
    name += "_ra";
  if (op.getAMNMajor())
    name += "_ta";
  if (op.getBMNMajor())
    name += "_tb";
  if (!adds)
    name += "_zero";
  std::string &text = instructions[name];
  if (!text.empty())
    return name;

  // Two elements of f16 share a register.
  int64_t count = op.getN() / 2 / (element.isF16() ? 2 : 1);
  // Factors in registers share none with sums, though both be the same zero.
  std::string constraint = adds ? "+" : "=";
  if (op.hasRegisterA())
    constraint += "&";
  constraint += element.isF32() ? "f" : "r";
  std::string registers, operands;
  for (int64_t i = 0; i < count; ++i) {
    StringRef comma = i == 0 ? "" : ", ";
    registers += llvm::formatv("{0}%{1}", comma, i);
    operands += llvm::formatv("{0}\"{1}\"(d[{2}])",
                              i == 0  ? ""
                              : i % 4 ? ", "
                                      : ",\n                 ",
                              constraint, i);
  }
  StringRef scalar = getScalarType(element);
  std::string parameters = "int At, int N", a = "unsigned long long a",
              inputs = "\"l\"(a)", aPlace = llvm::formatv("%{0}", count);
  int64_t bPlace = count + 1;
  if (op.hasRegisterA()) {
    parameters = "int At, int From, int N, int K";
    a = "const tl::vec<int, K> &a";
    inputs = "\"r\"(a[From]), \"r\"(a[From + 1]), \"r\"(a[From + 2]), "
             "\"r\"(a[From + 3])";
    aPlace = llvm::formatv("{{%{0}, %{1}, %{2}, %{3}}", count, count + 1,
                           count + 2, count + 3);
    bPlace = count + 4;
  }
  text = llvm::formatv("template <{0}>\n"
                       "static __device__ __forceinline__ void {1}(\n"
                       "    tl::vec<{2}, N> &acc, {3}, unsigned long long b) "
                       "{{\n",
                       parameters, name, scalar, a);
  if (element.isF16() && adds)
    text += llvm::formatv("  auto d = tl::bit_cast<tl::vec<unsigned, {0}>>("
                          "tl::slice<{1}>(acc, At));\n",
                          count, count * 2);
  else if (element.isF16())
    text += llvm::formatv("  tl::vec<unsigned, {0}> d;\n", count);
  else
    text += llvm::formatv("  {0} *d = &acc[At];\n", scalar);
  text += llvm::formatv(
      "  asm volatile(\"{0}\"\n               : {1}\n"
      "               : {2}, \"l\"(b)\n               : \"memory\");\n",
      instruction.print(registers, aPlace, llvm::formatv("%{0}", bPlace).str(),
                        adds),
      operands, inputs);
  if (element.isF16())
    text += llvm::formatv(
        "  tl::insert(acc, At, tl::bit_cast<tl::vec<tl::half, {0}>>(d));\n",
        count * 2);
  text += "}\n";
  return name;
}

//===----------------------------------------------------------------------===//
// Atomic operations
//===----------------------------------------------------------------------===//

/// `atomic_add_float_relaxed_device_shared`, or `atomically_…` if nobody asks
/// what was there: the two may be in one program.
static std::string getAtomName(AtomOp op) {
  std::string type = getScalarType(op.getOld().getType()).str();
  StringRef word = type;
  word.consume_front("tl::");
  std::string count;
  if (auto vector = dyn_cast<VectorType>(op.getOld().getType()))
    count = llvm::formatv("x{0}", vector.getNumElements());
  std::string name = llvm::formatv(
      "{0}_{1}_{2}{3}_{4}_{5}", givesResult(op) ? "atomic" : "atomically",
      stringifyAtomicKind(op.getKind()), word, count,
      stringifyMemoryOrder(op.getOrder()), stringifyMemoryScope(op.getScope()));
  if (StringRef space = getStateSpace(op); !space.empty())
    name += ("_" + space).str();
  llvm::replace(name, ' ', '_');
  return name;
}

/// The address of `op` as an operand of assembly.
static std::string getAddressOperand(AtomOp op) {
  StringRef space = getStateSpace(op);
  if (space.empty())
    return "\"l\"(address)";
  return llvm::formatv("\"l\"(__cvta_generic_to_{0}(address))", space);
}

/// A function that adds to neighbours.
static std::string printVectorSum(AtomOp op, StringRef name) {
  auto type = cast<VectorType>(op.getOld().getType());
  bool isWide = type.getElementType().isF32();
  int64_t count = getRegisterCount(type);
  std::string inputs = getAddressOperand(op);
  SmallVector<std::string> names;
  for (int64_t i = 0; i < count; ++i) {
    names.push_back(llvm::formatv("%{0}", i + 1));
    inputs += llvm::formatv(", \"{0}\"(words[{1}])", isWide ? "f" : "r", i);
  }
  AtomOperands operands;
  operands.address = "%0";
  operands.value =
      count == 1 ? names.front() : "{" + llvm::join(names, ", ") + "}";
  return llvm::formatv(
      "static __device__ __forceinline__ void {0}(void *address, {1} value) "
      "{{\n  auto words = tl::bit_cast<tl::vec<{2}, {3}>>(value);\n"
      "  asm volatile(\"{4}\"\n               :\n               : {5}\n"
      "               : \"memory\");\n}\n",
      name, getValueType(type), isWide ? "float" : "unsigned", count,
      printAtom(op, operands), inputs);
}

std::string Preamble::getAtom(AtomOp op) {
  std::string name = getAtomName(op);
  std::string &text = instructions[name];
  if (!text.empty())
    return name;

  Type type = op.getOld().getType();
  if (isa<VectorType>(type)) {
    text = printVectorSum(op, name);
    return name;
  }
  StringRef scalar = getScalarType(type);
  bool isHalf = isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 16;
  bool isByte = type.isInteger(8);
  StringRef word = isHalf ? "unsigned short" : isByte ? "unsigned" : scalar;
  char letter = getRegisterLetter(
      isHalf ? IntegerType::get(type.getContext(), 16) : type);
  bool hasResult = givesResult(op) || op.getKind() == AtomicKind::Load;
  int number = hasResult ? 1 : 0;
  AtomOperands operands{"%0", llvm::formatv("%{0}", number++).str(), "", ""};
  std::string parameters, inputs = getAddressOperand(op);
  auto add = [&](StringRef parameter) {
    parameters += llvm::formatv(", {0} {1}", scalar, parameter);
    inputs +=
        llvm::formatv(isHalf   ? ", \"{0}\"(tl::bit_cast<unsigned short>({1}))"
                      : isByte ? ", \"{0}\"(unsigned((unsigned char)({1})))"
                               : ", \"{0}\"({1})",
                      letter, parameter);
    return llvm::formatv("%{0}", number++).str();
  };
  if (op.getValue())
    operands.value = add("value");
  if (op.getExpected())
    operands.expected = add("expected");
  text = llvm::formatv("static __device__ __forceinline__ {0} {1}(void "
                       "*address{2}) {{\n",
                       hasResult ? scalar : "void", name, parameters);
  if (hasResult)
    text += llvm::formatv("  {0} old;\n", word);
  text += llvm::formatv(
      "  asm volatile(\"{0}\"\n               : {1}\n"
      "               : {2}\n               : "
      "\"memory\");\n",
      printAtom(op, operands),
      hasResult ? llvm::formatv("\"={0}\"(old)", letter).str() : "", inputs);
  if (hasResult)
    text +=
        isHalf
            ? llvm::formatv("  return tl::bit_cast<{0}>(old);\n", scalar).str()
        : isByte
            ? llvm::formatv("  return static_cast<{0}>(old);\n", scalar).str()
            : "  return old;\n";
  text += "}\n";
  return name;
}

void Preamble::print(llvm::raw_ostream &os) const {
  if (!functions.empty()) {
    os << "namespace math {\n";
    for (const auto &[name, text] : functions)
      os << "\n" << text;
    os << "\n} // namespace math\n\n";
  }
  for (const auto &[name, text] : instructions)
    os << text << "\n";
}
