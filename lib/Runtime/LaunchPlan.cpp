//===- LaunchPlan.cpp - Parse and compile launch plans --------------------===//
//
// A plan comes from a file or a cache, so nothing in it is trusted: every
// member is checked, unknown members are rejected (one that a newer compiler
// added may be a condition that must hold), and each error says where it is.
//
//===----------------------------------------------------------------------===//

#include "tl/Runtime/LaunchPlan.h"
#include "tl/Runtime/RuntimeError.h"
#include "tl/Support/BoundedJSON.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace tl::runtime;

using Opcode = Instruction::Opcode;

//===----------------------------------------------------------------------===//
// Reading JSON
//===----------------------------------------------------------------------===//

static Error fail(const Twine &where, const Twine &message) {
  return makeError(ErrorCategory::Plan,
                   "launch plan: `" + where + "`: " + message);
}

namespace {
/// A JSON value together with its place in the plan, such as
/// `launches[0].grid[1]`. `value` is null for a member that is not there.
struct Node {
  const json::Value *value;
  std::string where;

  Error fail(const Twine &message) const { return ::fail(where, message); }

  Node member(StringRef key) const {
    std::string place = where.empty() ? key.str() : (where + "." + key).str();
    return {value->getAsObject()->get(key), std::move(place)};
  }
  Node element(size_t i) const {
    return {&(*value->getAsArray())[i], formatv("{0}[{1}]", where, i)};
  }
  size_t size() const { return value->getAsArray()->size(); }

  /// Fails unless this is an object whose members are all among `keys`.
  Error expectObject(ArrayRef<StringRef> keys) const {
    const json::Object *object = value ? value->getAsObject() : nullptr;
    if (!object)
      return fail("expected an object");
    for (const auto &entry : *object)
      if (!is_contained(keys, StringRef(entry.first)))
        return fail("unknown member `" + StringRef(entry.first) +
                    "`; was the plan made by a newer compiler?");
    return Error::success();
  }

  /// Fails unless this is a list of so many elements at most.
  Error expectArray(size_t atMost) const {
    if (!value || !value->getAsArray())
      return fail("expected a list");
    if (size() > atMost)
      return fail(
          formatv("expected at most {0} elements, got {1}", atMost, size()));
    return Error::success();
  }

  Error read(std::string &result) const {
    std::optional<StringRef> string;
    if (value)
      string = value->getAsString();
    if (!string || string->empty())
      return fail("expected a non-empty string");
    if (string->size() > LaunchPlan::maxNameBytes)
      return fail(formatv("expected a string of at most {0} bytes",
                          LaunchPlan::maxNameBytes));
    result = string->str();
    return Error::success();
  }

  Error read(bool &result) const {
    std::optional<bool> boolean;
    if (value)
      boolean = value->getAsBoolean();
    if (!boolean)
      return fail("expected true or false");
    result = *boolean;
    return Error::success();
  }

  Error read(DataType &result) const {
    std::string name;
    if (Error error = read(name))
      return error;
    std::optional<DataType> type = parseDataType(name);
    if (!type)
      return fail("unknown dtype `" + name + "`");
    result = *type;
    return Error::success();
  }

  /// Reads an integer between `low` and `high`.
  template <typename Integer>
  Error read(Integer &result, int64_t low, int64_t high) const {
    std::optional<int64_t> integer;
    if (value)
      integer = value->getAsInteger();
    if (!integer || *integer < low || *integer > high)
      return fail(
          formatv("expected an integer between {0} and {1}", low, high));
    result = static_cast<Integer>(*integer);
    return Error::success();
  }

  /// Reads three positive integers whose product is at most `limit`.
  Error read(std::array<uint32_t, 3> &result, uint64_t limit) const {
    if (!value || !value->getAsArray() || size() != 3)
      return fail("expected a list of three integers");
    uint64_t product = 1;
    for (unsigned i = 0; i != 3; ++i) {
      if (Error error = element(i).read(result[i], 1, limit))
        return error;
      product *= result[i];
    }
    if (product > limit)
      return fail(
          formatv("the product is {0}, the limit is {1}", product, limit));
    return Error::success();
  }

