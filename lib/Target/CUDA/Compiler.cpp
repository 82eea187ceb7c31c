//===- Compiler.cpp - PTX from CUDA C++ -----------------------------------===//
//
// What the compilers have in common: the program's text, the options, and the
// form of their messages, which both take from one C++ front end.
//
//===----------------------------------------------------------------------===//

#include "tl/Target/CUDA/Compiler.h"

#include "Compilers.h"
#include "tl/Target/CUDACpp/DeviceHeader.h"
#include "tl/Target/Cubin/Toolchain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"

using namespace llvm;
using namespace tl;

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

/// A `#line` directive: the next line is line `line` of `file`.
static std::string makeLineDirective(int64_t line, StringRef file) {
  std::string quoted;
  for (char c : file) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    quoted += c;
  }
  return formatv("#line {0} \"{1}\"\n", line, quoted);
}

Expected<SourceFolder> tl::makeSourceTree(const CudaProgram &program) {
  Expected<SourceFolder> tree =
      SourceFolder::make("cuda", program.keepDirectory);
  if (!tree)
    return tree.takeError();
  // `#include "../a.h"` goes through the folder of the program's own file.
  if (Error error = tree->makeFolderOf(program.name))
    return std::move(error);
  for (auto [path, text] : program.headers)
    if (Error error = tree->write(path, text))
      return std::move(error);
  // NVRTC has it from memory; this is for nvcc, and for who looks at the
  // folder.
  if (usesDeviceHeader(program))
    if (Error error = tree->write(kDeviceHeaderFile, getDeviceHeader()))
      return std::move(error);
  return std::move(*tree);
}

bool tl::needsLineDirectives(const CudaProgram &program) {
  return !program.prelude.empty() || !program.file.empty();
}

std::string tl::composeText(const CudaProgram &program) {
  std::string text;
  if (!program.prelude.empty())
    text += makeLineDirective(1, "prelude of " + program.name) +
            program.prelude.str() + "\n";
  if (!program.file.empty())
    text += makeLineDirective(program.line, program.file);
  else if (needsLineDirectives(program))
    text += makeLineDirective(1, program.name);
  StringRef own = program.text;
  own.consume_front("\xEF\xBB\xBF");
  return text + own.str() + "\n";
}

bool tl::usesDeviceHeader(const CudaProgram &program) {
  std::string other = ("/" + kDeviceHeader).str();
  return none_of(program.headers, [&](const auto &header) {
    return header.first.ends_with(other);
  });
}

