// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/figure_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QCoreApplication>
#include <QDialogButtonBox>
#include <QDir>
#include <QDoubleSpinBox>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPainter>
#include <QPointer>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSettings>
#include <QSpinBox>
#include <QSplitter>
#include <QStandardPaths>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "app/gui/charts/run_chart.h"
#include "app/gui/session/text.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

constexpr int other_width = static_cast<int>(charts::venues.size());  // in the list of venues

QDoubleSpinBox* length_box(const char* name, const QString& accessible_name, double low,
                           double high, const QString& unit) {
  auto* box = new QDoubleSpinBox;
  box->setObjectName(QLatin1String(name));
  box->setAccessibleName(accessible_name);
  box->setDecimals(1);
  box->setRange(low, high);
  box->setSuffix(QLatin1Char(' ') + unit);
  return box;
}

QCheckBox* check(const char* name, const QString& text, const QString& tip) {
  auto* box = new QCheckBox(text);
  box->setObjectName(QLatin1String(name));
  box->setToolTip(tip);
  return box;
}

QString settings_key(const char* name) {
  return QStringLiteral("figure/") + QLatin1String(name);
}

QString folder_to_begin_in() {
  const QString remembered = QSettings().value(settings_key("folder")).toString();
  if (!remembered.isEmpty() && QDir(remembered).exists()) return remembered;
  const QString documents = QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation);
  return QDir(documents).exists() ? documents : QDir::homePath();
}

struct Painted {
  QImage image;
  QSizeF page_mm;
  QString problem;
};

/// The whole page within `room`, in device pixels.
Painted paint_page(const charts::Printable& what, const charts::FigureOptions& options,
                   bool vectors, QSize room) {
  if (const Status checked = charts::check_options(options); !checked) {
    return {{}, {}, words(checked.error().message)};
  }
  const Result<charts::LaidOut> page = what.lay_out(options, vectors);
  if (!page) return {{}, {}, words(page.error().message)};
  const double scale =
      std::min(room.width() / page->size.width(), room.height() / page->size.height());
  QImage image((page->size * scale).toSize().expandedTo(QSize(1, 1)), QImage::Format_RGB32);
  image.fill(Qt::white);
  QPainter painter(&image);
  painter.scale(scale, scale);
  page->paint(painter);
  painter.end();
  return {image, page->size / charts::units_of_mm(1), {}};
}

}  // namespace

PagePreview::PagePreview(std::shared_ptr<const charts::Printable> what, QWidget* parent)
    : QWidget(parent), what_(std::move(what)) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(tr("Preview of the page"));
}

QSize PagePreview::sizeHint() const {
  const int em = fontMetrics().height();
  return {30 * em, 24 * em};
}

void PagePreview::show_page(const charts::FigureOptions& options, bool vectors) {
  wish_ = Wish{options, vectors};
  stale_ = true;
  begin();
}

void PagePreview::begin() {
  if (busy_ || !stale_ || !wish_ || size().isEmpty()) return;
  busy_ = true;
  stale_ = false;
  const QSize room = (QSizeF(size()) * devicePixelRatioF()).toSize();
  // Only the application's thread looks through the pointer.
  charts::draw_soon(*what_,
                    [what = what_, wish = *wish_, room, here = QPointer<PagePreview>(this)] {
                      Painted painted = paint_page(*what, wish.options, wish.vectors, room);
                      QMetaObject::invokeMethod(
                          QCoreApplication::instance(),
                          [here, painted = std::move(painted)] {
                            if (here) here->take(painted.image, painted.page_mm, painted.problem);
                          },
                          Qt::QueuedConnection);
                    });
}

void PagePreview::take(const QImage& image, QSizeF page_mm, const QString& problem) {
  busy_ = false;
  image_ = image;
  image_.setDevicePixelRatio(devicePixelRatioF());
  update();
  Q_EMIT laid_out(page_mm.width(), page_mm.height(), problem);
  begin();
}

void PagePreview::paintEvent(QPaintEvent* /*event*/) {
  if (image_.isNull()) return;
  QPainter painter(this);
  const QSizeF shown = image_.deviceIndependentSize();
  const QRectF page(QPointF((width() - shown.width()) / 2, (height() - shown.height()) / 2), shown);
  painter.drawImage(page.topLeft(), image_);
  painter.setPen(palette().color(QPalette::Mid));
  painter.drawRect(page.adjusted(0, 0, -1, -1));
}

