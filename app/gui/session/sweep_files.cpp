// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/sweep_files.h"

#include <QDesktopServices>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QRegularExpression>
#include <QUrl>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/gui/session/program.h"
#include "app/gui/session/text.h"
#include "base/json.h"
#include "base/text_file.h"
#include "base/written_file.h"

namespace attnscope::gui {
namespace {

QString own_presets_folder() {
  return data_folder() + QStringLiteral("/sweeps");
}

QString file_of(const QString& name) {
  static const QRegularExpression unsafe(QStringLiteral("[^\\w .-]"));
  QString stem = name;
  stem.replace(unsafe, QStringLiteral("-"));
  return own_presets_folder() + QLatin1Char('/') + stem + QStringLiteral(".json");
}

nlohmann::ordered_json parsed(const std::string& text) {
  if (!check_json_size(text)) return {};
  return nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false,
                                       /*ignore_comments=*/true);
}

constexpr int saving_ms = 100;

}  // namespace

std::vector<NamedSweep> own_presets() {
  std::vector<NamedSweep> presets;
  const QDir folder(own_presets_folder());
  const QStringList files =
      folder.entryList({QStringLiteral("*.json")}, QDir::Files | QDir::Readable, QDir::Name);
  presets.reserve(static_cast<std::size_t>(files.size()));
  for (const QString& name : files) {
    QFile file(folder.filePath(name));
    if (static_cast<std::uintmax_t>(file.size()) > largest_sweep || !file.open(QIODevice::ReadOnly))
      continue;
    std::string text = file.readAll().toStdString();
    const auto sweep = parsed(text);
    if (!sweep.is_object() || !sweep.contains("name") || !sweep.at("name").is_string()) continue;
    presets.push_back({sweep.at("name").get<std::string>(), std::move(text)});
  }
  return presets;
}

bool is_own_preset(const QString& name) {
  return QFile::exists(file_of(name));
}

Result<QString> save_own_preset(const QString& name, const std::string& sweep_text) {
  if (name.trimmed().isEmpty()) return fail("a preset needs a name; give one in the field Name.");
  const auto& shipped = built_in_sweeps();
  if (std::ranges::find(shipped, name.toStdString(), &NamedSweep::name) != shipped.end()) {
    return fail("{} is a preset that ships; give yours another name in the field Name.",
                name.toStdString());
  }
  auto sweep = parsed(sweep_text);
  std::string text = sweep_text;
  if (sweep.is_object() && sweep.value("name", std::string()) != name.toStdString()) {
    sweep["name"] = name.toStdString();
    text = sweep.dump(2) + "\n";
  }
  const QString path = file_of(name);
  // If the folder cannot be created, writing the file reports the error.
  QDir().mkpath(own_presets_folder());
  if (Status written = write_file(path.toStdString(), text); !written)
    return tl::unexpected(written.error());
  return path;
}

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
  return tr("This desktop has no editor for %1: open it in an editor of your choice.").arg(path());
}

void SweepFile::follow(const std::string& sweep_text) {
  if (!is_open() || sweep_text == known_) return;
  known_ = sweep_text;
  // If the editor's folder is gone, writing fails; the form does not depend on the file.
  static_cast<void>(write_file(path().toStdString(), sweep_text));
}

void SweepFile::read() {
  pause_.stop();
  if (!is_open()) return;
  // Add it again: it may be a new file, while another process still holds the old one.
  watcher_.removePath(path());
  if (QFileInfo::exists(path())) watcher_.addPath(path());
  const Result<std::string> text =
      read_text_file(path().toStdString(), "sweep file", largest_sweep);
  if (!text) {
    if (std::exchange(known_, std::nullopt)) Q_EMIT unreadable(words(text.error().message));
    return;
  }
  if (known_ && *text == *known_) return;
  known_ = *text;
  Q_EMIT edited(*text);
}

}  // namespace attnscope::gui