  /// Reads a member that may be missing.
  template <typename T, typename... Limits>
  Error readOptional(T &result, Limits... limits) const {
    return value ? read(result, limits...) : Error::success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Parser
//===----------------------------------------------------------------------===//

namespace {
class Parser {
public:
  Expected<LaunchPlan> parse(Node root);

private:
  Error parseArgument(Node node);
  Error parseTensor(Node node, PlanArgument &argument);
  Error parseRequirement(Node node, bool isStride, Requirement &result);

  Error parseExpression(Node node, const Twine &purpose, Expression &result);
  Error compile(Node node, unsigned depth, Expression &result);
  Error compileSlot(Node node, StringRef name, Expression &result);

  Error parseLaunch(Node node);
  Error parseSymbols(Node node, std::vector<SymbolCopy> &result);
  Error parseParameter(Node node, const std::string &kernel, Parameter &result);
  Error parseScalarParameter(Node node, const std::string &kernel,
                             Parameter &result);
  Error parseStruct(Node node, const std::string &kernel, Parameter &result);
  Error parseTensorMap(Node node, Parameter &result);
  Error readArgument(Node node, bool isTensor, unsigned &result);

  Error layOutFrame();

  LaunchPlan plan;
};
} // namespace

Expected<LaunchPlan> Parser::parse(Node root) {
  int version;
  if (Error error = root.expectObject({"version", "name", "args", "launches"}))
    return error;
  if (Error error = root.member("version").read(version, 1, INT32_MAX))
    return error;
  if (version != 1)
    return root.member("version").fail(
        formatv("version {0} is not supported, expected 1", version));
  if (Error error = root.member("name").read(plan.name))
    return error;

  Node arguments = root.member("args");
  if (Error error = arguments.expectArray(LaunchPlan::maxArguments))
    return error;
  for (size_t i = 0; i != arguments.size(); ++i)
    if (Error error = parseArgument(arguments.element(i)))
      return error;

  Node launches = root.member("launches");
  if (Error error = launches.expectArray(LaunchPlan::maxLaunches))
    return error;
  for (size_t i = 0; i != launches.size(); ++i)
    if (Error error = parseLaunch(launches.element(i)))
      return error;

  if (Error error = layOutFrame())
    return error;
  return std::move(plan);
}

/// Gives every parameter its place in the frame, tensor maps first. Fails if
/// they do not fit into one.
Error Parser::layOutFrame() {
  uint64_t nextMap = 0;
  uint64_t nextWord = uint64_t(plan.tensorMapCount) * Parameter::tensorMapWords;
  for (Launch &launch : plan.launches) {
    for (Parameter &parameter : launch.params) {
      bool isMap = parameter.kind == Parameter::Kind::TensorMap;
      uint64_t &next = isMap ? nextMap : nextWord;
      parameter.firstWord = static_cast<unsigned>(next);
      next += isMap ? Parameter::tensorMapWords : parameter.wordCount();
      if (next > LaunchPlan::maxFrameWords)
        return fail("launches",
                    formatv("the parameters take more than {0} bytes",
                            LaunchPlan::maxFrameWords * sizeof(uint64_t)));
    }
  }
  plan.frameWords = static_cast<unsigned>(nextWord);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Error Parser::parseArgument(Node node) {
  PlanArgument argument;
  std::string kind;
  if (Error error = node.expectObject(
          {"kind", "name", "dtype", "shape", "strides", "align", "record"}))
    return error;
  if (Error error = node.member("kind").read(kind))
    return error;
  if (Error error = node.member("name").read(argument.name))
    return error;
  if (Error error = node.member("dtype").read(argument.dtype))
    return error;
  argument.element = toDLPack(argument.dtype);

  argument.firstSlot = plan.requirements.size();
  if (kind == "tensor") {
    if (Error error = parseTensor(node, argument))
      return error;
  } else if (kind == "scalar") {
    if (Error error = node.expectObject({"kind", "name", "dtype"}))
      return error;
    plan.requirements.push_back({});
  } else {
    return node.member("kind").fail("expected `tensor` or `scalar`, got `" +
                                    kind + "`");
  }
  plan.arguments.push_back(std::move(argument));
  return Error::success();
}

Error Parser::parseTensor(Node node, PlanArgument &argument) {
  argument.isTensor = true;
  Node shape = node.member("shape");
  if (Error error = shape.expectArray(LaunchPlan::maxRank))
    return error;
  argument.rank = shape.size();
  if (argument.firstSlot + 2 * argument.rank > LaunchPlan::maxSlots)
    return shape.fail(formatv("the tensors have more than {0} extents and "
                              "strides",
                              LaunchPlan::maxSlots));
  plan.requirements.resize(argument.firstSlot + 2 * argument.rank);
  for (unsigned i = 0; i != argument.rank; ++i)
    if (Error error =
            parseRequirement(shape.element(i), /*isStride=*/false,
                             plan.requirements[argument.extentSlot(i)]))
      return error;

  Node strides = node.member("strides");
  argument.isContiguous = !strides.value || strides.value->getAsNull();
  if (!argument.isContiguous) {
    if (Error error = strides.expectArray(LaunchPlan::maxRank))
      return error;
    if (strides.size() != argument.rank)
      return strides.fail(formatv("expected one stride for each of the {0} "
                                  "dimensions, got {1}",
                                  argument.rank, strides.size()));
    for (unsigned i = 0; i != argument.rank; ++i)
      if (Error error =
              parseRequirement(strides.element(i), /*isStride=*/true,
                               plan.requirements[argument.strideSlot(i)]))
        return error;
  }

  Node align = node.member("align");
  if (Error error = align.readOptional(argument.alignment, 1, 1 << 30))
    return error;
  if (!isPowerOf2_64(argument.alignment))
    return align.fail("expected a power of two");
  return node.member("record").readOptional(argument.isRecord);
}

Error Parser::parseRequirement(Node node, bool isStride, Requirement &result) {
  if (isStride && node.value->getAsNull())
    return Error::success();

  if (std::optional<StringRef> name = node.value->getAsString()) {
    if (name->empty() || name->size() > LaunchPlan::maxNameBytes)
      return node.fail("expected a symbol's name");
    auto symbol = find(plan.symbols, *name);
    result = {Requirement::Kind::Symbol, symbol - plan.symbols.begin()};
    if (symbol == plan.symbols.end())
      plan.symbols.push_back(name->str());
    return Error::success();
  }

  result.kind = Requirement::Kind::Constant;
  return node.read(result.operand, isStride ? INT64_MIN : 0, INT64_MAX);
}

/// Reads the position of an argument that is a tensor or a scalar, and is used
/// thereby.
Error Parser::readArgument(Node node, bool isTensor, unsigned &result) {
  if (plan.arguments.empty())
    return node.fail("the plan has no arguments");
  if (Error error = node.read(result, 0, plan.arguments.size() - 1))
    return error;
  PlanArgument &argument = plan.arguments[result];
  if (argument.isTensor != isTensor)
    return node.fail("argument `" + argument.name + "` is a " +
                     (isTensor ? "scalar" : "tensor") + ", expected a " +
                     (isTensor ? "tensor" : "scalar"));
  argument.isUsed = true;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

Error Parser::parseExpression(Node node, const Twine &purpose,
                              Expression &result) {
  result.purpose = ("`" + plan.name + "`: " + purpose).str();
  return compile(std::move(node), 0, result);
}

/// Appends code and text for `node` to `result`.
Error Parser::compile(Node node, unsigned depth, Expression &result) {
  if (depth == Expression::maxDepth)
    return node.fail("the expression is nested too deeply");
  if (result.text.size() > Expression::maxTextBytes)
    return node.fail("the expression is too long");
  if (node.value && node.value->getAsInteger()) {
    int64_t constant = *node.value->getAsInteger();
    result.code.push_back({Opcode::Constant, constant});
    result.text += std::to_string(constant);
    return Error::success();
  }
  if (!node.value || !node.value->getAsArray() || node.size() == 0)
    return node.fail("expected an integer or a list [operator, operand ...]");

  std::string name;
  if (Error error = node.element(0).read(name))
    return error;
  if (name == "dim" || name == "stride" || name == "scalar")
    return compileSlot(node, name, result);

  auto opcode = StringSwitch<std::optional<Opcode>>(name)
                    .Case("+", Opcode::Add)
                    .Case("-", Opcode::Sub)
                    .Case("*", Opcode::Mul)
                    .Case("floordiv", Opcode::FloorDiv)
                    .Case("ceildiv", Opcode::CeilDiv)
                    .Case("mod", Opcode::Mod)
                    .Case("min", Opcode::Min)
                    .Case("max", Opcode::Max)
                    .Default(std::nullopt);
  if (!opcode)
    return node.element(0).fail("unknown operator `" + name + "`");
  if (node.size() != 3)
    return node.fail(
        formatv("`{0}` takes two operands, got {1}", name, node.size() - 1));

  bool isInfix = name.size() == 1;
  result.text += isInfix ? "(" : name + "(";
  if (Error error = compile(node.element(1), depth + 1, result))
    return error;
  result.text += isInfix ? " " + name + " " : ", ";
  if (Error error = compile(node.element(2), depth + 1, result))
    return error;
  result.text += ")";
  result.code.push_back({*opcode});
  return Error::success();
}

/// Compiles `["dim", arg, i]`, `["stride", arg, i]` or `["scalar", arg]`.
Error Parser::compileSlot(Node node, StringRef name, Expression &result) {
  bool isScalar = name == "scalar";
  if (node.size() != (isScalar ? 2 : 3))
    return node.fail(isScalar
                         ? "expected [\"scalar\", argument]"
                         : "expected [\"" + name + "\", argument, dimension]");
  unsigned position;
  if (Error error = readArgument(node.element(1), !isScalar, position))
    return error;
  PlanArgument &argument = plan.arguments[position];

  if (isScalar) {
    if (!isInteger(argument.dtype))
      return node.fail("argument `" + argument.name + "` is " +
                       getName(argument.dtype) + ", expected an integer type");
    argument.isUsedInExpression = true;
    result.code.push_back({Opcode::Slot, argument.firstSlot});
    result.text += argument.name;
    return Error::success();
  }

  if (argument.rank == 0)
    return node.fail("argument `" + argument.name + "` has rank 0");
  unsigned dim;
  if (Error error = node.element(2).read(dim, 0, argument.rank - 1))
    return error;
  bool isDim = name == "dim";
  result.code.push_back({Opcode::Slot, isDim ? argument.extentSlot(dim)
                                             : argument.strideSlot(dim)});
  result.text +=
      formatv("{0}.{1}[{2}]", argument.name, isDim ? "shape" : "strides", dim);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

Error Parser::parseLaunch(Node node) {
  Launch launch;
  if (Error error = node.expectObject({"kernel", "grid", "block", "cluster",
                                       "shared", "cooperative", "dependent",
                                       "params", "entry", "symbols"}))
    return error;
  if (Error error = node.member("kernel").read(launch.kernel))
    return error;
  launch.entry = launch.kernel;
  if (Error error = node.member("entry").readOptional(launch.entry))
    return error;
  if (Error error = parseSymbols(node.member("symbols"), launch.symbols))
    return error;
  std::string ofKernel = " of kernel `" + launch.kernel + "`";

  Node grid = node.member("grid");
  if (!grid.value || !grid.value->getAsArray() || grid.size() != 3)
    return grid.fail("expected a list of three expressions");
  for (unsigned i = 0; i != 3; ++i)
    if (Error error = parseExpression(
            grid.element(i), Twine("grid ") + Twine("xyz"[i]) + ofKernel,
            launch.grid[i]))
      return error;

  if (Error error = node.member("block").read(launch.block, 1024))
    return error;
  if (Error error = node.member("cluster").readOptional(launch.cluster, 16))
    return error;
  static const json::Value zero = 0;
  Node shared = node.member("shared");
  if (!shared.value)
    shared.value = &zero;
  if (Error error =
          parseExpression(shared, "shared memory" + ofKernel, launch.shared))
    return error;
  if (Error error =
          node.member("cooperative").readOptional(launch.isCooperative))
    return error;
  if (Error error = node.member("dependent").readOptional(launch.isDependent))
    return error;

  Node params = node.member("params");
  if (Error error = params.expectArray(LaunchPlan::maxParameters))
    return error;
  launch.params.resize(params.size());
  for (size_t i = 0; i != params.size(); ++i)
    if (Error error =
            parseParameter(params.element(i), launch.kernel, launch.params[i]))
      return error;
  for (auto [i, parameter] : enumerate(launch.params))
    if (parameter.kind == Parameter::Kind::TensorMap)
      launch.tensorMaps.push_back(i);
  plan.parameterCount += launch.params.size();
  plan.launches.push_back(std::move(launch));
  return Error::success();
}

/// Parses the variables that a launch sets; there may be none.
Error Parser::parseSymbols(Node node, std::vector<SymbolCopy> &result) {
  if (!node.value)
    return Error::success();
  if (Error error = node.expectArray(LaunchPlan::maxParameters))
    return error;
  result.resize(node.size());
  for (size_t i = 0; i != node.size(); ++i) {
    Node symbol = node.element(i);
    if (Error error = symbol.expectObject({"name", "arg"}))
      return error;
    if (Error error = symbol.member("name").read(result[i].name))
      return error;
    if (Error error = readArgument(symbol.member("arg"), /*isTensor=*/true,
                                   result[i].argument))
      return error;
    if (!plan.arguments[result[i].argument].isContiguous)
      return symbol.fail("argument `" +
                         plan.arguments[result[i].argument].name +
                         "` may have gaps, expected a contiguous tensor");
  }
  return Error::success();
}

Error Parser::parseParameter(Node node, const std::string &kernel,
                             Parameter &result) {
  if (Error error = node.expectObject(
          {"base", "value", "type", "scalar", "tensor_map", "struct"}))
    return error;
  Node map = node.member("tensor_map");
  Node aggregate = node.member("struct");
  if (!map.value && !aggregate.value)
    return parseScalarParameter(node, kernel, result);
  if (node.value->getAsObject()->size() != 1)
    return node.fail("expected exactly one of `base`, `value`, `scalar`, "
                     "`tensor_map` and `struct`");
  return map.value ? parseTensorMap(map, result)
                   : parseStruct(aggregate, kernel, result);
}

/// Parses a struct and the places of its members, which lie within it.
Error Parser::parseStruct(Node node, const std::string &kernel,
                          Parameter &result) {
  // CUDA C++ Programming Guide, "Function Parameters": kernels take at most
  // 32764 bytes of parameters.
  constexpr int64_t mostBytes = 32764;
  result.kind = Parameter::Kind::Struct;
  if (Error error = node.expectObject({"size", "members"}))
    return error;
  if (Error error = node.member("size").read(result.size, 1, mostBytes))
    return error;
  Node members = node.member("members");
  if (Error error = members.expectArray(LaunchPlan::maxParameters))
    return error;
  result.members.resize(members.size());
  for (size_t i = 0; i != members.size(); ++i) {
    Node place = members.element(i);
    Parameter::Member &member = result.members[i];
    if (Error error = place.expectObject(
            {"at", "bytes", "base", "value", "type", "scalar"}))
      return error;
    if (Error error = place.member("bytes").read(member.size, 1, 8))
      return error;
    if (member.size > result.size)
      return place.fail("the member is larger than the struct");
    if (Error error = place.member("at").read(member.offset, 0,
                                              result.size - member.size))
      return error;
    if (Error error = parseScalarParameter(place, kernel, member.parameter))
      return error;
  }
  return Error::success();
}

/// Parses what takes one word: `base`, `value` or `scalar`.
Error Parser::parseScalarParameter(Node node, const std::string &kernel,
                                   Parameter &result) {
  Node base = node.member("base");
  Node value = node.member("value");
  Node scalar = node.member("scalar");
  if (count_if(ArrayRef({base, value, scalar}),
               [](const Node &node) { return node.value; }) != 1)
    return node.fail("expected exactly one of `base`, `value`, `scalar`, "
                     "`tensor_map` and `struct`");

  if (base.value) {
    result.kind = Parameter::Kind::Base;
    return readArgument(base, /*isTensor=*/true, result.argument);
  }
  if (scalar.value) {
    result.kind = Parameter::Kind::Scalar;
    return readArgument(scalar, /*isTensor=*/false, result.argument);
  }
  result.kind = Parameter::Kind::Value;
  std::string type;
  if (Error error = node.member("type").read(type))
    return error;
  if (type != "i32" && type != "i64")
    return node.member("type").fail("expected `i32` or `i64`, got `" + type +
                                    "`");
  result.isNarrow = type == "i32";
  return parseExpression(value, "a parameter of kernel `" + kernel + "`",
                         result.value);
}

/// Checks everything about a tensor map that does not depend on the tensor. The
/// limits are those of `cuTensorMapEncodeTiled`.
Error Parser::parseTensorMap(Node node, Parameter &result) {
  result.kind = Parameter::Kind::TensorMap;
  TensorMapLayout &map = result.map;
  if (Error error = node.expectObject({"arg", "dtype", "box", "swizzle"}))
    return error;
  if (Error error =
          readArgument(node.member("arg"), /*isTensor=*/true, result.argument))
    return error;
  if (Error error = node.member("dtype").read(map.dtype))
    return error;
  const PlanArgument &argument = plan.arguments[result.argument];
  unsigned byteSize = getByteSize(map.dtype);
  if (byteSize != getByteSize(argument.dtype))
    return node.member("dtype").fail(
        formatv("`{0}` differs in size from the {1} of argument `{2}`",
                getName(map.dtype), getName(argument.dtype), argument.name));
  if (argument.rank == 0 || argument.rank > 5)
    return node.fail(formatv("argument `{0}` has rank {1}, expected 1 to 5",
                             argument.name, argument.rank));

  Node box = node.member("box");
  if (Error error = box.expectArray(LaunchPlan::maxRank))
    return error;
  if (box.size() != argument.rank)
    return box.fail(formatv("expected {0} extents, one for each dimension of "
                            "argument `{1}`, got {2}",
                            argument.rank, argument.name, box.size()));
  map.box.resize(argument.rank);
  for (unsigned i = 0; i != argument.rank; ++i)
    if (Error error = box.element(i).read(map.box[i], 1, 256))
      return error;

  Node swizzle = node.member("swizzle");
  if (Error error = swizzle.read(map.swizzle, 0, 128))
    return error;
  if (!is_contained({0u, 32u, 64u, 128u}, map.swizzle))
    return swizzle.fail("expected 0, 32, 64 or 128");
  unsigned rowBytes = map.box[0] * byteSize;
  if (rowBytes % 16 != 0)
    return box.fail(formatv("the innermost extent takes {0} bytes, expected a "
                            "multiple of 16",
                            rowBytes));
  if (map.swizzle != 0 && rowBytes > map.swizzle)
    return box.fail(formatv("the innermost extent takes {0} bytes, more than "
                            "the swizzle's {1}",
                            rowBytes, map.swizzle));
  map.number = plan.tensorMapCount++;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// LaunchPlan
//===----------------------------------------------------------------------===//

Expected<LaunchPlan> LaunchPlan::parse(StringRef json) {
  if (Error error = checkLimits(json, {.maxBytes = maxBytes}))
    return makeError(ErrorCategory::Plan,
                     "launch plan: " + toString(std::move(error)));
  Expected<json::Value> root = json::parse(json);
  if (!root)
    return makeError(ErrorCategory::Plan,
                     "launch plan: not JSON: " + toString(root.takeError()));
  return Parser().parse({&*root, ""});
}

std::string LaunchPlan::describeShape(const PlanArgument &argument) const {
  auto describe = [&](const Requirement &requirement) {
    return requirement.kind == Requirement::Kind::Symbol
               ? symbols[requirement.operand]
               : std::to_string(requirement.operand);
  };
  ArrayRef<Requirement> extents =
      ArrayRef(requirements).slice(argument.firstSlot, argument.rank);
  return "(" + join(map_range(extents, describe), ", ") + ")";
}
