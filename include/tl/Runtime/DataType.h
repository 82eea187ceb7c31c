//===- DataType.h - Element types of a launch plan --------------*- C++ -*-===//
//
// The element types that a launch plan can name, how they are stored, and what
// they are called in DLPack.
//
//===----------------------------------------------------------------------===//

#ifndef TL_RUNTIME_DATATYPE_H
#define TL_RUNTIME_DATATYPE_H

#include "tl/Runtime/DLPack.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace tl::runtime {

enum class DataType : uint8_t {
  I1,
  I8,
  U8,
  I16,
  U16,
  I32,
  U32,
  I64,
  U64,
  F16,
  BF16,
  F32,
  F64,
  TF32,
  F8E4M3,
  F8E5M2,
  F8E8M0,
  F8E4M3FNUZ,
  F8E5M2FNUZ,
  /// A byte of bits that the host does not look into: two numbers of 4 bits.
  X8,
};

/// Returns the type that a launch plan calls `name`.
std::optional<DataType> parseDataType(llvm::StringRef name);

/// Returns the name of `type` in a launch plan.
llvm::StringRef getName(DataType type);

/// Returns the number of bytes that an element of `type` takes in memory.
unsigned getByteSize(DataType type);

/// Returns whether `type` is an integer type; `i1` is one.
bool isInteger(DataType type);

/// Returns whether `type` is an integer type with negative values.
bool isSignedInteger(DataType type);

/// Returns what `type` is in DLPack's terms.
DLDataType toDLPack(DataType type);

/// Returns whether a tensor of `actual` can be taken for one of `expected`.
/// Booleans and `u8` stand for each other, because frameworks without a Boolean
/// DLPack type export the former as the latter. `x8` is any integer of a byte,
/// and a pair of DLPack's floats of 4 bits.
bool isCompatible(DataType expected, DLDataType actual);

/// Returns what `type` is called in a launch plan, or its DLPack code and width
/// if it has no name there.
std::string describe(DLDataType type);

/// Returns the bits of `value` rounded to the floating-point type `type`, or
/// nothing if `value` is finite but beyond the largest value of `type`.
std::optional<uint64_t> encodeFloat(DataType type, double value);

} // namespace tl::runtime

#endif // TL_RUNTIME_DATATYPE_H
