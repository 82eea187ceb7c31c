//===- Contents.cpp - What tensors held before a call ---------------------===//
//
// A tensor is copied element by element, in runs as long as its strides let
// them be: what lies between its rows belongs to somebody else, who may write
// it at any time. Tensors that share memory are copied one by one, and all were
// copied before anything was written, so that it does not matter which of them
// is put back last.
//
//===----------------------------------------------------------------------===//

#include "Contents.h"

#include <cstring>

namespace nb = nanobind;

namespace tl::python {

/// What there is to copy of `tensor`, without the copy.
Contents::Copy Contents::describe(const TlTensor &tensor) {
  Copy copy;
  copy.first = static_cast<char *>(tensor.data) + tensor.byteOffset;
  copy.runBytes = (tensor.dtype.bits * tensor.dtype.lanes + 7) / 8;
  int64_t contiguous = 1;
  const auto elementBytes = static_cast<int64_t>(copy.runBytes);
  for (int32_t i = tensor.rank - 1; i >= 0; --i) {
    int64_t stride = tensor.strides ? tensor.strides[i] : contiguous;
    contiguous *= tensor.shape[i];
    // All elements of such a dimension are one.
    int64_t extent = stride == 0 && tensor.shape[i] > 1 ? 1 : tensor.shape[i];
    if (copy.dims.empty() &&
        stride * elementBytes == static_cast<int64_t>(copy.runBytes))
      copy.runBytes *= extent;
    else if (extent != 1)
      copy.dims.insert(copy.dims.begin(), {extent, stride * elementBytes});
  }
  return copy;
}

/// Calls `copyRun` with each run in memory and its place in the copy. Returns
/// the end of the copy.
template <typename CopyRun>
char *Contents::walk(const Copy &copy, size_t dim, char *memory, char *kept,
                     CopyRun copyRun) {
  if (dim == copy.dims.size()) {
    copyRun(memory, kept, copy.runBytes);
    return kept + copy.runBytes;
  }
  auto [extent, stride] = copy.dims[dim];
  for (int64_t i = 0; i < extent; ++i)
    kept = walk(copy, dim + 1, memory + i * stride, kept, copyRun);
  return kept;
}

Contents::Contents(nb::tuple arguments) {
  for (nb::handle object : arguments) {
    TlArgument value{TL_ARGUMENT_INT, {}};
    TlTensor tensor;
    // The call says what is wrong with an argument, in its own order.
    Parameter parameter{"", /*isTensor=*/true, /*isWritten=*/false};
    Argument argument(parameter, value, tensor, holdings);
    TypeInfo type = describeType(object.ptr());
    if (!argument.read(object.ptr(), type) ||
        (type.origin == Origin::DLPack &&
         !argument.readDLPack(object.ptr(), nullptr))) {
      PyErr_Clear();
      continue;
    }
    if (value.kind != TL_ARGUMENT_TENSOR || !value.value.tensor ||
        (tensor.device.type != Host && tensor.device.type != PinnedHost))
      continue;
    Copy copy = describe(tensor);
    size_t bytes = copy.runBytes;
    for (auto [extent, stride] : copy.dims)
      bytes *= extent;
    copy.bytes.reset(new char[bytes]);
    if (bytes)
      walk(copy, 0, copy.first, copy.bytes.get(),
           [](char *memory, char *kept, size_t bytes) {
             std::memcpy(kept, memory, bytes);
           });
    copies.push_back(std::move(copy));
  }
}

void Contents::putBack() const {
  for (const Copy &copy : copies)
    if (copy.runBytes)
      walk(copy, 0, copy.first, copy.bytes.get(),
           [](char *memory, char *kept, size_t bytes) {
             std::memcpy(memory, kept, bytes);
           });
}

void bindContents(nb::module_ &module) {
  nb::class_<Contents>(module, "Contents")
      .def(nb::init<nb::tuple>(), nb::arg("arguments"))
      .def("put_back", &Contents::putBack);
}

} // namespace tl::python
