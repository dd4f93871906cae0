// SPDX-License-Identifier: Apache-2.0
#include "engine/pattern/pattern_json.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/pattern/sequence_layout.h"
#include "kernels/base/json.h"
#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

using Names = std::span<const std::string_view>;
using Groups = std::array<bool, token_group_count>;

constexpr std::array<std::string_view, 7> pattern_fields{
    "name", "title", "description", "global", "attends", "sentences", "blocks"};
constexpr std::array<std::string_view, 4> group_names{"cls", "query", "document", "sentence"};
constexpr std::array<std::string_view, 3> rule_names{"none", "whole",
                                                     "window"};  // as GroupRule::Kind
constexpr std::array<std::string_view, 1> window_fields{"window"};
constexpr std::array<std::string_view, 1> sentence_fields{"every"};
constexpr std::array<std::string_view, 3> block_fields{"length", "random", "seed"};

std::size_t index_of(Names names, std::string_view name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

Result<std::string> read_name(const JsonField& root) {
  const auto field = root.member("name");
  if (!field) return root.wrong("has no 'name'; give one, e.g. \"name\": \"my-pattern\"");
  Result<std::string> name = field->text();
  if (!name) return name;
  const bool valid = std::all_of(name->begin(), name->end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
  if (name->empty() || !valid) {
    return field->wrong(
        "must be made of letters a-z, digits, '-' and '_', because contenders are "
        "written PATTERN/IMPLEMENTATION");
  }
  return name;
}

Result<std::string> read_text(const JsonField& root, std::string_view key, std::string otherwise) {
  const auto field = root.member(key);
  if (!field) return otherwise;
  return field->text();
}

Result<GroupRule> read_fixed_window(const JsonField& field) {
  if (Status known = field.only(window_fields); !known) return tl::unexpected(known.error());
  const auto window = field.member("window");
  if (!window) return field.wrong("is empty; a fixed window is written {\"window\": 4}");
  if (window->value().kind == JsonValue::Kind::text) {
    return window->wrong(
        "must be a number of tokens; write \"whole\" in place of an infinite window "
        "and \"window\" for the window of the sweep");
  }
  Result<std::int64_t> tokens = window->whole_number(0, SequenceLayout::max_tokens);
  if (!tokens) return tl::unexpected(tokens.error());
  return GroupRule{.kind = GroupRule::Kind::window, .fixed_window = *tokens};
}

Result<GroupRule> read_rule(const JsonField& field) {
  if (field.value().kind == JsonValue::Kind::object) return read_fixed_window(field);
  if (field.value().kind != JsonValue::Kind::text) {
    return field.wrong("must be \"none\", \"whole\", \"window\" or {\"window\": 4}");
  }
  const std::size_t kind = index_of(rule_names, field.value().text);
  if (kind == rule_names.size()) {
    return field.wrong(fmt::format("has the unknown rule '{}'; {}",
                                   in_a_sentence(field.value().text),
                                   suggest(in_a_sentence(field.value().text), rule_names)));
  }
  return GroupRule{.kind = static_cast<GroupRule::Kind>(kind)};
}

class PatternReader {
 public:
  explicit PatternReader(const JsonField& root) : root_(root) {}

  Result<AttentionPattern> read() {
    for (const auto step :
         {&PatternReader::read_names, &PatternReader::read_attends, &PatternReader::read_global,
          &PatternReader::read_sentences, &PatternReader::read_blocks, &PatternReader::add_global,
          &PatternReader::check}) {
      if (Status done = (this->*step)(); !done) return tl::unexpected(done.error());
    }
    return pattern_;
  }

 private:
  Status read_names() {
    if (Status known = root_.only(pattern_fields); !known) return known;
    Result<std::string> name = read_name(root_);
    if (!name) return tl::unexpected(name.error());
    Result<std::string> title = read_text(root_, "title", *name);
    if (!title) return tl::unexpected(title.error());
    Result<std::string> description = read_text(root_, "description", "");
    if (!description) return tl::unexpected(description.error());
    pattern_.name = std::move(*name);
    pattern_.title = std::move(*title);
    pattern_.description = std::move(*description);
    return {};
  }

  Status read_attends() {
    const auto attends = root_.member("attends");
    if (!attends) return {};
    if (Status known = attends->only(group_names); !known) return known;
    for (const JsonField& row : attends->members()) {
      if (Status known = row.only(group_names); !known) return known;
      const std::size_t from = index_of(group_names, row.key());
      named_[from] = true;
      for (const JsonField& field : row.members()) {
        const std::size_t to = index_of(group_names, field.key());
        named_[to] = true;
        if (Status done = read_pair(from, to, field); !done) return done;
      }
    }
    return {};
  }

  Status read_pair(std::size_t from, std::size_t to, const JsonField& field) {
    Result<GroupRule> rule = read_rule(field);
    if (!rule) return tl::unexpected(rule.error());
    if (rule->kind == GroupRule::Kind::window &&
        !share_positions(token_groups[from], token_groups[to])) {
      return field.wrong(
          fmt::format("cannot be a window, because {} and {} tokens share no "
                      "positions; write \"whole\" or \"none\"",
                      group_names[from], group_names[to]));
    }
    pattern_.attends[from][to] = *rule;
    pairs_[from][to] = field;
    return {};
  }

  Status read_global() {
    const auto global = root_.member("global");
    if (!global) return {};
    if (Status list = global->list(); !list) return list;
    for (const JsonField& element : global->elements()) {
      Result<std::string> name = element.text();
      if (!name) return tl::unexpected(name.error());
      const std::size_t group = index_of(group_names, *name);
      if (group == group_names.size()) {
        return element.wrong(fmt::format("names the unknown token group '{}'; {}",
                                         in_a_sentence(*name),
                                         suggest(in_a_sentence(*name), group_names)));
      }
      if (global_[group]) return element.wrong(fmt::format("lists '{}' twice", *name));
      global_[group] = named_[group] = true;
    }
    return {};
  }

  Status read_sentences() {
    const auto sentences = root_.member("sentences");
    if (!sentences) return {};
    if (Status known = sentences->only(sentence_fields); !known) return known;
    const auto every = sentences->member("every");
    if (!every) return sentences->wrong("has no 'every'; write {\"every\": 30}");
    Result<std::int64_t> stride = every->whole_number(1, SequenceLayout::max_tokens);
    if (!stride) return tl::unexpected(stride.error());
    pattern_.sentence_every = *stride;
    return {};
  }

  Status read_blocks() {
    const auto blocks = root_.member("blocks");
    if (!blocks) return {};
    if (Status known = blocks->only(block_fields); !known) return known;
    for (const std::string_view other : {"attends", "global", "sentences"}) {
      if (!root_.member(other)) continue;
      return blocks->wrong(fmt::format(
          "cannot stand beside '{}', because blocks say alone who sees whom; remove one of them",
          other));
    }
    BlockRule rule;
    struct Number {
      std::string_view key;
      std::int64_t& value;
      std::int64_t least, most;
    };
    const Number numbers[] = {
        {"length", rule.length, 1, SequenceLayout::max_tokens},
        {"random", rule.random, 0, BlockRule::most_random},
        {"seed", rule.seed, 0, std::numeric_limits<std::int64_t>::max()},
    };
    for (const Number& number : numbers) {
      const auto field = blocks->member(number.key);
      if (!field && number.key == "seed") continue;
      if (!field) {
        return blocks->wrong(fmt::format(
            "has no '{}'; write {{\"length\": 64, \"random\": 3, \"seed\": 1}}", number.key));
      }
      Result<std::int64_t> value = field->whole_number(number.least, number.most);
      if (!value) return tl::unexpected(value.error());
      number.value = *value;
    }
    pattern_.blocks = rule;
    return {};
  }

  /// Global groups see and are seen by every group. Sentence starts are a group of their own only
  /// in patterns that name it; elsewhere they are document tokens.
  Status add_global() {
    const std::size_t sentence = static_cast<std::size_t>(TokenGroup::sentence);
    for (std::size_t from = 0; from < token_group_count; ++from) {
      for (std::size_t to = 0; to < token_group_count; ++to) {
        if (!global_[from] && !global_[to]) continue;
        if ((from == sentence || to == sentence) && !named_[sentence]) continue;
        GroupRule& rule = pattern_.attends[from][to];
        if (pairs_[from][to] && rule.kind != GroupRule::Kind::whole) {
          return pairs_[from][to]->wrong(
              fmt::format("contradicts 'global', which makes {} whole; remove one of them",
                          group_names[global_[from] ? from : to]));
        }
        rule = {.kind = GroupRule::Kind::whole};
      }
    }
    return {};
  }

  Status check() {
    if (!pattern_.has_rules() && !pattern_.blocks) {
      return root_.wrong(
          "lets no token attend to any other; give 'attends' or 'global', e.g. "
          "\"attends\": {\"document\": {\"document\": \"window\"}}");
    }
    if (pattern_.sentence_every && !pattern_.has_sentences()) {
      return root_.member("sentences")
          ->wrong(
              "makes sentence tokens that no rule names; name 'sentence' in 'attends' or 'global'");
    }
    return {};
  }

  JsonField root_;
  AttentionPattern pattern_;
  Groups named_{};
  Groups global_{};
  std::array<std::array<std::optional<JsonField>, token_group_count>, token_group_count> pairs_;
};

}  // namespace

Result<AttentionPattern> parse_pattern(std::string_view json, std::string_view source) {
  Result<JsonValue> value = parse_json(json, source);
  if (!value) return tl::unexpected(value.error());
  return PatternReader(JsonField(source, *value)).read();
}

Result<AttentionPattern> read_pattern(const JsonField& field) {
  return PatternReader(field).read();
}

std::string pattern_json(const AttentionPattern& pattern) {
  nlohmann::ordered_json root;
  root["name"] = pattern.name;
  root["title"] = pattern.title;
  root["description"] = pattern.description;
  if (pattern.blocks) {
    root["blocks"] = {{"length", pattern.blocks->length},
                      {"random", pattern.blocks->random},
                      {"seed", pattern.blocks->seed}};
    return root.dump(2);
  }
  nlohmann::ordered_json& attends = root["attends"] = nlohmann::ordered_json::object();
  for (const TokenGroup from : token_groups) {
    for (const TokenGroup to : token_groups) {
      const GroupRule& rule = pattern.rule(from, to);
      if (rule.kind == GroupRule::Kind::none) continue;
      nlohmann::ordered_json& entry = attends[std::string(name_of(from))][std::string(name_of(to))];
      if (rule.fixed_window) {
        entry = {{"window", *rule.fixed_window}};
      } else {
        entry = rule_names[static_cast<std::size_t>(rule.kind)];
      }
    }
  }
  if (pattern.sentence_every) root["sentences"] = {{"every", *pattern.sentence_every}};
  return root.dump(2);
}

}  // namespace attnscope