std::vector<std::string> tl::getCommonOptions(const CudaProgram &program,
                                              StringRef root) {
  std::vector<std::string> options;
  // PTX for `sm_90a` is that of the virtual architecture `compute_90a`.
  options.push_back("--gpu-architecture=compute_" +
                    program.chip.split('_').second.str());
  bool hasStandard = any_of(program.flags, [](StringRef flag) {
    return flag.starts_with("--std") || flag.starts_with("-std");
  });
  if (!hasStandard)
    options.push_back("--std=c++20");
  if (program.lineInfo)
    options.push_back("--generate-line-info");
  if (program.fastMath)
    options.push_back("--use_fast_math");
  if (program.isRelocatable)
    options.push_back("--relocatable-device-code=true");
  append_range(options, program.flags);
  for (StringRef folder : program.includePaths) {
    SmallString<128> path(folder);
    if (!sys::path::is_absolute(folder))
      path = (root + "/" + folder).str();
    options.push_back(("--include-path=" + path).str());
  }
  for (const std::string &folder : Toolchain::get().getIncludeDirectories())
    options.push_back("--include-path=" + folder);
  return options;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

void tl::eraseRoot(std::string &text, StringRef root) {
  std::string prefix = root.str() + "/";
  for (size_t at = 0; (at = text.find(prefix, at)) != std::string::npos;)
    text.erase(at, prefix.size());
}

/// The first line of a message, if it is one: `file(line): error #20-D: text`,
/// `file:line:column: error: text`, or `nvrtc: error: text`.
static std::optional<CudaMessage> parseFirstLine(StringRef line) {
  static const Regex edg("^([^(]*)\\(([0-9]+)\\): (catastrophic error|error|"
                         "warning|note|remark)( #[0-9a-zA-Z-]+)?: (.*)$");
  static const Regex gnu("^([^:]+):([0-9]+):([0-9]+:)? (fatal error|error|"
                         "warning|note): (.*)$");
  static const Regex tool("^(nvrtc:|nvcc|ptxas) (fatal|error|warning) *: "
                          "*(.*)$");
  auto getSeverity = [](StringRef word) {
    return word.ends_with("error") || word == "fatal"
               ? CudaMessage::Severity::Error
           : word == "warning" ? CudaMessage::Severity::Warning
                               : CudaMessage::Severity::Note;
  };
  SmallVector<StringRef> parts;
  CudaMessage message;
  if (edg.match(line, &parts) || gnu.match(line, &parts)) {
    bool isGNU = parts[3].ends_with(":") || parts[3].empty();
    message.severity = getSeverity(isGNU ? parts[4] : parts[3]);
    message.file = parts[1].str();
    to_integer(parts[2], message.line);
    message.text = parts[5].str();
    return message;
  }
  if (tool.match(line, &parts)) {
    message.severity = parts[2] == "warning" ? CudaMessage::Severity::Warning
                                             : CudaMessage::Severity::Error;
    message.text = parts[3].str();
    return message;
  }
  return std::nullopt;
}

/// Lines at the end of a log that count what was said before.
static bool isSummary(StringRef line) {
  return line.contains("detected in the compilation of") ||
         line == "Compilation terminated." ||
         line == "compilation terminated." ||
         line.starts_with("Remark: The warnings can be suppressed");
}

/// The name of a file that a compiler found by way of `..`.
static std::string removeDots(StringRef file) {
  SmallString<128> path(file);
  sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return path.str().str();
}

std::vector<CudaMessage> tl::parseCudaMessages(StringRef log, StringRef root) {
  std::string shown = log.str();
  eraseRoot(shown, root);

  std::vector<CudaMessage> messages;
  for (StringRef line : split(shown, '\n')) {
    line = line.rtrim();
    if (line.empty() || isSummary(line))
      continue;
    if (std::optional<CudaMessage> message = parseFirstLine(line)) {
      message->file = removeDots(message->file);
      messages.push_back(std::move(*message));
    } else if (!messages.empty())
      messages.back().text += "\n" + line.str();
    else
      messages.push_back({CudaMessage::Severity::Note, "", 0, line.str()});
  }
  return messages;
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

CudaCompiler tl::chooseCudaCompiler() {
  if (!Toolchain::get().find("nvrtc").empty())
    return CudaCompiler::NVRTC;
  if (!Toolchain::get().find("nvcc").empty())
    return CudaCompiler::NVCC;
  return CudaCompiler::None;
}

static Expected<CudaCompilation> runCompiler(CudaCompiler compiler,
                                             const CudaProgram &program) {
  switch (compiler) {
  case CudaCompiler::NVRTC:
    return compileByNVRTC(program);
  case CudaCompiler::NVCC:
    return compileByNVCC(program);
  case CudaCompiler::Auto:
  case CudaCompiler::None:
    break;
  }
  llvm_unreachable("not a compiler");
}

Expected<CudaCompilation> tl::compileCUDA(CudaCompiler compiler,
                                          const CudaProgram &program) {
  Expected<CudaCompilation> result = runCompiler(compiler, program);
  if (!result)
    return result;
  if (program.lineInfo)
    result->ptx = cleanLineInfo(result->ptx, program);
  // Messages are about the program's own text, whatever its lines are called.
  for (CudaMessage &message : result->messages)
    if (!program.file.empty() && message.file == program.file) {
      message.file = program.name;
      message.line -= program.line - 1;
    }
  return result;
}
