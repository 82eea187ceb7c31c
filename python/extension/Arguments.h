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

/// How an object of a type is read.
enum class Origin {
  Number,
  Own,
  /// By the functions that its framework offers to C.
  Exchange,
  /// By the methods of PyTorch's tensors, before it offered such functions.
  Torch,
  /// By the buffer protocol, as NumPy's arrays.
  Buffer,
  /// By a capsule for each tensor.
  DLPack,
  /// `None`, for a tensor that the kernel does not use.
  Null,
};

struct TypeInfo {
  Origin origin = Origin::Number;
  /// For `Origin::Exchange`.
  const ExchangeAPI *exchange = nullptr;
};

/// What is known of the type of `object`.
TypeInfo describeType(PyObject *object);

/// One argument of a call, with what must be released after it.
class Argument {
public:
  Argument() = default;
  ~Argument();
  Argument(const Argument &) = delete;
  Argument &operator=(const Argument &) = delete;

  /// Reads an object, all but those that come in capsules: they must know the
  /// stream that they will be used on. Returns false with a Python exception
  /// set if it is not what the parameter can be.
  bool read(PyObject *object, const Parameter &parameter);

  /// Reads an object of `Origin::DLPack`. Its producer makes `stream`, in
  /// DLPack's numbering, wait for its work; null for the host.
  bool readDLPack(PyObject *object, const Parameter &parameter,
                  PyObject *stream);

  const TlArgument &value() const { return argument; }
  const TlTensor &tensor() const { return description; }
  Origin origin() const { return info.origin; }
  const ExchangeAPI *exchange() const { return info.exchange; }

private:
  bool readNumber(PyObject *object, const Parameter &parameter);
  bool readExchange(PyObject *object, const Parameter &parameter);
  bool readTorch(PyObject *object, const Parameter &parameter);
  bool readBuffer(PyObject *object, const Parameter &parameter);
  bool readForeignDType(PyObject *object, const Parameter &parameter);
  bool takeView(PyObject *object, int flags);
  bool describeBuffer(const Parameter &parameter);
  bool reserve(Py_ssize_t rank, const Parameter &parameter);
  void useTensor();

  static constexpr int InlineRank = 8;

  TlArgument argument = {};
  TlTensor description = {};
  TypeInfo info;
  PyObject *owner = nullptr;
  ManagedTensor *managed = nullptr;
  VersionedTensor *versioned = nullptr;
  bool hasView = false;
  Py_buffer view;
  int64_t shape[InlineRank];
  int64_t strides[InlineRank];
};

} // namespace tl::python

#endif // TL_PYTHON_ARGUMENTS_H
