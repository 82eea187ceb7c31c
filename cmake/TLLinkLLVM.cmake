# Finds Debian's LLVM and MLIR 22.1 and makes them link statically, so that what
# we ship needs no libLLVM.so or libMLIR.so.
#
# Debian exports every MLIR target with `LLVM` (the shared library) in its link
# interface. Linking archives against it would load two copies of every TypeID,
# so the name is replaced by the component archives we need.

find_package(MLIR 22.1 REQUIRED CONFIG)
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")

# Documentation targets write below this directory.
set(MLIR_BINARY_DIR "${CMAKE_BINARY_DIR}")
set(LLVM_RUNTIME_OUTPUT_INTDIR "${CMAKE_BINARY_DIR}/bin")
set(LLVM_LIBRARY_OUTPUT_INTDIR "${CMAKE_BINARY_DIR}/lib")

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include(HandleLLVMOptions)

include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${llvm_definitions})

# Component names are case-sensitive here.
llvm_map_components_to_libnames(TL_LLVM_LIBS
  Analysis AsmParser BitReader BitWriter Core IPO IRReader InstCombine Linker
  MC NVPTXCodeGen NVPTXDesc NVPTXInfo OrcJIT Passes Support SupportLSP Target
  TargetParser TransformUtils Vectorize X86AsmParser X86CodeGen X86Desc X86Info)

foreach(lib IN LISTS MLIR_EXPORTED_TARGETS)
  get_target_property(deps ${lib} INTERFACE_LINK_LIBRARIES)
  if(NOT deps)
    continue()
  endif()
  list(TRANSFORM deps REPLACE "^\\$<LINK_ONLY:LLVM>$" "LLVM")
  if("LLVM" IN_LIST deps)
    list(REMOVE_ITEM deps LLVM)
    set_target_properties(${lib} PROPERTIES
      INTERFACE_LINK_LIBRARIES "${deps};${TL_LLVM_LIBS}")
  endif()
endforeach()

# LLVMSupport exports libz and libzstd as shared libraries; ours go inside too.
find_library(TL_LIBZ libz.a REQUIRED)
find_library(TL_LIBZSTD libzstd.a REQUIRED)
get_target_property(deps LLVMSupport INTERFACE_LINK_LIBRARIES)
list(TRANSFORM deps REPLACE "^ZLIB::ZLIB$" "${TL_LIBZ}")
list(TRANSFORM deps REPLACE "^zstd::libzstd_shared$" "${TL_LIBZSTD}")
set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES "${deps}")
