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
  void add(const protocol::CheckRow& row) {
    Tally& tally = of(row.implementation);
    if (row.outcome == "ok") {
      ++tally.ok;
      if (row.error_bound > 0) {
        tally.worst_share =
            std::max(tally.worst_share, row.relative_error.value_or(0) / row.error_bound);
      }
    } else if (row.outcome == "declined") {
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

std::string describe_wrong(const protocol::CheckRow& row) {
  return fmt::format("{} on {} w={} {} {}: {}", row.implementation, row.pattern, row.window,
                     row.shape, row.dtype, row.reason);
}

void check(Session& session, const std::string& device_text, const WorkerChoice& choice) {
  const auto device = parse_device(device_text);
  if (!device) return session.fail(exit_wrong_use, device.error().message);
  auto worker = start(choice);
  if (!worker) return session.fail(exit_wrong_use, worker.error().message);
  Tallies tallies;
  const auto add = [&](const nlohmann::json& event) {
    const auto row = protocol::read_message<protocol::CheckRow>(event);
    if (!row) return;
    tallies.add(*row);
    if (row->outcome == "wrong") status_line(describe_wrong(*row));
  };
  const auto done =
      ask(*worker,
          protocol::CheckRequest{.device = *device, .threads = worker_cores(worker->hello())}, add);
  if (!done) return session.fail(exit_wrong_use, done.error().message);
  print_result(session, tallies.text());
  if (done->wrong > 0) session.exit_code = exit_cells_failed;
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
