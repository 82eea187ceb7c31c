//===- Mutator.cpp - Kernels that differ in one thing ---------------------===//

#include "Mutator.h"

using namespace mlir;
using namespace tl::test;

/// The values of a kernel: results and arguments of blocks.
static SmallVector<Value> collectValues(ArrayRef<Operation *> ops) {
  SmallVector<Value> values;
  for (Operation *op : ops) {
    llvm::append_range(values, op->getResults());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::append_range(values, block.getArguments());
  }
  return values;
}

Mutator::Mutator(ModuleOp corpus, uint64_t seed) : random(seed) {
  SmallVector<Operation *> ops;
  for (auto kernel : corpus.getOps<gpu::GPUModuleOp>())
    kernel->walk<WalkOrder::PreOrder>([&](Operation *op) {
      ops.push_back(op);
      for (NamedAttribute attribute : op->getAttrDictionary())
        attributes[{op->getName().getIdentifier(), attribute.getName()}].insert(
            attribute.getValue());
    });
  for (Value value : collectValues(ops))
    types.insert(value.getType());
}

StringRef Mutator::mutate(gpu::GPUModuleOp kernel) {
  using Change = bool (Mutator::*)(const Ops &);
  static constexpr std::pair<StringLiteral, Change> changes[] = {
      {"attribute", &Mutator::changeAttribute},
      {"new attribute", &Mutator::addAttribute},
      {"type", &Mutator::changeType},
      {"order of operands", &Mutator::swapOperands},
      {"operand", &Mutator::changeOperand},
      {"name of op", &Mutator::changeOpName},
      {"missing op", &Mutator::eraseOp},
      {"repeated op", &Mutator::repeatOp},
      {"order of ops", &Mutator::moveOp}};
  Ops ops;
  kernel->walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  auto [name, change] = changes[draw(std::size(changes))];
  // What was drawn may not apply to the op that was drawn for it.
  for (unsigned tries = 0; tries < 10; ++tries)
    if ((this->*change)(ops))
      return name;
  return "";
}

//===----------------------------------------------------------------------===//
// Attributes and types
//===----------------------------------------------------------------------===//

/// Another attribute of its kind, or null.
static Attribute getNeighbour(Attribute attribute) {
  if (auto truth = dyn_cast<BoolAttr>(attribute))
    return BoolAttr::get(truth.getContext(), !truth.getValue());
  if (auto number = dyn_cast<IntegerAttr>(attribute))
    return IntegerAttr::get(number.getType(), number.getValue() + 1);
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return FloatAttr::get(number.getType(), number.getValueAsDouble() * 2 + 1);
  if (auto text = dyn_cast<StringAttr>(attribute))
    return StringAttr::get(text.getContext(), text.getValue() + "x");
  return nullptr;
}

/// Another value for an attribute that an op has: a neighbour, or one that such
/// ops have elsewhere. Null if there is none.
Attribute Mutator::drawAnother(Operation *op, NamedAttribute given) {
  const auto &known =
      attributes[{op->getName().getIdentifier(), given.getName()}];
  Attribute other = known.empty() || draw(2) ? getNeighbour(given.getValue())
                                             : pick(known.getArrayRef());
  return other == given.getValue() ? nullptr : other;
}

bool Mutator::changeAttribute(const Ops &ops) {
  Operation *op = pick(ops);
  DictionaryAttr given = op->getAttrDictionary();
  if (given.empty())
    return false;
  NamedAttribute attribute = pick(given.getValue());
  Attribute other = drawAnother(op, attribute);
  if (!other)
    return false;
  op->setAttr(attribute.getName(), other);
  // Properties do not take what is of another kind.
  if (op->getAttr(attribute.getName()) == other)
    return true;
  op->setAttr(attribute.getName(), attribute.getValue());
  return false;
}

bool Mutator::addAttribute(const Ops &ops) {
  Operation *op = pick(ops);
  op->setAttr("test.note",
              IntegerAttr::get(IndexType::get(op->getContext()), draw(1000)));
  return true;
}

bool Mutator::changeType(const Ops &ops) {
  Value value = pick(collectValues(ops));
  Type other = pick(types);
  if (other == value.getType())
    return false;
  value.setType(other);
  return true;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

bool Mutator::swapOperands(const Ops &ops) {
  Operation *op = pick(ops);
  if (op->getNumOperands() < 2)
    return false;
  unsigned first = draw(op->getNumOperands()),
           second = draw(op->getNumOperands());
  Value one = op->getOperand(first), other = op->getOperand(second);
  op->setOperand(first, other);
  op->setOperand(second, one);
  return one != other;
}

bool Mutator::changeOperand(const Ops &ops) {
  Operation *op = pick(ops);
  if (op->getNumOperands() == 0)
    return false;
  OpOperand &operand = op->getOpOperand(draw(op->getNumOperands()));
  Value other = pick(collectValues(ops));
  // What is not in scope has no number: such IR cannot be written down.
  if (other == operand.get() ||
      !other.getParentRegion()->isAncestor(op->getParentRegion()))
    return false;
  operand.set(other);
  return true;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// True for what a module cannot do without.
static bool isStructure(Operation *op) {
  return isa<gpu::GPUModuleOp, gpu::GPUFuncOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

bool Mutator::changeOpName(const Ops &ops) {
  static constexpr StringLiteral names[] = {
      "arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.maximumf"};
  Operation *op = pick(ops);
  StringRef given = op->getName().getStringRef(), other = pick(names);
  if (!llvm::is_contained(names, given) || given == other)
    return false;
  OperationState state(op->getLoc(), other, op->getOperands(),
                       op->getResultTypes(),
                       op->getDiscardableAttrDictionary().getValue());
  OpBuilder builder(op);
  op->replaceAllUsesWith(builder.create(state));
  op->erase();
  return true;
}

bool Mutator::eraseOp(const Ops &ops) {
  Operation *op = pick(ops);
  if (isStructure(op) || !op->use_empty())
    return false;
  op->erase();
  return true;
}

bool Mutator::repeatOp(const Ops &ops) {
  Operation *op = pick(ops);
  if (isStructure(op))
    return false;
  OpBuilder builder(op);
  builder.clone(*op);
  return true;
}

bool Mutator::moveOp(const Ops &ops) {
  Operation *op = pick(ops);
  if (isStructure(op) || !op->getPrevNode())
    return false;
  op->moveBefore(op->getPrevNode());
  return true;
}
