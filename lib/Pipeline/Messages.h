//===- Messages.h - What a compilation said, to be said again ---*- C++ -*-===//
//
// A kernel is compiled in a context of its own, once; what was said then is
// said at today's ops each time that its result is used.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_PIPELINE_MESSAGES_H
#define TL_LIB_PIPELINE_MESSAGES_H

#include "tl/Pipeline/MessageRecord.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <vector>

namespace tl {

/// The location `<op>:n:0` of the op with this number.
mlir::Location makeNumbered(mlir::MLIRContext *context, unsigned number);

/// The first number in a location.
std::optional<unsigned> getNumber(mlir::Location location);

/// Which op of a module a location is from.
class OpNumbers {
public:
  OpNumbers() = default;
  explicit OpNumbers(mlir::Operation *root);

  /// The number in a walk of the first op at `location` or at a part of it;
  /// nothing if there is none.
  std::optional<unsigned> find(mlir::Location location) const;

private:
  llvm::DenseMap<mlir::Attribute, unsigned> numbers;
};

/// A diagnostic without its context. In place of its location it has the number
/// of an op, and for what a compiler said of a `tl.cuda_unit` the line.
struct Message {
  mlir::DiagnosticSeverity severity;
  std::string text;
  std::optional<unsigned> op;
  std::vector<Message> notes;
  std::string file = "";
  int64_t line = 0;

  static Message from(mlir::Diagnostic &diagnostic, const OpNumbers &numbers);

  llvm::json::Value toJSON() const;
  static Message from(const RecordedMessage &recorded);

  /// Gives the numbers another meaning: `op` becomes `ops[op]`.
  void renumber(llvm::ArrayRef<std::optional<unsigned>> ops);

  /// Says it at the op of that number below `root`.
  void emit(mlir::Operation *root) const;
};

/// The messages in an entry's metadata, and back; none if they cannot be read,
/// which `checkMessages` tells.
llvm::json::Array toJSON(llvm::ArrayRef<Message> messages);
std::vector<Message> getMessages(const llvm::json::Object &metadata);
llvm::Error checkMessages(const llvm::json::Object &metadata);

} // namespace tl

#endif // TL_LIB_PIPELINE_MESSAGES_H
