//===- ArgumentBinder.cpp - Check arguments and fill slots ----------------===//
//
// First every argument on its own (kind, dtype, rank, device, data), then the
// shapes, then the strides, so that the error a user sees is the simplest one
// there is. Each message names the entry, the argument and the place, shows
// both values and ends with what to do.
//
// Most calls are right and ordinary. Those are recognised in one pass that
// knows no messages and no exceptions to the rules; everything else is checked
// with care. What the pass accepts the careful way accepts too, with the same
// slots.
//
//===----------------------------------------------------------------------===//

#include "ArgumentBinder.h"
#include "tl/Runtime/RuntimeError.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace tl::runtime;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

Error ArgumentBinder::fail(ErrorCategory category, const Twine &message) const {
  return makeError(category, "`" + plan.name + "`: " + message);
}

static std::string joinExtents(ArrayRef<int64_t> extents) {
  auto text = [](int64_t extent) { return std::to_string(extent); };
  return "(" + join(map_range(extents, text), ", ") + ")";
}

std::string
ArgumentBinder::describeActualShape(const PlanArgument &argument) const {
  return joinExtents(slots.slice(argument.firstSlot, argument.rank));
}

/// Returns the place of a slot in the user's words: "dimension 0 of `A`".
std::string ArgumentBinder::describeSlot(unsigned slot) const {
  const PlanArgument &argument =
      *find_if(plan.arguments, [&](const PlanArgument &argument) {
        return slot < argument.firstSlot + argument.slotCount();
      });
  unsigned index = slot - argument.firstSlot;
  bool isExtent = index < argument.rank;
  return formatv("{0} {1} of `{2}`", isExtent ? "dimension" : "stride",
                 isExtent ? index : index - argument.rank, argument.name);
}

static std::string describeDevice(DLDevice device) {
  switch (device.type) {
  case kDLCPU:
    return "the CPU";
  case kDLCUDA:
  case kDLCUDAManaged:
    return formatv("cuda:{0}", device.id);
  case kDLCUDAHost:
    return "the CPU (pinned)";
  }
  return formatv("a device of DLPack type {0}", static_cast<int>(device.type));
}

static StringRef describeKind(const Argument &argument) {
  switch (argument.kind) {
  case Argument::Kind::Tensor:
    return argument.value.tensor ? "a tensor" : "null";
  case Argument::Kind::Int:
  case Argument::Kind::UInt:
    return "an integer";
  case Argument::Kind::Float:
    return "a float";
  case Argument::Kind::Bool:
    return "a Boolean";
  }
  return "an argument of unknown kind";
}

//===----------------------------------------------------------------------===//
// The call
//===----------------------------------------------------------------------===//

/// Whether nothing was passed for a tensor that no launch reads.
static bool isAbsent(const PlanArgument &argument, const Argument &actual) {
  return argument.isTensor && !argument.isUsed &&
         actual.kind == Argument::Kind::Tensor && !actual.value.tensor;
}

Error ArgumentBinder::bind() {
  if (LLVM_LIKELY(bindOrdinary()))
    return Error::success();
  llvm::fill(solvedBy, unsolved);
  firstTensor = device = -1;
  return bindWithCare();
}

Error ArgumentBinder::bindWithCare() {
  if (arguments.size() != plan.arguments.size())
    return checkCount();
  for (unsigned i = 0; i != arguments.size(); ++i)
    if (Error error =
            plan.arguments[i].isTensor ? bindTensor(i) : bindScalar(i))
      return error;

  for (auto [argument, actual] : zip_equal(plan.arguments, arguments))
    if (!isAbsent(argument, actual))
      if (Error error = checkShape(argument))
        return error;
  for (auto [argument, actual] : zip_equal(plan.arguments, arguments))
    if (!isAbsent(argument, actual))
      if (Error error = checkStrides(argument))
        return error;
  // Only now is every symbol solved that can be.
  for (auto [argument, actual] : zip_equal(plan.arguments, arguments))
    if (!isAbsent(argument, actual))
      fillUncheckedStrides(argument);
  return Error::success();
}

