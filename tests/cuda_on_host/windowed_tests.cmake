# The paper's windowed products and the three steps around them, in the emulation.
attnscope_library(attnscope_windowed_on_host_case SOURCES windowed_case.cpp
                  LINK attnscope_cuda_windowed_on_host attnscope_kernel_cases)
set(windowed_suites windowed_products)
if(NOT ATTNSCOPE_SANITIZE)
  list(APPEND windowed_suites windowed_attention)
endif()
foreach(suite IN LISTS windowed_suites)
  attnscope_test(cuda_on_host_${suite}_test SOURCES ${suite}_test.cpp
                 LINK attnscope_windowed_on_host_case)
endforeach()
