#include "plan/files/yaml.h"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

namespace assay::plan {
namespace {

TEST(Yaml, ReadsBackAsItWas) {
  const std::vector<std::string> texts = {"plain", "",     "yes",   "null", "3",    "1e5", "a: b",
                                          "# no",  "it's", "\"q\"", "- a",  "Null", "~",   "{x}",
                                          "ü",     "a b",  "0x10",  "on",   "*a",   "@a"};
  const YAML::Node node = YAML::Load(yaml_text({{"list", texts}, {"map", {{"no", 1}}}}));
  EXPECT_EQ(node["list"].as<std::vector<std::string>>(), texts);
  for (const YAML::Node& one : node["list"])
    EXPECT_FALSE(one.IsNull());
  EXPECT_EQ(node["map"]["no"].as<int>(), 1);
}

TEST(Yaml, LinesStayLines) {
  const YAML::Node node = YAML::Load(yaml_text({{"text", "a:\n  b: 1\n\nc: 2\n"}, {"next", 1}}));
  EXPECT_EQ(node["text"].as<std::string>(), "a:\n  b: 1\n\nc: 2\n");
  EXPECT_EQ(node["next"].as<int>(), 1);
}

}  // namespace
}  // namespace assay::plan
