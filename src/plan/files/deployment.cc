#include "plan/files/deployment.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <regex>
#include <utility>

#include "core/check.h"
#include "core/text.h"
#include "plan/files/engine_files.h"
#include "plan/schedule/policy.h"
#include "store/systems/version_order.h"

namespace assay::plan {
namespace {

constexpr std::size_t kLongestLabel = 63;
// Operators append the names of their parts.
constexpr std::size_t kLongestName = 40;

bool is_letter(char c) {
  return c >= 'a' && c <= 'z';
}

bool is_label_end(char c) {
  return is_letter(c) || core::is_digit(c);
}

double to_microseconds(double ms) {
  return std::round(1000 * ms) / 1000;
}

// Colons are between a machine and its port.
bool is_host_name(const std::string& text) {
  const auto is_kept = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
  };
  return !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), is_kept);
}

bool is_control(char c) {
  return std::iscntrl(static_cast<unsigned char>(c)) != 0;
}

// The widths of an instance; experts of a model without any are on every GPU.
nlohmann::ordered_json widths_json(const PlannedDeployment& planned) {
  const Worker& worker = planned.worker;
  nlohmann::ordered_json json = {{"tp", worker.tp},
                                 {"dp", worker.dp},
                                 {"moe_tp", planned.has_experts ? worker.moe_tp : 1},
                                 {"moe_ep", planned.has_experts ? worker.moe_ep : 1}};
  if (worker.pp > 1) json["pp"] = worker.pp;
  return json;
}

nlohmann::ordered_json limits_json(const PlannedDeployment& planned) {
  return {
      {"max_batch", planned.limits.max_batch},    {"max_tokens", planned.limits.max_tokens},
      {"memory_share", planned.memory_share},     {"cache_dtype", serving::name_of(planned.cache)},
      {"cache_tokens", planned.limits.kv_tokens}, {"graph_batches", planned.limits.graph_batches}};
}

nlohmann::ordered_json pool_json(const PlannedDeployment& pool) {
  nlohmann::ordered_json json = {{"instances", pool.copies}};
  json.update(widths_json(pool));
  json["batch"] = pool.concurrency / pool.batches();
  json.update(limits_json(pool));
  return json;
}

nlohmann::ordered_json calibration_json(const PlannedDeployment& planned) {
  const Calibration& calibration = planned.calibration;
  return {{"text", planned.calibration_text},
          {"glue_ms", calibration.glue_ms},
          {"kernel_factor", calibration.kernel_factor},
          {"prompt_factor", calibration.prompt_factor},
          {"ttft_factor", calibration.ttft_factor}};
}

core::Status check_nodes(const PlannedDeployment& planned) {
  const std::int64_t gpus = planned.worker.gpus();
  if (gpus <= planned.gpus_per_node || gpus % planned.gpus_per_node == 0) return {};
  return core::Error{
      fmt::format("a worker of {} GPUs takes neither one node of {} nor several whole ones", gpus,
                  planned.gpus_per_node)};
}

// A version is the end of an image's name, too, so that spellings with other characters, and with a
// "v" that the names of images have already, are none.
bool is_version(const std::string& text) {
  const auto is_kept = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
  };
  return !text.empty() && core::is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(), is_kept) && store::Version::parse(text);
}

core::Status check_version(const PlannedDeployment& planned) {
  const std::string& asked = planned.engine_version;
  if (asked.empty()) return {};
  const EngineFiles& files = files_of(planned.engine);
  if (!is_version(asked)) {
    return core::Error{fmt::format("'{}' is no version of {}, such as {} is one",
                                   core::printable_line(asked), files.name, files.least_version)};
  }
  if (*store::Version::parse(asked) >= *store::Version::parse(files.least_version)) return {};
  return core::Error{fmt::format("the files are for {} from {} on: {} does not have their options",
                                 files.name, files.least_version, asked)};
}

// Each instance of a pool has the next port.
core::Status check_ports(const PlannedDeployment& planned) {
  std::int64_t last = planned.port;
  for (const PlannedDeployment& pool : planned.pools)
    last = std::max(last, pool.port + pool.copies - 1);
  if (last <= kMostPort) return {};
  return core::Error{
      fmt::format("--port {}: the files take ports up to {}, and there are some up "
                  "to {}",
                  planned.port, last, kMostPort)};
}

// All groups that decode share a load evenly.
std::int64_t groups_of(const PlannedDeployment& planned) {
  if (!planned.is_disaggregated()) return planned.worker.dp;
  const PlannedDeployment& decode = planned.pool(Role::kDecode);
  return decode.copies * decode.worker.dp;
}

}  // namespace

std::string_view name_of(Role role) {
  if (role == Role::kPrefill) return "prefill";
  return role == Role::kDecode ? "decode" : "both";
}

const PlannedDeployment& PlannedDeployment::pool(Role wanted) const {
  const auto found = std::find_if(pools.begin(), pools.end(),
                                  [&](const PlannedDeployment& one) { return one.role == wanted; });
  ASSAY_CHECK(found != pools.end(), "no pool of that role");
  return *found;
}

