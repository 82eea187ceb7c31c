//===- SharedStore.cpp - Artifacts on a server ----------------------------===//
//
// Files are stored before the record that names them, so that a record that is
// there is whole unless the server forgot something since. An entry that turned
// out to be unusable is remembered: when it has been made again, its parts are
// stored whether or not the server says that it has them.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/SharedStore.h"

#include "WorkQueue.h"
#include "tl/Cache/Breaker.h"
#include "tl/Cache/Budget.h"
#include "tl/Cache/Patience.h"
#include "tl/Cache/SharedRecord.h"
#include "tl/Support/PerProcess.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

#include <cstdlib>
#include <set>
#include <unordered_set>

#include <unistd.h>

using namespace llvm;
using namespace tl::cache;

/// How long a process that ends waits for its uploads.
static constexpr std::chrono::seconds finishAtMost(5);

namespace {

/// The server works, but what it holds is not for us.
class UntrustedError : public ErrorInfo<UntrustedError, StoreError> {
public:
  static char ID;
  using ErrorInfo::ErrorInfo;
};

char UntrustedError::ID = 0;

/// The stores of this process, to complete their uploads when it ends.
class LiveStores {
public:
  static LiveStores &get() {
    static tl::PerProcess<LiveStores> stores;
    return stores.get();
  }

  void add(SharedStore *store) {
    std::lock_guard<std::mutex> guard(mutex);
    stores.insert(store);
    // Handlers run in the reverse of the order in which they are registered:
    // ours before those of the libraries that the transport has loaded by now.
    static const int registered = std::atexit([] { get().finish(); });
    (void)registered;
  }

  void remove(SharedStore *store) {
    std::lock_guard<std::mutex> guard(mutex);
    stores.erase(store);
  }

private:
  void finish() {
    using std::chrono::milliseconds;
    std::lock_guard<std::mutex> guard(mutex);
    auto deadline = std::chrono::steady_clock::now() + finishAtMost;
    for (SharedStore *store : stores)
      store->finish(std::max(std::chrono::duration_cast<milliseconds>(
                                 deadline - std::chrono::steady_clock::now()),
                             milliseconds(0)));
  }

  std::mutex mutex;
  std::set<SharedStore *> stores;
};

} // namespace

/// What one process has under way with the server.
struct SharedStore::Session {
  Session(std::unique_ptr<BlobTransport> transport,
          const SharedOptions &options)
      : transport(std::move(transport)),
        reading(options.maxFailures, options.backOff),
        writing(options.maxFailures, options.backOff),
        patience(options.waitsAtMost, options.backOff),
        uploads(options.maxQueuedBytes) {}

  const pid_t process = ::getpid();
  const std::unique_ptr<BlobTransport> transport;
  /// A server that refuses to be written may well be read.
  Breaker reading;
  Breaker writing;
  /// For what it answers, whatever that is.
  Patience patience;

  std::mutex mutex;
  /// Keys whose entries are there but of no use.
  std::unordered_set<Digest, DigestHash> unusable;

  WorkQueue uploads;
};

SharedStore::SharedStore(MakeTransport makeTransport, SharedOptions options,
                         Warnings &warnings)
    : makeTransport(std::move(makeTransport)), options(std::move(options)),
      warnings(warnings) {}

SharedStore::~SharedStore() {
  LiveStores::get().remove(this);
  finish(finishAtMost);
  // That of a parent is left as it is: its mutexes may be locked, and to close
  // its connections properly would end them for the parent.
  Session *last = current.load();
  if (last && last->process == ::getpid())
    delete last;
}

/// The session of this process, which is another than that of the process that
/// forked it.
SharedStore::Session &SharedStore::session() {
  Session *known = current.load();
  if (known && known->process == ::getpid())
    return *known;
  auto fresh = std::make_unique<Session>(makeTransport(), options);
  // Another thread may be first.
  if (!current.compare_exchange_strong(known, fresh.get()))
    return *known;
  LiveStores::get().add(this);
  return *fresh.release();
}

/// What a transport's error means to a person.
Error SharedStore::outage(Error error) const {
  return make_error<StoreError>(options.place, toString(std::move(error)) +
                                                   "; work goes on without it");
}

