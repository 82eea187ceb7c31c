//===- MemoryOps.cpp - Pointers, loads and stores as C++ ------------------===//
//
// Pointers of the IR have no element type. In C++ a pointer has that of the
// address computation it comes from, a parameter that of its first use.
//
//===----------------------------------------------------------------------===//

#include "KernelPrinter.h"
#include "tl/Dialect/TL/IR/Addresses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tl;
using namespace tl::cuda;

static constexpr StringLiteral kByte = "unsigned char";

static std::string getElement(Type type) {
  if (isa<LLVM::LLVMPointerType>(type))
    return "void *";
  if (isa<FloatType, IntegerType, VectorType>(type))
    return getScalarType(type).str();
  return kByte.str();
}

/// What a parameter points to, judged by what is done with it.
static std::string guessPointee(Value pointer) {
  for (Operation *user : pointer.getUsers()) {
    if (auto address = dyn_cast<LLVM::GEPOp>(user))
      return getElement(address.getElemType());
    if (auto load = dyn_cast<LLVM::LoadOp>(user))
      return getElement(load.getType());
    if (auto atom = dyn_cast<AtomOp>(user))
      return getElement(atom.getOld().getType());
    if (auto store = dyn_cast<LLVM::StoreOp>(user))
      if (store.getAddr() == pointer)
        return getElement(store.getValue().getType());
  }
  return kByte.str();
}

/// True if the address is a pointer plus an index into scalars.
static bool isPlain(LLVM::GEPOp op) {
  return op.getIndices().size() == 1 &&
         isa<FloatType, IntegerType>(op.getElemType());
}

/// The type of the pointer that an address is computed with. Steps of bytes
/// may be steps over int8, or through memory of anything.
std::string KernelPrinter::getSteppedElement(LLVM::GEPOp op) {
  if (!isPlain(op))
    return kByte.str();
  if (op.getElemType().isInteger(8) && getPointee(op.getBase()) == kByte)
    return kByte.str();
  return getElement(op.getElemType());
}

std::string KernelPrinter::getPointee(Value pointer) {
  pointer = lookThroughAliases(pointer);
  if (auto argument = dyn_cast<BlockArgument>(pointer)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      return getPointee(loop.getTiedLoopInit(argument)->get());
    if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
      unsigned number = argument.getArgNumber();
      bool before = argument.getOwner() == loop.getBeforeBody();
      return getPointee(before ? loop.getInits()[number]
                               : loop.getConditionOp().getArgs()[number]);
    }
    return guessPointee(pointer);
  }
  auto result = cast<OpResult>(pointer);
  return TypeSwitch<Operation *, std::string>(result.getOwner())
      .Case([&](LLVM::GEPOp op) { return getSteppedElement(op); })
      .Case([&](LLVM::AllocaOp op) { return getElement(op.getElemType()); })
      .Case([&](LLVM::AddrSpaceCastOp op) { return getPointee(op.getArg()); })
      .Case([&](NVVM::MapaOp op) { return getPointee(op.getA()); })
      .Case([&](arith::SelectOp op) { return getPointee(op.getTrueValue()); })
      .Case([&](scf::ForOp op) {
        return getPointee(op.getInitArgs()[result.getResultNumber()]);
      })
      .Case([&](scf::WhileOp op) {
        return getPointee(op.getAfterArguments()[result.getResultNumber()]);
      })
      .Case([&](scf::IfOp op) {
        return getPointee(op.thenYield().getOperand(result.getResultNumber()));
      })
      .Default([](Operation *) { return kByte.str(); });
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// The type that index `level` steps over.
static Type getStepped(LLVM::GEPOp op, size_t level) {
  Type type = op.getElemType();
  for (size_t i = 0; i < level; ++i) {
    auto array = dyn_cast<LLVM::LLVMArrayType>(type);
    if (!array)
      return nullptr;
    type = array.getElementType();
  }
  return type;
}

