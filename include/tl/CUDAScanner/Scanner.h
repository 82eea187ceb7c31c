//===- Scanner.h - What a text of CUDA C++ declares -------------*- C++ -*-===//
//
// Reads CUDA C++ as far as a launch needs it before a compiler runs: which
// `__global__` functions there are, what their parameters are called, and which
// kind each is. It decides the conditions of `#if` that the text and its
// options decide, expands macros that only put tokens in place of tokens, and
// reads declarations at the scope of namespaces. It is no compiler. Macros that
// paste, instances of templates, constants, classes and the headers of the
// toolkit are left to the compiler: a type that they make is `Unknown`, and a
// text that makes kernels with them `isOpaque`.
//
// Any text is legal input. Errors in it are the compiler's to report; those
// that could hide a kernel from the scanner are listed as problems.
//
// Nothing that is believed here reaches a launch unchecked:
// - that the entry exists and is the one meant: the compiler is asked for it by
//   name at the end of the text;
// - the number, size and alignment of parameters, and launch bounds: those of
//   the entry in the PTX are compared with the launch;
// - kinds and element types: the unit ends in static assertions on the type
//   that the entry has (lib/Target/CUDA/Assertions.cpp);
// - which name a parameter has: no compiler tells. Declarations in branches
//   that are not decided are kept apart if they differ in a name, and binding
//   by name refuses where they would bind differently.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CUDASCANNER_SCANNER_H
#define TL_CUDASCANNER_SCANNER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tl::cuda {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

enum class TypeKind {
  /// A struct, an enumeration, a template's parameter, or a name that the text
  /// does not explain.
  Unknown,
  Void,
  Bool,
  Integer,
  /// IEEE: `half`, `float`, `double`.
  Float,
  BFloat,
  Float8E4M3,
  Float8E5M2,
  /// `CUtensorMap`.
  TensorMap,
  Pointer,
  Reference,
};

/// A type as far as it matters to who passes a value of it.
struct Type {
  TypeKind kind = TypeKind::Unknown;
  /// The width of one lane of a `Bool`, `Integer` or floating-point type.
  unsigned bits = 0;
  /// Above 1 for CUDA's vector types: `float4` is four lanes of 32 bits.
  unsigned lanes = 1;
  bool isSigned = false;
  bool isConst = false;
  /// What a `Pointer` or `Reference` refers to; never null there.
  std::shared_ptr<const Type> pointee;
  /// The type in one spelling: `const unsigned int *`. A typedef keeps the name
  /// that the user gave it.
  std::string text;
};

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

/// A place in the text as it was given. Columns count bytes; both start at 1. A
/// byte order mark has no column.
struct Location {
  /// The path of a header, as `ScanOptions::include` gave it; empty for the
  /// text.
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
};

struct Parameter {
  /// Empty if the declaration does not give one.
  std::string name;
  Type type;
  /// `Ts... values`: any number of parameters.
  bool isPack = false;
};

struct TemplateParameter {
  std::string name;
  bool isType = false;
  /// Need not be given: has a default, or is a pack.
  bool isOptional = false;
  /// As written, with single blanks: `typename T = float`.
  std::string text;
};

/// A `__global__` function. Declarations of one function are one entry.
struct Entry {
  /// The name by which code at the end of the text can call it: qualified by
  /// its namespaces, other than inline and anonymous ones.
  std::string name;
  bool isDefined = false;
  /// Whether it is declared, or with which parameters, depends on an `#if` or a
  /// macro that the scanner cannot decide.
  bool isConditional = false;
  /// Empty unless the function is a template.
  std::vector<TemplateParameter> templateParameters;
  std::vector<Parameter> parameters;
  /// Of the name, in the definition if there is one.
  Location location;

  bool isTemplate() const { return !templateParameters.empty(); }

  /// The declaration in one line: `template <typename T> scale(T *x, int n)`.
  std::string getSignature() const;
};

/// A kernel that the compiler will not see.
struct HiddenEntry {
  enum Reason { Comment, Branch };
  Reason reason;
  std::string name;
  Location location;
};

/// A mistake in the text that can keep the scanner from seeing a kernel.
struct Problem {
  std::string message;
  Location location;
};

struct Scan {
  /// In the order of first declaration.
  std::vector<Entry> entries;
  std::vector<HiddenEntry> hidden;
  std::vector<Problem> problems;
  /// There may be kernels that only a compiler sees: made by macros that paste,
  /// or in a header whose name a macro makes.
  bool isOpaque = false;
};

//===----------------------------------------------------------------------===//
// Scanning
//===----------------------------------------------------------------------===//

/// What follows `#include`.
struct Include {
  enum Kind { Quoted, Angled, Computed };
  Kind kind;
  /// The name between the delimiters; the tokens of a computed one.
  std::string name;

  /// As it is written: `"a.h"`, `<a.h>`, `A_H`.
  std::string str() const;
};

/// Every `#include` of `text`, in whichever branch of `#if`.
std::vector<Include> listIncludes(llvm::StringRef text);

/// A header that the scanner may read.
struct Header {
  std::string path;
  /// Must outlive the call of `scan`.
  llvm::StringRef text;
};

struct ScanOptions {
  /// The compiler's options; `-D` and `-U` are looked at.
  std::vector<std::string> flags;
  /// Text that is compiled before; it is a file named `<prelude>`.
  std::string prelude;
  /// Finds a header, with the path of the including one (empty for the text). A
  /// header that is not found, or left out here, makes conditions on macros
  /// undecidable after it.
  std::function<std::optional<Header>(const Include &, llvm::StringRef from)>
      include;
};

/// Returns what `text` declares. Takes time in proportion to it, whatever it
/// is.
Scan scan(llvm::StringRef text, const ScanOptions &options = {});

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// An entry that a name selects, as it is called under that name.
struct Candidate {
  const Entry *entry;
  /// The C++ expression of the function: `ns::scale<float>`.
  std::string expression;

  /// The signature under that name: `scale<float>(T *x, int n)`.
  std::string getSignature() const;
};

/// Returns the entries named `expression`, such as `scale`, `ns::scale` or
/// `ns::scale<float, 4>`: several if they are overloaded. Without a name, the
/// only entry. The error lists the entries, near misses, and the reason why a
/// kernel of that name is hidden.
llvm::Expected<llvm::SmallVector<Candidate>>
findEntry(const Scan &scan, std::optional<llvm::StringRef> expression);

/// Returns `parameters` as text: `float *x, int n`.
std::string toString(llvm::ArrayRef<Parameter> parameters);

/// Whether two functions may have one type, as far as is known.
bool mayBeSameType(const Entry &a, const Entry &b);

} // namespace tl::cuda

#endif // TL_CUDASCANNER_SCANNER_H
