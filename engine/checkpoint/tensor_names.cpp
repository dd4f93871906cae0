// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/tensor_names.h"

#include <algorithm>
#include <set>

#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

using Shape = std::vector<std::int64_t>;

std::string in_words(const Shape& shape) {
  constexpr std::size_t longest = 60;
  return in_a_sentence(fmt::format("[{}]", fmt::join(shape, ", ")), longest);
}

/// What is wrong with the tensors, a few of each kind by name.
class Complaints {
 public:
  void add(std::string_view kind, std::string_view name, std::string_view remark = "") {
    for (Kind& known : kinds_) {
      if (known.words == kind) {
        known.add(name, remark);
        return;
      }
    }
    kinds_.push_back({kind, {}, 0});
    kinds_.back().add(name, remark);
  }
  [[nodiscard]] bool empty() const { return kinds_.empty(); }
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const Kind& kind : kinds_) {
      if (!all.empty()) all += "; ";
      all += fmt::format("{} {}", kind.words, fmt::join(kind.named, ", "));
      if (kind.more > 0) all += fmt::format(" and {} more", kind.more);
    }
    return all;
  }

 private:
  struct Kind {
    std::string_view words;
    std::vector<std::string> named;
    std::int64_t more;
    void add(std::string_view name, std::string_view remark) {
      constexpr std::size_t most = 3;
      if (named.size() == most) {
        ++more;
      } else {
        named.push_back(fmt::format("'{}'{}", in_a_sentence(name), remark));
      }
    }
  };
  std::vector<Kind> kinds_;
};

/// Takes tensors by name and shape, and remembers which were taken.
class Taking {
 public:
  Taking(const WeightFiles& weights, std::string prefix)
      : weights_(weights), prefix_(std::move(prefix)) {}

  [[nodiscard]] bool has(std::string_view name) const {
    return weights_.tensors.find(name) != weights_.tensors.end();
  }
  /// The name under the model's prefix.
  [[nodiscard]] std::string of_model(std::string_view name) const {
    return prefix_ + std::string(name);
  }
  TensorView tensor(const std::string& name, const Shape& shape) {
    taken_.insert(name);
    const auto found = weights_.tensors.find(name);
    if (found == weights_.tensors.end()) {
      complaints.add("missing:", name);
      return {};
    }
    const TensorView& view = found->second;
    if (view.shape != shape) {
      complaints.add("of another shape than config.json says:", name,
                     fmt::format(" {}, not {}", in_words(view.shape), in_words(shape)));
    }
    if (view.dtype != "F32" && view.dtype != "F16" && view.dtype != "BF16") {
      complaints.add("neither F32 nor F16 nor BF16:", name, fmt::format(" {}", view.dtype));
    }
    return view;
  }
  LinearViews linear(const std::string& name, std::int64_t out, std::int64_t in) {
    return {tensor(name + ".weight", {out, in}), tensor(name + ".bias", {out})};
  }
  NormViews norm(const std::string& name, std::int64_t hidden) {
    return {tensor(name + ".weight", {hidden}), tensor(name + ".bias", {hidden})};
  }
  [[nodiscard]] bool took(std::string_view name) const { return taken_.find(name) != taken_.end(); }

  Complaints complaints;

 private:
  const WeightFiles& weights_;
  std::string prefix_;
  std::set<std::string, std::less<>> taken_;
};

std::string prefix_of(const WeightFiles& weights, ModelFamily family) {
  const std::string prefix = family == ModelFamily::bert ? "bert." : "longformer.";
  const auto first = weights.tensors.lower_bound(prefix);
  const bool has = first != weights.tensors.end() && first->first.starts_with(prefix);
  return has ? prefix : "";
}

