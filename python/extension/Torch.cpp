//===- Torch.cpp - Read PyTorch's tensors in nanoseconds ------------------===//
//
// The functions are those of torch/csrc/inductor/aoti_torch/c/shim.h. They want
// an AtenTensorHandle, the address of the C++ tensor that lies within a Python
// object. No function of PyTorch gives it away, so the place is found once: a
// C++ tensor is nothing but the address of its implementation, and a tensor's
// attribute `_cdata` is that address. (cuda.core reads tensors the same way,
// from a fixed place: NVIDIA/cuda-python, pull request 1894.)
//
// A tensor may be a lazy negation: memory that PyTorch's own functions read
// with the other sign, as the imaginary part of a conjugate is. Neither the
// shim nor DLPack says so, and every tensor is asked: by the method `is_neg`,
// or by the function behind it where PyTorch exports that and it is seen to
// answer right.
//
//===----------------------------------------------------------------------===//

#include "Torch.h"
#include <array>
#include <cstring>
#include <dlfcn.h>
#include <nanobind/nanobind.h>
#include <string>
#include <string_view>
#include <utility>

namespace nb = nanobind;

namespace tl::python {

namespace {

using Handle = void *;
using Status = int32_t;

/// The functions, by their names without `aoti_torch_`. Zero is success.
struct Functions {
  Status (*get_data_ptr)(Handle, void **);
  Status (*get_dim)(Handle, int64_t *);
  Status (*get_sizes)(Handle, int64_t **);
  Status (*get_strides)(Handle, int64_t **);
  Status (*get_dtype)(Handle, int32_t *);
  Status (*get_layout)(Handle, int32_t *);
  Status (*get_device_type)(Handle, int32_t *);
  Status (*get_device_index)(Handle, int32_t *);
  /// Only where PyTorch has CUDA.
  Status (*get_current_cuda_stream)(int32_t device, void **);
  /// What the method `is_neg` calls, or null. No part of the shim.
  bool (*is_neg)(Handle);
};

/// An element type in DLPack's terms; no bits if it has none there.
struct DType {
  uint8_t code = 0, bits = 0;
};

struct Torch {
  Functions functions = {};
  int32_t strided = 0, cpu = 0, cuda = 0;
  /// By PyTorch's numbers.
  std::array<DType, 64> dtypes;
  /// Where in a Python object the C++ tensor lies, once known.
  Py_ssize_t offset = 0;
  /// What the tensors' type offers itself, or null.
  const ExchangeAPI *offered = nullptr;
  /// What the types that inherit from it offer; the same as far as is known.
  const ExchangeAPI *inherited = nullptr;

