//===- VerifyEntries.cpp - Hold launches against CUDA C++ -----------------===//
//
// A source kernel is a name, some arguments and a text. This pass reads the
// text and makes the three agree, so that a mistake is an error at the user's
// line and in the user's words, with both signatures, and not a launch that
// reads garbage.
//
// The scanner reads less than a compiler. What it believes is therefore handed
// on, in `tl.passed`, as what the launch passes for each parameter, and
// `tl-compile-cuda` holds the type that the compiler gives the entry against
// it. Only names of parameters cannot be asked for later: binding by name takes
// the declaration that is compiled for certain, or all that may be if they bind
// alike, and refuses otherwise.
//
//===----------------------------------------------------------------------===//

#include "tl/CUDAScanner/Scanner.h"
#include "tl/Dialect/TL/IR/SourceKernels.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

namespace tl {
#define GEN_PASS_DEF_VERIFYENTRIESPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;
using tl::cuda::TypeKind;

//===----------------------------------------------------------------------===//
// Types on both sides
//===----------------------------------------------------------------------===//

/// The C++ name of a type that the host passes, to be read beside a signature.
static std::string getCName(Type type) {
  if (type.isIndex())
    return "index";
  if (type.isF64())
    return "double";
  if (type.isF32())
    return "float";
  if (type.isF16())
    return "half";
  if (type.isBF16())
    return "__nv_bfloat16";
  if (isa<Float8E4M3FNType>(type))
    return "__nv_fp8_e4m3";
  if (isa<Float8E5M2Type>(type))
    return "__nv_fp8_e5m2";
  if (type.isInteger(1))
    return "bool";
  if (type.isInteger(32))
    return "int";
  if (auto integer = dyn_cast<IntegerType>(type);
      integer && integer.getWidth() % 8 == 0)
    return "int" + std::to_string(integer.getWidth()) + "_t";
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Whether a parameter or element declared as `declared` holds a `type`.
static bool isSameScalar(const cuda::Type &declared, Type type) {
  switch (declared.kind) {
  case TypeKind::Bool:
    return type.isInteger(1);
  case TypeKind::Integer:
    return type.isInteger(declared.bits);
  case TypeKind::Float:
    return isa<Float16Type, Float32Type, Float64Type, FloatTF32Type>(type) &&
           llvm::divideCeil(type.getIntOrFloatBitWidth(), 16) * 16 ==
               declared.bits;
  case TypeKind::BFloat:
    return type.isBF16();
  case TypeKind::Float8E4M3:
    return isa<Float8E4M3FNType>(type);
  case TypeKind::Float8E5M2:
    return isa<Float8E5M2Type>(type);
  case TypeKind::Unknown:
    return true;
  case TypeKind::Void:
  case TypeKind::TensorMap:
  case TypeKind::Pointer:
  case TypeKind::Reference:
    return false;
  }
  llvm_unreachable("a switch over all kinds");
}

/// Whether a pointer to `pointee` may read elements of type `element`.
static bool isElement(const cuda::Type &pointee, Type element) {
  if (pointee.kind == TypeKind::Void || isSameScalar(pointee, element))
    return true;
  unsigned width = element.getIntOrFloatBitWidth();
  if (pointee.kind == TypeKind::Pointer)
    return width == 64;
  if (pointee.kind == TypeKind::Bool)
    return width == 8;
  if (pointee.kind != TypeKind::Integer)
    return false;
  // Integers as bits: one of the element's size, of packed elements, or a
  // vector that moves several elements at once. Booleans are bytes.
  return pointee.lanes > 1 || (width < 8 && pointee.bits == 8) ||
         (!pointee.isSigned && pointee.bits == width);
}

namespace {
/// Something that a parameter can take.
struct Passed {
  /// As the user knows it; empty for an expression.
  std::string name;
  Value value;
  /// How the parameter is made from `value`.
  ParamKind kind;
  /// The dimension of `value` whose extent it is, for a shape symbol.
  std::optional<unsigned> dimension = std::nullopt;

  /// The elements of a buffer that is passed by address, or null.
  Type getElementType() const {
    auto buffer = dyn_cast<MemRefType>(value.getType());
    return buffer && kind == ParamKind::Base ? buffer.getElementType() : Type();
  }

  /// The type of a number.
  Type getScalarType() const {
    MLIRContext *context = value.getContext();
    if (dimension)
      return IndexType::get(context);
    return isa<MemRefType>(value.getType()) ? IntegerType::get(context, 64)
                                            : value.getType();
  }

  /// `float *A`.
  std::string str() const {
    if (kind == ParamKind::TensorMap)
      return "CUtensorMap" + (name.empty() ? "" : " " + name);
    if (Type element = getElementType())
      return getCName(element) + " *" + name;
    return getCName(getScalarType()) + (name.empty() ? "" : " " + name);
  }
};
} // namespace

static std::string print(ArrayRef<Passed> list) {
  return llvm::join(
      llvm::map_range(list, [](const Passed &p) { return p.str(); }), ", ");
}

/// Returns what `passed` lacks to be the parameter, or nothing.
static std::string findMismatch(const cuda::Parameter &parameter,
                                const Passed &passed) {
  const cuda::Type &type = parameter.type;
  std::string name =
      parameter.name.empty() ? "a parameter" : "`" + parameter.name + "`";
  std::string what =
      passed.name.empty() ? "the argument" : "`" + passed.name + "`";
  if (type.kind == TypeKind::Reference)
    return name + " is a reference, which a kernel cannot take";
  if (type.kind == TypeKind::Unknown)
    return "";
  std::string declares = name + " is `" + type.text + "`, ";

  if (passed.kind == ParamKind::TensorMap)
    return type.kind == TypeKind::TensorMap
               ? ""
               : declares + what + " is passed as a tensor map";
  if (Type element = passed.getElementType()) {
    if (type.kind != TypeKind::Pointer)
      return declares + what + " is a buffer";
    if (isElement(*type.pointee, element))
      return "";
    return declares + what + " holds `" + getCName(element) + "`";
  }
  if (type.kind == TypeKind::Pointer || type.kind == TypeKind::TensorMap)
    return declares + what + " is a number";
  // Extents take the width that the parameter has.
  Type scalar = passed.getScalarType();
  bool fits = scalar.isIndex() ? type.kind == TypeKind::Integer
                               : isSameScalar(type, scalar);
  if (fits && type.lanes == 1)
    return "";
  return declares + what + " is `" + getCName(scalar) + "`";
}

//===----------------------------------------------------------------------===//
// One launch
//===----------------------------------------------------------------------===//

namespace {

class EntryVerifier {
public:
  explicit EntryVerifier(SourceKernelOp kernel)
      : kernel(kernel), host(kernel->getParentOfType<func::FuncOp>()),
        bindsByName(kernel->hasAttr(kBindByNameAttr)) {}

  LogicalResult run();

private:
  void scanSources();
  std::optional<cuda::Header> findHeader(const cuda::Include &include,
                                         StringRef from);
  LogicalResult verifyEntry();

  SmallVector<Passed> listArguments();
  SmallVector<Passed> listHostValues();
  std::string findMismatch(const cuda::Candidate &candidate,
                           ArrayRef<Passed> list);
  FailureOr<SmallVector<Passed>> bind(const cuda::Candidate &candidate,
                                      std::string &mismatch);
  bool isCertain(const cuda::Entry &chosen) const;
  FailureOr<const cuda::Candidate *>
  choose(ArrayRef<cuda::Candidate> candidates);
  void pass(const cuda::Candidate &candidate);
  void handOn(const cuda::Candidate *candidate);

  std::string getName(Value value);
  std::string describe(const cuda::Candidate &candidate, ArrayRef<Passed> list);
  void noteDeclaration(InFlightDiagnostic &diag, const cuda::Entry &entry);
  void noteProblems(InFlightDiagnostic &diag);
  void note(InFlightDiagnostic &diag, size_t source,
            const cuda::Location &location, const Twine &message);

  SourceKernelOp kernel;
  func::FuncOp host;
  bool bindsByName;
  /// Of all sources; `owners` says which source an entry is of.
  cuda::Scan scan;
  SmallVector<size_t> owners;
  SmallVector<std::pair<size_t, cuda::Problem>> problems;
  bool hasOtherLanguages = false;
  /// Declarations beside the chosen one, of which only one is compiled, that
  /// are passed the same.
  SmallVector<const cuda::Entry *> alike;
  /// What the chosen entry takes.
  SmallVector<Passed> arguments;
};

} // namespace

/// The header that tl-resolve-sources found for an `#include`.
std::optional<cuda::Header>
EntryVerifier::findHeader(const cuda::Include &include, StringRef from) {
  auto found = kernel->getAttrOfType<DictionaryAttr>(kIncludesAttr);
  auto ofFile = found ? found.getAs<DictionaryAttr>(from) : nullptr;
  auto path = ofFile ? ofFile.getAs<StringAttr>(include.str()) : nullptr;
  if (!path || !kernel.getHeadersAttr())
    return std::nullopt;
  auto text = kernel.getHeadersAttr().getAs<StringAttr>(path.getValue());
  if (!text)
    return std::nullopt;
  return cuda::Header{path.str(), text.getValue()};
}

void EntryVerifier::scanSources() {
  for (auto [i, source] :
       llvm::enumerate(kernel.getSources().getAsRange<CudaSourceAttr>())) {
    if (source.getLanguage() != SourceLanguage::Cuda) {
      hasOtherLanguages = true;
      continue;
    }
    cuda::ScanOptions options;
    options.prelude = kernel.getPrelude().value_or("").str();
    if (ArrayAttr flags = kernel.getFlagsAttr())
      for (auto flag : flags.getAsRange<StringAttr>())
        options.flags.push_back(flag.str());
    StringRef own =
        source.getName() ? source.getName().getValue() : StringRef(kTextName);
    options.include = [&, own](const cuda::Include &include, StringRef from) {
      bool isOwn = from.empty() || from == "<prelude>";
      return findHeader(include, isOwn ? own : from);
    };
    cuda::Scan found = cuda::scan(source.getText(), options);
    owners.append(found.entries.size(), i);
    llvm::move(found.entries, std::back_inserter(scan.entries));
    llvm::move(found.hidden, std::back_inserter(scan.hidden));
    for (cuda::Problem &problem : found.problems)
      problems.push_back({i, std::move(problem)});
    scan.isOpaque |= found.isOpaque;
  }
}

LogicalResult EntryVerifier::run() {
  scanSources();
  if (failed(verifyEntry()))
    return failure();
  kernel->removeAttr(kBindByNameAttr);
  kernel->removeAttr(kIncludesAttr);
  return success();
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// Adds a note at a place in a source.
void EntryVerifier::note(InFlightDiagnostic &diag, size_t source,
                         const cuda::Location &location, const Twine &message) {
  auto attr = cast<CudaSourceAttr>(kernel.getSources()[source]);
  if (!location.file.empty()) {
    diag.attachNote(FileLineColLoc::get(kernel.getContext(), location.file,
                                        location.line, location.column))
        << message;
    return;
  }
  if (!attr.getFile()) {
    diag.attachNote(kernel.getLoc())
        << "on line " << location.line << " of the source: " << message;
    return;
  }
  unsigned line = location.line + std::max<int64_t>(attr.getLine(), 1) - 1;
  diag.attachNote(FileLineColLoc::get(attr.getFile(), line, location.column))
      << message;
}

void EntryVerifier::noteDeclaration(InFlightDiagnostic &diag,
                                    const cuda::Entry &entry) {
  size_t i = &entry - scan.entries.data();
  note(diag, owners[i], entry.location,
       "`" + entry.getSignature() + "` is declared here");
}

/// What is wrong in the text can be why a kernel is not found.
void EntryVerifier::noteProblems(InFlightDiagnostic &diag) {
  static constexpr size_t limit = 3;
  for (const auto &[source, problem] : ArrayRef(problems).take_front(limit))
    note(diag, source, problem.location, problem.message);
}

/// The name that the user knows a value by, or nothing.
std::string EntryVerifier::getName(Value value) {
  if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto name =
        host.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr);
    return name ? name.str() : "arg" + std::to_string(argument.getArgNumber());
  }
  auto dim = value.getDefiningOp<memref::DimOp>();
  auto buffer = dim ? dyn_cast<BlockArgument>(dim.getSource()) : nullptr;
  std::optional<int64_t> index = dim ? dim.getConstantIndex() : std::nullopt;
  if (!buffer || !index)
    return "";
  auto shape =
      host.getArgAttrOfType<ArrayAttr>(buffer.getArgNumber(), kShapeAttr);
  if (!shape || *index >= static_cast<int64_t>(shape.size()))
    return "";
  auto symbol = dyn_cast<StringAttr>(shape[*index]);
  return symbol ? symbol.str() : "";
}

/// Both signatures.
std::string EntryVerifier::describe(const cuda::Candidate &candidate,
                                    ArrayRef<Passed> list) {
  return "`" + candidate.getSignature() + "` does not take `(" + print(list) +
         ")`";
}

//===----------------------------------------------------------------------===//
// The entry
//===----------------------------------------------------------------------===//

LogicalResult EntryVerifier::verifyEntry() {
  std::optional<StringRef> name = kernel.getEntry();
  llvm::Expected<SmallVector<cuda::Candidate>> candidates =
      cuda::findEntry(scan, name);
  if (!candidates) {
    std::string message = llvm::toString(candidates.takeError());
    // The entry may be where the scanner does not look.
    if (name && !bindsByName && (hasOtherLanguages || scan.isOpaque)) {
      arguments = listArguments();
      handOn(nullptr);
      return success();
    }
    if (hasOtherLanguages)
      message = "the entry of a kernel in PTX or a cubin needs its name and "
                "`args`; " +
                message;
    else if (scan.isOpaque)
      message += "; one that a macro makes needs its name and `args`";
    InFlightDiagnostic diag = kernel.emitError(message);
    noteProblems(diag);
    return diag;
  }
  FailureOr<const cuda::Candidate *> chosen = choose(*candidates);
  if (failed(chosen))
    return failure();
  pass(**chosen);
  handOn(*chosen);
  std::string expression = (*chosen)->expression;
  if (candidates->size() > 1 && alike.empty())
    expression = "(void (*)(" +
                 llvm::join(llvm::map_range((*chosen)->entry->parameters,
                                            [](const cuda::Parameter &p) {
                                              return p.type.text;
                                            }),
                            ", ") +
                 "))" + expression;
  kernel.setEntry(expression);
  return success();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// What the launch gives, in the order of the parameters.
SmallVector<Passed> EntryVerifier::listArguments() {
  SmallVector<Passed> list;
  auto add = [&](Value value, ParamKind kind) {
    list.push_back({getName(value), value, kind});
  };
  if (ArrayAttr parameters = kernel.getParamsAttr()) {
    for (auto parameter : parameters.getAsRange<ParamAttr>())
      add(kernel.getArgs()[parameter.getOperand()], parameter.getKind());
    return list;
  }
  for (Value value : kernel.getArgs())
    add(value,
        isa<MemRefType>(value.getType()) ? ParamKind::Base : ParamKind::Scalar);
  return list;
}

/// What a name can be bound to: the host function's arguments, then the symbols
/// of their shapes. A symbol is the extent of the first dimension that has it.
SmallVector<Passed> EntryVerifier::listHostValues() {
  SmallVector<Passed> list, symbols;
  for (BlockArgument argument : host.getArguments()) {
    auto buffer = dyn_cast<MemRefType>(argument.getType());
    list.push_back({getName(argument), argument,
                    buffer ? ParamKind::Base : ParamKind::Scalar});
    auto names =
        host.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), kShapeAttr);
    if (!buffer || !names)
      continue;
    for (auto [i, attr] : llvm::enumerate(names.getAsRange<StringAttr>())) {
      bool isKnown = llvm::any_of(symbols, [&](const Passed &symbol) {
        return symbol.name == attr.getValue();
      });
      if (attr.empty() || isKnown || !buffer.isDynamicDim(i))
        continue;
      symbols.push_back({attr.str(), argument, ParamKind::Scalar, i});
    }
  }
  llvm::append_range(list, symbols);
  return list;
}

