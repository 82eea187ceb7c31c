//===- Preprocessor.cpp - Directives and simple macros --------------------===//
//
// Directives are followed as in phase 4 of translation ([cpp]), except that a
// condition on something that the text does not say is unknown, and then all
// branches come out. Macros are expanded if they put tokens in place of tokens,
// and their call stands between two directives; one that pastes or makes
// strings is left alone, and the text is opaque if that one makes kernels.
//
// A text of a kilobyte cannot ask for a terabyte: expansion has a budget and a
// depth.
//
//===----------------------------------------------------------------------===//

#include "Preprocessor.h"

#include "Expressions.h"
#include "Parameters.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace tl::cuda;

/// Deeper than real headers include each other; compilers stop at 200.
static constexpr unsigned maxIncludeDepth = 64;

/// How deep macros are expanded within macros.
static constexpr size_t maxExpansionDepth = 32;

void Preprocessor::report(const Twine &message, const Token &token) {
  problems.push_back({message.str(), locate(token)});
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

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

/// Follows one file to its end.
void Preprocessor::read(std::string path, StringRef text, unsigned depth) {
  files.emplace_back(std::move(path), text);
  Lexer lexer(files.back(), files.size() - 1, saver);
  size_t conditionalsBelow = conditionals.size();
  bool isFirst = true;
  Token token = lexer.lex();
  while (token.kind != Token::End) {
    if (token.startsLine && token.is("#")) {
      Directive directive;
      directive.hash = token;
      directive.isFirst = isFirst;
      directive.conditionalsBelow = conditionalsBelow;
      for (token = lexer.lex(); !token.startsLine; token = lexer.lex())
        directive.line.push_back(token);
      directive.end = token.offset;
      run(directive, depth);
    } else {
      if (isLive()) {
        token.branch = getBranch();
        if (token.isUnterminated)
          report(token.kind == Token::String ? "this string has no end"
                                             : "this character has no end",
                 token);
        pending.push_back(token);
      }
      token = lexer.lex();
    }
    isFirst = false;
  }
  flush();
  closeFile(lexer, conditionalsBelow);
}

void Preprocessor::closeFile(const Lexer &lexer, size_t conditionalsBelow) {
  uint16_t file = lexer.getFile();
  StringRef text = files[file].text;
  if (lexer.openComment) {
    Token comment;
    comment.file = file;
    comment.offset = *lexer.openComment;
    report("this comment has no end", comment);
  }
  for (; conditionals.size() > conditionalsBelow; conditionals.pop_back()) {
    report("this `#" + conditionals.back().directive.text + "` has no `#endif`",
           conditionals.back().directive);
    leaveBranch(conditionals.back(), text.size());
  }
  for (const Comment &comment : lexer.comments)
    hidden.push_back(
        {HiddenEntry::Comment, uncomment(text, comment), file, comment.begin});
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
  read("<options>", saver.save(text), /*depth=*/0);
}

std::vector<Token> Preprocessor::run(StringRef text) {
  definePredefined();
  if (!options.prelude.empty())
    read("<prelude>", options.prelude, /*depth=*/0);
  read("", text, /*depth=*/0);
  return std::move(output);
}

//===----------------------------------------------------------------------===//
// Directives
//===----------------------------------------------------------------------===//

void Preprocessor::run(const Directive &given, unsigned depth) {
  if (given.line.empty())
    return;
  Directive directive = given;
  directive.name = given.line.front().text;
  directive.line.erase(directive.line.begin());
  StringRef name = directive.name;
  ArrayRef<Token> line = directive.line;
  if (is_contained({"if", "ifdef", "ifndef", "elif", "elifdef", "elifndef",
                    "else", "endif"},
                   name)) {
    flush();
    return runConditional(directive);
  }
  if (!isLive() || line.empty())
    return;
  if (name == "pragma" && line.front().is("once"))
    onceFiles.insert(files[directive.hash.file].path);
  if (!is_contained({"define", "undef", "include", "include_next", "import"},
                    name))
    return;
  flush();
  if (name == "define")
    define(line);
  else if (name == "undef")
    undefine(line.front().text);
  else
    include(directive, depth);
}

bool Preprocessor::Macro::mentions(StringRef word) const {
  return llvm::any_of(body, [&](const Token &t) { return t.is(word); });
}

void Preprocessor::define(ArrayRef<Token> line) {
  if (!line.front().isIdentifier())
    return;
  StringRef name = line.front().text;
  line = line.drop_front();
  Macro macro;
  macro.branch = getBranch();
  if (!line.empty() && line.front().is("(") && !line.front().hasSpaceBefore) {
    macro.isFunction = true;
    for (line = line.drop_front(); !line.empty() && !line.front().is(")");
         line = line.drop_front()) {
      if (line.front().isIdentifier())
        macro.parameters.push_back(line.front().text);
      macro.isVariadic |= line.front().is("...");
    }
    if (line.empty())
      return;
    line = line.drop_front();
    if (macro.isVariadic)
      macro.parameters.push_back("__VA_ARGS__");
  }
  macro.body = line.vec();

  auto [it, inserted] = macros.try_emplace(name, macro);
  if (inserted || !(macro.branch || it->second.isAmbiguous)) {
    it->second = std::move(macro);
    return;
  }
  bool isSame = llvm::equal(
      it->second.body, macro.body,
      [](const Token &a, const Token &b) { return a.text == b.text; });
  if (isSame)
    return;
  // One of several branches: the one that makes kernels counts.
  if (!it->second.mentions("__global__"))
    it->second = std::move(macro);
  it->second.isAmbiguous = !it->second.mentions("__global__");
}

void Preprocessor::undefine(StringRef name) {
  if (!getBranch()) {
    macros.erase(name);
    undefined.insert(name);
  } else if (auto it = macros.find(name); it != macros.end()) {
    it->second.isAmbiguous = true;
  }
}

/// What the tokens after `#include` say.
static Include parseInclude(ArrayRef<Token> line) {
  const Token &first = line.front();
  if (first.kind == Token::String && first.text.size() >= 2)
    return {Include::Quoted, first.text.drop_front().drop_back().str()};
  if (!first.is("<"))
    return {Include::Computed, join(line)};
  // Blanks count within the brackets, other than around them.
  std::string name;
  for (const Token &token : line.drop_front()) {
    if (token.is(">"))
      break;
    if (token.hasSpaceBefore && !name.empty())
      name += ' ';
    name += token.text;
  }
  return {Include::Angled, name};
}

std::string Include::str() const {
  return kind == Quoted   ? "\"" + name + "\""
         : kind == Angled ? "<" + name + ">"
                          : name;
}

std::vector<Include> tl::cuda::listIncludes(StringRef text) {
  BumpPtrAllocator allocator;
  StringSaver saver(allocator);
  SourceFile source("", text);
  Lexer lexer(source, /*file=*/0, saver);
  std::vector<Include> includes;
  for (Token token = lexer.lex(); token.kind != Token::End;) {
    bool isDirective = token.startsLine && token.is("#");
    token = lexer.lex();
    if (!isDirective || token.startsLine ||
        !is_contained({"include", "include_next", "import"}, token.text))
      continue;
    std::vector<Token> line;
    for (token = lexer.lex(); !token.startsLine; token = lexer.lex())
      line.push_back(token);
    if (!line.empty())
      includes.push_back(parseInclude(line));
  }
  return includes;
}

/// From here on any macro may be defined.
void Preprocessor::missHeader() {
  sawUnseenHeader = true;
  undefined.clear();
}

void Preprocessor::include(const Directive &directive, unsigned depth) {
  Include include = parseInclude(directive.line);
  isOpaque |= include.kind == Include::Computed;
  std::optional<Header> header;
  if (options.include && include.kind != Include::Computed)
    header = options.include(include, files[directive.hash.file].path);
  if (!header)
    return missHeader();
  if (onceFiles.contains(header->path))
    return;
  bool isEndless = depth >= maxIncludeDepth || files.size() >= UINT16_MAX ||
                   header->text.size() > includeBudget;
  if (isEndless) {
    if (includeBudget)
      report("headers include each other without end", directive.hash);
    includeBudget = 0;
    return missHeader();
  }
  includeBudget -= header->text.size();
  read(std::move(header->path), header->text, depth + 1);
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

bool Preprocessor::isLive() const {
  return conditionals.empty() || conditionals.back().isLive;
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
    return it->second.branch || it->second.isAmbiguous ? Truth::Unknown
                                                       : Truth::Yes;
  return mayBeDefinedElsewhere(name) ? Truth::Unknown : Truth::No;
}

/// The value of the condition of `#if`.
Preprocessor::Truth Preprocessor::decide(ArrayRef<Token> line) {
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
               it != macros.end() && it->second.branch) {
      token.text = unknown;
    }
    tokens.push_back(token);
  }
  SmallVector<StringRef> within;
  std::optional<int64_t> value = evaluate(
      expand(tokens, within), [&](StringRef name) -> std::optional<int64_t> {
        if (name == unknown || macros.contains(name) ||
            mayBeDefinedElsewhere(name))
          return std::nullopt;
        return 0;
      });
  if (!value)
    return Truth::Unknown;
  return *value ? Truth::Yes : Truth::No;
}

