// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/own_presets.h"

#include <QDir>
#include <QFile>
#include <QRegularExpression>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/gui/session/program.h"
#include "app/gui/session/text.h"
#include "kernels/base/json.h"
#include "kernels/base/written_file.h"

namespace attnscope::gui {
namespace {

constexpr qint64 largest_preset = 1 << 20;  // bytes

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

}  // namespace

std::vector<NamedSweep> own_presets() {
  std::vector<NamedSweep> presets;
  const QDir folder(own_presets_folder());
  const QStringList files =
      folder.entryList({QStringLiteral("*.json")}, QDir::Files | QDir::Readable, QDir::Name);
  presets.reserve(static_cast<std::size_t>(files.size()));
  for (const QString& name : files) {
    QFile file(folder.filePath(name));
    if (file.size() > largest_preset || !file.open(QIODevice::ReadOnly)) continue;
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
  // A folder that cannot be made is told by the file that cannot be written.
  QDir().mkpath(own_presets_folder());
  if (Status written = write_file(path.toStdString(), text); !written)
    return tl::unexpected(written.error());
  return path;
}

}  // namespace attnscope::gui
