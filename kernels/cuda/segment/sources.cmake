# The fused kernels: one file for each head-dimension class and type.
set(cuda_host_sources_segment)
set(cuda_sources_segment segment.cpp)
foreach(type IN ITEMS float32 float16 bfloat16)
  foreach(columns IN ITEMS 16 32 64 128 256)
    list(APPEND cuda_sources_segment ${type}_d${columns}.cu)
  endforeach()
endforeach()
