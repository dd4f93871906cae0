// SPDX-License-Identifier: Apache-2.0
#include "engine/report/question.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/sentences.h"
#include "base/text_file.h"

namespace attnscope::report {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Parses the JSON of `attnscope lengths`. An empty text counts as one token.
Result<DocumentLengths> parse_counted(std::string_view text, bool of_sequences) {
  constexpr std::int64_t most_texts = 1'000'000'000'000;
  return read_json(text, "lengths", [&](const JsonField& root) {
    const JsonField list = root[of_sequences ? "pairs" : "documents"]["counted"];
    std::map<std::int64_t, std::int64_t> counts;
    for (const JsonField& pair : list.elements()) {
      const std::vector<JsonField> both = pair.elements();
      if (both.size() != 2) pair.wrong("must be a length and its number of documents");
      const auto tokens = std::max<std::int64_t>(both[0].whole(0, longest_document), 1);
      counts[tokens] += both[1].whole(1, most_texts);
    }
    if (counts.empty()) list.wrong("is empty; it must have at least one length");
    return DocumentLengths(std::vector<DocumentLengths::Counted>(counts.begin(), counts.end()));
  });
}

}  // namespace

DocumentLengths::DocumentLengths(std::vector<std::int64_t> lengths)
    : count_(static_cast<std::int64_t>(lengths.size())) {
  std::ranges::sort(lengths);
  for (const std::int64_t tokens : lengths) {
    if (counted_.empty() || counted_.back().first != tokens) counted_.emplace_back(tokens, 0);
    ++counted_.back().second;
  }
}

DocumentLengths::DocumentLengths(std::vector<Counted> counted) : counted_(std::move(counted)) {
  for (const auto& [tokens, count] : counted_) count_ += count;
}

double DocumentLengths::mean() const {
  double sum = 0;
  for (const auto& [tokens, count] : counted_) {
    sum += static_cast<double>(tokens) * static_cast<double>(count);
  }
  return sum / static_cast<double>(count_);
}

std::int64_t DocumentLengths::percentile(double percent) const {
  const auto rank = static_cast<std::int64_t>(
      std::ceil(std::clamp(percent, 0.0, 100.0) / 100 * static_cast<double>(count_)));
  std::int64_t seen = 0;
  for (const auto& [tokens, count] : counted_) {
    seen += count;
    if (seen >= rank) return tokens;
  }
  return longest();
}

Result<DocumentLengths> parse_document_lengths(std::string_view text, bool of_sequences) {
  if (trimmed(text.substr(0, text.find('\n'))).starts_with('{'))
    return parse_counted(text, of_sequences);
  std::vector<std::int64_t> lengths;
  for (int line_number = 1; !text.empty(); ++line_number) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    std::int64_t tokens = 0;
    const auto [stopped, error] = std::from_chars(line.data(), line.data() + line.size(), tokens);
    const bool is_whole = error == std::errc() && stopped == line.data() + line.size();
    if (!is_whole || tokens < 1 || tokens > longest_document) {
      return fail("line {} is '{}', not a length; write one whole number from 1 to {} per line",
                  line_number, in_a_sentence(line), longest_document);
    }
    lengths.push_back(tokens);
  }
  if (lengths.empty()) return fail("it contains no length; write one whole number per line");
  return DocumentLengths(std::move(lengths));
}

Result<DocumentLengths> read_document_lengths(const std::filesystem::path& file,
                                              bool of_sequences) {
  constexpr std::uintmax_t most_bytes = 64 << 20;  // about ten million documents
  const Result<std::string> text = read_text_file(file, "file of lengths", most_bytes);
  if (!text) return tl::unexpected(text.error());
  Result<DocumentLengths> lengths = parse_document_lengths(*text, of_sequences);
  if (!lengths) {
    constexpr std::size_t longest_path = 400;
    return fail("'{}': {}", in_a_sentence(file.string(), longest_path), lengths.error().message);
  }
  return lengths;
}

}  // namespace attnscope::report
