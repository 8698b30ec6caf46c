#include <fmt/core.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "cli/byte_size.h"
#include "cli/command.h"
#include "cli/goal_outputs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/version.h"
#include "core/counted.h"
#include "core/files.h"
#include "core/text.h"
#include "goal/generate.h"
#include "goal/synth/collective_job.h"

namespace assay::cli {
namespace {

using model::NcclAlgorithm;
using model::NcclFunction;
using model::NcclProtocol;

class GoalCollective final : public Command {
 public:
  explicit GoalCollective(App& app) {
    const Choices<NcclFunction> functions{{"all_reduce", NcclFunction::kAllReduce},
                                          {"all_gather", NcclFunction::kAllGather},
                                          {"reduce_scatter", NcclFunction::kReduceScatter},
                                          {"broadcast", NcclFunction::kBroadcast},
                                          {"reduce", NcclFunction::kReduce},
                                          {"alltoall", NcclFunction::kAllToAll},
                                          {"gather", NcclFunction::kGather},
                                          {"scatter", NcclFunction::kScatter},
                                          {"send_recv", NcclFunction::kSendRecv}};
    const std::vector<std::string> words = names_of(functions);
    add_choice(app, "FUNCTION", plan_.function, functions,
               fmt::format("what the ranks do, as performance tables name it: {}; a root is rank "
                           "0, and send_recv is a message of all to their next rank",
                           core::join(words, ", ")))
        ->suggest(words)
        ->default_str("")
        ->required();
    app.add_option("--ranks", ranks_, "how many take part; they fill one node after another")
        ->type_name("N")
        ->required()
        ->check(positive_number_problem);
    app.add_option(
           "--bytes", bytes_,
           "the whole buffer, as nccl-tests count: 64K, 16M, 1G, 1T; where ranks have shares of "
           "it, these are equal, rounded up")
        ->type_name("BYTES")
        ->required()
        ->check(bytes_problem);
    app.add_option("--gpus-per-node", gpus_per_node_, "GPUs of a node")
        ->type_name("N")
        ->default_str("8")
        ->check(positive_number_problem);
    const Choices<NcclAlgorithm> algorithms{{"ring", NcclAlgorithm::kRing},
                                            {"tree", NcclAlgorithm::kTree}};
    add_choice(app, "--algorithm", algorithm_, algorithms, "NCCL's algorithm")
        ->default_str("NCCL's choice");
    const Choices<NcclProtocol> protocols{{"ll", NcclProtocol::kLl},
                                          {"ll128", NcclProtocol::kLl128},
                                          {"simple", NcclProtocol::kSimple}};
    add_choice(app, "--protocol", protocol_, protocols, "NCCL's protocol")
        ->default_str("NCCL's choice");
    app.add_option("--channels", channels_, "rings or trees that share the buffer, up to 64")
        ->type_name("N")
        ->default_str("NCCL's choice")
        ->check(positive_number_problem);
    add_schedule_folder(app, request_)->required();
    add_made_form(app, form_, {MadeForm::kJob, MadeForm::kBinary, MadeForm::kText})
        ->default_str("job; bin of what is made of messages");
    add_simulator_options(app, simulator_, "Graph");
    app.note_given(given_);
    app.add_flag("-q,--quiet", quiet_, "no talk");
  }

  [[nodiscard]] core::Status check() const override {
    if (ranks_ > kMost || gpus_per_node_ > kMost || channels_ > model::kMostNcclChannels) {
      return core::Error{fmt::format("there are at most {} ranks, and {} channels", kMost,
                                     std::uint32_t{model::kMostNcclChannels})};
    }
    const bool is_job = !goal::is_of_messages(plan_.function) && form_ == MadeForm::kJob;
    ASSAY_TRY(check_simulator_options(simulator_, given_, !is_job));
    if (!goal::is_of_messages(plan_.function)) return {};
    for (const char* name : {"--algorithm", "--protocol", "--channels"}) {
      if (given_.contains(name)) {
        return core::Error{fmt::format("{} has no {}: it is made of messages, each of which is one",
                                       table_name_of(plan_.function), name)};
      }
    }
    if (given_.contains("--write") && form_ == MadeForm::kJob) {
      return core::Error{
          fmt::format("{} is no job: --write bin or text", table_name_of(plan_.function))};
    }
    return {};
  }

