//===- RemoteTransports.h - The protocols of servers -----------*- C++ -*-===//
//
// One function for each protocol; `openTransport` chooses.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CACHE_REMOTETRANSPORTS_H
#define TL_LIB_CACHE_REMOTETRANSPORTS_H

#include "tl/Cache/SharedTiers.h"

namespace tl::cache {

std::unique_ptr<BlobTransport> openHTTP(const RemoteAddress &server,
                                        const ConnectionOptions &options);

std::unique_ptr<BlobTransport> openRedis(const RemoteAddress &server,
                                         const ConnectionOptions &options);

} // namespace tl::cache

#endif // TL_LIB_CACHE_REMOTETRANSPORTS_H
