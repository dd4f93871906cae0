// SPDX-License-Identifier: Apache-2.0
//
// TKL (Hofstaetter et al., Local Self-Attention over Long Text for Efficient Document Retrieval,
// SIGIR 2020) as in its authors' program.
#include <array>

#include "engine/checkpoint/bert_body.h"
#include "engine/model/tkl/tkl_config.h"
#include "engine/model/words/words_description.h"

namespace attnscope {
namespace {

constexpr std::array<std::string_view, 4> saturations{"embedding", "idf", "linear", "log"};

class TklDescription final : public WordsDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "tkl"; }
  [[nodiscard]] Kept keeps() const override { return Kept::token_vectors; }
  [[nodiscard]] std::optional<ShownRegions> regions(const ModelConfig& config,
                                                    const ModelOptions& options) const override {
    const auto made = configured(config, options);
    if (!made || !own_in(*made).drops_tail) return ShownRegions{};
    return ShownRegions{
        .kept = [](std::int64_t words) { return kept_words(words, /*drops_tail=*/true); }};
  }

 protected:
  [[nodiscard]] std::vector<NamedRow> named_rows() const override {
    return {{.name = id(),
             .summary = "Words of long documents attend to their chunk; kernel sums over regions "
                        "are saturated, and the best regions determine the score.",
             .pattern = "chunks"}};
  }
  [[nodiscard]] std::vector<RowOption> own_options() const override {
    return {
        {"saturation-idf", "Saturation depends on the query word's IDF and the region's length.",
         "saturation", true},
        {"saturation-linear", "No saturation: sums are multiplied by a factor.", "saturation",
         true},
        {"saturation-log", "The logarithm of the sums.", "saturation", true},
        {"as-published",
         "As in the authors' program: up to four last words of a long document are dropped.",
         "tail"}};
  }
  [[nodiscard]] std::any own_of(const ModelShape& /*shape*/) const override { return TklConfig{}; }
  [[nodiscard]] Status apply(std::string_view option, const ModelShape& /*shape*/,
                             std::any& any) const override {
    auto& own = std::any_cast<TklConfig&>(any);
    if (option == "saturation-idf") own.saturation = Saturation::idf;
    if (option == "saturation-linear") own.saturation = Saturation::linear;
    if (option == "saturation-log") own.saturation = Saturation::log;
    if (option == "as-published") own.drops_tail = true;
    return {};
  }

  [[nodiscard]] bool has_layers() const override { return true; }
  [[nodiscard]] bool uses_idfs(const ModelConfig& config) const override {
    const Saturation saturation = own_in(config).saturation;
    return saturation == Saturation::idf || saturation == Saturation::linear;
  }
  void read_own(const JsonField& config, ModelConfig& model) const override {
    TklConfig own;
    if (const auto saturation = config.present("saturation"))
      own.saturation = static_cast<Saturation>(saturation->one_of(saturations, "saturation"));
    if (const auto tail = config.present("tail")) {
      constexpr std::array<std::string_view, 2> tails{"full", "as-published"};
      own.drops_tail = tail->one_of(tails, "tail") == 1;
    }
    own.query_positions = model.most_query_tokens;
    model.own = own;
  }
  /// Sizes of the position tables, of which only some rows are used.
  void take_own_sizes(ModelConfig& config, const TensorViews& files) const override {
    auto own = own_in(config);
    const auto rows = [&](const char* name, std::int64_t least, std::int64_t& size) {
      const auto found = files.find(name);
      if (found != files.end() && found->second.shape.size() == 3)
        size = std::max(found->second.shape[1], least);
    };
    rows(tkl_names::query_positions, config.most_query_tokens, own.query_positions);
    rows(tkl_names::document_positions, chunk_words + 2 * chunk_overlap, own.document_positions);
    config.own = own;
  }

  void append_own(const ModelConfig& config, std::vector<TensorSpec>& specs) const override {
    const TklConfig own = own_in(config);
    const std::int64_t hidden = config.shape.hidden;
    append_tensor(tkl_names::query_positions, {1, own.query_positions, hidden}, 0, specs);
    append_tensor(tkl_names::document_positions, {1, own.document_positions, hidden}, 0, specs);
    append_tensor(tkl_names::mixer, {1}, 0.5, specs);
    constexpr double bias = 100;  // initial value in the authors' training
    for (const char* name : {tkl_names::factor, tkl_names::exponent, tkl_names::offset}) {
      append_tensor(fmt::format("{}.weight", name), {1, 2}, 0, specs);
      append_tensor(fmt::format("{}.bias", name), {1}, bias, specs);
    }
    if (own.saturation == Saturation::embedding) {
      append_norm(tkl_names::salience_norm, tkl_names::salience_norm, 2, specs);
      append_tensor(tkl_names::salience, {1, hidden}, 0, specs);
    }
    append_tensor(tkl_names::kernels, {1, 11}, 0, specs);
    append_tensor(tkl_names::regions, {1, 15}, 1, specs);
    if (own.saturation == Saturation::log)
      append_tensor(tkl_names::kernel_factors, {4, 1, 1, 1, 11}, 1, specs);
  }
  [[nodiscard]] std::vector<Unused> unused(const ModelConfig& config) const override {
    std::vector<Unused> all{{"mixer_sat", 1}, {"mixer_end", 1}};
    const Saturation saturation = own_in(config).saturation;
    if (saturation != Saturation::log) all.push_back({tkl_names::kernel_factors, 4 * 11});
    if (saturation != Saturation::embedding) {
      all.push_back({"sat_normer.weight", 2});
      all.push_back({"sat_normer.bias", 2});
      all.push_back({tkl_names::salience, config.shape.hidden});
    }
    return all;
  }

 private:
  static TklConfig own_in(const ModelConfig& config) {
    return std::any_cast<const TklConfig&>(config.own);
  }
};

}  // namespace

const FamilyDescription& tkl_description() {
  static const TklDescription description;
  return description;
}

// TK (Hofstaetter et al., Interpretable and Time-Budget-Constrained Contextualization for
// Re-Ranking, ECAI 2020) with PyTorch's transformer layers, as implemented for the TKL paper.

namespace {

class TkDescription final : public WordsDescription {
 public:
  [[nodiscard]] std::string_view id() const override { return "tk"; }
  [[nodiscard]] Kept keeps() const override { return Kept::token_vectors; }
  [[nodiscard]] std::optional<ShownRegions> regions(
      const ModelConfig& /*config*/, const ModelOptions& /*options*/) const override {
    return ShownRegions{
        .note =
            "TK sums over the whole document: a region's score is the score of its words alone."};
  }

 protected:
  [[nodiscard]] std::vector<NamedRow> named_rows() const override {
    return {{.name = id(),
             .summary = "Words attend to their whole text; the score is computed from logarithms "
                        "and means of kernel sums over the document."}};
  }
  [[nodiscard]] bool has_layers() const override { return true; }
  void append_own(const ModelConfig& /*config*/, std::vector<TensorSpec>& specs) const override {
    append_tensor(tk_names::scale, {1}, 0.01, specs);
    append_tensor(tk_names::mixer, {1, 1, 1}, 0.5, specs);
    append_tensor(tk_names::logarithms, {1, 11}, 0, specs);
    append_tensor(tk_names::means, {1, 11}, 0, specs);
    append_tensor(tk_names::both, {1, 2}, 0, specs);
  }
};

}  // namespace

const FamilyDescription& tk_description() {
  static const TkDescription description;
  return description;
}

}  // namespace attnscope
