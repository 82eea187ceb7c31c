//===- TLOps.cpp - Operations of the tl dialect ---------------------------===//
//
// Verifiers, custom assembly and small interface methods. The labels (C1) …
// name the constraints listed in TLOps.td.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/BulkSums.h"
#include "tl/Dialect/TL/IR/CopyTile.h"
#include "tl/Dialect/TL/IR/Pipes.h"

#include "tl/Support/ShowText.h"
#include "tl/Support/SourceFolder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tl;

/// The CUDA programming guide's limits ("Technical Specifications per Compute
/// Capability").
static constexpr uint64_t kMaxThreads = 1024;
static constexpr uint64_t kMaxClusterBlocks = 16;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

/// Parses `(128, 64)`.
static ParseResult parseExtents(OpAsmParser &parser,
                                DenseI64ArrayAttr &extents) {
  SmallVector<int64_t> values;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
        return parser.parseInteger(values.emplace_back());
      }))
    return failure();
  extents = parser.getBuilder().getDenseI64ArrayAttr(values);
  return success();
}

static void printExtents(OpAsmPrinter &printer, Operation *,
                         DenseI64ArrayAttr extents) {
  printer << '(';
  llvm::interleaveComma(extents.asArrayRef(), printer);
  printer << ')';
}

/// Parses `full_row`. The attribute's own form is printed after a space, which
/// does not belong after a parenthesis.
static ParseResult parsePolicy(OpAsmParser &parser, GemmPolicyAttr &policy) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<GemmPolicy> value = symbolizeGemmPolicy(keyword);
  if (!value)
    return parser.emitError(loc, "expects `square`, `full_row` or `full_col`, "
                                 "got `")
           << keyword << "`";
  policy = GemmPolicyAttr::get(parser.getContext(), *value);
  return success();
}

static void printPolicy(OpAsmPrinter &printer, Operation *,
                        GemmPolicyAttr policy) {
  printer << stringifyGemmPolicy(policy.getValue());
}

/// The accumulator's type, after A's if that is in registers.
static ParseResult parseWgmmaTypes(OpAsmParser &parser, Type &a, Type &acc) {
  if (parser.parseType(acc))
    return failure();
  a = parser.getBuilder().getI64Type();
  if (failed(parser.parseOptionalComma()))
    return success();
  a = acc;
  return parser.parseType(acc);
}

static void printWgmmaTypes(OpAsmPrinter &printer, Operation *, Type a,
                            Type acc) {
  if (!a.isInteger(64))
    printer << a << ", ";
  printer << acc;
}

/// Parses `(acquire)`.
static ParseResult parseOrder(OpAsmParser &parser, MemoryOrderAttr &order) {
  StringRef keyword;
  SMLoc loc;
  if (parser.parseLParen() || parser.getCurrentLocation(&loc) ||
      parser.parseKeyword(&keyword) || parser.parseRParen())
    return failure();
  std::optional<MemoryOrder> value = symbolizeMemoryOrder(keyword);
  if (!value)
    return parser.emitError(loc, "expects `relaxed`, `acquire`, `release`, "
                                 "`acq_rel` or `seq_cst`, got `")
           << keyword << "`";
  order = MemoryOrderAttr::get(parser.getContext(), *value);
  return success();
}

static void printOrder(OpAsmPrinter &printer, Operation *,
                       MemoryOrderAttr order) {
  printer << '(' << stringifyMemoryOrder(order.getValue()) << ')';
}

/// Parses `(device)`.
static ParseResult parseScope(OpAsmParser &parser, MemoryScopeAttr &scope) {
  StringRef keyword;
  SMLoc loc;
  if (parser.parseLParen() || parser.getCurrentLocation(&loc) ||
      parser.parseKeyword(&keyword) || parser.parseRParen())
    return failure();
  std::optional<MemoryScope> value = symbolizeMemoryScope(keyword);
  if (!value)
    return parser.emitError(loc, "expects `block`, `device` or `system`, got `")
           << keyword << "`";
  scope = MemoryScopeAttr::get(parser.getContext(), *value);
  return success();
}

static void printScope(OpAsmPrinter &printer, Operation *,
                       MemoryScopeAttr scope) {
  printer << '(' << stringifyMemoryScope(scope.getValue()) << ')';
}

using UnresolvedOperand = OpAsmParser::UnresolvedOperand;

/// Parses `%x, %A[%i]`, or `%A[%i]` if there is no value.
static ParseResult
parseAtomicPlace(OpAsmParser &parser, std::optional<UnresolvedOperand> &value,
                 UnresolvedOperand &target,
                 SmallVectorImpl<UnresolvedOperand> &indices) {
  if (parser.parseOperand(target))
    return failure();
  if (succeeded(parser.parseOptionalComma())) {
    value = target;
    if (parser.parseOperand(target))
      return failure();
  }
  return parser.parseOperandList(indices, OpAsmParser::Delimiter::Square);
}

static void printAtomicPlace(OpAsmPrinter &printer, Operation *, Value value,
                             Value target, OperandRange indices) {
  if (value)
    printer << value << ", ";
  printer << target << '[' << indices << ']';
}

/// Parses the one type that `value`, `expected` and the result have, as far as
/// the kind has them.
static ParseResult parseAtomTypes(OpAsmParser &parser, AtomicKindAttr kind,
                                  Type &value, Type &expected, Type &old) {
  if (parser.parseType(old))
    return failure();
  if (kind.getValue() != AtomicKind::Load)
    value = old;
  if (kind.getValue() == AtomicKind::CompareExchange)
    expected = old;
  return success();
}

static void printAtomTypes(OpAsmPrinter &printer, Operation *, AtomicKindAttr,
                           Type, Type, Type old) {
  printer << old;
}

/// Parses the type of the buffer, which says all others.
static ParseResult parseAtomicTypes(OpAsmParser &parser, AtomicKindAttr kind,
                                    Type &value, Type &target, Type &expected,
                                    Type &old) {
  MemRefType buffer;
  if (parser.parseType(buffer))
    return failure();
  target = buffer;
  old = buffer.getElementType();
  if (kind.getValue() != AtomicKind::Load)
    value = old;
  if (kind.getValue() == AtomicKind::CompareExchange)
    expected = old;
  return success();
}

