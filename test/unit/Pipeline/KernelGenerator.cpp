//===- KernelGenerator.cpp - Tile kernels drawn at random -----------------===//

#include "KernelGenerator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <random>
#include <vector>

using namespace llvm;
using namespace tl::test;

namespace {

/// Writes functions with `$` in front of each name of a value, and leaves the
/// style to others.
class Generator {
public:
  explicit Generator(uint64_t seed) : random(seed) {}

  /// The lines of a function of this name with one kernel.
  std::vector<std::string> generate(StringRef name) {
    lines.clear();
    switch (draw(3)) {
    case 0:
      generateElementwise(name);
      break;
    case 1:
      generateProduct(name);
      break;
    default:
      generateReduction(name);
    }
    return std::move(lines);
  }

private:
  unsigned draw(unsigned bound) { return random() % bound; }

  template <typename T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[draw(choices.size())];
  }

  void line(const Twine &text) { lines.push_back(text.str()); }

  /// What is known of a tensor.
  std::string drawFacts(StringRef name) {
    std::string facts =
        formatv("{{tl.align = {0} : i64", pick<unsigned>({4, 8, 16}));
    if (draw(2))
      facts += formatv(", tl.name = \"{0}\"", name);
    return facts + "}";
  }

  /// `@name `, or nothing to let the compiler name the kernel.
  std::string drawKernelName(StringRef name) {
    return draw(2) ? formatv("@{0}_given ", name).str() : "";
  }

  void generateElementwise(StringRef name);
  void generateProduct(StringRef name);
  void generateReduction(StringRef name);
  std::string generateExpression(std::vector<std::string> values,
                                 StringRef type);

  std::mt19937_64 random;
  std::vector<std::string> lines;
};

} // namespace

/// Combines `values` at random; returns the name of the result.
std::string Generator::generateExpression(std::vector<std::string> values,
                                          StringRef type) {
  auto drawValue = [&] { return values[draw(values.size())]; };
  for (unsigned i = 0, e = 2 + draw(6); i != e; ++i) {
    std::string result = formatv("$e{0}", i);
    std::string first = drawValue(), second = drawValue();
    switch (draw(4)) {
    case 0:
      line(formatv("{0} = {1} {2} : {3}", result,
                   pick<StringRef>({"arith.negf", "math.exp", "math.absf"}),
                   first, type));
      break;
    case 1:
      line(formatv("$t{0} = arith.cmpf {1}, {2}, {3} : {4}", i,
                   pick<StringRef>({"olt", "oge", "une"}), first, second,
                   type));
      line(formatv("{0} = arith.select $t{1}, {2}, {3} : {4}", result, i,
                   second, drawValue(), type));
      break;
    default:
      line(formatv("{0} = {1} {2}, {3}{4} : {5}", result,
                   pick<StringRef>({"arith.addf", "arith.subf", "arith.mulf",
                                    "arith.divf", "arith.maximumf"}),
                   first, second, draw(4) ? "" : " fastmath<nnan>", type));
    }
    values.push_back(result);
  }
  return values.back();
}

void Generator::generateElementwise(StringRef name) {
  StringRef type = pick<StringRef>({"f16", "bf16", "f32"});
  unsigned width = pick<unsigned>({64, 128, 256, 512});
  unsigned blocks = 1 + draw(64);
  std::string tensor = formatv("memref<{0}x{1}>", width * blocks, type);
  line(formatv("func.func @{0}($A: {1} {2}, $B: {1} {3}, $s: {4}) attributes "
               "{{tl.entry} {{",
               name, tensor, drawFacts("A"), drawFacts("B"), type));
  line(formatv("$g = arith.constant {0} : index", blocks));
  line(formatv("tl.kernel {0}blocks($b) in ($g) threads({1}) {{",
               drawKernelName(name), pick<unsigned>({32, 64, 128, 256})));
  line(formatv("$w = arith.constant {0} : index", width));
  line(formatv("$c = arith.constant {0}.5 : {1}", draw(100), type));
  line("$from = arith.muli $b, $w : index");
  line(formatv("tl.parallel ($i) in ({0}) {{", width));
  line("$at = arith.addi $from, $i : index");
  line(formatv("$x = tl.load $A[$at] : {0}", tensor));
  std::string result = generateExpression({"$x", "$s", "$c"}, type);
  line(formatv("tl.store {0}, $B[$at] : {1}", result, tensor));
  lines.insert(lines.end(), {"}", "}", "return", "}"});
}

