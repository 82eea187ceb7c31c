//===- Launcher.cpp - The call of a kernel --------------------------------===//
//
// Reads the arguments on the stack, finds the stream, calls the runtime.
//
//===----------------------------------------------------------------------===//

#include "Launcher.h"
#include "Arguments.h"
#include "Array.h"
#include "Errors.h"
#include "Executable.h"
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

/// The arguments of one call: on the stack, unless there are very many.
class ArgumentList {
public:
  explicit ArgumentList(size_t count)
      : more(count > InlineCount ? new Argument[count] : nullptr),
        arguments(more ? more.get() : reinterpret_cast<Argument *>(storage)),
        count(count) {
    if (!more)
      for (size_t i = 0; i < count; ++i)
        new (&arguments[i]) Argument();
  }
  ~ArgumentList() {
    if (!more)
      for (size_t i = 0; i < count; ++i)
        arguments[i].~Argument();
  }
  Argument &operator[](size_t i) { return arguments[i]; }

private:
  static constexpr size_t InlineCount = 12;
  alignas(Argument) std::byte storage[InlineCount * sizeof(Argument)];
  std::unique_ptr<Argument[]> more;
  Argument *arguments;
  size_t count;
};

} // namespace

/// Finds the stream that a call on GPU `device` belongs to.
static bool findStream(const State &state, int32_t device, void *&stream) {
  PyObject *number = PyLong_FromLong(device);
  if (!number)
    return false;
  PyObject *found =
      PyObject_CallFunctionObjArgs(state.currentStream.ptr(), number, nullptr);
  Py_DECREF(number);
  if (!found)
    return false;
  stream = PyLong_AsVoidPtr(found);
  Py_DECREF(found);
  return !PyErr_Occurred();
}

static bool execute(const State &state, const TlArgument *arguments,
                    size_t count, int32_t device) {
  TlError *error = nullptr;
  void *stream = nullptr;
  bool succeeded;
  if (state.isCuda) {
    if (!findStream(state, device, stream))
      return false;
    succeeded =
        tlExecutableCall(state.executable, arguments, count, stream, &error);
  } else {
    // A kernel on the CPU runs here and now; others may use the interpreter.
    PyThreadState *thread = PyEval_SaveThread();
    succeeded =
        tlExecutableCall(state.executable, arguments, count, nullptr, &error);
    PyEval_RestoreThread(thread);
  }
  if (!succeeded)
    setError(error);
  return succeeded;
}

static bool checkCount(const State &state, size_t count) {
  size_t expected = state.parameters.size();
  if (count == expected)
    return true;
  std::string message =
      count < expected
          ? "argument `" + state.names[count] + "` is missing"
          : std::to_string(count - expected) + " arguments too many";
  setError("ArgumentError", message + ": the kernel takes " +
                                std::to_string(expected) + " arguments, and " +
                                std::to_string(count) + " are given");
  return false;
}

static PyObject *call(PyObject *self, PyObject *const *objects, size_t flags,
                      PyObject *keywords) {
  const State &state = *reinterpret_cast<Launcher *>(self)->state;
  size_t count = PyVectorcall_NARGS(flags);
  if (keywords && PyTuple_Size(keywords) > 0) {
    setError("ArgumentError", "arguments are passed by position here");
    return nullptr;
  }
  if (!checkCount(state, count))
    return nullptr;

  ArgumentList arguments(count);
  TlArgument inlineValues[16];
  std::unique_ptr<TlArgument[]> moreValues;
  TlArgument *values = inlineValues;
  if (count > std::size(inlineValues)) {
    moreValues.reset(new TlArgument[count]);
    values = moreValues.get();
  }

  int32_t device = 0;
  for (size_t i = 0; i < count; ++i) {
    Argument &argument = arguments[i];
    if (!argument.read(objects[i], state.parameters[i]))
      return nullptr;
    if (state.isCuda && argument.origin() == Origin::Buffer)
      return Py_NewRef(Py_NotImplemented);
    if (argument.origin() != Origin::Number)
      device = argument.tensor().device.id;
    values[i] = argument.value();
  }
  if (!execute(state, values, count, device))
    return nullptr;
  return Py_NewRef(Py_None);
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
  self->vectorcall = call;
  self->state = state.release();
  return reinterpret_cast<PyObject *>(self);
}

static void destroy(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  delete reinterpret_cast<Launcher *>(self)->state;
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(reinterpret_cast<PyObject *>(type));
}

bool addLauncher(nb::module_ &module) {
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
  module.attr("Launcher") = nb::steal(type);
  return true;
}

} // namespace tl::python
