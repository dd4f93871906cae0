// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/estimate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "base/spawn.h"
#include "engine/pattern/sequence_layout.h"
#include "engine/sweep/driver.h"
#include "engine/sweep/heat_measurement.h"
#include "engine/worker/worker_pool.h"

namespace attnscope {
namespace {

using Clock = std::chrono::steady_clock;

// Constants of the worker's grouping of short calls
// (engine/measure/rounds.cpp).
constexpr double sample_seconds = 1.2e-3, untimed_call_below = 0.1;

/// Number of calls of one sample, including the untimed one before it.
double calls_of_sample(double call_seconds) {
  return std::max(std::ceil(sample_seconds / call_seconds), 1.0) +
         (call_seconds < untimed_call_below ? 1 : 0);
}

double warm_up_seconds(double call_seconds) {
  if (call_seconds >= untimed_call_below) return 0;  // the check's call was the warm-up
  return call_seconds >= 20e-3 ? call_seconds : std::max(3 * call_seconds, 5e-3);
}

int share(int count, int placements) {
  return (count + placements - 1) / placements;
}

int processes_of(const Heat& heat) {
  return static_cast<int>(divide_placements(heat.stop.placements, heat.stop.processes).size());
}

/// Number of a model's calls whose parts are timed, once for each heat.
double calls_by_part(double call_seconds) {
  return std::clamp(std::ceil(1 / call_seconds), 1.0, 3.0);
}

/// The number of rounds differs between placements and is largest at a process's first one, so a
/// trial measures up to two.
int trial_placements(const Heat& heat) {
  return std::clamp(heat.stop.placements, 1, 2);
}

/// The heat as a trial measures it: in one process, with fewer placements.
Heat trial_of(Heat heat) {
  const int placements = std::max(heat.stop.placements, 1), tried = trial_placements(heat);
  heat.stop.max_seconds *= static_cast<double>(tried) / placements;
  heat.stop.min_samples = tried * std::max(3, share(heat.stop.min_samples, placements));
  heat.stop.placements = tried;
  heat.stop.processes = 1;
  return heat;
}

double median_seconds(const Cell& cell) {
  std::vector<double> times;
  for (const Sample& sample : cell.samples) times.push_back(sample.time_ns * 1e-9);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

/// Value at `x` of the curve through these points, linear in logarithms. Beyond the last point it
/// continues with its last slope, limited to `least` ... `most`; a single point has the slope
/// `least`. Points are in ascending order, at least one.
double on_curve(const std::vector<std::pair<double, double>>& points, double x, double least,
                double most) {
  const auto slope_to = [&](std::size_t i) {
    return std::log(points[i].second / points[i - 1].second) /
           std::log(points[i].first / points[i - 1].first);
  };
  const auto from = [&](std::size_t i, double slope) {
    return points[i].second * std::pow(x / points[i].first, slope);
  };
  if (x <= points.front().first) return points.front().second;
  for (std::size_t i = 1; i < points.size(); ++i)
    if (x <= points[i].first) return from(i - 1, slope_to(i));
  const std::size_t last = points.size() - 1;
  return from(last, last == 0 ? least : std::clamp(slope_to(last), least, most));
}

}  // namespace

ItemCost SettingTimes::cost_of(const Contender& contender, const HeatPoint& point) const {
  const auto known = costs_.find(contender.id());
  ItemCost cost{.tokens = point.sequence_tokens, .flop = 0, .bytes = item_bytes(point)};
  if (known == costs_.end() || known->second.empty()) return cost;
  const auto at = [&](double ItemCost::*value) {
    std::vector<std::pair<double, double>> points;
    for (const ItemCost& counted : known->second) {
      if (counted.*value > 0)
        points.emplace_back(static_cast<double>(counted.tokens), counted.*value);
    }
    // Beyond the counted lengths, the work grows at least linearly.
    return points.empty() ? 0
                          : on_curve(points, static_cast<double>(point.sequence_tokens), 1,
                                     std::numeric_limits<double>::infinity());
  };
  cost.flop = at(&ItemCost::flop);
  cost.bytes = std::max(cost.bytes, at(&ItemCost::bytes));
  return cost;
}

/// Number of items in a call: as many as fit into a batch's memory, for this contender or for every
/// contender of the heat.
double SettingTimes::items(const Heat& heat, const Contender& contender) const {
  const HeatPoint& point = heat.point;
  if (point.candidates > 0) return static_cast<double>(point.candidates);
  double bytes = cost_of(contender, point).bytes;
  if (!point.batch_per_contender) {
    for (const Contender& other : heat.contenders)
      bytes = std::max(bytes, cost_of(other, point).bytes);
  }
  const double budget =
      std::min(free_bytes_, static_cast<double>(point.batch_memory_mb) * 1024 * 1024);
  return std::clamp(std::floor(budget / std::max(bytes, 1.0)), 1.0,
                    static_cast<double>(std::max<std::int64_t>(point.batch_max, 1)));
}

/// Time of this heat, scaled by work from the times of the trials. Beyond the last trial the time
/// per work follows its trend, with an exponent of at most `most_slope`.
template <typename Seconds, typename Work>
double SettingTimes::scaled(const Heat& heat, double most_slope, const Seconds& seconds_of,
                            const Work& work_of) const {
  std::vector<std::pair<double, double>> units;
  for (const Trial& trial : trials_) {
    Heat tried = heat;
    tried.point = trial.point;
    const double seconds = seconds_of(trial), work = work_of(tried);
    if (seconds > 0 && work > 0)
      units.emplace_back(static_cast<double>(trial.point.sequence_tokens), seconds / work);
  }
  if (units.empty()) return 0;
  return work_of(heat) *
         on_curve(units, static_cast<double>(heat.point.sequence_tokens), 0, most_slope);
}

SettingTimes::Expected SettingTimes::expect(const Heat& heat) const {
  const int placements = std::max(heat.stop.placements, 1);
  const double time_limit = heat.stop.max_seconds / placements;
  const auto distance = [&](const Trial& trial) {
    return std::abs(std::log(static_cast<double>(trial.point.sequence_tokens) /
                             static_cast<double>(heat.point.sequence_tokens)));
  };
  const Trial& nearest = *std::ranges::min_element(trials_, {}, distance);
  const auto all_tokens = [&](const Heat& of, const Contender& contender) {
    return static_cast<double>(of.point.sequence_tokens) * items(of, contender);
  };

  Expected expected;
  for (const Contender& contender : heat.contenders) {
    const auto tried = [&](const Trial& trial) {
      const auto found = trial.contenders.find(contender.id());
      return found == trial.contenders.end() ? Trial::Contender() : found->second;
    };
    const bool counted = cost_of(contender, heat.point).flop > 0;
    const auto tokens_of = [&](const Heat& of) { return all_tokens(of, contender); };
    const double call = scaled(
        heat, counted ? 0 : 1, [&](const Trial& trial) { return tried(trial).call_seconds; },
        [&](const Heat& of) {
          return counted ? cost_of(contender, of.point).flop * items(of, contender) : tokens_of(of);
        });
    const double rest_of_check = scaled(
        heat, 1,
        [&](const Trial& trial) { return tried(trial).check_seconds - tried(trial).call_seconds; },
        tokens_of);
    if (cost_of(contender, heat.point).bytes > free_bytes_) continue;  // out of memory
    expected.once_per_process += call + rest_of_check;
    if (call <= 0) continue;  // not measured; its check reported the reason
    const double sample = nearest.overhead * call * calls_of_sample(call);
    const double most =
        std::max<double>(share(3, placements), std::ceil(nearest.stretch * time_limit / sample));
    expected.once_per_process += warm_up_seconds(call);
    for (const double rounds : nearest.rounds) {
      expected.per_placement +=
          sample * std::min(rounds, most) / static_cast<double>(nearest.rounds.size());
    }
    if (heat.point.operation == Operation::model) expected.once += call * calls_by_part(call);
  }
  // The time to start a process and to create the inputs, which grow with the tokens.
  const auto tokens_at = [&](const Trial& trial) {
    Heat tried = heat;
    tried.point = trial.point;
    return all_tokens(tried, heat.contenders.front());
  };
  const Trial &first = trials_.front(), &last = trials_.back();
  const double more_tokens = tokens_at(last) - tokens_at(first);
  const double slope =
      more_tokens > 0 ? std::max(last.other_seconds - first.other_seconds, 0.0) / more_tokens : 0;
  expected.once_per_process +=
      first.other_seconds +
      slope * std::max(all_tokens(heat, heat.contenders.front()) - tokens_at(first), 0.0);
  return expected;
}

double SettingTimes::seconds(const Heat& heat) const {
  const Expected expected = expect(heat);
  return processes_of(heat) * expected.once_per_process +
         std::max(heat.stop.placements, 1) * expected.per_placement + expected.once;
}

double SettingTimes::trial_seconds(const Heat& heat) const {
  const Expected expected = expect(heat);
  return expected.once_per_process + trial_placements(heat) * expected.per_placement +
         expected.once;
}

Result<protocol::CostsRequest> costs_request(const AttentionPattern& pattern,
                                             std::optional<Window> window, const std::string& model,
                                             const HeatPoint& point, int cores) {
  const auto sizes = group_sizes(point);
  if (!sizes) return tl::unexpected(sizes.error());
  LayoutItem item;
  item.cls = sizes->cls;
  item.query = point.shared_query ? 0 : sizes->query;
  item.documents = sizes->documents;
  const auto layout = SequenceLayout::make({item}, point.shared_query ? sizes->query : 0);
  if (!layout) return tl::unexpected(layout.error());
  protocol::CostsRequest request{.pattern = pattern,
                                 .window = {pattern.has_window() ? window : std::nullopt},
                                 .layout_json = layout_json(*layout),
                                 .layout_source = "one item",
                                 .heads = point.heads,
                                 .head_dim = point.head_dim,
                                 .dtype = point.dtype,
                                 .direction = point.direction,
                                 .operation = point.operation,
                                 .device = point.device,
                                 .threads = point.threads > 0 ? point.threads : cores};
  if (point.operation == Operation::model) {
    request.operation = Operation::attention;
    request.model = model;
    request.layers = point.layers;
    request.feed_forward = point.feed_forward;
    request.document_tokens = sizes->document - 1;
  }
  return request;
}

std::vector<std::vector<const Heat*>> settings_of(const std::vector<Heat>& heats) {
  std::map<std::string, std::size_t> places;
  std::vector<std::vector<const Heat*>> settings;
  for (const Heat& heat : heats) {
    HeatPoint setting = heat.point;
    setting.sequence_tokens = 0;
    const auto [place, is_new] = places.try_emplace(point_key(setting), settings.size());
    if (is_new) settings.emplace_back();
    settings[place->second].push_back(&heat);
  }
  return settings;
}

std::optional<double> free_bytes(const protocol::Hello& hello, DeviceKind device) {
  const auto bytes = hello.device.find("available_bytes");
  const bool is_known =
      device == DeviceKind::cpu && bytes != hello.device.end() && bytes->is_number();
  return is_known ? std::optional(bytes->get<double>()) : std::nullopt;
}

namespace {

/// Adds the linear layers to the counted costs of a model, which are those of one layer's
/// attention: on short sequences the linear layers dominate. 0, for a family without layers, stays
/// 0.
double with_linear_layers(double attention_flop, const HeatPoint& point) {
  if (point.operation != Operation::model || attention_flop <= 0) return attention_flop;
  const auto width = static_cast<double>(point.heads * point.head_dim);
  const double weights = 4 * width * width + 2 * width * static_cast<double>(point.feed_forward);
  return attention_flop + 2 * static_cast<double>(point.sequence_tokens) * weights;
}

/// When a phase of a trial started, and of which contender.
struct PhaseStart {
  std::size_t contender;
  std::string phase;
  Clock::time_point time;
};

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

Trial read_trial(const Heat& heat, const HeatResult& result, const std::vector<PhaseStart>& phases,
                 Clock::time_point began, Clock::time_point ended) {
  Trial trial{.point = heat.point, .rounds = {}, .contenders = {}};
  double checks = 0, sampling = 0, calls = 0;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const auto until = i + 1 < phases.size() ? phases[i + 1].time : ended;
    const double seconds = seconds_between(phases[i].time, until);
    if (phases[i].phase == "check") {
      trial.contenders[heat.contenders[phases[i].contender].id()].check_seconds = seconds;
      checks += seconds;
    } else if (phases[i].phase == "time") {
      sampling += seconds;
    }
  }
  trial.other_seconds = std::max(seconds_between(began, ended) - checks - sampling, 0.0);
  trial.rounds.resize(static_cast<std::size_t>(heat.stop.placements));
  double longest = 0;  // total time of the calls of one contender
  for (const Cell& cell : result.cells) {
    if (cell.status != CellStatus::ok || cell.samples.empty()) continue;
    const double call = median_seconds(cell);
    trial.contenders[cell.contender.id()].call_seconds = call;
    const double own = static_cast<double>(cell.samples.size()) * call * calls_of_sample(call);
    calls += own;
    if (cell.samples.size() > 3 * trial.rounds.size()) longest = std::max(longest, own);
    sampling -= warm_up_seconds(call);
    for (const PartTime& part : cell.parts) sampling -= part.time_ns * 1e-9 * calls_by_part(call);
    for (const Sample& sample : cell.samples) {
      double& rounds = trial.rounds.at(static_cast<std::size_t>(sample.placement));
      rounds = std::max(rounds, sample.round + 1.0);
    }
  }
  if (calls > 0) trial.overhead = std::max(sampling / calls, 1.0);
  trial.stretch = std::clamp(longest * trial.overhead / heat.stop.max_seconds, 1.0, 2.0);
  return trial;
}

class Estimation {
 public:
  Estimation(std::vector<Heat> heats, WorkerPool pool, const EstimateOptions& options)
      : heats_(std::move(heats)), pool_(std::move(pool)), options_(options) {}

