//===- Parameters.cpp - One declaration at a time -------------------------===//
//
// Specifiers, then a declarator: `const T *__restrict__ x`, `int (*f)(int)`,
// `float x[4]`. A macro of a header that the scanner does not see may stand
// anywhere between; of several names that follow each other the last is the one
// that is declared.
//
//===----------------------------------------------------------------------===//

#include "Parameters.h"

#include "Types.h"

using namespace llvm;
using namespace tl::cuda;

//===----------------------------------------------------------------------===//
// Brackets
//===----------------------------------------------------------------------===//

static int getBracketStep(const Token &token) {
  if (token.is("(") || token.is("[") || token.is("{"))
    return 1;
  return token.is(")") || token.is("]") || token.is("}") ? -1 : 0;
}

size_t tl::cuda::skipBrackets(ArrayRef<Token> tokens, size_t i) {
  int64_t open = 0;
  for (; i < tokens.size(); ++i) {
    open += getBracketStep(tokens[i]);
    if (open <= 0)
      return i + 1;
  }
  return i;
}

size_t tl::cuda::skipAngles(ArrayRef<Token> tokens, size_t start) {
  int64_t open = 0;
  for (size_t i = start; i < tokens.size();) {
    if (getBracketStep(tokens[i]) > 0) {
      i = skipBrackets(tokens, i);
      continue;
    }
    if (getBracketStep(tokens[i]) < 0 || tokens[i].is(";"))
      return start;
    open += tokens[i].is("<") - tokens[i].is(">");
    ++i;
    if (open == 0)
      return i;
  }
  return start;
}

SmallVector<ArrayRef<Token>> tl::cuda::splitAtCommas(ArrayRef<Token> tokens) {
  SmallVector<ArrayRef<Token>> parts;
  size_t start = 0;
  // One `<` without an end is an operator, and so are those that follow it;
  // searching on from each would take forever.
  bool hasAngles = true;
  for (size_t i = 0; i < tokens.size();) {
    size_t next = i + 1;
    if (getBracketStep(tokens[i]) > 0) {
      next = skipBrackets(tokens, i);
    } else if (tokens[i].is("<") && hasAngles) {
      size_t end = skipAngles(tokens, i);
      hasAngles = end != i;
      next = std::max(next, end);
    } else if (tokens[i].is(",")) {
      parts.push_back(tokens.slice(start, i - start));
      start = next;
    }
    i = next;
  }
  if (!tokens.empty())
    parts.push_back(tokens.drop_front(start));
  return parts;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

namespace {

class ParameterParser {
public:
  ParameterParser(ArrayRef<Token> tokens, TypeLookup lookup)
      : tokens(tokens), lookup(lookup) {}

  Parameter run() {
    Type type = parseSpecifiers();
    result.type = parseDeclarator(std::move(type));
    return std::move(result);
  }

private:
  bool atEnd() const { return position >= tokens.size() || peek().is("="); }
  const Token &peek() const { return tokens[position]; }
  bool nextIs(StringRef spelling) const {
    return position + 1 < tokens.size() && tokens[position + 1].is(spelling);
  }

  /// Skips what says nothing about the type: attributes and storage classes.
  bool skipNoise() {
    if (atEnd())
      return false;
    const Token &token = peek();
    if (token.is("[") && nextIs("[")) {
      position = skipBrackets(tokens, position);
      return true;
    }
    if (is_contained({"__attribute__", "__declspec", "alignas", "__align__"},
                     token.text)) {
      ++position;
      if (!atEnd() && peek().is("("))
        position = skipBrackets(tokens, position);
      return true;
    }
    static constexpr StringLiteral words =
        " __grid_constant__ volatile __volatile__ restrict __restrict__ "
        "__restrict register static extern inline __inline__ constexpr mutable "
        "thread_local typename struct class union enum typedef this ";
    if (!token.isIdentifier() ||
        !words.contains((" " + token.text + " ").str()))
      return false;
    ++position;
    return true;
  }

  /// A name with its qualifiers and template arguments, as text.
  std::string parseName() {
    size_t start = position;
    if (peek().is("::"))
      ++position;
    while (position < tokens.size() && peek().isIdentifier()) {
      ++position;
      if (!atEnd() && peek().is("<"))
        position = skipAngles(tokens, position);
      if (atEnd() || !peek().is("::"))
        break;
      ++position;
      if (!atEnd() && peek().is("template"))
        ++position;
    }
    return join(tokens.slice(start, position - start));
  }

  Type parseSpecifiers() {
    bool isConst = false;
    SmallVector<StringRef> words;
    std::optional<std::string> name;
    while (!atEnd()) {
      const Token &token = peek();
      if (skipNoise())
        continue;
      if (token.is("const")) {
        isConst = true;
        ++position;
      } else if (isTypeWord(token.text)) {
        words.push_back(token.text);
        ++position;
      } else if (token.is("decltype") || token.is("auto")) {
        size_t start = position++;
        if (!atEnd() && peek().is("("))
          position = skipBrackets(tokens, position);
        name = join(tokens.slice(start, position - start));
      } else if (words.empty() && !name &&
                 (token.isIdentifier() || token.is("::"))) {
        name = parseName();
        // A macro before the type.
        if (!atEnd() && peek().isIdentifier() && isTypeWord(peek().text))
          name.reset();
      } else {
        break;
      }
    }
    Type type;
    if (!words.empty())
      type = makeArithmeticType(words);
    else if (name)
      type = lookup(*name);
    return isConst ? addConst(std::move(type)) : type;
  }

  Type parseDeclarator(Type type) {
    while (position < tokens.size()) {
      if (atEnd())
        break;
      const Token &token = peek();
      if (token.is("[") && !nextIs("[")) {
        // The outermost dimension of an array decays.
        position = skipBrackets(tokens, position);
        if (!isArray)
          type = makePointer(std::move(type));
        else
          type = makePointer(makeUnknown("array"));
        isArray = true;
        continue;
      }
      if (skipNoise())
        continue;
      if (token.is("*")) {
        type = makePointer(std::move(type));
      } else if (token.is("&") || token.is("&&")) {
        type = makeReference(std::move(type), token.is("&&"));
      } else if (token.is("const")) {
        type = addConst(std::move(type));
      } else if (token.is("...")) {
        result.isPack = true;
      } else if (token.is("(")) {
        return parseNested(std::move(type));
      } else if (token.isIdentifier()) {
        result.name = token.text.str();
      }
      ++position;
    }
    return type;
  }

  /// `(*name)(…)`, `(&name)[4]`, or the parameters of a function.
  Type parseNested(Type type) {
    size_t end = skipBrackets(tokens, position);
    ArrayRef<Token> inside = tokens.slice(position + 1, end - position - 1);
    bool isReference = false, isPointer = false;
    for (const Token &token : inside) {
      if (token.is("(") || token.is("["))
        break;
      isPointer |= token.is("*");
      isReference |= token.is("&");
      if ((isPointer || isReference) && token.isIdentifier() &&
          !token.is("const"))
        result.name = token.text.str();
    }
    Type pointee = makeUnknown(type.text + " ()");
    if (isReference)
      return makeReference(std::move(pointee), false);
    return makePointer(std::move(pointee));
  }

  ArrayRef<Token> tokens;
  TypeLookup lookup;
  size_t position = 0;
  bool isArray = false;
  Parameter result;
};

} // namespace

Parameter tl::cuda::parseParameter(ArrayRef<Token> tokens, TypeLookup lookup) {
  return ParameterParser(tokens, lookup).run();
}
