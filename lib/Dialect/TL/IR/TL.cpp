//===- TL.cpp - The tl dialect, its types and attributes ------------------===//
//
// Registration of the dialect, verifiers of its attributes, and the questions
// that every pass asks of buffers: their memory space and their origin.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Addresses.h"
#include "tl/Dialect/TL/IR/Calls.h"
#include "tl/Dialect/TL/IR/Iterations.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/Prints.h"
#include "tl/Dialect/TL/IR/Roles.h"
#include "tl/Dialect/TL/IR/Scans.h"
#include "tl/Dialect/TL/IR/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace tl;

/// Parses `[1, 2, 3]`, possibly empty.
static ParseResult parseIntList(AsmParser &parser,
                                SmallVectorImpl<int64_t> &values) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(values.emplace_back());
  });
}

static void printIntList(AsmPrinter &printer, ArrayRef<int64_t> values) {
  printer << '[';
  llvm::interleaveComma(values, printer);
  printer << ']';
}

#include "tl/Dialect/TL/IR/TLDialect.cpp.inc"
#include "tl/Dialect/TL/IR/TLEnums.cpp.inc"
#include "tl/Dialect/TL/IR/TLInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tl/Dialect/TL/IR/TLAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "tl/Dialect/TL/IR/TLTypes.cpp.inc"

void TLDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tl/Dialect/TL/IR/TLAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "tl/Dialect/TL/IR/TLTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tl/Dialect/TL/IR/TLOps.cpp.inc"
      >();
  attachEvents(*getContext());
  addOperations<
#define GET_OP_LIST
#include "tl/Dialect/TL/IR/Addresses.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tl/Dialect/TL/IR/Calls.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tl/Dialect/TL/IR/Iterations.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tl/Dialect/TL/IR/Pipes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tl/Dialect/TL/IR/Prints.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tl/Dialect/TL/IR/Roles.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tl/Dialect/TL/IR/Scans.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tl/Dialect/TL/IR/Warps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

layout::FragmentLayout tl::toLayout(FragmentLayoutAttr attr) {
  auto modes = [](ArrayRef<int64_t> extents, ArrayRef<int64_t> strides) {
    SmallVector<layout::FragmentMode> result;
    for (auto [extent, stride] : llvm::zip_equal(extents, strides))
      result.push_back({extent, stride});
    return result;
  };
  return layout::FragmentLayout(
      attr.getShape(), modes(attr.getThreadExtents(), attr.getThreadStrides()),
      modes(attr.getValueExtents(), attr.getValueStrides()));
}

FragmentLayoutAttr tl::toAttr(MLIRContext *context,
                              const layout::FragmentLayout &layout) {
  auto list = [](ArrayRef<layout::FragmentMode> modes, auto member) {
    return llvm::map_to_vector(
        modes, [&](const layout::FragmentMode &mode) { return mode.*member; });
  };
  using Mode = layout::FragmentMode;
  return FragmentLayoutAttr::get(context, layout.getShape(),
                                 list(layout.getThreadModes(), &Mode::extent),
                                 list(layout.getThreadModes(), &Mode::stride),
                                 list(layout.getValueModes(), &Mode::extent),
                                 list(layout.getValueModes(), &Mode::stride));
}

LogicalResult FragmentLayoutAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape,
    ArrayRef<int64_t> threadExtents, ArrayRef<int64_t> threadStrides,
    ArrayRef<int64_t> valueExtents, ArrayRef<int64_t> valueStrides) {
  if (threadExtents.size() != threadStrides.size() ||
      valueExtents.size() != valueStrides.size())
    return emitError() << "expects as many strides as extents";
  auto modes = [](ArrayRef<int64_t> extents, ArrayRef<int64_t> strides) {
    SmallVector<layout::FragmentMode> result;
    for (auto [extent, stride] : llvm::zip_equal(extents, strides))
      result.push_back({extent, stride});
    return result;
  };
  std::string why;
  layout::FragmentLayout layout(shape, modes(threadExtents, threadStrides),
                                modes(valueExtents, valueStrides));
  if (failed(layout.verify(why)))
    return emitError() << "is not a fragment layout: " << why;
  return success();
}

LogicalResult
SharedLayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                         int64_t swizzle, int64_t chunk) {
  if (!llvm::is_contained({0, 32, 64, 128}, swizzle))
    return emitError() << "expects a swizzle of 0, 32, 64 or 128 bytes, got "
                       << swizzle;
  if (chunk <= 0)
    return emitError() << "expects a positive chunk, got " << chunk;
  return success();
}

//===----------------------------------------------------------------------===//
// Questions about buffers
//===----------------------------------------------------------------------===//

