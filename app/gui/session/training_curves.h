#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Open trainings: their curves are read again as they grow, on a separate thread. The files are
// polled every second, since some file systems do not report changes.
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

#include "app/gui/session/latest_job.h"
#include "base/result.h"
#include "engine/report/training_curve.h"

namespace attnscope::gui {

class TrainingCurves : public QObject {
  Q_OBJECT
 public:
  explicit TrainingCurves(QObject* parent = nullptr);

  /// Opens a training's folder or the curve in it, after those that are open. A training that is
  /// already open keeps its place.
  void open(const QString& place);
  /// `at`: the index in all().
  void close(std::size_t at);
  /// While false, only newly opened files are read.
  void set_watching(bool watching);
  [[nodiscard]] const std::vector<TrainingCurve>& all() const { return curves_; }

 Q_SIGNALS:
  void changed();
  void opened(const QString& file);
  /// The training could not be opened; or it was open, and its earlier data is kept.
  void failed(const QString& sentence, const QString& file);

 private:
  /// State of a file at the time of reading.
  struct Look {
    std::uintmax_t bytes = 0;
    std::filesystem::file_time_type time;
    friend bool operator==(const Look&, const Look&) = default;
  };
  struct Followed {
    std::filesystem::path file;
    std::optional<Look> seen = std::nullopt;  // nothing: the file was missing
    bool is_open = true;                      // false: to be opened
  };
  struct Answer {
    Followed of;
    Result<TrainingCurve> curve;
  };
  [[nodiscard]] static std::optional<Look> look_at(const std::filesystem::path& file);
  void look();
  void take(std::vector<Answer> answers);

  std::vector<TrainingCurve> curves_;
  std::vector<Followed> followed_;              // one per curve
  std::vector<std::filesystem::path> to_open_;  // and of those not read yet
  QTimer second_;
  LatestJob job_;
};

}  // namespace attnscope::gui
