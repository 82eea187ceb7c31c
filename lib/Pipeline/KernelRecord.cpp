//===- KernelRecord.cpp - Compiled kernels as a cache keeps them ----------===//
//
// A scanner and a parser of one form. Nothing recurses but the members of a
// struct, which have no members; every list has a bound; every name is plain.
// The attributes of the module are skipped: those of the kernel that is looked
// up are as good, and nobody else wrote them.
//
//===----------------------------------------------------------------------===//

#include "tl/Pipeline/KernelRecord.h"

#include "tl/Cache/Entry.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace tl;

bool tl::isSymbolName(StringRef name) {
  constexpr size_t maxLength = 4096; // mangled names of templates are long
  return !name.empty() && name.size() <= maxLength && !isDigit(name.front()) &&
         all_of(name, [](char c) {
           return isAlnum(c) || c == '_' || c == '$' || c == '.';
         });
}

/// True for the name of a type of numbers.
static bool isNumberType(StringRef name) {
  static constexpr StringLiteral floats[] = {
      "f16",        "f32",       "f64",           "bf16",     "tf32",
      "f8E5M2",     "f8E4M3",    "f8E4M3FN",      "f8E3M4",   "f8E5M2FNUZ",
      "f8E4M3FNUZ", "f8E8M0FNU", "f8E4M3B11FNUZ", "f6E2M3FN", "f6E3M2FN",
      "f4E2M1FN",   "index"};
  if (is_contained(floats, name))
    return true;
  if (!name.consume_front("si") && !name.consume_front("ui"))
    (void)name.consume_front("i");
  unsigned width;
  return !name.getAsInteger(10, width) && width >= 1 && width <= 64;
}

unsigned tl::getMapElementBytes(StringRef type) {
  return StringSwitch<unsigned>(type)
      .Cases({"i1", "i8", "f8E4M3FN", "f8E5M2"}, 1)
      .Cases({"i16", "f16", "bf16"}, 2)
      .Cases({"i32", "f32", "tf32"}, 4)
      .Cases({"i64", "f64"}, 8)
      .Default(0);
}

/// The bytes that a parameter takes at most.
static size_t getBytes(const RecordedParam &param) {
  constexpr size_t wordBytes = 8, mapBytes = 128;
  if (param.kind == "tensor_map")
    return mapBytes;
  return wordBytes * std::max<size_t>(param.members.size(), 1);
}

namespace {

class RecordParser {
public:
  explicit RecordParser(StringRef text) : all(text), rest(text) {}

  Expected<KernelRecord> parse();

private:
  //===--------------------------------------------------------------------===//
  // Tokens
  //===--------------------------------------------------------------------===//

  void skipSpace() {
    rest = rest.drop_while([](char c) { return c == ' ' || c == '\n'; });
  }

  Error fail(const Twine &what) const {
    size_t line = all.drop_back(rest.size()).count('\n') + 1;
    return createStringError("line " + Twine(line) + ": " + what);
  }

  /// Takes `word` if it comes next, whole if it is one.
  bool accept(StringRef word) {
    skipSpace();
    StringRef after = rest;
    if (!after.consume_front(word))
      return false;
    if (isAlnum(word.back()) && !after.empty() && isWordPart(after.front()))
      return false;
    rest = after;
    return true;
  }

  Error expect(StringRef word) {
    if (accept(word))
      return Error::success();
    return fail("expected `" + word + "`");
  }

  static bool isWordPart(char c) {
    return isAlnum(c) || c == '_' || c == '$' || c == '.';
  }

  StringRef takeWord() {
    skipSpace();
    StringRef word = rest.take_while(isWordPart);
    rest = rest.drop_front(word.size());
    return word;
  }

  Error readInteger(int64_t &value, int64_t low, int64_t high) {
    skipSpace();
    StringRef digits =
        rest.take_while([&](char c) { return isDigit(c) || c == '-'; });
    if (digits.getAsInteger(10, value) || value < low || value > high)
      return fail("expected an integer from " + Twine(low) + " to " +
                  Twine(high));
    rest = rest.drop_front(digits.size());
    return Error::success();
  }

  /// A quoted text, which has no escapes in it: names need none.
  Error readString(std::string &value) {
    if (Error error = expect("\""))
      return error;
    StringRef text = rest.take_until([](char c) { return c == '"'; });
    if (text.size() == rest.size() || text.contains('\\') ||
        text.contains('\n'))
      return fail("expected a name in quotes");
    value = text.str();
    rest = rest.drop_front(text.size() + 1);
    return Error::success();
  }

  Error readSymbol(std::string &name) {
    if (Error error = expect("@"))
      return error;
    name = takeWord().str();
    return isSymbolName(name) ? Error::success()
                              : fail("expected the name of a symbol");
  }

