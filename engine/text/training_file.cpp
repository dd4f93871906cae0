// SPDX-License-Identifier: Apache-2.0
#include "engine/text/training_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/json.h"
#include "base/sentences.h"
#include "engine/text/characters.h"

namespace attnscope {
namespace {

using nlohmann::json;

Result<double> number_in(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) {
    return fail("has '{}' instead of a teacher's number", in_a_sentence(text));
  }
  return number;
}

Result<double> margin_of(const std::vector<std::string_view>& columns) {
  const auto first = number_in(columns[3]);
  if (!first || columns.size() == 4) return first;
  const auto second = number_in(columns[4]);
  if (!second) return second;
  return *first - *second;
}

Result<TrainingLine> parse_columns(std::string_view text, const TrainingForm& form,
                                   const TextColumns& first) {
  const auto split = split_columns(text, {.is_literal = first.is_literal});
  if (!split) return tl::unexpected(split.error());
  const std::vector<std::string_view>& columns = *split;
  const std::size_t least = form.with_margin ? 4 : 3;
  if (columns.size() < least || (!form.many_negatives && columns.size() > 5)) {
    return fail("has {} columns; a line is {}, separated by tabs", columns.size(),
                form.many_negatives ? "QUERY, POSITIVE and one NEGATIVE or more"
                : form.with_margin  ? "QUERY, POSITIVE, NEGATIVE and MARGIN, or both scores instead"
                                    : "QUERY, POSITIVE, NEGATIVE");
  }
  TrainingLine line{.query = std::string(columns[0]), .documents = {}};
  const std::size_t documents = form.many_negatives ? columns.size() - 1 : 2;
  for (std::size_t i = 1; i <= documents; ++i) line.documents.emplace_back(columns[i]);
  if (form.with_margin) {
    const auto margin = margin_of(columns);
    if (!margin) return tl::unexpected(margin.error());
    line.margin = *margin;
  }
  return line;
}

/// A text, an id written as a number, or an object with title and text.
Result<std::string> document_in(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return value.dump();
  if (value.is_object()) return document_text_in(value);
  return fail("is not a text");
}

using field_names::Names;

/// The value of the only field among these that is present, and its name; null if none is.
Result<const json*> only_one_of(const json& object, Names names, std::string_view& name) {
  const json* value = nullptr;
  for (const std::string_view field : names) {
    const auto found = object.find(field);
    if (found == object.end()) continue;
    if (value != nullptr && *value != *found) {
      return fail("has '{}' and '{}', which differ; remove one of them", name, field);
    }
    value = &*found;
    name = field;
  }
  return value;
}

/// The documents in one of these fields: a document or a list of documents.
Result<std::vector<std::string>> documents_in(const json& object, Names names) {
  std::string_view name;
  const auto value = only_one_of(object, names, name);
  if (!value) return tl::unexpected(value.error());
  std::vector<std::string> documents;
  if (*value == nullptr) return documents;
  const auto take = [&](const json& document) -> Status {
    auto text = document_in(document);
    if (!text) return fail("has a '{}' that {}", name, text.error().message);
    documents.push_back(std::move(*text));
    return {};
  };
  if (!(*value)->is_array()) {
    if (Status taken = take(**value); !taken) return tl::unexpected(taken.error());
    return documents;
  }
  for (const json& document : **value) {
    if (Status taken = take(document); !taken) return tl::unexpected(taken.error());
  }
  return documents;
}

Status take_documents(const json& object, const TrainingForm& form, TrainingLine& line) {
  auto positive = documents_in(object, field_names::positives);
  if (!positive) return tl::unexpected(positive.error());
  if (positive->empty()) return fail("has no text 'positive'");
  if (positive->size() > 1) {
    return fail("has {} positives, but a line must have one; write a line for each",
                positive->size());
  }
  auto others = documents_in(object, field_names::negatives);
  if (!others) return tl::unexpected(others.error());
  if (others->empty()) return fail("has no text 'negative' and no list 'negatives'");
  line.documents = std::move(*positive);
  if (!form.many_negatives) others->resize(1);
  for (std::string& other : *others) line.documents.push_back(std::move(other));
  return {};
}

bool is_finite(const json& value) {
  return value.is_number() && std::isfinite(value.get<double>());
}

/// Nothing if the field is missing or null.
Result<std::optional<double>> stated_margin(const json& object) {
  const auto margin = object.find("margin");
  if (margin == object.end() || margin->is_null()) return std::nullopt;
  if (is_finite(*margin)) return margin->get<double>();
  // TSV with named columns gives the margin as a text.
  if (margin->is_string()) return number_in(margin->get_ref<const std::string&>());
  return fail("has a 'margin' that is not a number");
}

/// The difference of both scores; nothing if the field is missing or invalid.
std::optional<double> difference_of_scores(const json& object) {
  const auto scores = object.find("scores");
  if (scores == object.end() || !scores->is_array() || scores->size() != 2 ||
      !std::ranges::all_of(*scores, is_finite)) {
    return std::nullopt;
  }
  return scores->at(0).get<double>() - scores->at(1).get<double>();
}

Result<double> margin_in(const json& object) {
  const auto margin = stated_margin(object);
  if (!margin) return tl::unexpected(margin.error());
  const std::optional<double> difference = difference_of_scores(object);
  if (!*margin && !difference)
    return fail("has neither a number 'margin' nor 'scores' of the positive and the negative");
  constexpr double rounded = 0.01;  // margins in files are rounded to a few digits
  if (*margin && difference &&
      std::fabs(**margin - *difference) > rounded * std::max(1.0, std::fabs(*difference))) {
    return fail("has the 'margin' {:g} and 'scores' whose difference is {:g}; remove the wrong one",
                **margin, *difference);
  }
  return *margin ? **margin : *difference;
}

Result<TrainingLine> parse_object(const json& object, const TrainingForm& form) {
  TrainingLine line;
  Result<std::optional<std::string>> query = std::nullopt;
  for (const Names names : {Names(field_names::queries), Names(field_names::other_queries),
                            Names(field_names::query_ids)}) {
    if (query && !*query) query = text_in(object, names, /*or_number=*/true);
  }
  if (!query) return tl::unexpected(query.error());
  if (!*query) return fail("has no text 'query'");
  line.query = std::move(**query);
  if (Status taken = take_documents(object, form, line); !taken)
    return tl::unexpected(taken.error());
  if (!form.with_margin) return line;
  const auto margin = margin_in(object);
  if (!margin) return tl::unexpected(margin.error());
  line.margin = *margin;
  return line;
}

/// SplitMix64 (Steele et al., 2014): the standard library's distributions differ between
/// implementations.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  /// Uniformly distributed over 0 ... most.
  std::uint64_t up_to(std::uint64_t most) {
    const std::uint64_t sizes = most + 1;
    const std::uint64_t unfair = -sizes % sizes;  // remainder of 2^64
    std::uint64_t drawn = next();
    while (drawn < unfair) drawn = next();
    return drawn % sizes;
  }

