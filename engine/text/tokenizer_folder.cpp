// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tokenizer_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/open_file.h"
#include "base/sentences.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uintmax_t most_bytes = 256U << 20U;

constexpr std::array named_tokens{"bos_token", "eos_token", "unk_token", "sep_token",
                                  "pad_token", "cls_token", "mask_token"};

/// The supported tokenizer classes of transformers.
enum class Kind : std::uint8_t { bert, roberta, xlm_roberta, generic };

struct KnownClass {
  std::string_view name;
  Kind kind;
  bool gives_types = false;  // unless model_input_names specifies otherwise
};
constexpr std::array known_classes{
    KnownClass{"BertTokenizer", Kind::bert, true},
    KnownClass{"ElectraTokenizer", Kind::bert, true},
    KnownClass{"DistilBertTokenizer", Kind::bert},
    KnownClass{"RobertaTokenizer", Kind::roberta},
    KnownClass{"LongformerTokenizer", Kind::roberta},
    KnownClass{"BartTokenizer", Kind::roberta},
    KnownClass{"XLMRobertaTokenizer", Kind::xlm_roberta},
    KnownClass{"TokenizersBackend", Kind::generic},
    KnownClass{"PreTrainedTokenizer", Kind::generic},
};

/// Further classes of transformers 5.24: they rebuild a tokenizer in unsupported ways. A class that
/// is not on the list is unknown to transformers, which then reads tokenizer.json unchanged.
constexpr std::array other_classes{"AlbertTokenizer",
                                   "BarthezTokenizer",
                                   "BartphoTokenizer",
                                   "BertGenerationTokenizer",
                                   "BertJapaneseTokenizer",
                                   "BertweetTokenizer",
                                   "BigBirdTokenizer",
                                   "BioGptTokenizer",
                                   "BlenderbotSmallTokenizer",
                                   "BlenderbotTokenizer",
                                   "ByT5Tokenizer",
                                   "CLIPTokenizer",
                                   "CTRLTokenizer",
                                   "CamembertTokenizer",
                                   "CanineTokenizer",
                                   "ClvpTokenizer",
                                   "CodeLlamaTokenizer",
                                   "CohereTokenizer",
                                   "CpmAntTokenizer",
                                   "CpmTokenizer",
                                   "DPRQuestionEncoderTokenizer",
                                   "DPRContextEncoderTokenizer",
                                   "DPRReaderTokenizer",
                                   "DebertaTokenizer",
                                   "DebertaV2Tokenizer",
                                   "DiaTokenizer",
                                   "EsmTokenizer",
                                   "EsmcTokenizer",
                                   "FNetTokenizer",
                                   "FSMTTokenizer",
                                   "FlaubertTokenizer",
                                   "FunnelTokenizer",
                                   "GPT2Tokenizer",
                                   "GPTNeoXJapaneseTokenizer",
                                   "GPTNeoXTokenizer",
                                   "GPTSw3Tokenizer",
                                   "GemmaTokenizer",
                                   "HerbertTokenizer",
                                   "LEDTokenizer",
                                   "LasrTokenizer",
                                   "LayoutLMTokenizer",
                                   "LayoutLMv2Tokenizer",
                                   "LayoutLMv3Tokenizer",
                                   "LayoutXLMTokenizer",
                                   "LlamaTokenizer",
                                   "LukeTokenizer",
                                   "LxmertTokenizer",
                                   "M2M100Tokenizer",
                                   "MBart50Tokenizer",
                                   "MBartTokenizer",
                                   "MLukeTokenizer",
                                   "MPNetTokenizer",
                                   "MarianTokenizer",
                                   "MarkupLMTokenizer",
                                   "MgpstrTokenizer",
                                   "MobileBertTokenizer",
                                   "MvpTokenizer",
                                   "MyT5Tokenizer",
                                   "NllbTokenizer",
                                   "NougatTokenizer",
                                   "OpenAIGPTTokenizer",
                                   "PLBartTokenizer",
                                   "ParakeetTokenizer",
                                   "PegasusTokenizer",
                                   "PerceiverTokenizer",
                                   "PhobertTokenizer",
                                   "ProphetNetTokenizer",
                                   "Qwen2Tokenizer",
                                   "Qwen3_5Tokenizer",
                                   "RagTokenizer",
                                   "ReformerTokenizer",
                                   "RemBertTokenizer",
                                   "RoCBertTokenizer",
                                   "RoFormerTokenizer",
                                   "SeamlessM4TTokenizer",
                                   "Siglip2Tokenizer",
                                   "SiglipTokenizer",
                                   "Speech2TextTokenizer",
                                   "SpeechT5Tokenizer",
                                   "SplinterTokenizer",
                                   "T5Tokenizer",
                                   "TapasTokenizer",
                                   "Tipsv2Tokenizer",
                                   "UdopTokenizer",
                                   "VideoPrismTokenizer",
                                   "VitsTokenizer",
                                   "Wav2Vec2CTCTokenizer",
                                   "Wav2Vec2PhonemeCTCTokenizer",
                                   "WhisperTokenizer",
                                   "XGLMTokenizer",
                                   "XLMTokenizer",
                                   "XLNetTokenizer"};

