#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Which pairs of pattern and implementation a sweep's device, formats and lengths leave possible,
// and the memory that an item needs: asked from `attnscope foresee --json`, which asks the worker.
// Asked a moment after the last change; an answer that is no longer wanted is dropped.

#include <QObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTimer>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/session/sweep_draft.h"

namespace attnscope::gui {

struct Forecast {
  struct Pair {
    QString reason;                    // why it cannot be measured; empty: it can
    std::optional<double> item_bytes;  // of one item at the largest point
  };
  std::map<PatternAndImplementation, Pair> pairs;
  qint64 largest_tokens = 0;
  double batch_max = 1, batch_bytes = 0;
  QString problem;  // nobody answered, and why
};

/// The most that these contenders need, in words with the one that needs most; empty when nothing
/// is known of them.
[[nodiscard]] QString memory_words(const Forecast& forecast,
                                   const std::vector<PatternAndImplementation>& contenders);

class SweepForecast : public QObject {
  Q_OBJECT
 public:
  explicit SweepForecast(QObject* parent = nullptr);
  ~SweepForecast() override;

  /// Other names, stop rules and contenders make no other question.
  void ask(const std::string& sweep_text);
  /// Nothing is asked while a run is measured, which a second worker would disturb.
  void set_measuring(bool measuring);
  [[nodiscard]] const Forecast& forecast() const { return forecast_; }

 Q_SIGNALS:
  void changed();

 private:
  void start();
  void read(int exit_code);
  void finish(Forecast forecast);

  QTimer pause_;
  QProcess process_;
  QTemporaryDir folder_;
  std::string sweep_, question_, answered_;
  bool measuring_ = false;
  Forecast forecast_;
};

/// What the command prints; without pairs when it is none of it.
[[nodiscard]] Forecast read_forecast(const QByteArray& json);

}  // namespace attnscope::gui
