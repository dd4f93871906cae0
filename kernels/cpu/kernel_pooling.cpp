// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/kernel_pooling.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace attnscope::cpu {
namespace {

constexpr std::int64_t columns_of_tables = region_tokens + 1;

double sigma_of(const PoolingCall& call, std::int64_t k) {
  return k == 0 ? call.first_sigma : pooling_sigma;
}

double centre_of(std::int64_t k) {
  return static_cast<double>(k == 0 ? 10 : 11 - 2 * k) / 10;
}

double phi_of(const PoolingCall& call, std::int64_t k, double c) {
  const double off = (c - centre_of(k)) / sigma_of(call, k);
  return std::exp(-off * off / 2);
}

double weight_of(const PoolingCall& call, std::int64_t i) {
  return call.query_weights.empty() ? 1 : call.query_weights[static_cast<std::size_t>(i)];
}

const float* token_row(const PoolingCall& call, std::int64_t token) {
  const std::int64_t row =
      call.numbers.empty() ? token : call.numbers[static_cast<std::size_t>(token)];
  return call.tokens.data + row * call.tokens.stride;
}

const float* query_row(const PoolingCall& call, std::int64_t i) {
  return call.query.data + i * call.query.stride;
}

double length_of(const float* row, std::int64_t width, bool normalised) {
  if (normalised) return 1;
  double sum = 0;
  for (std::int64_t c = 0; c < width; ++c) sum += static_cast<double>(row[c]) * row[c];
  return std::sqrt(sum) + 1e-13;
}

double cosine_of(const PoolingCall& call, std::int64_t i, std::int64_t token) {
  const float *q = query_row(call, i), *d = token_row(call, token);
  double sum = 0;
  for (std::int64_t c = 0; c < call.width; ++c) sum += static_cast<double>(q[c]) * d[c];
  return sum / length_of(q, call.width, call.query_normalised) /
         length_of(d, call.width, call.tokens_normalised);
}

/// [query_rows, tokens of the document].
std::vector<double> cosines_of(const PoolingCall& call, const TokenRange& document) {
  std::vector<double> cosines;
  cosines.reserve(static_cast<std::size_t>(call.query_rows * document.size()));
  for (std::int64_t i = 0; i < call.query_rows; ++i) {
    for (std::int64_t t = document.begin; t < document.end; ++t)
      cosines.push_back(cosine_of(call, i, t));
  }
  return cosines;
}

double sum_of(const PoolingCall& call, const double* cosines, std::int64_t count, std::int64_t k) {
  double sum = 0;
  for (std::int64_t j = 0; j < count; ++j) sum += phi_of(call, k, cosines[j]);
  return sum;
}

Status check_pooling(const PoolingCall& call, int threads, std::span<const float> workspace) {
  if (call.query_rows < 1 || call.width < 1 || call.token_rows < 0) {
    return fail("{} query rows and {} tokens of {} numbers cannot be pooled", call.query_rows,
                call.token_rows, call.width);
  }
  if (call.query.data == nullptr || (call.tokens.data == nullptr && call.token_rows > 0)) {
    return fail("kernel pooling needs the memory of its rows");
  }
  for (const std::int64_t number : call.numbers) {
    if (number < 0 || number >= call.token_rows) {
      return fail("row {} was asked for, and there are {}", number, call.token_rows);
    }
  }
  const std::int64_t tokens =
      call.numbers.empty() ? call.token_rows : static_cast<std::int64_t>(call.numbers.size());
  for (const TokenRange& document : call.documents) {
    if (document.begin < 0 || document.end < document.begin || document.end > tokens) {
      return fail("tokens {} to {} were asked for, and there are {}", document.begin, document.end,
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
  const std::int64_t needed = pooling_workspace_floats(call, threads);
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

Status check_apart(const PoolingCall& call) {
  for (std::size_t d = 1; d < call.documents.size(); ++d) {
    if (call.documents[d].begin < call.documents[d - 1].end) {
      return fail(
          "gradients need documents in ascending order and apart, and tokens {} and {} "
          "follow each other",
          call.documents[d - 1].end, call.documents[d].begin);
    }
  }
  return {};
}

/// T of a sum, and its gradients.
struct Saturated {
  double value = 0;
  double by_sum = 0, by_factor = 0, by_exponent = 0, by_constant = 0, by_alpha = 0;
};

Saturated saturated(const RegionSaturation& of, std::int64_t i, std::int64_t k, std::int64_t n,
                    double sum) {
  const double least = least_pooled_sum;
  const auto at = static_cast<std::size_t>(i * columns_of_tables + n);
  if (n == 0) return {};
  if (!of.alpha.empty()) {
    const double alpha = of.alpha[static_cast<std::size_t>(k)];
    if (sum * alpha < least) return {.value = std::log(least)};
    return {.value = std::log(sum * alpha), .by_sum = 1 / sum, .by_alpha = 1 / alpha};
  }
  const double factor = of.factor[at];
  const double exponent = of.exponent.empty() ? 1 : of.exponent[at];
  const double base = sum < least ? least : sum;
  const double power = std::pow(base, exponent);
  return {.value = factor * power - of.constant[at],
          .by_sum = sum < least ? 0 : factor * exponent * power / base,
          .by_factor = power,
          .by_exponent = factor * power * std::log(base),
          .by_constant = -1};
}

/// What a cosine's gradient gives to rows.
void add_cosine_gradient(const PoolingCall& call, std::int64_t i, std::int64_t token, double cosine,
                         double gradient, double* grad_query, double* grad_token) {
  const float *q = query_row(call, i), *d = token_row(call, token);
  const double of_q = length_of(q, call.width, call.query_normalised);
  const double of_d = length_of(d, call.width, call.tokens_normalised);
  const auto add = [&](const float* self, double own, bool normalised, const float* other,
                       double others, double* to) {
    if (own <= 1e-13) return;
    for (std::int64_t c = 0; c < call.width; ++c) {
      const double along = normalised ? 0 : cosine * self[c] / (own - 1e-13);
      to[c] += gradient * (other[c] / others - along) / own;
    }
  };
  add(q, of_q, call.query_normalised, d, of_d, grad_query);
  add(d, of_d, call.tokens_normalised, q, of_q, grad_token);
}

double slope_of(const PoolingCall& call, std::int64_t k, double c) {
  const double sigma = sigma_of(call, k);
  return -phi_of(call, k, c) * (c - centre_of(k)) / (sigma * sigma);
}

void write_row(const std::vector<double>& from, std::int64_t first, std::int64_t width, float* to) {
  for (std::int64_t c = 0; c < width; ++c)
    to[c] = static_cast<float>(from[static_cast<std::size_t>(first + c)]);
}

/// Gathers gradients of all rows: take(i, token, cosine, gradient of the cosine).
class RowGradients {
 public:
  explicit RowGradients(const PoolingCall& call)
      : call_(call), query_(static_cast<std::size_t>(call.query_rows * call.width)) {}

  /// grads(i, j, k): of phi_k of the document's token j.
  template <typename Grads>
  void of_document(const TokenRange& document, const PoolingGradients& to, const Grads& grads) {
    const std::int64_t width = call_.width;
    for (std::int64_t j = 0; j < document.size(); ++j) {
      std::vector<double> row(static_cast<std::size_t>(width));
      for (std::int64_t i = 0; i < call_.query_rows; ++i) {
        const double c = cosine_of(call_, i, document.begin + j);
        double gradient = 0;
        for (std::int64_t k = 0; k < pooling_kernels; ++k)
          gradient += grads(i, j, k) * slope_of(call_, k, c);
        add_cosine_gradient(call_, i, document.begin + j, c, gradient, query_.data() + i * width,
                            row.data());
      }
      if (to.tokens.data != nullptr)
        write_row(row, 0, width, to.tokens.data + (document.begin + j) * to.tokens.stride);
    }
  }
  void write_query(const PoolingGradients& to) const {
    if (to.query.data == nullptr) return;
    for (std::int64_t i = 0; i < call_.query_rows; ++i)
      write_row(query_, i * call_.width, call_.width, to.query.data + i * to.query.stride);
  }

 private:
  const PoolingCall& call_;
  std::vector<double> query_;
};

}  // namespace

std::int64_t pooling_workspace_floats(const PoolingCall& call, int threads) {
  return threads * call.query_rows;
}

Status pooled_sums(const PoolingCall& call, std::span<float> sums, int threads,
                   std::span<float> workspace) {
  if (Status s = check_pooling(call, threads, workspace); !s) return s;
  if (Status s = check_size("sums", sums.size(), sums_of_call(call)); !s) return s;
  float* to = sums.data();
  for (const TokenRange& document : call.documents) {
    const std::vector<double> cosines = cosines_of(call, document);
    for (std::int64_t i = 0; i < call.query_rows; ++i) {
      for (std::int64_t k = 0; k < pooling_kernels; ++k) {
        *to++ = static_cast<float>(weight_of(call, i) * sum_of(call,
                                                               cosines.data() + i * document.size(),
                                                               document.size(), k));
      }
    }
  }
  return {};
}

Status region_scores(const RegionCall& call, std::span<float> scores, int threads,
                     std::span<float> workspace) {
  const PoolingCall& pooling = call.pooling;
  if (Status s = check_pooling(pooling, threads, workspace); !s) return s;
  if (Status s = check_regions(call); !s) return s;
  if (Status s = check_size("scores", scores.size(), regions_of_call(pooling)); !s) return s;
  std::vector<float> shares(static_cast<std::size_t>(pooling.query_rows * pooling_kernels));
  float* to = scores.data();
  for (std::size_t d = 0; d < pooling.documents.size(); ++d) {
    for (std::int64_t r = 0; r < regions_of(pooling.documents[d].size()); ++r) {
      if (Status s = region_shares(call, static_cast<std::int64_t>(d), r, shares, workspace); !s)
        return s;
      double sum = 0;
      for (const float share : shares) sum += share;
      *to++ = static_cast<float>(sum);
    }
  }
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
    return fail("document {} was asked for, and there are {}", document, pooling.documents.size());
  }
  const TokenRange of = pooling.documents[static_cast<std::size_t>(document)];
  if (region < 0 || region >= regions_of(of.size())) {
    return fail("region {} was asked for, and there are {}", region, regions_of(of.size()));
  }
  const std::int64_t count = tokens_in_region(of.size(), region);
  const std::int64_t first = of.begin + (count > 0 ? region * region_step : 0);
  const std::vector<double> cosines = cosines_of(pooling, {first, first + count});
  for (std::int64_t i = 0; i < pooling.query_rows; ++i) {
    for (std::int64_t k = 0; k < pooling_kernels; ++k) {
      const double sum = sum_of(pooling, cosines.data() + i * count, count, k);
      shares[static_cast<std::size_t>(i * pooling_kernels + k)] = static_cast<float>(
          call.kernel_weights[static_cast<std::size_t>(k)] * weight_of(pooling, i) *
          saturated(call.saturation, i, k, count, sum).value);
    }
  }
  return {};
}

Status pooled_sums_backward(const PoolingCall& call, std::span<const float> grad_sums,
                            const PoolingGradients& gradients, int threads,
                            std::span<float> workspace) {
  if (Status s = check_pooling(call, threads, workspace); !s) return s;
  if (Status s = check_apart(call); !s) return s;
  if (Status s = check_size("gradients of sums", grad_sums.size(), sums_of_call(call)); !s)
    return s;
  RowGradients rows(call);
  const float* grads = grad_sums.data();
  for (const TokenRange& document : call.documents) {
    rows.of_document(document, gradients, [&](std::int64_t i, std::int64_t, std::int64_t k) {
      return weight_of(call, i) * grads[i * pooling_kernels + k];
    });
    grads += call.query_rows * pooling_kernels;
  }
  rows.write_query(gradients);
  return {};
}

Status region_scores_backward(const RegionCall& call, std::span<const float> grad_scores,
                              const RegionGradients& gradients, int threads,
                              std::span<float> workspace) {
  const PoolingCall& pooling = call.pooling;
  if (Status s = check_pooling(pooling, threads, workspace); !s) return s;
  if (Status s = check_regions(call); !s) return s;
  if (Status s = check_apart(pooling); !s) return s;
  if (Status s = check_size("gradients of scores", grad_scores.size(), regions_of_call(pooling));
      !s)
    return s;
  const std::int64_t table = table_floats(pooling);
  const auto check = [&](std::string_view what, std::span<float> of, std::int64_t size) {
    return check_optional(what, of.size(), size);
  };
  if (Status s = check("gradients of kernel weights", gradients.kernel_weights, pooling_kernels);
      !s)
    return s;
  if (Status s = check("gradients of factors", gradients.factor, table); !s) return s;
  if (Status s = check("gradients of exponents", gradients.exponent, table); !s) return s;
  if (Status s = check("gradients of constants", gradients.constant, table); !s) return s;
  if (Status s = check("gradients of alphas", gradients.alpha, pooling_kernels); !s) return s;

  const auto entries = static_cast<std::size_t>(table);
  std::vector<double> factor(entries), exponent(entries), constant(entries);
  std::vector<double> weights(pooling_kernels), alpha(pooling_kernels);
  RowGradients rows(pooling);
  const float* of_scores = grad_scores.data();
  for (const TokenRange& document : pooling.documents) {
    const std::int64_t length = document.size(), regions = regions_of(length);
    const std::vector<double> cosines = cosines_of(pooling, document);
    const std::int64_t row = length * pooling_kernels;  // of gradients of kernels
    std::vector<double> of_kernels(static_cast<std::size_t>(pooling.query_rows * row));
    for (std::int64_t r = 0; r < regions; ++r) {
      const double g = of_scores[r];
      const std::int64_t n = tokens_in_region(length, r), first = r * region_step;
      if (g == 0 || n == 0) continue;
      for (std::int64_t i = 0; i < pooling.query_rows; ++i) {
        const double own = g * weight_of(pooling, i);
        const auto at = static_cast<std::size_t>(i * columns_of_tables + n);
        for (std::int64_t k = 0; k < pooling_kernels; ++k) {
          const auto kernel = static_cast<std::size_t>(k);
          const double sum = sum_of(pooling, cosines.data() + i * length + first, n, k);
          const Saturated t = saturated(call.saturation, i, k, n, sum);
          const double w = own * call.kernel_weights[kernel];
          weights[kernel] += own * t.value;
          alpha[kernel] += w * t.by_alpha;
          factor[at] += w * t.by_factor;
          exponent[at] += w * t.by_exponent;
          constant[at] += w * t.by_constant;
          for (std::int64_t j = first; j < first + n; ++j)
            of_kernels[static_cast<std::size_t>(i * row + j * pooling_kernels + k)] += w * t.by_sum;
        }
      }
    }
    rows.of_document(document, gradients.rows, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
      return of_kernels[static_cast<std::size_t>(i * row + j * pooling_kernels + k)];
    });
    of_scores += regions;
  }
  rows.write_query(gradients.rows);
  const auto write = [](const std::vector<double>& from, std::span<float> to) {
    if (to.empty()) return;
    std::transform(from.begin(), from.end(), to.begin(),
                   [](double value) { return static_cast<float>(value); });
  };
  write(weights, gradients.kernel_weights);
  write(factor, gradients.factor);
  write(exponent, gradients.exponent);
  write(constant, gradients.constant);
  write(alpha, gradients.alpha);
  return {};
}

}  // namespace attnscope::cpu
