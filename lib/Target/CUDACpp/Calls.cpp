//===- Calls.cpp - Functions of users' sources as C++ ---------------------===//
//
// The texts come first in the program. A function of the preamble stands
// between a call and the user's function: it makes arrays of what is behind
// pointers, and returns all that is left there, so that the kernel itself has
// values only. The compiler inlines it.
//
// In a source that includes a header of CUDA for small floats these have its
// types, which have the layout of ours, and else ours.
//
//===----------------------------------------------------------------------===//

#include "KernelPrinter.h"

#include "tl/Dialect/TL/IR/Calls.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tl;
using namespace tl::cuda;

/// Names that programs expect of an environment that NVRTC does not have.
static constexpr StringLiteral kPlainTypes = R"(#ifdef __CUDACC_RTC__
using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned;
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned;
using uint64_t = unsigned long;
#endif

)";

/// A pointer for functions that take one to another type of the same size.
static constexpr StringLiteral kPointer =
    R"(template <int Size> struct any_pointer {
  void *at;
  template <typename T> __device__ operator T *() const {
    static_assert(sizeof(T) == Size,
                  "the function takes a pointer to elements of another size");
    return static_cast<T *>(at);
  }
};
template <typename T>
__device__ any_pointer<sizeof(T)> to_any_pointer(T *at) {
  return {at};
}
)";

/// The type of our own values of `type`.
static std::string getOwnType(Type type) {
  bool isUnsigned = type.isUnsignedInteger();
  if (auto integer = dyn_cast<IntegerType>(type))
    type = IntegerType::get(type.getContext(), integer.getWidth());
  return getScalarType(type, isUnsigned).str();
}

/// CUDA's type for `type`, and the header that has it.
static std::pair<StringRef, StringRef> getTypeOfCUDA(Type type) {
  if (type.isF16())
    return {"__half", "cuda_fp16.h"};
  if (type.isBF16())
    return {"__nv_bfloat16", "cuda_bf16.h"};
  if (isa<Float8E4M3FNType>(type))
    return {"__nv_fp8_e4m3", "cuda_fp8.h"};
  if (isa<Float8E5M2Type>(type))
    return {"__nv_fp8_e5m2", "cuda_fp8.h"};
  return {};
}

namespace {
/// What stands between a call and the function.
class Adapter {
public:
  Adapter(CallSourceOp call, StringRef name)
      : call(call), function(call.getFunction()), name(name) {
    for (Attribute source : call.getSources())
      text += cast<StringAttr>(source).getValue().str();
  }

  std::string print() {
    addParameters();
    std::string left = "left_by_" + name.str(), result;
    llvm::raw_string_ostream os(result);
    os << "struct " << left << " {\n" << members << "};\n";
    os << "static __device__ __forceinline__ " << left << " " << name << "("
       << llvm::join(parameters, ", ") << ") {\n"
       << arrays << "  " << left << " left;\n";
    std::string run = printRun(os);
    if (std::optional<Type> type = call.getReturned())
      os << "  left.value = " << toOwn(*type, cast(getUsersType(*type), run))
         << ";\n";
    else
      os << "  " << run << ";\n";
    os << copies << "  return left;\n}\n";
    return result;
  }

private:
  /// Prints what chooses how pointers are given, and returns its call.
  std::string printRun(llvm::raw_ostream &os) const {
    if (given.empty())
      return printCall(false);
    os << "  auto run = [&](" << llvm::join(taken, ", ") << ") {\n"
       << "    if constexpr (requires { " << printCall(false) << "; })\n"
       << "      return " << printCall(false) << ";\n"
       << "    else\n"
       << "      return " << printCall(true) << ";\n"
       << "  };\n";
    return "run(" + llvm::join(given, ", ") + ")";
  }

  std::string getUsersType(Type type) const {
    auto [name, header] = getTypeOfCUDA(type);
    return !name.empty() && StringRef(text).contains(header) ? name.str()
                                                             : getOwnType(type);
  }

  static std::string cast(StringRef type, StringRef value) {
    return llvm::formatv("static_cast<{0}>({1})", type, value);
  }

  std::string toOwn(Type type, StringRef value) const {
    return convert(getOwnType(type), getUsersType(type), value);
  }
  std::string toUsers(Type type, StringRef value) const {
    return convert(getUsersType(type), getOwnType(type), value);
  }
  /// The same bits in the type `to`.
  static std::string convert(StringRef to, StringRef from, StringRef value) {
    return to == from ? value.str()
                      : llvm::formatv("tl::bit_cast<{0}>({1})", to, value);
  }

  /// The call of the function; `castsPointers` has it take pointers to any
  /// type.
  std::string printCall(bool castsPointers) const {
    std::string list;
    llvm::ListSeparator separator;
    for (const auto &[value, isPointer] : arguments) {
      list += StringRef(separator).str();
      list +=
          isPointer && castsPointers ? "to_any_pointer(" + value + ")" : value;
    }
    return llvm::formatv("{0}({1})", function, list);
  }

