// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/training_curves.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "app/gui/session/text.h"

namespace attnscope::gui {

namespace fs = std::filesystem;

TrainingCurves::TrainingCurves(QObject* parent) : QObject(parent) {
  second_.setInterval(std::chrono::seconds(1));
  connect(&second_, &QTimer::timeout, this, &TrainingCurves::look);
  connect(&job_, &LatestJob::finished, this, [this] {
    if (!to_open_.empty()) look();
  });
}

void TrainingCurves::open(const QString& place) {
  std::error_code failed;
  fs::path file = fs::absolute(place.toStdString(), failed).lexically_normal();
  if (fs::is_directory(file, failed)) file /= training_curve_file;
  if (std::ranges::find(followed_, file, &Followed::file) != followed_.end())
    return Q_EMIT opened(words(file.string()));
  if (std::ranges::find(to_open_, file) == to_open_.end()) to_open_.push_back(std::move(file));
  look();
}

void TrainingCurves::close(std::size_t at) {
  if (at >= curves_.size()) return;
  curves_.erase(curves_.begin() + static_cast<std::ptrdiff_t>(at));
  followed_.erase(followed_.begin() + static_cast<std::ptrdiff_t>(at));
  Q_EMIT changed();
}

void TrainingCurves::set_watching(bool watching) {
  if (!watching) return second_.stop();
  second_.start();
  look();
}

std::optional<TrainingCurves::Look> TrainingCurves::look_at(const fs::path& file) {
  std::error_code failed;
  Look look{.bytes = fs::file_size(file, failed), .time = {}};
  if (failed) return std::nullopt;
  look.time = fs::last_write_time(file, failed);
  return failed ? std::nullopt : std::optional(look);
}

// One job at a time: a read is not discarded because the file has grown meanwhile.
void TrainingCurves::look() {
  if (job_.is_busy() || (followed_.empty() && to_open_.empty())) return;
  std::vector<Followed> wanted;
  if (second_.isActive()) wanted = followed_;
  for (fs::path& file : to_open_)
    wanted.push_back({.file = std::move(file), .seen = std::nullopt, .is_open = false});
  to_open_.clear();
  job_.start([this, wanted = std::move(wanted)](const LatestJob::Token& token) {
    std::vector<Answer> answers;
    for (const Followed& followed : wanted) {
      const std::optional<Look> now = look_at(followed.file);
      if (followed.is_open && now == followed.seen) continue;
      answers.push_back({.of = {.file = followed.file, .seen = now, .is_open = followed.is_open},
                         .curve = read_training_curve(followed.file)});
    }
    if (answers.empty()) return;
    token.deliver([this, answers = std::move(answers)]() mutable { take(std::move(answers)); });
  });
}

void TrainingCurves::take(std::vector<Answer> answers) {
  bool any = false;
  for (Answer& answer : answers) {
    const QString file = words(answer.of.file.string());
    const auto found = std::ranges::find(followed_, answer.of.file, &Followed::file);
    const bool is_there = found != followed_.end();
    if (answer.of.is_open && !is_there) continue;  // closed meanwhile
    if (is_there) found->seen = answer.of.seen;
    if (!answer.curve) {
      Q_EMIT failed(words(answer.curve.error().message), file);
      continue;
    }
    any = true;
    if (is_there) {
      curves_[static_cast<std::size_t>(found - followed_.begin())] = std::move(*answer.curve);
    } else {
      curves_.push_back(std::move(*answer.curve));
      followed_.push_back({.file = answer.of.file, .seen = answer.of.seen, .is_open = true});
      Q_EMIT opened(file);
    }
  }
  if (any) Q_EMIT changed();
}

}  // namespace attnscope::gui