Expression KernelPrinter::printAddress(LLVM::GEPOp op) {
  Expression base = get(op.getBase());
  bool plain = isPlain(op);
  std::string element = getSteppedElement(op);
  if (getPointee(op.getBase()) != element)
    base = cast((element + " *"), base);
  Expression result;
  result.text = base.at(Binding::Sum);
  result.binding = Binding::Sum;
  DataLayout layout = DataLayout::closest(op);
  for (auto [level, index] : llvm::enumerate(op.getIndices())) {
    Type stepped = getStepped(op, level == 0 ? 0 : level);
    if (!stepped) {
      fail(op) << "steps into a type that is no array";
      return result;
    }
    int64_t size = plain ? 1 : layout.getTypeSize(stepped);
    if (auto constant = dyn_cast<IntegerAttr>(index)) {
      if (int64_t offset = constant.getInt() * size) {
        if (offset < 0)
          result.text += " - " + std::to_string(-offset);
        else
          result.text += " + " + std::to_string(offset);
      }
      continue;
    }
    Value dynamic = cast<Value>(index);
    Expression offset = get(dynamic);
    if (getIntegerWidth(dynamic.getType()) < 64)
      offset = asSigned(offset, dynamic.getType());
    if (size != 1)
      result.text += " + (long long)" + offset.at(Binding::Unary) + " * " +
                     std::to_string(size);
    else
      result.text += " + " + offset.at(Binding::Product);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

static int64_t getBytes(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  int64_t bits = getIntegerWidth(getElementTypeOrSelf(type));
  return std::max<int64_t>(bits / 8, 1) *
         (vector ? vector.getNumElements() : 1);
}

static bool isIdentifierPart(char c) { return llvm::isAlnum(c) || c == '_'; }

/// Template arguments of an access: the type, and an alignment other than what
/// it implies.
static std::string getAccess(Type type, std::optional<uint64_t> alignment) {
  std::string text = getValueType(type);
  if (alignment && int64_t(*alignment) < getBytes(type) && *alignment < 16)
    text += ", " + std::to_string(*alignment);
  return "<" + text + ">";
}

/// `*pointer`, the variable that the address is of, or `base[offset]` for an
/// address that is written there.
static std::string subscript(const Expression &address, Value pointer,
                             bool folded) {
  StringRef variable = address.text;
  if (variable.consume_front("&") && llvm::all_of(variable, isIdentifierPart))
    return variable.str();
  pointer = lookThroughAliases(pointer);
  auto op = pointer.getDefiningOp<LLVM::GEPOp>();
  size_t plus = address.text.find(" + ");
  if (!op || !folded || op.getIndices().size() != 1 ||
      plus == std::string::npos || address.binding != Binding::Sum)
    return "*" + address.at(Binding::Unary);
  std::string base = address.text.substr(0, plus);
  std::string offset = address.text.substr(plus + 3);
  if (base.front() == '(' || base.front() == '&')
    base = "(" + base + ")";
  // The offset's own parentheses have done their work.
  if (offset.front() == '(' && offset.find(')') == offset.size() - 1)
    offset = offset.substr(1, offset.size() - 2);
  return base + "[" + offset + "]";
}

static bool isAtomic(LLVM::AtomicOrdering ordering) {
  return ordering != LLVM::AtomicOrdering::not_atomic;
}

static StringRef getOrder(LLVM::AtomicOrdering ordering) {
  switch (ordering) {
  case LLVM::AtomicOrdering::acquire:
    return "acquire";
  case LLVM::AtomicOrdering::release:
    return "release";
  default:
    return "relaxed";
  }
}

/// PTX's name of LLVM's scope.
static StringRef getScope(std::optional<StringRef> scope) {
  if (!scope || scope->empty())
    return "sys";
  return *scope == "block" ? "cta" : *scope == "cluster" ? "cluster" : "gpu";
}

/// The suffix of the header's functions for accesses of `op`'s kind.
template <typename OpTy>
static std::string getAccessSuffix(OpTy op) {
  if (isAtomic(op.getOrdering()))
    return ("_" + getOrder(op.getOrdering()) + "_" +
            getScope(op.getSyncscope()))
        .str();
  return op.getVolatile_() ? "_volatile" : "";
}

static Type getPointerFreeType(Type type) {
  if (isa<LLVM::LLVMPointerType>(type))
    return IntegerType::get(type.getContext(), 64);
  return type;
}

Expression KernelPrinter::printLoad(LLVM::LoadOp load) {
  Expression address = get(load.getAddr());
  Type type = load.getType();
  std::string suffix = getAccessSuffix(load);
  if (isa<LLVM::LLVMPointerType>(type))
    return cast(kByte.str() + " *",
                call("tl::load" + suffix +
                         getAccess(getPointerFreeType(type), std::nullopt),
                     address));
  bool exact =
      !load.getAlignment() || int64_t(*load.getAlignment()) >= getBytes(type);
  Operation *producer = lookThroughAliases(load.getAddr()).getDefiningOp();
  if (!isa<VectorType>(type) && suffix.empty() && exact &&
      getPointee(load.getAddr()) == getScalarType(type))
    return {subscript(address, load.getAddr(),
                      producer && plan.isFolded(producer))};
  return call("tl::load" + suffix + getAccess(type, load.getAlignment()),
              address);
}

void KernelPrinter::printStore(LLVM::StoreOp store) {
  Expression address = get(store.getAddr());
  Expression value = get(store.getValue());
  Type type = store.getValue().getType();
  std::string suffix = getAccessSuffix(store);
  if (isa<LLVM::LLVMPointerType>(type))
    value = cast("long long", value);
  bool exact =
      !store.getAlignment() || int64_t(*store.getAlignment()) >= getBytes(type);
  Operation *producer = lookThroughAliases(store.getAddr()).getDefiningOp();
  if (isa<FloatType, IntegerType, IndexType>(type) && suffix.empty() && exact &&
      getPointee(store.getAddr()) == getScalarType(type))
    return statement(store, subscript(address, store.getAddr(),
                                      producer && plan.isFolded(producer)) +
                                " = " + value.text);
  statement(store,
            "tl::store" + suffix +
                getAccess(getPointerFreeType(type), store.getAlignment()) +
                "(" + address.text + ", " + value.text + ")");
}

Expression KernelPrinter::printAtom(AtomOp atom) {
  SmallVector<Expression> arguments = {get(atom.getAddress())};
  for (Value operand : {atom.getValue(), atom.getExpected()})
    if (operand)
      arguments.push_back(get(operand));
  return call(preamble.getAtom(atom), arguments);
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

std::optional<Expression> KernelPrinter::printMemory(Operation *op) {
  return TypeSwitch<Operation *, std::optional<Expression>>(op)
      .Case([](SharedBaseOp) { return Expression{"smem"}; })
      .Case([&](DevicePointerOp pointer) {
        return cast((kByte + " *").str(), get(pointer.getAddress()));
      })
      .Case([&](LLVM::GEPOp address) { return printAddress(address); })
      .Case([&](LLVM::LoadOp load) { return printLoad(load); })
      // Pointers of C++ are generic.
      .Case([&](LLVM::AddrSpaceCastOp cast) { return get(cast.getArg()); })
      .Case([&](NVVM::MapaOp map) {
        return call("tl::map_shared", {get(map.getA()), get(map.getB())});
      })
      .Case([&](AtomOp atom) { return printAtom(atom); })
      .Case([&](LLVM::PtrToIntOp toInt) {
        Expression pointer = get(toInt.getArg());
        auto type = cast<LLVM::LLVMPointerType>(toInt.getArg().getType());
        Expression result;
        if (type.getAddressSpace() == 3) {
          result = call("tl::shared_address", pointer);
          result.isUnsigned = true;
          if (getIntegerWidth(toInt.getType()) == 32)
            return result;
          return cast(getScalarType(toInt.getType()), result);
        }
        return cast(getScalarType(toInt.getType()),
                    cast("unsigned long long", pointer));
      })
      .Default([](Operation *) { return std::nullopt; });
}

void KernelPrinter::printAlloca(LLVM::AllocaOp memory) {
  std::string element = getElement(memory.getElemType());
  std::string name = bind(memory.getResult());
  if (matchPattern(memory.getArraySize(), m_One())) {
    variables[memory.getResult()] = "&" + name;
    return statement(memory, element + " " + name);
  }
  statement(memory,
            element + " " + name + "[" + get(memory.getArraySize()).text + "]");
}

bool KernelPrinter::printMemoryStatement(Operation *op) {
  if (auto memory = dyn_cast<LLVM::AllocaOp>(op))
    return printAlloca(memory), true;
  if (auto store = dyn_cast<LLVM::StoreOp>(op))
    return printStore(store), true;
  if (auto atom = dyn_cast<AtomOp>(op); atom && atom.getOld().use_empty())
    return statement(atom, printAtom(atom).text), true;
  return false;
}