  void addParameters() {
    if (std::optional<Type> type = call.getReturned())
      members += llvm::formatv("  {0} value;\n", getOwnType(*type));
    unsigned number = 0;
    auto take = [&](Type type) {
      std::string value = "a" + std::to_string(number++);
      parameters.push_back(getOwnType(type) + " " + value);
      return toUsers(type, value);
    };
    for (auto [i, param] :
         llvm::enumerate(call.getParams().getAsValueRange<TypeAttr>())) {
      int64_t count = call.getCounts()[i];
      if (count == 0) {
        arguments.emplace_back(take(param), false);
        continue;
      }
      SmallVector<std::string> values;
      for (int64_t element = 0; element < count; ++element) {
        std::string own = llvm::formatv("at{0}", number);
        copies += llvm::formatv(
            "  left.{0} = {1};\n", own,
            toOwn(param, llvm::formatv("p{0}[{1}]", i, element).str()));
        members += llvm::formatv("  {0} {1};\n", getOwnType(param), own);
        values.push_back(take(param));
      }
      arrays += llvm::formatv("  alignas(16) {0} p{1}[{2}] = {{{3}};\n",
                              getUsersType(param), i, count,
                              llvm::join(values, ", "));
      taken.push_back(llvm::formatv("auto *q{0}", i));
      given.push_back(llvm::formatv("p{0}", i));
      arguments.emplace_back(llvm::formatv("q{0}", i), true);
    }
  }

  CallSourceOp call;
  StringRef function, name;
  std::string text, members, arrays, copies;
  SmallVector<std::string> parameters, taken, given;
  /// Of the user's function, and whether it is a pointer.
  SmallVector<std::pair<std::string, bool>> arguments;
};
} // namespace

/// All of a call but which of its numbers is asked for.
static Attribute getIdentity(CallSourceOp call) {
  MLIRContext *context = call.getContext();
  TypeAttr returned = call.getReturnedAttr();
  return ArrayAttr::get(
      context,
      {call.getFunctionAttr(), call.getSourcesAttr(), call.getParamsAttr(),
       call.getCountsAttr(),
       returned ? Attribute(returned) : Attribute(UnitAttr::get(context))});
}

std::string Preamble::getSourceCall(CallSourceOp call) {
  sources.insert_range(call.getSources().getAsRange<StringAttr>());
  auto [known, isNew] = adapters.try_emplace(getIdentity(call));
  if (!isNew)
    return known->second.first;
  std::string name = "call_";
  for (char c : call.getFunction())
    name += llvm::isAlnum(c) ? c : '_';
  name += "_" + std::to_string(adapters.size() - 1);
  known->second = {name, Adapter(call, name).print()};
  return name;
}

void Preamble::printSources(llvm::raw_ostream &os) const {
  if (sources.empty())
    return;
  if (llvm::none_of(sources, [](StringAttr source) {
        return source.getValue().contains("#include");
      }))
    os << kPlainTypes;
  for (StringAttr source : sources)
    os << source.getValue() << "\n\n";
  os << kPointer << "\n";
  for (const auto &[key, adapter] : adapters)
    os << adapter.second << "\n";
}

/// A call in the same block before `call` that is the same one but for the
/// number that is asked for.
static CallSourceOp findTwin(CallSourceOp call) {
  for (Operation *op = call->getPrevNode(); op; op = op->getPrevNode())
    if (auto other = dyn_cast<CallSourceOp>(op))
      if (getIdentity(other) == getIdentity(call) &&
          llvm::equal(other.getOperands(), call.getOperands()))
        return other;
  return nullptr;
}

void KernelPrinter::callSource(CallSourceOp op) {
  if (CallSourceOp twin = findTwin(op)) {
    leftBy[op] = leftBy.lookup(twin);
    return;
  }
  std::string name = preamble.getSourceCall(op), type = "left_by_" + name;
  auto print = [&](StringRef element) {
    SmallVector<Expression> arguments = llvm::map_to_vector(
        op.getArgs(), [&](Value argument) { return get(argument, element); });
    std::string text = call(name, arguments).text;
    if (Value guard = op.getGuard())
      return get(guard, element).at(Binding::Or) + " ? " + text + " : " + type +
             "{}";
    return text;
  };
  std::string variable = leftBy[op] = names.take("left");
  auto vector = dyn_cast<VectorType>(op.getType());
  if (!vector) {
    statement(op, type + " " + variable + " = " + print(""));
    return;
  }
  int64_t count = vector.getNumElements();
  statement(op, type + " " + variable + "[" + Twine(count) + "]");
  NameAllocator::Scope scope(names);
  std::string i = names.take("i");
  line("#pragma unroll");
  line("for (int " + i + " = 0; " + i + " < " + Twine(count) + "; ++" + i +
       ")");
  line("  " + variable + "[" + i + "] = " + print(i) + ";");
}

Expression KernelPrinter::printSourceCall(CallSourceOp op, StringRef element) {
  int64_t place = op.getPlace();
  Expression result;
  result.text = leftBy.lookup(op);
  if (!element.empty())
    result.text += ("[" + element + "]").str();
  result.text += place == -1 ? ".value" : ".at" + std::to_string(place);
  return result;
}
