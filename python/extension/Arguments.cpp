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

/// Calls a method without arguments.
static PyObject *callMethod(PyObject *object, PyObject *name) {
  PyObject *arguments[] = {object};
  return PyObject_VectorcallMethod(name, arguments, 1, nullptr);
}

/// A name that is made once and never dies.
#define TL_NAME(variable, text)                                                \
  static PyObject *const variable = PyUnicode_InternFromString(text)

//===----------------------------------------------------------------------===//
// Kinds of objects
//===----------------------------------------------------------------------===//

/// The functions that a type's framework offers to C, or null.
static const ExchangeAPI *findExchange(PyObject *type) {
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

static bool isTorchTensor(PyObject *object) {
  return isOfPackage(object, "torch") &&
         PyObject_HasAttrString(object, "data_ptr") &&
         PyObject_HasAttrString(object, "get_device");
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
  if (const ExchangeAPI *exchange =
          findExchange(reinterpret_cast<PyObject *>(Py_TYPE(object))))
    return {Origin::Exchange, exchange};
  if (isTorchTensor(object))
    return {Origin::Torch};
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

bool Argument::read(PyObject *object, const Parameter &parameter) {
  if (!parameter.isTensor || PyLong_CheckExact(object) ||
      PyFloat_CheckExact(object) || PyBool_Check(object))
    return readNumber(object, parameter);
  info = describeType(object);
  switch (info.origin) {
  case Origin::Own:
    description = getArray(object)->tensor();
    useTensor();
    return true;
  case Origin::Exchange:
    return readExchange(object, parameter);
  case Origin::Torch:
    return readTorch(object, parameter);
  case Origin::Buffer:
    return readBuffer(object, parameter);
  case Origin::DLPack:
    return true;
  case Origin::Null:
    argument.kind = TL_ARGUMENT_TENSOR;
    argument.value.tensor = nullptr;
    return true;
  case Origin::Number:
    break;
  }
  setError("ArgumentError", quoted(parameter) +
                                " must be a tensor (a NumPy array, or any that "
                                "has `__dlpack__`), not `" +
                                typeName(object) + "`");
  return false;
}

void Argument::useTensor() {
  argument.kind = TL_ARGUMENT_TENSOR;
  argument.value.tensor = &description;
}

bool Argument::reserve(Py_ssize_t rank, const Parameter &parameter) {
  if (rank > InlineRank) {
    setError("RankError", quoted(parameter) + " has " + std::to_string(rank) +
                              " dimensions; at most " +
                              std::to_string(InlineRank) + " are supported");
    return false;
  }
  description.rank = static_cast<int32_t>(rank);
  description.shape = shape;
  description.strides = strides;
  description.dtype.lanes = 1;
  return true;
}

Argument::~Argument() {
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

bool Argument::readNumber(PyObject *object, const Parameter &parameter) {
  if (isBool(object)) {
    int value = PyObject_IsTrue(object);
    argument.kind = TL_ARGUMENT_BOOL;
    argument.value.boolean = value == 1;
    return value >= 0;
  }
  if (PyIndex_Check(object)) {
    Ref integer(PyNumber_Index(object));
    if (integer && readInteger(integer.get(), argument))
      return true;
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
      PyErr_Clear();
      setError("RangeError", quoted(parameter) + " has more than 64 bits");
    }
    return false;
  }
  Ref real(PyUnicode_Check(object) ? nullptr : PyNumber_Float(object));
  if (real) {
    argument.kind = TL_ARGUMENT_FLOAT;
    argument.value.real = PyFloat_AsDouble(real.get());
    return true;
  }
  PyErr_Clear();
  setError("ArgumentError", quoted(parameter) + " must be a number, not `" +
                                typeName(object) + "`");
  return false;
}

//===----------------------------------------------------------------------===//
// Frameworks that offer functions to C
//===----------------------------------------------------------------------===//

bool Argument::readExchange(PyObject *object, const Parameter &parameter) {
  if (info.exchange->describeTensor(object, &description)) {
    // What DLPack cannot describe is the caller's mistake, named by its cause.
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    Ref text(value ? PyObject_Str(value) : nullptr);
    const char *why =
        text ? PyUnicode_AsUTF8AndSize(text.get(), nullptr) : nullptr;
    setError("ArgumentError", quoted(parameter) + " cannot be read: " +
                                  (why ? why : "DLPack has no words for it"));
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return false;
  }
  useTensor();
  return true;
}

//===----------------------------------------------------------------------===//
// PyTorch's methods
//===----------------------------------------------------------------------===//

/// Reads an element type by its name, such as `torch.float16` or `bfloat16`.
static bool readDTypeName(std::string_view name, uint8_t &code, uint8_t &bits) {
  static const struct {
    std::string_view name;
    uint8_t code, bits;
  } types[] = {
      {"bool", 6, 8},      {"int8", 0, 8},           {"int16", 0, 16},
      {"int32", 0, 32},    {"int64", 0, 64},         {"uint8", 1, 8},
      {"uint16", 1, 16},   {"uint32", 1, 32},        {"uint64", 1, 64},
      {"float16", 2, 16},  {"float32", 2, 32},       {"float64", 2, 64},
      {"bfloat16", 4, 16}, {"float8_e4m3fn", 10, 8}, {"float8_e5m2", 12, 8}};
  name = name.substr(name.rfind('.') + 1);
  for (const auto &type : types) {
    if (type.name != name)
      continue;
    code = type.code;
    bits = type.bits;
    return true;
  }
  return false;
}

/// Reads the element type of an object of a library, remembered by identity:
/// libraries make each of their types once.
static bool readDType(PyObject *dtype, const Parameter &parameter,
                      uint8_t &code, uint8_t &bits) {
  static struct {
    PyObject *dtype;
    uint8_t code, bits;
  } seen[16];
  static unsigned next = 0;
  for (const auto &entry : seen) {
    if (entry.dtype != dtype)
      continue;
    code = entry.code;
    bits = entry.bits;
    return true;
  }
  Ref text(PyObject_Str(dtype));
  if (!text)
    return false;
  Py_ssize_t length = 0;
  const char *name = PyUnicode_AsUTF8AndSize(text.get(), &length);
  if (!name)
    return false;
  if (!readDTypeName({name, size_t(length)}, code, bits)) {
    setError("DTypeError", quoted(parameter) + " has the element type `" +
                               std::string(name, length) +
                               "`, which kernels cannot take");
    return false;
  }
  auto &entry = seen[next++ % std::size(seen)];
  Py_INCREF(dtype);
  PyObject *old = std::exchange(entry.dtype, dtype);
  entry.code = code;
  entry.bits = bits;
  Py_XDECREF(old);
  return true;
}

/// Copies a tuple of integers, such as `torch.Size`.
static bool readTuple(PyObject *tuple, int64_t *out, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    out[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
    if (out[i] == -1 && PyErr_Occurred())
      return false;
  }
  return true;
}

static bool readMethod(PyObject *object, PyObject *name, int64_t &out) {
  Ref value(callMethod(object, name));
  if (!value)
    return false;
  out = static_cast<int64_t>(PyLong_AsLongLong(value.get()));
  return out != -1 || !PyErr_Occurred();
}

bool Argument::readTorch(PyObject *object, const Parameter &parameter) {
  TL_NAME(dataPtr, "data_ptr");
  TL_NAME(shapeName, "shape");
  TL_NAME(strideName, "stride");
  TL_NAME(dtypeName, "dtype");
  TL_NAME(isCuda, "is_cuda");
  TL_NAME(getDevice, "get_device");
  Ref extents(PyObject_GetAttr(object, shapeName));
  Ref steps(callMethod(object, strideName));
  Ref dtype(PyObject_GetAttr(object, dtypeName));
  Ref cuda(PyObject_GetAttr(object, isCuda));
  int64_t address = 0, device = 0;
  if (!extents || !steps || !dtype || !cuda || !PyTuple_Check(extents.get()) ||
      !PyTuple_Check(steps.get()) || !readMethod(object, dataPtr, address) ||
      !readMethod(object, getDevice, device))
    return false;
  Py_ssize_t rank = PyTuple_Size(extents.get());
  if (!reserve(rank, parameter) || PyTuple_Size(steps.get()) != rank ||
      !readTuple(extents.get(), shape, rank) ||
      !readTuple(steps.get(), strides, rank) ||
      !readDType(dtype.get(), parameter, description.dtype.code,
                 description.dtype.bits))
    return false;
  description.data = reinterpret_cast<void *>(address);
  description.device.type = cuda.get() == Py_True ? Cuda : Host;
  description.device.id = static_cast<int32_t>(device < 0 ? 0 : device);
  useTensor();
  return true;
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

bool Argument::readBuffer(PyObject *object, const Parameter &parameter) {
  int flags = parameter.isWritten ? PyBUF_RECORDS : PyBUF_RECORDS_RO;
  if (takeView(object, flags)) {
    if (!describeBuffer(parameter))
      return false;
    useTensor();
    return true;
  }
  if (takeView(object, PyBUF_RECORDS_RO)) {
    setError("ArgumentError", quoted(parameter) +
                                  " is written to by the kernel, and the array "
                                  "is read-only");
    return false;
  }
  return readForeignDType(object, parameter);
}

/// Takes a view of an object's memory if it gives one.
bool Argument::takeView(PyObject *object, int flags) {
  hasView = !PyObject_GetBuffer(object, &view, flags);
  if (!hasView)
    PyErr_Clear();
  return hasView;
}

bool Argument::describeBuffer(const Parameter &parameter) {
  if (!reserve(view.ndim, parameter))
    return false;
  if (!readFormat(view.format ? view.format : "B", view.itemsize,
                  description.dtype.code, description.dtype.bits)) {
    setError("DTypeError", quoted(parameter) + " has elements of the format `" +
                               view.format + "`, which kernels cannot take");
    return false;
  }
  for (int i = 0; i < view.ndim; ++i) {
    shape[i] = view.shape[i];
    if (view.strides[i] % view.itemsize) {
      setError("StrideError", quoted(parameter) + " has a stride that is not a "
                                                  "multiple of its elements");
      return false;
    }
    strides[i] = view.strides[i] / view.itemsize;
  }
  description.data = view.buf;
  description.device.type = Host;
  return true;
}

/// Reads an array whose element type the buffer protocol cannot say, such as
/// `bfloat16`: as integers of the same size.
bool Argument::readForeignDType(PyObject *object, const Parameter &parameter) {
  Ref dtype(PyObject_GetAttrString(object, "dtype"));
  uint8_t code = 0, bits = 0;
  if (!dtype || !readDType(dtype.get(), parameter, code, bits)) {
    if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_AttributeError)) {
      PyErr_Clear();
      setError("ArgumentError",
               quoted(parameter) + " has memory that kernels cannot read");
    }
    return false;
  }
  owner = PyObject_CallMethod(object, "view", "s", bits == 16 ? "<u2" : "u1");
  if (!owner)
    return false;
  int flags = parameter.isWritten ? PyBUF_RECORDS : PyBUF_RECORDS_RO;
  if (!takeView(owner, flags)) {
    setError("ArgumentError", quoted(parameter) + " cannot be written to");
    return false;
  }
  if (!describeBuffer(parameter))
    return false;
  description.dtype.code = code;
  useTensor();
  return true;
}

//===----------------------------------------------------------------------===//
// Capsules
//===----------------------------------------------------------------------===//

/// Calls `object.__dlpack__(stream=stream, max_version=(1, 0))`; producers from
/// before DLPack 1.0 know no versions.
static PyObject *makeCapsule(PyObject *object, PyObject *stream) {
  TL_NAME(dlpack, "__dlpack__");
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

bool Argument::readDLPack(PyObject *object, const Parameter &parameter,
                          PyObject *stream) {
  Ref capsule(makeCapsule(object, stream));
  if (!capsule)
    return false;
  versioned = takeCapsule<VersionedTensor>(capsule.get(), VersionedCapsule,
                                           UsedVersionedCapsule);
  if (!versioned)
    managed =
        takeCapsule<ManagedTensor>(capsule.get(), FreshCapsule, UsedCapsule);
  if (!versioned && !managed) {
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
  description = versioned ? versioned->tensor : managed->tensor;
  useTensor();
  return true;
}

} // namespace tl::python
