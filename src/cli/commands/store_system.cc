#include <fmt/core.h>

#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/store_options.h"
#include "core/output_file.h"
#include "core/text.h"
#include "store/systems/shipped.h"
#include "store/systems/system_file.h"

namespace assay::cli {
namespace {

class StoreSystem final : public Command {
 public:
  explicit StoreSystem(App& app) {
    add_store_option(app, store_);
    app.add_option("--name", request_.name, "the name of the system: h200_sxm")
        ->type_name("NAME")
        ->required()
        ->check(name_problem);
    app.add_option("-o,--output", output_, "the file to write; '-' for standard output")
        ->type_name("FILE")
        ->default_str("-");
    app.add_option(
           "--cite", request_.cited,
           "a file of the same shape, whole or in part, with what neither rows nor NVIDIA's "
           "data sheet tell")
        ->type_name("FILE");
    app.add_option("--device-name", request_.device, "the GPU to describe: \"NVIDIA H200\"")
        ->type_name("NAME")
        ->default_str("the only one that the store has");
    app.add_option("--framework", request_.framework, "only rows of this one")
        ->type_name("NAME")
        ->default_str("assay");
    app.add_flag("-q,--quiet", quiet_, "do not say which fields are left out");
  }

  core::Result<Outcome> run() override {
    ASSAY_TRY(refuse_to_replace(std::vector{store_, request_.cited}, output_));
    const store::Store store = ASSAY_TRY(store::open_to_read(store_));
    const store::SystemData data = ASSAY_TRY(store::read_system(store, request_));
    const std::vector<store::SystemField> fields = store::system_fields(data);
    ASSAY_TRY(write(store::system_text(request_, data, fields)));
    if (!quiet_) say_what_is_missing(fields);
    return Outcome::kOk;
  }

 private:
  static std::string name_problem(const std::string& name) {
    constexpr const char* kAllowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    const bool plain = !name.empty() && name.find_first_not_of(kAllowed) == std::string::npos;
    return plain ? "" : fmt::format("'{}' is no name of letters, digits, '_' and '-'", name);
  }

  [[nodiscard]] core::Status write(const std::string& text) const {
    if (output_ != "-") return core::write_file(output_, text);
    print(text);
    return {};
  }

  static void say_what_is_missing(const std::vector<store::SystemField>& fields) {
    for (const store::SystemField& field : fields) {
      if (!field.value.empty()) continue;
      print_note(fmt::format("left out: {}.{}: {}", field.section, field.name, field.source));
    }
  }

  std::filesystem::path store_;
  store::SystemRequest request_;
  std::filesystem::path output_ = "-";
  bool quiet_ = false;
};

const CommandSpec kStoreSystem{
    .name = "store system",
    .summary = "describe a system as measured: systems/NAME.yaml",
    .description =
        "Writes the file that programs read beside the tables, and that --system of other commands "
        "takes. Each field says in a comment where it comes from: 'measured', with the row and "
        "how many there were, or 'cited', with the document; or 'assumed', with "
        "what would measure it; or it is left out with the reason.\n\n"
        "The limits (mem_bw, the tensor cores' operations per second, intra_node_bw, pcie_bw) are "
        "those of NVIDIA's data sheet where there is one, so that a roofline is one; for a GPU "
        "without one they are the best that was reached. What was reached stands in the section "
        "'measured'. mem_bw_empirical_scaling_factor is the best bandwidth of copy and read over "
        "mem_bw, of rows that move at least 1 GiB; mem_empirical_constant_latency and p2p_latency "
        "are where a line through the times of small sizes meets no bytes.\n\n"
        "Measure first, as the first example does. What NCCL's communicators take on a GPU is no "
        "row of a table: the second example writes it as a file for --cite.",
    .examples =
        "assay collect copy read launch host_to_device device_to_host gemm nccl -o DIR\n"
        "assay-worker collect --nccl-memory --gpus 0,1,2,3,4,5,6,7 > nccl_mem.yaml\n"
        "assay store system DIR/perf.db --name h200_sxm --cite nccl_mem.yaml \\\n"
        "    -o systems/h200_sxm.yaml\n"
        "assay store check --store DIR/perf.db --system systems/h200_sxm.yaml\n",
    .make = make_command<StoreSystem>,
};
ASSAY_REGISTER(CommandSpec, kStoreSystem);

}  // namespace
}  // namespace assay::cli
