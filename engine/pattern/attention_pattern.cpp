// SPDX-License-Identifier: Apache-2.0
#include "engine/pattern/attention_pattern.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/json.h"
#include "base/open_file.h"
#include "base/sentences.h"
#include "engine/pattern/built_in_patterns.h"
#include "engine/pattern/sequence_layout.h"

namespace attnscope {
namespace {

constexpr std::uintmax_t max_file_bytes = 1 << 20;

template <typename Holds>
bool any_rule(const AttentionPattern& pattern, Holds holds) {
  return std::ranges::any_of(pattern.attends,
                             [&](const auto& row) { return std::ranges::any_of(row, holds); });
}

constexpr std::array<std::string_view, token_group_count> group_names{"cls", "query", "document",
                                                                      "sentence"};
/// In the order of GroupRule::Kind; chunks have sizes and no name.
constexpr std::array<std::string_view, 3> rule_names{"none", "whole", "window"};
constexpr std::string_view rule_forms =
    R"("none", "whole", "window", {"window": 4} or {"chunk": 40, "overlap": 5})";

std::string read_name(const JsonField& root) {
  const auto field = root.member("name");
  if (!field) root.wrong("has no 'name'; give one, e.g. \"name\": \"my-pattern\"");
  std::string name = field->text();
  const bool valid = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
  if (name.empty() || !valid) {
    field->wrong(
        "must be made of letters a-z, digits, '-' and '_', because contenders are written "
        "PATTERN/IMPLEMENTATION");
  }
  return name;
}

GroupRule read_chunks(const JsonField& field) {
  field.only({"chunk", "overlap"});
  const auto chunk = field.member("chunk");
  if (!chunk) field.wrong("has no 'chunk'; write {\"chunk\": 40, \"overlap\": 5}");
  const auto overlap = field.member("overlap");
  return {.kind = GroupRule::Kind::chunks,
          .chunk = {.tokens = chunk->whole(1, SequenceLayout::max_tokens),
                    .overlap = overlap ? overlap->whole(0, SequenceLayout::max_tokens) : 0}};
}

GroupRule read_fixed_window(const JsonField& field) {
  field.only({"window", "chunk", "overlap"});
  const auto window = field.member("window");
  if (!window) field.wrong(fmt::format("is empty; a rule is {}", rule_forms));
  if (window->is_text()) {
    window->wrong(
        "must be a number of tokens; write \"whole\" in place of an infinite window and \"window\" "
        "for the window of the sweep");
  }
  return {.kind = GroupRule::Kind::window,
          .fixed_window = window->whole(0, SequenceLayout::max_tokens)};
}

GroupRule read_rule(const JsonField& field) {
  if (field.is_object()) {
    const bool chunks = field.member("chunk") || field.member("overlap");
    return chunks ? read_chunks(field) : read_fixed_window(field);
  }
  if (!field.is_text()) field.wrong(fmt::format("must be {}", rule_forms));
  return {.kind = static_cast<GroupRule::Kind>(field.one_of(rule_names, "rule"))};
}

std::size_t group_of(const JsonField& member) {
  const auto found = std::ranges::find(group_names, member.key());
  return static_cast<std::size_t>(found - group_names.begin());
}

class PatternReader {
 public:
  explicit PatternReader(const JsonField& root) : root_(root) {}

  AttentionPattern read() {
    root_.only(
        {"name", "title", "description", "global", "attends", "sentences", "item", "blocks"});
    pattern_.name = read_name(root_);
    pattern_.title = root_.text_or("title", pattern_.name);
    pattern_.description = root_.text_or("description", "");
    read_attends();
    read_global();
    read_sentences();
    read_item();
    read_blocks();
    add_global();
    check();
    return std::move(pattern_);
  }

 private:
  void read_attends() {
    const auto attends = root_.member("attends");
    if (!attends) return;
    attends->only(group_names);
    for (const JsonField& row : attends->members()) {
      row.only(group_names);
      named_[group_of(row)] = true;
      for (const JsonField& field : row.members()) {
        named_[group_of(field)] = true;
        read_pair(group_of(row), group_of(field), field);
      }
    }
  }

  void read_pair(std::size_t from, std::size_t to, const JsonField& field) {
    const GroupRule rule = read_rule(field);
    if (needs_positions(rule) && !share_positions(token_groups[from], token_groups[to])) {
      field.wrong(
          fmt::format("cannot be {}, because {} and {} tokens share no positions; write "
                      "\"whole\" or \"none\"",
                      rule.kind == GroupRule::Kind::window ? "a window" : "chunks",
                      group_names[from], group_names[to]));
    }
    pattern_.attends[from][to] = rule;
    pairs_[from][to] = field;
  }

  void read_global() {
    const auto global = root_.member("global");
    if (!global) return;
    for (const JsonField& element : global->elements()) {
      const std::size_t group = element.one_of(group_names, "token group");
      if (global_[group]) element.wrong(fmt::format("lists '{}' twice", group_names[group]));
      global_[group] = named_[group] = true;
    }
  }

