#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The baseline everyone writes first: scores = scale Q K^T, mask, softmax, times V, with LibTorch's
// matrix products on either device. Written as a careful engineer would: the scale rides in the
// product, mask and softmax work in place, so that one score matrix is all the memory it takes.
// With gradients it is the same out of place, as autograd wants it.

#include <memory>

#include "engine/attention/implementation.h"

namespace attnscope {

[[nodiscard]] std::unique_ptr<PreparedAttention> prepare_dense_by_libtorch(const Problem& problem);

}  // namespace attnscope
