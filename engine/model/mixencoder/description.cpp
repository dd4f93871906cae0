// SPDX-License-Identifier: Apache-2.0
//
// MixEncoder: candidates are encoded to k context vectors, which attend to the query's keys and
// values in some interaction layers. Tensor names are those of the authors' classes.
#include <array>
#include <numeric>

#include "engine/checkpoint/bert_body.h"
#include "engine/model/late/late_description.h"

namespace attnscope {
namespace {

/// The last `count` layers.
std::vector<std::int64_t> last_layers(std::int64_t count, std::int64_t layers) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), layers - count);
  return numbers;
}

class MixEncoderDescription final : public LateDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "mixencoder"; }
  [[nodiscard]] Kept keeps() const override { return Kept::vectors; }
  [[nodiscard]] std::int64_t first_tokens_of_document(const ModelConfig& config,
                                                      const ModelOptions& options) const override {
    const auto made = configured(config, options);
    const auto& own = std::any_cast<const MixConfig&>(made ? made->own : config.own);
    return own.composed ? 1 : own.contexts;
  }
  /// Contexts attend to the query's tokens and to each other in one softmax (Eq. 1).
  [[nodiscard]] ShownTokens shows(const ModelConfig& config,
                                  const ModelOptions& options) const override {
    const auto made = configured(config, options);
    if (!made) return {.some = false};
    const auto& own = std::any_cast<const MixConfig&>(made->own);
    if (own.without_e) return {.some = false};
    return {.contexts = own.contexts,
            .pattern = R"({"name": "contexts", "title": "Contexts of the candidate", "attends": {
                             "document": {"cls": "whole", "query": "whole", "document": "whole"}}})",
            .note = "the attention of the document's kept vectors to the query and to each other"};
  }

 protected:
  [[nodiscard]] std::vector<NamedRow> named_rows() const override {
    return {
        {.name = "mixencoder-a",
         .summary = "A candidate's vector interacts with the query in the last layer; only that "
                    "vector is kept.",
         .options = {}},
        {.name = "mixencoder-b",
         .summary = "A candidate's vector interacts with the query in the last three layers.",
         .options = {"interaction-layers-3"}},
        {.name = "mixencoder-c",
         .summary = "Two vectors of a candidate interact with the query in the last three layers.",
         .options = {"interaction-layers-3", "contexts-2", "disentangled"}}};
  }

  [[nodiscard]] std::vector<RowOption> late_options() const override {
    return {{"contexts-1", "One vector is kept per candidate.", "contexts", true},
            {"contexts-2", "Two vectors are kept per candidate.", "contexts", true},
            {"contexts-3", "Three vectors are kept per candidate.", "contexts", true},
            {"contexts-4", "Four vectors are kept per candidate.", "contexts", true},
            {"contexts-10", "Ten vectors are kept per candidate.", "contexts", true},
            {"interaction-layers-1", "Candidates interact with the query in the last layer.",
             "layers", true},
            {"interaction-layers-2", "Candidates interact with the query in the last two layers.",
             "layers", true},
            {"interaction-layers-3", "Candidates interact with the query in the last three layers.",
             "layers", true},
            {"c-strategy", "Codes compose a candidate's states to contexts.", "strategy", true},
            {"disentangled",
             "The last context attends for the query's vector, the others represent the candidate.",
             "disentangled"},
            {"cosine", "The score is the cosine, as in the paper.", "score"},
            {"without-h", "The query is its [CLS], the same for all candidates.", "ablation"},
            {"without-e", "The contexts remain as they were cached.", "ablation"}};
  }

  [[nodiscard]] std::any own_of(const ModelShape& shape) const override {
    return MixConfig{.interaction_layers = last_layers(1, shape.layers)};
  }

  void read_own(const JsonField& config, ModelConfig& model) const override {
    constexpr std::int64_t most_contexts = 256;
    MixConfig own{.contexts = needed(config, "contexts").whole(1, most_contexts)};
    if (const auto strategy = config.present("strategy")) {
      constexpr std::array<std::string_view, 2> words{"S", "C"};
      own.composed = strategy->one_of(words, "strategy") == 1;
    }
    own.interaction_layers = read_layers(needed(config, "interaction_layers"), model.shape.layers);
    own.disentangled = read_flag(config, "disentangled", false);
    if (const auto score = config.present("score")) {
      constexpr std::array<std::string_view, 2> words{"dot", "cosine"};
      own.cosine = score->one_of(words, "score") == 1;
    }
    own.without_h = read_flag(config, "without_H", false);
    own.without_e = read_flag(config, "without_E", false);
    if (own.without_h && own.without_e) {
      config["without_E"].wrong("is true together with 'without_H', so no interaction is left");
    }
    model.own = std::move(own);
  }

  [[nodiscard]] Status apply(std::string_view option, const ModelShape& shape,
                             std::any& any) const override {
    auto& own = std::any_cast<MixConfig&>(any);
    if (const auto contexts = number_after("contexts-", option)) own.contexts = *contexts;
    if (const auto layers = number_after("interaction-layers-", option)) {
      if (*layers > shape.layers) {
        return fail("requests interaction in {} layers, and the model has {}", *layers,
                    shape.layers);
      }
      own.interaction_layers = last_layers(*layers, shape.layers);
    }
    if (option == "c-strategy") own.composed = true;
    if (option == "disentangled") own.disentangled = true;
    if (option == "cosine") own.cosine = true;
    if (option == "without-h") own.without_h = true;
    if (option == "without-e") own.without_e = true;
    if (own.without_h && own.without_e)
      return fail("together with without-h leaves no interaction");
    return {};
  }

  void append_own(const ModelConfig& config, std::vector<TensorSpec>& specs) const override {
    const auto& own = std::any_cast<const MixConfig&>(config.own);
    const std::int64_t hidden = config.shape.hidden, wide = config.shape.feed_forward;
    const auto linear = [&](const std::string& name, std::int64_t out, std::int64_t in) {
      append_linear(name, name, out, in, specs);
    };
    for (const std::int64_t layer : own.interaction_layers) {
      for (const char* part :
           {"candidate_query", "candidate_key", "candidate_value", "compress_query"})
        linear(name_of_mix_part(part, layer), hidden, hidden);
      linear(name_of_mix_chunk("attention.dense", layer), hidden, hidden);
      append_chunk_norm("attention.LayerNorm", layer, hidden, specs);
      linear(name_of_mix_chunk("intermediate.dense", layer), wide, hidden);
      linear(name_of_mix_chunk("output.dense", layer), hidden, wide);
      append_chunk_norm("output.LayerNorm", layer, hidden, specs);
    }
    linear(mix_gate, hidden, 3 * hidden);
    append_matrix(own.composed ? mix_codes : mix_learned, own.contexts, hidden, specs);
  }

  /// In the authors' class, layers without interaction also have parameters.
  [[nodiscard]] bool is_leftover(std::string_view name) const override {
    for (const std::string_view unused :
         {"decoder.candidate_query.", "decoder.candidate_key.", "decoder.candidate_value.",
          "decoder.compress_query.", "decoder.layer_chunks.", "decoder.value_layer.",
          "decoder.self_attention_weight_layer."}) {
      if (name.starts_with(unused)) return true;
    }
    return false;
  }

 private:
  static void append_chunk_norm(std::string_view part, std::int64_t layer, std::int64_t hidden,
                                std::vector<TensorSpec>& specs) {
    const std::string name = name_of_mix_chunk(part, layer);
    append_norm(name, name, hidden, specs);
  }

  static std::vector<std::int64_t> read_layers(const JsonField& list, std::int64_t layers) {
    std::vector<std::int64_t> numbers;
    for (const JsonField& layer : list.one_or_more()) {
      numbers.push_back(layer.whole(0, layers - 1));
      if (numbers.size() > 1 && numbers.back() <= numbers[numbers.size() - 2])
        layer.wrong("does not ascend; give interaction layers from the lowest to the highest");
    }
    return numbers;
  }
};

}  // namespace

const FamilyDescription& mixencoder_description() {
  static const MixEncoderDescription description;
  return description;
}

}  // namespace attnscope
