//===- ShowText.h - Text of strangers on a terminal -------------*- C++ -*-===//
//
// Names and messages that come back from a cache, from a server or from another
// process may have been written by anyone, and a terminal obeys what it is
// shown: escape sequences move the cursor, set titles and the clipboard, and
// directional marks reorder what stands around them.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SUPPORT_SHOWTEXT_H
#define TL_SUPPORT_SHOWTEXT_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace tl {

/// `text` with a `?` for everything that is not shown as itself: control
/// characters of ASCII and of Unicode, line breaks, marks of direction, what
/// has no width, and bytes that are not UTF-8.
std::string showText(llvm::StringRef text);

/// The same for text of several lines. Lines after the first are indented, so
/// that none can pass for a message of its own; tabs become spaces.
std::string showLines(llvm::StringRef text);

} // namespace tl

#endif // TL_SUPPORT_SHOWTEXT_H
