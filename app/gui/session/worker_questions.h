#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Questions to `attnscope` that a process answers: the devices of this machine that a run can
// measure on and the implementations (both requested once), the work of each implementation for a
// pattern, which pairs of pattern and implementation are possible in a sweep, with the memory they
// need; and questions whose answers are files next to the database.
//
//   CheckpointInspection inspection;
//   inspection.compute({.folder = folder, .query = query, .document = document});
//   ... answered(): inspection.problem(), or session.open(inspection.file());

#include <QJsonObject>
#include <QList>
#include <map>
#include <optional>
#include <string>

#include "app/gui/session/attention_session.h"
#include "app/gui/session/program.h"
#include "app/gui/session/sweep_draft.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/sequence_layout.h"

namespace attnscope::gui {

/// The objects of the array that a command printed: the whole output, or the field of that name.
[[nodiscard]] QList<QJsonObject> printed_objects(const QByteArray& printed,
                                                 const QString& field = {});

/// A question whose answer is a list; empty while it is pending and after a failure.
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
  QString kind;  // "cpu", "cuda": the name in sweeps
  QString name;  // "NVIDIA H200"
  bool available = false;
  QString reason;  // why it is not available
};

class DeviceList : public ListQuestion<ListedDevice> {
 public:
  explicit DeviceList(QObject* parent = nullptr) : ListQuestion(parent) {}
  /// Starts only once, regardless of the outcome.
  void request();

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
  /// Starts again only if there was no answer.
  void request();
  /// Later questions include the implementations of these programs.
  void set_programs(const QStringList& programs) { programs_ = programs; }

 private:
  bool read(const QByteArray& printed) override;

  QStringList programs_;
};

struct EstimatedCost {
  QString id;
  QString reason;  // why it does not support the pattern; empty: it does
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

class ImplementationCosts : public ListQuestion<EstimatedCost> {
 public:
  explicit ImplementationCosts(QObject* parent = nullptr);
  void request(const CostQuestion& question);

 private:
  bool read(const QByteArray& printed) override;
};

struct Forecast {
  struct Pair {
    QString reason;                    // why it cannot be measured; empty: it can
    std::optional<double> item_bytes;  // per item, at the largest point that includes the pair
    double least_seconds = 0;          // per pass at that point
    qint64 tokens = 0;                 // at that point
    bool is_least = false;  // item_bytes excludes the implementation's own, which are unknown
  };
  std::map<PatternAndImplementation, Pair> pairs;
  double batch_max = 1, batch_bytes = 0;
  std::optional<double> free_bytes;  // on the machine
  QString problem;                   // why there is no answer
};

class SweepForecast : public ProgramQuestion {
 public:
  explicit SweepForecast(QObject* parent = nullptr);

  /// Changes of names, stop rules and contenders do not make a new question; a failed question is
  /// requested again. An invalid sweep clears the question.
  void request(const std::string& sweep_text);
  void set_programs(const QStringList& programs) { programs_ = programs; }
  /// Suspends questions while a run is measured, which a second worker would disturb.
  void set_measuring(bool measuring);
  /// The last answer, also while a new question is pending.
  [[nodiscard]] Forecast forecast() const;

 private:
  bool read(const QByteArray& printed) override;

  QStringList programs_;
  std::string sweep_, question_;  // the last requested sweep, and its relevant part
  bool measuring_ = false, waits_ = false;
  Forecast forecast_;
};

/// Setting with the most recently requested folder.
inline const auto checkpoint_folder_key = QStringLiteral("attention/checkpoint/folder");

struct CheckpointQuestion {
  QString folder, query, document;
  std::optional<PatternChoice> attention{};  // absent: the checkpoint's own
};

/// Runs `attnscope inspect` to compute the attention of a checkpoint for a query and a document.
class CheckpointInspection : public ProgramQuestion {
 public:
  static constexpr int most_dumps = 8;

  explicit CheckpointInspection(QObject* parent = nullptr);

  void compute(const CheckpointQuestion& question);
  /// Folder of the dumps.
  [[nodiscard]] static QString folder();
  /// The dump that is being computed.
  [[nodiscard]] const QString& file() const { return file_; }

 private:
  bool read(const QByteArray& printed) override;

  QString file_;
};

/// Runs `attnscope lengths` to count the tokens of a file of pairs with a checkpoint's tokenizer. A
/// question reads its lengths from the file.
class TextLengths : public ProgramQuestion {
 public:
  static constexpr int most_files = 8;

  explicit TextLengths(QObject* parent = nullptr);

  void count(const QString& checkpoint, const QString& pairs);
  /// Folder of the lengths.
  [[nodiscard]] static QString folder();
  /// The most recently counted lengths.
  [[nodiscard]] const QString& file() const { return file_; }

 private:
  bool read(const QByteArray& printed) override;

  QString file_, name_;
};

}  // namespace attnscope::gui
