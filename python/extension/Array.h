//===- Array.h - Tensors of our own -----------------------------*- C++ -*-===//
//
// Memory on the host or on a GPU with a shape and an element type: what
// kernels return when no framework is in use, and where NumPy arrays are copied
// for kernels that run on a GPU. Exported through DLPack.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PYTHON_ARRAY_H
#define TL_PYTHON_ARRAY_H

#include "DLPack.h"
#include <cstdint>
#include <nanobind/nanobind.h>
#include <string>
#include <vector>

namespace tl::python {

/// The element type of a name in launch plans, such as "f16"; false if unknown.
bool parseDType(const std::string &name, uint8_t &code, uint8_t &bits);

class Array {
public:
  /// Allocates; throws the Python exception if that fails.
  Array(std::vector<int64_t> shape, std::string dtype, int32_t deviceType,
        int32_t deviceId);
  ~Array();
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;

  TlTensor tensor() const;
  const std::vector<int64_t> &shape() const { return extents; }
  const std::string &dtype() const { return typeName; }
  size_t byteSize() const { return bytes; }
  int32_t deviceType() const { return device; }
  int32_t deviceId() const { return id; }
  uintptr_t address() const { return reinterpret_cast<uintptr_t>(data); }

  /// Copies from, or into, a contiguous buffer of the same size on the host.
  void copyFrom(nanobind::object buffer);
  void copyInto(nanobind::object buffer) const;
  /// Copies as many bytes from the start as `buffer` has.
  void copyStartInto(nanobind::object buffer) const;
  /// Zeros all of it; on a GPU in the order of the stream.
  void clear(uintptr_t stream);

private:
  std::vector<int64_t> extents;
  std::vector<int64_t> strides;
  std::string typeName;
  size_t bytes = 0;
  void *data = nullptr;
  int32_t device;
  int32_t id;
  uint8_t code = 0;
  uint8_t bits = 0;
};

/// Adds the class to the module.
void bindArray(nanobind::module_ &module);

/// The array behind a Python object, or null if it is none.
const Array *getArray(PyObject *object);

} // namespace tl::python

#endif // TL_PYTHON_ARRAY_H