static void printAtomicTypes(OpAsmPrinter &printer, Operation *, AtomicKindAttr,
                             Type, Type target, Type, Type) {
  printer << target;
}

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/TLOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Shared checks
//===----------------------------------------------------------------------===//

/// "128x64" for messages.
static std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      shape, os,
      [&](int64_t extent) {
        if (ShapedType::isDynamic(extent))
          os << '?';
        else
          os << extent;
      },
      "x");
  return text.empty() ? "no dimensions" : text;
}

/// The product of positive extents, or the largest number if it is larger.
static uint64_t saturatingProduct(ArrayRef<int64_t> extents) {
  uint64_t product = 1;
  for (int64_t extent : extents)
    product = llvm::SaturatingMultiply<uint64_t>(product, extent);
  return product;
}

/// Checks the extents of a block.
static LogicalResult verifyBlock(Operation *op, ArrayRef<int64_t> block) {
  if (block.empty() || block.size() > 3)
    return op->emitOpError("expects one to three thread extents, got ")
           << block.size();
  if (llvm::any_of(block, [](int64_t extent) { return extent < 1; }))
    return op->emitOpError("expects positive thread extents, got (")
           << block << ")";
  uint64_t threads = saturatingProduct(block);
  if (threads > kMaxThreads)
    return op->emitOpError("expects at most ")
           << kMaxThreads << " threads in a block, got " << threads;
  return success();
}

/// Checks extents of a grid, block and cluster.
static LogicalResult
verifyLaunchShape(Operation *op, size_t gridRank, ArrayRef<int64_t> block,
                  std::optional<ArrayRef<int64_t>> cluster) {
  if (gridRank < 1 || gridRank > 3) // C1
    return op->emitOpError("expects one to three grid extents, got ")
           << gridRank;
  if (failed(verifyBlock(op, block))) // C2
    return failure();
  if (!cluster) // C3
    return success();
  if (cluster->empty() || cluster->size() > gridRank)
    return op->emitOpError("expects a cluster of one to ")
           << gridRank << " extents, as the grid has, got " << cluster->size();
  if (llvm::any_of(*cluster, [](int64_t extent) { return extent < 1; }))
    return op->emitOpError("expects positive cluster extents, got (")
           << *cluster << ")";
  uint64_t blocks = saturatingProduct(*cluster);
  if (blocks > kMaxClusterBlocks)
    return op->emitOpError("expects at most ")
           << kMaxClusterBlocks << " blocks in a cluster, got " << blocks;
  return success();
}

static LogicalResult verifyIndices(Operation *op, MemRefType buffer,
                                   size_t indices) {
  if (static_cast<int64_t>(indices) != buffer.getRank())
    return op->emitOpError("expects one index for each of ")
           << buffer.getRank() << " dimensions, got " << indices;
  return success();
}

static bool isOnChip(MemRefType type) {
  std::optional<Space> space = getSpace(type);
  return space && *space != Space::Global;
}

static bool isNumber(Type type) { return type.isIntOrIndexOrFloat(); }

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  if (succeeded(parser.parseOptionalSymbolName(name)))
    result.addAttribute("name", name);

  SmallVector<OpAsmParser::Argument> coordinates;
  SmallVector<OpAsmParser::UnresolvedOperand> grid;
  if (parser.parseKeyword("blocks") ||
      parser.parseArgumentList(coordinates, AsmParser::Delimiter::Paren) ||
      parser.parseKeyword("in") ||
      parser.parseOperandList(grid, AsmParser::Delimiter::Paren) ||
      parser.resolveOperands(grid, builder.getIndexType(), result.operands))
    return failure();
  for (OpAsmParser::Argument &coordinate : coordinates)
    coordinate.type = builder.getIndexType();

  DenseI64ArrayAttr extents;
  if (parser.parseKeyword("threads") || parseExtents(parser, extents))
    return failure();
  result.addAttribute("threads", extents);
  if (succeeded(parser.parseOptionalKeyword("cluster"))) {
    if (parseExtents(parser, extents))
      return failure();
    result.addAttribute("cluster", extents);
  }
  if (succeeded(parser.parseOptionalKeyword("cooperative")))
    result.addAttribute("cooperative", builder.getUnitAttr());
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*result.addRegion(), coordinates))
    return failure();
  ensureTerminator(*result.regions.front(), builder, result.location);
  return success();
}

void KernelOp::print(OpAsmPrinter &printer) {
  if (std::optional<StringRef> name = getName()) {
    printer << ' ';
    printer.printSymbolName(*name);
  }
  printer << " blocks(";
  printer.printOperands(getBody().getArguments());
  printer << ") in (";
  printer.printOperands(getGrid());
  printer << ") threads";
  printExtents(printer, *this, getThreadsAttr());
  if (DenseI64ArrayAttr cluster = getClusterAttr()) {
    printer << " cluster";
    printExtents(printer, *this, cluster);
  }
  if (getCooperative())
    printer << " cooperative";
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {"name", "threads", "cluster", "cooperative"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/false);
}

void KernelOp::getAsmBlockArgumentNames(Region &region,
                                        OpAsmSetValueNameFn setName) {
  static constexpr StringLiteral names[] = {"bx", "by", "bz"};
  for (auto [argument, name] : llvm::zip(region.getArguments(), names))
    setName(argument, name);
}

LogicalResult KernelOp::verify() {
  return verifyLaunchShape(*this, getGrid().size(), getThreads(), getCluster());
}

LogicalResult KernelOp::verifyRegions() {
  if (getBody().getNumArguments() != getGrid().size() ||
      !llvm::all_of(getBody().getArgumentTypes(),
                    [](Type type) { return type.isIndex(); })) // C4
    return emitOpError("expects one `index` block coordinate for each of ")
           << getGrid().size() << " grid extents, got "
           << getBody().getNumArguments() << " of types ("
           << getBody().getArgumentTypes() << ")";
  if (!(*this)->getParentOfType<FunctionOpInterface>()) // C5
    return emitOpError("expects to be inside a function");
  return success();
}

//===----------------------------------------------------------------------===//
// LaunchOp, SourceKernelOp
//===----------------------------------------------------------------------===//

