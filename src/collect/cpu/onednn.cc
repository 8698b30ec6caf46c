#include "collect/cpu/onednn.h"

#include <new>
#include <string>
#include <utility>

namespace assay::collect::onednn {

const dnnl::engine& engine() {
  static const dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}

dnnl::stream& stream() {
  static dnnl::stream instance(engine());
  return instance;
}

std::optional<dnnl::memory::data_type> type_of(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return dnnl::memory::data_type::f32;
    case DataType::kBfloat16:
      return dnnl::memory::data_type::bf16;
    case DataType::kInt8:
      return dnnl::memory::data_type::s8;
    default:
      return std::nullopt;
  }
}

dnnl::memory wrap(HostTensor& tensor, const dnnl::memory::desc& shape) {
  return dnnl::memory(shape, engine(), tensor.data());
}

core::Result<MadeWork> made(const std::function<std::unique_ptr<Work>()>& make) {
  try {
    return MadeWork(make());
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) {
      return MadeWork(Unsupported{"oneDNN has no such kernel for this processor"});
    }
    return core::Error{std::string("oneDNN: ") + error.what()};
  } catch (const std::bad_alloc&) {
    return core::Error{"out of memory"};
  }
}

core::Status launched(const std::function<void()>& launch) {
  try {
    launch();
    return {};
  } catch (const dnnl::error& error) {
    return core::Error{std::string("oneDNN: ") + error.what()};
  } catch (const std::bad_alloc&) {
    return core::Error{"out of memory"};
  }
}

}  // namespace assay::collect::onednn
