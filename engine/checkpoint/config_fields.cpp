// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/config_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "engine/text/tokenizer_folder.h"

namespace attnscope {
namespace {

/// Fields of config.json, of current and earlier transformers classes, that the families here read
/// or that change no score.
constexpr std::array known_fields{
    // All classes.
    "_attn_implementation", "_attn_implementation_autoset", "_attn_implementation_internal",
    "_experts_implementation_internal", "_commit_hash", "_name_or_path", "architectures",
    "attn_implementation", "chunk_size_feed_forward", "dtype", "finetuning_task", "id2label",
    "is_encoder_decoder", "label2id", "model_type", "num_labels", "output_attentions",
    "output_hidden_states", "output_past", "problem_type", "return_dict", "tokenizer_class",
    "torch_dtype", "torchscript", "transformers_version", "use_bfloat16", "attnscope_begun_from",
    "attnscope", "sentence_transformers", "sbert_ce_default_activation_function",
    "add_cross_attention", "cross_attention_hidden_size", "bad_words_ids", "begin_suppress_tokens",
    "decoder_start_token_id", "diversity_penalty", "do_sample", "early_stopping",
    "encoder_no_repeat_ngram_size", "exponential_decay_length_penalty", "forced_bos_token_id",
    "forced_eos_token_id", "length_penalty", "max_length", "min_length", "no_repeat_ngram_size",
    "num_beam_groups", "num_beams", "num_return_sequences", "output_scores", "prefix",
    "remove_invalid_values", "repetition_penalty", "return_dict_in_generate", "suppress_tokens",
    "task_specific_params", "temperature", "tf_legacy_loss", "tie_encoder_decoder",
    "tie_word_embeddings", "top_k", "top_p", "typical_p",
    // BERT, RoBERTa, XLM-RoBERTa, ELECTRA, Longformer.
    "attention_probs_dropout_prob", "bos_token_id", "classifier_dropout", "cls_token_id",
    "directionality", "embedding_size", "eos_token_id", "generator_size", "gradient_checkpointing",
    "hidden_act", "hidden_dropout_prob", "hidden_size", "initializer_range", "intermediate_size",
    "is_decoder", "layer_norm_eps", "max_position_embeddings", "model_name", "num_attention_heads",
    "num_hidden_layers", "onnx_export", "pad_token_id", "pooler_fc_size",
    "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type",
    "position_embedding_type", "sep_token_id", "summary_activation", "summary_last_dropout",
    "summary_type", "summary_use_proj", "type_vocab_size", "use_cache", "vocab_size",
    "attention_window", "attention_mode", "ignore_attention_mask",
    // The sparse cross-encoders.
    "attention_window_size", "cls_query_attention", "cls_doc_attention", "query_cls_attention",
    "query_doc_attention", "doc_cls_attention", "doc_query_attention", "token_type_embedding",
    // DistilBERT.
    "activation", "attention_dropout", "dim", "dropout", "hidden_dim", "n_heads", "n_layers",
    "qa_dropout", "seq_classif_dropout", "sinusoidal_pos_embds", "tie_weights_",
    // ModernBERT.
    "attention_bias", "classifier_activation", "classifier_bias", "classifier_pooling",
    "decoder_bias", "deterministic_flash_attn", "embedding_dropout", "global_attn_every_n_layers",
    "global_rope_theta", "hidden_activation", "initializer_cutoff_factor", "layer_types",
    "local_attention", "local_rope_theta", "mlp_bias", "mlp_dropout", "norm_bias", "norm_eps",
    "reference_compile", "repad_logits_with_grad", "rope_parameters", "rope_scaling", "rope_theta",
    "sparse_pred_ignore_index", "sparse_prediction"};

/// Fields that change what is computed, unless they are empty or false.
struct Refused {
  const char *name, *why;
};
constexpr std::array refused_fields{
    Refused{"auto_map",
            "names code that computes the model, but code in checkpoints is never run; use a "
            "checkpoint with a supported model_type and without 'auto_map'"},
    Refused{
        "quantization_config",
        "states that the weights are quantized, which is not supported; save the model in float32"},
    Refused{"pruned_heads", "states that heads were removed, which is not supported"},
    Refused{"adapters", "names adapters; merge them into the weights first"}};

constexpr std::array fields{
    FileField{"modules.json, config_sentence_transformers.json", "`model_type`",
              "if the second file has `CrossEncoder`, `MultiVectorEncoder` or `ColBERT` "
              "(PyLate; also without the field, if it has `query_prefix`) and the first "
              "exists, its modules compute the score; otherwise neither is read"},
    FileField{"modules.json", "`type`, `path`",
              "Transformer, then Pooling, Dense, LayerNorm, Normalize, Dropout in any order; "
              "for late interaction Dense, Normalize, one MultiVectorMask; others are refused "
              "by name. `idx` and `name` have no effect"},
    FileField{"config_sentence_transformers.json", "`prompts`, `default_prompt_name`",
              "the default prompt precedes every query, without a space; documents have none"},
    FileField{"config_sentence_transformers.json", "`activation_fn`",
              "not applied: scores are raw; `--explain` names it"},
    FileField{"", "PyLate: `query_prefix`, `document_prefix`",
              "the token after [CLS] (defaults `[Q] ` and `[D] `; empty: none); refused if it "
              "is not in the vocabulary"},
    FileField{"", "PyLate: `query_length`, `document_length`",
              "maximum tokens of each, including [CLS], marker and [SEP] (32, 180)"},
    FileField{"", "PyLate: `do_query_expansion`, `attend_to_expansion_tokens`",
              "queries are filled with [MASK] to their length (true); other tokens attend to "
              "these (false)"},
    FileField{"", "PyLate: `skiplist_words`",
              "tokens of documents without a vector (ASCII punctuation); a word without a "
              "piece skips [UNK]"},
    FileField{"", "PyLate: `default_prompt_name`", "the prompt of queries and of documents"},
    FileField{"", "MultiVectorEncoder: `prompts.query`, `prompts.document`", "precede the texts"},
    FileField{"", "MultiVectorEncoder: `similarity_fn_name`",
              "`meanmaxsim` divides a score by the number of the query's vectors"},
    FileField{"artifact.metadata", "`query_token_id`, `doc_token_id`",
              "for Stanford's ColBERT, if `architectures` of config.json has `HF_ColBERT`: the "
              "token after [CLS] (`[unused0]`, `[unused1]`)"},
    FileField{"", "`query_maxlen`, `doc_maxlen`", "maximum tokens of each (32, 180)"},
    FileField{"", "`attend_to_mask_tokens`", "other tokens attend to the expansion (false)"},
    FileField{"", "`mask_punctuation`", "punctuation of documents has no vectors (true)"},
    FileField{"", "`similarity`, `config`",
              "refused: a similarity other than `cosine`; settings in an object"},
    FileField{"sentence_bert_config.json (or its older names)", "`max_seq_length`",
              "the limit of a pair, instead of the tokenizer's"},
    FileField{"", "`do_lower_case`", "texts are lower-cased before they are normalized"},
    FileField{"", "`transformer_task`",
              "`sequence-classification`: the encoder has its own head; `feature-extraction` "
              "(default): the modules are the head"},
    FileField{"", "`tokenizer_args`", "replace fields of tokenizer_config.json"},
    FileField{"", "`config_args`", "refused if they differ from config.json"},
    FileField{"", "`modality_config`, `module_output_name`",
              "refused unless `last_hidden_state` becomes `token_embeddings`, or `logits` "
              "becomes `scores` if the encoder has its own head"},
    FileField{"", "`processing_kwargs.text`",
              "`max_length` is the limit of a pair; padding to a length is refused if it would "
              "change scores"},
    FileField{"", "`query_length`, `document_length`, `query_expansion`",
              "for a MultiVectorEncoder: maximum tokens of each; {strategy fixed or min, "
              "length, token, attend} of the expansion, null: none"},
    FileField{"", "any other field", "refused by name"},
    FileField{"1_Pooling/config.json", "`pooling_mode`, or `pooling_mode_*`",
              "cls, max, mean, mean_sqrt_len_tokens, weightedmean, lasttoken, or several, "
              "concatenated"},
    FileField{"", "`include_prompt`", "false: tokens of the prompt are not pooled"},
    FileField{"N_Dense/config.json", "`in_features`, `out_features`, `bias`, `use_residual`",
              "the layer; the residual is projected if widths differ"},
    FileField{"", "`activation_function`",
              "a class of torch.nn, by default Tanh; others are refused by name"},
    FileField{"", "`module_input_name`, `module_output_name`",
              "`sentence_embedding`, and `scores`, of which the last one is used; for late "
              "interaction `token_embeddings`"},
    FileField{"N_Normalize/config.json", "`module_input_name`, `module_output_name`",
              "`sentence_embedding` (default), for late interaction `token_embeddings`; no "
              "effect if nothing reads it"},
    FileField{"N_MultiVectorMask/config.json", "`skiplist_words`, `skiplist_tasks`",
              "tokens without a vector, by default of documents; a word without a piece skips "
              "nothing"},
    FileField{"", "`keep_only_token_ids`", "the only tokens of documents with a vector"},
    FileField{"N_LayerNorm/config.json", "`dimension`", "epsilon is 1e-5"},
    FileField{"config.json", "`model_type`", "the family"},
    FileField{"", "sizes, `layer_norm_eps` or `norm_eps`",
              "the model's shape; missing fields have the defaults of transformers' class"},
    FileField{"", "`pad_token_id`",
              "RoBERTa, XLM-RoBERTa, Longformer: positions start after it, and padding written "
              "in a text has it as its position; a pair with such padding is refused if it "
              "must be truncated to the number of positions"},
    FileField{"", "`num_labels`, else `id2label`",
              "the number of labels, by default that of the weights. With several, `--label` "
              "selects"},
    FileField{"", "`hidden_act`, `position_embedding_type`, `is_decoder`",
              "refused unless they are BERT's (`gelu`, `absolute`, false)"},
    FileField{"", "`auto_map`, `quantization_config`, `pruned_heads`, `adapters`",
              "refused unless they are empty"},
    FileField{"", "`dtype`, `torch_dtype`",
              "no effect: scores are computed in float32, or as `--dtype` specifies"},
    FileField{"", "a field that no class of transformers has", "no effect; a note names it"},
    FileField{"special_tokens_map.json", "special tokens",
              "override tokenizer_config.json, unless it has `added_tokens_decoder`"},
    FileField{"added_tokens.json", "tokens",
              "are found in texts, unless tokenizer_config.json has `added_tokens_decoder`"},
    FileField{"tokenizer.json", "all fields",
              "used unchanged by the generic class (PreTrainedTokenizerFast); the classes of "
              "BERT, RoBERTa and XLM-RoBERTa use its vocabulary and added tokens, and build "
              "the rest from tokenizer_config.json"},
    FileField{"vocab.txt, vocab.json with merges.txt", "pieces",
              "used by BERT's and RoBERTa's classes if there is no tokenizer.json"}};

bool is_empty(const JsonField& field) {
  const nlohmann::json& value = field.value();
  return value.is_null() || ((value.is_object() || value.is_array()) && value.empty()) ||
         (value.is_boolean() && !value.get<bool>());
}

}  // namespace

std::span<const FileField> checkpoint_fields() {
  return fields;
}

std::string checkpoint_fields_table() {
  std::string table = "| file | field | effect |\n| --- | --- | --- |\n";
  for (const FileField& field : checkpoint_fields())
    table += fmt::format("| {} | {} | {} |\n", field.file, field.fields, field.effect);
  std::string no_effect;
  bool first = true;
  for (const TokenizerField& field : tokenizer_fields()) {
    if (field.kind == FieldEffect::none) {
      no_effect += fmt::format("{}`{}`", no_effect.empty() ? "" : ", ", field.name);
      continue;
    }
    table += fmt::format("| {} | `{}` | {}{} |\n", first ? "tokenizer_config.json" : "", field.name,
                         field.kind == FieldEffect::refused ? "refused: " : "", field.effect);
    first = false;
  }
  return table + fmt::format("| | {} | no effect |\n", no_effect);
}

std::vector<std::string> unknown_config_fields(const JsonField& config) {
  std::vector<std::string> unknown;
  for (const JsonField& field : config.members()) {
    const bool is_known =
        std::ranges::find(known_fields, field.key()) != known_fields.end() ||
        std::ranges::find(refused_fields, field.key(), &Refused::name) != refused_fields.end();
    if (!is_known) unknown.emplace_back(field.key());
  }
  return unknown;
}

void check_config_fields(const JsonField& config) {
  for (const Refused& refused : refused_fields) {
    const auto field = config.member(refused.name);
    if (field && !is_empty(*field)) field->wrong(refused.why);
  }
}

}  // namespace attnscope
