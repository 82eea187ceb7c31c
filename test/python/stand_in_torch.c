// The functions by which tensors of PyTorch are read, for the tensors of
// stand_in_torch.py.
//
// There, what a tensor's object holds is the address of another object, of
// ctypes; its structure comes after the two words that every object begins
// with.

#include <stdint.h>

typedef struct {
  void *data;
  int64_t rank, shape[8], strides[8];
  int32_t dtype, layout, device, index, negated;
} Tensor;

static Tensor *get(void *handle) { return (*(Tensor ***)handle)[2]; }

#define GET(name, type, value)                                                 \
  int32_t aoti_torch_get_##name(void *handle, type *out) {                     \
    Tensor *tensor = get(handle);                                              \
    *out = value;                                                              \
    return 0;                                                                  \
  }
GET(dim, int64_t, tensor->rank)
GET(sizes, int64_t *, tensor->shape)
GET(strides, int64_t *, tensor->strides)
GET(dtype, int32_t, tensor->dtype)
GET(layout, int32_t, tensor->layout)
GET(device_type, int32_t, tensor->device)
GET(device_index, int32_t, tensor->index)

int32_t aoti_torch_get_data_ptr(void *handle, void **out) {
  *out = get(handle)->data;
  return *out ? 0 : 1;
}

#ifdef NEGATION
// What the method `is_neg` calls, by its name in C++. The stand-in's method says
// something else, and tells who was asked.
_Bool isNegated(void *handle) __asm__("_ZN2at6native6is_negERKNS_6TensorE");
_Bool isNegated(void *handle) { return get(handle)->negated == NEGATION; }
#endif

#define CONSTANT(name, value)                                                  \
  int32_t aoti_torch_##name(void) { return value; }
CONSTANT(layout_strided, 3)
CONSTANT(device_type_cpu, 1)
CONSTANT(device_type_cuda, 2)
CONSTANT(dtype_float32, 6)
CONSTANT(dtype_int64, 4)