struct OfModelType {
  std::string_view model_type, name;
};
constexpr std::array classes_of_models{OfModelType{"bert", "BertTokenizer"},
                                       OfModelType{"electra", "BertTokenizer"},
                                       OfModelType{"distilbert", "BertTokenizer"},
                                       OfModelType{"roberta", "RobertaTokenizer"},
                                       OfModelType{"longformer", "RobertaTokenizer"},
                                       OfModelType{"xlm-roberta", "XLMRobertaTokenizer"},
                                       OfModelType{"modernbert", "TokenizersBackend"}};

const KnownClass& known_class(std::string_view name) {
  return *std::ranges::find(known_classes, name, &KnownClass::name);
}

std::string without_fast(std::string name) {
  if (name.ends_with("Fast")) name.resize(name.size() - std::string_view("Fast").size());
  return name;
}

/// The value of a result; its error already names its file.
template <typename T>
T passed(Result<T> result) {
  if (!result) throw JsonProblem{result.error()};
  return std::move(*result);
}
void passed(const Status& status) {
  if (!status) throw JsonProblem{status.error()};
}

/// `repeated_in`: objects that may contain a field twice; the last one is used.
Result<json> value_of(const std::string& text, const std::string& source,
                      RepeatedIn repeated_in = {}) {
  return read_json(
      std::string_view(text), source,
      [](const JsonField& root) {
        if (!root.is_object()) root.must_be("an object {...}");
        return root.value();
      },
      repeated_in);
}

/// A string is a special token; an object has AddedToken's fields.
AddedToken token_of(const JsonField& field, bool special) {
  AddedToken token;
  if (field.is_text()) {
    token.text = field.text();
    token.special = true;
    return token;
  }
  field.only(
      {"content", "single_word", "lstrip", "rstrip", "normalized", "special", "id", "__type"});
  token.text = field["content"].text();
  token.single_word = field.truth_or("single_word", false);
  token.lstrip = field.truth_or("lstrip", false);
  token.rstrip = field.truth_or("rstrip", false);
  token.special = special || field.truth_or("special", false);
  token.normalized = field.truth_or("normalized", !token.special);
  return token;
}

json json_of(const AddedToken& token) {
  return {{"id", token.id},          {"content", token.text},  {"single_word", token.single_word},
          {"lstrip", token.lstrip},  {"rstrip", token.rstrip}, {"normalized", token.normalized},
          {"special", token.special}};
}

/// Tokens from the files next to tokenizer.json.
struct FolderTokens {
  std::map<std::string, AddedToken, std::less<>> named;  // keys: "cls_token", ...
  std::vector<AddedToken> extra;    // additional and model-specific special tokens
  std::vector<AddedToken> decoder;  // of added_tokens_decoder or added_tokens.json, by id
  /// Lists of unnamed special tokens. The second is used if the first is missing.
  std::optional<std::vector<AddedToken>> extra_list, additional;
  bool has_decoder = false;
};

class FolderReader {
 public:
  FolderReader(const TokenizerFiles& files, const fs::path& folder, const TokenizerExtras& extras)
      : files_(files), folder_(folder), extras_(extras) {}

  Result<SubwordParts> read() {
    for (const auto& [value, file] :
         {std::pair(&config_, "tokenizer_config.json"),
          std::pair(&special_map_, "special_tokens_map.json"),
          std::pair(&added_file_, "added_tokens.json"), std::pair(&model_config_, "config.json")}) {
      *value = json::object();
      if (!has(file)) continue;
      Result<json> read = value_of(text_of(file), name(file));
      if (!read) return tl::unexpected(read.error());
      *value = std::move(*read);
    }
    if (!extras_.arguments.empty()) config_.update(parse_json(extras_.arguments));
    std::optional<SubwordParts> parts;
    const Status read = with_json_of_file(config_, name("tokenizer_config.json"),
                                          [&](const JsonField& field) { parts = parts_of(field); });
    if (!read) return tl::unexpected(read.error());
    return std::move(*parts);
  }

 private:
  [[nodiscard]] std::string name(std::string_view file) const { return (folder_ / file).string(); }
  [[nodiscard]] bool has(std::string_view file) const { return files_.contains(file); }
  [[nodiscard]] const std::string& text_of(std::string_view file) const {
    return files_.find(file)->second;
  }

  /// Applies the rules of AutoTokenizer.
  const KnownClass& choose_class(const JsonField& config) {
    const auto text_of_config = [this](const char* field) {
      const auto found = model_config_.find(field);
      return found != model_config_.end() && found->is_string() ? found->get<std::string>() : "";
    };
    std::string model_type = text_of_config("model_type");
    // Lightning IR's models use the tokenizer of their backbone.
    if (const std::string backbone = text_of_config("backbone_model_type"); !backbone.empty())
      model_type = backbone;
    const auto* usual = std::ranges::find(classes_of_models, model_type, &OfModelType::model_type);
    is_foreign_ = usual == classes_of_models.end();
    std::string wanted;
    if (const auto field = config.present("tokenizer_class")) {
      wanted = without_fast(field->text());
      chosen_by_ = "tokenizer_class of tokenizer_config.json";
      // Lightning IR's classes name the class that they are based on.
      const auto backbone = config.present("backbone_tokenizer_class");
      if (backbone && (wanted == "CrossEncoderTokenizer" || wanted == "BiEncoderTokenizer")) {
        wanted = without_fast(backbone->text());
        chosen_by_ = "backbone_tokenizer_class of tokenizer_config.json";
      }
    } else if (const std::string own = text_of_config("tokenizer_class"); !own.empty()) {
      wanted = without_fast(own);
      chosen_by_ = "tokenizer_class of config.json";
    }
    if (!is_foreign_ && usual->name == "TokenizersBackend") {
      chosen_by_ = "model_type of config.json";
      return known_class("TokenizersBackend");
    }
    if (const auto* found = std::ranges::find(known_classes, wanted, &KnownClass::name);
        found != known_classes.end()) {
      return *found;
    }
    if (std::ranges::find(other_classes, wanted) != other_classes.end()) {
      const std::string reason = fmt::format(
          "is '{}', which is not supported; use a tokenizer class of BERT, RoBERTa or XLM-RoBERTa, "
          "or 'PreTrainedTokenizerFast', which uses tokenizer.json unchanged",
          in_a_sentence(wanted));
      config["tokenizer_class"].wrong(reason);
    }
    if (!wanted.empty()) return known_class("TokenizersBackend");
    chosen_by_ = is_foreign_ ? "no tokenizer_class" : "model_type of config.json";
    return known_class(is_foreign_ ? std::string_view("TokenizersBackend") : usual->name);
  }

