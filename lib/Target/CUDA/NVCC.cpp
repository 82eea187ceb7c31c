//===- NVCC.cpp - CUDA C++ by the nvcc program ----------------------------===//
//
// nvcc has no name expressions. A variable that is initialised with the address
// of what is asked for does the same: it has it compiled, and the PTX says
// which symbol the address is of.
//
//===----------------------------------------------------------------------===//

#include "Compilers.h"
#include "tl/Support/RunProgram.h"
#include "tl/Target/Cubin/Toolchain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace tl;

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

static std::string getVariable(size_t index) {
  return formatv("tl_symbol_{0}", index);
}

/// The variables that name the symbols of the program's expressions.
static std::string makeSymbolVariables(const CudaProgram &program) {
  std::string text;
  for (auto [i, expression] : enumerate(program.expressions))
    text +=
        formatv("#line 1 \"{0}\"\nextern \"C\" __device__ const void *const "
                "{1} = (const void *)({2});\n",
                kNVCCNamesFile, getVariable(i), expression)
            .str();
  return text;
}

/// Takes the variable `name` out of `ptx`. Returns the symbol that it held.
static std::string takeSymbol(std::string &ptx, StringRef name) {
  size_t at = ptx.find((name + " = ").str());
  size_t begin = at == std::string::npos ? at : ptx.rfind('\n', at);
  size_t end = ptx.find('\n', at);
  if (begin == std::string::npos || end == std::string::npos)
    return "";
  StringRef value = StringRef(ptx).slice(at + name.size() + 3, end).rtrim("; ");
  if (value.consume_front("generic("))
    value.consume_back(")");
  std::string symbol = value.str();
  ptx.erase(begin, end - begin);
  return symbol;
}

static std::string readFile(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> file = MemoryBuffer::getFile(path);
  return file ? (*file)->getBuffer().str() : "";
}

static Expected<CudaCompilation> run(StringRef nvcc, const CudaProgram &program,
                                     const SourceFolder &tree) {
  std::string text = composeText(program) + makeSymbolVariables(program);
  if (Error error = tree.write(program.name, text))
    return std::move(error);
  std::string input = tree.getPath(program.name);
  std::string output = tree.getPath("kernel.ptx");
  std::string log = tree.getPath("log.txt");

  std::vector<std::string> options = getCommonOptions(program, tree.getRoot());
  if (usesDeviceHeader(program))
    options.push_back("--include-path=" + tree.getPath(kDeviceHeaderFolder));
  // The compiler that nvcc would look for to preprocess: the one that is keyed.
  if (std::string host = Toolchain::get().find("g++"); !host.empty())
    options.push_back("--compiler-bindir=" + host);
  SmallVector<StringRef> arguments = {nvcc,  "--ptx",         "--x=cu",
                                      input, "--output-file", output};
  append_range(arguments, options);
  std::string message;
  int status = runProgram(nvcc, arguments, log, message);
  if (status < 0)
    return makeError("`" + nvcc + "` cannot be run: " + message);

  CudaCompilation result;
  result.messages = parseCudaMessages(readFile(log), tree.getRoot());
  // The flag that nvcc names instead is none of those that are allowed.
  for (CudaMessage &message : result.messages)
    if (StringRef(message.text).contains("unsupported GNU version"))
      message.text += "; name an older `g++` in `NVCC_CCBIN`";
  result.succeeded = status == 0;
  if (!result.succeeded)
    return result;
  result.ptx = readFile(output);
  eraseRoot(result.ptx, tree.getRoot());
  for (size_t i = 0; i != program.expressions.size(); ++i) {
    result.symbols.push_back(takeSymbol(result.ptx, getVariable(i)));
    if (result.symbols.back().empty())
      return makeError("`nvcc` does not say which symbol `" +
                       program.expressions[i] + "` is");
  }
  return result;
}

Expected<CudaCompilation> tl::compileByNVCC(const CudaProgram &program) {
  std::string nvcc = Toolchain::get().find("nvcc");
  if (nvcc.empty())
    return makeError(Twine("`nvcc` is not on this machine; ") +
                     Toolchain::getRemedy("nvcc"));
  Expected<SourceFolder> tree = makeSourceTree(program);
  if (!tree)
    return tree.takeError();
  Expected<CudaCompilation> result = run(nvcc, program, *tree);
  std::string trouble = tree->remove();
  if (result && !trouble.empty())
    result->messages.push_back(
        {CudaMessage::Severity::Warning, "", 0, std::move(trouble)});
  return result;
}
