#include <fmt/core.h>

#include <filesystem>
#include <optional>
#include <string>

#include "allreduce/lookup.h"
#include "cli/allreduce_commands.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/summary_output.h"

namespace assay::cli {
namespace {

class AllreduceLookup final : public Command {
 public:
  explicit AllreduceLookup(App& app) {
    add_message_sizes(app, message_);
    app.add_option(
           "-t,--table", table_,
           "the table, JSON as 'assay allreduce codegen' writes it; or a folder of benchmark "
           "files, whose table is made and whose times are told as well")
        ->type_name("FILE")
        ->required();
    add_choice(app, "--fusion", message_.fusion, fusion_choices(),
               "the operation that is fused behind the all-reduce");
    add_choice(app, "--launch", launch_, launch_choices(),
               "how the calls of the table were launched when they were measured; of a folder, the "
               "times to make the table of")
        ->default_str("that of the table; graph of a folder");
    app.add_option("--sm_version,--sm-version", sm_version_,
                   "of a folder, the files of this SM version: 90 for compute capability 9.0")
        ->type_name("N")
        ->default_str("the one that the folder has");
    add_choice(app, "--dtype", message_.data_type, data_type_choices(), "data type of an element");
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    TuningArguments arguments{.data_folder = table_, .sm_version = sm_version_};
    arguments.tuning.launch = launch_.value_or(arguments.tuning.launch);
    const allreduce::StrategySource source = ASSAY_TRY(open_strategies(arguments));
    if (launch_ && source.table().launch != *launch_) {
      return core::Error{fmt::format("'{}' is a table of {} launches, not of {}", table_.string(),
                                     name_of(source.table().launch), name_of(*launch_))};
    }
    if (sm_version_ && source.table().sm_version != *sm_version_) {
      return core::Error{fmt::format("'{}' is a table of SM {}, not of SM {}", table_.string(),
                                     source.table().sm_version, *sm_version_)};
    }
    const allreduce::TableMatch match =
        source.table().find(message_.world_size, message_.fusion, message_.data_type,
                            message_.hidden_size, message_.num_tokens);
    if (match.segment == nullptr) {
      print_warning(fmt::format("'{}' has nothing for {}; this is its fallback", table_.string(),
                                name_of(message_.fusion)));
    }
    model::Book book{.title = "Strategy of a message",
                     .tables = {ASSAY_TRY(source.lookup({message_}))}};
    model::make_rows(book);
    if (match.is_extrapolated) {
      book.tables.front().notes.push_back(
          fmt::format("TP {} was not measured: the choice is extrapolated.", message_.world_size));
    }
    if (presentation_.shows_summary()) print_summary(book, presentation_.summary());
    return Outcome::kOk;
  }

 private:
  allreduce::Cell message_;
  std::filesystem::path table_;
  std::optional<allreduce::Launch> launch_;
  std::optional<int> sm_version_;
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
        "x HIDDEN x bytes of an element) fall into. All hidden sizes and tokens have an answer: "
        "'origin' says whether it was measured with this number of GPUs, this data type and "
        "messages up to this size, and 'link limit' what the links need at least; where the table "
        "has nothing for a fusion, the answer is its fallback. Of a folder of benchmark files, "
        "'time' is the strategy's time as 'assay allreduce explain' tells it.",
    .examples =
        "assay allreduce lookup --table table.json 8 7168 128\n"
        "assay allreduce lookup --table table.json 4 4096 1 --fusion RESIDUAL_RMS_NORM "
        "--format json\n"
        "assay allreduce lookup --table data 4 4096 1 --launch eager\n",
    .make = make_command<AllreduceLookup>,
};
ASSAY_REGISTER(CommandSpec, kAllreduceLookup);

}  // namespace
}  // namespace assay::cli
