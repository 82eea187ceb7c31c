//===- Timing.cpp - What measuring on a GPU needs -------------------------===//
//
// Events, and the fills and copies that a benchmark queues between them: to
// push a kernel's data out of the caches, and to restore what it changed.
// Streams and device memory are numbers here, as Python's frameworks have them.
//
//===----------------------------------------------------------------------===//

#include "Timing.h"
#include "Errors.h"
#include "GIL.h"
#include "tl-c/Runtime.h"
#include <cstdint>
#include <memory>

namespace nb = nanobind;

namespace tl::python {

namespace {

struct EventDestroy {
  void operator()(TlEvent *event) const { tlCudaEventDestroy(event); }
};

/// Raises what a function of the C API reports, without the interpreter's lock
/// while it runs: waiting for a GPU must not stop other threads.
template <typename Function>
void call(Function function) {
  TlError *error = nullptr;
  bool succeeded;
  {
    ReleasedGIL release;
    succeeded = function(&error);
  }
  if (succeeded)
    return;
  setError(error);
  throw nb::python_error();
}

class Event {
public:
  explicit Event(int device) {
    call([&](TlError **error) {
      handle.reset(tlCudaEventCreate(device, error));
      return handle != nullptr;
    });
  }

  void record(uintptr_t stream) {
    call([&](TlError **error) {
      return tlCudaEventRecord(handle.get(), reinterpret_cast<void *>(stream),
                               error);
    });
  }

  float since(const Event &start) const {
    float milliseconds = 0;
    call([&](TlError **error) {
      return tlCudaEventElapsed(start.handle.get(), handle.get(), &milliseconds,
                                error);
    });
    return milliseconds;
  }

private:
  std::unique_ptr<TlEvent, EventDestroy> handle;
};

} // namespace

void bindTiming(nb::module_ &m) {
  nb::class_<Event>(m, "Event")
      .def(nb::init<int>(), nb::arg("device"))
      .def("record", &Event::record, nb::arg("stream"))
      .def("since", &Event::since, nb::arg("start"));
  m.def(
      "cuda_fill",
      [](int device, uintptr_t address, uint8_t byte, size_t size,
         uintptr_t stream) {
        call([&](TlError **error) {
          return tlCudaFill(device, reinterpret_cast<void *>(address), byte,
                            size, reinterpret_cast<void *>(stream), error);
        });
      },
      nb::arg("device"), nb::arg("address"), nb::arg("byte"), nb::arg("size"),
      nb::arg("stream"));
  m.def(
      "cuda_copy",
      [](int device, uintptr_t target, uintptr_t source, size_t size,
         uintptr_t stream) {
        call([&](TlError **error) {
          return tlCudaCopyOnDevice(device, reinterpret_cast<void *>(target),
                                    reinterpret_cast<void *>(source), size,
                                    reinterpret_cast<void *>(stream), error);
        });
      },
      nb::arg("device"), nb::arg("target"), nb::arg("source"), nb::arg("size"),
      nb::arg("stream"));
}

} // namespace tl::python
