# What `cmake --install` puts where: bin/hearth, and the programs it starts in libexec/hearth.
include(GNUInstallDirs)
set(HEARTH_LIBEXECDIR ${CMAKE_INSTALL_LIBEXECDIR}/hearth)
# How hearth finds them wherever the whole was moved to.
file(RELATIVE_PATH HEARTH_LIBEXEC_FROM_BIN
  ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBEXECDIR}/hearth)

function(install_programs)
  install(TARGETS hearth RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(TARGETS hearth-init hearth-launcher hearth-isolate
    RUNTIME DESTINATION ${HEARTH_LIBEXECDIR} LIBRARY DESTINATION ${HEARTH_LIBEXECDIR})
  install(FILES ${CMAKE_SOURCE_DIR}/harness/executor_harness.py DESTINATION ${HEARTH_LIBEXECDIR})
endfunction()
