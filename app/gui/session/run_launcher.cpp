// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/run_launcher.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <algorithm>
#include <csignal>
#include <utility>

#include "app/gui/session/program.h"
#include "app/gui/session/text.h"
#include "base/written_file.h"
#include "engine/ranking/training_curve.h"
#include "engine/store/store.h"
#include "engine/sweep/pause.h"

namespace attnscope::gui {
namespace {

constexpr int watch_ms = 250;
constexpr int max_checks_after_end = 20;

/// Base path of a started process's input files and its standard error; the time makes it unique.
/// If the folder cannot be created, writing the file reports the error.
QString new_stem() {
  const QString folder = data_folder() + QStringLiteral("/started/");
  QDir().mkpath(folder);
  return folder + QDateTime::currentDateTimeUtc().toString(QStringLiteral("yyyyMMdd-HHmmss-zzz"));
}

QDateTime curve_time(const QString& folder) {
  return QFileInfo(QDir(folder).filePath(qstring(training_curve_file))).lastModified();
}

/// The last sentence of a child's standard error.
QString last_error_in(const QString& file) {
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

void RunLauncher::start(const std::string& sweep_text, bool now) {
  const QString stem = new_stem();
  const QString sweep_file = stem + QStringLiteral(".json");
  if (Status written = write_file(sweep_file.toStdString(), sweep_text); !written) {
    Q_EMIT failed(qstring(written.error().message));
    return;
  }
  // The dialog has already warned about cells that do not fit.
  QStringList arguments{QStringLiteral("run"), sweep_file, QStringLiteral("--oversize")};
  if (now) arguments.append(QStringLiteral("--now"));
  start_run_child(std::move(arguments), stem);
}

void RunLauncher::resume(const RunInfo& run) {
  start_on_run(QStringLiteral("--resume"), run);
}

void RunLauncher::measure_again(const RunInfo& run) {
  start_on_run(QStringLiteral("--again"), run);
}

void RunLauncher::start_on_run(const QString& option, const RunInfo& run) {
  start_run_child({QStringLiteral("run"), option, qstring(run.id.uuid)}, new_stem());
}

void RunLauncher::start_run_child(QStringList arguments, const QString& stem) {
  arguments += with_options(programs_);
  arguments += {QStringLiteral("--db"), qstring(database_.string()), QStringLiteral("--quiet")};
  const QString problem = start_child(arguments, {.log = stem + QStringLiteral(".log")});
  if (!problem.isEmpty()) {
    Q_EMIT failed(problem);
    return;
  }
  Q_EMIT starting();
}

QString RunLauncher::start_child(const QStringList& arguments, Child child) {
  QProcess process;
  process.setProgram(attnscope_program());
  process.setArguments(arguments);
  process.setStandardInputFile(QProcess::nullDevice());
  process.setStandardOutputFile(QProcess::nullDevice());
  process.setStandardErrorFile(child.log);
  if (!process.startDetached(&child.process_id))
    return tr("Cannot start %1: %2.").arg(process.program(), process.errorString());
  children_.push_back(std::move(child));
  watch_.start();
  return {};
}

void RunLauncher::train(QStringList arguments, const std::string& pattern_text,
                        const QString& typed) {
  const QString folder = QDir::cleanPath(QFileInfo(typed).absoluteFilePath());
  if (is_training(folder)) {
    Q_EMIT training_refused(
        tr("A training is running in %1; stop it first, or choose another folder.").arg(folder));
    return;
  }
  const QString stem = new_stem(), pattern = stem + QStringLiteral(".json");
  arguments.prepend(QStringLiteral("train"));
  if (!pattern_text.empty()) {
    if (const Status written = write_file(pattern.toStdString(), pattern_text); !written) {
      Q_EMIT training_refused(qstring(written.error().message));
      return;
    }
    arguments.append(QStringLiteral("--pattern=") + pattern);
  }
  const QString problem = start_child(
      arguments,
      {.log = stem + QStringLiteral(".log"), .folder = folder, .curve_before = curve_time(folder)});
  if (!problem.isEmpty()) Q_EMIT training_refused(problem);
}

bool RunLauncher::is_training(const QString& folder) const {
  return std::ranges::find(children_, folder, &Child::folder) != children_.end();
}

void RunLauncher::stop_training(const QString& folder) {
  const auto child = std::ranges::find(children_, folder, &Child::folder);
  if (child != children_.end()) ::kill(static_cast<pid_t>(child->process_id), SIGINT);
}

bool RunLauncher::watch_training(Child& child) {
  // Checked before the file, so that the child's final output is included.
  const bool running = is_running(child.process_id);
  if (!child.has_begun && curve_time(child.folder) != child.curve_before) {
    child.has_begun = true;
    Q_EMIT training_begun(child.folder);
  }
  if (running) return true;
  const QString text = last_error_in(child.log);
  if (child.has_begun) {
    // The weights are written last: a folder that contains them is complete.
    const bool is_complete =
        QFileInfo::exists(QDir(child.folder).filePath(QStringLiteral("model.safetensors")));
    Q_EMIT training_ended(child.folder, text, is_complete);
  } else {
    Q_EMIT training_refused(
        text.isEmpty() ? tr("The training ended without a message. Was it killed?") : text);
  }
  return false;
}

void RunLauncher::cancel(const RunInfo& run) {
  if (run.start.process_id <= 0 || !is_alive(run.start.process_id, run.start.process_start_ticks)) {
    Q_EMIT failed(
        tr("The process of run %1 has already ended; there is nothing to cancel.").arg(run.number));
    return;
  }
  if (::kill(static_cast<pid_t>(run.start.process_id), SIGINT) != 0) {
    Q_EMIT failed(
        tr("Run %1 belongs to another user and cannot be cancelled from here.").arg(run.number));
  }
}

void RunLauncher::pause(const RunInfo& run) {
  if (const Status requested = request_pause(run); !requested)
    Q_EMIT failed(qstring(requested.error().message));
}

void RunLauncher::continue_run(const RunInfo& run) {
  if (const Status requested = request_continue(run); !requested)
    Q_EMIT failed(qstring(requested.error().message));
}

void RunLauncher::set_runs(const RunListPointer& runs) {
  runs_ = runs;
  watch();
}

void RunLauncher::watch() {
  std::vector<Child> waiting;
  for (Child& child : std::exchange(children_, {})) {
    if (!child.folder.isEmpty()) {
      if (watch_training(child)) waiting.push_back(child);
      continue;
    }
    const RunEntry* begun = nullptr;
    if (runs_) {
      const auto found = std::find_if(
          runs_->runs.begin(), runs_->runs.end(),
          [&](const RunEntry& entry) { return entry.info.start.process_id == child.process_id; });
      if (found != runs_->runs.end()) begun = &*found;
    }
    if (begun) {
      Q_EMIT started(qstring(begun->info.id.uuid));
    } else if (is_running(child.process_id)) {
      waiting.push_back(child);
    } else if (const QString sentence = last_error_in(child.log); !sentence.isEmpty()) {
      Q_EMIT failed(sentence);
    } else if (child.checks_after_end < max_checks_after_end) {
      // It printed nothing, so it has finished a run that one of the next store reads shows.
      ++child.checks_after_end;
      waiting.push_back(child);
    } else {
      Q_EMIT failed(tr("The run's process ended without a message, and %1 contains no run of it. "
                       "Was the process killed, or the database replaced?")
                        .arg(qstring(database_.string())));
    }
  }
  children_.insert(children_.end(), waiting.begin(), waiting.end());
  if (children_.empty()) watch_.stop();
}

}  // namespace attnscope::gui
