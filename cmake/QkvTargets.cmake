# How qkv's own code is compiled.

# Warnings, and the flag the arithmetic stands on: never contract a * b + c by itself.
function(qkv_compile_options target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -ffp-contract=off)
  # Extents and indices are 64 bits everywhere; where memory has 32, those that reach it fit.
  if(CMAKE_SIZEOF_VOID_P EQUAL 4 AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE -Wno-shorten-64-to-32)
  endif()
endfunction()

# A folder of the engine: no exceptions (callers get a Status), sees include/ and src/.
function(qkv_engine_folder target)
  add_library(${target} OBJECT ${ARGN})
  qkv_compile_options(${target})
  target_compile_options(${target} PRIVATE -fno-exceptions)
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  qkv_part_of(engine ${target})  # all such folders, without src/api and src/io
endfunction()

# `group`: a target that builds all of its parts and nothing else.
function(qkv_part_of group target)
  if(NOT TARGET ${group})
    add_custom_target(${group})
  endif()
  add_dependencies(${group} ${target})
endfunction()

# A GoogleTest program of tests/: qkv_test(io_npy_test SOURCES npy_test.cc LIBRARIES qkv_io).
# Tests see include/, src/ and tests/. Each TEST becomes one CTest entry, labelled by LABELS; the
# target tests-LABEL builds the programs of a label. Labels with a meaning for scripts/test.sh:
#   tensor, io, problem, plan, parallel, random, api   also run under sanitizers
#   small   tests of kernels on few shapes: also under sanitizers and under qemu
#   bits    every kernel equals `exact`: one of these must fail in a build with a fault
#   long    only in `make test-full`
function(qkv_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  qkv_compile_options(${name})
  # `if (x) EXPECT_EQ(a, b);` is right, but GoogleTest's macros end in an else.
  target_compile_options(${name} PRIVATE -Wno-dangling-else)
  target_include_directories(${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gmock GTest::gtest_main)
  foreach(label IN LISTS arg_LABELS)
    qkv_part_of(tests-${label} ${name})
  endforeach()
  # Several labels have to stay one argument through three more expansions of lists.
  string(REPEAT "\\" 8 escape)
  string(REPLACE ";" "${escape};" labels "${arg_LABELS}")
  gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${labels}")
endfunction()

# A libFuzzer program (clang only): qkv_fuzzer(npy_fuzzer SOURCES npy_fuzzer.cc LIBRARIES qkv_io).
function(qkv_fuzzer name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  qkv_compile_options(${name})
  target_include_directories(${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  qkv_part_of(fuzzers ${name})
endfunction()

# QKV_FAULT and QKV_BREAKABLE reach the SIMD code through these (src/simd/faults.h).
function(qkv_fault_definitions target)
  if(QKV_FAULT)
    string(TOUPPER "QKV_FAULT_${QKV_FAULT}" code)
    target_compile_definitions(${target} PRIVATE QKV_FAULT_CODE=${code})
  endif()
  if(QKV_BREAKABLE)
    target_compile_definitions(${target} PRIVATE QKV_BREAKABLE)
  endif()
endfunction()
