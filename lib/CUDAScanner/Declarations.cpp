//===- Declarations.cpp - Kernels in the scopes of a text -----------------===//
//
// Walks namespaces and linkage blocks. Bodies of functions and classes are
// stepped over. Scopes are a stack, and brackets are matched once for the whole
// text, so that neither depth nor a missing bracket costs more than the text is
// long.
//
//===----------------------------------------------------------------------===//

#include "Parameters.h"
#include "Preprocessor.h"
#include "Types.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace tl::cuda;

namespace {

class DeclarationParser {
public:
  DeclarationParser(std::vector<Token> tokens, const Preprocessor &preprocessor,
                    Scan &result)
      : tokens(std::move(tokens)), preprocessor(preprocessor), result(result) {
    matchBrackets();
  }

  void run();

private:
  static constexpr uint32_t none = UINT32_MAX;

  struct Scope {
    /// Where its `}` is.
    uint32_t end;
    /// Length of `path` outside of it.
    size_t pathSize;
  };

  void matchBrackets();
  uint32_t skip(uint32_t i) const {
    return matches[i] == none ? i + 1 : matches[i] + 1;
  }
  bool is(uint32_t i, StringRef spelling) const {
    return i < tokens.size() && tokens[i].is(spelling);
  }
  ArrayRef<Token> slice(uint32_t begin, uint32_t end) const {
    return ArrayRef(tokens).slice(begin, end - begin);
  }

  void leaveScopes();
  void enterScope(StringRef name, uint32_t open);
  void parseNamespace();
  void parseTemplate();
  void parseAlias();
  void parseDeclaration();
  uint32_t skipToSemicolon(uint32_t i) const;

  void addEntry(ArrayRef<Token> head, bool isDefined);
  void merge(Entry entry);

  void addClass(ArrayRef<Token> declaration);
  void addType(StringRef name, Type type);
  Type lookup(StringRef name) const;

  std::vector<Token> tokens;
  /// The closing bracket of each opening one.
  std::vector<uint32_t> matches;
  const Preprocessor &preprocessor;
  Scan &result;

  uint32_t position = 0;
  std::vector<Scope> scopes;
  /// `a::b::`, without inline and anonymous namespaces.
  std::string path;
  std::vector<TemplateParameter> templateParameters;
  /// `template void f<int>(…)` or `template <> void f<int>(…)`.
  bool isExplicit = false;
  /// What `using`, `typedef`, `class` and `enum` give a name in any scope.
  StringMap<Type> types;
  StringMap<SmallVector<size_t, 1>> entriesByName;
  /// Instances of templates that the text may not declare.
  std::vector<Entry> instances;
};

} // namespace

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

/// A closing brace also closes the parentheses left open inside; a parenthesis
/// closes no brace.
void DeclarationParser::matchBrackets() {
  matches.assign(tokens.size(), none);
  std::vector<uint32_t> open;
  for (uint32_t i = 0; i < tokens.size(); ++i) {
    const Token &token = tokens[i];
    if (token.kind != Token::Punctuator)
      continue;
    if (token.is("(") || token.is("[") || token.is("{")) {
      open.push_back(i);
      continue;
    }
    StringRef opening = token.is(")")   ? "("
                        : token.is("]") ? "["
                        : token.is("}") ? "{"
                                        : "";
    if (opening.empty())
      continue;
    size_t depth = open.size();
    while (depth && !tokens[open[depth - 1]].is(opening) &&
           (opening == "{" || !tokens[open[depth - 1]].is("{")))
      --depth;
    if (!depth || !tokens[open[depth - 1]].is(opening)) {
      if (opening == "{")
        result.problems.push_back(
            {"this `}` closes nothing", preprocessor.locate(token)});
      continue;
    }
    matches[open[depth - 1]] = i;
    open.resize(depth - 1);
  }
  for (uint32_t i : open)
    if (tokens[i].is("{")) {
      result.problems.push_back(
          {"this `{` is not closed", preprocessor.locate(tokens[i])});
      break;
    }
}

