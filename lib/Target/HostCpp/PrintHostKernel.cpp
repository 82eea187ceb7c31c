//===- PrintHostKernel.cpp - A launch plan as C++ -------------------------===//
//
// Prints for each chip one function that does, statement by statement, what the
// runtime does with the plan: bind every argument, check shapes and strides,
// compute all launches, launch. What is the same for all plans is in the
// headers `tl/host/*.h`, so that what is printed is about this one.
//
//===----------------------------------------------------------------------===//

#include "HostPrinter.h"
#include "Names.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tl;
using namespace tl::runtime;

/// Returns `text` as a literal of C++.
static std::string quote(StringRef text) {
  std::string result;
  raw_string_ostream os(result);
  os << '"';
  os.write_escaped(text, /*UseHexEscapes=*/false);
  os << '"';
  return result;
}

static std::string printInteger(int64_t value) {
  return value == INT64_MIN ? "INT64_MIN" : std::to_string(value);
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

/// Returns the operator or function of C++ that stands for `opcode`.
static StringRef getOperator(Instruction::Opcode opcode) {
  switch (opcode) {
  case Instruction::Opcode::Add:
    return " + ";
  case Instruction::Opcode::Sub:
    return " - ";
  case Instruction::Opcode::Mul:
    return " * ";
  case Instruction::Opcode::FloorDiv:
    return "floordiv";
  case Instruction::Opcode::CeilDiv:
    return "ceildiv";
  case Instruction::Opcode::Mod:
    return "mod";
  case Instruction::Opcode::Min:
    return "min";
  case Instruction::Opcode::Max:
    return "max";
  case Instruction::Opcode::Constant:
  case Instruction::Opcode::Slot:
    break;
  }
  llvm_unreachable("not an operator");
}

static std::optional<int64_t> getConstant(const Expression &expression) {
  const Instruction &first = expression.code.front();
  if (expression.code.size() != 1 ||
      first.opcode != Instruction::Opcode::Constant)
    return std::nullopt;
  return first.operand;
}

std::string HostPrinter::printSlot(unsigned slot) const {
  for (auto [argument, name] : zip(plan.arguments, names)) {
    unsigned index = slot - argument.firstSlot;
    if (slot >= argument.firstSlot + argument.slotCount())
      continue;
    if (!argument.isTensor)
      return "Integer(" + name + ")";
    bool isExtent = index < argument.rank;
    return formatv("{0}.{1}[{2}]", name, isExtent ? "shape" : "strides",
                   isExtent ? index : index - argument.rank);
  }
  llvm_unreachable("every slot is of an argument");
}

std::string HostPrinter::printExpression(const Expression &expression) const {
  struct Operand {
    std::string text;
    bool isLiteral;
  };
  SmallVector<Operand> stack;
  for (const Instruction &instruction : expression.code) {
    if (instruction.opcode == Instruction::Opcode::Constant) {
      stack.push_back({printInteger(instruction.operand), true});
      continue;
    }
    if (instruction.opcode == Instruction::Opcode::Slot) {
      stack.push_back({printSlot(instruction.operand), false});
      continue;
    }
    Operand rhs = stack.pop_back_val(), lhs = stack.pop_back_val();
    // One operand must be an integer that notices overflow.
    if (lhs.isLiteral && rhs.isLiteral)
      lhs.text = "Integer(" + lhs.text + ")";
    StringRef name = getOperator(instruction.opcode);
    stack.push_back(
        {name.starts_with(" ")
             ? ("(" + lhs.text + name + rhs.text + ")").str()
             : (name + "(" + lhs.text + ", " + rhs.text + ")").str(),
         false});
  }
  return stack.front().text;
}

/// Returns a call of `method`, which computes `expression`; `limit` is its
/// first argument, or empty. Lines start `indent` columns from the margin.
std::string HostPrinter::printComputation(StringRef method, StringRef limit,
                                          const Expression &expression,
                                          unsigned indent) const {
  // The function's name, in front of the purpose, is added by the callee.
  StringRef purpose = expression.purpose;
  purpose.consume_front("`" + plan.name + "`: ");
  std::string newLine = "\n" + std::string(indent + 4, ' ');
  return formatv("call.{0}({1}{2}{3},{1}{4},{1}[&] {{ return {5}; })", method,
                 newLine, limit, quote(purpose), quote(expression.text),
                 printExpression(expression));
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

std::string HostPrinter::printRequirement(const Requirement &required) const {
  switch (required.kind) {
  case Requirement::Kind::None:
    return "nullptr";
  case Requirement::Kind::Constant:
    return printInteger(required.operand);
  case Requirement::Kind::Symbol:
    return getSymbol(required.operand);
  }
  llvm_unreachable("a case for each kind");
}

/// Prints a check of `count` slots from `first` on.
void HostPrinter::printCheck(StringRef method, StringRef tensor, unsigned first,
                             unsigned count) {
  ArrayRef<Requirement> slots = ArrayRef(plan.requirements).slice(first, count);
  std::vector<std::string> texts;
  for (const Requirement &required : slots)
    texts.push_back(printRequirement(required));
  os << fill(formatv("  call.{0}({1}, {{", method, tensor).str(), texts,
             "});\n");
}

void HostPrinter::printParameters() {
  for (auto [argument, name] : zip(plan.arguments, names)) {
    os << "  // " << describeArgument(plan, argument) << '\n';
    if (argument.isTensor)
      os << formatv("  RankedTensor<{0}> {1}({2}, {3}, {4}, {5}, {6});\n",
                    argument.rank, name, quote(argument.name),
                    getName(argument.dtype),
                    quote(plan.describeShape(argument)), argument.alignment,
                    argument.isUsed ? "Used" : "Unused");
    else
      os << formatv("  Scalar {0}({1}, {2}, {3});\n", name,
                    quote(argument.name), getName(argument.dtype),
                    argument.isUsedInExpression ? "Used" : "Unused");
  }
  for (auto [i, symbol] : enumerate(plan.symbols))
    os << formatv("  Symbol {0}({1});\n", getSymbol(i), quote(symbol));
}

void HostPrinter::printChecks() {
  std::vector<std::string> quoted;
  for (const PlanArgument &argument : plan.arguments)
    quoted.push_back(quote(argument.name));
  os << '\n' << fill("  call.expectArguments({", quoted, "});\n");
  for (auto [i, name] : enumerate(ArrayRef(names).take_front(argumentCount())))
    os << formatv("  call.bind({0}, {1});\n", i, name);
  auto forTensors = [&](auto print) {
    for (auto [argument, name] : zip(plan.arguments, names))
      if (argument.isTensor)
        print(argument, name);
  };
  forTensors([&](const PlanArgument &argument, StringRef name) {
    printCheck("checkShape", name, argument.firstSlot, argument.rank);
  });
  forTensors([&](const PlanArgument &argument, StringRef name) {
    if (argument.isContiguous)
      os << "  call.checkContiguous(" << name << ");\n";
    else
      printCheck("checkStrides", name, argument.strideSlot(0), argument.rank);
  });
  forTensors([&](const PlanArgument &argument, StringRef name) {
    if (!argument.isContiguous)
      printCheck("fillStrides", name, argument.strideSlot(0), argument.rank);
  });
}

//===----------------------------------------------------------------------===//
// What to launch
//===----------------------------------------------------------------------===//

/// Returns the word that a parameter of one word is.
std::string HostPrinter::printWord(const Parameter &parameter) const {
  switch (parameter.kind) {
  case Parameter::Kind::Base:
    return "reinterpret_cast<uint64_t>(" + names[parameter.argument] +
           ".base())";
  case Parameter::Kind::Scalar:
    return names[parameter.argument] + ".bits";
  case Parameter::Kind::Value:
    if (std::optional<int64_t> constant = getConstant(parameter.value))
      if (!parameter.isNarrow || isInt<32>(*constant))
        return "static_cast<uint64_t>(" + printInteger(*constant) + ")";
    return printComputation(parameter.isNarrow ? "narrow" : "compute", "",
                            parameter.value, /*indent=*/4);
  case Parameter::Kind::TensorMap:
  case Parameter::Kind::Struct:
    break;
  }
  llvm_unreachable("more than a word");
}

void HostPrinter::printGrid(const Launch &launch, unsigned number) {
  // CUDA C++ Programming Guide, "Technical Specifications per Compute
  // Capability".
  constexpr int64_t limits[] = {INT32_MAX, 65535, 65535};
  std::vector<std::string> extents;
  bool isSimple = true;
  for (unsigned i = 0; i != 3; ++i) {
    const Expression &extent = launch.grid[i];
    std::optional<int64_t> constant = getConstant(extent);
    if (constant && *constant >= 0 && *constant <= limits[i]) {
      extents.push_back(std::to_string(*constant));
      continue;
    }
    isSimple = false;
    extents.push_back(printComputation(
        "extent", formatv("{0}, ", limits[i]).str(), extent, /*indent=*/6));
  }
  os << formatv(isSimple ? "  const Grid grid{0} = {{{1}};\n"
                         : "  const Grid grid{0} = {{\n      {1}};\n",
                number, join(extents, isSimple ? ", " : ",\n      "));

  std::optional<int64_t> constant = getConstant(launch.shared);
  isSimple = constant && *constant >= 0 && *constant <= INT32_MAX;
  os << formatv("  const int64_t shared{0} = {1};\n", number,
                isSimple ? std::to_string(*constant)
                         : printComputation("sharedBytes", "", launch.shared,
                                            /*indent=*/2));
}

/// Prints the values of a launch's parameters. They are computed unless its
/// grid is empty, before anything is launched.
void HostPrinter::printValues(const Launch &launch, unsigned number) {
  unsigned words = 0;
  for (const Parameter &parameter : launch.params)
    if (parameter.kind != Parameter::Kind::TensorMap)
      words += parameter.wordCount();
  if (words == 0)
    return;
  os << formatv("  uint64_t values{0}[{1}] = {{};\n", number, words)
     << formatv("  if (!grid{0}.isEmpty()) {{\n", number);
  unsigned next = 0;
  for (const Parameter &parameter : launch.params) {
    if (parameter.kind == Parameter::Kind::TensorMap)
      continue;
    if (parameter.kind == Parameter::Kind::Struct)
      for (const Parameter::Member &member : parameter.members)
        os << formatv("    put(values{0} + {1}, {2}, {3}, {4});\n", number,
                      next, member.offset, printWord(member.parameter),
                      member.size);
    else
      os << formatv("    values{0}[{1}] = {2};\n", number, next,
                    printWord(parameter));
    next += parameter.wordCount();
  }
  os << "  }\n";
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static StringRef getTensorMapType(DataType type) {
  switch (type) {
  case DataType::I1:
  case DataType::I8:
  case DataType::U8:
  case DataType::F8E4M3:
  case DataType::F8E5M2:
  case DataType::F8E8M0:
  case DataType::F8E4M3FNUZ:
  case DataType::F8E5M2FNUZ:
  case DataType::X8:
    return "CU_TENSOR_MAP_DATA_TYPE_UINT8";
  // Copies do not look at the sign.
  case DataType::I16:
  case DataType::U16:
    return "CU_TENSOR_MAP_DATA_TYPE_UINT16";
  case DataType::I32:
    return "CU_TENSOR_MAP_DATA_TYPE_INT32";
  case DataType::U32:
    return "CU_TENSOR_MAP_DATA_TYPE_UINT32";
  case DataType::I64:
    return "CU_TENSOR_MAP_DATA_TYPE_INT64";
  case DataType::U64:
    return "CU_TENSOR_MAP_DATA_TYPE_UINT64";
  case DataType::F16:
    return "CU_TENSOR_MAP_DATA_TYPE_FLOAT16";
  case DataType::BF16:
    return "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16";
  case DataType::F32:
    return "CU_TENSOR_MAP_DATA_TYPE_FLOAT32";
  case DataType::F64:
    return "CU_TENSOR_MAP_DATA_TYPE_FLOAT64";
  case DataType::TF32:
    return "CU_TENSOR_MAP_DATA_TYPE_TFLOAT32";
  }
  llvm_unreachable("a case for each type");
}

/// Prints the tensor maps of a launch. Returns its parameters' addresses.
std::string HostPrinter::printParams(const Launch &launch, unsigned number) {
  std::vector<std::string> addresses;
  unsigned next = 0;
  for (auto [i, parameter] : enumerate(launch.params)) {
    if (parameter.kind != Parameter::Kind::TensorMap) {
      addresses.push_back(formatv("&values{0}[{1}]", number, next));
      next += parameter.wordCount();
      continue;
    }
    const TensorMapLayout &map = parameter.map;
    os << formatv("    CUtensorMap map{0} =\n        gpu.encode({1}, {2}, {3}, "
                  "{{{4}}, {5});\n",
                  i, names[parameter.argument], getName(map.dtype),
                  getTensorMapType(map.dtype),
                  make_range(map.box.begin(), map.box.end()), map.swizzle);
    addresses.push_back(formatv("&map{0}", i));
  }
  if (addresses.empty())
    return "nullptr";
  os << fill("    void *params[] = {", addresses, "};\n");
  return "params";
}

static std::string printDims(ArrayRef<uint32_t> dims) {
  return formatv("{{{0}}", make_range(dims.begin(), dims.end()));
}

void HostPrinter::printDeviceLaunch(const Launch &launch, unsigned number) {
  os << formatv("  if (!grid{0}.isEmpty()) {{\n", number);
  std::string params = printParams(launch, number);
  unsigned kernel = getKernel(launch);
  for (auto [i, copy] : enumerate(launch.symbols))
    os << formatv("    gpu.set(variable{0}_{1}, {2});\n", number, i,
                  names[copy.argument]);
  os << formatv("    gpu.launch({0}, grid{1}, {{{2}, {3}, {4}, {5}},\n"
                "               shared{1}, {6});\n  }\n",
                kernel, number, printDims(launch.block),
                printDims(launch.cluster), launch.isCooperative,
                launch.isDependent, params);
}

/// Prints what must be found on the GPU before anything is launched.
void HostPrinter::printScope() {
  os << "\n  LaunchScope gpu(program, call, stream);\n";
  for (auto [number, launch] : enumerate(plan.launches))
    for (auto [i, copy] : enumerate(launch.symbols))
      os << formatv("  const Variable variable{0}_{1} = gpu.find({2}, {3});\n",
                    number, i, getKernel(launch), quote(copy.name));
}

void HostPrinter::printHostLaunch(const Launch &launch, unsigned number) {
  os << formatv("  if (!grid{0}.isEmpty()) {{\n", number);
  std::string params = printParams(launch, number);
  os << formatv("    launchOnHost(call, {0}, tl_kernel_{1}, grid{2}, {3});\n"
                "  }\n",
                quote(launch.kernel), getKernel(launch), number, params);
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

unsigned HostPrinter::getKernel(const Launch &launch) const {
  return find(kernels, launch.kernel) - kernels.begin();
}

HostPrinter::HostPrinter(const HostProgram &program, DeviceImages &images,
                         raw_ostream &os)
    : program(program), plan(program.plan), images(images), os(os),
      names(getVariableNames(program.plan)), kernels(getKernelNames(plan)) {}

/// Prints the table of the kernels and the program that loads them.
void HostPrinter::printProgram() {
  StringRef chip = program.chip;
  StringRef number = chip.drop_front(3);
  char suffix = isDigit(number.back()) ? 0 : number.back();
  number = number.take_while(isDigit);
  if (!kernels.empty())
    os << "// Name, symbol, code, and blocks of the largest cluster.\n"
       << "const Kernel kernels[] = {\n";
  for (StringRef kernel : kernels) {
    const Launch *first = nullptr;
    unsigned largest = 1;
    for (const Launch &launch : plan.launches) {
      if (launch.kernel != kernel)
        continue;
      first = first ? first : &launch;
      largest = std::max(largest, launch.clusterSize());
    }
    os << formatv("    {{{0}, {1}, tl_image_{2}, {3}},\n", quote(kernel),
                  quote(first->entry),
                  images.getNumber(program.code.lookup(kernel)), largest);
  }
  if (!kernels.empty())
    os << "};\n\n";
  os << formatv("Program program({0}, {{{1}, {2}, {3}, {4}}{5});\n\n",
                quote(plan.name), quote(chip), number.drop_back(),
                number.take_back(),
                suffix ? formatv("'{0}'", suffix).str() : "0",
                kernels.empty() ? "" : ", kernels");
}

void HostPrinter::print() {
  os << "namespace " << program.chip << " {\n\n";
  if (!program.isHost())
    printProgram();
  bool needsStream = !program.isHost() && !plan.launches.empty();
  os << formatv("void run(const TlArgument *arguments, size_t count, void "
                "*{0}) {{\n",
                needsStream ? "stream" : "")
     << formatv("  Call call({0}, DeviceKind::{1}, arguments, count);\n\n",
                quote(plan.name), program.isHost() ? "CPU" : "CUDA");
  printParameters();
  printChecks();
  for (auto [i, launch] : enumerate(plan.launches)) {
    os << "\n  // Kernel `" << launch.kernel << "`.\n";
    printGrid(launch, i);
    printValues(launch, i);
  }
  if (needsStream)
    printScope();
  else if (!plan.launches.empty())
    os << '\n';
  for (auto [i, launch] : enumerate(plan.launches))
    program.isHost() ? printHostLaunch(launch, i)
                     : printDeviceLaunch(launch, i);
  os << "}\n\n} // namespace " << program.chip << "\n";
}
