// SPDX-License-Identifier: Apache-2.0
#include "engine/effectiveness/trec_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/gzip.h"
#include "base/json.h"
#include "base/line_file.h"
#include "base/open_file.h"
#include "base/sentences.h"

namespace attnscope::effectiveness {

namespace {

constexpr std::string_view blanks = " \t\v\f\r";

/// The layout of a file's lines.
struct Layout {
  std::size_t columns;
  std::string_view form;
  bool is_by_tabs = false;  // as in BEIR: ids may contain blanks
};

/// A field without surrounding blanks.
std::string_view trimmed(std::string_view field) {
  const std::size_t begin = std::min(field.find_first_not_of(blanks), field.size());
  return field.substr(begin, field.find_last_not_of(blanks) + 1 - begin);
}

/// Splits a line at blanks or at tabs; at most one field more than the columns is kept.
void split(std::string_view line, const Layout& layout, std::vector<std::string_view>& fields) {
  const std::size_t most = layout.columns;
  fields.clear();
  if (layout.is_by_tabs && !trimmed(line).empty()) {
    for (std::size_t begin = 0; begin <= line.size() && fields.size() <= most;) {
      const std::size_t end = std::min(line.find('\t', begin), line.size());
      fields.push_back(trimmed(line.substr(begin, end - begin)));
      begin = end + 1;
    }
    return;
  }
  std::size_t begin = line.find_first_not_of(blanks);
  while (begin != std::string_view::npos && fields.size() <= most) {
    const std::size_t end = std::min(line.find_first_of(blanks, begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(blanks, end);
  }
}

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Number number{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Lines with the same problem: a description of the first one, and their number.
class Lines {
 public:
  /// `words` creates the sentence for the first line.
  template <typename Words>
  void add(Words&& words) {
    if (count_++ == 0) first_ = words();
  }
  [[nodiscard]] bool any() const { return count_ > 0; }
  [[nodiscard]] std::string in_words() const {
    return count_ > 1 ? fmt::format("{} ({} such lines in all)", first_, count_) : first_;
  }

 private:
  std::size_t count_ = 0;
  std::string first_;
};

struct LineKinds {
  Lines wrong, repeated, replaced, unsorted, scattered, endless;

  [[nodiscard]] Status outcome() const {
    if (wrong.any() && repeated.any()) {
      return fail("{}; {}", wrong.in_words(), repeated.in_words());
    }
    if (wrong.any()) return fail("{}", wrong.in_words());
    if (repeated.any()) return fail("{}", repeated.in_words());
    return {};
  }
  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    for (const Lines* kind : {&replaced, &unsorted, &scattered, &endless}) {
      if (kind->any()) notes.push_back(kind->in_words());
    }
    return notes;
  }
};

/// Passes every non-empty line to `take(line, fields)`, which returns the problem with it.
/// Comments, "# ...", at the beginning are skipped; after them '#' can begin an id like any other
/// character. `read_head(text, fields, layout)` returns whether the first line names the columns,
/// and may change the layout.
template <typename Take, typename ReadHead>
Status read_lines(LineFile& file, Layout layout, LineKinds& kinds, Take&& take,
                  ReadHead&& read_head) {
  std::vector<std::string_view> fields;
  bool is_first = true, is_empty = true;
  while (true) {
    const auto next = file.next();
    if (!next) return tl::unexpected(next.error());
    if (!*next) break;
    const LineFile::Line& line = **next;
    split(line.text, layout, fields);
    if (fields.empty() || (is_first && fields.front() == "#")) continue;
    if (std::exchange(is_first, false) && read_head(line.text, fields, layout)) continue;
    is_empty = false;
    const auto place = [&] { return file.place(line.number); };
    const bool is_whole = fields.size() == layout.columns;
    if (!line.has_end) {
      const std::string_view doubt =
          is_whole ? "has no line end; if the file is truncated, lines are missing after it"
                   : "is incomplete: the file is truncated; copy it again";
      (is_whole ? kinds.endless : kinds.wrong).add([&] {
        return fmt::format("{} {}", place(), doubt);
      });
      if (!is_whole) continue;
    }
    if (!is_whole) {
      kinds.wrong.add([&] {
        return fmt::format("{} has {}{} columns; {}", place(),
                           fields.size() > layout.columns ? "over " : "",
                           std::min(fields.size(), layout.columns), layout.form);
      });
      continue;
    }
    if (std::string problem = take(line, fields); !problem.empty()) {
      kinds.wrong.add([&] { return fmt::format("{} {}", place(), problem); });
    }
  }
  if (is_empty) return fail("{}: has no lines; {}", file.name(), layout.form);
  return kinds.outcome();
}

/// Parses a score; returns the problem with it, or "".
std::string score_of(std::string_view text, float& score) {
  const auto number = number_of<double>(text);
  if (!number) return fmt::format("has a score that is not a number ('{}')", in_a_sentence(text));
  if (std::isnan(*number)) return "has NaN as its score, which cannot be ranked";
  if (std::fabs(*number) > std::numeric_limits<float>::max()) {
    return fmt::format("has a score outside the range of float32 ({})", in_a_sentence(text));
  }
  score = static_cast<float>(*number);
  return {};
}

/// For files whose first line is data.
bool has_no_head(std::string_view /*text*/, const std::vector<std::string_view>& /*fields*/,
                 Layout& /*layout*/) {
  return false;
}

constexpr std::size_t trec_columns = 4, beir_columns = 3;

/// "query-id corpus-id score": whether a line has the columns' names rather than a judgement.
bool names_columns(const std::vector<std::string_view>& fields) {
  if (fields.size() != trec_columns && fields.size() != beir_columns) return false;
  std::string first;
  for (const char c : fields.front()) {
    if (c != '-' && c != '_' && c != '"')
      first += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  constexpr std::array<std::string_view, 5> names{"queryid", "qid", "query", "topicid", "topic"};
  return std::ranges::find(names, first) != names.end() &&
         fields.back().find_first_of("0123456789") == std::string_view::npos;
}

/// Unquotes a CSV field: "a ""b""" is a "b".
std::string unquoted(std::string_view field) {
  if (field.size() < 2 || field.front() != '"' || field.back() != '"') return std::string(field);
  std::string text;
  for (std::size_t i = 1; i + 1 < field.size(); ++i) {
    text += field[i];
    if (field[i] == '"' && field[i + 1] == '"' && i + 2 < field.size()) ++i;
  }
  return text;
}

/// Reports duplicate documents, and sorts the documents by rank.
void rank(const std::string& query, std::vector<RankedDocument>& documents, const LineFile& file,
          LineKinds& kinds) {
  std::ranges::sort(documents, [](const RankedDocument& a, const RankedDocument& b) {
    return a.id != b.id ? a.id < b.id : a.line < b.line;
  });
  for (std::size_t i = 1; i < documents.size(); ++i) {
    if (documents[i].id != documents[i - 1].id) continue;
    kinds.repeated.add([&] {
      return fmt::format("{}: document '{}' of query '{}' is already in line {}",
                         file.place(documents[i].line), in_a_sentence(documents[i].id),
                         in_a_sentence(query), documents[i - 1].line);
    });
  }
  std::ranges::sort(documents, ranks_before);
}

std::vector<std::string_view> fields_of(std::string_view line) {
  constexpr std::string_view between = " \t\v\f\r";
  std::vector<std::string_view> fields;
  for (std::size_t begin = line.find_first_not_of(between); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(between, begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(between, end);
  }
  return fields;
}

/// QID DOCID and a rank or a score.
Result<TrecRun> read_three_columns(LineFile& lines, const std::filesystem::path& file,
                                   ThirdColumn third) {
  TrecRun run{.file = file, .tag = without_gzip_ending(file).stem().string(), .queries = {}};
  LineKinds kinds;
  bool counts_up = true;
  while (true) {
    const auto line = lines.next();
    if (!line) return tl::unexpected(line.error());
    if (!*line) break;
    const std::string place = lines.place((*line)->number);
    const std::vector<std::string_view> fields = fields_of((*line)->text);
    if (fields.empty()) continue;
    if (fields.size() != 3) {
      return fail("{} has {} columns, and the first line has 3: QID DOCID and a rank or a score",
                  place, fields.size());
    }
    RankedDocument document{.id = std::string(fields[1]), .line = (*line)->number};
    if (std::string wrong = score_of(fields[2], document.score); !wrong.empty())
      return fail("{} {}", place, wrong);
    std::vector<RankedDocument>& documents = run.queries[std::string(fields[0])];
    const auto rank = number_of<std::int64_t>(fields[2]);
    counts_up = counts_up && rank == static_cast<std::int64_t>(documents.size()) + 1;
    if ((!rank || *rank < 0) && third == ThirdColumn::rank) {
      return fail("{} has '{}' as its rank, which is not an integer", place,
                  in_a_sentence(fields[2]));
    }
    documents.push_back(std::move(document));
    if (!(*line)->has_end) {
      kinds.endless.add([&] {
        return fmt::format(
            "{} has no line end; if the file is truncated, lines are missing after it", place);
      });
    }
  }
  if (third == ThirdColumn::unknown && !counts_up) {
    return fail(
        "{}: has three columns, and the third may be a rank or a score; state which with "
        "--run-columns rank or --run-columns score, or write QID Q0 DOCID RANK SCORE TAG",
        lines.name());
  }
  for (auto& [id, documents] : run.queries) {
    if (third != ThirdColumn::score) {
      for (RankedDocument& document : documents) document.score = -document.score;
    }
    rank(id, documents, lines, kinds);
  }
  if (const Status outcome = kinds.outcome(); !outcome) return tl::unexpected(outcome.error());
  run.notes = kinds.notes();
  return run;
}

}  // namespace

bool ranks_before(const RankedDocument& a, const RankedDocument& b) {
  return a.score != b.score ? a.score > b.score : a.id > b.id;
}

Result<TrecRun> TrecRun::read(const std::filesystem::path& file, ThirdColumn third) {
  Result<LineFile> lines = LineFile::open(file);
  if (!lines) return tl::unexpected(lines.error());
  const Result<std::string_view> first = lines->peek();
  if (!first) return tl::unexpected(first.error());
  if (fields_of(*first).size() == 3) return read_three_columns(*lines, file, third);
  TrecRun run{.file = file, .queries = {}};
  LineKinds kinds;
  auto query = run.queries.end();
  enum Field : std::uint8_t { qid, q0, docid, rank_field, score_field, tag_field, columns };
  const Status read = read_lines(
      *lines, {.columns = columns, .form = "a run is QID Q0 DOCID RANK SCORE TAG"}, kinds,
      [&](const LineFile::Line& line, const std::vector<std::string_view>& fields) -> std::string {
        RankedDocument document{.id = std::string(fields[docid]), .line = line.number};
        if (std::string wrong = score_of(fields[score_field], document.score); !wrong.empty())
          return wrong;
        if (query == run.queries.end() || query->first != fields[qid]) {
          const auto [found, is_new] = run.queries.try_emplace(std::string(fields[qid]));
          query = found;
          if (!is_new) {
            kinds.scattered.add([&] {
              return fmt::format(
                  "{}: the lines of query '{}' are interrupted by other queries; they are combined",
                  lines->place(line.number), in_a_sentence(fields[qid]));
            });
          }
        } else if (document.score > query->second.back().score) {
          kinds.unsorted.add([&] {
            return fmt::format(
                "{}: has a higher score than the line before; documents are ranked by score, and "
                "the RANK column is ignored",
                lines->place(line.number));
          });
        }
        run.tag = fields[tag_field];
        query->second.push_back(std::move(document));
        return {};
      },
      has_no_head);
  for (auto& [id, documents] : run.queries) rank(id, documents, *lines, kinds);
  if (!read && !kinds.wrong.any()) return tl::unexpected(read.error());
  if (const Status outcome = kinds.outcome(); !outcome) return tl::unexpected(outcome.error());
  run.notes = kinds.notes();
  return run;
}

Result<Qrels> Qrels::read(const std::filesystem::path& file) {
  Result<LineFile> lines = LineFile::open(file);
  if (!lines) return tl::unexpected(lines.error());
  Qrels qrels{.file = file, .queries = {}};
  LineKinds kinds;
  bool is_beir = false;
  const auto read_head = [&](std::string_view text, std::vector<std::string_view>& fields,
                             Layout& layout) {
    if (!names_columns(fields)) return false;
    is_beir = fields.size() == beir_columns;
    if (is_beir) {
      layout = {.columns = beir_columns,
                .form = "below their header these qrels are QID DOCID RELEVANCE",
                .is_by_tabs = text.find('\t') != std::string_view::npos};
    }
    return true;
  };
  const Status read = read_lines(
      *lines,
      {.columns = trec_columns,
       .form = "qrels are QID 0 DOCID RELEVANCE, or QID DOCID RELEVANCE below a line query-id "
               "corpus-id score"},
      kinds,
      [&](const LineFile::Line& line, const std::vector<std::string_view>& fields) -> std::string {
        const std::string_view grade = fields.back();
        const auto level = number_of<std::int64_t>(grade);
        if (!level || *level == std::numeric_limits<std::int64_t>::min()) {
          return fmt::format("has '{}' as its relevance, which is not a 64-bit integer",
                             in_a_sentence(grade));
        }
        if (fields[0].empty() || fields[fields.size() - 2].empty()) return "has an empty id";
        const std::string query = is_beir ? unquoted(fields[0]) : std::string(fields[0]);
        const std::string document =
            is_beir ? unquoted(fields[1]) : std::string(fields[fields.size() - 2]);
        if (qrels.queries[query].insert_or_assign(document, *level).second) return {};
        // BEIR uses the last judgement, trec_eval rejects duplicates.
        (is_beir ? kinds.replaced : kinds.repeated).add([&] {
          return fmt::format(
              "{}: document '{}' of query '{}' is judged more than once; {}",
              lines->place(line.number), in_a_sentence(document), in_a_sentence(query),
              is_beir ? "the last line counts, as in BEIR" : "remove all but one of the lines");
        });
        return {};
      },
      read_head);
  if (!read) return tl::unexpected(read.error());
  qrels.notes = kinds.notes();
  return qrels;
}

std::vector<std::string> mismatches(const TrecRun& run, const Qrels& qrels) {
  std::vector<std::string> sentences;
  const std::string run_name = in_a_sentence(run.file.string(), 400);
  const std::string qrels_name = in_a_sentence(qrels.file.string(), 400);
  std::size_t missing = 0, unknown = 0, judged = 0;
  std::string first_missing, first_unknown;
  for (const auto& [id, judgements] : qrels.queries) {
    if (run.queries.contains(id)) continue;
    if (missing++ == 0) first_missing = in_a_sentence(id);
  }
  for (const auto& [id, documents] : run.queries) {
    const auto found = qrels.queries.find(id);
    if (found == qrels.queries.end()) {
      if (unknown++ == 0) first_unknown = in_a_sentence(id);
      continue;
    }
    for (const RankedDocument& document : documents) judged += found->second.contains(document.id);
  }
  if (missing > 0) {
    sentences.push_back(fmt::format("{}: lacks {} of the {} judged queries, first '{}'", run_name,
                                    missing, qrels.queries.size(), first_missing));
  }
  if (unknown > 0) {
    sentences.push_back(
        fmt::format("{}: has {} not judged in {}, which are ignored, first '{}'", run_name,
                    unknown == 1 ? std::string("1 query") : fmt::format("{} queries", unknown),
                    qrels_name, first_unknown));
  }
  if (judged == 0) {
    sentences.push_back(
        fmt::format("{}: none of its documents is judged in {}; are both of the same collection?",
                    run_name, qrels_name));
  }
  return sentences;
}

namespace {

using nlohmann::ordered_json;

/// JSON on one line, which is valid YAML.
std::string in_line(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

/// "number of cores" unchanged; keys with other characters quoted.
std::string key_of(const std::string& key) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr std::string_view others = "0123456789_- ";
  const bool is_plain =
      !key.empty() && letters.find(key.front()) != std::string_view::npos && key.back() != ' ' &&
      key.find_first_not_of(std::string(letters).append(others)) == std::string::npos;
  return is_plain ? key : in_line(key);
}

void add_lines(const ordered_json& values, const std::string& margin, std::string& text) {
  for (const auto& item : values.items()) {
    text += margin + (values.is_array() ? "-" : key_of(item.key()) + ":");
    const ordered_json& value = item.value();
    if (value.is_structured() && !value.empty()) {
      text += "\n";
      add_lines(value, margin + "  ", text);
    } else {
      text += fmt::format(" {}\n", in_line(value));
    }
  }
}

}  // namespace

std::string metadata_head(const ordered_json& metadata) {
  std::string text = "# ir_metadata.start\n";
  add_lines(metadata, "# ", text);
  return text + "# ir_metadata.end\n";
}

Result<ordered_json> read_own_metadata(const std::filesystem::path& file) {
  constexpr std::uintmax_t most_bytes = 1 << 20;
  const auto text = read_text_file(file, "metadata file", most_bytes);
  if (!text) return tl::unexpected(text.error());
  return read_json(std::string_view(*text), file.string(), [](const JsonField& root) {
    root.only({"platform", "research goal", "implementation", "method", "actor", "data"});
    for (const JsonField& part : root.members()) static_cast<void>(part.members());
    return ordered_json(root.value());
  });
}

}  // namespace attnscope::effectiveness
