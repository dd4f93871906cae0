set(sources band_chunks.cpp chunk_peak.cpp chunk_structure.cpp chunk_work.cpp dense_rows.cpp longformer_chunks.cpp prepared_chunks.cpp token_set.cpp)