void PagePreview::resizeEvent(QResizeEvent* /*event*/) {
  stale_ = wish_.has_value();
  begin();
}

FigureDialog::FigureDialog(charts::Printable what, charts::FigureOptions shown, const QString& stem,
                           QWidget* parent)
    : QDialog(parent),
      what_(std::make_shared<const charts::Printable>(std::move(what))),
      shown_(std::move(shown)),
      venue_(new QComboBox),
      width_(length_box("width", tr("Width in millimetres"), 30, 2000, tr("mm"))),
      own_height_(check("own_height", tr("Hei&ght"),
                        tr("Without it the height follows from the width and the legend"))),
      height_(length_box("height", tr("Height in millimetres"), 20, 2000, tr("mm"))),
      font_(length_box("font", tr("Size of the text in points"), 4, 40, tr("pt"))),
      title_(check("title", tr("&Title"), tr("What all of it has in common, above the figure"))),
      caption_(check("caption", tr("C&aption with provenance"),
                     tr("Run, machine, commit and the command that repeats it, under the figure"))),
      part_(check("part", tr("Only the part &zoomed into"),
                  tr("The axes as they are zoomed in the window"))),
      format_(new QComboBox),
      dpi_(new QSpinBox),
      csv_(check("csv", tr("Also a .&csv of what is drawn"), tr("The numbers, beside the figure"))),
      tex_(check("tex", tr("Also a .te&x snippet"), QString())),
      file_(new QLineEdit),
      message_(new QLabel),
      write_(nullptr),
      preview_(new PagePreview(what_)) {
  setWindowTitle(tr("Export figure"));
  setAttribute(Qt::WA_DeleteOnClose);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
  write_ = buttons->addButton(tr("&Export"), QDialogButtonBox::AcceptRole);
  write_->setObjectName(QStringLiteral("write"));
  write_->setToolTip(tr("Writes the files (Enter)"));
  connect(write_, &QPushButton::clicked, this, &FigureDialog::write);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);

  auto* halves = new QSplitter(Qt::Horizontal);
  halves->addWidget(build_form(stem));
  halves->addWidget(preview_);
  halves->setStretchFactor(0, 0);
  halves->setStretchFactor(1, 1);
  halves->setChildrenCollapsible(false);
  message_->setObjectName(QStringLiteral("figure_message"));
  message_->setWordWrap(true);
  message_->setTextFormat(Qt::PlainText);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(halves, 1);
  layout->addWidget(message_);
  layout->addWidget(buttons);
  write_->setDefault(true);  // now that it is in the dialog, whose Enter it takes

  restore();
  follow_venue();
  follow_format();
  connect(venue_, &QComboBox::currentIndexChanged, this, &FigureDialog::follow_venue);
  connect(format_, &QComboBox::currentIndexChanged, this, &FigureDialog::follow_format);
  for (QDoubleSpinBox* box : {width_, height_, font_}) {
    connect(box, &QDoubleSpinBox::valueChanged, this, &FigureDialog::refresh);
  }
  for (QCheckBox* box : {own_height_, title_, caption_, part_}) {
    connect(box, &QCheckBox::toggled, this, &FigureDialog::refresh);
  }
  connect(own_height_, &QCheckBox::toggled, height_, &QWidget::setEnabled);
  connect(preview_, &PagePreview::laid_out, this,
          [this](double width_mm, double height_mm, const QString& problem) {
            if (writing_ || failed_) return;
            if (!problem.isEmpty()) return show_problem(problem);
            message_->setPalette(palette());
            message_->setText(
                tr("The page is %1 × %2 mm.").arg(width_mm, 0, 'f', 1).arg(height_mm, 0, 'f', 1));
            write_->setEnabled(true);
          });
  refresh();
  const int em = fontMetrics().height();
  resize(std::min(60 * em, 1000), std::min(36 * em, 650));
}

QWidget* FigureDialog::build_size() {
  venue_->setObjectName(QStringLiteral("venue"));
  venue_->setAccessibleName(tr("Venue, which sets the width"));
  for (const charts::Venue& venue : charts::venues) venue_->addItem(words(venue.title));
  venue_->addItem(tr("Other width"));
  auto* size = new QWidget;
  auto* layout = new QVBoxLayout(size);
  layout->addWidget(venue_);
  layout->addWidget(width_);
  return size;
}

