//===- TensorMap.h - Descriptors for tensor memory access -------*- C++ -*-===//
//
// Encodes the `CUtensorMap` of a tensor argument. The driver answers a tensor
// it cannot describe with "invalid argument"; the checks here say why.
//
//===----------------------------------------------------------------------===//

#ifndef TL_RUNTIME_TENSORMAP_H
#define TL_RUNTIME_TENSORMAP_H

#include "tl/Runtime/Driver.h"
#include "tl/Runtime/LaunchPlan.h"
#include <array>

namespace tl::runtime {

/// All that a tensor map depends on apart from the plan: the tensor's address,
/// extents, and strides in bytes, innermost first.
struct TensorMapKey {
  void *address = nullptr;
  std::array<int64_t, 5> extents = {};
  std::array<int64_t, 5> strides = {};

  bool operator==(const TensorMapKey &) const = default;

  static TensorMapKey get(const PlanArgument &argument,
                          const TensorMapLayout &layout,
                          llvm::ArrayRef<int64_t> slots, void *address);
};

/// A tensor map and what it was made from.
struct CachedTensorMap {
  bool isValid = false;
  TensorMapKey key;
  cu::CUtensorMap map;
};

/// Fails with the category Alignment or Stride if the hardware cannot access
/// the tensor.
llvm::Error checkTensorMap(const LaunchPlan &plan, const PlanArgument &argument,
                           const TensorMapLayout &layout,
                           const TensorMapKey &key);

/// Writes the tensor map for `key` to `result`: all zero bits if the tensor is
/// empty, because the driver describes no such tensor; kernels do not use it.
/// Fails with the category Alignment, Stride or Shape if the hardware cannot
/// access the tensor.
llvm::Error encodeTensorMap(const Driver &driver, const LaunchPlan &plan,
                            const PlanArgument &argument,
                            const TensorMapLayout &layout,
                            const TensorMapKey &key, cu::CUtensorMap &result);

} // namespace tl::runtime

#endif // TL_RUNTIME_TENSORMAP_H
