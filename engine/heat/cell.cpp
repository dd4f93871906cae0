// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>
#include <utility>

#include "base/sentences.h"
#include "engine/heat/axes.h"

namespace attnscope {
namespace {

// In the order of CellStatus.
constexpr std::array<std::string_view, 7> status_names{
    "ok", "unsupported", "oom", "wrong", "crashed", "timeout", "cancelled"};

double seconds_at(double work, double per_second) {
  return work > 0 && per_second > 0 ? work / per_second : 0.0;
}

double copy_rate(const Ceilings& ceilings, double bytes, CacheState cache) {
  if (ceilings.copy.empty()) return 0;
  if (cache == CacheState::cold) return ceilings.copy.back().bytes_per_second;
  const auto holds = [bytes](const Ceilings::Copy& copy) {
    return static_cast<double>(copy.working_set_bytes) >= bytes;
  };
  const auto found = std::ranges::find_if(ceilings.copy, holds);
  return (found == ceilings.copy.end() ? ceilings.copy.back() : *found).bytes_per_second;
}

constexpr std::int64_t most_bytes = std::int64_t{1} << 50;
constexpr double most_work = 1e30;        // per call, in any unit
constexpr double most_per_second = 1e16;  // on any one device
constexpr double a_year_ns = 3.2e16;

bool is_size(std::int64_t bytes) {
  return bytes >= 0 && bytes <= most_bytes;
}

bool is_amount(double amount) {  // no NaN
  return amount >= 0 && amount <= most_work;
}

std::string why_impossible(const HeatPoint& point) {
  for (const Axis& axis : heat_axes) {
    if (axis.kind != Axis::Kind::number || !axis.belongs_to(point)) continue;
    const std::int64_t value = axis.get(point);
    if (value < axis.least || value > axis.most) return fmt::format("{} of {}", axis.key, value);
  }
  if (const std::string reason = why_impossible(point.document_lengths); !reason.empty())
    return "document_lengths with " + reason;
  return {};
}

std::string why_impossible(const Sample& sample) {
  const double took = sample.time_ns * sample.iterations;
  if (sample.iterations < 1) return fmt::format("a sample of {} calls", sample.iterations);
  // Less than a nanosecond, which no clock resolves, or not a number.
  if (!(took >= 1 && took <= a_year_ns)) return fmt::format("a time of {:g} ns", sample.time_ns);
  if (sample.process < 0 || sample.placement < 0 || sample.round < 0) {
    return fmt::format("a sample of process {}, placement {} and round {}", sample.process,
                       sample.placement, sample.round);
  }
  if (sample.involuntary_switches < 0 || !is_amount(sample.foreign_load) ||
      !is_amount(sample.clock_mhz.value_or(0)) || !is_amount(sample.cpu_ns.value_or(0)) ||
      !is_amount(sample.waited_ns.value_or(0)) || !is_amount(sample.power_w.value_or(0)) ||
      !(std::abs(sample.temperature_c.value_or(0)) < 1000))
    return "impossible conditions of a sample";
  return {};
}

std::string why_impossible(const std::vector<Sample>& samples, const CellWork& work) {
  std::set<std::pair<int, int>> rounds;
  for (const Sample& sample : samples) {
    if (std::string reason = why_impossible(sample); !reason.empty()) return reason;
    if (!rounds.emplace(sample.placement, sample.round).second)
      return fmt::format("round {} of placement {} twice", sample.round, sample.placement);
    for (const double amount : {work.useful_flop, work.least_bytes, work.exponentials}) {
      if (amount > most_per_second * 1e-9 * sample.time_ns) {
        return fmt::format("a time of {:g} ns for a work of {:g}, which is impossibly fast",
                           sample.time_ns, amount);
      }
    }
  }
  return {};
}

std::string why_impossible(const std::vector<PartTime>& parts) {
  constexpr std::size_t most = 32;
  if (parts.size() > most) return fmt::format("a call of {} parts", parts.size());
  for (const PartTime& part : parts) {
    if (part.name.empty() || part.name.size() > most || !(part.time_ns >= 0) ||
        !(part.time_ns <= a_year_ns) || !is_amount(part.useful_flop)) {
      return fmt::format("a part of a call of {:g} ns and {:g} FLOP", part.time_ns,
                         part.useful_flop);
    }
  }
  return {};
}

}  // namespace

std::string_view name_of(CellStatus status) {
  return status_names.at(static_cast<std::size_t>(status));
}

Result<CellStatus> parse_cell_status(std::string_view text) {
  const auto found = std::ranges::find(status_names, text);
  if (found == status_names.end()) {
    return fail("unknown cell status '{}'; {}", text, suggest(text, status_names));
  }
  return static_cast<CellStatus>(found - status_names.begin());
}

bool is_disturbed(const Sample& sample, int threads) {
  constexpr double held_up = 0.03;
  constexpr double share_of_cores = 0.1;
  if (sample.throttled) return true;
  if (sample.waited_ns) return *sample.waited_ns > held_up * sample.time_ns;
  return sample.involuntary_switches > 0 ||
         sample.foreign_load > share_of_cores * std::max(threads, 1);
}

bool has_unseen_memory(const CellMemory& memory) {
  constexpr double tolerated_bytes = 32 << 20;
  constexpr double tolerated_share = 1.1;
  const auto counted = static_cast<double>(std::max(memory.requested_bytes, memory.reserved_bytes));
  return memory.process_peak_bytes && static_cast<double>(*memory.process_peak_bytes) >
                                          tolerated_share * counted + tolerated_bytes;
}

std::int64_t peak_bytes(const CellMemory& memory) {
  return has_unseen_memory(memory) ? *memory.process_peak_bytes : memory.requested_bytes;
}

std::string why_impossible(const HeatPoint& point, const Cell& cell) {
  if (std::string reason = why_impossible(point); !reason.empty()) return reason;
  for (const std::int64_t tokens : {cell.query_tokens, cell.document_tokens}) {
    if (tokens < 0 || tokens > point.sequence_tokens) {
      return fmt::format("{} query and {} document tokens of {}", cell.query_tokens,
                         cell.document_tokens, point.sequence_tokens);
    }
  }
  if (cell.batch < 0 || cell.batch > std::max({point.batch_max, point.candidates, std::int64_t{1}}))
    return fmt::format("a batch of {}", cell.batch);
  const CellMemory& memory = cell.memory;
  if (!is_size(memory.requested_bytes) || !is_size(memory.reserved_bytes) ||
      !is_size(memory.workspace_bytes) || !is_size(memory.process_peak_bytes.value_or(0)) ||
      !is_size(memory.cache_bytes.value_or(0)))
    return "an impossible memory size";
  const CellWork& work = cell.work;
  for (const double amount : {work.useful_flop, work.least_bytes, work.exponentials,
                              work.executed_flop, work.executed_bytes}) {
    if (!is_amount(amount)) return fmt::format("a work of {:g}", amount);
  }
  if (std::string reason = why_impossible(cell.parts); !reason.empty()) return reason;
  if (cell.status != CellStatus::ok) {
    if (cell.samples.empty()) return {};
    return fmt::format("{} of a cell that is {}", counted(cell.samples.size(), "sample"),
                       name_of(cell.status));
  }
  if (cell.batch == 0) return "a batch of 0";
  constexpr double largest_bound = 10;  // every dtype here is finer than that
  const double error = cell.relative_error.value_or(0), bound = cell.error_bound.value_or(0);
  if (error < 0 || bound < 0 || bound > largest_bound)
    return fmt::format("an error of {:g} with a bound of {:g}", error, bound);
  return why_impossible(cell.samples, work);
}

std::string why_unproven(const Cell& cell) {
  if (cell.relative_error && cell.error_bound && *cell.relative_error <= *cell.error_bound)
    return {};
  if (!cell.relative_error) return "an error that was not reported";
  return fmt::format("an error of {:.2g}{}", *cell.relative_error,
                     cell.error_bound
                         ? fmt::format(", above the bound of {:.2g}", *cell.error_bound)
                         : std::string(" without a bound"));
}

bool is_possible(const Ceilings& ceilings) {
  // A hundred times the rate of today's processor cores, and of any device.
  constexpr double most_of_a_thread = 1e14, most = 1e21;
  const double limit = ceilings.threads > 0 ? most_of_a_thread * ceilings.threads : most;
  const auto is_rate = [&](double rate) { return rate >= 0 && rate < limit; };  // no NaN
  return ceilings.flop_per_second > 0 && is_rate(ceilings.flop_per_second) &&
         is_rate(ceilings.exponentials_per_second) && is_rate(ceilings.tensor_flop_per_second) &&
         std::ranges::adjacent_find(ceilings.copy, std::ranges::greater_equal(),
                                    &Ceilings::Copy::working_set_bytes) == ceilings.copy.end() &&
         std::ranges::all_of(ceilings.copy, [&](const Ceilings::Copy& copy) {
           return copy.working_set_bytes > 0 && is_rate(copy.bytes_per_second);
         });
}

bool are_ceilings_of(const Ceilings& ceilings, const HeatPoint& point) {
  if (ceilings.device != point.device) return false;
  if (point.device == DeviceKind::cpu)
    return ceilings.threads == point.threads && point.dtype == DType::float32;
  return point.dtype == DType::float32 || ceilings.tensor_flop_per_second > 0;
}

double limit_ns(const CellWork& work, const Ceilings& ceilings, CacheState cache, DType dtype) {
  const bool on_tensor_cores = dtype != DType::float32 && ceilings.tensor_flop_per_second > 0;
  const double flop_per_second =
      on_tensor_cores ? ceilings.tensor_flop_per_second : ceilings.flop_per_second;
  return 1e9 * std::max({seconds_at(work.useful_flop, flop_per_second),
                         seconds_at(work.least_bytes, copy_rate(ceilings, work.least_bytes, cache)),
                         seconds_at(work.exponentials, ceilings.exponentials_per_second)});
}

}  // namespace attnscope
