// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/new_run_dialog.h"

#include <QComboBox>
#include <QFileInfo>
#include <QFormLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScreen>
#include <QScrollArea>
#include <QScrollBar>
#include <QShortcut>
#include <QSignalBlocker>
#include <QStandardItemModel>
#include <QToolButton>
#include <QVBoxLayout>
#include <memory>
#include <utility>

#include "app/gui/session/sweep_draft.h"
#include "app/gui/session/text.h"
#include "app/gui/views/contender_chips.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/theme.h"
#include "engine/report/table.h"
#include "views/ui_new_run_dialog.h"

namespace attnscope::gui {
namespace {

constexpr QSize size_in_characters(140, 46);
constexpr int least_lines = 20;

/// The control is the label's buddy, although it shares a column with its problem.
void add_row(QFormLayout& form, const QString& text, QWidget* control, ProblemLabel* problem) {
  auto* column = new QVBoxLayout;
  column->setSpacing(space::hair);
  column->addWidget(control);
  column->addWidget(problem);
  auto* label = new QLabel(text);
  label->setBuddy(control);
  form.addRow(label, column);
}

QString summary_of(const SweepDraft& draft) {
  return NewRunDialog::tr("%1 at %2 tokens on %3")
      .arg(counted(static_cast<qint64>(draft.contenders.size()), NewRunDialog::tr("contender"),
                   NewRunDialog::tr("contenders")),
           draft.fields.at(QStringLiteral("sequence_tokens")),
           draft.fields.at(QStringLiteral("device")));
}

/// The forecast requirements of a sweep's contenders.
struct Need {
  double bytes = 0;  // of the contender that needs the most; 0: unknown
  QString whose = {};
  qint64 tokens = 0;
  double seconds = 0;     // for one pass of each at the largest point, at least
  bool is_least = false;  // bytes
};

Need need_of(const Forecast& forecast, const std::vector<PatternAndImplementation>& contenders) {
  Need need;
  for (const PatternAndImplementation& contender : contenders) {
    const auto found = forecast.pairs.find(contender);
    if (found == forecast.pairs.end()) continue;
    need.seconds += found->second.least_seconds;
    const double bytes = found->second.item_bytes.value_or(0);
    if (bytes <= need.bytes) continue;
    need.bytes = bytes;
    need.is_least = found->second.is_least;
    need.tokens = found->second.tokens;
    need.whose = contender.first + QLatin1Char('/') + contender.second;
  }
  return need;
}

QString memory_text(const Forecast& forecast, const Need& need) {
  if (need.bytes <= 0) return {};
  // Uses the largest batch that fits the sweep's memory, and one item even if that does not fit.
  const double budget =
      std::min(forecast.batch_bytes, forecast.free_bytes.value_or(forecast.batch_bytes));
  const double bytes = std::max(need.bytes, std::min(budget, need.bytes * forecast.batch_max));
  return (need.is_least ? NewRunDialog::tr("at least %1 of memory (%2 at %3 tokens)")
                        : NewRunDialog::tr("about %1 of memory (%2 at %3 tokens)"))
      .arg(qstring(report::format_bytes(bytes)), need.whose)
      .arg(need.tokens);
}

/// For devices; a combination may not be an entry yet: "cpu, cuda".
void choose_kind(QComboBox& box, const QString& kind) {
  if (box.findData(kind) < 0) box.addItem(kind, kind);
  box.setCurrentIndex(box.findData(kind));
}

/// The control's text field; null: it is only a list.
QLineEdit* line_of(QWidget* control) {
  auto* box = qobject_cast<QComboBox*>(control);
  return box ? box->lineEdit() : static_cast<QLineEdit*>(control);
}

}  // namespace

NewRunDialog::NewRunDialog(QWidget* parent)
    : QDialog(parent), file_(new SweepFile(this)), ui_(std::make_unique<Ui::NewRunDialog>()) {
  ui_->setupUi(this);
  start_tip_ = ui_->start_run->toolTip();
  start_text_ = ui_->start_run->text();
  for (QFormLayout* form : {ui_->first, ui_->others}) form->setHorizontalSpacing(space::margin);
  for (const SweepField& field : sweep_fields())
    add_field(field.first ? *ui_->first : *ui_->others, field);
  ui_->others->setContentsMargins(space::margin, 0, 0, 0);
  ui_->column->setContentsMargins(0, space::gap, space::gap, space::gap);
  ui_->axis_note->setForegroundRole(QPalette::PlaceholderText);
  ui_->programs->set_placeholder(tr("none; a file such as mine.py, or flex, onnxruntime, ..."));
  for (QWidget* see_through : {ui_->scroll->viewport(), ui_->form})
    see_through->setAutoFillBackground(false);
  // Independent of messages: the form scrolls, and the window is no higher than the screen.
  setMinimumHeight(least_lines * fontMetrics().height());
  show_advanced(false);
  auto* go = new QShortcut(this);
  go->setKeys({QKeySequence(tr("Ctrl+Return")), QKeySequence(tr("Ctrl+Enter"))});
  connect(go, &QShortcut::activated, this, &NewRunDialog::start);
  connect(file_, &SweepFile::edited, this, [this](const std::string& text) {
    from_file_ = true;
    choose_custom();
    show_message(tr("Read from %1.").arg(file_->path()));
    check_later([text] { return check_text(text); });
  });
  connect(file_, &SweepFile::unreadable, this, [this](const QString& sentence) {
    refuse(sentence);
    file_is_wrong_ = QFileInfo(file_->path()).isFile();
    ui_->edit_file->setEnabled(true);
  });
  connect(&job_, &LatestJob::finished, this, [this] {
    if (std::exchange(start_requested_, false)) start();
  });
  connect(&job_, &LatestJob::failed, this, &NewRunDialog::refuse);
  connect(ui_->preset, &QComboBox::currentIndexChanged, this, &NewRunDialog::load_chosen);
  connect(ui_->save_preset, &QPushButton::clicked, this, &NewRunDialog::save_preset);
  connect(ui_->edit_file, &QPushButton::clicked, this, &NewRunDialog::open_file);
  connect(ui_->sweep_name, &QLineEdit::textEdited, this, &NewRunDialog::form_edited);
  connect(ui_->contenders, &ContenderChips::edited, this, &NewRunDialog::form_edited);
  connect(ui_->programs->line(), &QLineEdit::editingFinished, this, &NewRunDialog::name_programs);
  connect(ui_->programs, &FileField::chosen, this, &NewRunDialog::name_programs);
  connect(ui_->advanced, &QToolButton::toggled, this, &NewRunDialog::show_advanced);
  connect(ui_->start_run, &QPushButton::clicked, this, &NewRunDialog::start);
  connect(ui_->close_new_run, &QPushButton::clicked, this, &QDialog::reject);
  list_presets({});
  load_chosen();
}

NewRunDialog::~NewRunDialog() = default;

ContenderChips* NewRunDialog::contenders() const {
  return ui_->contenders;
}

void NewRunDialog::add_field(QFormLayout& form, const SweepField& field) {
  const QString name = QString(field.key).replace(QLatin1Char('.'), QLatin1Char('_'));
  Field& made = fields_[field.key];
  made.problem = new ProblemLabel(this, qPrintable(name + QStringLiteral("_problem")));
  const bool of_devices = field.key == QLatin1String("device");
  if (of_devices || !field.choices.isEmpty()) {
    auto* box = new QComboBox;
    box->setEditable(!of_devices);
    box->setInsertPolicy(QComboBox::NoInsert);
    box->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    // An unavailable device shows its reason, which is long.
    if (of_devices) box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setObjectName(name + QStringLiteral("_choice"));
    box->setAccessibleName(QString(field.name).remove(QLatin1Char('&')));
    for (const QString& choice : of_devices ? QStringList{QStringLiteral("cpu")} : field.choices)
      box->addItem(choice, choice);
    connect(box, &QComboBox::activated, this, &NewRunDialog::form_edited);
    let_wheel_pass(box);
    made.control = box;
  } else {
    made.control = new QLineEdit;
  }
  if (QLineEdit* line = line_of(made.control)) {
    line->setObjectName(name);
    line->setPlaceholderText(field.fallback);
    connect(line, &QLineEdit::textEdited, this, &NewRunDialog::form_edited);
  }
  made.control->setToolTip(field.tip);
  add_row(form, field.name, made.control, made.problem);
}

// In a text field, Return accepts the dialog; on a chip or in a list, it acts on that widget.
void NewRunDialog::keyPressEvent(QKeyEvent* event) {
  const bool is_return = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  const auto* box = qobject_cast<QComboBox*>(focusWidget());
  // Its contenders are not listed yet.
  if (is_return && ui_->programs->line()->hasFocus()) return name_programs();
  const bool in_text = qobject_cast<QLineEdit*>(focusWidget()) || (box && box->isEditable());
  if (!is_return || in_text) QDialog::keyPressEvent(event);
}

void NewRunDialog::open() {
  if (!testAttribute(Qt::WA_Resized)) {
    const QSize wanted(size_in_characters.width() * fontMetrics().averageCharWidth(),
                       size_in_characters.height() * fontMetrics().height());
    resize(wanted.boundedTo(screen()->availableSize() - QSize(40, 60)));
  }
  ui_->scroll->verticalScrollBar()->setValue(0);
  show();
  raise();
  activateWindow();
  ui_->preset->setFocus(Qt::OtherFocusReason);
}

void NewRunDialog::list_presets(const QString& chosen) {
  const QSignalBlocker quiet(ui_->preset);
  presets_ = built_in_sweeps();
  const auto shipped = static_cast<int>(presets_.size());
  for (NamedSweep& own : own_presets()) presets_.push_back(std::move(own));
  ui_->preset->clear();
  for (int i = 0; i < static_cast<int>(presets_.size()); ++i) {
    if (i == shipped) ui_->preset->insertSeparator(i);
    const NamedSweep& preset = presets_[static_cast<std::size_t>(i)];
    ui_->preset->addItem(qstring(preset.name), i);
    ui_->preset->setItemData(ui_->preset->count() - 1, summary_of(draft_of(preset)),
                             Qt::ToolTipRole);
  }
  ui_->preset->addItem(tr("Custom"));
  const int place = chosen.isEmpty() ? 0 : ui_->preset->findText(chosen);
  ui_->preset->setCurrentIndex(place >= 0 ? place : ui_->preset->count() - 1);
}

void NewRunDialog::choose_preset(const QString& name) {
  const int place = ui_->preset->findText(name);
  if (place < 0) return;
  if (place == ui_->preset->currentIndex()) return load_chosen();
  ui_->preset->setCurrentIndex(place);
}

void NewRunDialog::load_chosen() {
  if (ui_->preset->currentData().isValid())
    load(presets_[static_cast<std::size_t>(ui_->preset->currentData().toInt())]);
}

void NewRunDialog::load(const NamedSweep& preset) {
  set_draft(draft_of(preset));
  from_file_ = false;
  show_message({});
  ui_->other_problem->set_problem({});
  check_later([draft = draft()] { return check(draft); });
}

void NewRunDialog::choose_custom() {
  const QSignalBlocker quiet(ui_->preset);
  ui_->preset->setCurrentIndex(ui_->preset->count() - 1);
  about_to_replace_.clear();
  show_message({});
}

void NewRunDialog::show_message(const QString& sentence) {
  ui_->preset_saved->setText(sentence);
  ui_->preset_saved->setVisible(!sentence.isEmpty());
  ui_->preset_problem->set_problem({});
}

void NewRunDialog::save_preset() {
  const QString name = ui_->sweep_name->text().trimmed();
  show_message({});
  if (is_own_preset(name) && std::exchange(about_to_replace_, name) != name) {
    return ui_->preset_problem->set_problem(
        tr("You have a preset %1: save again to replace it, or enter another name.").arg(name));
  }
  about_to_replace_.clear();
  const Result<QString> saved = save_own_preset(name, checked_.sweep_text);
  ui_->preset_problem->set_problem(saved ? QString() : qstring(saved.error().message));
  if (!saved) return;
  list_presets(name);
  show_message(tr("Saved as %1.").arg(*saved));
}

void NewRunDialog::open_file() {
  show_message(
      tr("This form reads %1 whenever you save it. If no editor opens, open the file in an editor "
         "of your choice.")
          .arg(file_->path()));
  // An invalid file that the user wrote is not overwritten.
  ui_->preset_problem->set_problem(
      file_->open(checked_.ok() && !file_is_wrong_ ? checked_.sweep_text : std::string()));
}

bool NewRunDialog::begin_with(const QString& sweep_text) {
  const std::string text = sweep_text.toStdString();
  const Result<Sweep> sweep = parse_sweep(text, "The sweep");
  if (!sweep) {
    refuse(qstring(sweep.error().message));
    return false;
  }
  choose_custom();
  load({.name = sweep->name, .text = text});
  return true;
}

void NewRunDialog::refuse(const QString& sentence) {
  job_.drop();
  start_requested_ = from_file_ = false;
  CheckedDraft none;
  none.problems[{}] = sentence;
  show_checked(none);
}

void NewRunDialog::set_device(const QString& kind) {
  auto* box = static_cast<QComboBox*>(fields_.at(QStringLiteral("device")).control);
  if (box->currentData().toString() == kind) return;
  choose_kind(*box, kind);
  form_edited();
}

void NewRunDialog::set_implementations(const QList<ListedImplementation>& implementations,
                                       const QString& problem) {
  ui_->contenders->set_implementations(implementations, problem);
  list_problem_ = problem;
  if (is_checked()) show_checked(checked_);
}

void NewRunDialog::set_devices(const QList<ListedDevice>& devices) {
  auto* box = static_cast<QComboBox*>(fields_.at(QStringLiteral("device")).control);
  const QString chosen = box->currentData().toString();
  box->clear();
  for (const ListedDevice& listed : devices) {
    const QString what = listed.available ? listed.name : listed.reason;
    box->addItem(what.isEmpty() ? listed.kind : QStringLiteral("%1: %2").arg(listed.kind, what),
                 listed.kind);
    auto* model = qobject_cast<QStandardItemModel*>(box->model());
    if (!listed.available && model) model->item(box->count() - 1)->setEnabled(false);
  }
  choose_kind(*box, chosen);
}

void NewRunDialog::set_forecast(const Forecast& forecast) {
  forecast_ = forecast;
  std::map<PatternAndImplementation, QString> reasons;
  for (const auto& [pair, estimated] : forecast.pairs) {
    if (!estimated.reason.isEmpty()) reasons.emplace(pair, estimated.reason);
  }
  ui_->contenders->set_impossible(std::move(reasons));
  show_estimate();
}

void NewRunDialog::show_advanced(bool shown) {
  ui_->advanced->setChecked(shown);
  ui_->advanced->setArrowType(shown ? Qt::DownArrow : Qt::RightArrow);
  ui_->advanced_axes->setVisible(shown);
}

void NewRunDialog::set_draft(const SweepDraft& draft) {
  base_text_ = draft.base_text;
  ui_->sweep_name->setText(draft.name);
  ui_->contenders->set_checked(draft.contenders);
  for (const auto& [key, text] : draft.fields) {
    QWidget* control = fields_.at(key).control;
    if (auto* box = qobject_cast<QComboBox*>(control)) box->setCurrentIndex(-1);
    if (QLineEdit* line = line_of(control)) {
      line->setText(text);
    } else {
      choose_kind(*static_cast<QComboBox*>(control), text);
    }
  }
  name_contenders();
}

SweepDraft NewRunDialog::draft() const {
  SweepDraft draft{.base_text = base_text_,
                   .name = ui_->sweep_name->text().trimmed(),
                   .contenders = ui_->contenders->checked(),
                   .fields = {}};
  for (const auto& [key, field] : fields_) {
    const QLineEdit* line = line_of(field.control);
    draft.fields[key] = line ? line->text().trimmed()
                             : static_cast<QComboBox*>(field.control)->currentData().toString();
  }
  return draft;
}

void NewRunDialog::name_contenders() {
  const QLineEdit* operation = line_of(fields_.at(QStringLiteral("operation")).control);
  ui_->contenders->show_models(operation->text().trimmed() == QLatin1String("model"));
}

void NewRunDialog::name_programs() {
  QStringList programs;
  for (const QString& part : ui_->programs->text().split(QLatin1Char(','), Qt::SkipEmptyParts)) {
    if (!part.trimmed().isEmpty()) programs.append(part.trimmed());
  }
  if (std::exchange(programs_, programs) == programs) return;
  Q_EMIT programs_named(programs);
  if (checked_.ok()) Q_EMIT forecast_wanted(checked_.sweep_text);
}

void NewRunDialog::form_edited() {
  from_file_ = false;
  const QVariant preset = ui_->preset->currentData();
  if (preset.isValid() && ui_->sweep_name->text() == ui_->preset->currentText())
    ui_->sweep_name->setText(tr("custom"));
  choose_custom();
  name_contenders();
  check_later([draft = draft()] { return check(draft); });
}

void NewRunDialog::check_later(std::function<CheckedDraft()> work) {
  job_.start([this, work = std::move(work)](const LatestJob::Token& token) {
    CheckedDraft checked = work();
    token.deliver([this, checked = std::move(checked)] { show_checked(checked); });
  });
}

void NewRunDialog::show_checked(CheckedDraft checked) {
  checked_ = std::move(checked);
  const QString of_contenders = QStringLiteral("contenders");
  // Programs may have answered since the message was set.
  const auto stated = checked_.problems.find(of_contenders);
  if (stated != checked_.problems.end() && stated->second == unknown_)
    checked_.problems.erase(stated);
  unknown_ = ui_->contenders->problem();
  if (!unknown_.isEmpty()) checked_.problems.try_emplace(of_contenders, unknown_);
  const bool ok = checked_.ok();
  bool after = false;
  const auto problem_of = [this](const QString& key) {
    const auto found = checked_.problems.find(key);
    return found == checked_.problems.end() ? QString() : found->second;
  };
  for (const SweepField& field : sweep_fields()) {
    const QString problem = problem_of(field.key);
    fields_.at(field.key).problem->set_problem(problem);
    after = after || (!field.first && !problem.isEmpty());
  }
  if (after) show_advanced(true);
  ui_->contenders->set_problem(problem_of(QStringLiteral("contenders")));
  ui_->other_problem->set_problem(problem_of({}));
  if (ok && from_file_) {
    const std::string name = ui_->sweep_name->text().toStdString();
    set_draft(draft_of({.name = name, .text = checked_.sweep_text}));
  }
  if (from_file_) {
    file_is_wrong_ = !ok;
  } else if (ok && file_is_wrong_) {
    show_message(tr("%1 still contains the text that you saved last, which is not a valid sweep; "
                    "this form is no longer updated from it.")
                     .arg(file_->path()));
  } else if (ok) {
    file_->follow(checked_.sweep_text);
  }
  for (QPushButton* each : {ui_->start_run, ui_->save_preset}) each->setEnabled(ok);
  ui_->edit_file->setEnabled(ok || from_file_);
  show_estimate();
  if (ok) Q_EMIT forecast_wanted(checked_.sweep_text);
}

void NewRunDialog::set_estimating(bool estimating) {
  if (std::exchange(estimating_, estimating) != estimating) show_estimate();
}

void NewRunDialog::showEvent(QShowEvent* event) {
  QDialog::showEvent(event);
  if (checked_.ok()) Q_EMIT forecast_wanted(checked_.sweep_text);
}

// A forecast for a hidden form would disturb measurements.
void NewRunDialog::hideEvent(QHideEvent* event) {
  QDialog::hideEvent(event);
  Q_EMIT forecast_wanted({});
}

/// Why Start is disabled; the field may be scrolled out of view.
QString NewRunDialog::why_not() const {
  if (checked_.ok()) return {};
  QStringList fields;
  for (const SweepField& field : sweep_fields()) {
    const auto found = checked_.problems.find(field.key);
    if (found == checked_.problems.end()) continue;
    fields.append(tr("%1: %2").arg(QString(field.name).remove(QLatin1Char('&')), found->second));
  }
  if (const auto found = checked_.problems.find(QStringLiteral("contenders"));
      found != checked_.problems.end())
    fields.prepend(tr("Contenders: %1").arg(found->second));
  return fields.isEmpty() ? tr("The run cannot start: see above.")
                          : tr("The run cannot start. %1").arg(fields.join(QLatin1Char(' ')));
}

void NewRunDialog::show_estimate() {
  ui_->too_much->set_problem({});
  ui_->start_run->setText(start_text_);
  const QString problem = why_not();
  ui_->start_run->setToolTip(problem.isEmpty() ? start_tip_ : problem);
  if (!checked_.ok()) return ui_->estimate->setText(problem);
  const Need need = estimating_ ? Need() : need_of(forecast_, ui_->contenders->checked());
  QStringList parts{counted(checked_.heats, tr("heat"), tr("heats")),
                    counted(checked_.cells, tr("cell"), tr("cells")),
                    need.seconds > checked_.longest_seconds
                        ? tr("more than %1 of measuring, since even one pass takes that long")
                              .arg(duration_text(need.seconds))
                        : tr("up to %1 of measuring (or one call per contender, if that takes "
                             "longer), plus set-up and checks")
                              .arg(duration_text(checked_.longest_seconds))};
  const QString memory = estimating_ ? tr("estimating memory…") : memory_text(forecast_, need);
  if (!memory.isEmpty()) parts.append(memory);
  if (!estimating_ && !forecast_.problem.isEmpty()) {
    // A message that is already shown above is not repeated.
    parts.append(forecast_.problem == list_problem_
                     ? tr("availability is unknown")
                     : tr("availability is unknown: %1").arg(forecast_.problem));
  }
  ui_->estimate->setText(parts.join(QStringLiteral(" · ")));
  if (forecast_.free_bytes && need.bytes > *forecast_.free_bytes) {
    ui_->too_much->set_problem(tr("%1 needs %2 at %3 tokens, but only %4 is free: cells that do "
                                  "not fit are not measured (oom).")
                                   .arg(need.whose, qstring(report::format_bytes(need.bytes)))
                                   .arg(need.tokens)
                                   .arg(qstring(report::format_bytes(*forecast_.free_bytes))));
    ui_->start_run->setText(tr("Start run anyway"));
  }
}

void NewRunDialog::start() {
  file_->read();
  name_programs();
  if (!is_checked()) {
    start_requested_ = true;
    return;
  }
  if (!checked_.ok()) return;
  reject();
  const bool now = ui_->now->isChecked();
  ui_->now->setChecked(false);  // applies to one run only
  Q_EMIT start_requested(checked_.sweep_text, now);
}

}  // namespace attnscope::gui