  void check_fields(const JsonField& config) const {
    for (const TokenizerField& field : tokenizer_fields()) {
      if (field.kind != FieldEffect::refused) continue;
      const auto found = config.present(field.name);
      if (found && !(found->value().is_array() && found->value().empty()) &&
          !(found->value().is_boolean() && !found->truth())) {
        found->wrong(fmt::format("is not read: {}", field.effect));
      }
    }
  }

  SubwordParts parts_of(const JsonField& config) {
    check_fields(config);
    const KnownClass& chosen = choose_class(config);
    FolderTokens tokens = read_tokens(config);
    TokenizerChoices choices;
    choices.lower_case = extras_.lower_case;
    choices.split_special = config.truth_or("split_special_tokens", false);
    choices.gives_types = chosen.gives_types;
    bool gives_mask = true;
    const auto names = config.present("model_input_names");
    if (names) {
      choices.gives_types = gives_mask = false;
      for (const JsonField& input : names->elements()) {
        choices.gives_types = choices.gives_types || input.text() == "token_type_ids";
        gives_mask = gives_mask || input.text() == "attention_mask";
      }
    }
    choices.markers = extras_.markers;
    SubwordParts parts;
    json built;
    Kind kind = chosen.kind;
    // transformers refuses a lone vocabulary there; it can only be BERT's.
    if (kind == Kind::generic && !has("tokenizer.json") && has("vocab.txt")) kind = Kind::bert;
    if (is_foreign_ && chosen.kind == Kind::generic) {
      choices.gives_types = choices.gives_types || !config.member("model_input_names");
      choices.usual_template = true;
    }
    if (kind == Kind::generic) {
      parts = generic_parts(tokens, choices);
    } else {
      built = base_of(kind);
      check_fit(chosen, built);
      take_sides(built);
      rebuild(config, kind, tokens, built);
      parts = passed(read_tokenizer_value(built, name(source_), choices));
    }
    const auto named = names_of(kind, tokens);
    const auto id_of = [&](std::string_view key) {
      const auto found = named.find(key);
      return found == named.end() ? -1 : parts.vocabulary.id(found->second);
    };
    parts.named = {.mask = id_of("mask_token"),
                   .end = id_of("eos_token"),
                   .padding = id_of("pad_token"),
                   .unknown = id_of("unk_token")};
    parts.class_name = kind == Kind::generic ? "TokenizersBackend"
                       : kind == chosen.kind ? std::string(chosen.name)
                                             : "BertTokenizer";
    parts.chosen_by = chosen_by_;
    parts.source = source_;
    parts.gives_types = choices.gives_types;
    parts.types_source = names ? "model_input_names of tokenizer_config.json"
                               : fmt::format("the class {}", parts.class_name);
    parts.gives_mask = gives_mask;
    const std::string_view last = parts.vocabulary.piece(parts.pair.after);
    parts.last_is_special =
        std::ranges::any_of(named, [&](const auto& entry) { return entry.second == last; }) ||
        std::ranges::find(tokens.extra, last, &AddedToken::text) != tokens.extra.end();
    read_limits(config, parts);
    parts.query_prefix = extras_.prompt;
    return parts;
  }

  /// The class builds its own model from a vocabulary, whatever the model in tokenizer.json is.
  void check_fit(const KnownClass& chosen, const json& tokenizer) const {
    const auto model = tokenizer.find("model");
    if (model == tokenizer.end() || !model->is_object() || !model->contains("vocab")) return;
    const bool is_unigram = chosen.kind == Kind::xlm_roberta;
    const bool needs_merges = chosen.kind == Kind::roberta;
    if ((*model)["vocab"].is_array() == is_unigram &&
        (!needs_merges || model->contains("merges"))) {
      return;
    }
    throw JsonProblem{{fmt::format(
        "{}: its 'model' is not the {} that {} builds from it ({}); to use it unchanged, set "
        "\"tokenizer_class\": \"PreTrainedTokenizerFast\" in tokenizer_config.json",
        name(source_),
        is_unigram     ? "Unigram"
        : needs_merges ? "BPE"
                       : "WordPiece",
        chosen.name, chosen_by_)}};
  }

