set(sources dense_torch.cpp prepared_dense.cpp)
