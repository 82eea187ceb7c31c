//===- PlaceFormulas.cpp - Formulas in place of their calls ---------------===//
//
// `convert-tl-to-nvvm` makes a function of a formula that a kernel has many
// times, so that LLVM optimises it and selects its instructions once. A call in
// PTX would have `ptxas` wait for each `wgmma` (C7509), and no call is inlined
// for nothing. So LLVM sees a call as one statement of inline assembly, and in
// the text the body takes its place, in a scope of its own (PTX ISA, "Grouping
// Symbols"):
//
//     formula %r9, %r4;    =>    { .reg .b32 %f_r<3>;
//                                  mov.b32 %f_r1, %r4;  ...
//                                  mov.b32 %r9, %f_r2; }
//
// Sound because the body is what LLVM made of the function: registers are
// renamed, so that none hides one of the kernel's that is an operand, labels
// are local to the scope, and results have registers of their own (`=&`), which
// no operand is read from behind their first write.
//
//===----------------------------------------------------------------------===//

#include "PlaceFormulas.h"

#include "tl/Conversion/TLToNVVM/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Module.h"

using namespace llvm;

/// The operands of a formula in the text of its body.
static constexpr StringLiteral kOperand = "%operand";

/// What registers of a body are called instead of `%`.
static constexpr StringLiteral kPrefix = "%f_";

static SmallVector<Function *> findFormulas(Module &module) {
  SmallVector<Function *> formulas;
  for (Function &function : module)
    if (function.hasFnAttribute(tl::kFormulaAttr))
      formulas.push_back(&function);
  return formulas;
}

void tl::keepFormulasApart(Module &module) {
  for (Function *formula : findFormulas(module)) {
    formula->addFnAttr(Attribute::NoInline);
    formula->setDoesNotAccessMemory();
    formula->setDoesNotThrow();
    formula->setWillReturn();
  }
}

size_t tl::countPlacedInstructions(Module &module) {
  size_t count = module.getInstructionCount();
  for (Function *formula : findFormulas(module))
    count += formula->getNumUses() * formula->getInstructionCount();
  return count;
}

//===----------------------------------------------------------------------===//
// Statements in LLVM IR
//===----------------------------------------------------------------------===//

namespace {
/// A scalar as assembly takes it: halves are 16 bits without a type.
struct Scalar {
  explicit Scalar(Type *type) : type(type) {
    bits = type->getScalarSizeInBits();
    held = bits == 16 ? Type::getInt16Ty(type->getContext()) : type;
  }

  char getConstraint() const {
    if (held->isFloatingPointTy())
      return bits == 64 ? 'd' : 'f';
    return bits == 64 ? 'l' : bits == 32 ? 'r' : 'h';
  }

  Type *type, *held;
  unsigned bits;
};
} // namespace

/// The scalars that `value`, a scalar or a vector, is made of.
static SmallVector<Value *> takeApart(IRBuilder<> &builder, Value *value) {
  auto *vector = dyn_cast<FixedVectorType>(value->getType());
  if (!vector)
    return {value};
  SmallVector<Value *> scalars;
  for (unsigned i = 0; i < vector->getNumElements(); ++i)
    scalars.push_back(builder.CreateExtractElement(value, i));
  return scalars;
}

/// A value of `type`, a scalar, a vector or a structure of them, of scalars
/// that `next` gives in turn.
static Value *putTogether(IRBuilder<> &builder, Type *type,
                          function_ref<Value *(Type *)> next) {
  if (auto *structure = dyn_cast<StructType>(type)) {
    Value *result = PoisonValue::get(type);
    for (auto [i, element] : enumerate(structure->elements()))
      result = builder.CreateInsertValue(
          result, putTogether(builder, element, next), i);
    return result;
  }
  auto *vector = dyn_cast<FixedVectorType>(type);
  if (!vector)
    return next(type);
  Value *result = PoisonValue::get(type);
  for (unsigned i = 0; i < vector->getNumElements(); ++i)
    result =
        builder.CreateInsertElement(result, next(vector->getElementType()), i);
  return result;
}

/// The types of the scalars of `type`, in the same order.
static void collectScalars(Type *type, SmallVectorImpl<Scalar> &scalars) {
  if (auto *structure = dyn_cast<StructType>(type)) {
    for (Type *element : structure->elements())
      collectScalars(element, scalars);
    return;
  }
  auto *vector = dyn_cast<FixedVectorType>(type);
  scalars.append(vector ? vector->getNumElements() : 1,
                 Scalar(type->getScalarType()));
}

