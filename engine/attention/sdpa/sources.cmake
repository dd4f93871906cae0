set(sources prepared_sdpa.cpp sdpa.cpp)