std::int64_t PlannedDeployment::gpus() const {
  if (!is_disaggregated()) return copies * worker.gpus();
  std::int64_t sum = 0;
  for (const PlannedDeployment& one : pools)
    sum += one.gpus();
  return sum;
}

std::int64_t PlannedDeployment::nodes_of_worker() const {
  return (worker.gpus() + gpus_per_node - 1) / gpus_per_node;
}

bool PlannedDeployment::has_spanning_worker() const {
  if (!is_disaggregated()) return spans_nodes();
  return std::any_of(pools.begin(), pools.end(),
                     [](const PlannedDeployment& pool) { return pool.spans_nodes(); });
}

std::string PlannedDeployment::text() const {
  if (!is_disaggregated()) return worker.text();
  const PlannedDeployment& prefill = pool(Role::kPrefill);
  const PlannedDeployment& decode = pool(Role::kDecode);
  return fmt::format("{}P({}) + {}D({})", prefill.copies, prefill.worker.text(), decode.copies,
                     decode.worker.text());
}

void split(PlannedDeployment& planned,
           std::int64_t prefill_instances,
           const Worker& prefill,
           std::int64_t decode_instances,
           const Worker& decode) {
  constexpr std::int64_t kPortsOfAPool = 100;
  PlannedDeployment pool = planned;
  pool.pools.clear();
  std::vector<PlannedDeployment> pools;
  const auto add = [&](Role role, std::int64_t instances, const Worker& worker,
                       const Worker& peer) {
    pool.role = role;
    pool.copies = instances;
    pool.worker = worker;
    pool.peer = peer;
    pool.name = fmt::format("{}-{}", planned.name, name_of(role));
    pool.port += kPortsOfAPool;
    pools.push_back(pool);
  };
  add(Role::kPrefill, prefill_instances, prefill, decode);
  add(Role::kDecode, decode_instances, decode, prefill);
  planned.pools = std::move(pools);
}

std::int64_t PlannedDeployment::most_request_tokens() const {
  constexpr std::int64_t kTemplate = 500;
  const std::int64_t most = prompt_tokens + output_tokens + kTemplate;
  return context == 0 ? most : std::min(most, context);
}

namespace {

// Appends sizes beyond those that the engine captures by itself: each an eighth larger than the one
// before, which is the most that a step is then filled up by, and the last one `full`. All are
// multiples of `unit`, as `full` is.
void capture_up_to(std::int64_t full, std::int64_t unit, std::vector<std::int64_t>& graphs) {
  constexpr std::int64_t kLeastStep = 8;
  constexpr std::int64_t kParts = 8;
  while (!graphs.empty() && graphs.back() < full) {
    const std::int64_t step =
        std::max(kLeastStep, graphs.back() / kParts / kLeastStep * kLeastStep);
    graphs.push_back(std::min(full, graphs.back() + (step + unit - 1) / unit * unit));
  }
}

}  // namespace

// Engines that capture decoding alone count requests. vLLM's graphs also hold small mixed steps and
// count tokens; its own default ends at twice the requests. SGLang drops graphs of more requests
// than may run at once, and does not start where that leaves none, so that as many may run as the
// graph of the batch holds.
Limits deployed_limits(Limits priced, Engine engine, std::int64_t batch) {
  const bool holds_mixed = policy_of(engine).graphs == Policy::Graphs::kAllSmall;
  const std::int64_t multiple = priced.graph_multiple;
  const std::int64_t requests = (batch + multiple - 1) / multiple * multiple;
  const std::int64_t tokens = requests * priced.speculation.verified();
  const std::int64_t most = std::min(holds_mixed ? 2 * tokens : requests, priced.max_tokens);
  std::vector<std::int64_t>& graphs = priced.graph_batches;
  const std::int64_t full = holds_mixed ? tokens : requests;
  capture_up_to(full, holds_mixed ? priced.speculation.verified() : multiple, graphs);
  if (!graphs.empty()) graphs.push_back(full);
  std::sort(graphs.begin(), graphs.end());
  graphs.erase(std::unique(graphs.begin(), graphs.end()), graphs.end());
  graphs.erase(std::upper_bound(graphs.begin(), graphs.end(), most), graphs.end());
  priced.max_batch = requests;
  return priced;
}

std::string deployable_version(Engine engine, const std::string& of_tables) {
  static const std::regex release(R"(\d+(\.\d+)+(\.post\d+)?)");
  static const std::regex candidate(R"(\d+(\.\d+)+(rc\d+)?(\.post\d+)?)");
  const EngineFiles& files = files_of(engine);
  if (!std::regex_match(of_tables, files.has_candidate_images ? candidate : release)) return "";
  return is_from(of_tables, files.least_version) ? of_tables : "";
}

