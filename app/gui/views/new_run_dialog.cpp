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
#include <QShortcut>
#include <QSignalBlocker>
#include <QStandardItemModel>
#include <QToolButton>
#include <QVBoxLayout>
#include <utility>

#include "app/gui/session/sweep_files.h"
#include "app/gui/session/text.h"
#include "app/gui/views/contender_chips.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/theme.h"
#include "engine/report/table.h"

namespace attnscope::gui {
namespace {

constexpr QSize size_in_characters(140, 46);

QFormLayout* rows() {
  auto* form = new QFormLayout;
  form->setFieldGrowthPolicy(QFormLayout::ExpandingFieldsGrow);
  form->setRowWrapPolicy(QFormLayout::WrapLongRows);
  form->setLabelAlignment(Qt::AlignLeft | Qt::AlignTop);
  form->setHorizontalSpacing(space::margin);
  return form;
}

/// The label is the control's, though the control stands above its problem.
void add_row(QFormLayout& form, const QString& text, QWidget* control, ProblemLabel* problem) {
  auto* column = new QVBoxLayout;
  column->setSpacing(space::hair);
  column->addWidget(control);
  if (problem) column->addWidget(problem);
  auto* label = new QLabel(text);
  label->setBuddy(control);
  form.addRow(label, column);
}

QPushButton* button(const QString& text, const char* name, const QString& tip) {
  auto* made = new QPushButton(text);
  made->setObjectName(QLatin1String(name));
  made->setToolTip(tip);
  return made;
}

QString summary_of(const SweepDraft& draft) {
  return NewRunDialog::tr("%1 at %2 tokens on %3")
      .arg(counted(static_cast<qint64>(draft.contenders.size()), NewRunDialog::tr("contender"),
                   NewRunDialog::tr("contenders")),
           draft.fields.at(QStringLiteral("sequence_tokens")),
           draft.fields.at(QStringLiteral("device")));
}

/// What the contenders of a sweep are foreseen to need.
struct Need {
  double bytes = 0;  // of the one that needs most; 0: not known
  QString whose = {};
  double seconds = 0;  // for one pass of each at the largest point, at least
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
    need.whose = contender.first + QLatin1Char('/') + contender.second;
  }
  return need;
}

QString memory_words(const Forecast& forecast, const Need& need) {
  if (need.bytes <= 0) return {};
  // The largest batch that fits the sweep's memory is taken, and one item even where it does not.
  const double bytes =
      std::max(need.bytes, std::min(forecast.batch_bytes, need.bytes * forecast.batch_max));
  return NewRunDialog::tr("about %1 of memory (%2 at %3 tokens)")
      .arg(words(report::format_bytes(bytes)), need.whose)
      .arg(forecast.largest_tokens);
}

/// Of devices; several may be no entry yet: "cpu, cuda".
void choose_kind(QComboBox& box, const QString& kind) {
  if (box.findData(kind) < 0) box.addItem(kind, kind);
  box.setCurrentIndex(box.findData(kind));
}

/// Where text is typed into the control; nothing: it is a list alone.
QLineEdit* line_of(QWidget* control) {
  auto* box = qobject_cast<QComboBox*>(control);
  return box ? box->lineEdit() : static_cast<QLineEdit*>(control);
}

}  // namespace

