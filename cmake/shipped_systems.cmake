# The measured systems that ship inside the program: every systems/NAME.yaml with its NAME.db.zst,
# and what map_system makes of that for queries, which map it rather than read SQLite.
#
# map_system links assay_store by its file: as a target, the library would bring these systems along,
# which only map_system can make. The operators tell the rooflines of the rows.
add_executable(map_system ${CMAKE_CURRENT_SOURCE_DIR}/cli/mapping/main.cc
                          ${CMAKE_CURRENT_SOURCE_DIR}/cli/operator_costs.cc)
add_dependencies(map_system assay_store)
target_link_libraries(
  map_system
  PRIVATE assay_settings assay_operators assay_serving $<TARGET_FILE:assay_store> assay_model
          PkgConfig::sqlite3
          nlohmann_json::nlohmann_json simdjson::simdjson PkgConfig::zstd Snappy::snappy yaml-cpp)
set(systems_folder ${CMAKE_SOURCE_DIR}/systems)
file(GLOB system_files CONFIGURE_DEPENDS ${systems_folder}/*.yaml)
set(shipped_symbols "")
set(shipped_bytes "")
set(shipped_rows "")
set(shipped_files "")
foreach(yaml IN LISTS system_files)
  cmake_path(GET yaml STEM name)
  set(database ${systems_folder}/${name}.db.zst)
  if(NOT EXISTS ${database})
    message(FATAL_ERROR "${yaml} has no ${database} beside it: see systems/README.md")
  endif()
  set(tables ${CMAKE_CURRENT_BINARY_DIR}/${name}.tables)
  add_custom_command(
    OUTPUT ${tables}
    COMMAND map_system ${database} ${yaml} ${tables}
    DEPENDS map_system ${database} ${yaml}
    COMMENT "Mapping ${name}")
  list(APPEND shipped_files ${yaml} ${database} ${tables})
  string(APPEND shipped_symbols
         "extern const char assay_${name}_database, assay_${name}_yaml, assay_${name}_yaml_end,\n"
         "    assay_${name}_tables, assay_${name}_end;\n")
  string(APPEND shipped_bytes "    \"assay_${name}_database: .incbin \\\"${database}\\\"\\n\"\n"
         "    \"assay_${name}_yaml: .incbin \\\"${yaml}\\\"\\n\"\n"
         "    \"assay_${name}_yaml_end: .balign 16\\n\"\n"
         "    \"assay_${name}_tables: .incbin \\\"${tables}\\\"\\n\"\n"
         "    \"assay_${name}_end: .byte 0\\n\"\n")
  string(APPEND shipped_rows "    {\"${name}\", bytes(&assay_${name}_database, &assay_${name}_yaml),\n"
         "     bytes(&assay_${name}_yaml, &assay_${name}_yaml_end),\n"
         "     bytes(&assay_${name}_tables, &assay_${name}_end)},\n")
endforeach()
list(LENGTH system_files shipped_count)
set(shipped_source ${CMAKE_CURRENT_BINARY_DIR}/shipped_data.cc)
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/store/systems/shipped_data.cc.in ${shipped_source} @ONLY)
set_source_files_properties(${shipped_source} PROPERTIES OBJECT_DEPENDS "${shipped_files}")
add_library(assay_shipped STATIC ${shipped_source} ${shipped_files})
target_link_libraries(assay_shipped PRIVATE assay_settings)
target_link_libraries(assay_store INTERFACE assay_shipped)
install(FILES ${system_files} DESTINATION share/assay/systems)
