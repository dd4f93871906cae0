#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A QApplication that notes how long its thread was kept from taking the next event.
//
//   WatchedApplication application(argc, argv);
//   application.watch();
//   ... show windows, wait ...
//   application.longest().ms

#include <QApplication>
#include <QString>

namespace attnscope::gui {

/// One event that kept the thread busy or waiting, without the time in which the machine gave the
/// thread's processor to others.
struct Block {
  double ms = 0;
  QString what;  // receiver and event
};

class WatchedApplication : public QApplication {
 public:
  using QApplication::QApplication;

  /// Forgets previous events.
  void watch() { longest_ = {}; }
  [[nodiscard]] const Block& longest() const { return longest_; }

  bool notify(QObject* receiver, QEvent* event) override;

 private:
  int depth_ = 0;  // of events sent while one is handled
  Block longest_;
};

}  // namespace attnscope::gui
