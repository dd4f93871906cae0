// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/heat_measurement.h"

#include <algorithm>
#include <utility>

#include "engine/sweep/protocol.h"

namespace attnscope {
namespace {

using Answer = WorkerCrew::Answer;
using std::chrono::milliseconds;

milliseconds default_patience(const StopRule& stop) {
  constexpr double least_seconds = 60;
  return std::chrono::ceil<milliseconds>(
      std::chrono::duration<double>(std::max(least_seconds, 20 * stop.max_seconds)));
}

Cell failed_cell(const Heat& heat, const Contender& contender, CellStatus status,
                 std::string reason) {
  Cell cell;
  cell.contender = contender;
  cell.status = status;
  cell.reason = std::move(reason);
  if (const auto sizes = group_sizes(heat.point)) {
    cell.query_tokens = sizes->query;
    cell.document_tokens = sizes->document;
  }
  return cell;
}

std::pair<CellStatus, std::string> verdict_on(const Answer& answer) {
  if (answer.kind == Answer::Kind::hung) return {CellStatus::timeout, answer.words};
  if (answer.kind == Answer::Kind::refused) {
    return {CellStatus::crashed, "the measuring process gave up: " + answer.words};
  }
  if (answer.killed_by_system) {
    return {CellStatus::oom,
            "the system killed the measuring process, most likely because memory ran out: " +
                answer.words};
  }
  return {CellStatus::crashed, "the measuring process died: " + answer.words};
}

class Measurement {
 public:
  Measurement(const Heat& heat, WorkerCrew& crew, milliseconds patience,
              const HeatListener& listener)
      : heat_(heat),
        crew_(crew),
        patience_(patience),
        listener_(listener),
        shares_(divide_placements(heat.stop.placements, heat.stop.processes)),
        failed_(heat.contenders.size()) {
    for (std::size_t i = 0; i < heat.contenders.size(); ++i) active_.push_back(i);
  }

  Result<std::optional<HeatResult>> run() {
    while (!active_.empty()) {
      std::vector<HeatResult> results;
      const Answer last = measure_all_shares(results);
      if (last.kind == Answer::Kind::cancelled) return std::nullopt;
      if (last.kind == Answer::Kind::no_worker) return fail("{}", last.words);
      if (last.kind == Answer::Kind::answered) return assemble(std::move(results));
      lose(last);
    }
    return assemble({});
  }

 private:
  // One process after another; the last answer tells whether all of them did their share.
  Answer measure_all_shares(std::vector<HeatResult>& results) {
    for (std::size_t share = 0; share < shares_.size(); ++share) {
      if (share > 0) crew_.dismiss();
      Answer answer = crew_.ask(protocol::to_json(request(share)), "heat", patience_,
                                [this](const nlohmann::json& event) { report_phase(event); });
      if (answer.kind != Answer::Kind::answered) return answer;
      auto result = read_result(answer.event);
      if (!result) {
        crew_.dismiss();
        return {.kind = Answer::Kind::died,
                .event = {},
                .words = result.error().message,
                .contender = {}};
      }
      results.push_back(std::move(*result));
    }
    // Several processes a heat are to be independent of each other in every heat.
    if (shares_.size() > 1) crew_.dismiss();
    return {};
  }

  protocol::HeatRequest request(std::size_t share) const {
    protocol::HeatRequest request{.heat = heat_,
                                  .process = static_cast<int>(share),
                                  .placements = shares_[share],
                                  .beacon = crew_.beacon_path()};
    request.heat.contenders.clear();
    for (const std::size_t i : active_) request.heat.contenders.push_back(heat_.contenders[i]);
    return request;
  }

  Result<HeatResult> read_result(const nlohmann::json& event) const {
    const auto found = event.find("result");
    if (found == event.end()) return fail("its answer has no field 'result'");
    auto result = protocol::read_heat_result(*found);
    if (!result) return result;
    const bool same = result->point == heat_.point &&
                      std::ranges::equal(result->cells, active_, {}, &Cell::contender,
                                         [this](std::size_t i) { return heat_.contenders[i]; });
    if (!same) return fail("it answered another heat than the one it was asked for");
    return result;
  }

  void report_phase(const nlohmann::json& event) const {
    const auto index = event.find("contender");
    const auto phase = event.find("phase");
    if (index == event.end() || !index->is_number_unsigned() || phase == event.end() ||
        !phase->is_string() || index->get<std::size_t>() >= active_.size()) {
      return;
    }
    listener_.on_phase(heat_.contenders[active_[index->get<std::size_t>()]],
                       phase->get<std::string>());
  }

  // Takes the contender that ran out of the heat. When nothing is known to have run, the heat gets
  // a second try, then all of it is lost.
  void lose(const Answer& answer) {
    const auto [status, reason] = verdict_on(answer);
    const bool known =
        answer.contender && static_cast<std::size_t>(*answer.contender) < active_.size();
    if (known) {
      const auto place = active_.begin() + *answer.contender;
      listener_.on_warning(fmt::format("{} at {} tokens: {}; going on with the rest of the heat",
                                       heat_.contenders[*place].name, heat_.point.sequence_tokens,
                                       reason));
      failed_[*place] = failed_cell(heat_, heat_.contenders[*place], status, reason);
      active_.erase(place);
      return;
    }
    if (!std::exchange(tried_again_, true)) {
      listener_.on_warning(fmt::format("at {} tokens, while no contender ran: {}; trying once more",
                                       heat_.point.sequence_tokens, reason));
      return;
    }
    for (const std::size_t i : active_) {
      failed_[i] = failed_cell(heat_, heat_.contenders[i], status, reason);
    }
    active_.clear();
  }

  std::optional<HeatResult> assemble(std::vector<HeatResult> results) const {
    HeatResult whole{.heat_index = heat_.index, .point = heat_.point, .cells = {}};
    PooledHeat pooled;
    if (!results.empty()) pooled = pool_cells(std::move(results));
    for (const std::string& warning : pooled.warnings) listener_.on_warning(warning);
    auto measured = pooled.result.cells.begin();
    for (const std::optional<Cell>& failed : failed_) {
      whole.cells.push_back(failed ? *failed : std::move(*measured++));
    }
    return whole;
  }

  const Heat& heat_;
  WorkerCrew& crew_;
  milliseconds patience_;
  const HeatListener& listener_;
  std::vector<std::vector<int>> shares_;
  std::vector<std::optional<Cell>> failed_;  // by contender
  std::vector<std::size_t> active_;          // contenders that are still measured
  bool tried_again_ = false;
};

}  // namespace

std::vector<std::vector<int>> divide_placements(int placements, int processes) {
  const int shares = std::max(1, std::min(placements, processes));
  std::vector<std::vector<int>> divided(static_cast<std::size_t>(shares));
  for (int placement = 0; placement < placements; ++placement) {
    divided[static_cast<std::size_t>(static_cast<std::int64_t>(placement) * shares / placements)]
        .push_back(placement);
  }
  return divided;
}

Result<std::optional<HeatResult>> measure_heat(const Heat& heat, WorkerCrew& crew,
                                               std::optional<milliseconds> patience,
                                               const HeatListener& listener) {
  return Measurement(heat, crew, patience.value_or(default_patience(heat.stop)), listener).run();
}

}  // namespace attnscope
