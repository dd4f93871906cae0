// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/sweep_file.h"

#include <QDesktopServices>
#include <QFile>
#include <QUrl>

#include "app/gui/session/text.h"
#include "kernels/base/written_file.h"

namespace attnscope::gui {
namespace {

constexpr int saving_ms = 100;
constexpr qint64 largest_edited = 1 << 20;  // bytes

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
  known_ = sweep_text;
  if (const Status written = write_file(path().toStdString(), sweep_text); !written)
    return words(written.error().message);
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
  QFile file(path());
  if (!is_open() || !file.open(QIODevice::ReadOnly)) return;  // between two files
  // Anew: it may be another file, while somebody still holds the former.
  watcher_.removePath(path());
  watcher_.addPath(path());
  std::string text = file.read(largest_edited).toStdString();
  if (text == known_) return;
  known_ = text;
  Q_EMIT edited(text);
}

}  // namespace attnscope::gui
