//===- Trust.cpp - What may be done with what was found -------------------===//
//
// The rule itself. Parsing IR, compiling and executing are alike: parsers and
// passes of a compiler are not made to withstand their input.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/Trust.h"

#include "llvm/Support/ErrorHandling.h"

using namespace llvm;
using namespace tl::cache;

Trust tl::cache::neededFor(Use use) {
  switch (use) {
  case Use::Read:
    return Trust::None;
  case Use::LoadOnDevice:
    return Trust::Allowed;
  case Use::ParseAsIR:
  case Use::Compile:
  case Use::RunOnHost:
    return Trust::Signed;
  }
  llvm_unreachable("all uses are handled");
}

StringRef tl::cache::nameOf(Use use) {
  switch (use) {
  case Use::Read:
    return "read";
  case Use::LoadOnDevice:
    return "device";
  case Use::ParseAsIR:
    return "ir";
  case Use::Compile:
    return "compile";
  case Use::RunOnHost:
    return "host";
  }
  llvm_unreachable("all uses are handled");
}

Error tl::cache::checkTrust(Trust trust, Use use) {
  if (trust >= neededFor(use))
    return Error::success();
  if (use == Use::LoadOnDevice)
    return createStringError(
        "holds device code without a signature, which is not used; give the "
        "key that signs with `TL_CACHE_KEY_FILE`, or allow unsigned device "
        "code with `TL_CACHE_ALLOW_UNSIGNED`");
  StringRef what = use == Use::RunOnHost ? "machine code of the host"
                                         : "what the compiler goes on with";
  return createStringError(
      "holds " + what +
      ", which is used only with a valid signature or from a directory that is "
      "private to you and this machine; set `TL_CACHE_KEY_FILE`, or "
      "`TL_CACHE_DIR` to such a directory");
}
