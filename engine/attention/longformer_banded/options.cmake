# Floating-point exceptions are not used, and without this option the compiler does not vectorise loops
# that might raise additional ones.
set_source_files_properties(longformer_banded/on_cpu.cpp PROPERTIES COMPILE_OPTIONS -fno-trapping-math)
