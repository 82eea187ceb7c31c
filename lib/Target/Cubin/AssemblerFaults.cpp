//===- AssemblerFaults.cpp - PTX that ptxas understands -------------------===//
//
// Each rule here avoids one fault of ptxas 13.0, or of nvJitLink, and says
// which instructions show it in SASS. Sound if each writes the same numbers:
// they replace an instruction by others with the same results, in a scope of
// their own where they need registers. The text is read instruction by
// instruction, so that nothing is found in a comment, and what a guard guards
// stays guarded.
//
//===----------------------------------------------------------------------===//

#include "tl/Target/Cubin/AssemblerFaults.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

static constexpr StringLiteral kSpace = " \t\r\n";

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static bool isOfName(char c) {
  return isAlnum(c) || StringRef("_$%").contains(c);
}

/// Returns how much of `ptx`, which begins with no space, is its first
/// statement: an instruction with its semicolon, the name and colon of a label,
/// a brace of a scope, a comment, or what else is in the line.
static size_t lengthOfStatement(StringRef ptx) {
  auto until = [&](StringRef end) {
    size_t at = ptx.find(end, 2);
    return at == StringRef::npos ? ptx.size() : at + end.size();
  };
  if (ptx.starts_with("//"))
    return until("\n");
  if (ptx.starts_with("/*"))
    return until("*/");
  if (StringRef("{}").contains(ptx.front()))
    return 1;
  // Only an instruction may go on in the next line, and has vectors in braces.
  bool isInstruction = isOfName(ptx.front()) || ptx.front() == '@';
  StringRef ends = isInstruction ? ";/" : ";/\n{}";
  if (size_t name = ptx.find_if_not(isOfName);
      name != 0 && ptx.substr(name).starts_with(":"))
    return name + 1;
  size_t at = ptx.find_first_of(ends, 1);
  while (at != StringRef::npos && ptx[at] == '/' &&
         !ptx.substr(at).starts_with("//") && !ptx.substr(at).starts_with("/*"))
    at = ptx.find_first_of(ends, at + 1);
  if (at == StringRef::npos)
    return ptx.size();
  return StringRef(";\n").contains(ptx[at]) ? at + 1 : at;
}

namespace {
/// A statement of PTX: `guard name operands;`, the name with all that follows
/// it up to a space. It is made of the text in front of the semicolon.
struct PTXStatement {
  explicit PTXStatement(StringRef text) {
    size_t end = text.starts_with("@") ? text.find_first_of(kSpace) : 0;
    end = text.find_first_not_of(kSpace, end);
    guard = text.take_front(end);
    text = text.substr(guard.size());
    name = text.take_front(text.find_first_of(kSpace));
    operands = text.substr(name.size());
  }

  /// The guard has the space behind it, and the operands the one before them.
  StringRef guard, name, operands;
};
} // namespace

