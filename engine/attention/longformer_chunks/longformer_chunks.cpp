// SPDX-License-Identifier: Apache-2.0
//
// Longformer's attention as its authors' PyTorch code computes it (Beltagy et al., 2020): sliding
// chunks of 2w tokens, global keys prepended to the band, global rows computed apart.

#include "engine/attention/implementation.h"
#include "engine/attention/limits.h"
#include "engine/attention/longformer_chunks/chunk_structure.h"
#include "engine/attention/longformer_chunks/prepared_chunks.h"
#include "engine/attention/windowed/band_sequences.h"

namespace attnscope {
namespace {

class LongformerChunks final : public Implementation {
 public:
  std::string_view id() const override { return "longformer-chunks"; }

  std::string_view summary() const override {
    return "Longformer's sliding chunks in LibTorch operations; each call pads to a multiple of "
           "2w, multiplies overlapping chunks, skews them to a band behind the gathered global "
           "keys, masks, takes the softmax in float32, multiplies values, and computes global rows "
           "apart; backward are the same products transposed. Lists of the layout are made once, "
           "not timed";
  }

  Status supports(const Problem& problem) const override {
    const auto structure = recognise(problem);
    return structure ? Status() : tl::unexpected(structure.error());
  }

  Result<std::unique_ptr<PreparedAttention>> prepare(const Problem& problem) const override {
    auto structure = recognise(problem);
    if (!structure) return tl::unexpected(structure.error());
    return prepare_chunks(problem, std::move(*structure));
  }

 private:
  Result<ChunkStructure> recognise(const Problem& problem) const {
    if (const Status ok = within_build_limits(problem, id()); !ok) {
      return tl::unexpected(ok.error());
    }
    if (problem.operation == Operation::windowed_matmul) {
      if (const auto band = band_sequences(problem.plan); !band) {
        return tl::unexpected(band.error());
      }
    }
    auto structure = chunk_structure(problem);
    if (!structure || problem.operation != Operation::windowed_matmul) return structure;
    for (const ChunkedItem& item : structure->items) {
      if (item.dense.empty()) continue;
      return fail("longformer-chunks multiplies windows alone, and token {} sees whole documents",
                  item.dense[0].rows[0].begin);
    }
    return structure;
  }
};

}  // namespace

const Implementation& longformer_chunks_implementation() {
  static const LongformerChunks longformer_chunks;
  return longformer_chunks;
}

}  // namespace attnscope
