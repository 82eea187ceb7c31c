//===- Preprocessor.cpp - Directives and macros ---------------------------===//
//
// Phase 4 of translation ([cpp]), with two differences. A condition on
// something that the text does not say is unknown, and then all branches come
// out. And it never gives up or runs away: nothing here recurses with the text,
// and macros have a budget, so that a text of a kilobyte cannot ask for a
// terabyte.
//
//===----------------------------------------------------------------------===//

#include "Preprocessor.h"

#include "Expressions.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace tl::cuda;

/// Deeper than real headers include each other; compilers stop at 200.
static constexpr size_t maxIncludeDepth = 64;

/// How deep calls of macros in arguments of macros are expanded.
static constexpr unsigned maxExpansionDepth = 64;

Preprocessor::Preprocessor(const ScanOptions &options) : options(options) {}

Location Preprocessor::locate(const Token &token) const {
  return files[token.file].locate(token.offset);
}

void Preprocessor::report(const Twine &message, const Token &token) {
  problems.push_back({message.str(), locate(token)});
}

//===----------------------------------------------------------------------===//
// Files and lines
//===----------------------------------------------------------------------===//

void Preprocessor::addFile(std::string path, StringRef text) {
  files.emplace_back(std::move(path), text);
  uint16_t file = files.size() - 1;
  readers.push_back(
      {Lexer(files.back(), file, saver), std::nullopt, conditionals.size()});
}

/// Replaces all but newlines by blanks.
static void blank(MutableArrayRef<char> text) {
  for (char &c : text)
    if (c != '\n' && c != '\r')
      c = ' ';
}

/// A comment as the code that it once was, or may be again.
static std::string uncomment(StringRef text, const Comment &comment) {
  std::string code = text.slice(comment.begin, comment.end).str();
  if (!comment.isLine)
    return code;
  for (size_t line = code.find('\n'); line != std::string::npos;
       line = code.find('\n', line + 1)) {
    size_t slashes = code.find("//", line);
    if (slashes != std::string::npos)
      blank({code.data() + slashes, 2});
  }
  return code;
}

void Preprocessor::closeFile() {
  Lexer &lexer = readers.back().lexer;
  uint16_t file = lexer.getFile();
  StringRef text = files[file].text;
  Token end;
  end.file = file;
  if (lexer.openComment) {
    end.offset = *lexer.openComment;
    report("this comment has no end", end);
  }
  end.offset = text.size();
  for (; conditionals.size() > readers.back().conditionalsBelow;
       conditionals.pop_back()) {
    report("this `#" + conditionals.back().directive.text + "` has no `#endif`",
           conditionals.back().directive);
    leaveBranch(conditionals.back(), text.size());
  }
  for (const Comment &comment : lexer.comments)
    hidden.push_back(
        {HiddenEntry::Comment, uncomment(text, comment), file, comment.begin});
  readers.pop_back();
}

Token Preprocessor::lexRaw() {
  Reader &reader = readers.back();
  if (!reader.lookahead)
    return reader.lexer.lex();
  Token token = *reader.lookahead;
  reader.lookahead.reset();
  return token;
}

/// The rest of a directive.
std::vector<Token> Preprocessor::readLine() {
  std::vector<Token> line;
  while (true) {
    Token token = lexRaw();
    if (token.startsLine) {
      readers.back().lookahead = token;
      return line;
    }
    line.push_back(token);
  }
}

/// The next token of the files that is compiled, or may be.
Token Preprocessor::nextToken() {
  while (true) {
    Token token = lexRaw();
    if (token.kind == Token::End) {
      closeFile();
      if (readers.empty())
        return token;
      continue;
    }
    if (token.startsLine && token.is("#")) {
      runDirective(token);
      if (!readers.empty())
        readers.back().sawToken = true;
      continue;
    }
    readers.back().sawToken = true;
    if (!isLive())
      continue;
    token.isConditional = isConditional();
    if (token.isUnterminated)
      report(token.kind == Token::String ? "this string has no end"
                                         : "this character has no end",
             token);
    return token;
  }
}

