// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/benchmark/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <span>

#include "engine/heat/model_row.h"
#include "engine/measure/ceilings.h"
#include "engine/measure/conditions.h"
#include "engine/model/model_weights.h"
#include "engine/statistics/interval.h"

namespace attnscope {
namespace {

/// Means of logarithms: "0.82 (0.80 to 0.84)".
std::string with_interval(const std::vector<double>& values) {
  // A difference of two disturbed times is not always positive.
  if (std::ranges::any_of(values, [](double value) { return !(value > 0); }))
    return "not measurable alongside other programs; repeat it";
  std::vector<double> logarithms;
  logarithms.reserve(values.size());
  for (const double value : values) logarithms.push_back(std::log(value));
  const double mean = statistics::mean_of(logarithms);
  const double half = statistics::student_half_width(logarithms);
  return fmt::format("{:.3g} ({:.3g} to {:.3g})", std::exp(mean), std::exp(mean - half),
                     std::exp(mean + half));
}

/// Seconds of a call, and the share of its time that its threads waited for cores used by others.
struct Held {
  double seconds = 0, share = 0;
};
/// Limit for the samples of a run (is_disturbed).
constexpr double most_held_up = 0.03;

/// Repeats the call until it is undisturbed, or returns the least disturbed of a few.
Held least_held_up(const Case& of, const measure::OwnTimesMeter& meter) {
  using Clock = std::chrono::steady_clock;
  constexpr int most_calls = 4;
  Held least{.share = INFINITY};
  for (int call = 0; call < most_calls && least.share > most_held_up; ++call) {
    const auto waited = [&] { return 1e-9 * meter.read().waited_ns.value_or(0); };
    const double before = waited();
    const auto start = Clock::now();
    Held held{.seconds = of.take()};
    const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    held.share = (waited() - before) / elapsed;
    if (held.share < least.share) least = held;
  }
  return least;
}

DocumentCache drawn(Model& model, const CachedDocuments& documents) {
  const CachedRows kept = needed(model.cached_rows(documents.tokens));
  std::vector<std::int64_t> offsets;
  offsets.reserve(static_cast<std::size_t>(documents.count) + 1);
  for (std::int64_t i = 0; i <= documents.count; ++i) offsets.push_back(i * kept.rows);
  std::vector<std::byte> bytes(static_cast<std::size_t>(offsets.back() * kept.width) *
                               sizeof(float));
  std::mt19937 draw(1);
  std::uniform_real_distribution<float> number(-1, 1);
  auto* values = reinterpret_cast<float*>(bytes.data());
  for (std::size_t i = 0; i < bytes.size() / sizeof(float); ++i) values[i] = number(draw);
  const DocumentCache one =
      needed(model.encode_documents({&documents.one_document, 1}, documents.cls));
  DocumentCache all(one.maker(), kept.width, std::move(offsets), std::move(bytes));
  return documents.format ? needed(all.narrowed(*documents.format)) : std::move(all);
}

}  // namespace

int argument(int argc, char** argv, int place, int otherwise) {
  const std::int64_t given = argc > place ? std::strtoll(argv[place], nullptr, 10) : otherwise;
  return static_cast<int>(std::max<std::int64_t>(given, 1));
}

CellWork cell_work(const ModelWork& work) {
  return {.useful_flop = work.linear_flop + work.attention_flop,
          .least_bytes = work.least_bytes,
          .exponentials = work.exponentials};
}

std::unique_ptr<Model> Figures::model(const std::string& name, const ModelShape& shape,
                                      const std::string& implementation) const {
  const ModelRow row = needed(parse_model_row(name));
  const auto weights = ModelWeights::random(row.family->config_for(shape, {&row, 1}), {});
  return needed(family_of(*row.family)
                    .make(weights,
                          {.pattern = *find_pattern(row.pattern),
                           .window = Window::of(16),
                           .options = row.options,
                           .threads = threads_},
                          implementation));
}

Case& Figures::add(std::string name, const std::function<void()>& call, const CellWork& work,
                   int calls) {
  Case& added = add_timed(std::move(name), [call, calls] {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
  });
  added.work = work;
  return added;
}

Case& Figures::add_timed(std::string name, std::function<double()> take) {
  return *cases_.emplace_back(
      std::make_unique<Case>(Case{.name = std::move(name), .take = std::move(take)}));
}

Case& Figures::add_cached(std::string name, const std::shared_ptr<Model>& model,
                          const CachedDocuments& documents) {
  const auto cache = std::make_shared<const DocumentCache>(drawn(*model, documents));
  auto batch = std::make_shared<PairBatch>();
  batch->one_query = true;
  batch->documents = cache.get();
  batch->items.reserve(static_cast<std::size_t>(documents.count));
  for (std::int64_t i = 0; i < documents.count; ++i)
    batch->items.push_back({documents.query, {}, i});
  CellWork work = cell_work(needed(model->work(*batch)));
  work.least_bytes = static_cast<double>(cache->bytes());
  return add(
      std::move(name), [model, cache, batch] { static_cast<void>(needed(model->score(*batch))); },
      work);
}

void Figures::measure(int rounds) {
  for (const auto& timed : cases_) timed->take();  // warms up, and starts all threads
  const measure::OwnTimesMeter meter;
  for (int round = 0; round < rounds; ++round) {
    see(measure::measure_ceilings(threads_));
    for (const auto& timed : cases_) {
      const Held held = least_held_up(*timed, meter);
      timed->seconds.push_back(held.seconds);
      if (held.share > most_held_up) ++held_up_;
    }
  }
}

void Figures::print() const {
  fmt::print("reached here: {:.1f} GFLOP/s; {:.2f} G exponentials/s; copies of",
             best_.flop_per_second * 1e-9, best_.exponentials_per_second * 1e-9);
  for (const Ceilings::Copy& copy : best_.copy) {
    fmt::print(" {:.0f} MB {:.1f} GB/s,", static_cast<double>(copy.working_set_bytes) * 1e-6,
               copy.bytes_per_second * 1e-9);
  }
  std::size_t taken = 0;
  for (const auto& timed : cases_) taken += timed->seconds.size();
  fmt::print("\n{} of {} times were held up by other programs\n", held_up_, taken);
  for (const auto& timed : cases_) {
    std::vector<double> ms;
    ms.reserve(timed->seconds.size());
    for (const double seconds : timed->seconds) ms.push_back(seconds * 1e3);
    fmt::print("{:<58} {} ms\n", timed->name, with_interval(ms));
  }
}

void Figures::print_share(const char* what, const Case& of, const char* reach) const {
  std::vector<double> shares;
  shares.reserve(of.seconds.size());
  for (const double seconds : of.seconds)
    shares.push_back(of.work.useful_flop / best_.flop_per_second / seconds);
  fmt::print("{:<58} {} of the multiply-adds, to reach: {}\n", what, with_interval(shares), reach);
}

void Figures::print_share_of_limit(const char* what, const CellWork& work, const Case& of,
                                   const char* reach) const {
  const double limit = 1e-9 * limit_ns(work, best_);
  std::vector<double> shares;
  shares.reserve(of.seconds.size());
  for (const double seconds : of.seconds) shares.push_back(limit / seconds);
  const auto bounds = [&](double amount, double rate) { return amount / rate >= limit * 0.999; };
  const char* bound = bounds(work.useful_flop, best_.flop_per_second)            ? "multiply-adds"
                      : bounds(work.exponentials, best_.exponentials_per_second) ? "exponentials"
                                                                                 : "memory";
  fmt::print("{:<58} {} of the limit ({}, {:.3g} ms), to reach: {}\n", what, with_interval(shares),
             bound, limit * 1e3, reach);
}

void Figures::print_rate(const char* what, double bytes, const std::vector<double>& seconds,
                         const Case& copy, const char* reach) {
  std::vector<double> shares;
  shares.reserve(seconds.size());
  for (std::size_t i = 0; i < seconds.size(); ++i)
    shares.push_back(bytes / seconds[i] * copy.seconds[i] / copy.work.least_bytes);
  fmt::print("{:<58} {} of the copy's rate, to reach: {}\n", what, with_interval(shares), reach);
}

void Figures::print_times(const char* what, const Case& faster, const Case& slower, double scale,
                          const char* reach) {
  std::vector<double> times;
  times.reserve(faster.seconds.size());
  for (std::size_t i = 0; i < faster.seconds.size(); ++i)
    times.push_back(scale * slower.seconds[i] / faster.seconds[i]);
  fmt::print("{:<58} {}x, to reach: {}\n", what, with_interval(times), reach);
}

void Figures::see(const Ceilings& now) {
  if (best_.copy.empty()) best_ = now;
  best_.flop_per_second = std::max(best_.flop_per_second, now.flop_per_second);
  best_.exponentials_per_second =
      std::max(best_.exponentials_per_second, now.exponentials_per_second);
  for (std::size_t i = 0; i < std::min(best_.copy.size(), now.copy.size()); ++i) {
    best_.copy[i].bytes_per_second =
        std::max(best_.copy[i].bytes_per_second, now.copy[i].bytes_per_second);
  }
}

}  // namespace attnscope