  Result<std::optional<Estimate>> run(double start_seconds) {
    estimate_.seconds = start_seconds;
    if (const Status done = add_ceilings(); !done) return tl::unexpected(done.error());
    for (const std::vector<const Heat*>& setting : settings_of(heats_)) {
      if (const Status done = add_setting(setting); !done) return tl::unexpected(done.error());
      if (pool_.is_cancelled()) return std::nullopt;
    }
    return estimate_;
  }

 private:
  /// A run measures the machine's rates before and after its heats.
  Status add_ceilings() {
    for (const protocol::CeilingsRequest& request : ceilings_requests(heats_)) {
      const auto began = Clock::now();
      const auto answer = pool_.ask(request, patience);
      if (answer.kind == Kind::cancelled) return {};
      if (answer.kind == Kind::no_worker) return fail("{}", answer.words);
      estimate_.seconds += 2 * seconds_between(began, Clock::now());
    }
    return {};
  }

  Status add_setting(const std::vector<const Heat*>& heats) {
    SettingTimes times(costs_of(heats), free_bytes(pool_.hello(), heats.front()->point.device)
                                            .value_or(std::numeric_limits<double>::infinity()));
    const auto add_trial = [&](const Heat& heat) -> Status {
      auto trial = make_trial(heat);
      if (!trial) return tl::unexpected(trial.error());
      if (!*trial) return {};
      times.add(std::move(**trial));
      estimate_.measured.push_back(heat.point);
      return {};
    };
    if (Status done = add_trial(*heats.front()); !done || pool_.is_cancelled()) return done;
    // A second trial, at the greatest length whose trial takes a small part of the whole time.
    constexpr double part = 0.08, always_seconds = 4;
    double whole = 0;
    for (const Heat* heat : heats) whole += times.seconds(*heat);
    const auto second = std::find_if(heats.rbegin(), heats.rend() - 1, [&](const Heat* heat) {
      return times.trial_seconds(*heat) <= std::max(part * whole, always_seconds);
    });
    if (second != heats.rend() - 1) {
      if (Status done = add_trial(**second); !done || pool_.is_cancelled()) return done;
    }
    for (const Heat* heat : heats) estimate_.seconds += times.seconds(*heat);
    return {};
  }

