//===- CacheTool.cpp - Look into the artifact cache -----------------------===//
//
// `tl-cache` prints what the C API of the cache answers: as tables for people,
// as JSON for programs. Only `import` and `warm` make a directory, so that a
// mistyped path is an error and not an empty cache.
//
//===----------------------------------------------------------------------===//

#include "CacheWarm.h"
#include "Environment.h"
#include "Owned.h"
#include "TlCache.h"
#include "tl-c/Cache.h"
#include "tl-c/Compiler.h"
#include "tl/Cache/DirectoryStore.h"
#include "tl/Pipeline/Miss.h"
#include "tl/Support/ByteCount.h"
#include "tl/Support/Environment.h"
#include "tl/Support/ShowText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/WithColor.h"

#include <map>

using namespace llvm;
using tl::Owned;

namespace {

/// The tool's exit statuses.
enum Status { Success = 0, Failure = 1, Usage = 2 };

/// The subcommands and their options. An object, not globals, because the
/// library serves tools with other options too.
struct CommandLine {
  cl::OptionCategory category{"tl-cache options"};

  cl::SubCommand ls{"ls", "List the entries"};
  cl::SubCommand show{"show", "Show one entry"};
  cl::SubCommand explain{
      "explain", "Name the components in which two keys differ; with one key, "
                 "those in which it differs from the nearest"};
  cl::SubCommand verify{
      "verify", "Check every byte of every entry; set damaged entries aside"};
  cl::SubCommand prune{"prune", "Remove old entries, then the least recently "
                                "used until the rest fits"};
  cl::SubCommand exportTo{
      "export", "Write entries to one file, to be imported elsewhere"};
  cl::SubCommand importFrom{
      "import", "Verify the entries of such a file and store those that are "
                "not there; makes the directory"};
  cl::SubCommand clear{"clear", "Remove all entries"};
  cl::SubCommand stats{"stats", "Sum up the entries"};

  cl::SubCommand warm{
      "warm", "Compile files of tile kernels ahead of time, in parallel"};

  cl::opt<std::string> directory{
      "dir", cl::desc("The cache's directory, instead of the default"),
      cl::value_desc("path"), cl::sub(cl::SubCommand::getAll()),
      cl::cat(category)};
  cl::opt<bool> json{"json", cl::desc("Print JSON"),
                     cl::sub(cl::SubCommand::getAll()), cl::cat(category)};
  cl::opt<std::string> key{cl::Positional,   cl::desc("<key or its beginning>"),
                           cl::Required,     cl::sub(show),
                           cl::sub(explain), cl::cat(category)};
  cl::opt<std::string> other{cl::Positional, cl::desc("<other key>"),
                             cl::sub(explain), cl::cat(category)};
  cl::opt<std::string> bundle{cl::Positional,      cl::desc("<file>"),
                              cl::Required,        cl::sub(exportTo),
                              cl::sub(importFrom), cl::cat(category)};
  cl::list<std::string> keys{cl::Positional, cl::desc("[keys, instead of all]"),
                             cl::sub(exportTo), cl::cat(category)};
  cl::opt<std::string> maxBytes{
      "max-bytes",
      cl::desc("Keep at most this many bytes; 100K and 1.5GiB are numbers too"),
      cl::value_desc("bytes"), cl::sub(prune), cl::cat(category)};
  cl::opt<uint64_t> maxAge{"max-age",
                           cl::desc("Keep what was used within this time"),
                           cl::init(TL_CACHE_UNBOUNDED),
                           cl::value_desc("seconds"),
                           cl::sub(prune),
                           cl::cat(category)};

