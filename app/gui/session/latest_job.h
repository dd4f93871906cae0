#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// LatestJob runs slow work on its own thread. Only the newest job counts: a superseded job can
// query token.superseded(), and its later results are dropped.
//
//   job_.start([problem, this](const LatestJob::Token& token) {
//     QImage image = render(*problem, [&] { return token.superseded(); });
//     token.deliver([this, image] { show(image); });      // on the owner's thread
//   });

#include <QObject>
#include <QString>
#include <QThreadPool>
#include <atomic>
#include <functional>

namespace attnscope {

class LatestJob : public QObject {
  Q_OBJECT
 public:
  explicit LatestJob(QObject* parent = nullptr);
  /// Waits for the running job, which is marked as superseded.
  ~LatestJob() override;

  class Token {
   public:
    [[nodiscard]] bool superseded() const { return job_.newest_ != number_; }
    /// Calls `there` on the owner's thread unless a newer job has started by then.
    void deliver(std::function<void()> there) const;

   private:
    friend class LatestJob;
    Token(LatestJob& job, quint64 number) : job_(job), number_(number) {}
    LatestJob& job_;
    quint64 number_;
  };

  using Work = std::function<void(const Token&)>;
  void start(Work work);
  /// The running job, if any, delivers nothing more.
  void drop();
  [[nodiscard]] bool is_busy() const { return is_busy_; }

 Q_SIGNALS:
  /// The newest job has delivered everything.
  void finished();
  /// The job ended with an exception, such as std::bad_alloc.
  void failed(const QString& sentence);

 private:
  void run(const Work& work, quint64 number);

  QThreadPool pool_;  // a single thread
  std::atomic<quint64> newest_ = 0;
  bool is_busy_ = false;
};

}  // namespace attnscope
