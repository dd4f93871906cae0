# LibTorch from the PyPI wheels that scripts/setup unpacks into .deps/libtorch. find_package(Torch)
# wants a CUDA Toolkit even for CPU use and adds flags that CUDA 13 rejects, hence imported targets.

set(ATTNSCOPE_LIBTORCH ${CMAKE_SOURCE_DIR}/.deps/libtorch CACHE PATH
    "Folder that holds torch/ and nvidia/ as the wheels lay them out")
set(torch_lib ${ATTNSCOPE_LIBTORCH}/torch/lib)
set(cuda_runtime_lib ${ATTNSCOPE_LIBTORCH}/nvidia/cu13/lib)

if(NOT EXISTS ${torch_lib}/libtorch_cpu.so)
  message(FATAL_ERROR "LibTorch is not in ${ATTNSCOPE_LIBTORCH}. Run scripts/setup, or configure "
                      "with -DATTNSCOPE_TORCH=OFF to build without the measuring worker.")
endif()

add_library(libtorch INTERFACE)
# Searched last: the wheel carries its own copy of fmt, which must not hide the installed one.
target_compile_options(libtorch INTERFACE "SHELL:-idirafter ${ATTNSCOPE_LIBTORCH}/torch/include")
target_compile_definitions(libtorch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
# --no-as-needed keeps libtorch_cpu although operators register themselves; gomp is the wheel's own,
# so that one OpenMP runtime serves LibTorch and the kernels.
target_link_options(libtorch INTERFACE -Wl,--no-as-needed
                    -Wl,-rpath,${torch_lib} -Wl,-rpath,${cuda_runtime_lib}
                    -Wl,-rpath-link,${torch_lib} -Wl,-rpath-link,${cuda_runtime_lib}
                    -Wl,--disable-new-dtags)
target_link_libraries(libtorch INTERFACE ${torch_lib}/libtorch_cpu.so ${torch_lib}/libc10.so)
