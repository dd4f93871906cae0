// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/scoring_model.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <system_error>

#include "base/sentences.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/hub_cache.h"
#include "engine/pattern/axes.h"
#include "engine/text/subword_tokenizer.h"
#include "engine/text/tokenizer_folder.h"
#include "engine/text/word_list.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::int64_t most_positions = 1 << 20;

/// The requested pattern and window, and the checkpoint's own.
struct ReceivedRequest {
  const std::string& pattern;
  const std::string& window;
};
struct Own {
  const std::string& pattern;
  const std::optional<Window>& window;
};

Result<LayerAttention> choose(const ReceivedRequest& requested, const Own& config) {
  const bool own = requested.pattern.empty() || requested.pattern == config.pattern;
  auto pattern = find_pattern(own ? config.pattern : requested.pattern);
  if (!pattern) return tl::unexpected(pattern.error());
  std::optional<Window> window = own ? config.window : std::nullopt;
  const auto given = parse_optional_window(requested.window);
  if (!given) return tl::unexpected(given.error());
  if (*given) {
    if (!pattern->has_window()) {
      return fail("pattern '{}' has no window; remove the window {}", pattern->name,
                  (*given)->text());
    }
    window = *given;
  }
  if (pattern->has_window() && !window) {
    return fail("pattern '{}' needs a window; give its tokens, or inf", pattern->name);
  }
  return LayerAttention{std::move(*pattern), window};
}

/// The requested pattern, or the checkpoint's own with its own window.
Result<LayerAttention> attention_of(const ModelQuestion& question, const ModelConfig& config) {
  const bool own = question.pattern.empty() || question.pattern == config.pattern;
  if (!own && config.family->reads_words()) {
    return fail("models of the family {} have the pattern '{}', not '{}'; remove the pattern",
                config.family->id(), config.pattern, in_a_sentence(question.pattern));
  }
  return choose({question.pattern, question.window}, {config.pattern, config.window});
}

/// A requested pattern applies to all layers, unless a local pattern is requested as well.
Result<std::optional<LayerAttention>> local_attention_of(const ModelQuestion& question,
                                                         const ModelConfig& config) {
  const bool requested = !question.local_pattern.empty() || !question.local_window.empty();
  if (!config.local) {
    if (!requested) return std::nullopt;
    return fail(
        "all layers of this model have the same attention; remove the pattern and the window of "
        "local layers");
  }
  if (!requested && !question.pattern.empty()) return std::nullopt;
  auto chosen = choose({question.local_pattern, question.local_window},
                       {config.local->pattern, config.local->window});
  if (!chosen) return fail("of the local layers: {}", chosen.error().message);
  return std::move(*chosen);
}

/// The attention as ScoringModel::variant has it; `own`: the checkpoint's pattern and window.
std::string variant_of(const LayerAttention& attention, const std::string& requested,
                       const Own& own) {
  std::string words;
  if (!requested.empty() && requested != own.pattern) words += "-" + attention.pattern.name;
  if (attention.window && attention.window != own.window) words += "-w" + attention.window->text();
  return words;
}

std::string variant_of(const ModelQuestion& question, const ModelConfig& config,
                       const LayerAttention& attention, const std::optional<LayerAttention>& local,
                       bool has_own_windows) {
  std::string words = variant_of(attention, question.pattern, {config.pattern, config.window});
  // Layers that differ in the checkpoint and not here: even its own pattern is a change.
  const bool are_alike = config.local.has_value() != local.has_value() || !has_own_windows;
  if (are_alike && words.empty()) {
    words = "-" + attention.pattern.name;
    if (attention.window) words += "-w" + attention.window->text();
  }
  if (config.local && local) {
    const std::string of_local =
        variant_of(*local, question.local_pattern, {config.local->pattern, config.local->window});
    if (!of_local.empty()) words += "-local" + of_local;
  }
  if (question.multiplies_in() != "float32") words += "-" + question.multiplies_in();
  return words;
}

/// The requested options, and the shortcut that changes no score, if the family supports it.
Result<ModelOptions> options_of(const ModelQuestion& question, const ModelConfig& config,
                                const AttentionPattern& pattern) {
  ModelOptions wanted = question.options;
  if (question.pattern.empty()) wanted.insert(config.own_options.begin(), config.own_options.end());
  if (question.only_scores) {
    ModelOptions shorter = wanted;
    shorter.emplace(cls_only_last_layer);
    auto options = config.family->options_for(config, pattern, std::move(shorter));
    if (options) return options;
  }
  return config.family->options_for(config, pattern, std::move(wanted));
}