NewRunDialog::NewRunDialog(QWidget* parent)
    : QDialog(parent),
      file_(new SweepFile(this)),
      picker_(new QComboBox),
      save_(button(tr("Save as preset"), "save_preset",
                   tr("Keep this sweep under its name (Ctrl+Shift+K)"))),
      edit_file_(
          button(tr("Edit as file"), "edit_file",
                 tr("Open the sweep's JSON in your editor; what you save there stands here"))),
      said_(new QLabel),
      preset_problem_(new ProblemLabel("preset_problem")),
      name_(new QLineEdit),
      contenders_(new ContenderChips),
      more_(new QToolButton),
      advanced_(new QWidget),
      problem_(new ProblemLabel("other_problem")),
      too_much_(new ProblemLabel("too_much")),
      estimate_(new QLabel),
      start_(button(tr("Start run"), "start_run",
                    tr("Measure this sweep (Return in a field, or Ctrl+Return)"))),
      close_(button(tr("Close"), "close_new_run", tr("Keep what is filled in (Esc)"))) {
  setObjectName(QStringLiteral("new_run"));
  setWindowTitle(tr("New run"));
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(build_head());
  layout->addWidget(build_form(), 1);
  layout->addWidget(build_foot());
  start_->setDefault(true);
  auto* go = new QShortcut(this);
  go->setKeys({QKeySequence(tr("Ctrl+Return")), QKeySequence(tr("Ctrl+Enter"))});
  connect(go, &QShortcut::activated, this, &NewRunDialog::start);
  connect(file_, &SweepFile::edited, this, &NewRunDialog::file_edited);
  connect(file_, &SweepFile::unreadable, this, &NewRunDialog::file_unreadable);
  connect(&job_, &LatestJob::finished, this, [this] {
    if (std::exchange(start_wish_, false)) start();
  });
  connect(&job_, &LatestJob::failed, this, &NewRunDialog::refuse);
  list_presets({});
  load_chosen();
}

QWidget* NewRunDialog::build_head() {
  picker_->setObjectName(QStringLiteral("preset"));
  picker_->setToolTip(tr("Sweeps that ship, and your own"));
  save_->setShortcut(QKeySequence(tr("Ctrl+Shift+K")));
  said_->setObjectName(QStringLiteral("preset_saved"));
  said_->setTextFormat(Qt::PlainText);
  said_->setWordWrap(true);
  said_->hide();
  auto* label = new QLabel(tr("Pre&set"));
  label->setBuddy(picker_);
  auto* line = new QHBoxLayout;
  line->addWidget(label);
  line->addWidget(
      hint(tr("A sweep says what a run measures: contenders, each a pattern computed by an "
              "implementation, and the lengths and windows. A preset is a sweep to begin "
              "with."),
           "preset_words"));
  line->addWidget(picker_, 1);
  line->addWidget(save_);
  line->addWidget(edit_file_);
  auto* head = new QWidget;
  auto* column = new QVBoxLayout(head);
  column->addLayout(line);
  column->addWidget(said_);
  column->addWidget(preset_problem_);
  connect(picker_, &QComboBox::currentIndexChanged, this, &NewRunDialog::load_chosen);
  connect(save_, &QPushButton::clicked, this, &NewRunDialog::save_preset);
  connect(edit_file_, &QPushButton::clicked, this, &NewRunDialog::open_file);
  return head;
}

QWidget* NewRunDialog::build_form() {
  QFormLayout* first = rows();
  name_->setObjectName(QStringLiteral("sweep_name"));
  add_row(*first, tr("&Name"), name_, nullptr);
  first->addRow(new QLabel(tr("Contenders")));
  first->addRow(contenders_);
  QFormLayout* others = rows();
  auto* hint = new QLabel(tr("A list such as 8, 12 makes a field an axis. Empty: the default."));
  hint->setForegroundRole(QPalette::PlaceholderText);
  hint->setWordWrap(true);
  others->addRow(hint);
  for (const SweepField& field : sweep_fields()) add_field(field.first ? *first : *others, field);

  more_->setObjectName(QStringLiteral("advanced"));
  more_->setText(tr("Advanced: all other axes (Alt+&M)"));
  more_->setToolTip(tr("What else a sweep can vary, and when a cell is measured well enough"));
  more_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  more_->setCheckable(true);
  more_->setAutoRaise(true);
  more_->setFocusPolicy(Qt::StrongFocus);
  advanced_->setObjectName(QStringLiteral("advanced_axes"));
  advanced_->setLayout(others);
  others->setContentsMargins(space::margin, 0, 0, 0);
  auto* form = new QWidget;
  auto* column = new QVBoxLayout(form);
  column->setContentsMargins(0, space::gap, space::gap, space::gap);
  column->addLayout(first);
  column->addWidget(more_);
  column->addWidget(advanced_);
  column->addStretch();
  show_advanced(false);
  connect(name_, &QLineEdit::textEdited, this, &NewRunDialog::form_edited);
  connect(contenders_, &ContenderChips::edited, this, &NewRunDialog::form_edited);
  connect(more_, &QToolButton::toggled, this, &NewRunDialog::show_advanced);

  auto* scroll = new QScrollArea;
  scroll->setWidget(form);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setFocusPolicy(Qt::NoFocus);
  scroll->viewport()->setAutoFillBackground(false);
  form->setAutoFillBackground(false);
  return scroll;
}

