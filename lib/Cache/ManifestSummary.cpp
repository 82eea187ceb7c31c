//===- ManifestSummary.cpp - What a list shows of a manifest --------------===//
//
// A scanner that recurses over nothing: what is not wanted is skipped by
// counting brackets, and strings by looking for where they end. It goes over
// each byte of a hundred thousand manifests, so that nothing here is called for
// each.
//
//===----------------------------------------------------------------------===//

#include "ManifestSummary.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace tl::cache;

namespace {

class Scanner {
public:
  explicit Scanner(StringRef text) : rest(text) {}

  bool accept(char c) {
    skipSpace();
    return rest.consume_front(StringRef(&c, 1));
  }

  /// Takes a string, with its escapes.
  bool takeRaw(StringRef &raw) {
    if (!accept('"'))
      return false;
    size_t end = rest.find('"');
    while (end != StringRef::npos && isEscaped(end))
      end = rest.find('"', end + 1);
    if (end == StringRef::npos)
      return false;
    raw = rest.take_front(end);
    rest = rest.drop_front(end + 1);
    return true;
  }

  bool takeString(std::string &text) {
    StringRef raw;
    if (!takeRaw(raw))
      return false;
    if (!raw.contains('\\')) {
      text = raw.str();
      return true;
    }
    Expected<json::Value> value = json::parse(("\"" + raw + "\"").str());
    if (!value) {
      consumeError(value.takeError());
      return false;
    }
    text = value->getAsString().value_or("").str();
    return true;
  }

  bool takeSize(uint64_t &size) {
    skipSpace();
    StringRef digits = rest.take_while(isDigit);
    rest = rest.drop_front(digits.size());
    return !digits.getAsInteger(10, size);
  }

  /// Skips a value of any kind.
  bool skip() {
    size_t depth = 0;
    do {
      skipSpace();
      if (rest.empty())
        return false;
      char c = rest.front();
      StringRef raw;
      if (c == '"') {
        if (!takeRaw(raw))
          return false;
      } else {
        if (c == '{' || c == '[')
          ++depth;
        else if ((c == '}' || c == ']') && depth-- == 0)
          return false;
        size_t length = 1;
        if (isWordPart(c))
          while (length < rest.size() && isWordPart(rest[length]))
            ++length;
        rest = rest.drop_front(length);
      }
    } while (depth > 0);
    return true;
  }

  /// Goes through an object or a list; `item` takes a member's value, and is
  /// given its name, or an element.
  bool forEach(char open, char close, function_ref<bool(StringRef)> item) {
    if (!accept(open))
      return false;
    if (accept(close))
      return true;
    do {
      StringRef name;
      if (open == '{' && (!takeRaw(name) || !accept(':')))
        return false;
      if (!item(name))
        return false;
    } while (accept(','));
    return accept(close);
  }

  bool isString() {
    skipSpace();
    return rest.starts_with("\"");
  }

private:
  void skipSpace() {
    size_t length = 0;
    while (length < rest.size() &&
           (rest[length] == ' ' || rest[length] == '\n' ||
            rest[length] == '\r' || rest[length] == '\t'))
      ++length;
    rest = rest.drop_front(length);
  }

  /// True for what numbers, `true`, `false` and `null` are made of.
  static bool isWordPart(char c) {
    return isAlnum(c) || c == '+' || c == '-' || c == '.';
  }

  /// True if an odd number of backslashes is before this place.
  bool isEscaped(size_t place) const {
    size_t first = place;
    while (first > 0 && rest[first - 1] == '\\')
      --first;
    return (place - first) % 2 != 0;
  }

  StringRef rest;
};

} // namespace

bool tl::cache::summarize(StringRef text, EntrySummary &summary) {
  Scanner scanner(text);
  auto takeFile = [&](StringRef) {
    return scanner.forEach('{', '}', [&](StringRef name) {
      if (name == "name")
        return scanner.takeString(summary.files.emplace_back());
      uint64_t size = 0;
      if (name != "size")
        return scanner.skip();
      if (!scanner.takeSize(size) || size > Manifest::maxEntryBytes)
        return false;
      summary.size += size;
      return true;
    });
  };
  auto takeMetadata = [&](StringRef name) {
    std::string *wanted = name == "kernel"   ? &summary.kernel
                          : name == "kind"   ? &summary.kind
                          : name == "tuning" ? &summary.tuning
                                             : nullptr;
    return wanted && scanner.isString() ? scanner.takeString(*wanted)
                                        : scanner.skip();
  };
  return scanner.forEach('{', '}', [&](StringRef name) {
    if (name == "created")
      return scanner.takeString(summary.created);
    if (name == "files")
      return scanner.forEach('[', ']', takeFile) &&
             summary.files.size() <= Manifest::maxFiles;
    if (name == "metadata")
      return scanner.forEach('{', '}', takeMetadata);
    return scanner.skip();
  });
}
