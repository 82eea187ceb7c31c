//===- Lexer.cpp - Characters to tokens -----------------------------------===//
//
// Phases 1 to 3 of translation ([lex.phases]): the byte order mark, splices of
// lines, comments, and preprocessing tokens. Splices are skipped while reading,
// so that every token knows its place in the text as it was given, and so that
// raw strings can undo them.
//
//===----------------------------------------------------------------------===//

#include "Lexer.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace tl::cuda;

SourceFile::SourceFile(std::string path, StringRef text)
    : path(std::move(path)), text(text) {
  this->text.consume_front("\xEF\xBB\xBF");
}

Location SourceFile::locate(uint32_t offset) const {
  if (lineStarts.empty()) {
    lineStarts.push_back(0);
    for (uint32_t i = 0; i < text.size(); ++i) {
      bool isCRLF =
          text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
      if (text[i] == '\n' || (text[i] == '\r' && !isCRLF))
        lineStarts.push_back(i + 1);
    }
  }
  auto next = llvm::upper_bound(lineStarts, offset);
  unsigned line = next - lineStarts.begin();
  return {path, line, offset - *std::prev(next) + 1};
}

/// Identifiers may hold any character beyond ASCII: which ones exactly is for
/// the compiler to say.
static bool startsIdentifier(char c) {
  return isAlpha(c) || c == '_' || c == '$' || (c & 0x80);
}
static bool continuesIdentifier(char c) {
  return startsIdentifier(c) || isDigit(c);
}

//===----------------------------------------------------------------------===//
// Characters
//===----------------------------------------------------------------------===//

/// The end of the splice at `position` (a backslash, blanks, a newline), or
/// `position` if there is none. Compilers accept the blanks.
static uint32_t endOfSplice(StringRef text, uint32_t position) {
  if (position >= text.size() || text[position] != '\\')
    return position;
  uint32_t end = position + 1;
  while (end < text.size() && (text[end] == ' ' || text[end] == '\t'))
    ++end;
  if (end < text.size() && text[end] == '\n')
    return end + 1;
  if (end < text.size() && text[end] == '\r')
    return text.substr(end).starts_with("\r\n") ? end + 2 : end + 1;
  return position;
}

/// Goes past splices, which are rare: nearly all characters stop at the first
/// test.
inline void Lexer::skipSplices() {
  if (position >= text.size() || text[position] != '\\')
    return;
  for (uint32_t end; (end = endOfSplice(text, position)) != position;) {
    position = end;
    isSpliced = true;
  }
}

/// Goes on to one of `characters`, or to what may be a splice. Most of a header
/// is comments.
void Lexer::skipTo(StringRef characters) {
  while (position < text.size() && text[position] != '\\' &&
         !characters.contains(text[position]))
    ++position;
}

bool Lexer::atEnd() {
  skipSplices();
  return position >= text.size();
}

/// The character `ahead` places on, or NUL past the end.
char Lexer::peek(unsigned ahead) {
  skipSplices();
  uint32_t place = position;
  while (ahead-- && place < text.size()) {
    ++place;
    for (uint32_t end; (end = endOfSplice(text, place)) != place;)
      place = end;
  }
  return place < text.size() ? text[place] : '\0';
}

void Lexer::advance() {
  skipSplices();
  if (position < text.size())
    ++position;
}

//===----------------------------------------------------------------------===//
// Space
//===----------------------------------------------------------------------===//

bool Lexer::skipNewline() {
  char c = peek();
  if (atEnd() || (c != '\n' && c != '\r'))
    return false;
  advance();
  if (c == '\r' && position < text.size() && text[position] == '\n')
    ++position;
  return true;
}