/// Whether a directive is the `#ifndef` of a header, or of a text that is also
/// one: the first of its file, with a `#define` of the name on the next line.
bool Preprocessor::isGuard(const Directive &directive) const {
  if (directive.name != "ifndef" || !directive.isFirst ||
      directive.line.empty())
    return false;
  StringRef next = files[directive.hash.file]
                       .text.substr(directive.end)
                       .take_until([](char c) { return c == '\n'; });
  SmallVector<StringRef> words;
  next.ltrim().substr(1).split(words, ' ', /*MaxSplit=*/-1,
                               /*KeepEmpty=*/false);
  return next.ltrim().starts_with("#") && words.size() > 1 &&
         words[0] == "define" &&
         words[1].rtrim() == directive.line.front().text;
}

void Preprocessor::runConditional(const Directive &directive) {
  StringRef name = directive.name;
  ArrayRef<Token> line = directive.line;
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
    conditional.directive = directive.hash;
    conditional.directive.text = name;
    conditional.parentIsLive = isLive();
    conditional.parentBranch = getBranch();
    Truth truth = conditional.parentIsLive ? decideBranch() : Truth::No;
    if (truth == Truth::Unknown && isGuard(directive))
      truth = Truth::Yes;
    enterBranch(conditional, truth, directive.end);
    conditionals.push_back(conditional);
    return;
  }
  if (conditionals.size() <= directive.conditionalsBelow)
    return report("this `#" + name + "` has no `#if`", directive.hash);
  Conditional &conditional = conditionals.back();
  leaveBranch(conditional, directive.hash.offset);
  if (name == "endif") {
    conditionals.pop_back();
    return;
  }
  if (conditional.sawElse)
    report("this `#" + name + "` comes after `#else`", directive.hash);
  conditional.sawElse |= name == "else";
  bool isOut = conditional.isTaken || !conditional.parentIsLive;
  enterBranch(conditional,
              isOut            ? Truth::No
              : name == "else" ? Truth::Yes
                               : decideBranch(),
              directive.end);
}