Error ArgumentBinder::checkCount() const {
  size_t expected = plan.arguments.size();
  auto name = [](const PlanArgument &argument) {
    return "`" + argument.name + "`";
  };
  std::string counts = formatv("expected {0} argument{1}, got {2}", expected,
                               expected == 1 ? "" : "s", arguments.size());
  if (arguments.size() < expected)
    return fail(
        ErrorCategory::ArgumentCount,
        counts + "; pass " +
            join(
                map_range(ArrayRef(plan.arguments).drop_front(arguments.size()),
                          name),
                ", "));
  return fail(ErrorCategory::ArgumentCount,
              counts + (expected == 0 ? "; pass none"
                                      : "; the last one is " +
                                            name(plan.arguments.back())));
}

//===----------------------------------------------------------------------===//
// The ordinary case
//===----------------------------------------------------------------------===//

/// Binds arguments that need no second look; false says nothing about them.
bool ArgumentBinder::bindOrdinary() {
  if (arguments.size() != plan.arguments.size())
    return false;
  for (auto [i, argument] : enumerate(plan.arguments)) {
    const Argument &actual = arguments[i];
    if (argument.isTensor) {
      if (actual.kind != Argument::Kind::Tensor || !actual.value.tensor ||
          !bindOrdinaryTensor(argument, actual))
        return false;
    } else if (Error error = bindScalar(i)) {
      consumeError(std::move(error));
      return false;
    }
  }
  return true;
}

/// A tensor with elements, on the device of the others, whose strides all
/// count.
bool ArgumentBinder::bindOrdinaryTensor(const PlanArgument &argument,
                                        const Argument &actual) {
  const DLTensor &tensor = *actual.value.tensor;
  uintptr_t address =
      reinterpret_cast<uintptr_t>(tensor.data) + tensor.byteOffset;
  if (device < 0)
    device = tensor.device.id;
  if (!(tensor.dtype == argument.element) ||
      tensor.ndim != static_cast<int64_t>(argument.rank) ||
      tensor.device.type != deviceType || tensor.device.id != device ||
      !tensor.data || (address & (argument.alignment - 1)) || !tensor.strides)
    return false;

  int64_t contiguous = 1;
  for (unsigned i = argument.rank; i-- != 0;) {
    int64_t extent = tensor.shape[i], stride = tensor.strides[i];
    // An extent of 1 makes any stride contiguous.
    if (argument.isContiguous && extent == 1)
      stride = contiguous;
    slots[argument.extentSlot(i)] = extent;
    slots[argument.strideSlot(i)] = stride;
    if (extent <= 0 || extent > kLargestExtent ||
        !agrees(argument.extentSlot(i)))
      return false;
    if (argument.isContiguous ? stride != contiguous
                              : extent == 1 || !agrees(argument.strideSlot(i)))
      return false;
    if (MulOverflow(contiguous, extent, contiguous))
      return false;
  }
  return true;
}

