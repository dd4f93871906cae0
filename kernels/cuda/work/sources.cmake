set(cuda_host_sources_work cut_into_units.cpp device_list.cpp draft.cpp keys_direction.cpp
    narrow_rows.cpp rows_direction.cpp rules.cpp tiles.cpp token_runs.cpp unseen_tokens.cpp)
