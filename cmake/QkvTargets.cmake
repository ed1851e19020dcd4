# How qkv's own code is compiled.

# Warnings, and the flag the arithmetic stands on: never contract a * b + c by itself.
function(qkv_compile_options target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -ffp-contract=off)
endfunction()

# A folder of the engine: no exceptions (callers get a Status), sees include/ and src/.
function(qkv_engine_folder target)
  add_library(${target} OBJECT ${ARGN})
  qkv_compile_options(${target})
  target_compile_options(${target} PRIVATE -fno-exceptions)
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
endfunction()

# A GoogleTest program of tests/: qkv_test(io_npy_test SOURCES npy_test.cc LIBRARIES qkv_io).
# Tests see include/, src/ and tests/. Each TEST becomes one CTest entry, labelled by LABELS.
function(qkv_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  qkv_compile_options(${name})
  target_include_directories(${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS "${arg_LABELS}")
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