/// Returns why `candidate` does not take `list`, or nothing.
std::string EntryVerifier::findMismatch(const cuda::Candidate &candidate,
                                        ArrayRef<Passed> list) {
  ArrayRef<cuda::Parameter> parameters = candidate.entry->parameters;
  // Parameters that a pack still stands for can be any number.
  bool isOpen = llvm::any_of(parameters,
                             [](const cuda::Parameter &p) { return p.isPack; });
  if (isOpen)
    return "";
  auto count = [](size_t n, StringRef noun) {
    return std::to_string(n) + " " + noun.str() + (n == 1 ? "" : "s");
  };
  if (parameters.size() != list.size())
    return "it has " + count(parameters.size(), "parameter") + " and gets " +
           count(list.size(), "argument");
  for (auto [parameter, passed] : llvm::zip(parameters, list))
    if (std::string mismatch = ::findMismatch(parameter, passed);
        !mismatch.empty())
      return mismatch;
  return "";
}

/// Finds a host value for every parameter. On failure `mismatch` says why.
FailureOr<SmallVector<Passed>>
EntryVerifier::bind(const cuda::Candidate &candidate, std::string &mismatch) {
  SmallVector<Passed> values = listHostValues();
  ArrayRef<cuda::Parameter> parameters = candidate.entry->parameters;
  SmallVector<const Passed *> bound(parameters.size(), nullptr);
  SmallVector<const Passed *> unbound;
  auto quote = [](const Passed *value) { return "`" + value->name + "`"; };

  for (const Passed &value : values) {
    auto named = llvm::find_if(parameters, [&](const cuda::Parameter &p) {
      return !p.name.empty() && p.name == value.name;
    });
    size_t i = named - parameters.begin();
    if (named == parameters.end())
      unbound.push_back(&value);
    else if (!bound[i])
      bound[i] = &value;
  }
  for (auto [parameter, value] : llvm::zip(parameters, bound)) {
    if (!value)
      continue;
    mismatch = ::findMismatch(parameter, *value);
    if (!mismatch.empty())
      return failure();
  }

  // Of what has no name in common, only what can be nothing else.
  llvm::SmallDenseMap<const Passed *, size_t> takenBy;
  for (auto [i, parameter] : llvm::enumerate(parameters)) {
    if (bound[i])
      continue;
    SmallVector<const Passed *> fitting;
    bool isKnown = parameter.type.kind != TypeKind::Unknown;
    for (const Passed *value : unbound)
      if (isKnown && ::findMismatch(parameter, *value).empty())
        fitting.push_back(value);
    std::string name = "`" + cuda::toString(parameter) + "`";
    if (fitting.empty()) {
      mismatch =
          "nothing of that name or only of that type is there for " + name;
      return failure();
    }
    if (fitting.size() > 1) {
      mismatch = name + " can be any of " +
                 llvm::join(llvm::map_range(fitting, quote), ", ");
      return failure();
    }
    auto [other, isFirst] = takenBy.try_emplace(fitting.front(), i);
    if (!isFirst) {
      mismatch = "both `" + cuda::toString(parameters[other->second]) +
                 "` and " + name + " can be " + quote(fitting.front());
      return failure();
    }
    bound[i] = fitting.front();
  }
  return llvm::to_vector(
      llvm::map_range(bound, [](const Passed *value) { return *value; }));
}