/// As many variables to set as buffers to set them from.
template <typename LaunchLikeOp>
static LogicalResult verifySymbols(LaunchLikeOp op) {
  size_t count = op.getSymbols() ? op.getSymbols()->size() : 0;
  if (count == op.getSymbolArgs().size())
    return success();
  return op.emitOpError("expects a buffer for each of ")
         << count << " symbols, got " << op.getSymbolArgs().size();
}

LogicalResult LaunchOp::verify() {
  if (failed(
          verifyLaunchShape(*this, getGrid().size(), getBlock(), getCluster())))
    return failure();
  if (getKernel().getNestedReferences().size() != 1) // C4
    return emitOpError(
               "expects a kernel of the form `@module::@function`, got `")
           << getKernel() << "`";
  if (failed(verifySymbols(*this))) // C6
    return failure();
  // A kernel that is not there (yet), or compiled already, has no types to
  // compare with.
  auto kernel =
      SymbolTable::lookupNearestSymbolFrom<gpu::GPUFuncOp>(*this, getKernel());
  if (!kernel)
    return success();
  auto expected = kernel.getArgumentTypes();
  // Lowering replaces the parameters; from then on `tl.param` says how each is
  // made from the launch's arguments.
  if (!kernel.getArguments().empty() && kernel.getArgAttr(0, kParamAttr))
    return success();
  if (!llvm::equal(expected, getArgs().getTypes())) { // C5
    InFlightDiagnostic diag = emitOpError("expects arguments of types (")
                              << expected << "), got (" << getArgs().getTypes()
                              << ")";
    diag.attachNote(kernel.getLoc()) << "the kernel is here";
    return diag;
  }
  return success();
}

/// True if a parameter and its members, if it is a struct, are of `count`
/// arguments.
static bool isMadeOf(ParamAttr param, size_t count) {
  if (param.getOperand() < 0 ||
      param.getOperand() >= static_cast<int64_t>(count))
    return false;
  if (param.getKind() != ParamKind::Struct)
    return true;
  return param.getMembers() && !param.getMembers().empty() &&
         llvm::all_of(param.getMembers(), [&](Attribute attribute) {
           auto member = dyn_cast<ParamAttr>(attribute);
           return member && member.getKind() != ParamKind::Struct &&
                  member.getKind() != ParamKind::TensorMap &&
                  isMadeOf(member, count);
         });
}

LogicalResult SourceKernelOp::verify() {
  if (failed(
          verifyLaunchShape(*this, getGrid().size(), getBlock(), getCluster())))
    return failure();
  auto isMissing = [](CudaSourceAttr source) {
    return source.getText().empty() && !source.getFile();
  };
  if (getSources().empty() ||
      llvm::any_of(getSources().getAsRange<CudaSourceAttr>(), isMissing)) // C4
    return emitOpError(
        "expects CUDA source: give its text, or the name of a file");
  if (getEntry() && getEntry()->empty()) // C5
    return emitOpError(
        "expects an entry name that is not empty; leave it out if "
        "the source has one entry");
  if (std::optional<ArrayAttr> params = getParams())
    for (auto param : params->getAsRange<ParamAttr>()) // C6
      if (!isMadeOf(param, getArgs().size()))
        return emitOpError("expects parameters of its ")
               << getArgs().size() << " arguments, got " << param;
  return verifySymbols(*this); // C7
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

void AllocOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  std::optional<Space> space = getSpace(getType());
  setName(getResult(), space == Space::Shared     ? "shared"
                       : space == Space::Fragment ? "fragment"
                                                  : "local");
}

LogicalResult AllocOp::verify() {
  MemRefType type = getType();
  if (!type.hasStaticShape() || llvm::is_contained(type.getShape(), 0) ||
      !type.getLayout().isIdentity()) // C1
    return emitOpError("expects a static shape without zeros and no memref "
                       "layout, got `")
           << type << "`";
  std::optional<Space> space = getSpace(type);
  if (!space || *space == Space::Global) // C2
    return emitOpError(
               "expects a buffer in workgroup memory, `#tl.fragment` or "
               "private memory, got `")
           << type << "`";
  Attribute layout = getLayoutAttr();
  if (!layout)
    return success();
  bool fits = *space == Space::Fragment ? isa<FragmentLayoutAttr>(layout)
              : *space == Space::Shared ? isa<SharedLayoutAttr>(layout)
                                        : false;
  if (!fits) // C3
    return emitOpError("expects a layout for its memory space, got `")
           << layout << "`";
  return success();
}

void AllocBarriersOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "barriers");
}

LogicalResult SlotOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  auto view = cast<MemRefType>(getView().getType());
  if (source.getRank() < 1 ||
      view.getShape() != source.getShape().drop_front() ||
      view.getElementType() != source.getElementType() ||
      view.getMemorySpace() != source.getMemorySpace()) // C1
    return emitOpError("expects `")
           << source << "` without its first dimension, got `" << view << "`";
  return success();
}

LogicalResult LoadOp::verify() {
  return verifyIndices(*this, cast<MemRefType>(getSource().getType()),
                       getIndices().size());
}

LogicalResult StoreOp::verify() {
  return verifyIndices(*this, cast<MemRefType>(getTarget().getType()),
                       getIndices().size());
}

LogicalResult CutOp::verify() {
  auto dimension = static_cast<int64_t>(getDimension());
  if (dimension < 0 || dimension >= 16) // C1
    return emitOpError("expects a dimension from 0 to 15, got ") << dimension;
  return success();
}

//===----------------------------------------------------------------------===//
// AtomicOp, AtomOp
//===----------------------------------------------------------------------===//

/// Checks which operands an atomic operation has, that their types are that of
/// the element, and that the order is one that the kind can have.
template <typename Op>
static LogicalResult verifyAtomicOperands(Op op) {
  bool isLoad = op.getKind() == AtomicKind::Load;
  bool compares = op.getKind() == AtomicKind::CompareExchange;
  StringRef kind = stringifyAtomicKind(op.getKind());
  if (isLoad == bool(op.getValue()))
    return op.emitOpError("of kind `")
           << kind << "` expects " << (isLoad ? "no" : "a") << " value";
  if (compares != bool(op.getExpected()))
    return op.emitOpError("of kind `")
           << kind << "` expects " << (compares ? "an" : "no")
           << " expected value";
  Type type = op.getOld().getType();
  for (Value operand : {op.getValue(), op.getExpected()})
    if (operand && operand.getType() != type)
      return op.emitOpError("expects operands of the element's type ")
             << type << ", got " << operand.getType();
  if (isLoad && (op.getOrder() == MemoryOrder::Release ||
                 op.getOrder() == MemoryOrder::AcqRel))
    return op.emitOpError("of kind `load` expects order `relaxed`, `acquire` "
                          "or `seq_cst`, got `")
           << stringifyMemoryOrder(op.getOrder()) << "`";
  return success();
}