void Preprocessor::enterBranch(Conditional &conditional, Truth truth,
                               uint32_t textStart) {
  conditional.isLive = conditional.parentIsLive && truth != Truth::No;
  conditional.isTaken |= truth == Truth::Yes;
  conditional.isUndecided |= truth == Truth::Unknown;
  // Beyond the last number branches are one, which is undecided as well.
  if (conditional.isUndecided && branchCount + 1 < Token::unexpanded)
    ++branchCount;
  conditional.branch =
      conditional.isUndecided ? branchCount : conditional.parentBranch;
  conditional.start = output.size();
  conditional.openBraces = openBraces;
  conditional.textStart = textStart;
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
    isOpaque |= llvm::any_of(
        ArrayRef(output).drop_front(std::min(output.size(), conditional.start)),
        [](const Token &t) { return t.is("__global__"); });
    output.resize(std::min(output.size(), conditional.start));
    openBraces = conditional.openBraces;
  }
}

//===----------------------------------------------------------------------===//
// Macros
//===----------------------------------------------------------------------===//

/// Puts out what stands since the last directive.
void Preprocessor::flush() {
  SmallVector<StringRef> within;
  std::vector<Token> tokens = expand(pending, within);
  pending.clear();
  for (const Token &token : tokens) {
    openBraces += token.is("{") - token.is("}");
    output.push_back(token);
  }
}

