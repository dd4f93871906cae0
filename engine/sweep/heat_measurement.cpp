// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/heat_measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/sentences.h"
#include "engine/heat/model_row.h"
#include "engine/worker/machine_messages.h"

namespace attnscope {
namespace {

using Answer = WorkerPool::Answer;

/// The work that a cell reports; for attention, at least that of writing the output.
CellWork at_least_its_output(const Cell& cell, const HeatPoint& point) {
  CellWork work = cell.work;
  if (point.operation != Operation::attention) return work;
  double bytes = static_cast<double>(size_of(point.dtype));
  for (const std::int64_t factor : {cell.batch, point.sequence_tokens, point.heads, point.head_dim})
    bytes *= static_cast<double>(factor);
  work.least_bytes = std::max(work.least_bytes, bytes);
  return work;
}
using std::chrono::milliseconds;

milliseconds default_patience(const Heat& heat) {
  // A call of a model takes as long as the attention calls of all its layers, and 100 documents
  // take minutes.
  const double least_seconds = heat.point.operation == Operation::model ? 900 : 60;
  return std::chrono::ceil<milliseconds>(
      std::chrono::duration<double>(std::max(least_seconds, 20 * heat.stop.max_seconds)));
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
  if (answer.kind == Answer::Kind::invalid) {
    return {CellStatus::crashed, "the measuring process sent an invalid answer: " + answer.words};
  }
  return {CellStatus::crashed, "the measuring process died: " + answer.words};
}

// Checks a reported cell against the driver's own knowledge: the request, the time until the
// answer, and the machine's ceilings. Tolerances are generous: they detect false reports or a
// broken worker, not an unusual machine.
class Assumption {
 public:
  Assumption(const protocol::HeatRequest& request, double seconds,
             const std::vector<Ceilings>& ceilings)
      : request_(request), seconds_(seconds), ceilings_(ceilings) {}

  /// A cell with impossible values becomes `crashed`, one with an error above its bound `wrong`.
  void judge(Cell& cell) const {
    std::string reason = why_not(cell);
    if (!reason.empty()) {
      cell =
          failed_cell(request_.heat, cell.contender, CellStatus::crashed,
                      "the measuring process reported an impossible result: " + std::move(reason));
    } else if (cell.status == CellStatus::ok) {
      if (const std::string unproven = why_unproven(cell); !unproven.empty()) {
        cell.status = CellStatus::wrong;
        cell.reason = "the measuring process reported ok with " + unproven;
      }
    }
    cell.reason = in_a_sentence(cell.reason, longest_reason);
    cell.disturbed_by.clear();
  }

 private:
  static constexpr std::size_t longest_reason = 2000;  // bytes
  static constexpr double slack_seconds = 60;          // clocks differ and drift
  // Ceilings may have been measured while other programs used most cores, and for other data types
  // than those of the contender.
  static constexpr double slack_of_ceilings = 200;

  [[nodiscard]] std::string why_not(const Cell& cell) const {
    const Cell requested = failed_cell(request_.heat, cell.contender, cell.status, {});
    if (cell.query_tokens != requested.query_tokens ||
        cell.document_tokens != requested.document_tokens) {
      return fmt::format("{} query and {} document tokens, where {} and {} were requested",
                         cell.query_tokens, cell.document_tokens, requested.query_tokens,
                         requested.document_tokens);
    }
    if (std::string reason = why_impossible(request_.heat.point, cell); !reason.empty())
      return reason;
    if (cell.status == CellStatus::cancelled) return "a cell that was cancelled without a request";
    if (cell.status != CellStatus::ok && cell.reason.empty())
      return fmt::format("a cell that is {}, without a reason", name_of(cell.status));
    return cell.status == CellStatus::ok ? why_not_timed(cell) : "";
  }

