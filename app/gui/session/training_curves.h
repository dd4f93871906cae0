#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Trainings that are looked at: their curves, read again as they grow, on a thread of its own. The
// files are looked at every second, since some file systems tell nobody of changes.
//
//   TrainingCurves curves;
//   connect(&curves, &TrainingCurves::changed, ...);   // curves.all()
//   curves.open("out");
//   curves.set_watching(true);

#include <QObject>
#include <QString>
#include <QTimer>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "app/gui/background/latest_job.h"
#include "engine/report/training_curve.h"
#include "kernels/base/result.h"

namespace attnscope::gui {

class TrainingCurves : public QObject {
  Q_OBJECT
 public:
  explicit TrainingCurves(QObject* parent = nullptr);

  /// A training's folder or the curve in it, behind those that are open. One that is open stays
  /// where it is.
  void open(const QString& place);
  /// By its place among all.
  void close(std::size_t at);
  /// While it is false, nothing is read but what is opened.
  void set_watching(bool watching);
  [[nodiscard]] const std::vector<report::TrainingCurve>& all() const { return curves_; }

 Q_SIGNALS:
  void changed();
  void opened(const QString& file);
  /// It could not be opened; or it was open, and what was read of it before stays.
  void failed(const QString& sentence, const QString& file);

 private:
  /// A file as it was when it was read.
  struct Look {
    std::uintmax_t bytes = 0;
    std::filesystem::file_time_type time;
    friend bool operator==(const Look&, const Look&) = default;
  };
  struct Followed {
    std::filesystem::path file;
    std::optional<Look> seen = std::nullopt;  // nothing: it was gone
    bool is_open = true;                      // false: it is to be opened
  };
  struct Answer {
    Followed of;
    Result<report::TrainingCurve> curve;
  };
  [[nodiscard]] static std::optional<Look> look_at(const std::filesystem::path& file);
  void look();
  void take(std::vector<Answer> answers);

  std::vector<report::TrainingCurve> curves_;
  std::vector<Followed> followed_;              // of each
  std::vector<std::filesystem::path> to_open_;  // and of those that are not read yet
  QTimer second_;
  LatestJob job_;
};

}  // namespace attnscope::gui
