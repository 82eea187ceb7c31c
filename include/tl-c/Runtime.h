//===- tl-c/Runtime.h - Load and call compiled kernels ----------*- C -*-===//
//
// The runtime's C interface: load a launch plan with its kernels, call it with
// tensors and scalars, and ask the CUDA driver the few questions a program has
// before it does so. The plan's format is described in docs/LaunchPlan.md.
//
// Rules for every function here:
//   - Nothing is thrown. A function that can fail takes a `TlError **` last. On
//     failure it returns false or NULL and stores an error there, which the
//     caller owns and destroys. On success `*error` is left untouched. A NULL
//     `error` means that the caller does not want to know why.
//   - Every function may be called from any thread, and the same executable
//     from several threads at once. Destroying an object while it is in use is
//     the one thing that is not allowed.
//   - Pointers passed in are read during the call only; what must outlive the
//     call is copied.
//   - libcuda.so.1 is opened when it is first needed. No function but those
//     that speak to a GPU needs it.
//
//===----------------------------------------------------------------------===//

#ifndef TL_C_RUNTIME_H
#define TL_C_RUNTIME_H

#include "tl-c/Support.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// What kind of mistake an error is, so that a binding can choose the exception
/// class. The numbers are part of the interface.
typedef enum TlErrorCategory {
  /// The plan or an image cannot be loaded, or they do not fit together.
  TL_ERROR_PLAN = 1,
  /// Too few or too many arguments.
  TL_ERROR_ARGUMENT_COUNT = 2,
  /// A scalar where a tensor is expected, a float where an integer is, ...
  TL_ERROR_ARGUMENT_KIND = 3,
  /// A tensor has the wrong number of dimensions.
  TL_ERROR_RANK = 4,
  /// A tensor has the wrong element type.
  TL_ERROR_DTYPE = 5,
  /// A dimension differs from a constant or from another dimension.
  TL_ERROR_SHAPE = 6,
  /// A stride is not what the plan asks for.
  TL_ERROR_STRIDE = 7,
  /// A data pointer is not aligned as the plan asks for.
  TL_ERROR_ALIGNMENT = 8,
  /// A tensor is on the wrong device, or tensors are on different devices.
  TL_ERROR_DEVICE = 9,
  /// A tensor that has elements has no data.
  TL_ERROR_NULL_POINTER = 10,
  /// A scalar, a grid or a computed parameter is outside of its range, or a
  /// computation of the plan divides by zero or overflows.
  TL_ERROR_VALUE = 11,
  /// The kernel was built for another GPU than this one.
  TL_ERROR_ARCHITECTURE = 12,
  /// There is no CUDA driver, it is too old, or there is no such GPU.
  TL_ERROR_NO_CUDA = 13,
  /// A memory allocation failed.
  TL_ERROR_OUT_OF_MEMORY = 14,
  /// Any other failure that the CUDA driver reports.
  TL_ERROR_CUDA = 15,
} TlErrorCategory;

/// Why a call failed. Owned by whoever received it; immutable.
typedef struct TlError TlError;

/// Returns the category of `error`.
TL_API TlErrorCategory tlErrorCategory(const TlError *error);

/// Returns the message of `error`: one line, or several when the driver's
/// own compiler said more. UTF-8, zero-terminated, valid until `error` is
/// destroyed.
TL_API const char *tlErrorMessage(const TlError *error);

/// Destroys `error`; NULL is allowed.
TL_API void tlErrorDestroy(TlError *error);

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// A tensor in memory that somebody else owns. Laid out exactly as `DLTensor`
/// of DLPack 1.x, so that a `const DLTensor *` can be cast to a
/// `const TlTensor *`.
typedef struct TlTensor {
  void *data;
  struct {
    /// DLDeviceType. 1: CPU, 2: CUDA, 3: pinned host memory (taken as CPU),
    /// 13: CUDA managed memory (taken as CUDA).
    int32_t type;
    int32_t id;
  } device;
  int32_t rank;
  struct {
    /// DLDataTypeCode. 0: int, 1: uint, 2: float, 4: bfloat, 6: bool,
    /// 10: float8_e4m3fn, 12: float8_e5m2.
    uint8_t code;
    uint8_t bits;
    /// 1; vectors are not supported.
    uint16_t lanes;
  } dtype;
  /// `rank` extents; may be NULL if `rank` is 0.
  const int64_t *shape;
  /// `rank` strides in elements, or NULL for a row-major contiguous tensor.
  const int64_t *strides;
  /// Added to `data` to reach the first element.
  uint64_t byteOffset;
} TlTensor;

