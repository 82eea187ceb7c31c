//===- Names.cpp - From a name to the entry that it means -----------------===//
//
// A name is what C++ code at the end of the text would write: qualified, with
// the arguments of a template. Near misses are for messages only.
//
//===----------------------------------------------------------------------===//

#include "Parameters.h"
#include "Types.h"

#include "llvm/ADT/StringExtras.h"

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

std::string Candidate::getSignature() const {
  return expression + "(" + toString(parameters) + ")";
}

//===----------------------------------------------------------------------===//
// Instances
//===----------------------------------------------------------------------===//

namespace {

/// `ns::scale<float, 4>`, taken apart.
struct NameExpression {
  std::string name;
  bool hasArguments = false;
  SmallVector<ArrayRef<Token>> arguments;
};

/// Puts arguments into a template's parameters.
class Instantiation {
public:
  Instantiation(const Scan &scan, StringSaver &saver)
      : scan(scan), saver(saver) {}

  /// Returns what is wrong with the arguments, or nothing.
  std::string bind(const Entry &entry, ArrayRef<ArrayRef<Token>> arguments);

  std::vector<Parameter> instantiate(ArrayRef<Parameter> parameters) const;

private:
  Type parseType(ArrayRef<Token> tokens) const {
    return parseParameter(tokens,
                          [&](StringRef name) {
                            StringRef plain = name;
                            plain.consume_front("::");
                            auto it = scan.types.find(plain);
                            if (it == scan.types.end())
                              return getNamedType(name);
                            Type type = it->second;
                            type.text = name.str();
                            return type;
                          })
        .type;
  }
  Type replace(const Type &type, unsigned packIndex) const;

  const Scan &scan;
  StringSaver &saver;
  /// Of each template parameter: one type, or those of a pack.
  SmallVector<SmallVector<Type, 1>> bound;
};

} // namespace

std::string Instantiation::bind(const Entry &entry,
                                ArrayRef<ArrayRef<Token>> arguments) {
  size_t next = 0;
  for (const TemplateParameter &parameter : entry.templateParameters) {
    SmallVector<Type, 1> &types = bound.emplace_back();
    if (parameter.isPack) {
      for (; next < arguments.size(); ++next)
        types.push_back(parseType(arguments[next]));
    } else if (next < arguments.size()) {
      types.push_back(parseType(arguments[next++]));
    } else if (parameter.hasDefault) {
      StringRef text = StringRef(parameter.text).split('=').second;
      SourceFile source("", text);
      types.push_back(parseType(tokenize(source, saver)));
    } else {
      return "does not say what `" + parameter.name + "` is";
    }
  }
  if (next < arguments.size())
    return ("has " + Twine(arguments.size()) + " arguments for " +
            Twine(entry.templateParameters.size()) +
            (entry.templateParameters.size() == 1 ? " parameter"
                                                  : " parameters"))
        .str();
  return "";
}

Type Instantiation::replace(const Type &type, unsigned packIndex) const {
  Type result = type;
  if (type.kind == TypeKind::TemplateParameter) {
    const SmallVector<Type, 1> &types = bound[type.templateParameter];
    if (packIndex >= types.size())
      return type;
    result = types[packIndex];
  } else if (type.kind == TypeKind::Pointer) {
    result = makePointer(replace(*type.pointee, packIndex));
  } else if (type.kind == TypeKind::Reference) {
    result = makeReference(replace(*type.pointee, packIndex),
                           StringRef(type.text).ends_with("&&"));
  } else {
    return type;
  }
  return type.isConst ? addConst(std::move(result)) : result;
}

/// The template parameter that a type is made of, if it is one.
static const Type *findTemplateParameter(const Type &type) {
  const Type *inner = &type;
  while (inner->pointee)
    inner = inner->pointee.get();
  return inner->kind == TypeKind::TemplateParameter ? inner : nullptr;
}

std::vector<Parameter>
Instantiation::instantiate(ArrayRef<Parameter> parameters) const {
  std::vector<Parameter> result;
  for (const Parameter &parameter : parameters) {
    const Type *made = findTemplateParameter(parameter.type);
    unsigned count = 1;
    if (parameter.isPack && made)
      count = bound[made->templateParameter].size();
    for (unsigned i = 0; i < count; ++i) {
      Parameter instance = parameter;
      instance.type = replace(parameter.type, i);
      instance.isPack &= !made;
      result.push_back(std::move(instance));
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

static NameExpression parseName(ArrayRef<Token> tokens) {
  NameExpression result;
  // `&f` and `::f` name the same function.
  while (!tokens.empty() && (tokens.front().is("&") || tokens.front().is("::")))
    tokens = tokens.drop_front();
  size_t angle = 0;
  while (angle < tokens.size() && !tokens[angle].is("<"))
    ++angle;
  result.name = join(tokens.take_front(angle));
  if (angle == tokens.size())
    return result;
  result.hasArguments = true;
  size_t end = skipAngles(tokens, angle);
  if (end > angle)
    result.arguments = splitAtCommas(tokens.slice(angle + 1, end - angle - 2));
  return result;
}

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
    if (parameter.hasDefault || parameter.isPack)
      break;
    arguments += arguments.empty() ? "" : ", ";
    arguments += parameter.kind == TemplateParameterKind::Type ? "float" : "1";
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
    if (!entry.isTemplate())
      return SmallVector<Candidate>{{&entry, entry.parameters, entry.name}};
    expression = entry.name;
  }

  BumpPtrAllocator allocator;
  StringSaver saver(allocator);
  SourceFile source("", *expression);
  std::vector<Token> tokens = tokenize(source, saver);
  NameExpression name = parseName(tokens);
  std::string spelled = join(tokens);
  SmallVector<Candidate> found;
  std::string mistake;
  for (const Entry &entry : scan.entries) {
    // An instance of a template of a header is known by its whole name.
    bool isInstance = name.hasArguments && entry.name == spelled;
    if (isInstance || (entry.name == name.name && !name.hasArguments &&
                       !entry.isTemplate())) {
      found.push_back({&entry, entry.parameters, entry.name});
      continue;
    }
    if (entry.name != name.name)
      continue;
    if (!entry.isTemplate()) {
      mistake = "`" + entry.getSignature() + "` is no template";
      continue;
    }
    Instantiation instantiation(scan, saver);
    std::string wrong = instantiation.bind(entry, name.arguments);
    if (!wrong.empty() && !name.hasArguments)
      mistake = "`" + entry.getSignature() +
                "` is a template; name an instance of it, such as `" +
                makeExample(entry) + "`";
    else if (!wrong.empty())
      mistake =
          "`" + spelled + "` " + wrong + " of `" + entry.getSignature() + "`";
    else
      found.push_back({&entry, instantiation.instantiate(entry.parameters),
                       name.hasArguments ? spelled : entry.name + "<>"});
  }
  if (!found.empty())
    return found;
  if (!mistake.empty())
    return makeError(mistake);
  StringRef near = findNearMiss(scan, name.name);
  return makeError("the source has no entry `" + *expression + "`" +
                   (near.empty() ? "" : "; did you mean `" + near + "`?") +
                   describeHidden(scan, StringRef(name.name)) + "; it has " +
                   listEntries(scan));
}
