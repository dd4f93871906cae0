#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The base of suites that show one page of the window alone, with empty settings.

#include <QAbstractButton>
#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QPointer>
#include <QPushButton>
#include <QSettings>
#include <memory>
#include <utility>

#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/page.h"
#include "tests/gui/gui_test.h"
#include "tests/inspect/dump_bytes.h"

namespace attnscope::gui {

inline QByteArray bytes_of(const DumpParts& dump) {
  const std::vector<std::byte> bytes = dump.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), static_cast<qsizetype>(bytes.size())};
}

template <typename ShownPage>
class PageSuite : public QObject {
 protected:
  template <typename... Arguments>
  void show_page(QSize size, Arguments&&... arguments) {
    QSettings().clear();
    page_ = std::make_unique<ShownPage>(std::forward<Arguments>(arguments)...);
    page_->resize(size);
    page_->show();
    page_->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(page_.get()));
  }
  template <typename Widget>
  [[nodiscard]] Widget* find(const char* name) const {
    return page_->template findChild<Widget*>(QLatin1String(name));
  }
  [[nodiscard]] QString path(const char* name) const {
    return folder_->filePath(QLatin1String(name));
  }
  [[nodiscard]] QString write(const char* name, const QByteArray& bytes) const {
    return write_bytes(path(name), bytes);
  }
  [[nodiscard]] static QString copied() { return QApplication::clipboard()->text(); }
  void click(const char* button) const {
    QTest::mouseClick(find<QAbstractButton>(button), Qt::LeftButton);
  }
  /// Shrinks the page to its part of a window of 1000 x 650, with text of twice the size.
  void use_large_text() const {
    page_->resize(920, 560);
    double_text(*page_);
  }
  /// Chooses a file in the open dialog.
  void answer_file(const QString& file) const {
    QFileDialog* dialog = nullptr;
    QTRY_VERIFY((dialog = page_->template findChild<QFileDialog*>()) != nullptr);
    dialog->selectFile(file);
    QMetaObject::invokeMethod(dialog, "fileSelected", Q_ARG(QString, file));
    delete dialog;
  }
  /// The number of labels of fields without the one of `except`; -1: one has no explanation.
  [[nodiscard]] int explained_terms(const char* except = "") const {
    int explained = 0;
    for (const QLabel* label : page_->template findChildren<QLabel*>()) {
      if (!label->buddy() || label->buddy()->objectName() == QLatin1String(except)) continue;
      if (label->toolTip().isEmpty() || label->accessibleDescription() != label->toolTip()) {
        qWarning("'%s' is not explained", qPrintable(label->text()));
        return -1;
      }
      ++explained;
    }
    return explained;
  }
  /// The dialog that exports the page's figure, which it opens unless it is open, for this file.
  FigureDialog* figure_dialog(const QString& file) const {
    auto* dialog = page_->template findChild<FigureDialog*>();
    if (!dialog) page_->export_figure();
    dialog = page_->template findChild<FigureDialog*>();
    if (!dialog) qFatal("there is no dialog for %s", qPrintable(file));
    dialog->template findChild<QComboBox*>(u"format"_s)
        ->setCurrentText(QFileInfo(file).suffix().toUpper());
    dialog->template findChild<QLineEdit*>(u"file"_s)->setText(file);
    return dialog;
  }
  /// Exports the page's figure with a CSV file of its numbers.
  void export_figure(const QString& file) const {
    const QPointer<FigureDialog> dialog = figure_dialog(file);
    dialog->template findChild<QCheckBox*>(u"csv"_s)->setChecked(true);
    QTest::mouseClick(dialog->template findChild<QPushButton*>(u"write"_s), Qt::LeftButton);
    const auto* messages = page_->template findChild<MessageBar*>();
    QTRY_VERIFY(messages->text().contains(QFileInfo(file).fileName()));
    QTRY_VERIFY(dialog.isNull());
  }
  /// An export must not replace a file that the page shows.
  void verify_replacement_is_refused(const QString& file) const {
    FigureDialog* dialog = figure_dialog(file);
    dialog->write();
    dialog->template findChild<QPushButton*>(u"replace_files"_s)->click();
    QTRY_VERIFY2(dialog->message().contains(u"is an input of this command"_s),
                 qPrintable(dialog->message()));
    delete dialog;
  }

  std::unique_ptr<QTemporaryDir> folder_ = std::make_unique<QTemporaryDir>();
  std::unique_ptr<ShownPage> page_;
};

}  // namespace attnscope::gui
