//===- Names.cpp - Names of a program in C and C++ ------------------------===//
//
// Arguments and symbols keep the names that the user gave them, unless these
// mean something else in C++ or in the generated program.
//
//===----------------------------------------------------------------------===//

#include "Names.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;
using namespace tl;
using namespace tl::runtime;

/// Keywords of C and C++ (C23, C++23), operators in words among them.
static constexpr StringLiteral kKeywords[] = {"alignas",
                                              "alignof",
                                              "and",
                                              "and_eq",
                                              "asm",
                                              "auto",
                                              "bitand",
                                              "bitor",
                                              "bool",
                                              "break",
                                              "case",
                                              "catch",
                                              "char",
                                              "char16_t",
                                              "char32_t",
                                              "char8_t",
                                              "class",
                                              "co_await",
                                              "co_return",
                                              "co_yield",
                                              "compl",
                                              "concept",
                                              "const",
                                              "const_cast",
                                              "consteval",
                                              "constexpr",
                                              "constinit",
                                              "continue",
                                              "decltype",
                                              "default",
                                              "delete",
                                              "do",
                                              "double",
                                              "dynamic_cast",
                                              "else",
                                              "enum",
                                              "explicit",
                                              "export",
                                              "extern",
                                              "false",
                                              "float",
                                              "for",
                                              "friend",
                                              "goto",
                                              "if",
                                              "inline",
                                              "int",
                                              "long",
                                              "mutable",
                                              "namespace",
                                              "new",
                                              "noexcept",
                                              "not",
                                              "not_eq",
                                              "nullptr",
                                              "operator",
                                              "or",
                                              "or_eq",
                                              "private",
                                              "protected",
                                              "public",
                                              "register",
                                              "reinterpret_cast",
                                              "requires",
                                              "restrict",
                                              "return",
                                              "short",
                                              "signed",
                                              "sizeof",
                                              "static",
                                              "static_assert",
                                              "static_cast",
                                              "struct",
                                              "switch",
                                              "template",
                                              "this",
                                              "thread_local",
                                              "throw",
                                              "true",
                                              "try",
                                              "typedef",
                                              "typeid",
                                              "typename",
                                              "typeof",
                                              "typeof_unqual",
                                              "union",
                                              "unsigned",
                                              "using",
                                              "virtual",
                                              "void",
                                              "volatile",
                                              "wchar_t",
                                              "while",
                                              "xor",
                                              "xor_eq"};

/// What the generated function itself speaks of.
static constexpr StringLiteral kTaken[] = {
    "Call",         "DeviceKind", "Grid",        "INT32_MAX",
    "INT64_MIN",    "Integer",    "LaunchScope", "NULL",
    "RankedTensor", "Scalar",     "Symbol",      "TlArgument",
    "TlTensor",     "Variable",   "Unused",      "Used",
    "arguments",    "bf16",       "call",        "ceildiv",
    "category",     "count",      "errno",       "f16",
    "f32",          "f64",        "f8e4m3",      "f8e4m3fnuz",
    "f8e5m2",       "f8e5m2fnuz", "f8e8m0",      "floordiv",
    "gpu",          "i1",         "i16",         "i32",
    "i64",          "i8",         "kernels",     "launchOnHost",
    "linux",        "max",        "min",         "mod",
    "params",       "program",    "put",         "run",
    "size_t",       "stream",     "tf32",        "toArgument",
    "u16",          "u32",        "u64",         "u8",
    "uint64_t",     "unix",       "x8"};

/// Whether `name` is that of a numbered variable of the generated function.
static bool isNumbered(StringRef name) {
  StringRef stem = name.take_until(isDigit);
  return stem.size() != name.size() &&
         is_contained({"grid", "map", "shared", "values", "variable"}, stem);
}

bool tl::isIdentifier(StringRef name) {
  return !name.empty() && !isDigit(name.front()) &&
         all_of(name, [](char c) { return isAlnum(c) || c == '_'; });
}

/// Returns `name` with every character that C has no use for replaced.
static std::string toIdentifier(StringRef name) {
  std::string result = name.str();
  for (char &c : result)
    if (!isAlnum(c) && c != '_')
      c = '_';
  if (isDigit(result.front()))
    result.insert(0, "_");
  return result;
}

std::vector<std::string> tl::getVariableNames(const LaunchPlan &plan) {
  StringSet<> taken;
  for (StringRef name : kKeywords)
    taken.insert(name);
  for (StringRef name : kTaken)
    taken.insert(name);
  std::vector<std::string> names;
  auto add = [&](StringRef wanted) {
    std::string name = toIdentifier(wanted);
    if (isNumbered(name))
      name.insert(0, "_");
    while (!taken.insert(name).second)
      name += "_";
    names.push_back(std::move(name));
  };
  for (const PlanArgument &argument : plan.arguments)
    add(argument.name);
  for (const std::string &symbol : plan.symbols)
    add(symbol);
  return names;
}

/// Returns the type of C that an argument has, ready for a name to follow.
static StringRef getCType(const PlanArgument &argument) {
  if (argument.isTensor)
    return "const TlTensor *";
  switch (argument.dtype) {
  case DataType::I1:
    return "bool ";
  case DataType::I8:
    return "int8_t ";
  case DataType::U8:
    return "uint8_t ";
  case DataType::I16:
    return "int16_t ";
  case DataType::U16:
    return "uint16_t ";
  case DataType::I32:
    return "int32_t ";
  case DataType::U32:
    return "uint32_t ";
  case DataType::I64:
    return "int64_t ";
  case DataType::U64:
    return "uint64_t ";
  case DataType::F64:
    return "double ";
  // C has no narrower ones; the value is rounded.
  case DataType::F16:
  case DataType::BF16:
  case DataType::F32:
  case DataType::TF32:
  case DataType::F8E4M3:
  case DataType::F8E5M2:
  case DataType::F8E8M0:
  case DataType::F8E4M3FNUZ:
  case DataType::F8E5M2FNUZ:
    return "float ";
  }
  llvm_unreachable("a case for each type");
}

std::vector<std::string> tl::getCParameters(const LaunchPlan &plan) {
  std::vector<std::string> parameters;
  for (auto [argument, name] : zip(plan.arguments, getVariableNames(plan)))
    parameters.push_back(getCType(argument).str() + name);
  parameters.push_back("void *stream");
  return parameters;
}

std::string tl::fill(StringRef head, ArrayRef<std::string> items,
                     StringRef tail) {
  constexpr size_t width = 80;
  std::string text = head.str(), margin(head.size(), ' ');
  size_t column = head.size();
  for (size_t i = 0; i != items.size(); ++i) {
    StringRef end = i + 1 == items.size() ? tail.rtrim('\n') : ",";
    bool isFirst = i == 0;
    size_t needed = items[i].size() + end.size() + !isFirst;
    if (!isFirst && column + needed > width) {
      text += "\n" + margin;
      column = margin.size();
    } else if (!isFirst) {
      text += ' ';
    }
    text += items[i];
    column += needed;
    if (i + 1 != items.size())
      text += ',';
  }
  return text + tail.str();
}

std::string tl::describeArgument(const LaunchPlan &plan,
                                 const PlanArgument &argument) {
  std::string text = getName(argument.dtype).str();
  if (!argument.isTensor)
    return text;
  text += " " + plan.describeShape(argument);
  text += argument.isContiguous ? ", contiguous" : ", with strides";
  if (argument.alignment != 1)
    text += ", aligned to " + std::to_string(argument.alignment) + " bytes";
  return text;
}