static bool isBitOperation(AtomicKind kind) {
  return kind == AtomicKind::And || kind == AtomicKind::Or ||
         kind == AtomicKind::Xor;
}

/// True for what leaves the other bytes of a word as they are, given the word
/// that does.
static bool isAtomicOnBytes(AtomicKind kind) {
  return kind == AtomicKind::And || kind == AtomicKind::Or;
}

static bool isUnsignedOrder(AtomicKind kind) {
  return kind == AtomicKind::UMin || kind == AtomicKind::UMax;
}

LogicalResult AtomicOp::verify() {
  auto target = cast<MemRefType>(getTarget().getType());
  Type element = target.getElementType();
  if (failed(verifyIndices(*this, target, getIndices().size()))) // C1
    return failure();
  std::optional<Space> space = getSpace(target);
  if (space != Space::Global && space != Space::Shared) // C2
    return emitOpError("expects a target in device or workgroup memory, got ")
           << target;
  if (getOld().getType() != element)
    return emitOpError("expects a result of the element's type ")
           << element << ", got " << getOld().getType();
  if (failed(verifyAtomicOperands(*this))) // C3, C5
    return failure();
  bool ofIntegers = isBitOperation(getKind()) || isUnsignedOrder(getKind()) ||
                    getKind() == AtomicKind::CompareExchange;
  bool isKnown =
      element.isInteger(32) || element.isInteger(64) ||
      (isAtomicOnBytes(getKind()) && element.isInteger(8)) ||
      (!ofIntegers &&
       isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(element));
  if (!isKnown) // C4
    return emitOpError("of kind `")
           << stringifyAtomicKind(getKind()) << "` expects elements of "
           << (isAtomicOnBytes(getKind()) ? "i8, i32 or i64"
               : ofIntegers               ? "i32 or i64"
                                          : "i32, i64, f16, bf16, f32 or f64")
           << ", got " << element;
  return success();
}

/// The tensors of the kernel that `op` stands in.
static SmallVector<BlockArgument> getTensors(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  if (!function)
    return {};
  return llvm::filter_to_vector(
      function.getArguments(), [](BlockArgument argument) {
        auto type = dyn_cast<MemRefType>(argument.getType());
        return type && getSpace(type) == Space::Global;
      });
}

/// Nothing may take two loads for one, so that `load` counts as a write.
void AtomicOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getTargetMutable());
  effects.emplace_back(MemoryEffects::Write::get(), &getTargetMutable());
  if (getOrder() == MemoryOrder::Relaxed)
    return;
  for (BlockArgument tensor : getTensors(*this)) {
    effects.emplace_back(MemoryEffects::Read::get(), tensor);
    effects.emplace_back(MemoryEffects::Write::get(), tensor);
  }
}

/// True for neighbours that one `red` of compute capability 9.0 adds to, each
/// in a step of its own ("red", vectors): at most 16 bytes.
static bool isAddedTogether(VectorType type) {
  int64_t count = type.getNumElements();
  Type element = type.getElementType();
  if (type.getRank() != 1 || !llvm::isPowerOf2_64(count) || count == 1)
    return false;
  return element.isF32()
             ? count <= 4
             : isa<Float16Type, BFloat16Type>(element) && count <= 8;
}

/// True if one instruction of the PTX ISA does `kind` on words of `type`
/// ("atom", "red", "ld", "st").
bool tl::isAtomInstruction(AtomicKind kind, Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return kind == AtomicKind::Add && isAddedTogether(vector);
  if (type.isInteger(32) || type.isInteger(64))
    return true;
  switch (kind) {
  case AtomicKind::Add:
    return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
  case AtomicKind::Load:
    return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type) ||
           type.isInteger(16);
  case AtomicKind::Exchange:
    return isa<Float32Type, Float64Type>(type);
  case AtomicKind::CompareExchange:
    return type.isInteger(16);
  case AtomicKind::And:
  case AtomicKind::Or:
    return type.isInteger(8);
  default:
    return false;
  }
}

LogicalResult AtomOp::verify() {
  if (failed(verifyAtomicOperands(*this))) // C1, C4
    return failure();
  if (!isAtomInstruction(getKind(), getOld().getType())) // C2
    return emitOpError("has no instruction for `")
           << stringifyAtomicKind(getKind()) << "` of " << getOld().getType();
  auto pointer = cast<LLVM::LLVMPointerType>(getAddress().getType());
  if (isa<VectorType>(getOld().getType()) && // C5
      (pointer.getAddressSpace() != 1 || !getOld().use_empty() ||
       getOrder() != MemoryOrder::Relaxed))
    return emitOpError("of neighbours expects a pointer to device memory, the "
                       "order `relaxed`, and nobody who asks what was there");
  if (!llvm::is_contained({0, 1, 3}, pointer.getAddressSpace())) // C3
    return emitOpError("expects a generic pointer, or one to device or shared "
                       "memory, got ")
           << pointer;
  return success();
}

//===----------------------------------------------------------------------===//
// CopyOp, FillOp
//===----------------------------------------------------------------------===//

/// Checks one side of a copy; `name` is how messages call it.
static LogicalResult verifyCopySide(CopyOp op, Value buffer, size_t offsets,
                                    StringRef name) {
  auto type = cast<MemRefType>(buffer.getType());
  if (offsets != 0 && static_cast<int64_t>(offsets) != type.getRank()) // C1
    return op.emitOpError("expects no offsets for the ")
           << name << " or one for each of its " << type.getRank()
           << " dimensions, got " << offsets;
  SmallVector<int64_t> tile = getSideTile(op.getTile(), type.getRank());
  if (static_cast<int64_t>(tile.size()) > type.getRank()) // C2
    return op.emitOpError("expects a tile of at most ")
           << type.getRank() << " dimensions, as the " << name
           << " has, and more of extent one, got " << op.getTile().size();
  if (!isOnChip(type))
    return success();
  ArrayRef<int64_t> shape = type.getShape().take_back(tile.size());
  for (auto [extent, available] : llvm::zip_equal(tile, shape))
    if (extent > available) // C3
      return op.emitOpError("copies a tile of ")
             << shapeText(op.getTile()) << ", but the " << name << " is only "
             << shapeText(type.getShape())
             << "; use a smaller tile or a larger buffer";
  return success();
}

