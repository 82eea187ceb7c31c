//===- ResultCall.cpp - Calls that allocate what they return --------------===//

#include "ResultCall.h"
#include "Arguments.h"
#include "CallArray.h"
#include "Launcher.h"
#include <algorithm>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace nb = nanobind;

namespace tl::python {

namespace {

/// A number, or an argument and its dimension.
using Extent = std::variant<int64_t, std::pair<size_t, int32_t>>;

struct Result {
  size_t parameter;
  nb::object dtype;
  std::vector<Extent> extents;
};

class ResultCall {
public:
  ResultCall(nb::object launch, size_t count, size_t like,
             std::vector<nb::object> kinds, nb::list results, size_t returned);

  PyObject *call(PyObject *const *objects, size_t given) const;

private:
  bool isOrdinary(PyObject *const *objects, size_t given) const;
  nb::object allocate(const Result &result, PyObject *const *objects) const;
  static nb::object findExtent(const Extent &extent, PyObject *const *objects);

  nb::object launch;
  vectorcallfunc callLaunch;
  size_t count, like;
  std::vector<nb::object> kinds;
  std::vector<Result> results;
  /// How many of the results are returned: the first ones. Others are the
  /// kernel's own.
  size_t returned;
};

} // namespace

ResultCall::ResultCall(nb::object launch, size_t count, size_t like,
                       std::vector<nb::object> kinds, nb::list given,
                       size_t returned)
    : launch(std::move(launch)), count(count), like(like),
      kinds(std::move(kinds)), returned(returned) {
  callLaunch =
      isLauncher(this->launch.ptr()) ? callLauncher : PyObject_Vectorcall;
  for (nb::handle item : given) {
    auto [parameter, dtype, extents] =
        nb::cast<std::tuple<size_t, nb::object, std::vector<Extent>>>(item);
    results.push_back({parameter, dtype, extents});
  }
}

bool ResultCall::isOrdinary(PyObject *const *objects, size_t given) const {
  return given == count &&
         std::any_of(kinds.begin(), kinds.end(), [&](const nb::object &kind) {
           return kind.is(Py_TYPE(objects[like]));
         });
}

/// Returns an integer, or null for an argument that has no such dimension.
nb::object ResultCall::findExtent(const Extent &extent,
                                  PyObject *const *objects) {
  if (const int64_t *number = std::get_if<int64_t>(&extent))
    return nb::steal(PyLong_FromLongLong(*number));
  auto [argument, dim] = std::get<std::pair<size_t, int32_t>>(extent);
  TlTensor tensor;
  const ExchangeAPI *exchange = describeType(objects[argument]).exchange;
  if (exchange && !exchange->describeTensor(objects[argument], &tensor))
    return dim < tensor.rank ? nb::steal(PyLong_FromLongLong(tensor.shape[dim]))
                             : nb::object();
  // What is wrong with it, the careful way says.
  PyErr_Clear();
  return {};
}

/// Makes a tensor. Returns null without an exception if it is not known of what
/// shape, and with one if PyTorch cannot make it.
nb::object ResultCall::allocate(const Result &result,
                                PyObject *const *objects) const {
  static PyObject *const newEmpty = PyUnicode_InternFromString("new_empty");
  static PyObject *const names = Py_BuildValue("(s)", "dtype");
  nb::object shape = nb::steal(PyTuple_New(Py_ssize_t(result.extents.size())));
  for (size_t i = 0; i < result.extents.size(); ++i) {
    nb::object extent = findExtent(result.extents[i], objects);
    if (!extent.is_valid())
      return {};
    PyTuple_SetItem(shape.ptr(), Py_ssize_t(i), extent.release().ptr());
  }
  PyObject *arguments[] = {objects[like], shape.ptr(), result.dtype.ptr()};
  return nb::steal(PyObject_VectorcallMethod(newEmpty, arguments, 2, names));
}

PyObject *ResultCall::call(PyObject *const *objects, size_t given) const {
  if (!isOrdinary(objects, given))
    return Py_NewRef(Py_NotImplemented);
  size_t total = count + results.size();
  CallArray<PyObject *> values(total);
  std::fill_n(&values[0], total, nullptr);
  nb::object tensors = nb::steal(PyTuple_New(Py_ssize_t(results.size())));
  for (size_t i = 0; i < results.size(); ++i) {
    nb::object made = allocate(results[i], objects);
    if (!made.is_valid())
      return PyErr_Occurred() ? nullptr : Py_NewRef(Py_NotImplemented);
    values[results[i].parameter] = made.ptr();
    PyTuple_SetItem(tensors.ptr(), Py_ssize_t(i), made.release().ptr());
  }
  for (size_t i = 0; i < total; ++i)
    if (!values[i])
      values[i] = *objects++;

  PyObject *done = callLaunch(launch.ptr(), values.data(), total, nullptr);
  if (!done || done == Py_NotImplemented || returned == 0)
    return done;
  Py_DECREF(done);
  return returned == 1
             ? Py_NewRef(PyTuple_GetItem(tensors.ptr(), 0))
             : PyTuple_GetSlice(tensors.ptr(), 0, Py_ssize_t(returned));
}

PyObject *callResultCall(PyObject *self, PyObject *const *objects, size_t flags,
                         PyObject *keywords) {
  if (keywords)
    return Py_NewRef(Py_NotImplemented);
  return nb::inst_ptr<ResultCall>(nb::handle(self))
      ->call(objects, PyVectorcall_NARGS(flags));
}

bool isResultCall(PyObject *object) {
  return nb::isinstance<ResultCall>(nb::handle(object));
}

void bindResultCall(nb::module_ &module) {
  nb::class_<ResultCall>(module, "ResultCall")
      .def(nb::init<nb::object, size_t, size_t, std::vector<nb::object>,
                    nb::list, size_t>(),
           nb::arg("launch"), nb::arg("count"), nb::arg("like"),
           nb::arg("kinds"), nb::arg("results"), nb::arg("returned"));
}

} // namespace tl::python
