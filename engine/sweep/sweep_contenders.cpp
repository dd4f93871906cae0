// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/sweep_contenders.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "engine/pattern/pattern_json.h"
#include "engine/sweep/axis_fields.h"
#include "kernels/plan/in_a_sentence.h"

namespace attnscope {
namespace {

// One contender as the file says it, before the sweep's windows.
struct Declared {
  std::string pattern, implementation, name;
  std::optional<Window> window;
};

bool looks_like_window(std::string_view text) {
  return text == "inf" || (!text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9')));
}

// From the right, because a pattern may be the path of a file: "my/pattern.json/segment/4".
Result<Declared> from_text(const JsonField& field) {
  std::string_view rest = field.value().text;
  const auto take_last = [&rest] {
    const std::size_t slash = rest.rfind('/');
    const std::string_view part = slash == std::string_view::npos ? rest : rest.substr(slash + 1);
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(0, slash);
    return part;
  };
  Declared declared;
  std::string_view last = take_last();
  if (looks_like_window(last) && !rest.empty()) {
    auto window = parse_window(last);
    if (!window) return placed(field, window.error());
    declared.window = *window;
    last = take_last();
  }
  declared.implementation = last;
  declared.pattern = rest;
  if (declared.pattern.empty() || declared.implementation.empty()) {
    return field.wrong(
        fmt::format("is '{}', but a contender is \"PATTERN/IMPLEMENTATION\" or "
                    "\"PATTERN/IMPLEMENTATION/WINDOW\", "
                    "as in \"sparse/segment\"",
                    in_a_sentence(field.value().text)));
  }
  return declared;
}

Result<std::string> required_text(const JsonField& object, std::string_view key) {
  const auto field = object.member(key);
  if (!field) return object.wrong(fmt::format("needs the field '{}'", key));
  auto text = field->text();
  if (text && text->empty()) return field->wrong("must not be empty");
  return text;
}

Result<Declared> from_object(const JsonField& field) {
  static constexpr std::array<std::string_view, 4> known{"pattern", "implementation", "window",
                                                         "name"};
  if (Status fields = field.only(known); !fields) return tl::unexpected(fields.error());
  auto pattern = required_text(field, "pattern");
  if (!pattern) return tl::unexpected(pattern.error());
  auto implementation = required_text(field, "implementation");
  if (!implementation) return tl::unexpected(implementation.error());
  Declared declared{
      .pattern = *pattern, .implementation = *implementation, .name = {}, .window = {}};
  if (field.member("name")) {
    auto name = required_text(field, "name");
    if (!name) return tl::unexpected(name.error());
    declared.name = *name;
  }
  if (const auto window = field.member("window")) {
    auto value = read_window(*window);
    if (!value) return tl::unexpected(value.error());
    declared.window = *value;
  }
  return declared;
}

Result<Declared> read_declared(const JsonField& field) {
  if (field.value().kind == JsonValue::Kind::text) return from_text(field);
  if (field.value().kind == JsonValue::Kind::object) return from_object(field);
  return field.wrong(
      "must be a string \"PATTERN/IMPLEMENTATION\" or an object with pattern and implementation");
}

// Every pattern is read once however many contenders share it.
class Patterns {
 public:
  Patterns(std::filesystem::path folder, const std::vector<AttentionPattern>& own)
      : folder_(std::move(folder)) {
    for (const AttentionPattern& pattern : own) known_.emplace(pattern.name, pattern);
  }

  Result<AttentionPattern> find(const std::string& said) {
    if (const auto found = known_.find(said); found != known_.end()) return found->second;
    const bool is_file = said.find('/') != std::string::npos || said.ends_with(".json");
    auto pattern = find_pattern(is_file ? (folder_ / said).string() : said);
    if (pattern) known_.emplace(said, *pattern);
    return pattern;
  }

 private:
  std::filesystem::path folder_;
  std::map<std::string, AttentionPattern> known_;
};

// Short enough for a legend, and close to what --baseline and --only take.
std::string display_name(const Declared& declared, const AttentionPattern& pattern,
                         std::optional<Window> window) {
  const bool given = !declared.name.empty();
  const std::string name =
      given ? declared.name : fmt::format("{}/{}", pattern.name, declared.implementation);
  // One name given for all windows of the sweep must not become the name of several lines.
  const bool names_window = window && !(given && declared.window);
  return names_window ? fmt::format("{}, w = {}", name, window->text()) : name;
}

Result<std::vector<std::optional<Window>>> windows_of(const JsonField& field,
                                                      const Declared& declared,
                                                      const AttentionPattern& pattern,
                                                      const std::vector<Window>& windows) {
  if (!pattern.has_window()) {
    if (declared.window) {
      return field.wrong(fmt::format("has the window {}, but pattern '{}' has none; leave it out",
                                     declared.window->text(), in_a_sentence(declared.pattern)));
    }
    return std::vector<std::optional<Window>>{std::nullopt};
  }
  if (declared.window) return std::vector{declared.window};
  if (windows.empty()) {
    return field.wrong(fmt::format(
        "needs a window, because pattern '{}' has one; add \"windows\": [4, 64] to the sweep",
        in_a_sentence(declared.pattern)));
  }
  return std::vector<std::optional<Window>>(windows.begin(), windows.end());
}

// The contenders so far, each with an id and a display name of its own.
class Lineup {
 public:
  Status add(const JsonField& field, Contender contender) {
    const std::string id = contender.id();
    if (!ids_.insert(id).second) {
      return field.wrong(fmt::format("is the contender '{}' a second time; give every one once",
                                     in_a_sentence(id)));
    }
    const auto [other, is_new] = id_of_name_.emplace(contender.name, id);
    if (!is_new) {
      return field.wrong(fmt::format("has the same display name '{}' as '{}'; give one a \"name\"",
                                     in_a_sentence(contender.name), in_a_sentence(other->second)));
    }
    contenders_.push_back(std::move(contender));
    return {};
  }
  [[nodiscard]] std::size_t size() const { return contenders_.size(); }
  [[nodiscard]] std::vector<Contender> take() { return std::move(contenders_); }

 private:
  std::vector<Contender> contenders_;
  std::set<std::string> ids_;
  std::map<std::string, std::string> id_of_name_;
};

}  // namespace

Result<std::vector<AttentionPattern>> read_own_patterns(const JsonField& root) {
  std::vector<AttentionPattern> own;
  const auto field = root.member("patterns");
  if (!field) return own;
  if (Status list = field->list(); !list) return tl::unexpected(list.error());
  for (const JsonField& part : field->elements()) {
    auto pattern = read_pattern(part);
    if (!pattern) return tl::unexpected(pattern.error());
    const auto same_name = [&](const AttentionPattern& other) {
      return other.name == pattern->name;
    };
    if (std::ranges::any_of(own, same_name)) {
      return part.wrong(
          fmt::format("is named '{}' like another one; give every pattern a name of "
                      "its own",
                      pattern->name));
    }
    if (std::ranges::any_of(built_in_patterns(), same_name)) {
      return part.wrong(
          fmt::format("is named '{}' like a pattern that ships; give it another "
                      "name",
                      pattern->name));
    }
    own.push_back(std::move(*pattern));
  }
  return own;
}

Result<std::vector<Contender>> read_contenders(const JsonField& field,
                                               const std::vector<Window>& windows,
                                               const std::filesystem::path& folder,
                                               const std::vector<AttentionPattern>& own) {
  constexpr std::size_t most = 1000;
  if (Status list = field.list(); !list) return tl::unexpected(list.error());
  auto parts = one_or_more(field);
  if (!parts) return tl::unexpected(parts.error());
  Patterns patterns(folder, own);
  Lineup lineup;
  for (const JsonField& part : *parts) {
    auto declared = read_declared(part);
    if (!declared) return tl::unexpected(declared.error());
    auto pattern = patterns.find(declared->pattern);
    if (!pattern) return placed(part, pattern.error());
    auto its_windows = windows_of(part, *declared, *pattern, windows);
    if (!its_windows) return tl::unexpected(its_windows.error());
    const std::string json = pattern_json(*pattern);
    for (const std::optional<Window>& window : *its_windows) {
      if (lineup.size() == most) {
        return part.wrong(fmt::format(
            "is one too many: a heat may have at most {} contenders, every window counted", most));
      }
      Status added = lineup.add(part, {.pattern = declared->pattern,
                                       .implementation = declared->implementation,
                                       .window = window,
                                       .name = display_name(*declared, *pattern, window),
                                       .pattern_json = json});
      if (!added) return tl::unexpected(added.error());
    }
  }
  return lineup.take();
}

}  // namespace attnscope