  cl::list<std::string> files{cl::Positional, cl::desc("<file.mlir>..."),
                              cl::OneOrMore, cl::sub(warm), cl::cat(category)};
  cl::opt<std::string> chip{
      "chip", cl::desc("The chip to compile for, such as sm_90a or cpu"),
      cl::sub(warm), cl::cat(category)};
  cl::opt<std::string> backend{
      "backend", cl::desc("A backend of the chip, or auto (the default)"),
      cl::init("auto"), cl::sub(warm), cl::cat(category)};
  cl::opt<std::string> assembler{
      "assembler",
      cl::desc("auto (the default), nvjitlink, ptxas, driver or none"),
      cl::init("auto"), cl::sub(warm), cl::cat(category)};
  cl::opt<bool> lineInfo{"line-info",
                         cl::desc("Keep source lines in the artifacts"),
                         cl::sub(warm), cl::cat(category)};
  cl::opt<bool> fastMath{"fast-math", cl::desc("Approximate arithmetic"),
                         cl::sub(warm), cl::cat(category)};
  cl::opt<unsigned> jobs{
      "jobs", cl::desc("How many files at once; by default, all processors"),
      cl::value_desc("n"), cl::sub(warm), cl::cat(category)};

  /// How many bytes to keep; none if what is said is no number of bytes.
  std::optional<uint64_t> getMaxBytes() const {
    if (!maxBytes.getNumOccurrences())
      return TL_CACHE_UNBOUNDED;
    return tl::parseByteCount(maxBytes);
  }
};

using Row = std::vector<std::string>;

} // namespace

static Status fail(const Twine &message, Status status = Failure) {
  WithColor::error(errs(), "tl-cache") << tl::showText(message.str()) << '\n';
  return status;
}

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

/// Moves the subcommand in front of the options: `llvm::cl` looks for it in the
/// first argument alone.
static void moveCommandToFront(MutableArrayRef<char *> arguments) {
  auto command = find_if(arguments, [](StringRef argument) {
    return any_of(cl::getRegisteredSubcommands(), [&](cl::SubCommand *known) {
      return !argument.empty() && known->getName() == argument;
    });
  });
  if (command != arguments.end())
    std::rotate(arguments.begin(), command, std::next(command));
}