  void read_sentences() {
    const auto sentences = root_.member("sentences");
    if (!sentences) return;
    sentences->only({"every"});
    const auto every = sentences->member("every");
    if (!every) sentences->wrong("has no 'every'; write {\"every\": 30}");
    pattern_.sentence_every = every->whole(1, SequenceLayout::max_tokens);
  }

  /// A field that defines the whole pattern alone.
  std::optional<JsonField> read_alone(std::string_view name) {
    const auto field = root_.member(name);
    if (!field) return field;
    for (const std::string_view other : {"attends", "global", "sentences", "item", "blocks"}) {
      if (other == name || !root_.member(other)) continue;
      field->wrong(
          fmt::format("cannot be combined with '{}', because each defines all allowed pairs; "
                      "remove one of them",
                      other));
    }
    return field;
  }

  void read_item() {
    const auto item = read_alone("item");
    if (!item) return;
    const bool is_window = item->is_text() && item->text() == "window";
    if (!is_window && !item->is_object()) {
      item->wrong(R"(must be "window" or, with a width of its own, {"window": 64})");
    }
    pattern_.item =
        is_window ? GroupRule{.kind = GroupRule::Kind::window} : read_fixed_window(*item);
  }

  void read_blocks() {
    const auto blocks = read_alone("blocks");
    if (!blocks) return;
    blocks->only({"length", "random", "seed"});
    const auto number = [&](std::string_view key, std::int64_t least, std::int64_t most) {
      const auto field = blocks->member(key);
      if (!field) {
        blocks->wrong(
            fmt::format("has no '{}'; write {{\"length\": 64, \"random\": 3, \"seed\": 1}}", key));
      }
      return field->whole(least, most);
    };
    BlockRule rule;
    rule.length = number("length", 1, SequenceLayout::max_tokens);
    rule.random = number("random", 0, BlockRule::most_random);
    if (blocks->member("seed")) {
      rule.seed = number("seed", 0, std::numeric_limits<std::int64_t>::max());
    }
    pattern_.blocks = rule;
  }

  /// Global groups attend to every group, and every group attends to them. Sentence starts are a
  /// separate group only in patterns that name it; in others they are document tokens.
  void add_global() {
    const std::size_t sentence = static_cast<std::size_t>(TokenGroup::sentence);
    for (std::size_t from = 0; from < token_group_count; ++from) {
      for (std::size_t to = 0; to < token_group_count; ++to) {
        if (!global_[from] && !global_[to]) continue;
        if ((from == sentence || to == sentence) && !named_[sentence]) continue;
        GroupRule& rule = pattern_.attends[from][to];
        if (pairs_[from][to] && rule.kind != GroupRule::Kind::whole) {
          pairs_[from][to]->wrong(
              fmt::format("contradicts 'global', which makes {} whole; remove one of the two",
                          group_names[global_[from] ? from : to]));
        }
        rule = {.kind = GroupRule::Kind::whole};
      }
    }
  }

  void check() const {
    if (!pattern_.has_rules() && !pattern_.knows_no_groups()) {
      root_.wrong(
          "lets no token attend to any other; give 'attends' or 'global', e.g. "
          "\"attends\": {\"document\": {\"document\": \"window\"}}");
    }
    if (pattern_.sentence_every && !pattern_.has_sentences()) {
      root_["sentences"].wrong(
          "makes sentence tokens, but no rule names them; name 'sentence' in 'attends' or "
          "'global'");
    }
  }

