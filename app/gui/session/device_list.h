#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The devices of this machine that a run can measure on: asked once from `attnscope list devices
// --json`, because only the worker knows the driver.

#include <QObject>
#include <QProcess>

namespace attnscope::gui {

struct ListedDevice {
  QString kind;  // "cpu", "cuda": the word of sweeps
  QString name;  // "NVIDIA H200"
  bool available = false;
  QString reason;  // why not
};

class DeviceList : public QObject {
  Q_OBJECT
 public:
  explicit DeviceList(QObject* parent = nullptr);
  ~DeviceList() override;
  /// Starts a process the first time only, whatever comes of it.
  void ask();
  /// Empty until they are known.
  [[nodiscard]] const QList<ListedDevice>& devices() const { return known_; }

 Q_SIGNALS:
  void changed();

 private:
  QProcess process_;
  QList<ListedDevice> known_;
  bool asked_ = false;
};

/// The array that the command prints; what is no such array gives no devices.
[[nodiscard]] QList<ListedDevice> read_devices(const QByteArray& json);

}  // namespace attnscope::gui
