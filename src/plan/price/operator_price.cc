#include "plan/price/operator_price.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "core/text.h"
#include "store/judging/row_load.h"

namespace assay::plan {
namespace {

using serving::Amount;
using serving::OperatorUse;
using store::kNoSize;
using store::UseFamily;
using store::WorkRows;

std::size_t place_of(const UseFamily& family, const OperatorUse& use, Amount amount) {
  for (std::size_t i = 0; i < use.sizes.size(); ++i) {
    if (use.sizes[i].amount == amount) return family.places[i];
  }
  return kNoSize;
}

// Engines replay captured graphs; rows of eager launches hold the host's time.
bool is_eager(const WorkRows& rows, std::size_t family) {
  const auto codes = rows.codes_of(family);
  for (std::size_t column = 0; column < rows.exact.size(); ++column) {
    if (rows.exact[column].values[codes[column]].ends_with("_eager")) return true;
  }
  return false;
}

// Of several kernels the one that was measured at most places.
const UseFamily* best_of(const std::vector<UseFamily>& families, const WorkRows& rows) {
  const auto rank = [&](const UseFamily& family) {
    const std::uint64_t count = rows.begins[family.family + 1] - rows.begins[family.family];
    return std::make_tuple(family.has_key, !is_eager(rows, family.family), count);
  };
  const auto best =
      std::max_element(families.begin(), families.end(),
                       [&](const UseFamily& a, const UseFamily& b) { return rank(a) < rank(b); });
  return best == families.end() ? nullptr : &*best;
}

double most_of(const WorkRows& rows, std::size_t family, std::size_t place) {
  double most = 0;
  for (std::size_t row = rows.begins[family]; row < rows.begins[family + 1]; ++row)
    most = std::max(most, rows.sizes_of(row)[place]);
  return most;
}

// The least and the most of a size.
std::pair<double, double> range_of(const WorkRows& rows, std::size_t family, std::size_t place) {
  std::pair<double, double> range = {std::numeric_limits<double>::infinity(), 0};
  for (std::size_t row = rows.begins[family]; row < rows.begins[family + 1]; ++row) {
    range.first = std::min(range.first, rows.sizes_of(row)[place]);
    range.second = std::max(range.second, rows.sizes_of(row)[place]);
  }
  return range;
}

double window_of(const OperatorUse& use) {
  const model::PerfValue* window = serving::find_key(use, "window_size");
  return window == nullptr ? 0 : static_cast<double>(std::get<std::int64_t>(*window));
}

bool has_column(const WorkRows& rows, const std::string& name) {
  return std::find(rows.sizes.begin(), rows.sizes.end(), name) != rows.sizes.end() ||
         std::any_of(rows.exact.begin(), rows.exact.end(),
                     [&](const store::ExactColumn& exact) { return exact.name == name; });
}

struct Choice {
  const TableSource* source = nullptr;
  TableSource::Index index;
  UseFamily family;
};

// An answer that rows of other keys give this surely is worth more than another version's rows.
constexpr double kSureSigma = 0.1;

bool is_sure(const OperatorUse& use, const Choice& choice) {
  constexpr Amounts kUsual{
      .tokens = 64, .requests = 16, .new_tokens = 1024, .cached_tokens = 2048, .expert_tokens = 64};
  std::vector<double> sizes = choice.family.sizes;
  for (std::size_t i = 0; i < use.sizes.size(); ++i) {
    const serving::SizeField& field = use.sizes[i];
    if (choice.family.places[i] != kNoSize)
      sizes[choice.family.places[i]] = kUsual.of(field.amount) * static_cast<double>(field.factor);
  }
  const store::WorkEstimate estimate =
      choice.index->family(choice.family.family).at(sizes, store::Beyond::kExtrapolate);
  return estimate.is_measured() || estimate.sigma <= kSureSigma;
}

core::Result<std::optional<Choice>> choose(const OperatorUse& use,
                                           std::span<const TableSource> sources,
                                           Tables& tables) {
  std::optional<Choice> with_key;
  std::optional<Choice> derived;
  for (const TableSource& source : sources) {
    if (source.fidelity() == Fidelity::kOtherEngine && (with_key || derived)) break;
    const TableSource::Index index = ASSAY_TRY(source.index());
    const std::vector<UseFamily>& families = tables.families_of(index, use);
    const UseFamily* best = best_of(families, index->rows());
    if (best == nullptr) continue;
    Choice choice{&source, index, *best};
    if (best->has_key) {
      with_key = std::move(choice);
      break;
    }
    if (!derived && is_sure(use, choice)) return std::optional(std::move(choice));
    if (!derived) derived = std::move(choice);
  }
  return with_key ? std::move(with_key) : std::move(derived);
}

// A window that no request exceeds changes nothing.
std::optional<OperatorUse> without_idle_window(const OperatorUse& use) {
  const auto most = static_cast<double>(use.most_tokens);
  if (most == 0 || most > window_of(use)) return std::nullopt;
  OperatorUse plain = use;
  for (model::PerfField& field : plain.key) {
    if (field.column == "window_size") field.value = std::int64_t{0};
  }
  return plain;
}

std::vector<std::string> size_names(const OperatorUse& use) {
  std::vector<std::string> names;
  for (const serving::SizeField& field : use.sizes)
    names.push_back(field.column);
  return names;
}

std::vector<model::PerfField> exact_of(const OperatorUse& use) {
  std::vector<model::PerfField> exact = use.key;
  exact.push_back({"op_name", model::PerfValue(use.op_name)});
  return exact;
}

// Products of 4-bit floats came with Blackwell.
bool has_no_products(const OperatorUse& use, int sm_version) {
  constexpr int kBlackwell = 100;
  return sm_version > 0 && sm_version < kBlackwell &&
         serving::key_text(use).find("nvfp4") != std::string::npos;
}

std::string remedy_of(const OperatorUse& use, int sm_version) {
  if (has_no_products(use, sm_version))
    return fmt::format(
        "this GPU (sm_version {}) has no products of nvfp4, so that none can be "
        "measured: they came with sm_version 100",
        sm_version);
  if (serving::is_collected(use)) {
    const double window = window_of(use);
    const std::string shorter =
        window > 0 ? fmt::format("; requests of at most {:.0f} tokens are priced without", window)
                   : "";
    return fmt::format("'assay collect {}' measures it{}", use.op, shorter);
  }
  return "assay does not measure it yet; engines' own tables may have it (--systems-paths)";
}

core::Error nothing_answers(const OperatorUse& use,
                            std::span<const TableSource> sources,
                            int sm_version) {
  std::vector<std::string> names;
  for (const TableSource& source : sources)
    names.push_back(source.name());
  const std::string why = names.empty()
                              ? "there is no such table"
                              : "no rows with these names and types in " + core::join(names, ", ");
  return core::Error{fmt::format("{} ({}, {}): {}; {}", use.role, use.table, serving::key_text(use),
                                 why, remedy_of(use, sm_version))};
}

}  // namespace

double Amounts::of(Amount amount) const {
  switch (amount) {
    case Amount::kTokens:
      return tokens;
    case Amount::kRequests:
      return requests;
    case Amount::kNewTokens:
      return new_tokens;
    case Amount::kCachedTokens:
      return cached_tokens;
    case Amount::kExpertTokens:
      break;
  }
  return expert_tokens;
}

core::Result<OperatorPrice> OperatorPrice::bind(const OperatorUse& use, Tables& tables) {
  OperatorPrice price = ASSAY_TRY(bind_one(use, tables));
  if (const store::CostBinder cost = tables.cost(use.table))
    price.cost_ = cost(exact_of(use), size_names(use));
  const std::optional<OperatorUse> beside = tables.held_beside(use, price.fidelity_of_rows());
  if (!beside) return price;
  core::Result<OperatorPrice> held = bind_one(*beside, tables);
  if (held.ok())
    price.held_beside_ = std::make_shared<const OperatorPrice>(std::move(held).value());
  return price;
}

core::Result<OperatorPrice> OperatorPrice::bind_one(const OperatorUse& use, Tables& tables) {
  const std::span<const TableSource> sources = ASSAY_TRY(tables.sources(use.table));
  if (const std::optional<Choice> choice = ASSAY_TRY(choose(use, sources, tables)))
    return of_rows(use, *choice->source, choice->index, choice->family, tables);
  if (const std::optional<OperatorUse> plain = without_idle_window(use)) {
    if (const std::optional<Choice> choice = ASSAY_TRY(choose(*plain, sources, tables))) {
      OperatorPrice price = of_rows(*plain, *choice->source, choice->index, choice->family, tables);
      price.use_ = use;
      return price;
    }
  }
  if (std::optional<OperatorPrice> scaled = ASSAY_TRY(bind_scaled(use, tables)))
    return std::move(*scaled);
  if (std::optional<OperatorPrice> crossing = ASSAY_TRY(bind_crossing(use, tables)))
    return std::move(*crossing);
  if (const store::RooflineBinder formula = tables.formula(use.table))
    return of_formula(use, formula);
  return nothing_answers(use, sources, tables.sm_version());
}

OperatorPrice OperatorPrice::of_rows(const OperatorUse& use,
                                     const TableSource& source,
                                     const TableSource::Index& index,
                                     const UseFamily& family,
                                     Tables& tables) {
  const WorkRows& rows = index->rows();
  OperatorPrice price(use);
  price.source_ = source.name();
  price.fidelity_ = source.fidelity();
  price.has_key_ = family.has_key;
  price.sizes_ = family.sizes;
  price.places_ = family.places;
  price.index_ = index;
  price.family_ = tables.family(index, family.family, serving::key_text(use));
  price.power_model_ = tables.power_model(index, use.op_name);
  if (!has_column(rows, "window_size")) price.window_ = window_of(use);
  const std::size_t new_tokens = place_of(family, use, Amount::kNewTokens);
  const std::size_t cached = place_of(family, use, Amount::kCachedTokens);
  if (new_tokens != kNoSize && (cached == kNoSize || most_of(rows, family.family, cached) == 0)) {
    price.no_prefix_place_ = cached;
    price.new_tokens_place_ = new_tokens;
  }
  return price;
}

OperatorPrice OperatorPrice::of_formula(const OperatorUse& use,
                                        const store::RooflineBinder& formula) {
  OperatorPrice price(use);
  price.source_ = "formula";
  price.fidelity_ = Tables::fidelity_of_formula(use.table);
  for (std::size_t i = 0; i < use.sizes.size(); ++i)
    price.places_.push_back(i);
  price.sizes_.resize(use.sizes.size());
  price.formula_ = formula(exact_of(use), size_names(use));
  return price;
}

core::Result<std::optional<OperatorPrice>> OperatorPrice::bind_scaled(const OperatorUse& use,
                                                                      Tables& tables) {
  const std::optional<ScaledUse> fewer = scaled_use(use);
  if (!fewer) return std::optional<OperatorPrice>();
  for (const TableSource& source : ASSAY_TRY(tables.sources(use.table))) {
    std::optional<OperatorPrice> scaled = ASSAY_TRY(of_fewer_gpus(use, *fewer, source, tables));
    if (scaled) return scaled;
  }
  return std::optional<OperatorPrice>();
}

// Rows of both numbers of GPUs are of one source, so that one kernel is compared with itself.
core::Result<std::optional<OperatorPrice>> OperatorPrice::of_fewer_gpus(const OperatorUse& use,
                                                                        const ScaledUse& fewer,
                                                                        const TableSource& source,
                                                                        Tables& tables) {
  const std::span<const TableSource> only(&source, 1);
  const std::optional<Choice> half = ASSAY_TRY(choose(fewer.half, only, tables));
  const std::optional<Choice> quarter = ASSAY_TRY(choose(fewer.quarter, only, tables));
  if (!half || !quarter || half->family.places.front() == kNoSize)
    return std::optional<OperatorPrice>();
  const auto price_of = [&](const OperatorUse& part, const Choice& choice) {
    return std::make_shared<const OperatorPrice>(
        of_rows(part, source, choice.index, choice.family, tables));
  };
  Scaled scaled{.half = price_of(fewer.half, *half),
                .quarter = price_of(fewer.quarter, *quarter),
                .sigma = fewer.sigma};
  const auto [least, most] =
      range_of(half->index->rows(), half->family.family, half->family.places.front());
  scaled.scale = {.bus_growth = fewer.bus_growth,
                  .shortest_half_ms = scaled.half->ms_of_message(least),
                  .shortest_quarter_ms = scaled.quarter->ms_of_message(least),
                  .longest_half_ms = scaled.half->ms_of_message(most),
                  .longest_message = most};
  OperatorPrice price(use);
  price.source_ = fmt::format("{}, scaled from 2 and 4 GPUs", source.name());
  price.fidelity_ = Fidelity::kScaled;
  price.scaled_ = std::make_shared<const Scaled>(std::move(scaled));
  return std::optional(std::move(price));
}

core::Result<std::optional<OperatorPrice>> OperatorPrice::bind_crossing(const OperatorUse& use,
                                                                        Tables& tables) {
  constexpr double kUnits = 1 << 20;
  if (!tables.links() || use.sizes.size() != 1) return std::optional<OperatorPrice>();
  const std::optional<CrossingUse> crossing = crossing_use(use, *tables.links());
  const store::CostBinder cost = tables.cost(use.table);
  if (!crossing || !cost) return std::optional<OperatorPrice>();
  const store::CostedOperator::SizedCost of_message = cost(exact_of(use), size_names(use));
  core::Result<OperatorPrice> within = bind_one(crossing->within, tables);
  if (!of_message || !within.ok()) return std::optional<OperatorPrice>();
  const std::array<double, 1> units = {kUnits};
  const double sent = of_message(units).link_bytes;
  OperatorPrice price(use);
  price.source_ =
      fmt::format("{} within nodes, links between {}", within.value().source(), crossing->nodes);
  price.fidelity_ = Fidelity::kLinks;
  price.crossing_ = std::make_shared<const Crossing>(Crossing{
      .within = std::make_shared<const OperatorPrice>(std::move(within).value()),
      .use = *crossing,
      .links = *tables.links(),
      .bytes_of_unit =
          sent / kUnits / bus_factor(crossing->function, static_cast<int>(crossing->gpus))});
  return std::optional(std::move(price));
}

// Both parts follow each other.
Price OperatorPrice::crossing_at(const Amounts& asked) const {
  const serving::SizeField& field = use_.sizes.front();
  const double message = asked.of(field.amount) * static_cast<double>(field.factor);
  const double share = crossing_->use.within_share;
  Price price = crossing_->within->at_alone({.tokens = share * asked.tokens,
                                             .requests = share * asked.requests,
                                             .new_tokens = share * asked.new_tokens,
                                             .cached_tokens = share * asked.cached_tokens,
                                             .expert_tokens = share * asked.expert_tokens});
  const double between_ms =
      static_cast<double>(use_.count) *
      crossing_->use.between_ms(message * crossing_->bytes_of_unit, crossing_->links);
  const double sigma_ms = price.ms * price.sigma + between_ms * kCrossingSigma;
  price.ms += between_ms;
  price.least_ms = 0;
  price.sigma = sigma_ms / price.ms;
  return price;
}

// All launches, by a message in the table's units.
double OperatorPrice::ms_of_message(double message) const {
  const double amount = message / static_cast<double>(use_.sizes.front().factor);
  return at_alone({.tokens = amount, .expert_tokens = amount}).ms;
}

Price OperatorPrice::scaled_at(const Amounts& asked) const {
  const serving::SizeField& field = use_.sizes.front();
  const double message = asked.of(field.amount) * static_cast<double>(field.factor);
  Price price = scaled_->half->at_alone(asked);
  price.ms = scaled_->scale.ms(message, price.ms, scaled_->quarter->at_alone(asked).ms);
  price.least_ms = 0;
  price.sigma = std::hypot(price.sigma, scaled_->sigma);
  return price;
}

Price OperatorPrice::at(const Amounts& amounts) const {
  Price price = at_alone(amounts);
  if (held_beside_ == nullptr) return price;
  price.ms = std::max(price.least_ms, price.ms - held_beside_->at_alone(amounts).ms);
  return price;
}

OperatorPrice::AskedSizes OperatorPrice::asked_sizes(Amounts amounts) const {
  AskedSizes asked;
  auto& sizes = asked.sizes;
  std::copy(sizes_.begin(), sizes_.end(), sizes.begin());
  if (window_ > 0) amounts.cached_tokens = std::min(amounts.cached_tokens, window_);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const serving::SizeField& field = use_.sizes[i];
    if (places_[i] != kNoSize)
      sizes[places_[i]] = amounts.of(field.amount) * static_cast<double>(field.factor);
  }
  // Rows without tokens in the cache: a prompt of all tokens does the work of this one and that of
  // the triangle before it.
  if (new_tokens_place_ != kNoSize && amounts.cached_tokens > 0) {
    const double full = amounts.new_tokens + amounts.cached_tokens;
    asked.share = 1 - amounts.cached_tokens * amounts.cached_tokens / (full * full);
    sizes[new_tokens_place_] = full;
    if (no_prefix_place_ != kNoSize) sizes[no_prefix_place_] = 0;
  }
  return asked;
}

