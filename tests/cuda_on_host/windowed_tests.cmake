# The paper's windowed products and the three steps around them, in the emulation.
attnscope_library(attnscope_windowed_on_host_case SOURCES windowed_case.cpp
                  LINK attnscope_cuda_windowed_on_host attnscope_gradient_cases)
foreach(suite IN ITEMS windowed_products windowed_attention)
  attnscope_test(cuda_on_host_${suite}_test SOURCES ${suite}_test.cpp
                 LINK attnscope_windowed_on_host_case)
endforeach()
