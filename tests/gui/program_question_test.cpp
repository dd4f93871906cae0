// SPDX-License-Identifier: Apache-2.0
//
// The window's questions to programs: every kind, and every way in which a program does not answer.
#include <memory>

#include "app/gui/session/program.h"
#include "app/gui/session/run_launcher.h"
#include "app/gui/session/worker_questions.h"
#include "engine/sweep/sweep.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {
namespace {

enum class Kind { devices, implementations, costs, forecast, inspection };

std::unique_ptr<ProgramQuestion> make_question(Kind kind) {
  switch (kind) {
    case Kind::devices:
      return std::make_unique<DeviceList>();
    case Kind::implementations:
      return std::make_unique<ImplementationList>();
    case Kind::costs:
      return std::make_unique<ImplementationCosts>();
    case Kind::forecast:
      return std::make_unique<SweepForecast>();
    case Kind::inspection:
      return std::make_unique<CheckpointInspection>();
  }
  return nullptr;
}

/// The number makes different questions of those that have parameters.
void request(ProgramQuestion& question, int number) {
  if (auto* devices = dynamic_cast<DeviceList*>(&question)) devices->request();
  if (auto* list = dynamic_cast<ImplementationList*>(&question)) list->request();
  if (auto* costs = dynamic_cast<ImplementationCosts*>(&question)) {
    costs->request({.pattern = built_in_patterns().front(),
                    .window = {},
                    .item = {.query = 4, .documents = {8}},
                    .heads = number});
  }
  if (auto* forecast = dynamic_cast<SweepForecast*>(&question))
    forecast->request(built_in_sweeps().at(static_cast<std::size_t>(number)).text);
  if (auto* inspection = dynamic_cast<CheckpointInspection*>(&question)) {
    inspection->compute(
        {.folder = u"/models/mini"_s, .query = QString::number(number), .document = u"a tower"_s});
  }
}

bool has_answer(const ProgramQuestion& question) {
  if (const auto* devices = dynamic_cast<const DeviceList*>(&question))
    return devices->answer().size() == 1;
  if (const auto* list = dynamic_cast<const ImplementationList*>(&question))
    return list->answer().size() == 5;
  if (const auto* costs = dynamic_cast<const ImplementationCosts*>(&question))
    return costs->answer().size() == 3;
  if (const auto* forecast = dynamic_cast<const SweepForecast*>(&question))
    return forecast->forecast().pairs.size() == 6;
  const auto* inspection = dynamic_cast<const CheckpointInspection*>(&question);
  return QFile::exists(inspection->file());
}

}  // namespace

class ProgramQuestionTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<ProgramQuestion> question_;
  std::unique_ptr<QSignalSpy> answers_;

  [[nodiscard]] QString pid_file() const { return folder_.filePath(u"pid"_s); }
  /// Uses a shell script as the program.
  void set_program(const QByteArray& lines) {
    static int number = 0;  // a running script cannot be written
    const QString script =
        write_bytes(folder_.filePath(u"program-%1"_s.arg(++number)), "#!/bin/sh\n" + lines + '\n');
    QFile::setPermissions(script, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    qputenv("ATTNSCOPE_PROGRAM", script.toUtf8());
  }
  void set_working_program() {
    set_program(
        "[ \"$2\" = devices ] && exec echo '[{\"kind\": \"cpu\", \"available\": true}]'\n"
        "exec " FAKE_ATTNSCOPE " \"$@\"");
  }
  /// Reports its process and waits forever.
  void set_hanging_program() { set_program("echo $$ > " + pid_file().toUtf8() + "\nexec cat"); }
  [[nodiscard]] qint64 hanging_process() const {
    return read_bytes(pid_file()).trimmed().toLongLong();
  }
  [[nodiscard]] QString problem_of_one_answer() const {
    return answers_->size() == 1 && !question_->is_pending() ? question_->problem() : QString();
  }

 private Q_SLOTS:

  void initTestCase() {
    qputenv("FAKE_DUMP", write_bytes(folder_.filePath(u"dump"_s), {}).toUtf8());
  }

  void init() {
    QFETCH_GLOBAL(int, kind);
    question_ = make_question(static_cast<Kind>(kind));
    answers_ = std::make_unique<QSignalSpy>(question_.get(), &ProgramQuestion::answered);
    QFile::remove(pid_file());
  }
  void cleanup() { question_.reset(); }

  void initTestCase_data() {
    QTest::addColumn<int>("kind");
    int kind = 0;
    for (const char* name : {"devices", "implementations", "costs", "forecast", "inspection"})
      QTest::newRow(name) << kind++;
  }

  void AsksOnce() {
    set_working_program();
    request(*question_, 0);
    QVERIFY(question_->is_pending());
    QTRY_COMPARE(answers_->size(), 1);
    QCOMPARE(question_->problem(), QString());
    QVERIFY(has_answer(*question_));
    QVERIFY(!question_->is_pending());
  }

  void NamesAMissingProgram() {
    qputenv("ATTNSCOPE_PROGRAM", "/nowhere/attnscope");
    request(*question_, 0);
    QTRY_VERIFY(problem_of_one_answer().contains(u"/nowhere/attnscope"_s));
  }

  void ReportsWhyThereIsNoAnswer() {
    const std::pair<const char*, QString> programs[] = {
        {"echo 'attnscope: the worker was not found.' >&2; exit 2", u"the worker was not found."_s},
        {"exit 3", u"exit code 3"_s},
        {"exec cat /dev/zero", u"was ended"_s},
        {"echo nothing of the kind", u"another version"_s},
        {"exec cat", u"did not answer in time"_s}};
    for (const auto& [lines, sentence] : programs) {
      init();
      set_program(lines);
      if (sentence.endsWith(u"in time"_s)) question_->set_timeout(std::chrono::milliseconds(1));
      request(*question_, 0);
      QTRY_VERIFY2(problem_of_one_answer().contains(sentence), lines);
      QVERIFY2(!sentence.startsWith(u"the "_s) || problem_of_one_answer() == sentence, lines);
      QVERIFY2(!has_answer(*question_), lines);
    }
  }

  void AsksAgainAfterAKill() {
    set_program("kill -9 $$");
    request(*question_, 0);
    QTRY_VERIFY(problem_of_one_answer().contains(u"killed by signal 9"_s));
    QFETCH_GLOBAL(int, kind);
    if (static_cast<Kind>(kind) == Kind::devices) return;  // requested once
    set_working_program();
    request(*question_, 0);
    QTRY_COMPARE(answers_->size(), 2);
    QVERIFY(has_answer(*question_));
  }

  void EndsTheProgramWithItsOwner() {
    set_hanging_program();
    request(*question_, 0);
    QTRY_VERIFY(hanging_process() > 0);
    question_.reset();
    QVERIFY(!is_running(hanging_process()));
  }

  void AnswersTheLastQuestion() {
    set_hanging_program();
    request(*question_, 0);
    QTRY_VERIFY(hanging_process() > 0);
    set_working_program();
    QFETCH_GLOBAL(int, kind);
    const bool has_others = static_cast<Kind>(kind) > Kind::implementations;
    if (!has_others) question_->cancel();
    request(*question_, 1);
    QTRY_COMPARE(answers_->size(), 1);
    QVERIFY(has_answer(*question_));
    QTRY_VERIFY(!is_running(hanging_process()));
  }

  void PassesProgramsWithContenders() {
    const QString reported = folder_.filePath(u"reported"_s);
    const auto is_reported = [&] {
      return read_bytes(reported).contains("--with mine.py --with flex");
    };
    QFile::remove(reported);
    set_program("echo \"$@\" > " + reported.toUtf8() + "; exit 2");
    const QStringList programs{u"mine.py"_s, u"flex"_s};
    if (auto* list = dynamic_cast<ImplementationList*>(question_.get())) {
      list->set_programs(programs);
    } else if (auto* forecast = dynamic_cast<SweepForecast*>(question_.get())) {
      forecast->set_programs(programs);
    } else {
      RunLauncher launcher(folder_.filePath(u"runs.db"_s).toStdString());
      launcher.set_programs(programs);
      launcher.start("{}");
      QTRY_VERIFY(is_reported());
      return;
    }
    request(*question_, 0);
    QTRY_VERIFY(is_reported());
  }

  void AnswersNoCancelledQuestion() {
    set_hanging_program();
    request(*question_, 0);
    QTRY_VERIFY(hanging_process() > 0);
    question_->cancel();
    QVERIFY(!question_->is_pending());
    QTRY_VERIFY(!is_running(hanging_process()));
    QCOMPARE(answers_->size(), 0);
  }
};

ATTNSCOPE_GUI_TEST(ProgramQuestionTest)

}  // namespace attnscope::gui
#include "program_question_test.moc"
