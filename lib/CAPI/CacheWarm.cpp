//===- CacheWarm.cpp - Compile files ahead of time ------------------------===//
//
// Every file is a module of its own and is compiled as `tilec.compile` would
// compile it: on the way into the cache, which is all that is wanted here.
//
//===----------------------------------------------------------------------===//

#include "CacheWarm.h"

#include "Owned.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/WithColor.h"

#include <chrono>
#include <mutex>

using namespace llvm;
using tl::Owned;

namespace {

/// How far the work is, on the standard error stream if that is a terminal.
class ProgressBar {
public:
  explicit ProgressBar(size_t total)
      : total(total), isShown(errs().is_displayed()) {}

  ~ProgressBar() {
    if (isShown)
      errs() << "\r\x1b[K";
  }

  /// One more is done; `name` was.
  void advance(StringRef name) {
    std::lock_guard<std::mutex> guard(mutex);
    ++done;
    if (!isShown)
      return;
    constexpr size_t width = 30;
    size_t filled = done * width / total;
    errs() << "\r\x1b[K[" << std::string(filled, '#')
           << std::string(width - filled, ' ') << "] " << done << '/' << total
           << ' ' << name;
    errs().flush();
  }

private:
  const size_t total;
  const bool isShown;
  std::mutex mutex;
  size_t done = 0;
};

} // namespace

static json::Array parseArray(const char *text) {
  Expected<json::Value> value = json::parse(text ? text : "[]");
  if (value && value->getAsArray())
    return std::move(*value->getAsArray());
  consumeError(value.takeError());
  return {};
}

/// The errors among diagnostics, each as compilers print them.
static json::Array listErrors(const Owned<char> &diagnostics) {
  json::Array errors;
  for (const json::Value &value : parseArray(diagnostics.get())) {
    const json::Object &diag = *value.getAsObject();
    if (diag.getString("severity") != "error")
      continue;
    std::string place;
    if (std::optional<StringRef> file = diag.getString("file"))
      place =
          formatv("{0}:{1}:{2}: ", *file, diag.getInteger("line").value_or(0),
                  diag.getInteger("column").value_or(0));
    errors.push_back(place + diag.getString("message").value_or("").str());
  }
  return errors;
}

/// What matters here of what the compiler says of its kernels.
static json::Array listKernels(TlCompiled *compiled) {
  json::Array kernels;
  json::Value info = cantFail(json::parse(tlCompiledInfo(compiled)));
  for (const json::Value &value : *info.getAsObject()->getArray("kernels")) {
    const json::Object &kernel = *value.getAsObject();
    json::Object described;
    for (StringRef member : {"name", "key", "path", "cached"})
      if (const json::Value *known = kernel.get(member))
        described[member] = *known;
    kernels.push_back(std::move(described));
  }
  return kernels;
}

/// Compiles one file into the cache; adds its kernels or errors to `result`.
static void compile(StringRef file, const tl::WarmOptions &options,
                    json::Object &result) {
  auto buffer = MemoryBuffer::getFile(file);
  if (!buffer) {
    result["errors"] = json::Array{"cannot read `" + file.str() +
                                   "`: " + buffer.getError().message()};
    return;
  }
  char *diagnostics = nullptr;
  Owned<TlModule> module(tlModuleParse((*buffer)->getBufferStart(),
                                       (*buffer)->getBufferSize(),
                                       file.str().c_str(), &diagnostics));
  Owned<char> messages(diagnostics);
  if (!module) {
    result["errors"] = listErrors(messages);
    return;
  }
  TlCompileOptions compile = {};
  compile.chip = options.chip.c_str();
  compile.backend = options.backend.c_str();
  compile.assembler = options.assembler.c_str();
  compile.cacheDir = options.directory.c_str();
  compile.useCache = true;
  compile.lineInfo = options.lineInfo;
  compile.fastMath = options.fastMath;
  diagnostics = nullptr;
  Owned<TlCompiled> compiled(
      tlModuleCompile(module.get(), &compile, &diagnostics));
  messages.reset(diagnostics);
  if (compiled)
    result["kernels"] = listKernels(compiled.get());
  else
    result["errors"] = listErrors(messages);
}

/// The same with the file's name and the time that it took.
static json::Object warm(StringRef file, const tl::WarmOptions &options) {
  auto start = std::chrono::steady_clock::now();
  json::Object result{{"file", file.str()},
                      {"kernels", json::Array()},
                      {"errors", json::Array()}};
  compile(file, options, result);
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  result["seconds"] = elapsed.count();
  return result;
}

json::Object tl::warmCache(ArrayRef<std::string> files,
                           const WarmOptions &options) {
  std::vector<json::Object> results(files.size());
  {
    ProgressBar progress(files.size());
    DefaultThreadPool pool(hardware_concurrency(options.jobs));
    for (size_t i = 0; i < files.size(); ++i)
      pool.async([&, i] {
        results[i] = warm(files[i], options);
        progress.advance(files[i]);
      });
    pool.wait();
  }
  int64_t cached = 0, compiled = 0, failed = 0;
  json::Array list;
  for (json::Object &result : results) {
    failed += !result.getArray("errors")->empty();
    for (const json::Value &kernel : *result.getArray("kernels"))
      ++(kernel.getAsObject()->getBoolean("cached").value_or(false) ? cached
                                                                    : compiled);
    list.push_back(std::move(result));
  }
  return json::Object{{"files", std::move(list)},
                      {"cached", cached},
                      {"compiled", compiled},
                      {"failed", failed}};
}

void tl::printWarmed(const json::Object &answer) {
  for (const json::Value &value : *answer.getArray("files")) {
    const json::Object &result = *value.getAsObject();
    for (const json::Value &error : *result.getArray("errors"))
      WithColor::error(errs(), "tl-cache") << *error.getAsString() << '\n';
    for (const json::Value &kernel : *result.getArray("kernels"))
      outs() << formatv(
          "{0}: `{1}` {2}\n", *result.getString("file"),
          *kernel.getAsObject()->getString("name"),
          kernel.getAsObject()->getBoolean("cached").value_or(false)
              ? "was there"
              : "compiled");
  }
  outs() << formatv("{0} compiled, {1} were there, {2} files failed\n",
                    *answer.getInteger("compiled"),
                    *answer.getInteger("cached"), *answer.getInteger("failed"));
}
