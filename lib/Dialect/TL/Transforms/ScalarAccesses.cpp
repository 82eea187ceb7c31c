//===- ScalarAccesses.cpp - Accesses that are joined ----------------------===//

#include "ScalarAccesses.h"

#include "tl/Dialect/TL/Analysis/Places.h"
#include "tl/Dialect/TL/IR/Iterations.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <numeric>

using namespace mlir;
using namespace tl;

unsigned tl::getAddressSpace(Value pointer) {
  return cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace();
}

bool tl::isElsewhere(Value pointer, unsigned space) {
  unsigned to = getAddressSpace(pointer);
  if (to == kDeviceSpace || to == kSharedSpace)
    return to != space;
  return getPlace(pointer).base.getDefiningOp<LLVM::AllocaOp>() != nullptr;
}

FailureOr<NamedAttrList> tl::joinAttributes(ArrayRef<Operation *> accesses) {
  SmallVector<int64_t> all;
  std::optional<NamedAttrList> rest;
  std::optional<size_t> length;
  for (Operation *access : accesses) {
    NamedAttrList own(access->getDiscardableAttrDictionary());
    auto iterations =
        dyn_cast_or_null<DenseI64ArrayAttr>(own.erase(kIterationsAttr));
    ArrayRef<int64_t> told =
        iterations ? iterations.asArrayRef() : ArrayRef<int64_t>();
    if ((rest && *rest != own) || (length && *length != told.size()))
      return failure();
    rest = own;
    length = told.size();
    llvm::append_range(all, told);
  }
  if (!all.empty())
    rest->set(kIterationsAttr,
              DenseI64ArrayAttr::get(accesses.front()->getContext(), all));
  return *rest;
}

size_t tl::getJoinedWidth(ArrayRef<int64_t> offsets, int64_t bytes,
                          int64_t alignment) {
  int64_t first = offsets.front();
  size_t run = 1;
  while (run < offsets.size() &&
         offsets[run] == first + static_cast<int64_t>(run) * bytes)
    ++run;
  auto width = static_cast<size_t>(kMaxAccessBytes / bytes);
  while (
      width > 1 &&
      (width > run ||
       std::gcd(alignment, first) % (static_cast<int64_t>(width) * bytes) != 0))
    width /= 2;
  return width;
}
