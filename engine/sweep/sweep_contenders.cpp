// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/sweep_contenders.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "engine/heat/model_row.h"
#include "engine/pattern/pattern_json.h"
#include "engine/sweep/axis_fields.h"
#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

// One contender as the file says it, before the sweep's windows.
struct Declared {
  std::string pattern, implementation, name;
  std::string model = {};  // in operation model, its row with options
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

Status only_known_fields(const JsonField& field, bool of_models) {
  static constexpr std::array<std::string_view, 4> known{"pattern", "implementation", "window",
                                                         "name"};
  static constexpr std::array<std::string_view, 5> known_of_models{
      "model", "implementation", "window", "name", "cls_only_last_layer"};
  if (of_models) {
    if (const auto pattern = field.member("pattern")) {
      return pattern->wrong("must be \"model\" in operation model, as in \"model\": \"sparse\"");
    }
    return field.only(known_of_models);
  }
  for (const std::string_view key : {"model", "cls_only_last_layer"}) {
    if (const auto of_a_model = field.member(key))
      return of_a_model->wrong("is for operation model; add \"operation\": \"model\" to the sweep");
  }
  return field.only(known);
}

Result<Declared> from_object(const JsonField& field, bool of_models) {
  if (Status fields = only_known_fields(field, of_models); !fields)
    return tl::unexpected(fields.error());
  auto pattern = required_text(field, of_models ? "model" : "pattern");
  if (!pattern) return tl::unexpected(pattern.error());
  if (const auto shortcut = field.member("cls_only_last_layer")) {
    auto chosen = read_truth(*shortcut);
    if (!chosen) return tl::unexpected(chosen.error());
    if (*chosen) pattern->append(cls_only_option);
  }
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

/// What is declared as a pattern is a model's row; its pattern takes that place.
Status take_model_row(const JsonField& field, Declared& declared) {
  auto row = parse_model_row(declared.pattern);
  if (!row) {
    return field.wrong(
        fmt::format("is '{}', which {}", in_a_sentence(declared.pattern), row.error().message));
  }
  declared.model = std::exchange(declared.pattern, row->pattern);
  return {};
}

/// Words of a model where patterns are asked for.
Status no_model_row(const JsonField& field, const Declared& declared) {
  const bool is_row = std::ranges::any_of(family_descriptions(), [&](const auto* family) {
    const auto rows = family->rows();
    return std::ranges::find(rows, declared.pattern) != rows.end();
  });
  if (!is_row && !declared.pattern.ends_with(cls_only_option)) return {};
  return field.wrong(
      fmt::format("is '{}', which is a whole model; add \"operation\": \"model\" to the sweep",
                  in_a_sentence(declared.pattern)));
}

Result<Declared> read_declared(const JsonField& field, bool of_models) {
  const JsonValue::Kind kind = field.value().kind;
  if (kind != JsonValue::Kind::text && kind != JsonValue::Kind::object) {
    return field.wrong(
        of_models ? "must be a string \"MODEL/IMPLEMENTATION\" or an object with model and "
                    "implementation"
                  : "must be a string \"PATTERN/IMPLEMENTATION\" or an object with pattern "
                    "and implementation");
  }
  auto declared = kind == JsonValue::Kind::text ? from_text(field) : from_object(field, of_models);
  if (!declared) return declared;
  const Status fits = of_models ? take_model_row(field, *declared) : no_model_row(field, *declared);
  if (!fits) return tl::unexpected(fits.error());
  return declared;
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
  std::string row = declared.model;
  // A file is called by its pattern's name.
  if (row.starts_with(declared.pattern) && declared.pattern != pattern.name)
    row.replace(0, declared.pattern.size(), pattern.name);
  const std::string name =
      given ? declared.name
            : fmt::format("{}/{}", row.empty() ? pattern.name : row, declared.implementation);
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
                                               const std::vector<AttentionPattern>& own,
                                               bool of_models) {
  constexpr std::size_t most = 1000;
  if (Status list = field.list(); !list) return tl::unexpected(list.error());
  auto parts = one_or_more(field);
  if (!parts) return tl::unexpected(parts.error());
  Patterns patterns(folder, own);
  Lineup lineup;
  for (const JsonField& part : *parts) {
    auto declared = read_declared(part, of_models);
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
                                       .pattern_json = json,
                                       .model = declared->model});
      if (!added) return tl::unexpected(added.error());
    }
  }
  return lineup.take();
}

}  // namespace attnscope
