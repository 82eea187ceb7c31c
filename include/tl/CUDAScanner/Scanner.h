//===- Scanner.h - What a text of CUDA C++ declares -------------*- C++ -*-===//
//
// Reads CUDA C++ far enough to know its kernels: which `__global__` functions
// there are, what they take, what block they are compiled for; and which
// variables of the device and which headers there are. It follows the phases of
// translation of the C++ standard: splices, comments, literals, directives,
// macros of the text itself, and then declarations at the scope of namespaces.
// It is no compiler: what only the compiler can know (what a header that the
// scanner does not see declares, a type that depends on a template) is
// `Unknown`, and the compiled kernel settles it.
//
// Any text is legal input. Errors in it are the compiler's to report; those
// that could hide a kernel from the scanner are listed as problems.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CUDASCANNER_SCANNER_H
#define TL_CUDASCANNER_SCANNER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
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
  /// A struct, or a name that the text does not explain.
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
  /// A template's parameter, to be replaced by `instantiate`.
  TemplateParameter,
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
  /// The position of a `TemplateParameter`.
  unsigned templateParameter = 0;
  /// What a `Pointer` or `Reference` refers to; never null there.
  std::shared_ptr<const Type> pointee;
  /// The type in one spelling: `const unsigned int *`. A typedef keeps the name
  /// that the user gave it.
  std::string text;

  /// Bytes that a parameter of this type takes, if that is known.
  std::optional<unsigned> getSize() const;

  /// The alignment of such a parameter in bytes, if that is known.
  std::optional<unsigned> getAlignment() const;
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
  /// `__grid_constant__`.
  bool isGridConstant = false;
  /// `Ts... values`: any number of parameters.
  bool isPack = false;
};

enum class TemplateParameterKind { Type, Value, Template };

struct TemplateParameter {
  TemplateParameterKind kind = TemplateParameterKind::Type;
  std::string name;
  bool isPack = false;
  bool hasDefault = false;
  /// As written, with single blanks: `typename T = float`.
  std::string text;
};

/// A `__global__` function. Declarations of one function are one entry.
struct Entry {
  /// The name by which code at the end of the text can call it: qualified by
  /// its namespaces, other than inline and anonymous ones.
  std::string name;
  /// Its name has C linkage, and is thus not mangled.
  bool isExternC = false;
  bool isDefined = false;
  /// Stands between `#if` and `#endif` whose condition the scanner cannot
  /// decide.
  bool isConditional = false;
  /// Empty unless the function is a template.
  std::vector<TemplateParameter> templateParameters;
  std::vector<Parameter> parameters;
  /// `__launch_bounds__(threads, blocks, cluster blocks)`; each if it is a
  /// constant.
  std::optional<int64_t> maxThreads;
  std::optional<int64_t> minBlocks;
  std::optional<int64_t> maxClusterBlocks;
  /// `__cluster_dims__(x, y, z)` or the second part of `__block_size__`; empty
  /// unless all are constants.
  llvm::SmallVector<int64_t, 3> clusterDims;
  /// `__block_size__((x, y, z), …)`; empty unless all are constants.
  llvm::SmallVector<int64_t, 3> blockSize;
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

/// A variable in `__constant__`, `__device__` or `__managed__` memory.
struct Variable {
  std::string name;
  Type type;
  bool isConstant = false;
  Location location;
};

enum class IncludeKind { Quoted, Angled, Computed };

/// An `#include` that is not in a branch known to be left out.
struct Include {
  IncludeKind kind;
  /// The name between the delimiters; of a computed one the tokens, if macros
  /// of the text do not make a name of them.
  std::string name;
  bool isConditional = false;
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
  std::vector<Variable> variables;
  std::vector<Include> includes;
  std::vector<Problem> problems;
  /// What the text gives a name by `using`, `typedef`, `class` and `enum`, by
  /// qualified name.
  llvm::StringMap<Type> types;
};

//===----------------------------------------------------------------------===//
// Scanning
//===----------------------------------------------------------------------===//

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
  /// With the template's arguments put in; packs have become parameters or,
  /// where the name does not give all arguments, one parameter that is still a
  /// pack.
  std::vector<Parameter> parameters;

  /// The signature with those parameters: `scale<float>(float *x, int n)`.
  std::string getSignature() const;

  /// The C++ expression of the function: `ns::scale<float>`.
  std::string expression;
};

/// Returns the entries named `expression`, such as `scale`, `ns::scale` or
/// `ns::scale<float, 4>`: several if they are overloaded. Without a name, the
/// only entry. The error lists the entries, near misses, and the reason why a
/// kernel of that name is hidden.
llvm::Expected<llvm::SmallVector<Candidate>>
findEntry(const Scan &scan, std::optional<llvm::StringRef> expression);

/// Returns `parameters` as text: `float *x, int n`.
std::string toString(llvm::ArrayRef<Parameter> parameters);

} // namespace tl::cuda

#endif // TL_CUDASCANNER_SCANNER_H
