// SPDX-License-Identifier: Apache-2.0
//
// Checks, packs the query, and distributes pieces of documents to threads.
#include "kernels/cpu/kernel_pooling.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <memory>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/selected_kernels.h"

namespace attnscope::cpu {
namespace {

constexpr std::int64_t columns_of_tables = region_tokens + 1;

Status check_pooling(const PoolingCall& call, int threads, std::span<const float> workspace,
                     std::int64_t (*needed_floats)(const PoolingCall&,
                                                   int) = pooling_workspace_floats) {
  if (call.query_rows < 1 || call.width < 1 || call.token_rows < 0) {
    return fail("{} query rows and {} tokens of {} numbers cannot be pooled", call.query_rows,
                call.token_rows, call.width);
  }
  if (call.query.data == nullptr || (call.tokens.data == nullptr && call.token_rows > 0)) {
    return fail("kernel pooling needs the memory of its rows");
  }
  for (const std::int64_t number : call.numbers) {
    if (number < 0 || number >= call.token_rows) {
      return fail("row {} does not exist; there are {} rows", number, call.token_rows);
    }
  }
  const std::int64_t tokens =
      call.numbers.empty() ? call.token_rows : static_cast<std::int64_t>(call.numbers.size());
  for (const TokenRange& document : call.documents) {
    if (document.begin < 0 || document.end < document.begin || document.end > tokens) {
      return fail("tokens {} to {} do not exist; there are {} tokens", document.begin, document.end,
                  tokens);
    }
  }
  if (!(call.first_sigma > 0)) {
    return fail("a kernel's sigma is a positive number, not {}", call.first_sigma);
  }
  const std::size_t weights = call.query_weights.size();
  if (weights != 0 && static_cast<std::int64_t>(weights) != call.query_rows) {
    return fail("{} query rows need as many weights, not {}", call.query_rows, weights);
  }
  if (threads < 1) return fail("kernel pooling needs at least 1 thread, not {}", threads);
  const std::int64_t needed = needed_floats(call, threads);
  if (static_cast<std::int64_t>(workspace.size()) < needed) {
    return fail("the workspace has {} floats, and {} are needed", workspace.size(), needed);
  }
  return {};
}

Status check_size(std::string_view what, std::size_t size, std::int64_t expected) {
  if (static_cast<std::int64_t>(size) == expected) return {};
  return fail("{} of this call are {} floats, not {}", what, expected, size);
}

Status check_optional(std::string_view what, std::size_t size, std::int64_t expected) {
  return size == 0 ? Status() : check_size(what, size, expected);
}

std::int64_t sums_of_call(const PoolingCall& call) {
  return static_cast<std::int64_t>(call.documents.size()) * call.query_rows * pooling_kernels;
}

std::int64_t regions_of_call(const PoolingCall& call) {
  std::int64_t regions = 0;
  for (const TokenRange& document : call.documents) regions += regions_of(document.size());
  return regions;
}

std::int64_t table_floats(const PoolingCall& call) {
  return call.query_rows * columns_of_tables;
}

Status check_regions(const RegionCall& call) {
  if (Status s = check_size("kernel weights", call.kernel_weights.size(), pooling_kernels); !s)
    return s;
  const RegionSaturation& saturation = call.saturation;
  if (!saturation.alpha.empty()) {
    if (!saturation.factor.empty() || !saturation.exponent.empty() ||
        !saturation.constant.empty()) {
      return fail("a saturation has the logarithm's alphas or tables, not both");
    }
    return check_size("the logarithm's alphas", saturation.alpha.size(), pooling_kernels);
  }
  const std::int64_t table = table_floats(call.pooling);
  if (Status s = check_size("a saturation's factors", saturation.factor.size(), table); !s)
    return s;
  if (Status s = check_size("a saturation's constants", saturation.constant.size(), table); !s)
    return s;
  return check_optional("a saturation's exponents", saturation.exponent.size(), table);
}

Status check_region_gradients(const PoolingCall& call, const RegionGradients& gradients) {
  const std::int64_t table = table_floats(call);
  const auto check = check_optional;
  if (Status s =
          check("gradients of kernel weights", gradients.kernel_weights.size(), pooling_kernels);
      !s)
    return s;
  if (Status s = check("gradients of factors", gradients.factor.size(), table); !s) return s;
  if (Status s = check("gradients of exponents", gradients.exponent.size(), table); !s) return s;
  if (Status s = check("gradients of constants", gradients.constant.size(), table); !s) return s;
  return check("gradients of alphas", gradients.alpha.size(), pooling_kernels);
}

Status check_disjoint(const PoolingCall& call) {
  for (std::size_t d = 1; d < call.documents.size(); ++d) {
    if (call.documents[d].begin < call.documents[d - 1].end) {
      return fail(
          "gradients need disjoint documents in ascending order, and a document that ends at token "
          "{} "
          "precedes one that begins at token {}",
          call.documents[d - 1].end, call.documents[d].begin);
    }
  }
  return {};
}

/// The saturation T of a sum.
double saturated(const RegionSaturation& of, std::int64_t i, std::int64_t k, std::int64_t n,
                 double sum) {
  const double least = least_pooled_sum;
  if (!of.alpha.empty())
    return std::log(std::max(sum * of.alpha[static_cast<std::size_t>(k)], least));
  const auto at = static_cast<std::size_t>(i * columns_of_tables + n);
  const double exponent = of.exponent.empty() ? 1 : of.exponent[at];
  return of.factor[at] * std::pow(std::max(sum, least), exponent) - of.constant[at];
}

std::int64_t padded_to(std::int64_t count, std::int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

/// Floats of packed query rows, aligned to 64 bytes.
std::int64_t packed_query_floats(const PoolingCall& call) {
  return padded_to(padded_to(call.query_rows, 4) * padded_to(call.width, 4), widest_vector);
}

/// Floats of query rows and their scales.
std::int64_t query_floats(const PoolingCall& call) {
  return packed_query_floats(call) + call.query_rows + widest_vector;
}

float* aligned(float* at) {
  void* place = at;
  std::size_t space = 2 * widest_vector * sizeof(float);
  return static_cast<float*>(std::align(widest_vector * sizeof(float), 1, place, space));
}

/// Scratch of one thread: cosines, inverse lengths, pairs, their sums of two and four, scores.
std::int64_t scratch_floats_of(const PoolingCall& call) {
  return (padded_to(call.query_rows, 4) + 1) * pooling_cosine_pitch +
         (pooling_kernels + 3) * pooling_pair_pitch;
}

constexpr std::int64_t regions_of_piece = pooling_piece_tokens / region_step;

std::int64_t pieces_of_tokens(std::int64_t tokens) {
  return std::max<std::int64_t>((tokens + pooling_piece_tokens - 1) / pooling_piece_tokens, 1);
}

std::int64_t pieces_of_regions(std::int64_t tokens) {
  return (regions_of(tokens) + regions_of_piece - 1) / regions_of_piece;
}

/// Number of pieces of documents that have several pieces.
std::int64_t split_pieces(const PoolingCall& call) {
  std::int64_t pieces = 0;
  for (const TokenRange& document : call.documents) {
    const std::int64_t own = pieces_of_tokens(document.size());
    if (own > 1) pieces += own;
  }
  return pieces;
}

/// A thread's position in the documents.
struct PieceCursor {
  std::size_t document = 0;
  std::int64_t pieces_before = 0;  // in the preceding documents
  std::int64_t split_before = 0;   // those of documents with several pieces
  std::int64_t regions_before = 0;
};

/// Advances to the document of a piece, which must not precede the previous one.
template <typename PiecesOf>
void move_to(const PoolingCall& call, const PiecesOf& pieces_of, std::int64_t piece,
             PieceCursor& at) {
  while (true) {
    const std::int64_t tokens = call.documents[at.document].size();
    const std::int64_t own = pieces_of(tokens);
    if (piece < at.pieces_before + own) return;
    at.pieces_before += own;
    if (own > 1) at.split_before += own;
    at.regions_before += regions_of(tokens);
    ++at.document;
  }
}

/// Calls `work(cursor, piece of its document, scratch)` for all pieces, distributed to threads
/// dynamically.
template <typename PiecesOf, typename Work>
void deal_pieces(const PoolingCall& call, int threads, float* scratch, const PiecesOf& pieces_of,
                 const Work& work) {
  std::int64_t pieces = 0;
  for (const TokenRange& document : call.documents) pieces += pieces_of(document.size());
  const int team = static_cast<int>(std::clamp<std::int64_t>(pieces, 1, threads));
  std::atomic<std::int64_t> next{0};
#pragma omp parallel num_threads(team)
  {
    float* const mine = scratch + omp_get_thread_num() * scratch_floats_of(call);
    PieceCursor at;
    for (std::int64_t piece = next++; piece < pieces; piece = next++) {
      move_to(call, pieces_of, piece, at);
      work(at, piece - at.pieces_before, mine);
    }
  }
}

/// Packs the query at the workspace's beginning.
PoolingTokens prepared(const PoolingCall& call, const KernelTable& kernels,
                       std::span<float> workspace) {
  float* const packed = aligned(workspace.data());
  float* const scales = packed + packed_query_floats(call);
  kernels.pooling_query(call.query.data, call.query.stride, call.query_rows, call.width,
                        call.query_normalised, packed, scales);
  return {.query = packed,
          .query_scales = scales,
          .query_rows = call.query_rows,
          .width = call.width,
          .tokens = call.tokens.data,
          .token_stride = call.tokens.stride,
          .numbers = call.numbers.empty() ? nullptr : call.numbers.data(),
          .normalised = call.tokens_normalised,
          .ratio = pooling_sigma / call.first_sigma,
          .cosine_pitch = pooling_cosine_pitch};
}

const float* data_or_null(std::span<const float> of) {
  return of.empty() ? nullptr : of.data();
}

/// Regions of a document from `first_region` on; the first begins within the document.
RegionPiece regions_between(const RegionCall& call, const PoolingTokens& of,
                            const TokenRange& document, std::int64_t first_region,
                            std::int64_t regions) {
  const std::int64_t first = first_region * region_step;
  const std::int64_t left = std::max<std::int64_t>(document.size() - first, 0);
  const std::int64_t needed = (regions - 1) * region_step + region_tokens;
  const std::int64_t full = left < region_tokens ? 0 : (left - region_tokens) / region_step + 1;
  return {.of = of,
          .first = document.begin + first,
          .count = std::min(left, needed),
          .tokens_left = left,
          .regions = regions,
          .regions_full = std::min(full, regions),
          .kernel_weights = call.kernel_weights.data(),
          .query_weights = data_or_null(call.pooling.query_weights),
          .factor = data_or_null(call.saturation.factor),
          .exponent = data_or_null(call.saturation.exponent),
          .constant = data_or_null(call.saturation.constant),
          .alpha = data_or_null(call.saturation.alpha)};
}

/// Adds up the parts of long documents, and applies row weights.
void join_sums(const PoolingCall& call, const float* parts, std::span<float> sums) {
  const std::int64_t size = call.query_rows * pooling_kernels;
  float* to = sums.data();
  for (const TokenRange& document : call.documents) {
    const std::int64_t pieces = pieces_of_tokens(document.size());
    if (pieces > 1) {
      std::fill_n(to, size, 0.0F);
      for (std::int64_t piece = 0; piece < pieces; ++piece, parts += size) {
        for (std::int64_t i = 0; i < size; ++i) to[i] += parts[i];
      }
    }
    for (std::int64_t i = 0; i < call.query_rows && !call.query_weights.empty(); ++i) {
      const float weight = call.query_weights[static_cast<std::size_t>(i)];
      for (std::int64_t k = 0; k < pooling_kernels; ++k) {
        float& sum = to[i * pooling_kernels + k];
        sum = weight == 0 ? 0 : sum * weight;
      }
    }
    to += size;
  }
}

/// Rows of a query, and of gradients, padded to two vectors.
std::int64_t query_pitch(const PoolingCall& call) {
  return padded_to(call.width, 2 * widest_vector);
}

std::int64_t backward_pieces(std::int64_t tokens) {
  return (tokens + pooling_backward_tokens - 1) / pooling_backward_tokens;
}

/// Pieces are assigned to slots with separate sums, which are added up in order: results depend
/// neither on threads nor on scheduling.
constexpr std::int64_t most_slots = 32;

std::int64_t slots_of(const PoolingCall& call) {
  std::int64_t pieces = 0;
  for (const TokenRange& document : call.documents) pieces += backward_pieces(document.size());
  return std::min(pieces, most_slots);
}

std::int64_t padded_table(const PoolingCall& call) {
  return padded_to(table_floats(call), widest_vector);
}

/// Floats of the gradients of the query, kernel weights, alphas, factors, exponents and constants.
std::int64_t slot_floats(const PoolingCall& call) {
  return call.query_rows * query_pitch(call) + 2 * widest_vector + 3 * padded_table(call);
}

/// Regions that contain a token of a piece, rounded up to a vector.
constexpr std::int64_t most_regions =
    pooling_backward_tokens / region_step + pooling_halo_tokens / region_step + widest_vector;

/// Scratch of one thread: gradients of scores; cosines and their gradients, inverse lengths;
/// kernels and their gradients by pairs, and three rows of those.
std::int64_t backward_scratch_floats_of(const PoolingCall& call) {
  return 2 * most_regions + (2 * padded_to(call.query_rows, 4) + 1) * pooling_backward_pitch +
         (2 * pooling_kernels + 3) * pooling_pair_pitch;
}

/// The workspace of a backward call.
class BackwardWorkspace {
 public:
  BackwardWorkspace(const PoolingCall& call, const KernelTable& kernels, std::span<float> workspace)
      : call_(call),
        tokens_(prepared(call, kernels, workspace)),
        query_(workspace.data() + query_floats(call)),
        slots_(query_ + call.query_rows * query_pitch(call)) {
    tokens_.cosine_pitch = pooling_backward_pitch;
    float* to = query_;
    for (std::int64_t i = 0; i < call.query_rows; ++i, to += query_pitch(call)) {
      std::copy_n(call.query.data + i * call.query.stride, call.width, to);
      std::fill(to + call.width, to + query_pitch(call), 0.0F);
    }
    std::fill_n(slots_, slots_of(call) * slot_floats(call), 0.0F);
  }
  [[nodiscard]] float* slot(std::int64_t number) const {
    return slots_ + number * slot_floats(call_);
  }
  [[nodiscard]] float* scratch() const { return slot(slots_of(call_)); }

  [[nodiscard]] PoolingBackwardPiece piece(const PieceCursor& at, std::int64_t piece,
                                           const PoolingGradients& gradients, float* slot) const {
    const TokenRange document = call_.documents[at.document];
    const std::int64_t first = document.begin + piece * pooling_backward_tokens;
    float* const weights = slot + call_.query_rows * query_pitch(call_);
    float* const tables = weights + 2 * widest_vector;
    return {.of = tokens_,
            .query = query_,
            .query_pitch = query_pitch(call_),
            .query_normalised = call_.query_normalised,
            .first = first,
            .count = std::min(pooling_backward_tokens, document.end - first),
            .grad_sums = nullptr,
            .regions = {},
            .pairs_before = 0,
            .gradients = nullptr,
            .own_gradients = nullptr,
            .grad_query = gradients.query.data == nullptr ? nullptr : slot,
            .grad_tokens = gradients.tokens.data == nullptr
                               ? nullptr
                               : gradients.tokens.data + first * gradients.tokens.stride,
            .grad_token_stride = gradients.tokens.stride,
            .grad_weights = weights,
            .grad_alpha = weights + widest_vector,
            .grad_factor = tables,
            .grad_exponent = tables + padded_table(call_),
            .grad_constant = tables + 2 * padded_table(call_)};
  }

  void add_up(const PoolingGradients& to) const {
    for (std::int64_t i = 0; i < call_.query_rows && to.query.data != nullptr; ++i) {
      add_slots(i * query_pitch(call_),
                {to.query.data + i * to.query.stride, static_cast<std::size_t>(call_.width)});
    }
  }
  void add_up(const RegionGradients& to) const {
    const std::int64_t weights = call_.query_rows * query_pitch(call_);
    const std::int64_t tables = weights + 2 * widest_vector;
    add_slots(weights, to.kernel_weights);
    add_slots(weights + widest_vector, to.alpha);
    add_slots(tables, to.factor);
    add_slots(tables + padded_table(call_), to.exponent);
    add_slots(tables + 2 * padded_table(call_), to.constant);
  }

 private:
  void add_slots(std::int64_t at, std::span<float> to) const {
    std::fill(to.begin(), to.end(), 0.0F);
    for (std::int64_t number = 0; number < slots_of(call_); ++number) {
      const float* from = slot(number) + at;
      for (float& sum : to) sum += *from++;
    }
  }

  const PoolingCall& call_;
  PoolingTokens tokens_;
  float* query_;
  float* slots_;
};

/// Calls `work(cursor, piece of its document, slot, scratch)` for all pieces, in order within a
/// slot.
template <typename Work>
void deal_slots(const PoolingCall& call, const BackwardWorkspace& of, int threads,
                const Work& work) {
  std::int64_t pieces = 0;
  for (const TokenRange& document : call.documents) pieces += backward_pieces(document.size());
  const std::int64_t slots = slots_of(call);
  const int team = static_cast<int>(std::clamp<std::int64_t>(slots, 1, threads));
  std::atomic<std::int64_t> next{0};
#pragma omp parallel num_threads(team)
  {
    float* const mine = of.scratch() + omp_get_thread_num() * backward_scratch_floats_of(call);
    PieceCursor at;
    for (std::int64_t slot = next++; slot < slots; slot = next++) {
      const std::int64_t end = (slot + 1) * pieces / slots;
      for (std::int64_t piece = slot * pieces / slots; piece < end; ++piece) {
        move_to(call, backward_pieces, piece, at);
        work(at, piece - at.pieces_before, of.slot(slot), mine);
      }
    }
  }
}

/// The regions that contain a token of a piece, and their gradients; returns false if all are 0.
bool find_regions(const RegionCall& call, const TokenRange& document, std::int64_t piece,
                  const float* grad_scores, float* buffer, PoolingBackwardPiece& some) {
  constexpr std::int64_t pairs = pooling_backward_tokens / region_step;
  constexpr std::int64_t halo = pooling_halo_tokens / region_step;
  const std::int64_t own = piece * pairs, first = std::max<std::int64_t>(own - halo, 0);
  const std::int64_t end = std::min(own + pairs, regions_of(document.size()));
  float* const own_gradients = buffer + most_regions;
  std::fill_n(buffer, 2 * most_regions, 0.0F);
  bool any = false;
  for (std::int64_t r = first; r < end; ++r) {
    if (grad_scores[r] == 0 || tokens_in_region(document.size(), r) == 0) continue;
    any = true;
    buffer[r - first] = grad_scores[r];
    if (r >= own) own_gradients[r - first] = grad_scores[r];
  }
  if (!any) return false;
  some.regions =
      regions_between(call, some.of, document, first, std::max(end - first, std::int64_t{1}));
  some.pairs_before = own - first;
  some.gradients = buffer;
  some.own_gradients = own_gradients;
  return true;
}

void no_gradients(const PoolingBackwardPiece& piece) {
  if (piece.grad_tokens == nullptr) return;
  for (std::int64_t t = 0; t < piece.count; ++t)
    std::fill_n(piece.grad_tokens + t * piece.grad_token_stride, piece.of.width, 0.0F);
}

}  // namespace

std::int64_t pooling_workspace_floats(const PoolingCall& call, int threads) {
  return query_floats(call) + threads * scratch_floats_of(call) +
         split_pieces(call) * call.query_rows * pooling_kernels;
}

Status pooled_sums(const PoolingCall& call, std::span<float> sums, int threads,
                   std::span<float> workspace) {
  if (Status s = check_pooling(call, threads, workspace); !s) return s;
  if (Status s = check_size("sums", sums.size(), sums_of_call(call)); !s) return s;
  const Result<const KernelTable*> kernels = selected_kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  const PoolingTokens of = prepared(call, **kernels, workspace);
  float* const scratch = workspace.data() + query_floats(call);
  float* const parts = scratch + threads * scratch_floats_of(call);
  const std::int64_t size = call.query_rows * pooling_kernels;
  deal_pieces(call, threads, scratch, pieces_of_tokens,
              [&](const PieceCursor& at, std::int64_t piece, float* mine) {
                const TokenRange document = call.documents[at.document];
                const std::int64_t first = piece * pooling_piece_tokens;
                float* const to = pieces_of_tokens(document.size()) == 1
                                      ? sums.data() + static_cast<std::int64_t>(at.document) * size
                                      : parts + (at.split_before + piece) * size;
                (*kernels)->pooling_sums(of, document.begin + first,
                                         std::min(pooling_piece_tokens, document.size() - first),
                                         mine, to);
              });
  join_sums(call, parts, sums);
  return {};
}

Status region_scores(const RegionCall& call, std::span<float> scores, int threads,
                     std::span<float> workspace) {
  const PoolingCall& pooling = call.pooling;
  if (Status s = check_pooling(pooling, threads, workspace); !s) return s;
  if (Status s = check_regions(call); !s) return s;
  if (Status s = check_size("scores", scores.size(), regions_of_call(pooling)); !s) return s;
  const Result<const KernelTable*> kernels = selected_kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  const PoolingTokens of = prepared(pooling, **kernels, workspace);
  deal_pieces(pooling, threads, workspace.data() + query_floats(pooling), pieces_of_regions,
              [&](const PieceCursor& at, std::int64_t piece, float* mine) {
                const TokenRange document = pooling.documents[at.document];
                const std::int64_t first = piece * regions_of_piece;
                const RegionPiece some = regions_between(
                    call, of, document, first,
                    std::min(regions_of_piece, regions_of(document.size()) - first));
                (*kernels)->region_scores(some, mine, scores.data() + at.regions_before + first);
              });
  return {};
}

Status region_shares(const RegionCall& call, std::int64_t document, std::int64_t region,
                     std::span<float> shares, std::span<float> workspace) {
  const PoolingCall& pooling = call.pooling;
  if (Status s = check_pooling(pooling, 1, workspace); !s) return s;
  if (Status s = check_regions(call); !s) return s;
  if (Status s = check_size("shares", shares.size(), pooling.query_rows * pooling_kernels); !s)
    return s;
  if (document < 0 || document >= static_cast<std::int64_t>(pooling.documents.size())) {
    return fail("document {} does not exist; there are {} documents", document,
                pooling.documents.size());
  }
  const TokenRange of = pooling.documents[static_cast<std::size_t>(document)];
  if (region < 0 || region >= regions_of(of.size())) {
    return fail("region {} does not exist; there are {} regions", region, regions_of(of.size()));
  }
  const std::int64_t count = tokens_in_region(of.size(), region);
  const TokenRange tokens{of.begin + region * region_step, of.begin + region * region_step + count};
  PoolingCall sums = pooling;
  sums.documents = std::span(&tokens, count == 0 ? 0U : 1U);
  sums.query_weights = {};
  std::fill(shares.begin(), shares.end(), 0.0F);
  if (count == 0) return {};
  if (Status s = pooled_sums(sums, shares, 1, workspace); !s) return s;
  for (std::int64_t i = 0; i < pooling.query_rows; ++i) {
    const double weight =
        pooling.query_weights.empty() ? 1 : pooling.query_weights[static_cast<std::size_t>(i)];
    for (std::int64_t k = 0; k < pooling_kernels; ++k) {
      float& share = shares[static_cast<std::size_t>(i * pooling_kernels + k)];
      share = static_cast<float>(call.kernel_weights[static_cast<std::size_t>(k)] * weight *
                                 saturated(call.saturation, i, k, count, share));
    }
  }
  return {};
}

std::int64_t pooling_backward_workspace_floats(const PoolingCall& call, int threads) {
  return query_floats(call) + call.query_rows * query_pitch(call) +
         slots_of(call) * slot_floats(call) + threads * backward_scratch_floats_of(call);
}

Status pooled_sums_backward(const PoolingCall& call, std::span<const float> grad_sums,
                            const PoolingGradients& gradients, int threads,
                            std::span<float> workspace) {
  if (Status s = check_pooling(call, threads, workspace, pooling_backward_workspace_floats); !s)
    return s;
  if (Status s = check_disjoint(call); !s) return s;
  if (Status s = check_size("gradients of sums", grad_sums.size(), sums_of_call(call)); !s)
    return s;
  const Result<const KernelTable*> kernels = selected_kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  const BackwardWorkspace of(call, **kernels, workspace);
  const std::int64_t size = call.query_rows * pooling_kernels;
  deal_slots(call, of, threads,
             [&](const PieceCursor& at, std::int64_t piece, float* slot, float* mine) {
               PoolingBackwardPiece some = of.piece(at, piece, gradients, slot);
               some.grad_sums = grad_sums.data() + static_cast<std::int64_t>(at.document) * size;
               some.regions.query_weights = data_or_null(call.query_weights);
               (*kernels)->pooling_backward(some, mine);
             });
  of.add_up(gradients);
  return {};
}

Status region_scores_backward(const RegionCall& call, std::span<const float> grad_scores,
                              const RegionGradients& gradients, int threads,
                              std::span<float> workspace) {
  const PoolingCall& pooling = call.pooling;
  if (Status s = check_pooling(pooling, threads, workspace, pooling_backward_workspace_floats); !s)
    return s;
  if (Status s = check_regions(call); !s) return s;
  if (Status s = check_disjoint(pooling); !s) return s;
  if (Status s = check_size("gradients of scores", grad_scores.size(), regions_of_call(pooling));
      !s)
    return s;
  if (Status s = check_region_gradients(pooling, gradients); !s) return s;
  const Result<const KernelTable*> kernels = selected_kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  const BackwardWorkspace of(pooling, **kernels, workspace);
  deal_slots(pooling, of, threads,
             [&](const PieceCursor& at, std::int64_t piece, float* slot, float* mine) {
               PoolingBackwardPiece some = of.piece(at, piece, gradients.rows, slot);
               if (!find_regions(call, pooling.documents[at.document], piece,
                                 grad_scores.data() + at.regions_before, mine, some)) {
                 no_gradients(some);
                 return;
               }
               (*kernels)->pooling_backward(some, mine + 2 * most_regions);
             });
  of.add_up(gradients.rows);
  of.add_up(gradients);
  return {};
}

}  // namespace attnscope::cpu
