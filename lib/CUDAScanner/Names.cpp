//===- Names.cpp - From a name to the entry that it means -----------------===//
//
// A name is what C++ code at the end of the text would write: qualified, with
// the arguments of a template. Near misses are for messages only.
//
//===----------------------------------------------------------------------===//

#include "Lexer.h"

using namespace llvm;
using namespace tl::cuda;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string toString(const Parameter &parameter) {
  std::string text = parameter.type.text;
  if (parameter.isPack)
    text += "...";
  if (!parameter.name.empty() && !text.empty() && text.back() != '*' &&
      text.back() != '&')
    text += ' ';
  return text + parameter.name;
}

std::string tl::cuda::toString(ArrayRef<Parameter> parameters) {
  std::string text;
  for (const Parameter &parameter : parameters)
    text += (text.empty() ? "" : ", ") + ::toString(parameter);
  return text;
}

std::string Entry::getSignature() const {
  std::string text;
  for (const TemplateParameter &parameter : templateParameters)
    text += (text.empty() ? "template <" : ", ") + parameter.text;
  if (!text.empty())
    text += "> ";
  return text + name + "(" + toString(parameters) + ")";
}

static bool mayBeSameType(const Type &a, const Type &b) {
  if (a.kind == TypeKind::Unknown || b.kind == TypeKind::Unknown)
    return true;
  bool isSame = a.kind == b.kind && a.bits == b.bits && a.lanes == b.lanes &&
                a.isSigned == b.isSigned;
  return isSame && (!a.pointee || mayBeSameType(*a.pointee, *b.pointee));
}

bool tl::cuda::mayBeSameType(const Entry &a, const Entry &b) {
  // What is unknown may also be several parameters, or none.
  auto isKnown = [](const Parameter &parameter) {
    return parameter.type.kind != TypeKind::Unknown && !parameter.isPack;
  };
  if (!llvm::all_of(a.parameters, isKnown) ||
      !llvm::all_of(b.parameters, isKnown))
    return true;
  return llvm::equal(a.parameters, b.parameters,
                     [](const Parameter &x, const Parameter &y) {
                       return ::mayBeSameType(x.type, y.type);
                     });
}

std::string Candidate::getSignature() const {
  return expression + "(" + toString(entry->parameters) + ")";
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

/// `a(int n)`, `b()` and so on; a few of them.
static std::string listEntries(const Scan &scan) {
  static constexpr size_t limit = 8;
  std::string text;
  for (const Entry &entry : ArrayRef(scan.entries).take_front(limit))
    text += (text.empty() ? "`" : ", `") + entry.getSignature() + "`";
  if (scan.entries.size() > limit)
    text += " and " + std::to_string(scan.entries.size() - limit) + " more";
  return text;
}

static StringRef getLastPart(StringRef name) {
  size_t colons = name.rfind("::");
  return colons == StringRef::npos ? name : name.drop_front(colons + 2);
}

/// The entry that was probably meant, or nothing.
static StringRef findNearMiss(const Scan &scan, StringRef name) {
  StringRef wanted = getLastPart(name);
  // Two letters swapped are two edits.
  unsigned best = std::min<unsigned>(
      std::max<unsigned>(wanted.size() / 3, 2) + 1, wanted.size());
  StringRef found;
  for (const Entry &entry : scan.entries) {
    StringRef plain = getLastPart(StringRef(entry.name).split('<').first);
    unsigned distance = plain.equals_insensitive(wanted)
                            ? 0
                            : plain.edit_distance(wanted, true, best);
    if (distance && distance >= best)
      continue;
    best = distance;
    found = entry.name;
  }
  return found;
}

/// Says where a kernel of that name, or any, is left out of the program.
static std::string describeHidden(const Scan &scan,
                                  std::optional<StringRef> name) {
  for (const HiddenEntry &hidden : scan.hidden) {
    if (name && getLastPart(hidden.name) != getLastPart(*name))
      continue;
    std::string where = "line " + std::to_string(hidden.location.line);
    if (!hidden.location.file.empty())
      where += " of `" + hidden.location.file + "`";
    return "; `" + hidden.name + "` on " + where +
           (hidden.reason == HiddenEntry::Comment
                ? " is in a comment"
                : " is in a branch that is not compiled");
  }
  return "";
}

static Error makeError(const Twine &message) {
  return createStringError(message);
}

/// An instance to show to someone who named the template.
static std::string makeExample(const Entry &entry) {
  std::string arguments;
  for (const TemplateParameter &parameter : entry.templateParameters) {
    if (parameter.isOptional)
      break;
    arguments += arguments.empty() ? "" : ", ";
    arguments += parameter.isType ? "float" : "1";
  }
  return entry.name + "<" + arguments + ">";
}

Expected<SmallVector<Candidate>>
tl::cuda::findEntry(const Scan &scan, std::optional<StringRef> expression) {
  if (scan.entries.empty())
    return makeError("the source has no `__global__` function" +
                     describeHidden(scan, expression));
  if (!expression) {
    if (scan.entries.size() > 1)
      return makeError("the source has " + Twine(scan.entries.size()) +
                       " entries; name one of " + listEntries(scan));
    const Entry &entry = scan.entries.front();
    if (scan.isOpaque)
      return makeError("macros of the source may make other kernels than `" +
                       entry.getSignature() + "`; name the entry");
    expression = entry.name;
  }

  BumpPtrAllocator allocator;
  StringSaver saver(allocator);
  SourceFile source("", *expression);
  std::vector<Token> all = tokenize(source, saver);
  // `&f` and `::f` name the same function.
  ArrayRef<Token> tokens = ArrayRef(all).drop_while(
      [](const Token &t) { return t.is("&") || t.is("::"); });
  ArrayRef<Token> plain =
      tokens.take_until([](const Token &t) { return t.is("<"); });
  bool hasArguments = plain.size() != tokens.size();
  std::string name = join(plain), spelled = join(tokens);
  SmallVector<Candidate> found;
  std::string mistake;
  for (const Entry &entry : scan.entries) {
    // An instance of a template of a header is known by its whole name.
    if (entry.name == spelled && !entry.isTemplate()) {
      found.push_back({&entry, entry.name});
      continue;
    }
    if (entry.name != name)
      continue;
    bool needsArguments = llvm::any_of(
        entry.templateParameters, [](const auto &p) { return !p.isOptional; });
    if (!entry.isTemplate())
      mistake = "`" + entry.getSignature() + "` is no template";
    else if (!hasArguments && needsArguments)
      mistake = "`" + entry.getSignature() +
                "` is a template; name an instance of it, such as `" +
                makeExample(entry) + "`";
    else
      found.push_back({&entry, hasArguments ? spelled : entry.name + "<>"});
  }
  if (!found.empty())
    return found;
  if (!mistake.empty())
    return makeError(mistake);
  StringRef near = findNearMiss(scan, name);
  return makeError("the source has no entry `" + *expression + "`" +
                   (near.empty() ? "" : "; did you mean `" + near + "`?") +
                   describeHidden(scan, StringRef(name)) + "; it has " +
                   listEntries(scan));
}
