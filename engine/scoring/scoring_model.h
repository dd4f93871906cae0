#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint made ready for texts: its tokenizer, the attention it is asked to compute with, and
// the request that has a worker load it (docs/protocol.md, model).
//
//   Result<ScoringModel> model = ScoringModel::open({.checkpoint = "ms-marco-MiniLM-L-6-v2"});
//   Result<TokenPair> pair = model->tokenizer->encode(query, document, model->limits);

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint/family_description.h"
#include "engine/checkpoint/hub_cache.h"
#include "engine/checkpoint/sentence_files.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/text/tokenizer.h"
#include "kernels/base/result.h"

namespace attnscope {

/// What is asked for; empty texts and zeros leave the choice to the checkpoint.
struct ModelQuestion {
  std::filesystem::path checkpoint{};  // a folder, or a name of the hub (hub_cache.h)
  std::string pattern{}, window{};
  std::string local_pattern{}, local_window{};  // of the layers that the model calls local
  std::string implementation{};  // empty: the first of the worker's own order that takes it
  std::string dtype = "float32", device = "cpu";
  std::string precision = "float32";  // of the products of linear layers: also bfloat16, int8
  ModelOptions options{};             // of the family, as "cls-only-last-layer"
  /// Of the last layer what [CLS] needs is enough, where the model's family can do without the
  /// rest: as the option "cls-only-last-layer", which others refuse.
  bool only_scores = false;
  std::int64_t positions = 0;          // above the checkpoint's: interpolated
  std::int64_t most_tokens = 0;        // of a pair
  std::int64_t most_query_tokens = 0;  // with its [SEP]
  std::string label{};  // of a model with several labels: what makes the score (parse_label)

  /// What its linear layers multiply in.
  [[nodiscard]] const std::string& multiplies_in() const {
    return precision == "float32" ? dtype : precision;
  }
};

struct ScoringModel {
  std::string name;  // the folder's, or the hub's, ORG/NAME
  ModelShape shape;  // with the positions asked for
  bool gives_scores = false;
  bool reads_words = false;        // without [CLS] and [SEP]
  std::string architecture{};      // "BertForSequenceClassification"; else the family's name
  std::int64_t document_type = 1;  // token type of documents
  std::string activation{};        // of sentence-transformers' predict(); empty: none is stated
  std::shared_ptr<const SentenceFiles> sentence{};
  HeadConfig head{};
  ModelOptions options;  // of the family, as "cls-only-last-layer"
  ShownTokens shown;     // of a pair
  std::optional<ShownRegions> regions;
  std::unique_ptr<const Tokenizer> tokenizer;
  AttentionPattern pattern;
  std::optional<Window> window;
  /// Of the layers that have an attention of their own, and which those are.
  std::optional<LayerAttention> local;
  std::vector<bool> is_local;
  PairLimits limits;
  std::string limit_source{}, query_limit_source{};  // what limits pairs or documents, and queries
  bool is_listwise = false;                          // documents of a query see each other
  bool keeps_documents = false;  // they can be encoded before any query is known
  nlohmann::json request;        // but for "threads"
  /// What it is read from, and what would be read if it were there: configuration, weights,
  /// tokenizer, the pattern asked for.
  std::vector<std::filesystem::path> files{};
  std::string note{};       // what the checkpoint has and the model does not use; empty: nothing
  CheckpointPlace place{};  // where it was found, by its folder or in the hub's cache

  /// Errors: what find_checkpoint, Checkpoint, the tokenizer and the pattern say, a window that is
  /// missing or too many, limits that contradict the positions.
  [[nodiscard]] static Result<ScoringModel> open(const ModelQuestion& question);

  /// Whether a document has a score: an error where none of its tokens has a vector of its own.
  [[nodiscard]] Status check_document(std::span<const std::int32_t> document) const;
};

/// What a dump (docs/attention-dumps.md) says of a pair before anything is computed: the texts of
/// its `__metadata__`. An error of a model that shows nothing of a pair. Without a note it is the
/// model's own. `layers` are those that the dump will have; none: all.
[[nodiscard]] Result<std::map<std::string, std::string>> dump_metadata(
    const ScoringModel& model, const TokenPair& pair, const std::string& note,
    std::span<const std::int64_t> layers = {});

/// The same of a file of the document's regions (engine/inspect/regions.h), of a model that has
/// some.
[[nodiscard]] std::map<std::string, std::string> regions_metadata(const ScoringModel& model,
                                                                  const std::string& query,
                                                                  const std::string& document,
                                                                  const TokenPair& pair);

}  // namespace attnscope
