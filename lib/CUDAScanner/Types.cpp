//===- Types.cpp - The types that CUDA C++ itself names -------------------===//
//
// Sizes are those of CUDA's device code on 64-bit Linux: `long` has 64 bits.
//
//===----------------------------------------------------------------------===//

#include "Types.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace tl::cuda;

bool tl::cuda::isTypeWord(StringRef word) {
  static constexpr StringLiteral words[] = {
      "void",     "bool",     "char",     "short",     "int",     "long",
      "float",    "double",   "signed",   "unsigned",  "wchar_t", "char8_t",
      "char16_t", "char32_t", "__int128", "__signed__"};
  return is_contained(words, word);
}

static Type makeScalar(TypeKind kind, unsigned bits, bool isSigned,
                       const Twine &text) {
  Type type;
  type.kind = kind;
  type.bits = bits;
  type.isSigned = isSigned;
  type.text = text.str();
  return type;
}

Type tl::cuda::makeArithmeticType(ArrayRef<StringRef> words) {
  auto has = [&](StringRef word) { return is_contained(words, word); };
  if (has("void"))
    return makeScalar(TypeKind::Void, 0, false, "void");
  if (has("bool"))
    return makeScalar(TypeKind::Bool, 8, false, "bool");
  if (has("float"))
    return makeScalar(TypeKind::Float, 32, true, "float");
  if (has("double"))
    return has("long") ? makeScalar(TypeKind::Unknown, 0, true, "long double")
                       : makeScalar(TypeKind::Float, 64, true, "double");
  // `char` is signed on x86-64, and in CUDA's device code for it.
  bool isUnsigned = has("unsigned");
  auto make = [&](StringRef name, unsigned bits) {
    return makeScalar(TypeKind::Integer, bits, !isUnsigned,
                      isUnsigned ? "unsigned " + name : Twine(name));
  };
  if (has("char"))
    return has("signed") || has("__signed__")
               ? makeScalar(TypeKind::Integer, 8, true, "signed char")
               : make("char", 8);
  if (has("wchar_t"))
    return makeScalar(TypeKind::Integer, 32, true, "wchar_t");
  if (has("char8_t"))
    return makeScalar(TypeKind::Integer, 8, false, "char8_t");
  if (has("char16_t"))
    return makeScalar(TypeKind::Integer, 16, false, "char16_t");
  if (has("char32_t"))
    return makeScalar(TypeKind::Integer, 32, false, "char32_t");
  if (has("__int128"))
    return make("__int128", 128);
  if (has("short"))
    return make("short", 16);
  if (llvm::count(words, "long") > 1)
    return make("long long", 64);
  if (has("long"))
    return make("long", 64);
  return make("int", 32);
}

namespace {
struct NamedType {
  StringLiteral name;
  TypeKind kind;
  unsigned bits;
  bool isSigned;
  unsigned lanes = 1;
};
} // namespace

/// CUDA's vectors: `uchar3`, `ulonglong2`, `double4_32a`.
static Type getVectorType(StringRef name) {
  static constexpr NamedType elements[] = {
      {"char", TypeKind::Integer, 8, true},
      {"uchar", TypeKind::Integer, 8, false},
      {"short", TypeKind::Integer, 16, true},
      {"ushort", TypeKind::Integer, 16, false},
      {"int", TypeKind::Integer, 32, true},
      {"uint", TypeKind::Integer, 32, false},
      {"long", TypeKind::Integer, 64, true},
      {"ulong", TypeKind::Integer, 64, false},
      {"longlong", TypeKind::Integer, 64, true},
      {"ulonglong", TypeKind::Integer, 64, false},
      {"float", TypeKind::Float, 32, true},
      {"double", TypeKind::Float, 64, true}};
  if (name.empty() || name.back() < '1' || name.back() > '4')
    return {};
  for (const NamedType &element : elements) {
    if (element.name != name.drop_back())
      continue;
    Type type = makeScalar(element.kind, element.bits, element.isSigned, name);
    type.lanes = name.back() - '0';
    return type;
  }
  return {};
}

