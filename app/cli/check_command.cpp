// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/worker_requests.h"
#include "engine/pattern/axes.h"

namespace attnscope::cli {

namespace {

/// Counts of one implementation; implementations are in order of appearance.
struct Tally {
  std::string implementation;
  int ok = 0, declined = 0, wrong = 0;
  double worst_share = 0;  // fraction of the error bound
};

class Tallies {
 public:
  void add(const nlohmann::json& row) {
    Tally& tally = of(row.value("implementation", "?"));
    const std::string outcome = row.value("outcome", "?");
    if (outcome == "ok") {
      ++tally.ok;
      const double bound = row.value("error_bound", 0.0);
      if (bound > 0)
        tally.worst_share = std::max(tally.worst_share, row.value("relative_error", 0.0) / bound);
    } else if (outcome == "declined") {
      ++tally.declined;
    } else {
      ++tally.wrong;
    }
  }

  [[nodiscard]] std::string text() const {
    std::string lines = fmt::format("{:<20}{:>8}{:>10}{:>8}  {}\n", "implementation", "ok",
                                    "declined", "wrong", "largest error / bound");
    for (const Tally& t : tallies_) {
      lines += fmt::format("{:<20}{:>8}{:>10}{:>8}  {:.2f}\n", t.implementation, t.ok, t.declined,
                           t.wrong, t.worst_share);
    }
    return lines;
  }

 private:
  Tally& of(const std::string& implementation) {
    for (Tally& tally : tallies_) {
      if (tally.implementation == implementation) return tally;
    }
    return tallies_.emplace_back(Tally{.implementation = implementation});
  }

  std::vector<Tally> tallies_;
};

std::string describe_wrong(const nlohmann::json& row) {
  return fmt::format("{} on {} w={} {} {}: {}", row.value("implementation", "?"),
                     row.value("pattern", "?"), row.value("window", ""), row.value("shape", ""),
                     row.value("dtype", ""), row.value("reason", ""));
}

void check(Session& session, const std::string& device_text, const WorkerChoice& choice) {
  const auto device = parse_device(device_text);
  if (!device) return session.fail(exit_wrong_use, device.error().message);
  auto worker = start(choice);
  if (!worker) return session.fail(exit_wrong_use, worker.error().message);
  Tallies tallies;
  int wrong = 0;
  const nlohmann::json request = {{"request", "check"},
                                  {"device", name_of(*device)},
                                  {"threads", worker_cores(worker->hello())}};
  const Status done = ask(*worker, request, [&](const nlohmann::json& event) {
    const std::string kind = event.value("event", "");
    if (kind == "check") {
      tallies.add(event);
      if (event.value("outcome", "") == "wrong") status_line(describe_wrong(event));
    }
    if (kind == "check-done") wrong = event.value("wrong", 0);
    return kind == "check-done";
  });
  if (!done) return session.fail(exit_wrong_use, done.error().message);
  print_result(session, tallies.text());
  if (wrong > 0) session.exit_code = exit_cells_failed;
}

}  // namespace

void add_check_command(CLI::App& app, Session& session) {
  auto device = std::make_shared<std::string>("cpu");
  auto worker = std::make_shared<WorkerChoice>();
  CLI::App* command = app.add_subcommand(
      "check", "Check every implementation against the float64 reference on this machine");
  command->add_option("--device", *device, "cpu or cuda")->type_name("DEVICE");
  add_worker_options(*command, *worker);
  command->callback([&session, device, worker] { check(session, *device, *worker); });
}

}  // namespace attnscope::cli
