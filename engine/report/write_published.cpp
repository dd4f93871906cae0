// SPDX-License-Identifier: Apache-2.0
//
// Published tables in the forms of our own, never without their citation and label.
#include <fmt/format.h>

#include "engine/report/grid.h"
#include "engine/report/published.h"

namespace attnscope::report {
namespace {

/// "Published, not measured here: CITATION, Table 3; one NVIDIA A100 40 GB"
std::string source_of(const PublishedTable& table) {
  std::string label(published_label);
  label.front() = 'P';
  return fmt::format("{}: {}. {}; {}", label, table.citation, table.title, table.machine);
}

}  // namespace

std::string write_published(const PublishedTable& table, TableFormat format) {
  const std::string source = source_of(table);
  const bool lines_apart = format == TableFormat::text;  // sentences end by themselves there
  return write_grid({.heading = fmt::format("{}: {}", table.title, table.subject),
                     .columns = table.columns,
                     .rows = table.rows,
                     .notes = {lines_apart ? source : source + ".", std::string(table.note)},
                     .source = source},
                    format);
}

}  // namespace attnscope::report
