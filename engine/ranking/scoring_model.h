#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint prepared for texts: its tokenizer, the requested attention, and the request that
// makes a worker load it (docs/protocol.md, model).
//
//   Result<ScoringModel> model = ScoringModel::open({.checkpoint = "ms-marco-MiniLM-L-6-v2"});
//   Result<TokenPair> pair = model->tokenizer->encode(query, document, model->limits);

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/checkpoint/family_description.h"
#include "engine/checkpoint/hub_cache.h"
#include "engine/checkpoint/sentence_files.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/text/tokenizer.h"
#include "engine/worker/model_messages.h"

namespace attnscope {

/// The requested settings; empty texts and zeros leave the choice to the checkpoint.
struct ModelQuestion {
  std::filesystem::path checkpoint{};  // a folder, or a name of the hub (hub_cache.h)
  std::string pattern{}, window{};
  std::string local_pattern{}, local_window{};  // for the model's local layers
  std::string implementation{};  // empty: the first in the worker's order that supports the request
  std::string dtype = "float32", device = "cpu";
  std::string precision = "float32";  // for the products of linear layers: also bfloat16, int8
  ModelOptions options{};             // of the family, as "cls-only-last-layer"
  /// Computes only what [CLS] needs in the last layer, if the model's family supports it: like the
  /// option "cls-only-last-layer", which is an error for families that do not.
  bool only_scores = false;
  std::int64_t positions = 0;          // above the checkpoint's: interpolated
  std::int64_t most_tokens = 0;        // per pair
  std::int64_t most_query_tokens = 0;  // with its [SEP]
  std::string label{};  // for a model with several labels: what makes the score (parse_label)

  /// The precision of the products of linear layers.
  [[nodiscard]] const std::string& multiplies_in() const {
    return precision == "float32" ? dtype : precision;
  }
};

struct ScoringModel {
  std::string name;  // the folder's, or the hub's, ORG/NAME
  ModelShape shape;  // with the requested positions
  bool gives_scores = false;
  bool reads_words = false;        // without [CLS] and [SEP]
  std::string architecture{};      // "BertForSequenceClassification"; else the family's name
  std::int64_t document_type = 1;  // token type of documents
  std::string activation{};        // of sentence-transformers' predict(); empty: not stated
  std::shared_ptr<const SentenceFiles> sentence{};
  HeadConfig head{};
  ModelOptions options;  // of the family, as "cls-only-last-layer"
  ShownTokens shown;     // per pair
  std::optional<ShownRegions> regions;
  std::unique_ptr<const Tokenizer> tokenizer;
  AttentionPattern pattern;
  std::optional<Window> window;
  /// The attention of layers that differ from the others, and which layers these are.
  std::optional<LayerAttention> local;
  std::vector<bool> is_local;
  PairLimits limits;
  std::string limit_source{}, query_limit_source{};  // source of limits of pairs or documents; of
                                                     // queries
  bool is_listwise = false;                          // documents of a query see each other
  bool keeps_documents = false;      // they can be encoded before any query is known
  protocol::ModelRequest request{};  // that makes a worker load it, without threads
  /// The files that it is read from, and files that would be read if they existed: configuration,
  /// weights, tokenizer, the requested pattern.
  std::vector<std::filesystem::path> files{};
  std::string note{};       // parts of the checkpoint that the model does not use; empty: none
  CheckpointPlace place{};  // where it was found: its folder or the hub's cache
  /// "-full-w8-int8": the pattern, the window, those of local layers and the precision, each only
  /// if it was requested and is not the checkpoint's own.
  std::string variant{};

  /// Errors: those of find_checkpoint, Checkpoint, the tokenizer and the pattern; a missing or
  /// superfluous window; limits that contradict the positions.
  [[nodiscard]] static Result<ScoringModel> open(const ModelQuestion& question);

  /// Whether a document has a score: an error if none of its tokens has a vector.
  [[nodiscard]] Status check_document(std::span<const std::int32_t> document) const;
};

/// The metadata of a dump (docs/attention-dumps.md) of a pair, known before any computation: the
/// texts of its `__metadata__`. An error for a model that shows nothing of a pair. By default,
/// `note` is the model's own. `layers` are those that the dump will have; empty: all.
[[nodiscard]] Result<std::map<std::string, std::string>> dump_metadata(
    const ScoringModel& model, const TokenPair& pair, const std::string& note,
    std::span<const std::int64_t> layers = {});

/// The metadata of a file of the document's regions (engine/inspect/regions.h), for a model that
/// has regions.
[[nodiscard]] std::map<std::string, std::string> regions_metadata(const ScoringModel& model,
                                                                  const std::string& query,
                                                                  const std::string& document,
                                                                  const TokenPair& pair);

}  // namespace attnscope
