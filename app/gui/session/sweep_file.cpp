// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/sweep_file.h"

#include <QDesktopServices>
#include <QFileInfo>
#include <QUrl>
#include <utility>

#include "app/gui/session/text.h"
#include "kernels/base/text_file.h"
#include "kernels/base/written_file.h"

namespace attnscope::gui {
namespace {

constexpr int saving_ms = 100;
constexpr std::uintmax_t largest_edited = 1 << 20;  // bytes, as of every sweep file

}  // namespace

SweepFile::SweepFile(QObject* parent) : QObject(parent) {
  pause_.setSingleShot(true);
  pause_.setInterval(saving_ms);
  connect(&pause_, &QTimer::timeout, this, &SweepFile::read);
  for (const auto changed :
       {&QFileSystemWatcher::fileChanged, &QFileSystemWatcher::directoryChanged})
    connect(&watcher_, changed, &pause_, qOverload<>(&QTimer::start));
}

QString SweepFile::open(const std::string& sweep_text) {
  if (!sweep_text.empty()) {
    known_ = sweep_text;
    if (const Status written = write_file(path().toStdString(), sweep_text); !written)
      return words(written.error().message);
  }
  watcher_.addPaths({folder_.path(), path()});
  if (QDesktopServices::openUrl(QUrl::fromLocalFile(path()))) return {};
  return tr("This desktop has no program for %1: open it yourself.").arg(path());
}

void SweepFile::follow(const std::string& sweep_text) {
  if (!is_open() || sweep_text == known_) return;
  known_ = sweep_text;
  // An editor's folder that is gone takes no file; what the form holds does not hang on it.
  static_cast<void>(write_file(path().toStdString(), sweep_text));
}

void SweepFile::read() {
  pause_.stop();
  if (!is_open()) return;
  // Anew: it may be another file, while somebody still holds the former.
  watcher_.removePath(path());
  if (QFileInfo::exists(path())) watcher_.addPath(path());
  const Result<std::string> text =
      read_text_file(path().toStdString(), "sweep file", largest_edited);
  if (!text) {
    if (std::exchange(known_, std::nullopt)) Q_EMIT unreadable(words(text.error().message));
    return;
  }
  if (known_ && *text == *known_) return;
  known_ = *text;
  Q_EMIT edited(*text);
}

}  // namespace attnscope::gui