  /// Costs of each contender at the first length, the last and two between them.
  std::map<std::string, std::vector<ItemCost>> costs_of(const std::vector<const Heat*>& heats) {
    std::set<std::size_t> places;
    for (std::size_t i = 0; i < 4; ++i) places.insert(i * (heats.size() - 1) / 3);
    std::map<std::string, std::vector<ItemCost>> costs;
    for (const std::size_t place : places) {
      const Heat& heat = *heats[place];
      if (heat.point.sequence_tokens > most_counted_tokens) continue;
      std::map<std::string, protocol::CountedCosts> answers;  // keyed by request
      for (const Contender& contender : heat.contenders) {
        const auto pattern = parse_pattern(contender.pattern_json, contender.pattern);
        if (!pattern) continue;
        const auto request = costs_request(*pattern, contender.window,
                                           contender.model.substr(0, contender.model.find('+')),
                                           heat.point, heat.point.threads);
        if (!request) continue;
        const auto [answer, is_new] = answers.try_emplace(protocol::as_request(*request).dump());
        if (is_new) {
          answer->second =
              protocol::read_message<protocol::CountedCosts>(pool_.ask(*request, patience).event)
                  .value_or(protocol::CountedCosts());
        }
        for (const protocol::ImplementationCosts& row : answer->second.implementations) {
          if (row.id != contender.implementation || !row.reason.empty()) continue;
          costs[contender.id()].push_back(
              {.tokens = heat.point.sequence_tokens,
               .flop = with_linear_layers(row.executed_flop.value_or(0), heat.point),
               .bytes = item_bytes(heat.point) + static_cast<double>(row.peak_bytes.value_or(0))});
        }
      }
    }
    return costs;
  }

