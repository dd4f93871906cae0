// SPDX-License-Identifier: Apache-2.0
#include "engine/store/fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/pattern/window.h"

namespace attnscope::store {

std::string qualified(std::string_view alias, std::string_view columns) {
  std::string result = fmt::format("{}.", alias);
  for (const char c : columns) {
    result.push_back(c);
    if (c == ' ') result.append(fmt::format("{}.", alias));
  }
  return result;
}

std::string places(std::string_view columns, int more) {
  std::string text = "?";
  for (auto i = std::count(columns.begin(), columns.end(), ',') + more; i > 0; --i) text += ", ?";
  return text;
}

void Writer::operator()(const std::optional<double>& value) {
  if (value) {
    statement_.bind(*value);
  } else {
    statement_.bind_null();
  }
}

void Writer::operator()(const std::optional<std::int64_t>& value) {
  if (value) {
    statement_.bind(*value);
  } else {
    statement_.bind_null();
  }
}

void Writer::operator()(const std::optional<Window>& value) {
  if (value) {
    statement_.bind(std::string_view(value->text()));
  } else {
    statement_.bind_null();
  }
}

void Reader::operator()(std::optional<double>& value) {
  value.reset();
  if (!statement_.is_null(column_)) value = statement_.real(column_);
  ++column_;
}

void Reader::operator()(std::optional<std::int64_t>& value) {
  value.reset();
  if (!statement_.is_null(column_)) value = statement_.integer(column_);
  ++column_;
}

void Reader::operator()(std::optional<Window>& value) {
  value.reset();
  if (!statement_.is_null(column_)) {
    if (const Result<Window> window = parse_window(statement_.text(column_))) {
      value = *window;
    } else {
      damaged_ = true;
    }
  }
  ++column_;
}

void Fingerprinter::operator()(const std::optional<double>& value) {
  print_.byte(value ? 1 : 0);
  if (value) print_.real(*value);
}

void Fingerprinter::operator()(const std::optional<std::int64_t>& value) {
  print_.byte(value ? 1 : 0);
  if (value) print_.integer(*value);
}

void Fingerprinter::operator()(const std::optional<Window>& value) {
  print_.byte(value ? 1 : 0);
  if (value) print_.text(value->text());
}

std::int64_t fingerprint_of(const std::string& uuid, const NewRun& run) {
  Fingerprinter print;
  print(uuid);
  visit_run(print, run);
  return print.value();
}

std::int64_t fingerprint_of(const std::vector<Sample>& samples, const std::vector<bool>& outliers) {
  Fingerprinter print;
  print(static_cast<std::int64_t>(samples.size()));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    visit_sample(print, samples[i]);
    print(static_cast<bool>(outliers[i]));
  }
  return print.value();
}

std::int64_t fingerprint_of(const std::string& uuid, const HeatPoint& point, int ordinal,
                            const Cell& cell, const statistics::Summary& summary,
                            std::int64_t samples_fingerprint) {
  Fingerprinter print;
  print(uuid);
  visit_point(print, point);
  print(ordinal);
  visit_cell(print, cell, summary);
  print(samples_fingerprint);
  return print.value();
}

std::int64_t fingerprint_of(const std::string& uuid, const Ceilings& ceilings) {
  Fingerprinter print;
  print(uuid);
  visit_ceilings(print, ceilings);
  print(static_cast<std::int64_t>(ceilings.copy.size()));
  for (const Ceilings::Copy& copy : ceilings.copy) {
    print(copy.working_set_bytes);
    print(copy.bytes_per_second);
  }
  return print.value();
}

std::vector<statistics::Observation> observations_of(const std::vector<Sample>& samples) {
  std::vector<statistics::Observation> observations;
  observations.reserve(samples.size());
  for (const Sample& sample : samples) {
    observations.push_back({sample.placement, sample.round, sample.time_ns, sample.process});
  }
  return observations;
}

}  // namespace attnscope::store
