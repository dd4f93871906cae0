# Dense attention; see kernels/cuda/CMakeLists.txt. cuBLASLt is loaded at run time; its header is
# only looked at to check our declarations.
set(cuda_sources_dense cublaslt.cpp cublaslt_check.cpp dense.cpp product.cpp softmax.cu)
if(ATTNSCOPE_HAS_CUDA)
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/cublaslt_check.cpp PROPERTIES
    COMPILE_OPTIONS "-isystem;${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES}")
  # Where the Toolkit keeps it, for processes that have no other copy on their search path.
  cmake_path(GET CMAKE_CUDA_COMPILER PARENT_PATH cuda_programs)
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/cublaslt.cpp PROPERTIES
    COMPILE_DEFINITIONS "ATTNSCOPE_CUBLASLT_FILE=\"${cuda_programs}/../lib64/libcublasLt.so\"")
endif()