std::optional<Space> tl::getSpace(MemRefType type) {
  Attribute space = type.getMemorySpace();
  if (!space)
    return Space::Global;
  if (isa<FragmentAttr>(space))
    return Space::Fragment;
  auto gpuSpace = dyn_cast<gpu::AddressSpaceAttr>(space);
  if (!gpuSpace)
    return std::nullopt;
  switch (gpuSpace.getValue()) {
  case gpu::AddressSpace::Global:
    return Space::Global;
  case gpu::AddressSpace::Workgroup:
    return Space::Shared;
  case gpu::AddressSpace::Private:
    return Space::Private;
  }
  llvm_unreachable("all address spaces are handled");
}

bool tl::isInSpace(Value value, Space space) {
  auto type = dyn_cast<MemRefType>(value.getType());
  return type && getSpace(type) == space;
}

Value tl::getBuffer(Value view) {
  view = getUnmapped(view);
  while (auto slot = view.getDefiningOp<SlotOp>())
    view = slot.getSource();
  return view;
}

int64_t tl::getNumThreads(gpu::GPUFuncOp kernel) {
  std::optional<ArrayRef<int32_t>> size = kernel.getKnownBlockSize();
  assert(size && "kernels carry their block size");
  return llvm::product_of(
      llvm::map_range(*size, [](int32_t extent) { return int64_t(extent); }));
}

ParamLayout ParamLayout::of(ParamAttr param) {
  ParamLayout layout;
  switch (param.getKind()) {
  case ParamKind::Base:
  case ParamKind::Dim:
  case ParamKind::Stride:
    return {8, 8, {}};
  case ParamKind::TensorMap: // `CUtensorMap` of cuda.h
    return {128, 128, {}};
  case ParamKind::Scalar:
    layout.size =
        param.getType().isIndex()
            ? 8
            : llvm::divideCeil(param.getType().getIntOrFloatBitWidth(), 8);
    layout.alignment = layout.size;
    return layout;
  case ParamKind::Struct:
    break;
  }
  for (auto member : param.getMembers().getAsRange<ParamAttr>()) {
    ParamLayout inner = of(member);
    layout.size = llvm::alignTo(layout.size, inner.alignment);
    layout.offsets.push_back(layout.size);
    layout.size += inner.size;
    layout.alignment = std::max(layout.alignment, inner.alignment);
  }
  layout.size = llvm::alignTo(layout.size, layout.alignment);
  return layout;
}

//===----------------------------------------------------------------------===//
// Places in device code
//===----------------------------------------------------------------------===//

/// Metadata of the two kinds of locations.
static constexpr StringLiteral kUnitStart = "tl.unit";
static constexpr StringLiteral kUnitPlace = "tl.unit_place";

/// The first part of a location that is marked with `kind`, or null.
static FileLineColLoc getMarked(Location location, StringRef kind) {
  auto fused = dyn_cast<FusedLoc>(location);
  auto mark =
      fused ? dyn_cast_or_null<StringAttr>(fused.getMetadata()) : StringAttr();
  return mark && mark.getValue() == kind
             ? dyn_cast<FileLineColLoc>(fused.getLocations().front())
             : FileLineColLoc();
}

Location tl::makeUnitLocation(MLIRContext *context, StringRef file,
                              int64_t line) {
  return FusedLoc::get(context, {FileLineColLoc::get(context, file, line, 0)},
                       StringAttr::get(context, kUnitStart));
}

std::optional<UnitPlace> UnitPlace::of(Location location) {
  FileLineColLoc place = getMarked(location, kUnitPlace);
  if (!place)
    return std::nullopt;
  return UnitPlace{place.getFilename().getValue(), place.getLine()};
}

Location tl::locateInUnit(CudaUnitOp unit, StringRef file, int64_t line) {
  MLIRContext *context = unit.getContext();
  FileLineColLoc start = getMarked(unit.getLoc(), kUnitStart);
  // Where the user's file is not known the unit's name stands for it.
  if (!start)
    return FusedLoc::get(
        context, {FileLineColLoc::get(context, file, line, 0), unit.getLoc()},
        StringAttr::get(context, kUnitPlace));
  if (file == unit.getName())
    return FileLineColLoc::get(context, start.getFilename().getValue(),
                               start.getLine() + line - 1, 0);
  if (!unit.getHeaders() || !unit.getHeaders()->contains(file))
    return FileLineColLoc::get(context, file, line, 0);
  // Headers lie to the unit as their files lie to the user's.
  namespace path = llvm::sys::path;
  SmallString<128> real(path::parent_path(start.getFilename().getValue()));
  auto own = path::begin(unit.getName()), end = path::end(unit.getName());
  auto other = path::begin(file);
  if (*own != *other) // Of another group, whose place is not known here.
    return FileLineColLoc::get(context, file.split('/').second, line, 0);
  while (own != end && *own == *other) {
    ++own;
    ++other;
  }
  for (size_t ups = std::distance(own, end); ups > 1; --ups)
    path::append(real, "..");
  for (; other != path::end(file); ++other)
    path::append(real, *other);
  path::remove_dots(real, /*remove_dot_dot=*/true);
  return FileLineColLoc::get(context, real, line, 0);
}
