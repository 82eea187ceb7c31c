//===- Parser.cpp - Layouts from their CuTe notation ----------------------===//
//
//   tuple    ::= integer | `(` (tuple (`,` tuple)*)? `)`
//   layout   ::= tuple `:` tuple
//   swizzle  ::= `Sw` `<` integer `,` integer `,` integer `>`
//   composed ::= swizzle `o` integer `o` layout
//
// Blanks may stand between tokens.
//
//===----------------------------------------------------------------------===//

#include "tl/Layout/Swizzle.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;
using namespace tl::layout;

namespace {

class Parser {
public:
  Parser(StringRef text) : text(text), rest(text) {}

  Expected<int64_t> parseInteger();
  Expected<IntTuple> parseTuple(int64_t depth = 0);
  Expected<Layout> parseLayout();
  Expected<Swizzle> parseSwizzle();
  Expected<ComposedLayout> parseComposed();

  /// Fails when anything is left.
  Error expectEnd();

private:
  bool consume(StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }
  Error expect(StringRef token) {
    return consume(token) ? Error::success() : fail("expected `" + token + "`");
  }
  Error fail(const Twine &reason) const {
    return createStringError(reason + " at column " +
                             Twine(text.size() - rest.size() + 1) + " of `" +
                             text + "`");
  }

  StringRef text;
  StringRef rest;
};

} // namespace

/// Layouts of real programs are a few levels deep; the bound keeps the parser's
/// recursion safe for any text.
static constexpr int64_t maxDepth = 32;

Expected<int64_t> Parser::parseInteger() {
  rest = rest.ltrim();
  int64_t value;
  StringRef digits = rest;
  if (digits.consumeInteger(10, value))
    return fail("expected a 64-bit integer");
  rest = digits;
  return value;
}

Expected<IntTuple> Parser::parseTuple(int64_t depth) {
  if (!consume("(")) {
    Expected<int64_t> leaf = parseInteger();
    if (!leaf)
      return leaf.takeError();
    return IntTuple(*leaf);
  }
  if (depth == maxDepth)
    return fail("more than " + Twine(maxDepth) + " nested lists");
  SmallVector<IntTuple> children;
  if (consume(")"))
    return IntTuple::list(children);
  do {
    Expected<IntTuple> child = parseTuple(depth + 1);
    if (!child)
      return child.takeError();
    children.push_back(std::move(*child));
  } while (consume(","));
  if (Error error = expect(")"))
    return error;
  return IntTuple::list(children);
}

Expected<Layout> Parser::parseLayout() {
  Expected<IntTuple> shape = parseTuple();
  if (!shape)
    return shape.takeError();
  if (Error error = expect(":"))
    return error;
  Expected<IntTuple> stride = parseTuple();
  if (!stride)
    return stride.takeError();
  return Layout::get(std::move(*shape), std::move(*stride));
}

Expected<Swizzle> Parser::parseSwizzle() {
  int64_t fields[3];
  StringRef before[] = {"<", ",", ","};
  if (Error error = expect("Sw"))
    return error;
  for (int i = 0; i < 3; ++i) {
    if (Error error = expect(before[i]))
      return error;
    Expected<int64_t> field = parseInteger();
    if (!field)
      return field.takeError();
    fields[i] = *field;
  }
  if (Error error = expect(">"))
    return error;
  return Swizzle::get(fields[0], fields[1], fields[2]);
}

Expected<ComposedLayout> Parser::parseComposed() {
  Expected<Swizzle> swizzle = parseSwizzle();
  if (!swizzle)
    return swizzle.takeError();
  if (Error error = expect("o"))
    return error;
  Expected<int64_t> offset = parseInteger();
  if (!offset)
    return offset.takeError();
  if (*offset < 0)
    return fail("the offset must not be negative");
  if (Error error = expect("o"))
    return error;
  Expected<Layout> layout = parseLayout();
  if (!layout)
    return layout.takeError();
  return ComposedLayout{*swizzle, *offset, std::move(*layout)};
}

Error Parser::expectEnd() {
  rest = rest.ltrim();
  return rest.empty() ? Error::success() : fail("unexpected text");
}

/// Parses all of `text` by one rule of the grammar.
template <typename T>
static Expected<T> parseAll(StringRef text,
                            function_ref<Expected<T>(Parser &)> rule) {
  Parser parser(text);
  Expected<T> result = rule(parser);
  if (!result)
    return result;
  if (Error error = parser.expectEnd())
    return error;
  return result;
}

Expected<IntTuple> IntTuple::parse(StringRef text) {
  return parseAll<IntTuple>(text, [](Parser &p) { return p.parseTuple(); });
}

Expected<Layout> Layout::parse(StringRef text) {
  return parseAll<Layout>(text, [](Parser &p) { return p.parseLayout(); });
}

Expected<Swizzle> Swizzle::parse(StringRef text) {
  return parseAll<Swizzle>(text, [](Parser &p) { return p.parseSwizzle(); });
}

Expected<ComposedLayout> ComposedLayout::parse(StringRef text) {
  return parseAll<ComposedLayout>(text,
                                  [](Parser &p) { return p.parseComposed(); });
}
