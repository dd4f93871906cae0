#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Common code of the descriptions of BERT-based families: the fields of config.json and the tensors
// of embeddings and layers.
//
//   check_bert_computation(config);
//   read_bert_shape(config, model.shape);
//   append_bert_body(model.shape, "bert.", specs);

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/family_description.h"

namespace attnscope {

/// Far beyond any such model; products of two of them stay far below 2^63.
inline constexpr std::int64_t most_layers = 1000, most_width = 1 << 20, most_rows = 1 << 24;

[[nodiscard]] JsonField needed(const JsonField& config, std::string_view name);
[[nodiscard]] bool read_flag(const JsonField& config, std::string_view name, bool otherwise);

/// Checks that an optional field, if present, has this text; `why` replaces the default reason in
/// the error.
void must_state(const JsonField& config, std::string_view name, std::string_view only,
                std::string_view why = {});

/// Throws a JsonProblem where the file requests a computation other than BERT's.
void check_bert_computation(const JsonField& config);
/// Defaults of transformers' configuration classes.
inline constexpr ModelShape bert_base{
    .layers = 12, .hidden = 768, .heads = 12, .feed_forward = 3072};
inline constexpr ModelShape roberta_base{
    .layers = 12, .hidden = 768, .heads = 12, .feed_forward = 3072, .vocabulary = 50265};
inline constexpr ModelShape electra_small{
    .layers = 12, .hidden = 256, .heads = 4, .feed_forward = 1024};

/// Reads the sizes of every encoder, and the norms' epsilon by its field name; absent fields keep
/// their values. Throws a JsonProblem where a size is out of range or contradicts another.
void read_encoder_shape(const JsonField& config, std::string_view epsilon_name, ModelShape& shape);
/// Reads these and the number of token types.
void read_bert_shape(const JsonField& config, ModelShape& shape);

/// A size; `usual` where the file does not state it.
[[nodiscard]] std::int64_t size_or(const JsonField& config, std::string_view name,
                                   std::int64_t usual, std::int64_t most);

/// Reads 'embedding_size' (128), where it differs from the width of the layers (ELECTRA).
void read_embedding_width(const JsonField& config, ModelShape& shape);

/// Appends embeddings and all layers, with `prefix` before their names in files, without a pooler.
void append_bert_body(const ModelShape& shape, std::string_view prefix,
                      std::vector<TensorSpec>& specs);

}  // namespace attnscope
