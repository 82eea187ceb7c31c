//===- Arguments.h - Python objects as kernel arguments ---------*- C++ -*-===//
//
// Reads what a caller passed: tensors of PyTorch, arrays of NumPy, anything
// that speaks DLPack, our own arrays, and numbers. No framework is imported.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PYTHON_ARGUMENTS_H
#define TL_PYTHON_ARGUMENTS_H

#include <Python.h>

#include "DLPack.h"
#include "tl-c/Runtime.h"

namespace tl::python {

/// What is known of a parameter before a call.
struct Parameter {
  const char *name;
  bool isTensor;
  /// Whether the kernel may write to the tensor.
  bool isWritten;
};

/// Which library a tensor came from.
enum class Origin { Number, Own, Torch, Buffer, DLPack };

/// One argument of a call, with what must be released after it.
class Argument {
public:
  Argument() = default;
  ~Argument();
  Argument(const Argument &) = delete;
  Argument &operator=(const Argument &) = delete;

  /// Reads an object. Returns false with a Python exception set if it is not
  /// what the parameter can be.
  bool read(PyObject *object, const Parameter &parameter);

  const TlArgument &value() const { return argument; }
  const TlTensor &tensor() const { return description; }
  Origin origin() const { return from; }

private:
  bool readNumber(PyObject *object, const Parameter &parameter);
  bool readTorch(PyObject *object, const Parameter &parameter);
  bool readBuffer(PyObject *object, const Parameter &parameter);
  bool readForeignDType(PyObject *object, const Parameter &parameter);
  bool readDLPack(PyObject *object, const Parameter &parameter);
  bool describeBuffer(const Parameter &parameter);
  bool reserve(Py_ssize_t rank, const Parameter &parameter);
  void useTensor(Origin origin);

  static constexpr int InlineRank = 8;

  TlArgument argument = {};
  TlTensor description = {};
  Origin from = Origin::Number;
  int64_t shape[InlineRank];
  int64_t strides[InlineRank];
  Py_buffer view = {};
  PyObject *owner = nullptr;
  ManagedTensor *managed = nullptr;
};

} // namespace tl::python

#endif // TL_PYTHON_ARGUMENTS_H
