//===- FastCallable.cpp - Calls that skip the interpreter -----------------===//
//
// A method `__call__` in Python would cost as much as everything else that
// happens before the driver is reached.
//
//===----------------------------------------------------------------------===//

#include "FastCallable.h"
#include "CallTable.h"
#include "Launcher.h"
#include "ResultCall.h"
#include <cstddef>
#include <structmember.h>
#include <utility>

namespace nb = nanobind;

namespace tl::python {

namespace {
/// How an object is called.
struct FastFunction {
  vectorcallfunc call;
  bool takesKeywords;
};

struct FastCallable {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *fast;
  FastFunction function;
  bool returnsLists;
};
} // namespace

/// Returns how `object` is called: past the interpreter, if it is of this
/// extension.
static FastFunction findFunction(PyObject *object) {
  if (isLauncher(object))
    return {callLauncher, false};
  if (isResultCall(object))
    return {callResultCall, false};
  if (isCallTable(object))
    return {callCallTable, true};
  return {PyObject_Vectorcall, false};
}

/// Calls the method `_call_slowly`. `objects` may not have room in front.
static PyObject *callSlowly(PyObject *self, PyObject *const *objects,
                            size_t count, PyObject *keywords) {
  static PyObject *const name = PyUnicode_InternFromString("_call_slowly");
  nb::object method = nb::steal(PyObject_GetAttr(self, name));
  return method.is_valid()
             ? PyObject_Vectorcall(method.ptr(), objects, count, keywords)
             : nullptr;
}

static PyObject *call(PyObject *self, PyObject *const *objects, size_t flags,
                      PyObject *keywords) {
  size_t count = PyVectorcall_NARGS(flags);
  const auto &callable = *reinterpret_cast<FastCallable *>(self);
  PyObject *fast = callable.fast;
  if (fast && (!keywords || callable.function.takesKeywords)) {
    // Another thread may give it something else to call.
    nb::object held = nb::borrow(fast);
    PyObject *result = callable.function.call(fast, objects, count, keywords);
    if (result && callable.returnsLists && PyTuple_CheckExact(result))
      return PySequence_List(nb::steal(result).ptr());
    if (result != Py_NotImplemented)
      return result;
    Py_DECREF(result);
  }
  return callSlowly(self, objects, count, keywords);
}

static PyObject *create(PyTypeObject *type, PyObject *, PyObject *) {
  auto allocate =
      reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  auto *self = reinterpret_cast<FastCallable *>(allocate(type, 0));
  if (self)
    self->vectorcall = call;
  return reinterpret_cast<PyObject *>(self);
}

// What is called may lead back to the object, by its methods for one.

static int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<FastCallable *>(self)->fast);
  return 0;
}

static int clear(PyObject *self) {
  Py_CLEAR(reinterpret_cast<FastCallable *>(self)->fast);
  return 0;
}

static void destroy(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(reinterpret_cast<PyObject *>(type));
}

static PyObject *setFast(PyObject *self, PyObject *fast) {
  auto *callable = reinterpret_cast<FastCallable *>(self);
  callable->function = findFunction(fast);
  PyObject *old = std::exchange(callable->fast, Py_NewRef(fast));
  Py_XDECREF(old);
  return Py_NewRef(Py_None);
}

static PyObject *returnLists(PyObject *self, PyObject *) {
  reinterpret_cast<FastCallable *>(self)->returnsLists = true;
  return Py_NewRef(Py_None);
}

bool addFastCallable(nb::module_ &module) {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET,
       static_cast<Py_ssize_t>(offsetof(FastCallable, vectorcall)), READONLY,
       nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyMethodDef methods[] = {
      {"set_fast", setFast, METH_O, nullptr},
      {"return_lists", returnLists, METH_NOARGS, nullptr},
      {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void *>(create)},
      {Py_tp_dealloc, reinterpret_cast<void *>(destroy)},
      {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
      {Py_tp_clear, reinterpret_cast<void *>(clear)},
      {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
      {Py_tp_members, members},
      {Py_tp_methods, methods},
      {0, nullptr}};
  static PyType_Spec spec = {"tilec._tl.FastCallable", sizeof(FastCallable), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                 Py_TPFLAGS_HAVE_GC |
                                 Py_TPFLAGS_HAVE_VECTORCALL,
                             slots};
  PyObject *type = PyType_FromSpec(&spec);
  if (!type)
    return false;
  module.attr("FastCallable") = nb::steal(type);
  return true;
}

} // namespace tl::python
