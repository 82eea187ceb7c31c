//===- Matrices.cpp - ldmatrix, stmatrix and mma.sync ---------------------===//
//
// Which lane holds which element is that of the PTX ISA, "Warp-level matrix
// load instruction: ldmatrix", "… store instruction: stmatrix", and "Matrix
// Fragments for mma.m16n8k8, m16n8k16 and m16n8k32".
//
//===----------------------------------------------------------------------===//

#include "Multiply.h"
#include "tl/Simulator/Instructions.h"
#include <cstring>

using namespace tl::sim;

//===----------------------------------------------------------------------===//
// ldmatrix and stmatrix
//===----------------------------------------------------------------------===//

static constexpr unsigned kMatrixRows = 8;
static constexpr unsigned kRowBytes = 16;

/// Lane 8 i + j gives the address of row j of matrix i; the addresses of the
/// lanes after those of the last matrix are not looked at.
static std::optional<Fault> checkRows(const SharedMemory &shared,
                                      const uint32_t *addresses,
                                      unsigned count) {
  for (unsigned lane = 0; lane < count * kMatrixRows; ++lane) {
    Span span{Space::Shared, addresses[lane], kRowBytes};
    if (span.address % kRowBytes != 0)
      return Fault{Fault::Kind::Misaligned, span, lane,
                   "the row of a matrix must begin at a multiple of 16 bytes"};
    if (!shared.contains(span.address, span.bytes))
      return Fault{Fault::Kind::OutOfBounds, span, lane};
  }
  return std::nullopt;
}

/// Element `half` (0 or 1) of a lane's register, as row and column of an 8x8
/// matrix.
static std::pair<unsigned, unsigned> getPlace(unsigned lane, unsigned half,
                                              bool transpose) {
  unsigned row = lane / 4, column = lane % 4 * 2 + half;
  return transpose ? std::pair(column, row) : std::pair(row, column);
}

std::optional<Fault> tl::sim::ldmatrix(const SharedMemory &shared,
                                       const uint32_t *addresses,
                                       unsigned count, bool transpose,
                                       uint32_t *result) {
  if (auto fault = checkRows(shared, addresses, count))
    return fault;
  // All addresses are read before the first result is written: they may be the
  // same registers.
  uint16_t matrices[4][kMatrixRows][kMatrixRows];
  for (unsigned i = 0; i < count * kMatrixRows; ++i)
    std::memcpy(matrices[i / kMatrixRows][i % kMatrixRows],
                shared.at(addresses[i]), kRowBytes);
  for (unsigned i = 0; i < count; ++i)
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      auto [row0, column0] = getPlace(lane, 0, transpose);
      auto [row1, column1] = getPlace(lane, 1, transpose);
      row(result, i)[lane] = matrices[i][row0][column0] |
                             uint32_t(matrices[i][row1][column1]) << 16;
    }
  return std::nullopt;
}

std::optional<Fault> tl::sim::stmatrix(SharedMemory &shared,
                                       const uint32_t *addresses,
                                       unsigned count, bool transpose,
                                       const uint32_t *value) {
  if (auto fault = checkRows(shared, addresses, count))
    return fault;
  for (unsigned i = 0; i < count; ++i) {
    uint16_t matrix[kMatrixRows][kMatrixRows];
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned half : {0, 1}) {
        auto [line, column] = getPlace(lane, half, transpose);
        matrix[line][column] = uint16_t(row(value, i)[lane] >> 16 * half);
      }
    for (unsigned j = 0; j < kMatrixRows; ++j)
      std::memcpy(shared.at(addresses[i * kMatrixRows + j]), matrix[j],
                  kRowBytes);
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

/// An accumulator's bits and a row times a column. 8-bit floats are multiplied
/// as halves, by two instructions: the lower pair of each register first, then
/// the upper one.
template <unsigned depth>
static uint32_t addRow(uint32_t accumulator, const FloatFactor *row,
                       const FloatFactor *column, SumType sum) {
  constexpr unsigned parts = depth == 32 ? 2 : 1;
  for (unsigned part = 0; part < parts; ++part) {
    Products<depth> products;
    for (unsigned k = 0; k < depth; ++k)
      if (parts == 1 || k % 4 / 2 == part)
        products.add(row[k], column[k]);
    accumulator = products.addTo(accumulator, sum, kWideSum);
  }
  return accumulator;
}

/// All shapes take 32 bytes of K from each row of A and column of B, as two
/// halves of 16 bytes, a register of each of which is in four adjacent lanes:
/// lane l has 4 bytes at byte 4 (l mod 4) of rows l / 4 and l / 4 + 8. Register
/// r of A is of the upper rows if r is odd, and of the second half from 2 on;
/// that of B is of half r, and its lanes l / 4 are columns.
template <MmaType type>
static void multiplyWarp(SumType sum, const uint32_t *a, const uint32_t *b,
                         const uint32_t *c, uint32_t *d, bool isSame) {
  using Factor = Factors<type>;
  constexpr unsigned bytes = Factor::kBytes, perRegister = 4 / bytes;
  constexpr unsigned half = 16 / bytes, depth = 2 * half;
  Operand<type> rows[16][depth], columns[8][depth];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    unsigned k = lane % 4 * perRegister;
    for (unsigned r = 0; r < 4; ++r)
      for (unsigned i = 0; i < perRegister; ++i)
        rows[lane / 4 + r % 2 * 8][k + r / 2 * half + i] =
            decodeOperand<type>(row(a, r)[lane] >> 8 * bytes * i);
    for (unsigned r = 0; r < 2; ++r)
      for (unsigned i = 0; i < perRegister; ++i)
        columns[lane / 4][k + r * half + i] =
            decodeOperandB<type>(row(b, r)[lane] >> 8 * bytes * i, isSame);
  }
  for (unsigned line = 0; line < 16; ++line)
    for (unsigned column = 0; column < 8; ++column) {
      // Elements 0 and 1 are of the upper eight rows, 2 and 3 of the lower.
      unsigned lane = line % 8 * 4 + column / 2;
      unsigned element = line / 8 * 2 + column % 2;
      row(d, element)[lane] = addRow<depth>(row(c, element)[lane], rows[line],
                                            columns[column], sum);
    }
}

void tl::sim::mmaF64(const uint64_t *a, const uint64_t *b, const uint64_t *c,
                     uint64_t *d) {
  constexpr unsigned depth = 4, perLane = 4;
  uint64_t sums[perLane * kLanes];
  auto get = [](const uint64_t *words, unsigned element, unsigned lane) {
    return std::bit_cast<double>(words[element * kLanes + lane]);
  };
  for (unsigned element = 0; element < perLane; ++element)
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      unsigned line = lane / 4, column = lane % 4 * 2 + element % 2;
      double sum = get(c, element, lane);
      for (unsigned k = 0; k < depth; ++k)
        sum = std::fma(get(a, element / 2, line * 4 + k),
                       get(b, 0, column * 4 + k), sum);
      sums[element * kLanes + lane] = std::bit_cast<uint64_t>(sum);
    }
  std::copy(std::begin(sums), std::end(sums), d);
}

void tl::sim::mma(MmaType type, SumType sum, const uint32_t *a,
                  const uint32_t *b, const uint32_t *c, uint32_t *d,
                  std::optional<MmaType> typeOfB) {
  bool isSame = typeOfB.value_or(type) == type;
  visitFactors(type, [&](auto constant) {
    multiplyWarp<decltype(constant)::value>(sum, a, b, c, d, isSame);
  });
}
