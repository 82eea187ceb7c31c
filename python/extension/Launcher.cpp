//===- Launcher.cpp - The call of a kernel --------------------------------===//
//
// Reads the arguments on the stack, finds the stream, calls the runtime.
//
//===----------------------------------------------------------------------===//

#include "Launcher.h"
#include "Arguments.h"
#include "Array.h"
#include "CallArray.h"
#include "Errors.h"
#include "Executable.h"
#include "GIL.h"
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <structmember.h>
#include <vector>

namespace nb = nanobind;

namespace tl::python {

namespace {

struct State {
  const TlExecutable *executable = nullptr;
  nb::object owner;
  nb::object currentStream;
  std::vector<std::string> names;
  std::vector<Parameter> parameters;
  bool isCuda = false;
};

struct Launcher {
  PyObject_HEAD vectorcallfunc vectorcall;
  State *state;
};

/// One call: its arguments, and what they say of where it runs.
class Call {
public:
  Call(const State &state, PyObject *const *objects, size_t count)
      : state(state), objects(objects), count(count), values(count),
        tensors(count) {}

  /// Returns None, NotImplemented if the arguments are for Python to prepare,
  /// or null with an exception set.
  PyObject *run();

private:
  Argument argument(size_t i) {
    return {state.parameters[i], values[i], tensors[i], holdings};
  }
  bool read();
  bool findStream();
  bool readCapsules();
  bool execute();

  const State &state;
  PyObject *const *objects;
  size_t count;
  CallArray<TlArgument> values;
  CallArray<TlTensor> tensors;
  Holdings holdings;

