set(sources sdpa_mask.cpp)
