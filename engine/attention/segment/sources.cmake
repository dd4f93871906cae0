set(sources segment.cpp)
set(sources_with_cuda segment_on_cuda.cpp)
set(sources_without_cuda segment_on_cuda_absent.cpp)
