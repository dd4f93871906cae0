# The banded implementation's kernels, which stand in its folder.
set(banded ${CMAKE_SOURCE_DIR}/engine/attention/longformer_banded)
attnscope_cuda_on_host(attnscope_banded_on_host SOURCES ${banded}/cells.cu ${banded}/sums.cu
                       LINK attnscope_cuda_work attnscope_plan)
attnscope_library(attnscope_banded_on_host_case
                  SOURCES ${banded}/band_on_cuda.cpp ${banded}/device_lists.cpp
                          ${banded}/key_runs_of_plan.cpp
                  LINK attnscope_banded_on_host attnscope_kernel_cases)
attnscope_test(cuda_on_host_banded_test SOURCES banded_test.cpp
               LINK attnscope_banded_on_host_case)
