//===- Arguments.cpp - Python objects as kernel arguments -----------------===//
//
// The order matters: the type of a tensor is looked up once and remembered, so
// that the second call asks no questions. Tensors of frameworks that offer
// DLPack's functions to C are read through these, in nanoseconds; NumPy's
// arrays through the buffer protocol, which also serves read-only ones.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Array.h"
#include "Errors.h"
#include "Torch.h"
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace tl::python {

static std::string quoted(const Parameter &parameter) {
  return "`" + std::string(parameter.name) + "`";
}

/// An owned reference that is dropped at the end of a scope.
class Ref {
public:
  explicit Ref(PyObject *object) : object(object) {}
  ~Ref() { Py_XDECREF(object); }
  Ref(const Ref &) = delete;
  Ref &operator=(const Ref &) = delete;
  PyObject *get() const { return object; }
  PyObject *release() { return std::exchange(object, nullptr); }
  explicit operator bool() const { return object; }

private:
  PyObject *object;
};

static std::string typeName(PyObject *object) {
  Ref name(PyType_GetName(Py_TYPE(object)));
  const char *text = name ? PyUnicode_AsUTF8AndSize(name.get(), nullptr) : "";
  return text ? text : "";
}

//===----------------------------------------------------------------------===//
// Kinds of objects
//===----------------------------------------------------------------------===//

/// The functions that a type offers to C by DLPack's rules, or null.
static const ExchangeAPI *findOffered(PyObject *type) {
  Ref capsule(PyObject_GetAttrString(type, ExchangeAttribute));
  void *table = capsule && PyCapsule_IsValid(capsule.get(), ExchangeCapsule)
                    ? PyCapsule_GetPointer(capsule.get(), ExchangeCapsule)
                    : nullptr;
  PyErr_Clear();
  const auto *header = static_cast<const ExchangeAPI::Header *>(table);
  while (header && header->major != 1)
    header = header->previous;
  const auto *api = reinterpret_cast<const ExchangeAPI *>(header);
  return api && api->describeTensor && api->getCurrentStream ? api : nullptr;
}

static bool isOfPackage(PyObject *object, std::string_view package) {
  Ref module(PyObject_GetAttrString(
      reinterpret_cast<PyObject *>(Py_TYPE(object)), "__module__"));
  PyErr_Clear();
  Py_ssize_t length = 0;
  const char *text = module && PyUnicode_Check(module.get())
                         ? PyUnicode_AsUTF8AndSize(module.get(), &length)
                         : nullptr;
  return text && std::string_view(text, length).starts_with(package);
}

/// The best functions for C that there are for the type of `object`, or null.
static const ExchangeAPI *findExchange(PyObject *object) {
  const ExchangeAPI *offered =
      findOffered(reinterpret_cast<PyObject *>(Py_TYPE(object)));
  const ExchangeAPI *faster = findTorchFunctions(object, offered);
  return faster ? faster : offered;
}

/// Whether what the object holds is read through the buffer protocol. Arrays of
/// CuPy and JAX have that protocol too, and their memory may be a GPU's.
static bool isBuffer(PyObject *object) {
  return PyObject_CheckBuffer(object) &&
         (isOfPackage(object, "numpy") ||
          !PyObject_HasAttrString(object, "__dlpack__"));
}

static TypeInfo findType(PyObject *object) {
  if (object == Py_None)
    return {Origin::Null};
  if (getArray(object))
    return {Origin::Own};
  if (const ExchangeAPI *exchange = findExchange(object))
    return {Origin::Exchange, exchange};
  if (isBuffer(object))
    return {Origin::Buffer};
  if (PyObject_HasAttrString(object, "__dlpack__"))
    return {Origin::DLPack};
  return {Origin::Number};
}

/// Remembers the types seen last. The interpreter's lock guards them; they are
/// kept alive so that an address means one type.
TypeInfo describeType(PyObject *object) {
  static struct {
    PyTypeObject *type;
    TypeInfo info;
  } seen[8];
  static unsigned next = 0;
  PyTypeObject *type = Py_TYPE(object);
  for (const auto &entry : seen)
    if (entry.type == type)
      return entry.info;
  TypeInfo info = findType(object);
  auto &entry = seen[next++ % std::size(seen)];
  Py_INCREF(reinterpret_cast<PyObject *>(type));
  PyTypeObject *old = std::exchange(entry.type, type);
  entry.info = info;
  Py_XDECREF(reinterpret_cast<PyObject *>(old));
  return info;
}

bool Argument::readOther(PyObject *object, const TypeInfo &type) {
  if (!parameter.isTensor)
    return readNumber(object);
  switch (type.origin) {
  case Origin::Own:
    tensor = getArray(object)->tensor();
    return useTensor();
  case Origin::Buffer:
    return readBuffer(object);
  case Origin::DLPack:
    return true;
  case Origin::Null:
    value.kind = TL_ARGUMENT_TENSOR;
    value.value.tensor = nullptr;
    return true;
  case Origin::Exchange:
  case Origin::Number:
    break;
  }
  // The runtime has words for a number in a tensor's place.
  if (PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
      PyBool_Check(object))
    return readNumber(object);
  setError("ArgumentError", quoted(parameter) +
                                " must be a tensor (a NumPy array, or any that "
                                "has `__dlpack__`), not `" +
                                typeName(object) + "`");
  return false;
}

Holding::~Holding() {
  if (hasView)
    PyBuffer_Release(&view);
  if (managed && managed->deleter)
    managed->deleter(managed);
  if (versioned && versioned->deleter)
    versioned->deleter(versioned);
  Py_XDECREF(owner);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static bool readInteger(PyObject *object, TlArgument &argument) {
  int overflow = 0;
  argument.kind = TL_ARGUMENT_INT;
  argument.value.integer = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (!overflow)
    return argument.value.integer != -1 || !PyErr_Occurred();
  argument.kind = TL_ARGUMENT_UINT;
  argument.value.unsignedInteger = PyLong_AsUnsignedLongLong(object);
  return !PyErr_Occurred();
}

/// Whether a number is a truth value; NumPy's are not Python's.
static bool isBool(PyObject *object) {
  if (PyBool_Check(object))
    return true;
  if (PyLong_CheckExact(object) || PyFloat_CheckExact(object))
    return false;
  std::string name = typeName(object);
  return name == "bool" || name == "bool_";
}

bool Argument::readNumber(PyObject *object) {
  if (isBool(object)) {
    int truth = PyObject_IsTrue(object);
    value.kind = TL_ARGUMENT_BOOL;
    value.value.boolean = truth == 1;
    return truth >= 0;
  }
  if (PyIndex_Check(object)) {
    Ref integer(PyNumber_Index(object));
    if (integer && readInteger(integer.get(), value))
      return true;
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
      PyErr_Clear();
      setError("RangeError", quoted(parameter) + " has more than 64 bits");
      return false;
    }
    PyErr_Clear(); // an array has an index only if it has one element
  }
  Ref real(PyUnicode_Check(object) ? nullptr : PyNumber_Float(object));
  if (real) {
    value.kind = TL_ARGUMENT_FLOAT;
    value.value.real = PyFloat_AsDouble(real.get());
    return true;
  }
  PyErr_Clear();
  bool isArray = PyObject_HasAttrString(object, "__dlpack__");
  setError("ArgumentError",
           quoted(parameter) + " must be a number, not `" + typeName(object) +
               (isArray ? "`: pass one of its elements" : "`"));
  return false;
}

//===----------------------------------------------------------------------===//
// Frameworks that offer functions to C
//===----------------------------------------------------------------------===//

/// Raises what a framework said of a tensor that it cannot describe: the
/// caller's mistake. PyTorch's text goes on with a trace of its own.
bool Argument::failExchange() {
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  Ref text(error ? PyObject_Str(error) : nullptr);
  const char *said =
      text ? PyUnicode_AsUTF8AndSize(text.get(), nullptr) : nullptr;
  std::string_view why = said ? said : "DLPack has no words for it";
  setError("ArgumentError", quoted(parameter) + " cannot be read: " +
                                std::string(why.substr(0, why.find('\n'))));
  Py_XDECREF(type);
  Py_XDECREF(error);
  Py_XDECREF(trace);
  return false;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Reads the element type of a buffer's format; false if kernels know none.
static bool readFormat(const char *format, Py_ssize_t size, uint8_t &code,
                       uint8_t &bits) {
  if (*format == '<' || *format == '=' || *format == '@')
    ++format;
  if (!format[0] || format[1])
    return false;
  bits = static_cast<uint8_t>(size * 8);
  if (std::strchr("bhilq", *format))
    code = 0;
  else if (std::strchr("BHILQ", *format))
    code = 1;
  else if (std::strchr("efd", *format))
    code = 2;
  else if (*format == '?')
    code = 6;
  else
    return false;
  return true;
}

/// Takes a view of an object's memory if it gives one.
static bool takeView(PyObject *object, bool isWritten, Py_buffer &view) {
  int flags = isWritten ? PyBUF_RECORDS : PyBUF_RECORDS_RO;
  bool taken = !PyObject_GetBuffer(object, &view, flags);
  if (!taken)
    PyErr_Clear();
  return taken;
}

bool Argument::readBuffer(PyObject *object) {
  Holding &holding = holdings.emplace_front();
  Py_buffer &view = holding.view;
  holding.hasView = takeView(object, parameter.isWritten, view);
  if (holding.hasView)
    return describeBuffer(holding) && useTensor();
  holding.hasView = takeView(object, /*isWritten=*/false, view);
  if (!holding.hasView)
    return readForeignDType(object, holding) && useTensor();
  setError("ArgumentError", quoted(parameter) +
                                " is written to by the kernel, and the array "
                                "is read-only");
  return false;
}

bool Argument::describeBuffer(Holding &holding) {
  const Py_buffer &view = holding.view;
  if (view.ndim > Holding::InlineRank) {
    setError("RankError",
             quoted(parameter) + " has " + std::to_string(view.ndim) +
                 " dimensions; at most " + std::to_string(Holding::InlineRank) +
                 " are supported");
    return false;
  }
  tensor = {};
  tensor.data = view.buf;
  tensor.device.type = Host;
  tensor.rank = view.ndim;
  tensor.dtype.lanes = 1;
  tensor.shape = holding.shape;
  tensor.strides = holding.strides;
  if (!readFormat(view.format ? view.format : "B", view.itemsize,
                  tensor.dtype.code, tensor.dtype.bits)) {
    setError("DTypeError", quoted(parameter) + " has elements of the format `" +
                               view.format +
                               "`, which kernels cannot take: convert it, as "
                               "by `.astype(\"float32\")`");
    return false;
  }
  for (int i = 0; i < view.ndim; ++i) {
    if (view.strides[i] % view.itemsize) {
      setError("StrideError", quoted(parameter) + " has a stride that is not a "
                                                  "multiple of its elements");
      return false;
    }
    holding.shape[i] = view.shape[i];
    holding.strides[i] = view.strides[i] / view.itemsize;
  }
  return true;
}

/// Reads an array whose element type the buffer protocol cannot say, such as
/// `bfloat16`: as integers of the same size.
bool Argument::readForeignDType(PyObject *object, Holding &holding) {
  static constexpr struct {
    std::string_view name;
    uint8_t code, bits;
    const char *integer;
  } types[] = {
      {"bfloat16", 4, 16, "<u2"},       {"float8_e4m3fn", 10, 8, "u1"},
      {"float8_e5m2", 12, 8, "u1"},     {"float8_e8m0fnu", 14, 8, "u1"},
      {"float8_e4m3fnuz", 11, 8, "u1"}, {"float8_e5m2fnuz", 13, 8, "u1"}};
  Ref dtype(PyObject_GetAttrString(object, "dtype"));
  Ref text(dtype ? PyObject_Str(dtype.get()) : nullptr);
  const char *name =
      text ? PyUnicode_AsUTF8AndSize(text.get(), nullptr) : nullptr;
  if (!name) {
    PyErr_Clear();
    setError("ArgumentError",
             quoted(parameter) + " has memory that kernels cannot read");
    return false;
  }
  for (const auto &type : types) {
    if (type.name != name)
      continue;
    holding.owner = PyObject_CallMethod(object, "view", "s", type.integer);
    if (!holding.owner)
      return false;
    holding.hasView =
        takeView(holding.owner, parameter.isWritten, holding.view);
    if (!holding.hasView) {
      setError("ArgumentError", quoted(parameter) + " cannot be written to");
      return false;
    }
    if (!describeBuffer(holding))
      return false;
    tensor.dtype.code = type.code;
    return true;
  }
  setError("DTypeError", quoted(parameter) + " has the element type `" + name +
                             "`, which kernels cannot take");
  return false;
}

//===----------------------------------------------------------------------===//
// Capsules
//===----------------------------------------------------------------------===//

/// Calls `object.__dlpack__(stream=stream, max_version=(1, 0))`; producers from
/// before DLPack 1.0 know no versions.
static PyObject *makeCapsule(PyObject *object, PyObject *stream) {
  static PyObject *const dlpack = PyUnicode_InternFromString("__dlpack__");
  static PyObject *const versionedNames =
      Py_BuildValue("(ss)", "stream", "max_version");
  static PyObject *const plainNames = Py_BuildValue("(s)", "stream");
  static PyObject *const version = Py_BuildValue("(ii)", 1, 0);
  PyObject *arguments[] = {object, stream ? stream : Py_None, version};
  PyObject *capsule =
      PyObject_VectorcallMethod(dlpack, arguments, 1, versionedNames);
  if (capsule || !PyErr_ExceptionMatches(PyExc_TypeError))
    return capsule;
  PyErr_Clear();
  return PyObject_VectorcallMethod(dlpack, arguments, 1, plainNames);
}

/// Takes over what a capsule holds and marks it as taken.
template <typename Tensor>
static Tensor *takeCapsule(PyObject *capsule, const char *name,
                           const char *usedName) {
  if (!PyCapsule_IsValid(capsule, name))
    return nullptr;
  auto *tensor = static_cast<Tensor *>(PyCapsule_GetPointer(capsule, name));
  return tensor && !PyCapsule_SetName(capsule, usedName) ? tensor : nullptr;
}

bool Argument::readDLPack(PyObject *object, PyObject *stream) {
  if (!refuseNegatedTensor(object))
    return failExchange();
  uint8_t code;
  Ref exported(makeExportable(object, code));
  Ref capsule(exported ? makeCapsule(exported.get(), stream) : nullptr);
  if (!capsule)
    return false;
  Holding &holding = holdings.emplace_front();
  holding.versioned = takeCapsule<VersionedTensor>(
      capsule.get(), VersionedCapsule, UsedVersionedCapsule);
  if (!holding.versioned)
    holding.managed =
        takeCapsule<ManagedTensor>(capsule.get(), FreshCapsule, UsedCapsule);
  const VersionedTensor *versioned = holding.versioned;
  if (!versioned && !holding.managed) {
    if (!PyErr_Occurred())
      setError("ArgumentError", quoted(parameter) +
                                    " gave a DLPack capsule of another "
                                    "version, or one that was used before");
    return false;
  }
  if (versioned && (versioned->flags & ReadOnlyFlag) && parameter.isWritten) {
    setError("ArgumentError", quoted(parameter) +
                                  " is written to by the kernel, and the array "
                                  "is read-only");
    return false;
  }
  tensor = versioned ? versioned->tensor : holding.managed->tensor;
  if (code)
    tensor.dtype.code = code;
  return useTensor();
}

} // namespace tl::python
