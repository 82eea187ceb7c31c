//===- AssemblerFaults.cpp - PTX that ptxas understands -------------------===//
//
// Each function here avoids one fault of ptxas 13.0, and says which
// instructions show it in SASS. Sound if each writes the same numbers: they
// replace a statement by others with the same results, in a scope of their own
// where they need registers.
//
//===----------------------------------------------------------------------===//

#include "tl/Target/Cubin/AssemblerFaults.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <optional>

using namespace llvm;

/// Takes packed sums of 16 bits apart. In a kernel that has an `add.s16x2`,
/// ptxas makes more of other 16-bit sums for sm_90, and loses constants of
/// those (`VIADD.U16x2`).
static std::string unpackSums(StringRef ptx) {
  static constexpr StringLiteral name = "add.s16x2";
  std::string result;
  result.reserve(ptx.size());
  for (size_t at; (at = ptx.find(name)) != StringRef::npos;) {
    size_t end = ptx.find(';', at);
    auto [sum, terms] =
        ptx.slice(at + name.size(), end).trim(" \t").split(", ");
    auto [a, b] = terms.split(", ");
    result += ptx.take_front(at);
    result +=
        llvm::formatv("{{\n\t.reg .b16 a0, a1, b0, b1;\n"
                      "\tmov.b32 {{a0, a1}, {0};\n\tmov.b32 {{b0, b1}, {1};\n"
                      "\tadd.s16 a0, a0, b0;\n\tadd.s16 a1, a1, b1;\n"
                      "\tmov.b32 {2}, {{a0, a1};\n\t}",
                      a, b, sum);
    ptx = ptx.substr(end + 1);
  }
  return result += ptx;
}

/// Compares integers for equality as if they had no sign, which is the same.
/// ptxas takes `max(min(x, y), 0) == y` of signed ones for a predicate of its
/// `VIMNMX.RELU`, which is another one.
static std::string compareWithoutSigns(StringRef ptx) {
  static constexpr StringLiteral name = "setp.eq.";
  std::string result;
  result.reserve(ptx.size());
  for (size_t at; (at = ptx.find(name)) != StringRef::npos;) {
    size_t end = ptx.find_first_of(" \t", at);
    StringRef instruction = ptx.slice(at, end);
    result += ptx.take_front(at);
    if (instruction.ends_with(".s32") || instruction.ends_with(".s16"))
      (result += instruction.drop_back(3)) += "u";
    else
      result += instruction.drop_back(2);
    result += instruction.take_back(2);
    ptx = ptx.substr(at + instruction.size());
  }
  return result += ptx;
}

namespace {
/// A scalar `st` that stores a part of a register.
struct PartialStore {
  /// Bits of the register, and its name.
  unsigned width;
  StringRef name;
};
} // namespace

/// Reads `statement`, whose registers have the names that LLVM and NVVM give:
/// they tell how many bits they have.
static std::optional<PartialStore> parsePartialStore(StringRef statement) {
  StringRef text = statement.ltrim(" \t");
  if (text.starts_with("@"))
    text = text.substr(text.find_first_of(" \t")).ltrim(" \t");
  if (!text.consume_front("st."))
    return std::nullopt;
  StringRef modifiers = text.take_front(text.find_first_of(" \t"));
  StringRef type = modifiers.substr(modifiers.rfind('.') + 1);
  unsigned bits;
  if (type.empty() || !StringRef("usb").contains(type.front()) ||
      type.drop_front().getAsInteger(10, bits))
    return std::nullopt;
  text = text.split(']').second.ltrim(" \t");
  if (!text.consume_front(","))
    return std::nullopt;
  text = text.ltrim(" \t");
  StringRef name = text.take_until(
      [](char c) { return c == ' ' || c == '\t' || c == ',' || c == ';'; });
  StringRef letters = name.take_until(isDigit);
  unsigned width = StringSwitch<unsigned>(letters)
                       .Case("%rs", 16)
                       .Case("%r", 32)
                       .Case("%rd", 64)
                       .Default(0);
  if (bits >= width)
    return std::nullopt;
  return PartialStore{width, name};
}

/// Stores parts of registers from copies. Of a register that an instruction on
/// floats has written, a scalar `st` of fewer bits stores the number itself,
/// converted to an integer (`F2I`).
static std::string storeCopiesOfParts(StringRef ptx) {
  std::string result;
  result.reserve(ptx.size());
  while (!ptx.empty()) {
    // Inline assembly may have several statements in a line.
    size_t end = ptx.find_first_of("\n;{}");
    StringRef text = end == StringRef::npos ? ptx : ptx.take_front(end + 1);
    ptx = ptx.substr(text.size());
    std::optional<PartialStore> store;
    if (text.ends_with(";"))
      store = parsePartialStore(text);
    if (!store) {
      result += text;
      continue;
    }
    StringRef statement = text.ltrim(" \t");
    size_t place = store->name.data() - statement.data();
    result += llvm::formatv(
        "{0}{{\n\t.reg .b{1} part;\n\tmov.b{1} part, {2};\n\t{3}part{4}\n\t}",
        text.drop_back(statement.size()), store->width, store->name,
        statement.take_front(place),
        statement.substr(place + store->name.size()));
  }
  return result;
}

std::string tl::avoidAssemblerFaults(StringRef ptx) {
  return storeCopiesOfParts(compareWithoutSigns(unpackSums(ptx)));
}
