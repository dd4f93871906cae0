#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Where a new run starts from: a preset that ships, one of a person's own, or neither any more; and
// the button that keeps what the form holds as one of the person's own.

#include <QWidget>
#include <vector>

#include "engine/sweep/sweep.h"

class QComboBox;
class QLabel;
class QPushButton;

namespace attnscope::gui {

class ProblemLabel;

class PresetBar : public QWidget {
  Q_OBJECT
 public:
  explicit PresetBar(QWidget* parent = nullptr);

  /// Chooses by name and tells; an unknown name changes nothing.
  void choose(const QString& name);
  /// What the form holds is no preset any more.
  void choose_custom();
  /// The name of the chosen one; empty: none.
  [[nodiscard]] QString chosen() const;
  /// Whether what the form holds can be kept.
  void allow_saving(bool possible);
  /// Keeps the sweep under the name; a preset of that name is replaced when asked a second time.
  void save(const QString& name, const std::string& sweep_text);
  [[nodiscard]] QComboBox* picker() const { return picker_; }

 Q_SIGNALS:
  void preset_chosen(const attnscope::NamedSweep& preset);
  void save_asked();

 private:
  void tell_choice();
  void fill(const QString& chosen);
  void say(const QString& sentence);

  std::vector<NamedSweep> presets_;  // those that ship, then one's own
  QComboBox* picker_;
  QPushButton* save_;
  QLabel* done_;
  ProblemLabel* problem_;
  QString about_to_replace_;
};

}  // namespace attnscope::gui