QWidget* FigureDialog::build_form(const QString& stem) {
  format_->setObjectName(QStringLiteral("format"));
  format_->setAccessibleName(tr("Format"));
  for (const char* name : {"PDF", "SVG", "PNG"}) format_->addItem(QLatin1String(name));
  dpi_->setObjectName(QStringLiteral("dpi"));
  dpi_->setAccessibleName(tr("Dots per inch of a PNG"));
  dpi_->setRange(50, 2400);
  dpi_->setSuffix(tr(" dpi"));
  file_->setObjectName(QStringLiteral("file"));
  file_->setAccessibleName(tr("File"));
  file_->setText(QDir(folder_to_begin_in()).filePath(stem + QStringLiteral(".pdf")));
  auto* browse = new QPushButton(tr("&Browse…"));
  browse->setObjectName(QStringLiteral("browse"));
  browse->setAutoDefault(false);
  connect(browse, &QPushButton::clicked, this, &FigureDialog::choose_file);

  auto* form = new QWidget;
  auto* layout = new QFormLayout(form);
  layout->setRowWrapPolicy(QFormLayout::WrapLongRows);
  layout->addRow(tr("&Width"), build_size());
  layout->addRow(own_height_, height_);
  layout->addRow(tr("Te&xt size"), font_);
  for (QCheckBox* box : {title_, caption_, part_}) layout->addRow(box);
  layout->addRow(tr("&Format"), format_);
  layout->addRow(tr("&Resolution"), dpi_);
  for (QCheckBox* box : {csv_, tex_}) layout->addRow(box);
  layout->addRow(tr("Fi&le"), file_);
  layout->addRow(QString(), browse);
  own_height_->setVisible(what_->has_height);
  height_->setVisible(what_->has_height);
  caption_->setVisible(what_->has_caption);
  part_->setVisible(!shown_.ranges.empty());

  auto* scroll = new QScrollArea;
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setWidget(form);
  scroll->setMinimumWidth(form->sizeHint().width() +
                          scroll->verticalScrollBar()->sizeHint().width());
  return scroll;
}

std::vector<FigureDialog::Kept> FigureDialog::kept() const {
  return {{"width_mm", width_, "value", 122},
          {"venue", venue_, "currentIndex", 0},
          {"own_height", own_height_, "checked", false},
          {"height_mm", height_, "value", 80},
          {"font_pt", font_, "value", 8},
          {"title", title_, "checked", true},
          {"caption", caption_, "checked", false},
          {"format", format_, "currentIndex", 0},
          {"dpi", dpi_, "value", 300},
          {"csv", csv_, "checked", false},
          {"tex", tex_, "checked", false}};
}

void FigureDialog::restore() {
  const QSettings settings;
  for (const Kept& one : kept())
    one.widget->setProperty(one.property, settings.value(settings_key(one.key), one.at_first));
  for (QComboBox* box : {venue_, format_})  // of another version
    box->setCurrentIndex(std::max(0, box->currentIndex()));
  if (!what_->has_height) own_height_->setChecked(false);
  height_->setEnabled(own_height_->isChecked());
  part_->setChecked(true);
}

void FigureDialog::done(int result) {
  QSettings settings;
  for (const Kept& one : kept())
    settings.setValue(settings_key(one.key), one.widget->property(one.property));
  settings.setValue(settings_key("folder"), QFileInfo(file()).absolutePath());
  QDialog::done(result);
}

QString FigureDialog::extension() const {
  return format_->currentText().toLower();
}

QString FigureDialog::file() const {
  return file_->text().trimmed();
}

QString FigureDialog::message() const {
  return message_->text();
}

charts::FigureOptions FigureDialog::options() const {
  charts::FigureOptions options = shown_;
  options.theme = charts::ChartTheme::light;
  options.width_mm = width_->value();
  options.height_mm = own_height_->isChecked() ? height_->value() : 0;
  options.font_pt = font_->value();
  options.title = title_->isChecked();
  options.caption = caption_->isChecked() && what_->has_caption ? what_->provenance : std::string();
  options.png_dpi = dpi_->value();
  options.csv = csv_->isChecked();
  options.tex = tex_->isChecked() && tex_->isEnabled();
  if (!part_->isChecked()) options.ranges.clear();
  return options;
}

