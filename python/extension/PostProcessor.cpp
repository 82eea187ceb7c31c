//===- PostProcessor.cpp - A Python function that edits source ------------===//
//
// What the function raises crosses the compiler as text, for those who only
// wait for the result, and is kept whole for the thread that called it.
//
//===----------------------------------------------------------------------===//

#include "PostProcessor.h"
#include "GIL.h"
#include <cstring>

namespace nb = nanobind;
using namespace tl::python;

struct PostProcessor::State {
  nb::callable function;
  std::exception_ptr raised;

  ~State() {
    nb::gil_scoped_acquire acquire;
    function.reset();
    raised = nullptr;
  }
};

PostProcessor::PostProcessor(std::string id, nb::callable function)
    : id(std::move(id)),
      state(std::make_shared<State>(std::move(function), nullptr)) {}

/// Calls the function; the interpreter's lock is held.
static std::string call(const nb::callable &function, const char *source,
                        const char *chip) {
  nb::object edited = function(source, chip);
  if (!nb::isinstance<nb::str>(edited))
    throw nb::type_error(
        ("a post-processor returns the source as `str`, not as `" +
         std::string(nb::str(edited.type().attr("__name__")).c_str()) + "`")
            .c_str());
  return nb::cast<nb::str>(edited).c_str();
}

char *PostProcessor::process(const char *source, const char *chip, void *data,
                             char **error) {
  State &state = **static_cast<std::shared_ptr<State> *>(data);
  AcquiredGIL acquire;
  try {
    return strdup(call(state.function, source, chip).c_str());
  } catch (std::exception &raised) {
    state.raised = std::current_exception();
    *error = strdup(raised.what());
    return nullptr;
  }
}

TlPostProcessor PostProcessor::handle() const {
  TlPostProcessor handle = {};
  handle.id = id.c_str();
  handle.process = process;
  handle.data = new std::shared_ptr<State>(state);
  handle.release = [](void *data) {
    delete static_cast<std::shared_ptr<State> *>(data);
  };
  return handle;
}

void PostProcessor::rethrow() const {
  if (state->raised)
    std::rethrow_exception(state->raised);
}
