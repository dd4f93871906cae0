set(sources key_runs_of_plan.cpp longformer_banded.cpp on_cpu.cpp work.cpp)
