// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/sweep_contenders.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sentences.h"
#include "engine/heat/model_row.h"
#include "engine/pattern/attention_pattern.h"

namespace attnscope {
namespace {

constexpr std::size_t most_contenders = 1000;  // per heat, and therefore also the limit of windows

// A contender as declared in the file, before the sweep's windows are applied.
struct Declared {
  std::string pattern, implementation, name;
  std::string model = {};  // in operation model, its row with options
  std::optional<Window> window;
  std::optional<JsonField> run = {};  // a TREC run made with it
};

bool looks_like_window(std::string_view text) {
  return text == "inf" || (!text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9')));
}

// Parsed from the right, because a pattern may be a file path: "my/pattern.json/segment/4".
Declared from_text(const JsonField& field, bool of_models) {
  const std::string text = field.text();
  std::string_view rest = text;
  const auto take_last = [&rest] {
    const std::size_t slash = rest.rfind('/');
    const std::string_view part = slash == std::string_view::npos ? rest : rest.substr(slash + 1);
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(0, slash);
    return part;
  };
  Declared declared;
  std::string_view last = take_last();
  if (looks_like_window(last) && !rest.empty()) {
    declared.window = field.take(parse_window(last));
    last = take_last();
  }
  declared.implementation = last;
  declared.pattern = rest;
  if (declared.pattern.empty() || declared.implementation.empty()) {
    const std::string_view row = of_models ? "MODEL" : "PATTERN";
    field.wrong(
        fmt::format("is '{}', but a contender is \"{}/IMPLEMENTATION\" or "
                    "\"{}/IMPLEMENTATION/WINDOW\", as in \"sparse/segment\"",
                    in_a_sentence(text), row, row));
  }
  return declared;
}

std::string required_text(const JsonField& object, std::string_view key) {
  const JsonField field = object[key];
  std::string text = field.text();
  if (text.empty()) field.wrong("must not be empty");
  return text;
}

void only_known_fields(const JsonField& field, bool of_models) {
  const std::vector<ModelRowOption> options = model_row_options();
  std::vector<std::string_view> known{"implementation", "window", "name", "run"};
  std::vector<std::string_view> own{"model"};
  for (const ModelRowOption& option : options) own.push_back(option.field);
  if (of_models) {
    if (const auto pattern = field.member("pattern")) {
      pattern->wrong("must be \"model\" in operation model, as in \"model\": \"sparse\"");
    }
    known.insert(known.end(), own.begin(), own.end());
    return field.only(known);
  }
  for (const std::string_view key : own) {
    if (const auto of_a_model = field.member(key))
      of_a_model->wrong("is for operation model; add \"operation\": \"model\" to the sweep");
  }
  known.emplace_back("pattern");
  field.only(known);
}

Declared from_object(const JsonField& field, bool of_models) {
  only_known_fields(field, of_models);
  Declared declared{.pattern = required_text(field, of_models ? "model" : "pattern"),
                    .implementation = required_text(field, "implementation"),
                    .name = field.member("name") ? required_text(field, "name") : std::string(),
                    .window = {}};
  for (const ModelRowOption& option : model_row_options())
    if (field.truth_or(option.field, false)) declared.pattern.append(option.ending);
  if (const auto window = field.member("window")) declared.window = window_in(*window);
  declared.run = field.member("run");
  return declared;
}

/// Moves the declared pattern to the model's row and replaces it with the row's pattern.
void take_model_row(const JsonField& field, Declared& declared) {
  auto row = parse_model_row(declared.pattern);
  if (!row) {
    field.wrong(
        fmt::format("is '{}', which {}", in_a_sentence(declared.pattern), row.error().message));
  }
  declared.model = std::exchange(declared.pattern, row->pattern);
}

/// Whether the pattern is a name and not a file.
bool is_name(std::string_view pattern) {
  return pattern.find('/') == std::string_view::npos && !pattern.ends_with(".json");
}

/// Rows of models are in lower case, unlike the names in the paper.
std::string suggested_models(std::string name) {
  std::vector<std::string_view> known;
  for (const FamilyDescription* family : family_descriptions())
    for (const FamilyChoice& row : family->rows()) known.push_back(row.name);
  for (const AttentionPattern& pattern : built_in_patterns()) known.emplace_back(pattern.name);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (std::ranges::find(known, name) != known.end())
    return fmt::format("did you mean '{}'? known: {}", name, fmt::join(known, ", "));
  return suggest(in_a_sentence(name), known);
}

/// Rejects a model's row where a pattern is required.
void refuse_model_row(const JsonField& field, const Declared& declared) {
  if (!is_model_row(declared.pattern)) return;
  field.wrong(
      fmt::format("is '{}', which is a whole model; add \"operation\": \"model\" to the sweep",
                  in_a_sentence(declared.pattern)));
}

Declared read_declared(const JsonField& field, bool of_models) {
  if (!field.is_text() && !field.is_object()) {
    field.wrong(of_models ? "must be a string \"MODEL/IMPLEMENTATION\" or an object with model and "
                            "implementation"
                          : "must be a string \"PATTERN/IMPLEMENTATION\" or an object with pattern "
                            "and implementation");
  }
  Declared declared = field.is_text() ? from_text(field, of_models) : from_object(field, of_models);
  if (of_models) {
    take_model_row(field, declared);
  } else {
    refuse_model_row(field, declared);
  }
  return declared;
}

// Reads every pattern once, even if several contenders share it.
class Patterns {
 public:
  Patterns(std::filesystem::path folder, const std::vector<AttentionPattern>& own)
      : folder_(std::move(folder)) {
    for (const AttentionPattern& pattern : own) known_.emplace(pattern.name, pattern);
  }

  Result<AttentionPattern> find(const std::string& name) {
    if (const auto found = known_.find(name); found != known_.end()) return found->second;
    auto pattern = find_pattern(is_name(name) ? name : (folder_ / name).string());
    if (pattern) known_.emplace(name, *pattern);
    return pattern;
  }

 private:
  std::filesystem::path folder_;
  std::map<std::string, AttentionPattern> known_;
};

// Short enough for a legend, and similar to the arguments of --baseline and --only.
std::string display_name(const Declared& declared, const AttentionPattern& pattern,
                         std::optional<Window> window) {
  const bool given = !declared.name.empty();
  std::string row = declared.model;
  // For a file, the pattern's name is used.
  if (row.starts_with(declared.pattern) && declared.pattern != pattern.name)
    row.replace(0, declared.pattern.size(), pattern.name);
  const std::string name =
      given ? declared.name
            : fmt::format("{}/{}", row.empty() ? pattern.name : row, declared.implementation);
  // A single name for all windows of the sweep must not become the name of several lines.
  const bool names_window = window && !(given && declared.window);
  return names_window ? fmt::format("{}, w = {}", name, window->text()) : name;
}

std::vector<std::optional<Window>> windows_of(const JsonField& field, const Declared& declared,
                                              const AttentionPattern& pattern,
                                              const std::vector<Window>& windows) {
  if (!pattern.has_window()) {
    if (declared.window) {
      field.wrong(fmt::format("has the window {}, but pattern '{}' has none; remove it",
                              declared.window->text(), in_a_sentence(declared.pattern)));
    }
    return {std::nullopt};
  }
  if (declared.window) return {declared.window};
  if (windows.empty()) {
    field.wrong(fmt::format(
        "needs a window, because pattern '{}' has one; add \"windows\": [4, 64] to the sweep",
        in_a_sentence(declared.pattern)));
  }
  return {windows.begin(), windows.end()};
}

// The contenders so far, with distinct ids and display names.
class Contenders {
 public:
  void add(const JsonField& field, Contender contender) {
    if (contenders_.size() == most_contenders) {
      field.wrong(fmt::format(
          "is one too many: a heat may have at most {} contenders, counting every window",
          most_contenders));
    }
    const std::string id = contender.id();
    if (!ids_.insert(id).second) {
      field.wrong(
          fmt::format("is the contender '{}' again; give every contender once", in_a_sentence(id)));
    }
    const auto [other, is_new] = id_of_name_.emplace(contender.name, id);
    if (!is_new) {
      field.wrong(fmt::format("has the same display name '{}' as '{}'; give one a \"name\"",
                              in_a_sentence(contender.name), in_a_sentence(other->second)));
    }
    contenders_.push_back(std::move(contender));
  }
  [[nodiscard]] std::vector<Contender> take() { return std::move(contenders_); }

 private:
  std::vector<Contender> contenders_;
  std::set<std::string> ids_;
  std::map<std::string, std::string> id_of_name_;
};

std::filesystem::path file_named(const JsonField& field, const std::string& name,
                                 const std::filesystem::path& folder) {
  if (name.empty()) field.wrong("must not be empty");
  std::filesystem::path file = (folder / name).lexically_normal();
  std::error_code failed;
  if (!std::filesystem::exists(file, failed)) {
    field.wrong(
        fmt::format("is '{}', which does not exist; relative names are in the sweep's folder",
                    in_a_sentence(file.string(), 400)));
  }
  return file;
}

constexpr std::string_view window_place = "{window}";

/// TREC runs by file, each with its contenders.
class Runs {
 public:
  explicit Runs(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// `windows`: number of contenders that this declaration expands to.
  void add(const Declared& declared, const Contender& contender, std::size_t windows) {
    if (!declared.run) {
      without_.push_back(contender);
      return;
    }
    const JsonField& field = *declared.run;
    std::string name = field.text();
    const std::size_t at = name.find(window_place);
    if (at == std::string::npos && windows > 1) {
      field.wrong(
          fmt::format("is one run for {} windows; write {} in place of the window in its name, or "
                      "give the contender a \"window\"",
                      windows, window_place));
    }
    if (at != std::string::npos) {
      if (!contender.window)
        field.wrong(fmt::format("has {}, but the contender has no window", window_place));
      name.replace(at, window_place.size(), contender.window->text());
    }
    std::filesystem::path file = file_named(field, name, folder_);
    auto run = std::ranges::find(runs_, file, &effectiveness::RunsToEvaluate::Run::file);
    if (run == runs_.end()) run = runs_.insert(run, {std::move(file), {}});
    run->contenders.push_back(contender.id());
    with_.push_back({row_of(contender), static_cast<std::size_t>(run - runs_.begin())});
  }

  /// Includes contenders without a run of their own.
  [[nodiscard]] std::vector<effectiveness::RunsToEvaluate::Run> take() {
    for (const Contender& contender : without_) {
      const auto same = std::ranges::find(with_, row_of(contender), &WithRun::row);
      if (same != with_.end()) runs_[same->run].contenders.push_back(contender.id());
    }
    return std::move(runs_);
  }

 private:
  struct WithRun {
    std::string row;
    std::size_t run;
  };
  /// The properties that the implementation does not change.
  static std::string row_of(const Contender& contender) {
    return fmt::format("{}/{}", contender.model.empty() ? contender.pattern : contender.model,
                       contender.window ? contender.window->text() : "");
  }

  std::filesystem::path folder_;
  std::vector<effectiveness::RunsToEvaluate::Run> runs_;
  std::vector<WithRun> with_;
  std::vector<Contender> without_;
};

std::vector<AttentionPattern> read_own_patterns(const JsonField& root) {
  std::vector<AttentionPattern> own;
  const auto field = root.member("patterns");
  if (!field) return own;
  for (const JsonField& part : field->elements()) {
    AttentionPattern pattern = read_pattern(part);
    const auto same_name = [&](const AttentionPattern& other) {
      return other.name == pattern.name;
    };
    if (std::ranges::any_of(own, same_name)) {
      part.wrong(fmt::format(
          "has the name '{}' of another pattern; give every pattern its own name", pattern.name));
    }
    if (std::ranges::any_of(built_in_patterns(), same_name)) {
      part.wrong(fmt::format("has the name '{}' of a built-in pattern; give it another name",
                             pattern.name));
    }
    own.push_back(std::move(pattern));
  }
  return own;
}

/// Numbers, ranges and "inf".
std::vector<Window> read_windows(const JsonField& root) {
  std::vector<Window> windows;
  const auto field = root.member("windows");
  if (!field) return windows;
  std::set<std::string> seen;
  for (const JsonField& part : field->one_or_more()) {
    std::vector<Window> found;
    if (part.is_text() && part.text() == "inf") {
      found.push_back(Window::infinite());
    } else {
      for (const std::int64_t tokens : read_numbers(part, 0, widest_window)) {
        found.push_back(Window::of(tokens));
      }
    }
    for (const Window& window : found) {
      if (!seen.insert(window.text()).second) {
        part.wrong(fmt::format("gives {} twice; give every value once", window.text()));
      }
      if (windows.size() == most_contenders) {
        part.wrong(
            fmt::format("has more than {} windows, and a heat may have at most {} contenders; use "
                        "a larger step",
                        most_contenders, most_contenders));
      }
      windows.push_back(window);
    }
  }
  return windows;
}

}  // namespace

std::filesystem::path read_file_name(const JsonField& field, const std::filesystem::path& folder) {
  return file_named(field, field.text(), folder);
}

SweepContenders read_contenders(const JsonField& root, const std::filesystem::path& folder,
                                bool of_models) {
  const std::vector<Window> windows = read_windows(root);
  const auto field = root.member("contenders");
  if (!field) {
    root.wrong("needs the field 'contenders', as in \"contenders\": [\"full/dense\"]");
  }
  if (field->elements().empty()) field->wrong("is an empty list; give at least one contender");
  Patterns patterns(folder, read_own_patterns(root));
  Contenders contenders;
  Runs runs(folder);
  for (const JsonField& part : field->elements()) {
    const Declared declared = read_declared(part, of_models);
    auto found = patterns.find(declared.pattern);
    if (!found && of_models && is_name(declared.pattern)) {
      part.wrong(fmt::format("is the unknown model '{}'; {}", in_a_sentence(declared.pattern),
                             suggested_models(declared.pattern)));
    }
    const AttentionPattern pattern = part.take(std::move(found));
    const std::string json = pattern_json(pattern);
    const auto own = windows_of(part, declared, pattern, windows);
    for (const auto& window : own) {
      const Contender contender{.pattern = declared.pattern,
                                .implementation = declared.implementation,
                                .window = window,
                                .name = display_name(declared, pattern, window),
                                .pattern_json = json,
                                .model = declared.model};
      runs.add(declared, contender, own.size());
      contenders.add(part, contender);
    }
  }
  return {.contenders = contenders.take(), .runs = runs.take()};
}

}  // namespace attnscope
