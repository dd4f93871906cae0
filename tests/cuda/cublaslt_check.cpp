// SPDX-License-Identifier: Apache-2.0
//
// Compares our declarations of cuBLASLt with those of NVIDIA's header, if it is installed.
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

#include <type_traits>

#include "kernels/cuda/dense/cublaslt.h"

namespace attnscope::cuda {
namespace {

static_assert(lt::success == CUBLAS_STATUS_SUCCESS);
static_assert(lt::compute_32f == CUBLAS_COMPUTE_32F);
static_assert(lt::real_32f == CUDA_R_32F && lt::real_16f == CUDA_R_16F &&
              lt::real_16bf == CUDA_R_16BF);
static_assert(lt::transposed == CUBLAS_OP_T);
static_assert(lt::matmul_transa == CUBLASLT_MATMUL_DESC_TRANSA &&
              lt::matmul_transb == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(lt::layout_batch_count == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT &&
              lt::layout_batch_offset == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(lt::preference_workspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(lt::preference_alignment_a == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
              lt::preference_alignment_a + 1 == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES &&
              lt::preference_alignment_a + 2 == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES &&
              lt::preference_alignment_d == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(lt::algorithm_id == CUBLASLT_ALGO_CONFIG_ID &&
              lt::algorithm_tile == CUBLASLT_ALGO_CONFIG_TILE_ID &&
              lt::algorithm_splits == CUBLASLT_ALGO_CONFIG_SPLITK_NUM &&
              lt::algorithm_stages == CUBLASLT_ALGO_CONFIG_STAGES_ID);
static_assert(sizeof(lt::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(lt::Choice) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(lt::Choice, workspace_bytes) ==
                  offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) &&
              offsetof(lt::Choice, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));

/// How an argument is passed: as an address, or as an integer of its size.
template <typename T>
using Passed = std::conditional_t<std::is_pointer_v<T>, const void*,
                                  std::integral_constant<std::size_t, sizeof(T)>>;

template <typename Ours, typename Theirs>
struct Agree : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
struct Agree<R (*)(A...), S (*)(B...)>
    : std::bool_constant<std::is_same_v<Passed<R>, Passed<S>> && sizeof...(A) == sizeof...(B)> {
  static constexpr bool arguments() {
    if constexpr (sizeof...(A) == sizeof...(B)) {
      return (std::is_same_v<Passed<A>, Passed<B>> && ...);
    } else {
      return false;
    }
  }
};

#define ATTNSCOPE_AGREE(member, name, ...)                                     \
  static_assert(Agree<decltype(CublasLt::member), decltype(&(name))>::value && \
                Agree<decltype(CublasLt::member), decltype(&(name))>::arguments())
ATTNSCOPE_CUBLASLT_FUNCTIONS(ATTNSCOPE_AGREE);
#undef ATTNSCOPE_AGREE

}  // namespace
}  // namespace attnscope::cuda
#endif
