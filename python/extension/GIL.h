//===- GIL.h - The interpreter's lock, and its end --------------*- C++ -*-===//
//
// A thread that asks for the interpreter's lock when the interpreter ends never
// gets it: CPython before 3.14 ends the thread by unwinding its stack, which
// aborts the process at the first C++ frame that must not be unwound. Threads
// that are in this extension then wait instead, until the process is gone.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PYTHON_EXTENSION_GIL_H
#define TL_PYTHON_EXTENSION_GIL_H

#include <nanobind/nanobind.h>

namespace tl::python {

/// While it lives, this thread is without the lock.
class ReleasedGIL {
public:
  ReleasedGIL() : state(PyEval_SaveThread()) {}
  ~ReleasedGIL();
  ReleasedGIL(const ReleasedGIL &) = delete;
  ReleasedGIL &operator=(const ReleasedGIL &) = delete;

private:
  PyThreadState *state;
};

/// While it lives, this thread has the lock, which it had not before.
class AcquiredGIL {
public:
  AcquiredGIL();
  ~AcquiredGIL();
  AcquiredGIL(const AcquiredGIL &) = delete;
  AcquiredGIL &operator=(const AcquiredGIL &) = delete;

private:
  PyGILState_STATE state;
};

/// Has the end of the interpreter announced to the above.
void bindGIL(nanobind::module_ &m);

} // namespace tl::python

#endif // TL_PYTHON_EXTENSION_GIL_H