std::vector<Token> Preprocessor::run(StringRef text) {
  definePredefined();
  addFile("", text);
  // It is read first: the files being read are a stack.
  if (!options.prelude.empty())
    addFile("<prelude>", options.prelude);
  Stream stream;
  stream.readsFiles = true;
  Token token;
  do {
    token = pull(stream);
    if (token.isIdentifier() && expand(stream, token))
      continue;
    output.push_back(token);
    openBraces += token.is("{") - token.is("}");
  } while (token.kind != Token::End);
  return std::move(output);
}

//===----------------------------------------------------------------------===//
// Directives
//===----------------------------------------------------------------------===//

void Preprocessor::runDirective(const Token &hash) {
  std::vector<Token> line = readLine();
  if (line.empty())
    return;
  Token directive = line.front();
  line.erase(line.begin());
  StringRef name = directive.text;
  if (is_contained({"if", "ifdef", "ifndef", "elif", "elifdef", "elifndef",
                    "else", "endif"},
                   name))
    return runConditional(name, hash, line);
  if (!isLive())
    return;
  if (name == "define")
    define(line);
  else if (name == "undef" && !line.empty())
    undefine(line.front().text);
  else if (name == "include" || name == "include_next" || name == "import")
    include(hash, std::move(line));
  else if (name == "pragma" && !line.empty() && line.front().is("once"))
    onceFiles.insert(files[hash.file].path);
}

void Preprocessor::define(ArrayRef<Token> line) {
  if (line.empty() || !line.front().isIdentifier())
    return;
  StringRef name = line.front().text;
  line = line.drop_front();
  Macro macro;
  macro.isConditional = isConditional();
  if (!line.empty() && line.front().is("(") && !line.front().hasSpaceBefore) {
    macro.isFunction = true;
    line = line.drop_front();
    while (!line.empty() && !line.front().is(")")) {
      const Token &token = line.front();
      if (token.isIdentifier()) {
        macro.parameters.push_back(token.text);
      } else if (token.is("...")) {
        macro.isVariadic = true;
        // `args...`, as GNU writes it, names the list.
        if (line.size() < 2 || macro.parameters.empty() ||
            token.hasSpaceBefore || !(&token)[-1].isIdentifier())
          macro.parameters.push_back("__VA_ARGS__");
      }
      line = line.drop_front();
    }
    if (line.empty())
      return;
    line = line.drop_front();
  }
  macro.body = line.vec();

  auto [it, inserted] = macros.try_emplace(name, macro);
  if (inserted || !(macro.isConditional || it->second.isAmbiguous)) {
    it->second = std::move(macro);
    return;
  }
  // One of several branches: the one that makes kernels counts.
  auto makesKernels = [](const Macro &macro) {
    return llvm::any_of(macro.body,
                        [](const Token &t) { return t.is("__global__"); });
  };
  bool isSame = llvm::equal(
      it->second.body, macro.body,
      [](const Token &a, const Token &b) { return a.text == b.text; });
  if (isSame)
    return;
  if (!makesKernels(it->second))
    it->second = std::move(macro);
  it->second.isAmbiguous = !makesKernels(it->second);
}

void Preprocessor::undefine(StringRef name) {
  if (!isConditional()) {
    macros.erase(name);
    undefined.insert(name);
  } else if (auto it = macros.find(name); it != macros.end()) {
    it->second.isAmbiguous = true;
  }
}

