// SPDX-License-Identifier: Apache-2.0
#include "engine/model/late/late_reference.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>

#include <vector>

#include "engine/attention/torch_tensors.h"

namespace attnscope {

at::Tensor LateReference::tensor(const std::string& name) const {
  return weights_.tensor(name).to(scalar_type(variant_.dtype)).to(at::kDouble);
}

at::Tensor LateReference::linear(const std::string& name, const at::Tensor& x) const {
  return at::linear(x, tensor(name + ".weight"), tensor(name + ".bias"));
}

at::Tensor LateReference::norm(const std::string& name, const at::Tensor& x) const {
  return at::layer_norm(x, {x.size(1)}, tensor(name + ".weight"), tensor(name + ".bias"),
                        shape().norm_epsilon);
}

Result<at::Tensor> LateReference::encode(TokenIds text, const TextForm& form, std::int64_t end,
                                         const std::string& learned) const {
  const auto packed = pack_texts({&text, 1}, form, cls_, shape());
  if (!packed) return tl::unexpected(packed.error());
  const ReferenceEncoder encoder(weights_, variant_, packed->layout);
  return encoder.run(encoder.embed(*packed, learned), 0, end);
}

Result<LateReference::Both> LateReference::encode_both(TokenIds query, TokenIds document) const {
  auto q = encode(query, {.group = TokenGroup::query}, shape().layers);
  if (!q) return tl::unexpected(q.error());
  auto d = encode(document, {.group = TokenGroup::document}, shape().layers);
  if (!d) return tl::unexpected(d.error());
  return Both{std::move(*q), std::move(*d)};
}

at::Tensor LateReference::run_from(const SequenceLayout& layout, const at::Tensor& x,
                                   std::int64_t first) const {
  return ReferenceEncoder(weights_, variant_, layout).run(x, first, shape().layers);
}

at::Tensor LateReference::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 std::int64_t heads, double scale) {
  const std::int64_t dim = q.size(1) / heads;
  std::vector<at::Tensor> outputs;
  for (std::int64_t h = 0; h < heads; ++h) {
    const auto of_head = [&](const at::Tensor& x) { return x.narrow(1, h * dim, dim); };
    const at::Tensor weights = at::softmax(at::matmul(of_head(q), of_head(k).t()) * scale, 1);
    outputs.push_back(at::matmul(weights, of_head(v)));
  }
  return at::cat(outputs, 1);
}

}  // namespace attnscope
