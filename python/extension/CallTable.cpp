//===- CallTable.cpp - Calls that were made before ------------------------===//
//
// A call's tensors are described once; then it is compared with the remembered
// ones, the last used first. Comparing runs no Python, so that nothing changes
// meanwhile.
//
//===----------------------------------------------------------------------===//

#include "CallTable.h"
#include "Arguments.h"
#include "CallArray.h"
#include <algorithm>
#include <bit>
#include <list>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace tl::python {

//===----------------------------------------------------------------------===//
// What a call is made of
//===----------------------------------------------------------------------===//

namespace {

/// The values of a call. A value that is no tensor has no description.
class Values {
public:
  Values(PyObject *const *objects, size_t count)
      : objects(objects), count(count), tensors(count), isTensor(count) {}

  /// Describes the tensors; false if there is one that only Python can read.
  bool describe();

  PyObject *const *objects;
  size_t count;
  CallArray<TlTensor> tensors;
  CallArray<bool> isTensor;

private:
  Holdings holdings;
};

/// An extent or a stride that matters.
struct Fact {
  bool isStride;
  int32_t dim;
  int64_t value;
};

/// What one value must be.
struct Pattern {
  enum class Kind : uint8_t { Anything, Constant, Tensor };
  Kind kind = Kind::Anything;
  uint8_t code = 0, bits = 0;
  uint8_t alignment = 0;
  int32_t rank = 0;
  nb::object constant;
  std::vector<Fact> facts;

  bool matches(PyObject *object, const TlTensor *tensor) const;
  bool matchesTensor(const TlTensor &tensor) const;
};

/// A place outside of the call that must hold what it held.
struct Guard {
  enum class Kind : uint8_t { Key, Attribute, Code, Defaults, Wrapped, Cell };

  Guard(nb::object holder, nb::object name, nb::object value);
  bool holds() const;

  nb::object holder, name;
  /// Null if the place was empty.
  nb::object value;
  Kind kind;
};

struct Remembered {
  /// A tuple, or null.
  nb::object keywords;
  std::vector<Pattern> patterns;
  nb::object target;
  bool isAnswer;
  std::vector<size_t> order;
  std::vector<nb::object> defaults;
  std::vector<Guard> guards;

  bool matches(Values &values, PyObject *keywords) const;
};

} // namespace

bool Values::describe() {
  static constexpr Parameter anyTensor = {"", /*isTensor=*/true,
                                          /*isWritten=*/false};
  for (size_t i = 0; i < count; ++i) {
    TypeInfo type = describeType(objects[i]);
    if (type.origin == Origin::DLPack)
      return false;
    isTensor[i] = type.origin != Origin::Number && type.origin != Origin::Null;
    TlArgument value;
    if (isTensor[i] && !Argument(anyTensor, value, tensors[i], holdings)
                            .read(objects[i], type)) {
      // What is wrong with it, the careful way says.
      PyErr_Clear();
      return false;
    }
  }
  return true;
}

/// Returns the alignment of the first element, at most 16 bytes, which is all
/// that kernels use.
static uint8_t getAlignment(const TlTensor &tensor) {
  uintptr_t address =
      reinterpret_cast<uintptr_t>(tensor.data) + tensor.byteOffset;
  address |= 16;
  return static_cast<uint8_t>(address & -address);
}

