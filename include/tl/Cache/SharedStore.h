//===- SharedStore.h - Artifacts on a server -------------------*- C++ -*-===//
//
// A tier that many machines share. It asks for little and believes nothing: an
// entry counts when its record matches the key, every file its digest and, if
// its use demands one, the signature what was signed. It is never in the way:
// what is stored is uploaded in the background, a server that does not answer
// is left alone for a while, and no request takes longer than its bounds.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CACHE_SHAREDSTORE_H
#define TL_CACHE_SHAREDSTORE_H

#include "tl/Cache/BlobTransport.h"
#include "tl/Cache/Signature.h"
#include "tl/Cache/Store.h"

namespace tl::cache {

struct SharedRecord;
struct Manifest;

struct SharedOptions {
  /// What messages call the server.
  std::string place = "";
  bool isReadOnly = false;

  /// Signs what is stored, and checks the signatures of what is loaded.
  std::shared_ptr<const SigningKey> key = nullptr;

  /// Use entries without a signature, as far as they may be: device code and
  /// data. Without, and with a key, every entry needs a signature; without a
  /// key device code is not used.
  bool allowUnsigned = false;

  /// After so many failures in a row the server is left alone for a while.
  unsigned maxFailures = 3;
  std::chrono::milliseconds backOff = std::chrono::seconds(30);

  /// So long a process waits for it, beside what that saves; then it is left
  /// alone for a while too, whatever it answers (Patience.h).
  std::chrono::milliseconds waitsAtMost = std::chrono::seconds(5);

  /// Longer files are neither stored nor loaded.
  uint64_t maxFileBytes = uint64_t(256) << 20;

  /// What may wait to be uploaded; more is not uploaded.
  uint64_t maxQueuedBytes = uint64_t(256) << 20;

  /// Written into manifests: the program and its version.
  std::string creator = "tl";
};

class SharedStore final : public ArtifactStore {
public:
  /// Makes a transport, with the libraries that it needs: one for the process,
  /// another for each child that it forks, because connections cannot be
  /// shared.
  using MakeTransport = std::function<std::unique_ptr<BlobTransport>()>;

  /// `warnings`, which outlives the store, hears of uploads that fail.
  SharedStore(MakeTransport makeTransport, SharedOptions options,
              Warnings &warnings);

  /// Waits for uploads, but not for long; so does a process that ends.
  ~SharedStore() override;

  llvm::StringRef name() const override { return "shared"; }
  std::string place() const override { return options.place; }
  bool isShared() const override { return true; }

  /// A server that fails is named in the error of its first failure; after
  /// that, and until it answers again, it misses.
  llvm::Expected<EntryPtr> lookup(const Key &key) override;

  /// Has the entry uploaded, and returns it: which of two writers was first is
  /// not known here.
  llvm::Expected<EntryPtr> insert(const Key &key, EntryPtr entry) override;

  /// The next upload replaces what the server has.
  void reject(const Key &key) override;

  bool finish(std::chrono::milliseconds atMost) override;

private:
  struct Session;

  Session &session();
  llvm::Error outage(llvm::Error error) const;
  llvm::Error damaged(const Key &key, const llvm::Twine &reason) const;

  llvm::Expected<std::optional<std::string>>
  get(Session &session, const BlobName &name, uint64_t maxBytes);
  llvm::Expected<EntryPtr> download(Session &session, const Key &key);
  llvm::Expected<EntryPtr> downloadFiles(Session &session, const Key &key,
                                         const Manifest &manifest,
                                         llvm::ArrayRef<std::string> blobs,
                                         Trust trust);
  llvm::Expected<Manifest> check(const Key &key,
                                 const SharedRecord &record) const;
  llvm::Error checkServer(const Key &key) const;
  llvm::Expected<Trust> judge(const Key &key, const SharedRecord &record) const;
  llvm::Error upload(Session &session, const Key &key, const Entry &entry,
                     bool replace);
  void uploadInBackground(Session &session, const Key &key, const Entry &entry);

  const MakeTransport makeTransport;
  const SharedOptions options;
  Warnings &warnings;
  std::atomic<Session *> current = nullptr;
};

} // namespace tl::cache

#endif // TL_CACHE_SHAREDSTORE_H