/// Reads the command line; false, having said why, if it makes no sense.
static bool parse(CommandLine &line, int argc, char **argv) {
  moveCommandToFront(MutableArrayRef<char *>(argv, argc).drop_front());
  for (cl::SubCommand *command : cl::getRegisteredSubcommands())
    cl::HideUnrelatedOptions(line.category, *command);
  if (!cl::ParseCommandLineOptions(
          argc, argv, "tl-cache: look into the cache of compiled kernels\n",
          &errs()))
    return false;
  if (cl::SubCommand::getTopLevel()) {
    fail("say what to do; `tl-cache --help` lists the commands");
    return false;
  }
  if (line.warm && line.chip.empty()) {
    fail("say what to compile for with `--chip`");
    return false;
  }
  if (line.prune && !line.maxBytes.getNumOccurrences() &&
      !line.maxAge.getNumOccurrences()) {
    fail("say what to keep with `--max-bytes`, `--max-age` or both");
    return false;
  }
  if (!line.getMaxBytes()) {
    fail("`--max-bytes`: `" + line.maxBytes +
         "` is not a number of bytes such as `100K`");
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

static std::string formatSize(uint64_t bytes) {
  if (bytes < 1024)
    return formatv("{0} B", bytes);
  static constexpr StringLiteral units[] = {"KiB", "MiB", "GiB"};
  double size = bytes / 1024.0;
  size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(units); ++unit)
    size /= 1024;
  return formatv("{0:F1} {1}", size, units[unit]);
}

/// Enough of a digest to tell it from others, and to be typed.
static std::string shorten(StringRef digest) {
  return digest.take_front(12).str();
}

/// The text of a member; of one that is no string, its JSON.
static std::string textOf(const json::Value *value) {
  if (!value || value->getAsNull())
    return "-";
  if (std::optional<StringRef> text = value->getAsString())
    return tl::showText(*text);
  return tl::showText(formatv("{0}", *value).str());
}

static std::string textOf(const json::Object &object, StringRef name) {
  return textOf(object.get(name));
}

static uint64_t numberOf(const json::Object &object, StringRef name) {
  return object.getInteger(name).value_or(0);
}

/// The members of a list of objects.
static auto objectsOf(const json::Array &list) {
  return map_range(list, [](const json::Value &value) -> const json::Object & {
    return *value.getAsObject();
  });
}

/// Prints rows in columns that are as wide as they must be.
static void printTable(ArrayRef<Row> rows, StringRef indent = "") {
  std::vector<size_t> widths;
  for (const Row &row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (auto [width, cell] : zip(widths, row))
      width = std::max(width, cell.size());
  }
  for (const Row &row : rows) {
    outs() << indent;
    for (size_t i = 0; i + 1 < row.size(); ++i)
      outs() << left_justify(row[i], widths[i] + 2);
    outs() << row.back() << '\n';
  }
}

/// JSON in ASCII: some of what is not would give orders to a terminal.
static std::string toASCII(StringRef json) {
  if (all_of(json, [](char c) { return (unsigned char)c < 0x80; }))
    return json.str();
  std::string ascii;
  SmallVector<UTF16> units;
  (void)convertUTF8ToUTF16String(json, units);
  for (UTF16 unit : units)
    if (unit < 0x80)
      ascii += char(unit);
    else
      ascii += formatv("\\u{0:x-4}", unsigned(unit)).str();
  return ascii;
}

static std::string printJSON(const json::Value &value) {
  return toASCII(formatv("{0:2}", value).str());
}

namespace {

/// Prints a table of entries, some after the other: there may be very many.
class TablePrinter {
public:
  bool print(const tl::cache::EntrySummary &entry) {
    rows.push_back({shorten(entry.name.hex()), formatSize(entry.size),
                    tl::cache::formatTime(entry.lastUse),
                    entry.kernel.empty() ? "-" : tl::showText(entry.kernel),
                    tl::showText(join(entry.files, " "))});
    if (rows.size() == maxRows)
      flush();
    return true;
  }

  void flush() {
    printTable(rows);
    rows.clear();
  }

private:
  /// The columns are as wide as the first entries need.
  static constexpr size_t maxRows = 1000;

  std::vector<Row> rows = {{"KEY", "SIZE", "LAST USE", "KERNEL", "FILES"}};
};

/// Prints the list as JSON, one entry after the other.
class JSONPrinter {
public:
  JSONPrinter() { outs() << "["; }

  bool print(StringRef json) {
    outs() << (isFirst ? "\n" : ",\n") << toASCII(json);
    isFirst = false;
    return true;
  }

  void finish() { outs() << (isFirst ? "]\n" : "\n]\n"); }

private:
  bool isFirst = true;
};

} // namespace

static void printEntry(const json::Object &entry) {
  printTable({{"key", textOf(entry, "key")},
              {"directory", textOf(entry, "directory")},
              {"size", formatSize(numberOf(entry, "size"))},
              {"created", textOf(entry, "created")},
              {"creator", textOf(entry, "creator")},
              {"last use", textOf(entry, "last_use")}});

  std::vector<Row> rows;
  for (const json::Object &component : objectsOf(*entry.getArray("components")))
    rows.push_back({textOf(component, "name"),
                    shorten(textOf(component, "digest")),
                    textOf(component, "value")});
  outs() << "components\n";
  printTable(rows, "  ");

  rows.clear();
  for (const json::Object &file : objectsOf(*entry.getArray("files")))
    rows.push_back({textOf(file, "name"), shorten(textOf(file, "digest")),
                    formatSize(numberOf(file, "size"))});
  outs() << "files\n";
  printTable(rows, "  ");

  // In the order of the manifest, which is sorted.
  std::map<StringRef, const json::Value *> metadata;
  for (const auto &member : *entry.getObject("metadata"))
    metadata[member.first] = &member.second;
  rows.clear();
  for (auto [name, value] : metadata)
    rows.push_back({tl::showText(name), textOf(value)});
  outs() << "metadata\n";
  printTable(rows, "  ");
}

/// Prints in which line what the entries were made of begins to differ.
static void printInput(const json::Object &answer, StringRef first,
                       StringRef second) {
  const json::Object *input = answer.getObject("input");
  if (!input)
    return;
  outs() << "the kernels differ from line " << numberOf(*input, "line")
         << " on\n";
  printTable({{first.str(), textOf(*input, "first")},
              {second.str(), textOf(*input, "second")}},
             "  ");
}

static void printDifferences(const json::Object &answer) {
  const json::Array &differences = *answer.getArray("differences");
  if (differences.empty()) {
    outs() << "the keys are the same\n";
    return;
  }
  std::string first = shorten(textOf(answer, "first")),
              second = shorten(textOf(answer, "second"));
  std::vector<Row> rows = {{"COMPONENT", "WHAT IT IS", first, second}};
  for (const json::Object &difference : objectsOf(differences)) {
    std::string name = textOf(difference, "name");
    rows.push_back({name, tl::describeComponent(name),
                    textOf(difference, "first"), textOf(difference, "second")});
  }
  printTable(rows);
  printInput(answer, first, second);
}

static void printVerified(const json::Object &answer) {
  const json::Array &problems = *answer.getArray("problems");
  for (const json::Value &problem : problems)
    fail(textOf(&problem));
  outs() << numberOf(answer, "checked") << " checked, " << problems.size()
         << " damaged\n";
}

static void printPruned(const json::Object &answer) {
  printTable({{"", "ENTRIES", "SIZE"},
              {"removed", textOf(answer, "removed_entries"),
               formatSize(numberOf(answer, "removed_bytes"))},
              {"remaining", textOf(answer, "remaining_entries"),
               formatSize(numberOf(answer, "remaining_bytes"))}});
}

static void printExported(const json::Object &answer) {
  outs() << numberOf(answer, "entries") << " exported, "
         << formatSize(numberOf(answer, "bytes")) << '\n';
}

static void printImported(const json::Object &answer) {
  outs() << numberOf(answer, "imported") << " imported, "
         << formatSize(numberOf(answer, "bytes")) << "; "
         << numberOf(answer, "present") << " were there\n";
  if (uint64_t refused = numberOf(answer, "refused"))
    WithColor::warning(errs(), "tl-cache")
        << refused << " were left out: anyone may have made the file; sign it "
        << "where it is exported, and give the same key here, with "
        << "`TL_CACHE_KEY_FILE`, or allow unsigned device code with "
        << "`TL_CACHE_ALLOW_UNSIGNED`\n";
}

static void printStats(const json::Object &answer) {
  printTable({{"directory", textOf(answer, "directory")},
              {"entries", textOf(answer, "entries")},
              {"size", formatSize(numberOf(answer, "bytes"))},
              {"oldest use", textOf(answer, "oldest_use")},
              {"newest use", textOf(answer, "newest_use")}});
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

/// Where the cache is; empty, with the reason in `error`, if nobody says.
static std::string findDirectory(const CommandLine &line, Owned<char> &error) {
  if (line.directory.getNumOccurrences())
    return line.directory;
  char *reason = nullptr;
  Owned<char> directory(tlCacheDefaultDirectory(&reason));
  error.reset(reason);
  return directory ? directory.get() : "";
}

/// What the C API answers to a command; null, with the reason, if it fails.
static char *ask(const CommandLine &line, TlCache *cache, char **error) {
  if (line.show)
    return tlCacheShow(cache, line.key.c_str(), error);
  if (line.explain)
    return tlCacheExplain(cache, line.key.c_str(),
                          line.other.empty() ? nullptr : line.other.c_str(),
                          error);
  if (line.verify)
    return tlCacheVerify(cache, error);
  if (line.clear)
    return tlCacheClear(cache, error);
  if (line.prune)
    return tlCachePrune(cache, *line.getMaxBytes(), line.maxAge, error);
  if (line.importFrom)
    return tlCacheImport(cache, line.bundle.c_str(), error);
  if (line.exportTo) {
    std::vector<const char *> keys;
    for (const std::string &key : line.keys)
      keys.push_back(key.c_str());
    return tlCacheExport(cache, line.bundle.c_str(), keys.data(), keys.size(),
                         error);
  }
  return tlCacheTotals(cache, error);
}

/// Lists the entries in a table.
static Status listInTable(TlCache *cache) {
  Expected<tl::cache::DirectoryStore *> store = cache->cache.directory();
  TablePrinter printer;
  Error error = store.takeError();
  if (!error)
    error = (*store)->forEach([&](const tl::cache::EntrySummary &entry) {
      return printer.print(entry);
    });
  printer.flush();
  return error ? fail(toString(std::move(error))) : Success;
}

/// Lists all that is known of each entry.
static Status listInJSON(TlCache *cache) {
  JSONPrinter printer;
  auto visit = [](const char *text, void *printer) {
    return static_cast<JSONPrinter *>(printer)->print(text);
  };
  char *reason = nullptr;
  bool succeeded =
      tlCacheForEach(cache, /*isBrief=*/false, visit, &printer, &reason);
  Owned<char> error(reason);
  printer.finish();
  return succeeded ? Success : fail(error.get());
}

static void print(const CommandLine &line, const json::Value &answer) {
  if (line.json)
    outs() << printJSON(answer) << '\n';
  else if (line.show)
    printEntry(*answer.getAsObject());
  else if (line.explain)
    printDifferences(*answer.getAsObject());
  else if (line.verify)
    printVerified(*answer.getAsObject());
  else if (line.prune)
    printPruned(*answer.getAsObject());
  else if (line.clear)
    outs() << numberOf(*answer.getAsObject(), "removed") << " removed\n";
  else if (line.exportTo)
    printExported(*answer.getAsObject());
  else if (line.importFrom)
    printImported(*answer.getAsObject());
  else
    printStats(*answer.getAsObject());
}

/// Does what the command line says.
static Status run(const CommandLine &line, TlCache *cache,
                  StringRef directory) {
  if (line.ls)
    return line.json ? listInJSON(cache) : listInTable(cache);
  char *reason = nullptr;
  Owned<char> text(ask(line, cache, &reason));
  Owned<char> error(reason);
  if (!text)
    return fail(error.get());
  Expected<json::Value> answer = json::parse(text.get());
  if (!answer)
    return fail(toString(answer.takeError()));
  if (line.stats)
    (*answer->getAsObject())["directory"] = directory;
  print(line, *answer);
  bool isDamaged =
      line.verify && !answer->getAsObject()->getArray("problems")->empty();
  return isDamaged ? Failure : Success;
}

/// Fills the cache.
static Status warm(const CommandLine &line, std::string directory) {
  tl::useCacheEnvironment("tl-cache");
  tl::WarmOptions options;
  options.directory = std::move(directory);
  options.chip = line.chip;
  options.backend = line.backend;
  options.assembler = line.assembler;
  options.lineInfo = line.lineInfo;
  options.fastMath = line.fastMath;
  options.jobs = line.jobs;
  json::Object answer = tl::warmCache(line.files, options);
  bool hasFailed = answer.getInteger("failed") != 0;
  if (line.json)
    outs() << printJSON(std::move(answer)) << '\n';
  else
    tl::printWarmed(answer);
  return hasFailed ? Failure : Success;
}

/// Opens a cache. That it cannot be used is no error to the C API, but it is
/// here: null, with the reason in `trouble`.
static Owned<TlCache> open(const std::string &directory, std::string &trouble) {
  Expected<tl::cache::DirectoryOptions> settings =
      tl::cache::DirectoryOptions::parse(tl::readVariable);
  if (!settings) {
    trouble = toString(settings.takeError());
    return nullptr;
  }
  TlCacheOptions options = {};
  options.maxBytes = *settings->limits.maxBytes;
  options.allowGroupWritable = settings->allowGroupWritable;
  options.allowUnsigned = settings->allowUnsigned;
  std::string keyFile = tl::readVariable("TL_CACHE_KEY_FILE").value_or("");
  options.keyFile = keyFile.empty() ? nullptr : keyFile.c_str();
  options.warn = [](const char *message, void *data) {
    *static_cast<std::string *>(data) = message;
  };
  options.warnData = &trouble;
  Owned<TlCache> cache(tlCacheOpen(directory.c_str(), &options));
  if (!trouble.empty())
    return nullptr;
  return cache;
}

int tlCacheMain(int argc, char **argv) {
  InitLLVM init(argc, argv);
  CommandLine line;
  if (!parse(line, argc, argv))
    return Usage;
  Owned<char> error;
  std::string directory = findDirectory(line, error);
  if (error)
    return fail(error.get());
  if (!line.importFrom && !line.warm && !sys::fs::exists(directory))
    return fail("there is no cache `" + directory +
                "`; say where it is with `--dir`");
  std::string trouble;
  Owned<TlCache> cache = open(directory, trouble);
  if (!cache)
    return fail(trouble);
  if (line.warm)
    return warm(line, directory);
  return run(line, cache.get(), directory);
}
