//===- CallArray.h - Memory of one call -------------------------*- C++ -*-===//
//
// An array that a call fills and reads once.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PYTHON_CALLARRAY_H
#define TL_PYTHON_CALLARRAY_H

#include <cstddef>
#include <memory>

namespace tl::python {

/// What one call needs for each argument: on the stack, unless there are very
/// many, and not set to anything.
template <typename T>
class CallArray {
public:
  explicit CallArray(size_t count)
      : more(count > InlineCount ? new T[count] : nullptr),
        begin(more ? more.get() : storage) {}
  T &operator[](size_t i) { return begin[i]; }
  const T *data() const { return begin; }

private:
  static constexpr size_t InlineCount = 16;
  T storage[InlineCount];
  std::unique_ptr<T[]> more;
  T *begin;
};

} // namespace tl::python

#endif // TL_PYTHON_CALLARRAY_H