  int32_t device = 0;
  /// Of the first tensor whose framework offers functions to C, or null.
  const ExchangeAPI *exchange = nullptr;
  /// The first tensor that comes in a capsule, or null.
  PyObject *capsuled = nullptr;
  /// Some argument is read through the buffer protocol.
  bool hasBuffer = false;
  void *stream = nullptr;
};

} // namespace

/// Reads all arguments but those in capsules, and notes what they are.
bool Call::read() {
  PyTypeObject *last = nullptr;
  TypeInfo type;
  for (size_t i = 0; i < count; ++i) {
    PyObject *object = objects[i];
    bool isTensor = state.parameters[i].isTensor;
    if (isTensor && Py_TYPE(object) != last) {
      type = describeType(object);
      last = Py_TYPE(object);
    }
    if (!argument(i).read(object, type))
      return false;
    if (!isTensor)
      continue;
    switch (type.origin) {
    case Origin::Number:
    case Origin::Null:
      break;
    case Origin::Buffer:
      hasBuffer = true;
      break;
    case Origin::DLPack:
      if (!capsuled)
        capsuled = object;
      break;
    case Origin::Exchange:
      if (!exchange)
        exchange = type.exchange;
      [[fallthrough]];
    case Origin::Own:
      device = tensors[i].device.id;
    }
  }
  return true;
}

/// Finds the stream that the call belongs to: the current one of the framework
/// that its tensors come from.
bool Call::findStream() {
  if (exchange)
    return !exchange->getCurrentStream(Cuda, device, &stream);
  PyObject *found = PyObject_CallFunction(
      state.currentStream.ptr(), "iO", device, capsuled ? capsuled : Py_None);
  if (!found)
    return false;
  stream = PyLong_AsVoidPtr(found);
  Py_DECREF(found);
  return !PyErr_Occurred();
}

/// Reads the tensors that come in capsules, for use on the stream.
bool Call::readCapsules() {
  // DLPack's number for the legacy default stream is 1.
  PyObject *number =
      state.isCuda
          ? PyLong_FromVoidPtr(stream ? stream : reinterpret_cast<void *>(1))
          : nullptr;
  bool succeeded = !PyErr_Occurred();
  for (size_t i = 0; i < count && succeeded; ++i)
    if (state.parameters[i].isTensor &&
        describeType(objects[i]).origin == Origin::DLPack)
      succeeded = argument(i).readDLPack(objects[i], number);
  Py_XDECREF(number);
  return succeeded;
}

/// Whether a signal's handler wants the call to end: for Ctrl-C it raises
/// `KeyboardInterrupt`, which stays set. Handlers run in the main thread alone.
static bool handleSignals() {
  AcquiredGIL acquire;
  return PyErr_CheckSignals() != 0;
}

bool Call::execute() {
  TlError *error = nullptr;
  bool succeeded;
  if (state.isCuda) {
    succeeded = tlExecutableCall(state.executable, values.data(), count, stream,
                                 &error);
  } else {
    // A kernel on the CPU runs here and now; others may use the interpreter,
    // and the runtime calls `handleSignals`.
    PyThreadState *thread = PyEval_SaveThread();
    succeeded = tlExecutableCall(state.executable, values.data(), count,
                                 nullptr, &error);
    PyEval_RestoreThread(thread);
  }
  if (!succeeded)
    setError(error);
  return succeeded;
}

PyObject *Call::run() {
  if (!read())
    return nullptr;
  if (state.isCuda && hasBuffer)
    return Py_NewRef(Py_NotImplemented);
  if (state.isCuda && !findStream())
    return nullptr;
  if (capsuled && !readCapsules())
    return nullptr;
  return execute() ? Py_NewRef(Py_None) : nullptr;
}

static bool checkCount(const State &state, size_t count) {
  size_t expected = state.parameters.size();
  if (count == expected)
    return true;
  auto arguments = [](size_t number) {
    return std::to_string(number) + (number == 1 ? " argument" : " arguments");
  };
  std::string message = count < expected
                            ? "argument `" + state.names[count] + "` is missing"
                            : arguments(count - expected) + " too many";
  setError("ArgumentError", message + ": the kernel takes " +
                                arguments(expected) + ", and " +
                                std::to_string(count) +
                                (count == 1 ? " is given" : " are given"));
  return false;
}

PyObject *callLauncher(PyObject *self, PyObject *const *objects, size_t flags,
                       PyObject *keywords) {
  const State &state = *reinterpret_cast<Launcher *>(self)->state;
  size_t count = PyVectorcall_NARGS(flags);
  if (keywords)
    return Py_NewRef(Py_NotImplemented);
  if (!checkCount(state, count))
    return nullptr;

  return Call(state, objects, count).run();
}

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *) {
  PyObject *executable, *parameters, *currentStream;
  int isCuda;
  if (!PyArg_ParseTuple(args, "OO!pO", &executable, &PyTuple_Type, &parameters,
                        &isCuda, &currentStream))
    return nullptr;
  auto state = std::make_unique<State>();
  if (!nb::isinstance<Executable>(nb::handle(executable))) {
    PyErr_SetString(PyExc_TypeError, "the first argument is an Executable");
    return nullptr;
  }
  state->owner = nb::borrow(executable);
  state->executable =
      nb::inst_ptr<Executable>(nb::handle(executable))->handle.get();
  state->currentStream = nb::borrow(currentStream);
  state->isCuda = isCuda;
  Py_ssize_t count = PyTuple_Size(parameters);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const char *name;
    int isTensor, isWritten;
    if (!PyArg_ParseTuple(PyTuple_GetItem(parameters, i), "spp", &name,
                          &isTensor, &isWritten))
      return nullptr;
    state->names.emplace_back(name);
    state->parameters.push_back({nullptr, isTensor != 0, isWritten != 0});
  }
  for (Py_ssize_t i = 0; i < count; ++i)
    state->parameters[i].name = state->names[i].c_str();

  auto allocate =
      reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  auto *self = reinterpret_cast<Launcher *>(allocate(type, 0));
  if (!self)
    return nullptr;
  self->vectorcall = callLauncher;
  self->state = state.release();
  return reinterpret_cast<PyObject *>(self);
}

static void destroy(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  delete reinterpret_cast<Launcher *>(self)->state;
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(reinterpret_cast<PyObject *>(type));
}

static PyTypeObject *launcherType = nullptr;

bool isLauncher(PyObject *object) { return Py_TYPE(object) == launcherType; }

bool addLauncher(nb::module_ &module) {
  tlSetInterruptionCheck(handleSignals);
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET,
       static_cast<Py_ssize_t>(offsetof(Launcher, vectorcall)), READONLY,
       nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void *>(create)},
      {Py_tp_dealloc, reinterpret_cast<void *>(destroy)},
      {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
      {Py_tp_members, members},
      {0, nullptr}};
  static PyType_Spec spec = {"tilec._tl.Launcher", sizeof(Launcher), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
                             slots};
  PyObject *type = PyType_FromSpec(&spec);
  if (!type)
    return false;
  launcherType = reinterpret_cast<PyTypeObject *>(type);
  module.attr("Launcher") = nb::steal(type);
  return true;
}

} // namespace tl::python