/// `own` is the checkpoint's own limit; 0: only its positions limit the length.
Result<PairLimits> limits_of(const ModelQuestion& question, std::int64_t positions,
                             std::int64_t own, std::int64_t query_tokens) {
  const std::int64_t usual = own > 0 ? std::min(own, positions) : positions;
  PairLimits limits{.most_tokens = question.most_tokens > 0 ? question.most_tokens : usual,
                    .most_query_tokens =
                        question.most_query_tokens > 0 ? question.most_query_tokens : query_tokens};
  if (limits.most_tokens > positions) {
    return fail("pairs of {} tokens were requested, and the model has {} positions; extend them",
                limits.most_tokens, positions);
  }
  return limits;
}

/// The limits of a model that encodes each text separately; the files state their lengths.
Result<PairLimits> text_limits_of(const ModelQuestion& question, const MultiVectorTexts& texts,
                                  std::int64_t positions, std::int64_t own) {
  if (texts.expansion_length > positions) {
    return fail("queries are expanded to {} tokens, and the model has {} positions",
                texts.expansion_length, positions);
  }
  const auto usual = [&](std::int64_t length) {
    const std::int64_t stated = length > 0 ? length : own;
    return stated > 0 ? std::min(stated, positions) : positions;
  };
  PairLimits limits{
      .most_tokens = question.most_tokens > 0 ? question.most_tokens : usual(texts.document.length),
      .most_query_tokens = usual(texts.query.length) - 1};
  if (limits.most_tokens > positions) {
    return fail(
        "documents of {} tokens were requested, and the model has {} positions; extend them",
        limits.most_tokens, positions);
  }
  if (question.most_query_tokens > 0)
    limits.most_query_tokens = std::min(limits.most_query_tokens, question.most_query_tokens);
  limits.most_document_tokens = limits.most_tokens - 1;
  return limits;
}

/// The limits of a model of words: each text has its own limit; queries always have one if the
/// model has one.
Result<PairLimits> word_limits_of(const ModelQuestion& question, const ModelConfig& config) {
  const auto within = [](std::int64_t requested, std::int64_t most,
                         std::string_view of) -> Result<std::int64_t> {
    if (most > 0 && requested > most) {
      return fail("{} of {} words were requested, and the model reads at most {}; request fewer",
                  of, requested, most);
    }
    return requested > 0 ? requested : most;
  };
  const auto query = within(question.most_query_tokens, config.most_query_tokens, "queries");
  if (!query) return tl::unexpected(query.error());
  const auto document = within(question.most_tokens, config.most_document_tokens, "documents");
  if (!document) return tl::unexpected(document.error());
  constexpr std::int64_t any_number = 100'000'000;
  return PairLimits{.most_tokens = *document,
                    .most_query_tokens = *query,
                    .most_document_tokens = *document > 0 ? *document : any_number};
}

/// A tokenizer and the settings for pairs in its files.
struct OpenedTokenizer {
  std::unique_ptr<const Tokenizer> tokenizer{};
  std::int64_t document_type = 1;  // token type; the query's is 0
  std::int64_t max_tokens = 0;     // per pair; 0: the number of positions
  std::string limit_source{};      // source of max_tokens
  MultiVectorIds ids{};            // for an encoder with one vector per token
  std::int64_t prompt_tokens = 0;  // number of a pair's first tokens: [CLS] and the prompt before a
                                   // query
};

/// The id of the padding token in a text, whose positions begin after its own; -1 if the limit is
/// below the number of positions anyway.
std::int32_t token_without_position(const ModelShape& shape, std::int64_t limit) {
  if (limit > 0 && limit <= shape.positions) return -1;
  return static_cast<std::int32_t>(shape.first_position - 1);
}