void FigureDialog::follow_venue() {
  const int index = venue_->currentIndex();
  width_->setEnabled(index == other_width);
  if (index < other_width)
    width_->setValue(charts::venues.at(static_cast<std::size_t>(index)).width_mm);
  refresh();
}

void FigureDialog::follow_format() {
  const QString ending = extension();
  const QFileInfo info(file());
  if (!info.suffix().isEmpty()) {
    file_->setText(QDir(info.path()).filePath(info.completeBaseName() + QLatin1Char('.') + ending));
  }
  dpi_->setEnabled(ending == QLatin1String("png"));
  const bool includable = ending != QLatin1String("svg");
  tex_->setEnabled(includable);
  tex_->setToolTip(includable ? tr("A figure environment that includes the file, with caption and "
                                   "label")
                              : tr("LaTeX does not include SVG: choose PDF or PNG"));
  refresh();
}

void FigureDialog::refresh() {
  failed_ = false;  // with another choice it may succeed
  preview_->show_page(options(), extension() != QLatin1String("png"));
}

void FigureDialog::choose_file() {
  const QFileInfo info(file());
  ask_for_new_file(this, tr("Export figure"), QDir(info.path()).filePath(info.completeBaseName()),
                   {extension()}, [this](const QString& chosen) { file_->setText(chosen); });
}

void FigureDialog::show_problem(const QString& sentence) {
  QPalette colors = palette();
  colors.setColor(QPalette::WindowText, error_text(palette()));
  message_->setPalette(colors);
  message_->setText(sentence);
}

void FigureDialog::write() {
  if (writing_) return;
  if (file().isEmpty()) return show_problem(tr("Name the file to write."));
  QStringList there;
  for (const std::filesystem::path& path : charts::files_of(file().toStdString(), options())) {
    const QString name = QString::fromStdString(path.string());
    if (QFileInfo::exists(name)) there.append(QDir::toNativeSeparators(name));
  }
  if (there.isEmpty()) return write_now();
  auto* question = new QMessageBox(
      QMessageBox::Question, tr("Export figure"),
      there.size() == 1
          ? tr("This file exists. Replace it?\n\n%1").arg(there.front())
          : tr("These files exist. Replace them?\n\n%1").arg(there.join(QLatin1Char('\n'))),
      QMessageBox::Cancel, this);
  question->setObjectName(QStringLiteral("replace"));
  question->setAttribute(Qt::WA_DeleteOnClose);
  question->setTextFormat(Qt::PlainText);
  QPushButton* replace = question->addButton(tr("&Replace"), QMessageBox::AcceptRole);
  replace->setObjectName(QStringLiteral("replace_files"));
  connect(replace, &QPushButton::clicked, this, &FigureDialog::write_now);
  question->open();
}

void FigureDialog::write_now() {
  writing_ = true;
  write_->setEnabled(false);
  message_->setPalette(palette());
  message_->setText(tr("Writing…"));
  // Only the application's thread looks through the pointer.
  charts::draw_soon(*what_, [what = what_, path = file().toStdString(), options = options(),
                             here = QPointer<FigureDialog>(this)] {
    Result<charts::Files> files = charts::write_printable(*what, path, options);
    QMetaObject::invokeMethod(
        QCoreApplication::instance(),
        [here, files = std::move(files)] {
          if (here) here->take_written(files);
        },
        Qt::QueuedConnection);
  });
}

void FigureDialog::take_written(const Result<charts::Files>& files) {
  writing_ = false;
  write_->setEnabled(true);
  if (!files) {
    failed_ = true;
    return show_problem(words(files.error().message));
  }
  QStringList names;
  for (const std::filesystem::path& path : *files) names.append(words(path.string()));
  accept();
  Q_EMIT written(tr("Wrote %1").arg(names.join(QStringLiteral(", "))));
}

void export_chart(charts::RunChart& chart, const QString& stem,
                  std::function<void(const QString& sentence)> written) {
  if (chart.page().empty()) return;
  report::Facets shown = chart.shown_facets();
  std::erase_if(shown.panels, [](const report::Figure& panel) { return panel.series.empty(); });
  auto* dialog =
      new FigureDialog(charts::printable(std::move(shown)), chart.shown_options(), stem, &chart);
  QObject::connect(dialog, &FigureDialog::written, &chart, std::move(written));
  dialog->open();
}

}  // namespace attnscope::gui
