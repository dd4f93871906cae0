// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <nlohmann/json.hpp>

#include "engine/report/run_description.h"

namespace attnscope::report {
namespace {

/// The object; what is no JSON as the text that it is.
nlohmann::ordered_json stored(const std::string& provenance) {
  auto parsed = nlohmann::ordered_json::parse(provenance, nullptr, /*allow_exceptions=*/false);
  return parsed.is_discarded() ? nlohmann::ordered_json(provenance) : parsed;
}

}  // namespace

std::string write_description_json(const RunDescription& description) {
  using nlohmann::ordered_json;
  const RunInfo& run = description.run;
  ordered_json restarts = ordered_json::array();
  for (const Restart& restart : description.restarts) {
    restarts.push_back({{"restarted_unix_ms", restart.restarted_unix_ms},
                        {"command_line", restart.command_line},
                        {"provenance", stored(restart.provenance)}});
  }
  ordered_json ceilings = ordered_json::array();
  for (const Ceilings& one : description.ceilings) {
    ordered_json copy = ordered_json::array();
    for (const Ceilings::Copy& rate : one.copy) {
      copy.push_back({{"working_set_bytes", rate.working_set_bytes},
                      {"bytes_per_second", rate.bytes_per_second}});
    }
    ceilings.push_back({{"device", name_of(one.device)},
                        {"threads", one.threads},
                        {"flop_per_second", one.flop_per_second},
                        {"tensor_flop_per_second", one.tensor_flop_per_second},
                        {"exponentials_per_second", one.exponentials_per_second},
                        {"copy", std::move(copy)},
                        {"seconds_into_run", one.seconds_into_run}});
  }
  std::map<std::string, int> cells;
  for (const Row& row : description.rows) {
    ++cells[std::string(row.cell.damaged ? damaged_status : name_of(row.cell.cell.status))];
  }
  const ordered_json whole = {{"run", run.number},
                              {"uuid", run.id.uuid},
                              {"sweep", run.start.sweep_name},
                              {"status", name_of(run.status)},
                              {"damaged", run.damaged},
                              {"name", run.name},
                              {"tag", run.tag},
                              {"trashed_unix_ms", run.trashed_unix_ms},
                              {"note", run.note},
                              {"started_unix_ms", run.started_unix_ms},
                              {"finished_unix_ms", run.finished_unix_ms},
                              {"device", run.start.device},
                              {"command_line", run.start.command_line},
                              {"heats_done", run.heats_done},
                              {"heats_planned", run.start.heats_planned},
                              {"cells", cells},
                              {"cautions", cautions(description)},
                              {"restarts", std::move(restarts)},
                              {"ceilings", std::move(ceilings)},
                              {"provenance", stored(run.start.provenance)},
                              {"sweep_text", run.start.sweep_text}};
  return whole.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace attnscope::report