/// Which member of a TlArgument holds the value.
typedef enum TlArgumentKind {
  /// `tensor`.
  TL_ARGUMENT_TENSOR = 0,
  /// `integer`; fits every integer, float and `i1` (0 or 1) parameter that can
  /// represent the value.
  TL_ARGUMENT_INT = 1,
  /// `unsignedInteger`; the same, for values above INT64_MAX.
  TL_ARGUMENT_UINT = 2,
  /// `real`; fits float parameters only. Rounded to nearest even; a finite
  /// value that becomes infinite is an error.
  TL_ARGUMENT_FLOAT = 3,
  /// `boolean`; fits `i1` and, as 0 or 1, integer parameters.
  TL_ARGUMENT_BOOL = 4,
} TlArgumentKind;

/// One argument of a call.
typedef struct TlArgument {
  /// A TlArgumentKind.
  int32_t kind;
  union {
    const TlTensor *tensor;
    int64_t integer;
    uint64_t unsignedInteger;
    double real;
    bool boolean;
  } value;
} TlArgument;

//===----------------------------------------------------------------------===//
// Executables
//===----------------------------------------------------------------------===//

/// A launch plan together with its kernels, ready to be called.
typedef struct TlExecutable TlExecutable;

/// A kernel compiled for the CPU. Runs the blocks with linear index `begin` to
/// `end - 1` of a grid; block `i` has the coordinates x = i % gridX,
/// y = i / gridX % gridY, z = i / (gridX * gridY). `params[i]` points to the
/// value of parameter `i`. Called from several threads at once, with disjoint
/// ranges that cover the grid.
typedef void (*TlHostKernel)(void *const *params, int64_t begin, int64_t end,
                             int64_t gridX, int64_t gridY);

/// Loads a plan whose kernels run on a GPU.
///
/// `plan` is JSON of `planSize` bytes. `images[i]`, of `imageSizes[i]` bytes,
/// contains the kernel `names[i]`: a cubin, or PTX text (which needs no
/// terminating zero), told apart by their first bytes. Several kernels may
/// share one image by giving the same pointer. Every kernel of the plan must
/// have an image; images that the plan does not use are ignored. Plan and
/// images are copied.
///
/// Does not touch the driver: modules are loaded on the first call for each
/// GPU. Returns NULL on failure (TL_ERROR_PLAN).
TL_API TlExecutable *
tlExecutableLoadCuda(const char *plan, size_t planSize, size_t kernelCount,
                     const char *const *names, const void *const *images,
                     const size_t *imageSizes, TlError **error);

/// Loads a plan whose kernels run on the CPU: `functions[i]` is the kernel
/// `names[i]`. The code behind the functions must stay loaded for as long as
/// the executable lives. A plan that uses tensor maps, clusters or cooperative
/// launches cannot run on the CPU. Returns NULL on failure (TL_ERROR_PLAN).
TL_API TlExecutable *tlExecutableLoadHost(const char *plan, size_t planSize,
                                          size_t kernelCount,
                                          const char *const *names,
                                          const TlHostKernel *functions,
                                          TlError **error);

/// Checks the arguments and, if all is well, launches the plan's kernels in
/// order.
///
/// On a GPU: returns when the kernels are queued on `stream`, a `CUstream` or
/// `cudaStream_t` of the tensors' device (NULL is the legacy default stream).
/// A plan without tensor arguments runs on the device of the current context,
/// or on device 0 if there is none. The context that was current stays
/// current, except that a thread that had none keeps the device's primary
/// context. Tensors must stay alive until the kernels have finished. Errors of
/// the kernels themselves show in a later call.
///
/// On the CPU: returns when the kernels have finished; `stream` is ignored.
///
/// Launches nothing if an argument is wrong. Allocates nothing on success,
/// apart from the first call on each device.
TL_API bool tlExecutableCall(const TlExecutable *executable,
                             const TlArgument *arguments, size_t argumentCount,
                             void *stream, TlError **error);

