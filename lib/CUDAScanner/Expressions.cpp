//===- Expressions.cpp - Integer constants in the text --------------------===//
//
// The constant expressions of the preprocessor ([cpp.cond]), with values that
// may be unknown: `0 && UNKNOWN` is 0 all the same. Anything else that C++
// allows in a constant expression is unknown.
//
//===----------------------------------------------------------------------===//

#include "Expressions.h"

using namespace llvm;
using namespace tl::cuda;

namespace {

using Value = std::optional<int64_t>;

class Evaluator {
public:
  Evaluator(ArrayRef<Token> tokens, function_ref<Value(StringRef)> valueOf)
      : tokens(tokens), valueOf(valueOf) {}

  Value run() {
    Value value = parseConditional();
    return tokens.empty() && !isWrong ? value : std::nullopt;
  }

private:
  /// Real conditions nest a few levels deep; the bound keeps the recursion
  /// safe.
  static constexpr unsigned maxDepth = 64;

  bool consume(StringRef spelling) {
    if (tokens.empty() || !tokens.front().is(spelling))
      return false;
    tokens = tokens.drop_front();
    return true;
  }

  /// The binary operator in front and how many tokens it has.
  std::pair<StringRef, unsigned> peekOperator() const {
    if (tokens.empty() || tokens.front().kind != Token::Punctuator)
      return {"", 0};
    StringRef first = tokens.front().text;
    bool joins = tokens.size() > 1 && !tokens[1].hasSpaceBefore;
    if (first == ">" && joins && tokens[1].is(">"))
      return {">>", 2};
    if (first == ">" && joins && tokens[1].is("="))
      return {">=", 2};
    return {first, 1};
  }

  static int getPrecedence(StringRef spelling) {
    static constexpr std::pair<StringLiteral, int> table[] = {
        {"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4},  {"&", 5},  {"==", 6},
        {"!=", 6}, {"<", 7},  {">", 7}, {"<=", 7}, {">=", 7}, {"<<", 8},
        {">>", 8}, {"+", 9},  {"-", 9}, {"*", 10}, {"/", 10}, {"%", 10}};
    for (auto [name, precedence] : table)
      if (name == spelling)
        return precedence;
    return 0;
  }

  Value parseConditional() {
    if (++depth > maxDepth)
      return fail();
    Value condition = parseBinary(1);
    if (consume("?")) {
      Value yes = parseConditional();
      if (!consume(":"))
        return fail();
      Value no = parseConditional();
      if (condition)
        condition = *condition ? yes : no;
    }
    --depth;
    return condition;
  }

  Value parseBinary(int least) {
    if (++depth > maxDepth)
      return fail();
    Value left = parseUnary();
    while (!isWrong) {
      auto [spelling, count] = peekOperator();
      int precedence = getPrecedence(spelling);
      if (!precedence || precedence < least)
        break;
      tokens = tokens.drop_front(count);
      left = apply(spelling, left, parseBinary(precedence + 1));
    }
    --depth;
    return left;
  }

  Value parseUnary() {
    SmallVector<char> operators;
    while (!tokens.empty() && tokens.front().kind == Token::Punctuator &&
           StringRef("!~+-").contains(tokens.front().text)) {
      operators.push_back(tokens.front().text.front());
      tokens = tokens.drop_front();
    }
    Value value = parsePrimary();
    for (char c : llvm::reverse(operators)) {
      if (!value)
        break;
      uint64_t bits = *value;
      value = c == '!'   ? *value == 0
              : c == '~' ? static_cast<int64_t>(~bits)
              : c == '-' ? static_cast<int64_t>(-bits)
                         : *value;
    }
    return value;
  }

  Value parsePrimary() {
    if (tokens.empty())
      return fail();
    Token token = tokens.front();
    if (consume("(")) {
      Value value = parseConditional();
      return consume(")") ? value : fail();
    }
    tokens = tokens.drop_front();
    if (token.kind == Token::Number)
      return parseNumber(token.text);
    if (token.kind != Token::Identifier)
      return fail();
    if (token.text == "true" || token.text == "false")
      return token.text == "true";
    // A call, such as `__has_include(<x>)`, or a function of the text.
    if (!tokens.empty() && tokens.front().is("("))
      return skipCall();
    if (!tokens.empty() && tokens.front().is("::"))
      return fail();
    return valueOf(token.text);
  }

  Value skipCall() {
    unsigned open = 0;
    do {
      if (tokens.front().is("("))
        ++open;
      else if (tokens.front().is(")"))
        --open;
      tokens = tokens.drop_front();
    } while (open && !tokens.empty());
    return std::nullopt;
  }

  /// Unsigned numbers make comparisons with negative ones unsigned; they are
  /// unknown here.
  static Value parseNumber(StringRef text) {
    std::string digits = text.rtrim("lLzZ").str();
    llvm::erase(digits, '\'');
    int64_t value;
    if (StringRef(digits).getAsInteger(0, value))
      return std::nullopt;
    return value;
  }

  /// Wraps around where C++ would be undefined.
  static Value apply(StringRef spelling, Value left, Value right) {
    if (spelling == "&&") {
      if ((left && !*left) || (right && !*right))
        return 0;
      return left && right ? Value(1) : std::nullopt;
    }
    if (spelling == "||") {
      if ((left && *left) || (right && *right))
        return 1;
      return left && right ? Value(0) : std::nullopt;
    }
    if (!left || !right)
      return std::nullopt;
    int64_t x = *left, y = *right;
    uint64_t a = x, b = y;
    if (spelling == "/" || spelling == "%") {
      if (y == 0 || (y == -1 && x == INT64_MIN))
        return std::nullopt;
      return spelling == "/" ? x / y : x % y;
    }
    if (spelling == "<<" || spelling == ">>") {
      if (b > 63)
        return std::nullopt;
      return spelling == "<<" ? static_cast<int64_t>(a << b) : x >> y;
    }
    if (spelling == "+")
      return static_cast<int64_t>(a + b);
    if (spelling == "-")
      return static_cast<int64_t>(a - b);
    if (spelling == "*")
      return static_cast<int64_t>(a * b);
    if (spelling == "|")
      return x | y;
    if (spelling == "^")
      return x ^ y;
    if (spelling == "&")
      return x & y;
    if (spelling == "==")
      return x == y;
    if (spelling == "!=")
      return x != y;
    if (spelling == "<")
      return x < y;
    if (spelling == ">")
      return x > y;
    return spelling == "<=" ? x <= y : x >= y;
  }

  Value fail() {
    isWrong = true;
    return std::nullopt;
  }

  ArrayRef<Token> tokens;
  function_ref<Value(StringRef)> valueOf;
  unsigned depth = 0;
  bool isWrong = false;
};

} // namespace

std::optional<int64_t>
tl::cuda::evaluate(ArrayRef<Token> tokens,
                   function_ref<Value(StringRef)> valueOf) {
  return Evaluator(tokens, valueOf).run();
}
