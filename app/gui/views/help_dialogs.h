#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The dialogs of the Help menu: a table of all shortcuts of the window, and information about the
// program with the papers to cite, ready to copy as BibTeX. Both close together with their window.

#include <QList>
#include <QString>
#include <filesystem>

class QMenuBar;
class QWidget;

namespace attnscope::gui {

class Page;

/// The menu with the actions of the current page; it is omitted from the table, which lists the
/// actions of every page.
inline const QString page_menu_name = QStringLiteral("page_menu");

void show_shortcuts(const QMenuBar& menus, const QList<const Page*>& pages, QWidget* parent);
void show_about(const std::filesystem::path& database, QWidget* parent);

}  // namespace attnscope::gui
