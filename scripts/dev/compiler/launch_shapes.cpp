// SPDX-License-Identifier: Apache-2.0
//
// Prints the blocks of each instantiation of the CUDA kernels, from the constants with which it is
// launched: lines `KERNEL<ARGUMENTS> TAB threads TAB bytes of dynamic shared memory`, the usual
// launch first.
// scripts/dev/compiler_report compiles it for the host; no kernel runs.

#include <cstdio>

#include "engine/attention/longformer_banded/band.cuh"
#include "kernels/cuda/segment/arguments.h"
#include "kernels/cuda/segment/walk_kernels.cuh"
#include "kernels/cuda/windowed/arguments.h"

namespace attnscope::cuda {
namespace {

template <typename T>
constexpr const char* name_of = "float";
template <>
constexpr const char* name_of<__half> = "__half";
template <>
constexpr const char* name_of<__nv_bfloat16> = "__nv_bfloat16";

template <DType dtype, int columns>
void print_walks() {
  const char* type = name_of<typename NumberOf<dtype>::T>;
  constexpr int threads = 32 * walk_warps;
  if (columns == 32) std::printf("merge_walks_kernel<%s>\t%d\t0\n", type, threads);
  for (const bool many : {false, true}) {
    if (!has_walks(columns, dtype, {.many = many, .broad = true})) continue;
    std::printf("segment_broad_walk_kernel<%s, %d, %s>\t%d\t0\n", type, columns,
                many ? "true" : "false", threads);
  }
  const auto print_backward = [&]<Sums sums> {
    std::printf("merge_backward_walks_kernel<%s, %d>\t%d\t0\n", type, static_cast<int>(sums),
                threads);
    std::printf("segment_backward_walk_kernel<%s, %d, %d>\t%d\t%d\n", type, columns,
                static_cast<int>(sums), threads, walk_warps * kept_by_warp<columns, sums>);
  };
  print_backward.template operator()<Sums::queries>();
  if constexpr (columns <= most_columns_of_both) {
    print_backward.template operator()<Sums::keys_and_values>();
  } else {
    print_backward.template operator()<Sums::keys>();
    print_backward.template operator()<Sums::values>();
  }
  for (const bool far : {false, true}) {
    for (const bool many : {false, true}) {
      if (!has_walks(columns, dtype, {far, many})) continue;
      std::printf("segment_walk_kernel<%s, %d, %s, %s>\t%d\t0\n", type, columns,
                  far ? "true" : "false", many ? "true" : "false", threads);
    }
  }
}

/// The unfused steps, for the longest rows.
template <DType dtype>
void print_windowed() {
  using namespace windowed;
  const char* type = name_of<typename NumberOf<dtype>::T>;
  for (const int warps : {few_warps, many_warps}) {
    std::printf("windowed_scores_kernel<%s>\t%d\t%ld\n", type, 32 * warps,
                static_cast<long>(shared_of_scores(256, warps)));
    for (const char* of : {"false", "true"}) {
      std::printf("windowed_sums_kernel<%s, %s>\t%d\t%ld\n", type, of, 32 * warps,
                  static_cast<long>(shared_of_sums(warps)));
      if (dtype == DType::float32) std::printf("windowed_rows_kernel<%s>\t%d\t0\n", of, 32 * warps);
    }
  }
}

template <int columns>
void print_class() {
  print_walks<DType::float16, columns>();
  print_walks<DType::bfloat16, columns>();
}

/// Kernels of one instantiation, and those with the same launch for all template arguments: segment
/// attention's plain kernels and dense attention's (kernels/cuda/dense/softmax.cu).
void print_others() {
  constexpr long rows = plain_warps * (plain_floats + 2 * 256) * static_cast<long>(sizeof(float));
  std::printf("segment_forward_kernel\t%d\t%ld\n", 32 * plain_warps, rows);
  std::printf("segment_backward_kernel\t%d\t%ld\n", 32 * plain_warps, rows);
  print_windowed<DType::float32>();
  print_windowed<DType::float16>();
  print_windowed<DType::bfloat16>();
  for (const char* kernel :
       {"dense_softmax_kernel", "dense_softmax_backward_kernel", "dense_mask_kernel"}) {
    std::printf("%s\t256\t64\n", kernel);
  }
}

/// The banded kernels, the same for all types (engine/attention/longformer_banded).
void print_banded() {
  using namespace longformer_banded;
  std::printf("banded_cells_kernel\t%d\t%zu\n", block_threads, sizeof(FirstCell));
  for (const char* kernel : {"banded_softmax_kernel", "banded_row_dots_kernel"}) {
    std::printf("%s\t%d\t0\n", kernel, block_threads);
  }
  for (const char* kernel : {"banded_row_sums_kernel", "banded_key_sums_kernel"}) {
    std::printf("%s\t%d\t%ld\n", kernel, block_threads, static_cast<long>(shared_of_sums));
  }
}

}  // namespace
}  // namespace attnscope::cuda

int main() {
  using namespace attnscope::cuda;
  print_class<32>();
  print_class<64>();
  print_others();
  print_banded();
  return 0;
}
