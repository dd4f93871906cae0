set(sources device_lists.cpp key_runs_of_plan.cpp longformer_banded.cpp on_cpu.cpp work.cpp)
set(sources_with_nvcc cells.cu sums.cu)
set(sources_with_cuda band_on_cuda.cpp on_cuda.cpp)
set(sources_without_cuda on_cuda_absent.cpp)
# Nothing looks at floating-point exceptions, and loops that may not raise one too many stay scalar.
set_source_files_properties(longformer_banded/on_cpu.cpp PROPERTIES COMPILE_OPTIONS -fno-trapping-math)
