set(cuda_host_sources_work device_list.cpp)
