set(sources sdpa_efficient.cpp)