/// Checks what `tl.ahead` asks of the copy and of its place (Pipes.h).
static LogicalResult verifyAhead(CopyOp op) {
  auto loop = dyn_cast_or_null<PipelinedOp>(op->getParentOp());
  if (!loop || !getEngine(loop))
    return op.emitOpError("runs ahead, and expects to stand directly in a "
                          "`tl.pipelined` with an engine");
  if (op.getAsync())
    return op.emitOpError("runs ahead, and cannot be `async` as well: who "
                          "waits for it is decided when the loop is expanded");
  if (!isInSpace(op.getSource(), Space::Global) ||
      !isInSpace(op.getTarget(), Space::Shared) ||
      !op.getTarget().getDefiningOp<AllocOp>() || !fillsTarget(op))
    return op.emitOpError("runs ahead, and expects a source in device memory "
                          "and the whole of a `tl.alloc` in workgroup memory "
                          "as its target");
  return success();
}

PlacesOp CopyOp::getRows() {
  return cast<PlacesOp>(getPlaces().front().front().getTerminator());
}

bool CopyOp::keepsRows() { return isGather() && getRows().getKeep(); }

SmallVector<Value> CopyOp::getTables() {
  SmallVector<Value> tables;
  for (Region &places : getPlaces())
    places.walk([&](LoadOp load) { tables.push_back(load.getSource()); });
  return tables;
}

/// Checks a copy that gathers rows (C9).
static LogicalResult verifyGather(CopyOp op) {
  auto source = cast<MemRefType>(op.getSource().getType());
  auto target = cast<MemRefType>(op.getTarget().getType());
  if (op.getPlaces().size() > 1 || getSpace(source) != Space::Global ||
      getSpace(target) != Space::Shared ||
      source.getElementType() != target.getElementType() ||
      source.getRank() == 0 || !op.getSourceOffsets().empty() ||
      !op.getTargetOffsets().empty() ||
      target.getRank() != static_cast<int64_t>(op.getTile().size()) ||
      op.getMulticast() || op.getAccumulate())
    return op.emitOpError("with `places` expects a source in device memory, a "
                          "target in workgroup memory of the same element "
                          "type and of the tile's dimensions, no offsets, and "
                          "neither `multicast` nor `accumulate`");
  Block &body = op.getPlaces().front().front();
  auto rows = dyn_cast<PlacesOp>(body.back());
  bool hasIndices =
      body.getNumArguments() + 1 == op.getTile().size() &&
      llvm::all_of(body.getArgumentTypes(), [](Type t) { return t.isIndex(); });
  if (!rows || !hasIndices ||
      static_cast<int64_t>(rows.getPlace().size()) != source.getRank())
    return op.emitOpError("with `places` expects a block of an index for each "
                          "dimension of the tile but the last, which ends in "
                          "`tl.places` for all dimensions of the source");
  for (Operation &inner : body) {
    auto load = dyn_cast<LoadOp>(inner);
    if (load ? !isInSpace(load.getSource(), Space::Global)
             : inner.getNumRegions() != 0 || !isPure(&inner))
      return inner.emitOpError("is not arithmetic, nor reads device memory, as "
                               "all has to in the `places` of a copy");
  }
  return success();
}

LogicalResult CopyOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  auto target = cast<MemRefType>(getTarget().getType());
  if (llvm::any_of(getTile(), [](int64_t extent) { return extent < 1; })) // C2
    return emitOpError("expects positive tile extents, got ")
           << shapeText(getTile());
  if (isGather() && failed(verifyGather(*this))) // C9
    return failure();
  if ((!isGather() &&
       failed(verifyCopySide(*this, getSource(), getSourceOffsets().size(),
                             "source"))) ||
      failed(verifyCopySide(*this, getTarget(), getTargetOffsets().size(),
                            "target")))
    return failure();
  int64_t rank = getTile().size();
  bool isWhole = rank <= source.getRank() && rank <= target.getRank();
  bool isInFragments = getSpace(source) == Space::Fragment &&
                       getSpace(target) == Space::Fragment;
  if (!isGather() && !isWhole &&
      (isInFragments ||
       rank > std::max(source.getRank(), target.getRank()))) // C2
    return emitOpError("expects ")
           << (isInFragments ? "both fragments" : "one side")
           << " to have all of the tile's " << rank << " dimensions";
  if (getBarrier()) { // C4
    if (!getAsync() || !getBulk() || getSpace(source) != Space::Global ||
        getSpace(target) != Space::Shared ||
        source.getElementType() != target.getElementType())
      return emitOpError(
          "with a barrier expects `async bulk`, a source in device "
          "memory and a target in workgroup memory of the same "
          "element type");
    if (!getBarrierIndex())
      return emitOpError("expects an index with its barrier");
  }
  if (!isNumber(source.getElementType()) ||
      !isNumber(target.getElementType())) // C5
    return emitOpError("expects numbers as elements, got `")
           << source.getElementType() << "` and `" << target.getElementType()
           << "`";
  bool isHeld = source.getElementType() == target.getElementType();
  bool isLoad = isHeld && getSpace(source) == Space::Global &&
                getSpace(target) == Space::Shared;
  bool isStore = isHeld && getSpace(source) == Space::Shared &&
                 getSpace(target) == Space::Global;
  if (getAccumulate() &&
      (!getBulk() || !isStore || !canAccumulate(target.getElementType()))) // C6
    return emitOpError(
        "with `accumulate` expects `bulk`, a source in workgroup "
        "memory and a target in device memory, both of f32, "
        "f16, bf16 or i32");
  if (getMulticast() && !isLoad) // C7
    return emitOpError("with `multicast` expects a source in device memory and "
                       "a target in workgroup memory of the same element type");
  if (getRoundTF32() &&
      (!getBulk() || !isLoad || !target.getElementType().isF32())) // C8
    return emitOpError("with `round_tf32` expects `bulk`, a source in device "
                       "memory and a target in workgroup memory, both of f32");
  return runsAhead(*this) ? verifyAhead(*this) : success();
}

