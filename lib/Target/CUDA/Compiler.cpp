//===- Compiler.cpp - PTX from CUDA C++ -----------------------------------===//
//
// What the compilers have in common: the program's text, the options, and the
// form of their messages, which both take from one C++ front end.
//
//===----------------------------------------------------------------------===//

#include "tl/Target/CUDA/Compiler.h"

#include "Compilers.h"
#include "tl/Support/ShowText.h"
#include "tl/Target/CUDACpp/DeviceHeader.h"
#include "tl/Target/Cubin/AssemblerFaults.h"
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
  text += own.str() + "\n";
  // A splice at the end of the text takes the empty line.
  return program.assertions.empty() ? text : text + "\n" + program.assertions;
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
  // Variables that nothing reads are nothing that a user can mend.
  if (program.isGenerated)
    options.push_back("--diag-suppress=177,550");
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
// Flags
//===----------------------------------------------------------------------===//

/// Flags of one word.
static constexpr StringLiteral plainFlags[] = {
    "default-device",
    "device-as-default-execution-space",
    "device-debug",
    "G",
    "disable-warnings",
    "w",
    "display-error-number",
    "no-display-error-number",
    "err-no",
    "no-err-no",
    "expt-extended-lambda",
    "extended-lambda",
    "expt-relaxed-constexpr",
    "extra-device-vectorization",
    "generate-line-info",
    "lineinfo",
    "restrict",
    "use_fast_math"};

/// Flags with a value: after `=`, or as the next word.
static constexpr StringLiteral valueFlags[] = {
    "define-macro", "undefine-macro", "diag-error", "diag-suppress",
    "diag-warn",    "fmad",           "ftz",        "maxrregcount",
    "prec-div",     "prec-sqrt",      "std"};

/// Checks that a flag says how to compile, and no more: others have `nvcc` run
/// other programs, or read and write other files. What is not known is refused.
/// Sets `takesNext` if the next word is its value.
static bool isKnownFlag(StringRef flag, bool &takesNext) {
  StringRef name = flag;
  if (!name.consume_front("-"))
    return false;
  (void)name.consume_front("-");
  takesNext = false;
  if (is_contained(plainFlags, name))
    return true;
  if (name.starts_with("D") || name.starts_with("U")) {
    takesNext = name.size() == 1;
    return !flag.starts_with("--");
  }
  if (name.consume_front("O"))
    return name.size() == 1 && isDigit(name.front());
  takesNext = !name.contains('=');
  return is_contained(valueFlags, name.split('=').first);
}

/// A shell runs what `nvcc` makes of its command line.
static bool isPlainValue(StringRef value) {
  return none_of(value, [](unsigned char c) {
    return c < 0x20 || c == 0x7f || StringRef("$`\"\\").contains(c);
  });
}

static Error checkFlags(ArrayRef<std::string> flags) {
  bool isValue = false;
  for (StringRef flag : flags) {
    bool takesNext = false;
    bool isKnown =
        isValue ? !flag.starts_with("-") : isKnownFlag(flag, takesNext);
    if (!isKnown || !isPlainValue(flag))
      return createStringError(
          "the flag `" + showText(flag) +
          "` is not one that kernels may have; those are macros, without "
          "quotes and `$`, the language, numbers of registers, precision and "
          "warnings");
    isValue = takesNext;
  }
  return Error::success();
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
  if (Error error = checkFlags(program.flags))
    return std::move(error);
  Expected<CudaCompilation> result = runCompiler(compiler, program);
  if (!result)
    return result;
  result->ptx = avoidAssemblerFaults(result->ptx);
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