void Generator::generateProduct(StringRef name) {
  StringRef type = pick<StringRef>({"f16", "bf16"});
  unsigned m = pick<unsigned>({64, 128}), n = pick<unsigned>({64, 128, 256}),
           k = pick<unsigned>({32, 64}), depth = 1 + draw(16);
  auto getTensor = [&](const Twine &rows, unsigned columns) {
    return formatv("memref<{0}x{1}x{2}>", rows.str(), columns, type).str();
  };
  auto getShared = [&](unsigned rows, unsigned columns) {
    return formatv("memref<{0}x{1}x{2}, #gpu.address_space<workgroup>>", rows,
                   columns, type)
        .str();
  };
  std::string a = getTensor("?", k * depth), b = getTensor(Twine(k * depth), n),
              c = getTensor("?", n), as = getShared(m, k), bs = getShared(k, n);
  std::string acc = formatv("memref<{0}x{1}xf32, #tl.fragment>", m, n);
  line(formatv("func.func @{0}($A: {1} {2}, $B: {3} {4}, $C: {5} {6}, $g: "
               "index) attributes {{tl.entry} {{",
               name, a, drawFacts("A"), b, drawFacts("B"), c, drawFacts("C")));
  line(formatv("tl.kernel {0}blocks($y) in ($g) threads({1}) {{",
               drawKernelName(name), pick<unsigned>({128, 256})));
  line("$c0 = arith.constant 0 : index");
  line(formatv("$depth = arith.constant {0} : index", depth));
  line(formatv("$ck = arith.constant {0} : index", k));
  line(formatv("$cm = arith.constant {0} : index", m));
  line(formatv("$start = arith.constant {0}.0 : f32", draw(3)));
  line(formatv("$as = tl.alloc : {0}", as));
  line(formatv("$bs = tl.alloc : {0}", bs));
  line(formatv("$acc = tl.alloc : {0}", acc));
  line(formatv("tl.fill $acc, $start : {0}", acc));
  line("$row = arith.muli $y, $cm : index");
  line(formatv("tl.pipelined $k = $c0 to $depth stages({0}) {{", 1 + draw(4)));
  line("$kk = arith.muli $k, $ck : index");
  line(formatv("tl.copy $A[$row, $kk] to $as tile({0}, {1}) : {2} to {3}", m, k,
               a, as));
  line(formatv("tl.copy $B[$kk, $c0] to $bs tile({0}, {1}) : {2} to {3}", k, n,
               b, bs));
  line(formatv("tl.gemm $as, $bs, $acc : {0}, {1}, {2}", as, bs, acc));
  line("}");
  if (draw(2)) {
    line(formatv("tl.parallel ($i, $j) in ({0}, {1}) {{", m, n));
    line(formatv("$x = tl.load $acc[$i, $j] : {0}", acc));
    std::string result = generateExpression({"$x", "$start"}, "f32");
    line(formatv("tl.store {0}, $acc[$i, $j] : {1}", result, acc));
    line("}");
  }
  line(formatv("tl.copy $acc to $C[$row, $c0] tile({0}, {1}) : {2} to {3}", m,
               n, acc, c));
  lines.insert(lines.end(), {"}", "return", "}"});
}

void Generator::generateReduction(StringRef name) {
  unsigned columns = pick<unsigned>({256, 512, 1024});
  std::string tensor = formatv("memref<?x{0}xf32>", columns);
  std::string row = formatv("memref<1x{0}xf32, #tl.fragment>", columns);
  std::string one = "memref<1xf32, #tl.fragment>";
  line(formatv("func.func @{0}($X: {1} {2}, $Y: {1} {3}, $rows: index) "
               "attributes {{tl.entry} {{",
               name, tensor, drawFacts("X"), drawFacts("Y")));
  line(formatv("tl.kernel {0}blocks($r) in ($rows) threads({1}) {{",
               drawKernelName(name), pick<unsigned>({64, 128, 256})));
  line("$c0 = arith.constant 0 : index");
  line(formatv("$x = tl.alloc : {0}", row));
  line(formatv("$all = tl.alloc : {0}", one));
  line(formatv("tl.copy $X[$r, $c0] to $x tile(1, {0}) : {1} to {2}", columns,
               tensor, row));
  line(formatv("tl.reduce {0} $x to $all dim(1) : {1} to {2}",
               pick<StringRef>({"sum", "max", "min"}), row, one));
  line(formatv("tl.parallel ($i, $j) in (1, {0}) {{", columns));
  line(formatv("$a = tl.load $x[$i, $j] : {0}", row));
  line(formatv("$m = tl.load $all[$i] : {0}", one));
  std::string result = generateExpression({"$a", "$m"}, "f32");
  line(formatv("tl.store {0}, $x[$i, $j] : {1}", result, row));
  line("}");
  line(formatv("tl.copy $x to $Y[$r, $c0] tile(1, {0}) : {1} to {2}", columns,
               row, tensor));
  lines.insert(lines.end(), {"}", "return", "}"});
}

//===----------------------------------------------------------------------===//
// Style
//===----------------------------------------------------------------------===//

/// `line` as the style has it, the `number`th of its function.
static std::string write(StringRef line, unsigned number, const Style &style) {
  std::string text;
  if (style.hasComments && number % 3 == 1)
    text += formatv("\n  // Comment {0} of {1}.\n\n", number, style.prefix);
  for (char c : line)
    if (c == '$')
      text += "%" + style.prefix.str();
    else
      text += c;
  if (style.hasComments && number % 2)
    text += "  // a comment behind";
  return text + "\n";
}

std::string tl::test::generateKernels(uint64_t seed, unsigned count,
                                      const Style &style) {
  Generator generator(seed);
  std::vector<std::string> functions;
  for (unsigned i = 0; i < count; ++i) {
    std::string text;
    unsigned number = 0;
    for (const std::string &line :
         generator.generate(formatv("f{0}_{1}", seed, i).str()))
      text += write(line, number++, style);
    functions.push_back(std::move(text));
  }
  if (style.isReversed)
    std::reverse(functions.begin(), functions.end());
  std::string unrelated;
  if (!style.unrelated.empty())
    unrelated = formatv("func.func private @{0}(i32)\n", style.unrelated);
  return unrelated + join(functions, "\n");
}