LogicalResult FillOp::verify() {
  auto type = cast<MemRefType>(getTarget().getType());
  if (!isOnChip(type)) // C1
    return emitOpError("expects an on-chip buffer, got `") << type << "`";
  return success();
}

//===----------------------------------------------------------------------===//
// GemmOp, ReduceOp
//===----------------------------------------------------------------------===//

int64_t GemmOp::getM() {
  return cast<MemRefType>(getAcc().getType()).getDimSize(0);
}
int64_t GemmOp::getN() {
  return cast<MemRefType>(getAcc().getType()).getDimSize(1);
}
int64_t GemmOp::getK() {
  if (std::optional<int64_t> depth = getDepth())
    return *depth;
  return cast<MemRefType>(getA().getType()).getDimSize(getTransposeA() ? 0 : 1);
}

std::array<int64_t, 2> GemmOp::getPlace(bool ofB) {
  std::optional<ArrayRef<int64_t>> at = ofB ? getBAt() : getAAt();
  return at ? std::array{(*at)[0], (*at)[1]} : std::array<int64_t, 2>{0, 0};
}

std::array<int64_t, 2> GemmOp::getOperandShape(bool ofB) {
  bool isKFirst = ofB ? !getTransposeB() : getTransposeA();
  int64_t mn = ofB ? getN() : getM();
  return isKFirst ? std::array{getK(), mn} : std::array{mn, getK()};
}

MemRefType GemmOp::getOperandType(bool ofB) {
  auto tile = cast<MemRefType>((ofB ? getB() : getA()).getType());
  return MemRefType::get(getOperandShape(ofB), tile.getElementType(),
                         MemRefLayoutAttrInterface(), tile.getMemorySpace());
}

void GemmOp::setOperand(bool ofB, Value tile) {
  (ofB ? getBMutable() : getAMutable()).set(tile);
  if (ofB)
    removeBAtAttr();
  else
    removeAAtAttr();
  if (!hasWindow(!ofB))
    removeDepthAttr();
}

/// Windows of operands (C6).
static LogicalResult verifyWindows(GemmOp gemm) {
  bool hasWindow = gemm.getAAt() || gemm.getBAt();
  if (hasWindow != gemm.getDepth().has_value())
    return gemm.emitOpError(hasWindow ? "expects a depth beside a window"
                                      : "expects a depth beside windows only");
  if (!hasWindow)
    return success();
  if (*gemm.getDepth() < 1)
    return gemm.emitOpError("expects a positive depth, got ")
           << *gemm.getDepth();
  for (bool ofB : {false, true}) {
    std::optional<ArrayRef<int64_t>> at = ofB ? gemm.getBAt() : gemm.getAAt();
    if (!at)
      continue;
    StringRef name = ofB ? "B" : "A";
    auto tile = cast<MemRefType>((ofB ? gemm.getB() : gemm.getA()).getType());
    if (getSpace(tile) != Space::Shared)
      return gemm.emitOpError("expects a window of a tile in workgroup memory, "
                              "and ")
             << name << " is `" << tile << "`";
    if (at->size() != 2)
      return gemm.emitOpError("expects a window at a row and a column, got ")
             << at->size() << " numbers for " << name;
    std::array<int64_t, 2> shape = gemm.getOperandShape(ofB);
    for (auto [first, extent, size] : llvm::zip(*at, shape, tile.getShape()))
      if (first < 0 || first > size - extent)
        return gemm.emitOpError("expects a window inside of its tile, got ")
               << shapeText(shape) << " at (" << (*at)[0] << ", " << (*at)[1]
               << ") of " << shapeText(tile.getShape()) << " for " << name;
  }
  return success();
}

LogicalResult GemmOp::verify() {
  auto a = cast<MemRefType>(getA().getType());
  auto b = cast<MemRefType>(getB().getType());
  auto acc = cast<MemRefType>(getAcc().getType());
  if (a.getRank() != 2 || b.getRank() != 2 || acc.getRank() != 2) // C1
    return emitOpError("expects tiles of rank 2, got `")
           << a << "`, `" << b << "` and `" << acc << "`";
  if (failed(verifyWindows(*this))) // C6
    return failure();
  // A window has the shape that the others leave to it.
  auto shapeOf = [&](bool ofB) {
    return hasWindow(ofB) ? llvm::to_vector_of<int64_t>(getOperandShape(ofB))
                          : SmallVector<int64_t>((ofB ? b : a).getShape());
  };
  SmallVector<int64_t> left = shapeOf(false), right = shapeOf(true);
  int64_t m = left[getTransposeA() ? 1 : 0];
  int64_t ka = left[getTransposeA() ? 0 : 1];
  int64_t kb = right[getTransposeB() ? 1 : 0];
  int64_t n = right[getTransposeB() ? 0 : 1];
  if (m != getM() || n != getN() || ka != kb) // C2
    return emitOpError("expects shapes M x K, K x N and M x N, got ")
           << shapeText({m, ka}) << ", " << shapeText({kb, n}) << " and "
           << shapeText(acc.getShape())
           << (getTransposeA() || getTransposeB() ? " (after transposition)"
                                                  : "");
  Type in = a.getElementType(), out = acc.getElementType();
  auto isSmallFloat = [](Type type) {
    return isa<Float8E4M3FNType, Float8E5M2Type>(type);
  };
  if (in != b.getElementType() &&
      !(isSmallFloat(in) && isSmallFloat(b.getElementType()))) // C3
    return emitOpError("expects operands of one element type, or of 8-bit "
                       "floats, got `")
           << in << "` and `" << b.getElementType() << "`";
  bool supported =
      ((in.isF16() || in.isBF16() || in.isF32() || isSmallFloat(in)) &&
       out.isF32()) ||
      (in.isF16() && out.isF16()) || (in.isInteger(8) && out.isInteger(32)) ||
      (in.isF64() && out.isF64());
  if (!supported) // C4
    return emitOpError("cannot multiply `")
           << in << "` into `" << out
           << "`: use f16, bf16, f32 or an 8-bit float with an f32 "
              "accumulator, "
              "f16 with f16, i8 with i32, or f64 with f64";
  bool hasPlaces =
      (getSpace(a) == Space::Shared || getSpace(a) == Space::Fragment) &&
      getSpace(b) == Space::Shared && getSpace(acc) == Space::Fragment;
  if (!hasPlaces) // C5
    return emitOpError("expects A in workgroup memory or a fragment, B in "
                       "workgroup memory and the accumulator in a fragment, "
                       "got `")
           << a << "`, `" << b << "` and `" << acc << "`";
  if (getA() == getAcc()) // C5
    return emitOpError("expects an accumulator that is not A as well");
  if ((getNarrowA() || getNarrowB()) && !in.isF32()) // C7
    return emitOpError("expects f32 of what is narrow, got `") << in << "`";
  return success();
}

