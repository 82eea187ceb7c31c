//===- BoundedJSON.cpp - JSON that anyone may have written ----------------===//
//
// See BoundedJSON.h. Every value but the first of a list or object follows a
// comma or a colon, and every list or object has a bracket: counting these
// bounds the values of any text, JSON or not.
//
//===----------------------------------------------------------------------===//

#include "tl/Support/BoundedJSON.h"

#include "llvm/ADT/Twine.h"

using namespace llvm;

/// Returns the place after the string whose first character is at `begin`, or
/// the end of the text. Most of a text is in strings: what has no escapes is
/// not looked at character by character.
static size_t skipString(StringRef text, size_t begin) {
  size_t quote = text.find('"', begin);
  while (quote != StringRef::npos) {
    size_t escape = text.slice(begin, quote).find('\\');
    if (escape == StringRef::npos)
      return quote + 1;
    begin += escape + 2;
    if (begin > quote)
      quote = text.find('"', begin);
  }
  return text.size();
}

Error tl::checkLimits(StringRef text, const JSONLimits &limits) {
  if (text.size() > limits.maxBytes)
    return createStringError("is longer than " + Twine(limits.maxBytes) +
                             " bytes");
  uint64_t depth = 0, values = 0;
  for (size_t i = 0; i < text.size();) {
    switch (text[i++]) {
    case '"':
      i = skipString(text, i);
      break;
    case '{':
    case '[':
      ++values;
      if (++depth > limits.maxDepth)
        return createStringError("is nested too deeply");
      break;
    case '}':
    case ']':
      // More are closed than were opened: the parser will say so.
      depth -= depth != 0;
      break;
    case ',':
    case ':':
      if (++values > limits.maxValues)
        return createStringError("has more than " + Twine(limits.maxValues) +
                                 " values");
      break;
    default:
      break;
    }
  }
  return Error::success();
}

Expected<json::Value> tl::parseBounded(StringRef text,
                                       const JSONLimits &limits) {
  if (Error error = checkLimits(text, limits))
    return error;
  Expected<json::Value> value = json::parse(text);
  if (!value)
    return createStringError("is not JSON: " + toString(value.takeError()));
  return value;
}
