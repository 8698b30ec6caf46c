// Finds runs that are one measurement: their traces were copied, or one was never replaced by the
// next run's, and it tells nothing of the noise between runs.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "trace/compare/configuration.h"

namespace assay::trace {

// A number for the figures of each rank of one run: the events and times of its steps, to the last
// digit. Those of two measurements never agree, whatever else their files hold.
using Fingerprint = std::map<int, std::size_t>;  // by rank

// Returns the fingerprint of each run.
std::map<int, Fingerprint> fingerprints(std::span<const RankReport> ranks);

// Returns the ranks that have the same figures in both. One such rank is enough to make the two one
// measurement: then its trace is of another run than those of the other ranks.
std::vector<int> equal_ranks(const Fingerprint& a, const Fingerprint& b);

// Removes the runs that are the same measurement as an earlier one, together with their numbers in
// `repeats`, and returns them.
std::vector<RepeatedRun> remove_repeated(std::vector<Configuration>& runs,
                                         std::vector<int>& repeats);

// Returns a sentence without a full stop for the runs of a configuration that count once, "" for
// none.
std::string repeated_in_words(const std::string& label, std::span<const RepeatedRun> repeated);

// Returns the same of a run of each of two configurations that are one measurement. It names the
// ranks of which this holds where others differ.
std::string shared_in_words(const std::string& baseline,
                            const std::map<int, Fingerprint>& baseline_runs,
                            const std::string& test,
                            const std::map<int, Fingerprint>& test_runs);

}  // namespace assay::trace
