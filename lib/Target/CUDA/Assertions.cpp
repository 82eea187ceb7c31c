//===- Assertions.cpp - What a unit must be for its launches --------------===//
//
// Launches are made by what a scanner believes of the unit. The compiler knows,
// and is asked: after the user's text stand the names that launches use, and
// static assertions on the type that each entry has. They hold for a parameter
// if a value of what is passed may be one:
//
// - a number of the same kind and width, CUDA's `__half` and its like among
//   them, or another class of that width;
// - an address: a pointer to the element's type, to `void`, to a class, or to
//   bits of it, as the host could pass the same tensor as bytes;
// - a tensor map: a class of its size.
//
// Sizes of classes and the number of parameters are compared in the PTX. Names
// of this text start with `tl_`, so that macros of the user's do not reach it,
// it is C++11, the oldest language that the compilers take, and its constants
// are enumerators, because NVRTC makes memory of static members.
//
//===----------------------------------------------------------------------===//

#include "Assertions.h"

#include "tl/Dialect/TL/IR/SourceKernels.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tl;

/// `tl_at` is the type of a parameter, `tl_number`, `tl_pointer` and
/// `tl_object` say what one must be. A parameter that is not there is not their
/// concern.
static constexpr StringLiteral kTraits = R"(namespace tl_launch {
struct tl_none {};
template <typename tl_T> struct tl_absent { enum { tl_value = false }; };
template <> struct tl_absent<tl_none> { enum { tl_value = true }; };
template <typename tl_F, int tl_I> struct tl_at { typedef tl_none tl_type; };
template <typename tl_R, typename tl_P, typename... tl_Q>
struct tl_at<tl_R (*)(tl_P, tl_Q...), 0> { typedef tl_P tl_type; };
template <typename tl_R, typename tl_P, typename... tl_Q, int tl_I>
struct tl_at<tl_R (*)(tl_P, tl_Q...), tl_I> : tl_at<tl_R (*)(tl_Q...), tl_I - 1> {};
template <typename tl_T> struct tl_plain { typedef tl_T tl_type; };
template <typename tl_T> struct tl_plain<const tl_T> { typedef tl_T tl_type; };
template <typename tl_T> struct tl_plain<volatile tl_T> { typedef tl_T tl_type; };
template <typename tl_T> struct tl_plain<const volatile tl_T> { typedef tl_T tl_type; };
template <char tl_K, int tl_B> struct tl_scalar {
  enum { tl_kind = tl_K };
  enum { tl_bits = tl_B };
};
template <typename tl_T, bool tl_E = __is_enum(tl_T)> struct tl_kind_of : tl_scalar<'c', 0> {};
template <typename tl_T> struct tl_kind_of<tl_T, true> : tl_scalar<'u', 8 * sizeof(tl_T)> {};
template <typename tl_T> struct tl_kind_of<tl_T *, false> : tl_scalar<'p', 64> {};
template <> struct tl_kind_of<void, false> : tl_scalar<'v', 0> {};
template <> struct tl_kind_of<bool, false> : tl_scalar<'b', 8> {};
template <> struct tl_kind_of<float, false> : tl_scalar<'f', 32> {};
template <> struct tl_kind_of<double, false> : tl_scalar<'f', 64> {};
template <> struct tl_kind_of<char, false> : tl_scalar<'s', 8> {};
template <> struct tl_kind_of<signed char, false> : tl_scalar<'s', 8> {};
template <> struct tl_kind_of<short, false> : tl_scalar<'s', 16> {};
template <> struct tl_kind_of<int, false> : tl_scalar<'s', 32> {};
template <> struct tl_kind_of<long, false> : tl_scalar<'s', 64> {};
template <> struct tl_kind_of<long long, false> : tl_scalar<'s', 64> {};
template <> struct tl_kind_of<unsigned char, false> : tl_scalar<'u', 8> {};
template <> struct tl_kind_of<unsigned short, false> : tl_scalar<'u', 16> {};
template <> struct tl_kind_of<unsigned, false> : tl_scalar<'u', 32> {};
template <> struct tl_kind_of<unsigned long, false> : tl_scalar<'u', 64> {};
template <> struct tl_kind_of<unsigned long long, false> : tl_scalar<'u', 64> {};
#ifdef __CUDA_FP16_H__
template <> struct tl_kind_of<__half, false> : tl_scalar<'f', 16> {};
template <> struct tl_kind_of<__half2, false> : tl_scalar<'f', 16> {};
#endif
#ifdef __CUDA_BF16_H__
template <> struct tl_kind_of<__nv_bfloat16, false> : tl_scalar<'n', 16> {};
template <> struct tl_kind_of<__nv_bfloat162, false> : tl_scalar<'n', 16> {};
#endif
#ifdef __CUDA_FP8_H__
template <> struct tl_kind_of<__nv_fp8_e4m3, false> : tl_scalar<'q', 8> {};
template <> struct tl_kind_of<__nv_fp8_e5m2, false> : tl_scalar<'r', 8> {};
#endif
template <char tl_C, int tl_B> struct tl_number {
  template <typename tl_T> struct tl_is {
    enum { tl_kind = tl_kind_of<tl_T>::tl_kind };
    enum { tl_bits = tl_kind_of<tl_T>::tl_bits };
    enum { tl_value = tl_kind == 'c' || (tl_kind == 'b' && tl_C == 'i' && tl_B == 1) ||
        (tl_kind == tl_C && tl_bits == tl_B) ||
        ((tl_kind == 's' || tl_kind == 'u') && tl_C == 'i' && tl_bits == tl_B) };
  };
};
template <char tl_C, int tl_B> struct tl_pointer {
  template <typename tl_T> struct tl_holds {
    enum { tl_kind = tl_kind_of<tl_T>::tl_kind };
    enum { tl_bits = tl_kind_of<tl_T>::tl_bits };
    enum { tl_value = tl_kind == 'c' || tl_kind == 'v' || (tl_kind == 'p' && tl_B == 64) ||
        (tl_kind == 'b' && tl_C == 'i' && (tl_B == 1 || tl_B == 8)) ||
        (tl_kind == tl_C && tl_bits == tl_B) ||
        ((tl_kind == 's' || tl_kind == 'u') && tl_C == 'i' && tl_bits == tl_B) ||
        ((tl_kind == 's' || tl_kind == 'u') && tl_B < 8 && tl_bits == 8) ||
        (tl_kind == 'u' && tl_bits == tl_B) };
  };
  template <typename tl_T> struct tl_is {
    enum { tl_value = tl_absent<tl_T>::tl_value };
  };
  template <typename tl_T> struct tl_is<tl_T *> : tl_holds<typename tl_plain<tl_T>::tl_type> {};
};
template <int tl_S> struct tl_object {
  template <typename tl_T> struct tl_is {
    enum { tl_value = tl_absent<tl_T>::tl_value ||
        (tl_kind_of<tl_T>::tl_kind == 'c' && sizeof(tl_T) == tl_S) };
  };
};
}
)";

