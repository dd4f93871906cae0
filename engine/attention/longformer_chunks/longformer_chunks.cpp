// SPDX-License-Identifier: Apache-2.0
//
// Longformer's attention as its authors' PyTorch code computes it (Beltagy et al., 2020): sliding
// chunks of 2w tokens, global keys prepended to the band, global rows computed separately.

#include <ATen/ops/_softmax.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <limits>
#include <utility>

#include "engine/attention/implementation.h"
#include "engine/attention/longformer_chunks/chunk_products.h"
#include "engine/attention/longformer_chunks/chunk_structure.h"
#include "engine/attention/torch_tensors.h"
#include "engine/attention/windowed/windowed.h"

namespace attnscope {
namespace {

/// Position of a run in the padded matrices: `batch` slots from `slot` on, `length` rows of each.
struct PlacedRun {
  std::size_t frame = 0;
  std::int64_t slot = 0;
  std::int64_t batch = 1;
  std::int64_t length = 0;
  TokenSet tokens, globals;  // in the frame
  TokenSet idle;             // padded rows without a window: computed densely, or padding
};

struct PlacedDense {
  std::size_t frame = 0;
  DenseRowSet rows;
};

class PreparedChunks final : public PreparedAttention {
 public:
  PreparedChunks(const Problem& problem, ChunkStructure structure)
      : problem_(problem),
        structure_(std::move(structure)),
        padded_(problem, structure_),
        shape_(padded_.shape) {}

  std::int64_t workspace_bytes() const override { return 0; }
  bool writes_lse() const override { return false; }
  ExecutedWork executed() const override { return executed_by_chunks(problem_, structure_); }
  std::int64_t allocated_bytes() const override {
    return peak_bytes_of_chunks(problem_, structure_);
  }

  Status forward(const ForwardCall& call) override {
    use_torch_threads(problem_.threads);
    const c10::InferenceMode no_graph;
    make_lists();
    forget();
    const std::vector<Frames> frames = frames_of(call.q, call.k, call.v, call.o);
    weights_ = weigh(frames);
    multiply_values(frames, weights_);
    if (!with_gradients()) forget();
    for (const PlacedDense& dense : dense_) {
      at::Tensor of_rows = dense.rows.forward(frames[dense.frame]);
      if (with_gradients()) dense_weights_.push_back(std::move(of_rows));
    }
    return {};
  }

  Status backward(const BackwardCall& call) override {
    if (!weights_.defined()) return fail("backward needs a forward call before it");
    use_torch_threads(problem_.threads);
    const c10::InferenceMode no_graph;
    const GradientTensors& t = call.tensors;
    const std::vector<Frames> frames = frames_of(t.q, t.k, t.v, t.o);
    std::vector<GradientFrames> gradients = gradient_frames(t);
    return_to_runs(frames, gradients);
    for (std::size_t d = 0; d < dense_.size(); ++d) {
      const std::size_t frame = dense_[d].frame;
      dense_[d].rows.backward(frames[frame], gradients[frame], dense_weights_[d]);
    }
    for (std::size_t f = 0; f < frames.size(); ++f) {
      frame(t.grad_k, f).copy_(gradients[f].grad_k);
      frame(t.grad_v, f).copy_(gradients[f].grad_v);
    }
    forget();
    return {};
  }

 private:
  using Member = at::Tensor Frames::*;

  bool with_gradients() const { return problem_.direction == Direction::forward_backward; }
  bool is_attention() const { return problem_.operation == Operation::attention; }
  at::Device device() const { return torch_device(problem_.device); }
  at::ScalarType dtype() const { return scalar_type(problem_.dtype); }
  at::TensorOptions options(at::ScalarType type) const {
    return at::TensorOptions().dtype(type).device(device());
  }

  void forget() {
    weights_ = at::Tensor();
    dense_weights_.clear();
  }

  /// Items of one size are [batch, heads, tokens, dim] in either memory order, so a frame is an
  /// item (or all of them together); otherwise the frame is the whole token axis.
  bool has_frame_of_each_block() const { return problem_.layout.is_uniform(); }
  std::size_t frame_count() const {
    return has_frame_of_each_block() ? structure_.items.size() : 1;
  }
  std::int64_t frame_begin(std::size_t frame) const {
    return has_frame_of_each_block() ? structure_.items[frame].block.queries.begin : 0;
  }
  template <typename AnyTensor>
  at::Tensor frame(const AnyTensor& tensor, std::size_t frame) const {
    const Block& block = structure_.items[frame].block;
    const bool of_block = has_frame_of_each_block();
    return view_of(tensor, of_block ? block.queries : TokenRange{0, problem_.layout.tokens()},
                   of_block ? block.batch : 1, problem_.plan.heads, device());
  }
  template <typename Output>
  std::vector<Frames> frames_of(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                                const Output& o) const {
    std::vector<Frames> frames;
    for (std::size_t f = 0; f < frame_count(); ++f) {
      frames.push_back({frame(q, f), frame(k, f), frame(v, f), frame(o, f)});
    }
    return frames;
  }

