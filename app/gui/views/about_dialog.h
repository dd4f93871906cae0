#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What this program is: its version and those of its parts, licences, where the database lies, and
// the papers to cite, ready to copy as BibTeX.

#include <QDialog>
#include <filesystem>

namespace attnscope::gui {

class AboutDialog : public QDialog {
  Q_OBJECT
 public:
  explicit AboutDialog(const std::filesystem::path& database, QWidget* parent = nullptr);
};

/// BibTeX of the papers whose methods are measured here.
[[nodiscard]] QString citations();

}  // namespace attnscope::gui