/// Enters the scope that the brace at `open` opens. The name ends in `::`.
void DeclarationParser::enterScope(StringRef name, uint32_t open) {
  uint32_t end = matches[open] == none ? tokens.size() : matches[open];
  scopes.push_back({end, path.size()});
  position = open + 1;
  // Deeper scopes share a name: nobody writes them, and names that grow with
  // the text would take its square in memory.
  static constexpr size_t maxNamedScopes = 64;
  if (scopes.size() <= maxNamedScopes)
    path += name;
}

void DeclarationParser::leaveScopes() {
  while (!scopes.empty() && position >= scopes.back().end) {
    Scope scope = scopes.back();
    scopes.pop_back();
    path.resize(scope.pathSize);
    position = scope.end + 1;
  }
}

void DeclarationParser::run() {
  while (true) {
    leaveScopes();
    if (position >= tokens.size())
      break;
    const Token &token = tokens[position];
    if (token.is(";") || token.is("}")) {
      ++position;
      continue;
    }
    bool isInline = token.is("inline") && is(position + 1, "namespace");
    if (token.is("namespace") || isInline) {
      parseNamespace();
    } else if (token.is("template") ||
               (token.is("extern") && is(position + 1, "template"))) {
      parseTemplate();
      continue; // the declaration belongs to it
    } else if (token.is("using") || token.is("typedef")) {
      parseAlias();
    } else if (token.is("extern") && position + 1 < tokens.size() &&
               tokens[position + 1].kind == Token::String &&
               is(position + 2, "{")) {
      enterScope("", position + 2);
    } else {
      parseDeclaration();
    }
    templateParameters.clear();
    isExplicit = false;
  }
  for (Entry &instance : instances)
    if (!entriesByName.contains(StringRef(instance.name).split('<').first))
      result.entries.push_back(std::move(instance));
}

uint32_t DeclarationParser::skipToSemicolon(uint32_t i) const {
  while (i < tokens.size() && !tokens[i].is(";") && !tokens[i].is("}"))
    i = skip(i);
  return std::min<size_t>(i, tokens.size());
}

void DeclarationParser::parseNamespace() {
  bool isInline = tokens[position].is("inline");
  position += isInline ? 2 : 1;
  // [[attributes]] may stand before the name or after it.
  std::string name;
  uint32_t i = position;
  for (; i < tokens.size(); ++i) {
    if (tokens[i].is("[")) {
      i = skip(i) - 1;
    } else if (tokens[i].is("inline")) {
      isInline = true;
    } else if (tokens[i].isIdentifier()) {
      if (!isInline)
        name += tokens[i].text.str() + "::";
      isInline = false;
    } else if (!tokens[i].is("::")) {
      break;
    }
  }
  if (is(i, "{"))
    enterScope(name, i);
  else
    position = skipToSemicolon(i);
}

//===----------------------------------------------------------------------===//
// Templates
//===----------------------------------------------------------------------===//

static TemplateParameter parseTemplateParameter(ArrayRef<Token> tokens) {
  TemplateParameter parameter;
  for (const Token &token : tokens) {
    bool hasBlank = token.hasSpaceBefore || token.startsLine;
    if (!parameter.text.empty() && hasBlank)
      parameter.text += ' ';
    parameter.text += token.text;
  }
  parameter.isOptional = llvm::any_of(
      tokens, [](const Token &t) { return t.is("=") || t.is("..."); });
  parameter.isType = !tokens.empty() && (tokens.front().is("typename") ||
                                         tokens.front().is("class"));
  tokens = tokens.take_until([](const Token &t) { return t.is("="); });
  bool hasName = tokens.size() > 1 && tokens.back().isIdentifier() &&
                 !isTypeWord(tokens.back().text);
  if (hasName)
    parameter.name = tokens.back().text.str();
  return parameter;
}

