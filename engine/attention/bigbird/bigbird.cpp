// SPDX-License-Identifier: Apache-2.0
//
// BigBird's block-sparse attention as its authors compute it (Zaheer et al., NeurIPS 2020, appendix
// D): what a block of rows sees is gathered beside it, so that dense products of blocks do the
// work. The second and the last but one block have a product of their own, because they see a block
// less than the middle ones; all that a row sees stands under one softmax.

#include "engine/attention/bigbird/block_structure.h"
#include "engine/attention/bigbird/prepared_bigbird.h"
#include "engine/attention/implementation.h"
#include "engine/attention/limits.h"

namespace attnscope {
namespace {

class BigBird final : public Implementation {
 public:
  std::string_view id() const override { return "bigbird"; }

  std::string_view summary() const override {
    return "BigBird's block-sparse attention in LibTorch's operations: padding to whole blocks, "
           "gathering each row block's keys and values, dense products of blocks with one softmax "
           "a "
           "row, all timed; the lists of random blocks are made once a layout, not timed. Items of "
           "as many blocks are computed together, others group by group, and items that are full "
           "attention by matmul, softmax, matmul; backward by autograd, keys' gradients summed in "
           "float32";
  }

  Status supports(const Problem& problem) const override {
    if (const Status ok = within_build_limits(problem, id()); !ok) return ok;
    const Result<BlockStructure> structure = blocks_of(problem);
    return structure ? Status() : tl::unexpected(structure.error());
  }

  Result<std::unique_ptr<PreparedAttention>> prepare(const Problem& problem) const override {
    if (const Status ok = within_build_limits(problem, id()); !ok) {
      return tl::unexpected(ok.error());
    }
    Result<BlockStructure> structure = blocks_of(problem);
    if (!structure) return tl::unexpected(structure.error());
    return prepare_bigbird(problem, std::move(*structure));
  }

 private:
  static Result<BlockStructure> blocks_of(const Problem& problem) {
    Result<BlockStructure> structure = block_structure(problem.plan, problem.layout);
    if (structure) return structure;
    return fail(
        "bigbird knows only blocks that see whole blocks and full attention, and not pattern '{}' "
        "on this layout: {}",
        problem.pattern.name, structure.error().message);
  }
};

}  // namespace

const Implementation& bigbird_implementation() {
  static const BigBird bigbird;
  return bigbird;
}

}  // namespace attnscope