 private:
  std::uint64_t state_;
};

}  // namespace

Result<TrainingLine> parse_training_line(std::string_view line, PairFormat format,
                                         const TrainingForm& form, const TextColumns& columns) {
  if (const auto byte = first_byte_that_is_no_utf8(line)) {
    return fail("is not UTF-8 from byte {} on; convert the file", *byte + 1);
  }
  if (line.empty()) return fail("is empty; each line must be a query and its documents");
  const auto of_object = [&]() -> Result<TrainingLine> {
    const Result<json> object = parse_text_object(line, format, columns);
    if (!object) return tl::unexpected(object.error());
    return parse_object(*object, form);
  };
  Result<TrainingLine> parsed = format == PairFormat::tsv && columns.names.empty()
                                    ? parse_columns(line, form, columns)
                                    : of_object();
  if (parsed && parsed->query.empty()) return fail("has an empty query");
  constexpr double largest_margin = 1e9;  // its square is far below float32's maximum
  if (parsed && std::fabs(parsed->margin) > largest_margin) {
    return fail("has a margin of {:g}; a teacher's is the difference of two scores, at most {:g}",
                parsed->margin, largest_margin);
  }
  return parsed;
}

Result<TrainingFile> TrainingFile::open(const std::filesystem::path& file, const TrainingForm& form,
                                        const std::function<bool(double)>& on_progress) {
  constexpr std::int64_t lines_at_once = 4096;
  std::error_code unknown;
  if (file == "-" ||
      (std::filesystem::exists(file, unknown) && !std::filesystem::is_regular_file(file, unknown) &&
       !std::filesystem::is_directory(file, unknown))) {
    return fail("{}: is read several times in random order; give a regular file",
                file == "-" ? "standard input" : in_a_sentence(file.string()));
  }
  auto texts = TextFile::open_to_seek(file, on_progress);
  if (!texts) return tl::unexpected(texts.error());
  const Status named = texts->check_columns([&](const json& object) -> Result<std::string> {
    const auto line = parse_object(object, form);
    if (!line) return tl::unexpected(line.error());
    return fmt::format("{}\n{}\n{}", line->query, fmt::join(line->documents, "\n"), line->margin);
  });
  if (!named) return tl::unexpected(named.error());
  TrainingFile opened(std::move(*texts), form);
  while (true) {
    const auto line = opened.file_.next();
    if (!line) return tl::unexpected(line.error());
    if (!*line) break;
    const auto parsed =
        parse_training_line((*line)->text, opened.file_.format(), form, opened.file_.columns());
    if (!parsed) return fail("{}: {}", opened.file_.place((*line)->number), parsed.error().message);
    opened.begins_.push_back((*line)->begin);
    if (on_progress && (*line)->number % lines_at_once == 0 &&
        !on_progress(opened.file_.progress().value_or(0))) {
      return fail("{}: was not read completely, because it was cancelled", opened.file_.name());
    }
  }
  if (opened.begins_.empty()) {
    return fail("{}: has no lines; each line must be a query and its documents",
                opened.file_.name());
  }
  if (opened.begins_.size() >= std::numeric_limits<std::uint32_t>::max())
    return fail("{}: has more than 2^32 lines; split it", opened.file_.name());
  return opened;
}

Result<TrainingLine> TrainingFile::line(std::int64_t index) {
  const auto changed = [&] {
    return fail("{}: was changed while it was read; restart", place(index + 1));
  };
  if (Status found = file_.seek(begins_[static_cast<std::size_t>(index)]); !found)
    return tl::unexpected(found.error());
  const auto text = file_.next();
  if (!text) return tl::unexpected(text.error());
  if (!*text) return changed();
  auto parsed = parse_training_line((*text)->text, file_.format(), form_, file_.columns());
  if (!parsed) return changed();
  parsed->number = index + 1;
  return parsed;
}

std::vector<std::uint32_t> drawn_order(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0U);
  Draw draw(Draw(seed).next() ^ static_cast<std::uint64_t>(epoch) * 0xd1342543de82ef95U);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draw.up_to(i - 1)]);
  return order;
}

}  // namespace attnscope