LayerViews take_layer(Taking& taking, const ModelConfig& config, std::int64_t number) {
  const std::int64_t hidden = config.shape.hidden, wide = config.shape.feed_forward;
  const std::string layer = taking.of_model(fmt::format("encoder.layer.{}.", number));
  const std::string own = layer + "attention.self.";
  LayerViews views{
      .query = taking.linear(own + "query", hidden, hidden),
      .key = taking.linear(own + "key", hidden, hidden),
      .value = taking.linear(own + "value", hidden, hidden),
      .global = {},
      .attention_output = taking.linear(layer + "attention.output.dense", hidden, hidden),
      .attention_norm = taking.norm(layer + "attention.output.LayerNorm", hidden),
      .intermediate = taking.linear(layer + "intermediate.dense", wide, hidden),
      .output = taking.linear(layer + "output.dense", hidden, wide),
      .output_norm = taking.norm(layer + "output.LayerNorm", hidden)};
  if (config.family == ModelFamily::longformer) {
    views.global = {taking.linear(own + "query_global", hidden, hidden),
                    taking.linear(own + "key_global", hidden, hidden),
                    taking.linear(own + "value_global", hidden, hidden)};
  }
  return views;
}

/// A head makes scores: BERT's a pooler and a classifier, Longformer's two layers of its own.
void take_head(Taking& taking, const ModelConfig& config, ModelViews& views) {
  const std::int64_t hidden = config.shape.hidden;
  const std::string pooler = taking.of_model("pooler.dense");
  if (config.family == ModelFamily::longformer) {
    if (taking.has("classifier.out_proj.weight") ||
        config.architecture.ends_with("ForSequenceClassification")) {
      views.pooler = taking.linear("classifier.dense", hidden, hidden);
      views.classifier = taking.linear("classifier.out_proj", 1, hidden);
      return;
    }
  } else if (taking.has("classifier.weight") ||
             config.architecture.ends_with("ForSequenceClassification")) {
    views.pooler = taking.linear(pooler, hidden, hidden);
    views.classifier = taking.linear("classifier", 1, hidden);
    return;
  }
  if (taking.has(pooler + ".weight") || taking.has(pooler + ".bias")) {
    views.pooler = taking.linear(pooler, hidden, hidden);
  }
}

/// Buffers, heads of the pre-training, and a pooler beside a head that has its own.
bool is_known_rest(std::string_view name, ModelFamily family) {
  for (const std::string_view buffer : {"embeddings.position_ids", "embeddings.token_type_ids"}) {
    if (name == buffer || name.ends_with(fmt::format(".{}", buffer))) return true;
  }
  for (const std::string_view head : {"cls.predictions.", "cls.seq_relationship.", "lm_head."}) {
    if (name.starts_with(head)) return true;
  }
  return family == ModelFamily::longformer && name.starts_with("longformer.pooler.");
}

}  // namespace

Result<NamedTensors> find_tensors(const WeightFiles& weights, const ModelConfig& config,
                                  std::string_view source) {
  const ModelShape& shape = config.shape;
  Taking taking(weights, prefix_of(weights, config.family));
  NamedTensors found;
  const std::string embeddings = taking.of_model("embeddings.");
  found.views.words =
      taking.tensor(embeddings + "word_embeddings.weight", {shape.vocabulary, shape.hidden});
  found.views.positions = taking.tensor(embeddings + "position_embeddings.weight",
                                        {shape.first_position + shape.positions, shape.hidden});
  found.views.types =
      taking.tensor(embeddings + "token_type_embeddings.weight", {shape.types, shape.hidden});
  found.views.embedding_norm = taking.norm(embeddings + "LayerNorm", shape.hidden);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    found.views.layers.push_back(take_layer(taking, config, layer));
  }
  take_head(taking, config, found.views);
  for (const auto& [name, view] : weights.tensors) {
    if (taking.took(name)) continue;
    if (is_known_rest(name, config.family)) {
      found.left_out.push_back(name);
    } else {
      taking.complaints.add("no part of such a model:", name);
    }
  }
  if (taking.complaints.empty()) return found;
  constexpr std::size_t longest_path = 400;
  return fail("the tensors in '{}' are not those of its config.json: {}",
              in_a_sentence(source, longest_path), taking.complaints.text());
}

}  // namespace attnscope
