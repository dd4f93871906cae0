set(sources sdpa_cudnn.cpp)
