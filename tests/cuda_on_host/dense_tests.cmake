# Dense attention on the host: its kernels in the emulation, its products by host_cublaslt. What
# orders them is plain C++.
set(dense ${CMAKE_SOURCE_DIR}/kernels/cuda/dense)
attnscope_library(attnscope_dense_on_host_cublaslt
                  SOURCES host_cublaslt.cpp ${dense}/cublaslt.cpp ${dense}/dense.cpp
                          ${dense}/product.cpp
                  LINK attnscope_cuda_dense_on_host)
foreach(suite IN ITEMS dense_softmax dense_attention)
  attnscope_test(cuda_on_host_${suite}_test SOURCES ${suite}_test.cpp
                 LINK attnscope_dense_on_host_cublaslt attnscope_kernel_cases)
endforeach()