std::optional<OperatorPower> OperatorPrice::power(const Amounts& amounts) const {
  if (family_ == nullptr || index_->rows().watts.empty()) return std::nullopt;
  const AskedSizes asked = asked_sizes(amounts);
  const store::WorkEstimate estimate =
      family_->at(std::span(asked.sizes.data(), sizes_.size()), store::Beyond::kExtrapolate);
  const std::optional<store::RowPower> known = family_->power(estimate);
  if (known && known->is_measured)
    return OperatorPower{.watts = known->watts, .source = PowerSource::kMeasured};
  if (estimate.is_beyond()) return std::nullopt;
  if (auto modelled = modelled_power(amounts, asked.share * estimate.latency)) return modelled;
  if (!known) return std::nullopt;
  return OperatorPower{.watts = known->watts, .source = PowerSource::kBetween};
}

std::optional<OperatorPower> OperatorPrice::modelled_power(const Amounts& amounts,
                                                           double launch_ms) const {
  if (power_model_ == nullptr || !cost_) return std::nullopt;
  const std::optional<store::RowLoad> load =
      store::row_load(cost_of_launch(amounts), launch_ms, *power_model_->device);
  if (!load) return std::nullopt;
  const std::optional<store::ModelledWatts> modelled = power_model_->power.at(*load);
  if (!modelled) return std::nullopt;
  return OperatorPower{
      .watts = modelled->watts, .source = PowerSource::kModelled, .error = modelled->error};
}

