//===- Variables.cpp - Where values are kept ------------------------------===//

#include "KernelPrinter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tl;
using namespace tl::cuda;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// The name that the source gave, if the location still has it.
static StringRef findName(Location location) {
  StringRef found;
  location->walk([&](Location part) {
    auto name = dyn_cast<NameLoc>(part);
    if (!name)
      return WalkResult::advance();
    found = name.getName();
    return WalkResult::interrupt();
  });
  return found;
}

/// The kernel's parameter that `pointer` points into, or null.
static BlockArgument findParameter(Value pointer) {
  while (auto address = pointer.getDefiningOp<LLVM::GEPOp>())
    pointer = address.getBase();
  auto argument = dyn_cast<BlockArgument>(pointer);
  return argument && isa<gpu::GPUFuncOp>(argument.getOwner()->getParentOp())
             ? argument
             : BlockArgument();
}

/// The last of the values that are made of `value` part by part, in its place.
static Value getWhole(Value value) {
  while (value.hasOneUse()) {
    OpOperand &use = *value.use_begin();
    auto insert = dyn_cast<vector::InsertStridedSliceOp>(use.getOwner());
    if (!insert || insert.getDest() != value)
      break;
    value = insert.getResult();
  }
  return value;
}

std::string KernelPrinter::getWish(Value value) {
  value = getWhole(value);
  if (StringRef name = findName(value.getLoc()); !name.empty())
    return name.str();
  Operation *op = value.getDefiningOp();
  if (!op)
    return "";
  if (auto load = dyn_cast<LLVM::LoadOp>(op))
    if (BlockArgument parameter = findParameter(load.getAddr()))
      return variables.lookup(parameter) + "_value";
  // A guarded load, say: the other branch gives what stands for nothing.
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    return getWish(branch.thenYield().getOperand(number));
  }
  return describeResult(cast<OpResult>(value));
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

std::string KernelPrinter::getDeclaredType(Value value) {
  if (isa<LLVM::LLVMPointerType>(value.getType()))
    return getPointee(value) + " *";
  return getValueType(value.getType()) + " ";
}

std::string KernelPrinter::bind(Value value) {
  std::string wish = getWish(value);
  std::string name = names.take(wish.empty() ? "carried" : wish);
  variables[value] = name;
  return name;
}

std::string KernelPrinter::declare(Operation *op, Value value) {
  std::string type = getDeclaredType(value);
  std::string name = bind(value);
  statement(op, type + name);
  return name;
}

void KernelPrinter::define(Value value, const Expression &text) {
  std::string type = getDeclaredType(value);
  // A vector's type is in the expression; a pointer's may be to constants.
  if (isa<VectorType, LLVM::LLVMPointerType, LLVM::LLVMStructType>(
          value.getType()) &&
      !StringRef(text.text).starts_with("{"))
    type = "auto ";
  std::string name = bind(value);
  statement(value.getDefiningOp(), type + name + " = " + text.text);
}

/// True for a vector of zeros.
static bool isZeroVector(Value value) {
  Attribute attribute;
  if (!isa<VectorType>(value.getType()) ||
      !matchPattern(value, m_Constant(&attribute)))
    return false;
  if (auto splat = dyn_cast<SplatElementsAttr>(attribute))
    attribute = splat.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return number.getValue().isPosZero();
  auto number = dyn_cast<IntegerAttr>(attribute);
  return number && number.getValue().isZero();
}

std::string KernelPrinter::getInitialiser(Value value) {
  return isZeroVector(value) ? "{}" : get(value).text;
}

void KernelPrinter::assign(Operation *at, StringRef variable, Value value) {
  Value source = lookThroughAliases(value);
  if (variables.lookup(source) == variable)
    return;
  statement(at, variable + " = " + getInitialiser(value));
}

/// True if `a` and `b` are on different sides of one `scf.if`.
static bool areExclusive(Operation *a, Operation *b) {
  for (Region *region = a->getParentRegion(); region;
       region = region->getParentRegion()) {
    auto branch = dyn_cast<scf::IfOp>(region->getParentOp());
    if (!branch || !branch->isProperAncestor(b))
      continue;
    return !region->isAncestor(b->getParentRegion());
  }
  return false;
}

bool KernelPrinter::diesAt(Operation *op, Value value) {
  // Not inside a loop that the value is from outside of: it is read again.
  Region *home = value.getParentRegion();
  for (Region *region = op->getParentRegion(); region != home;
       region = region->getParentRegion())
    if (!isa<scf::IfOp>(region->getParentOp()))
      return false;
  int uses = 0;
  for (Operation *user : value.getUsers()) {
    if (user == op)
      ++uses;
    else if (!areExclusive(op, user))
      return false;
  }
  return uses == 1;
}

std::string KernelPrinter::takeOver(Operation *op, Value value, Value result) {
  if (variables.contains(value) && diesAt(op, value)) {
    std::string name = variables.lookup(value);
    variables[result] = name;
    return name;
  }
  std::string type = getValueType(result.getType());
  std::string init = getInitialiser(value);
  std::string name = bind(result);
  statement(op, type + " " + name + " = " + init);
  return name;
}

//===----------------------------------------------------------------------===//
// Loops over elements
//===----------------------------------------------------------------------===//

void KernelPrinter::printLanes(Operation *op, StringRef variable) {
  Value result = op->getResult(0);
  int64_t count = cast<VectorType>(result.getType()).getNumElements();
  noteSource(op);
  if (count == 1) {
    line(variable + "[0] = " + print(op, 0, "0").text + ";");
    return;
  }
  NameAllocator::Scope scope(names);
  std::string i = names.take("i");
  line("#pragma unroll");
  line("for (int " + i + " = 0; " + i + " < " + Twine(count) + "; ++" + i +
       ")");
  line("  " + variable + "[" + i + "] = " + print(op, 0, i).text + ";");
}