/// Replaces `call` by the statement `name results, operands;`.
static void replaceByStatement(CallInst &call, StringRef name) {
  IRBuilder<> builder(&call);
  SmallVector<Scalar> results;
  collectScalars(call.getType(), results);
  std::string constraints;
  SmallVector<Type *> resultTypes, operandTypes;
  for (const Scalar &result : results) {
    constraints += std::string("=&") + result.getConstraint() + ",";
    resultTypes.push_back(result.held);
  }
  SmallVector<Value *> operands;
  for (Value *argument : call.args())
    for (Value *value : takeApart(builder, argument)) {
      Scalar scalar(value->getType());
      constraints += std::string(1, scalar.getConstraint()) + ",";
      operands.push_back(builder.CreateBitCast(value, scalar.held));
      operandTypes.push_back(scalar.held);
    }
  std::string text = name.str();
  for (size_t i = 0; i < results.size() + operands.size(); ++i)
    text += (i == 0 ? " $" : ", $") + utostr(i);
  Type *returned = StructType::get(call.getContext(), resultTypes);
  auto *assembly = InlineAsm::get(
      FunctionType::get(returned, operandTypes, /*isVarArg=*/false), text + ";",
      StringRef(constraints).drop_back(), /*hasSideEffects=*/false);
  Value *statement = builder.CreateCall(assembly, operands);
  unsigned index = 0;
  call.replaceAllUsesWith(putTogether(builder, call.getType(), [&](Type *type) {
    Value *held = builder.CreateExtractValue(statement, index++);
    return builder.CreateBitCast(held, type);
  }));
  call.eraseFromParent();
}

/// Makes a function without parameters of `formula`, which reads its operands
/// and writes its results by moves. Their registers have numbers, those of the
/// results first.
static void takeParametersOff(Function &formula) {
  LLVMContext &context = formula.getContext();
  auto *function =
      Function::Create(FunctionType::get(Type::getVoidTy(context), false),
                       formula.getLinkage(), "", formula.getParent());
  function->takeName(&formula);
  function->splice(function->begin(), &formula);
  function->setSubprogram(formula.getSubprogram());
  formula.setSubprogram(nullptr);
  function->addFnAttrs(
      AttrBuilder(context, formula.getAttributes().getFnAttrs()));
  function->removeFnAttr(Attribute::Memory);

  auto move = [&](const Scalar &scalar) {
    return "mov.b" + utostr(scalar.bits) + " ";
  };
  SmallVector<Scalar> results;
  collectScalars(formula.getReturnType(), results);
  unsigned index = results.size();
  IRBuilder<> builder(&function->getEntryBlock(),
                      function->getEntryBlock().getFirstInsertionPt());
  for (Argument &argument : formula.args())
    argument.replaceAllUsesWith(
        putTogether(builder, argument.getType(), [&](Type *type) {
          Scalar scalar(type);
          auto *assembly = InlineAsm::get(
              FunctionType::get(scalar.held, false),
              move(scalar) + "$0, " + kOperand.str() + utostr(index++) + ";",
              std::string("=") + scalar.getConstraint(),
              /*hasSideEffects=*/true);
          return builder.CreateBitCast(builder.CreateCall(assembly), type);
        }));

  for (BasicBlock &block : *function) {
    auto *exit = dyn_cast<ReturnInst>(block.getTerminator());
    if (!exit)
      continue;
    builder.SetInsertPoint(exit);
    Value *all = exit->getReturnValue();
    index = 0;
    for (unsigned i = 0, e = all->getType()->getStructNumElements(); i < e; ++i)
      for (Value *value :
           takeApart(builder, builder.CreateExtractValue(all, i))) {
        Scalar scalar(value->getType());
        auto *assembly = InlineAsm::get(
            FunctionType::get(builder.getVoidTy(), {scalar.held}, false),
            move(scalar) + kOperand.str() + utostr(index++) + ", $0;",
            std::string(1, scalar.getConstraint()), /*hasSideEffects=*/true);
        builder.CreateCall(assembly,
                           {builder.CreateBitCast(value, scalar.held)});
      }
    builder.CreateRetVoid();
    exit->eraseFromParent();
  }
  formula.eraseFromParent();
}