/// The position of the `)` that closes each `(`, or the end.
static std::vector<uint32_t> matchParentheses(ArrayRef<Token> tokens) {
  std::vector<uint32_t> matches(tokens.size(), tokens.size()), open;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].is("("))
      open.push_back(i);
    if (!tokens[i].is(")") || open.empty())
      continue;
    matches[open.back()] = i;
    open.pop_back();
  }
  return matches;
}

/// `tokens` with macros replaced, other than those of `within`, of which they
/// are part.
std::vector<Token> Preprocessor::expand(ArrayRef<Token> tokens,
                                        SmallVectorImpl<StringRef> &within) {
  std::vector<Token> result;
  std::vector<uint32_t> matches = matchParentheses(tokens);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token &token = tokens[i];
    auto it = token.isIdentifier() ? macros.find(token.text) : macros.end();
    if (it == macros.end() || is_contained(within, token.text)) {
      result.push_back(token);
      continue;
    }
    const Macro &macro = it->second;
    bool isCall = i + 1 < tokens.size() && tokens[i + 1].is("(") &&
                  matches[i + 1] < tokens.size();
    bool isSimple = !macro.mentions("#") && !macro.mentions("##") &&
                    !macro.mentions("__VA_OPT__");
    if ((macro.isFunction && !isCall) || !isSimple || macro.isAmbiguous ||
        within.size() >= maxExpansionDepth || budget == 0) {
      isOpaque |= macro.mentions("__global__");
      result.push_back(token);
      if (!macro.isFunction || isCall)
        result.back().branch = Token::unexpanded;
      continue;
    }
    ArrayRef<Token> arguments;
    if (macro.isFunction) {
      arguments = tokens.slice(i + 2, matches[i + 1] - i - 2);
      i = matches[i + 1];
    }
    expandMacro(token, arguments, within, result);
  }
  return result;
}

/// Adds the expansion of the macro `name` to `result`.
void Preprocessor::expandMacro(const Token &name, ArrayRef<Token> arguments,
                               SmallVectorImpl<StringRef> &within,
                               std::vector<Token> &result) {
  const auto &[key, macro] = *macros.find(name.text);
  budget -= std::min(budget, arguments.size() + 1);
  // Arguments are expanded where they stand, before they are part of the macro.
  std::vector<std::vector<Token>> values(1);
  within.push_back("");
  unsigned open = 0;
  for (const Token &token : expand(arguments, within)) {
    open += token.is("(");
    open -= open && token.is(")");
    bool isRest = macro.isVariadic && values.size() >= macro.parameters.size();
    if (!open && token.is(",") && !isRest)
      values.emplace_back();
    else
      values.back().push_back(token);
  }
  within.pop_back();

  std::vector<Token> body;
  for (Token token : macro.body) {
    auto parameter = llvm::find(macro.parameters, token.text);
    if (token.isIdentifier() && parameter != macro.parameters.end()) {
      size_t i = parameter - macro.parameters.begin();
      if (i < values.size())
        llvm::append_range(body, values[i]);
    } else {
      // What a macro makes stands where it was called.
      token.file = name.file;
      token.offset = name.offset;
      token.branch = macro.branch ? macro.branch : name.branch;
      body.push_back(token);
    }
    if (body.size() <= budget)
      continue;
    report("macros make too much text from here on; they are left alone", name);
    budget = 0;
    isOpaque = true;
    return;
  }
  budget -= body.size();
  within.push_back(key);
  llvm::append_range(result, expand(body, within));
  within.pop_back();
}
