# LibTorch as the torch wheel lays it out: what scripts/setup unpacks into .deps/libtorch, or the
# torch of a Python that is there already. find_package(Torch) wants a CUDA Toolkit even for CPU use
# and adds flags that CUDA 13 rejects, hence imported targets.
#
#   -DATTNSCOPE_TORCH_DIR=$(python3 -c 'import torch, os; print(os.path.dirname(torch.__file__))')
#
# With ATTNSCOPE_TORCH_CUDA the worker computes on CUDA, too: it needs the kernels (nvcc) and the
# wheel's libtorch_cuda.so, which the default set-up leaves out. Sets ATTNSCOPE_TORCH_HAS_CUDA.

set(ATTNSCOPE_LIBTORCH ${CMAKE_SOURCE_DIR}/.deps/libtorch CACHE PATH
    "Folder that holds torch/ and nvidia/ as the wheels lay them out")
set(ATTNSCOPE_TORCH_DIR "" CACHE PATH
    "The torch folder of a Python's site-packages, to be used instead of ATTNSCOPE_LIBTORCH/torch")
set(ATTNSCOPE_TORCH_CUDA AUTO CACHE STRING
    "Heats on CUDA: AUTO builds them when the kernels are built and LibTorch has libtorch_cuda.so")
set_property(CACHE ATTNSCOPE_TORCH_CUDA PROPERTY STRINGS AUTO ON OFF)

set(torch_dir ${ATTNSCOPE_LIBTORCH}/torch)
if(ATTNSCOPE_TORCH_DIR)
  get_filename_component(torch_dir ${ATTNSCOPE_TORCH_DIR} ABSOLUTE)
endif()
set(torch_lib ${torch_dir}/lib)
# Beside torch/ stand the folders of the wheels it depends on: nvidia/cu13/lib, nvidia/cudnn/lib ...
file(GLOB nvidia_libs LIST_DIRECTORIES true ${torch_dir}/../nvidia/*/lib)

if(NOT EXISTS ${torch_lib}/libtorch_cpu.so)
  if(ATTNSCOPE_TORCH_DIR)
    message(FATAL_ERROR "ATTNSCOPE_TORCH_DIR is ${torch_dir}, and there is no lib/libtorch_cpu.so "
                        "in it. Give the torch folder inside a Python's site-packages.")
  endif()
  message(FATAL_ERROR "LibTorch is not in ${ATTNSCOPE_LIBTORCH}. Run scripts/setup, or configure "
                      "with -DATTNSCOPE_TORCH=OFF to build without the measuring worker.")
endif()

set(ATTNSCOPE_TORCH_HAS_CUDA OFF)
if(NOT ATTNSCOPE_TORCH_CUDA STREQUAL "OFF")
  set(torch_cuda_missing "")
  if(NOT ATTNSCOPE_HAS_CUDA)
    set(torch_cuda_missing "the kernels are built without nvcc (see ATTNSCOPE_CUDA)")
  elseif(NOT EXISTS ${torch_lib}/libtorch_cuda.so OR NOT EXISTS ${torch_lib}/libc10_cuda.so)
    set(torch_cuda_missing "${torch_lib} has no libtorch_cuda.so (see ATTNSCOPE_TORCH_DIR)")
  endif()
  if(NOT torch_cuda_missing)
    set(ATTNSCOPE_TORCH_HAS_CUDA ON)
  elseif(ATTNSCOPE_TORCH_CUDA STREQUAL "ON")
    message(FATAL_ERROR "ATTNSCOPE_TORCH_CUDA=ON, but ${torch_cuda_missing}.")
  endif()
endif()

add_library(libtorch INTERFACE)
# Searched last: the wheel carries its own copy of fmt, which must not hide the installed one.
target_compile_options(libtorch INTERFACE "SHELL:-idirafter ${torch_dir}/include")
# torch::autograd::Function reserves a std::vector<bool>, and g++ 13 and later take its copy for an overflow.
target_compile_options(libtorch INTERFACE
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-Wno-stringop-overflow>)
target_compile_definitions(libtorch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
# --no-as-needed keeps libtorch_cpu although operators register themselves; gomp is the wheel's own,
# so that one OpenMP runtime serves LibTorch and the kernels.
target_link_options(libtorch INTERFACE -Wl,--no-as-needed -Wl,--disable-new-dtags)
foreach(folder IN ITEMS ${torch_lib} ${nvidia_libs})
  target_link_options(libtorch INTERFACE -Wl,-rpath-link,${folder})
endforeach()
# CMake's own rpath, which an installation replaces.
list(APPEND CMAKE_BUILD_RPATH ${torch_lib} ${nvidia_libs})
target_link_libraries(libtorch INTERFACE ${torch_lib}/libtorch_cpu.so ${torch_lib}/libc10.so)
if(ATTNSCOPE_TORCH_HAS_CUDA)
  # After whatever else is searched, for the same reason: c10/cuda includes the runtime's headers.
  foreach(folder IN LISTS CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES)
    target_compile_options(libtorch INTERFACE "SHELL:-idirafter ${folder}")
  endforeach()
  target_link_libraries(libtorch INTERFACE ${torch_lib}/libtorch_cuda.so ${torch_lib}/libc10_cuda.so)
  target_compile_definitions(libtorch INTERFACE ATTNSCOPE_COMPUTES_ON_CUDA)
endif()

# Wheels differ in what they call the OpenMP runtime they bring. Where it is no plain libgomp.so.1,
# -fopenmp at linking would map the system's beside it.
if(NOT EXISTS ${torch_lib}/libgomp.so.1)
  file(GLOB torch_gomp ${torch_lib}/libgomp-*.so.1*)
  if(torch_gomp)
    list(GET torch_gomp 0 torch_gomp)
    set_target_properties(attnscope_openmp PROPERTIES INTERFACE_LINK_OPTIONS ""
                                                      INTERFACE_LINK_LIBRARIES ${torch_gomp})
  endif()
endif()
message(STATUS "LibTorch: ${torch_dir}, heats on CUDA: ${ATTNSCOPE_TORCH_HAS_CUDA}")
