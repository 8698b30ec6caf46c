#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <utility>

#include "allreduce/strategy_table.h"
#include "cli/allreduce_commands.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/summary_output.h"
#include "core/files.h"

namespace assay::cli {
namespace {

using allreduce::TableMatch;

model::Table match_table() {
  return {.name = "lookup",
          .title = "Strategy of a message",
          .columns = {{.name = "strategy"},
                      {.name = "message", .unit = "bytes"},
                      {.name = "table_tp", .description = "GPUs of the nearest slice"},
                      {.name = "table_dtype"},
                      {.name = "table_hidden", .description = "hidden size of the nearest row"},
                      {.name = "from", .unit = "bytes", .description = "where the segment begins"},
                      {.name = "to",
                       .unit = "bytes",
                       .description = "where the next one begins; empty: there is none"},
                      {.name = "origin", .description = "measured, or how else it is known"},
                      {.name = "link limit",
                       .unit = "us",
                       .description = "the least that NVLink 4 needs for what a GPU sends"}}};
}

// Returns the size at which the segment ends, or an empty cell for the last segment.
model::Cell end_of(const TableMatch& match) {
  const std::size_t next = static_cast<std::size_t>(match.segment - match.row->segments.data()) + 1;
  if (next == match.row->segments.size()) return {};
  return match.row->segments[next].from_bytes;
}

std::string origin_of(const TableMatch& match) {
  if (match.segment == nullptr) return "fallback";
  if (match.slice->origin == allreduce::Origin::kExtrapolated) {
    return fmt::format("extrapolated from TP {}", match.slice->from_world_size);
  }
  if (match.is_extrapolated) return fmt::format("choice of TP {}", match.slice->world_size);
  return std::string(allreduce::kOriginNames.at(static_cast<std::size_t>(match.row->origin)));
}

void add_match(model::Table& table, const TableMatch& match, int world_size) {
  const std::string strategy(name_of(match.strategy));
  constexpr double kSteps = 1e6;
  const double limit = allreduce::link_limit_us(match.strategy, world_size, match.size_bytes);
  const model::Cell limit_cell = model::cell_of(std::round(limit * kSteps) / kSteps);
  if (match.segment == nullptr) {
    table.add_row({strategy, match.size_bytes, {}, {}, {}, {}, {}, origin_of(match), limit_cell});
    return;
  }
  table.add_row({strategy, match.size_bytes, static_cast<std::int64_t>(match.slice->world_size),
                 std::string(name_of(match.slice->data_type)), match.row->hidden_size,
                 match.segment->from_bytes, end_of(match), origin_of(match), limit_cell});
}

class AllreduceLookup final : public Command {
 public:
  explicit AllreduceLookup(App& app) {
    app.add_option("TP", world_size_, "number of GPUs: the tensor-parallel size")
        ->required()
        ->check(count_problem);
    app.add_option("HIDDEN", hidden_size_, "hidden size: elements of a token")
        ->required()
        ->check(count_problem);
    app.add_option("TOKENS", num_tokens_, "number of tokens")->required()->check(count_problem);
    app.add_option("-t,--table", table_, "the table, JSON as 'assay allreduce codegen' writes it")
        ->type_name("FILE")
        ->required();
    add_choice(app, "--fusion", fusion_, fusion_choices(),
               "the operation that is fused behind the all-reduce");
    add_choice(app, "--dtype", data_type_, data_type_choices(), "data type of an element");
    add_presentation_options(app, presentation_);
  }

  [[nodiscard]] core::Status check() const override {
    if (world_size_ >= 1 && hidden_size_ >= 1 && num_tokens_ >= 1) return {};
    return core::Error{"TP, HIDDEN and TOKENS must be at least 1"};
  }

  core::Result<Outcome> run() override {
    const std::string text = ASSAY_TRY(core::read_file(table_));
    const allreduce::StrategyTable table =
        ASSAY_TRY(allreduce::table_from_json(text, table_.string()));
    const TableMatch match =
        table.find(world_size_, fusion_, data_type_, hidden_size_, num_tokens_);
    if (match.segment == nullptr) {
      print_warning(fmt::format("'{}' has nothing for {}; this is its fallback", table_.string(),
                                name_of(fusion_)));
    }
    model::Book book{.title = "Strategy of a message", .tables = {match_table()}};
    book.tables.front().notes = {fmt::format("SM {}, launched by {}; measured on: {}",
                                             table.sm_version, name_of(table.launch),
                                             table.provenance)};
    if (match.is_extrapolated) {
      book.tables.front().notes.push_back(
          fmt::format("TP {} was not measured: the choice is extrapolated.", world_size_));
    }
    add_match(book.tables.front(), match, world_size_);
    if (presentation_.shows_summary()) print_summary(book, presentation_.summary());
    return Outcome::kOk;
  }

 private:
  int world_size_ = 0;
  std::int64_t hidden_size_ = 0;
  std::int64_t num_tokens_ = 0;
  std::filesystem::path table_;
  allreduce::Fusion fusion_ = allreduce::Fusion::kNone;
  allreduce::DataType data_type_ = allreduce::DataType::kBfloat16;
  Presentation presentation_;
};

const CommandSpec kAllreduceLookup{
    .name = "allreduce lookup",
    .summary = "look up a message's strategy in a table",
    .description =
        "Gives the same answer as the generated header and the C library. The lookup has three "
        "steps: among the table's slices for this fusion it takes the one with the nearest "
        "number of GPUs, by ratio, and of this data type if there is one; in that slice the row "
        "with the nearest hidden size; in that row the segment that the message's bytes (TOKENS "
        "x HIDDEN x bytes of an element) fall into. All numbers have an answer: 'origin' says "
        "whether it was measured with this number of "
        "GPUs, and 'link limit' what the links need at least; where the table "
        "has nothing for a fusion, the answer is its fallback.",
    .examples =
        "assay allreduce lookup --table table.json 8 7168 128\n"
        "assay allreduce lookup --table table.json 4 4096 1 --fusion RESIDUAL_RMS_NORM "
        "--format json\n",
    .make = make_command<AllreduceLookup>,
};
ASSAY_REGISTER(CommandSpec, kAllreduceLookup);

}  // namespace
}  // namespace assay::cli