  core::Result<Outcome> run() override {
    plan_.ranks = static_cast<std::uint32_t>(ranks_);
    plan_.gpus_per_node = static_cast<std::uint32_t>(gpus_per_node_);
    plan_.bytes = static_cast<std::uint64_t>(bytes_of(bytes_).value_or(0));
    if (given_.contains("--algorithm")) plan_.algorithm = algorithm_;
    if (given_.contains("--protocol")) plan_.protocol = protocol_;
    apply(simulator_, request_);
    if (given_.contains("--channels")) plan_.channels = static_cast<std::uint32_t>(channels_);
    return goal::is_of_messages(plan_.function) ? write_messages() : write_job();
  }

 private:
  static constexpr std::int64_t kMost = 1 << 24;

  core::Result<Outcome> write_job() {
    const goal::MadeJob made = ASSAY_TRY(goal::make_collective_job(plan_));
    request_.target.format = format_of(form_);
    request_.input = source();
    request_.choices.keep = plan_.fixes_algorithm();
    request_.costs = ASSAY_TRY(slice_costs(""));
    ASSAY_TRY(write_made_job(made, request_, quiet_));
    return Outcome::kOk;
  }

  core::Result<Outcome> write_messages() {
    const goal::SchedulePlan plan =
        ASSAY_TRY(goal::plan_messages(plan_, request_.simulator, request_.options.expand));
    request_.target.generator = program_version();
    request_.target.format =
        form_ == MadeForm::kText ? goal::ScheduleFormat::kText : goal::ScheduleFormat::kBinary;
    ASSAY_TRY(core::make_directories(request_.target.folder));
    const auto written = ASSAY_TRY(goal::write_schedule(plan, request_.target, source()));
    if (quiet_) return Outcome::kOk;
    goal::GenerateResult result = goal::result_of(written, request_.simulator);
    const bool many_to_one =
        plan_.function == NcclFunction::kGather && request_.simulator == goal::Simulator::kAssay;
    if (many_to_one) result.next_command += " --network FILE.yaml";
    tell_written(result, request_.simulator);
    if (many_to_one) {
      print_note(
          "without --network rank 0 receives from all others side by side, each at the rate of a "
          "whole NIC");
    }
    return Outcome::kOk;
  }

  [[nodiscard]] std::string source() const {
    return fmt::format("a made {} of {}", name_of(plan_.function),
                       core::counted(plan_.ranks, "rank"));
  }

  goal::CollectivePlan plan_;
  std::int64_t ranks_ = 0;
  std::string bytes_;
  std::int64_t gpus_per_node_ = 8;
  NcclAlgorithm algorithm_ = NcclAlgorithm::kRing;
  NcclProtocol protocol_ = NcclProtocol::kSimple;
  std::int64_t channels_ = 1;
  MadeForm form_ = MadeForm::kJob;
  SimulatorOptions simulator_;
  std::set<std::string> given_;
  bool quiet_ = false;
  goal::GenerateRequest request_;
};

const CommandSpec kGoalCollective{
    .name = "goal collective",
    .summary = "make the schedule of one collective without a recording",
    .description =
        "Makes one collective of any number of ranks, to try a network with. It is NCCL's, as a "
        "job: 'assay simulate' takes each rank's steps while they run, so that its size costs no "
        "memory. What of algorithm, protocol and channels is not given is NCCL's choice for that "
        "size. alltoall, gather, scatter and send_recv are schedules in which each rank sends its "
        "messages at once, those of 2 GiB and more in parts of 1 GiB.",
    .examples =
        "assay goal collective all_reduce --ranks 16384 --bytes 1G --algorithm ring \\\n"
        "    --protocol ll128 --channels 1 -o ring\n"
        "assay simulate ring/output.job.json --collectives exact\n"
        "assay goal collective alltoall --ranks 4096 --bytes 16M -o exchange\n",
    .make = make_command<GoalCollective>,
};
ASSAY_REGISTER(CommandSpec, kGoalCollective);

}  // namespace
}  // namespace assay::cli
