# Tests of the collection's workers, for those that this build has.
if(TARGET assay_cpu_worker)
  add_test(NAME collect.cpu_worker COMMAND Python3::Interpreter
                                           ${CMAKE_CURRENT_SOURCE_DIR}/collect/cpu_worker_test.py)
  set(cpu_worker_environment "CPU_WORKER=$<TARGET_FILE:assay_cpu_worker>")
  if(TARGET assay_mpi)
    list(APPEND cpu_worker_environment "MPI_PLUGIN=$<TARGET_FILE:assay_mpi>")
  endif()
  set_tests_properties(collect.cpu_worker PROPERTIES ENVIRONMENT "${cpu_worker_environment}")
endif()
add_test(NAME collect.rerun COMMAND Python3::Interpreter
                                    ${CMAKE_CURRENT_SOURCE_DIR}/collect/rerun_test.py)
set(rerun_environment "ASSAY=$<TARGET_FILE:assay>")
if(TARGET assay_cpu_worker)
  list(APPEND rerun_environment "CPU_WORKER=$<TARGET_FILE:assay_cpu_worker>")
endif()
set_tests_properties(collect.rerun PROPERTIES ENVIRONMENT "${rerun_environment}")
add_test(NAME collect.refine COMMAND Python3::Interpreter
                                     ${CMAKE_CURRENT_SOURCE_DIR}/collect/refine_test.py)
set_tests_properties(collect.refine PROPERTIES ENVIRONMENT "${rerun_environment}")
add_test(NAME collect.module_worker
         COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/collect/module_worker_test.py)
set_tests_properties(collect.module_worker
                     PROPERTIES ENVIRONMENT
                                "ASSAY_MEASURE_LIBRARY=$<TARGET_FILE:assay_measure>;FAKE_NVML=${fake_nvml_folder}")
add_test(NAME collect.real
         COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/collect/real_test.py)
set_tests_properties(collect.real PROPERTIES ENVIRONMENT
                                             "ASSAY=$<TARGET_FILE:assay>;${cpu_worker_environment}")