  [[nodiscard]] std::string why_not_timed(const Cell& cell) const {
    if (cell.samples.empty()) return "a measured cell without samples";
    const double least_ns = limit_of(cell) / slack_of_ceilings;
    double together = 0;
    std::map<int, int> samples;  // by placement
    for (const Sample& sample : cell.samples) {
      together += sample.time_ns * sample.iterations;
      if (sample.process != request_.process ||
          !std::ranges::count(request_.placements, sample.placement)) {
        return fmt::format("a sample of process {} and placement {}, which was not requested",
                           sample.process, sample.placement);
      }
      ++samples[sample.placement];
      if (sample.time_ns < least_ns) {
        return fmt::format("a time of {:.3g} ns, where the machine's rates allow {:.3g} ns",
                           sample.time_ns, least_ns * slack_of_ceilings);
      }
    }
    if (together * 1e-9 > seconds_ + slack_seconds) {
      return fmt::format("calls of {:.3g} s in total, {:.3g} s after the request", together * 1e-9,
                         seconds_);
    }
    // A placement ends when its time is up, but not before its share of three samples.
    const int placements = std::max(request_.heat.stop.placements, 1);
    const int least_samples = (3 + placements - 1) / placements;
    for (const int placement : request_.placements) {
      if (samples[placement] < least_samples) {
        return fmt::format("{} of placement {}, where at least {} were requested",
                           counted(static_cast<std::size_t>(samples[placement]), "sample"),
                           placement, least_samples);
      }
    }
    return {};
  }

  /// Returns the limit by the highest ceilings; 0 if there are none, as for smaller data types.
  [[nodiscard]] double limit_of(const Cell& cell) const {
    const HeatPoint& point = request_.heat.point;
    if (has_narrow_products(cell.contender.model)) return 0;
    std::optional<double> limit;
    for (const Ceilings& rates : ceilings_) {
      if (!are_ceilings_of(rates, point)) continue;
      const double own =
          limit_ns(at_least_its_output(cell, point), rates, point.cache, point.dtype);
      limit = std::min(limit.value_or(own), own);
    }
    return limit.value_or(0);
  }

  const protocol::HeatRequest& request_;
  double seconds_;
  const std::vector<Ceilings>& ceilings_;
};

class HeatMeasurement {
 public:
  HeatMeasurement(const Heat& heat, WorkerPool& pool, const std::vector<Ceilings>& ceilings,
                  milliseconds patience, const HeatListener& listener)
      : heat_(heat),
        pool_(pool),
        ceilings_(ceilings),
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
      if (last.kind == Answer::Kind::answered) {
        pool_.forget_losses();
        // A process that died just before the cancel was noticed may have been ended by it.
        if (active_.size() < heat_.contenders.size() && pool_.is_cancelled()) return std::nullopt;
        return assemble(std::move(results));
      }
      if (was_cut_off(last)) continue;
      Answer ended = last;
      if (!drop_running_contender(last)) ended = find_cause(last);
      if (ended.kind == Answer::Kind::cancelled) return std::nullopt;
      if (ended.kind == Answer::Kind::no_worker) return fail("{}", ended.words);
    }
    return assemble({});
  }

 private:
  // Measures with one process after another; the last answer shows whether all of them succeeded.
  Answer measure_all_shares(std::vector<HeatResult>& results) {
    for (std::size_t share = 0; share < shares_.size(); ++share) {
      if (share > 0) pool_.dismiss();
      const Answer answer = measure_share(share, results);
      if (answer.kind != Answer::Kind::answered) return answer;
    }
    // With several processes per heat, every heat must use new ones.
    if (shares_.size() > 1) pool_.dismiss();
    return {};
  }

