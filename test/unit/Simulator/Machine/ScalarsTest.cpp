//===- ScalarsTest.cpp - Numbers of all widths and formats ----------------===//

#include "Simulated.h"

#include "llvm/ADT/APFloat.h"
#include <bit>
#include <cmath>

using namespace tl::sim;

/// Runs a function of a thread's word, `%v`, whose result is `%r`.
static std::vector<uint32_t> compute(llvm::StringRef body,
                                     std::vector<uint32_t> words) {
  Simulated run = simulate(("%v = llvm.load %at : !llvm.ptr<1> -> i32\n" +
                            body + "\nllvm.store %r, %at : i32, !llvm.ptr<1>")
                               .str(),
                           words);
  EXPECT_EQ(run.text, "");
  return run.words;
}

/// Numbers of 32 bits, among them the ends of every range.
static std::vector<uint32_t> getWords() {
  return {0,          1,          2,          3,          7,
          127,        128,        255,        256,        32767,
          32768,      65535,      65536,      0x33800000, 0x33800001,
          0x387FC000, 0x387FE000, 0x3F800000, 0x3F801000, 0x3F803000,
          0x477FE000, 0x477FF000, 0x47800000, 0x7F7FFFFF, 0x7F800000,
          0x7F800001, 0x7FC00000, 0x80000000, 0x80000001, 0xBF800001,
          0xFF800000, 0xFFFFFFFF};
}

/// Bytes have the signs of bytes, and what is above them stays zero.
TEST(Scalars, BytesWrapAndHaveSigns) {
  std::vector<uint32_t> words = getWords();
  auto results = compute(R"(
    %c3 = arith.constant 3 : i8
    %b = arith.trunci %v : i32 to i8
    %p = arith.muli %b, %c3 : i8
    %q = arith.divsi %p, %c3 : i8
    %r = arith.extsi %q : i8 to i32)",
                         words);
  for (size_t i = 0; i < words.size(); ++i) {
    auto product = int8_t(uint8_t(words[i]) * 3);
    EXPECT_EQ(results[i], uint32_t(int32_t(int8_t(product / 3)))) << words[i];
  }
}

/// A division by zero, and the one that does not fit, end no process.
TEST(Scalars, DivisionsAreTotal) {
  auto results = compute(R"(
    %c0 = arith.constant 0 : i32
    %m1 = arith.constant -1 : i32
    %a = arith.divsi %v, %c0 : i32
    %b = arith.divsi %v, %m1 : i32
    %r = arith.addi %a, %b : i32)",
                         getWords());
  for (size_t i = 0; i < results.size(); ++i)
    EXPECT_EQ(results[i], -getWords()[i]);
}

/// The bits of a float in a format of LLVM's, rounded to nearest even.
static uint32_t roundTo(uint32_t word, const llvm::fltSemantics &semantics) {
  llvm::APFloat number(std::bit_cast<float>(word));
  bool losesInfo;
  (void)number.convert(semantics, llvm::APFloat::rmNearestTiesToEven,
                       &losesInfo);
  return number.bitcastToAPInt().getZExtValue();
}

/// Rounds each word to a format and returns its bits.
static void expectRounded(llvm::StringRef type, unsigned bits,
                          const llvm::fltSemantics &semantics) {
  std::string width = std::to_string(bits);
  auto results =
      compute(("%f = arith.bitcast %v : i32 to f32\n"
               "%h = arith.truncf %f : f32 to " +
               type + "\n%i = arith.bitcast %h : " + type + " to i" + width +
               "\n%r = arith.extui %i : i" + width + " to i32")
                  .str(),
              getWords());
  for (size_t i = 0; i < results.size(); ++i) {
    uint32_t expected = roundTo(getWords()[i], semantics);
    if (std::isnan(std::bit_cast<float>(getWords()[i])))
      EXPECT_TRUE(
          llvm::APFloat(semantics, llvm::APInt(bits, results[i])).isNaN());
    else
      EXPECT_EQ(results[i], expected) << type.str() << " of " << getWords()[i];
  }
}