Price OperatorPrice::at_alone(const Amounts& asked_amounts) const {
  if (scaled_ != nullptr) return scaled_at(asked_amounts);
  if (crossing_ != nullptr) return crossing_at(asked_amounts);
  const AskedSizes asked = asked_sizes(asked_amounts);
  const double launches = static_cast<double>(use_.count);
  const std::span<const double> sizes(asked.sizes.data(), sizes_.size());
  if (family_ == nullptr) return {.ms = launches * formula_(sizes)};
  const store::WorkEstimate estimate = family_->at(sizes, store::Beyond::kExtrapolate);
  // Rows that were measured with their data in the cache lead to answers below the roofline.
  // Engines find the cache full of what ran before.
  const double latency =
      estimate.is_measured() ? estimate.latency : std::max(estimate.latency, estimate.roofline);
  return {.ms = launches * asked.share * latency,
          .least_ms = launches * asked.share * estimate.roofline,
          .sigma = std::isnan(estimate.sigma) ? 0 : estimate.sigma,
          .is_beyond = estimate.is_beyond()};
}

store::RowCost OperatorPrice::cost_of_launch(const Amounts& amounts) const {
  std::vector<double> sizes;
  for (const serving::SizeField& field : use_.sizes)
    sizes.push_back(amounts.of(field.amount) * static_cast<double>(field.factor));
  return cost_(sizes);
}

Work OperatorPrice::work(const Amounts& amounts) const {
  if (!cost_) return {};
  const store::RowCost cost = cost_of_launch(amounts);
  const auto launches = static_cast<double>(use_.count);
  return {.bytes = launches * cost.bytes,
          .flops = launches * cost.flops,
          .link_bytes = launches * cost.link_bytes};
}

}  // namespace assay::plan
