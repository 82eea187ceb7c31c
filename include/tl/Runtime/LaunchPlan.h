//===- LaunchPlan.h - What to check, compute and launch ---------*- C++ -*-===//
//
// A launch plan (docs/LaunchPlan.md) parsed once and compiled into arrays that
// a call walks through without allocating.
//
// Everything an expression can read is a *slot*: a 64-bit integer of the call.
// A tensor argument of rank r owns 2 r slots, its extents and then its strides
// in elements; a scalar argument owns one, its bits as the kernel will see
// them. `requirements` has one entry per slot, and a symbol is nothing but
// slots that must agree.
//
//===----------------------------------------------------------------------===//

#ifndef TL_RUNTIME_LAUNCHPLAN_H
#define TL_RUNTIME_LAUNCHPLAN_H

#include "tl/Runtime/DataType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <array>
#include <string>
#include <vector>

namespace tl::runtime {

/// What must hold of one extent or stride.
struct Requirement {
  enum class Kind : uint8_t {
    /// Anything goes.
    None,
    /// Equal to `operand`.
    Constant,
    /// Equal to every other place of symbol number `operand`.
    Symbol,
  };
  Kind kind = Kind::None;
  int64_t operand = 0;
};

/// One argument of the entry function. What every call reads comes first, to
/// lie in one line of the processor's cache; so in `Parameter`.
struct PlanArgument {
  bool isTensor = false;
  DataType dtype = DataType::F32;
  /// `dtype` in DLPack's terms.
  DLDataType element = {};
  unsigned firstSlot = 0;

  /// Tensors only.
  unsigned rank = 0;
  /// The strides must be those of a row-major tensor without gaps.
  bool isContiguous = false;
  uint64_t alignment = 1;
  /// It is the compiler's own, which kernels write for their caller: what is in
  /// it tells whose it is, and blocks may write it at the same time.
  bool isRecord = false;
  /// A launch reads something of it; a tensor of which none does may be null.
  bool isUsed = false;

  /// Scalars only: an expression reads the value as a signed 64-bit integer.
  bool isUsedInExpression = false;

  std::string name;

  unsigned extentSlot(unsigned dim) const { return firstSlot + dim; }
  unsigned strideSlot(unsigned dim) const { return firstSlot + rank + dim; }
  unsigned slotCount() const { return isTensor ? 2 * rank : 1; }
};

/// One step of an expression in postfix form.
struct Instruction {
  enum class Opcode : uint8_t {
    /// Push `operand`.
    Constant,
    /// Push the value of slot number `operand`.
    Slot,
    /// Replace the two topmost values.
    Add,
    Sub,
    Mul,
    FloorDiv,
    CeilDiv,
    Mod,
    Min,
    Max,
  };
  Opcode opcode;
  int64_t operand = 0;
};

/// An integer computed from slots.
class Expression {
public:
  /// Expressions cannot be nested more deeply, which bounds the stack of an
  /// evaluation.
  static constexpr unsigned maxDepth = 32;
  static constexpr size_t maxTextBytes = 64 << 10;

  llvm::SmallVector<Instruction, 1> code;
  /// The expression in the user's terms, for messages.
  std::string text;
  /// What is computed, for messages: "grid x of kernel `k`".
  std::string purpose;

  /// Returns the value, or an error if the computation divides by zero or
  /// leaves the 64-bit range.
  llvm::Expected<int64_t> evaluate(llvm::ArrayRef<int64_t> slots) const {
    // Most expressions are constants.
    if (code.size() == 1 &&
        code.front().opcode == Instruction::Opcode::Constant)
      return code.front().operand;
    return run(slots);
  }

private:
  llvm::Expected<int64_t> run(llvm::ArrayRef<int64_t> slots) const;
};

/// How a tensor is seen by the tensor memory accelerator. Boxes are innermost
/// first.
struct TensorMapLayout {
  DataType dtype = DataType::F32;
  llvm::SmallVector<uint32_t, 5> box;
  /// 0, 32, 64 or 128 bytes.
  unsigned swizzle = 0;
  /// Position among the tensor maps of the plan.
  unsigned number = 0;
};

/// One kernel parameter. Its value lies in the words of a call's frame, where
/// a tensor map takes `tensorMapWords`, a struct its size and everything else
/// one.
struct Parameter {
  enum class Kind : uint8_t { Base, Value, Scalar, TensorMap, Struct };
  static constexpr unsigned tensorMapWords = 16;

  Kind kind = Kind::Base;
  /// Base, Scalar, TensorMap: position of the argument.
  unsigned argument = 0;
  /// Where in the frame the value lies.
  unsigned firstWord = 0;
  /// Value: what to compute, and whether the kernel takes it as `i32`.
  bool isNarrow = false;
  Expression value;
  TensorMapLayout map;
  /// Struct: its bytes, and its members with where their low bytes go.
  unsigned size = 0;
  struct Member;
  std::vector<Member> members;

  /// The words that the value takes, unless it is a tensor map.
  unsigned wordCount() const {
    return kind == Kind::Struct ? (size + 7) / 8 : 1;
  }
};

struct Parameter::Member {
  Parameter parameter;
  unsigned offset = 0;
  unsigned size = 0;
};

/// A variable of a kernel's module that a launch sets to a tensor's elements.
struct SymbolCopy {
  std::string name;
  /// Position of the tensor argument.
  unsigned argument = 0;
};

/// One kernel launch.
struct Launch {
  /// Names the kernel in the plan.
  std::string kernel;
  /// The kernel's symbol in its module.
  std::string entry;
  std::vector<SymbolCopy> symbols;
  std::array<Expression, 3> grid;
  std::array<uint32_t, 3> block = {1, 1, 1};
  std::array<uint32_t, 3> cluster = {1, 1, 1};
  Expression shared;
  bool isCooperative = false;
  bool isDependent = false;
  std::vector<Parameter> params;
  /// Positions of the tensor maps among `params`.
  std::vector<unsigned> tensorMaps;

  unsigned clusterSize() const { return cluster[0] * cluster[1] * cluster[2]; }
};

class LaunchPlan {
public:
  /// What no program needs more of. Everything that is counted later fits the
  /// types that count it.
  static constexpr uint64_t maxBytes = 8 << 20;
  static constexpr size_t maxNameBytes = 4096;
  static constexpr size_t maxArguments = 1024;
  static constexpr size_t maxRank = 64;
  static constexpr size_t maxSlots = 8192;
  static constexpr size_t maxLaunches = 4096;
  static constexpr size_t maxParameters = 4096;
  static constexpr uint64_t maxFrameWords = 1 << 20;

  /// Parses `json`. Errors have the category Plan and name the place.
  static llvm::Expected<LaunchPlan> parse(llvm::StringRef json);

  std::string name;
  std::vector<PlanArgument> arguments;
  std::vector<Launch> launches;
  std::vector<std::string> symbols;
  /// One entry per slot.
  std::vector<Requirement> requirements;

  unsigned parameterCount = 0;
  unsigned tensorMapCount = 0;
  /// Size of the memory for the values of all parameters. Tensor maps come
  /// first, so that they are aligned if the memory is.
  unsigned frameWords = 0;

  /// Returns the required shape of `argument` as text: "(m, 1024)".
  std::string describeShape(const PlanArgument &argument) const;
};

} // namespace tl::runtime

#endif // TL_RUNTIME_LAUNCHPLAN_H
