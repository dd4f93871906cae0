#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Page Patterns: a pattern is edited on the left, drawn in the middle, alone or next to another,
// and its costs are counted on the right. It knows only models and values; it requests data of the
// store or of a run from the window.

#include <functional>
#include <memory>
#include <optional>

#include "app/gui/models/pattern_editor.h"
#include "app/gui/session/snapshot.h"
#include "app/gui/views/page.h"
#include "app/gui/views/pattern_masks.h"

namespace attnscope::gui {

class MessageBar;
class PatternCosts;
class PatternPanel;

class PatternsPage : public Page {
  Q_OBJECT
 public:
  /// `editor`: edits to continue; null: a new editor.
  explicit PatternsPage(std::shared_ptr<PatternEditor> editor = {}, QWidget* parent = nullptr);
  ~PatternsPage() override;

  [[nodiscard]] bool has_table() const override;
  void copy_table(report::TableFormat format) override;
  [[nodiscard]] bool has_figure() const override;
  void export_figure() override;
  [[nodiscard]] QString run_text() const override;
  void run() override;
  [[nodiscard]] QList<PageActions> page_actions() const override;

  /// The error, if any, is also shown next to the list.
  Status open_file(const QString& file);
  void choose(const QString& pattern_name);
  /// The displayed state, for restore() after a restart: pattern, B, window and lengths, without
  /// unsaved edits.
  [[nodiscard]] QVariantMap chosen() const;
  void restore(const QVariantMap& chosen);
  void ask_for_file();
  void save();
  void save_as();

  [[nodiscard]] bool has_unsaved() const;
  /// Asks about every pattern with unsaved changes, then calls `then`, unless the user cancels.
  void ask_about_unsaved(const std::function<void()>& then);

  /// For the limit; none: no run has measured it yet.
  void set_machine(const std::optional<MachineCeilings>& machine);
  /// While a run is measured, no worker is started.
  void set_measuring(bool measuring);

  [[nodiscard]] PatternEditor& editor() { return editor_; }
  [[nodiscard]] const std::shared_ptr<PatternEditor>& shared_editor() const { return owner_; }
  [[nodiscard]] PatternMasks* masks() const { return masks_; }
  [[nodiscard]] charts::MaskView* mask() const { return masks_->mask(); }

 Q_SIGNALS:
  /// The window answers with set_machine.
  void ceilings_wanted();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void restore_problem(const QVariantMap& chosen);
  void refresh();
  Status read(const QString& file);
  void save_to(const QString& file, const std::function<void()>& then);
  void ask_to_save_as(std::function<void()> then);

  bool continues_;  // continues the edits of an earlier page
  std::shared_ptr<PatternEditor> owner_;
  PatternEditor& editor_;
  QList<int> discarded_;  // ids of patterns whose changes the user discarded while closing
  PatternPanel* panel_;
  PatternMasks* masks_;
  PatternCosts* costs_;
  MessageBar* messages_;
};

}  // namespace attnscope::gui
