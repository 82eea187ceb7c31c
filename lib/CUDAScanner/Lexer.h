//===- Lexer.h - Characters to tokens ---------------------------*- C++ -*-===//

#ifndef TL_LIB_CUDASCANNER_LEXER_H
#define TL_LIB_CUDASCANNER_LEXER_H

#include "tl/CUDAScanner/Scanner.h"

#include "llvm/Support/Allocator.h"
#include "llvm/Support/StringSaver.h"

namespace tl::cuda {

/// Small, because a text of any size becomes an array of them.
struct Token {
  enum Kind : uint8_t {
    Identifier,
    Number,
    String,
    Character,
    Punctuator,
    End
  };

  llvm::StringRef text;
  uint32_t offset = 0;
  uint16_t file = 0;
  /// The undecided branch of `#if` that it stands in, by number; 0 outside of
  /// any, and `unexpanded` for a macro that is left alone.
  uint16_t branch = 0;
  static constexpr uint16_t unexpanded = UINT16_MAX;
  Kind kind = End;
  /// First on its line.
  bool startsLine : 1 = false;
  bool hasSpaceBefore : 1 = false;
  /// A literal without its end.
  bool isUnterminated : 1 = false;

  bool is(llvm::StringRef spelling) const {
    return kind != String && kind != Character && text == spelling;
  }
  bool isIdentifier() const { return kind == Identifier; }
};

/// A text and where its lines start.
struct SourceFile {
  std::string path;
  llvm::StringRef text;
  /// Filled in by the first call of `locate`.
  mutable std::vector<uint32_t> lineStarts;

  /// `text` without its byte order mark.
  SourceFile(std::string path, llvm::StringRef text);

  Location locate(uint32_t offset) const;
};

/// What a comment holds, without its delimiters. Line comments that follow each
/// other are one.
struct Comment {
  uint32_t begin;
  uint32_t end;
  bool isLine;
};

/// Makes tokens of a text: phases 1 to 3 of translation. Digraphs come out as
/// what they stand for, `>` is always a token of its own.
class Lexer {
public:
  Lexer(const SourceFile &source, uint16_t file, llvm::StringSaver &saver)
      : text(source.text), file(file), saver(saver) {}

  Token lex();

  uint16_t getFile() const { return file; }

  /// Comments so far that mention `__global__`.
  std::vector<Comment> comments;

  /// The offset of a comment without an end, if the text ended in one.
  std::optional<uint32_t> openComment;

private:
  bool atEnd();
  char peek(unsigned ahead = 0);
  void advance();
  void skipSplices();
  void skipTo(llvm::StringRef characters);
  bool skipNewline();
  void skipSpace();
  void skipLineComment();
  void skipBlockComment();
  void noteComment(uint32_t begin, uint32_t end, bool isLine);

  void lexIdentifier();
  void lexNumber();
  void lexQuoted(Token &token, char quote);
  bool lexRawString(Token &token);
  void lexPunctuator(Token &token);

  llvm::StringRef text;
  uint16_t file;
  llvm::StringSaver &saver;
  uint32_t position = 0;
  bool isSpliced = false;
  bool startsLine = true;
  bool hasSpaceBefore = false;
};

/// All tokens of a short text, such as a name expression.
std::vector<Token> tokenize(const SourceFile &source, llvm::StringSaver &saver);

/// Tokens in one spelling, as a person would write a type: `const float *`.
std::string join(llvm::ArrayRef<Token> tokens);

} // namespace tl::cuda

#endif // TL_LIB_CUDASCANNER_LEXER_H
