# The paper's windowed products; see kernels/cuda/CMakeLists.txt. How a problem is cut is plain C++;
# the products have one file for each class of head dimensions and type.
set(cuda_host_sources_windowed rules.cpp cut_rows.cpp cut_keys.cpp work.cpp)
set(cuda_sources_windowed calls.cpp rows.cu merges.cu)
foreach(type IN ITEMS float32 float16 bfloat16)
  foreach(columns IN ITEMS 16 32 64 128 256)
    list(APPEND cuda_sources_windowed ${type}_${columns}.cu)
  endforeach()
endforeach()
