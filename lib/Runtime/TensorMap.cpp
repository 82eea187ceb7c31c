//===- TensorMap.cpp - Descriptors for tensor memory access ---------------===//

#include "tl/Runtime/TensorMap.h"
#include "tl/Runtime/RuntimeError.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace tl::runtime;
using namespace tl::runtime::cu;

static CUtensorMapDataType getTensorMapType(DataType type) {
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
    return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  // Copies do not look at the sign.
  case DataType::I16:
  case DataType::U16:
    return CU_TENSOR_MAP_DATA_TYPE_UINT16;
  case DataType::I32:
    return CU_TENSOR_MAP_DATA_TYPE_INT32;
  case DataType::U32:
    return CU_TENSOR_MAP_DATA_TYPE_UINT32;
  case DataType::I64:
    return CU_TENSOR_MAP_DATA_TYPE_INT64;
  case DataType::U64:
    return CU_TENSOR_MAP_DATA_TYPE_UINT64;
  case DataType::F16:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  case DataType::BF16:
    return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  case DataType::F32:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  case DataType::F64:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
  case DataType::TF32:
    return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
  }
  llvm_unreachable("a case for each type");
}

static CUtensorMapSwizzle getSwizzle(unsigned bytes) {
  switch (bytes) {
  case 0:
    return CU_TENSOR_MAP_SWIZZLE_NONE;
  case 32:
    return CU_TENSOR_MAP_SWIZZLE_32B;
  case 64:
    return CU_TENSOR_MAP_SWIZZLE_64B;
  case 128:
    return CU_TENSOR_MAP_SWIZZLE_128B;
  }
  llvm_unreachable("the plan's parser lets no other swizzle through");
}

TensorMapKey TensorMapKey::get(const PlanArgument &argument,
                               const TensorMapLayout &layout,
                               ArrayRef<int64_t> slots, void *address) {
  TensorMapKey key;
  key.address = address;
  int64_t byteSize = getByteSize(layout.dtype);
  for (unsigned i = 0; i != argument.rank; ++i) {
    unsigned dim = argument.rank - 1 - i;
    key.extents[i] = slots[argument.extentSlot(dim)];
    key.strides[i] = slots[argument.strideSlot(dim)] * byteSize;
  }
  return key;
}

// The requirements of cuTensorMapEncodeTiled on the tensor (CUDA Driver API,
// "Tensor Map Object Management").
Error tl::runtime::checkTensorMap(const LaunchPlan &plan,
                                  const PlanArgument &argument,
                                  const TensorMapLayout &layout,
                                  const TensorMapKey &key) {
  constexpr StringLiteral access = "for tensor memory access";
  auto fail = [&](ErrorCategory category, const Twine &message) {
    return makeError(category, "`" + plan.name + "`: " + message);
  };
  uintptr_t address = reinterpret_cast<uintptr_t>(key.address);
  if (address % 16 != 0)
    return fail(ErrorCategory::Alignment,
                formatv("the data of argument `{0}` is at address {1:x}, "
                        "expected a multiple of 16 bytes {2}; pass a copy or a "
                        "slice that starts at such an address",
                        argument.name, address, access));

  int64_t byteSize = getByteSize(layout.dtype);
  for (unsigned i = 0; i != argument.rank; ++i) {
    unsigned dim = argument.rank - 1 - i;
    int64_t stride = key.strides[i];
    if (key.extents[i] == 1)
      continue;
    if (i == 0 && stride != byteSize)
      return fail(ErrorCategory::Stride,
                  formatv("stride {0} of `{1}` is {2}, expected 1 {3}; pass a "
                          "contiguous copy",
                          dim, argument.name, stride / byteSize, access));
    if (i != 0 && (stride % 16 != 0 || stride < 0 || stride >> 40))
      return fail(ErrorCategory::Stride,
                  formatv("stride {0} of `{1}` is {2} bytes, expected a "
                          "multiple of 16 bytes below 2^40 {3}; pad the rows",
                          dim, argument.name, stride, access));
  }
  return Error::success();
}

Error tl::runtime::encodeTensorMap(const Driver &driver, const LaunchPlan &plan,
                                   const PlanArgument &argument,
                                   const TensorMapLayout &layout,
                                   const TensorMapKey &key,
                                   CUtensorMap &result) {
  unsigned rank = argument.rank;
  result = {};
  if (is_contained(ArrayRef(key.extents).take_front(rank), 0))
    return Error::success();
  if (Error error = checkTensorMap(plan, argument, layout, key))
    return error;

  uint64_t extents[5];
  uint64_t strides[5];
  uint32_t elementStrides[5] = {1, 1, 1, 1, 1};
  for (unsigned i = 0; i != rank; ++i) {
    extents[i] = key.extents[i];
    strides[i] = key.strides[i];
    // A dimension of extent 1 may have any stride, and often has one that the
    // driver would reject.
    if (i != 0 && extents[i] == 1)
      strides[i] = alignTo(strides[i - 1] * extents[i - 1], 16);
  }
  // The innermost stride is implied.
  CUresult encoded = driver.functions().cuTensorMapEncodeTiled(
      &result, getTensorMapType(layout.dtype), rank, key.address, extents,
      strides + 1, layout.box.data(), elementStrides,
      CU_TENSOR_MAP_INTERLEAVE_NONE, getSwizzle(layout.swizzle),
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return driver.check(encoded, [&] {
    return formatv(
               "`{0}`: encoding a tensor map with box ({1}) and swizzle {2} "
               "for argument `{3}`",
               plan.name, make_range(layout.box.begin(), layout.box.end()),
               layout.swizzle, argument.name)
        .str();
  });
}
