#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What only the worker knows, asked of `attnscope`: the devices of this machine that a run can
// measure on and the implementations (each once), what each implementation would execute for a
// pattern, and which pairs of pattern and implementation a sweep leaves possible, with the memory
// they need.

#include <QJsonObject>
#include <QList>
#include <map>
#include <optional>
#include <string>

#include "app/gui/session/program.h"
#include "app/gui/session/sweep_draft.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/sequence_layout.h"

namespace attnscope::gui {

/// The objects of the array that a command printed: all of it, or the field of that name.
[[nodiscard]] QList<QJsonObject> printed_objects(const QByteArray& printed,
                                                 const QString& field = {});

/// A question whose answer is a list; empty while it is asked, and when nobody answered.
template <typename Row>
class ListQuestion : public ProgramQuestion {
 public:
  [[nodiscard]] const QList<Row>& answer() const { return answer_; }

 protected:
  using ProgramQuestion::ProgramQuestion;
  void drop_answer() override { answer_.clear(); }

  QList<Row> answer_;
};

struct ListedDevice {
  QString kind;  // "cpu", "cuda": the word of sweeps
  QString name;  // "NVIDIA H200"
  bool available = false;
  QString reason;  // why not
};

class DeviceList : public ListQuestion<ListedDevice> {
 public:
  explicit DeviceList(QObject* parent = nullptr) : ListQuestion(parent) {}
  /// Once, whatever comes of it.
  void ask();

 private:
  bool read(const QByteArray& printed) override;
};

struct ListedImplementation {
  QString id;
  QString summary;
};

class ImplementationList : public ListQuestion<ListedImplementation> {
 public:
  explicit ImplementationList(QObject* parent = nullptr) : ListQuestion(parent) {}
  /// Again only where there was no answer.
  void ask();
  /// Theirs are asked for, too, from the next time on.
  void set_programs(const QStringList& programs) { programs_ = programs; }

 private:
  bool read(const QByteArray& printed) override;

  QStringList programs_;
};

struct ForeseenCost {
  QString id;
  QString reason;  // why it does not take this; empty: it does
  double executed_flop = 0;
  double executed_bytes = 0;
  double peak_bytes = 0;
};

struct CostQuestion {
  AttentionPattern pattern;
  std::optional<Window> window;
  LayoutItem item;
  int heads = 12, head_dim = 32;
};

class ImplementationCosts : public ListQuestion<ForeseenCost> {
 public:
  explicit ImplementationCosts(QObject* parent = nullptr);
  void ask(const CostQuestion& question);

 private:
  bool read(const QByteArray& printed) override;
};

struct Forecast {
  struct Pair {
    QString reason;                    // why it cannot be measured; empty: it can
    std::optional<double> item_bytes;  // of one item at the largest point that has it
    double least_seconds = 0;          // of one pass there
    qint64 tokens = 0;                 // of that point
    bool is_least = false;             // item_bytes: the implementation's own are not known
  };
  std::map<PatternAndImplementation, Pair> pairs;
  double batch_max = 1, batch_bytes = 0;
  std::optional<double> free_bytes;  // of the machine
  QString problem;                   // nobody answered, and why
};

class SweepForecast : public ProgramQuestion {
 public:
  explicit SweepForecast(QObject* parent = nullptr);

  /// Other names, stop rules and contenders make no other question; one that was not answered is
  /// asked again. Of what is no sweep nothing is wanted.
  void ask(const std::string& sweep_text);
  void set_programs(const QStringList& programs) { programs_ = programs; }
  /// Nothing is asked while a run is measured, which a second worker would disturb.
  void set_measuring(bool measuring);
  /// The last one, while another is asked.
  [[nodiscard]] Forecast forecast() const;

 private:
  bool read(const QByteArray& printed) override;

  QStringList programs_;
  std::string sweep_, question_;  // the text that was asked about last, and what of it matters
  bool measuring_ = false, waits_ = false;
  Forecast forecast_;
};

}  // namespace attnscope::gui
