set(sources sdpa_flash.cpp)
