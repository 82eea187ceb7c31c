//===- Contents.h - What tensors held before a call -------------*- C++ -*-===//
//
// Keeps what the host's tensors hold that a call is going to write, and puts it
// back, so that the call can be made again as if for the first time.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PYTHON_CONTENTS_H
#define TL_PYTHON_CONTENTS_H

#include "Arguments.h"

#include <cstdint>
#include <memory>
#include <nanobind/nanobind.h>
#include <vector>

namespace tl::python {

/// A copy of the elements of some tensors, which stay alive as long.
class Contents {
public:
  /// Copies the tensors on the host among `arguments`; what is no tensor, or on
  /// a GPU, is left out.
  explicit Contents(nanobind::tuple arguments);
  Contents(const Contents &) = delete;
  Contents &operator=(const Contents &) = delete;

  /// Gives the elements the values back that they had then. What lies between
  /// them in memory is not touched.
  void putBack() const;

private:
  struct Copy {
    char *first;
    /// Extents and strides in bytes, the outermost first.
    std::vector<std::pair<int64_t, int64_t>> dims;
    /// The bytes behind each other that the innermost dimension counts.
    size_t runBytes;
    std::unique_ptr<char[]> bytes;
  };

  static Copy describe(const TlTensor &tensor);
  template <typename CopyRun>
  static char *walk(const Copy &copy, size_t dim, char *memory, char *kept,
                    CopyRun copyRun);

  /// Whoever passed a tensor in a capsule, or a view, is told of its end here.
  Holdings holdings;
  std::vector<Copy> copies;
};

void bindContents(nanobind::module_ &module);

} // namespace tl::python

#endif // TL_PYTHON_CONTENTS_H
