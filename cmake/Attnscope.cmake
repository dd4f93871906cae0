# Compiler settings shared by every target, and the functions that make targets.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# What moc reads is never generated: it need not wait for the rooms below.
set(CMAKE_AUTOGEN_ORIGIN_DEPENDS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

find_program(CCACHE ccache)
if(CCACHE)
  # Without this ccache does not look into what is compiled with precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(attnscope_settings INTERFACE)
# g++ 12 raises false alarms about the bounds of short std::strings (its bug 105329); the sanitizers
# watch bounds. -fPIC for programs, too: objects that are compiled alike can share precompiled headers.
target_compile_options(attnscope_settings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fPIC -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:ATTNSCOPE_OF_STRANGERS>>>:-Wshadow>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>
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

# Headers of other people's that most files of a kind read, compiled once for all of them:
#   data     nlohmann-json and fmt       command  the same with CLI11       window  Qt
#   torch    LibTorch's core             test     GoogleTest with data
# and such for tests of each kind; kernel_test is for what is compiled with OpenMP.
# Every file still names what it includes: scripts/dev/lint reads them without.
set(headers_data <nlohmann/json.hpp> <fmt/format.h> <fmt/ranges.h> <tl/expected.hpp> <algorithm> <array>
    <chrono> <cmath> <cstdint> <filesystem> <fstream> <functional> <map> <memory> <optional> <set> <span>
    <sstream> <string> <string_view> <unordered_map> <utility> <variant> <vector>)
set(headers_command ${headers_data} <CLI/CLI.hpp>)
set(headers_window <QAbstractItemView> <QApplication> <QBoxLayout> <QComboBox> <QFileDialog> <QFormLayout>
    <QHeaderView> <QKeyEvent> <QLabel> <QLineEdit> <QMainWindow> <QMenu> <QPainter> <QPainterPath>
    <QSettings> <QSpinBox> <QStyledItemDelegate> <QTableView> <QTimer> <QToolButton> <QWidget> <algorithm>
    <array> <cmath> <functional> <map> <memory> <optional> <set> <span> <string> <utility> <vector> <fmt/format.h>
    <tl/expected.hpp>)
set(headers_window_test <QtTest> <QSignalSpy> ${headers_window})
set(headers_torch <ATen/core/Tensor.h> <ATen/Parallel.h> <c10/core/Allocator.h> <ATen/ops/empty.h> <ATen/ops/matmul.h> <fmt/format.h>
    <tl/expected.hpp> <algorithm> <array> <chrono> <cmath> <cstdint> <functional> <memory> <optional> <span>
    <string> <utility> <vector>)
set(headers_torch_test <gtest/gtest.h> <gmock/gmock.h> ${headers_torch})
set(headers_window_gtest <gtest/gtest.h> <gmock/gmock.h> ${headers_window})
set(headers_test <gtest/gtest.h> <gmock/gmock.h> ${headers_data})
set(headers_kernel_test ${headers_test})

# attnscope_use_headers(TARGET KIND [LINK libraries that have them]): the target's files read the
# compiled headers of this kind, which are made with the first target that asks.
function(attnscope_use_headers target kind)
  set(holder attnscope_headers_${kind})
  if(NOT TARGET ${holder})
    set(source ${CMAKE_BINARY_DIR}/generated/headers_${kind}.cpp)
    if(NOT EXISTS ${source})
      file(WRITE ${source} "// Exists so that its headers can be compiled.\n")
    endif()
    add_library(${holder} OBJECT ${source})
    target_link_libraries(${holder} PRIVATE attnscope_settings ${ARGN})
    target_precompile_headers(${holder} PRIVATE ${headers_${kind}})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${holder})
endfunction()

# Files of a room are compiled several at a time: what they all instantiate (JSON, the command line's
# parser) is then compiled once for several and not in each. To work on one file for long, configure with
# -DATTNSCOPE_UNITY=OFF.
option(ATTNSCOPE_UNITY "Compile several files of a room at once" ON)
function(attnscope_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ATTNSCOPE_UNITY} UNITY_BUILD_BATCH_SIZE 10)
  # Says of a source what is true of headers alone: here sources are included, too.
  if(ATTNSCOPE_UNITY)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# attnscope_library(NAME [SOURCES...] [LINK public libraries...] [HEADERS KIND]
