// SPDX-License-Identifier: Apache-2.0
//
// The longest length that fits each contender of one setting, and how far its memory would go.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/report/answer.h"
#include "engine/report/memory_growth.h"

namespace attnscope::report {
namespace {

void predict(FitAnswer& fit, const Row* before, const Row& longest, double available) {
  if (before == nullptr) return;
  const double tokens = longest_within(available, need_of(*before), need_of(longest));
  fit.predicted_is_least = tokens >= farthest_prediction * static_cast<double>(*fit.longest);
  fit.predicted = std::max(*fit.longest, fit.predicted_is_least ? static_cast<std::int64_t>(tokens)
                                                                : two_digits(tokens));
  if (fit.next && fit.next_status == CellStatus::oom && *fit.predicted >= *fit.next) {
    // What was measured is right: it does not fit there.
    fit.predicted.reset();
    fit.predicted_is_least = false;
  }
}

std::string reason_in_words(const FitAnswer& fit) {
  return fit.next_reason.empty() ? std::string(name_of(fit.next_status))
                                 : fmt::format("{}: {}", name_of(fit.next_status), fit.next_reason);
}

std::string without_stop(std::string text) {
  while (!text.empty() && text.back() == '.') text.pop_back();
  return text;
}

std::string in_words(const FitAnswer& fit) {
  if (!fit.longest) {
    return fmt::format("{} has no time at any measured length ({}).", fit.name,
                       without_stop(reason_in_words(fit)));
  }
  std::string text = fmt::format("{} fits {} tokens", fit.name, *fit.longest);
  if (fit.next) {
    text += fmt::format(", not {} ({})", *fit.next, without_stop(reason_in_words(fit)));
  } else {
    text += ", the longest measured";
  }
  if (fit.bytes_per_document) {
    text += fmt::format("; {} a document there", format_bytes(*fit.bytes_per_document));
  }
  if (fit.predicted) {
    text += fmt::format("; predicted from its growth: {} {} tokens",
                        fit.predicted_is_least ? "more than" : "up to about", *fit.predicted);
  }
  return text + ".";
}

/// `own` are one contender's rows by ascending length.
FitAnswer fit_of(const std::vector<const Row*>& own, std::optional<double> available_bytes) {
  FitAnswer fit;
  fit.contender = own.front()->cell.cell.contender.id();
  fit.name = own.front()->cell.cell.contender.name;
  const Row *longest = nullptr, *before = nullptr, *next = nullptr;
  for (const Row* row : own) {
    if (is_measured(*row)) {
      before = std::exchange(longest, row);
      next = nullptr;
    } else if (next == nullptr && !row->cell.damaged) {
      next = row;
    }
  }
  if (next != nullptr) {
    fit.next = next->cell.point.sequence_tokens;
    fit.next_status = next->cell.cell.status;
    fit.next_reason = next->cell.cell.reason;
  }
  if (longest != nullptr) {
    fit.longest = longest->cell.point.sequence_tokens;
    fit.bytes_per_document =
        static_cast<double>(peak_bytes(longest->cell.cell.memory)) / documents_of(*longest);
    if (available_bytes) predict(fit, before, *longest, *available_bytes);
  }
  fit.sentence = in_words(fit);
  return fit;
}

}  // namespace

std::vector<FitAnswer> find_fits(const std::vector<const Row*>& rows,
                                 std::optional<double> available_bytes) {
  std::vector<std::vector<const Row*>> contenders;
  for (const Row* row : rows) {
    const auto same = [&](const std::vector<const Row*>& own) {
      return own.front()->cell.cell.contender.id() == row->cell.cell.contender.id();
    };
    auto known = std::ranges::find_if(contenders, same);
    if (known == contenders.end()) known = contenders.insert(known, std::vector<const Row*>());
    known->push_back(row);
  }
  std::vector<FitAnswer> fits;
  for (std::vector<const Row*>& own : contenders) {
    std::ranges::stable_sort(own, {},
                             [](const Row* row) { return row->cell.point.sequence_tokens; });
    fits.push_back(fit_of(own, available_bytes));
  }
  return fits;
}

}  // namespace attnscope::report
