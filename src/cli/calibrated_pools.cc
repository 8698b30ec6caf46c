#include "cli/calibrated_pools.h"

#include "cli/measured_inputs.h"
#include "plan/calibrate/calibration_report.h"

namespace assay::cli {
namespace {

core::Result<plan::UsedCalibration> calibrate_system(const std::filesystem::path& file,
                                                     const ServedModel& served,
                                                     const std::string& model,
                                                     plan::PoolSystem& system) {
  plan::UsedCalibration used = ASSAY_TRY(read_calibration(file, served, model));
  system.calibration = used.calibration();
  system.calibration_errors = used.errors();
  return used;
}

}  // namespace

void CalibratedPools::add_calibrations(model::Book& book) const {
  plan::add_calibration(calibration, book);
  if (!is_one_system) plan::add_calibration(decode_calibration, book);
}

core::Result<CalibratedPools> calibrated_pools(PlanInputs& inputs,
                                               const ServedModel& served,
                                               const std::string& decode_system,
                                               const std::filesystem::path& calibration,
                                               const std::string& model) {
  ServedModel decode = served;
  if (!decode_system.empty()) decode.system = decode_system;
  CalibratedPools pools{
      .system = ASSAY_TRY(pool_system(inputs, served.system, served.engine, served.version)),
      .decode_system = ASSAY_TRY(pool_system(inputs, decode.system, decode.engine, decode.version)),
      .is_one_system = decode.system == served.system};
  // Instances of one version alone send each other caches.
  pools.decode_system.version = pools.system.version;
  pools.calibration = ASSAY_TRY(calibrate_system(calibration, served, model, pools.system));
  pools.decode_calibration =
      ASSAY_TRY(calibrate_system(calibration, decode, model, pools.decode_system));
  return pools;
}

}  // namespace assay::cli