  bool resolve(void *library);
  bool resolveDTypes(void *library);
  void resolveNegation(nb::handle package, void *library);
};

} // namespace

/// Filled when a tensor is first seen. The interpreter's lock guards it.
static Torch torch;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static bool describeFast(void *object, TlTensor &out) {
  const Functions &get = torch.functions;
  Handle tensor = static_cast<char *>(object) + torch.offset;
  int32_t layout, dtype, device, index;
  int64_t rank, *shape, *strides;
  if (get.get_layout(tensor, &layout) || layout != torch.strided ||
      get.get_dtype(tensor, &dtype) || size_t(dtype) >= torch.dtypes.size() ||
      !torch.dtypes[dtype].bits || get.get_device_type(tensor, &device) ||
      get.get_device_index(tensor, &index) || get.get_dim(tensor, &rank) ||
      get.get_sizes(tensor, &shape) || get.get_strides(tensor, &strides) ||
      (device != torch.cuda && device != torch.cpu) ||
      get.get_data_ptr(tensor, &out.data))
    return false;
  bool isCuda = device == torch.cuda;
  out.device.type = isCuda ? Cuda : Host;
  out.device.id = isCuda ? index : 0;
  out.rank = static_cast<int32_t>(rank);
  out.dtype.code = torch.dtypes[dtype].code;
  out.dtype.bits = torch.dtypes[dtype].bits;
  out.dtype.lanes = 1;
  out.shape = shape;
  out.strides = strides;
  out.byteOffset = 0;
  return true;
}

/// Returns 1 if a tensor is a lazy negation, 0 if not, and -1 after an error.
static int isNegated(void *object) {
  if (torch.functions.is_neg) [[likely]]
    return torch.functions.is_neg(static_cast<char *>(object) + torch.offset);
  static PyObject *const name = PyUnicode_InternFromString("is_neg");
  auto *tensor = static_cast<PyObject *>(object);
  nb::object answer =
      nb::steal(PyObject_VectorcallMethod(name, &tensor, 1, nullptr));
  return answer.is_valid() ? PyObject_IsTrue(answer.ptr()) : -1;
}

/// Returns false with a Python exception set if a tensor is a lazy negation.
static bool refuseNegated(void *object) {
  int negated = isNegated(object);
  if (!negated) [[likely]]
    return true;
  if (negated > 0)
    PyErr_SetString(PyExc_BufferError,
                    "it is a lazy negation, as the imaginary part of a "
                    "conjugate is; pass `.resolve_neg()` of it");
  return false;
}

/// As `ExchangeAPI::describeTensor`.
static int describe(void *object, TlTensor *out) {
  if (!refuseNegated(object))
    return -1;
  if (describeFast(object, *out)) [[likely]]
    return 0;
  if (torch.offered)
    return torch.offered->describeTensor(object, out);
  PyErr_SetString(PyExc_BufferError,
                  "it has no memory of its own, or elements that DLPack has no "
                  "words for");
  return -1;
}

/// As `ExchangeAPI::describeTensor`, for tensors of other types.
static int describeInherited(void *object, TlTensor *out) {
  if (!refuseNegated(object))
    return -1;
  return torch.inherited->describeTensor(object, out);
}

/// As `ExchangeAPI::getCurrentStream`, for tensors of other types.
static int getInheritedStream(int32_t type, int32_t device, void **stream) {
  return torch.inherited->getCurrentStream(type, device, stream);
}

/// As `ExchangeAPI::getCurrentStream`.
static int getCurrentStream(int32_t, int32_t device, void **stream) {
  *stream = nullptr;
  // Without CUDA no tensor is on a GPU, which the runtime will say.
  auto *get = torch.functions.get_current_cuda_stream;
  if (!get || !get(device, stream))
    return 0;
  PyErr_SetString(PyExc_RuntimeError, "PyTorch has no current stream");
  return -1;
}

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

template <typename Function>
static bool find(void *library, const char *name, Function *&function) {
  std::string symbol = "aoti_torch_" + std::string(name);
  function = reinterpret_cast<Function *>(dlsym(library, symbol.c_str()));
  return function;
}

/// Stores a constant, which PyTorch has as a function.
static bool findConstant(void *library, const char *name, int32_t &value) {
  int32_t (*function)();
  if (!find(library, name, function))
    return false;
  value = function();
  return true;
}

/// Finds the numbers of the element types that this PyTorch has.
bool Torch::resolveDTypes(void *library) {
  static constexpr struct {
    const char *name;
    DType dtype;
  } known[] = {{"dtype_bool", {6, 8}},
               {"dtype_int8", {0, 8}},
               {"dtype_int16", {0, 16}},
               {"dtype_int32", {0, 32}},
               {"dtype_int64", {0, 64}},
               {"dtype_uint8", {1, 8}},
               {"dtype_uint16", {1, 16}},
               {"dtype_uint32", {1, 32}},
               {"dtype_uint64", {1, 64}},
               {"dtype_float16", {2, 16}},
               {"dtype_float32", {2, 32}},
               {"dtype_float64", {2, 64}},
               {"dtype_bfloat16", {4, 16}},
               {"dtype_float8_e4m3fn", {10, 8}},
               {"dtype_float8_e5m2", {12, 8}},
               {"dtype_float8_e8m0fnu", {14, 8}},
               {"dtype_float8_e4m3fnuz", {11, 8}},
               {"dtype_float8_e5m2fnuz", {13, 8}}};
  for (const auto &[name, dtype] : known) {
    int32_t number = 0;
    if (!findConstant(library, name, number))
      continue;
    if (size_t(number) >= dtypes.size())
      return false;
    dtypes[number] = dtype;
  }
  return true;
}

bool Torch::resolve(void *library) {
  Functions &get = functions;
  (void)find(library, "get_current_cuda_stream", get.get_current_cuda_stream);
  return find(library, "get_data_ptr", get.get_data_ptr) &&
         find(library, "get_dim", get.get_dim) &&
         find(library, "get_sizes", get.get_sizes) &&
         find(library, "get_strides", get.get_strides) &&
         find(library, "get_dtype", get.get_dtype) &&
         find(library, "get_layout", get.get_layout) &&
         find(library, "get_device_type", get.get_device_type) &&
         find(library, "get_device_index", get.get_device_index) &&
         findConstant(library, "layout_strided", strided) &&
         findConstant(library, "device_type_cpu", cpu) &&
         findConstant(library, "device_type_cuda", cuda) &&
         resolveDTypes(library);
}

/// Opens the library that the process has loaded as the module `torch._C`,
/// through which all of PyTorch's can be searched.
static void *openLibrary(nb::handle torch) {
  nb::object path = torch.attr("_C").attr("__file__");
  return dlopen(nb::str(path).c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

static nb::object makePlain(nb::handle package) {
  return package.attr("empty")(0, nb::arg("device") = "cpu");
}

/// Whether a tensor is laid out as `torch.Tensor`, and no more than that.
static bool isPlain(nb::handle package, nb::handle tensor) {
  return tensor.type().is(package.attr("Tensor")) ||
         tensor.type().is(package.attr("nn").attr("Parameter"));
}

/// Finds the function behind `is_neg`, and keeps it if it answers as the method
/// does: its name is that of a C++ function, which the next version may change.
void Torch::resolveNegation(nb::handle package, void *library) {
  void *found = dlsym(library, "_ZN2at6native6is_negERKNS_6TensorE");
  auto *isNeg = reinterpret_cast<bool (*)(Handle)>(found);
  if (!isNeg)
    return;
  nb::object plain = makePlain(package);
  nb::object negated = package.attr("_neg_view")(plain);
  auto ask = [&](nb::handle tensor) {
    return isNeg(reinterpret_cast<char *>(tensor.ptr()) + offset);
  };
  if (isPlain(package, plain) && isPlain(package, negated) && !ask(plain) &&
      ask(negated))
    functions.is_neg = isNeg;
}

/// Returns where in `tensor` its C++ tensor lies, or 0 if that is not certain.
static Py_ssize_t findOffset(nb::handle tensor) {
  const void *wanted = PyLong_AsVoidPtr(tensor.attr("_cdata").ptr());
  auto size = nb::cast<Py_ssize_t>(tensor.type().attr("__basicsize__"));
  Py_ssize_t found = 0;
  for (Py_ssize_t i = sizeof(PyObject); i + Py_ssize_t(sizeof wanted) <= size;
       i += sizeof wanted) {
    if (std::memcmp(reinterpret_cast<char *>(tensor.ptr()) + i, &wanted,
                    sizeof wanted))
      continue;
    if (found)
      return 0;
    found = i;
  }
  return found;
}

static bool prepare(nb::handle package, nb::handle tensor,
                    const ExchangeAPI *offered) {
  static void *const library = openLibrary(package);
  static const bool isResolved = library && torch.resolve(library);
  Py_ssize_t offset = isResolved ? findOffset(tensor) : 0;
  if (!offset || (torch.offset && torch.offset != offset))
    return false;
  torch.offered = offered;
  if (std::exchange(torch.offset, offset))
    return true;
  try {
    torch.resolveNegation(package, library);
  } catch (nb::python_error &) {
    // The method will be asked.
  }
  return true;
}

/// Prepares for tensors whose types inherit from those: in their objects, too,
/// the C++ tensor lies where it does in a plain one.
static bool prepareInherited(nb::handle package, const ExchangeAPI *offered) {
  if (!offered || (torch.inherited && torch.inherited != offered))
    return false;
  torch.inherited = offered;
  if (torch.offset)
    return true;
  try {
    nb::object plain = makePlain(package);
    if (isPlain(package, plain))
      prepare(package, plain, offered);
  } catch (nb::python_error &) {
    // The method will be asked.
  }
  return true;
}

/// Whether an object is a tensor of PyTorch, of whatever type.
static bool isTorchTensor(PyObject *object) {
  // Kept once found: a call asks for each of its arguments.
  static PyTypeObject *type = nullptr;
  if (!type) {
    nb::object package = nb::steal(PyImport_GetModule(nb::str("torch").ptr()));
    nb::object found = package.is_valid()
                           ? nb::getattr(package, "Tensor", nb::none())
                           : package;
    if (!found.is_valid() || !PyType_Check(found.ptr()))
      return false;
    type = reinterpret_cast<PyTypeObject *>(found.release().ptr());
  }
  return PyObject_TypeCheck(object, type);
}

const ExchangeAPI *findTorchFunctions(PyObject *tensor,
                                      const ExchangeAPI *offered) {
  static constexpr ExchangeAPI functions = {
      {1, 0, nullptr}, nullptr, nullptr, nullptr, describe, getCurrentStream};
  static constexpr ExchangeAPI inherited = {
      {1, 0, nullptr}, nullptr,           nullptr,
      nullptr,         describeInherited, getInheritedStream};
  try {
    if (!isTorchTensor(tensor))
      return nullptr;
    nb::object package = nb::module_::import_("torch");
    if (isPlain(package, tensor) && prepare(package, tensor, offered))
      return &functions;
    return prepareInherited(package, offered) ? &inherited : nullptr;
  } catch (nb::python_error &) {
    // Another package of that name: not what is looked for.
    return nullptr;
  }
}

PyObject *makeExportable(PyObject *object, uint8_t &code) {
  static constexpr std::pair<std::string_view, uint8_t> narrow[] = {
      {"torch.float8_e4m3fn", 10},   {"torch.float8_e5m2", 12},
      {"torch.float8_e8m0fnu", 14},  {"torch.float8_e4m3fnuz", 11},
      {"torch.float8_e5m2fnuz", 13}, {"torch.float4_e2m1fn_x2", 1}};
  code = 0;
  nb::object tensor = nb::borrow(object);
  if (!isTorchTensor(object))
    return tensor.release().ptr();
  try {
    if (nb::cast<bool>(nb::getattr(tensor, "requires_grad", nb::bool_(false))))
      tensor = tensor.attr("detach")();
    nb::object dtype = nb::getattr(tensor, "dtype", nb::none());
    auto name = nb::cast<std::string>(nb::str(dtype));
    for (const auto &[wanted, number] : narrow) {
      if (name != wanted)
        continue;
      nb::object package = nb::module_::import_("torch");
      tensor = tensor.attr("view")(package.attr("uint8"));
      code = number;
    }
    return tensor.release().ptr();
  } catch (nb::python_error &error) {
    error.restore();
    return nullptr;
  }
}

int isNegatedTensor(PyObject *object) {
  return isTorchTensor(object) ? isNegated(object) : 0;
}

bool refuseNegatedTensor(PyObject *object) {
  return !isTorchTensor(object) || refuseNegated(object);
}

} // namespace tl::python
