// Information from /proc about single processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace assay::sweep {

std::filesystem::path process_folder(const std::filesystem::path& root, std::int64_t process);

// Returns "" for a process that has ended.
std::string process_name(const std::filesystem::path& root, std::int64_t process);

// Returns whether a process with this number exists in our process namespace.
bool process_exists(const std::filesystem::path& root, std::int64_t process);

// Returns whether `accept` holds for the process or one of its ancestors.
bool descends(const std::filesystem::path& root,
              std::int64_t process,
              const std::function<bool(std::int64_t)>& accept);

// Returns false in a container that has its own process numbers; those that a GPU driver reports
// may then be the host's.
bool in_first_process_namespace(const std::filesystem::path& root);

}  // namespace assay::sweep
