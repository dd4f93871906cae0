// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/attention_session.h"

#include <QFile>
#include <QFileInfo>
#include <algorithm>
#include <functional>
#include <utility>

#include "app/gui/session/text.h"
#include "engine/pattern/compile_plan.h"

// The resources of a static library are not registered automatically; the macro must be used in the
// global namespace.
static void register_dumps() {
  Q_INIT_RESOURCE(dumps);
}

namespace attnscope::gui {
namespace {

/// Side of the map that zooming starts from: 16 MB per map, exact up to 2048 tokens.
constexpr std::int64_t map_side = 2048;
// For a head's thumbnail, which is drawn from some rows of each group.
constexpr std::int64_t sample_side = 64;
constexpr std::int64_t sample_rows = 192;

using HeadsRead = std::vector<std::shared_ptr<const HeadVectors>>;  // one, or all for the mean

Result<HeadsRead> read_heads(const Dump& dump, std::size_t layer, int head) {
  const bool all = head == dump.info().heads;
  HeadsRead heads;
  for (int h = all ? 0 : head; h < (all ? head : head + 1); ++h) {
    Result<HeadVectors> read = dump.head(layer, h);
    if (!read) return tl::unexpected(read.error());
    heads.push_back(std::make_shared<const HeadVectors>(*std::move(read)));
  }
  return heads;
}

Result<std::shared_ptr<const WeightRows>> weights_of(const HeadsRead& heads, const DumpInfo& info,
                                                     int head, const PatternChoice& choice) {
  Result<AttentionPlan> plan = compile_plan(choice.pattern, choice.window, info.layout, info.heads);
  if (!plan) return tl::unexpected(plan.error());
  const auto mask = std::make_shared<const Mask>(*std::move(plan));
  std::vector<std::shared_ptr<const WeightRows>> rows;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const int number = head == info.heads ? static_cast<int>(i) : head;
    rows.push_back(std::make_shared<const HeadWeights>(heads[i], mask, number, info.scale));
  }
  if (head != info.heads) return rows.front();
  return std::make_shared<const MeanWeights>(std::move(rows));
}

Stopped stopped_by(const LatestJob::Token& token) {
  return [&token] { return token.superseded(); };
}

std::shared_ptr<const HeadSummary> shared(std::optional<HeadSummary>& summary) {
  return std::make_shared<const HeadSummary>(*std::move(summary));
}

}  // namespace

QString PatternChoice::title() const {
  const QString name = qstring(pattern.title.empty() ? pattern.name : pattern.title);
  if (!pattern.has_window() || !window) return name;
  return QStringLiteral("%1, w = %2")
      .arg(name, window->is_infinite() ? QStringLiteral("∞") : qstring(window->text()));
}

AttentionSession::AttentionSession(QObject* parent) : QObject(parent) {
  register_dumps();
  for (LatestJob* job : {&computing_, &summing_}) {
    connect(job, &LatestJob::failed, this, &AttentionSession::head_failed);
  }
  connect(&reading_, &LatestJob::failed, this,
          [this](const QString& sentence) { Q_EMIT open_failed(sentence, {}); });
}

AttentionSession::~AttentionSession() = default;

bool AttentionSession::is_busy() const {
  return reading_.is_busy() || computing_.is_busy() || summing_.is_busy();
}

void AttentionSession::open(const QString& file) {
  read_dump(file, QFileInfo(file).fileName(),
            [path = file.toStdString()] { return Dump::open(path); });
}

void AttentionSession::open_example() {
  read_dump({}, tr("the example"), [] {
    QFile resource(QStringLiteral(":/attnscope/dumps/example.safetensors"));
    QByteArray bytes;
    if (resource.open(QIODevice::ReadOnly)) bytes = resource.readAll();
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.constData());
    return Dump::read(ByteSource::of({begin, begin + bytes.size()}, "example.safetensors"));
  });
}

void AttentionSession::read_dump(const QString& file, const QString& name, Reader reader) {
  Q_EMIT opening(name);
  reading_.start([this, file, reader = std::move(reader)](const LatestJob::Token& token) {
    Result<Dump> read = reader();
    if (!read) {
      if (!file.isEmpty() && holds_regions(file.toStdString())) return read_regions_of(file, token);
      return token.deliver([this, file, sentence = qstring(read.error().message)] {
        Q_EMIT open_failed(sentence, file);
      });
    }
    auto dump = std::make_shared<const Dump>(*std::move(read));
    auto groups = std::make_shared<const std::vector<TokenGroup>>(dump->info().groups);
    token.deliver([this, file, dump, groups] {
      computing_.drop();
      summing_.drop();
      dump_ = dump;
      groups_ = groups;
      regions_.reset();
      file_ = file;
      rows_.clear();
      received_.reset();
      head_ = {.layer = 0, .head = 0, .sides = {}, .kept = {}};
      Q_EMIT opened();
      compute_head();
      compute_samples();
    });
  });
}

void AttentionSession::read_regions_of(const QString& file, const LatestJob::Token& token) {
  auto read = read_regions(file.toStdString());
  if (!read) {
    return token.deliver([this, file, sentence = qstring(read.error().message)] {
      Q_EMIT open_failed(sentence, file);
    });
  }
  token.deliver([this, file, regions = std::make_shared<const DocumentRegions>(*std::move(read))] {
    regions_ = regions;
    file_ = file;
    Q_EMIT regions_opened();
  });
}