void Lexer::skipSpace() {
  while (!atEnd()) {
    char c = peek();
    if (skipNewline())
      startsLine = true;
    else if (c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\0')
      advance();
    else if (c == '/' && peek(1) == '/')
      skipLineComment();
    else if (c == '/' && peek(1) == '*')
      skipBlockComment();
    else
      return;
    hasSpaceBefore = true;
  }
}

void Lexer::skipLineComment() {
  advance();
  advance();
  uint32_t begin = position;
  for (skipTo("\n\r"); !atEnd() && peek() != '\n' && peek() != '\r';
       skipTo("\n\r"))
    advance();
  noteComment(begin, position, /*isLine=*/true);
}

void Lexer::skipBlockComment() {
  uint32_t start = position;
  advance();
  advance();
  uint32_t begin = position;
  for (skipTo("*"); !atEnd(); skipTo("*")) {
    uint32_t end = position;
    char c = peek();
    advance();
    if (c != '*' || peek() != '/')
      continue;
    advance();
    noteComment(begin, end, /*isLine=*/false);
    return;
  }
  openComment = start;
  noteComment(begin, position, /*isLine=*/false);
}

void Lexer::noteComment(uint32_t begin, uint32_t end, bool isLine) {
  // `//` before `//` with nothing but blanks between continues it.
  if (isLine && !comments.empty() && comments.back().isLine &&
      text.slice(comments.back().end, begin).trim() == "//") {
    comments.back().end = end;
    return;
  }
  if (text.slice(begin, end).contains("__global__"))
    comments.push_back({begin, end, isLine});
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

Token Lexer::lex() {
  skipSpace();
  Token token;
  token.file = file;
  token.startsLine = startsLine;
  token.hasSpaceBefore = hasSpaceBefore;
  startsLine = hasSpaceBefore = isSpliced = false;
  if (atEnd()) {
    token.offset = text.size();
    token.startsLine = true;
    return token;
  }
  isSpliced = false;
  token.offset = position;
  char c = peek();
  if (startsIdentifier(c) ||
      (c == '\\' && (peek(1) == 'u' || peek(1) == 'U'))) {
    token.kind = Token::Identifier;
    lexIdentifier();
    StringRef prefix = text.slice(token.offset, position);
    bool isPrefix = is_contained({"u8", "u", "U", "L"}, prefix);
    bool isRawPrefix = is_contained({"R", "u8R", "uR", "UR", "LR"}, prefix);
    if (isRawPrefix && peek() == '"' && lexRawString(token))
      return token;
    if ((isPrefix || isRawPrefix) && (peek() == '"' || peek() == '\''))
      lexQuoted(token, peek());
  } else if (isDigit(c) || (c == '.' && isDigit(peek(1)))) {
    token.kind = Token::Number;
    lexNumber();
  } else if (c == '"' || c == '\'') {
    lexQuoted(token, c);
  } else {
    lexPunctuator(token);
    return token;
  }
  StringRef spelling = text.slice(token.offset, position);
  if (isSpliced) {
    std::string joined;
    for (uint32_t i = 0; i < spelling.size();) {
      uint32_t end = endOfSplice(spelling, i);
      if (end == i)
        joined += spelling[i++];
      else
        i = end;
    }
    spelling = saver.save(joined);
  }
  token.text = spelling;
  return token;
}

void Lexer::lexIdentifier() {
  while (!atEnd()) {
    bool isEscape = peek() == '\\' && (peek(1) == 'u' || peek(1) == 'U');
    if (!continuesIdentifier(peek()) && !isEscape)
      return;
    advance();
  }
}

/// A preprocessing number: digits, letters, points, separators and the signs of
/// exponents ([lex.ppnumber]).
void Lexer::lexNumber() {
  for (char previous = '\0'; !atEnd(); advance()) {
    char c = peek();
    bool isSign =
        (c == '+' || c == '-') && StringRef("eEpP").contains(previous);
    bool isSeparator = c == '\'' && continuesIdentifier(peek(1));
    if (!continuesIdentifier(c) && c != '.' && !isSign && !isSeparator)
      return;
    previous = c;
  }
}

/// A string or character ends at the end of the line at the latest: an
/// apostrophe in a text that is not compiled must not hide the rest.
void Lexer::lexQuoted(Token &token, char quote) {
  token.kind = quote == '"' ? Token::String : Token::Character;
  advance();
  while (!atEnd() && peek() != '\n' && peek() != '\r') {
    char c = peek();
    advance();
    if (c == quote)
      return;
    if (c == '\\' && !atEnd() && peek() != '\n' && peek() != '\r')
      advance();
  }
  token.isUnterminated = true;
}

/// Reads `"delimiter(…)delimiter"` after an `R`. Splices inside are text. Fails
/// if the delimiter is none, and leaves the string to be read as an ordinary
/// one.
bool Lexer::lexRawString(Token &token) {
  uint32_t begin = position + 1;
  // [lex.string]: at most 16 characters, no blanks, parentheses or backslashes.
  size_t length = text.substr(begin, 17).find('(');
  if (length == StringRef::npos)
    return false;
  size_t open = begin + length;
  StringRef delimiter = text.slice(begin, open);
  if (delimiter.find_first_of(" )\\\t\v\f\n\r\"") != StringRef::npos)
    return false;
  std::string close = (")" + delimiter + "\"").str();
  size_t end = text.find(close, open + 1);
  token.kind = Token::String;
  token.isUnterminated = end == StringRef::npos;
  position = token.isUnterminated ? text.size() : end + close.size();
  token.text = text.slice(token.offset, position);
  return true;
}

void Lexer::lexPunctuator(Token &token) {
  token.kind = Token::Punctuator;
  // Longest first. `>` never joins: a template's end matters more here than a
  // shift, which expressions put together themselves.
  static constexpr std::pair<StringLiteral, StringLiteral> spellings[] = {
      {"%:%:", "##"}, {"...", "..."}, {"::", "::"}, {"->", "->"},
      {"##", "##"},   {"&&", "&&"},   {"||", "||"}, {"==", "=="},
      {"!=", "!="},   {"<=", "<="},   {"<<", "<<"}, {"%:", "#"},
      {"<%", "{"},    {"%>", "}"},    {"<:", "["},  {":>", "]"}};
  auto matches = [&](StringRef spelling) {
    for (unsigned i = 0; i < spelling.size(); ++i)
      if (peek(i) != spelling[i])
        return false;
    return true;
  };
  char first = peek();
  for (auto [spelling, meaning] : spellings) {
    if (spelling.front() != first || !matches(spelling))
      continue;
    // [lex.pptoken]: `<::` starts a template's argument, unless `:` or `>`
    // follow.
    if (spelling == "<:" && peek(2) == ':' && peek(3) != ':' && peek(3) != '>')
      continue;
    for (size_t i = 0; i < spelling.size(); ++i)
      advance();
    token.text = meaning;
    return;
  }
  advance();
  token.text = text.substr(token.offset, 1);
}

std::vector<Token> tl::cuda::tokenize(const SourceFile &source,
                                      StringSaver &saver) {
  Lexer lexer(source, /*file=*/0, saver);
  std::vector<Token> tokens;
  for (Token token = lexer.lex(); token.kind != Token::End; token = lexer.lex())
    tokens.push_back(token);
  return tokens;
}

/// Whether a blank belongs between two tokens of a type or expression.
static bool needsBlank(const Token &left, const Token &right) {
  auto isWord = [](const Token &token) {
    return token.kind != Token::Punctuator;
  };
  if (isWord(left))
    return isWord(right) || right.is("*") || right.is("&") || right.is("&&") ||
           right.is("=");
  return left.is(",") || left.is("=") || right.is("=") ||
         (left.is(">") && isWord(right)) ||
         (left.is(">") && (right.is("*") || right.is("&"))) ||
         (left.is("...") && isWord(right));
}

std::string tl::cuda::join(ArrayRef<Token> tokens) {
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i && needsBlank(tokens[i - 1], tokens[i]))
      text += ' ';
    text += tokens[i].text;
  }
  return text;
}