  /// Items between brackets, with commas between them.
  Error readList(StringRef open, StringRef close, size_t atMost,
                 function_ref<Error()> readItem) {
    if (Error error = expect(open))
      return error;
    if (accept(close))
      return Error::success();
    for (size_t i = 0; i < atMost; ++i) {
      if (Error error = readItem())
        return error;
      if (accept(close))
        return Error::success();
      if (Error error = expect(","))
        return error;
    }
    return fail("the list is too long");
  }

  Error readIntegers(StringRef open, StringRef close,
                     std::vector<int64_t> &values, size_t atMost, int64_t low,
                     int64_t high) {
    return readList(open, close, atMost, [&]() -> Error {
      return readInteger(values.emplace_back(), low, high);
    });
  }

  /// Skips `{...}`, whatever is in it.
  Error skipAttributes();

  //===--------------------------------------------------------------------===//
  // The form
  //===--------------------------------------------------------------------===//

  Error readParam(RecordedParam &param, bool isMember);
  Error checkParam(const RecordedParam &param) const;
  Error checkMap(const RecordedParam &param) const;
  Error readParamOption(RecordedParam &param, bool isMember);
  Error readParams(StringRef open, StringRef close,
                   std::vector<RecordedParam> &params, bool areMembers);
  Error readFiles(RecordedKernel &kernel);
  Error readResources(RecordedKernel &kernel);
  Error readKernel(RecordedKernel &kernel);

  StringRef all;
  StringRef rest;
};

} // namespace

Error RecordParser::skipAttributes() {
  if (Error error = expect("{"))
    return error;
  // Brackets of all kinds are one: what does not match is not MLIR's, and
  // nobody reads it.
  size_t next = 0;
  for (unsigned depth = 1; next < rest.size();) {
    switch (rest[next++]) {
    case '"':
      while (next < rest.size() && rest[next] != '"')
        next += rest[next] == '\\' ? 2 : 1;
      ++next;
      break;
    case '{':
      ++depth;
      break;
    case '}':
      if (--depth != 0)
        break;
      rest = rest.drop_front(next);
      return Error::success();
    default:
      break;
    }
  }
  return fail("expected `}`");
}

/// Reads `name = value` in the braces of a parameter, without the braces.
Error RecordParser::readParamOption(RecordedParam &param, bool isMember) {
  StringRef name = takeWord();
  if (Error error = expect("="))
    return error;
  if (name == "index")
    return readInteger(param.index, 0, KernelRecord::maxRank - 1);
  if (name == "box" && param.box.empty())
    return readIntegers("[", "]", param.box, 5, 1, 256);
  if (name == "swizzle")
    return readInteger(param.swizzle, 0, 128);
  if (name == "type") {
    param.type = takeWord().str();
    return isNumberType(param.type) ? Error::success()
                                    : fail("expected a type of numbers");
  }
  if (name == "members" && !isMember && param.members.empty())
    return readParams("[", "]", param.members, /*areMembers=*/true);
  return fail("a parameter has no `" + name + "` here");
}

Error RecordParser::readParam(RecordedParam &param, bool isMember) {
  if (Error error = expect("#tl.param<"))
    return error;
  param.kind = takeWord().str();
  bool isKnown = StringSwitch<bool>(param.kind)
                     .Cases({"base", "dim", "stride", "scalar"}, true)
                     .Cases({"tensor_map", "struct"}, !isMember)
                     .Default(false);
  if (!isKnown)
    return fail("expected the kind of a parameter");
  if (Error error = expect(","))
    return error;
  if (Error error = readInteger(param.operand, 0, KernelRecord::maxOperand))
    return error;
  constexpr unsigned maxOptions = 5;
  for (unsigned i = 0; i < maxOptions && accept(","); ++i)
    if (Error error = readParamOption(param, isMember))
      return error;
  if (Error error = expect(">"))
    return error;
  return checkParam(param);
}

/// Checks that a parameter has what those of its kind have.
Error RecordParser::checkParam(const RecordedParam &param) const {
  bool isMap = param.kind == "tensor_map";
  if (isMap == param.box.empty())
    return fail("the parameter has the box of another kind");
  if (!is_contained({0, 32, 64, 128}, param.swizzle))
    return fail("expected a swizzle of 0, 32, 64 or 128");
  if ((param.kind == "struct") == param.members.empty())
    return fail("the parameter has the members of another kind");
  return isMap ? checkMap(param) : Error::success();
}

/// Checks that there can be such a tensor map: the limits are those of
/// `cuTensorMapEncodeTiled`, which launch plans have too.
Error RecordParser::checkMap(const RecordedParam &param) const {
  int64_t rowBytes = param.box.front() * getMapElementBytes(param.type);
  if (rowBytes == 0)
    return fail("a tensor map has no elements of this type");
  if (rowBytes % 16 != 0 || (param.swizzle != 0 && rowBytes > param.swizzle))
    return fail("expected a box whose rows fit the swizzle");
  return Error::success();
}

Error RecordParser::readParams(StringRef open, StringRef close,
                               std::vector<RecordedParam> &params,
                               bool areMembers) {
  return readList(open, close, KernelRecord::maxParams, [&]() -> Error {
    return readParam(params.emplace_back(), areMembers);
  });
}

