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

#include "tl-c/Call.h"
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
// Executables
//===----------------------------------------------------------------------===//

/// Why `text` is not a launch plan, as text for `tlFree`; NULL if it is one.
TL_API char *tlCheckLaunchPlan(const char *text, size_t size);

/// A launch plan together with its kernels, ready to be called.
typedef struct TlExecutable TlExecutable;

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
/// the executable lives. A plan that uses tensor maps cannot run on the CPU.
/// Returns NULL on failure (TL_ERROR_PLAN).
TL_API TlExecutable *tlExecutableLoadHost(const char *plan, size_t planSize,
                                          size_t kernelCount,
                                          const char *const *names,
                                          const TlHostKernel *functions,
                                          TlError **error);

/// Opens a library that was built of a launch plan (tl-c/Library.h), in which
/// `function` is the plan's name. It stays open until the process ends, so that
/// the file may be removed. Returns NULL on failure (TL_ERROR_PLAN).
TL_API TlExecutable *tlExecutableLoadLibrary(const char *path,
                                             const char *function,
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

/// Has `isWanted` say whether calls on the CPU and in the simulator are to end
/// before they are done, which they do with TL_ERROR_INTERRUPTED; NULL if they
/// never are. It is called some times in a second, by each thread that is in
/// `tlExecutableCall`. What a call has written until then stays written. Code
/// on the CPU ends only between blocks, and where it waits for other blocks.
TL_API void tlSetInterruptionCheck(bool (*isWanted)(void));

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

/// Allocates `size` bytes of the host's memory that kernels on `device` can
/// write to at the same address; NULL if `size` is 0. What a kernel has written
/// is sure to be there once it is done.
TL_API bool tlCudaAllocateShared(int device, size_t size, void **pointer,
                                 TlError **error);

/// Frees what `tlCudaAllocateShared` returned for the same device; NULL is
/// allowed. No kernel may use it any more.
TL_API bool tlCudaFreeShared(int device, void *pointer, TlError **error);

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