  /// Not in the constructor: a prediction must be available before memory of this size is used.
  void make_lists() {
    if (has_lists_) return;
    // An earlier call may have run out of memory.
    runs_.clear();
    dense_.clear();
    std::int64_t slot = 0;
    for (std::size_t i = 0; i < structure_.items.size(); ++i) {
      const ChunkedItem& item = structure_.items[i];
      const std::size_t frame = has_frame_of_each_block() ? i : 0;
      for (const ChunkedRun& run : item.runs) {
        const std::int64_t first = run.tokens.begin;
        const TokenRanges idle = without({first, first + shape_.tokens}, run.rows);
        runs_.push_back({.frame = frame,
                         .slot = slot,
                         .batch = item.block.batch,
                         .length = run.tokens.size(),
                         .tokens = {{run.tokens}, frame_begin(frame), device()},
                         .globals = {run.globals, frame_begin(frame), device()},
                         .idle = {idle, first, device()}});
        slot += item.block.batch;
      }
      for (const DenseRows& rows : item.dense) {
        dense_.push_back({frame, {rows, frame_begin(frame), problem_.scale, device()}});
      }
    }
    make_masks();
    has_lists_ = true;
  }

  void make_masks() {
    band_mask_ = at::empty({padded_.slots, shape_.tokens + 2 * shape_.window},
                           at::TensorOptions().dtype(at::kBool));
    band_mask_.fill_(true);
    global_mask_ = at::empty({padded_.slots, shape_.globals}, at::TensorOptions().dtype(at::kBool));
    global_mask_.fill_(true);
    auto placed = runs_.begin();
    for (const ChunkedItem& item : structure_.items) {
      for (const ChunkedRun& run : item.runs) {
        const std::int64_t first = run.tokens.begin - shape_.window;
        const at::Tensor of_run = band_mask_.narrow(0, placed->slot, placed->batch);
        for (const TokenRange& keys : run.band_keys) {
          of_run.narrow(1, keys.begin - first, keys.size()).fill_(false);
        }
        global_mask_.narrow(0, placed->slot, placed->batch)
            .narrow(1, 0, placed->globals.size())
            .fill_(false);
        masks_globals_ = masks_globals_ || placed->globals.size() < shape_.globals;
        ++placed;
      }
    }
    band_mask_ = band_mask_.to(device());
    global_mask_ = global_mask_.to(device());
  }

  /// [matrices, rows, columns] as [slots, heads, rows, columns].
  at::Tensor by_slot(const at::Tensor& matrices) const {
    return matrices.view({padded_.slots, padded_.heads, matrices.size(1), matrices.size(2)});
  }
  /// The slots of a run in [slots, heads, rows, columns].
  static at::Tensor slots_of(const at::Tensor& all, const PlacedRun& run) {
    return all.narrow(0, run.slot, run.batch);
  }

  enum class Ends : std::uint8_t { none, zero };

  /// The runs' rows as matrices, padded with zeros; with `Ends::zero`, also with w rows at both
  /// ends.
  at::Tensor padded_rows(const std::vector<at::Tensor>& frames, Ends ends) const {
    const std::int64_t margin = ends == Ends::zero ? shape_.window : 0;
    const std::int64_t rows = shape_.matrices * shape_.tokens;
    at::Tensor result =
        at::empty({rows + 2 * margin, padded_.head_dim}, options(frames[0].scalar_type()));
    result.narrow(0, 0, margin).zero_();
    result.narrow(0, margin + rows, margin).zero_();
    const at::Tensor matrices = by_slot(
        result.narrow(0, margin, rows).view({shape_.matrices, shape_.tokens, padded_.head_dim}));
    for (const PlacedRun& run : runs_) {
      const at::Tensor own = slots_of(matrices, run);
      own.narrow(2, 0, run.length).copy_(run.tokens.of(frames[run.frame]));
      own.narrow(2, run.length, shape_.tokens - run.length).zero_();
    }
    return result;
  }
  at::Tensor padded_matrices(const at::Tensor& rows) const {
    return rows.view({shape_.matrices, shape_.tokens, padded_.head_dim});
  }
  /// The same without a copy if the caller's memory already has this form.
  at::Tensor matrices_of(const std::vector<Frames>& frames, Member member) const {
    if (padded_.direct) return padded_matrices(frames[0].*member);
    return padded_matrices(padded_rows(select(frames, member), Ends::none));
  }
  template <typename Frame>
  static std::vector<at::Tensor> select(const std::vector<Frame>& frames,
                                        at::Tensor Frame::*member) {
    std::vector<at::Tensor> result;
    result.reserve(frames.size());
    for (const Frame& frame : frames) result.push_back(frame.*member);
    return result;
  }

