#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the menu Help opens: every shortcut of the window in one table, and what this program is,
// with the papers to cite, ready to copy as BibTeX. Both close by themselves with their window.

#include <QList>
#include <QString>
#include <filesystem>

class QMenuBar;
class QWidget;

namespace attnscope::gui {

class Page;

/// The menu bar's own entry that holds what can be done on the page at the front; it is not listed,
/// since every page is asked.
inline const QString page_menu_name = QStringLiteral("page_menu");

void show_shortcuts(const QMenuBar& menus, const QList<const Page*>& pages, QWidget* parent);
void show_about(const std::filesystem::path& database, QWidget* parent);

}  // namespace attnscope::gui
