//===- Frame.cpp - The values of one call ---------------------------------===//

#include "tl/Runtime/Frame.h"
#include "tl/Runtime/RuntimeError.h"
#include "llvm/Support/Alignment.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace llvm;
using namespace tl::runtime;

Frame::Frame(const LaunchPlan &plan) : plan(plan) {
  slots.resize_for_overwrite(plan.requirements.size());
  launches.resize_for_overwrite(plan.launches.size());
  pointers.resize_for_overwrite(plan.parameterCount);

  constexpr unsigned alignment = Parameter::tensorMapWords;
  storage.resize_for_overwrite(plan.frameWords + alignment);
  words = reinterpret_cast<uint64_t *>(
      alignAddr(storage.data(), Align(alignment * sizeof(uint64_t))));
}

Error Frame::evaluate(ArrayRef<Argument> arguments) {
  void **nextPointer = pointers.data();
  for (auto [launch, values] : zip_equal(plan.launches, launches)) {
    values.params = nextPointer;
    nextPointer += launch.params.size();
    if (Error error = evaluateGrid(launch, values))
      return error;
    if (values.isEmpty())
      continue;
    for (unsigned i = 0; i != launch.params.size(); ++i) {
      const Parameter &parameter = launch.params[i];
      values.params[i] = getValue(parameter);
      if (Error error =
              evaluateParameter(parameter, arguments, getValue(parameter)))
        return error;
    }
  }
  return Error::success();
}

/// Computes grid and shared memory, both within what a driver can be asked for.
Error Frame::evaluateGrid(const Launch &launch, Values &values) {
  // CUDA C++ Programming Guide, "Technical Specifications per Compute
  // Capability". The CPU has no need to allow more.
  constexpr int64_t limits[] = {INT32_MAX, 65535, 65535};
  for (unsigned i = 0; i != 3; ++i) {
    Expected<int64_t> extent = launch.grid[i].evaluate(slots);
    if (!extent)
      return extent.takeError();
    if (*extent < 0 || *extent > limits[i])
      return makeError(ErrorCategory::Value,
                       formatv("{0} is {1}, expected 0 to {2} (computed as "
                               "`{3}`); pass other arguments",
                               launch.grid[i].purpose, *extent, limits[i],
                               launch.grid[i].text));
    values.grid[i] = *extent;
  }
  Expected<int64_t> shared = launch.shared.evaluate(slots);
  if (!shared)
    return shared.takeError();
  if (*shared < 0 || *shared > INT32_MAX)
    return makeError(ErrorCategory::Value,
                     formatv("{0} is {1} bytes, expected 0 to {2} (computed as "
                             "`{3}`); pass other arguments",
                             launch.shared.purpose, *shared, INT32_MAX,
                             launch.shared.text));
  values.shared = *shared;
  return Error::success();
}

/// Computes the members of a struct and puts their low bytes in its place.
Error Frame::evaluateStruct(const Parameter &parameter,
                            ArrayRef<Argument> arguments, uint64_t *words) {
  std::memset(words, 0, parameter.wordCount() * sizeof(*words));
  auto *bytes = reinterpret_cast<char *>(words);
  for (const Parameter::Member &member : parameter.members) {
    uint64_t word;
    if (Error error = evaluateParameter(member.parameter, arguments, &word))
      return error;
    std::memcpy(bytes + member.offset, &word, member.size);
  }
  return Error::success();
}

Error Frame::evaluateParameter(const Parameter &parameter,
                               ArrayRef<Argument> arguments, uint64_t *word) {
  switch (parameter.kind) {
  case Parameter::Kind::Base:
    *word = reinterpret_cast<uint64_t>(getBase(arguments[parameter.argument]));
    return Error::success();
  case Parameter::Kind::Scalar:
    // Narrow types are the low bytes: hosts of GPUs are little-endian.
    *word = slots[plan.arguments[parameter.argument].firstSlot];
    return Error::success();
  case Parameter::Kind::TensorMap:
    return Error::success();
  case Parameter::Kind::Struct:
    return evaluateStruct(parameter, arguments, word);
  case Parameter::Kind::Value:
    break;
  }

  Expected<int64_t> value = parameter.value.evaluate(slots);
  if (!value)
    return value.takeError();
  if (parameter.isNarrow && !isInt<32>(*value))
    return makeError(ErrorCategory::Value,
                     formatv("{0} is {1}, expected a value that fits i32 "
                             "(computed as `{2}`); pass smaller tensors or "
                             "compile the kernel with 64-bit indices",
                             parameter.value.purpose, *value,
                             parameter.value.text));
  *word = *value;
  return Error::success();
}
