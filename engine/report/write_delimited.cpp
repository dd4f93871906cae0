// SPDX-License-Identifier: Apache-2.0
//
// The forms that programs read.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/report/row_values.h"
#include "engine/report/writers.h"

namespace attnscope::report {

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted.push_back('"');
    quoted.push_back(c);
  }
  return quoted + "\"";
}

std::string write_csv(const Table& table) {
  const auto all = columns(table);
  std::string text;
  for (const Column& column : all) text += fmt::format("{},", column.key);
  text += "run,provenance\r\n";
  const std::string ending =
      fmt::format("{},{}\r\n", csv_field(table.run.id.uuid), csv_field(provenance_line(table.run)));
  for (const Row& row : table.rows) {
    for (const Column& column : all) text += csv_field(text_of(column.value(row))) + ",";
    text += ending;
  }
  return text;
}

std::string write_json(const Table& table) {
  using nlohmann::ordered_json;
  const std::string provenance = provenance_line(table.run);
  const std::vector<Column> all = columns(table);
  ordered_json rows = ordered_json::array();
  for (const Row& row : table.rows) {
    ordered_json& object = rows.emplace_back(ordered_json::object());
    for (const Column& column : all) {
      std::visit(
          [&](const auto& held) {
            if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
              object[std::string(column.key)] = nullptr;
            } else {
              object[std::string(column.key)] = held;
            }
          },
          column.value(row));
    }
    object["run"] = table.run.id.uuid;
    object["provenance"] = provenance;
  }
  // Names come from people: bytes that are not UTF-8 are replaced, not thrown at them.
  return rows.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string write_table(const Table& table, TableFormat format) {
  switch (format) {
    case TableFormat::text:
      return write_text(table);
    case TableFormat::markdown:
      return write_markdown(table);
    case TableFormat::csv:
      return write_csv(table);
    case TableFormat::latex:
      return write_latex(table);
    case TableFormat::json:
      break;
  }
  return write_json(table);
}

}  // namespace attnscope::report