LogicalResult ReduceOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  auto target = cast<MemRefType>(getTarget().getType());
  int64_t dim = getDim();
  if (dim < 0 || dim >= source.getRank()) // C1
    return emitOpError("expects a dimension below ")
           << source.getRank() << ", got " << dim;
  SmallVector<int64_t> expected(source.getShape());
  expected.erase(expected.begin() + dim);
  if (expected.empty() && target.getRank() == 1)
    expected.push_back(1);
  if (target.getShape() != ArrayRef(expected)) // C2
    return emitOpError("expects a target of ")
           << shapeText(expected) << ", got " << shapeText(target.getShape());
  Type element = source.getElementType();
  if (element != target.getElementType() ||
      !element.isSignlessIntOrFloat()) // C3
    return emitOpError("expects one element type, a float or an integer, got `")
           << element << "` and `" << target.getElementType() << "`";
  if (getSpace(source) != Space::Fragment ||
      getSpace(target) != Space::Fragment) // C4
    return emitOpError("expects fragments, got `")
           << source << "` and `" << target << "`";
  bool isUnsigned =
      getKind() == ReduceKind::UMax || getKind() == ReduceKind::UMin;
  if (isUnsigned ? !element.isInteger() : element.isInteger(1)) // C5
    return emitOpError("expects integers for `umax` and `umin`, and those for "
                       "`i1`, got `")
           << stringifyReduceKind(getKind()) << "` of `" << element << "`";
  return success();
}

//===----------------------------------------------------------------------===//
// ParallelOp
//===----------------------------------------------------------------------===//

void ParallelOp::build(OpBuilder &builder, OperationState &state,
                       ArrayRef<int64_t> extents, FragmentLayoutAttr layout) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.extents = builder.getDenseI64ArrayAttr(extents);
  properties.layout = layout;
  Region *body = state.addRegion();
  Block &block = body->emplaceBlock();
  for (size_t d = 0; d < extents.size(); ++d)
    block.addArgument(builder.getIndexType(), state.location);
  ensureTerminator(*body, builder, state.location);
}

ParseResult ParallelOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  SmallVector<OpAsmParser::Argument> indices;
  DenseI64ArrayAttr extents;
  if (parser.parseArgumentList(indices, AsmParser::Delimiter::Paren) ||
      parser.parseKeyword("in") || parseExtents(parser, extents))
    return failure();
  result.addAttribute("extents", extents);
  if (succeeded(parser.parseOptionalKeyword("layout"))) {
    FragmentLayoutAttr layout;
    if (parser.parseLParen() ||
        parser.parseAttribute(layout, "layout", result.attributes) ||
        parser.parseRParen())
      return failure();
  }
  for (OpAsmParser::Argument &index : indices)
    index.type = builder.getIndexType();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*result.addRegion(), indices))
    return failure();
  ensureTerminator(*result.regions.front(), builder, result.location);
  return success();
}

void ParallelOp::print(OpAsmPrinter &printer) {
  printer << " (";
  printer.printOperands(getBody().getArguments());
  printer << ") in ";
  printExtents(printer, *this, getExtentsAttr());
  if (FragmentLayoutAttr layout = getLayoutAttr())
    printer << " layout(" << layout << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {"extents", "layout"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/false);
}

LogicalResult ParallelOp::verify() {
  if (getExtents().empty() || llvm::any_of(getExtents(), [](int64_t extent) {
        return extent < 1;
      })) // C1
    return emitOpError("expects positive extents, got ")
           << shapeText(getExtents());
  if (getBody().getNumArguments() != getExtents().size() ||
      !llvm::all_of(getBody().getArgumentTypes(),
                    [](Type type) { return type.isIndex(); })) // C2
    return emitOpError("expects one `index` argument for each of ")
           << getExtents().size() << " extents, got ("
           << getBody().getArgumentTypes() << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// PipelinedOp
//===----------------------------------------------------------------------===//

ParseResult PipelinedOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  Type indexType = builder.getIndexType();
  OpAsmParser::Argument index;
  OpAsmParser::UnresolvedOperand lower, upper;
  int64_t stages;
  if (parser.parseArgument(index) || parser.parseEqual() ||
      parser.parseOperand(lower) || parser.parseKeyword("to") ||
      parser.parseOperand(upper) || parser.parseKeyword("stages") ||
      parser.parseLParen() || parser.parseInteger(stages) ||
      parser.parseRParen() ||
      parser.resolveOperands({lower, upper}, indexType, result.operands))
    return failure();
  index.type = indexType;
  result.addAttribute("stages", builder.getI64IntegerAttr(stages));
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*result.addRegion(), index))
    return failure();
  ensureTerminator(*result.regions.front(), builder, result.location);
  return success();
}

void PipelinedOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getBody().getArgument(0) << " = " << getLower() << " to "
          << getUpper() << " stages(" << getStages() << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"stages"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/false);
}

/// Checks what `tl.engine` asks of the loop (Pipes.h).
static LogicalResult verifyEngine(PipelinedOp op) {
  Attribute name = op->getAttr(kEngineAttr);
  if (!name)
    return success();
  if (!getEngine(op))
    return op.emitOpError("expects `tl.engine` to be \"bulk\" or \"groups\", "
                          "got ")
           << name;
  if (op.getStages() < 2)
    return op.emitOpError("has an engine and expects two stages at least, got ")
           << op.getStages();
  if (llvm::none_of(op.getBody().getOps<CopyOp>(), runsAhead))
    return op.emitOpError("has an engine, and expects a copy that runs ahead");
  return success();
}

