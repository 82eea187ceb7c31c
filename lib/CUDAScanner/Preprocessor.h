//===- Preprocessor.h - Directives and simple macros ------------*- C++ -*-===//

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

/// Follows the directives of a text. What it cannot decide it takes both ways:
/// tokens of both branches come out, marked as conditional.
class Preprocessor {
public:
  explicit Preprocessor(const ScanOptions &options) : options(options) {}

  /// Returns all tokens.
  std::vector<Token> run(llvm::StringRef text);

  Location locate(const Token &token) const {
    return files[token.file].locate(token.offset);
  }
  const SourceFile &getFile(uint16_t file) const { return files[file]; }

  std::vector<Problem> problems;
  std::vector<HiddenText> hidden;
  bool isOpaque = false;

private:
  struct Macro {
    bool isFunction = false;
    bool isVariadic = false;
    /// Different branches define it differently.
    bool isAmbiguous = false;
    uint16_t branch = 0;
    std::vector<llvm::StringRef> parameters;
    std::vector<Token> body;

    bool mentions(llvm::StringRef word) const;
  };

  enum class Truth { No, Yes, Unknown };

  struct Conditional {
    Token directive;
    /// The branch's tokens come out.
    bool isLive = false;
    /// A branch was taken for certain: later ones are not.
    bool isTaken = false;
    /// A condition so far could not be decided.
    bool isUndecided = false;
    /// As for tokens, of this branch and of what is around it.
    uint16_t branch = 0;
    uint16_t parentBranch;
    bool parentIsLive;
    bool sawElse = false;
    /// Where the branch's tokens start in the output, the braces open there,
    /// and the braces that the first branch opens more than it closes.
    size_t start = 0;
    int64_t openBraces = 0;
    std::optional<int64_t> balance;
    /// Where the branch's text starts, for kernels in it that are left out.
    uint32_t textStart = 0;
  };

  /// A directive: its `#`, what follows on the line, and where the next line
  /// starts.
  struct Directive {
    Token hash;
    llvm::StringRef name;
    std::vector<Token> line;
    uint32_t end;
    /// Nothing but comments stands before it in its file.
    bool isFirst;
    /// Conditionals that were open when the file started.
    size_t conditionalsBelow;
  };

  void read(std::string path, llvm::StringRef text, unsigned depth);
  void closeFile(const Lexer &lexer, size_t conditionalsBelow);
  void definePredefined();

  void run(const Directive &directive, unsigned depth);
  void define(llvm::ArrayRef<Token> line);
  void undefine(llvm::StringRef name);
  void include(const Directive &directive, unsigned depth);
  void missHeader();
  bool isGuard(const Directive &directive) const;
  void runConditional(const Directive &directive);
  void enterBranch(Conditional &conditional, Truth truth, uint32_t textStart);
  void leaveBranch(Conditional &conditional, uint32_t textEnd);
  bool isLive() const;
  uint16_t getBranch() const {
    return conditionals.empty() ? 0 : conditionals.back().branch;
  }

  Truth isDefined(llvm::StringRef name) const;
  bool mayBeDefinedElsewhere(llvm::StringRef name) const;
  Truth decide(llvm::ArrayRef<Token> line);

  void flush();
  std::vector<Token> expand(llvm::ArrayRef<Token> tokens,
                            llvm::SmallVectorImpl<llvm::StringRef> &within);
  void expandMacro(const Token &name, llvm::ArrayRef<Token> arguments,
                   llvm::SmallVectorImpl<llvm::StringRef> &within,
                   std::vector<Token> &result);

  void report(const llvm::Twine &message, const Token &token);

  const ScanOptions &options;
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver{allocator};
  std::deque<SourceFile> files;
  llvm::StringMap<Macro> macros;
  llvm::StringSet<> undefined;
  llvm::StringSet<> onceFiles;
  std::vector<Conditional> conditionals;
  /// Tokens since the last directive: macros mean one thing in them.
  std::vector<Token> pending;
  std::vector<Token> output;
  int64_t openBraces = 0;
  uint16_t branchCount = 0;
  bool sawUnseenHeader = false;
  /// Bytes of headers that may still be read; none once they are found to
  /// include each other without end.
  size_t includeBudget = 1u << 26;
  /// Tokens that macros may still make.
  size_t budget = 1u << 20;
};

} // namespace tl::cuda

#endif // TL_LIB_CUDASCANNER_PREPROCESSOR_H
