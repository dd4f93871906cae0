// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/new_run_drawer.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QTabWidget>
#include <QVBoxLayout>
#include <utility>

#include "app/gui/session/text.h"
#include "app/gui/views/contender_chips.h"
#include "app/gui/views/preset_bar.h"
#include "app/gui/views/problem_label.h"
#include "app/gui/views/sweep_file_edit.h"
#include "app/gui/views/sweep_form.h"

namespace attnscope::gui {
namespace {

constexpr int width_in_characters = 128;

bool is_start(const QKeyEvent& event) {
  return (event.key() == Qt::Key_Return || event.key() == Qt::Key_Enter) &&
         (event.modifiers() & ~Qt::KeypadModifier) == Qt::ControlModifier;
}

}  // namespace

NewRunDrawer::NewRunDrawer(QWidget* page)
    : Drawer(width_in_characters, page),
      presets_(new PresetBar),
      tabs_(new QTabWidget),
      form_(new SweepForm),
      file_(new SweepFileEdit),
      problem_(new ProblemLabel("other_problem")),
      estimate_(new QLabel),
      start_(new QPushButton(tr("Start run"))),
      close_(new QPushButton(tr("Close"))) {
  setObjectName(QStringLiteral("new_run"));
  setAccessibleName(tr("New run"));
  auto* scroll = new QScrollArea;
  scroll->setWidget(form_);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setFocusPolicy(Qt::NoFocus);
  form_->setContentsMargins(8, 8, 8, 8);
  file_->setContentsMargins(8, 8, 8, 8);
  tabs_->setObjectName(QStringLiteral("new_run_tabs"));
  tabs_->setAccessibleName(tr("The new run as a form or as its file"));
  tabs_->setDocumentMode(true);
  file_->setAutoFillBackground(true);
  tabs_->addTab(scroll, tr("F&orm"));
  tabs_->addTab(file_, tr("Sweep file (&JSON)"));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(18, 14, 16, 14);
  layout->setSpacing(10);
  layout->addWidget(build_head());
  layout->addWidget(presets_);
  layout->addWidget(tabs_, 1);
  layout->addWidget(build_foot());

  connect(presets_, &PresetBar::preset_chosen, this, &NewRunDrawer::load);
  connect(presets_, &PresetBar::save_asked, this,
          [this] { presets_->save(form_->name(), checked_.sweep_text); });
  connect(form_, &SweepForm::edited, this, &NewRunDrawer::form_edited);
  connect(file_, &SweepFileEdit::edited, this, &NewRunDrawer::file_edited);
  connect(start_, &QPushButton::clicked, this, &NewRunDrawer::start);
  connect(close_, &QPushButton::clicked, this, &Drawer::shut);
  connect(&job_, &charts::LatestJob::finished, this, [this] {
    if (std::exchange(start_wish_, false)) start();
  });
  connect(&job_, &charts::LatestJob::failed, this, [this](const QString& sentence) {
    CheckedDraft none;
    none.other_problem = sentence;
    show_checked(none);
  });
  if (!built_in_sweeps().empty()) load(built_in_sweeps().front());
}

QWidget* NewRunDrawer::build_head() {
  auto* title = new QLabel(tr("New run"));
  QFont large = title->font();
  large.setBold(true);
  large.setPointSizeF(large.pointSizeF() * 1.2);
  title->setFont(large);
  auto* hint = new QLabel(tr("Ctrl+Return starts, Esc closes"));
  hint->setForegroundRole(QPalette::PlaceholderText);
  auto* head = new QWidget;
  auto* line = new QHBoxLayout(head);
  line->setContentsMargins(0, 0, 0, 0);
  line->addWidget(title, 1);
  line->addWidget(hint);
  return head;
}

QWidget* NewRunDrawer::build_foot() {
  estimate_->setObjectName(QStringLiteral("estimate"));
  estimate_->setTextFormat(Qt::PlainText);
  estimate_->setWordWrap(true);
  start_->setObjectName(QStringLiteral("start_run"));
  start_->setToolTip(tr("Measure this sweep (Ctrl+Return)"));
  start_->setDefault(true);
  close_->setObjectName(QStringLiteral("close_new_run"));
  close_->setToolTip(tr("Keep what is filled in and go back to the page (Esc)"));
  auto* line = new QHBoxLayout;
  line->setSpacing(10);
  line->addWidget(estimate_, 1);
  line->addWidget(close_, 0, Qt::AlignBottom);
  line->addWidget(start_, 0, Qt::AlignBottom);
  auto* foot = new QWidget;
  auto* column = new QVBoxLayout(foot);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(6);
  column->addWidget(problem_);
  column->addLayout(line);
  return foot;
}

void NewRunDrawer::choose_preset(const QString& name) {
  presets_->choose(name);
}

bool NewRunDrawer::begin_with(const QString& sweep_text) {
  const std::string text = sweep_text.toStdString();
  const Result<Sweep> sweep = parse_sweep(text, "The sweep");
  if (!sweep) {
    refuse(words(sweep.error().message));
    return false;
  }
  presets_->choose_custom();
  load({.name = sweep->name, .text = text});
  return true;
}

void NewRunDrawer::refuse(const QString& sentence) {
  job_.drop();
  start_wish_ = from_file_ = false;
  CheckedDraft none;
  none.other_problem = sentence;
  show_checked(none);
}

void NewRunDrawer::set_lengths(const QList<qint64>& tokens) {
  QStringList parts;
  for (const qint64 length : tokens) parts.append(QString::number(length));
  form_->set_lengths(parts.join(QStringLiteral(", ")));
  form_edited();
}

void NewRunDrawer::set_device(const QString& kind) {
  if (form_->draft().device == kind) return;
  form_->set_device(kind);
  form_edited();
}

void NewRunDrawer::set_implementations(const QList<ListedImplementation>& implementations,
                                       const QString& problem) {
  listed_ = true;
  form_->contenders()->set_implementations(implementations, problem);
}

void NewRunDrawer::set_devices(const QList<ListedDevice>& devices) {
  form_->set_devices(devices);
}

void NewRunDrawer::set_forecast(const Forecast& forecast) {
  forecast_ = forecast;
  std::map<PatternAndImplementation, QString> reasons;
  for (const auto& [pair, foreseen] : forecast.pairs) {
    if (!foreseen.reason.isEmpty()) reasons.emplace(pair, foreseen.reason);
  }
  form_->contenders()->set_impossible(std::move(reasons));
  show_estimate();
}

void NewRunDrawer::show_file(bool shown) {
  tabs_->setCurrentIndex(shown ? 1 : 0);
}

void NewRunDrawer::load(const NamedSweep& preset) {
  from_file_ = false;
  problem_->set_problem({});
  form_->set_draft(draft_of(preset));
  check_later([draft = form_->draft()] { return check(draft); });
}

void NewRunDrawer::form_edited() {
  from_file_ = false;
  const QString preset = presets_->chosen();
  if (!preset.isEmpty()) {
    if (form_->name() == preset) form_->set_name(tr("custom"));
    presets_->choose_custom();
  }
  check_later([draft = form_->draft()] { return check(draft); });
}

void NewRunDrawer::file_edited(const QString& text) {
  from_file_ = true;
  presets_->choose_custom();
  check_later([typed = text.toStdString()] { return check_text(typed); });
}

void NewRunDrawer::check_later(std::function<CheckedDraft()> work) {
  job_.start([this, work = std::move(work)](const charts::LatestJob::Token& token) {
    CheckedDraft checked = work();
    token.deliver([this, checked = std::move(checked)] { show_checked(checked); });
  });
}

void NewRunDrawer::show_checked(CheckedDraft checked) {
  checked_ = std::move(checked);
  const bool ok = checked_.ok();
  if (from_file_) {
    file_->set_problem(checked_.problem());
    form_->show_problems({});
    problem_->set_problem(ok ? QString()
                             : tr("The sweep file has a mistake, which is said beneath it."));
    if (ok) {
      form_->set_draft(
          draft_of({.name = form_->name().toStdString(), .text = checked_.sweep_text}));
    }
  } else {
    form_->show_problems(checked_);
    problem_->set_problem(checked_.other_problem);
    file_->set_problem(ok ? QString()
                          : tr("The form has a mistake, and this is the file from before: %1")
                                .arg(checked_.problem()));
    if (ok) file_->set_text(words(checked_.sweep_text));
  }
  start_->setEnabled(ok);
  presets_->allow_saving(ok);
  show_estimate();
  if (ok) Q_EMIT forecast_wanted(checked_.sweep_text);
}

void NewRunDrawer::show_estimate() {
  if (!checked_.ok()) return estimate_->clear();
  QStringList sentences{
      tr("%1 heats, %2 cells; at most %3 of measuring, on a busy machine twice that, "
         "besides set-up and checks")
          .arg(checked_.heats)
          .arg(checked_.cells)
          .arg(duration_words(checked_.longest_seconds))};
  const QString memory = memory_words(forecast_, form_->contenders()->checked());
  if (!memory.isEmpty()) sentences.append(memory);
  if (!forecast_.problem.isEmpty())
    sentences.append(tr("What is possible is not known: %1").arg(forecast_.problem));
  estimate_->setText(sentences.join(QStringLiteral(";\n")));
}

void NewRunDrawer::start() {
  file_->flush();
  if (!is_checked()) {
    start_wish_ = true;
    return;
  }
  if (!checked_.ok()) return;
  shut();
  Q_EMIT start_asked(checked_.sweep_text);
}

bool NewRunDrawer::event(QEvent* event) {
  // Else the window's own Ctrl+Return would open what is open.
  if (event->type() == QEvent::ShortcutOverride && is_start(*static_cast<QKeyEvent*>(event))) {
    event->accept();
    return true;
  }
  return Drawer::event(event);
}

void NewRunDrawer::keyPressEvent(QKeyEvent* event) {
  if (is_start(*event)) return start();
  Drawer::keyPressEvent(event);
}

void NewRunDrawer::focusInEvent(QFocusEvent* /*event*/) {
  presets_->picker()->setFocus(Qt::OtherFocusReason);
}

}  // namespace attnscope::gui
