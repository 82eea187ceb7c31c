//===- Types.h - The types that CUDA C++ itself names -----------*- C++ -*-===//

#ifndef TL_LIB_CUDASCANNER_TYPES_H
#define TL_LIB_CUDASCANNER_TYPES_H

#include "tl/CUDAScanner/Scanner.h"

namespace tl::cuda {

/// Whether `word` is a keyword of which arithmetic types are made: `unsigned`.
bool isTypeWord(llvm::StringRef word);

/// The type that keywords make, in any order: `long unsigned int`.
Type makeArithmeticType(llvm::ArrayRef<llvm::StringRef> words);

/// A type that the headers of C++ and CUDA give a name: `uint32_t`, `half2`,
/// `CUtensorMap`. `Unknown` for any other name.
Type getNamedType(llvm::StringRef name);

/// A type that is known by its name only.
Type makeUnknown(llvm::StringRef text);

Type makePointer(Type pointee);
Type makeReference(Type referred, bool isRvalue);

/// Makes `type` const, in meaning and text.
Type addConst(Type type);

} // namespace tl::cuda

#endif // TL_LIB_CUDASCANNER_TYPES_H
