//===- SplitHostDevice.cpp - Turn entry functions into launch plans -------===//
//
// A host function is a list of launches between index arithmetic. The plan says
// the same as data, in the structure of docs/LaunchPlan.md: the runtime needs
// no compiler, and what a kernel's lowering decided (parameters, shared memory)
// meets here what the host function decided (grid, arguments).
//
//===----------------------------------------------------------------------===//

#include "Record.h"

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tl {
#define GEN_PASS_DEF_SPLITHOSTDEVICEPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// The plan's name of an element type; `dtype` is what the front end said where
/// the type alone does not tell (u8, tf32).
static std::string getDtype(Type type, Attribute dtype) {
  if (auto name = dyn_cast_or_null<StringAttr>(dtype))
    return name.str();
  if (isa<Float8E4M3FNType>(type))
    return "f8e4m3";
  if (isa<Float8E5M2Type>(type))
    return "f8e5m2";
  if (type.isIndex())
    return "i64";
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

namespace {

/// Makes the plan of one entry function.
class PlanBuilder {
public:
  explicit PlanBuilder(func::FuncOp function)
      : function(function), b(function.getContext()) {}

  FailureOr<DictionaryAttr> build() {
    SmallVector<Attribute> arguments, launches;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      arguments.push_back(describeArgument(i));
    for (Operation &op : function.getBody().front().without_terminator()) {
      if (auto launch = dyn_cast<LaunchOp>(op)) {
        FailureOr<Attribute> described = describeLaunch(launch);
        if (failed(described))
          return failure();
        launches.push_back(*described);
      } else if (failed(noteExpression(&op))) {
        return failure();
      }
    }
    return dictionary({{"version", integer(1)},
                       {"name", b.getStringAttr(function.getName())},
                       {"args", b.getArrayAttr(arguments)},
                       {"launches", b.getArrayAttr(launches)}});
  }

private:
  Attribute integer(int64_t value) { return b.getI64IntegerAttr(value); }

  DictionaryAttr dictionary(ArrayRef<std::pair<StringRef, Attribute>> entries) {
    SmallVector<NamedAttribute> named;
    for (auto [name, value] : entries)
      named.push_back(b.getNamedAttr(name, value));
    return b.getDictionaryAttr(named);
  }

  Attribute call(StringRef name, ArrayRef<Attribute> operands) {
    SmallVector<Attribute> list = {b.getStringAttr(name)};
    llvm::append_range(list, operands);
    return b.getArrayAttr(list);
  }

  //===--------------------------------------------------------------------===//
  // Arguments
  //===--------------------------------------------------------------------===//

  /// One entry for each dimension: its constant, its symbol, or null.
  Attribute describeDims(ArrayRef<int64_t> sizes, ArrayAttr names) {
    SmallVector<Attribute> dims;
    for (auto [i, size] : llvm::enumerate(sizes)) {
      auto name = names && i < names.size() ? dyn_cast<StringAttr>(names[i])
                                            : StringAttr();
      if (!ShapedType::isDynamic(size))
        dims.push_back(integer(size));
      else if (name && !name.empty())
        dims.push_back(name);
      else
        dims.push_back(b.getUnitAttr());
    }
    return b.getArrayAttr(dims);
  }

  Attribute describeArgument(unsigned i) {
    BlockArgument argument = function.getArgument(i);
    Type type = argument.getType();
    auto name = function.getArgAttrOfType<StringAttr>(i, kNameAttr);
    if (!name)
      name = b.getStringAttr("arg" + Twine(i));
    Attribute dtype = function.getArgAttr(i, kDtypeAttr);
    auto buffer = dyn_cast<MemRefType>(type);
    if (!buffer)
      return dictionary({{"kind", b.getStringAttr("scalar")},
                         {"name", name},
                         {"dtype", b.getStringAttr(getDtype(type, dtype))}});

    SmallVector<int64_t> strides;
    int64_t offset;
    (void)buffer.getStridesAndOffset(strides, offset);
    auto shapeNames = function.getArgAttrOfType<ArrayAttr>(i, kShapeAttr);
    auto strideNames = function.getArgAttrOfType<ArrayAttr>(i, kStridesAttr);
    int64_t natural = llvm::divideCeil(buffer.getElementTypeBitWidth(), 8);
    auto align = function.getArgAttrOfType<IntegerAttr>(i, kAlignAttr);
    Type element = buffer.getElementType();
    NamedAttrList described(dictionary(
        {{"kind", b.getStringAttr("tensor")},
         {"name", name},
         {"dtype", b.getStringAttr(getDtype(element, dtype))},
         {"shape", describeDims(buffer.getShape(), nameDims(i, shapeNames))},
         {"strides", buffer.getLayout().isIdentity()
                         ? Attribute(b.getUnitAttr())
                         : describeDims(strides, strideNames)},
         {"align", integer(align ? align.getInt() : natural)}}));
    if (function.getArgAttr(i, kRecordAttr))
      described.set("record", b.getBoolAttr(true));
    return described.getDictionary(b.getContext());
  }

  /// A dynamic dimension without a symbol gets one of its own.
  ArrayAttr nameDims(unsigned i, ArrayAttr names) {
    auto buffer = cast<MemRefType>(function.getArgument(i).getType());
    SmallVector<Attribute> result;
    for (int64_t d = 0; d < buffer.getRank(); ++d) {
      auto name = names && d < static_cast<int64_t>(names.size())
                      ? dyn_cast<StringAttr>(names[d])
                      : StringAttr();
      bool missing = buffer.isDynamicDim(d) && (!name || name.empty());
      result.push_back(
          missing ? b.getStringAttr("arg" + Twine(i) + "_dim" + Twine(d))
          : name  ? name
                  : b.getStringAttr(""));
    }
    return b.getArrayAttr(result);
  }

  //===--------------------------------------------------------------------===//
  // Expressions
  //===--------------------------------------------------------------------===//

  /// The plan's operator for an op of host arithmetic, or empty.
  static StringRef getOperator(Operation *op) {
    return llvm::TypeSwitch<Operation *, StringRef>(op)
        .Case<arith::AddIOp>([](auto) { return "+"; })
        .Case<arith::SubIOp>([](auto) { return "-"; })
        .Case<arith::MulIOp>([](auto) { return "*"; })
        // The plan's division rounds down, `arith.divsi` towards zero.
        .Case<arith::FloorDivSIOp, arith::DivUIOp>(
            [](auto) { return "floordiv"; })
        .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>(
            [](auto) { return "ceildiv"; })
        .Case<arith::RemUIOp>([](auto) { return "mod"; })
        .Case<arith::MinSIOp>([](auto) { return "min"; })
        .Case<arith::MaxSIOp>([](auto) { return "max"; })
        .Default([](Operation *) { return ""; });
  }

  /// Remembers what `op` computes. Fails, after an error, for anything that is
  /// not arithmetic on extents and scalars.
  LogicalResult noteExpression(Operation *op) {
    APInt constant;
    if (op->getNumResults() == 1 &&
        matchPattern(op->getResult(0), m_ConstantInt(&constant))) {
      expressions[op->getResult(0)] = integer(constant.getSExtValue());
      return success();
    }
    FloatAttr real;
    if (op->getNumResults() == 1 &&
        matchPattern(op->getResult(0), m_Constant(&real))) {
      // The bits, which the parameter's bytes are.
      APInt bits = real.getValue().bitcastToAPInt();
      expressions[op->getResult(0)] = integer(bits.getSExtValue());
      return success();
    }
    if (op->hasTrait<OpTrait::ConstantLike>())
      return success();
    if (auto dim = dyn_cast<memref::DimOp>(op)) {
      auto argument = dyn_cast<BlockArgument>(dim.getSource());
      std::optional<int64_t> index = dim.getConstantIndex();
      if (argument && index) {
        expressions[dim.getResult()] =
            call("dim", {integer(argument.getArgNumber()), integer(*index)});
        return success();
      }
    }
    if (auto metadata = dyn_cast<memref::ExtractStridedMetadataOp>(op))
      if (auto argument = dyn_cast<BlockArgument>(metadata.getSource())) {
        noteMeasures("dim", argument, metadata.getSizes());
        noteMeasures("stride", argument, metadata.getStrides());
        return success();
      }
    if (isa<arith::IndexCastOp, arith::ExtSIOp>(op)) {
      if (Attribute value = getExpression(op->getOperand(0))) {
        expressions[op->getResult(0)] = value;
        return success();
      }
    }
    if (StringRef name = getOperator(op); !name.empty()) {
      Attribute x = getExpression(op->getOperand(0));
      Attribute y = getExpression(op->getOperand(1));
      if (x && y) {
        expressions[op->getResult(0)] = call(name, {x, y});
        return success();
      }
    }
    return op->emitOpError("cannot be part of a launch plan: host functions "
                           "hold launches and integer arithmetic on extents "
                           "and scalar arguments");
  }

  /// Remembers the extents or strides of an argument.
  void noteMeasures(StringRef name, BlockArgument argument, ValueRange values) {
    for (auto [i, value] : llvm::enumerate(values))
      expressions[value] =
          call(name, {integer(argument.getArgNumber()), integer(i)});
  }

  /// The plan's expression for an integer, or null.
  Attribute getExpression(Value value) {
    if (Attribute known = expressions.lookup(value))
      return known;
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getType().isIntOrIndex())
      return call("scalar", {integer(argument.getArgNumber())});
    return nullptr;
  }

  //===--------------------------------------------------------------------===//
  // Launches
  //===--------------------------------------------------------------------===//

  Attribute describeExtents(ArrayRef<int64_t> extents) {
    SmallVector<Attribute> list;
    for (size_t d = 0; d < 3; ++d)
      list.push_back(integer(d < extents.size() ? extents[d] : 1));
    return b.getArrayAttr(list);
  }

  /// The members of a struct, each with its place.
  FailureOr<Attribute> describeStruct(LaunchOp launch, ParamAttr param) {
    ParamLayout layout = ParamLayout::of(param);
    SmallVector<Attribute> members;
    for (auto [member, offset] : llvm::zip(
             param.getMembers().getAsRange<ParamAttr>(), layout.offsets)) {
      FailureOr<Attribute> described = describeParameter(launch, member);
      if (failed(described))
        return failure();
      NamedAttrList entries(cast<DictionaryAttr>(*described));
      entries.set("at", integer(offset));
      entries.set("bytes", integer(ParamLayout::of(member).size));
      members.push_back(entries.getDictionary(b.getContext()));
    }
    Attribute contents = dictionary(
        {{"members", b.getArrayAttr(members)}, {"size", integer(layout.size)}});
    return Attribute(dictionary({{"struct", contents}}));
  }

  /// True if the launch can make the parameter of what it passes. The kernel
  /// may have been compiled for another launch.
  static bool canMake(LaunchOp launch, ParamAttr param) {
    if (param.getKind() == ParamKind::Struct)
      return param.getMembers() &&
             llvm::all_of(param.getMembers(), [&](Attribute attribute) {
               auto member = dyn_cast<ParamAttr>(attribute);
               return member && member.getKind() != ParamKind::Struct &&
                      canMake(launch, member);
             });
    int64_t operand = param.getOperand();
    if (operand < 0 || operand >= static_cast<int64_t>(launch.getArgs().size()))
      return false;
    auto buffer = dyn_cast<MemRefType>(launch.getArgs()[operand].getType());
    switch (param.getKind()) {
    case ParamKind::Dim:
    case ParamKind::Stride:
      return buffer && param.getIndex() >= 0 &&
             param.getIndex() < buffer.getRank();
    case ParamKind::TensorMap:
      return buffer && param.getType() && param.getType().isIntOrFloat();
    case ParamKind::Scalar:
      return !buffer && param.getType();
    case ParamKind::Base:
    case ParamKind::Struct:
      break;
    }
    return bool(buffer);
  }

  FailureOr<Attribute> describeParameter(LaunchOp launch, ParamAttr param) {
    if (!canMake(launch, param))
      return launch.emitOpError("does not pass what the parameter ")
             << param << " of the kernel is made of";
    if (param.getKind() == ParamKind::Struct)
      return describeStruct(launch, param);
    Value value = launch.getArgs()[param.getOperand()];
    auto argument = dyn_cast<BlockArgument>(value);
    Attribute position =
        argument ? integer(argument.getArgNumber()) : Attribute();
    if (isa<MemRefType>(value.getType()) && !argument)
      return launch.emitOpError(
          "passes a buffer that is not an argument of the "
          "entry function");
    auto measure = [&](StringRef name) -> Attribute {
      return dictionary(
          {{"value", call(name, {position, integer(param.getIndex())})},
           {"type", b.getStringAttr("i64")}});
    };
    switch (param.getKind()) {
    case ParamKind::Base:
      return Attribute(dictionary({{"base", position}}));
    case ParamKind::Dim:
      return measure("dim");
    case ParamKind::Stride:
      return measure("stride");
    case ParamKind::TensorMap: {
      auto box = llvm::map_to_vector(
          param.getBox(), [&](int64_t extent) { return integer(extent); });
      Attribute map =
          dictionary({{"arg", position},
                      {"dtype", b.getStringAttr(getDtype(param.getType(), {}))},
                      {"box", b.getArrayAttr(box)},
                      {"swizzle", integer(param.getSwizzle())}});
      return Attribute(dictionary({{"tensor_map", map}}));
    }
    case ParamKind::Struct:
    case ParamKind::Scalar:
      break;
    }
    if (argument && !value.getType().isIndex())
      return Attribute(dictionary({{"scalar", position}}));
    Attribute expression = getExpression(value);
    if (!expression)
      return launch.emitOpError("passes a value that is neither an argument of "
                                "the entry function nor integer arithmetic on "
                                "its extents");
    // Constants of narrow types are the low bytes of a wider one.
    uint64_t size = ParamLayout::of(param).size;
    if (size < 4 && !isa<IntegerAttr>(expression))
      return launch.emitOpError("computes a parameter of type ")
             << param.getType() << "; use one of 32 or 64 bits";
    bool isWide = size > 4;
    return Attribute(
        dictionary({{"value", expression},
                    {"type", b.getStringAttr(isWide ? "i64" : "i32")}}));
  }

  /// The threads to launch: those that were chosen for the program, unless
  /// compilation has put further ones behind them.
  static ArrayRef<int64_t> getBlock(LaunchOp launch, CompiledKernelOp kernel) {
    bool hasMore = llvm::product_of(kernel.getBlock()) >
                   llvm::product_of(launch.getBlock());
    return hasMore ? kernel.getBlock() : launch.getBlock();
  }

  FailureOr<Attribute> describeLaunch(LaunchOp launch) {
    StringRef name = launch.getKernel().getLeafReference();
    auto kernel = dyn_cast_or_null<CompiledKernelOp>(
        SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernel()));
    if (!kernel)
      return launch.emitOpError("launches `")
             << name << "`, which has not been compiled";

    SmallVector<Attribute> parameters, grid;
    for (auto param : kernel.getParams().getAsRange<ParamAttr>()) {
      FailureOr<Attribute> described = describeParameter(launch, param);
      if (failed(described))
        return failure();
      parameters.push_back(*described);
    }
    for (Value extent : launch.getGrid())
      grid.push_back(getExpression(extent));
    grid.resize(3, integer(1));
    Attribute shared = integer(kernel.getShared());
    if (Value more = launch.getShared())
      shared = kernel.getShared() == 0
                   ? getExpression(more)
                   : call("+", {shared, getExpression(more)});
    SmallVector<std::pair<StringRef, Attribute>> members = {
        {"kernel", b.getStringAttr(name)},
        {"grid", b.getArrayAttr(grid)},
        {"block", describeExtents(getBlock(launch, kernel))},
        {"cluster",
         describeExtents(launch.getCluster().value_or(ArrayRef<int64_t>()))},
        {"shared", shared},
        {"cooperative", b.getBoolAttr(launch.getCooperative())},
        {"dependent", b.getBoolAttr(launch.getDependent())},
        {"params", b.getArrayAttr(parameters)}};
    if (StringAttr entry = kernel.getEntryAttr())
      members.push_back({"entry", entry});
    if (std::optional<ArrayAttr> symbols = kernel.getSymbols()) {
      FailureOr<Attribute> described = describeSymbols(launch, *symbols);
      if (failed(described))
        return failure();
      members.push_back({"symbols", *described});
    }
    return Attribute(dictionary(members));
  }

  /// The variables to set, and the arguments to set them from.
  FailureOr<Attribute> describeSymbols(LaunchOp launch, ArrayAttr symbols) {
    SmallVector<Attribute> list;
    for (auto [symbol, value] : llvm::zip(symbols, launch.getSymbolArgs())) {
      // No op of a launch plan makes a buffer.
      auto argument = cast<BlockArgument>(value);
      list.push_back(dictionary(
          {{"name", symbol}, {"arg", integer(argument.getArgNumber())}}));
    }
    return Attribute(b.getArrayAttr(list));
  }

  func::FuncOp function;

  Builder b;
  DenseMap<Value, Attribute> expressions;
};

struct SplitHostDevicePass
    : tl::impl::SplitHostDevicePassBase<SplitHostDevicePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();

    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (!function->hasAttr(kEntryAttr))
        continue;
      FailureOr<DictionaryAttr> plan = PlanBuilder(function).build();
      if (failed(plan))
        return signalPassFailure();
      OpBuilder builder(function);
      LaunchPlanOp::create(builder, function.getLoc(), function.getName(),
                           *plan);
      function.erase();
    }
  }
};

} // namespace
