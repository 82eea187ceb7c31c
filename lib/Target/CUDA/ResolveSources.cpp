//===- ResolveSources.cpp - Put sources and headers into the IR -----------===//
//
// What a compiler reads must be in the IR, because the IR is what the cache
// keys. Headers therefore come along as text, under paths that do not depend on
// where the project lies: folders that refer to each other (a source's, the
// include paths, and whatever `#include "../x.h"` leads to) are grouped under
// their common ancestor, and a group is named by its number.
//
//===----------------------------------------------------------------------===//

#include "tl/CUDAScanner/Scanner.h"
#include "tl/Cache/Digest.h"
#include "tl/Dialect/TL/IR/Calls.h"
#include "tl/Dialect/TL/IR/SourceKernels.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Support/PerProcess.h"
#include "tl/Target/CUDA/Passes.h"
#include "tl/Target/CUDACpp/DeviceHeader.h"
#include "tl/Target/Cubin/Toolchain.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <map>
#include <mutex>

#define DEBUG_TYPE "tl-resolve-sources"

namespace tl {
#define GEN_PASS_DEF_RESOLVESOURCESPASS
#include "tl/Target/CUDA/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;
using cuda::Include;
namespace path = llvm::sys::path;

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static std::string join(StringRef folder, StringRef name) {
  SmallString<256> joined(folder);
  path::append(joined, name);
  path::remove_dots(joined, /*remove_dot_dot=*/true);
  return joined.str().str();
}

static std::string makeAbsolute(StringRef name) {
  SmallString<256> absolute(name);
  (void)llvm::sys::fs::make_absolute(absolute);
  path::remove_dots(absolute, /*remove_dot_dot=*/true);
  return absolute.str().str();
}

static llvm::ErrorOr<std::string> readFile(StringRef name) {
  auto file = llvm::MemoryBuffer::getFile(name, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return file.getError();
  return (*file)->getBuffer().str();
}

/// True if `folder` is `base` or inside of it.
static bool isWithin(StringRef folder, StringRef base) {
  return folder == base || base == "/" ||
         (folder.starts_with(base) && folder[base.size()] == '/');
}

static std::string getCommonAncestor(StringRef a, StringRef b) {
  while (!isWithin(b, a))
    a = path::parent_path(a);
  return a.str();
}

namespace {

/// Folders under which files keep their places to one another.
class Groups {
public:
  /// Makes `folder` a place to look in.
  void addRoot(std::string folder) {
    bases.push_back(folder);
    roots.push_back(std::move(folder));
    merge(roots.back());
  }

  /// Makes `file`, which was found from `folder`, part of that folder's group.
  void add(StringRef file, StringRef folder) {
    std::string &base = getBase(folder);
    base = getCommonAncestor(base, path::parent_path(file));
    merge(base);
  }

  /// The name of a file or folder of a group: `0/include/a.h`.
  std::string getName(StringRef file) const {
    llvm::SetVector<StringRef> order;
    for (const std::string &root : roots)
      order.insert(*llvm::find_if(
          bases, [&](StringRef base) { return isWithin(root, base); }));
    for (auto [i, base] : llvm::enumerate(order))
      if (isWithin(file, base)) {
        StringRef rest = file.drop_front(base == "/" ? 0 : base.size());
        return std::to_string(i) + rest.str();
      }
    llvm_unreachable("every file was found from a root");
  }

private:
  std::string &getBase(StringRef folder) {
    return *llvm::find_if(
        bases, [&](StringRef base) { return isWithin(folder, base); });
  }

  /// Lets one base stand for all that are within `base` or around it.
  void merge(std::string base) {
    auto outer = llvm::find_if(bases, [&](StringRef other) {
      return other != base && isWithin(base, other);
    });
    if (outer != bases.end())
      base = *outer;
    llvm::erase_if(bases,
                   [&](StringRef other) { return isWithin(other, base); });
    bases.push_back(base);
  }

  std::vector<std::string> roots;
  /// None within another.
  std::vector<std::string> bases;
};

/// What is known of a header of the toolkit. They do not change while a process
/// runs, unless their size or time does.
struct ToolkitHeader {
  std::string stamp;
  std::string digest;
  std::vector<Include> includes;
};

/// The headers of the toolkit that a text can reach, for their digest.
class ToolkitReader {
public:
  ToolkitReader() : folders(Toolchain::get().getIncludeDirectories()) {}

  /// Notes the header `name` and all that it reaches; false if the toolkit has
  /// none of that name.
  bool add(StringRef name) {
    std::string file = find("", {Include::Angled, name.str()});
    if (file.empty())
      return false;
    SmallVector<std::string> pending = {file};
    while (!pending.empty()) {
      std::string next = pending.pop_back_val();
      if (!digests.try_emplace(next).second)
        continue;
      ToolkitHeader header = read(next);
      digests[next] = header.digest;
      for (const Include &include : header.includes)
        if (std::string found = find(path::parent_path(next), include);
            !found.empty())
          pending.push_back(found);
    }
    return true;
  }

  /// One digest of all that was added; empty if nothing was.
  std::string getDigest() const {
    std::string all;
    for (const auto &[file, digest] : digests)
      all += digest;
    return all.empty() ? "" : cache::Digest::of(all).hex();
  }

private:
  std::string find(StringRef from, const Include &include) const {
    if (include.kind == Include::Quoted && !from.empty())
      if (std::string file = join(from, include.name);
          llvm::sys::fs::is_regular_file(file))
        return file;
    for (const std::string &folder : folders)
      if (std::string file = join(folder, include.name);
          llvm::sys::fs::is_regular_file(file))
        return file;
    return "";
  }

  static ToolkitHeader read(StringRef file) {
    struct Known {
      std::mutex mutex;
      llvm::StringMap<ToolkitHeader> headers;
    };
    static PerProcess<Known> processes;
    Known &known = processes.get();
    llvm::sys::fs::file_status status;
    if (llvm::sys::fs::status(file, status))
      return {};
    std::string stamp = llvm::formatv(
        "{0} {1}", status.getSize(),
        status.getLastModificationTime().time_since_epoch().count());
    std::lock_guard<std::mutex> lock(known.mutex);
    ToolkitHeader &header = known.headers[file];
    if (header.stamp == stamp)
      return header;
    llvm::ErrorOr<std::string> text = readFile(file);
    if (text)
      header = {stamp, cache::Digest::of(*text).hex(),
                cuda::listIncludes(*text)};
    return header;
  }

  std::vector<std::string> folders;
  /// By file.
  std::map<std::string, std::string> digests;
};

//===----------------------------------------------------------------------===//
// One kernel
//===----------------------------------------------------------------------===//

class KernelResolver {
public:
  KernelResolver(SourceKernelOp kernel, FilesRead &files)
      : kernel(kernel), files(files), builder(kernel.getContext()) {}

  LogicalResult run() {
    if (failed(checkFlags()))
      return failure();
    if (std::optional<ArrayAttr> folders = kernel.getIncludePaths())
      for (auto folder : folders->getAsRange<StringAttr>())
        includePaths.push_back(makeAbsolute(folder));
    SmallVector<CudaSourceAttr> sources;
    for (auto source : kernel.getSources().getAsRange<CudaSourceAttr>()) {
      FailureOr<CudaSourceAttr> whole = readSource(source);
      if (failed(whole))
        return failure();
      sources.push_back(*whole);
    }
    for (const std::string &folder : includePaths)
      groups.addRoot(folder);
    for (CudaSourceAttr source : sources)
      if (source.getLanguage() == SourceLanguage::Cuda) {
        follow(kernel.getPrelude().value_or(""), getFile(source));
        follow(source.getText(), getFile(source));
      }
    write(sources);
    return success();
  }

private:
  /// Headers would be read past us.
  LogicalResult checkFlags() {
    std::optional<ArrayAttr> flags = kernel.getFlags();
    if (!flags)
      return success();
    for (auto flag : flags->getAsRange<StringAttr>())
      for (StringRef option : {"-I", "--include-path", "-isystem",
                               "--system-include", "-include", "--pre-include"})
        if (flag.getValue().starts_with(option))
          return kernel.emitError(
                     "give include paths and text to compile first "
                     "as such, not as the flag `")
                 << flag.getValue() << "`";
    return success();
  }

  /// The absolute path of a source that is a file of its own, or nothing.
  static std::string getFile(CudaSourceAttr source) {
    if (!source.getFile() || source.getLine() != 0)
      return "";
    return makeAbsolute(source.getFile().getValue());
  }

  /// `source` with its text and language.
  FailureOr<CudaSourceAttr> readSource(CudaSourceAttr source) {
    std::string file = getFile(source);
    if (file.empty())
      return source;
    groups.addRoot(path::parent_path(file).str());
    std::string text = source.getText().str();
    if (text.empty()) {
      llvm::ErrorOr<std::string> read = files.read(file);
      if (!read)
        return kernel.emitError("cannot read the source file `")
               << source.getFile().getValue()
               << "`: " << read.getError().message();
      text = std::move(*read);
    }
    if (text.empty())
      return kernel.emitError("the source file `")
             << source.getFile().getValue() << "` is empty";
    SourceLanguage language =
        llvm::StringSwitch<SourceLanguage>(path::extension(file))
            .Case(".ptx", SourceLanguage::PTX)
            .Case(".cubin", SourceLanguage::Cubin)
            .Default(source.getLanguage());
    return CudaSourceAttr::get(kernel.getContext(), text, source.getFile(),
                               /*line=*/0, language, source.getName());
  }

  /// Notes all headers that `text` reaches; `file` is empty if it has none.
  void follow(StringRef text, const std::string &file) {
    std::vector<std::pair<std::string, std::string>> pending;
    pending.push_back({file, text.str()});
    while (!pending.empty()) {
      auto [from, contents] = std::move(pending.back());
      pending.pop_back();
      for (const Include &include : cuda::listIncludes(contents)) {
        if (include.kind == Include::Computed) {
          uncached = "`#include " + include.name + "` cannot be followed";
          files.setIncomplete();
          continue;
        }
        std::optional<std::string> header = find(from, include);
        if (header)
          found[from][include.str()] = *header;
        if (!header)
          toolkit.add(include.name);
        else if (headers.try_emplace(*header).second)
          if (llvm::ErrorOr<std::string> read = files.read(*header)) {
            headers[*header] = *read;
            pending.push_back({*header, *read});
          }
      }
    }
  }

  /// The user's file that `include` leads to, or none.
  std::optional<std::string> find(StringRef from, const Include &include) {
    if (include.kind == Include::Quoted && !from.empty())
      if (std::optional<std::string> file =
              findIn(path::parent_path(from), include.name))
        return file;
    for (const std::string &folder : includePaths)
      if (std::optional<std::string> file = findIn(folder, include.name))
        return file;
    return std::nullopt;
  }

  std::optional<std::string> findIn(StringRef folder, StringRef name) {
    std::string file = join(folder, name);
    if (!files.exists(file))
      return std::nullopt;
    groups.add(file, folder);
    return file;
  }

  void write(ArrayRef<CudaSourceAttr> sources) {
    SmallVector<Attribute> named;
    for (CudaSourceAttr source : sources) {
      std::string file = getFile(source);
      StringAttr name = file.empty()
                            ? source.getName()
                            : builder.getStringAttr(groups.getName(file));
      named.push_back(CudaSourceAttr::get(kernel.getContext(), source.getText(),
                                          source.getFile(), source.getLine(),
                                          source.getLanguage(), name));
    }
    kernel.setSourcesAttr(builder.getArrayAttr(named));

    SmallVector<NamedAttribute> texts;
    for (const auto &[file, text] : headers)
      texts.push_back(builder.getNamedAttr(groups.getName(file),
                                           builder.getStringAttr(text)));
    if (!texts.empty()) {
      kernel.setHeadersAttr(builder.getDictionaryAttr(texts));
      kernel->setAttr(kIncludesAttr, describeFound());
    }

    SmallVector<std::string> folders;
    for (const std::string &folder : includePaths)
      folders.push_back(groups.getName(folder));
    if (!uncached.empty()) {
      // What cannot be followed is looked for where it lies.
      for (CudaSourceAttr source : sources)
        if (std::string file = getFile(source); !file.empty())
          folders.push_back(path::parent_path(file).str());
      llvm::append_range(folders, includePaths);
      kernel.setUncached(uncached);
      remark::missed(kernel.getLoc(),
                     remark::RemarkOpts::name("cache").category(DEBUG_TYPE))
          << uncached << ", so that the kernel is compiled each time";
    }
    kernel.removeIncludePathsAttr();
    if (!folders.empty())
      kernel.setIncludePathsAttr(builder.getStrArrayAttr(
          SmallVector<StringRef>(folders.begin(), folders.end())));
    if (std::string digest = toolkit.getDigest(); !digest.empty())
      kernel.setToolkit(digest);
  }

  /// `found`, by the names that files have in the IR.
  DictionaryAttr describeFound() const {
    SmallVector<NamedAttribute> byFile;
    for (const auto &[file, includes] : found) {
      SmallVector<NamedAttribute> byInclude;
      for (const auto &[include, header] : includes)
        byInclude.push_back(builder.getNamedAttr(
            include, builder.getStringAttr(groups.getName(header))));
      byFile.push_back(builder.getNamedAttr(
          file.empty() ? kTextName.str() : groups.getName(file),
          builder.getDictionaryAttr(byInclude)));
    }
    return builder.getDictionaryAttr(byFile);
  }

  SourceKernelOp kernel;
  FilesRead &files;
  mutable Builder builder;
  std::vector<std::string> includePaths;
  Groups groups;
  ToolkitReader toolkit;
  /// By absolute path.
  std::map<std::string, std::string> headers;
  /// The header that each `#include` of each file leads to.
  std::map<std::string, std::map<std::string, std::string>> found;
  std::string uncached;
};

/// Notes the headers of the toolkit that the sources of a call reach. They have
/// no folder, in which headers of the user's own would lie.
LogicalResult resolveCall(CallSourceOp call) {
  ToolkitReader toolkit;
  for (auto source : call.getSources().getAsValueRange<StringAttr>())
    for (const Include &include : cuda::listIncludes(source)) {
      if (include.kind == Include::Computed)
        return call.emitError("`#include ")
               << include.name << "` in the source of `" << call.getFunction()
               << "` cannot be followed; name the header";
      if (!toolkit.add(include.name) && include.name != kDeviceHeader)
        return call.emitError("there is no header `")
               << include.name << "` of CUDA, which the source of `"
               << call.getFunction()
               << "` includes; headers of your own go into the text";
    }
  if (std::string digest = toolkit.getDigest(); !digest.empty())
    call.setToolkit(digest);
  return success();
}

struct ResolveSourcesPass
    : tl::impl::ResolveSourcesPassBase<ResolveSourcesPass> {
  ResolveSourcesPass() = default;
  explicit ResolveSourcesPass(FilesRead *noted) : noted(noted) {}

  void runOnOperation() override {
    FilesRead unwanted;
    FilesRead &files = noted ? *noted : unwanted;
    WalkResult result = getOperation().walk([&](SourceKernelOp kernel) {
      return failed(KernelResolver(kernel, files).run())
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (!result.wasInterrupted())
      result = getOperation().walk(
          [](CallSourceOp call) { return WalkResult(resolveCall(call)); });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  FilesRead *noted = nullptr;
};
} // namespace

std::unique_ptr<Pass> tl::createResolveSourcesPass(FilesRead *files) {
  return std::make_unique<ResolveSourcesPass>(files);
}
