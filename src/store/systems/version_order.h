// The order of programs' versions, as Python's packages are ordered (PEP 440, "Version
// Identification and Dependency Specification"): 0.5.6.post2 < 0.5.9 < 0.5.10, and 1.2.0rc5
// < 1.3.0rc10 < 1.3.0.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace assay::store {

class Version {
 public:
  // std::nullopt: PEP 440 gives the text no place ("gpt-oss-dev", "", "1.0 beta of May"), or a
  // number of it has more than 18 digits. Other spellings of PEP 440 are known: "v1.0-RC_1" is
  // 1.0rc1, and 1.0 is 1.0.0.
  static std::optional<Version> parse(std::string_view text);

  std::strong_ordering operator<=>(const Version& other) const;
  bool operator==(const Version& other) const;

 private:
  // A development version of no pre-release comes before all pre-releases.
  enum class Phase : std::uint8_t { kDevelopment, kAlpha, kBeta, kCandidate, kFinal };

  // A part of a local version ("+cu130.1"): numbers come after texts.
  struct LocalPart {
    bool is_number = false;
    std::uint64_t number = 0;
    std::string text;

    auto operator<=>(const LocalPart&) const = default;
  };

  class Reader;

  [[nodiscard]] auto key() const {
    return std::tie(epoch_, release_, phase_, phase_number_, post_, development_, local_);
  }

  std::uint64_t epoch_ = 0;
  std::vector<std::uint64_t> release_ = {};  // without zeros at its end
  Phase phase_ = Phase::kFinal;
  std::uint64_t phase_number_ = 0;
  std::uint64_t post_ = 0;  // 0: none, or the number and one more
  std::uint64_t development_ = kNoDevelopmentVersion;
  std::vector<LocalPart> local_ = {};

  static constexpr std::uint64_t kNoDevelopmentVersion = ~std::uint64_t{0};
};

}  // namespace assay::store
