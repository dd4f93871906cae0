#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A CUDA stream in these interfaces: cudaStream_t by its declared name, so that callers that are
// not compiled for CUDA need none of its headers. nullptr is the legacy default stream.

struct CUstream_st;

namespace attnscope::cuda {
using Stream = CUstream_st*;
}  // namespace attnscope::cuda
