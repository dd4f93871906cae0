set(sources bigbird.cpp block_parts.cpp block_structure.cpp predicted_bytes.cpp prepared_bigbird.cpp)