  void read_limits(const JsonField& config, SubwordParts& parts) const {
    auto limit = config.present("model_max_length");
    if (!limit) limit = config.present("max_len");
    // An unlimited length is stored as 1e30.
    constexpr double no_limit = 1e9;
    if (limit && limit->number() < no_limit) parts.max_tokens = limit->whole(1);
    constexpr std::array<std::string_view, 2> sides{"right", "left"};
    if (extras_.max_tokens > 0) parts.max_tokens = extras_.max_tokens;
    std::string_view direction = direction_;
    if (const auto side = config.present("truncation_side"))
      direction = sides[side->one_of(sides, "side")];
    parts.truncates_left = direction == "left";
    if (const auto side = config.present("padding_side")) {
      if (sides[side->one_of(sides, "side")] == "left")
        parts.pads_left_by = fmt::format("{}: 'padding_side'", name("tokenizer_config.json"));
    } else if (pads_left_) {
      parts.pads_left_by = fmt::format("{}: 'padding.direction'", name("tokenizer.json"));
    }
    if (!extras_.is_padded) return;
    // Without a mask, padding is attended to; left padding takes the first positions.
    if (!parts.pads_left_by.empty()) {
      throw JsonProblem{{fmt::format(
          "{} is left, and pairs are padded ('processing_kwargs' of sentence_bert_config.json), "
          "which is not supported; remove one of them",
          parts.pads_left_by)}};
    }
    if (!parts.gives_mask) {
      config["model_input_names"].wrong(
          "has no 'attention_mask', and pairs are padded ('processing_kwargs' of "
          "sentence_bert_config.json), so padding would be attended to, which is not supported; "
          "add it");
    }
  }

  // -- tokens ------------------------------------------------------------------------------------

  FolderTokens read_tokens(const JsonField& config) {
    FolderTokens tokens;
    if (const auto decoder = config.present("added_tokens_decoder")) {
      tokens.has_decoder = true;
      std::map<std::int64_t, AddedToken> by_id;
      for (const JsonField& field : decoder->members()) {
        const std::string key(field.key());
        if (key.empty() || key.size() > 9 ||
            key.find_first_not_of("0123456789") != std::string::npos) {
          field.wrong("has a key that is not a token id");
        }
        if (!field.is_object()) field.must_be("an object {...}");
        AddedToken token = token_of(field, false);
        token.id = std::stoi(key);
        by_id.emplace(token.id, std::move(token));
      }
      for (auto& [id, token] : by_id) tokens.decoder.push_back(std::move(token));
    }
    read_named(config, tokens);
    const auto stated = config.present("extra_special_tokens");
    if (tokens.additional && (!stated || stated->value().empty())) {
      tokens.extra_list = std::exchange(tokens.additional, std::nullopt);
    }
    if (!tokens.has_decoder) {
      passed(with_json_of_file(special_map_, name("special_tokens_map.json"),
                               [&](const JsonField& map) { read_named(map, tokens); }));
    }
    if (!tokens.extra_list) tokens.extra_list = tokens.additional;
    if (tokens.extra_list) {
      tokens.extra.insert(tokens.extra.end(), tokens.extra_list->begin(), tokens.extra_list->end());
    }
    if (!tokens.has_decoder) add_file_tokens(tokens);
    // A token that is both named and listed has the flags of the list.
    for (auto& [key, token] : tokens.named) {
      const auto listed = std::ranges::find(tokens.decoder, token.text, &AddedToken::text);
      if (listed == tokens.decoder.end()) continue;
      listed->special = true;
      token = *listed;
    }
    return tokens;
  }

  /// Named special tokens of tokenizer_config.json or special_tokens_map.json, which takes
  /// precedence.
  static void read_named(const JsonField& file, FolderTokens& tokens) {
    for (const JsonField& field : file.members()) {
      const std::string key(field.key());
      const bool is_named = std::ranges::find(named_tokens, key) != named_tokens.end();
      if (field.is_null()) {
        if (is_named) tokens.named.erase(key);
      } else if (is_named) {
        tokens.named.insert_or_assign(key, token_of(field, true));
      } else if (key == "additional_special_tokens") {
        tokens.additional = list_of(field);
      } else if (key == "extra_special_tokens" && field.is_list()) {
        const std::vector<AddedToken> more = list_of(field);
        if (!tokens.extra_list) tokens.extra_list.emplace();
        tokens.extra_list->insert(tokens.extra_list->end(), more.begin(), more.end());
      } else if (key == "extra_special_tokens") {
        const std::vector<AddedToken> more = list_of(field);
        tokens.extra.insert(tokens.extra.end(), more.begin(), more.end());
      } else if (key.ends_with("_token") && field.is_text()) {
        tokens.extra.push_back(token_of(field, true));
      }
    }
  }

  static std::vector<AddedToken> list_of(const JsonField& field) {
    std::vector<AddedToken> tokens;
    for (const JsonField& token : field.is_list() ? field.elements() : field.members())
      tokens.push_back(token_of(token, true));
    return tokens;
  }

