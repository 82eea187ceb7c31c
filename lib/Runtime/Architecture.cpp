//===- Architecture.cpp - Which GPU a kernel was built for ----------------===//

#include "Architecture.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using namespace tl::runtime;

/// Parses what follows "sm_" at the front of `text`: "90a".
static std::optional<Architecture> parseTarget(StringRef text) {
  unsigned number;
  if (text.consumeInteger(10, number))
    return std::nullopt;
  Architecture result = {static_cast<int>(number / 10),
                         static_cast<int>(number % 10), 0};
  if (text.starts_with("a") || text.starts_with("f"))
    result.suffix = text.front();
  return result;
}

/// Parses the target that follows the first `marker` in `text`.
static std::optional<Architecture> findTarget(StringRef text,
                                              StringRef marker) {
  size_t position = text.find(marker);
  if (position == StringRef::npos)
    return std::nullopt;
  return parseTarget(text.substr(position + marker.size()).ltrim());
}

/// Reads the ELF header of a cubin. The header has no room for the suffix, but
/// ptxas notes its command line.
static std::optional<Architecture> ofCubin(StringRef bytes) {
  if (bytes.size() < sizeof(ELF::Elf64_Ehdr))
    return std::nullopt;
  const auto *header = reinterpret_cast<const unsigned char *>(bytes.data());
  uint16_t machine =
      support::endian::read16le(header + offsetof(ELF::Elf64_Ehdr, e_machine));
  if (machine != ELF::EM_CUDA)
    return std::nullopt;

  uint32_t flags =
      support::endian::read32le(header + offsetof(ELF::Elf64_Ehdr, e_flags));
  bool isV1 = header[ELF::EI_ABIVERSION] < ELF::ELFABIVERSION_CUDA_V2;
  int number = isV1 ? flags & ELF::EF_CUDA_SM
                    : (flags & ELF::EF_CUDA_SM_MASK) >> ELF::EF_CUDA_SM_OFFSET;
  Architecture result = {number / 10, number % 10, 0};
  std::optional<Architecture> noted = findTarget(bytes, "-arch sm_");
  if (noted && noted->major == result.major && noted->minor == result.minor)
    result.suffix = noted->suffix;
  return result;
}

std::optional<Architecture> Architecture::of(const KernelImage &image) {
  switch (image.kind) {
  case KernelImage::Kind::Cubin:
    return ofCubin(image.bytes);
  case KernelImage::Kind::PTX:
    return findTarget(image.bytes, ".target sm_");
  case KernelImage::Kind::HostFunction:
    break;
  }
  return std::nullopt;
}

bool Architecture::runsOn(int gpuMajor, int gpuMinor,
                          KernelImage::Kind kind) const {
  if (suffix == 'a')
    return gpuMajor == major && gpuMinor == minor;
  if (gpuMajor == major)
    return gpuMinor >= minor;
  // PTX is compiled for the GPU at hand, unless it uses features of a family.
  return kind == KernelImage::Kind::PTX && suffix == 0 && gpuMajor > major;
}

std::string Architecture::str() const {
  std::string result = "sm_" + std::to_string(major) + std::to_string(minor);
  if (suffix)
    result += suffix;
  return result;
}
