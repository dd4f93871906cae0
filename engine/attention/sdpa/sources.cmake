set(sources flash_tiles.cpp kernel_limits.cpp named_sdpa.cpp prepared_sdpa.cpp sdpa.cpp sdpa_kernels.cpp)
