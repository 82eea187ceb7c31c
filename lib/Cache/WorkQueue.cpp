//===- WorkQueue.cpp - Work that nobody waits for -------------------------===//
//
// The thread is made with pthreads because `std::thread` can only report with
// an exception that it was not made. It takes no signals: a handler of the
// program does not expect to run on a thread that it does not know.
//
//===----------------------------------------------------------------------===//

#include "WorkQueue.h"

#include <cassert>

#include <signal.h>

using namespace tl::cache;

WorkQueue::~WorkQueue() { assert(!hasThread && "`finish` ends the thread"); }

/// Starts the thread; the lock is held.
bool WorkQueue::start() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  auto enter = [](void *queue) -> void * {
    static_cast<WorkQueue *>(queue)->run();
    return nullptr;
  };
  hasThread = pthread_create(&thread, nullptr, enter, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return hasThread;
}

bool WorkQueue::push(uint64_t bytes, Work work) {
  std::lock_guard<std::mutex> guard(mutex);
  if (isStopping || bytesWaiting + bytes > maxBytes)
    return false;
  if (!hasThread && !start())
    return false;
  bytesWaiting += bytes;
  items.push_back({bytes, std::move(work)});
  hasWork.notify_one();
  return true;
}

void WorkQueue::run() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    hasWork.wait(lock, [&] { return isStopping || !items.empty(); });
    if (isStopping)
      return;
    Item item = std::move(items.front());
    items.pop_front();
    isBusy = true;
    lock.unlock();
    item.work();
    // What the work refers to goes before anyone hears that it is done.
    item.work = nullptr;
    lock.lock();
    bytesWaiting -= item.bytes;
    isBusy = false;
    if (items.empty())
      isIdle.notify_all();
  }
}

WorkQueue::Rest WorkQueue::finish(std::chrono::milliseconds atMost,
                                  llvm::function_ref<void()> hurry) {
  std::unique_lock<std::mutex> lock(mutex);
  if (!hasThread || isStopping)
    return {};
  isIdle.wait_for(lock, atMost, [&] { return items.empty() && !isBusy; });
  isStopping = true;
  Rest rest{.forgotten = items.size(), .wasHurried = isBusy};
  for (const Item &item : items)
    bytesWaiting -= item.bytes;
  items.clear();
  if (isBusy)
    hurry();
  hasWork.notify_all();
  lock.unlock();
  pthread_join(thread, nullptr);
  lock.lock();
  hasThread = isStopping = false;
  return rest;
}