  Answer measure_share(std::size_t share, std::vector<HeatResult>& results) {
    const protocol::HeatRequest requested = request(share);
    const auto began = std::chrono::steady_clock::now();
    // A contender and its checks take less than the limit without events.
    const WorkerPool::Patience patience{
        patience_, 4 * patience_ * static_cast<int>(requested.heat.contenders.size() + 2)};
    Answer answer = pool_.ask(requested, patience,
                              [this](const nlohmann::json& event) { report_phase(event); });
    if (answer.kind != Answer::Kind::answered) return answer;
    auto result = read_result(answer.event);
    if (!result) {
      pool_.dismiss();
      return {.kind = Answer::Kind::invalid, .words = result.error().message};
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    const Assumption belief(requested, took.count(), ceilings_);
    for (Cell& cell : result->cells) belief.judge(cell);
    results.push_back(std::move(*result));
    return answer;
  }

  // Measures the first share of each active contender in a new process.
  Answer measure_alone() {
    Answer answer;
    do {
      pool_.dismiss();
      std::vector<HeatResult> is_unusable;
      answer = measure_share(0, is_unusable);
    } while (was_cut_off(answer));
    pool_.dismiss();
    return answer;
  }

  // No contender is responsible for a lost connection: the complete request is repeated with a
  // reconnected worker. The pool gives up after too many losses.
  bool was_cut_off(const Answer& answer) const {
    if (answer.kind != Answer::Kind::lost) return false;
    listener_.on_warning(
        fmt::format("at {} tokens the connection to the worker was lost: {}; connecting again",
                    heat_.point.sequence_tokens, answer.words));
    return true;
  }

  protocol::HeatRequest request(std::size_t share) const {
    protocol::HeatRequest request{
        .heat = heat_, .process = static_cast<int>(share), .placements = shares_[share]};
    request.heat.contenders.clear();
    for (const std::size_t i : active_) request.heat.contenders.push_back(heat_.contenders[i]);
    return request;
  }

  Result<HeatResult> read_result(const nlohmann::json& event) const {
    auto measured = protocol::read_message<protocol::MeasuredHeat>(event);
    if (!measured) return tl::unexpected(measured.error());
    HeatResult result = std::move(measured->result);
    const bool same = result.heat_index == heat_.index && result.point == heat_.point &&
                      std::ranges::equal(result.cells, active_, {}, &Cell::contender,
                                         [this](std::size_t i) { return heat_.contenders[i]; });
    if (!same) return fail("it answered for another heat than the requested one");
    return result;
  }

  void report_phase(const nlohmann::json& event) const {
    const auto progress = protocol::read_message<protocol::Progress>(event);
    if (!progress || progress->contender < 0) return;
    const auto place = static_cast<std::size_t>(progress->contender);
    if (place < active_.size())
      listener_.on_phase(heat_.contenders[active_[place]], progress->phase);
  }

  // Whether the answer ends the measurement of the heat rather than of one contender.
  static bool is_final(const Answer& answer) {
    return answer.kind == Answer::Kind::cancelled || answer.kind == Answer::Kind::no_worker;
  }

  void fail_contender(std::size_t i, const Answer& answer) {
    const auto [status, reason] = verdict_on(answer);
    failed_[i] = failed_cell(heat_, heat_.contenders[i], status, reason);
  }

  void warn(std::string_view who, const Answer& answer, std::string_view what_now) const {
    listener_.on_warning(fmt::format("{}at {} tokens{}: {}; {}", who, heat_.point.sequence_tokens,
                                     who.empty() ? ", while no contender ran" : "",
                                     verdict_on(answer).second, what_now));
  }

  // Removes the contender that ran from the heat; false when it is unknown.
  bool drop_running_contender(const Answer& answer) {
    if (is_final(answer)) return true;
    if (!answer.contender || static_cast<std::size_t>(*answer.contender) >= active_.size())
      return false;
    const auto place = active_.begin() + *answer.contender;
    warn(heat_.contenders[*place].name + " ", answer, "continuing with the rest of the heat");
    fail_contender(*place, answer);
    active_.erase(place);
    return true;
  }

  // If a process dies while no contender runs, this may be by chance, or the late effect of a
  // contender (a corrupted heap). Therefore the heat gets a second try; then each contender runs
  // alone in a new process, and those that survive are measured together. Times of the single runs
  // are discarded, because they were measured without the other contenders.
  Answer find_cause(const Answer& answer) {
    if (!std::exchange(tried_again_, true)) {
      warn("", answer, "trying again");
      return answer;
    }
    if (active_.size() == 1) {
      fail_contender(active_.front(), answer);
      active_.clear();
      return answer;
    }
    warn("", answer, "running each contender alone to find the one that causes it");
    const std::vector<std::size_t> suspects = active_;
    std::vector<std::size_t> innocent;
    for (const std::size_t suspect : suspects) {
      active_ = {suspect};
      const Answer alone = measure_alone();
      if (is_final(alone)) return alone;
      if (alone.kind == Answer::Kind::answered) {
        innocent.push_back(suspect);
      } else {
        warn(heat_.contenders[suspect].name + ", alone, ", alone, "continuing without it");
        fail_contender(suspect, alone);
      }
    }
    const bool found = innocent.size() < suspects.size();
    active_ = found ? innocent : std::vector<std::size_t>();
    if (found) return answer;
    Answer together = answer;
    together.words += ", with all contenders together, but not with any of them alone";
    for (const std::size_t i : suspects) fail_contender(i, together);
    return answer;
  }

  std::optional<HeatResult> assemble(std::vector<HeatResult> results) const {
    HeatResult whole{.heat_index = heat_.index, .point = heat_.point, .cells = {}};
    PooledHeat pooled;
    if (!results.empty()) pooled = pool_cells(std::move(results));
    for (const std::string& warning : pooled.warnings) listener_.on_warning(warning);
    auto measured = pooled.result.cells.begin();
    for (const std::optional<Cell>& failed : failed_) {
      if (failed) {
        whole.cells.push_back(*failed);
      } else {
        whole.cells.push_back(std::move(*measured++));
      }
    }
    return whole;
  }

  const Heat& heat_;
  WorkerPool& pool_;
  const std::vector<Ceilings>& ceilings_;
  milliseconds patience_;
  const HeatListener& listener_;
  std::vector<std::vector<int>> shares_;
  std::vector<std::optional<Cell>> failed_;  // by contender
  std::vector<std::size_t> active_;          // contenders that are still measured
  bool tried_again_ = false;
};

// The larger error; NaN is the worst.
std::optional<double> worst(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a ? a : b;
  if (std::isnan(*a) || std::isnan(*b)) return std::isnan(*a) ? a : b;
  return std::max(*a, *b);
}

/// The larger peak of both processes; each measured a first call of its own.
void pool(CellMemory& into, const CellMemory& from) {
  into.requested_bytes = std::max(into.requested_bytes, from.requested_bytes);
  into.reserved_bytes = std::max(into.reserved_bytes, from.reserved_bytes);
  into.workspace_bytes = std::max(into.workspace_bytes, from.workspace_bytes);
  into.process_peak_bytes = std::max(into.process_peak_bytes, from.process_peak_bytes);
  into.cache_bytes = std::max(into.cache_bytes, from.cache_bytes);
}

void pool(Cell& into, Cell&& from, std::vector<std::string>& warnings) {
  into.relative_error = worst(into.relative_error, from.relative_error);
  if (into.status != CellStatus::ok) return;
  if (from.status != CellStatus::ok) {
    into.status = from.status;
    into.reason = std::move(from.reason);
    into.samples.clear();
    into.settled = false;
    return;
  }
  if (into.batch != from.batch) {
    warnings.push_back(
        fmt::format("{}: one process measured a batch of {}, another {}; only the first is kept",
                    into.contender.id(), into.batch, from.batch));
    return;
  }
  if (into.reason != from.reason)
    into.reason = fmt::format("{}; another process: {}", into.reason, from.reason);
  pool(into.memory, from.memory);
  into.samples.insert(into.samples.end(), from.samples.begin(), from.samples.end());
  into.settled = into.settled && from.settled;
}

}  // namespace

