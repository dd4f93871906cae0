#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the worker lists: the devices of this machine that a run can measure on, because only it
// knows the driver, and the implementations, because only it links LibTorch. Each is asked for
// once, from `attnscope list devices --json` and `attnscope list implementations --json`.

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

struct ListedImplementation {
  QString id;
  QString summary;
};

class ImplementationList : public ProgramQuestion {
 public:
  explicit ImplementationList(QObject* parent = nullptr) : ProgramQuestion(parent) {}
  /// Again only where there was no answer.
  void ask();
  [[nodiscard]] const QList<ListedImplementation>& implementations() const { return known_; }

 private:
  bool read(const QByteArray& printed) override;

  QList<ListedImplementation> known_;
};

}  // namespace attnscope::gui
