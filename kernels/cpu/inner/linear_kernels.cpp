// SPDX-License-Identifier: Apache-2.0
//
// Compiled once per instruction set that has its own products, with the set's flags and
// ATTNSCOPE_KERNELS naming the function that returns its table: the only symbol this file exports.
#if defined(__AVX2__)
#include <immintrin.h>
#else
#include <emmintrin.h>
#endif

#include "kernels/cpu/inner/linear.h"
#include "kernels/cpu/inner/narrow_linear.h"

namespace attnscope::cpu {
namespace {

void linear_piece(const LinearPiece& piece) {
  switch (piece.products) {
    case Products::float32:
      return float_piece(piece);
    case Products::bfloat16:
      return narrow_piece<Bfloat16Products>(piece);
    case Products::int8:
      return narrow_piece<Int8Products>(piece);
  }
}

constexpr LinearKernels table{.piece = linear_piece, .normalise_row = normalise_row};

}  // namespace

const LinearKernels* ATTNSCOPE_KERNELS() {
  return &table;
}

}  // namespace attnscope::cpu