Error SharedStore::damaged(const Key &key, const Twine &reason) const {
  return make_error<StoreError>(options.place, "the entry `" + key.hex() +
                                                   "` " + reason.str());
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

static BlobName recordName(const Key &key) {
  return {BlobName::Kind::Record, key.hex()};
}

static BlobName contentName(std::string hex) {
  return {BlobName::Kind::Content, std::move(hex)};
}

/// Why the server is not even asked: nothing that it holds could be used.
Error SharedStore::checkServer(const Key &key) const {
  Trust most = options.key             ? Trust::Signed
               : options.allowUnsigned ? Trust::Allowed
                                       : Trust::None;
  if (Error error = checkTrust(most, key.use()))
    return make_error<UntrustedError>(options.place,
                                      toString(std::move(error)));
  return Error::success();
}

/// What the entry of a record is worth; an error if that is too little.
Expected<Trust> SharedStore::judge(const Key &key,
                                   const SharedRecord &record) const {
  auto untrusted = [&](const Twine &reason) {
    return make_error<UntrustedError>(options.place, reason.str());
  };
  if (record.signature && options.key) {
    if (options.key->verifies(record.signedText(), *record.signature))
      return Trust::Signed;
    return untrusted("holds entries that were not signed with this key; they "
                     "are not used");
  }
  if (options.key && !options.allowUnsigned)
    return untrusted("holds entries without a signature, which are not used by "
                     "those who have a key; `TL_CACHE_ALLOW_UNSIGNED` allows "
                     "them");
  Trust trust = options.allowUnsigned ? Trust::Allowed : Trust::None;
  if (Error error = checkTrust(trust, key.use()))
    return untrusted(toString(std::move(error)));
  return trust;
}

/// Everything but the signature that can be checked before files are loaded.
Expected<Manifest> SharedStore::check(const Key &key,
                                      const SharedRecord &record) const {
  Expected<Manifest> manifest = Manifest::parse(record.manifest);
  if (!manifest)
    return damaged(key, "is damaged: " + toString(manifest.takeError()));
  if (manifest->key.digest() != key.digest())
    return damaged(key, "is damaged: it is that of another key, `" +
                            manifest->key.hex() + "`");
  if (manifest->files.size() != record.blobs.size())
    return damaged(key, "is damaged: it has " + Twine(record.blobs.size()) +
                            " blobs for " + Twine(manifest->files.size()) +
                            " files");
  for (const FileRecord &file : manifest->files)
    if (file.size > options.maxFileBytes)
      return damaged(key, "has a file `" + file.name + "` of " +
                              Twine(file.size) + " bytes, which is too long");
  return manifest;
}

/// Asks for bytes; none if the server lacks them.
Expected<std::optional<std::string>>
SharedStore::get(Session &session, const BlobName &name, uint64_t maxBytes) {
  Budget &budget = *Budget::current();
  bool isFile = name.kind == BlobName::Kind::Content;
  if (Error error =
          budget.begin(isFile ? maxBytes : 0, session.patience.left())) {
    session.patience.exhaust();
    return outage(std::move(error));
  }
  Expected<std::optional<std::string>> bytes =
      session.transport->get(name, maxBytes);
  budget.end();
  // A server that used up all the time is not asked again soon, even if it
  // answers some requests in between.
  if (budget.isSpent())
    session.patience.exhaust();
  if (!bytes)
    return outage(bytes.takeError());
  if (*bytes)
    counters.bytesRead.add((*bytes)->size());
  return bytes;
}

/// Loads and checks the files of an entry; null if the server lacks one.
Expected<EntryPtr> SharedStore::downloadFiles(Session &session, const Key &key,
                                              const Manifest &manifest,
                                              ArrayRef<std::string> blobs,
                                              Trust trust) {
  auto entry = std::make_shared<Entry>();
  entry->trust = trust;
  for (auto [file, blob] : zip_equal(manifest.files, blobs)) {
    Expected<std::optional<std::string>> bytes =
        get(session, contentName(blob), file.size);
    if (!bytes)
      return bytes.takeError();
    if (!*bytes)
      return EntryPtr();
    if ((*bytes)->size() != file.size || Digest::of(**bytes) != file.digest)
      return damaged(key, "is damaged: `" + file.name +
                              "` does not match its digest");
    entry->addFile(file.name, std::move(**bytes));
  }
  entry->setMetadata(manifest.metadata);
  return entry;
}

/// Loads and checks an entry; null if the server lacks it or a part of it.
Expected<EntryPtr> SharedStore::download(Session &session, const Key &key) {
  Expected<std::optional<std::string>> text =
      get(session, recordName(key), SharedRecord::maxBytes);
  if (!text)
    return text.takeError();
  if (!*text)
    return EntryPtr();

  // Whatever is wrong from here on, the next insertion replaces it.
  auto distrust = scope_exit([&] {
    std::lock_guard<std::mutex> guard(session.mutex);
    session.unusable.insert(key.digest());
  });
  Expected<SharedRecord> record = SharedRecord::parse(**text);
  if (!record)
    return damaged(key, toString(record.takeError()));
  Expected<Trust> trust = judge(key, *record);
  if (!trust)
    return trust.takeError();
  Expected<Manifest> manifest = check(key, *record);
  if (!manifest)
    return manifest.takeError();
  Expected<EntryPtr> entry =
      downloadFiles(session, key, *manifest, record->blobs, *trust);
  if (entry && *entry)
    distrust.release();
  return entry;
}

Expected<EntryPtr> SharedStore::lookup(const Key &key) {
  if (Error error = checkServer(key)) {
    counters.misses.add();
    // Of a stage nobody is told: the whole was refused, or there will be one.
    if (!isIntermediate(key.use()))
      return error;
    consumeError(std::move(error));
    return EntryPtr();
  }
  BudgetScope scope;
  Session &session = this->session();
  if (!session.patience.allows() || !session.reading.allows()) {
    counters.misses.add();
    return EntryPtr();
  }
  session.patience.begin();
  Expected<EntryPtr> entry = download(session, key);
  bool isHit = entry && *entry;
  bool isOfUse = isHit && Budget::current()->takeUse();
  session.patience.end(isOfUse ? Patience::ofUse : Patience::nothing);
  (isHit ? counters.hits : counters.misses).add();
  if (entry) {
    session.reading.succeeded();
    return entry;
  }
  Error error = entry.takeError();
  counters.failures.add();
  if (error.isA<UntrustedError>() || session.reading.failed())
    return error;
  consumeError(std::move(error));
  return EntryPtr();
}

void SharedStore::reject(const Key &key) {
  Session &session = this->session();
  session.patience.takeBack(Patience::ofUse);
  std::lock_guard<std::mutex> guard(session.mutex);
  session.unusable.insert(key.digest());
}

//===----------------------------------------------------------------------===//
// Storing
//===----------------------------------------------------------------------===//

/// Stores an entry. Unless it replaces one, nothing is sent that is there.
Error SharedStore::upload(Session &session, const Key &key, const Entry &entry,
                          bool replace) {
  auto store = [&](const BlobName &name, StringRef bytes) -> Error {
    if (Error error = session.transport->put(name, bytes))
      return error;
    counters.bytesWritten.add(bytes.size());
    return Error::success();
  };
  auto isThere = [&](const BlobName &name) -> Expected<bool> {
    if (replace)
      return false;
    return session.transport->has(name);
  };

  Expected<bool> isStored = isThere(recordName(key));
  if (!isStored || *isStored)
    return isStored.takeError();
  SharedRecord record = SharedRecord::describe(key, entry, options.creator);
  if (options.key)
    record.signature = options.key->sign(record.signedText());
  for (auto [file, blob] : zip_equal(entry.files(), record.blobs)) {
    Expected<bool> isStored = isThere(contentName(blob));
    if (!isStored)
      return isStored.takeError();
    if (*isStored)
      continue;
    if (Error error = store(contentName(blob), file.bytes))
      return error;
  }
  if (Error error = store(recordName(key), record.print()))
    return error;
  counters.inserted.add();
  return Error::success();
}

void SharedStore::uploadInBackground(Session &session, const Key &key,
                                     const Entry &entry) {
  if (!session.writing.allows()) {
    counters.dropped.add();
    return;
  }
  bool replace;
  {
    std::lock_guard<std::mutex> guard(session.mutex);
    replace = session.unusable.contains(key.digest());
  }
  if (Error error = upload(session, key, entry, replace)) {
    counters.failures.add();
    counters.dropped.add();
    Error reported = outage(std::move(error));
    if (session.writing.failed())
      warnings.report(std::move(reported));
    else
      consumeError(std::move(reported));
    return;
  }
  session.writing.succeeded();
  std::lock_guard<std::mutex> guard(session.mutex);
  session.unusable.erase(key.digest());
}

Expected<EntryPtr> SharedStore::insert(const Key &key, EntryPtr entry) {
  // What strangers made is not passed on: with our signature it would be ours.
  if (options.isReadOnly || entry->trust < Trust::Signed)
    return entry;
  for (const File &file : entry->files())
    if (file.bytes.size() > options.maxFileBytes)
      return entry;
  Session &session = this->session();
  bool isQueued = session.uploads.push(entry->size(), [=, this, &session] {
    uploadInBackground(session, key, *entry);
  });
  if (!isQueued)
    counters.dropped.add();
  return entry;
}

bool SharedStore::finish(std::chrono::milliseconds atMost) {
  Session *known = current.load();
  if (!known || known->process != ::getpid())
    return true;
  WorkQueue::Rest rest = known->uploads.finish(
      atMost, [&] { known->transport->setCancelled(true); });
  known->transport->setCancelled(false);
  // One that was hurried has counted itself if it failed.
  counters.dropped.add(rest.forgotten);
  return rest.forgotten == 0 && !rest.wasHurried;
}
