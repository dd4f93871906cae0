#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Which pairs of pattern and implementation a sweep's device, formats and lengths leave possible,
// and the memory that an item needs: asked from `attnscope foresee --json`, which asks the worker.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/session/program_question.h"
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

class SweepForecast : public ProgramQuestion {
 public:
  explicit SweepForecast(QObject* parent = nullptr);

  /// Other names, stop rules and contenders make no other question.
  void ask(const std::string& sweep_text);
  /// Nothing is asked while a run is measured, which a second worker would disturb.
  void set_measuring(bool measuring);
  /// The last one, while another is asked.
  [[nodiscard]] Forecast forecast() const;

 private:
  bool read(const QByteArray& printed) override;

  std::string sweep_, question_;  // the text that was asked about last, and what of it matters
  bool measuring_ = false, waits_ = false;
  Forecast forecast_;
};

}  // namespace attnscope::gui
