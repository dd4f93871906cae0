#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What each token receives, as bars along the sequence in the colours of the token groups; where
// tokens share a pixel, the largest.

#include <QWidget>
#include <memory>
#include <vector>

#include "engine/pattern/attention_pattern.h"

namespace attnscope::gui {

class TokenProfile : public QWidget {
  Q_OBJECT
 public:
  explicit TokenProfile(QWidget* parent = nullptr);

  /// Empty `mass`: not computed (yet).
  void show_mass(std::shared_ptr<const std::vector<TokenGroup>> groups, std::vector<double> mass);
  /// -1: none.
  void set_marked(qint64 token);
  [[nodiscard]] qint64 token_at(double x) const;

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 Q_SIGNALS:
  /// -1 when the cursor leaves.
  void hovered(qint64 token);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  std::shared_ptr<const std::vector<TokenGroup>> groups_;
  std::vector<double> mass_;
  qint64 marked_ = -1;
};

}  // namespace attnscope::gui
