set(sources dense.cpp)
set(sources_with_cuda dense_on_cuda.cpp)
set(sources_without_cuda dense_on_cuda_absent.cpp)
