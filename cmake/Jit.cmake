# Kernels that are compiled when they are needed: the target gemm_ladder::jit, with which
#   #include <ladder/jit.h>
# works. It is plain C++, and has the kernels' headers in it; nvcc is needed neither to build nor to use it.
# `cmake --install` installs it if it has been built.
find_package(CUDAToolkit 12.5 QUIET)
if(NOT TARGET CUDA::nvrtc)
  message(STATUS "No CUDA toolkit with NVRTC: gemm_ladder::jit is left out")
  return()
endif()

set(jit ${PROJECT_SOURCE_DIR}/kernels/library/jit)
set(embedded ${PROJECT_BINARY_DIR}/generated/jit/headers.cpp)
file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/*.cuh ${PROJECT_SOURCE_DIR}/kernels/*.h)
add_custom_command(
  OUTPUT ${embedded}
  COMMAND ${CMAKE_COMMAND} -D OUTPUT=${embedded} -D KERNELS=${PROJECT_SOURCE_DIR}/kernels -P
          ${PROJECT_SOURCE_DIR}/cmake/embed_kernels.cmake
  DEPENDS ${PROJECT_SOURCE_DIR}/cmake/embed_kernels.cmake ${headers}
  VERBATIM)

add_library(ladder_jit STATIC EXCLUDE_FROM_ALL ${jit}/cache.cpp ${jit}/compile.cpp ${jit}/jit.cpp ${jit}/sha256.cpp
                              ${embedded})
add_library(gemm_ladder::jit ALIAS ladder_jit)
set_target_properties(ladder_jit PROPERTIES EXPORT_NAME jit OUTPUT_NAME gemm_ladder_jit
                                            POSITION_INDEPENDENT_CODE ON)
target_include_directories(ladder_jit PRIVATE ${jit})
list(GET CUDAToolkit_INCLUDE_DIRS 0 include)
target_compile_definitions(ladder_jit PRIVATE LADDER_CUDA_INCLUDE="${include}")
target_link_libraries(ladder_jit PUBLIC ladder_kernels CUDA::cudart_static CUDA::nvrtc
                                 PRIVATE $<BUILD_INTERFACE:$<$<TARGET_EXISTS:ladder_warnings>:ladder_warnings>>
                                         ${CMAKE_DL_LIBS})

set(package ${CMAKE_INSTALL_DATADIR}/cmake/gemm_ladder)
install(TARGETS ladder_jit EXPORT gemm_ladder_jit OPTIONAL)
install(
  EXPORT gemm_ladder_jit
  NAMESPACE gemm_ladder::
  FILE gemm_ladderJit.cmake
  DESTINATION ${package})
