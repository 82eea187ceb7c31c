//===- Disassembler.cpp - Machine code as text ----------------------------===//

#include "tl/Target/Cubin/Disassembler.h"

#include "ToolFiles.h"
#include "tl/Support/RunProgram.h"
#include "llvm/Support/FileUtilities.h"

using namespace llvm;
using namespace tl;

Expected<std::string> tl::disassemble(StringRef cubin) {
  Expected<std::string> program = findTool("nvdisasm");
  if (!program)
    return program.takeError();
  Expected<SmallString<128>> input = writeTemporary("cubin", cubin);
  if (!input)
    return input.takeError();
  FileRemover removeInput(*input);
  Expected<SmallString<128>> output = writeTemporary("sass", "");
  if (!output)
    return output.takeError();
  FileRemover removeOutput(*output);

  std::string message;
  int status = runProgram(*program, {*program, *input}, *output, message);
  std::string text = readFile(*output);
  if (status < 0)
    return makeError("`" + *program + "` cannot be run: " + message);
  if (status != 0)
    return makeError("`nvdisasm` failed: " + StringRef(text).trim());
  return text;
}
