#include <fmt/core.h>

#include <filesystem>
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
    add_choice(app, "--dtype", message_.data_type, data_type_choices(), "data type of an element");
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    const allreduce::StrategySource source = ASSAY_TRY(open_strategies({.data_folder = table_}));
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
        "whether it was measured with this number of GPUs and this data type, and 'link limit' "
        "what the links need at least; where the table "
        "has nothing for a fusion, the answer is its fallback. Of a folder of benchmark files, "
        "'time' "
        "is the strategy's time as 'assay allreduce explain' tells it.",
    .examples =
        "assay allreduce lookup --table table.json 8 7168 128\n"
        "assay allreduce lookup --table table.json 4 4096 1 --fusion RESIDUAL_RMS_NORM "
        "--format json\n",
    .make = make_command<AllreduceLookup>,
};
ASSAY_REGISTER(CommandSpec, kAllreduceLookup);

}  // namespace
}  // namespace assay::cli
