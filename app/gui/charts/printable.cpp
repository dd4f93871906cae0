// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/printable.h"

#include <QCoreApplication>
#include <QThreadPool>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/written_file.h"

namespace attnscope::charts {

void draw_soon(const Printable& what, std::function<void()> draw) {
  if (what.on_application_thread) {
    QMetaObject::invokeMethod(QCoreApplication::instance(), std::move(draw), Qt::QueuedConnection);
  } else {
    QThreadPool::globalInstance()->start(std::move(draw));
  }
}

Files files_of(const std::filesystem::path& path, const FigureOptions& options) {
  Files files{path};
  for (const auto& [wanted, ending] : {std::pair(options.csv, ".csv"), {options.tex, ".tex"}}) {
    if (wanted) files.push_back(std::filesystem::path(path).replace_extension(ending));
  }
  return files;
}

Result<Files> write_printable(const Printable& what, const std::filesystem::path& path,
                              const FigureOptions& options) {
  const Result<FileFormat> format = format_of(path);
  if (!format) return tl::unexpected(format.error());
  if (const Status checked = check_options(options); !checked) {
    return tl::unexpected(checked.error());
  }
  const Files files = files_of(path, options);
  for (const std::filesystem::path& file : files) {
    if (Status allowed = may_be_written(file, what.inputs); !allowed)
      return tl::unexpected(allowed.error());
  }
  const Result<LaidOut> page = what.lay_out(options, *format != FileFormat::png);
  if (!page) return fail("{}: {}", path.string(), page.error().message);
  const FilePage file_page{.size = page->size,
                           .title = QString::fromStdString(what.title),
                           .description = QString::fromStdString(what.provenance),
                           .png_dpi = options.png_dpi};
  const Result<QByteArray> drawn = draw_bytes(*format, file_page, page->paint);
  if (!drawn) return fail("{}: {}", path.string(), drawn.error().message);

  std::vector<std::string> texts{drawn->toStdString()};
  if (options.csv) {
    const Result<std::string> csv = what.csv(options);
    if (!csv) return fail("{}: {}", files[texts.size()].string(), csv.error().message);
    texts.push_back(*csv);
  }
  if (options.tex) {
    const Result<std::string> tex = tex_snippet(what, path, options);
    if (!tex) return tl::unexpected(tex.error());
    texts.push_back(*tex);
  }
  std::vector<FileText> all;
  for (std::size_t i = 0; i < files.size(); ++i) all.push_back({files[i], texts[i]});
  if (Status written = write_files(all); !written) return tl::unexpected(written.error());
  return files;
}

}  // namespace attnscope::charts
