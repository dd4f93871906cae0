# Nothing looks at floating-point exceptions, and loops that may not raise one too many stay scalar.
set_source_files_properties(longformer_banded/on_cpu.cpp PROPERTIES COMPILE_OPTIONS -fno-trapping-math)