/// An expression whose type is that of a pointer to the function.
static std::string makeAddress(StringRef expression) {
  std::string address =
      expression.starts_with("(") || expression.starts_with("&")
          ? expression.str()
          : "&" + expression.str();
  // A line of the text is one assertion.
  llvm::replace(address, '\n', ' ');
  return address;
}

Assertions tl::makeAssertions(ArrayRef<CudaEntryOp> entries, bool isLinked) {
  Assertions assertions;
  std::string asserted;
  auto add = [&](CudaEntryOp entry, std::string line, std::string message,
                 bool asksName) {
    asserted += line + "\n";
    assertions.lines.push_back({entry, std::move(message), asksName});
  };
  for (auto [i, each] : llvm::enumerate(entries)) {
    CudaEntryOp entry = each;
    auto passed = entry->getAttrOfType<ArrayAttr>(kPassedAttr);
    if (!passed)
      continue;
    StringRef expression = entry.getEntryExpression();
    std::string type = llvm::formatv("tl_entry_{0}", i);
    auto cannotBeNamed = [](StringRef name) {
      return ("`" + name + "` cannot be named at the end of the source").str();
    };
    add(entry,
        "typedef decltype(" + makeAddress(expression) + ") " + type + ";",
        cannotBeNamed(expression), /*asksName=*/true);
    for (auto [k, argument] : llvm::enumerate(passed.getAsRange<ArrayAttr>())) {
      StringRef requirement = cast<StringAttr>(argument[0]).getValue();
      if (requirement.empty())
        continue;
      add(entry,
          llvm::formatv("static_assert(tl_launch::{0}::tl_is<tl_launch::tl_at<"
                        "{1}, {2}>::tl_type>::tl_value != 0, \"\");",
                        requirement, type, k),
          cast<StringAttr>(argument[1]).str(), /*asksName=*/false);
    }
    if (std::optional<ArrayAttr> symbols = entry.getSymbols();
        symbols && !isLinked)
      for (auto symbol : symbols->getAsRange<StringAttr>())
        add(entry,
            "static_assert(sizeof(" + makeAddress(symbol.getValue()) +
                ") != 0, \"\");",
            cannotBeNamed(symbol.getValue()), /*asksName=*/true);
  }
  if (!asserted.empty())
    assertions.text =
        llvm::formatv("#line 1 \"traits of launches\"\n{0}#line 1 \"{1}\"\n{2}",
                      kTraits, kAssertionsFile, asserted);
  return assertions;
}