/// Opens the tokenizer of a model with `types` token types; 0: it reads none.
Result<OpenedTokenizer> tokenizer_of(const SentenceFiles& files, bool words, std::int64_t types,
                                     const ModelShape& shape) {
  const std::filesystem::path& folder = files.encoder;
  const TokenizerExtras& extras = files.tokenizer;
  if (words) {
    Result<WordList> list = WordList::open(folder);
    if (!list) return tl::unexpected(list.error());
    return OpenedTokenizer{.tokenizer = std::make_unique<const WordList>(std::move(*list))};
  }
  if (files.multi_vector) {
    Result<MultiVectorTokenizer> texts =
        MultiVectorTokenizer::open(folder, extras, *files.multi_vector);
    if (!texts) return tl::unexpected(texts.error());
    std::int32_t without_position = -1;
    for (const auto* side : {&files.multi_vector->query, &files.multi_vector->document}) {
      const std::int64_t limit =
          side->length > 0 ? side->length : texts->pieces().parts().max_tokens;
      without_position = std::max(without_position, token_without_position(shape, limit));
    }
    texts->keep_whole_with(without_position);
    OpenedTokenizer opened{
        .document_type = 0, .max_tokens = texts->pieces().parts().max_tokens, .ids = texts->ids()};
    opened.tokenizer = std::make_unique<const MultiVectorTokenizer>(std::move(*texts));
    return opened;
  }
  Result<SubwordTokenizer> pieces = SubwordTokenizer::open(folder, extras);
  if (!pieces) return tl::unexpected(pieces.error());
  OpenedTokenizer opened{.document_type = pieces->document_type(),
                         .max_tokens = pieces->parts().max_tokens,
                         .limit_source = extras.max_tokens > 0
                                             ? "sentence_bert_config.json"
                                             : "model_max_length of tokenizer_config.json"};
  if (types > 0 && opened.document_type >= types) {
    return fail(
        "{}: its tokenizer gives documents the token type {}, and 'type_vocab_size' of config.json "
        "is {}; remove token_type_ids from 'model_input_names' in tokenizer_config.json",
        folder.string(), opened.document_type, types);
  }
  if (!extras.prompt.empty()) {
    const auto prompt = pieces->tokenize(extras.prompt);
    if (!prompt) return fail("the prompt: {}", prompt.error().message);
    // sentence-transformers tokenizes the prompt alone and also counts the token after it, unless
    // it is a special token.
    opened.prompt_tokens =
        1 + static_cast<std::int64_t>(prompt->size()) + (pieces->parts().last_is_special ? 0 : 1);
  }
  opened.tokenizer = std::make_unique<const SubwordTokenizer>(std::move(*pieces));
  return opened;
}

/// The source of the limit that applies to a pair.
std::string source_of_limit(const ModelQuestion& question, const PairLimits& limits,
                            const OpenedTokenizer& opened) {
  if (question.most_tokens > 0) return "--max-tokens";
  if (limits.most_tokens == opened.max_tokens) return opened.limit_source;
  return question.positions > 0 ? "--extend-positions" : "the positions of config.json";
}

std::string source_of_query_limit(const ModelQuestion& question, const PairLimits& limits) {
  const bool is_option =
      question.most_query_tokens > 0 && question.most_query_tokens == limits.most_query_tokens;
  return is_option ? "--max-query-tokens" : "config.json";
}

/// The head with the label that makes the score.
Result<HeadConfig> head_with_label(const ModelQuestion& question, const Checkpoint& checkpoint) {
  const ModelConfig& config = checkpoint.config;
  HeadConfig head = config.head;
  if (head.max_sim) {
    if (question.label.empty()) return head;
    return fail(
        "{}: its score is a sum of products of token vectors and has no labels; remove --label",
        question.checkpoint.string());
  }
  if (!question.label.empty()) {
    auto label = parse_label(question.label, head.labels);
    const std::string& unread = checkpoint.sentence->unread_modules;
    if (!label) {
      return fail("{}{}{}", label.error().message, unread.empty() ? "" : "; ", unread);
    }
    head.label = *label;
  } else if (checkpoint.gives_scores && head.labels > 1 &&
             head.label.kind == LabelChoice::Kind::none) {
    return fail(
        "{}: the model has {} labels; choose the score with --label 1 (a logit), --label 1-0 (a "
        "difference of logits) or --label log-softmax-1 (a log-probability)",
        question.checkpoint.string(), head.labels);
  }
  return head;
}

