//===- Array.cpp - Tensors of our own -------------------------------------===//
//
// Allocation, copies to and from the host, and export through DLPack.
//
//===----------------------------------------------------------------------===//

#include "Array.h"
#include "DLPack.h"
#include "Errors.h"
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace tl::python {

/// Rows start at cache lines, which is more than any plan asks for.
static constexpr size_t HostAlignment = 64;

bool parseDType(const std::string &name, uint8_t &code, uint8_t &bits) {
  static const struct {
    const char *name;
    uint8_t code, bits;
  } types[] = {{"i1", 6, 8},          {"i8", 0, 8},      {"i16", 0, 16},
               {"i32", 0, 32},        {"i64", 0, 64},    {"u8", 1, 8},
               {"u16", 1, 16},        {"u32", 1, 32},    {"u64", 1, 64},
               {"f16", 2, 16},        {"bf16", 4, 16},   {"f32", 2, 32},
               {"tf32", 2, 32},       {"f64", 2, 64},    {"f8e4m3", 10, 8},
               {"f8e5m2", 12, 8},     {"f8e8m0", 14, 8}, {"f8e4m3fnuz", 11, 8},
               {"f8e5m2fnuz", 13, 8}, {"x8", 0, 8}};
  for (const auto &type : types) {
    if (name == type.name) {
      code = type.code;
      bits = type.bits;
      return true;
    }
  }
  return false;
}

[[noreturn]] static void fail(TlError *error) {
  setError(error);
  throw nb::python_error();
}

[[noreturn]] static void fail(const char *type, const std::string &message) {
  setError(type, message);
  throw nb::python_error();
}

Array::Array(std::vector<int64_t> shape, std::string dtype, int32_t deviceType,
             int32_t deviceId)
    : extents(std::move(shape)), strides(extents.size()),
      typeName(std::move(dtype)), device(deviceType), id(deviceId) {
  if (!parseDType(typeName, code, bits))
    fail("DTypeError", "unknown element type `" + typeName + "`");
  size_t count = 1;
  for (size_t i = extents.size(); i-- > 0;) {
    if (extents[i] < 0)
      fail("ShapeError", "an extent of an array must not be negative");
    strides[i] = static_cast<int64_t>(count);
    if (__builtin_mul_overflow(count, static_cast<size_t>(extents[i]), &count))
      fail("ShapeError", "the array has more elements than memory has bytes");
  }
  if (__builtin_mul_overflow(count, size_t(bits / 8), &bytes) ||
      bytes > SIZE_MAX - HostAlignment)
    fail("ShapeError", "the array has more elements than memory has bytes");
  if (bytes == 0)
    return;
  if (device == Cuda) {
    TlError *error = nullptr;
    if (!tlCudaAllocate(id, bytes, &data, &error))
      fail(error);
    return;
  }
  if (device == PinnedHost) {
    TlError *error = nullptr;
    if (!tlCudaAllocateShared(id, bytes, &data, &error))
      fail(error);
    return;
  }
  size_t rounded = (bytes + HostAlignment - 1) / HostAlignment * HostAlignment;
  data = std::aligned_alloc(HostAlignment, rounded);
  if (!data)
    throw std::bad_alloc();
}

Array::~Array() {
  if (device == Cuda)
    tlCudaFree(id, data, nullptr);
  else if (device == PinnedHost)
    tlCudaFreeShared(id, data, nullptr);
  else
    std::free(data);
}

TlTensor Array::tensor() const {
  TlTensor tensor = {};
  tensor.data = data;
  // Kernels take it at the same address.
  tensor.device.type =
      device == PinnedHost ? static_cast<int32_t>(Cuda) : device;
  tensor.device.id = id;
  tensor.rank = static_cast<int32_t>(extents.size());
  tensor.dtype.code = code;
  tensor.dtype.bits = bits;
  tensor.dtype.lanes = 1;
  tensor.shape = extents.data();
  tensor.strides = strides.data();
  return tensor;
}

namespace {
/// A contiguous view of a Python object's memory, for the time of a copy. It
/// has from `least` to `most` bytes.
class HostView {
public:
  HostView(nb::handle object, int flags, size_t least, size_t most) {
    if (PyObject_GetBuffer(object.ptr(), &view, flags))
      throw nb::python_error();
    if (size() >= least && size() <= most)
      return;
    PyBuffer_Release(&view);
    fail("ShapeError", "the two sides of a copy have different sizes");
  }
  ~HostView() { PyBuffer_Release(&view); }
  void *data() const { return view.buf; }
  size_t size() const { return static_cast<size_t>(view.len); }

private:
  Py_buffer view;
};
} // namespace

void Array::copyFrom(nb::object buffer) {
  HostView view(buffer, PyBUF_C_CONTIGUOUS, bytes, bytes);
  TlError *error = nullptr;
  if (bytes == 0)
    return;
  if (device != Cuda)
    std::memcpy(data, view.data(), bytes);
  else if (!tlCudaCopyToDevice(id, data, view.data(), bytes, &error))
    fail(error);
}

static void copyToHost(const Array &array, const HostView &view) {
  TlError *error = nullptr;
  const void *data = reinterpret_cast<const void *>(array.address());
  if (view.size() == 0)
    return;
  if (array.deviceType() != Cuda)
    std::memcpy(view.data(), data, view.size());
  else if (!tlCudaCopyToHost(array.deviceId(), view.data(), data, view.size(),
                             &error))
    fail(error);
}

void Array::copyInto(nb::object buffer) const {
  constexpr int flags = PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE;
  copyToHost(*this, HostView(buffer, flags, bytes, bytes));
}

void Array::copyStartInto(nb::object buffer) const {
  constexpr int flags = PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE;
  copyToHost(*this, HostView(buffer, flags, 0, bytes));
}

void Array::clear(uintptr_t stream) {
  TlError *error = nullptr;
  if (bytes == 0)
    return;
  if (device != Cuda)
    std::memset(data, 0, bytes);
  else if (!tlCudaFill(id, data, 0, bytes, reinterpret_cast<void *>(stream),
                       &error))
    fail(error);
}

//===----------------------------------------------------------------------===//
// DLPack
//===----------------------------------------------------------------------===//

template <typename Managed>
static void dropExport(Managed *self) {
  nb::gil_scoped_acquire gil;
  Py_DECREF(static_cast<PyObject *>(self->context));
  delete self;
}

template <typename Managed>
struct CapsuleName;
template <>
struct CapsuleName<ManagedTensor> {
  static constexpr const char *value = FreshCapsule;
};
template <>
struct CapsuleName<VersionedTensor> {
  static constexpr const char *value = VersionedCapsule;
};

template <typename Managed>
static void dropCapsule(PyObject *capsule) {
  const char *name = CapsuleName<Managed>::value;
  // A consumer that took the tensor has renamed the capsule.
  if (!PyCapsule_IsValid(capsule, name))
    return;
  auto *managed = static_cast<Managed *>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

template <typename Managed>
static nb::object makeCapsule(nb::handle self,
                              std::unique_ptr<Managed> managed) {
  managed->tensor = nb::cast<const Array &>(self).tensor();
  managed->context = self.ptr();
  managed->deleter = dropExport<Managed>;
  PyObject *capsule = PyCapsule_New(managed.get(), CapsuleName<Managed>::value,
                                    dropCapsule<Managed>);
  if (!capsule)
    throw nb::python_error();
  Py_INCREF(self.ptr());
  managed.release();
  return nb::steal(capsule);
}

/// Exports an array. Whoever imports it on another stream than the one that
/// filled it has to synchronise; arrays from calls without a framework are
/// filled on the default stream.
static nb::object exportArray(nb::handle self, nb::kwargs options) {
  bool versioned = false;
  if (options.contains("max_version") && !options["max_version"].is_none())
    versioned = nb::cast<int>(options["max_version"][nb::int_(0)]) >= 1;
  if (!versioned)
    return makeCapsule(self, std::make_unique<ManagedTensor>());
  auto managed = std::make_unique<VersionedTensor>();
  managed->major = 1;
  managed->minor = 0;
  managed->flags = 0;
  return makeCapsule(self, std::move(managed));
}

static nb::tuple shapeOf(const Array &array) {
  return nb::tuple(nb::cast(array.shape()));
}

void bindArray(nb::module_ &module) {
  nb::class_<Array>(module, "Array", nb::dynamic_attr())
      .def(nb::init<std::vector<int64_t>, std::string, int32_t, int32_t>(),
           nb::arg("shape"), nb::arg("dtype"), nb::arg("device_type"),
           nb::arg("device_id"))
      .def_prop_ro("shape", shapeOf)
      .def_prop_ro("plan_dtype", &Array::dtype)
      .def_prop_ro("nbytes", &Array::byteSize)
      .def_prop_ro("address", &Array::address)
      .def("copy_from", &Array::copyFrom, nb::arg("buffer"))
      .def("copy_into", &Array::copyInto, nb::arg("buffer"))
      .def("copy_start_into", &Array::copyStartInto, nb::arg("buffer"))
      .def("clear", &Array::clear, nb::arg("stream"))
      .def("__dlpack__", exportArray)
      .def("__dlpack_device__", [](const Array &array) {
        return nb::make_tuple(array.deviceType(), array.deviceId());
      });
}

const Array *getArray(PyObject *object) {
  nb::handle handle(object);
  return nb::isinstance<Array>(handle) ? nb::inst_ptr<Array>(handle) : nullptr;
}

} // namespace tl::python
