//===- NameAllocator.cpp - Identifiers of generated C++ -------------------===//

#include "NameAllocator.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace tl::cuda;

/// Words that mean something in the generated text, in sorted order.
static constexpr StringLiteral kReserved[] = {
    "alignas",      "alignof",      "and",        "and_eq",
    "asm",          "auto",         "bitand",     "bitor",
    "blockDim",     "blockIdx",     "bool",       "break",
    "case",         "catch",        "char",       "class",
    "co_await",     "co_return",    "co_yield",   "compl",
    "concept",      "const",        "const_cast", "consteval",
    "constexpr",    "constinit",    "continue",   "decltype",
    "default",      "delete",       "do",         "double",
    "dynamic_cast", "else",         "enum",       "explicit",
    "export",       "extern",       "false",      "float",
    "for",          "friend",       "goto",       "gridDim",
    "if",           "inline",       "int",        "long",
    "math",         "mutable",      "namespace",  "new",
    "noexcept",     "not",          "not_eq",     "nullptr",
    "operator",     "or",           "or_eq",      "private",
    "protected",    "public",       "register",   "reinterpret_cast",
    "requires",     "return",       "short",      "signed",
    "sizeof",       "smem",         "static",     "static_assert",
    "static_cast",  "struct",       "switch",     "template",
    "this",         "thread_local", "threadIdx",  "throw",
    "tl",           "true",         "try",        "typedef",
    "typeid",       "typename",     "union",      "unsigned",
    "using",        "virtual",      "void",       "volatile",
    "warpSize",     "wchar_t",      "while",      "xor",
    "xor_eq"};

/// What CUDA declares with C linkage; most also with an `f` at the end.
static constexpr StringLiteral kLibrary =
    " abs acos acosh asin asinh assert atan atan2 atanh cbrt ceil clock "
    "clock64 copysign cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 erf erfc "
    "erfcinv erfcx erfinv exp exp10 exp2 expm1 fabs fdim fdivide floor "
    "fma fmax fmin fmod free frexp hypot ilogb isfinite isinf isnan j0 j1 "
    "jn labs ldexp lgamma llabs llmax llmin llrint llround log log10 "
    "log1p log2 logb lrint lround malloc max memcpy memset min modf nan "
    "nearbyint nextafter norm norm3d norm4d normcdf normcdfinv pow printf "
    "rcbrt remainder remquo rhypot rint rnorm rnorm3d rnorm4d round rsqrt "
    "scalbln scalbn signbit sin sincos sincospi sinh sinpi sqrt tan tanh "
    "tgamma trunc umax umin y0 y1 yn ";

/// True if a function `name` of C linkage would be another one of CUDA's.
static bool isLibraryFunction(StringRef name) {
  auto isListed = [](StringRef name) {
    return kLibrary.contains((" " + name + " ").str());
  };
  return isListed(name) || (name.ends_with("f") && isListed(name.drop_back()));
}

/// `wish` as an identifier. Two underscores, or one before a capital, belong to
/// the compiler.
static std::string sanitise(StringRef wish) {
  std::string name;
  for (char c : wish) {
    char next = isAlnum(c) ? c : '_';
    if (next == '_' && !name.empty() && name.back() == '_')
      continue;
    name += next;
  }
  if (!name.empty() && name.front() == '_')
    name.erase(0, 1);
  if (name.empty() || isDigit(name.front()))
    name = "v" + name;
  return name;
}

std::string NameAllocator::take(StringRef wish) {
  std::string base = sanitise(wish), name = base;
  for (unsigned number = 1;
       is_contained(kReserved, name) ||
       StringRef(name).starts_with("wgmma_m64") || !inUse.insert(name).second;
       ++number)
    name = base + "_" + std::to_string(number);
  taken.push_back(name);
  return name;
}

std::string NameAllocator::takeFunction(StringRef wish) {
  return take(isLibraryFunction(wish) ? (wish + "_kernel").str() : wish.str());
}

void NameAllocator::release(size_t mark) {
  for (StringRef name : ArrayRef(taken).drop_front(mark))
    inUse.erase(name);
  taken.resize(mark);
}
