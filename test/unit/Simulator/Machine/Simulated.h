//===- Simulated.h - Run a small kernel in a test ---------------*- C++ -*-===//
//
// A kernel as text, over an array of 32-bit words that it finds at `%out` and
// changes. `%t` is the thread and `%at` the address of its own word.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TEST_UNIT_SIMULATOR_MACHINE_SIMULATED_H
#define TL_TEST_UNIT_SIMULATOR_MACHINE_SIMULATED_H

#include "tl/Simulator/Decode.h"
#include "tl/Simulator/Machine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "gtest/gtest.h"

namespace tl::sim {

/// What came of running a kernel.
struct Simulated {
  std::vector<uint32_t> words;
  std::vector<Report> reports;
  std::string text;

  /// The kinds of what was reported.
  std::vector<Report::Kind> kinds() const {
    std::vector<Report::Kind> kinds;
    for (const Report &report : reports)
      kinds.push_back(report.kind);
    return kinds;
  }
};

inline const mlir::DialectRegistry &getRegistry() {
  static const mlir::DialectRegistry registry = [] {
    mlir::DialectRegistry registry;
    registry.insert<mlir::arith::ArithDialect, mlir::gpu::GPUDialect,
                    mlir::LLVM::LLVMDialect, mlir::NVVM::NVVMDialect,
                    mlir::math::MathDialect, mlir::scf::SCFDialect,
                    mlir::vector::VectorDialect, TLDialect>();
    return registry;
  }();
  return registry;
}

/// Runs `body` in blocks of `threads` threads, one if nothing else is said,
/// with `shared` bytes of shared memory, on `words`.
inline Simulated simulate(llvm::StringRef body, std::vector<uint32_t> words,
                          unsigned threads = 32, unsigned shared = 1024,
                          uint64_t seed = 0, unsigned blocks = 1,
                          unsigned cluster = 1) {
  std::string text =
      ("gpu.module @m {\n"
       "gpu.func @k(%out: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel "
       "attributes {known_block_size = array<i32: " +
       llvm::Twine(threads) + ", 1, 1>, tl.shared = " + llvm::Twine(shared) +
       " : i64} {\n"
       "%t = gpu.thread_id x\n"
       "%t32 = arith.index_cast %t : index to i32\n"
       "%at = llvm.getelementptr %out[%t32] : (!llvm.ptr<1>, i32) -> "
       "!llvm.ptr<1>, i32\n" +
       body + "\ngpu.return\n}\n}\n")
          .str();
  Simulated result;
  auto program = decodeText(text, "k", getRegistry());
  if (!program) {
    result.text = toString(program.takeError());
    return result;
  }
  result.words = std::move(words);
  auto begin = reinterpret_cast<uint64_t>(result.words.data());
  GlobalMemory memory({{begin, begin + 4 * result.words.size(), "out"}});
  uint64_t parameters[] = {begin};
  Launch launch;
  launch.program = program->get();
  launch.grid[0] = blocks;
  launch.together[0] = cluster;
  launch.sharedBytes = shared;
  launch.parameters = parameters;
  launch.global = &memory;
  launch.seed = seed;
  result.reports = run(launch).reports;
  for (const Report &report : result.reports)
    result.text += describe(report, launch) + "\n";
  return result;
}

/// As many words as there are threads.
inline std::vector<uint32_t> zeros(unsigned count = 32) {
  return std::vector<uint32_t>(count);
}

} // namespace tl::sim

#endif // TL_TEST_UNIT_SIMULATOR_MACHINE_SIMULATED_H
