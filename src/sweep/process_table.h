// What /proc tells about single processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace assay::sweep {

std::filesystem::path process_folder(const std::filesystem::path& root, std::int64_t process);

// "" for a process that is gone.
std::string process_name(const std::filesystem::path& root, std::int64_t process);

// Whether there is a process with this number among those that we can see.
bool process_exists(const std::filesystem::path& root, std::int64_t process);

// Whether `accept` holds for the process or one of those that it descends from.
bool descends(const std::filesystem::path& root,
              std::int64_t process,
              const std::function<bool(std::int64_t)>& accept);

// False in a container with process numbers of its own: those of a GPU driver may then be the
// host's.
bool in_first_process_namespace(const std::filesystem::path& root);

}  // namespace assay::sweep
