//===- AssemblerFaults.cpp - PTX that ptxas understands -------------------===//
//
// Each function here avoids one fault of ptxas 13.0, and says which
// instructions show it in SASS. Sound if each writes the same numbers: they
// replace a statement by others with the same results, in a scope of their own
// where they need registers.
//
//===----------------------------------------------------------------------===//

#include "tl/Target/Cubin/AssemblerFaults.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"

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

/// Stores parts of registers from copies. Of a register that an instruction on
/// floats has written, a scalar `st` of fewer bits stores the number itself,
/// converted to an integer (`F2I`).
static std::string storeCopiesOfParts(StringRef ptx) {
  // The statement up to its register, the bits stored, and the register.
  static const Regex store(
      "^[ \t]*((@!?[^ \t]+[ \t]+)?st\\.([A-Za-z0-9_:]+\\.)*[usb](8|16|32)"
      "[ \t]+\\[[^]]*\\][ \t]*,[ \t]*)%(rs|rd|r)([0-9]+)[ \t]*[,;]");
  std::string result;
  result.reserve(ptx.size());
  while (!ptx.empty()) {
    // Inline assembly may have several statements in a line.
    StringRef line = ptx.take_front(ptx.find_first_of("\n;{}") + 1);
    if (line.empty())
      line = ptx;
    ptx = ptx.substr(line.size());
    SmallVector<StringRef> parts;
    unsigned bits = 0;
    if (line.contains("st.") && line.ends_with(";") &&
        store.match(line, &parts) && !parts[4].getAsInteger(10, bits)) {
      unsigned width = parts[5] == "rs" ? 16 : parts[5] == "rd" ? 64 : 32;
      if (bits < width) {
        StringRef before = line.take_front(parts[1].data() - line.data());
        StringRef after = line.substr(parts[6].end() - line.data());
        result += llvm::formatv(
            "{0}{{\n\t.reg .b{1} part;\n\tmov.b{1} part, %{2}{3};\n"
            "\t{4}part{5}\n\t}",
            before, width, parts[5], parts[6], parts[1], after);
        continue;
      }
    }
    result += line;
  }
  return result;
}

std::string tl::avoidAssemblerFaults(StringRef ptx) {
  return storeCopiesOfParts(compareWithoutSigns(unpackSums(ptx)));
}