void AttentionSession::choose_head(int layer, int head) {
  if (!dump_ || (head_.layer == layer && head_.head == head)) return;
  head_.layer = layer;
  head_.head = head;
  compute_head();
}

void AttentionSession::set_patterns(std::optional<PatternChoice> a,
                                    std::optional<PatternChoice> b) {
  a_ = std::move(a);
  b_ = std::move(b);
  if (!b_) side_ = AttentionSide::a;
  if (!dump_) return;
  compute_head();
  compute_samples();
}

PatternChoice AttentionSession::first_pattern(std::size_t layer) const {
  return a_.value_or(
      PatternChoice{dump_->info().patterns.at(layer), dump_->info().windows.at(layer)});
}

std::optional<PatternChoice> AttentionSession::pattern(AttentionSide side) const {
  if (side == AttentionSide::b) return b_;
  if (!dump_) return std::nullopt;
  return first_pattern(static_cast<std::size_t>(head_.layer));
}

void AttentionSession::choose_rows(std::vector<TokenRange> rows) {
  rows_ = std::move(rows);
  compute_received();
}

void AttentionSession::choose_side(AttentionSide side) {
  side_ = side;
  compute_received();
}

void AttentionSession::take_side(AttentionSide which, SideWeights weights) {
  head_.sides[static_cast<std::size_t>(which)] = std::move(weights);
  Q_EMIT head_changed();
  if (which == side_) compute_received();
}

void AttentionSession::compute_head() {
  summing_.drop();
  received_.reset();
  head_.sides = {};
  head_.kept.reset();
  Q_EMIT head_changed();
  Q_EMIT received_changed();
  const auto layer = static_cast<std::size_t>(head_.layer);
  computing_.start([this, dump = dump_, layer, head = head_.head, first = first_pattern(layer),
                    second = b_](const LatestJob::Token& token) {
    const DumpInfo& info = dump->info();
    const auto fail_with = [&](const Error& error) {
      token.deliver([this, sentence = qstring(error.message)] { Q_EMIT head_failed(sentence); });
    };
    // Returns false if superseded.
    const auto compute = [&](AttentionSide which, std::shared_ptr<const WeightRows> weights) {
      auto summary = summarise(*weights, info.groups, {.map_side = map_side}, stopped_by(token));
      if (!summary) return false;
      token.deliver([this, which, side = SideWeights{std::move(weights), shared(summary)}] {
        take_side(which, side);
      });
      return true;
    };
    const Result<HeadsRead> vectors = read_heads(*dump, layer, head);
    if (!vectors) return fail_with(vectors.error());
    const auto a = weights_of(*vectors, info, head, first);
    if (!a) return fail_with(a.error());
    if (!compute(AttentionSide::a, *a) || !second) return;
    const auto b = weights_of(*vectors, info, head, *second);
    if (!b) return fail_with(b.error());
    if (!compute(AttentionSide::b, *b)) return;
    const std::optional<KeptMass> kept = kept_mass(**a, **b, info.groups, stopped_by(token));
    if (!kept) return;
    token.deliver([this, kept] { head_.kept = kept; });
    compute(AttentionSide::difference, std::make_shared<const WeightDifference>(*a, *b));
  });
}

void AttentionSession::compute_received() {
  received_.reset();
  const SideWeights& chosen = head_.side(side_);
  if (!chosen.weights) {
    summing_.drop();
    Q_EMIT received_changed();
    return;
  }
  summing_.start([this, chosen, rows = rows_](const LatestJob::Token& token) {
    std::optional<Received> received;
    if (rows.empty()) {
      received = received_from_all(*chosen.summary);
    } else {
      received = received_from(*chosen.weights, rows, stopped_by(token));
    }
    if (!received) return;
    token.deliver([this, received = *std::move(received)] {
      received_ = received;
      Q_EMIT received_changed();
    });
  });
}

void AttentionSession::compute_samples() {
  if (!dump_) return;
  std::vector<PatternChoice> choices;
  for (std::size_t layer = 0; layer < dump_->info().layers.size(); ++layer) {
    choices.push_back(first_pattern(layer));
  }
  sampling_.start([this, dump = dump_, choices](const LatestJob::Token& token) {
    const DumpInfo& info = dump->info();
    const int pictures = info.heads + (info.heads > 1 ? 1 : 0);
    for (std::size_t layer = 0; layer < choices.size(); ++layer) {
      for (int head = 0; head < pictures; ++head) {
        const Result<HeadsRead> vectors = read_heads(*dump, layer, head);
        if (!vectors) continue;  // reported when the head is selected
        const auto weights = weights_of(*vectors, info, head, choices[layer]);
        if (!weights) return;  // reported for the selected head
        auto summary =
            summarise(**weights, info.groups,
                      {.map_side = sample_side, .rows_of_a_group = sample_rows}, stopped_by(token));
        if (!summary) return;
        token.deliver([this, layer, head, sample = shared(summary)] {
          Q_EMIT sampled(static_cast<int>(layer), head, sample);
        });
      }
    }
  });
}

}  // namespace attnscope::gui