  /// Reads added_tokens.json, an object of tokens and ids.
  void add_file_tokens(FolderTokens& tokens) const {
    const auto is_special = [&](std::string_view text) {
      const auto has = [&](const AddedToken& token) { return token.text == text; };
      return std::ranges::any_of(tokens.named,
                                 [&](const auto& entry) { return has(entry.second); }) ||
             std::ranges::any_of(tokens.extra, has);
    };
    passed(with_json_of_file(added_file_, name("added_tokens.json"), [&](const JsonField& file) {
      std::map<std::int64_t, AddedToken> by_id;
      for (const JsonField& field : file.members()) {
        AddedToken token{.text = std::string(field.key())};
        token.special = is_special(token.text);
        token.normalized = !token.special;
        token.id = field.whole<std::int32_t>(0);
        by_id.emplace(token.id, std::move(token));
      }
      for (auto& [id, token] : by_id) tokens.decoder.push_back(std::move(token));
    }));
  }

  /// Tokens to add to a vocabulary that already has the added tokens `listed`: those of the files
  /// in the order in which transformers adds them.
  static std::vector<AddedToken> to_add(const FolderTokens& tokens,
                                        const std::vector<AddedToken>& listed) {
    std::vector<AddedToken> added = tokens.decoder;
    // If several tokens have the same text, the flags of the last are used.
    const auto add = [&](AddedToken token, bool special) {
      for (const auto* known : {&tokens.decoder, &listed})
        if (std::ranges::find(*known, token.text, &AddedToken::text) != known->end()) return;
      token.special = token.special || special;
      const auto before = std::ranges::find(added, token.text, &AddedToken::text);
      if (before == added.end()) {
        added.push_back(std::move(token));
      } else {
        token.special = token.special || before->special;
        *before = std::move(token);
      }
    };
    for (const char* key : named_tokens) {
      if (const auto found = tokens.named.find(std::string_view(key)); found != tokens.named.end())
        add(found->second, true);
    }
    for (const AddedToken& token : tokens.extra) add(token, false);
    return added;
  }

  // -- the generic class -------------------------------------------------------------------------

  SubwordParts generic_parts(FolderTokens& tokens, TokenizerChoices choices) {
    if (!has("tokenizer.json") && is_foreign_) {
      throw JsonProblem{
          {fmt::format("there is no tokenizer.json in '{}', and no vocab.txt or vocab.json with a "
                       "config.json that names its model; copy the checkpoint's files there",
                       in_a_sentence(folder_.string(), 400))}};
    }
    if (!has("tokenizer.json")) {
      throw JsonProblem{
          {fmt::format("there is no tokenizer.json in '{}', which the tokenizer's class needs "
                       "({}); copy it from the checkpoint",
                       in_a_sentence(folder_.string(), 400), chosen_by_)}};
    }
    const std::string_view text = text_of("tokenizer.json");
    const auto read = [&](const JsonField& root) {
      take_sides(root.value());
      if (const auto padding = root.present("padding")) name_padding(*padding, tokens);
      std::vector<AddedToken> listed;
      const auto list = root.present("added_tokens");
      if (list) {
        for (const JsonField& token : list->elements()) {
          listed.push_back(token_of(token, false));
          if (tokens.has_decoder) continue;
          const auto id = token["id"].whole<std::uint32_t>();
          std::erase_if(tokens.decoder, [&](const AddedToken& known) {
            return static_cast<std::uint32_t>(known.id) == id;
          });
        }
      }
      choices.added = to_add(tokens, listed);
      return read_tokenizer_root(root, choices);
    };
    return passed(read_json(text, name("tokenizer.json"), read, RepeatedIn("vocab")));
  }

  // -- the classes that rebuild the tokenizer -----------------------------------------------------

  /// Sides of truncation and padding in tokenizer.json, unless tokenizer_config.json sets them.
  void take_sides(const json& tokenizer) {
    const auto is_left = [&](const char* part) {
      const auto found = tokenizer.find(part);
      return found != tokenizer.end() && found->is_object() &&
             found->value("direction", "Right") == "Left";
    };
    direction_ = is_left("truncation") ? "left" : "right";
    pads_left_ = is_left("padding");
  }

  /// The padding token of tokenizer.json is the pad_token, if no file names one.
  void name_padding(const JsonField& padding, FolderTokens& tokens) const {
    const auto token = padding.present("pad_token");
    if (!token || config_.contains("pad_token") ||
        (!tokens.has_decoder && special_map_.contains("pad_token"))) {
      return;
    }
    tokens.named.emplace("pad_token", token_of(*token, true));
  }

  /// tokenizer.json, or the equivalent built from the vocabulary files.
  json base_of(Kind kind) {
    if (has("tokenizer.json")) {
      source_ = "tokenizer.json";
      return passed(value_of(text_of(source_), name(source_), "vocab"));
    }
    if (kind == Kind::bert && has("vocab.txt")) {
      source_ = "vocab.txt";
      return {{"model", {{"vocab", passed(vocabulary_json(text_of(source_), name(source_)))}}}};
    }
    if (kind == Kind::roberta && has("vocab.json")) {
      source_ = "vocab.json";
      if (!has("merges.txt")) {
        throw JsonProblem{
            {fmt::format("there is no merges.txt next to '{}'; copy it from the "
                         "checkpoint",
                         name(source_))}};
      }
      return {{"model",
               {{"vocab", passed(value_of(text_of(source_), name(source_), ""))},
                {"merges", merges_json(text_of("merges.txt"))}}}};
    }
    throw JsonProblem{
        {fmt::format("there is none of tokenizer.json and {} in '{}', which the tokenizer's class "
                     "needs ({}); copy it from the checkpoint",
                     kind == Kind::bert ? "vocab.txt" : "vocab.json with merges.txt",
                     in_a_sentence(folder_.string(), 400), chosen_by_)}};
  }