  /// The global tokens' keys (or values) [matrices, globals, dim], once per run.
  at::Tensor globals_of(const std::vector<Frames>& frames, Member member) const {
    const std::int64_t dim = padded_.head_dim;
    if (runs_.size() == 1) {
      return runs_[0].globals.of(frames[0].*member).reshape({shape_.matrices, shape_.globals, dim});
    }
    at::Tensor result =
        at::zeros({padded_.slots, padded_.heads, shape_.globals, dim}, options(dtype()));
    for (const PlacedRun& run : runs_) {
      slots_of(result, run)
          .narrow(2, 0, run.globals.size())
          .copy_(run.globals.of(frames[run.frame].*member));
    }
    return result.view({shape_.matrices, shape_.globals, dim});
  }

  /// scale * rows times global and band keys, [matrices, n, globals + 2w+1] in float32.
  at::Tensor scores_of(const at::Tensor& rows, const at::Tensor& keys,
                       const std::vector<Frames>& frames, Member globals, double scale) const {
    at::Tensor scores =
        at::empty({shape_.matrices, shape_.tokens, shape_.columns()}, options(at::kFloat));
    write_band(shape_, rows, keys, scale, scores);
    if (shape_.globals > 0) {
      global_part(scores).copy_(
          scaled_product(rows, globals_of(frames, globals).transpose(1, 2), scale));
    }
    return scores;
  }
  at::Tensor global_part(const at::Tensor& scores) const {
    return scores.narrow(2, 0, shape_.globals);
  }

  void mask(const at::Tensor& scores) const {
    const double hidden = is_attention() ? -std::numeric_limits<double>::infinity() : 0.0;
    const at::Tensor all = by_slot(scores);
    const at::Tensor band = all.narrow(3, shape_.globals, shape_.width());
    const at::Tensor band_mask = band_mask_.as_strided(
        {padded_.slots, 1, shape_.tokens, shape_.width()}, {band_mask_.size(1), 0, 1, 1});
    for (const TokenRange& rows : padded_.masked_rows) {
      band.narrow(2, rows.begin, rows.size())
          .masked_fill_(band_mask.narrow(2, rows.begin, rows.size()), hidden);
    }
    if (masks_globals_) {
      all.narrow(3, 0, shape_.globals)
          .masked_fill_(global_mask_.view({padded_.slots, 1, 1, shape_.globals}), hidden);
    }
  }

  /// Masks rows that may have no key: the softmax of no keys would be NaN, and in a backward NaN
  /// times 0 would affect their keys.
  void silence_idle_rows(const at::Tensor& scores) const {
    for (const PlacedRun& run : runs_) {
      if (run.globals.empty() && !run.idle.empty()) {
        run.idle.zero(slots_of(by_slot(scores), run));
      }
    }
  }

  at::Tensor weigh(const std::vector<Frames>& frames) const {
    at::Tensor scores = scores_of(matrices_of(frames, &Frames::q), matrices_of(frames, &Frames::k),
                                  frames, &Frames::k, problem_.scale);
    mask(scores);
    if (!is_attention()) return scores;
    silence_idle_rows(scores);
    at::_softmax_out(scores, scores, -1, /*half_to_float=*/false);
    return scores;
  }

  void multiply_values(const std::vector<Frames>& frames, const at::Tensor& weights) const {
    const at::Tensor out =
        padded_.direct
            ? padded_matrices(frames[0].o)
            : at::empty({shape_.matrices, shape_.tokens, padded_.head_dim}, options(dtype()));
    multiply(weights, frames, &Frames::v, 1.0, out);
    if (!padded_.direct) write_rows(select(frames, &Frames::o), out);
  }

  /// out = scale * (band and global columns of `factors`) times `member` of the frames.
  void multiply(const at::Tensor& factors, const std::vector<Frames>& frames, Member member,
                double scale, const at::Tensor& out) const {
    apply_band(shape_, unskewed(shape_, factors, dtype()),
               padded_rows(select(frames, member), Ends::zero), scale, out);
    if (shape_.globals == 0) return;
    out.baddbmm_(global_part(factors).to(dtype()), globals_of(frames, member), /*beta=*/1, scale);
  }

  void write_rows(const std::vector<at::Tensor>& frames, const at::Tensor& matrices) const {
    for (const PlacedRun& run : runs_) {
      run.tokens.write(frames[run.frame],
                       slots_of(by_slot(matrices), run).narrow(2, 0, run.length));
    }
  }