/// Returns an extent or a stride in elements.
static int64_t getFact(const TlTensor &tensor, bool isStride, int32_t dim) {
  if (!isStride)
    return tensor.shape[dim];
  if (tensor.strides)
    return tensor.strides[dim];
  int64_t stride = 1;
  for (int32_t i = tensor.rank - 1; i > dim; --i)
    stride *= tensor.shape[i];
  return stride;
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

/// Whether a number or a string is the same as another of its type; objects of
/// other types are the same as themselves.
static bool isSame(PyObject *object, PyObject *constant) {
  if (object == constant)
    return true;
  if (Py_TYPE(object) != Py_TYPE(constant))
    return false;
  // Zeros differ by their signs, and NaN is not equal to itself.
  if (PyFloat_CheckExact(object))
    return std::bit_cast<uint64_t>(PyFloat_AsDouble(object)) ==
           std::bit_cast<uint64_t>(PyFloat_AsDouble(constant));
  return (PyLong_CheckExact(object) || PyUnicode_CheckExact(object)) &&
         PyObject_RichCompareBool(object, constant, Py_EQ) == 1;
}

bool Pattern::matchesTensor(const TlTensor &tensor) const {
  return tensor.dtype.code == code && tensor.dtype.bits == bits &&
         tensor.dtype.lanes == 1 && tensor.rank == rank &&
         getAlignment(tensor) == alignment &&
         std::all_of(facts.begin(), facts.end(), [&](const Fact &fact) {
           return getFact(tensor, fact.isStride, fact.dim) == fact.value;
         });
}

/// `tensor` is null if the object is none.
bool Pattern::matches(PyObject *object, const TlTensor *tensor) const {
  switch (kind) {
  case Kind::Anything:
    return true;
  case Kind::Constant:
    return !tensor && isSame(object, constant.ptr());
  case Kind::Tensor:
    break;
  }
  return tensor && matchesTensor(*tensor);
}

/// Returns how to look at a place. Functions and variables of enclosing
/// functions are looked into without the way through their attributes, where
/// Python's headers say how.
static Guard::Kind getKind(nb::handle holder, nb::handle name) {
  if (nb::isinstance<nb::dict>(holder))
    return Guard::Kind::Key;
#ifndef Py_LIMITED_API
  if (PyCell_Check(holder.ptr()))
    return Guard::Kind::Cell;
  if (PyFunction_Check(holder.ptr()) && name.equal(nb::str("__code__")))
    return Guard::Kind::Code;
  if (PyFunction_Check(holder.ptr()) && name.equal(nb::str("__defaults__")))
    return Guard::Kind::Defaults;
  if (PyFunction_Check(holder.ptr()) && name.equal(nb::str("__wrapped__")))
    return Guard::Kind::Wrapped;
#endif
  return Guard::Kind::Attribute;
}

Guard::Guard(nb::object holder, nb::object name, nb::object value)
    : holder(std::move(holder)), name(std::move(name)), value(std::move(value)),
      kind(getKind(this->holder, this->name)) {
  // What a function lacks it has as None, and its place is empty.
  if (kind == Kind::Defaults && this->value.is_none())
    this->value.reset();
}

bool Guard::holds() const {
#ifndef Py_LIMITED_API
  switch (kind) {
  case Kind::Code:
    return PyFunction_GET_CODE(holder.ptr()) == value.ptr();
  case Kind::Defaults:
    return PyFunction_GET_DEFAULTS(holder.ptr()) == value.ptr();
  case Kind::Cell:
    return PyCell_GET(holder.ptr()) == value.ptr();
  case Kind::Wrapped: {
    // An attribute of the function's own, which no type has.
    PyObject *own =
        reinterpret_cast<PyFunctionObject *>(holder.ptr())->func_dict;
    return value.ptr() ==
           (own ? PyDict_GetItemWithError(own, name.ptr()) : nullptr);
  }
  case Kind::Key:
  case Kind::Attribute:
    break;
  }
#endif
  PyObject *found;
  nb::object owned;
  if (kind == Kind::Key) {
    found = PyDict_GetItemWithError(holder.ptr(), name.ptr());
  } else {
    owned = nb::steal(PyObject_GetAttr(holder.ptr(), name.ptr()));
    found = owned.ptr();
  }
  if (!found)
    PyErr_Clear();
  return found == value.ptr();
}

bool Remembered::matches(Values &values, PyObject *names) const {
  if (values.count != patterns.size() || !keywords.is_valid() != !names)
    return false;
  if (names && names != keywords.ptr() &&
      PyObject_RichCompareBool(names, keywords.ptr(), Py_EQ) != 1)
    return false;
  for (size_t i = 0; i < values.count; ++i)
    if (!patterns[i].matches(values.objects[i],
                             values.isTensor[i] ? &values.tensors[i] : nullptr))
      return false;
  return std::all_of(guards.begin(), guards.end(),
                     [](const Guard &guard) { return guard.holds(); });
}

//===----------------------------------------------------------------------===//
// Remembering
//===----------------------------------------------------------------------===//

/// Stores what a value that matters was. `facts` is a tuple of pairs.
static void fill(Pattern &pattern, PyObject *object, const TlTensor *tensor,
                 nb::handle facts) {
  if (!tensor) {
    pattern.kind = Pattern::Kind::Constant;
    pattern.constant = nb::borrow(object);
    return;
  }
  pattern.kind = Pattern::Kind::Tensor;
  pattern.code = tensor->dtype.code;
  pattern.bits = tensor->dtype.bits;
  pattern.alignment = getAlignment(*tensor);
  pattern.rank = tensor->rank;
  for (nb::handle pair : facts) {
    auto [isStride, dim] = nb::cast<std::pair<bool, int32_t>>(pair);
    if (dim < 0 || dim >= tensor->rank)
      throw nb::value_error("no such dimension");
    pattern.facts.push_back({isStride, dim, getFact(*tensor, isStride, dim)});
  }
}

namespace {

class CallTable {
public:
  void remember(nb::tuple values, nb::tuple keywords, nb::tuple facts,
                nb::object target, nb::object order, nb::tuple defaults,
                nb::tuple guards);

  /// Returns the call that was like this one, now the first, or null.
  const Remembered *find(Values &values, PyObject *keywords);

  /// Shows Python's collector the objects that may lead back to the function
  /// whose calls these are: kernels, and places in which it is.
  int traverse(visitproc visit, void *arg) const;
  /// Lets go of all at once: that may run Python, which may look here.
  void clear() { std::exchange(calls, {}); }

private:
  static constexpr size_t Most = 64;
  /// The last used first.
  std::list<Remembered> calls;
};

} // namespace

void CallTable::remember(nb::tuple given, nb::tuple keywords, nb::tuple facts,
                         nb::object target, nb::object order,
                         nb::tuple defaults, nb::tuple guards) {
  std::vector<PyObject *> objects;
  for (nb::handle value : given)
    objects.push_back(value.ptr());
  Values values(objects.data(), objects.size());
  if (!values.describe())
    return;

  Remembered call;
  if (keywords.size())
    call.keywords = keywords;
  call.patterns.resize(values.count);
  for (size_t i = 0; i < values.count; ++i)
    if (nb::handle what = facts[i]; !what.is_none())
      fill(call.patterns[i], objects[i],
           values.isTensor[i] ? &values.tensors[i] : nullptr, what);
  call.target = std::move(target);
  call.isAnswer = order.is_none();
  if (!call.isAnswer)
    call.order = nb::cast<std::vector<size_t>>(order);
  for (nb::handle value : defaults)
    call.defaults.push_back(nb::borrow(value));
  for (nb::handle place : guards)
    call.guards.emplace_back(place[0], place[1],
                             nb::len(place) > 2 ? nb::object(place[2])
                                                : nb::object());
  for (size_t position : call.order)
    if (position >= values.count + call.defaults.size())
      throw nb::value_error("no such argument");

  calls.push_front(std::move(call));
  if (calls.size() > Most)
    calls.pop_back();
}

const Remembered *CallTable::find(Values &values, PyObject *keywords) {
  auto found =
      std::find_if(calls.begin(), calls.end(), [&](const Remembered &call) {
        return call.matches(values, keywords);
      });
  if (found == calls.end())
    return nullptr;
  calls.splice(calls.begin(), calls, found);
  return &calls.front();
}

int CallTable::traverse(visitproc visit, void *arg) const {
  for (const Remembered &call : calls) {
    Py_VISIT(call.target.ptr());
    for (const Pattern &pattern : call.patterns)
      Py_VISIT(pattern.constant.ptr());
    for (const nb::object &value : call.defaults)
      Py_VISIT(value.ptr());
    for (const Guard &guard : call.guards) {
      Py_VISIT(guard.holder.ptr());
      Py_VISIT(guard.value.ptr());
    }
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// Calling
//===----------------------------------------------------------------------===//

PyObject *callCallTable(PyObject *self, PyObject *const *objects, size_t flags,
                        PyObject *keywords) {
  size_t count =
      PyVectorcall_NARGS(flags) + (keywords ? PyTuple_Size(keywords) : 0);
  Values values(objects, count);
  const Remembered *call =
      values.describe()
          ? nb::inst_ptr<CallTable>(nb::handle(self))->find(values, keywords)
          : nullptr;
  if (!call)
    return Py_NewRef(Py_NotImplemented);
  if (call->isAnswer)
    return Py_NewRef(call->target.ptr());

  // What is called may run Python, and the call be forgotten.
  nb::object target = call->target;
  std::vector<nb::object> defaults = call->defaults;
  size_t size = call->order.size();
  CallArray<PyObject *> arguments(size);
  for (size_t i = 0; i < size; ++i) {
    size_t position = call->order[i];
    arguments[i] =
        position < count ? objects[position] : defaults[position - count].ptr();
  }
  return PyObject_Vectorcall(target.ptr(), arguments.data(), size, nullptr);
}

bool isCallTable(PyObject *object) {
  return nb::isinstance<CallTable>(nb::handle(object));
}

static int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self)
             ? nb::inst_ptr<CallTable>(self)->traverse(visit, arg)
             : 0;
}

static int clear(PyObject *self) {
  if (nb::inst_ready(self))
    nb::inst_ptr<CallTable>(self)->clear();
  return 0;
}

void bindCallTable(nb::module_ &module) {
  static PyType_Slot slots[] = {
      {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
      {Py_tp_clear, reinterpret_cast<void *>(clear)},
      {0, nullptr}};
  nb::class_<CallTable>(module, "CallTable", nb::type_slots(slots))
      .def(nb::init<>())
      .def("remember", &CallTable::remember, nb::arg("values"),
           nb::arg("keywords"), nb::arg("facts"), nb::arg("target"),
           nb::arg("order").none(), nb::arg("defaults"), nb::arg("guards"));
}

} // namespace tl::python
