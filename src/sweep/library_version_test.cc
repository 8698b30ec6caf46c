#include "sweep/library_version.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace assay::sweep {
namespace {

std::string found(std::string_view name, const std::vector<std::string>& texts) {
  std::string data(1, '\0');
  for (const std::string& text : texts)
    data += text + '\0';
  VersionSearch search(name);
  search.add(data);
  return search.version();
}

TEST(LibraryVersion, OfNccl) {
  EXPECT_EQ(found("libnccl.so.2", {"Mismatched NCCL version detected : rank %d version %d",
                                   "NCCL version 2.28.9 compiled with CUDA 13.0\n",
                                   "NCCL version 2.28.9+cuda13.0", "NCCL version mismatch"}),
            "2.28.9+cuda13.0");
  EXPECT_EQ(found("libnccl.so.2", {"NCCL version %d.%d.%d"}), "");
}

TEST(LibraryVersion, OfRccl) {
  EXPECT_EQ(found("librccl.so.1", {"RCCL version 2.11.4+hip5.0"}), "2.11.4+hip5.0");
  EXPECT_EQ(found("librccl.so.1", {"RCCL version : 2.22.3-HEAD:abc1234"}), "2.22.3-HEAD:abc1234");
  EXPECT_EQ(found("librccl.so.1",
                  {"RCCL version : 2.26.6", "%s:%d", "time: 1234567", "warp_speed_v1:c3b8de4+"}),
            "2.26.6-warp_speed_v1:c3b8de4+");
  // RCCL still holds texts from NCCL.
  EXPECT_EQ(found("librccl.so.1", {"NCCL version 2.22.3+cuda12.0"}), "");
}

TEST(LibraryVersion, WholeFromOverlappingPieces) {
  std::string data(700, 'x');
  data.push_back('\0');
  data.append("NCCL version 2.28.9+cuda13.0");
  data.push_back('\0');
  for (std::size_t cut = 690; cut < data.size(); ++cut) {
    VersionSearch search("libnccl.so");
    search.add(std::string_view(data).substr(0, cut));
    search.add(std::string_view(data).substr(cut - VersionSearch::kOverlap));
    EXPECT_EQ(search.version(), "2.28.9+cuda13.0") << cut;
  }
}

TEST(LibraryVersion, OfFileNames) {
  EXPECT_EQ(version_in_name("librccl.so.1.0.60403"), "1.0.60403");
  EXPECT_EQ(version_in_name("libnccl.so.2.28.3"), "2.28.3");
  EXPECT_EQ(version_in_name("libnccl.so.2"), "");
  EXPECT_EQ(version_in_name("libnccl.so"), "");
  EXPECT_EQ(version_in_name("libnccl.so.2.x"), "");
}

}  // namespace
}  // namespace assay::sweep
