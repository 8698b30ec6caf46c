#include "sweep/loaded_libraries.h"

#include <gtest/gtest.h>

namespace assay::sweep {
namespace {

constexpr const char* kMaps =
    "55d0c8a00000-55d0c8a01000 r--p 00000000 08:01 131 /usr/bin/python3.12\n"
    "7f10a0000000-7f10a0100000 rw-p 00000000 00:00 0 \n"
    "7f10b0000000-7f10b0200000 r--p 00000000 08:01 42 /opt/my libs/libnccl.so.2.28.3\n"
    "7f10b0200000-7f10b0400000 r-xp 00200000 08:01 42 /opt/my libs/libnccl.so.2.28.3\n"
    "7f10b0400000-7f10b0500000 rw-p 00000000 00:00 0 \n"
    "7f10b0500000-7f10b0600000 rw-p 00400000 08:01 42 /opt/my libs/libnccl.so.2.28.3\n"
    "7f10c0000000-7f10c0100000 r-xp 00000000 08:01 43 /opt/librccl.so.1 (deleted)\n"
    "7f10d0000000-7f10d0100000 r-xp 00000000 08:01 44 /opt/libnccl-net-ofi.so\n"
    "7f10d0100000-7f10d0200000 r-xp 00000000 08:01 45 /opt/libtuner_of_mine.so\n"
    "7f10e0000000-7f10e0100000 r-xp 00000000 08:01 46 /torch/lib/libtorch_cuda.so\n"
    "7ffd00000000-7ffd00100000 rw-p 00000000 00:00 0 [stack]";

TEST(MemoryMaps, FindWhatCommunicates) {
  const CommunicationLibraries found =
      communication_libraries(kMaps, {.libraries = {}, .plugins = {"libtuner_of_mine.so"}});
  ASSERT_EQ(found.libraries.size(), 2U);
  EXPECT_EQ(found.libraries[0].path, "/opt/librccl.so.1");
  EXPECT_TRUE(found.libraries[0].deleted);
  EXPECT_EQ(found.libraries[1].path, "/opt/my libs/libnccl.so.2.28.3");
  EXPECT_EQ(found.libraries[1].range, "7f10b0000000-7f10b0200000");
  EXPECT_FALSE(found.libraries[1].deleted);
  ASSERT_EQ(found.plugins.size(), 2U);
  EXPECT_EQ(found.plugins[0], "/opt/libnccl-net-ofi.so");
  EXPECT_TRUE(found.torch_for_gpus);
}

TEST(MemoryMaps, AnExpectedNameCounts) {
  const std::string maps = "7f10b0000000-7f10b0200000 r--p 00000000 08:01 42 /opt/mynccl.so\n";
  EXPECT_TRUE(communication_libraries(maps, {}).libraries.empty());
  EXPECT_EQ(
      communication_libraries(maps, {.libraries = {"mynccl.so"}, .plugins = {}}).libraries.size(),
      1U);
  EXPECT_TRUE(communication_libraries("", {}).libraries.empty());
}

}  // namespace
}  // namespace assay::sweep
