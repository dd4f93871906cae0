#pragma once
// SPDX-License-Identifier: Apache-2.0

#include <QByteArray>
#include <QFile>
#include <QTemporaryDir>
#include <filesystem>
#include <string>
#include <utility>

#include "app/drawing/printable.h"

namespace attnscope::charts {

/// A temporary folder.
class ExportFolder {
 public:
  [[nodiscard]] std::filesystem::path path(const std::string& name) const {
    return std::filesystem::path(folder_.path().toStdString()) / name;
  }
  [[nodiscard]] int file_count() const {
    return static_cast<int>(
        std::distance(std::filesystem::directory_iterator(folder_.path().toStdString()),
                      std::filesystem::directory_iterator()));
  }

 private:
  QTemporaryDir folder_;
};

/// Writes a figure or panels to a file.
template <typename What>
[[nodiscard]] Status exported(What what, const std::filesystem::path& path,
                              const FigureOptions& options = {}) {
  return write_printable(printable(std::move(what)), path, options).map([](const Files&) {});
}

inline QByteArray bytes_of(const std::filesystem::path& path) {
  QFile file(QString::fromStdString(path.string()));
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

}  // namespace attnscope::charts
