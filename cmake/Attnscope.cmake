# Compiler settings shared by every target, and the two functions that make targets.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(attnscope_settings INTERFACE)
target_compile_options(attnscope_settings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  $<$<BOOL:${ATTNSCOPE_WARNINGS_AS_ERRORS}>:-Werror>>)
target_include_directories(attnscope_settings INTERFACE ${CMAKE_SOURCE_DIR})
if(ATTNSCOPE_SANITIZE)
  target_compile_options(attnscope_settings INTERFACE -fsanitize=${ATTNSCOPE_SANITIZE}
                         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(attnscope_settings INTERFACE -fsanitize=${ATTNSCOPE_SANITIZE})
endif()

# OpenMP by its flag: the full path that find_package gives would compete with the libgomp of
# LibTorch's wheel, and one process must map one OpenMP runtime.
add_library(attnscope_openmp INTERFACE)
target_compile_options(attnscope_openmp INTERFACE -fopenmp)
target_link_options(attnscope_openmp INTERFACE -fopenmp)

# attnscope_library(NAME SOURCES... [LINK public libraries...]): one room of the house.
function(attnscope_library name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(${name} PUBLIC attnscope_settings ${ROOM_LINK})
endfunction()

# attnscope_test(NAME SOURCES... LINK...): one GoogleTest program and one ctest entry, run as a whole
# because loading LibTorch once per test would cost more than the tests.
function(attnscope_test name)
  cmake_parse_arguments(SUITE "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${SUITE_SOURCES})
  target_link_libraries(${name} PRIVATE attnscope_settings ${SUITE_LINK} GTest::gtest GTest::gmock
                        GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_compile_definitions(${name} PRIVATE ATTNSCOPE_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                             ATTNSCOPE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 900)
endfunction()
