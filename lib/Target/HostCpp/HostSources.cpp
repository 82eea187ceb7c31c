//===- HostSources.cpp - All files of a program of the host ---------------===//
//
// `host_kernel.cpp` around what is printed for each chip, the code for GPUs as
// C++, and the headers that go with it.
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

//===----------------------------------------------------------------------===//
// Headers
//===----------------------------------------------------------------------===//

static constexpr unsigned char kCallTypes[] = {
#include "CallTypes.inc"
};
static constexpr unsigned char kDriver[] = {
#include "Driver.inc"
};
static constexpr unsigned char kHostCall[] = {
#include "HostCall.inc"
};
static constexpr unsigned char kHostCpu[] = {
#include "HostCpu.inc"
};
static constexpr unsigned char kHostCuda[] = {
#include "HostCuda.inc"
};
static constexpr unsigned char kHostTvmFfi[] = {
#include "HostTvmFfi.inc"
};

template <size_t Size>
static HostFile makeHeader(StringRef path, const unsigned char (&bytes)[Size]) {
  return {path.str(), std::string(reinterpret_cast<const char *>(bytes), Size)};
}

HostFile tl::getCallHeader() { return makeHeader("tl-c/Call.h", kCallTypes); }

static std::vector<HostFile> getHeaders(bool isHost) {
  std::vector<HostFile> headers = {
      getCallHeader(), makeHeader("tl/host/call.h", kHostCall),
      makeHeader("tl/host/tvm_ffi.h", kHostTvmFfi)};
  if (isHost) {
    headers.push_back(makeHeader("tl/host/cpu.h", kHostCpu));
    return headers;
  }
  headers.push_back(makeHeader("tl/Runtime/CUDADriver.h", kDriver));
  headers.push_back(makeHeader("tl/host/cuda.h", kHostCuda));
  return headers;
}

//===----------------------------------------------------------------------===//
// What fits together
//===----------------------------------------------------------------------===//

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

/// Fails if a launch on the CPU asks for what only a GPU can do.
static Error checkHostLaunches(const LaunchPlan &plan) {
  for (const Launch &launch : plan.launches)
    if (launch.isCooperative || launch.clusterSize() != 1 ||
        !launch.symbols.empty() ||
        any_of(launch.params, [](const Parameter &parameter) {
          return parameter.kind == Parameter::Kind::TensorMap;
        }))
      return makeError("`" + plan.name + "`: kernel `" + launch.kernel +
                       "` is launched as only a GPU can; compile it for one");
  return Error::success();
}

static Error check(ArrayRef<HostProgram> programs) {
  const LaunchPlan &plan = programs.front().plan;
  if (!isIdentifier(plan.name))
    return makeError("the function `" + plan.name +
                     "` cannot be called from C: its name has other characters "
                     "than letters, digits and `_`; rename it");
  if (programs.size() == 1)
    return programs.front().isHost() ? checkHostLaunches(plan)
                                     : Error::success();
  for (const HostProgram &program : programs) {
    if (program.isHost())
      return makeError("`" + plan.name +
                       "`: a library is for GPUs or for the CPU, and `cpu` is "
                       "among its chips; make two libraries");
    if (count_if(programs, [&](const HostProgram &other) {
          return other.chip == program.chip;
        }) != 1)
      return makeError("`" + plan.name + "`: the chip `" + program.chip +
                       "` is named twice");
  }
  return Error::success();
}

/// Returns what sorts chips from the most to the least specific: `sm_90a`
/// before `sm_90` before `sm_80`.
static std::pair<unsigned, unsigned> getRank(StringRef chip) {
  unsigned number = 0;
  StringRef rest = chip.drop_front(3);
  rest.consumeInteger(10, number);
  return {number, rest == "a" ? 2 : rest == "f" ? 1 : 0};
}

static std::string printHeadline(StringRef text) {
  std::string line = ("//===- " + text + " ").str();
  constexpr size_t width = 80;
  StringRef end = "===//";
  if (line.size() + end.size() < width)
    line.append(width - line.size() - end.size(), '-');
  return line + end.str() + "\n";
}

//===----------------------------------------------------------------------===//
// host_kernel.cpp
//===----------------------------------------------------------------------===//