  JsonField root_;
  AttentionPattern pattern_;
  std::array<bool, token_group_count> named_{};
  std::array<bool, token_group_count> global_{};
  std::array<std::array<std::optional<JsonField>, token_group_count>, token_group_count> pairs_;
};

nlohmann::ordered_json rule_json(const GroupRule& rule) {
  if (rule.fixed_window) return {{"window", *rule.fixed_window}};
  if (rule.kind == GroupRule::Kind::chunks) {
    return {{"chunk", rule.chunk.tokens}, {"overlap", rule.chunk.overlap}};
  }
  return rule_names[static_cast<std::size_t>(rule.kind)];
}

}  // namespace

std::string_view name_of(TokenGroup group) {
  return group_names[static_cast<std::size_t>(group)];
}

bool share_positions(TokenGroup a, TokenGroup b) {
  const auto in_document = [](TokenGroup group) {
    return group == TokenGroup::document || group == TokenGroup::sentence;
  };
  return a == b || (in_document(a) && in_document(b));
}

bool AttentionPattern::has_rules() const {
  return any_rule(*this, [](const GroupRule& rule) { return rule.kind != GroupRule::Kind::none; });
}

bool AttentionPattern::has_window() const {
  const auto takes_window = [](const GroupRule& rule) {
    return rule.kind == GroupRule::Kind::window && !rule.fixed_window;
  };
  return (item && takes_window(*item)) || any_rule(*this, takes_window);
}

bool AttentionPattern::has_chunks() const {
  return any_rule(*this,
                  [](const GroupRule& rule) { return rule.kind == GroupRule::Kind::chunks; });
}

bool AttentionPattern::has_sentences() const {
  for (const TokenGroup group : token_groups) {
    if (rule(group, TokenGroup::sentence).kind != GroupRule::Kind::none) return true;
    if (rule(TokenGroup::sentence, group).kind != GroupRule::Kind::none) return true;
  }
  return false;
}

const std::vector<AttentionPattern>& built_in_patterns() {
  static const std::vector<AttentionPattern> patterns = [] {
    std::vector<AttentionPattern> parsed;
    for (const BuiltInPattern& source : built_in_pattern_sources()) {
      Result<AttentionPattern> pattern = parse_pattern(source.json, source.file);
      if (!pattern) throw std::logic_error(pattern.error().message);
      parsed.push_back(std::move(*pattern));
    }
    return parsed;
  }();
  return patterns;
}

Result<AttentionPattern> find_pattern(std::string_view name_or_path) {
  if (name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(".json")) {
    Result<std::string> json = read_text_file(name_or_path, "pattern file", max_file_bytes);
    if (!json) return tl::unexpected(json.error());
    return parse_pattern(*json, name_or_path);
  }
  std::vector<std::string_view> known;
  for (const AttentionPattern& pattern : built_in_patterns()) {
    if (pattern.name == name_or_path) return pattern;
    known.emplace_back(pattern.name);
  }
  return fail("unknown pattern '{}'; {}; a file of your own is given as a path that ends in .json",
              in_a_sentence(name_or_path), suggest(in_a_sentence(name_or_path), known));
}

Result<AttentionPattern> parse_pattern(std::string_view json, std::string_view source) {
  return read_json(json, source, read_pattern);
}

AttentionPattern read_pattern(const JsonField& field) {
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
  if (pattern.item) {
    root["item"] = rule_json(*pattern.item);
    return root.dump(2);
  }
  nlohmann::ordered_json& attends = root["attends"] = nlohmann::ordered_json::object();
  for (const TokenGroup from : token_groups) {
    for (const TokenGroup to : token_groups) {
      const GroupRule& rule = pattern.rule(from, to);
      if (rule.kind == GroupRule::Kind::none) continue;
      attends[std::string(name_of(from))][std::string(name_of(to))] = rule_json(rule);
    }
  }
  if (pattern.sentence_every) root["sentences"] = {{"every", *pattern.sentence_every}};
  return root.dump(2);
}

namespace {

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a counter stepped by the golden ratio, mixed.
class Generator {
 public:
  explicit Generator(const BlockDraw& draw) {
    const std::int64_t fields[] = {draw.seed, draw.blocks, draw.head, draw.block};
    for (const std::int64_t field : fields)
      state_ = mix(state_ + static_cast<std::uint64_t>(field));
  }

  /// 0 ... below - 1, each equally likely: draws that would favour the small ones are repeated.
  std::int64_t below(std::int64_t bound) {
    const auto range = static_cast<std::uint64_t>(bound);
    const std::uint64_t limit = std::numeric_limits<std::uint64_t>::max() / range * range;
    std::uint64_t value = next();
    while (value >= limit) value = next();
    return static_cast<std::int64_t>(value % range);
  }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15U); }

  std::uint64_t state_ = 0x9e3779b97f4a7c15U;
};

}  // namespace

std::vector<std::int64_t> random_blocks(std::int64_t count, const BlockDraw& draw) {
  // Candidates are the middle blocks without [first_seen, last_seen].
  const std::int64_t first_seen = std::max<std::int64_t>(draw.block - 1, 1);
  const std::int64_t last_seen = std::min(draw.block + 1, draw.blocks - 2);
  const std::int64_t seen = last_seen - first_seen + 1;
  const std::int64_t candidates = draw.blocks - 2 - seen;
  assert(count <= candidates);
  Generator generator(draw);
  std::vector<std::int64_t> drawn;
  drawn.reserve(static_cast<std::size_t>(count));
  // Floyd's sampling: every set of `count` candidates is equally likely.
  for (std::int64_t last = candidates - count; last < candidates; ++last) {
    std::int64_t chosen = generator.below(last + 1);
    auto place = std::lower_bound(drawn.begin(), drawn.end(), chosen);
    if (place != drawn.end() && *place == chosen) {
      chosen = last;
      place = drawn.end();
    }
    drawn.insert(place, chosen);
  }
  for (std::int64_t& block : drawn) {
    ++block;  // candidates count from the first middle block
    if (block >= first_seen) block += seen;
  }
  return drawn;
}

}  // namespace attnscope
