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

/// What the arguments of a call say of where it runs.
struct Place {
  int32_t device = 0;
  /// Of the first tensor whose framework offers its functions to C, or null.
  const ExchangeAPI *exchange = nullptr;
  /// The first tensor that comes in a capsule, or null.
  PyObject *capsuled = nullptr;
};

/// Finds the stream that a call belongs to: the current one of the framework
/// that its tensors come from.
static bool findStream(const State &state, const Place &place, void *&stream) {
  if (place.exchange)
    return !place.exchange->getCurrentStream(Cuda, place.device, &stream);
  PyObject *found =
      PyObject_CallFunction(state.currentStream.ptr(), "iO", place.device,
                            place.capsuled ? place.capsuled : Py_None);
  if (!found)
    return false;
  stream = PyLong_AsVoidPtr(found);
  Py_DECREF(found);
  return !PyErr_Occurred();
}

/// Reads the tensors that come in capsules, for use on `stream`.
static bool readCapsules(const State &state, ArgumentList &arguments,
                         PyObject *const *objects, size_t count, void *stream) {
  // DLPack's number for the legacy default stream is 1.
  PyObject *number =
      state.isCuda
          ? PyLong_FromVoidPtr(stream ? stream : reinterpret_cast<void *>(1))
          : nullptr;
  bool succeeded = !PyErr_Occurred();
  for (size_t i = 0; i < count && succeeded; ++i)
    if (arguments[i].origin() == Origin::DLPack)
      succeeded =
          arguments[i].readDLPack(objects[i], state.parameters[i], number);
  Py_XDECREF(number);
  return succeeded;
}

static bool execute(const State &state, const TlArgument *arguments,
                    size_t count, void *stream) {
  TlError *error = nullptr;
  bool succeeded;
  if (state.isCuda) {
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

  Place place;
  for (size_t i = 0; i < count; ++i) {
    Argument &argument = arguments[i];
    if (!argument.read(objects[i], state.parameters[i]))
      return nullptr;
    switch (argument.origin()) {
    case Origin::Number:
    case Origin::Null:
      break;
    case Origin::Buffer:
      if (state.isCuda)
        return Py_NewRef(Py_NotImplemented);
      break;
    case Origin::DLPack:
      if (!place.capsuled)
        place.capsuled = objects[i];
      break;
    case Origin::Exchange:
      if (!place.exchange)
        place.exchange = argument.exchange();
      [[fallthrough]];
    case Origin::Own:
    case Origin::Torch:
      place.device = argument.tensor().device.id;
    }
  }

  void *stream = nullptr;
  if (state.isCuda && !findStream(state, place, stream))
    return nullptr;
  if (place.capsuled && !readCapsules(state, arguments, objects, count, stream))
    return nullptr;
  for (size_t i = 0; i < count; ++i)
    values[i] = arguments[i].value();
  if (!execute(state, values, count, stream))
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