void NewRunDialog::add_field(QFormLayout& form, const SweepField& field) {
  const QString name = QString(field.key).replace(QLatin1Char('.'), QLatin1Char('_'));
  Field& made = fields_[field.key];
  made.problem = new ProblemLabel(qPrintable(name + QStringLiteral("_problem")));
  const bool of_devices = field.key == QLatin1String("device");
  if (of_devices || !field.choices.isEmpty()) {
    auto* box = new QComboBox;
    box->setEditable(!of_devices);
    box->setInsertPolicy(QComboBox::NoInsert);
    // A device that is not there says why, at length.
    if (of_devices) {
      box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
      box->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    }
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

QWidget* NewRunDialog::build_foot() {
  estimate_->setObjectName(QStringLiteral("estimate"));
  estimate_->setTextFormat(Qt::PlainText);
  estimate_->setWordWrap(true);
  estimate_->setToolTip(
      tr("On a busy machine, measuring takes up to twice that. Starting workers, making inputs and "
         "checking results come on top. The memory is that of the contender that needs most."));
  auto* line = new QHBoxLayout;
  line->addWidget(estimate_, 1);
  line->addWidget(close_, 0, Qt::AlignBottom);
  line->addWidget(start_, 0, Qt::AlignBottom);
  auto* foot = new QWidget;
  auto* column = new QVBoxLayout(foot);
  column->addWidget(problem_);
  column->addWidget(too_much_);
  column->addLayout(line);
  connect(start_, &QPushButton::clicked, this, &NewRunDialog::start);
  connect(close_, &QPushButton::clicked, this, &QDialog::reject);
  return foot;
}

// From a field of text; on a chip or in a list, whoever presses Return means that.
void NewRunDialog::keyPressEvent(QKeyEvent* event) {
  const bool is_return = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  const auto* box = qobject_cast<QComboBox*>(focusWidget());
  const bool in_text = qobject_cast<QLineEdit*>(focusWidget()) || (box && box->isEditable());
  if (!is_return || in_text) QDialog::keyPressEvent(event);
}

void NewRunDialog::open() {
  if (!testAttribute(Qt::WA_Resized)) {
    const QSize wanted(size_in_characters.width() * fontMetrics().averageCharWidth(),
                       size_in_characters.height() * fontMetrics().height());
    resize(wanted.boundedTo(screen()->availableSize() - QSize(40, 60)));
  }
  show();
  raise();
  activateWindow();
  picker_->setFocus(Qt::OtherFocusReason);
}

void NewRunDialog::list_presets(const QString& chosen) {
  const QSignalBlocker quiet(picker_);
  presets_ = built_in_sweeps();
  const auto shipped = static_cast<int>(presets_.size());
  for (NamedSweep& own : own_presets()) presets_.push_back(std::move(own));
  picker_->clear();
  for (int i = 0; i < static_cast<int>(presets_.size()); ++i) {
    if (i == shipped) picker_->insertSeparator(i);
    const NamedSweep& preset = presets_[static_cast<std::size_t>(i)];
    picker_->addItem(words(preset.name), i);
    picker_->setItemData(picker_->count() - 1, summary_of(draft_of(preset)), Qt::ToolTipRole);
  }
  picker_->addItem(tr("Custom"));
  const int place = chosen.isEmpty() ? 0 : picker_->findText(chosen);
  picker_->setCurrentIndex(place >= 0 ? place : picker_->count() - 1);
}

void NewRunDialog::choose_preset(const QString& name) {
  const int place = picker_->findText(name);
  if (place < 0) return;
  if (place == picker_->currentIndex()) return load_chosen();
  picker_->setCurrentIndex(place);
}

void NewRunDialog::load_chosen() {
  if (picker_->currentData().isValid())
    load(presets_[static_cast<std::size_t>(picker_->currentData().toInt())]);
}

void NewRunDialog::load(const NamedSweep& preset) {
  set_draft(draft_of(preset));
  from_file_ = false;
  say({});
  problem_->set_problem({});
  check_later([draft = draft()] { return check(draft); });
}

void NewRunDialog::choose_custom() {
  const QSignalBlocker quiet(picker_);
  picker_->setCurrentIndex(picker_->count() - 1);
  about_to_replace_.clear();
  say({});
}

void NewRunDialog::say(const QString& sentence) {
  said_->setText(sentence);
  said_->setVisible(!sentence.isEmpty());
  preset_problem_->set_problem({});
}

void NewRunDialog::save_preset() {
  const QString name = name_->text().trimmed();
  say({});
  if (is_own_preset(name) && std::exchange(about_to_replace_, name) != name) {
    return preset_problem_->set_problem(
        tr("You have a preset %1: save again to replace it, or give another name.").arg(name));
  }
  about_to_replace_.clear();
  const Result<QString> saved = save_own_preset(name, checked_.sweep_text);
  preset_problem_->set_problem(saved ? QString() : words(saved.error().message));
  if (!saved) return;
  list_presets(name);
  say(tr("Kept as %1.").arg(*saved));
}

void NewRunDialog::open_file() {
  say(tr("What you save in %1 stands here.").arg(file_->path()));
  // What a person wrote and mistyped stays theirs.
  preset_problem_->set_problem(
      file_->open(checked_.ok() && !file_is_wrong_ ? checked_.sweep_text : std::string()));
}

bool NewRunDialog::begin_with(const QString& sweep_text) {
  const std::string text = sweep_text.toStdString();
  const Result<Sweep> sweep = parse_sweep(text, "The sweep");
  if (!sweep) {
    refuse(words(sweep.error().message));
    return false;
  }
  choose_custom();
  load({.name = sweep->name, .text = text});
  return true;
}

void NewRunDialog::refuse(const QString& sentence) {
  job_.drop();
  start_wish_ = from_file_ = false;
  CheckedDraft none;
  none.problems[{}] = sentence;
  show_checked(none);
}

void NewRunDialog::file_unreadable(const QString& sentence) {
  refuse(sentence);
  file_is_wrong_ = QFileInfo(file_->path()).isFile();
  edit_file_->setEnabled(true);
}

void NewRunDialog::set_device(const QString& kind) {
  auto* box = static_cast<QComboBox*>(fields_.at(QStringLiteral("device")).control);
  if (box->currentData().toString() == kind) return;
  choose_kind(*box, kind);
  form_edited();
}

void NewRunDialog::set_implementations(const QList<ListedImplementation>& implementations,
                                       const QString& problem) {
  contenders_->set_implementations(implementations, problem);
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
  for (const auto& [pair, foreseen] : forecast.pairs) {
    if (!foreseen.reason.isEmpty()) reasons.emplace(pair, foreseen.reason);
  }
  contenders_->set_impossible(std::move(reasons));
  show_estimate();
}

void NewRunDialog::show_advanced(bool shown) {
  more_->setChecked(shown);
  more_->setArrowType(shown ? Qt::DownArrow : Qt::RightArrow);
  advanced_->setVisible(shown);
}

void NewRunDialog::set_draft(const SweepDraft& draft) {
  base_text_ = draft.base_text;
  name_->setText(draft.name);
  contenders_->set_checked(draft.contenders);
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
                   .name = name_->text().trimmed(),
                   .contenders = contenders_->checked(),
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
  contenders_->show_models(operation->text().trimmed() == QLatin1String("model"));
}

void NewRunDialog::form_edited() {
  from_file_ = false;
  const QVariant preset = picker_->currentData();
  if (preset.isValid() && name_->text() == picker_->currentText()) name_->setText(tr("custom"));
  choose_custom();
  name_contenders();
  check_later([draft = draft()] { return check(draft); });
}

void NewRunDialog::file_edited(const std::string& text) {
  from_file_ = true;
  choose_custom();
  say(tr("Read from %1.").arg(file_->path()));
  check_later([text] { return check_text(text); });
}

void NewRunDialog::check_later(std::function<CheckedDraft()> work) {
  job_.start([this, work = std::move(work)](const LatestJob::Token& token) {
    CheckedDraft checked = work();
    token.deliver([this, checked = std::move(checked)] { show_checked(checked); });
  });
}

void NewRunDialog::show_checked(CheckedDraft checked) {
  checked_ = std::move(checked);
  if (const QString unknown = contenders_->problem(); !unknown.isEmpty())
    checked_.problems.try_emplace(QStringLiteral("contenders"), unknown);
  const bool ok = checked_.ok();
  bool behind = false;
  const auto problem_of = [this](const QString& key) {
    const auto found = checked_.problems.find(key);
    return found == checked_.problems.end() ? QString() : found->second;
  };
  for (const SweepField& field : sweep_fields()) {
    const QString problem = problem_of(field.key);
    fields_.at(field.key).problem->set_problem(problem);
    behind = behind || (!field.first && !problem.isEmpty());
  }
  if (behind) show_advanced(true);
  contenders_->set_problem(problem_of(QStringLiteral("contenders")));
  problem_->set_problem(problem_of({}));
  if (ok && from_file_)
    set_draft(draft_of({.name = name_->text().toStdString(), .text = checked_.sweep_text}));
  if (from_file_) {
    file_is_wrong_ = !ok;
  } else if (ok && file_is_wrong_) {
    say(tr("%1 keeps what you saved there last, which is no sweep; this form goes its own way.")
            .arg(file_->path()));
  } else if (ok) {
    file_->follow(checked_.sweep_text);
  }
  for (QPushButton* each : {start_, save_}) each->setEnabled(ok);
  edit_file_->setEnabled(ok || from_file_);
  show_estimate();
  if (ok) Q_EMIT forecast_wanted(checked_.sweep_text);
}

void NewRunDialog::set_foreseeing(bool foreseeing) {
  if (std::exchange(foreseeing_, foreseeing) != foreseeing) show_estimate();
}

void NewRunDialog::showEvent(QShowEvent* event) {
  QDialog::showEvent(event);
  if (checked_.ok()) Q_EMIT forecast_wanted(checked_.sweep_text);
}

// Whoever computes for a form that is gone would disturb what is measured.
void NewRunDialog::hideEvent(QHideEvent* event) {
  QDialog::hideEvent(event);
  Q_EMIT forecast_wanted({});
}

void NewRunDialog::show_estimate() {
  too_much_->set_problem({});
  if (!checked_.ok()) return estimate_->clear();
  const Need need = foreseeing_ ? Need() : need_of(forecast_, contenders_->checked());
  QStringList parts{
      counted(checked_.heats, tr("heat"), tr("heats")),
      counted(checked_.cells, tr("cell"), tr("cells")),
      need.seconds > checked_.longest_seconds
          ? tr("more than %1 of measuring, since even one pass takes that long")
                .arg(duration_words(need.seconds))
          : tr("up to %1 of measuring (or one call of each, where that takes longer), "
               "with set-up and checks on top")
                .arg(duration_words(checked_.longest_seconds))};
  const QString memory =
      foreseeing_ ? tr("its memory is being foreseen…") : memory_words(forecast_, need);
  if (!memory.isEmpty()) parts.append(memory);
  if (!foreseeing_ && !forecast_.problem.isEmpty())
    parts.append(tr("what is possible is not known: %1").arg(forecast_.problem));
  estimate_->setText(parts.join(QStringLiteral(" · ")));
  if (forecast_.free_bytes && need.bytes > *forecast_.free_bytes) {
    too_much_->set_problem(
        tr("%1 needs %2 at %3 tokens, and %4 is free: what does not fit is not measured (oom).")
            .arg(need.whose, words(report::format_bytes(need.bytes)))
            .arg(forecast_.largest_tokens)
            .arg(words(report::format_bytes(*forecast_.free_bytes))));
  }
}

void NewRunDialog::start() {
  file_->read();
  if (!is_checked()) {
    start_wish_ = true;
    return;
  }
  if (!checked_.ok()) return;
  reject();
  Q_EMIT start_asked(checked_.sweep_text);
}

}  // namespace attnscope::gui
