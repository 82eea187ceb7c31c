# add_tl_library(NAME files... [DEPENDS targets...] [LINK libs...])
#
# A static library of this project. `DEPENDS` names TableGen targets; `LINK`
# names libraries of this project, MLIR or LLVM.
function(add_tl_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()

# add_tl_unittest(NAME files... [LINK libs...])
#
# A GoogleTest executable in bin/unit, registered with CTest.
function(add_tl_unittest name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin/unit")
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  set_property(GLOBAL APPEND PROPERTY TL_UNITTESTS ${name})
endfunction()
