// SPDX-License-Identifier: Apache-2.0
#include "engine/text/training_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>
#include <system_error>
#include <utility>

#include "engine/text/characters.h"
#include "kernels/base/json.h"
#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

using nlohmann::json;

Result<double> number_in(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) {
    return fail("has '{}' where a teacher's number stands", in_a_sentence(text));
  }
  return number;
}

std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> columns;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    columns.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return columns;
}

Result<double> margin_of(const std::vector<std::string_view>& columns) {
  const auto first = number_in(columns[3]);
  if (!first || columns.size() == 4) return first;
  const auto second = number_in(columns[4]);
  if (!second) return second;
  return *first - *second;
}

Result<TrainingLine> parse_columns(std::string_view text, const TrainingForm& form) {
  const std::vector<std::string_view> columns = columns_of(text);
  const std::size_t least = form.with_margin ? 4 : 3;
  if (columns.size() < least || (!form.many_negatives && columns.size() > 5)) {
    return fail("has {} columns; a line is {} with tabs between", columns.size(),
                form.many_negatives ? "QUERY, POSITIVE and one NEGATIVE or more"
                : form.with_margin
                    ? "QUERY, POSITIVE, NEGATIVE and MARGIN, or both scores in its place"
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

/// A text, or an id that is written as a number.
std::optional<std::string> text_of(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::nullopt;
  if (found->is_number_integer()) return found->dump();
  if (!found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

Status take_negatives(const json& object, const TrainingForm& form, TrainingLine& line) {
  if (auto one = text_of(object, "negative")) {
    line.documents.push_back(std::move(*one));
    return {};
  }
  const auto list = object.find("negatives");
  if (list == object.end() || !list->is_array() || list->empty())
    return fail("has no text 'negative' and no list 'negatives'");
  for (const json& one : *list) {
    if (!one.is_string() && !one.is_number_integer()) return fail("has a negative that is no text");
    line.documents.push_back(one.is_string() ? one.get<std::string>() : one.dump());
    if (!form.many_negatives) break;
  }
  return {};
}

Result<double> margin_in(const json& object) {
  const auto finite = [](const json& value) {
    return value.is_number() && std::isfinite(value.get<double>());
  };
  if (const auto margin = object.find("margin"); margin != object.end() && finite(*margin))
    return margin->get<double>();
  const auto scores = object.find("scores");
  if (scores != object.end() && scores->is_array() && scores->size() == 2 &&
      std::ranges::all_of(*scores, finite)) {
    return scores->at(0).get<double>() - scores->at(1).get<double>();
  }
  return fail("has neither a number 'margin' nor 'scores' of the positive and the negative");
}

Result<TrainingLine> parse_object(std::string_view text, const TrainingForm& form) {
  const json object = parse_json(text);
  if (!object.is_object()) return fail("is no JSON object");
  TrainingLine line;
  auto query = text_of(object, "query");
  if (!query) return fail("has no text 'query'");
  line.query = std::move(*query);
  auto positive = text_of(object, "positive");
  if (!positive) return fail("has no text 'positive'");
  line.documents.push_back(std::move(*positive));
  if (Status taken = take_negatives(object, form, line); !taken)
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
  /// 0 ... most, all alike.
  std::uint64_t up_to(std::uint64_t most) {
    const std::uint64_t sizes = most + 1;
    const std::uint64_t unfair = -sizes % sizes;  // of 2^64, what is left over
    std::uint64_t drawn = next();
    while (drawn < unfair) drawn = next();
    return drawn % sizes;
  }

 private:
  std::uint64_t state_;
};

}  // namespace

Result<TrainingLine> parse_training_line(std::string_view line, PairFormat format,
                                         const TrainingForm& form) {
  if (const auto byte = first_byte_that_is_no_utf8(line)) {
    return fail("is no UTF-8 from its byte {} on; convert the file", *byte + 1);
  }
  if (line.empty()) return fail("is empty; every line is a query and its documents");
  Result<TrainingLine> parsed =
      format == PairFormat::tsv ? parse_columns(line, form) : parse_object(line, form);
  if (parsed && parsed->query.empty()) return fail("has an empty query");
  constexpr double largest_margin = 1e9;  // its square is far from float32's end
  if (parsed && std::fabs(parsed->margin) > largest_margin) {
    return fail("has a margin of {:g}; a teacher's is the difference of two scores, at most {:g}",
                parsed->margin, largest_margin);
  }
  return parsed;
}

Result<TrainingFile> TrainingFile::open(const std::filesystem::path& file, const TrainingForm& form,
                                        const std::function<bool(double)>& on_progress) {
  constexpr std::int64_t lines_at_once = 4096;
  const auto format = pair_format_by_name(file);
  if (!format) return tl::unexpected(format.error());
  auto lines = LineFile::open_to_seek(file, on_progress);
  if (!lines) return tl::unexpected(lines.error());
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown)) {
    return fail("{}: is read more than once and in another order; give a regular file",
                lines->name());
  }
  TrainingFile opened(std::move(*lines), *format, form);
  while (true) {
    const auto line = opened.file_.next();
    if (!line) return tl::unexpected(line.error());
    if (!*line) break;
    const auto parsed = parse_training_line((*line)->text, *format, form);
    if (!parsed) return fail("{}: {}", opened.place((*line)->number), parsed.error().message);
    opened.begins_.push_back((*line)->begin);
    if (on_progress && (*line)->number % lines_at_once == 0 &&
        !on_progress(opened.file_.progress().value_or(0))) {
      return fail("{}: was not read to its end", opened.file_.name());
    }
  }
  if (opened.begins_.empty()) {
    return fail("{}: has no line, and each is a query and its documents", opened.file_.name());
  }
  if (opened.begins_.size() >= std::numeric_limits<std::uint32_t>::max())
    return fail("{}: has more than 2^32 lines; split it", opened.file_.name());
  return opened;
}

Result<TrainingLine> TrainingFile::line(std::int64_t index) {
  const auto changed = [&] {
    return fail("{}: was changed while it was read; begin again", place(index + 1));
  };
  if (Status found = file_.seek(begins_[static_cast<std::size_t>(index)]); !found)
    return tl::unexpected(found.error());
  const auto text = file_.next();
  if (!text) return tl::unexpected(text.error());
  if (!*text) return changed();
  auto parsed = parse_training_line((*text)->text, format_, form_);
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