/// `template <…>`, after which the declaration follows.
void DeclarationParser::parseTemplate() {
  position += tokens[position].is("extern") ? 2 : 1;
  if (!is(position, "<")) {
    isExplicit = true;
    return;
  }
  uint32_t end = position;
  int64_t open = 0;
  do {
    open += tokens[end].is("<") - tokens[end].is(">");
    end = skip(end);
  } while (open && end < tokens.size() && !tokens[end].is(";") &&
           !tokens[end].is("}"));
  uint32_t begin = std::exchange(position, end);
  if (open)
    return;
  SmallVector<ArrayRef<Token>> parts = splitAtCommas(slice(begin + 1, end - 1));
  for (ArrayRef<Token> part : parts)
    templateParameters.push_back(parseTemplateParameter(part));
  isExplicit |= parts.empty();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

void DeclarationParser::addType(StringRef name, Type type) {
  if (name.empty())
    return;
  auto [it, inserted] = types.try_emplace(name, type);
  const Type &other = it->second;
  bool isSame = other.kind == type.kind && other.bits == type.bits &&
                other.lanes == type.lanes && other.isSigned == type.isSigned &&
                (!type.pointee || type.pointee->text == other.pointee->text);
  // Scopes or branches that differ: it may be either.
  if (!isSame)
    it->second = Type();
}

/// The type that `name` means, if it can mean only one.
Type DeclarationParser::lookup(StringRef name) const {
  bool isParameter =
      llvm::any_of(templateParameters, [&](const TemplateParameter &parameter) {
        return parameter.name == name;
      });
  auto it = types.find(name);
  Type type = isParameter         ? Type()
              : it != types.end() ? it->second
                                  : getNamedType(name);
  // The name is what the user knows it by.
  type.text = name.str();
  return type;
}

/// `using name = type`, `typedef type name`; templates of aliases, structs and
/// lists of declarators stay unknown.
void DeclarationParser::parseAlias() {
  bool isUsing = tokens[position].is("using");
  uint32_t begin = position + 1;
  position = skipToSemicolon(position);
  ArrayRef<Token> range = slice(std::min(begin, position), position);
  auto find = [&](StringRef name) { return lookup(name); };
  if (isUsing) {
    ArrayRef<Token> aliased =
        range.drop_until([](const Token &t) { return t.is("="); });
    if (!aliased.empty())
      addType(range.front().text,
              templateParameters.empty()
                  ? parseParameter(aliased.drop_front(), find).type
                  : Type());
    return;
  }
  bool isKnown = llvm::none_of(
      range, [](const Token &t) { return t.is("{") || t.is(","); });
  for (ArrayRef<Token> part : splitAtCommas(range)) {
    Parameter alias = parseParameter(part, find);
    addType(alias.name, isKnown ? alias.type : Type());
  }
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// What stands before the parameters of a function, without attributes, which
/// have parentheses of their own.
static std::vector<Token> removeAttributes(ArrayRef<Token> range) {
  std::vector<Token> head;
  for (size_t i = 0; i < range.size(); ++i) {
    const Token &token = range[i];
    bool hasArguments = i + 1 < range.size() && range[i + 1].is("(");
    bool isAttribute =
        is_contained({"__launch_bounds__", "__cluster_dims__", "__block_size__",
                      "__maxnreg__", "__attribute__", "__align__", "alignas",
                      "__declspec", "noexcept"},
                     token.text);
    if (token.is("[") && i + 1 < range.size() && range[i + 1].is("["))
      i = skipBrackets(range, i) - 1;
    else if (isAttribute && hasArguments)
      i = skipBrackets(range, i + 1) - 1;
    else if (token.kind != Token::String)
      head.push_back(token);
  }
  return head;
}

/// The position of the `(` that opens a function's parameters, or the end.
static size_t findParameters(ArrayRef<Token> head) {
  size_t found = head.size();
  auto isShouted = [](StringRef name) {
    return llvm::none_of(name, [](char c) { return isLower(c); }) &&
           llvm::any_of(name, [](char c) { return isUpper(c); });
  };
  size_t start = 0;
  for (size_t i = 0; i < head.size() && !head[i].is("->"); ++i)
    if (head[i].is("void")) {
      start = i;
      break;
    }
  bool foundIsShouted = false;
  for (size_t i = start; i < head.size();) {
    if (head[i].is("=") || head[i].is("->"))
      break;
    if (!head[i].is("(")) {
      ++i;
      continue;
    }
    size_t end = skipBrackets(head, i);
    bool isCall = i > start &&
                  (head[i - 1].isIdentifier() || head[i - 1].is(">") ||
                   head[i - 1].is(")")) &&
                  !head[i - 1].is("void") && !head[i - 1].is("requires") &&
                  !head[i - 1].is("decltype");
    // Of several, the last; but a macro after the parameters, with arguments of
    // its own, is not the function.
    bool shouted = isCall && isShouted(head[i - 1].text);
    if (isCall && (found == head.size() || !shouted || foundIsShouted)) {
      found = i;
      foundIsShouted = shouted;
    }
    i = end;
  }
  return found;
}

/// A function, a variable or a class, up to its `;` or body.
void DeclarationParser::parseDeclaration() {
  uint32_t begin = position;
  bool hasInitializer = false, isDefined = false;
  uint32_t i = begin;
  for (; i < tokens.size(); i = skip(i)) {
    const Token &token = tokens[i];
    if (token.is(";") || token.is("}"))
      break;
    hasInitializer |= token.is("=");
    if (token.is("{") && !hasInitializer) {
      isDefined = true;
      break;
    }
  }
  uint32_t end = std::min<size_t>(i, tokens.size());
  position = isDefined ? skip(end) : std::max(end, begin + 1);
  ArrayRef<Token> range = slice(begin, end);
  ArrayRef<Token> declared =
      range.take_until([](const Token &t) { return t.is("="); });
  auto has = [&](auto... words) {
    return llvm::any_of(declared,
                        [&](const Token &t) { return (t.is(words) || ...); });
  };
  if (has("__global__", "__attribute__"))
    addEntry(range, isDefined);
  else if (isDefined && has("struct", "class", "union", "enum"))
    addClass(range);
}

/// Notes the name of a class or enumeration, the last before its bases.
void DeclarationParser::addClass(ArrayRef<Token> declaration) {
  std::vector<Token> head = removeAttributes(declaration);
  ArrayRef<Token> names = ArrayRef(head).take_until(
      [](const Token &t) { return t.is(":") || t.is("<"); });
  bool isFunction =
      llvm::any_of(names, [](const Token &t) { return t.is("("); });
  if (names.size() > 1 && names.back().is("final"))
    names = names.drop_back();
  if (!isFunction && !names.empty())
    addType(names.back().text, Type());
}

void DeclarationParser::addEntry(ArrayRef<Token> declaration, bool isDefined) {
  // `__attribute__((global))` is what it stands for in some compilers.
  bool isGlobal = false;
  for (size_t i = 0; i < declaration.size(); ++i)
    isGlobal |=
        declaration[i].is("__global__") ||
        (i && declaration[i].is("global") && declaration[i - 1].is("("));
  std::vector<Token> head = removeAttributes(declaration);
  ArrayRef<Token> range = head;
  size_t open = findParameters(range);
  size_t close = skipBrackets(range, open);
  if (!isGlobal || open == 0 || open >= range.size() || close > range.size() ||
      !range[close - 1].is(")"))
    return;

  // The name before the parentheses: `ns::f<int>`, or `(f)`.
  size_t nameEnd = open;
  std::string arguments;
  if (range[nameEnd - 1].is(">")) {
    size_t start = nameEnd - 1;
    int64_t depth = 0;
    do
      depth += range[start].is(">") - range[start].is("<");
    while (depth && start-- > 0);
    if (depth || start == 0)
      return;
    arguments = join(range.slice(start, nameEnd - start));
    nameEnd = start;
  } else if (range[nameEnd - 1].is(")") && nameEnd >= 3 &&
             range[nameEnd - 3].is("(")) {
    --nameEnd;
  }
  const Token &nameToken = range[nameEnd - 1];
  if (!nameToken.isIdentifier() || isTypeWord(nameToken.text)) {
    // A macro that is left alone makes the name.
    result.isOpaque = true;
    return;
  }
  size_t nameStart = nameEnd - 1;
  while (nameStart >= 2 && range[nameStart - 1].is("::") &&
         range[nameStart - 2].isIdentifier())
    nameStart -= 2;

  Entry entry;
  entry.name =
      path + join(range.slice(nameStart, nameEnd - nameStart)) + arguments;
  entry.isDefined = isDefined;
  entry.isConditional = nameToken.branch;
  entry.templateParameters = templateParameters;
  entry.location = preprocessor.locate(nameToken);
  auto find = [&](StringRef name) { return lookup(name); };
  ArrayRef<Token> parameters = range.slice(open + 1, close - open - 2);
  for (ArrayRef<Token> part : splitAtCommas(parameters)) {
    if (part.size() == 1 && part.front().is("void"))
      break;
    Parameter parameter = parseParameter(part, find);
    // Another branch may say something else of it, or give it another name; a
    // parameter that is all in one branch is there as it is, or not at all.
    bool isWhole = llvm::all_of(
        part, [&](const Token &t) { return t.branch == part.front().branch; });
    for (const Token &token : part) {
      if (token.branch == nameToken.branch)
        continue;
      entry.isConditional = true;
      parameter.type = makeUnknown(parameter.type.text);
      if (token.is(parameter.name) && !isWhole)
        parameter.name.clear();
    }
    entry.parameters.push_back(std::move(parameter));
  }
  if (!isExplicit && arguments.empty())
    merge(std::move(entry));
  else if (llvm::none_of(instances, [&](const Entry &other) {
             return other.name == entry.name;
           }))
    instances.push_back(std::move(entry));
}

/// `const` of a parameter itself is no part of the function's type.
static StringRef getTextWithoutConst(const Type &type) {
  StringRef text = type.text;
  if (!type.isConst)
    return text;
  if (!text.consume_back("const"))
    text.consume_front("const ");
  return text;
}

/// Whether two entries of one name are one function: their parameters have the
/// same types, and the same names where only one of the two is compiled.
static bool isSameFunction(const Entry &a, const Entry &b) {
  bool namesMatter =
      (a.isConditional && b.isConditional) || (a.isDefined && b.isDefined);
  return a.templateParameters.size() == b.templateParameters.size() &&
         llvm::equal(a.parameters, b.parameters,
                     [&](const Parameter &x, const Parameter &y) {
                       return getTextWithoutConst(x.type) ==
                                  getTextWithoutConst(y.type) &&
                              (!namesMatter || x.name == y.name);
                     });
}

void DeclarationParser::merge(Entry entry) {
  SmallVector<size_t, 1> &overloads = entriesByName[entry.name];
  for (size_t i : overloads) {
    Entry &known = result.entries[i];
    if (!isSameFunction(known, entry))
      continue;
    // A definition knows best, also whether it is compiled.
    if (entry.isDefined && !known.isDefined)
      known = std::move(entry);
    else if (entry.isDefined == known.isDefined)
      known.isConditional &= entry.isConditional;
    return;
  }
  overloads.push_back(result.entries.size());
  result.entries.push_back(std::move(entry));
}

//===----------------------------------------------------------------------===//
// The whole text
//===----------------------------------------------------------------------===//

/// Scans `text` and hands over what is left out of it.
static Scan scanText(StringRef text, Preprocessor &preprocessor) {
  Scan result;
  std::vector<Token> tokens = preprocessor.run(text);
  result.problems = std::move(preprocessor.problems);
  result.isOpaque = preprocessor.isOpaque;
  DeclarationParser(std::move(tokens), preprocessor, result).run();
  return result;
}

Scan tl::cuda::scan(StringRef text, const ScanOptions &options) {
  Preprocessor preprocessor(options);
  Scan result = scanText(text, preprocessor);
  for (const HiddenText &piece : preprocessor.hidden) {
    ScanOptions none;
    Preprocessor inner(none);
    Scan found = scanText(piece.text, inner);
    Location start = preprocessor.getFile(piece.file).locate(piece.offset);
    for (const Entry &entry : found.entries) {
      // The piece was read as a text of its own.
      Location location = entry.location;
      if (location.line == 1)
        location.column += start.column - 1;
      location.line += start.line - 1;
      location.file = start.file;
      result.hidden.push_back({piece.reason, entry.name, location});
    }
  }
  return result;
}