SmallVector<std::string> tl::nameFormulas(Module &module) {
  SmallVector<std::string> names;
  for (Function *formula : findFormulas(module)) {
    names.push_back(formula->getName().str());
    for (User *user : make_early_inc_range(formula->users()))
      replaceByStatement(*cast<CallInst>(user), names.back());
    takeParametersOff(*formula);
  }
  return names;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {
/// The body of a formula: text, with an operand behind all but the last piece.
struct Body {
  struct Piece {
    std::string text;
    std::optional<unsigned> operand;
  };

  /// That of the lines between the braces of a function; none if these have
  /// another way out than at their end.
  static std::optional<Body> read(StringRef lines);

  /// Adds it to `ptx` in place of `statement`.
  void place(StringRef statement, std::string &ptx) const;

  /// How long its text is, but for the names of operands.
  size_t getLength() const {
    size_t length = 0;
    for (const Piece &piece : pieces)
      length += piece.text.size();
    return length;
  }

  SmallVector<Piece> pieces;
  /// Whether it says which lines its instructions are of.
  bool hasLines = false;
};
} // namespace

static bool isOfName(char c) { return isAlnum(c) || c == '_' || c == '$'; }

std::optional<Body> Body::read(StringRef lines) {
  Body body;
  std::string text;
  bool isOver = false;
  while (!lines.empty()) {
    StringRef line;
    std::tie(line, lines) = lines.split('\n');
    StringRef statement = line.trim();
    if (statement.empty() || statement.starts_with("//"))
      continue;
    // Labels at the end are of the function.
    if (isOver && !statement.ends_with(":"))
      return std::nullopt;
    isOver |= statement == "ret;";
    if (isOver)
      continue;
    body.hasLines |= statement.starts_with(".loc");
    while (!line.empty()) {
      StringRef before = line.take_until([](char c) { return c == '%'; });
      text += before;
      line = line.substr(before.size());
      if (!line.consume_front("%"))
        break;
      StringRef name = line.take_while(isOfName);
      line = line.substr(name.size());
      unsigned operand;
      StringRef number = name;
      if (number.consume_front(kOperand.drop_front()) &&
          !number.getAsInteger(10, operand)) {
        body.pieces.push_back({std::move(text), operand});
        text.clear();
        continue;
      }
      text += kPrefix;
      text += name;
    }
    text += '\n';
  }
  if (!isOver)
    return std::nullopt;
  body.pieces.push_back({std::move(text), std::nullopt});
  return body;
}

void Body::place(StringRef statement, std::string &ptx) const {
  SmallVector<StringRef> operands;
  statement.trim().drop_back().split(operands, ',');
  ptx += "\t{\n";
  for (const Piece &piece : pieces) {
    ptx += piece.text;
    if (piece.operand)
      ptx += operands[*piece.operand].trim();
  }
  ptx += "\t}\n";
}

/// Takes the function `name` out of `ptx` and returns the lines of its body;
/// none if there is no such function.
static std::optional<std::string> takeOut(std::string &ptx, StringRef name) {
  size_t head = ptx.find((".func " + name + "(").str());
  if (head == std::string::npos)
    return std::nullopt;
  size_t open = ptx.find("\n{", head);
  size_t close = ptx.find("\n}", head);
  if (open == std::string::npos || close == std::string::npos)
    return std::nullopt;
  std::string lines = ptx.substr(open + 2, close + 1 - (open + 2));
  // From the line that announces it to the brace.
  size_t begin = ptx.rfind(("// .globl\t" + name).str(), head);
  begin = ptx.rfind('\n', begin == std::string::npos ? head : begin);
  size_t end = close + 2;
  ptx.erase(begin, end - begin);
  return lines;
}

std::optional<std::string> tl::placeFormulas(StringRef ptx,
                                             ArrayRef<std::string> names) {
  std::string rest = ptx.str();
  StringMap<Body> bodies;
  for (const std::string &name : names) {
    std::optional<std::string> lines = takeOut(rest, name);
    std::optional<Body> body = lines ? Body::read(*lines) : std::nullopt;
    if (!body)
      return std::nullopt;
    bodies[name] = std::move(*body);
  }

  // Megabytes, which are written once. A statement has the names of its
  // operands, as its body has.
  size_t total = rest.size();
  for (const auto &[name, body] : bodies)
    total +=
        StringRef(rest).count(("\t" + name + " ").str()) * body.getLength();
  std::string result, lastLine;
  result.reserve(total);
  for (StringRef text = rest; !text.empty();) {
    size_t length = std::min(text.find('\n'), text.size() - 1) + 1;
    StringRef line = text.take_front(length);
    text = text.substr(length);
    StringRef statement = line.ltrim();
    if (statement.starts_with(".loc"))
      lastLine = line.str();
    auto body = bodies.find(statement.take_until(isSpace));
    if (body == bodies.end()) {
      result += line;
      continue;
    }
    body->second.place(statement.substr(body->first().size()), result);
    // What follows is of the line that LLVM named last.
    if (body->second.hasLines)
      result += lastLine;
  }
  return result;
}