/// The options that define macros, and what every CUDA compiler defines.
void Preprocessor::definePredefined() {
  std::string text = "#define __CUDACC__ 1\n";
  auto add = [&](StringRef definition) {
    auto [name, value] = definition.split('=');
    text += ("#define " + name + " " +
             (definition.contains('=') ? value : StringRef("1")) + "\n")
                .str();
  };
  for (size_t i = 0; i < options.flags.size(); ++i) {
    StringRef flag = options.flags[i];
    StringRef next =
        i + 1 < options.flags.size() ? StringRef(options.flags[i + 1]) : "";
    if (flag == "-D" || flag == "--define-macro")
      add(next);
    else if (flag == "-U" || flag == "--undefine-macro")
      text += ("#undef " + next + "\n").str();
    else if (flag.consume_front("--define-macro=") || flag.consume_front("-D"))
      add(flag);
    else if (flag.consume_front("--undefine-macro=") ||
             flag.consume_front("-U"))
      text += ("#undef " + flag + "\n").str();
  }
  addFile("<options>", saver.save(text));
  Token end = nextToken();
  assert(end.kind == Token::End && "options are directives");
  (void)end;
}

void Preprocessor::include(const Token &directive, std::vector<Token> line) {
  if (line.empty())
    return;
  Include include;
  include.isConditional = isConditional();
  include.location = locate(directive);
  bool isComputed = line.front().isIdentifier();
  if (isComputed)
    line = expandAll(std::move(line));
  if (line.empty())
    return;
  const Token &first = line.front();
  if (first.kind == Token::String && first.text.size() >= 2) {
    include.kind = IncludeKind::Quoted;
    include.name = first.text.drop_front().drop_back().str();
  } else if (first.is("<")) {
    include.kind = IncludeKind::Angled;
    for (const Token &token : ArrayRef(line).drop_front()) {
      if (token.is(">"))
        break;
      include.name += token.text;
    }
  } else {
    include.kind = IncludeKind::Computed;
    include.name = join(line);
  }
  includes.push_back(include);

  std::optional<Header> header;
  if (options.include && include.kind != IncludeKind::Computed)
    header = options.include(include, include.location.file);
  if (!header) {
    sawUnseenHeader = true;
    return;
  }
  if (onceFiles.contains(header->path))
    return;
  if (readers.size() >= maxIncludeDepth || files.size() >= UINT16_MAX)
    return report("headers include each other without end", directive);
  addFile(std::move(header->path), header->text);
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

bool Preprocessor::isLive() const {
  return conditionals.empty() || conditionals.back().isLive;
}

bool Preprocessor::isConditional() const {
  return !conditionals.empty() && conditionals.back().isConditional;
}

/// Whether a header that the scanner does not see, or the compiler, may define
/// `name`.
bool Preprocessor::mayBeDefinedElsewhere(StringRef name) const {
  if (undefined.contains(name))
    return false;
  bool isReserved = name.starts_with("__") ||
                    (name.size() > 1 && name[0] == '_' && isUpper(name[1]));
  return sawUnseenHeader || isReserved;
}

Preprocessor::Truth Preprocessor::isDefined(StringRef name) const {
  if (auto it = macros.find(name); it != macros.end())
    return it->second.isConditional || it->second.isAmbiguous ? Truth::Unknown
                                                              : Truth::Yes;
  return mayBeDefinedElsewhere(name) ? Truth::Unknown : Truth::No;
}

/// The value of the condition of `#if`.
Preprocessor::Truth Preprocessor::decide(std::vector<Token> line) {
  static constexpr StringLiteral unknown = "<unknown>";
  std::vector<Token> tokens;
  for (size_t i = 0; i < line.size(); ++i) {
    Token token = line[i];
    if (token.is("defined")) {
      bool hasParentheses = i + 1 < line.size() && line[i + 1].is("(");
      i += hasParentheses ? 2 : 1;
      Truth truth = i < line.size() ? isDefined(line[i].text) : Truth::Unknown;
      i += hasParentheses;
      token.kind = truth == Truth::Unknown ? Token::Identifier : Token::Number;
      token.text = truth == Truth::Unknown ? unknown
                   : truth == Truth::Yes   ? StringLiteral("1")
                                           : StringLiteral("0");
    } else if (auto it = macros.find(token.text);
               it != macros.end() && it->second.isConditional) {
      token.text = unknown;
    }
    tokens.push_back(token);
  }
  std::optional<int64_t> value =
      evaluate(expandAll(std::move(tokens)),
               [&](StringRef name) -> std::optional<int64_t> {
                 if (name == unknown || macros.contains(name) ||
                     mayBeDefinedElsewhere(name))
                   return std::nullopt;
                 return 0;
               });
  if (!value)
    return Truth::Unknown;
  return *value ? Truth::Yes : Truth::No;
}

uint32_t Preprocessor::getNextOffset() const {
  const Reader &reader = readers.back();
  assert(reader.lookahead && "a directive ends where the next line starts");
  return reader.lookahead->offset;
}

void Preprocessor::runConditional(StringRef name, const Token &hash,
                                  const std::vector<Token> &line) {
  auto decideBranch = [&] {
    if (!name.ends_with("def"))
      return decide(line);
    Truth truth = line.empty() ? Truth::Unknown : isDefined(line.front().text);
    if (!name.ends_with("ndef") || truth == Truth::Unknown)
      return truth;
    return truth == Truth::Yes ? Truth::No : Truth::Yes;
  };

  if (name.starts_with("if")) {
    Conditional conditional;
    conditional.directive = hash;
    conditional.directive.text = name;
    conditional.parentIsLive = isLive();
    conditional.parentIsConditional = isConditional();
    Truth truth = conditional.parentIsLive ? decideBranch() : Truth::No;
    // The guard of a header, or of a text that is also one.
    if (truth == Truth::Unknown && name == "ifndef" && !readers.back().sawToken)
      truth = Truth::Yes;
    enterBranch(conditional, truth);
    conditionals.push_back(conditional);
    return;
  }
  if (conditionals.size() <= readers.back().conditionalsBelow)
    return report("this `#" + name + "` has no `#if`", hash);
  Conditional &conditional = conditionals.back();
  leaveBranch(conditional, hash.offset);
  if (name == "endif") {
    conditionals.pop_back();
    return;
  }
  if (conditional.sawElse)
    report("this `#" + name + "` comes after `#else`", hash);
  conditional.sawElse |= name == "else";
  bool isOut = conditional.isTaken || !conditional.parentIsLive;
  enterBranch(conditional, isOut            ? Truth::No
                           : name == "else" ? Truth::Yes
                                            : decideBranch());
}

void Preprocessor::enterBranch(Conditional &conditional, Truth truth) {
  conditional.isLive = conditional.parentIsLive && truth != Truth::No;
  conditional.isTaken |= truth == Truth::Yes;
  conditional.isUndecided |= truth == Truth::Unknown;
  conditional.isConditional =
      conditional.parentIsConditional || conditional.isUndecided;
  conditional.start = output.size();
  conditional.openBraces = openBraces;
  conditional.textStart = getNextOffset();
}

void Preprocessor::leaveBranch(Conditional &conditional, uint32_t textEnd) {
  if (!conditional.isLive) {
    uint16_t file = conditional.directive.file;
    StringRef text = files[file].text.slice(conditional.textStart, textEnd);
    if (conditional.parentIsLive && text.contains("__global__"))
      hidden.push_back(
          {HiddenEntry::Branch, text.str(), file, conditional.textStart});
    return;
  }
  if (!conditional.isUndecided)
    return;
  // Branches that open a brace each stand for one brace: the first one speaks
  // for the others.
  int64_t balance = openBraces - conditional.openBraces;
  if (!conditional.balance) {
    conditional.balance = balance;
  } else if (balance != 0 || *conditional.balance != 0) {
    output.resize(std::min(output.size(), conditional.start));
    openBraces = conditional.openBraces;
  }
}

//===----------------------------------------------------------------------===//
// Macros
//===----------------------------------------------------------------------===//

/// Takes `amount` from the budget; false, after the first time with a report,
/// when it is used up.
bool Preprocessor::spend(size_t amount, const Token &place) {
  if (budget == 0)
    return false;
  if (amount < budget) {
    budget -= amount;
    return true;
  }
  budget = 0;
  report("macros make too much text from here on; they are left alone", place);
  return false;
}

Token Preprocessor::pull(Stream &stream) {
  while (!stream.frames.empty()) {
    Frame &frame = stream.frames.back();
    if (frame.position < frame.tokens.size())
      return frame.tokens[frame.position++];
    stream.frames.pop_back();
  }
  return stream.readsFiles ? nextToken() : Token();
}

/// Puts the expansion of `name` in its place. Returns false if it has none
/// here.
bool Preprocessor::expand(Stream &stream, Token &name) {
  // Real expansions are a few levels deep. The bound keeps the search below
  // short.
  static constexpr size_t maxFrames = 256;
  auto it = macros.find(name.text);
  if (it == macros.end() || it->second.isAmbiguous || name.isPainted ||
      budget == 0 || stream.frames.size() > maxFrames)
    return false;
  if (llvm::any_of(stream.frames, [&](const Frame &frame) {
        return frame.macro == it->first();
      })) {
    name.isPainted = true;
    return false;
  }
  // A directive between a name and its arguments may redefine it.
  StringRef macroName = it->first();
  Macro macro = it->second;
  std::vector<std::vector<Token>> arguments;
  if (macro.isFunction && !readArguments(stream, name, macro, arguments))
    return false;
  std::vector<Token> tokens = substitute(name, macro, arguments);
  if (!spend(tokens.size() + 1, name))
    tokens.clear();
  stream.frames.push_back({std::move(tokens), 0, macroName});
  return true;
}

/// Reads the arguments of a call. Returns false, with everything put back, if
/// there are none.
bool Preprocessor::readArguments(Stream &stream, const Token &name,
                                 const Macro &macro,
                                 std::vector<std::vector<Token>> &arguments) {
  if (callsAreBroken)
    return false;
  std::vector<Token> read = {pull(stream)};
  auto putBack = [&] {
    stream.frames.push_back({std::move(read), 0, ""});
    return false;
  };
  if (!read.front().is("("))
    return putBack();
  arguments.emplace_back();
  for (unsigned open = 1; open;) {
    Token token = pull(stream);
    read.push_back(token);
    if (token.kind == Token::End) {
      // Every later call would read to the end as well.
      callsAreBroken = true;
      report("the arguments of macro `" + name.text + "` have no end", name);
      return putBack();
    }
    open += token.is("(") - token.is(")");
    bool isRest =
        macro.isVariadic && arguments.size() >= macro.parameters.size();
    if (open == 1 && token.is(",") && !isRest)
      arguments.emplace_back();
    else if (open)
      arguments.back().push_back(token);
  }
  if (!spend(read.size(), name))
    return putBack();
  return true;
}

/// The body of `macro` with its arguments in place.
std::vector<Token>
Preprocessor::substitute(const Token &name, const Macro &macro,
                         const std::vector<std::vector<Token>> &arguments) {
  auto getParameter = [&](const Token &token) -> std::optional<size_t> {
    auto it = llvm::find(macro.parameters, token.text);
    if (!macro.isFunction || !token.isIdentifier() ||
        it == macro.parameters.end())
      return std::nullopt;
    return it - macro.parameters.begin();
  };
  auto getArgument = [&](size_t i) {
    return i < arguments.size() ? arguments[i] : std::vector<Token>();
  };
  bool hasRest =
      macro.isVariadic && !getArgument(macro.parameters.size() - 1).empty();

  // `__VA_OPT__(…)` is its contents or nothing.
  std::vector<Token> body;
  for (size_t i = 0; i < macro.body.size(); ++i) {
    bool isOption = macro.isVariadic && macro.body[i].is("__VA_OPT__") &&
                    i + 1 < macro.body.size() && macro.body[i + 1].is("(");
    if (!isOption) {
      body.push_back(macro.body[i]);
      continue;
    }
    unsigned open = 0;
    for (++i; i < macro.body.size(); ++i) {
      const Token &token = macro.body[i];
      bool isOuter = open == 0 || (open == 1 && token.is(")"));
      open += token.is("(") - token.is(")");
      if (!isOuter && hasRest)
        body.push_back(token);
      if (open == 0)
        break;
    }
  }

  std::vector<std::optional<std::vector<Token>>> expanded(arguments.size());
  auto getOperand = [&](Token token, bool isRaw) -> std::vector<Token> {
    std::optional<size_t> parameter = getParameter(token);
    if (!parameter) {
      // What a macro makes stands where it was called.
      token.file = name.file;
      token.offset = name.offset;
      token.isConditional = name.isConditional || macro.isConditional;
      return {token};
    }
    if (isRaw || *parameter >= arguments.size())
      return getArgument(*parameter);
    if (!expanded[*parameter])
      expanded[*parameter] = expandAll(arguments[*parameter]);
    return *expanded[*parameter];
  };

  std::vector<Token> result;
  bool leftIsEmpty = true;
  for (size_t i = 0; i < body.size(); ++i) {
    const Token &token = body[i];
    if (!spend(1, name))
      break;
    bool hasNext = i + 1 < body.size();
    if (macro.isFunction && token.is("#") && hasNext &&
        getParameter(body[i + 1])) {
      result.push_back(stringify(getArgument(*getParameter(body[++i]))));
      leftIsEmpty = false;
      continue;
    }
    if (!token.is("##") || !hasNext) {
      bool isPasted = hasNext && body[i + 1].is("##");
      std::vector<Token> operand = getOperand(token, isPasted);
      if (!spend(operand.size(), name))
        break;
      llvm::append_range(result, operand);
      leftIsEmpty = operand.empty();
      continue;
    }
    std::vector<Token> right = getOperand(body[++i], /*isRaw=*/true);
    // GNU: `, ## __VA_ARGS__` drops the comma if there is nothing after it.
    bool isRest = macro.isVariadic &&
                  getParameter(body[i]) == macro.parameters.size() - 1;
    if (!result.empty() && result.back().is(",") && isRest) {
      if (right.empty())
        result.pop_back();
    } else if (!right.empty() && !leftIsEmpty && !result.empty()) {
      result.back() = paste(result.back(), right.front());
      right.erase(right.begin());
    }
    leftIsEmpty = leftIsEmpty && right.empty();
    if (!spend(right.size(), name))
      break;
    llvm::append_range(result, right);
  }
  return result;
}

std::vector<Token> Preprocessor::expandAll(std::vector<Token> tokens) {
  if (expansionDepth >= maxExpansionDepth)
    return tokens;
  ++expansionDepth;
  Stream stream;
  stream.frames.push_back({std::move(tokens), 0, ""});
  std::vector<Token> result;
  bool wereBroken = callsAreBroken;
  for (Token token = pull(stream); token.kind != Token::End;
       token = pull(stream))
    if (!token.isIdentifier() || !expand(stream, token))
      result.push_back(token);
  callsAreBroken = wereBroken;
  --expansionDepth;
  return result;
}

Token Preprocessor::paste(const Token &left, const Token &right) {
  Token token = left;
  token.isPainted = false;
  if (!spend(left.text.size() + right.text.size(), left))
    return token;
  token.text = saver.save(left.text + right.text);
  char first = token.text.front();
  token.kind = isDigit(first)                   ? Token::Number
               : isAlpha(first) || first == '_' ? Token::Identifier
               : first == '"'                   ? Token::String
                                                : Token::Punctuator;
  return token;
}

Token Preprocessor::stringify(ArrayRef<Token> tokens) {
  Token token = tokens.empty() ? Token() : tokens.front();
  token.kind = Token::String;
  std::string text = "\"";
  for (const Token &part : tokens) {
    if (!spend(part.text.size(), part))
      break;
    text += part.text;
  }
  token.text = saver.save(text + "\"");
  return token;
}
