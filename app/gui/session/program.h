#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The program that the window starts for runs and lists, the folders that belong to it, and the
// questions that a process of it answers.
//
//   class Versions : public ProgramQuestion {
//     void ask() { put({.arguments = {"version", "--json"}}); }
//     bool read(const QByteArray& printed) override { ... }
//   };

#include <QObject>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <QTemporaryDir>
#include <QTimer>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>

namespace attnscope::gui {

/// This executable itself, or $ATTNSCOPE_PROGRAM, by which tests put another in its place.
[[nodiscard]] QString attnscope_program();

/// Where the window keeps what is neither a run nor a setting: that of the default database.
[[nodiscard]] QString data_folder();

/// Of the runs that ship: `results` of an installation (PREFIX/share/attnscope/results, for a
/// program in PREFIX/bin), else that of the source tree in which the program was built; empty where
/// there is neither.
[[nodiscard]] std::filesystem::path results_folder(const std::filesystem::path& program_folder);

/// Programs whose contenders are there besides the built-in ones, as commands take them.
[[nodiscard]] QStringList with_options(const QStringList& programs);

/// The last line a child printed that says something, without its "error: " prefix.
[[nodiscard]] QString last_sentence(const QByteArray& printed);

/// False for a process that ended, also when nobody has waited for it yet.
[[nodiscard]] bool is_running(qint64 process_id);

/// Because only the worker knows. The newest question alone is answered: one before it is given up,
/// and its process ended. So is a process that hangs or prints without end, and one still at work
/// when whoever asks goes away.
class ProgramQuestion : public QObject {
  Q_OBJECT
 public:
  ~ProgramQuestion() override;

  [[nodiscard]] bool is_asking() const { return is_asking_; }
  /// Why there is no answer; empty while it is asked and when it is there.
  [[nodiscard]] const QString& problem() const { return problem_; }
  /// Nothing is wanted any more.
  void forget();
  /// How long the program may take before it is taken to hang; zero: as long as it likes.
  void set_patience(std::chrono::milliseconds patience) { hangs_.setInterval(patience); }

 Q_SIGNALS:
  /// Put, answered, failed or forgotten.
  void changed();
  /// Answered or failed.
  void answered();

 protected:
  struct Question {
    QStringList arguments = {};
    std::map<QString, std::string> files = {};  // handed over by path_of(name)
    friend bool operator==(const Question&, const Question&) = default;
  };
  /// Questions are put a moment after the last change, where they follow a person's hand.
  explicit ProgramQuestion(QObject* parent, std::chrono::milliseconds pause = {});
  /// Puts the question, unless it is the one that is asked or has an answer.
  void put(Question question);
  void fail(const QString& sentence);
  [[nodiscard]] QString path_of(const QString& file) const { return folder_.filePath(file); }
  /// Takes what the program printed; false: it is no answer.
  virtual bool read(const QByteArray& printed) = 0;
  /// That of the question before is not wanted any more.
  virtual void drop_answer() {}

 private:
  void start();
  void take_output();
  void give_up();
  void end(const QString& problem);
  void finished(int exit_code, QProcess::ExitStatus status);

  QTimer pause_, hangs_;
  QTemporaryDir folder_;
  Question question_;
  QProcess* process_ = nullptr;  // of the question that is asked
  QByteArray printed_, said_;    // by it; of what it said, the end
  QString problem_;
  bool is_asking_ = false;
};

}  // namespace attnscope::gui
