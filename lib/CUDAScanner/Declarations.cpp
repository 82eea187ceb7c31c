//===- Declarations.cpp - Kernels, variables and the types they need ------===//
//
// Walks the scopes of a text: namespaces, linkage blocks and classes. Bodies of
// functions are stepped over. Scopes are a stack, and brackets are matched once
// for the whole text, so that neither depth nor a missing bracket costs more
// than the text is long.
//
//===----------------------------------------------------------------------===//

#include "Expressions.h"
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

  enum class ScopeKind { Namespace, Linkage, Class };

  struct Scope {
    ScopeKind kind;
    /// Where its `}` is.
    uint32_t end;
    /// Length of `path` and `visiblePath` outside of it.
    size_t pathSize;
    size_t visibleSize;
  };

  /// What stands before the parameters of a function or the name of a variable.
  struct Head {
    bool isGlobal = false;
    bool isVariable = false;
    bool isConstant = false;
    bool isConstexpr = false;
    bool isExternC = false;
    /// Without attributes and storage classes.
    std::vector<Token> tokens;
    /// The arguments of `__launch_bounds__` and its like.
    std::vector<std::pair<StringRef, ArrayRef<Token>>> attributes;
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
  bool isInClass() const {
    return !scopes.empty() && scopes.back().kind == ScopeKind::Class;
  }

  void leaveScopes();
  void enterScope(ScopeKind kind, StringRef name, StringRef visibleName,
                  uint32_t open);
  void parseNamespace();
  void parseTemplate();
  void parseUsing();
  void parseTypedef();
  bool parseClass();
  void parseEnum(uint32_t keyword, uint32_t end);
  void parseDeclaration();
  uint32_t skipToSemicolon(uint32_t i) const;

  Head readHead(ArrayRef<Token> range) const;
  void addEntry(const Head &head, bool isDefined);
  void addAttributes(Entry &entry, const Head &head) const;
  void merge(Entry entry, bool isExplicit);
  void addVariables(const Head &head);
  void addConstant(const Head &head);

  void addType(StringRef name, Type type);
  Type lookup(StringRef name) const;
  std::optional<int64_t> getConstant(ArrayRef<Token> range,
                                     bool mayBeConditional) const;

  std::vector<Token> tokens;
  /// The closing bracket of each opening one.
  std::vector<uint32_t> matches;
  const Preprocessor &preprocessor;
  Scan &result;

  uint32_t position = 0;
  std::vector<Scope> scopes;
  /// `a::b::`, with and without inline and anonymous namespaces.
  std::string path;
  std::string visiblePath;
  std::vector<TemplateParameter> templateParameters;
  bool isTemplate = false;
  /// `template void f<int>(…)` or `template <> void f<int>(…)`.
  bool isExplicit = false;
  StringMap<std::optional<int64_t>> constants;
  StringMap<SmallVector<size_t, 1>> entriesByName;
  StringSet<> variableNames;
  /// Instances of templates that the text does not declare.
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

/// Enters the scope that the brace at `open` opens. Names end in `::`.
void DeclarationParser::enterScope(ScopeKind kind, StringRef name,
                                   StringRef visibleName, uint32_t open) {
  uint32_t end = matches[open] == none ? tokens.size() : matches[open];
  scopes.push_back({kind, end, path.size(), visiblePath.size()});
  position = open + 1;
  // Deeper scopes share a name: nobody writes them, and names that grow with
  // the text would take its square in memory.
  static constexpr size_t maxNamedScopes = 64;
  if (scopes.size() > maxNamedScopes)
    return;
  path += name;
  visiblePath += visibleName;
}

void DeclarationParser::leaveScopes() {
  while (!scopes.empty() && position >= scopes.back().end) {
    Scope scope = scopes.back();
    scopes.pop_back();
    path.resize(scope.pathSize);
    visiblePath.resize(scope.visibleSize);
    position = scope.end + 1;
  }
}

void DeclarationParser::run() {
  while (true) {
    leaveScopes();
    if (position >= tokens.size() || tokens[position].kind == Token::End)
      break;
    const Token &token = tokens[position];
    if (token.is(";") || token.is("}")) {
      ++position;
      continue;
    }
    bool isAccess =
        token.is("public") || token.is("private") || token.is("protected");
    if (isAccess && is(position + 1, ":")) {
      position += 2;
      continue;
    }
    bool isInline = token.is("inline") && is(position + 1, "namespace");
    if (token.is("namespace") || isInline) {
      parseNamespace();
    } else if (token.is("template") ||
               (token.is("extern") && is(position + 1, "template"))) {
      parseTemplate();
      continue; // the declaration belongs to it
    } else if (token.is("using")) {
      parseUsing();
    } else if (token.is("typedef")) {
      parseTypedef();
    } else if (token.is("extern") && position + 1 < tokens.size() &&
               tokens[position + 1].kind == Token::String &&
               is(position + 2, "{")) {
      enterScope(tokens[position + 1].text == "\"C\"" ? ScopeKind::Linkage
                                                      : ScopeKind::Namespace,
                 "", "", position + 2);
    } else if (token.is("static_assert") || token.is("asm")) {
      position = skipToSemicolon(position);
    } else if (!parseClass()) {
      parseDeclaration();
    }
    templateParameters.clear();
    isTemplate = isExplicit = false;
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
  bool isVisible = !tokens[position].is("inline");
  position += isVisible ? 1 : 2;
  // [[attributes]] may stand before the name or after it.
  std::string name, visible;
  uint32_t i = position;
  bool isInline = !isVisible;
  for (; i < tokens.size(); ++i) {
    if (tokens[i].is("[")) {
      i = skip(i) - 1;
    } else if (tokens[i].is("inline")) {
      isInline = true;
    } else if (tokens[i].isIdentifier()) {
      std::string part = tokens[i].text.str() + "::";
      name += part;
      if (!isInline)
        visible += part;
      isInline = false;
    } else if (!tokens[i].is("::")) {
      break;
    }
  }
  if (!is(i, "{")) {
    position = skipToSemicolon(i);
    return;
  }
  enterScope(ScopeKind::Namespace, name, visible, i);
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
  auto equals = llvm::find_if(tokens, [](const Token &t) { return t.is("="); });
  parameter.hasDefault = equals != tokens.end();
  tokens = tokens.take_front(equals - tokens.begin());
  if (tokens.empty())
    return parameter;
  parameter.isPack =
      llvm::any_of(tokens, [](const Token &t) { return t.is("..."); });
  bool isType = tokens.front().is("typename") || tokens.front().is("class");
  // `typename T::type N` is a value.
  bool isQualified =
      llvm::any_of(tokens, [](const Token &t) { return t.is("::"); });
  parameter.kind = tokens.front().is("template")
                       ? TemplateParameterKind::Template
                   : isType && !isQualified ? TemplateParameterKind::Type
                                            : TemplateParameterKind::Value;
  bool hasName = tokens.back().isIdentifier() && tokens.size() > 1 &&
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
  } else {
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
    SmallVector<ArrayRef<Token>> parts =
        splitAtCommas(slice(begin + 1, end - 1));
    for (ArrayRef<Token> part : parts)
      templateParameters.push_back(parseTemplateParameter(part));
    isTemplate |= !parts.empty();
    isExplicit |= parts.empty();
  }
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

void DeclarationParser::addType(StringRef name, Type type) {
  if (name.empty())
    return;
  // The name is what the user knows it by.
  type.text = name.str();
  auto [it, inserted] = result.types.try_emplace(path + name.str(), type);
  if (inserted)
    return;
  // Branches that differ: it may be either.
  const Type &other = it->second;
  bool isSame = other.kind == type.kind && other.bits == type.bits &&
                other.lanes == type.lanes && other.isSigned == type.isSigned &&
                (!type.pointee || type.pointee->text == other.pointee->text);
  if (!isSame)
    it->second = makeUnknown(type.text);
}

Type DeclarationParser::lookup(StringRef name) const {
  for (auto [i, parameter] : llvm::enumerate(templateParameters)) {
    if (parameter.name != name)
      continue;
    Type type;
    type.kind = TypeKind::TemplateParameter;
    type.templateParameter = i;
    type.text = name.str();
    return type;
  }
  // From the innermost scope outwards.
  StringRef scope = path;
  StringRef relative = name;
  if (relative.consume_front("::"))
    scope = "";
  while (true) {
    auto it = result.types.find((scope + relative).str());
    if (it != result.types.end()) {
      Type type = it->second;
      type.text = name.str();
      return type;
    }
    if (scope.empty())
      break;
    size_t cut = scope.drop_back(2).rfind("::");
    scope = cut == StringRef::npos ? "" : scope.take_front(cut + 2);
  }
  return getNamedType(name);
}

void DeclarationParser::parseUsing() {
  uint32_t end = skipToSemicolon(position);
  ArrayRef<Token> range = slice(position, end);
  position = end;
  // `using name [[…]] = type`; templates of aliases stay unknown.
  auto equals = llvm::find_if(range, [](const Token &t) { return t.is("="); });
  if (range.size() < 2 || equals == range.end() || isTemplate)
    return;
  ArrayRef<Token> aliased = range.drop_front(equals - range.begin() + 1);
  auto find = [&](StringRef name) { return lookup(name); };
  Type type = parseParameter(aliased, find).type;
  if (llvm::any_of(aliased, [](const Token &t) { return t.is("<"); }) &&
      type.kind != TypeKind::Pointer)
    type = Type();
  addType(range[1].text, std::move(type));
}

void DeclarationParser::parseTypedef() {
  uint32_t end = skipToSemicolon(position);
  ArrayRef<Token> range = slice(position + 1, end);
  // `typedef struct { … } name`: a struct, whatever it is called.
  auto brace = llvm::find_if(range, [](const Token &t) { return t.is("{"); });
  if (brace != range.end()) {
    bool isEnum = range.front().is("enum");
    uint32_t open = position + 1 + (brace - range.begin());
    for (const Token &token : slice(skip(open), end))
      if (token.isIdentifier())
        addType(token.text, isEnum ? makeArithmeticType({"unsigned"}) : Type());
    position = end;
    return;
  }
  position = end;
  auto find = [&](StringRef name) { return lookup(name); };
  SmallVector<ArrayRef<Token>> parts = splitAtCommas(range);
  for (auto [i, part] : llvm::enumerate(parts)) {
    Parameter alias = parseParameter(part, find);
    // The second declarator lacks the specifiers; leave it unknown.
    if (i == 0)
      addType(alias.name, alias.type);
    else if (!part.empty())
      addType(part.back().text, Type());
  }
}

/// Enters a class, or steps over an enumeration. Returns false if neither is
/// defined here.
bool DeclarationParser::parseClass() {
  uint32_t i = position;
  std::string name;
  uint32_t keyword = none;
  for (; i < tokens.size(); ++i) {
    const Token &token = tokens[i];
    if (token.is("class") || token.is("struct") || token.is("union") ||
        token.is("enum")) {
      if (keyword == none || !tokens[keyword].is("enum"))
        keyword = i;
      continue;
    }
    if (keyword == none) {
      // Specifiers before the keyword, as in `__constant__ struct S {…} s`.
      if (!token.isIdentifier())
        return false;
      continue;
    }
    if (token.is("{"))
      break;
    if (token.is("[") || token.is("(")) {
      i = skip(i) - 1;
    } else if (token.is(":")) {
      // Bases, or the type of an enumeration.
      while (i < tokens.size() && !tokens[i].is("{") && !tokens[i].is(";"))
        i = skip(i);
      break;
    } else if (token.is("<")) {
      // The arguments of a specialisation, which are few.
      ArrayRef<Token> rest(tokens);
      rest = rest.slice(i, std::min<size_t>(rest.size() - i, 256));
      i += std::max<size_t>(skipAngles(rest, 0), 1) - 1;
    } else if (token.isIdentifier()) {
      // Attributes of macros come before the name: the last one is it.
      if (!token.is("final") && !token.is("alignas") && !token.is("__align__"))
        name = token.text.str();
    } else if (!token.is("::")) {
      return false;
    }
  }
  if (keyword == none || !is(i, "{"))
    return false;
  if (tokens[keyword].is("enum")) {
    parseEnum(keyword, i);
    return true;
  }
  addType(name, Type());
  // What it declares after its brace needs the specifiers before.
  bool isVariable = llvm::any_of(slice(position, keyword), [](const Token &t) {
    return t.is("__constant__") || t.is("__device__") || t.is("__managed__");
  });
  if (isVariable && matches[i] != none) {
    uint32_t end = skipToSemicolon(matches[i] + 1);
    std::vector<Token> declaration = slice(position, keyword).vec();
    Token type = tokens[keyword];
    type.text = "struct";
    type.kind = Token::Identifier;
    declaration.push_back(type);
    Token typeName = type;
    typeName.text = "unnamed";
    declaration.push_back(typeName);
    llvm::append_range(declaration, slice(matches[i] + 1, end));
    addVariables(readHead(declaration));
  }
  std::string qualifier = name.empty() ? "" : name + "::";
  enterScope(ScopeKind::Class, qualifier, qualifier, i);
  return true;
}

void DeclarationParser::parseEnum(uint32_t keyword, uint32_t open) {
  ArrayRef<Token> head = slice(keyword + 1, open);
  auto colon = llvm::find_if(head, [](const Token &t) { return t.is(":"); });
  Type type = makeArithmeticType({"int"});
  auto find = [&](StringRef name) { return lookup(name); };
  if (colon != head.end())
    type = parseParameter(head.drop_front(colon - head.begin() + 1), find).type;
  for (const Token &token :
       llvm::reverse(head.take_front(colon - head.begin()))) {
    if (!token.isIdentifier())
      continue;
    addType(token.text, type);
    break;
  }
  position = skip(open);
}

//===----------------------------------------------------------------------===//
// Functions and variables
//===----------------------------------------------------------------------===//

DeclarationParser::Head
DeclarationParser::readHead(ArrayRef<Token> range) const {
  Head head;
  head.isExternC =
      !scopes.empty() && llvm::any_of(scopes, [](const Scope &scope) {
        return scope.kind == ScopeKind::Linkage;
      });
  for (size_t i = 0; i < range.size(); ++i) {
    const Token &token = range[i];
    bool hasArguments = i + 1 < range.size() && range[i + 1].is("(");
    if (token.is("__global__")) {
      head.isGlobal = true;
    } else if (token.is("__constant__") || token.is("__device__") ||
               token.is("__managed__")) {
      head.isVariable = true;
      head.isConstant |= token.is("__constant__");
    } else if (token.is("extern") && i + 1 < range.size() &&
               range[i + 1].kind == Token::String) {
      head.isExternC |= range[i + 1].text == "\"C\"";
      ++i;
    } else if (token.is("[") && i + 1 < range.size() && range[i + 1].is("[")) {
      i = skipBrackets(range, i) - 1;
    } else if (hasArguments &&
               is_contained({"__launch_bounds__", "__cluster_dims__",
                             "__block_size__", "__maxnreg__", "__attribute__",
                             "__align__", "alignas", "__declspec", "noexcept"},
                            token.text)) {
      size_t end = skipBrackets(range, i + 1);
      ArrayRef<Token> arguments = range.slice(i + 2, end - i - 2);
      if (!arguments.empty() && end <= range.size() && arguments.back().is(")"))
        arguments = arguments.drop_back();
      head.attributes.push_back({token.text, arguments});
      // What `__global__` stands for in some compilers.
      if (token.is("__attribute__"))
        head.isGlobal |= llvm::any_of(arguments, [](const Token &t) {
          return t.is("global") || t.is("__global__");
        });
      i = end - 1;
    } else {
      head.isConstexpr |= token.is("constexpr") || token.is("const");
      head.tokens.push_back(token);
    }
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

void DeclarationParser::parseDeclaration() {
  uint32_t begin = position;
  bool hasInitializer = false, isDefined = false;
  uint32_t i = begin;
  for (; i < tokens.size() && tokens[i].kind != Token::End; i = skip(i)) {
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
  if (end == begin)
    return;

  // Most declarations are not of interest; do not copy them.
  bool isInteresting = llvm::any_of(slice(begin, end), [](const Token &t) {
    return is_contained({"__global__", "__attribute__", "__constant__",
                         "__device__", "__managed__", "constexpr", "const"},
                        t.text);
  });
  if (!isInteresting)
    return;
  Head head = readHead(slice(begin, end));
  size_t equals =
      llvm::find_if(head.tokens, [](const Token &t) { return t.is("="); }) -
      head.tokens.begin();
  size_t parameters = findParameters(head.tokens);
  bool isFunction = parameters < equals;
  if (head.isGlobal && isFunction) {
    if (!isInClass())
      addEntry(head, isDefined);
    else if (!llvm::any_of(head.tokens,
                           [](const Token &t) { return t.is("friend"); }))
      result.problems.push_back(
          {"a `__global__` function cannot be a member of "
           "a class",
           preprocessor.locate(head.tokens.front())});
  } else if (head.isVariable && !isFunction && !isInClass() && !isTemplate) {
    addVariables(head);
  }
  if (head.isConstexpr && !isFunction && hasInitializer)
    addConstant(head);
}

void DeclarationParser::addConstant(const Head &head) {
  auto equals =
      llvm::find_if(head.tokens, [](const Token &t) { return t.is("="); });
  size_t place = equals - head.tokens.begin();
  if (place == 0 || place == head.tokens.size() ||
      !head.tokens[place - 1].isIdentifier())
    return;
  std::optional<int64_t> value =
      getConstant(ArrayRef(head.tokens).drop_front(place + 1), false);
  // Names are not qualified here: one that means two things is unknown.
  auto [it, inserted] =
      constants.try_emplace(head.tokens[place - 1].text, value);
  if (!inserted && it->second != value)
    it->second.reset();
}

std::optional<int64_t>
DeclarationParser::getConstant(ArrayRef<Token> range,
                               bool mayBeConditional) const {
  if (!mayBeConditional &&
      llvm::any_of(range, [](const Token &t) { return t.isConditional; }))
    return std::nullopt;
  return evaluate(range, [&](StringRef name) -> std::optional<int64_t> {
    auto it = constants.find(name);
    return it == constants.end() ? std::nullopt : it->second;
  });
}

void DeclarationParser::addVariables(const Head &head) {
  ArrayRef<Token> range = head.tokens;
  auto find = [&](StringRef name) { return lookup(name); };
  SmallVector<ArrayRef<Token>> parts = splitAtCommas(range);
  Type first;
  for (auto [i, part] : llvm::enumerate(parts)) {
    auto stop = llvm::find_if(part, [](const Token &t) {
      return t.is("=") || t.is("{") || (t.is("("));
    });
    part = part.take_front(stop - part.begin());
    if (part.empty())
      continue;
    Parameter declared;
    if (i == 0) {
      declared = parseParameter(part, find);
      first = declared.type;
    } else {
      auto name = llvm::find_if(part, [](const Token &t) {
        return t.isIdentifier() && !isTypeWord(t.text) && !t.is("const");
      });
      if (name == part.end())
        continue;
      declared.name = name->text.str();
    }
    if (declared.name.empty())
      continue;
    std::string name = visiblePath + declared.name;
    if (!variableNames.insert(name).second)
      continue;
    result.variables.push_back({std::move(name), std::move(declared.type),
                                head.isConstant,
                                preprocessor.locate(part.back())});
  }
}

void DeclarationParser::addAttributes(Entry &entry, const Head &head) const {
  auto getAll = [&](ArrayRef<Token> range) {
    SmallVector<std::optional<int64_t>> values;
    for (ArrayRef<Token> part : splitAtCommas(range))
      values.push_back(getConstant(part, entry.isConditional));
    return values;
  };
  // `x, y, z`, with or without parentheses; the rest is 1.
  auto getExtents = [&](ArrayRef<Token> range) {
    if (!range.empty() && range.front().is("(") &&
        skipBrackets(range, 0) == range.size())
      range = range.drop_front().drop_back();
    SmallVector<int64_t, 3> extents;
    for (std::optional<int64_t> value : getAll(range)) {
      if (!value || extents.size() == 3)
        return SmallVector<int64_t, 3>();
      extents.push_back(*value);
    }
    if (!extents.empty())
      extents.resize(3, 1);
    return extents;
  };
  for (auto [name, arguments] : head.attributes) {
    if (name == "__launch_bounds__") {
      SmallVector<std::optional<int64_t>> values = getAll(arguments);
      values.resize(3);
      entry.maxThreads = values[0];
      entry.minBlocks = values[1];
      entry.maxClusterBlocks = values[2];
    } else if (name == "__cluster_dims__") {
      entry.clusterDims = getExtents(arguments);
    } else if (name == "__block_size__") {
      SmallVector<ArrayRef<Token>> parts = splitAtCommas(arguments);
      bool isNested =
          !parts.empty() && !parts[0].empty() && parts[0][0].is("(");
      entry.blockSize = getExtents(isNested ? parts[0] : arguments);
      if (isNested && parts.size() > 1)
        entry.clusterDims = getExtents(parts[1]);
    }
  }
}

void DeclarationParser::addEntry(const Head &head, bool isDefined) {
  ArrayRef<Token> range = head.tokens;
  size_t open = findParameters(range);
  size_t close = skipBrackets(range, open);
  if (open == 0 || close > range.size() || !range[close - 1].is(")"))
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
  if (!nameToken.isIdentifier() || isTypeWord(nameToken.text))
    return;
  size_t nameStart = nameEnd - 1;
  while (nameStart >= 2 && range[nameStart - 1].is("::") &&
         range[nameStart - 2].isIdentifier())
    nameStart -= 2;

  Entry entry;
  entry.name = visiblePath + join(range.slice(nameStart, nameEnd - nameStart)) +
               arguments;
  entry.isExternC = head.isExternC;
  entry.isDefined = isDefined;
  entry.isConditional = nameToken.isConditional;
  entry.templateParameters = templateParameters;
  entry.location = preprocessor.locate(nameToken);
  auto find = [&](StringRef name) { return lookup(name); };
  ArrayRef<Token> parameters = range.slice(open + 1, close - open - 2);
  for (ArrayRef<Token> part : splitAtCommas(parameters)) {
    if (part.size() == 1 && part.front().is("void"))
      break;
    Parameter parameter = parseParameter(part, find);
    bool dependsOnBranch =
        !entry.isConditional &&
        llvm::any_of(part, [](const Token &t) { return t.isConditional; });
    if (dependsOnBranch)
      parameter.type = makeUnknown(parameter.type.text);
    entry.parameters.push_back(std::move(parameter));
  }
  addAttributes(entry, head);
  merge(std::move(entry), isExplicit || !arguments.empty());
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

/// Declarations of one function have the same name and parameter types.
void DeclarationParser::merge(Entry entry, bool isExplicitInstance) {
  if (isExplicitInstance) {
    auto isSame = [&](const Entry &other) { return other.name == entry.name; };
    if (llvm::none_of(instances, isSame))
      instances.push_back(std::move(entry));
    return;
  }
  auto isSame = [&](const Entry &other) {
    if (other.isExternC && entry.isExternC)
      return other.isConditional == entry.isConditional ||
             other.getSignature() == entry.getSignature();
    return other.templateParameters.size() == entry.templateParameters.size() &&
           llvm::equal(other.parameters, entry.parameters,
                       [](const Parameter &a, const Parameter &b) {
                         return getTextWithoutConst(a.type) ==
                                getTextWithoutConst(b.type);
                       });
  };
  SmallVector<size_t, 1> &overloads = entriesByName[entry.name];
  for (size_t i : overloads) {
    Entry &known = result.entries[i];
    if (!isSame(known))
      continue;
    // A definition knows best; what only a declaration says still holds.
    if (entry.isDefined && !known.isDefined)
      std::swap(known, entry);
    known.isExternC |= entry.isExternC;
    known.isConditional &= entry.isConditional;
    if (!known.maxThreads)
      known.maxThreads = entry.maxThreads;
    if (!known.minBlocks)
      known.minBlocks = entry.minBlocks;
    if (!known.maxClusterBlocks)
      known.maxClusterBlocks = entry.maxClusterBlocks;
    if (known.clusterDims.empty())
      known.clusterDims = entry.clusterDims;
    if (known.blockSize.empty())
      known.blockSize = entry.blockSize;
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
  result.includes = std::move(preprocessor.includes);
  result.problems = std::move(preprocessor.problems);
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
