//===- PTXSymbols.cpp - What a PTX module offers --------------------------===//
//
// Reads tokens, and of the grammar only what declares an entry or a variable;
// bodies are skipped by their braces.
//
//===----------------------------------------------------------------------===//

#include "tl/Target/CUDA/PTXSymbols.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace tl;

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

/// Characters of identifiers, directives (`.param`) and numbers.
static bool isWord(char c) {
  return isAlnum(c) || c == '_' || c == '$' || c == '%' || c == '.';
}

namespace {
/// Words and single characters of PTX, without white space and comments.
class Lexer {
public:
  explicit Lexer(StringRef text) : text(text) { advance(); }

  /// The current token; empty at the end.
  StringRef token() const { return current; }
  size_t offset() const { return current.data() - text.data(); }
  unsigned line() const { return text.take_front(offset()).count('\n') + 1; }

  void advance() {
    position = skipBlank(position);
    StringRef rest = text.substr(position);
    current = rest.take_while(isWord);
    if (current.empty() && rest.starts_with("\""))
      current = rest.take_front(rest.find('"', 1) == StringRef::npos
                                    ? rest.size()
                                    : rest.find('"', 1) + 1);
    else if (current.empty())
      current = rest.take_front(1);
    position += current.size();
  }

  bool consume(StringRef expected) {
    if (current != expected || current.empty())
      return false;
    advance();
    return true;
  }

private:
  size_t skipBlank(size_t at) const {
    while (at < text.size()) {
      StringRef rest = text.substr(at);
      if (isSpace(rest.front()))
        ++at;
      else if (rest.starts_with("//"))
        at = std::min(text.size(), text.find('\n', at));
      else if (rest.starts_with("/*"))
        at = std::min(text.size(), text.find("*/", at) == StringRef::npos
                                       ? text.size()
                                       : text.find("*/", at) + 2);
      else
        break;
    }
    return at;
  }

  StringRef text;
  StringRef current;
  size_t position = 0;
};
} // namespace

