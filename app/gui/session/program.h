#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The program that the window starts for runs and lists, its folders, and questions that a process
// of this program answers.
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

/// This executable, or $ATTNSCOPE_PROGRAM, with which tests replace it.
[[nodiscard]] QString attnscope_program();

/// Folder of the default database, for data that is neither a run nor a setting.
[[nodiscard]] QString data_folder();

/// Folder of the shipped runs: `results` of an installation (PREFIX/share/attnscope/results, for a
/// program in PREFIX/bin), otherwise that of the source tree in which the program was built; empty
/// if neither exists.
[[nodiscard]] std::filesystem::path results_folder(const std::filesystem::path& program_folder);

/// Command-line options for programs that add contenders to the built-in ones.
[[nodiscard]] QStringList with_options(const QStringList& programs);

/// The last non-empty line that a child printed, without its "error: " prefix.
[[nodiscard]] QString last_sentence(const QByteArray& printed);

/// False for a process that has ended, even before its parent has waited for it.
[[nodiscard]] bool is_running(qint64 process_id);

/// A question that only the worker can answer. Only the newest question is answered: an earlier one
/// is dropped and its process ended. A process that hangs, prints without end or still runs when
/// this object is destroyed is ended too.
class ProgramQuestion : public QObject {
  Q_OBJECT
 public:
  ~ProgramQuestion() override;

  [[nodiscard]] bool is_pending() const { return is_pending_; }
  /// Why there is no answer; empty while the question is pending and after an answer.
  [[nodiscard]] const QString& problem() const { return problem_; }
  /// Cancels the question.
  void cancel();
  /// Time limit after which the program counts as hanging; zero: no limit.
  void set_timeout(std::chrono::milliseconds timeout) { timeout_.setInterval(timeout); }

 Q_SIGNALS:
  /// Requested, answered, failed or cancelled.
  void changed();
  /// Answered or failed.
  void answered();

 protected:
  struct Question {
    QStringList arguments = {};
    std::map<QString, std::string> files = {};  // passed on the command line with path_of(name)
    friend bool operator==(const Question&, const Question&) = default;
  };
  /// `pause`: delay after the last change, for questions that follow user input.
  explicit ProgramQuestion(QObject* parent, std::chrono::milliseconds pause = {});
  /// Starts the question, unless it is pending or already has an answer.
  void send(Question question);
  void fail(const QString& sentence);
  [[nodiscard]] QString path_of(const QString& file) const { return folder_.filePath(file); }
  /// Parses the program's output; false: it is not an answer.
  virtual bool read(const QByteArray& printed) = 0;
  /// Discards the answer to the previous question.
  virtual void drop_answer() {}

 private:
  void start();
  void take_output();
  void end_process();
  void end(const QString& problem);
  void finished(int exit_code, QProcess::ExitStatus status);

  QTimer pause_, timeout_;
  QTemporaryDir folder_;
  Question question_;
  QProcess* process_ = nullptr;       // of the pending question
  QByteArray output_, error_output_;  // its standard output, and the end of its standard error
  QString problem_;
  bool is_pending_ = false;
};

}  // namespace attnscope::gui