  /// The merges of merges.txt without its first line, "#version: 0.2".
  static json merges_json(std::string_view text) {
    json merges = json::array();
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!line.starts_with("#version") && !line.empty()) merges.push_back(std::string(line));
    }
    return merges;
  }

  /// The id of a piece in the `vocab` of a model; -1: none.
  static std::int32_t id_in(const json& vocabulary, std::string_view piece) {
    if (vocabulary.is_object()) {
      const auto found = vocabulary.find(piece);
      return found != vocabulary.end() && found->is_number_integer() ? found->get<std::int32_t>()
                                                                     : -1;
    }
    for (std::size_t i = 0; i < vocabulary.size(); ++i) {
      const json& entry = vocabulary[i];
      if (entry.is_array() && !entry.empty() && entry[0] == piece)
        return static_cast<std::int32_t>(i);
    }
    return -1;
  }

  void rebuild(const JsonField& config, Kind kind, FolderTokens& tokens, json& built) const {
    json listed = json::array();
    if (!tokens.has_decoder && built.contains("added_tokens")) listed = built["added_tokens"];
    json model = built.contains("model") ? std::move(built["model"]) : json();
    if (!model.is_object() || !model.contains("vocab"))
      config.wrong(fmt::format("needs a vocabulary, and '{}' has none", name(source_)));
    json vocabulary = std::move(model["vocab"]);
    const json normalizer = built.contains("normalizer") ? std::move(built["normalizer"]) : json();
    add_listed(listed, tokens);
    set_usual_tokens(kind, tokens);
    std::vector<AddedToken> added = to_add(tokens, {});
    give_ids(vocabulary, added);
    const auto token = [&](const char* key) {
      const auto found = tokens.named.find(std::string_view(key));
      if (found == tokens.named.end())
        config.wrong(fmt::format("has null as '{}', which this tokenizer needs", key));
      return found->second.text;
    };
    // A token without an id in the files would be outside the model's embeddings.
    const auto id = [&](const std::string& text) {
      if (id_in(vocabulary, text) < 0 &&
          std::ranges::find(tokens.decoder, text, &AddedToken::text) == tokens.decoder.end()) {
        throw JsonProblem{{fmt::format("{}: '{}' is not among its {} pieces", name(source_),
                                       in_a_sentence(text), vocabulary.size())}};
      }
      return std::ranges::find(added, text, &AddedToken::text)->id;
    };
    // begin A end end B end, as in RoBERTa and XLM-RoBERTa.
    const auto two_ends_between = [&](const std::string& begin, const std::string& end) {
      return pair_template({{begin, id(begin), 0},
                            {"", 0, 0},
                            {end, id(end), 0},
                            {end, id(end), 0},
                            {"", 1, 0},
                            {end, id(end), 0}});
    };
    built = json::object();
    if (kind == Kind::bert) {
      const bool lower = config.truth_or("do_lower_case", true);
      json strip;  // null: as `lowercase`
      if (const auto field = config.present("strip_accents")) strip = field->truth();
      built["normalizer"] = {
          {"type", "BertNormalizer"},
          {"clean_text", true},
          {"handle_chinese_chars", config.truth_or("tokenize_chinese_chars", true)},
          {"strip_accents", strip},
          {"lowercase", lower}};
      built["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
      const std::string unknown = token("unk_token");
      if (id_in(vocabulary, unknown) < 0) {
        throw JsonProblem{{fmt::format("{}: '{}' is not among its {} pieces", name(source_),
                                       in_a_sentence(unknown), vocabulary.size())}};
      }
      built["model"] = {{"type", "WordPiece"},
                        {"unk_token", unknown},
                        {"continuing_subword_prefix", "##"},
                        {"max_input_chars_per_word", 100}};
      const std::string cls = token("cls_token"), sep = token("sep_token");
      built["post_processor"] = pair_template(
          {{cls, id(cls), 0}, {"", 0, 0}, {sep, id(sep), 0}, {"", 1, 1}, {sep, id(sep), 1}});
    } else if (kind == Kind::roberta) {
      const bool space = config.truth_or("add_prefix_space", false);
      built["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", space}};
      built["model"] = {{"type", "BPE"}};
      built["model"]["merges"] = model.contains("merges") ? std::move(model["merges"]) : json();
      built["post_processor"] = two_ends_between(token("cls_token"), token("sep_token"));
    } else {
      const bool space = config.truth_or("add_prefix_space", true);
      if (json precompiled = first_precompiled(normalizer); !precompiled.is_null())
        built["normalizer"] = std::move(precompiled);
      built["pre_tokenizer"] = {{"type", "Sequence"},
                                {"pretokenizers",
                                 {{{"type", "WhitespaceSplit"}},
                                  {{"type", "Metaspace"},
                                   {"replacement", "\u2581"},
                                   {"prepend_scheme", space ? "always" : "never"},
                                   {"split", true}}}}};
      built["model"] = {{"type", "Unigram"}, {"unk_id", 3}};
      built["post_processor"] = two_ends_between(token("bos_token"), token("eos_token"));
    }
    built["model"]["vocab"] = std::move(vocabulary);
    built["added_tokens"] = json::array();
    for (const AddedToken& added_token : added)
      built["added_tokens"].push_back(json_of(added_token));
  }

  /// Merges the added tokens of tokenizer.json by id.
  void add_listed(const json& listed, FolderTokens& tokens) const {
    std::map<std::int64_t, AddedToken> by_id;
    for (const json& entry : listed) {
      if (!entry.is_object() || !entry.contains("content") || !entry["content"].is_string())
        continue;
      AddedToken token{.text = entry["content"]};
      token.single_word = entry.value("single_word", false);
      token.lstrip = entry.value("lstrip", false);
      token.rstrip = entry.value("rstrip", false);
      token.special = entry.value("special", false);
      token.normalized = entry.value("normalized", !token.special);
      by_id.insert_or_assign(entry.value("id", std::int64_t{0}), std::move(token));
    }
    // tokenizer.json takes precedence over a token of added_tokens.json with the same id.
    for (AddedToken& token : tokens.decoder) {
      const std::int64_t id = token.id;
      by_id.emplace(id, std::move(token));
    }
    tokens.decoder.clear();
    for (auto& [id, token] : by_id) {
      const auto known = std::ranges::find(tokens.decoder, token.text, &AddedToken::text);
      if (known == tokens.decoder.end()) {
        tokens.decoder.push_back(std::move(token));
      } else {
        *known = std::move(token);
      }
    }
    for (auto& [key, token] : tokens.named) {
      const auto known = std::ranges::find(tokens.decoder, token.text, &AddedToken::text);
      if (known != tokens.decoder.end()) known->special = true;
    }
  }

  /// The class's default names of special tokens.
  using Usual = std::pair<const char*, const char*>;
  static std::span<const Usual> usual_tokens(Kind kind) {
    static constexpr std::array bert{Usual{"unk_token", "[UNK]"}, Usual{"sep_token", "[SEP]"},
                                     Usual{"pad_token", "[PAD]"}, Usual{"cls_token", "[CLS]"},
                                     Usual{"mask_token", "[MASK]"}};
    static constexpr std::array roberta{Usual{"bos_token", "<s>"},    Usual{"eos_token", "</s>"},
                                        Usual{"unk_token", "<unk>"},  Usual{"sep_token", "</s>"},
                                        Usual{"pad_token", "<pad>"},  Usual{"cls_token", "<s>"},
                                        Usual{"mask_token", "<mask>"}};
    if (kind == Kind::generic) return {};
    return kind == Kind::bert ? std::span<const Usual>(bert) : std::span<const Usual>(roberta);
  }

  static void set_usual_tokens(Kind kind, FolderTokens& tokens) {
    for (const auto& [key, text] : usual_tokens(kind)) {
      AddedToken token{.text = text};
      token.special = true;
      const auto listed = std::ranges::find(tokens.decoder, token.text, &AddedToken::text);
      if (listed != tokens.decoder.end()) {
        listed->special = true;
        token = *listed;
      }
      tokens.named.emplace(key, std::move(token));
    }
  }

  /// Texts of the named special tokens.
  static std::map<std::string, std::string, std::less<>> names_of(Kind kind,
                                                                  const FolderTokens& tokens) {
    std::map<std::string, std::string, std::less<>> names;
    for (const auto& [key, token] : tokens.named) names.emplace(key, token.text);
    for (const auto& [key, text] : usual_tokens(kind)) names.emplace(key, text);
    return names;
  }

  /// Assigns the vocabulary's id, or the next free one.
  static void give_ids(const json& vocabulary, std::vector<AddedToken>& added) {
    auto next = static_cast<std::int32_t>(vocabulary.size());
    for (AddedToken& token : added) {
      token.id = id_in(vocabulary, token.text);
      if (token.id < 0) token.id = next++;
    }
  }

  struct Placed {
    std::string special;  // empty: a text
    std::int32_t id = 0;  // of the token; for a text, 0: query, 1: document
    int type = 0;
  };
  static json pair_template(const std::vector<Placed>& placed) {
    json pair = json::array(), specials = json::object();
    for (const Placed& part : placed) {
      if (part.special.empty()) {
        pair.push_back({{"Sequence", {{"id", part.id == 0 ? "A" : "B"}, {"type_id", part.type}}}});
        continue;
      }
      pair.push_back({{"SpecialToken", {{"id", part.special}, {"type_id", part.type}}}});
      specials[part.special] = {{"ids", {part.id}}};
    }
    return {{"type", "TemplateProcessing"}, {"pair", pair}, {"special_tokens", specials}};
  }

  static json first_precompiled(const json& normalizer) {
    if (!normalizer.is_object()) return {};
    if (normalizer.value("type", "") == "Precompiled") return normalizer;
    const auto steps = normalizer.find("normalizers");
    if (steps == normalizer.end() || !steps->is_array()) return {};
    for (const json& step : *steps)
      if (step.is_object() && step.value("type", "") == "Precompiled") return step;
    return {};
  }

  const TokenizerFiles& files_;
  const fs::path& folder_;
  const TokenizerExtras& extras_;
  json config_, special_map_, added_file_, model_config_;
  std::string source_ = "tokenizer.json";  // the file with the vocabulary
  std::string chosen_by_;                  // the field that determined the class
  std::string direction_ = "right";        // side of truncation in tokenizer.json
  bool pads_left_ = false;                 // side of padding in tokenizer.json
  bool is_foreign_ = false;                // transformers does not know the model_type
};

}  // namespace

