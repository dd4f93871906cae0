set(sources band_sequences.cpp windowed.cpp windowed_work.cpp)
set(sources_with_cuda windowed_on_cuda.cpp)
set(sources_without_cuda windowed_on_cuda_absent.cpp)