static bool isSame(ArrayRef<Passed> a, ArrayRef<Passed> b) {
  return llvm::equal(a, b, [](const Passed &x, const Passed &y) {
    return x.value == y.value && x.kind == y.kind && x.dimension == y.dimension;
  });
}

/// Whether no other declaration can be what is compiled in place of `chosen`,
/// with other names for parameters of the same types.
bool EntryVerifier::isCertain(const cuda::Entry &chosen) const {
  if (scan.isOpaque && (chosen.isConditional || !chosen.isDefined))
    return false;
  return llvm::none_of(scan.entries, [&](const cuda::Entry &other) {
    bool excludes = other.isConditional || chosen.isConditional;
    return &other != &chosen && other.name == chosen.name && excludes &&
           !llvm::is_contained(alike, &other) &&
           cuda::mayBeSameType(other, chosen);
  });
}

/// Finds the one of the overloads that takes the arguments, and the arguments.
/// Of declarations in branches that are not decided any may be meant if all are
/// passed the same.
FailureOr<const cuda::Candidate *>
EntryVerifier::choose(ArrayRef<cuda::Candidate> candidates) {
  const cuda::Candidate *chosen = nullptr;
  SmallVector<std::string> mismatches;
  SmallVector<Passed> available =
      bindsByName ? listHostValues() : listArguments();
  for (const cuda::Candidate &candidate : candidates) {
    std::string mismatch;
    SmallVector<Passed> list = available;
    if (bindsByName) {
      FailureOr<SmallVector<Passed>> found = bind(candidate, mismatch);
      if (succeeded(found))
        list = std::move(*found);
    } else {
      mismatch = findMismatch(candidate, list);
    }
    if (!mismatch.empty()) {
      mismatches.push_back(std::move(mismatch));
      continue;
    }
    if (chosen && chosen->entry->isConditional &&
        candidate.entry->isConditional && isSame(list, arguments)) {
      alike.push_back(candidate.entry);
      continue;
    }
    if (chosen) {
      InFlightDiagnostic diag =
          kernel.emitError("both `")
          << chosen->getSignature() << "` and `" << candidate.getSignature()
          << "` take `(" << print(list) << ")`"
          << (bindsByName ? "; say what to pass with `args`" : "");
      noteDeclaration(diag, *chosen->entry);
      noteDeclaration(diag, *candidate.entry);
      return diag;
    }
    chosen = &candidate;
    arguments = std::move(list);
  }
  if (chosen && bindsByName && !isCertain(*chosen->entry)) {
    InFlightDiagnostic diag =
        kernel.emitError("which declaration of `")
        << chosen->entry->name
        << "` is compiled is for the compiler to say; tell with `args` what to "
           "pass";
    noteDeclaration(diag, *chosen->entry);
    return diag;
  }
  if (chosen)
    return chosen;
  std::string message;
  for (auto [candidate, mismatch] : llvm::zip(candidates, mismatches)) {
    message += message.empty() ? "" : "; ";
    message += bindsByName ? "cannot bind the parameters of `" +
                                 candidate.getSignature() + "` to `" +
                                 host.getName().str() + "(" + print(available) +
                                 ")`: " + mismatch
                           : describe(candidate, available) + ": " + mismatch;
  }
  if (bindsByName)
    message += "; say what to pass with `args`";
  InFlightDiagnostic diag = kernel.emitError(message);
  for (const cuda::Candidate &candidate : candidates)
    noteDeclaration(diag, *candidate.entry);
  return diag;
}

