#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The state of page Attention: a dump, the selected head under one or two patterns, and the mass
// that the selected rows distribute; or the regions of a document. Everything is computed off the
// GUI thread, and only for the newest request.
//
//   AttentionSession session;
//   connect(&session, &AttentionSession::head_changed, view, [&] { show(session.head()); });
//   session.open_example();

#include <QObject>
#include <QString>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "app/gui/session/latest_job.h"
#include "engine/inspect/dump.h"
#include "engine/inspect/head_summary.h"
#include "engine/inspect/head_weights.h"
#include "engine/inspect/regions.h"

namespace attnscope::gui {

using DumpPointer = std::shared_ptr<const Dump>;
using RegionsPointer = std::shared_ptr<const DocumentRegions>;

/// The same scores under pattern A, under pattern B, and the difference between them.
enum class AttentionSide { a, b, difference };
inline constexpr std::array all_sides{AttentionSide::a, AttentionSide::b,
                                      AttentionSide::difference};

struct PatternChoice {
  AttentionPattern pattern;
  std::optional<Window> window;
  [[nodiscard]] QString title() const;  // "Sparse asymmetric, w = 4"
};

struct SideWeights {
  std::shared_ptr<const WeightRows> weights;  // null: not computed (yet)
  std::shared_ptr<const HeadSummary> summary;
};

struct HeadUnderPatterns {
  int layer = -1;
  int head = -1;
  std::array<SideWeights, 3> sides;  // by AttentionSide
  std::optional<KeptMass> kept;      // A's mass on pairs that B allows
  [[nodiscard]] const SideWeights& side(AttentionSide which) const {
    return sides[static_cast<std::size_t>(which)];
  }
};

class AttentionSession : public QObject {
  Q_OBJECT
 public:
  explicit AttentionSession(QObject* parent = nullptr);
  ~AttentionSession() override;

  void open(const QString& file);
  void open_example();
  /// The index after the last head selects the mean of all heads.
  void choose_head(int layer, int head);
  /// A missing `a`: the model's own pattern; a missing `b`: no second pattern.
  void set_patterns(std::optional<PatternChoice> a, std::optional<PatternChoice> b);
  /// Selects the rows (empty: all) whose mass is computed.
  void choose_rows(std::vector<TokenRange> rows);
  void choose_side(AttentionSide side);

  [[nodiscard]] const DumpPointer& dump() const { return dump_; }
  /// The regions of a document, if such a file was opened last; the dump is unchanged.
  [[nodiscard]] const RegionsPointer& regions() const { return regions_; }
  [[nodiscard]] const std::shared_ptr<const std::vector<TokenGroup>>& groups() const {
    return groups_;
  }
  /// The dump's file; empty: the example.
  [[nodiscard]] const QString& file() const { return file_; }
  [[nodiscard]] const HeadUnderPatterns& head() const { return head_; }
  /// Pattern A in the selected layer, or B.
  [[nodiscard]] std::optional<PatternChoice> pattern(AttentionSide side) const;
  [[nodiscard]] const std::vector<TokenRange>& rows() const { return rows_; }
  [[nodiscard]] AttentionSide side() const { return side_; }
  /// Nothing while it is being computed.
  [[nodiscard]] const std::optional<Received>& received() const { return received_; }
  [[nodiscard]] bool is_busy() const;

 Q_SIGNALS:
  void opening(const QString& name);
  void opened();
  void regions_opened();
  void open_failed(const QString& sentence, const QString& file);
  /// Another side is available, or all are reset.
  void head_changed();
  void head_failed(const QString& sentence);
  void received_changed();
  /// Summary of some rows of a head, for a thumbnail.
  void sampled(int layer, int head, const std::shared_ptr<const attnscope::HeadSummary>& summary);

 private:
  using Reader = std::function<Result<Dump>()>;
  void read_regions_of(const QString& file, const LatestJob::Token& token);
  void read_dump(const QString& file, const QString& name, Reader reader);
  void compute_head();
  void compute_received();
  void compute_samples();
  void take_side(AttentionSide which, SideWeights weights);
  [[nodiscard]] PatternChoice first_pattern(std::size_t layer) const;

  DumpPointer dump_;
  RegionsPointer regions_;
  std::shared_ptr<const std::vector<TokenGroup>> groups_;
  QString file_;
  std::optional<PatternChoice> a_, b_;
  HeadUnderPatterns head_;
  AttentionSide side_ = AttentionSide::a;
  std::vector<TokenRange> rows_;
  std::optional<Received> received_;
  // Declared last, so that the jobs end before the data they use is destroyed.
  LatestJob reading_, computing_, summing_, sampling_;
};

}  // namespace attnscope::gui
