//===- CompilerTest.cpp - Read what compilers of CUDA C++ say -------------===//

#include "tl/Target/CUDA/Compiler.h"

#include "gtest/gtest.h"

using namespace llvm;
using namespace tl;
using Severity = CudaMessage::Severity;

static void expect(const CudaMessage &message, Severity severity,
                   StringRef file, int64_t line, StringRef text) {
  EXPECT_EQ(message.severity, severity);
  EXPECT_EQ(message.file, file);
  EXPECT_EQ(message.line, line);
  EXPECT_EQ(message.text, text);
}

// The front end that NVRTC and nvcc share points at source by a line and a
// caret, and counts at the end.
TEST(CudaCompilerTest, FrontEndMessages) {
  auto messages = parseCudaMessages(
      "/tmp/x1/0/b/../a.cu(3): error: identifier \"V\" is undefined\n"
      "    x[0] = V;\n           ^\n\n"
      "a.cu(7): warning #177-D: variable \"n\" was declared but never "
      "referenced\n    int n;\n        ^\n\n"
      "Remark: The warnings can be suppressed with \"-diag-suppress "
      "<warning-number>\"\n\n"
      "1 error detected in the compilation of \"/tmp/x1/0/a.cu\".\n",
      "/tmp/x1");
  ASSERT_EQ(messages.size(), 2u);
  expect(messages[0], Severity::Error, "0/a.cu", 3,
         "identifier \"V\" is undefined\n    x[0] = V;\n           ^");
  expect(messages[1], Severity::Warning, "a.cu", 7,
         "variable \"n\" was declared but never referenced\n    int n;\n"
         "        ^");
}

TEST(CudaCompilerTest, CatastrophicErrors) {
  auto messages = parseCudaMessages(
      "a.cu(1): catastrophic error: cannot open source file \"b.h\"\n"
      "  #include \"b.h\"\n                ^\n\n"
      "1 catastrophic error detected in the compilation of \"a.cu\".\n"
      "Compilation terminated.\n",
      "");
  ASSERT_EQ(messages.size(), 1u);
  expect(messages[0], Severity::Error, "a.cu", 1,
         "cannot open source file \"b.h\"\n  #include \"b.h\"\n"
         "                ^");
}

// nvcc's preprocessor is the host compiler's.
TEST(CudaCompilerTest, HostMessages) {
  auto messages = parseCudaMessages(
      "/t/a.cu:1:10: fatal error: b.h: No such file or directory\n"
      "    1 | #include \"b.h\"\n      |          ^~~~~\n"
      "compilation terminated.\n",
      "/t");
  ASSERT_EQ(messages.size(), 1u);
  expect(messages[0], Severity::Error, "a.cu", 1,
         "b.h: No such file or directory\n    1 | #include \"b.h\"\n"
         "      |          ^~~~~");
}

TEST(CudaCompilerTest, MessagesOfTheToolItself) {
  auto messages =
      parseCudaMessages("nvrtc: error: unrecognized option --foo found\n", "");
  ASSERT_EQ(messages.size(), 1u);
  expect(messages[0], Severity::Error, "", 0,
         "unrecognized option --foo found");
  messages = parseCudaMessages("nvcc fatal   : Unknown option '--foo'\n", "");
  ASSERT_EQ(messages.size(), 1u);
  expect(messages[0], Severity::Error, "", 0, "Unknown option '--foo'");
}

TEST(CudaCompilerTest, WhatIsNotUnderstoodIsKept) {
  auto messages = parseCudaMessages("something happened\nand more\n", "");
  ASSERT_EQ(messages.size(), 1u);
  expect(messages[0], Severity::Note, "", 0, "something happened\nand more");
}

/// Why a program with these flags is not compiled, if that is because of them.
static std::string whyNot(std::vector<std::string> flags) {
  CudaProgram program;
  program.name = "a.cu";
  program.text = "#error not compiled";
  program.chip = "sm_80";
  program.flags = std::move(flags);
  Expected<CudaCompilation> result = compileCUDA(CudaCompiler::NVRTC, program);
  if (result)
    return "";
  std::string why = toString(result.takeError());
  return StringRef(why).contains("is not one that kernels may have") ? why : "";
}

// Others have nvcc run programs, or read and write files.
TEST(CudaCompilerTest, FlagsAreThoseOfAList) {
  for (std::vector<std::string> flags :
       std::vector<std::vector<std::string>>{{"-ccbin=/tmp/x"},
                                             {"-ccbin", "/tmp/x"},
                                             {"--compiler-bindir=/tmp/x"},
                                             {"--options-file=/tmp/x"},
                                             {"-optf", "/tmp/x"},
                                             {"-Xcompiler", "-B/tmp"},
                                             {"-Xptxas=-v"},
                                             {"--ptxas-options=-v"},
                                             {"-include=/etc/passwd"},
                                             {"-I/tmp"},
                                             {"-o", "/tmp/x"},
                                             {"-odir=/tmp"},
                                             {"--keep"},
                                             {"--keep-dir=/tmp"},
                                             {"--save-temps"},
                                             {"--run"},
                                             {"-dlto"},
                                             {"--time=/tmp/x"},
                                             {"--dependency-output=/tmp/x"},
                                             {"-D", "-ccbin=/tmp/x"},
                                             {"-DA=$(id)"},
                                             {"-DA=`id`"},
                                             {"-DA=\""},
                                             {"-DA=\n"},
                                             {"-std", "-run"},
                                             {"/tmp/x.cu"},
                                             {"@/tmp/x"},
                                             {""},
                                             {"-"},
                                             {"--"},
                                             {"-Ofast"},
                                             {"--define-macro=A", "x"}})
    EXPECT_NE(whyNot(flags), "") << flags.front();
  EXPECT_EQ(whyNot({"-DA", "-DB=1", "-D", "C=2", "-UA", "--define-macro=E",
                    "--define-macro", "F", "-std=c++17", "-O3", "-lineinfo",
                    "--use_fast_math", "--maxrregcount=64", "-w"}),
            "");
}
