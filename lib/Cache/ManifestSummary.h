//===- ManifestSummary.h - What a list shows of a manifest -----*- C++ -*-===//
//
// To list a hundred thousand entries takes no more than to look at each: this
// reads the few members of a manifest that a list shows, in one pass, without
// checking the seal and without keeping the rest.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CACHE_MANIFESTSUMMARY_H
#define TL_LIB_CACHE_MANIFESTSUMMARY_H

#include "tl/Cache/DirectoryStore.h"

namespace tl::cache {

/// Fills in what the text of a manifest says: `created`, `files`, the texts of
/// the metadata, and adds to the size. False for text that is not one.
bool summarize(llvm::StringRef text, EntrySummary &summary);

} // namespace tl::cache

#endif // TL_LIB_CACHE_MANIFESTSUMMARY_H
