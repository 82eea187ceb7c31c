//===- KernelFuzzer.cpp - Records of kernels that anyone may have written -===//
//
// The input is the text of a record. What is read of it is names, numbers and
// lists within bounds.
//
//===----------------------------------------------------------------------===//

#include "FuzzSupport.h"

#include "tl/Cache/Entry.h"
#include "tl/Pipeline/KernelRecord.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace tl;
using namespace tl::cache::fuzz;

static void check(const RecordedParam &param, bool isMember) {
  require(param.operand >= 0 && param.operand <= KernelRecord::maxOperand);
  require(param.index >= 0 && param.index < KernelRecord::maxRank);
  require(param.members.empty() || !isMember);
  require(param.kind != "tensor_map" || getMapElementBytes(param.type) != 0);
  for (const RecordedParam &member : param.members)
    check(member, /*isMember=*/true);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  StringRef input(reinterpret_cast<const char *>(data), size);
  Expected<KernelRecord> record = KernelRecord::parse(input);
  if (!record) {
    require(!toString(record.takeError()).empty());
    return 0;
  }
  for (const RecordedKernel &kernel : record->kernels) {
    require(isSymbolName(kernel.name));
    require(!kernel.entry || isSymbolName(*kernel.entry));
    require(kernel.shared >= 0 && kernel.block.size() <= 3);
    require(product_of(kernel.block) <= KernelRecord::maxThreads);
    for (const RecordedParam &param : kernel.params)
      check(param, /*isMember=*/false);
    for (const auto &[name, stored] : kernel.files)
      require(cache::isValidFileName(stored) && !name.empty());
  }
  return 0;
}
