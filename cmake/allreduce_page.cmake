# The page of `assay allreduce plot`: its parts as constants of C++.
set(page_folder ${CMAKE_CURRENT_SOURCE_DIR}/allreduce/plot/page)
foreach(part html css js)
  file(READ ${page_folder}/page.${part} page_${part})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page_folder}/page.${part})
endforeach()
configure_file(${page_folder}/page_text.cc.in ${CMAKE_CURRENT_BINARY_DIR}/allreduce_page_text.cc
               @ONLY)
target_sources(assay_allreduce PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/allreduce_page_text.cc)
