//===- Errors.cpp - Exceptions of the extension ---------------------------===//
//
// The classes live in Python and are looked up when they are needed, which is
// never on a call that succeeds.
//
//===----------------------------------------------------------------------===//

#include "Errors.h"

namespace tl::python {

void setError(const char *name, const std::string &message) {
  PyObject *module = PyImport_ImportModule("tilec.errors");
  if (!module)
    return;
  if (PyObject *type = PyObject_GetAttrString(module, name)) {
    PyErr_SetString(type, message.c_str());
    Py_DECREF(type);
  }
  Py_DECREF(module);
}

/// The exception class for a category of runtime errors.
static const char *exceptionName(TlErrorCategory category) {
  switch (category) {
  case TL_ERROR_ARGUMENT_COUNT:
  case TL_ERROR_ARGUMENT_KIND:
  case TL_ERROR_NULL_POINTER:
    return "ArgumentError";
  case TL_ERROR_RANK:
    return "RankError";
  case TL_ERROR_DTYPE:
    return "DTypeError";
  case TL_ERROR_SHAPE:
    return "ShapeError";
  case TL_ERROR_STRIDE:
    return "StrideError";
  case TL_ERROR_ALIGNMENT:
    return "AlignmentError";
  case TL_ERROR_DEVICE:
    return "DeviceError";
  case TL_ERROR_VALUE:
    return "RangeError";
  case TL_ERROR_PLAN:
  case TL_ERROR_ARCHITECTURE:
  case TL_ERROR_NO_CUDA:
  case TL_ERROR_OUT_OF_MEMORY:
  case TL_ERROR_CUDA:
  case TL_ERROR_DEADLOCK:
    return "LaunchError";
  case TL_ERROR_SIMULATION:
    return "SimulationError";
  case TL_ERROR_INTERRUPTED:
    break;
  }
  return "LaunchError";
}

void setError(TlError *error) {
  // What interrupted a call has raised its own exception (Launcher.cpp).
  if (tlErrorCategory(error) != TL_ERROR_INTERRUPTED || !PyErr_Occurred())
    setError(exceptionName(tlErrorCategory(error)), tlErrorMessage(error));
  tlErrorDestroy(error);
}

} // namespace tl::python