/// A table of subword pieces may have additional rows; a table of words has exactly one row per
/// word of the list.
Status fits_table(const Tokenizer& tokenizer, std::int64_t rows,
                  const std::filesystem::path& folder, bool words) {
  const std::int64_t size = tokenizer.table_rows();
  if (words && size != rows) {
    return fail(
        "{}: has {} words, and the checkpoint has vectors of {} words and of padding; copy {} "
        "again",
        (folder / WordList::file).string(), size - 1, std::max<std::int64_t>(rows - 1, 0),
        WordList::file);
  }
  if (size <= rows) return {};
  return fail(
      "{}: its tokenizer has {} tokens, and its model's vocabulary {}; copy the tokenizer's files "
      "from the checkpoint of the weights",
      folder.string(), size, rows);
}

std::vector<std::filesystem::path> files_read(const Checkpoint& checkpoint,
                                              const ModelQuestion& question) {
  std::vector<std::filesystem::path> files = checkpoint.paths;
  for (const char* name : tokenizer_files) files.push_back(checkpoint.sentence->encoder / name);
  files.push_back(question.checkpoint / WordList::file);
  files.emplace_back(question.pattern);
  return files;
}

std::int64_t size_of(const std::vector<std::int32_t>& ids) {
  return static_cast<std::int64_t>(ids.size());
}

/// The name of a built-in pattern, else its definition.
std::string text_of(const AttentionPattern& pattern) {
  const bool built_in = std::ranges::any_of(
      built_in_patterns(), [&](const AttentionPattern& known) { return known == pattern; });
  return built_in ? pattern.name : pattern_json(pattern);
}

void say_patterns_by_layer(const ScoringModel& model, std::span<const std::int64_t> layers,
                           std::map<std::string, std::string>& metadata) {
  std::vector<std::int64_t> shown(layers.begin(), layers.end());
  if (shown.empty()) {
    shown.resize(static_cast<std::size_t>(model.shape.layers));
    std::iota(shown.begin(), shown.end(), 0);
  }
  std::ranges::sort(shown);
  json patterns = json::array();
  std::vector<std::string> windows;
  for (const std::int64_t layer : shown) {
    // An invalid layer number is reported later, by the computation.
    const auto number = static_cast<std::size_t>(layer);
    const bool local = layer >= 0 && number < model.is_local.size() && model.is_local[number];
    patterns.push_back(text_of(local ? model.local->pattern : model.pattern));
    const auto& window = local ? model.local->window : model.window;
    windows.push_back(window ? window->text() : Window::infinite().text());
  }
  metadata["pattern"] = patterns.dump();
  metadata["window"] = fmt::format("{}", fmt::join(windows, ","));
}

/// The texts of [CLS] and the query, then those of the document's tokens.
std::vector<std::string> texts_of(const ScoringModel& model, const TokenPair& pair) {
  const std::string cls(model.tokenizer->token(model.tokenizer->cls()));
  std::vector<std::string> texts{cls};
  for (const std::int32_t id : pair.query) texts.emplace_back(model.tokenizer->token(id));
  for (std::int64_t i = 1; i <= model.shown.contexts; ++i)
    texts.push_back(fmt::format("[context {}]", i));
  if (model.shown.contexts > 0) return texts;
  if (model.shown.document_has_cls) texts.push_back(cls);
  for (const std::int32_t id : pair.document) texts.emplace_back(model.tokenizer->token(id));
  return texts;
}

}  // namespace

