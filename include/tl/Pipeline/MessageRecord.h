//===- MessageRecord.h - Messages as a cache keeps them ---------*- C++ -*-===//
//
// What was said of a kernel lies in its entry's metadata and is said again when
// the entry is found. Anyone may have written it: it is read within bounds, as
// warnings and remarks only, and shown harmlessly. Free of MLIR, so that it can
// be fuzzed by itself.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PIPELINE_MESSAGERECORD_H
#define TL_PIPELINE_MESSAGERECORD_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <vector>

namespace tl {

struct RecordedMessage {
  /// As in `mlir::DiagnosticSeverity`, which files have held from the start.
  enum class Severity { Note = 0, Warning = 1, Error = 2, Remark = 3 };

  static constexpr size_t maxMessages = 4096;
  static constexpr size_t maxTextBytes = 64 << 10;
  static constexpr int64_t maxLine = 100000000;

  Severity severity;
  std::string text;
  std::optional<unsigned> op;
  std::vector<RecordedMessage> notes;
  /// Relative, and of this kernel's sources; empty if it is about an op.
  std::string file;
  int64_t line = 0;

  /// The messages of an entry's metadata. Errors are none of them: what has
  /// errors is not stored. The failure says what is wrong.
  static llvm::Expected<std::vector<RecordedMessage>>
  read(const llvm::json::Object &metadata);
};

} // namespace tl

#endif // TL_PIPELINE_MESSAGERECORD_H
