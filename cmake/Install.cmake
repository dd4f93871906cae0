# cmake --install: the programs, LibTorch beside them, what a desktop wants to know, the published
# runs. cpack makes a Debian package of the same (scripts/package).
include(GNUInstallDirs)
set(CMAKE_INSTALL_DOCDIR ${CMAKE_INSTALL_DATAROOTDIR}/doc/attnscope)
set(library_folder ${CMAKE_INSTALL_LIBDIR}/attnscope)
set(data_folder ${CMAKE_INSTALL_DATADIR}/attnscope)

install(TARGETS attnscope RUNTIME)
if(ATTNSCOPE_TORCH)
  install(TARGETS attnscope-worker RUNTIME)
  if(ATTNSCOPE_TORCH_DIR OR ATTNSCOPE_TORCH_HAS_CUDA)
    # A Python's LibTorch, or one of gigabytes, is not copied: the installed worker finds it there.
    set_target_properties(attnscope-worker PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  else()
    # The layout of the wheels, for their libraries look for each other along it.
    file(GLOB torch_libraries ${torch_lib}/*.so ${torch_lib}/*.so.*)
    install(FILES ${torch_libraries} DESTINATION ${library_folder}/torch/lib)
    file(GLOB cuda_libraries ${torch_dir}/../nvidia/cu*/lib/*.so.*)
    foreach(library IN LISTS cuda_libraries)
      file(RELATIVE_PATH place ${torch_dir}/.. ${library})
      get_filename_component(place ${place} DIRECTORY)
      install(FILES ${library} DESTINATION ${library_folder}/${place})
    endforeach()
    file(RELATIVE_PATH from_programs ${CMAKE_INSTALL_FULL_BINDIR}
         ${CMAKE_INSTALL_FULL_LIBDIR}/attnscope/torch/lib)
    set_target_properties(attnscope-worker PROPERTIES INSTALL_RPATH "$ORIGIN/${from_programs}")
  endif()
endif()

if(ATTNSCOPE_GUI)
  set(desktop ${CMAKE_SOURCE_DIR}/resources/desktop)
  install(FILES ${desktop}/attnscope.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications)
  install(FILES ${desktop}/attnscope-mime.xml
          DESTINATION ${CMAKE_INSTALL_DATADIR}/mime/packages RENAME attnscope.xml)
  install(FILES ${CMAKE_SOURCE_DIR}/app/gui/icons/attnscope.svg
          DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps)
endif()

file(GLOB runs RELATIVE ${CMAKE_SOURCE_DIR}/results ${CMAKE_SOURCE_DIR}/results/*/run.attn.gz)
foreach(run IN LISTS runs)
  get_filename_component(folder ${run} DIRECTORY)
  install(FILES ${CMAKE_SOURCE_DIR}/results/${run} DESTINATION ${data_folder}/results/${folder})
endforeach()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/resources/patterns ${CMAKE_SOURCE_DIR}/resources/sweeps
        DESTINATION ${data_folder})
install(FILES ${CMAKE_SOURCE_DIR}/resources/citations.bib DESTINATION ${data_folder})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/python/attnscope DESTINATION ${data_folder}/python
        PATTERN "__pycache__" EXCLUDE)
if(TARGET attnscope_torch)
  install(TARGETS attnscope_torch LIBRARY DESTINATION ${data_folder}/python/attnscope/torch OPTIONAL)
endif()
# Man pages and completion come from the program's own definitions.
set(man "\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1")
set(shells "\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}")
install(CODE "
  file(MAKE_DIRECTORY \"${shells}/bash-completion/completions\" \"${shells}/zsh/site-functions\")
  execute_process(COMMAND \"$<TARGET_FILE:attnscope>\" manual \"${man}\" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND \"$<TARGET_FILE:attnscope>\" completion bash COMMAND_ERROR_IS_FATAL ANY
                  OUTPUT_FILE \"${shells}/bash-completion/completions/attnscope\")
  execute_process(COMMAND \"$<TARGET_FILE:attnscope>\" completion zsh COMMAND_ERROR_IS_FATAL ANY
                  OUTPUT_FILE \"${shells}/zsh/site-functions/_attnscope\")")
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs LICENSES DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN "images" EXCLUDE)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME attnscope)
set(CPACK_PACKAGE_VENDOR "AttnScope")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "benchmark of attention implementations for re-rankers")
set(CPACK_PACKAGE_DESCRIPTION
    "Tells which attention pattern, and which implementation of it, a re-ranker should use at its
lengths: what it costs in time and memory on this machine, what it loses, and what it attends to.
LibTorch is part of the package.")
set(CPACK_PACKAGE_CONTACT "The AttnScope developers")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${torch_lib} ${nvidia_libs})
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "shared-mime-info, hicolor-icon-theme")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
include(CPack)
