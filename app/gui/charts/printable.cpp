// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/printable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <QCoreApplication>
#include <QThreadPool>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/sentences.h"
#include "base/written_file.h"
#include "engine/report/number_text.h"
#include "engine/report/sheet.h"

namespace attnscope::charts {
namespace {

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// Characters that are safe in \includegraphics and in a comment.
bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x80 &&
         (std::isalnum(byte) != 0 || std::string_view("-_.+ ").find(c) != std::string_view::npos);
}

std::string tex_label(std::string stem) {
  std::ranges::replace_if(
      stem, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '-');
  return stem;
}

/// Appends a full stop if it is missing.
std::string sentence(std::string text) {
  if (!text.empty() && !text.ends_with('.')) text += '.';
  return text;
}

}  // namespace

Result<double> width_in_mm(std::string_view text) {
  const auto venue = std::ranges::find(venues, text, &Venue::key);
  if (venue != venues.end()) return venue->width_mm;
  const std::optional<double> mm = number_in(text);
  if (!mm) {
    return fail("--width: '{}' is neither lncs, acm, acl nor a number of millimetres.",
                in_a_sentence(text));
  }
  return *mm;
}

Result<AxisRange> parse_range(std::string_view option, std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::optional<double> low = number_in(text.substr(0, colon));
  const std::optional<double> high =
      colon == std::string_view::npos ? std::nullopt : number_in(text.substr(colon + 1));
  if (!low || !high || *low >= *high) {
    return fail("{}: '{}' is no part of an axis; write its two ends, the lower one first: 64:1024.",
                option, in_a_sentence(text));
  }
  return AxisRange{*low, *high};
}

Status check_options(const FigureOptions& options) {
  if (!(options.width_mm >= 30 && options.width_mm <= 2000)) {
    return fail("a figure's width must lie between 30 and 2000 mm, not {}", options.width_mm);
  }
  if (!(options.height_mm == 0 || (options.height_mm >= 20 && options.height_mm <= 2000))) {
    return fail("a figure's height must lie between 20 and 2000 mm, not {}", options.height_mm);
  }
  if (!(options.font_pt >= 4 && options.font_pt <= 40)) {
    return fail("a figure's font size must lie between 4 and 40 pt, not {}", options.font_pt);
  }
  if (!(options.png_dpi >= 10 && options.png_dpi <= 4800)) {
    return fail("a picture's dots per inch must lie between 10 and 4800, not {}", options.png_dpi);
  }
  return {};
}

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
  const bool is_unnamed = is_stream(path) && !path.has_extension();
  const Result<FileFormat> format = is_unnamed ? FileFormat::pdf : format_of(path);
  if (!format) return tl::unexpected(format.error());
  if (const Status checked = check_options(options); !checked) {
    return tl::unexpected(checked.error());
  }
  if (is_stream(path) && (options.csv || options.tex)) {
    return fail(
        "{}: what is written beside a figure takes its name; name a file, or leave --csv "
        "and --tex out",
        path.string());
  }
  const Files files = files_of(path, options);
  for (const std::filesystem::path& file : files) {
    if (Status allowed = may_be_written(file, what.inputs, Streams::taken); !allowed)
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
  if (Status written = write_files(all, Streams::taken); !written)
    return tl::unexpected(written.error());
  return files;
}

Result<std::string> tex_snippet(const Printable& what, const std::filesystem::path& figure,
                                const FigureOptions& options) {
  const Result<FileFormat> format = format_of(figure);
  if (!format) return tl::unexpected(format.error());
  if (*format == FileFormat::svg) {
    return fail("{}: LaTeX does not include SVG; write .pdf or .png, or leave the .tex out",
                figure.string());
  }
  const std::string name = figure.filename().string();
  if (!std::ranges::all_of(name, is_plain)) {
    return fail(
        "{}: LaTeX cannot include a file of that name; use plain letters, digits, blanks, - and _",
        figure.string());
  }
  std::vector<std::string> sentences;
  for (const std::string& text : {what.about, what.title, what.warning, options.caption}) {
    if (!text.empty())
      sentences.push_back(sentence(report::latex_escaped(report::without_folders(text))));
  }
  return fmt::format(
      "% {}\n"
      "\\begin{{figure}}\n"
      "  \\centering\n"
      "  \\includegraphics[width={}mm]{{{}}}\n"
      "  \\caption{{{}}}\n"
      "  \\label{{fig:{}}}\n"
      "\\end{{figure}}\n",
      report::one_line(what.provenance), options.width_mm, name, fmt::join(sentences, " "),
      tex_label(figure.stem().string()));
}

}  // namespace attnscope::charts