/// Bytes of a fundamental type such as `u64`; 0 for what is none.
static uint64_t getTypeSize(StringRef type) {
  uint64_t bits = 0;
  if (!StringRef("busf").contains(type.take_front(1)) || type.empty() ||
      !to_integer(type.drop_front(), bits))
    return 0;
  return bits / 8;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

namespace {
class Parser {
public:
  explicit Parser(StringRef text) : lexer(text) {}

  Expected<PTXSymbols> parse() {
    size_t directive = 0;
    bool isVisible = false;
    while (!lexer.token().empty()) {
      if (lexer.token() == ".visible" || lexer.token() == ".weak" ||
          lexer.token() == ".extern") {
        directive = lexer.offset();
        isVisible = true;
        lexer.advance();
        continue;
      }
      size_t start = isVisible ? directive : lexer.offset();
      if (lexer.consume(".entry")) {
        if (Error error = parseEntry())
          return error;
      } else if (lexer.token() == ".const" || lexer.token() == ".global") {
        parseVariable(start, isVisible);
      } else if (lexer.token() == "{") {
        skipBody();
      } else {
        lexer.advance();
      }
      isVisible = false;
    }
    return std::move(symbols);
  }

private:
  Error fail(StringRef expected) const {
    return createStringError(
        inconvertibleErrorCode(),
        formatv("line {0} of the PTX: expected {1}, got `{2}`", lexer.line(),
                expected, lexer.token())
            .str());
  }

  void skipBody() {
    unsigned depth = 0;
    do {
      depth += lexer.token() == "{";
      depth -= lexer.token() == "}";
      lexer.advance();
    } while (depth != 0 && !lexer.token().empty());
  }

  Error readNumber(uint64_t &number, StringRef what) {
    if (!to_integer(lexer.token(), number))
      return fail(what);
    lexer.advance();
    return Error::success();
  }

  /// `.entry name ( parameters )`, up to its body or, for a declaration, `;`.
  Error parseEntry() {
    PTXEntry entry;
    entry.name = lexer.token().str();
    if (entry.name.empty() || !isWord(entry.name.front()))
      return fail("the name of an entry");
    lexer.advance();
    if (lexer.consume("(")) {
      while (!lexer.consume(")")) {
        if (Error error = parseParameter(entry.parameters.emplace_back()))
          return error;
        lexer.consume(",");
      }
    }
    // Performance directives lie between.
    while (lexer.token() != "{" && lexer.token() != ";") {
      if (lexer.token().empty())
        return fail("the body of `" + entry.name + "`");
      if (lexer.consume(".maxntid"))
        entry.maxThreads = readExtents();
      else if (lexer.consume(".reqntid"))
        entry.blockSize = readExtents();
      else if (lexer.consume(".reqnctapercluster"))
        entry.clusterDims = readExtents();
      else if (lexer.consume(".maxclusterrank"))
        entry.maxClusterBlocks = readExtents().front();
      else
        lexer.advance();
    }
    if (lexer.token() == "{")
      symbols.entries.push_back(std::move(entry));
    return Error::success();
  }

  /// `x {, y {, z}}` after a directive; what is not there is 1.
  SmallVector<int64_t, 3> readExtents() {
    SmallVector<int64_t, 3> extents;
    int64_t extent;
    do {
      if (!to_integer(lexer.token(), extent))
        break;
      extents.push_back(extent);
      lexer.advance();
    } while (lexer.consume(","));
    extents.resize(3, 1);
    return extents;
  }

  /// `.param {.align N} .type {.ptr {.space} {.align N}} name {[N]}`.
  Error parseParameter(PTXParameter &parameter) {
    if (!lexer.consume(".param"))
      return fail("`.param`");
    if (lexer.consume(".align"))
      if (Error error = readNumber(parameter.alignment, "an alignment"))
        return error;
    uint64_t size = getTypeSize(lexer.token().drop_front());
    if (size == 0)
      return fail("the type of a parameter");
    parameter.type = lexer.token().drop_front().str();
    lexer.advance();
    // What a pointer points to says nothing about the parameter itself.
    while (lexer.token().starts_with("."))
      if (lexer.consume(".align")) {
        uint64_t ignored;
        if (Error error = readNumber(ignored, "an alignment"))
          return error;
      } else {
        lexer.advance();
      }
    lexer.advance();
    uint64_t count = 1;
    if (lexer.consume("[")) {
      if (Error error = readNumber(count, "the size of a parameter"))
        return error;
      if (!lexer.consume("]"))
        return fail("`]`");
    }
    parameter.size = size * count;
    if (parameter.alignment == 0)
      parameter.alignment = size;
    return Error::success();
  }

  /// `.const … name`, where the name is the first word without a dot that is
  /// not the number of `.align`.
  void parseVariable(size_t start, bool isVisible) {
    lexer.advance();
    while (lexer.token().starts_with(".")) {
      bool hasNumber = lexer.token() == ".align";
      lexer.advance();
      if (hasNumber)
        lexer.advance();
    }
    if (!lexer.token().empty())
      symbols.variables.push_back({lexer.token().str(), start, isVisible});
    // An initialiser has braces that are no body.
    while (!lexer.token().empty() && lexer.token() != ";")
      lexer.advance();
  }

  Lexer lexer;
  PTXSymbols symbols;
};
} // namespace

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

std::string PTXParameter::str() const {
  if (size == getTypeSize(type))
    return type;
  return formatv("{0}[{1}] align {2}", type, size / getTypeSize(type),
                 alignment);
}

Expected<PTXSymbols> PTXSymbols::parse(StringRef ptx) {
  return Parser(ptx).parse();
}

std::string tl::demangleName(StringRef symbol) {
  ItaniumPartialDemangler demangler;
  std::string terminated = symbol.str();
  // The demangler takes other names for types: `f` for `float`.
  if (!symbol.starts_with("_Z"))
    return terminated;
  if (demangler.partialDemangle(terminated.c_str()))
    return terminated;
  char *text = demangler.isFunction()
                   ? demangler.getFunctionName(nullptr, nullptr)
                   : demangler.finishDemangle(nullptr, nullptr);
  std::string name = text ? text : terminated;
  free(text);
  return name;
}

/// The element of `list` that has the symbol `name` or, alone, that C++ name.
template <typename T>
static const T *findByName(ArrayRef<T> list, StringRef name) {
  const T *exact =
      find_if(list, [&](const T &element) { return element.name == name; });
  if (exact != list.end())
    return exact;
  auto isNamed = [&](const T &element) {
    return demangleName(element.name) == name;
  };
  const T *found = find_if(list, isNamed);
  return count_if(list, isNamed) == 1 ? found : nullptr;
}

const PTXEntry *PTXSymbols::findEntry(StringRef name) const {
  return findByName(ArrayRef(entries), name);
}

const PTXVariable *PTXSymbols::findVariable(StringRef name) const {
  return findByName(ArrayRef(variables), name);
}
