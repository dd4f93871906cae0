#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// File dialogs that do not block: the window keeps following its run while they are open.

#include <QStringList>
#include <functional>

class QWidget;

namespace attnscope::gui {

/// The first of the endings is suggested.
void ask_for_new_file(QWidget* parent, const QString& title, const QString& suggestion,
                      const QStringList& endings, std::function<void(const QString&)> chosen);
void ask_for_file(QWidget* parent, const QString& title, const QString& filter,
                  std::function<void(const QString&)> chosen);
/// `first` is looked at first.
void ask_for_folder(QWidget* parent, const QString& title, const QString& first,
                    std::function<void(const QString&)> chosen);

}  // namespace attnscope::gui
