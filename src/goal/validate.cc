#include "goal/validate.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "core/numbered.h"
#include "core/parallel.h"
#include "core/statistics.h"
#include "goal/expand.h"
#include "model/schedule_writer.h"

namespace assay::goal {
namespace {

using model::Table;

std::vector<double> measured_times(const Unit& unit) {
  std::vector<double> times;
  for (const Occurrence& occurrence : unit.occurrences)
    times.push_back(static_cast<double>(occurrence.measured_ns));
  return times;
}

struct Compared {
  const UnitModel* model = nullptr;
  double simulated_ns = 0;

  [[nodiscard]] double error_percent() const {
    return 100 * (simulated_ns / model->measured_median_ns() - 1);
  }
};

model::Cell us(double ns) {
  return ns / 1000;
}

Table operations_table(const std::vector<Compared>& compared) {
  Table table{.name = "operations",
              .title = "Each kind and size of operation, simulated alone",
              .columns = {{.name = "function"},
                          {.name = "algorithm"},
                          {.name = "protocol"},
                          {.name = "GPUs"},
                          {.name = "nodes"},
                          {.name = "channels"},
                          {.name = "size", .unit = "B"},
                          {.name = "seen"},
                          {.name = "measured", .unit = "us"},
                          {.name = "simulated", .unit = "us"},
                          {.name = "error", .unit = "%"}}};
  for (const Compared& row : compared) {
    const Unit& unit = row.model->unit();
    table.add_row(
        {unit.function, std::string(name_of(unit.algorithm)), std::string(name_of(unit.protocol)),
         std::int64_t{unit.num_gpus}, std::int64_t{unit.num_nodes}, std::int64_t{unit.num_channels},
         static_cast<std::int64_t>(unit.bytes), static_cast<std::int64_t>(unit.occurrences.size()),
         us(row.model->measured_median_ns()), us(row.simulated_ns), row.error_percent()});
  }
  return table;
}

Table measured_table(const std::vector<Compared>& compared) {
  Table table{.name = "measured",
              .title = "How far apart the measured times are",
              .columns = {{.name = "function"},
                          {.name = "algorithm"},
                          {.name = "protocol"},
                          {.name = "GPUs"},
                          {.name = "size", .unit = "B"},
                          {.name = "seen"},
                          {.name = "p10", .unit = "us"},
                          {.name = "median", .unit = "us"},
                          {.name = "p90", .unit = "us"}}};
  for (const Compared& row : compared) {
    const Unit& unit = row.model->unit();
    if (unit.occurrences.size() < 2) continue;
    const std::vector<double> times = measured_times(unit);
    table.add_row({unit.function, std::string(name_of(unit.algorithm)),
                   std::string(name_of(unit.protocol)), std::int64_t{unit.num_gpus},
                   static_cast<std::int64_t>(unit.bytes), static_cast<std::int64_t>(times.size()),
                   us(core::quantile(times, 0.1)), us(row.model->measured_median_ns()),
                   us(core::quantile(times, 0.9))});
  }
  return table;
}

Table errors_table(const std::vector<Compared>& compared) {
  Table table{.name = "errors",
              .title = "Error of the simulated time: (simulated - measured) / measured",
              .columns = {{.name = "function"},
                          {.name = "algorithm"},
                          {.name = "protocol"},
                          {.name = "sizes"},
                          {.name = "seen"},
                          {.name = "median", .unit = "%"},
                          {.name = "median of |error|", .unit = "%"},
                          {.name = "p90 of |error|", .unit = "%"},
                          {.name = "largest", .unit = "%"}}};
  using Kind = std::tuple<std::string, std::string, std::string>;
  std::map<Kind, std::vector<const Compared*>> kinds;
  for (const Compared& row : compared) {
    const Unit& unit = row.model->unit();
    kinds[{unit.function, std::string(name_of(unit.algorithm)),
           std::string(name_of(unit.protocol))}]
        .push_back(&row);
    kinds[{"all", "", ""}].push_back(&row);
  }
  for (const auto& [kind, rows] : kinds) {
    std::vector<double> errors;
    std::vector<double> sizes;
    std::size_t seen = 0;
    for (const Compared* row : rows) {
      errors.push_back(row->error_percent());
      sizes.push_back(std::fabs(errors.back()));
      seen += row->model->unit().occurrences.size();
    }
    const auto largest = std::max_element(errors.begin(), errors.end(), [](double a, double b) {
      return std::fabs(a) < std::fabs(b);
    });
    table.add_row({std::get<0>(kind), std::get<1>(kind), std::get<2>(kind),
                   static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(seen),
                   core::quantile(errors, 0.5), core::quantile(sizes, 0.5),
                   core::quantile(sizes, 0.9), *largest});
  }
  return table;
}

}  // namespace

const Links& default_links() {
  static const Links links = {
      .intra = {.latency_ns = 439,
                .overhead_ns = 1,
                .gap_ns = 4,
                .gap_ns_per_byte = 0.002909,
                .overhead_ns_per_byte = 0,
                .rendezvous_bytes = 1e12},
      .inter = {.latency_ns = 3700,
                .overhead_ns = 200,
                .gap_ns = 5,
                .gap_ns_per_byte = 0.04,
                .overhead_ns_per_byte = 0,
                .rendezvous_bytes = 1e12},
  };
  return links;
}

core::Result<UnitModel> UnitModel::make(Unit unit) {
  UnitModel made;
  const Occurrence typical = median_occurrence(unit);
  for (std::size_t gpu = 0; gpu < unit.job.gpus.size(); ++gpu) {
    const std::int64_t offset_ns = typical.start_offset_ns[gpu];
    for (model::Operation& operation : unit.job.gpus[gpu].operations)
      operation.start_ns = operation.end_ns = offset_ns;
    if (!unit.job.gpus[gpu].operations.empty()) {
      made.last_offset_ns_ = std::max(made.last_offset_ns_, offset_ns);
    }
  }
  made.measured_median_ns_ = static_cast<double>(typical.measured_ns);
  made.unit_ = std::make_unique<const Unit>(std::move(unit));
  made.resolved_ = ASSAY_TRY(resolve(made.unit_->job, Misfits::kLeaveOut));
  made.tags_ = ASSAY_TRY(plan_tags(made.resolved_, {.layout = "none", .threads = 1}));
  made.node_of_rank_ = core::numbered(made.unit_->job.gpus, &model::JobGpu::node);
  return made;
}

core::Result<std::int64_t> UnitModel::simulated_ns(const Costs& costs,
                                                   const Links& links,
                                                   const Simulate& simulate) const {
  const Expander expander(resolved_, tags_, costs, {}, {});
  std::vector<model::RankImage> ranks;
  model::RankBuilder builder;
  model::Warnings warnings;
  for (std::uint32_t gpu = 0; gpu < resolved_.gpus.size(); ++gpu) {
    expander.expand(gpu, builder, warnings);
    ranks.push_back(builder.finish());
  }
  const auto schedule =
      ASSAY_TRY(model::Schedule::from_bytes(model::binary_schedule(ranks), unit_->function));
  return ASSAY_TRY(simulate(schedule, node_of_rank_, links)) - last_offset_ns_;
}

core::Result<std::vector<UnitModel>> unit_models(std::vector<Unit> units) {
  std::vector<UnitModel> models;
  for (Unit& unit : units) {
    // A unit without a time cannot be compared.
    if (median_occurrence(unit).measured_ns > 0) {
      models.push_back(ASSAY_TRY(UnitModel::make(std::move(unit))));
    }
  }
  if (!models.empty()) return models;
  return core::Error{"no operation of the recording has a measured time"};
}

core::Result<std::vector<UnitModel>> measured_units(
    const std::vector<std::filesystem::path>& recordings,
    const InputOptions& options,
    std::size_t skip,
    std::vector<model::Warnings>& warnings) {
  std::vector<Unit> units;
  for (const std::filesystem::path& recording : recordings) {
    const model::Job job = ASSAY_TRY(read_job(recording, options));
    const Resolved resolved = ASSAY_TRY(resolve(job, Misfits::kLeaveOut));
    warnings.push_back(job.warnings);
    warnings.push_back(resolved.warnings);
    for (Unit& unit : find_units(resolved)) {
      const std::size_t first = std::min(skip, unit.occurrences.size() - 1);
      unit.occurrences.erase(unit.occurrences.begin(),
                             unit.occurrences.begin() + static_cast<std::ptrdiff_t>(first));
      units.push_back(std::move(unit));
    }
  }
  return unit_models(std::move(units));
}

core::Result<model::Book> validate(const std::vector<UnitModel>& units,
                                   const Costs& costs,
                                   const Links& links,
                                   const Simulate& simulate,
                                   unsigned threads) {
  std::vector<std::optional<core::Result<std::int64_t>>> times(units.size());
  core::parallel_for(units.size(), threads, [&](std::size_t i) {
    times[i].emplace(units[i].simulated_ns(costs, links, simulate));
  });
  std::vector<Compared> compared;
  for (std::size_t i = 0; i < units.size(); ++i) {
    compared.push_back({&units[i], static_cast<double>(ASSAY_TRY(std::move(*times[i])))});
  }
  std::sort(compared.begin(), compared.end(), [](const Compared& a, const Compared& b) {
    const auto key = [](const Compared& row) {
      const Unit& unit = row.model->unit();
      return std::tie(unit.function, unit.algorithm, unit.protocol, unit.num_gpus, unit.bytes);
    };
    return key(a) < key(b);
  });
  model::Book book{.title = "Measured and simulated operations"};
  book.tables.push_back(errors_table(compared));
  book.tables.push_back(operations_table(compared));
  Table measured = measured_table(compared);
  if (measured.row_count() > 0) book.tables.push_back(std::move(measured));
  return book;
}

double median_error_percent(const model::Book& book) {
  const Table* table = book.find("operations");
  if (table == nullptr) return std::nan("");
  std::vector<double> errors;
  const std::size_t column = table->columns.size() - 1;
  for (std::size_t row = 0; row < table->row_count(); ++row) {
    errors.push_back(std::fabs(model::number(table->at(row, column))));
  }
  return core::median(errors);
}

}  // namespace assay::goal
