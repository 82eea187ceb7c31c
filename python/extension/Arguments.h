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
#include <forward_list>

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
  /// By the buffer protocol, as NumPy's arrays.
  Buffer,
  /// By a capsule for each tensor.
  DLPack,
  /// `None`, for a tensor that the kernel does not use.
  Null,
};

struct TypeInfo {
  Origin origin = Origin::Number;
  /// For `Origin::Exchange`, else null.
  const ExchangeAPI *exchange = nullptr;
};

/// What is known of the type of `object`.
TypeInfo describeType(PyObject *object);

/// What an argument needs until the call is over: its memory's owner, and room
/// for a shape. Tensors that are read through functions for C need none.
class Holding {
public:
  Holding() = default;
  ~Holding();
  Holding(const Holding &) = delete;
  Holding &operator=(const Holding &) = delete;

private:
  friend class Argument;
  static constexpr int InlineRank = 8;

  PyObject *owner = nullptr;
  ManagedTensor *managed = nullptr;
  VersionedTensor *versioned = nullptr;
  bool hasView = false;
  Py_buffer view;
  int64_t shape[InlineRank];
  int64_t strides[InlineRank];
};

using Holdings = std::forward_list<Holding>;

/// One argument of a call: where what is read of an object goes.
class Argument {
public:
  Argument(const Parameter &parameter, TlArgument &value, TlTensor &tensor,
           Holdings &holdings)
      : parameter(parameter), value(value), tensor(tensor), holdings(holdings) {
  }

  /// Reads an object of a type that is known, all but those that come in
  /// capsules: they must know the stream that they will be used on. Returns
  /// false with a Python exception set if it is not what the parameter can be.
  bool read(PyObject *object, const TypeInfo &type) {
    if (parameter.isTensor && type.exchange) [[likely]]
      return !type.exchange->describeTensor(object, &tensor) ? useTensor()
                                                             : failExchange();
    return readOther(object, type);
  }

  /// Reads an object of `Origin::DLPack`. Its producer makes `stream`, in
  /// DLPack's numbering, wait for its work; null for the host.
  bool readDLPack(PyObject *object, PyObject *stream);

private:
  bool readOther(PyObject *object, const TypeInfo &type);
  bool readNumber(PyObject *object);
  bool failExchange();
  bool readBuffer(PyObject *object);
  bool readForeignDType(PyObject *object, Holding &holding);
  bool describeBuffer(Holding &holding);
  bool useTensor() {
    value.kind = TL_ARGUMENT_TENSOR;
    value.value.tensor = &tensor;
    return true;
  }

  const Parameter &parameter;
  TlArgument &value;
  TlTensor &tensor;
  Holdings &holdings;
};

} // namespace tl::python

#endif // TL_PYTHON_ARGUMENTS_H