# [APART]): one room of the house; its sources are the folder's unless they are named. APART: each file
# is compiled by itself.
function(attnscope_library name)
  cmake_parse_arguments(ROOM "APART" "HEADERS" "SOURCES;LINK" ${ARGN})
  if(NOT ROOM_SOURCES)
    file(GLOB ROOM_SOURCES CONFIGURE_DEPENDS *.cpp)
  endif()
  add_library(${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(${name} PUBLIC attnscope_settings ${ROOM_LINK})
  if(NOT ROOM_APART)
    attnscope_compile_together(${name})
    # A program may bring a list of its own, which then takes the place of the room's whole object; what is
    # for CUDA alone is not there in every build.
    set(alone ${ROOM_SOURCES})
    list(FILTER alone INCLUDE REGEX "/((family_)?list|[^/]*cuda[^/]*)\\.cpp$")
    set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  if(ROOM_HEADERS)
    attnscope_use_headers(${name} ${ROOM_HEADERS} ${ROOM_LINK})
  endif()
endfunction()

# attnscope_own_locks(TEST...): workers that these ctest entries start take turns with nobody else's: tests run side
# by side, and beside a person's measurements.
function(attnscope_own_locks)
  foreach(entry IN LISTS ARGN)
    set(folder ${CMAKE_BINARY_DIR}/locks/${entry})
    file(MAKE_DIRECTORY ${folder})
    set_property(TEST ${entry} APPEND PROPERTY ENVIRONMENT ATTNSCOPE_LOCKS=${folder})
  endforeach()
endfunction()

# attnscope_test(NAME SOURCES... LINK... [HEADERS KIND] [NEEDS programs...] [SHARDS N] [RELEASE]): one
# GoogleTest program and one ctest entry, because loading LibTorch once per test would cost more than the tests;
# long ones are cut into N entries that run side by side.
function(attnscope_test name)
  cmake_parse_arguments(SUITE "RELEASE" "HEADERS;SHARDS" "SOURCES;LINK;NEEDS" ${ARGN})
  if(NOT SUITE_HEADERS)
    set(SUITE_HEADERS test)
  endif()
  add_executable(${name} ${SUITE_SOURCES})
  attnscope_compile_together(${name})
  # Suites know nothing of each other: a local name may be another's constant. scripts/dev/lint, which reads
  # each by itself, looks for what is hidden within one.
  set_target_properties(${name} PROPERTIES ATTNSCOPE_OF_STRANGERS ${ATTNSCOPE_UNITY})
  target_link_libraries(${name} PRIVATE attnscope_settings ${SUITE_LINK} GTest::gtest GTest::gmock
                        GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_compile_definitions(${name} PRIVATE ATTNSCOPE_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                             ATTNSCOPE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  attnscope_use_headers(${name} ${SUITE_HEADERS} ${SUITE_LINK} fmt::fmt nlohmann_json::nlohmann_json GTest::gtest
                        GTest::gmock)
  # Programs that the tests start are named by definitions: NAME_PROGRAM for attnscope, fake_worker ...
  foreach(program IN LISTS SUITE_NEEDS)
    add_dependencies(${name} ${program})
    string(TOUPPER ${program} word)
    string(MAKE_C_IDENTIFIER ${word} word)
    target_compile_definitions(${name} PRIVATE ${word}_PROGRAM="$<TARGET_FILE:${program}>")
  endforeach()
  set(shards 1)
  if(SUITE_SHARDS)
    set(shards ${SUITE_SHARDS})
  endif()
  foreach(shard RANGE 1 ${shards})
    math(EXPR index "${shard} - 1")
    set(entry ${name})
    if(shards GREATER 1)
      string(APPEND entry _${shard})
    endif()
    add_test(NAME ${entry} COMMAND ${name})
    # Threads that spin between tiny parallel regions starve each other on a busy machine.
    set_tests_properties(${entry} PROPERTIES TIMEOUT 900
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index};OMP_WAIT_POLICY=passive")
    attnscope_own_locks(${entry})
    if(SUITE_RELEASE)
      set_tests_properties(${entry} PROPERTIES LABELS release)
    endif()
  endforeach()
  if(SUITE_RELEASE)
    add_dependencies(release_tests ${name})
  endif()
endfunction()

# attnscope_room_test(ROOM ...): the tests of one room: every .cpp of the folder in one program.
function(attnscope_room_test room)
  cmake_parse_arguments(SUITE "RELEASE" "HEADERS;SHARDS" "SOURCES;WITHOUT;LINK;NEEDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  foreach(file IN LISTS SUITE_WITHOUT)
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  set(release "")
  if(SUITE_RELEASE)
    set(release RELEASE)
  endif()
  attnscope_test(${room}_test SOURCES ${sources} ${SUITE_SOURCES} LINK ${SUITE_LINK} NEEDS ${SUITE_NEEDS}
                 HEADERS ${SUITE_HEADERS} SHARDS ${SUITE_SHARDS} ${release})
endfunction()
