//===- MessageFuzzer.cpp - Messages that anyone may have written ----------===//
//
// The input is the metadata of an entry. What is read of it can be shown: no
// byte of it is one that a terminal obeys.
//
//===----------------------------------------------------------------------===//

#include "FuzzSupport.h"

#include "tl/Pipeline/MessageRecord.h"
#include "tl/Support/BoundedJSON.h"
#include "tl/Support/ShowText.h"

using namespace llvm;
using namespace tl;
using namespace tl::cache::fuzz;

static void check(const RecordedMessage &message) {
  require(message.severity != RecordedMessage::Severity::Error);
  for (StringRef rest = message.text; !rest.empty();) {
    auto [line, after] = rest.split('\n');
    require(showText(line) == line);
    rest = after;
    require(rest.empty() || rest.starts_with("    "));
  }
  require(showText(message.file) == message.file);
  require(!StringRef(message.file).starts_with("/"));
  for (const RecordedMessage &note : message.notes)
    check(note);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  StringRef input(reinterpret_cast<const char *>(data), size);
  require(showText(showText(input)) == showText(input));
  Expected<json::Value> value = parseBounded(input);
  const json::Object *metadata = value ? value->getAsObject() : nullptr;
  if (!metadata) {
    consumeError(value.takeError());
    return 0;
  }
  Expected<std::vector<RecordedMessage>> messages =
      RecordedMessage::read(*metadata);
  if (!messages) {
    require(!toString(messages.takeError()).empty());
    return 0;
  }
  for (const RecordedMessage &message : *messages)
    check(message);
  return 0;
}
