# The HTML pages in a real browser: Debian's chromium, driven by Playwright.
if(ASSAY_PAGE)
  add_executable(sample_page page/sample_page.cc)
  target_link_libraries(sample_page PRIVATE assay_settings assay_report)
  add_test(NAME page COMMAND ${NODE} ${CMAKE_CURRENT_SOURCE_DIR}/page/page_test.mjs)
  set_tests_properties(
    page PROPERTIES SKIP_RETURN_CODE 77 COST 50
                    ENVIRONMENT "ASSAY=$<TARGET_FILE:assay>;SAMPLE_PAGE=$<TARGET_FILE:sample_page>;NODE_MODULES=${CMAKE_BINARY_DIR}/npm/node_modules")
endif()
