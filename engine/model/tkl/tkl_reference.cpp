// SPDX-License-Identifier: Apache-2.0
//
// Computes every chunk and every region separately, with the full tensor of kernels.
#include "engine/model/tkl/tkl_reference.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <vector>

#include "engine/model/words/words_description.h"

namespace attnscope {
namespace {

constexpr double least_region_sum = 1e-10;

class Reference {
 public:
  Reference(const WordsReference& of, const TklConfig& own, TokenIds query, TokenIds document)
      : of_(of), own_(own), query_(query), document_(document) {}

  ReferenceOutput score() const {
    const auto words = static_cast<std::int64_t>(document_.size());
    std::int64_t chunks = 1;
    if (words > 5) chunks = own_.drops_tail ? (words - 5) / 40 + 1 : (words + 39) / 40;
    const at::Tensor query = encoded_query();
    std::vector<at::Tensor> encoded;
    for (std::int64_t c = 0; c < chunks && c * 40 < words; ++c) encoded.push_back(chunk(c));
    const std::int64_t regions = (chunks * 40 - 30) / 2 + 1;
    std::vector<double> scores(static_cast<std::size_t>(regions));
    if (words > 0) {
      const at::Tensor kernels =
          WordsReference::kernels(WordsReference::cosines(query, at::cat(encoded)), 0.1);
      for (std::int64_t r = 0; r < regions; ++r)
        scores[static_cast<std::size_t>(r)] = region(kernels, query, r);
    }
    return counted(scores);
  }

 private:
  at::Tensor mixed(const at::Tensor& embedded, const at::Tensor& context) const {
    const at::Tensor mixer = of_.tensor(tkl_names::mixer);
    return mixer * embedded + (1 - mixer) * context;
  }

  at::Tensor encoded_query() const {
    const at::Tensor embedded = of_.embed(query_);
    const at::Tensor positions = of_.tensor(tkl_names::query_positions)[0];
    return mixed(embedded, of_.contextualize(embedded + positions.narrow(0, 0, embedded.size(0))));
  }

  /// The words in the chunk's centre.
  at::Tensor chunk(std::int64_t number) const {
    const auto words = static_cast<std::int64_t>(document_.size());
    const std::int64_t from = number * 40 - 5;
    const std::int64_t begin = std::max<std::int64_t>(from, 0), end = std::min(from + 50, words);
    const at::Tensor embedded = of_.embed(
        document_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
    const at::Tensor positions =
        of_.tensor(tkl_names::document_positions)[0].narrow(0, begin - from, end - begin);
    const at::Tensor all = mixed(embedded, of_.contextualize(embedded + positions));
    const std::int64_t first = number * 40, last = std::min(first + 40, words);
    return all.narrow(0, first - begin, last - first);
  }

  double region(const at::Tensor& kernels, const at::Tensor& query, std::int64_t number) const {
    const std::int64_t begin = 2 * number, end = std::min(begin + 30, kernels.size(1));
    if (end <= begin) return 0;
    const at::Tensor sums = kernels.narrow(1, begin, end - begin).sum(1);
    const at::Tensor weights = of_.tensor(tkl_names::kernels)[0];
    return (saturated(sums, query, end - begin) * weights).sum().item<double>();
  }

  /// Saturates the sums [query, 11] of a region of `words` words.
  at::Tensor saturated(const at::Tensor& sums, const at::Tensor& query, std::int64_t words) const {
    if (own_.saturation == Saturation::log) {
      const at::Tensor factors = of_.tensor(tkl_names::kernel_factors)[0].reshape({1, 11});
      return (sums * factors).clamp_min(least_region_sum).log();
    }
    at::Tensor salience;
    if (own_.saturation == Saturation::embedding) {
      salience = query.matmul(of_.tensor(tkl_names::salience).t());
    } else {
      const std::vector<std::int64_t> ids(query_.begin(), query_.end());
      salience = of_.tensor(word_idfs).index_select(0, at::tensor(ids, at::kLong)).relu();
    }
    const at::Tensor length = at::full({query.size(0), 1}, static_cast<double>(words), at::kDouble);
    at::Tensor x = at::cat({salience, length}, 1);
    if (own_.saturation == Saturation::embedding) x = of_.norm(tkl_names::salience_norm, x);
    const at::Tensor a = of_.linear(tkl_names::factor, x);
    const at::Tensor b = of_.linear(tkl_names::exponent, x);
    const at::Tensor counted = sums.clamp_min(least_region_sum);
    if (own_.saturation == Saturation::linear) return a * counted + b;
    return a * counted.pow(1 / b) - of_.linear(tkl_names::offset, x);
  }

  ReferenceOutput counted(const std::vector<double>& scores) const {
    const auto count = static_cast<std::int64_t>(scores.size());
    std::vector<double> with_gaps(scores);
    std::ranges::replace(with_gaps, 0.0, -9900.0);
    std::vector<double> left(with_gaps);
    std::vector<std::int64_t> peaks;
    for (int peak = 0; peak < 3; ++peak) {
      const std::int64_t best = std::ranges::max_element(left) - left.begin();
      peaks.push_back(best);
      for (std::int64_t r = 0; r < count; ++r)
        if (std::abs(r - best) < 15) left[static_cast<std::size_t>(r)] = -10001.0 - peak;
    }
    ReferenceOutput output;
    const at::Tensor weights = of_.tensor(tkl_names::regions)[0];
    for (const std::int64_t alongside : {0, -1, 1, -2, 2}) {
      for (const std::int64_t peak : peaks) {
        const std::int64_t r = std::clamp<std::int64_t>(peak + alongside, 0, count - 1);
        const double score = with_gaps[static_cast<std::size_t>(r)];
        const double value = score <= -9900 ? 0 : score;
        output.score +=
            weights[static_cast<std::int64_t>(output.state.size())].item<double>() * value;
        output.state.push_back(value);
      }
    }
    return output;
  }

  const WordsReference& of_;
  const TklConfig& own_;
  TokenIds query_, document_;
};

}  // namespace

ReferenceOutput tkl_reference(const WordsReference& reference, const TklConfig& own, TokenIds query,
                              TokenIds document) {
  return Reference(reference, own, query, document).score();
}

}  // namespace attnscope
