#include "trace/reader/document.h"

#include <nlohmann/json.hpp>

#include "model/trace.h"

namespace assay::trace {
namespace {

using Json = nlohmann::json;

std::optional<int> integer_member(const Json& object, const char* name) {
  if (!object.is_object()) return std::nullopt;
  const auto member = object.find(name);
  if (member == object.end() || !member->is_number_integer()) return std::nullopt;
  const auto value = member->get<std::int64_t>();
  if (value < 0 || value > model::kHighestRank) return std::nullopt;
  return static_cast<int>(value);
}

void read_devices(const Json& devices, DocumentFacts& facts) {
  if (!devices.is_array() || devices.empty()) return;
  facts.device_count = static_cast<int>(devices.size());
  if (!devices[0].is_object()) return;
  const auto name = devices[0].find("name");
  if (name != devices[0].end() && name->is_string()) facts.gpu_name = name->get<std::string>();
}

}  // namespace

DocumentFacts read_document(const std::string& text) {
  DocumentFacts facts;
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  facts.valid = !document.is_discarded();
  if (!document.is_object()) return facts;
  if (const auto info = document.find("distributedInfo"); info != document.end()) {
    facts.rank = integer_member(*info, "rank");
    facts.rank_is_damaged = !facts.rank && info->is_object() && info->contains("rank");
    facts.world_size = integer_member(*info, "world_size");
  }
  if (const auto devices = document.find("deviceProperties"); devices != document.end()) {
    read_devices(*devices, facts);
  }
  return facts;
}

}  // namespace assay::trace
