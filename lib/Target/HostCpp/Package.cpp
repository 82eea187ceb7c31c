//===- Package.cpp - An installed library of compiled kernels -------------===//
//
// The layout that CMake and other build systems look for below a prefix:
// `include`, `lib`, and `lib/cmake/<name>`. The folder can be moved.
//
//===----------------------------------------------------------------------===//

#include "HostPrinter.h"
#include "Names.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tl;
using namespace tl::runtime;

static std::string printHeader(const HostProgram &first, StringRef chips) {
  const LaunchPlan &plan = first.plan;
  std::vector<std::string> names = getVariableNames(plan);
  std::string text;
  raw_string_ostream os(text);
  os << formatv(
      "//===- {0}.h - The compiled function `{0}` -*- C -*-===//\n"
      "//\n// Made for {1}. Link with lib{0}.so; with CMake: "
      "`find_package({0})` and the target\n// `tl::{0}`.\n//\n"
      "//===----------------------------------------------------------"
      "------------===//\n\n",
      plan.name, chips);
  os << formatv("#ifndef TL_LIBRARY_{0}_H\n#define TL_LIBRARY_{0}_H\n\n"
                "#include \"tl-c/Call.h\"\n\n#ifdef __cplusplus\nextern \"C\" "
                "{{\n#endif\n\n",
                plan.name);
  os << "/// Checks the arguments and launches the kernels in order. Returns "
        "0, "
        "or the\n"
     << formatv("/// TlErrorCategory of what is wrong, of which tl_{0}_error "
                "then tells more.\n",
                plan.name);
  if (first.isHost())
    os << "/// Returns when they have finished; `stream` is not looked at.\n";
  else
    os << "/// Returns when they are queued on `stream`, a CUstream or "
          "cudaStream_t of the\n/// tensors' GPU, or NULL for the default "
          "stream. Tensors must stay alive until\n/// the kernels have "
          "finished.\n";
  if (!plan.arguments.empty())
    os << "///\n";
  for (auto [argument, name] : zip(plan.arguments, names))
    os << formatv("///   {0}: {1}\n", name, describeArgument(plan, argument));
  os << fill("int tl_" + plan.name + "(", getCParameters(plan), ");\n\n");
  os << formatv("/// The same with the arguments in an array.\n"
                "int tl_{0}_call(const TlArgument *arguments, size_t count, "
                "void *stream);\n\n"
                "/// Says what went wrong in this thread's last call that "
                "failed. The text is\n/// valid until the next one fails.\n"
                "const char *tl_{0}_error(void);\n\n"
                "#ifdef __cplusplus\n}\n#endif\n\n#endif // TL_LIBRARY_{0}_H\n",
                plan.name);
  return text;
}

static std::string printPackage(StringRef name) {
  return formatv(R"(# find_package({0}) defines the target tl::{0}.
get_filename_component(_tl_prefix "${{CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET tl::{0})
  add_library(tl::{0} SHARED IMPORTED)
  set_target_properties(tl::{0} PROPERTIES
    IMPORTED_LOCATION "${{_tl_prefix}/lib/lib{0}.so"
    IMPORTED_SONAME "lib{0}.so"
    INTERFACE_INCLUDE_DIRECTORIES "${{_tl_prefix}/include")
endif()
unset(_tl_prefix)
)",
                 name);
}

std::vector<HostFile> tl::makePackage(ArrayRef<HostProgram> programs,
                                      StringRef library) {
  const HostProgram &first = programs.front();
  const std::string &name = first.plan.name;
  auto chip = [](const HostProgram &program) { return program.chip; };
  std::string chips = join(map_range(programs, chip), ", ");
  HostFile types = getCallHeader();
  return {
      {"include/" + name + ".h", printHeader(first, chips)},
      {"include/" + types.path, types.bytes},
      {"lib/lib" + name + ".so", library.str()},
      {"lib/cmake/" + name + "/" + name + "-config.cmake", printPackage(name)}};
}
