//===- LineInfo.cpp - Whose lines instructions belong to ------------------===//
//
// Compilers give each instruction the line that it was written in. For what
// comes from a function of the support header, or of a kernel's preamble, that
// is a line which nobody wrote: such instructions get the line that the
// function was called from, as if it were an instruction of the language.
//
// Compilers also make names of files absolute by the folder that the process is
// in, of which the result must not speak.
//
//===----------------------------------------------------------------------===//

#include "Compilers.h"
#include "tl/Target/CUDACpp/DeviceHeader.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace tl;

/// `.file 2 "/folder/kernel.py"`, relative to `folder` if it lies there, and
/// called as the user calls it.
static std::string renameFile(StringRef directive, StringRef folder,
                              const CudaProgram &program) {
  auto [head, rest] = directive.split('"');
  auto [name, tail] = rest.split('"');
  if (!folder.empty() && name.consume_front(folder))
    name.consume_front("/");
  SmallString<128> path(name);
  sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  auto users = program.headerFiles.find(path.str().str());
  if (users != program.headerFiles.end())
    name = users->second;
  return (head + "\"" + name + "\"" + tail).str();
}

/// The numbers of the files whose lines are not the user's.
static StringSet<> findForeignFiles(StringRef ptx, const CudaProgram &program) {
  StringSet<> foreign;
  for (StringRef line : split(ptx, '\n')) {
    line = line.trim();
    if (!line.consume_front(".file"))
      continue;
    auto [number, name] = line.trim().split(' ');
    name = name.split('"').second.split('"').first;
    if ((usesDeviceHeader(program) && name.ends_with(kDeviceHeader)) ||
        (program.isGenerated && name.ends_with(program.name)))
      foreign.insert(number);
  }
  return foreign;
}

/// `FILE LINE COLUMN` of `.loc FILE LINE COLUMN, function_name F, inlined_at
/// FILE LINE COLUMN`: the second, if the first is not the user's. `last` is
/// what this gave for the directive before, where the call itself is inlined.
static StringRef findUsersPlace(StringRef place, const StringSet<> &foreign,
                                StringRef last) {
  auto isForeign = [&](StringRef where) {
    return foreign.contains(where.split(' ').first);
  };
  StringRef own = place.split(',').first;
  if (!isForeign(own))
    return place;
  size_t at = place.find("inlined_at ");
  if (at == StringRef::npos)
    return own;
  StringRef caller = place.drop_front(at).split(' ').second;
  return isForeign(caller) ? last : caller;
}

std::string tl::cleanLineInfo(StringRef ptx, const CudaProgram &program) {
  SmallString<128> folder;
  if (sys::fs::current_path(folder))
    folder.clear();
  StringSet<> foreign = findForeignFiles(ptx, program);
  std::string result, last;
  for (StringRef line : split(ptx, '\n')) {
    StringRef directive = line.trim();
    if (directive.starts_with(".file")) {
      result += renameFile(line, folder, program);
    } else if (directive.consume_front(".loc")) {
      StringRef place = findUsersPlace(directive.trim(), foreign, last);
      result += ("\t.loc\t" + place).str();
      last = place.str();
    } else {
      result += line;
    }
    result += '\n';
  }
  result.pop_back();
  return result;
}
