// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/attention_session.h"

#include <QFile>
#include <QFileInfo>
#include <algorithm>
#include <functional>
#include <utility>

#include "app/gui/charts/heat_colors.h"
#include "app/gui/charts/mask_colors.h"
#include "app/gui/models/attended_tokens_model.h"
#include "app/gui/session/text.h"
#include "engine/pattern/compile_plan.h"

// Resources of a static library are not registered by themselves; the macro wants the global
// namespace.
static void register_dumps() {
  Q_INIT_RESOURCE(dumps);
}

namespace attnscope::gui {
namespace {

/// Cells of the map that zooming starts from: 16 MB a side, exact up to 2048 tokens.
constexpr std::int64_t map_side = 2048;
// Of a head's small picture, which is drawn from some rows of each group.
constexpr std::int64_t picture_side = 64;
constexpr std::int64_t picture_rows = 192;

Result<std::shared_ptr<const HeadWeights>> weights_of(std::shared_ptr<const HeadVectors> vectors,
                                                      const DumpInfo& info, int head,
                                                      const PatternChoice& choice) {
  Result<AttentionPlan> plan = compile_plan(choice.pattern, choice.window, info.layout, info.heads);
  if (!plan) return tl::unexpected(plan.error());
  return std::make_shared<const HeadWeights>(
      std::move(vectors), std::make_shared<const Mask>(*std::move(plan)), head, info.scale);
}

Stopped stopped_by(const charts::LatestJob::Token& token) {
  return [&token] { return token.superseded(); };
}

std::shared_ptr<const HeadSummary> shared(std::optional<HeadSummary>& summary) {
  return std::make_shared<const HeadSummary>(*std::move(summary));
}

/// "query: 61.0 % on document; document: 40.2 % on document".
QString strongest_flows(const HeadSummary& summary) {
  QStringList flows;
  for (const TokenGroup from : token_groups) {
    if (summary.rows[static_cast<std::size_t>(from)] == 0) continue;
    const auto& masses = summary.group_mass[static_cast<std::size_t>(from)];
    const auto to = static_cast<TokenGroup>(std::ranges::max_element(masses) - masses.begin());
    flows.append(QStringLiteral("%1: %2 on %3")
                     .arg(charts::group_title(from), share_words(summary.mass(from, to)),
                          charts::group_title(to)));
  }
  return flows.join(QStringLiteral("; "));
}

}  // namespace

QString PatternChoice::title() const {
  const QString name = words(pattern.title.empty() ? pattern.name : pattern.title);
  if (!pattern.has_window() || !window) return name;
  return QStringLiteral("%1, w = %2")
      .arg(name, window->is_infinite() ? QStringLiteral("∞") : words(window->text()));
}

AttentionSession::AttentionSession(QObject* parent) : QObject(parent) {
  register_dumps();
  for (charts::LatestJob* job : {&computing_, &summing_}) {
    connect(job, &charts::LatestJob::finished, this, &AttentionSession::busy_changed);
    connect(job, &charts::LatestJob::failed, this, &AttentionSession::head_failed);
  }
  connect(&reading_, &charts::LatestJob::failed, this,
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
  reading_.start([this, file, reader = std::move(reader)](const charts::LatestJob::Token& token) {
    Result<Dump> read = reader();
    if (!read) {
      return token.deliver([this, file, sentence = words(read.error().message)] {
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
      file_ = file;
      rows_.clear();
      received_.reset();
      head_ = {.layer = 0, .head = 0, .sides = {}, .kept = {}};
      heads_.set_dump(dump_);
      Q_EMIT opened();
      compute_head();
      compute_pictures();
    });
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
  compute_pictures();
}

PatternChoice AttentionSession::first_pattern(std::size_t layer) const {
  return a_.value_or(PatternChoice{dump_->info().pattern, dump_->info().windows.at(layer)});
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

void AttentionSession::set_theme(charts::ChartTheme theme) {
  if (theme == theme_) return;
  theme_ = theme;
  compute_pictures();
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
  computing_.start([this, dump = dump_, layer, head = head_.head,
                    choice = first_pattern(layer)](const charts::LatestJob::Token& token) {
    const auto fail_with = [&](const Error& error) {
      token.deliver([this, sentence = words(error.message)] { Q_EMIT head_failed(sentence); });
    };
    Result<HeadVectors> read = dump->head(layer, head);
    if (!read) return fail_with(read.error());
    const auto vectors = std::make_shared<const HeadVectors>(*std::move(read));
    const auto weights = weights_of(vectors, dump->info(), head, choice);
    if (!weights) return fail_with(weights.error());
    auto summary =
        summarise(**weights, dump->info().groups, {.map_side = map_side}, stopped_by(token));
    if (!summary) return;
    token.deliver([this, vectors, side = SideWeights{*weights, shared(summary)}] {
      take_side(AttentionSide::a, side);
      if (b_) compute_second(vectors);
    });
  });
  Q_EMIT busy_changed();
}

void AttentionSession::compute_second(const std::shared_ptr<const HeadVectors>& vectors) {
  const auto a = std::static_pointer_cast<const HeadWeights>(head_.side(AttentionSide::a).weights);
  computing_.start([this, dump = dump_, vectors, a, head = head_.head,
                    choice = *b_](const charts::LatestJob::Token& token) {
    const DumpInfo& info = dump->info();
    const auto b = weights_of(vectors, info, head, choice);
    if (!b) {
      return token.deliver(
          [this, sentence = words(b.error().message)] { Q_EMIT head_failed(sentence); });
    }
    auto summary = summarise(**b, info.groups, {.map_side = map_side}, stopped_by(token));
    if (!summary) return;
    token.deliver(
        [this, side = SideWeights{*b, shared(summary)}] { take_side(AttentionSide::b, side); });
    const std::optional<KeptMass> kept = kept_mass(*a, **b, info.groups, stopped_by(token));
    const auto difference = std::make_shared<const WeightDifference>(a, *b);
    auto changed = summarise(*difference, info.groups, {.map_side = map_side}, stopped_by(token));
    if (!kept || !changed) return;
    token.deliver([this, kept, side = SideWeights{difference, shared(changed)}] {
      head_.kept = kept;
      take_side(AttentionSide::difference, side);
    });
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
  summing_.start([this, chosen, rows = rows_](const charts::LatestJob::Token& token) {
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
  Q_EMIT busy_changed();
}

void AttentionSession::compute_pictures() {
  if (!dump_) return;
  std::vector<PatternChoice> choices;
  for (std::size_t layer = 0; layer < dump_->info().layers.size(); ++layer) {
    choices.push_back(first_pattern(layer));
  }
  drawing_.start([this, dump = dump_, choices,
                  theme = theme_](const charts::LatestJob::Token& token) {
    const DumpInfo& info = dump->info();
    const charts::HeatScale scale{.logarithmic = true, .difference = false, .largest = 1};
    for (std::size_t layer = 0; layer < choices.size(); ++layer) {
      for (int head = 0; head < info.heads; ++head) {
        Result<HeadVectors> read = dump->head(layer, head);
        if (!read) continue;  // said when the head is chosen
        const auto weights = weights_of(std::make_shared<const HeadVectors>(*std::move(read)), info,
                                        head, choices[layer]);
        if (!weights) return;  // said for the chosen head
        const auto summary = summarise(**weights, info.groups,
                                       {.map_side = picture_side, .rows_of_a_group = picture_rows},
                                       stopped_by(token));
        if (!summary) return;
        token.deliver([this, layer, head, picture = charts::heat_image(summary->map, scale, theme),
                       note = strongest_flows(*summary)] {
          heads_.set_picture(static_cast<int>(layer), head, picture, note);
        });
      }
    }
  });
}

}  // namespace attnscope::gui