LogicalResult PipelinedOp::verify() {
  int64_t stages = getStages();
  if (stages < 1) // C1
    return emitOpError("expects at least one stage, got ") << stages;
  if (getBody().getNumArguments() != 1 ||
      !getBody().getArgument(0).getType().isIndex()) // C2
    return emitOpError("expects one argument of type `index`, got (")
           << getBody().getArgumentTypes() << ")";
  return verifyEngine(*this);
}

SmallVector<Region *> PipelinedOp::getLoopRegions() { return {&getBody()}; }

//===----------------------------------------------------------------------===//
// Thread level
//===----------------------------------------------------------------------===//

/// True if `element` can accumulate products of `kind`.
static bool accumulates(MmaKind kind, Type element) {
  switch (kind) {
  case MmaKind::F16:
  case MmaKind::E4M3:
  case MmaKind::E5M2:
    return element.isF32() || element.isF16();
  case MmaKind::BF16:
  case MmaKind::TF32:
    return element.isF32();
  case MmaKind::S8:
  case MmaKind::U8:
    return element.isInteger(32);
  }
  llvm_unreachable("all kinds are handled");
}

/// Fails if no instruction multiplies elements of `kind` by those of `by`.
static LogicalResult verifyKinds(Operation *op, MmaKind kind,
                                 std::optional<MmaKind> by) {
  auto isSmallFloat = [](MmaKind kind) {
    return kind == MmaKind::E4M3 || kind == MmaKind::E5M2;
  };
  auto isInteger = [](MmaKind kind) {
    return kind == MmaKind::S8 || kind == MmaKind::U8;
  };
  if (!by || (kind != *by && ((isSmallFloat(kind) && isSmallFloat(*by)) ||
                              (isInteger(kind) && isInteger(*by)))))
    return success();
  return op->emitOpError("cannot multiply `")
         << stringifyMmaKind(kind) << "` by `" << stringifyMmaKind(*by)
         << "`: `by` names the other one of two 8-bit floats or two 8-bit "
            "integers";
}

LogicalResult MmaOp::verify() {
  Type element = cast<VectorType>(getC().getType()).getElementType();
  if (!accumulates(getKind(), element)) // C2
    return emitOpError("cannot accumulate `")
           << stringifyMmaKind(getKind()) << "` products in `" << element
           << "`";
  return verifyKinds(*this, getKind(), getBy()); // C3
}

LogicalResult WgmmaOp::verify() {
  size_t count = getAccOffsets().size();
  if (count == 0 || getAOffsets().size() != count ||
      getBOffsets().size() != count) // C1
    return emitOpError("expects one accumulator, A and B offset for each "
                       "instruction, got ")
           << count << ", " << getAOffsets().size() << " and "
           << getBOffsets().size();
  int64_t n = getN();
  if (n < 8 || n > 256 || n % 8 != 0) // C2
    return emitOpError("expects n to be a multiple of 8 from 8 to 256, got ")
           << n;
  bool isInteger = getKind() == MmaKind::S8 || getKind() == MmaKind::U8;
  if (isInteger && n > 32 && n % 16 != 0) // C2
    return emitOpError("expects n above 32 to be a multiple of 16 for `")
           << stringifyMmaKind(getKind()) << "`, got " << n;
  auto acc = cast<VectorType>(getAcc().getType());
  if (acc.getRank() != 1)
    return emitOpError("expects a one-dimensional accumulator, got `")
           << acc << "`";
  for (int64_t offset : getAccOffsets())
    if (offset < 0 || offset + n / 2 > acc.getNumElements()) // C3
      return emitOpError("uses ")
             << n / 2 << " accumulator elements from " << offset
             << ", but there are " << acc.getNumElements();
  if (!accumulates(getKind(), acc.getElementType())) // C4
    return emitOpError("cannot accumulate `")
           << stringifyMmaKind(getKind()) << "` products in `"
           << acc.getElementType() << "`";
  bool wide = getKind() != MmaKind::F16 && getKind() != MmaKind::BF16;
  if (wide && (getAMNMajor() || getBMNMajor())) // C5
    return emitOpError("can read MN-major operands only of 16-bit types; store "
                       "`")
           << stringifyMmaKind(getKind()) << "` tiles K-major";
  if (failed(verifyKinds(*this, getKind(), getBy()))) // C6
    return failure();
  if (!hasRegisterA())
    return success();
  if (getAMNMajor()) // C5
    return emitOpError("has A in registers, where it is not MN-major");
  int64_t numRegisters = cast<VectorType>(getA().getType()).getNumElements();
  for (int64_t offset : getAOffsets())
    if (offset < 0 || offset + 4 > numRegisters) // C7
      return emitOpError("uses 4 registers of A from ")
             << offset << ", but there are " << numRegisters;
  return success();
}

//===----------------------------------------------------------------------===//
// CudaUnitOp, CudaEntryOp
//===----------------------------------------------------------------------===//

LogicalResult CudaUnitOp::verify() {
  if (getText().empty()) // C1
    return emitOpError("`") << getName() << "` expects text that is not empty";
  // Compilers are given them as files.
  if (!isPlainPath(getName()))
    return emitOpError(
               "expects a name that leads below the unit's folder, got `")
           << showText(getName()) << "`";
  bool hasOptions =
      getPrelude() || getFlags() || getHeaders() || getIncludePaths();
  if (getLanguage() != SourceLanguage::Cuda && hasOptions) // C2
    return emitOpError("`")
           << getName() << "` is " << stringifySourceLanguage(getLanguage())
           << ", and prelude, flags, headers and include paths are for CUDA "
              "C++ only";
  if (std::optional<DictionaryAttr> headers = getHeaders())
    for (NamedAttribute header : *headers) // C3
      if (!isa<StringAttr>(header.getValue()))
        return emitOpError("expects the text of header `")
               << header.getName().getValue() << "`, got " << header.getValue();
      else if (!isPlainPath(header.getName()))
        return emitOpError(
                   "expects headers that lie below the unit's folder, got `")
               << showText(header.getName()) << "`";
  return success();
}

LogicalResult CudaEntryOp::verify() {
  if (getEntryExpression().empty()) // C1
    return emitOpError("expects an entry name that is not empty");
  return verifyBlock(*this, getBlock()); // C2
}
