//===- MessageRecord.cpp - Messages as a cache keeps them -----------------===//
//
// A location names a file that whoever shows the message may open, to show the
// line: it stays among the kernel's own sources.
//
//===----------------------------------------------------------------------===//

#include "tl/Pipeline/MessageRecord.h"

#include "tl/Support/ShowText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace llvm;
using namespace tl;
using llvm::json::Array;
using llvm::json::Object;

static Error invalid(const Twine &what) {
  return createStringError("has a message " + what);
}

/// True for a path that stays where it begins, and is shown as it is.
static bool isPlace(StringRef path) {
  constexpr size_t maxLength = 1024;
  return path.size() <= maxLength && !path.starts_with("/") &&
         showText(path) == path &&
         none_of(split(path, '/'), [](StringRef part) { return part == ".."; });
}

/// Reads one message, without its notes.
static Expected<RecordedMessage> readOne(const Object &object, bool isNote) {
  using Severity = RecordedMessage::Severity;
  RecordedMessage message;
  std::optional<int64_t> severity = object.getInteger("severity");
  std::optional<StringRef> text = object.getString("text");
  bool isSaid = severity == int64_t(Severity::Warning) ||
                severity == int64_t(Severity::Remark);
  if (isNote ? severity != int64_t(Severity::Note) : !isSaid)
    return invalid("of a severity that is not stored");
  if (!text || text->size() > RecordedMessage::maxTextBytes)
    return invalid("without a text, or with one that is too long");
  message.severity = static_cast<Severity>(*severity);
  message.text = showLines(*text);
  if (std::optional<int64_t> op = object.getInteger("op")) {
    if (*op < 0 || *op > UINT32_MAX)
      return invalid("of an op that cannot be");
    message.op = static_cast<unsigned>(*op);
  }
  message.file = object.getString("file").value_or("").str();
  message.line = object.getInteger("line").value_or(0);
  if (!isPlace(message.file) || message.line < 0 ||
      message.line > RecordedMessage::maxLine)
    return invalid("of a place that cannot be");
  return message;
}

/// Reads a list of messages; only those of the first level have notes.
static Error readList(const Array *list, bool areNotes, size_t &count,
                      std::vector<RecordedMessage> &messages) {
  if (!list)
    return Error::success();
  for (const json::Value &value : *list) {
    const Object *object = value.getAsObject();
    if (!object)
      return invalid("that is none");
    if (++count > RecordedMessage::maxMessages)
      return createStringError("has too many messages");
    Expected<RecordedMessage> message = readOne(*object, areNotes);
    if (!message)
      return message.takeError();
    const Array *notes = object->getArray("notes");
    if (areNotes && notes && !notes->empty())
      return invalid("with notes on a note");
    if (!areNotes)
      if (Error error =
              readList(notes, /*areNotes=*/true, count, message->notes))
        return error;
    messages.push_back(std::move(*message));
  }
  return Error::success();
}

Expected<std::vector<RecordedMessage>>
RecordedMessage::read(const Object &metadata) {
  std::vector<RecordedMessage> messages;
  size_t count = 0;
  if (Error error = readList(metadata.getArray("messages"), /*areNotes=*/false,
                             count, messages))
    return error;
  return messages;
}