std::span<const TokenizerField> tokenizer_fields() {
  using enum FieldEffect;
  static constexpr std::array fields{
      TokenizerField{"tokenizer_class",
                     "the class that builds the tokenizer; 'Fast' at its end has no effect"},
      TokenizerField{"do_lower_case", "BERT's classes: texts are lower-cased (default true)"},
      TokenizerField{"strip_accents",
                     "BERT's classes: accents are removed (default: as do_lower_case)"},
      TokenizerField{"tokenize_chinese_chars",
                     "BERT's classes: each ideograph is a separate word (default true)"},
      TokenizerField{"add_prefix_space",
                     "RoBERTa's (default false) and XLM-RoBERTa's (default true) classes: a space "
                     "precedes each text"},
      TokenizerField{"cls_token", "the token before the pair"},
      TokenizerField{"sep_token", "the token after query and document"},
      TokenizerField{"unk_token", "the piece for text that no other piece covers"},
      TokenizerField{"bos_token", "XLM-RoBERTa's class: the token before the pair"},
      TokenizerField{"eos_token", "XLM-RoBERTa's class: the token after query and document"},
      TokenizerField{"pad_token",
                     "is found in texts; by default the generic class uses padding.pad_token of "
                     "tokenizer.json"},
      TokenizerField{"mask_token", "is found in texts"},
      TokenizerField{"additional_special_tokens", "are found in texts"},
      TokenizerField{"extra_special_tokens", "are found in texts"},
      TokenizerField{"added_tokens_decoder",
                     "tokens that are found in texts, with their flags; special_tokens_map.json "
                     "and added_tokens.json are then not read"},
      TokenizerField{"split_special_tokens", "special tokens in texts are text (default false)"},
      TokenizerField{"model_input_names",
                     "the model receives token types if the list has token_type_ids; by default "
                     "BERT's and ELECTRA's classes provide them. Without attention_mask, late "
                     "interaction and padded pairs are refused"},
      TokenizerField{"model_max_length", "maximum tokens of a pair; max_len is its older name"},
      TokenizerField{"max_len", "see model_max_length"},
      TokenizerField{"truncation_side",
                     "the side on which texts are truncated (default: truncation.direction of "
                     "tokenizer.json, otherwise right)"},
      TokenizerField{"auto_map", "it names code, and code in checkpoints is never run", refused},
      TokenizerField{"fast_tokenizer_files", "it names other tokenizer files", refused},
      TokenizerField{"init_inputs", "it replaces the tokenizer's arguments", refused},
      TokenizerField{"add_bos_token", "", none},
      TokenizerField{"add_eos_token", "", none},
      TokenizerField{"backend", "", none},
      TokenizerField{"chat_template", "", none},
      TokenizerField{"clean_up_tokenization_spaces", "", none},
      TokenizerField{"do_basic_tokenize", "", none},
      TokenizerField{"errors", "", none},
      TokenizerField{"full_tokenizer_file", "", none},
      TokenizerField{"is_local", "", none},
      TokenizerField{"legacy", "", none},
      TokenizerField{"local_files_only", "", none},
      TokenizerField{"max_length", "", none},
      TokenizerField{"model_specific_special_tokens", "", none},
      TokenizerField{"name_or_path", "", none},
      TokenizerField{"never_split", "", none},
      TokenizerField{"pad_to_multiple_of", "", none},
      TokenizerField{"pad_token_type_id", "", none},
      TokenizerField{"padding_side",
                     "left (default: padding.direction of tokenizer.json) is refused for late "
                     "interaction, whose queries are expanded, and if pairs are padded"},
      TokenizerField{"processor_class", "", none},
      TokenizerField{"return_token_type_ids", "", none},
      TokenizerField{"sp_model_kwargs", "", none},
      TokenizerField{"special_tokens_map_file", "", none},
      TokenizerField{"stride", "", none},
      TokenizerField{"tokenizer_file", "", none},
      TokenizerField{"trim_offsets", "", none},
      TokenizerField{"truncation_strategy", "", none},
      TokenizerField{"use_fast", "", none},
      TokenizerField{"vocab_file", "", none}};
  return fields;
}

Result<SubwordParts> read_tokenizer_files(const TokenizerFiles& files, const fs::path& folder,
                                          const TokenizerExtras& extras) {
  return FolderReader(files, folder, extras).read();
}

Result<SubwordParts> read_tokenizer_folder(const fs::path& folder, const TokenizerExtras& extras) {
  TokenizerFiles files;
  std::vector<const char*> names(tokenizer_files.begin(), tokenizer_files.end());
  names.push_back("config.json");
  for (const char* name : names) {
    const bool is_older =
        files.contains("tokenizer.json") &&
        (name == std::string_view("vocab.txt") || name == std::string_view("vocab.json") ||
         name == std::string_view("merges.txt"));
    if (is_older) continue;
    const Result<bool> there = is_present(folder / name);
    if (!there) return tl::unexpected(there.error());
    if (!*there) continue;
    Result<std::string> text = read_text_file(
        folder / name, "tokenizer's file", most_bytes,
        // There it is part of the first piece.
        name == std::string_view("vocab.txt") ? ByteOrderMark::kept : ByteOrderMark::left_out);
    if (!text) return tl::unexpected(text.error());
    files.emplace(name, std::move(*text));
  }
  return read_tokenizer_files(files, folder, extras);
}

}  // namespace attnscope
