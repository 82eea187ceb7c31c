//===- Messages.cpp - What a compilation said, to be said again -----------===//
//
// See Messages.h.
//
//===----------------------------------------------------------------------===//

#include "Messages.h"

#include "tl/Dialect/TL/IR/TL.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace tl;
using llvm::json::Array;
using llvm::json::Object;

/// The pretended file of numbered locations.
static constexpr StringLiteral kOpFile = "<op>";

Location tl::makeNumbered(MLIRContext *context, unsigned number) {
  return FileLineColLoc::get(context, kOpFile, number, 0);
}

std::optional<unsigned> tl::getNumber(Location location) {
  std::optional<unsigned> number;
  location->walk([&](Location part) {
    auto file = dyn_cast<FileLineColLoc>(part);
    if (!file || file.getFilename() != kOpFile)
      return WalkResult::advance();
    number = file.getLine();
    return WalkResult::interrupt();
  });
  return number;
}

OpNumbers::OpNumbers(Operation *root) {
  unsigned number = 0;
  root->walk<WalkOrder::PreOrder>(
      [&](Operation *op) { numbers.try_emplace(op->getLoc(), number++); });
}

std::optional<unsigned> OpNumbers::find(Location location) const {
  std::optional<unsigned> number;
  location->walk([&](Location part) {
    auto found = numbers.find(part);
    if (found == numbers.end())
      return WalkResult::advance();
    number = found->second;
    return WalkResult::interrupt();
  });
  return number;
}

Message Message::from(Diagnostic &diagnostic, const OpNumbers &numbers) {
  Message message{diagnostic.getSeverity(),
                  diagnostic.str(),
                  numbers.find(diagnostic.getLocation()),
                  {}};
  if (auto place = UnitPlace::of(diagnostic.getLocation())) {
    message.file = place->file.str();
    message.line = place->line;
  }
  for (Diagnostic &note : diagnostic.getNotes())
    message.notes.push_back(from(note, numbers));
  return message;
}

llvm::json::Value Message::toJSON() const {
  Object object{{"severity", static_cast<int64_t>(severity)},
                {"text", text},
                {"notes", tl::toJSON(notes)}};
  if (op)
    object["op"] = static_cast<int64_t>(*op);
  if (!file.empty()) {
    object["file"] = file;
    object["line"] = line;
  }
  return object;
}

Message Message::from(const RecordedMessage &recorded) {
  Message message{static_cast<DiagnosticSeverity>(recorded.severity),
                  recorded.text,
                  recorded.op,
                  {}};
  for (const RecordedMessage &note : recorded.notes)
    message.notes.push_back(from(note));
  message.file = recorded.file;
  message.line = recorded.line;
  return message;
}

void Message::renumber(ArrayRef<std::optional<unsigned>> ops) {
  op = op && *op < ops.size() ? ops[*op] : std::nullopt;
  for (Message &note : notes)
    note.renumber(ops);
}

/// Gives a remark to today's engine, which knows who asked for it. The text is
/// `[Missed] name | Category:category | Remark="text"`, as an engine prints it.
static void emitRemarkAt(Location location, StringRef text) {
  auto [kind, named] = text.split("] ");
  auto [name, categorised] = named.split(" | Category:");
  auto [category, said] = categorised.split(" | Remark=");
  auto options = remark::RemarkOpts::name(name).category(category);
  (kind == "[Passed" ? remark::passed(location, options)
                     : remark::missed(location, options))
      << said.trim('"');
}

/// True for the text of a unit, and the headers that belong to it.
static bool isFileOf(CudaUnitOp unit, StringRef file) {
  std::optional<DictionaryAttr> headers = unit.getHeaders();
  return file == unit.getName() || (headers && headers->contains(file));
}

void Message::emit(Operation *root) const {
  SmallVector<Operation *> ops;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  bool isError = severity == DiagnosticSeverity::Error;
  // Where it is said, and what is said there.
  auto place = [&](const Message &message) -> std::pair<Location, std::string> {
    Operation *at =
        message.op && *message.op < ops.size() ? ops[*message.op] : root;
    if (message.file.empty())
      return {at->getLoc(), message.text};
    auto unit = dyn_cast<CudaUnitOp>(at);
    if (unit && isFileOf(unit, message.file))
      return {locateInUnit(unit, message.file, message.line), message.text};
    // A unit that was generated is not there any more, or not yet. Errors are
    // this process's own. Whoever shows another message would open a file of
    // this name, which a stranger may have chosen, and show a line of it.
    if (isError)
      return {
          FileLineColLoc::get(at->getContext(), message.file, message.line, 0),
          message.text};
    return {at->getLoc(), message.file + ":" + std::to_string(message.line) +
                              ": " + message.text};
  };
  auto [location, said] = place(*this);
  if (severity == DiagnosticSeverity::Remark)
    return emitRemarkAt(location, text);
  InFlightDiagnostic diagnostic =
      isError ? emitError(location) : emitWarning(location);
  diagnostic << said;
  for (const Message &note : notes) {
    auto [where, what] = place(note);
    diagnostic.attachNote(where) << what;
  }
}

Array tl::toJSON(ArrayRef<Message> messages) {
  Array list;
  for (const Message &message : messages)
    list.push_back(message.toJSON());
  return list;
}

std::vector<Message> tl::getMessages(const Object &metadata) {
  std::vector<Message> messages;
  llvm::Expected<std::vector<RecordedMessage>> recorded =
      RecordedMessage::read(metadata);
  if (!recorded) {
    consumeError(recorded.takeError());
    return messages;
  }
  for (const RecordedMessage &message : *recorded)
    messages.push_back(Message::from(message));
  return messages;
}

llvm::Error tl::checkMessages(const Object &metadata) {
  return RecordedMessage::read(metadata).takeError();
}
