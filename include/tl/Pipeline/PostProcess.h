//===- PostProcess.h - Programs that edit generated source ------*- C++ -*-===//
//
// A user's program may edit a kernel's source before it is compiled further.
// Pipelines name it by an identifier that says all that it does, so that the
// text of a pipeline, and with it the cache's key, says so too; what is behind
// the identifier is known to the process that is compiling, and only for as
// long.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PIPELINE_POSTPROCESS_H
#define TL_PIPELINE_POSTPROCESS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <map>
#include <string>

namespace tl {

/// Returns the source to use in place of `source`, which is for `chip`.
using PostProcessor = std::function<llvm::Expected<std::string>(
    llvm::StringRef source, llvm::StringRef chip)>;

/// Makes a post-processor known while it lives. Several may have one
/// identifier: they do the same, and any of them is called.
class PostProcessorScope {
public:
  PostProcessorScope(llvm::StringRef id, PostProcessor processor);
  ~PostProcessorScope();
  PostProcessorScope(const PostProcessorScope &) = delete;
  PostProcessorScope &operator=(const PostProcessorScope &) = delete;

private:
  std::multimap<std::string, PostProcessor>::iterator place;
};

/// The post-processor of this identifier; empty if there is none now.
PostProcessor findPostProcessor(llvm::StringRef id);

} // namespace tl

#endif // TL_PIPELINE_POSTPROCESS_H
