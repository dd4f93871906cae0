set(sources assembled_attention.cpp assembled_work.cpp flash_part_kernel.cpp flash_window.cpp flash_window_limits.cpp
            parts.cpp token_rows.cpp)