/// Destroys `executable`; NULL is allowed. Waits for the GPUs that it was
/// called on and unloads its kernels there; a CUDA graph that captured a call
/// must not be launched any more.
TL_API void tlExecutableDestroy(TlExecutable *executable);

/// Sets how many threads run CPU kernels, the calling thread included; 0
/// stands for as many as the machine has. Takes effect at the next call.
TL_API void tlHostSetThreadCount(unsigned count);

//===----------------------------------------------------------------------===//
// The CUDA driver
//===----------------------------------------------------------------------===//

/// Stores the version of the CUDA driver: 1000 * major + 10 * minor.
TL_API bool tlCudaDriverVersion(int *version, TlError **error);

/// Stores the number of GPUs. No driver is an error; a driver without a GPU is
/// 0 GPUs.
TL_API bool tlCudaDeviceCount(int *count, TlError **error);

/// Returns what is known of GPU `device` as a JSON object, to be freed with
/// `tlFree`, or NULL on failure:
///
///   {"name": "NVIDIA H200", "compute_capability": [9, 0], "memory":
///    150754820096, "multiprocessors": 132, "shared_memory_per_block": 232448,
///    "l2_cache": 62914560, "clock": 1980000, "memory_clock": 3201000}
///
/// Memory is in bytes; shared memory is the most a block can ask for; clocks
/// are the highest, in kHz.
TL_API char *tlCudaDeviceInfo(int device, TlError **error);

/// Allocates `size` bytes of GPU memory on `device`. The result is aligned to
/// 256 bytes, and NULL if `size` is 0.
TL_API bool tlCudaAllocate(int device, size_t size, void **pointer,
                           TlError **error);

/// Frees what `tlCudaAllocate` returned for the same device; NULL is allowed.
/// Waits for the device's queued work.
TL_API bool tlCudaFree(int device, void *pointer, TlError **error);

/// Copies `size` bytes from the host to GPU `device` and waits for the copy.
TL_API bool tlCudaCopyToDevice(int device, void *target, const void *source,
                               size_t size, TlError **error);

/// Copies `size` bytes from GPU `device` to the host and waits for the copy. It
/// runs after work queued on the legacy default stream and on streams that
/// synchronise with it; wait for any other stream first.
TL_API bool tlCudaCopyToHost(int device, void *target, const void *source,
                             size_t size, TlError **error);

/// Waits for everything queued on GPU `device`. Errors of kernels that ran
/// before show here.
TL_API bool tlCudaSynchronize(int device, TlError **error);

/// Queues on `stream` that `size` bytes at `target` on GPU `device` become
/// `byte`.
TL_API bool tlCudaFill(int device, void *target, uint8_t byte, size_t size,
                       void *stream, TlError **error);

/// Queues a copy within GPU `device` on `stream`.
TL_API bool tlCudaCopyOnDevice(int device, void *target, const void *source,
                               size_t size, void *stream, TlError **error);

/// A point in the work of a stream; two of them measure what is between.
typedef struct TlEvent TlEvent;

/// Creates an event of GPU `device`. Returns NULL on failure.
TL_API TlEvent *tlCudaEventCreate(int device, TlError **error);

/// Queues the event on `stream`, a stream of its device. Recording it again
/// moves it.
TL_API bool tlCudaEventRecord(TlEvent *event, void *stream, TlError **error);

/// Waits for `end` and stores the time since `start`, an event of the same
/// device, with a resolution of about half a microsecond. Errors of kernels
/// that ran before `end` show here.
TL_API bool tlCudaEventElapsed(const TlEvent *start, const TlEvent *end,
                               float *milliseconds, TlError **error);

/// Destroys `event`; NULL is allowed.
TL_API void tlCudaEventDestroy(TlEvent *event);

#ifdef __cplusplus
}
#endif

#endif // TL_C_RUNTIME_H
