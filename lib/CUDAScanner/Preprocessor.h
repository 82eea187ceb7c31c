//===- Preprocessor.h - Directives and macros -------------------*- C++ -*-===//

#ifndef TL_LIB_CUDASCANNER_PREPROCESSOR_H
#define TL_LIB_CUDASCANNER_PREPROCESSOR_H

#include "Lexer.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <deque>

namespace tl::cuda {

/// A text that the compiler leaves out and that mentions `__global__`.
struct HiddenText {
  HiddenEntry::Reason reason;
  /// As long as in the file; what is no code in it is blank.
  std::string text;
  uint16_t file;
  uint32_t offset;
};

/// Runs a text through phase 4 of translation. What it cannot decide it takes
/// both ways: tokens of both branches come out, marked as conditional.
class Preprocessor {
public:
  explicit Preprocessor(const ScanOptions &options);

  /// Returns all tokens, and an `End` after them.
  std::vector<Token> run(llvm::StringRef text);

  Location locate(const Token &token) const;
  const SourceFile &getFile(uint16_t file) const { return files[file]; }

  std::vector<Include> includes;
  std::vector<Problem> problems;
  std::vector<HiddenText> hidden;

private:
  struct Macro {
    bool isFunction = false;
    bool isVariadic = false;
    /// Different branches define it differently.
    bool isAmbiguous = false;
    bool isConditional = false;
    std::vector<llvm::StringRef> parameters;
    std::vector<Token> body;
  };

  /// A place that tokens come from: an expansion, or a list.
  struct Frame {
    std::vector<Token> tokens;
    size_t position = 0;
    /// The macro that is not expanded within, if any.
    llvm::StringRef macro;
  };

  /// Where tokens are read from, innermost last. The files are below them.
  struct Stream {
    std::vector<Frame> frames;
    bool readsFiles = false;
  };

  enum class Truth { No, Yes, Unknown };

  /// A file being read.
  struct Reader {
    Lexer lexer;
    /// The token after a directive.
    std::optional<Token> lookahead;
    /// Conditionals that were open when it started.
    size_t conditionalsBelow;
    bool sawToken = false;
  };

  struct Conditional {
    Token directive;
    /// The branch's tokens come out.
    bool isLive = false;
    /// A branch was taken for certain: later ones are not.
    bool isTaken = false;
    /// A condition so far could not be decided.
    bool isUndecided = false;
    bool isConditional = false;
    bool parentIsLive;
    bool parentIsConditional;
    bool sawElse = false;
    /// Where the branch's tokens start in the output, the braces open there,
    /// and the braces that the first branch opens more than it closes.
    size_t start = 0;
    int64_t openBraces = 0;
    std::optional<int64_t> balance;
    /// Where the branch's text starts, for kernels in it that are left out.
    uint32_t textStart = 0;
  };

  void addFile(std::string path, llvm::StringRef text);
  void closeFile();
  void definePredefined();

  Token lexRaw();
  uint32_t getNextOffset() const;
  Token nextToken();
  std::vector<Token> readLine();

  void runDirective(const Token &hash);
  void define(llvm::ArrayRef<Token> line);
  void undefine(llvm::StringRef name);
  void include(const Token &directive, std::vector<Token> line);
  void runConditional(llvm::StringRef name, const Token &hash,
                      const std::vector<Token> &line);
  void enterBranch(Conditional &conditional, Truth truth);
  void leaveBranch(Conditional &conditional, uint32_t textEnd);
  bool isLive() const;
  bool isConditional() const;

  Truth isDefined(llvm::StringRef name) const;
  bool mayBeDefinedElsewhere(llvm::StringRef name) const;
  Truth decide(std::vector<Token> line);

  Token pull(Stream &stream);
  bool expand(Stream &stream, Token &name);
  bool readArguments(Stream &stream, const Token &name, const Macro &macro,
                     std::vector<std::vector<Token>> &arguments);
  std::vector<Token>
  substitute(const Token &name, const Macro &macro,
             const std::vector<std::vector<Token>> &arguments);
  bool spend(size_t amount, const Token &place);
  std::vector<Token> expandAll(std::vector<Token> tokens);
  Token paste(const Token &left, const Token &right);
  Token stringify(llvm::ArrayRef<Token> tokens);

  void report(const llvm::Twine &message, const Token &token);

  const ScanOptions &options;
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver{allocator};
  std::deque<SourceFile> files;
  /// The files being read, innermost last.
  std::vector<Reader> readers;
  llvm::StringMap<Macro> macros;
  llvm::StringSet<> undefined;
  llvm::StringSet<> onceFiles;
  std::vector<Conditional> conditionals;
  std::vector<Token> output;
  int64_t openBraces = 0;
  bool callsAreBroken = false;
  bool sawUnseenHeader = false;
  unsigned expansionDepth = 0;
  /// Tokens that macros may still make or move.
  size_t budget = 4u << 20;
};

} // namespace tl::cuda

#endif // TL_LIB_CUDASCANNER_PREPROCESSOR_H