Error RecordParser::readFiles(RecordedKernel &kernel) {
  constexpr size_t maxFiles = 256;
  return readList("({", "})", maxFiles, [&]() -> Error {
    std::string name, stored;
    if (accept("\"")) {
      rest = StringRef(rest.data() - 1, rest.size() + 1);
      if (Error error = readString(name))
        return error;
    } else {
      name = rest.take_while([](char c) { return c != ' ' && c != '='; }).str();
      rest = rest.drop_front(name.size());
    }
    if (!cache::isValidFileName(name))
      return fail("expected the name of a file");
    if (Error error = expect("="))
      return error;
    if (Error error = readString(stored))
      return error;
    if (!cache::isValidFileName(stored))
      return fail("expected the name of a file");
    auto isSame = [&](const auto &file) { return file.first == name; };
    if (any_of(kernel.files, isSame))
      return fail("a file is named twice");
    kernel.files.emplace_back(std::move(name), std::move(stored));
    return Error::success();
  });
}

/// Reads `{tl.resources = {registers = 14 : i64, ...}}`.
Error RecordParser::readResources(RecordedKernel &kernel) {
  if (Error error = expect("tl.resources"))
    return error;
  if (Error error = expect("="))
    return error;
  constexpr size_t maxResources = 32;
  if (Error error = readList("{", "}", maxResources, [&]() -> Error {
        std::string name = takeWord().str();
        auto isSame = [&](const auto &known) { return known.first == name; };
        if (!isSymbolName(name) || any_of(kernel.resources, isSame))
          return fail("expected a name of its own");
        if (Error error = expect("="))
          return error;
        int64_t value;
        if (Error error = readInteger(value, 0, INT64_MAX))
          return error;
        if (Error error = expect(":"))
          return error;
        kernel.resources.emplace_back(std::move(name), value);
        return expect("i64");
      }))
    return error;
  return expect("}");
}

Error RecordParser::readKernel(RecordedKernel &kernel) {
  if (Error error = readSymbol(kernel.name))
    return error;
  if (accept("entry")) {
    if (Error error = expect("("))
      return error;
    kernel.entry.emplace();
    if (Error error = readString(*kernel.entry))
      return error;
    if (!isSymbolName(*kernel.entry))
      return fail("expected the name of a symbol");
    if (Error error = expect(")"))
      return error;
  }
  if (Error error = expect("params"))
    return error;
  if (Error error = readParams("([", "])", kernel.params, /*areMembers=*/false))
    return error;
  size_t paramBytes = 0;
  for (const RecordedParam &param : kernel.params)
    paramBytes += getBytes(param);
  if (paramBytes > KernelRecord::maxParamBytes)
    return fail("the parameters take too many bytes");
  if (Error error = expect("block"))
    return error;
  if (Error error =
          readIntegers("(", ")", kernel.block, 3, 1, KernelRecord::maxThreads))
    return error;
  if (kernel.block.empty() ||
      product_of(kernel.block) > KernelRecord::maxThreads)
    return fail("expected the extents of a block");
  if (Error error = expect("shared"))
    return error;
  if (Error error = expect("("))
    return error;
  if (Error error = readInteger(kernel.shared, 0, INT32_MAX))
    return error;
  if (Error error = expect(")"))
    return error;
  if (accept("symbols")) {
    kernel.symbols.emplace();
    if (Error error =
            readList("[", "]", KernelRecord::maxParams, [&]() -> Error {
              std::string name;
              if (Error error = readString(name))
                return error;
              if (!isSymbolName(name))
                return fail("expected the name of a symbol");
              kernel.symbols->push_back(std::move(name));
              return Error::success();
            }))
      return error;
  }
  if (Error error = expect("files"))
    return error;
  if (Error error = readFiles(kernel))
    return error;
  return accept("{") ? readResources(kernel) : Error::success();
}

Expected<KernelRecord> RecordParser::parse() {
  if (rest.size() > KernelRecord::maxBytes)
    return createStringError("is too long");
  std::string name;
  if (Error error = expect("gpu.module"))
    return error;
  if (Error error = readSymbol(name))
    return error;
  if (accept("attributes"))
    if (Error error = skipAttributes())
      return error;
  if (Error error = expect("{"))
    return error;
  KernelRecord record;
  StringSet<> names;
  while (!accept("}")) {
    if (record.kernels.size() == KernelRecord::maxKernels)
      return fail("there are too many kernels");
    if (Error error = expect("tl.compiled_kernel"))
      return error;
    if (Error error = readKernel(record.kernels.emplace_back()))
      return error;
    if (!names.insert(record.kernels.back().name).second)
      return fail("a kernel is named twice");
  }
  skipSpace();
  if (!rest.empty())
    return fail("expected the end");
  return record;
}

Expected<KernelRecord> KernelRecord::parse(StringRef text) {
  return RecordParser(text).parse();
}