/// Returns what commas separate in `text`.
static SmallVector<StringRef> splitOperands(StringRef text) {
  SmallVector<StringRef> operands;
  text.split(operands, ',');
  for (StringRef &operand : operands)
    operand = operand.trim(kSpace);
  return operands;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// Each returns what an instruction is replaced by, or nothing if it may stay.

/// Takes packed sums of 16 bits apart. In a kernel that has an `add.s16x2`,
/// ptxas makes more of other 16-bit sums for sm_90, and loses constants of
/// those (`VIADD.U16x2`).
static std::string unpackSum(const PTXStatement &sum) {
  if (sum.name != "add.s16x2")
    return {};
  SmallVector<StringRef> operands = splitOperands(sum.operands);
  if (operands.size() != 3)
    return {};
  return llvm::formatv("{{\n\t.reg .b16 %a0, %a1, %b0, %b1;\n"
                       "\tmov.b32 {{%a0, %a1}, {0};\n"
                       "\tmov.b32 {{%b0, %b1}, {1};\n"
                       "\tadd.s16 %a0, %a0, %b0;\n\tadd.s16 %a1, %a1, %b1;\n"
                       "\t{2}mov.b32 {3}, {{%a0, %a1};\n\t}",
                       operands[1], operands[2], sum.guard, operands[0]);
}

/// Compares integers for equality as if they had no sign, which is the same.
/// ptxas takes `max(min(x, y), 0) == y` of signed ones for a predicate of its
/// `VIMNMX.RELU`, which is another one.
static std::string compareWithoutSign(const PTXStatement &comparison) {
  StringRef name = comparison.name;
  if (!name.starts_with("setp.eq.") ||
      !(name.ends_with(".s32") || name.ends_with(".s16")))
    return {};
  return llvm::formatv("{0}{1}u{2}{3};", comparison.guard, name.drop_back(3),
                       name.take_back(2), comparison.operands);
}

/// Makes an absolute value a choice of a number and its negative. What `IABS`
/// gives ptxas takes for a number without a sign and with none of its bit:
/// `abs(x) < 0` is never true, also of the least number, and the bits of an
/// absolute value are converted to a float as a signed number's
/// (`I2FP.F32.S32`). It is not the greater of both: of `max(max(x, -x), y)`
/// ptxas loses the sign (`VIMNMX3`).
static std::string chooseAbsolute(const PTXStatement &absolute) {
  StringRef type = absolute.name;
  if (!type.consume_front("abs.s"))
    return {};
  SmallVector<StringRef> operands = splitOperands(absolute.operands);
  if (operands.size() != 2)
    return {};
  return llvm::formatv("{{\n\t.reg .b{0} %opposite;\n"
                       "\t.reg .pred %negative;\n"
                       "\tneg.s{0} %opposite, {1};\n"
                       "\tsetp.lt.s{0} %negative, {1}, 0;\n"
                       "\t{2}selp.b{0} {3}, %opposite, {1}, %negative;\n\t}",
                       type, operands[1], absolute.guard, operands[0]);
}

/// True if `ptx` may have a minimum or maximum of 16 bits, packed or not.
static bool hasShortExtrema(StringRef ptx) {
  for (StringRef operation : {"max.", "min.", "relu."})
    for (StringRef type : {"s16", "u16"})
      if (ptx.contains((operation + type).str()))
        return true;
  return false;
}

/// Compares for equality by what is not unequal. ptxas takes `max(x, c) == c`
/// of 16 bits and a constant c for a predicate of its `VIMNMX.S16x2`, and where
/// the low half is asked for has both halves write that. It sees through
/// conversions, so numbers of 32 bits are compared like this, too. Comparisons
/// that also take a predicate stay: neither LLVM nor NVVM selects them.
static std::string compareByInequality(const PTXStatement &comparison) {
  StringRef type = comparison.name;
  if (!type.consume_front("setp.eq.") || type.size() != 3 ||
      !StringRef("bsu").contains(type.front()) || type.ends_with("64"))
    return {};
  StringRef result = splitOperands(comparison.operands).front();
  bool changesGuard = comparison.guard.ltrim("@!").trim(kSpace) == result;
  if (result.contains('|') || changesGuard)
    return {};
  return llvm::formatv("{0}setp.ne.{1}{2};\n\t{0}not.pred {3}, {3};",
                       comparison.guard, type, comparison.operands, result);
}

/// Converts pairs of bytes, floats of 8 bits, from registers of their own. Of a
/// pair in the upper half of a register (`F2FP.F16.E4M3.UNPACK_B R1, R0.H1`)
/// that turns out to be 0, ptxas takes the mark of the half for a number, 8.
static std::string convertPairsOfTheirOwn(const PTXStatement &conversion) {
  if (!conversion.name.starts_with("cvt.rn.") ||
      !(conversion.name.ends_with(".f16x2.e4m3x2") ||
        conversion.name.ends_with(".f16x2.e5m2x2")))
    return {};
  SmallVector<StringRef> operands = splitOperands(conversion.operands);
  if (operands.size() != 2)
    return {};
  return llvm::formatv("{{\n\t.reg .b32 %wide;\n\t.reg .b16 %pair;\n"
                       "\tcvt.u32.u16 %wide, {0};\n"
                       "\tcvt.u16.u32 %pair, %wide;\n"
                       "\t{1}{2} {3}, %pair;\n\t}",
                       operands[1], conversion.guard, conversion.name,
                       operands[0]);
}

/// True if `ptx` has arithmetic on floats of 16 bits, single ones or pairs.
static bool hasShortArithmetic(StringRef ptx) {
  for (size_t end = ptx.find("f16"); end != StringRef::npos;
       end = ptx.find("f16", end + 1)) {
    StringRef name = ptx.take_front(end);
    name = name.substr(name.find_last_of((kSpace + "{;").str()) + 1);
    if (StringSwitch<bool>(name.split('.').first)
            .Cases({"add", "sub", "mul", "fma", "min", "max"}, true)
            .Default(false))
      return true;
  }
  return false;
}

/// Selects one of two numbers of 16 bits by a mask. Where one of them is made
/// by a conversion, ptxas makes a conversion under a predicate of the two
/// (`@P0 F2F.F16.F32 R1, R2`), over a copy of the other, and when it packs two
/// sums into one (`HFMA2`), takes the result for that copy in front of it. And
/// of a pair that is the same for all threads and that a branch makes, it loses
/// the instruction that takes out the upper half (`UPRMT`), where halves of
/// that pair and of one that arithmetic makes are selected.
static std::string selectByMask(const PTXStatement &selection) {
  if (!selection.name.starts_with("selp.") || !selection.name.ends_with("16"))
    return {};
  SmallVector<StringRef> operands = splitOperands(selection.operands);
  if (operands.size() != 4)
    return {};
  return llvm::formatv("{{\n\t.reg .b16 %short;\n"
                       "\t.reg .b32 %mask, %yes, %no;\n"
                       "\tmov.b16 %short, {0};\n"
                       "\tcvt.u32.u16 %yes, %short;\n"
                       "\tmov.b16 %short, {1};\n"
                       "\tcvt.u32.u16 %no, %short;\n"
                       "\tselp.b32 %mask, -1, 0, {2};\n"
                       "\tlop3.b32 %no, %mask, %yes, %no, 0xCA;\n"
                       "\t{3}cvt.u16.u32 {4}, %no;\n\t}",
                       operands[1], operands[2], operands[3], selection.guard,
                       operands[0]);
}

/// True if `ptx` multiplies matrices of doubles.
static bool hasDoubleMatrices(StringRef ptx) {
  return ptx.contains(".f64.f64.f64.f64");
}

/// Selects one of two doubles by a mask, word by word. Where all sums of an
/// `mma.sync` of 16 rows are zero if a predicate says so that is the same for
/// all threads, ptxas leaves it to the instruction to clear them
/// (`DMMA.16x8x4 R8, R4, R18, R8, UP0`), takes the sums for those of 8 rows,
/// and copies the second one over the third and the fourth.
static std::string selectDoubleByMask(const PTXStatement &selection) {
  StringRef type = selection.name;
  if (!type.consume_front("selp.") || !type.ends_with("64"))
    return {};
  SmallVector<StringRef> operands = splitOperands(selection.operands);
  if (operands.size() != 4)
    return {};
  return llvm::formatv("{{\n\t.reg .b64 %double;\n"
                       "\t.reg .b32 %mask, %yes0, %yes1, %no0, %no1;\n"
                       "\tmov.{0} %double, {1};\n"
                       "\tmov.b64 {{%yes0, %yes1}, %double;\n"
                       "\tmov.{0} %double, {2};\n"
                       "\tmov.b64 {{%no0, %no1}, %double;\n"
                       "\tselp.b32 %mask, -1, 0, {3};\n"
                       "\tlop3.b32 %no0, %mask, %yes0, %no0, 0xCA;\n"
                       "\tlop3.b32 %no1, %mask, %yes1, %no1, 0xCA;\n"
                       "\t{4}mov.b64 {5}, {{%no0, %no1};\n\t}",
                       type, operands[1], operands[2], operands[3],
                       selection.guard, operands[0]);
}

/// Takes pairs of floats away by a product with -1, which is exact. With some
/// pairs of which one half is a constant zero (`a - {0, x}`), `nvJitLink` ends
/// the process.
static std::string subtractProduct(const PTXStatement &difference) {
  StringRef type = difference.name;
  SmallVector<StringRef> operands = splitOperands(difference.operands);
  if (!type.consume_front("sub.") || operands.size() != 3)
    return {};
  type.consume_front("rn.");
  bool isHalf = type == "f16x2" || type == "ftz.f16x2";
  if (!isHalf && type != "bf16x2")
    return {};
  return llvm::formatv("{{\n\t.reg .b32 %minus;\n\tmov.b32 %minus, {0};\n"
                       "\t{1}fma.rn.{2} {3}, {4}, %minus, {5};\n\t}",
                       isHalf ? "0xBC00BC00" : "0xBF80BF80", difference.guard,
                       type, operands[0], operands[2], operands[1]);
}

/// Guards an atomic operation on shared memory that ptxas makes a loop of, by a
/// predicate that is always true: the number of a lane is below 32. A loop of
/// the program that begins with such an operation shares its head with the loop
/// that tries again (`ATOMS.CAST.SPIN`). Then threads that are through and
/// those that try again do not meet before the program's loop ends, which is
/// counted in a register that a warp has one of (`UIADD3 UR6, UR6, -0x1`), for
/// all of them together: some iterations are lost, or 2^32 more are done. The
/// predicate costs nothing. Operations that have a guard already stay.
static std::string guardSharedAtomic(const PTXStatement &atomic) {
  SmallVector<StringRef> parts;
  atomic.name.split(parts, '.');
  bool isAtomic = parts.front() == "atom" || parts.front() == "red";
  if (!isAtomic || !atomic.guard.empty() || is_contained(parts, "global"))
    return {};
  // These are instructions of their own: integers of 32 bits, and exchanges.
  StringRef type = parts.back();
  if ((type.size() == 3 && type.ends_with("32") && type != "f32") ||
      is_contained(parts, "exch") || is_contained(parts, "cas"))
    return {};
  return llvm::formatv("{{\n\t.reg .b32 %lane;\n\t.reg .pred %always;\n"
                       "\tmov.u32 %lane, %laneid;\n"
                       "\tsetp.lt.u32 %always, %lane, 32;\n"
                       "\t@%always {0}{1};\n\t}",
                       atomic.name, atomic.operands);
}

/// Returns how many bits a register has, which the names that LLVM and NVVM
/// give tell; 0 if it is none of theirs.
static unsigned widthOfRegister(StringRef name) {
  return StringSwitch<unsigned>(name.take_until(isDigit))
      .Case("%rs", 16)
      .Case("%r", 32)
      .Case("%rd", 64)
      .Default(0);
}

/// Stores parts of registers from copies. Of a register that an instruction on
/// floats has written, an `st` of fewer bits stores the number itself,
/// converted to an integer (`F2I`).
static std::string storeCopiesOfParts(const PTXStatement &store) {
  if (!store.name.starts_with("st."))
    return {};
  StringRef type = store.name.substr(store.name.rfind('.') + 1);
  unsigned bits;
  if (type.empty() || !StringRef("usb").contains(type.front()) ||
      type.drop_front().getAsInteger(10, bits))
    return {};

  // `[address], register` or `[address], {register, register}`, and perhaps a
  // policy of the cache.
  size_t begin = store.operands.find_first_not_of((kSpace + ", {").str(),
                                                  store.operands.find(']') + 1);
  StringRef before = store.operands.take_front(begin);
  StringRef after = store.operands.substr(before.size());
  StringRef stored =
      after.take_front(after.find_first_of(before.contains('{') ? "}" : ","));
  after = after.substr(stored.size());

  std::string copies;
  SmallVector<std::string> parts;
  for (StringRef name : splitOperands(stored)) {
    unsigned width = widthOfRegister(name);
    parts.push_back(name.str());
    if (bits >= width)
      continue;
    parts.back() = llvm::formatv("%part{0}", parts.size() - 1);
    copies += llvm::formatv("\t.reg .b{0} {1};\n\tmov.b{0} {1}, {2};\n", width,
                            parts.back(), name);
  }
  if (copies.empty())
    return {};
  return llvm::formatv("{{\n{0}\t{1}{2}{3}{4}{5};\n\t}", copies, store.guard,
                       store.name, before, join(parts, ", "), after);
}

std::string tl::avoidAssemblerFaults(StringRef ptx) {
  SmallVector<std::string (*)(const PTXStatement &)> rules;
  if (hasShortExtrema(ptx))
    rules.push_back(compareByInequality);
  if (hasShortArithmetic(ptx))
    rules.push_back(selectByMask);
  if (hasDoubleMatrices(ptx))
    rules.push_back(selectDoubleByMask);
  rules.append({subtractProduct, unpackSum, compareWithoutSign, chooseAbsolute,
                convertPairsOfTheirOwn, guardSharedAtomic, storeCopiesOfParts});

  std::string result;
  result.reserve(ptx.size());
  while (!ptx.empty()) {
    StringRef space = ptx.take_front(ptx.find_first_not_of(kSpace));
    result += space;
    ptx = ptx.substr(space.size());
    if (ptx.empty())
      break;
    StringRef text = ptx.take_front(lengthOfStatement(ptx));
    ptx = ptx.substr(text.size());
    std::string replaced;
    if (text.ends_with(";") && !text.starts_with("//")) {
      PTXStatement instruction(text.drop_back());
      for (auto *rule : rules)
        if (replaced.empty())
          replaced = rule(instruction);
    }
    result += replaced.empty() ? text : StringRef(replaced);
  }
  return result;
}