/// Whether a slot is what the plan asks for, as far as symbols are solved.
inline bool ArgumentBinder::agrees(unsigned slot) {
  const Requirement &requirement = plan.requirements[slot];
  if (requirement.kind == Requirement::Kind::Constant)
    return slots[slot] == requirement.operand;
  if (requirement.kind == Requirement::Kind::None)
    return true;
  int &solver = solvedBy[requirement.operand];
  if (solver == unsolved)
    solver = slot;
  return slots[slot] == slots[solver];
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Error ArgumentBinder::bindTensor(unsigned position) {
  const PlanArgument &argument = plan.arguments[position];
  const Argument &actual = arguments[position];
  if (isAbsent(argument, actual))
    return Error::success();
  if (actual.kind != Argument::Kind::Tensor || !actual.value.tensor)
    return fail(ErrorCategory::ArgumentKind,
                "argument `" + argument.name + "` is " + describeKind(actual) +
                    ", expected a tensor of " + getName(argument.dtype) +
                    " with shape " + plan.describeShape(argument));

  const DLTensor &tensor = *actual.value.tensor;
  if (!isCompatible(argument.dtype, tensor.dtype))
    return fail(ErrorCategory::DType,
                "argument `" + argument.name + "` has dtype " +
                    describe(tensor.dtype) + ", expected " +
                    getName(argument.dtype) +
                    "; convert it or compile the kernel for its dtype");
  if (tensor.ndim != static_cast<int64_t>(argument.rank))
    return fail(ErrorCategory::Rank,
                formatv("argument `{0}` has rank {1}, expected {2} for shape "
                        "{3}; reshape it",
                        argument.name, tensor.ndim, argument.rank,
                        plan.describeShape(argument)));

  int64_t stride = 1;
  for (unsigned i = argument.rank; i-- != 0;) {
    slots[argument.extentSlot(i)] = tensor.shape[i];
    slots[argument.strideSlot(i)] = tensor.strides ? tensor.strides[i] : stride;
    // Shapes whose size overflows cannot come with memory behind them; what the
    // stride becomes then does not matter.
    (void)MulOverflow(stride, tensor.shape[i], stride);
  }
  if (Error error = checkDevice(position))
    return error;
  return checkData(position);
}

/// Checks that a tensor is where the kernels run, with all the others.
Error ArgumentBinder::checkDevice(unsigned position) {
  const PlanArgument &argument = plan.arguments[position];
  DLDevice actual = arguments[position].value.tensor->device;
  bool isOnCPU = actual.type == kDLCPU || actual.type == kDLCUDAHost;
  bool isOnGPU = actual.type == kDLCUDA || actual.type == kDLCUDAManaged;

  if (deviceType == kDLCPU) {
    if (isOnCPU)
      return Error::success();
    return fail(ErrorCategory::Device,
                "argument `" + argument.name + "` is on " +
                    describeDevice(actual) +
                    ", expected the CPU; copy it to the host or compile the "
                    "kernel for the GPU");
  }

  if (!isOnGPU)
    return fail(ErrorCategory::Device,
                "argument `" + argument.name + "` is on " +
                    describeDevice(actual) +
                    ", expected a CUDA device; copy it to the GPU or compile "
                    "the kernel for the CPU");
  if (firstTensor < 0) {
    firstTensor = position;
    device = actual.id;
    return Error::success();
  }
  if (actual.id == device)
    return Error::success();
  return fail(ErrorCategory::Device,
              formatv("argument `{0}` is on {1}, expected cuda:{2} like `{3}`; "
                      "copy it there",
                      argument.name, describeDevice(actual), device,
                      plan.arguments[firstTensor].name));
}

bool ArgumentBinder::isEmpty(const PlanArgument &argument) const {
  return is_contained(slots.slice(argument.firstSlot, argument.rank), 0);
}

/// Checks that a tensor with elements has data, aligned as required.
Error ArgumentBinder::checkData(unsigned position) const {
  const PlanArgument &argument = plan.arguments[position];
  const DLTensor &tensor = *arguments[position].value.tensor;
  uintptr_t address =
      reinterpret_cast<uintptr_t>(tensor.data) + tensor.byteOffset;
  if (tensor.data && (address & (argument.alignment - 1)) == 0)
    return Error::success();
  if (isEmpty(argument))
    return Error::success();
  if (!tensor.data)
    return fail(ErrorCategory::NullPointer,
                "argument `" + argument.name + "` has shape " +
                    describeActualShape(argument) +
                    " but no data; pass a tensor that owns memory");
  return fail(
      ErrorCategory::Alignment,
      formatv("the data of argument `{0}` is at address {1:x}, expected "
              "a multiple of {2} bytes; pass a copy or a slice that "
              "starts at such an address",
              argument.name, address, argument.alignment));
}

//===----------------------------------------------------------------------===//
// Shapes and strides
//===----------------------------------------------------------------------===//

/// Checks one slot against the plan; `argument` is the tensor it belongs to.
Error ArgumentBinder::checkSlot(const PlanArgument &argument, unsigned slot) {
  const Requirement &requirement = plan.requirements[slot];
  bool isExtent = slot < argument.strideSlot(0);
  ErrorCategory category =
      isExtent ? ErrorCategory::Shape : ErrorCategory::Stride;

  switch (requirement.kind) {
  case Requirement::Kind::None:
    return Error::success();
  case Requirement::Kind::Constant:
    if (slots[slot] == requirement.operand)
      return Error::success();
    return fail(category,
                formatv("{0} is {1}, expected {2}; {3} or compile the kernel "
                        "for this {4}",
                        describeSlot(slot), slots[slot], requirement.operand,
                        isExtent ? "pass a tensor of shape " +
                                       plan.describeShape(argument)
                                 : "pass a tensor with such a layout",
                        isExtent ? "shape" : "layout"));
  case Requirement::Kind::Symbol:
    break;
  }

  int &solver = solvedBy[requirement.operand];
  if (solver == unsolved) {
    solver = slot;
    return Error::success();
  }
  if (slots[slot] == slots[solver])
    return Error::success();
  return fail(category,
              formatv("{0} is {1}, expected {2}, because `{3}` is {4} and that "
                      "is {2}; make the two agree",
                      describeSlot(slot), slots[slot], slots[solver],
                      plan.symbols[requirement.operand], describeSlot(solver)));
}

Error ArgumentBinder::checkShape(const PlanArgument &argument) {
  for (unsigned i = 0; i != argument.rank; ++i) {
    unsigned slot = argument.extentSlot(i);
    if (slots[slot] < 0)
      return fail(ErrorCategory::Shape,
                  formatv("{0} is {1}, expected no negative number; the tensor "
                          "is malformed",
                          describeSlot(slot), slots[slot]));
    if (slots[slot] > kLargestExtent)
      return fail(ErrorCategory::Shape,
                  formatv("{0} is {1}, expected at most {2}, because kernels "
                          "count in 32 bits; pass a view with more and "
                          "smaller dimensions",
                          describeSlot(slot), slots[slot], kLargestExtent));
    if (Error error = checkSlot(argument, slot))
      return error;
  }
  return Error::success();
}

Error ArgumentBinder::checkStrides(const PlanArgument &argument) {
  if (!argument.isTensor)
    return Error::success();
  bool empty = isEmpty(argument);
  if (argument.isContiguous)
    return checkContiguous(argument, empty);
  if (empty)
    return Error::success();
  for (unsigned i = 0; i != argument.rank; ++i)
    if (slots[argument.extentSlot(i)] != 1)
      if (Error error = checkSlot(argument, argument.strideSlot(i)))
        return error;
  return Error::success();
}

/// Checks that the strides are those of a row-major tensor without gaps, and
/// makes those that do not matter so.
Error ArgumentBinder::checkContiguous(const PlanArgument &argument,
                                      bool isEmpty) {
  int64_t expected = 1;
  for (unsigned i = argument.rank; i-- != 0;) {
    int64_t extent = slots[argument.extentSlot(i)];
    int64_t &stride = slots[argument.strideSlot(i)];
    if (stride != expected && extent != 1 && !isEmpty)
      return fail(ErrorCategory::Stride,
                  formatv("{0} is {1}, expected {2} for a contiguous row-major "
                          "tensor of shape {3}; pass a contiguous copy",
                          describeSlot(argument.strideSlot(i)), stride,
                          expected, describeActualShape(argument)));
    stride = expected;
    (void)MulOverflow(expected, std::max<int64_t>(extent, 1), expected);
  }
  return Error::success();
}

/// Gives strides that were not checked the value that the plan asks for.
void ArgumentBinder::fillUncheckedStrides(const PlanArgument &argument) {
  if (!argument.isTensor || argument.isContiguous)
    return;
  for (unsigned i = 0; i != argument.rank; ++i) {
    unsigned slot = argument.strideSlot(i);
    const Requirement &requirement = plan.requirements[slot];
    if (requirement.kind == Requirement::Kind::Constant) {
      slots[slot] = requirement.operand;
    } else if (requirement.kind == Requirement::Kind::Symbol) {
      int &solver = solvedBy[requirement.operand];
      if (solver == unsolved)
        solver = slot;
      slots[slot] = slots[solver];
    }
  }
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Error ArgumentBinder::bindScalar(unsigned position) {
  const PlanArgument &argument = plan.arguments[position];
  const Argument &actual = arguments[position];
  bool takesInteger = isInteger(argument.dtype);
  switch (actual.kind) {
  case Argument::Kind::Int:
  case Argument::Kind::UInt:
    return takesInteger ? bindInteger(argument, actual)
                        : bindFloat(argument, actual);
  case Argument::Kind::Bool:
    if (takesInteger) {
      slots[argument.firstSlot] = actual.value.boolean;
      return Error::success();
    }
    break;
  case Argument::Kind::Float:
    if (!takesInteger)
      return bindFloat(argument, actual);
    break;
  case Argument::Kind::Tensor:
    break;
  }
  return fail(ErrorCategory::ArgumentKind,
              "argument `" + argument.name + "` is " + describeKind(actual) +
                  ", expected " + (takesInteger ? "an integer" : "a number") +
                  " (" + getName(argument.dtype) + "); convert it");
}

/// Stores an integer in an integer slot, sign-extended.
Error ArgumentBinder::bindInteger(const PlanArgument &argument,
                                  const Argument &actual) {
  unsigned bits =
      argument.dtype == DataType::I1 ? 1 : 8 * getByteSize(argument.dtype);
  bool isSigned = isSignedInteger(argument.dtype);
  bool isBig = actual.kind == Argument::Kind::UInt &&
               actual.value.unsignedInteger > INT64_MAX;
  int64_t value = actual.value.integer;
  bool fits = isSigned ? !isBig && isIntN(bits, value)
                       : (isBig || value >= 0) && isUIntN(bits, value);
  auto getText = [&] {
    return isBig ? std::to_string(actual.value.unsignedInteger)
                 : std::to_string(value);
  };
  if (!fits)
    return fail(
        ErrorCategory::Value,
        formatv("argument `{0}` is {1}, expected {2} to {3} ({4}); pass "
                "a value in that range",
                argument.name, getText(), isSigned ? minIntN(bits) : 0,
                isSigned ? static_cast<uint64_t>(maxIntN(bits))
                         : maxUIntN(bits),
                getName(argument.dtype)));
  if (isBig && argument.isUsedInExpression)
    return fail(ErrorCategory::Value,
                formatv("argument `{0}` is {1}, expected at most {2}, because "
                        "grids and sizes are computed from it; pass a smaller "
                        "value",
                        argument.name, getText(), INT64_MAX));
  slots[argument.firstSlot] = value;
  return Error::success();
}

/// Stores the bits of a number in a floating-point slot.
Error ArgumentBinder::bindFloat(const PlanArgument &argument,
                                const Argument &actual) {
  double value = actual.value.real;
  if (actual.kind == Argument::Kind::Int)
    value = static_cast<double>(actual.value.integer);
  else if (actual.kind == Argument::Kind::UInt)
    value = static_cast<double>(actual.value.unsignedInteger);
  std::optional<uint64_t> bits = encodeFloat(argument.dtype, value);
  if (!bits)
    return fail(ErrorCategory::Value,
                formatv("argument `{0}` is {1}, which is beyond the largest "
                        "{2}; pass a smaller value",
                        argument.name, format("%g", value),
                        getName(argument.dtype)));
  slots[argument.firstSlot] = static_cast<int64_t>(*bits);
  return Error::success();
}
