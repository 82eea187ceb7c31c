//===- TuningFuzzer.cpp - What a list shows of manifests of any text ------===//
//
// The input is the text of a manifest, such as that of a tuner's record, which
// lists read in one pass, and text that JSON's limits are held against. Neither
// reads past the end, whatever it is.
//
//===----------------------------------------------------------------------===//

#include "FuzzSupport.h"

#include "ManifestSummary.h"
#include "tl/Support/BoundedJSON.h"

using namespace llvm;
using namespace tl;
using namespace tl::cache;
using namespace tl::cache::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  StringRef input(reinterpret_cast<const char *>(data), size);
  EntrySummary summary;
  if (summarize(input, summary))
    require(summary.files.size() <= Manifest::maxFiles);
  // What is within the limits is parsed without exhausting anything.
  consumeError(parseBounded(input).takeError());
  // A list shows whatever can be loaded.
  Expected<Manifest> manifest = Manifest::parse(input);
  if (!manifest) {
    consumeError(manifest.takeError());
    return 0;
  }
  EntrySummary again;
  require(summarize(input, again));
  return 0;
}
