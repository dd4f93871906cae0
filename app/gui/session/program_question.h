#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A question that a process of `attnscope` answers, because only the worker knows. The newest
// question alone is answered: one before it is given up, and its process ended. So is a process
// that hangs, and one still at work when whoever asks goes away.
//
//   class Versions : public ProgramQuestion {
//     void ask() { put({.arguments = {"version", "--json"}}); }
//     bool read(const QByteArray& printed) override { ... }
//   };

#include <QObject>
#include <QProcess>
#include <QStringList>
#include <QTemporaryDir>
#include <QTimer>
#include <chrono>
#include <map>
#include <string>

namespace attnscope::gui {

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
  void give_up();
  void end(const QString& problem);
  void finished(int exit_code, QProcess::ExitStatus status);

  QTimer pause_, hangs_;
  QTemporaryDir folder_;
  Question question_;
  QProcess* process_ = nullptr;  // of the question that is asked
  QString problem_;
  bool is_asking_ = false;
};

}  // namespace attnscope::gui