/// Makes `arguments` what the kernel passes, extents in their parameters'
/// widths.
void EntryVerifier::pass(const cuda::Candidate &candidate) {
  OpBuilder builder(kernel);
  if (kernel.getParamsAttr())
    return;
  ArrayRef<cuda::Parameter> parameters = candidate.entry->parameters;
  SmallVector<Value> values;
  for (auto [i, passed] : llvm::enumerate(arguments)) {
    if (passed.dimension)
      passed.value = memref::DimOp::create(builder, kernel.getLoc(),
                                           passed.value, *passed.dimension);
    passed.dimension.reset();
    bool isKnown =
        i < parameters.size() && parameters[i].type.kind == TypeKind::Integer;
    if (passed.value.getType().isIndex() && isKnown)
      passed.value = arith::IndexCastOp::create(
          builder, kernel.getLoc(),
          builder.getIntegerType(parameters[i].type.bits), passed.value);
    values.push_back(passed.value);
  }
  kernel.getArgsMutable().assign(values);
}

/// What a parameter must be for `passed`, as a type of the assertions that
/// `tl-compile-cuda` makes; empty if size and alignment say all.
static std::string getRequirement(const Passed &passed) {
  auto describe = [](StringRef name, Type type) {
    StringRef kind =
        isa<IntegerType, IndexType>(type)                                 ? "i"
        : isa<Float16Type, Float32Type, Float64Type, FloatTF32Type>(type) ? "f"
        : type.isBF16()                                                   ? "n"
        : isa<Float8E4M3FNType>(type)                                     ? "q"
        : isa<Float8E5M2Type>(type)                                       ? "r"
                                                                          : "o";
    unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    return (name + "<'" + kind + "', " + Twine(bits) + ">").str();
  };
  if (passed.kind == ParamKind::Struct)
    return "";
  if (passed.kind == ParamKind::TensorMap)
    return "tl_object<128>";
  if (Type element = passed.getElementType())
    return describe("tl_pointer", element);
  return describe("tl_number", passed.getScalarType());
}