Result<ScoringModel> ScoringModel::open(const ModelQuestion& requested) {
  const Result<CheckpointPlace> place = find_checkpoint(requested.checkpoint);
  if (!place) return tl::unexpected(place.error());
  ModelQuestion question = requested;
  question.checkpoint = place->folder;
  const auto dtype = parse_dtype(question.dtype);
  if (!dtype) return tl::unexpected(dtype.error());
  const auto device = parse_device(question.device);
  if (!device) return tl::unexpected(device.error());
  const auto precision = parse_precision(question.precision);
  if (!precision) return tl::unexpected(precision.error());
  if (Status able = supports_precision(*precision, *dtype, *device); !able)
    return tl::unexpected(able.error());
  const Result<Checkpoint> checkpoint = Checkpoint::open(question.checkpoint);
  if (!checkpoint) return tl::unexpected(checkpoint.error());
  const ModelConfig& config = checkpoint->config;
  if (*precision != Products::float32 && config.family->reads_words()) {
    return fail(
        "{}: models that read words have few linear layers, which are computed in float32; remove "
        "the precision",
        question.checkpoint.string());
  }
  auto opened =
      tokenizer_of(*checkpoint->sentence, config.family->reads_words(),
                   config.family->reads_token_types() ? config.shape.types : 0, config.shape);
  if (!opened) return tl::unexpected(opened.error());
  auto head = head_with_label(question, *checkpoint);
  if (!head) return tl::unexpected(head.error());
  if (!head->pools_prompt) head->skipped_tokens = opened->prompt_tokens;
  if (head->max_sim) {
    head->max_sim->separator = opened->ids.separator;
    head->max_sim->skipped = opened->ids.skipped;
  }
  ModelShape shape = config.shape;
  if (Status alike = fits_table(*opened->tokenizer, shape.vocabulary, question.checkpoint,
                                config.family->reads_words());
      !alike) {
    return tl::unexpected(alike.error());
  }
  if (question.positions > most_positions) {
    return fail("{} positions are more than the limit of {}", question.positions, most_positions);
  }
  if (question.positions > 0 && config.family->reads_words()) {
    return fail(
        "{}: this model reads documents of any length and has no positions to extend; remove the "
        "number of positions",
        question.checkpoint.string());
  }
  if (question.positions > 0 && question.positions < shape.positions) {
    return fail(
        "{}: has {} positions, which cannot be extended to {}; remove the number, and limit texts "
        "with --max-tokens",
        question.checkpoint.string(), shape.positions, question.positions);
  }
  shape.positions = std::max(shape.positions, question.positions);
  const MultiVectorTexts* texts = checkpoint->sentence->multi_vector.get();
  if (texts != nullptr && config.body->family->has_rotary_positions()) {
    shape.positions = std::max(
        {shape.positions, texts->query.length, texts->document.length, texts->expansion_length});
  }
  Result<LayerAttention> attention = attention_of(question, config);
  if (!attention) return tl::unexpected(attention.error());
  auto local = local_attention_of(question, config);
  if (!local) return tl::unexpected(local.error());
  auto limits =
      config.family->reads_words() ? word_limits_of(question, config)
      : texts != nullptr
          ? text_limits_of(question, *texts, shape.positions, opened->max_tokens)
          : limits_of(question, shape.positions - config.family->tokens_of_its_own(),
                      question.positions > 0 ? 0 : opened->max_tokens, config.most_query_tokens);
  if (!limits) return tl::unexpected(limits.error());
  // Without a stated limit, transformers truncates pairs to the rows of the position table, some of
  // which belong to padding.
  if (question.most_tokens == 0 && question.positions == 0)
    limits->without_position = token_without_position(shape, opened->max_tokens);
  ModelConfig labelled = config;
  labelled.head = *head;
  auto options = options_of(question, labelled, attention->pattern);
  if (!options) return tl::unexpected(options.error());
  const bool keeps_documents = config.family->keeps() != Kept::nothing;
  if (keeps_documents && texts == nullptr && !config.family->reads_words()) {
    limits->most_document_tokens =
        limits->most_tokens - config.family->first_tokens_of_document(config, *options);
    if (limits->most_document_tokens < 1) {
      return fail("{} tokens leave none for a document after the {} tokens before it; allow more",
                  limits->most_tokens, limits->most_tokens - limits->most_document_tokens);
    }
  } else if (texts == nullptr && !config.family->reads_words()) {
    limits->most_tokens_of_document = config.most_document_tokens;
  }
  protocol::ModelRequest request{
      .checkpoint = std::filesystem::absolute(question.checkpoint).string(),
      .pattern = attention->pattern,
      .window = attention->window,
      .local = *local,
      .implementation = question.implementation,
      .dtype = *dtype,
      .precision = *precision,
      .device = *device,
      .positions = shape.positions,
      .options = *options,
      .label = question.label,
      .skipped_tokens = head->skipped_tokens,
      .document_type = static_cast<std::int32_t>(opened->document_type)};
  if (question.pattern.empty() && question.window.empty())
    request.layer_windows = config.layer_windows;
  if (head->max_sim) {
    request.max_sim = {.separator = head->max_sim->separator, .skipped = head->max_sim->skipped};
  }
  std::string variant = variant_of(question, config, *attention, *local,
                                   request.layer_windows == config.layer_windows);
  return ScoringModel{.name = place->name,
                      .shape = shape,
                      .gives_scores = checkpoint->gives_scores,
                      .reads_words = config.family->reads_words(),
                      .architecture = config.architecture.empty() ? std::string(config.family->id())
                                                                  : config.architecture,
                      .document_type = opened->document_type,
                      .activation = checkpoint->sentence->activation.starts_with("torch.")
                                        ? checkpoint->sentence->activation
                                        : config.activation,
                      .sentence = checkpoint->sentence,
                      .head = std::move(*head),
                      .options = *options,
                      .shown = config.family->shows(config, *options),
                      .regions = config.family->regions(config, *options),
                      .tokenizer = std::move(opened->tokenizer),
                      .pattern = std::move(attention->pattern),
                      .window = attention->window,
                      .local = std::move(*local),
                      .is_local = config.is_local,
                      .limits = *limits,
                      .limit_source = source_of_limit(question, *limits, *opened),
                      .query_limit_source = source_of_query_limit(question, *limits),
                      .is_listwise = config.family->is_listwise(),
                      .keeps_documents = keeps_documents,
                      .request = std::move(request),
                      .files = files_read(*checkpoint, question),
                      .note = checkpoint->note(),
                      .place = *place,
                      .variant = std::move(variant)};
}