  std::vector<GradientFrames> gradient_frames(const GradientTensors& t) const {
    std::vector<GradientFrames> gradients;
    for (std::size_t f = 0; f < frame_count(); ++f) {
      const at::Tensor grad_k = frame(t.grad_k, f);
      gradients.push_back({.grad_o = frame(t.grad_o, f),
                           .grad_q = frame(t.grad_q, f),
                           .grad_k = at::zeros(grad_k.sizes(), options(at::kFloat)),
                           .grad_v = at::zeros(grad_k.sizes(), options(at::kFloat))});
    }
    return gradients;
  }

  /// Adds band^T and global columns^T of `factors` times `rows`, scaled, to a gradient of keys.
  void add_transposed(const at::Tensor& factors, const at::Tensor& blocks, const at::Tensor& rows,
                      double scale, const std::vector<at::Tensor>& gradients) const {
    const at::Tensor to_band = by_slot(apply_transposed_band(shape_, blocks, rows, scale));
    for (const PlacedRun& run : runs_) {
      run.tokens.add(gradients[run.frame], slots_of(to_band, run).narrow(2, 0, run.length));
    }
    if (shape_.globals == 0) return;
    const at::Tensor to_globals =
        by_slot(scaled_product(global_part(factors).to(dtype()).transpose(1, 2), rows, scale));
    for (const PlacedRun& run : runs_) {
      run.globals.add(gradients[run.frame],
                      slots_of(to_globals, run).narrow(2, 0, run.globals.size()));
    }
  }

  void return_to_runs(const std::vector<Frames>& frames,
                      const std::vector<GradientFrames>& gradients) const {
    at::Tensor arriving =
        padded_matrices(padded_rows(select(gradients, &GradientFrames::grad_o), Ends::none));
    for (const PlacedRun& run : runs_) {
      if (!run.idle.empty()) run.idle.zero(slots_of(by_slot(arriving), run));
    }
    add_transposed(weights_, unskewed(shape_, weights_, dtype()), arriving, 1.0,
                   select(gradients, &GradientFrames::grad_v));

    at::Tensor of_scores =
        scores_of(arriving, matrices_of(frames, &Frames::v), frames, &Frames::v, 1.0);
    arriving.reset();
    if (is_attention()) {
      at::_softmax_backward_data_out(of_scores, of_scores, weights_, -1, at::kFloat);
      silence_idle_rows(of_scores);
    } else {
      mask(of_scores);
    }
    at::Tensor grad_q =
        at::empty({shape_.matrices, shape_.tokens, padded_.head_dim}, options(dtype()));
    multiply(of_scores, frames, &Frames::k, problem_.scale, grad_q);
    write_rows(select(gradients, &GradientFrames::grad_q), grad_q);
    grad_q.reset();
    add_transposed(of_scores, unskewed(shape_, of_scores, dtype()), matrices_of(frames, &Frames::q),
                   problem_.scale, select(gradients, &GradientFrames::grad_k));
  }

  Problem problem_;
  ChunkStructure structure_;
  PaddedRuns padded_;
  BandShape shape_;
  bool has_lists_ = false;
  std::vector<PlacedRun> runs_;
  std::vector<PlacedDense> dense_;
  // True where a key is masked: [slots, w + n + w] tokens, viewed as a band with overlapping
  // strides, and [slots, globals].
  at::Tensor band_mask_, global_mask_;
  bool masks_globals_ = false;
  // Kept from a forward call for its backward, in float32.
  at::Tensor weights_;
  std::vector<at::Tensor> dense_weights_;
};

Result<ChunkStructure> chunks_for(const Problem& problem) {
  if (problem.operation == Operation::attention) return chunk_structure(problem);
  if (const auto band = band_sequences(problem.plan); !band) return tl::unexpected(band.error());
  auto structure = chunk_structure(problem);
  if (!structure) return structure;
  for (const ChunkedItem& item : structure->items) {
    if (item.dense.empty()) continue;
    return fail(
        "longformer-chunks multiplies only windows, and token {} attends to whole documents",
        item.dense[0].rows[0].begin);
  }
  return structure;
}

}  // namespace

std::vector<Implementation> longformer_chunks_implementations() {
  return {on_structure<PreparedChunks, chunks_for>(
      "longformer-chunks",
      "Longformer's sliding chunks in LibTorch operations; each call pads to a multiple "
      "of 2w, multiplies overlapping chunks, skews them to a band after the gathered global "
      "keys, masks, computes the softmax in float32, multiplies values, and computes global "
      "rows separately; the backward has the same products, transposed. Lists of the layout "
      "are made once, not timed")};
}

}  // namespace attnscope