/// Prints the functions that C programs call, and the one that hosts of tvm-ffi
/// do.
static void printEntry(const LaunchPlan &plan, raw_ostream &os) {
  os << formatv(R"(
TL_EXPORT const char *tl_{0}_error(void) {{ return message.c_str(); }

TL_EXPORT int tl_{0}_call(const TlArgument *arguments, size_t count,
                          void *stream) {{
  return guard(message, [&] {{ run(arguments, count, stream); });
}

)",
                plan.name);
  os << fill("TL_EXPORT int tl_" + plan.name + "(", getCParameters(plan),
             ") {\n");
  std::vector<std::string> values = getVariableNames(plan);
  values.resize(plan.arguments.size());
  for (std::string &value : values)
    value = "toArgument(" + value + ")";
  if (!values.empty())
    os << fill("  const TlArgument arguments[] = {", values, "};\n");
  os << formatv("  return tl_{0}_call({1}, {2}, stream);\n}\n", plan.name,
                values.empty() ? "nullptr" : "arguments", values.size());
  os << formatv(R"(
// For hosts of apache-tvm-ffi, and what `tl_{0}_error` is about.
TL_EXPORT int __tvm_ffi_{0}(void *, const FFIValue *values, int32_t count,
                            FFIValue *) {{
  category = callFromFFI(values, count, message, run);
  return category ? -1 : 0;
}
TL_EXPORT int tl_{0}_category(void) {{ return category; }
)",
                plan.name);
}

/// Prints how a call finds its chip: the function `run`.
static void printChoice(ArrayRef<const HostProgram *> programs,
                        raw_ostream &os) {
  if (programs.size() == 1) {
    os << "\nusing " << programs.front()->chip << "::run;\n";
    return;
  }
  os << "\n/// The most specific one comes first.\nconst Variant variants[] = "
        "{\n";
  for (const HostProgram *program : programs)
    os << formatv("    {{&{0}::program, {0}::run},\n", program->chip);
  os << R"(};

void run(const TlArgument *arguments, size_t count, void *stream) {
  choose(variants, arguments, count).run(arguments, count, stream);
}
)";
}

static std::string printHostKernel(ArrayRef<const HostProgram *> programs,
                                   DeviceImages &images) {
  const HostProgram &first = *programs.front();
  const LaunchPlan &plan = first.plan;
  std::string body;
  raw_string_ostream bodyOS(body);
  for (const HostProgram *program : programs) {
    bodyOS << '\n';
    HostPrinter(*program, images, bodyOS).print();
  }
  printChoice(programs, bodyOS);

  std::string text;
  raw_string_ostream os(text);
  std::vector<std::string> chips;
  for (const HostProgram *program : programs)
    chips.push_back(program->chip);
  os << printHeadline("host_kernel.cpp - The host side of `" + plan.name + "`")
     << formatv("//\n// Made from the launch plan of `{0}`, for {1}.\n// "
                "Checks the "
                "arguments, computes what to launch, and launches it.\n//\n",
                plan.name, join(chips, ", "))
     << "//===" << std::string(70, '-') << "===//\n\n"
     << "#include \"tl/host/" << (first.isHost() ? "cpu" : "cuda")
     << ".h\"\n#include \"tl/host/tvm_ffi.h\"\n\nusing namespace tl::host;\n";
  if (first.isHost()) {
    unsigned number = 0;
    for (StringRef kernel : getKernelNames(plan))
      os << formatv("\nextern \"C\" void tl_kernel_{0}(void *const *params, "
                    "int64_t begin, int64_t end,\n    int64_t gridX, int64_t "
                    "gridY) __asm__(\"{1}\");\n",
                    number++, kernel);
  } else if (!images.empty()) {
    os << "\n// The kernels' code, of device_images.cpp.\n";
    for (auto [code, number] : images)
      os << formatv("extern \"C\" const unsigned char tl_image_{0}[];\n",
                    number);
  }
  os << "\nnamespace {\n"
     << body
     << "\n/// What went wrong in the thread's last call that failed.\n"
        "thread_local std::string message;\n"
        "thread_local int category = 0;\n\n} // namespace\n";
  printEntry(plan, os);
  return text;
}

std::vector<StringRef> tl::getKernelNames(const LaunchPlan &plan) {
  std::vector<StringRef> names;
  for (const Launch &launch : plan.launches)
    if (!is_contained(names, launch.kernel))
      names.push_back(launch.kernel);
  return names;
}

//===----------------------------------------------------------------------===//
// device_images.cpp
//===----------------------------------------------------------------------===//

static void printBytes(StringRef bytes, raw_ostream &os) {
  constexpr size_t perLine = 24;
  for (; !bytes.empty();
       bytes = bytes.drop_front(std::min(perLine, bytes.size()))) {
    os << "\n    \"";
    // Three digits always, so that a digit that follows is not one of them.
    for (unsigned char byte : bytes.take_front(perLine))
      os << '\\' << char('0' + (byte >> 6)) << char('0' + (byte >> 3 & 7))
         << char('0' + (byte & 7));
    os << '"';
  }
}

static std::string printDeviceImages(StringRef function,
                                     const DeviceImages &images) {
  std::string text;
  raw_string_ostream os(text);
  os << printHeadline("device_images.cpp - The kernels of `" + function.str() +
                      "`")
     << "//\n// Cubins, or PTX where there is no cubin, as the driver takes "
        "them.\n//\n"
     << "//===" << std::string(70, '-') << "===//\n";
  for (auto [code, number] : images) {
    // The size is that of the text, whose zero ends PTX.
    os << formatv("\nextern \"C\" const unsigned char tl_image_{0}[];\n"
                  "alignas(64) const unsigned char tl_image_{0}[] =",
                  number);
    printBytes(code, os);
    os << ";\n";
  }
  return text;
}

//===----------------------------------------------------------------------===//
// All files
//===----------------------------------------------------------------------===//

Expected<HostSources> tl::printHostSources(ArrayRef<HostProgram> programs) {
  if (Error error = check(programs))
    return std::move(error);
  std::vector<const HostProgram *> sorted;
  for (const HostProgram &program : programs)
    sorted.push_back(&program);
  if (sorted.size() > 1)
    sort(sorted, [](const HostProgram *lhs, const HostProgram *rhs) {
      return getRank(lhs->chip) > getRank(rhs->chip);
    });

  HostSources result;
  DeviceImages images;
  const HostProgram &first = *sorted.front();
  result.sources.push_back(
      {"host_kernel.cpp", printHostKernel(sorted, images)});
  if (!images.empty())
    result.sources.push_back(
        {"device_images.cpp", printDeviceImages(first.plan.name, images)});
  if (first.isHost())
    for (auto [i, kernel] : enumerate(getKernelNames(first.plan)))
      result.objects.push_back(
          {formatv("kernel_{0}.o", i), first.code.lookup(kernel).str()});
  result.headers = getHeaders(first.isHost());
  return result;
}
