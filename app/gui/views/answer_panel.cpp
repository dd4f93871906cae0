// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/answer_panel.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QSettings>
#include <QSplitter>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "app/gui/charts/run_chart.h"
#include "app/gui/session/text.h"
#include "app/gui/views/answer_fields.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/theme.h"
#include "base/gzip.h"
#include "base/written_file.h"

namespace attnscope::gui {

using report::Advised;

EffectivenessPlot::EffectivenessPlot(QWidget* parent)
    : QWidget(parent),
      chart_(new charts::RunChart),
      absent_(new ReadingLabel(nullptr, "without_published")) {
  chart_->setObjectName(QStringLiteral("effectiveness"));
  chart_->set_title_shown(false);
  chart_->set_legend_shown(false);  // the list next to it serves as legend
  // Smaller than the chart's own minimum: in a small window the plot shrinks and its labels remain.
  constexpr int least_lines = 6;
  chart_->setMinimumHeight(least_lines * fontMetrics().height());
  absent_->setForegroundRole(QPalette::PlaceholderText);
  auto* layout = new QVBoxLayout(this);
  layout->setSpacing(space::hair);
  layout->addWidget(chart_, 1);
  layout->addWidget(absent_);
  connect(chart_, &charts::RunChart::export_wanted, this, [this] {
    export_chart(*chart_, QStringLiteral("effectiveness"),
                 [this](const QString& text) { Q_EMIT succeeded(text); });
  });
  clear();
}

void EffectivenessPlot::set_contenders(const std::vector<std::string>& ids) {
  chart_->set_contenders(ids);
}

void EffectivenessPlot::show_advice(const report::Advice& advice) {
  const report::Figure figure = report::effectiveness_figure(advice);
  chart_->set_placeholder(
      tr("The paper has no nDCG@10 for these patterns and windows at this length."));
  chart_->set_figure(figure);
  const auto range = report::readable_range(std::span(&figure, 1));
  chart_->set_y_range(range ? std::optional(charts::AxisRange{range->low, range->high})
                            : std::nullopt);
  QStringList absent;
  for (const Advised& contender : advice.contenders) {
    if (!contender.published && !contender.measured) absent.append(qstring(contender.name));
  }
  const bool any_measured = std::ranges::any_of(
      advice.contenders, [](const Advised& contender) { return contender.measured.has_value(); });
  const QString count = counted(absent.size(), tr("contender"), tr("contenders"));
  QStringList text;
  if (any_measured) text.append(qstring(figure.warning));
  if (!absent.isEmpty()) {
    text.append(any_measured ? tr("Neither measured nor published: %1").arg(count)
                             : tr("Not published: %1").arg(count));
  }
  absent_->setText(text.join(QLatin1Char('\n')));
  absent_->setToolTip(absent.join(QLatin1Char('\n')));
  absent_->setAccessibleDescription(absent.join(QStringLiteral("; ")));
  absent_->setVisible(!text.isEmpty() && !figure.series.empty());
}

void EffectivenessPlot::clear() {
  chart_->set_placeholder(tr("Time against effectiveness appears here with an answer."));
  chart_->set_figure({});
  absent_->hide();
}

namespace {

constexpr int typing_pause_ms = 200;

/// In the format given by the file's extension.
Status write_answer_file(const report::Advice& answer, const QString& file) {
  const auto forms = report::table_formats();
  const std::string ending = QFileInfo(file).suffix().toLower().toStdString();
  const auto form = std::ranges::find(forms, ending, &report::TableFormatName::extension);
  if (form == forms.end()) {
    QStringList known;
    for (const report::TableFormatName& each : forms)
      known.append(QLatin1Char('.') + qstring(each.extension));
    return fail("{}: the extension of an answer must be one of {}; rename the file",
                file.toStdString(), known.join(QStringLiteral(", ")).toStdString());
  }
  return write_file(file.toStdString(),
                    report::write_advice(answer.run, std::span(&answer, 1), form->format));
}

/// Decided by the name, without the ".gz" of a compressed file.
bool may_be_pairs(const QString& file) {
  static const QStringList endings{QStringLiteral("tsv"), QStringLiteral("txt"),
                                   QStringLiteral("jsonl"), QStringLiteral("ndjson")};
  const std::string name = without_gzip_ending(file.toStdString()).string();
  return endings.contains(QFileInfo(QString::fromStdString(name)).suffix().toLower());
}

/// The measured length that is nearest to a typical re-ranker input: its answer is based only on
/// measured numbers.
const report::Row* usual_cell(const report::Table& table) {
  constexpr double usual_tokens = 512;
  const report::Row* nearest = nullptr;
  const auto distance = [](const report::Row& row) {
    return std::abs(std::log(static_cast<double>(row.cell.point.sequence_tokens) / usual_tokens));
  };
  for (const report::Row& row : table.rows) {
    if (!report::is_measured(row) || row.cell.point.sequence_tokens < 1) continue;
    if (nearest == nullptr || distance(row) < distance(*nearest)) nearest = &row;
  }
  return nearest;
}

}  // namespace

AnswerPanel::AnswerPanel(QWidget* parent)
    : QWidget(parent),
      settings_(picker(QStringLiteral("answer_setting"), tr("Setting of the answer"),
                       tr("Setting of the answer"))),
      nothing_(new ReadingLabel(nullptr, "answer_nothing")),
      fields_(new AnswerFields),
      question_(new PopupButton(this, fields_)),
      list_(new AnswerList),
      plot_(new EffectivenessPlot) {
  question_->setObjectName(QStringLiteral("answer_question"));
  question_->setAccessibleName(tr("Question"));
  typing_.setSingleShot(true);
  typing_.setInterval(typing_pause_ms);
  auto* layout = new QVBoxLayout(this);
  build_actions();
  layout->addLayout(build_head());
  layout->addWidget(build_body(), 1);
  connect(&typing_, &QTimer::timeout, this, &AnswerPanel::update_answer);
  connect(fields_, &AnswerFields::changed, this, [this] { typing_.start(); });
  connect(fields_, &AnswerFields::file_wanted, this, &AnswerPanel::choose_file);
  connect(settings_, &QComboBox::activated, this, &AnswerPanel::show_setting);
  connect(&job_, &LatestJob::failed, this, &AnswerPanel::show_sentence);
  connect(&lengths_, &TextLengths::answered, this, [this] {
    if (!lengths_.problem().isEmpty()) {
      Q_EMIT failed(lengths_.problem());
      return;
    }
    fields_->documents()->setText(lengths_.file());
    Q_EMIT succeeded(tr("Using the lengths in %1.").arg(QFileInfo(lengths_.file()).fileName()));
  });
  setAcceptDrops(true);
  connect(plot_, &EffectivenessPlot::succeeded, this, &AnswerPanel::succeeded);
  connect(list_, &AnswerList::copied, this,
          [this] { Q_EMIT succeeded(tr("Copied the details of this contender.")); });
  update_answer();
}

AnswerPanel::~AnswerPanel() {
  lengths_.disconnect(this);
}

void AnswerPanel::build_actions() {
  const auto add = [this](const QString& text, const char* name, void (AnswerPanel::*act)(),
                          const QKeySequence& keys = {}) {
    QAction* action = add_action(this, text, keys, act);
    action->setObjectName(QLatin1String(name));
    return action;
  };
  add(tr("Go to the question"), "go_to_question", &AnswerPanel::go_to_question, tr("Ctrl+J"));
  add(tr("Lengths from a file…"), "choose_lengths", &AnswerPanel::choose_file);
  measure_ = add(tr("Measure exactly"), "measure_exactly", &AnswerPanel::measure);
  measure_->setEnabled(false);
  copy_ = add(tr("Copy answer"), "copy_answer", &AnswerPanel::copy);
  save_ = add(tr("Save answer…"), "save_answer", &AnswerPanel::save);
  save_->setToolTip(tr("As text, a table or data, depending on the file's extension"));
  list_->addActions({copy_, save_});
}

QLayout* AnswerPanel::build_head() {
  auto* measure = new QToolButton;
  measure->setObjectName(QStringLiteral("measure_exactly_button"));
  measure->setDefaultAction(measure_);
  measure->setFocusPolicy(Qt::StrongFocus);
  // Visible while there is something to measure.
  const auto show = [this, measure] { measure->setVisible(measure_->isEnabled()); };
  connect(measure_, &QAction::changed, measure, show);
  show();
  auto* line = new QHBoxLayout;
  line->addWidget(settings_);
  line->addWidget(question_);
  line->addStretch();
  line->addWidget(measure);
  return line;
}

QWidget* AnswerPanel::build_body() {
  nothing_->setAlignment(Qt::AlignCenter);
  auto* left = new QWidget;
  auto* column = new QVBoxLayout(left);
  column->addWidget(list_, 1);
  column->addWidget(nothing_, 1);
  auto* sides = new QSplitter(Qt::Horizontal);
  sides->setObjectName(QStringLiteral("answer_sides"));
  sides->addWidget(left);
  sides->addWidget(plot_);
  sides->setStretchFactor(0, 7);
  sides->setStretchFactor(1, 3);
  sides->setSizes({700, 300});
  sides->setChildrenCollapsible(false);
  sides->setHandleWidth(8);
  keep_sizes(*sides);
  return sides;
}

// If the plot would have no height, the sentences get all of it.
void AnswerPanel::resizeEvent(QResizeEvent* event) {
  constexpr int least_lines = 12;
  QWidget::resizeEvent(event);
  plot_->setVisible(height() >= least_lines * fontMetrics().height());
}

void AnswerPanel::go_to_question() {
  Q_EMIT question_wanted();
  question_->open(fields_->documents());
  fields_->documents()->selectAll();
}

void AnswerPanel::choose_file() {
  Q_EMIT question_wanted();
  ask_for_file(this, tr("Document lengths"),
               tr("Lengths, one per line, or pairs of texts (*.txt *.csv *.json *.tsv *.jsonl "
                  "*.tsv.gz *.jsonl.gz);;All files (*)"),
               [this](const QString& file) { take_lengths(file); });
}

void AnswerPanel::take_lengths(const QString& file) {
  // Invalid files are reported below the field.
  if (!may_be_pairs(file) || report::read_document_lengths(file.toStdString()))
    return fields_->documents()->setText(file);
  ask_for_folder(this, tr("Checkpoint whose tokenizer counts the tokens"),
                 QSettings().value(checkpoint_folder_key).toString(),
                 [this, file](const QString& folder) {
                   QSettings().setValue(checkpoint_folder_key, folder);
                   Q_EMIT succeeded(tr("Counting the tokens of %1…").arg(file));
                   lengths_.count(folder, file);
                 });
}

// The window handles other files.
void AnswerPanel::dragEnterEvent(QDragEnterEvent* event) {
  const QList<QUrl> urls = event->mimeData()->urls();
  if (urls.size() != 1 || !urls.front().isLocalFile()) return event->ignore();
  const QString file = urls.front().toLocalFile();
  const bool is_taken = may_be_pairs(file) || file.endsWith(QStringLiteral(".csv")) ||
                        report::read_document_lengths(file.toStdString()).has_value();
  event->setAccepted(is_taken);
}

void AnswerPanel::dropEvent(QDropEvent* event) {
  event->acceptProposedAction();
  take_lengths(event->mimeData()->urls().front().toLocalFile());
}

void AnswerPanel::show_run(const RunPointer& run) {
  run_ = run;
  if (run_) {
    const std::vector<std::string>& ids = run_->table.contenders;
    list_->set_contenders(ids);
    plot_->set_contenders(ids);
    if (const report::Row* usual = usual_cell(run_->table); usual && begun_ != run_->request.uuid) {
      // A run in progress may yet measure a nearer length.
      if (run_->table.run.status != RunStatus::running) begun_ = run_->request.uuid;
      fields_->begin_with(*usual);
    }
  }
  update_answer();
}

void AnswerPanel::update_answer() {
  typing_.stop();
  job_.drop();
  if (!run_ || run_->table.rows.empty()) {
    const bool runs = run_ && run_->table.run.status == RunStatus::running;
    show_answer(nullptr);
    if (!run_) {
      return show_sentence(
          tr("The answer appears when a run is chosen and read; New run (Ctrl+N) "
             "starts one."));
    }
    return show_sentence(
        runs ? tr("The first heat is being measured. The answer appears when it finishes.")
             : tr("There is no data for an answer: choose a run with a finished heat, or "
                  "start one with New run (Ctrl+N)."));
  }
  const std::optional<RequestedQuestion>& requested = fields_->requested();
  if (!requested) {
    show_answer(nullptr);
    return show_sentence(fields_->problem());
  }
  job_.start([run = run_, question = *requested, this](const LatestJob::Token& token) {
    token.deliver([this, answer = find_answer(*run, question)] { show_answer(answer); });
  });
}

void AnswerPanel::show_answer(const AnswerPointer& answer) {
  answer_ = answer;
  const QString chosen = settings_->currentText();
  settings_->clear();
  if (answer_) {
    for (const report::Advice& setting : answer_->settings)
      settings_->addItem(qstring(setting.setting));
    fields_->set_file_problem(answer_->lengths_problem);
  }
  settings_->setCurrentIndex(std::max(0, settings_->findText(chosen)));
  settings_->setVisible(settings_->count() > 1);
  show_setting();
}

const report::Advice* AnswerPanel::advice() const {
  if (!answer_ || answer_->settings.empty()) return nullptr;
  const auto at = static_cast<std::size_t>(std::max(0, settings_->currentIndex()));
  return &answer_->settings[std::min(at, answer_->settings.size() - 1)];
}

void AnswerPanel::show_setting() {
  const report::Advice* shown = advice();
  list_->show_advice(shown ? std::optional(*shown) : std::nullopt);
  if (shown) {
    plot_->show_advice(*shown);
  } else {
    plot_->clear();
  }
  const QString none =
      answer_ && !answer_->problem.isEmpty() ? answer_->problem : fields_->problem();
  show_sentence(shown ? QString() : none);
  copy_->setEnabled(shown != nullptr);
  save_->setEnabled(shown != nullptr);
  const auto lacking = shown ? static_cast<qint64>(shown->to_measure.size()) : 0;
  measure_->setEnabled(lacking > 0);
  if (lacking == 0) {
    measure_->setText(tr("Measure exactly"));
    measure_->setToolTip(tr("Every number here was measured at its length"));
  } else {
    QStringList lengths;
    for (const std::int64_t tokens : shown->to_measure) lengths.append(QString::number(tokens));
    measure_->setText(lacking == 1 ? tr("Measure %1 tokens").arg(lengths.front())
                                   : tr("Measure %1 lengths").arg(lacking));
    measure_->setToolTip(tr("A new run with sequences of %1 tokens, instead of values interpolated "
                            "between measured lengths")
                             .arg(lengths.join(QStringLiteral(", "))));
  }
}

void AnswerPanel::show_sentence(const QString& sentence) {
  nothing_->setText(sentence);
  nothing_->setVisible(!sentence.isEmpty());
  list_->setVisible(sentence.isEmpty());
  const report::Advice* shown = advice();
  question_->set_summary(shown ? qstring(shown->heading) : tr("Question"));
}

void AnswerPanel::measure() {
  const report::Advice* shown = advice();
  if (shown && !shown->to_measure.empty())
    Q_EMIT measure_requested(qstring(report::exact_sweep(*shown)));
}

QString AnswerPanel::text() const {
  const report::Advice* shown = advice();
  return shown ? qstring(report::write_advice(shown->run, std::span(shown, 1))) : QString();
}

void AnswerPanel::copy() {
  if (!advice()) return;
  QApplication::clipboard()->setText(text());
  Q_EMIT succeeded(tr("Copied the answer."));
}

void AnswerPanel::save() {
  if (!run_ || !advice()) return;
  QStringList endings;
  for (const report::TableFormatName& form : report::table_formats())
    endings.append(qstring(form.extension));
  ask_for_new_file(this, tr("Save the answer"),
                   file_stem(run_->table.run, QStringLiteral("answer")), endings,
                   [this, answer = *advice()](const QString& file) {
                     const Status written = write_answer_file(answer, file);
                     if (written) {
                       Q_EMIT succeeded(tr("Wrote %1").arg(file));
                     } else {
                       Q_EMIT failed(qstring(written.error().message));
                     }
                   });
}

}  // namespace attnscope::gui