/// Hands on what the launch passes, with the error for a parameter that turns
/// out to be something else. Names of the host are left out: they are not part
/// of the kernel.
void EntryVerifier::handOn(const cuda::Candidate *candidate) {
  Builder builder(kernel.getContext());
  ArrayRef<cuda::Parameter> parameters;
  std::string entry = kernel.getEntry().value_or("").str();
  if (candidate && llvm::none_of(candidate->entry->parameters,
                                 [](const auto &p) { return p.isPack; })) {
    parameters = candidate->entry->parameters;
    entry = candidate->getSignature();
  }
  SmallVector<Attribute> all;
  for (auto [i, passed] : llvm::enumerate(arguments)) {
    std::string parameter = i < parameters.size()
                                ? "`" + cuda::toString(parameters[i]) + "`"
                                : "parameter " + std::to_string(i);
    Passed unnamed = passed;
    unnamed.name.clear();
    std::string given =
        passed.getElementType() || !passed.getScalarType().isIndex()
            ? StringRef(unnamed.str()).rtrim().str()
            : "int64_t";
    all.push_back(builder.getStrArrayAttr(
        {getRequirement(passed), "`" + entry + "` is given `" + given +
                                     "` for " + parameter +
                                     ", which is of another type"}));
  }
  kernel->setAttr(kPassedAttr, builder.getArrayAttr(all));
  if (candidate && kernel.getSources().size() > 1)
    kernel->setAttr(kSourceAttr,
                    builder.getI64IntegerAttr(
                        owners[candidate->entry - scan.entries.data()]));
}

namespace {
struct VerifyEntriesPass : tl::impl::VerifyEntriesPassBase<VerifyEntriesPass> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([](SourceKernelOp kernel) {
      return failed(EntryVerifier(kernel).run()) ? WalkResult::interrupt()
                                                 : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
