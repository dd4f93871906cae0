// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/report/advice.h"
#include "engine/report/number_text.h"

namespace attnscope::report {
namespace {

using nlohmann::json;

json number(double value) {
  return std::isfinite(value) ? json(value) : json();
}

template <typename T>
json json_of(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

json milliseconds(const std::optional<Estimate>& time) {
  if (!time) return nullptr;
  return {{"value", number(time->value / 1e6)},
          {"low", number(time->low / 1e6)},
          {"high", number(time->high / 1e6)}};
}

json json_of(const std::optional<statistics::Ratio>& ratio) {
  if (!ratio) return nullptr;
  return {{"ratio", number(ratio->ratio)},
          {"low", number(ratio->low)},
          {"high", number(ratio->high)},
          {"paired", ratio->paired},
          {"verdict", name_of(ratio->verdict)}};
}

std::string_view name_of_source(LongestDocument::From from) {
  switch (from) {
    case LongestDocument::From::measured:
      return "measured";
    case LongestDocument::From::between:
      return "interpolated";
    case LongestDocument::From::predicted:
      break;
  }
  return "predicted";
}

json json_of(const std::optional<LongestDocument>& longest) {
  if (!longest) return nullptr;
  return {{"document_tokens", longest->document_tokens},
          {"from", name_of_source(longest->from)},
          {"at_least", longest->at_least}};
}

json json_of(const std::vector<statistics::Crossing>& crossings) {
  json list = json::array();
  for (const statistics::Crossing& one : crossings) {
    list.push_back({{"overtakes", one.a_overtakes},
                    {"at", one.at ? number(*one.at) : json()},
                    {"low", number(one.low)},
                    {"high", number(one.high)}});
  }
  return list;
}

json published_json(const Advised& one) {
  if (!one.published) return nullptr;
  return {{"ndcg10", one.published->ndcg10}, {"below_full", json_of(one.published_loss)},
          {"task", one.published->task},     {"source", one.published->source},
          {"note", one.published->note},     {"label", published_label}};
}

json json_of(const Advised& one) {
  return {{"contender", one.contender},
          {"name", one.name},
          {"pattern", one.pattern},
          {"window", one.window ? json(one.window->text()) : json()},
          {"standing", name_of(one.standing)},
          {"reason", one.reason},
          {"ms", milliseconds(one.time_ns)},
          {"to_baseline", json_of(one.to_baseline)},
          {"peak_bytes", json_of(one.peak_bytes)},
          {"bytes_with_tensors", json_of(one.need_bytes)},
          {"memory_is_predicted", one.memory_is_predicted},
          {"documents_at_once", json_of(one.at_once)},
          {"longest_document", json_of(one.longest)},
          {"times_longer", json_of(one.times_longer)},
          {"crossings", json_of(one.crossovers.crossings)},
          {"is_interpolated", one.is_interpolated},
          {"between", one.lower > 0 ? json({one.lower, one.upper}) : json()},
          {"is_rough", one.is_rough},
          {"shorter_count_as", json_of(one.counted_as)},
          {"published", published_json(one)},
          {"sentence", one.sentence},
          {"remarks", one.remarks}};
}

json json_of(const DocumentLengths& documents) {
  return {{"count", documents.count()},      {"shortest", documents.shortest()},
          {"longest", documents.longest()},  {"mean", documents.mean()},
          {"p50", documents.percentile(50)}, {"p95", documents.percentile(95)}};
}

json json_of(const Advice& advice) {
  json contenders = json::array();
  for (const Advised& one : advice.contenders) contenders.push_back(json_of(one));
  const Question& question = advice.question;
  return {{"run", advice.run.id.uuid},
          {"setting", advice.setting},
          {"baseline", json_of(advice.baseline)},
          {"query_tokens", json_of(question.query_tokens)},
          {"document_tokens", json_of(question.documents)},
          {"candidates", question.candidates},
          {"memory_limit_bytes", json_of(question.memory_bytes)},
          {"latency_limit_ms", question.latency_ns ? json(*question.latency_ns / 1e6) : json()},
          {"heading", advice.heading},
          {"notes", advice.notes},
          {"contenders", contenders},
          {"lengths_to_measure", advice.to_measure},
          {"provenance", provenance_line(advice.run)}};
}

}  // namespace

std::string write_advice(const Advice& advice) {
  std::string text;
  if (!advice.setting.empty()) text += wrapped("== " + advice.setting, "   ");
  text += wrapped(advice.heading, "  ");
  for (const std::string& note : advice.notes) text += wrapped(note, "  ");
  text += "\n";
  std::size_t place = 0;
  for (const Advised& one : advice.contenders) {
    const bool has_place = one.standing == Standing::within_limits;
    if (has_place) ++place;
    text +=
        wrapped(fmt::format("{:>3} {}", has_place ? fmt::format("{}.", place) : "-", one.sentence),
                "      ");
    for (const std::string& remark : one.remarks) text += wrapped("      " + remark, "        ");
  }
  return text;
}

std::string write_advice_json(const std::vector<Advice>& advice) {
  json settings = json::array();
  for (const Advice& one : advice) settings.push_back(json_of(one));
  return settings.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string exact_sweep(const Advice& advice) {
  json sweep = json::parse(advice.run.start.sweep_text, nullptr, false);
  if (!sweep.is_object()) return {};
  const HeatPoint& point = advice.point;
  const json setting = {{"operation", name_of(point.operation)},
                        {"direction", name_of(point.direction)},
                        {"shared_query", point.shared_query},
                        {"documents", point.documents},
                        {"heads", point.heads},
                        {"head_dim", point.head_dim},
                        {"dtype", name_of(point.dtype)},
                        {"memory_order", name_of(point.memory_order)},
                        {"cache", name_of(point.cache)},
                        {"device", name_of(point.device)},
                        {"threads", point.threads},
                        {"seed", point.seed}};
  // What the sweep leaves to its defaults stays there.
  for (const auto& [key, value] : setting.items()) {
    if (sweep.contains(key)) sweep[key] = value;
  }
  if (sweep.contains("batch") && sweep["batch"].is_object()) {
    json& batch = sweep["batch"];
    if (batch.contains("max")) batch["max"] = point.batch_max;
    if (batch.contains("memory_mb")) batch["memory_mb"] = point.batch_memory_mb;
  }
  sweep["sequence_tokens"] = advice.to_measure;
  if (point.operation != Operation::windowed_matmul) {
    sweep["query_tokens"] = *advice.question.query_tokens;
  }
  if (sweep.contains("name") && sweep["name"].is_string()) {
    sweep["name"] = sweep["name"].get<std::string>() + "-exact";
  }
  return sweep.dump(2) + "\n";
}

}  // namespace attnscope::report