Type tl::cuda::getNamedType(StringRef name) {
  static constexpr NamedType table[] = {
      {"int8_t", TypeKind::Integer, 8, true},
      {"int16_t", TypeKind::Integer, 16, true},
      {"int32_t", TypeKind::Integer, 32, true},
      {"int64_t", TypeKind::Integer, 64, true},
      {"uint8_t", TypeKind::Integer, 8, false},
      {"uint16_t", TypeKind::Integer, 16, false},
      {"uint32_t", TypeKind::Integer, 32, false},
      {"uint64_t", TypeKind::Integer, 64, false},
      {"intptr_t", TypeKind::Integer, 64, true},
      {"uintptr_t", TypeKind::Integer, 64, false},
      {"size_t", TypeKind::Integer, 64, false},
      {"ssize_t", TypeKind::Integer, 64, true},
      {"ptrdiff_t", TypeKind::Integer, 64, true},
      {"uint", TypeKind::Integer, 32, false},
      {"ushort", TypeKind::Integer, 16, false},
      {"ulong", TypeKind::Integer, 64, false},
      {"byte", TypeKind::Integer, 8, false},
      {"CUdeviceptr", TypeKind::Integer, 64, false},
      {"cudaTextureObject_t", TypeKind::Integer, 64, false},
      {"cudaSurfaceObject_t", TypeKind::Integer, 64, false},
      {"half", TypeKind::Float, 16, true},
      {"__half", TypeKind::Float, 16, true},
      {"half2", TypeKind::Float, 16, true, 2},
      {"__half2", TypeKind::Float, 16, true, 2},
      {"nv_bfloat16", TypeKind::BFloat, 16, true},
      {"__nv_bfloat16", TypeKind::BFloat, 16, true},
      {"nv_bfloat162", TypeKind::BFloat, 16, true, 2},
      {"__nv_bfloat162", TypeKind::BFloat, 16, true, 2},
      {"__nv_fp8_e4m3", TypeKind::Float8E4M3, 8, true},
      {"__nv_fp8_e5m2", TypeKind::Float8E5M2, 8, true},
      {"__nv_fp8x2_e4m3", TypeKind::Float8E4M3, 8, true, 2},
      {"__nv_fp8x2_e5m2", TypeKind::Float8E5M2, 8, true, 2},
      {"__nv_fp8x4_e4m3", TypeKind::Float8E4M3, 8, true, 4},
      {"__nv_fp8x4_e5m2", TypeKind::Float8E5M2, 8, true, 4},
      {"CUtensorMap", TypeKind::TensorMap, 1024, false}};
  StringRef plain = name;
  plain.consume_front("::");
  if (!plain.consume_front("cuda::std::"))
    plain.consume_front("std::");
  for (const NamedType &entry : table) {
    if (entry.name != plain || (plain == "byte" && name == plain))
      continue;
    Type type = makeScalar(entry.kind, entry.bits, entry.isSigned, name);
    type.lanes = entry.lanes;
    return type;
  }
  Type type = getVectorType(plain);
  type.text = name.str();
  return type;
}

Type tl::cuda::makeUnknown(StringRef text) {
  Type type;
  type.text = text.str();
  return type;
}

Type tl::cuda::makePointer(Type pointee) {
  Type type;
  type.kind = TypeKind::Pointer;
  StringRef text = pointee.text;
  type.text = (text + (text.ends_with("*") ? "*" : " *")).str();
  type.pointee = std::make_shared<const Type>(std::move(pointee));
  return type;
}

Type tl::cuda::makeReference(Type referred, bool isRvalue) {
  Type type;
  type.kind = TypeKind::Reference;
  StringRef text = referred.text;
  type.text =
      (text + (text.ends_with("*") ? "" : " ") + (isRvalue ? "&&" : "&")).str();
  type.pointee = std::make_shared<const Type>(std::move(referred));
  return type;
}

Type tl::cuda::addConst(Type type) {
  if (type.isConst)
    return type;
  type.isConst = true;
  type.text = type.kind == TypeKind::Pointer ? type.text + "const"
                                             : "const " + type.text;
  return type;
}
