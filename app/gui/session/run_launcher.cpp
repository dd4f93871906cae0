// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/run_launcher.h"

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <algorithm>
#include <csignal>
#include <utility>

#include "app/gui/session/program.h"
#include "app/gui/session/text.h"
#include "engine/store/store.h"
#include "engine/sweep/pause.h"
#include "kernels/base/written_file.h"

namespace attnscope::gui {
namespace {

constexpr int watch_ms = 250;
constexpr int looks_after_end = 20;

/// Where a started run's sweep and standard error go; the time tells runs apart.
QString new_stem() {
  return data_folder() + QStringLiteral("/started/") +
         QDateTime::currentDateTimeUtc().toString(QStringLiteral("yyyyMMdd-HHmmss-zzz"));
}

/// What the end of a child's standard error says.
QString said_in(const QString& file) {
  constexpr qint64 most_of_log = 64 << 10;
  QFile log(file);
  if (!log.open(QIODevice::ReadOnly)) return {};
  log.seek(std::max<qint64>(0, log.size() - most_of_log));
  return last_sentence(log.read(most_of_log));
}

}  // namespace

RunLauncher::RunLauncher(std::filesystem::path database, QObject* parent)
    : QObject(parent), database_(std::move(database)) {
  watch_.setInterval(watch_ms);
  connect(&watch_, &QTimer::timeout, this, &RunLauncher::watch);
}

void RunLauncher::start(const std::string& sweep_text) {
  const QString stem = new_stem();
  const QString sweep_file = stem + QStringLiteral(".json");
  // A folder that cannot be made is told by the file that cannot be written.
  QDir().mkpath(QFileInfo(stem).path());
  if (Status written = write_file(sweep_file.toStdString(), sweep_text); !written) {
    Q_EMIT failed(words(written.error().message));
    return;
  }
  start_child({QStringLiteral("run"), sweep_file}, stem);
}

void RunLauncher::resume(const RunInfo& run) {
  start_on_run(QStringLiteral("--resume"), run);
}

void RunLauncher::again(const RunInfo& run) {
  start_on_run(QStringLiteral("--again"), run);
}

void RunLauncher::start_on_run(const QString& option, const RunInfo& run) {
  const QString stem = new_stem();
  QDir().mkpath(QFileInfo(stem).path());
  start_child({QStringLiteral("run"), option, words(run.id.uuid)}, stem);
}

void RunLauncher::start_child(const QStringList& arguments, const QString& stem) {
  Child child{0, stem + QStringLiteral(".log")};
  QProcess process;
  process.setProgram(attnscope_program());
  process.setArguments(arguments + QStringList{QStringLiteral("--db"), words(database_.string()),
                                               QStringLiteral("--quiet")});
  process.setStandardInputFile(QProcess::nullDevice());
  process.setStandardOutputFile(QProcess::nullDevice());
  process.setStandardErrorFile(child.log);
  if (!process.startDetached(&child.process_id)) {
    Q_EMIT failed(tr("Cannot start %1: %2.").arg(process.program(), process.errorString()));
    return;
  }
  children_.push_back(child);
  watch_.start();
  Q_EMIT starting();
}

void RunLauncher::cancel(const RunInfo& run) {
  if (run.start.process_id <= 0 || !is_alive(run.start.process_id, run.start.process_start_ticks)) {
    Q_EMIT failed(tr("Run %1 has no process any more; nothing is left to cancel.").arg(run.number));
    return;
  }
  if (::kill(static_cast<pid_t>(run.start.process_id), SIGINT) != 0) {
    Q_EMIT failed(
        tr("Run %1 belongs to another user and cannot be cancelled from here.").arg(run.number));
  }
}

void RunLauncher::pause(const RunInfo& run) {
  if (const Status asked = ask_to_pause(run); !asked) Q_EMIT failed(words(asked.error().message));
}

void RunLauncher::go_on(const RunInfo& run) {
  if (const Status asked = ask_to_continue(run); !asked)
    Q_EMIT failed(words(asked.error().message));
}

void RunLauncher::see_runs(const RunListPointer& runs) {
  runs_ = runs;
  watch();
}

void RunLauncher::watch() {
  std::vector<Child> waiting;
  for (const Child& child : std::exchange(children_, {})) {
    const RunEntry* begun = nullptr;
    if (runs_) {
      const auto found = std::find_if(
          runs_->runs.begin(), runs_->runs.end(),
          [&](const RunEntry& entry) { return entry.info.start.process_id == child.process_id; });
      if (found != runs_->runs.end()) begun = &*found;
    }
    if (begun) {
      Q_EMIT started(words(begun->info.id.uuid));
    } else if (is_running(child.process_id)) {
      waiting.push_back(child);
    } else if (const QString sentence = said_in(child.log); !sentence.isEmpty()) {
      Q_EMIT failed(sentence);
    } else if (child.looks < looks_after_end) {
      // Without a word it has finished a run that one of the next looks at the store shows.
      waiting.push_back({child.process_id, child.log, child.looks + 1});
    } else {
      Q_EMIT failed(tr("The run's process ended without a word, and %1 has no run of it. Was it "
                       "killed, or the database replaced?")
                        .arg(words(database_.string())));
    }
  }
  children_.insert(children_.end(), waiting.begin(), waiting.end());
  if (children_.empty()) watch_.stop();
}

}  // namespace attnscope::gui
