// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/figure_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QCoreApplication>
#include <QDialogButtonBox>
#include <QDir>
#include <QDoubleSpinBox>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPainter>
#include <QPointer>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSettings>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QSplitter>
#include <algorithm>
#include <utility>

#include "app/gui/charts/run_chart.h"
#include "app/gui/session/text.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/theme.h"
#include "views/ui_figure_dialog.h"

namespace attnscope::gui {
namespace {

constexpr int other_width = static_cast<int>(charts::venues.size());  // index in the list of venues

QString settings_key(const char* name) {
  return QStringLiteral("figure/") + QLatin1String(name);
}

struct Painted {
  QImage image;
  QSizeF page_mm;
  QString problem;
};

/// The whole page scaled to `room`, in device pixels.
Painted paint_page(const charts::Printable& what, const charts::FigureOptions& options,
                   bool vectors, QSize room) {
  if (const Status checked = charts::check_options(options); !checked) {
    return {{}, {}, qstring(checked.error().message)};
  }
  const Result<charts::LaidOut> page = what.lay_out(options, vectors);
  if (!page) return {{}, {}, qstring(page.error().message)};
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

PagePreview::PagePreview(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

QSize PagePreview::sizeHint() const {
  const int em = fontMetrics().height();
  return {30 * em, 24 * em};
}

void PagePreview::show_page(std::shared_ptr<const charts::Printable> what,
                            const charts::FigureOptions& options, bool vectors) {
  request_ = Request{std::move(what), options, vectors};
  stale_ = true;
  begin();
}

void PagePreview::begin() {
  if (busy_ || !stale_ || !request_ || size().isEmpty()) return;
  busy_ = true;
  stale_ = false;
  const QSize room = (QSizeF(size()) * devicePixelRatioF()).toSize();
  // Only the application's thread dereferences the pointer.
  charts::draw_soon(
      *request_->what, [request = *request_, room, here = QPointer<PagePreview>(this)] {
        Painted painted = paint_page(*request.what, request.options, request.vectors, room);
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
  stale_ = request_.has_value();
  begin();
}

FigureDialog::FigureDialog(charts::Printable what, charts::FigureOptions shown, const QString& stem,
                           QWidget* parent)
    : QDialog(parent),
      what_(std::make_shared<const charts::Printable>(std::move(what))),
      shown_(std::move(shown)),
      ui_(std::make_unique<Ui::FigureDialog>()) {
  ui_->setupUi(this);
  setAttribute(Qt::WA_DeleteOnClose);
  build(stem);
  restore();
  follow_venue();
  follow_format();
  connect(ui_->venue, &QComboBox::currentIndexChanged, this, &FigureDialog::follow_venue);
  connect(ui_->format, &QComboBox::currentIndexChanged, this, &FigureDialog::follow_format);
  for (QDoubleSpinBox* box : {ui_->width, ui_->height, ui_->font})
    connect(box, &QDoubleSpinBox::valueChanged, this, &FigureDialog::refresh);
  for (QCheckBox* box : {ui_->own_height, ui_->title, ui_->caption, ui_->part})
    connect(box, &QCheckBox::toggled, this, &FigureDialog::refresh);
  connect(ui_->own_height, &QCheckBox::toggled, ui_->height, &QWidget::setEnabled);
  connect(ui_->preview, &PagePreview::laid_out, this,
          [this](double width_mm, double height_mm, const QString& problem) {
            if (writing_ || failed_) return;
            if (!problem.isEmpty()) return show_problem(problem);
            if (!ui_->own_height->isChecked()) {
              const QSignalBlocker quiet(ui_->height);  // shows the automatic height
              ui_->height->setValue(height_mm);
            }
            ui_->figure_message->setPalette(palette());
            ui_->figure_message->setText(
                tr("The page is %1 × %2 mm.").arg(width_mm, 0, 'f', 1).arg(height_mm, 0, 'f', 1));
            write_->setEnabled(true);
          });
  refresh();
  const int em = fontMetrics().height();
  resize(std::min(60 * em, 1000), std::min(36 * em, 650));
}

FigureDialog::~FigureDialog() = default;

const PagePreview* FigureDialog::preview() const {
  return ui_->preview;
}

void FigureDialog::build(const QString& stem) {
  for (const charts::Venue& venue : charts::venues) ui_->venue->addItem(qstring(venue.title));
  ui_->venue->addItem(tr("Other width"));
  ui_->file->setText(QDir(folder_for_new_files()).filePath(stem + QStringLiteral(".pdf")));
  ui_->own_height->setVisible(what_->has_height);
  ui_->height->setVisible(what_->has_height);
  ui_->caption->setVisible(what_->has_caption);
  ui_->part->setVisible(!shown_.ranges.empty());
  ui_->form->layout()->activate();  // lays out the form with the list of venues
  ui_->scroll->setMinimumWidth(ui_->form->sizeHint().width() +
                               ui_->scroll->verticalScrollBar()->sizeHint().width());
  ui_->halves->setStretchFactor(1, 1);
  write_ = ui_->buttons->addButton(tr("&Export"), QDialogButtonBox::AcceptRole);
  write_->setObjectName(QStringLiteral("write"));
  write_->setToolTip(tr("Writes the files (Enter)"));
  write_->setDefault(true);
  connect(write_, &QPushButton::clicked, this, &FigureDialog::write);
  connect(ui_->browse, &QPushButton::clicked, this, &FigureDialog::choose_file);
  connect(ui_->buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
}

std::vector<FigureDialog::Kept> FigureDialog::kept() const {
  return {{"width_mm", ui_->width, "value", 122},
          {"venue", ui_->venue, "currentIndex", 0},
          {"own_height", ui_->own_height, "checked", false},
          {"height_mm", ui_->height, "value", 80},
          {"font_pt", ui_->font, "value", 8},
          {"title", ui_->title, "checked", true},
          {"caption", ui_->caption, "checked", false},
          {"format", ui_->format, "currentIndex", 0},
          {"dpi", ui_->dpi, "value", 300},
          {"csv", ui_->csv, "checked", false},
          {"tex", ui_->tex, "checked", false}};
}

void FigureDialog::restore() {
  const QSettings settings;
  for (const Kept& setting : kept()) {
    setting.widget->setProperty(setting.property,
                                settings.value(settings_key(setting.key), setting.at_first));
  }
  for (QComboBox* box : {ui_->venue, ui_->format})  // the setting may be from another version
    box->setCurrentIndex(std::max(0, box->currentIndex()));
  if (!what_->has_height) ui_->own_height->setChecked(false);
  ui_->height->setEnabled(ui_->own_height->isChecked());
  ui_->part->setChecked(true);
}

void FigureDialog::done(int result) {
  QSettings settings;
  for (const Kept& setting : kept())
    settings.setValue(settings_key(setting.key), setting.widget->property(setting.property));
  remember_folder_of(file());
  QDialog::done(result);
}

QString FigureDialog::extension() const {
  return ui_->format->currentText().toLower();
}

QString FigureDialog::file() const {
  return ui_->file->text().trimmed();
}

QString FigureDialog::message() const {
  return ui_->figure_message->text();
}

charts::FigureOptions FigureDialog::options() const {
  charts::FigureOptions options = shown_;
  options.theme = charts::ChartTheme::light;
  options.width_mm = ui_->width->value();
  options.height_mm = ui_->own_height->isChecked() ? ui_->height->value() : 0;
  options.font_pt = ui_->font->value();
  options.title = ui_->title->isChecked();
  options.caption =
      ui_->caption->isChecked() && what_->has_caption ? what_->provenance : std::string();
  options.png_dpi = ui_->dpi->value();
  options.csv = ui_->csv->isChecked();
  options.tex = ui_->tex->isChecked() && ui_->tex->isEnabled();
  if (!ui_->part->isChecked()) options.ranges.clear();
  return options;
}

void FigureDialog::follow_venue() {
  const int index = ui_->venue->currentIndex();
  ui_->width->setEnabled(index == other_width);
  if (index < other_width)
    ui_->width->setValue(charts::venues.at(static_cast<std::size_t>(index)).width_mm);
  refresh();
}

void FigureDialog::follow_format() {
  const QString ending = extension();
  const QFileInfo info(file());
  if (!info.suffix().isEmpty()) {
    ui_->file->setText(
        QDir(info.path()).filePath(info.completeBaseName() + QLatin1Char('.') + ending));
  }
  ui_->dpi->setEnabled(ending == QLatin1String("png"));
  const bool includable = ending != QLatin1String("svg");
  ui_->tex->setEnabled(includable);
  ui_->tex->setToolTip(includable
                           ? tr("A figure environment that includes the file, with caption and "
                                "label")
                           : tr("LaTeX cannot include SVG; choose PDF or PNG"));
  refresh();
}

void FigureDialog::refresh() {
  failed_ = false;  // other options may succeed
  ui_->preview->show_page(what_, options(), extension() != QLatin1String("png"));
}

void FigureDialog::choose_file() {
  const QFileInfo info(file());
  ask_for_new_file(this, tr("Export figure"), QDir(info.path()).filePath(info.completeBaseName()),
                   {extension()}, [this](const QString& chosen) { ui_->file->setText(chosen); });
}

void FigureDialog::show_problem(const QString& sentence) {
  QPalette colors = palette();
  colors.setColor(QPalette::WindowText, error_text(palette()));
  ui_->figure_message->setPalette(colors);
  ui_->figure_message->setText(sentence);
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
  ui_->figure_message->setPalette(palette());
  ui_->figure_message->setText(tr("Writing…"));
  // Only the application's thread dereferences the pointer.
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
    return show_problem(qstring(files.error().message));
  }
  QStringList names;
  for (const std::filesystem::path& path : *files) names.append(qstring(path.string()));
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
