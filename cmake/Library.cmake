# The kernels as a library of headers: the target gemm_ladder::kernels, with which
#   #include <ladder/04_register_blocked.cuh>
# works in this build, in a project that has this one as a subdirectory, and in one that finds it
# installed, by find_package(gemm_ladder). Nothing is linked: nvcc links the CUDA runtime by itself.
# Gemm.cmake has the target that chooses among them, gemm_ladder::gemm.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

add_library(ladder_kernels INTERFACE)
add_library(gemm_ladder::kernels ALIAS ladder_kernels)
set_target_properties(ladder_kernels PROPERTIES EXPORT_NAME kernels)
target_compile_features(ladder_kernels INTERFACE cxx_std_17)
target_include_directories(
  ladder_kernels INTERFACE $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/kernels ${PROJECT_BINARY_DIR}/include/ladder SYMBOLIC)

# No component of its own: `cmake --install` installs the library and nothing else.
set(package ${CMAKE_INSTALL_DATADIR}/cmake/gemm_ladder)
install(TARGETS ladder_kernels EXPORT gemm_ladder)
install(
  DIRECTORY kernels/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ladder
  FILES_MATCHING
  PATTERN *.h
  PATTERN *.cuh
  PATTERN library EXCLUDE)
install(
  EXPORT gemm_ladder
  NAMESPACE gemm_ladder::
  FILE gemm_ladderKernels.cmake
  DESTINATION ${package})
configure_package_config_file(
  cmake/gemm_ladderConfig.cmake.in ${PROJECT_BINARY_DIR}/gemm_ladderConfig.cmake
  INSTALL_DESTINATION ${package}
  PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/gemm_ladderConfigVersion.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/gemm_ladderConfig.cmake
              ${PROJECT_BINARY_DIR}/gemm_ladderConfigVersion.cmake DESTINATION ${package})
