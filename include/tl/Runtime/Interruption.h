//===- Interruption.h - Calls that end before they are done -----*- C++ -*-===//
//
// A call on the host may take long, or for ever. Whoever makes calls can have
// the process asked now and then whether it still wants them: a language
// binding, whether somebody pressed Ctrl-C. Only what runs in the runtime's own
// code ends: the simulator, and on the CPU blocks that have not begun, or that
// wait for others.
//
//===----------------------------------------------------------------------===//

#ifndef TL_RUNTIME_INTERRUPTION_H
#define TL_RUNTIME_INTERRUPTION_H

#include "llvm/Support/Error.h"
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

namespace tl::runtime {

/// Has `isWanted` say whether calls are to end; null if they never are. It is
/// called some times in a second, by each thread that is in a call, and not by
/// others that work for it.
void setInterruptionCheck(bool (*isWanted)());

/// Whether one call is to end, for all threads that work for it. It begins with
/// the thread that made the call.
class Interruption {
public:
  /// How long the thread that made the call may wait for something before it
  /// asks again.
  static constexpr std::chrono::milliseconds kInterval{20};

  Interruption() = default;
  Interruption(const Interruption &) = delete;
  Interruption &operator=(const Interruption &) = delete;

  /// Whether the call is to end. The thread that made it finds that out here,
  /// by a look at the clock at least, and must hold no lock.
  bool isWanted();

  /// Whether somebody has found out that the call is to end.
  bool wasWanted() const { return wanted; }

  /// The error of a call that has ended so.
  llvm::Error makeError() const;

private:
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> wanted = false;
  /// When the caller asks next; unset until it first might: the shortest calls
  /// do not look at the clock.
  std::optional<std::chrono::steady_clock::time_point> next;
};

} // namespace tl::runtime

#endif // TL_RUNTIME_INTERRUPTION_H