  Result<std::optional<Trial>> make_trial(const Heat& heat) {
    options_.on_trial(heat);
    const Heat tried = trial_of(heat);
    if (processes_of(heat) > 1) pool_.dismiss();  // a new process, as for each process of the run
    std::vector<PhaseStart> phases;
    const HeatListener listener{
        .on_phase =
            [&](const Contender& contender, const std::string& phase) {
              const auto place = std::ranges::find(tried.contenders, contender);
              phases.push_back({static_cast<std::size_t>(place - tried.contenders.begin()), phase,
                                Clock::now()});
            },
        .on_warning = [](const std::string&) {}};
    const auto began = Clock::now();
    const auto result = measure_heat(tried, pool_, {}, {}, listener);
    if (!result) return tl::unexpected(result.error());
    if (!*result) return std::nullopt;
    return read_trial(tried, **result, phases, began, Clock::now());
  }

  using Kind = WorkerPool::Answer::Kind;
  static constexpr WorkerPool::Patience patience{std::chrono::minutes(2), std::chrono::minutes(10)};

  std::vector<Heat> heats_;
  WorkerPool pool_;
  const EstimateOptions& options_;
  Estimate estimate_;
};

}  // namespace

Result<std::optional<Estimate>> estimate_sweep(const Sweep& sweep, const EstimateOptions& options) {
  const auto began = Clock::now();
  auto pool =
      WorkerPool::start(options.worker_command, options.with, {}, options.cancel, memory_kills);
  if (!pool) return tl::unexpected(pool.error());
  const double start_seconds = seconds_between(began, Clock::now());
  if (const Status known = check_implementations(sweep.heats, pool->hello()); !known)
    return tl::unexpected(known.error());
  std::vector<Heat> heats = sweep.heats;
  for (Heat& heat : heats)
    if (heat.point.threads == 0) heat.point.threads = worker_cores(pool->hello());
  return Estimation(std::move(heats), std::move(*pool), options).run(start_seconds);
}

}  // namespace attnscope
