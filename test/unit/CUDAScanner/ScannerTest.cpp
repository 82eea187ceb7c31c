//===- ScannerTest.cpp - What CUDA C++ texts declare ----------------------===//
//
// A table of texts and what the scanner sees in them, one line for each thing
// found; then types, names, and texts that no compiler would accept. What is
// left to the compiler must come out as unknown, or the text as opaque.
//
//===----------------------------------------------------------------------===//

#include "tl/CUDAScanner/Scanner.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <chrono>

using namespace llvm;
using namespace tl::cuda;

namespace {

/// One line for each thing that was found.
std::string print(const Scan &scan) {
  std::string text;
  raw_string_ostream os(text);
  for (const Entry &entry : scan.entries) {
    if (entry.isConditional)
      os << "maybe ";
    if (!entry.isDefined)
      os << "declared ";
    os << entry.getSignature() << '\n';
  }
  for (const HiddenEntry &hidden : scan.hidden)
    os << (hidden.reason == HiddenEntry::Comment ? "comment " : "left out ")
       << hidden.name << " on line " << hidden.location.line << '\n';
  for (const Problem &problem : scan.problems)
    os << problem.message << " on line " << problem.location.line << '\n';
  if (scan.isOpaque)
    os << "opaque\n";
  return text;
}

struct Case {
  const char *name;
  StringRef text;
  StringRef expected;
};

const Case cases[] = {
    // Declarations.
    {"Plain", "__global__ void f(float *x, int n) {}", "f(float *x, int n)\n"},
    {"None", "__device__ int f(int x) { return x; }\nint g();\n", ""},
    {"Empty", "", ""},
    {"Several",
     "__global__ void a() {}\n__global__ void b(int n) {}\n"
     "__global__ void c(void) {}",
     "a()\nb(int n)\nc()\n"},
    {"DeclaredOnly", "__global__ void f(float *x);", "declared f(float *x)\n"},
    {"ForwardDeclared",
     "__global__ void f(float *, int);\n__global__ void g() {}\n"
     "__global__ void f(float *x, int n) {}",
     "f(float *x, int n)\ng()\n"},
    {"DeclaredAfterDefinition",
     "__global__ void f(float *x) {}\n__global__ void f(float *y);",
     "f(float *x)\n"},
    {"ForwardWithConst",
     "__global__ void f(int);\n__global__ void f(const int n) {}",
     "f(const int n)\n"},
    {"Overloads",
     "__global__ void f(float *x) {}\n__global__ void f(double *x) {}",
     "f(float *x)\nf(double *x)\n"},
    {"ExternC", "extern \"C\" __global__ void f() {}", "f()\n"},
    {"ExternCBlock",
     "extern \"C\" {\n__global__ void f() {}\nint h();\n}\n"
     "__global__ void g() {}",
     "f()\ng()\n"},
    {"ExternCPlusPlus", "extern \"C++\" { __global__ void f() {} }", "f()\n"},
    {"NotAKernel", "void __global__x() {}\n__device__ void g() {}", ""},
    {"InABody",
     "void f() { auto s = \"__global__ void g() {}\"; { } }\n"
     "__global__ void h() { if (1) { } }",
     "h()\n"},
    {"ParenthesizedName", "__global__ void (f)(int n) {}", "f(int n)\n"},
    {"TrailingReturn", "__global__ auto f(int n) -> void {}", "f(int n)\n"},
    {"Noexcept", "__global__ void f(int n) noexcept(true) {}", "f(int n)\n"},
    {"OnManyLines", "__global__\nvoid\nf\n(\n  float\n  *\n  x\n)\n{\n}\n",
     "f(float *x)\n"},

    // Attributes.
    {"VoidFirst", "void __global__ f() {}", "f()\n"},
    {"StaticInline",
     "static inline __global__ void f() {}\n"
     "__global__ static void g() {}",
     "f()\ng()\n"},
    {"BoundsBefore", "__launch_bounds__(256) __global__ void f() {}", "f()\n"},
    {"BoundsBetween", "__global__ __launch_bounds__(256, 2) void f() {}",
     "f()\n"},
    {"BoundsAfterVoid", "__global__ void __launch_bounds__(256) f() {}",
     "f()\n"},
    {"BoundsOfClusters", "__global__ void __launch_bounds__(128, 1, 8) f() {}",
     "f()\n"},
    {"BoundsWithParentheses",
     "__global__ void __launch_bounds__((4 * (32 + 32)), ((2))) f(int n) {}",
     "f(int n)\n"},
    {"BoundsOfATemplate",
     "template <int N> __global__ void __launch_bounds__(N) f(int n) {}",
     "template <int N> f(int n)\n"},
    {"ClusterDims", "__global__ void __cluster_dims__((1 + 1), 1) f() {}",
     "f()\n"},
    {"ClusterDimsAndBounds",
     "__cluster_dims__(2, 2, 1) __global__ __launch_bounds__(64) void f() {}",
     "f()\n"},
    {"BlockSize", "__block_size__((32, 4), (2, 1, 1)) __global__ void f() {}",
     "f()\n"},
    {"MaxRegisters", "__global__ void __maxnreg__(64) f() {}", "f()\n"},
    {"StandardAttributes",
     "[[maybe_unused]] __global__ void f [[deprecated(\"no (\")]] (int n) {}",
     "f(int n)\n"},
    {"GNUAttributes",
     "__attribute__((unused, aligned(8))) __global__ void f(int n) {}\n"
     "__global__ void g(int n) __attribute__((weak));",
     "f(int n)\ndeclared g(int n)\n"},
    {"ClangAttributes", "__attribute__((global)) void f(int n) {}",
     "f(int n)\n"},
    {"UnknownMacroBefore", "KERNEL_ATTRIBUTES(3) __global__ void f(int n) {}",
     "f(int n)\n"},
    {"UnknownMacroBetween", "__global__ void MY_BOUNDS(256) f(int n) {}",
     "f(int n)\n"},
    {"UnknownMacroAfter", "__global__ void f(int n) MY_BOUNDS(256) {}",
     "f(int n)\n"},
    {"AttributesOnParameters",
     "__global__ void f([[maybe_unused]] int n, __attribute__((unused)) "
     "float *x) {}",
     "f(int n, float *x)\n"},

    // Parameters.
    {"ConstRestrict",
     "__global__ void f(const float *__restrict__ x, float const * "
     "__restrict__ const y, float *__restrict z) {}",
     "f(const float *x, const float *const y, float *z)\n"},
    {"RestrictOfAHeader", "__global__ void f(const float *RESTRICT x) {}",
     "f(const float *x)\n"},
    {"Unnamed", "__global__ void f(float *, int, const double) {}",
     "f(float *, int, const double)\n"},
    {"Defaults",
     "__global__ void f(int n = (1, 2), float a = g<1, 2>(3), int m = 4) {}",
     "f(int n, float a, int m)\n"},
    {"FunctionPointer",
     "__global__ void f(float (*op)(float, float), int n) {}",
     "f(float () *op, int n)\n"},
    {"Arrays", "__global__ void f(float x[], const int y[4], float z[2][3]) {}",
     "f(float *x, const int *y, array *z)\n"},
    {"References", "__global__ void f(const int &n, float (&x)[4]) {}",
     "f(const int &n, float () &x)\n"},
    {"IntegerWords",
     "__global__ void f(unsigned n, long unsigned int m, unsigned char c, long "
     "long k, short int s) {}",
     "f(unsigned int n, unsigned long m, unsigned char c, long long k, short "
     "s)\n"},
    {"Structs",
     "struct P { int a[4]; float b; };\n"
     "__global__ void f(P p, struct P q, const P r) {}",
     "f(P p, P q, const P r)\n"},
    {"TensorMaps",
     "__global__ void f(const __grid_constant__ CUtensorMap a, "
     "__grid_constant__ "
     "const CUtensorMap b) {}",
     "f(const CUtensorMap a, const CUtensorMap b)\n"},
    {"TemplateTypes",
     "__global__ void f(Array<float, 4> a, std::pair<A<int>, B<C<int>>> *p, "
     "int n) {}",
     "f(Array<float, 4> a, std::pair<A<int>, B<C<int>>> *p, int n)\n"},
    {"PointersToPointers",
     "__global__ void f(float **x, const int *const *y) {}",
     "f(float **x, const int *const *y)\n"},
    {"Volatile", "__global__ void f(volatile int *flag) {}", "f(int *flag)\n"},
    {"Variadic", "__global__ void f(int n, ...) {}", "f(int n, ...)\n"},

    // Templates.
    {"Template",
     "template <typename T, int N = 4> __global__ void f(T *x, int n) {}",
     "template <typename T, int N = 4> f(T *x, int n)\n"},
    {"TemplateComparison",
     "template <int N, bool B = (N > 2)> __global__ void f(int n) {}",
     "template <int N, bool B = (N > 2)> f(int n)\n"},
    {"TemplateTemplate",
     "template <template <typename> class C, class U> __global__ void f(C<U> "
     "c) "
     "{}",
     "template <template <typename> class C, class U> f(C<U> c)\n"},
    {"VariadicTemplate",
     "template <typename... Ts> __global__ void f(Ts... values, int n) {}",
     "template <typename... Ts> f(Ts... values, int n)\n"},
    {"ExplicitInstances",
     "template <typename T> __global__ void f(T *x) {}\n"
     "template __global__ void f<float>(float *);\n"
     "extern template __global__ void f<int>(int *);\n"
     "template <> __global__ void f<double>(double *x) {}",
     "template <typename T> f(T *x)\n"},
    {"InstanceOfAHeadersTemplate",
     "#include \"f.cuh\"\ntemplate __global__ void ns::f<float, 2>(float *x);",
     "declared ns::f<float, 2>(float *x)\n"},
    {"Requires",
     "template <typename T> requires (sizeof(T) == 4) __global__ void f(T *x) "
     "{}",
     "template <typename T> f(T *x)\n"},
    {"ClassTemplate",
     "template <typename T> struct S { T x; void f(); };\n"
     "__global__ void f(S<int> s) {}",
     "f(S<int> s)\n"},

    // Scopes.
    {"Namespaces",
     "namespace a { namespace b { __global__ void f() {} } }\n"
     "namespace c::d { __global__ void g() {} }\n__global__ void h() {}",
     "a::b::f()\nc::d::g()\nh()\n"},
    {"InlineNamespace",
     "namespace a { inline namespace v1 { __global__ void f() {} } }\n"
     "namespace a::inline v2 { __global__ void g() {} }",
     "a::f()\na::g()\n"},
    {"AnonymousNamespace", "namespace { __global__ void f() {} }", "f()\n"},
    {"NamespaceAlias", "namespace a = b::c;\n__global__ void f() {}", "f()\n"},
    {"DefinedOutsideItsNamespace",
     "namespace a { __global__ void f(int n); }\n"
     "__global__ void a::f(int n) {}",
     "a::f(int n)\n"},
    {"Classes",
     "class C : public B<int> { public: static void g(); friend __global__ "
     "void "
     "f(C c); int x{3}; C() : x{1} {} };\n__global__ void f(C c) {}",
     "f(C c)\n"},
    {"Enums",
     "enum class E : unsigned char { A, B };\nenum { C };\n"
     "__global__ void f(E e) {}",
     "f(E e)\n"},

    {"Members", "struct S { static __global__ void f() {} };", ""},

    // Phases of translation.
    {"ByteOrderMark", "\xEF\xBB\xBF__global__ void f() {}", "f()\n"},
    {"CRLF",
     "__global__\r\nvoid f(int n)\r\n{\r\n}\r\n// __global__ void g();\r\n",
     "f(int n)\ncomment g on line 5\n"},
    {"Splices",
     "__glo\\\nbal__ vo\\\r\nid f(int \\  \n n) {}\n// no \\\n"
     "__global__ void g() {}",
     "f(int n)\ncomment g on line 6\n"},
    {"Comments",
     "/* __global__ void a() {} */ __global__ /* x */ void /**/ f(int /* n */ "
     "m) {}\n// __global__ void b() {}",
     "f(int m)\ncomment a on line 1\ncomment b on line 2\n"},
    {"CommentOfLines",
     "// __global__ void\n//   a(int n) {\n// }\n__global__ void f() {}",
     "f()\ncomment a on line 2\n"},
    {"CommentInAString",
     "const char *s = \"/* \"; __global__ void f() {} // */", "f()\n"},
    {"Strings",
     "const char *s = \"__global__ void a() {} \\\" {\"; char c = '\"', d = "
     "'\\'';\n__global__ void f() {}",
     "f()\n"},
    {"RawStrings",
     "auto s = R\"(\n__global__ void a() {} \" )\";\n"
     "auto t = u8R\"x-y()\" \\\n{ )x\" )x-y\";\n__global__ void f() {}",
     "f()\n"},
    {"NotARawString",
     "#define R \"a\"\nauto s = R\"b\";\n__global__ void f() {}", "f()\n"},
    {"Separators", "int n = 1'000'000; char c = 'x';\n__global__ void f() {}",
     "f()\n"},
    {"Digraphs",
     "%:define K __global__\nK void f(int n<:4:>) <% %>\n"
     "namespace a <% K void g(A<::B> b) <%%> %>",
     "f(int *n)\na::g(A<::B> b)\n"},
    {"UTF8", "// größe: __global__ void α();\n__global__ void größe(int α) {}",
     "größe(int α)\ncomment α on line 1\n"},
    {"UniversalNames", "__global__ void gr\\u00f6n(int n) {}",
     "gr\\u00f6n(int n)\n"},

    // Macros.
    {"Macro", "#define KERNEL extern \"C\" __global__ void\nKERNEL f(int n) {}",
     "f(int n)\n"},
    {"MacroOfMacros",
     "#define A B\n#define B __global__ C\n#define C void\nA f() {}", "f()\n"},
    {"FunctionMacro",
     "#define KERNEL(name, ...) __global__ void name(__VA_ARGS__)\n"
     "KERNEL(f, float *x, int n) {}\nKERNEL(g) {}",
     "f(float *x, int n)\ng()\n"},
    {"Pasting",
     "#define MAKE(T) __global__ void scale_##T(T *x) {}\n"
     "MAKE(float)\nMAKE(int)\n__global__ void f() {}",
     "f()\nopaque\n"},
    {"PastedName",
     "#define CAT(a, b) a##b\n__global__ void CAT(f, g)(int n) {}", "opaque\n"},
    {"PastingElsewhere",
     "#define CAT(a, b) a##b\nint CAT(a, b);\n__global__ void f() {}", "f()\n"},
    {"Stringizing",
     "#define S(x) #x\nauto s = S(__global__ void a() {});\n"
     "__global__ void f() {}",
     "f()\n"},
    {"OptionalArguments",
     "#define K(n, ...) __global__ void n(int a __VA_OPT__(, ) __VA_ARGS__) "
     "{}\nK(f)",
     "opaque\n"},
    {"NestedCalls",
     "#define PTR(T) T *\n#define K(n, x) __global__ void n(x)\n"
     "K(f, PTR(PTR(float)) x) {}",
     "f(float **x)\n"},
    {"CallAcrossADirective",
     "#define K(n) __global__ void n()\nK(\n#pragma once\nf) {}\n"
     "K(\n#if 1\ng\n#endif\n) {}",
     "f()\nopaque\n"},
    {"RecursiveMacro",
     "#define f f\n#define a b\n#define b a\n__global__ void f(a x) {}",
     "f(a x)\n"},
    {"CallOverLines",
     "#define K(name,\\\n  type) __global__ void name(type x)\nK(f,\n  "
     "int)\n{}",
     "f(int x)\n"},
    {"NotACall", "#define g(x) broken\n__global__ void f(int g) {}",
     "f(int g)\n"},
    {"Undefined",
     "#define K __global__\n#undef K\nK void f() {}\n__global__ void g() {}",
     "g()\n"},
    {"TypesOfMacros",
     "#define real float\n#define PTR(T) T *__restrict__\n"
     "__global__ void f(PTR(const real) x) {}",
     "f(const float *x)\n"},

    // Conditions.
    {"IfZero",
     "#if 0\n__global__ void a() {}\n#else\n__global__ void f() {}\n#endif",
     "f()\nleft out a on line 2\n"},
    {"IfExpression",
     "#define N 4\n#if N * 2 >= 8 && !defined(M) && (N >> 1) == 2\n"
     "__global__ void f() {}\n#elif 1\n__global__ void g() {}\n#endif",
     "f()\nleft out g on line 5\n"},
    {"IfDefined",
     "#ifdef N\n__global__ void a() {}\n#endif\n#ifndef N\n"
     "__global__ void f() {}\n#endif",
     "f()\nleft out a on line 2\n"},
    {"Undecided",
     "#ifdef __CUDA_ARCH__\n__global__ void f() {}\n#else\n"
     "__global__ void g() {}\n#endif\n__global__ void h() {}",
     "maybe f()\nmaybe g()\nh()\n"},
    {"UndecidedByAHeader",
     "#include <config.h>\n#if USE_F\n__global__ void f() {}\n#endif\n"
     "#if 0 && USE_F\n__global__ void g() {}\n#endif",
     "maybe f()\nleft out g on line 6\n"},
    {"UndecidedBraces",
     "#include <config.h>\n#if USE_F\n__global__ void f(int n) {\n#else\n"
     "__global__ void f(float n) {\n#endif\n}\n__global__ void g() {}",
     "maybe f(int n)\ng()\nopaque\n"},
    {"UndecidedNames",
     "#include <config.h>\n#if USE_F\n__global__ void f(int n, int m) {}\n"
     "#else\n__global__ void f(int m, int n) {}\n#endif",
     "maybe f(int n, int m)\nmaybe f(int m, int n)\n"},
    {"UndecidedNamesOfADeclaration",
     "#include <config.h>\n__global__ void f(int n, int m);\n#if USE_F\n"
     "__global__ void f(int n, int m) {}\n#else\n"
     "__global__ void f(int m, int n) {}\n#endif",
     "maybe f(int n, int m)\nmaybe f(int m, int n)\n"},
    {"NameOfABranch",
     "#include <config.h>\n#if A\n__global__ void f(int k, int\n#if B\nn\n"
     "#else\nm\n#endif\n) {}\n#endif",
     "maybe f(int k, int)\n"},
    {"NameOfAMacroOfABranch",
     "#include <config.h>\n#if A\n#define NAME n\n#endif\n"
     "__global__ void f(int NAME) {}",
     "maybe f(int)\n"},
    {"UndefinedBeforeAHeader",
     "#undef N\n#include <config.h>\n#if N\n__global__ void f() {}\n#endif",
     "maybe f()\n"},
    {"UnsignedComparison",
     "#if -1 > 0u\n__global__ void f() {}\n#else\n__global__ void g() {}\n"
     "#endif",
     "maybe f()\nmaybe g()\n"},
    {"NoGuard",
     "#ifndef __CUDA_ARCH__\n__global__ void f() {}\n#else\n"
     "__global__ void g() {}\n#endif",
     "maybe f()\nmaybe g()\n"},
    {"ParametersOfABranch",
     "#include <config.h>\n__global__ void f(int n\n#if USE_M\n, float m\n"
     "#endif\n) {}",
     "maybe f(int n, float m)\n"},
    {"MacrosOfBranches",
     "#if __A\n#define LIST int n, int m\n#else\n#define LIST int m, int n\n"
     "#endif\n__global__ void f(LIST) {}",
     "maybe f(LIST)\n"},
    {"UndecidedMacro",
     "#include <config.h>\n#if USE_C\n#define API extern \"C\" __global__\n"
     "#else\n#define API\n#endif\nAPI void f() {}",
     "f()\n"},
    {"IncludeGuard",
     "#ifndef __F_H__\n#define __F_H__\n__global__ void f() {}\n#endif",
     "f()\n"},
    {"Apostrophe", "#if 0\ndon't\n#endif\n#error don't\n__global__ void f() {}",
     "f()\n"},
    {"NestedConditions",
     "#if 0\n#if 1\n__global__ void a() {}\n#else\n#endif\n#else\n"
     "__global__ void f() {}\n#endif",
     "f()\nleft out a on line 3\n"},

    // Mistakes.
    {"OpenComment", "__global__ void f() {}\n/* __global__ void a() {}",
     "f()\ncomment a on line 2\nthis comment has no end on line 2\n"},
    {"OpenString", "const char *s = \"abc\n;\n__global__ void f() {}",
     "f()\nthis string has no end on line 1\n"},
    {"OpenRawString", "__global__ void f() {}\nauto s = R\"(__global__",
     "f()\nthis string has no end on line 2\n"},
    {"OpenCondition", "__global__ void f() {}\n#if 1\n",
     "f()\nthis `#if` has no `#endif` on line 2\n"},
    {"StrayElse", "#else\n__global__ void f() {}\n#endif",
     "f()\nthis `#else` has no `#if` on line 1\nthis `#endif` has no `#if` on "
     "line 3\n"},
    {"ElseAfterElse", "#if 0\n#else\n#else\n#endif\n__global__ void f() {}",
     "f()\nthis `#else` comes after `#else` on line 3\n"},
    {"OpenBrace", "__global__ void f() {\n__global__ void g() {}\n",
     "f()\ng()\nthis `{` is not closed on line 1\n"},
    {"StrayBrace", "}\n__global__ void f() {}",
     "f()\nthis `}` closes nothing on line 1\n"},
    {"OpenParenthesis", "int x = (1;\n__global__ void f(int n) {}",
     "f(int n)\n"},
    {"StrayParenthesis", "__global__ void f);\n__global__ void g() {}",
     "g()\n"},
    {"OpenCall", "#define K(x) x\nK(\n__global__ void f() {}", "f()\n"},
};

class ScannerTest : public testing::TestWithParam<Case> {};

TEST_P(ScannerTest, Sees) {
  EXPECT_EQ(print(scan(GetParam().text)), GetParam().expected.str());
}

INSTANTIATE_TEST_SUITE_P(Texts, ScannerTest, testing::ValuesIn(cases),
                         [](const auto &info) { return info.param.name; });

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// The type of the last parameter of the only entry, in a few words.
std::string describe(const Type &type) {
  std::string text = type.isConst ? "const " : "";
  switch (type.kind) {
  case TypeKind::Unknown:
    return text + "unknown";
  case TypeKind::Void:
    return text + "void";
  case TypeKind::Bool:
    return text + "bool";
  case TypeKind::Integer:
    text += type.isSigned ? "i" : "u";
    break;
  case TypeKind::Float:
    text += "f";
    break;
  case TypeKind::BFloat:
    text += "bf";
    break;
  case TypeKind::Float8E4M3:
    return text + "e4m3";
  case TypeKind::Float8E5M2:
    return text + "e5m2";
  case TypeKind::TensorMap:
    return text + "map";
  case TypeKind::Pointer:
    return text + "pointer to " + describe(*type.pointee);
  case TypeKind::Reference:
    return text + "reference to " + describe(*type.pointee);
  }
  text += std::to_string(type.bits);
  return type.lanes == 1 ? text : text + "x" + std::to_string(type.lanes);
}

struct TypeCase {
  const char *name;
  /// What stands before the kernel, and its parameter.
  const char *before;
  const char *parameter;
  const char *expected;
};

const TypeCase typeCases[] = {
    {"Int", "", "int x", "i32"},
    {"Unsigned", "", "unsigned x", "u32"},
    {"Long", "", "long int unsigned x", "u64"},
    {"LongLong", "", "long long x", "i64"},
    {"Char", "", "char x", "i8"},
    {"Bool", "", "const bool x", "const bool"},
    {"Double", "", "double x", "f64"},
    {"LongDouble", "", "long double x", "unknown"},
    {"Half", "", "const __half *x", "pointer to const f16"},
    {"BFloat", "", "nv_bfloat162 *x", "pointer to bf16x2"},
    {"Float8", "", "__nv_fp8_e4m3 *x", "pointer to e4m3"},
    {"Float8Pair", "", "const __nv_fp8x2_e5m2 *x", "pointer to const e5m2"},
    {"Vector", "", "float4 *x", "pointer to f32x4"},
    {"Vector3", "", "ulonglong3 x", "u64x3"},
    {"FixedWidth", "", "std::uint16_t x", "u16"},
    {"CudaStd", "", "cuda::std::size_t x", "u64"},
    {"Byte", "", "std::byte *x", "pointer to u8"},
    {"OtherByte", "", "byte *x", "pointer to unknown"},
    {"Void", "", "const void *x", "pointer to const void"},
    {"TensorMap", "", "const __grid_constant__ CUtensorMap x", "const map"},
    {"Typedef", "typedef float real;", "real *x", "pointer to f32"},
    {"TypedefOfPointer", "typedef const float *P;", "P x",
     "pointer to const f32"},
    {"TypedefOfFunction", "typedef int (*F)(int);", "F x",
     "pointer to unknown"},
    {"TypedefOfStruct", "typedef struct { int a; } S;", "S x", "unknown"},
    {"TypedefOfEnum", "typedef enum { A } E;", "E x", "unknown"},
    {"TypedefHidesNoMember", "typedef struct { int32_t a; } S, *P;",
     "int32_t x", "i32"},
    {"StructOfAMacro", "struct ALIGNED(8) S { int32_t a; };", "int32_t x",
     "i32"},
    {"Using", "using real = double;", "const real *x", "pointer to const f64"},
    {"UsingChain", "using A = int; using B = A; using C = B *;", "C *x",
     "pointer to pointer to i32"},
    {"UsingHides", "struct half { int x; };", "half x", "unknown"},
    {"UsingOfNamespace", "namespace n { using real = float; }", "n::real x",
     "unknown"},
    {"UsingInNamespace", "namespace n { using real = float; }", "real x",
     "f32"},
    {"UsingOfTwo", "namespace n { using real = float; } using real = double;",
     "real x", "unknown"},
    {"UsingOfClass", "struct S { using T = int; };", "S::T x", "unknown"},
    {"AliasTemplate", "template <class T> using P = T *;", "P<int> x",
     "unknown"},
    {"Enum", "enum class uint : unsigned char { A };", "uint x", "unknown"},
    {"Struct", "struct S { float x; };", "S *x", "pointer to unknown"},
    {"Header", "#include \"types.h\"\n", "index_t x", "unknown"},
    {"Branches",
     "#include \"types.h\"\n#if BIG\ntypedef double real;\n#else\n"
     "typedef float real;\n#endif\n",
     "real x", "unknown"},
    {"MacroOfABranch",
     "#include \"types.h\"\n#ifndef real\n#define real float\n#endif\n",
     "real x", "unknown"},
    {"Decided",
     "#ifdef BIG\ntypedef double real;\n#else\ntypedef float real;\n#endif\n",
     "real x", "f32"},
    {"TemplateParameter", "template <int N, class T>", "const T *x",
     "pointer to const unknown"},
    {"Dependent", "template <class T>", "typename A<T>::type x", "unknown"},
    {"Array", "", "const float x[4]", "pointer to const f32"},
    {"Reference", "", "const int &x", "reference to const i32"},
};

class TypeTest : public testing::TestWithParam<TypeCase> {};

TEST_P(TypeTest, IsKnown) {
  std::string text = std::string(GetParam().before) + " __global__ void f(" +
                     GetParam().parameter + ") {}";
  Scan result = scan(text);
  ASSERT_EQ(result.entries.size(), 1u);
  ASSERT_EQ(result.entries[0].parameters.size(), 1u);
  EXPECT_EQ(result.entries[0].parameters[0].name, "x");
  EXPECT_EQ(describe(result.entries[0].parameters[0].type),
            GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Types, TypeTest, testing::ValuesIn(typeCases),
                         [](const auto &info) { return info.param.name; });

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// The signatures that a name selects, or the error.
std::string select(StringRef text, std::optional<StringRef> name) {
  Scan result = scan(text);
  Expected<SmallVector<Candidate>> found = findEntry(result, name);
  if (!found)
    return toString(found.takeError());
  std::string signatures;
  for (const Candidate &candidate : *found)
    signatures += candidate.getSignature() + "\n";
  return signatures;
}

TEST(NamesTest, TheOnlyEntryNeedsNoName) {
  EXPECT_EQ(select("__global__ void f(int n) {}", std::nullopt), "f(int n)\n");
  EXPECT_EQ(select("__global__ void f() {} __global__ void g(int n) {}",
                   std::nullopt),
            "the source has 2 entries; name one of `f()`, `g(int n)`");
  EXPECT_EQ(select("void f() {}", std::nullopt),
            "the source has no `__global__` function");
  EXPECT_EQ(select("\n// __global__ void f() {}", std::nullopt),
            "the source has no `__global__` function; `f` on line 2 is in a "
            "comment");
  EXPECT_EQ(
      select("template <class T> __global__ void f(T x) {}", std::nullopt),
      "`template <class T> f(T x)` is a template; name an instance of it, "
      "such as `f<float>`");
}

TEST(NamesTest, NamesAreQualified) {
  StringRef text = "namespace a { __global__ void f(int n) {} namespace { "
                   "__global__ void g() {} } }";
  EXPECT_EQ(select(text, "a::f"), "a::f(int n)\n");
  EXPECT_EQ(select(text, "::a::f"), "a::f(int n)\n");
  EXPECT_EQ(select(text, "& a :: f"), "a::f(int n)\n");
  EXPECT_EQ(select(text, "a::g"), "a::g()\n");
  EXPECT_EQ(select(text, "f"), "the source has no entry `f`; did you mean "
                               "`a::f`?; it has `a::f(int n)`, `a::g()`");
}

TEST(NamesTest, UnknownNamesGetTheNearestOne) {
  StringRef text = "__global__ void saxpy(float *x) {}\n#if 0\n"
                   "__global__ void scale() {}\n#endif\n";
  EXPECT_EQ(select(text, "sapxy"),
            "the source has no entry `sapxy`; did you mean `saxpy`?; it has "
            "`saxpy(float *x)`");
  EXPECT_EQ(select(text, "SAXPY"),
            "the source has no entry `SAXPY`; did you mean `saxpy`?; it has "
            "`saxpy(float *x)`");
  EXPECT_EQ(select(text, "scale"),
            "the source has no entry `scale`; `scale` on line 3 is in a branch "
            "that is not compiled; it has `saxpy(float *x)`");
  EXPECT_EQ(select(text, ""), "the source has no entry ``; it has `saxpy(float "
                              "*x)`");
  std::string many;
  for (int i = 0; i < 10; ++i)
    many += "__global__ void k" + std::to_string(i) + "() {}\n";
  EXPECT_EQ(select(many, "reduction"),
            "the source has no entry `reduction`; it has `k0()`, `k1()`, "
            "`k2()`, `k3()`, `k4()`, `k5()`, `k6()`, `k7()` and 2 more");
}

TEST(NamesTest, TemplatesHaveArguments) {
  StringRef text =
      "using real = double;\nnamespace n { template <typename T, int N = 4> "
      "__global__ void scale(const T *x, T *const *y, T a, int n) {} }\n"
      "__global__ void plain() {}";
  EXPECT_EQ(select(text, "n::scale<float, 8>"),
            "n::scale<float, 8>(const T *x, T *const *y, T a, int n)\n");
  EXPECT_EQ(
      select(text, "n::scale"),
      "`template <typename T, int N = 4> n::scale(const T *x, T *const *y, "
      "T a, int n)` is a template; name an instance of it, such as "
      "`n::scale<float>`");
  EXPECT_EQ(select(text, "plain<int>"), "`plain()` is no template");
}

TEST(NamesTest, DefaultsAndPacks) {
  EXPECT_EQ(select("template <class T = float> __global__ void f(T x) {}",
                   std::nullopt),
            "f<>(T x)\n");
  EXPECT_EQ(
      select("template <class... Ts> __global__ void f(Ts *...xs, int n) {}",
             "f<int, float>"),
      "f<int, float>(Ts *... xs, int n)\n");
  EXPECT_EQ(select("template __global__ void f<int>(int *x);", "f<int>"),
            "f<int>(int *x)\n");
}

TEST(NamesTest, MacrosMayMakeMore) {
  StringRef text = "#define MAKE(T) __global__ void scale_##T(T *x) {}\n"
                   "MAKE(float)\n__global__ void f() {}";
  EXPECT_EQ(select(text, std::nullopt),
            "macros of the source may make other kernels than `f()`; name the "
            "entry");
  EXPECT_EQ(select(text, "f"), "f()\n");
}

TEST(NamesTest, OverloadsAreAllFound) {
  EXPECT_EQ(
      select("__global__ void f(int n) {} __global__ void f(float *x) {}", "f"),
      "f(int n)\nf(float *x)\n");
}

//===----------------------------------------------------------------------===//
// Places, headers, options
//===----------------------------------------------------------------------===//

TEST(ScanTest, PlacesAreThoseOfTheText) {
  Scan result =
      scan("\xEF\xBB\xBF__global__ void a() {}\r\n#define K \\\r\n "
           "__global__ void\r\nK  b() {}\n/* x\n  __global__ void c(); "
           "*/ __glob\\\nal__ void d() {}");
  ASSERT_EQ(result.entries.size(), 3u);
  auto place = [](const Location &location) {
    return std::to_string(location.line) + ":" +
           std::to_string(location.column);
  };
  EXPECT_EQ(place(result.entries[0].location), "1:17");
  EXPECT_EQ(place(result.entries[1].location), "4:4");
  EXPECT_EQ(place(result.entries[2].location), "7:11");
  ASSERT_EQ(result.hidden.size(), 1u);
  EXPECT_EQ(place(result.hidden[0].location), "6:19");
}

TEST(ScanTest, HeadersAreListed) {
  std::string text;
  for (const Include &include :
       listIncludes("#include <cuda_fp16.h>\n#  include \"a/b.h\" // c\n"
                    "auto s = R\"(/* \n#include \"no.h\"\n)\";\n"
                    "#include H\n#if 0\n#include /**/ <x/y-z.h>\n#endif\n"
                    "// #include <no.h>\n/*\n#include <no.h>\n*/ #include \\\n"
                    "<c d.h>\n%:include <e.h>\n#include_next <f.h>\n#include"))
    text += include.str() + " ";
  EXPECT_EQ(text, "<cuda_fp16.h> \"a/b.h\" H <x/y-z.h> <c d.h> <e.h> <f.h> ");
}

TEST(ScanTest, HeadersAreRead) {
  ScanOptions options;
  std::string asked;
  options.include = [&](const Include &include,
                        StringRef from) -> std::optional<Header> {
    asked += include.name + " from " + from.str() + "\n";
    if (include.name == "a.h")
      return Header{"dir/a.h", "#pragma once\n#include \"b.h\"\n"
                               "__global__ void of_header(real x) {}\n"
                               "#define K __global__\n#if 1\n"};
    if (include.name == "b.h")
      return Header{"dir/b.h", "typedef float real;\n"};
    if (include.name == "self.h")
      return Header{"self.h", "#include \"self.h\"\n"};
    return std::nullopt;
  };
  Scan result =
      scan("#include \"a.h\"\n#include \"a.h\"\nK void f(real *x) {}\n"
           "#if USE_G\nK void g() {}\n#endif\n#include <c.h>\n"
           "#if USE_G\nK void h() {}\n#endif\n",
           options);
  EXPECT_EQ(print(result), "of_header(real x)\nf(real *x)\nmaybe h()\n"
                           "this `#if` has no `#endif` on line 5\n");
  EXPECT_EQ(asked, "a.h from \nb.h from dir/a.h\na.h from \nc.h from \n");
  EXPECT_EQ(result.entries[0].location.file, "dir/a.h");
  EXPECT_EQ(describe(result.entries[1].parameters[0].type), "pointer to f32");
  EXPECT_EQ(print(scan("#include \"self.h\"\n__global__ void f() {}", options)),
            "f()\nheaders include each other without end on line 1\n");
}

TEST(ScanTest, APreludeComesFirst) {
  ScanOptions options;
  options.prelude = "#define K __global__\nusing real = float;";
  Scan result = scan("K void f(real *x) {}", options);
  EXPECT_EQ(print(result), "f(real *x)\n");
  EXPECT_EQ(result.entries[0].location.line, 1u);
  EXPECT_EQ(describe(result.entries[0].parameters[0].type), "pointer to f32");
}

TEST(ScanTest, OptionsDefineMacros) {
  ScanOptions options;
  options.flags = {"-DN=64",    "-D",   "USE_F", "--define-macro=T=float",
                   "-lineinfo", "-DN2", "-UN2",  "-U",
                   "USE_F2"};
  EXPECT_EQ(print(scan("#if USE_F == 1 && !defined(N2) && N == 64\n"
                       "__global__ void f(T x) {}\n#else\n"
                       "__global__ void g() {}\n#endif\n",
                       options)),
            "f(float x)\nleft out g on line 4\n");
}

//===----------------------------------------------------------------------===//
// Texts that are meant to break it
//===----------------------------------------------------------------------===//

std::string repeat(StringRef piece, size_t bytes) {
  std::string text;
  while (text.size() < bytes)
    text += piece;
  return text;
}

/// Ends, soon, without using the stack up. The bound is wide: what it guards
/// against takes minutes to hours.
TEST(ScanTest, AnyTextTakesLinearTime) {
  constexpr size_t size = 1 << 18;
  std::vector<std::string> texts;
  std::string garbage;
  uint64_t state = 1;
  while (garbage.size() < (10u << 20)) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    garbage += static_cast<char>(state >> 56);
  }
  texts.push_back(garbage);
  for (StringRef piece : {"(",
                          "{",
                          "<",
                          "[",
                          "f(",
                          "a<",
                          "namespace a{",
                          "template<",
                          "struct S{",
                          "R\"(",
                          "R\"",
                          "/*",
                          "\\\n",
                          "\\ ",
                          "\"",
                          "'",
                          "#if X\n",
                          "#if 0\n",
                          "#else\n",
                          "x,",
                          "__global__ ",
                          "__global__ void f(",
                          "void f(int a<",
                          "template<class T>",
                          "extern \"C\"{",
                          "typedef ",
                          "using x=",
                          "a::",
                          "[[",
                          "__launch_bounds__(",
                          "#define A A A\nA ",
                          "enum e:",
                          ">>",
                          "// __global__\n",
                          "#if 0\n__global__ void f()\n#endif\n",
                          "struct S{x",
                          "struct "})
    texts.push_back(repeat(piece, size));
  texts.push_back("#if " + repeat("(", size));
  texts.push_back("#if " + repeat("!-", size) + "1\n#endif");
  texts.push_back("#if " + repeat("1?", size));
  texts.push_back("__global__ void f(" + repeat("int a[(<", size));
  texts.push_back("template <" + repeat("class A<", size));
  texts.push_back("#define f(x) x\n" + repeat("f(", size));
  texts.push_back("#define f(x) x\n#define g(x) x x\n" +
                  repeat("f(g(", size / 2) + repeat(")", size / 4));
  texts.push_back("#define f(x)\n#define g(x)\n" + repeat("f(g(", size / 2) +
                  repeat(")", size / 4));
  texts.push_back("#define f(x) x x\n" + repeat("f(", size / 2) +
                  repeat(")", size / 4));
  std::string laughs = "#define a0 ha ha\n";
  for (int i = 1; i < 60; ++i) {
    std::string last = "a" + std::to_string(i - 1);
    laughs += "#define a" + std::to_string(i) + " " + last + " " + last + "\n";
  }
  texts.push_back(laughs + "a59");
  std::string pastes = "#define c(x) d(x##x)\n#define d(x) x\n#define p0 ha\n";
  for (int i = 1; i < 60; ++i)
    pastes += "#define p" + std::to_string(i) + "(x) p" +
              std::to_string(i + 1) + "(x##x)\n";
  texts.push_back(pastes + "p1(ha)");
  std::string chain;
  for (int i = 0; i < 50000; ++i)
    chain +=
        "#define m" + std::to_string(i) + " m" + std::to_string(i + 1) + " x\n";
  texts.push_back(chain + "m0");
  for (const std::string &text : texts) {
    auto start = std::chrono::steady_clock::now();
    Scan result = scan(text);
    (void)findEntry(result, "scale").takeError();
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - start;
    EXPECT_LT(time.count(), 10) << text.substr(0, 40);
  }
}

} // namespace