Status ScoringModel::check_document(std::span<const std::int32_t> document) const {
  if (!head.max_sim) return {};
  const auto has_vector = [&](std::int32_t id) { return head.max_sim->has_document_vector(id); };
  if (has_vector(tokenizer->cls()) || std::ranges::any_of(document, has_vector)) return {};
  return fail("the document has no token with a vector, so it has no score");
}

Result<std::map<std::string, std::string>> dump_metadata(const ScoringModel& model,
                                                         const TokenPair& pair,
                                                         const std::string& note,
                                                         std::span<const std::int64_t> layers) {
  const ShownTokens& shown = model.shown;
  if (!shown.some) {
    return fail(
        "{}: this model encodes query and document separately, so the pair has no attention to "
        "show; 'score' scores it",
        model.name);
  }
  const std::vector<std::string> texts = texts_of(model, pair);
  const auto all = static_cast<std::int64_t>(texts.size());
  const std::int64_t query = model.options.contains(pair_is_one_text) ? 0 : size_of(pair.query);
  const json item = {{"cls", 1}, {"query", query}, {"document", all - 1 - query}};
  std::map<std::string, std::string> metadata = {
      {"attnscope_dump", "1"},
      {"model", model.name},
      {"layout", json{{"items", {item}}}.dump()},
      {"tokens", json(texts).dump()},
      {"pattern", text_of(model.pattern)},
      {"scale", fmt::format("{}", shown.scale > 0 ? shown.scale
                                                  : 1 / std::sqrt(static_cast<double>(
                                                            model.shape.head_dim())))}};
  if (!model.place.revision.empty()) metadata["revision"] = model.place.revision;
  if (!shown.note.empty()) metadata["note"] = shown.note;
  if (!note.empty()) metadata["note"] = note;
  if (!shown.pattern.empty()) {
    metadata["pattern"] = shown.pattern;
  } else if (model.local) {
    say_patterns_by_layer(model, layers, metadata);
  } else if (model.window) {
    metadata["window"] = model.window->text();
  }
  if (model.options.contains("global-projections")) {
    // [CLS], and the query's tokens if they are global.
    std::vector<std::int64_t> rows(static_cast<std::size_t>(1 + query));
    std::iota(rows.begin(), rows.end(), 0);
    metadata["global_rows"] = nlohmann::json(rows).dump();
  }
  return metadata;
}

std::map<std::string, std::string> regions_metadata(const ScoringModel& model,
                                                    const std::string& query,
                                                    const std::string& document,
                                                    const TokenPair& pair) {
  std::vector<std::string> words = words_of_text(query);
  words.resize(pair.query.size());
  const std::int64_t read = size_of(pair.document);
  const ShownRegions& regions = *model.regions;
  std::vector<std::size_t> unknown;  // the token of a known word is the word itself
  for (std::size_t i = 0; i < words.size(); ++i)
    if (model.tokenizer->token(pair.query[i]) != words[i]) unknown.push_back(i);
  return {{"attnscope_regions", "1"},
          {"model", model.name},
          {"query", json(words).dump()},
          {"unknown", json(unknown).dump()},
          {"document", json(words_of_text(document)).dump()},
          {"read", fmt::format("{}", read)},
          {"kept", fmt::format("{}", regions.kept == nullptr ? read : regions.kept(read))},
          {"note", std::string(regions.note)}};
}

}  // namespace attnscope