PooledHeat pool_cells(std::vector<HeatResult> shares) {
  PooledHeat pooled{.result = std::move(shares.front()), .warnings = {}};
  for (std::size_t share = 1; share < shares.size(); ++share) {
    for (std::size_t i = 0; i < pooled.result.cells.size(); ++i) {
      pool(pooled.result.cells[i], std::move(shares[share].cells[i]), pooled.warnings);
    }
  }
  for (Cell& cell : pooled.result.cells) {
    if (cell.status == CellStatus::ok) continue;
    cell.samples.clear();
    cell.parts.clear();
  }
  return pooled;
}

std::vector<std::vector<int>> divide_placements(int placements, int processes) {
  const int shares = std::max(1, std::min(placements, processes));
  std::vector<std::vector<int>> divided(static_cast<std::size_t>(shares));
  for (int placement = 0; placement < placements; ++placement) {
    divided[static_cast<std::size_t>(static_cast<std::int64_t>(placement) * shares / placements)]
        .push_back(placement);
  }
  return divided;
}

Result<std::optional<HeatResult>> measure_heat(const Heat& heat, WorkerPool& pool,
                                               const std::vector<Ceilings>& ceilings,
                                               std::optional<milliseconds> patience,
                                               const HeatListener& listener) {
  return HeatMeasurement(heat, pool, ceilings, patience.value_or(default_patience(heat)), listener)
      .run();
}

}  // namespace attnscope
