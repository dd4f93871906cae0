#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The devices of this machine that a run can measure on: asked once from `attnscope list devices
// --json`, because only the worker knows the driver.

#include "app/gui/session/program_question.h"

namespace attnscope::gui {

struct ListedDevice {
  QString kind;  // "cpu", "cuda": the word of sweeps
  QString name;  // "NVIDIA H200"
  bool available = false;
  QString reason;  // why not
};

class DeviceList : public ProgramQuestion {
 public:
  explicit DeviceList(QObject* parent = nullptr) : ProgramQuestion(parent) {}
  /// Once, whatever comes of it.
  void ask();
  /// Empty until they are known.
  [[nodiscard]] const QList<ListedDevice>& devices() const { return known_; }

 private:
  bool read(const QByteArray& printed) override;

  QList<ListedDevice> known_;
};

}  // namespace attnscope::gui