core::Status check_planned(const PlannedDeployment& planned) {
  ASSAY_TRY(check_version(planned));
  ASSAY_TRY(check_ports(planned));
  for (const std::string& host : planned.hosts) {
    if (!is_host_name(host))
      return core::Error{fmt::format("'{}' is no name or address of a machine", host)};
  }
  for (const std::string& text : {planned.model, planned.model_path, planned.image}) {
    if (std::any_of(text.begin(), text.end(), is_control))
      return core::Error{fmt::format("'{}' has a control character", core::printable_line(text))};
  }
  // Services need a letter first.
  if (!is_dns_label(planned.name) || !is_letter(planned.name.front()))
    return core::Error{fmt::format(
        "'{}' is no name for Kubernetes: small letters, digits and dashes, a letter first, at most "
        "{}",
        planned.name, kLongestLabel)};
  if (!planned.kube_space.empty() && !is_dns_label(planned.kube_space))
    return core::Error{
        fmt::format("'{}' is no namespace: small letters, digits and dashes, at most {}",
                    planned.kube_space, kLongestLabel)};
  if (planned.is_disaggregated()) {
    // A pool's name, and what Kubernetes appends to it for a pod and its revision.
    if (planned.name.size() > kLongestName)
      return core::Error{fmt::format("'{}' is too long: pools are named after it, at most {}",
                                     planned.name, kLongestName)};
    for (const PlannedDeployment& pool : planned.pools)
      ASSAY_TRY(check_nodes(pool));
    return {};
  }
  return check_nodes(planned);
}

std::string kube_name(const std::string& model, Engine engine) {
  std::string name;
  for (const char c : model.substr(model.rfind('/') + 1)) {
    const char small = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (name.empty() && core::is_digit(small)) name = "model-";
    if (is_label_end(small)) {
      name += small;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  const std::string end = fmt::format("-{}", name_of(engine));
  name = name.substr(0, kLongestName - end.size());
  while (!name.empty() && name.back() == '-')
    name.pop_back();
  return (name.empty() ? "model" : name) + end;
}

bool is_dns_label(const std::string& text) {
  if (text.empty() || text.size() > kLongestLabel) return false;
  if (!is_label_end(text.front()) || !is_label_end(text.back())) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return is_label_end(c) || c == '-'; });
}

std::string gpu_product_of(const std::string& system) {
  constexpr std::array<std::pair<const char*, const char*>, 8> kProducts = {{
      {"a100_sxm", "NVIDIA-A100-SXM4-80GB"},
      {"b200_sxm", "NVIDIA-B200"},
      {"b300_sxm", "NVIDIA-B300"},
      {"gb200", "NVIDIA-GB200"},
      {"gb300", "NVIDIA-GB300"},
      {"h100_sxm", "NVIDIA-H100-80GB-HBM3"},
      {"h200_sxm", "NVIDIA-H200"},
      {"l40s", "NVIDIA-L40S"},
  }};
  for (const auto& [name, product] : kProducts) {
    if (system == name) return product;
  }
  return "";
}

std::string planned_json(const PlannedDeployment& planned) {
  nlohmann::ordered_json whole = {{"engine", name_of(planned.engine)},
                                  {"engine_version", planned.engine_version},
                                  {"model", planned.model},
                                  {"config", planned.config},
                                  {"system", planned.system}};
  if (planned.is_disaggregated()) {
    for (const PlannedDeployment& pool : planned.pools) {
      nlohmann::ordered_json& part = whole[std::string(name_of(pool.role))];
      part = pool_json(pool);
      if (pool.system != planned.system) part["system"] = pool.system;
    }
  } else {
    whole.update(widths_json(planned));
    whole["copies"] = planned.copies;
  }
  whole["concurrency"] = planned.concurrency;
  whole["prompt_tokens"] = planned.prompt_tokens;
  whole["output_tokens"] = planned.output_tokens;
  if (planned.prefix_tokens > 0) whole["prefix_tokens"] = planned.prefix_tokens;
  if (planned.step_tokens > 0) whole["step_tokens"] = planned.step_tokens;
  if (planned.window_ratio > 0) whole["keeps_windows"] = true;
  if (!planned.is_disaggregated()) whole.update(limits_json(planned));
  whole["priced_ttft_ms"] = to_microseconds(planned.ttft_ms);
  whole["priced_tpot_ms"] = to_microseconds(planned.tpot_ms);
  if (planned.speculation.tokens > 0) {
    whole["speculative_tokens"] = planned.speculation.tokens;
    whole["acceptance_rates"] = planned.speculation.accepted;
  }
  if (!planned.calibration_text.empty()) whole["calibration"] = calibration_json(planned);
  if (planned.is_disaggregated()) {
    const PlannedDeployment& decode = planned.pool(Role::kDecode);
    if (decode.calibration_text != planned.calibration_text)
      whole["decode_calibration"] = calibration_json(decode);
  }
  return whole.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::vector<std::int64_t> measured_concurrencies(const PlannedDeployment& planned) {
  const std::int64_t groups = groups_of(planned);
  const std::int64_t of_group = planned.concurrency / groups;
  std::vector<std::int64_t> list = {groups};
  for (const std::int64_t part : {4, 2, 1})
    list.push_back(std::max<std::int64_t>(1, of_group / part) * groups);
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

}  // namespace assay::plan
