// Python's regular expressions, for patterns that strangers wrote: PCRE2 reads the same syntax, and
// gives up where a match would take too long.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"

struct pcre2_real_code_8;
struct pcre2_real_match_context_8;
struct pcre2_real_match_data_8;

namespace assay::serving {

class Regex {
 public:
  // Error: why and where the pattern does not read.
  static core::Result<Regex> of(const std::string& pattern);

  // Returns whether it matches from the start of the text on, as Python's re.match() asks.
  // Error: that takes more than a million steps.
  [[nodiscard]] core::Result<bool> matches(std::string_view text) const;

 private:
  std::string pattern_;
  std::shared_ptr<pcre2_real_code_8> code_;
  std::shared_ptr<pcre2_real_match_data_8> found_;
  std::shared_ptr<pcre2_real_match_context_8> limits_;
};

}  // namespace assay::serving
