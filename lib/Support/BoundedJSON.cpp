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

Error tl::checkLimits(StringRef text, const JSONLimits &limits) {
  if (text.size() > limits.maxBytes)
    return createStringError("is longer than " + Twine(limits.maxBytes) +
                             " bytes");
  uint64_t depth = 0, values = 0;
  bool isQuoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (isQuoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        isQuoted = false;
      continue;
    }
    switch (c) {
    case '"':
      isQuoted = true;
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