TEST(Scalars, FloatsAreRoundedToNearestEven) {
  expectRounded("f16", 16, llvm::APFloat::IEEEhalf());
  expectRounded("bf16", 16, llvm::APFloat::BFloat());
  expectRounded("f8E5M2", 8, llvm::APFloat::Float8E5M2());
  expectRounded("f8E4M3FN", 8, llvm::APFloat::Float8E4M3FN());
}

/// A product that is halfway between two results, and an addend far below.
TEST(Scalars, ProductsAndSumsOfNarrowFloatsAreRoundedOnce) {
  for (auto [name, semantics] :
       {std::pair<llvm::StringRef, const llvm::fltSemantics *>(
            "bf16", &llvm::APFloat::BFloat()),
        {"f16", &llvm::APFloat::IEEEhalf()}}) {
    std::vector<uint32_t> words;
    for (uint32_t i = 0; i < 32; ++i)
      words.push_back((i & 16) << 11 | (i & 15) * 0x821);
    std::string type = name.str();
    std::string body = "%h = arith.trunci %v : i32 to i16\n"
                       "%c = arith.bitcast %h : i16 to " +
                       type +
                       "\n"
                       "%a = arith.constant 7.0 : " +
                       type +
                       "\n"
                       "%b = arith.constant 37.0 : " +
                       type +
                       "\n"
                       "%f = math.fma %a, %b, %c : " +
                       type +
                       "\n"
                       "%w = arith.bitcast %f : " +
                       type +
                       " to i16\n"
                       "%r = arith.extui %w : i16 to i32";
    std::vector<uint32_t> results = compute(body, words);
    for (auto [word, result] : llvm::zip_equal(words, results)) {
      llvm::APFloat number(7.0f), other(37.0f);
      bool ignored;
      auto even = llvm::APFloat::rmNearestTiesToEven;
      number.convert(*semantics, even, &ignored);
      other.convert(*semantics, even, &ignored);
      llvm::APFloat addend(*semantics, llvm::APInt(16, word));
      number.fusedMultiplyAdd(other, addend, even);
      if (!number.isNaN())
        EXPECT_EQ(result, number.bitcastToAPInt().getZExtValue())
            << type << " " << word;
    }
  }
}

/// Every pattern of a format stands for the number that it has in LLVM's.
TEST(Scalars, NarrowFloatsAreWidenedExactly) {
  for (uint32_t high = 0; high < 2048; ++high) {
    std::vector<uint32_t> words;
    for (uint32_t low = 0; low < 32; ++low)
      words.push_back(high << 5 | low);
    auto results = compute(R"(
      %h = arith.trunci %v : i32 to i16
      %n = arith.bitcast %h : i16 to f16
      %w = arith.extf %n : f16 to f32
      %r = arith.bitcast %w : f32 to i32)",
                           words);
    for (uint32_t low = 0; low < 32; ++low) {
      llvm::APFloat number(llvm::APFloat::IEEEhalf(),
                           llvm::APInt(16, words[low]));
      float got = std::bit_cast<float>(results[low]);
      if (number.isNaN())
        EXPECT_TRUE(std::isnan(got));
      else
        EXPECT_EQ(results[low],
                  std::bit_cast<uint32_t>(number.convertToFloat()));
    }
    high += high % 64 == 63 ? 0 : 15; // a sample of all exponents
  }
}

/// Floats become the nearest end of an integer's range, NaN 0.
TEST(Scalars, FloatsToIntegersSaturate) {
  auto results = compute(R"(
    %f = arith.bitcast %v : i32 to f32
    %b = arith.fptosi %f : f32 to i8
    %r = arith.extsi %b : i8 to i32)",
                         getWords());
  for (size_t i = 0; i < results.size(); ++i) {
    float f = std::bit_cast<float>(getWords()[i]);
    int32_t expected = std::isnan(f) ? 0
                       : f >= 127    ? 127
                       : f <= -128   ? -128
                                     : int32_t(f);
    EXPECT_EQ(int32_t(results[i]), expected) << f;
  }
}
