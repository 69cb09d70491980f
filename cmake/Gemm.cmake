# The library that chooses, compiled: the target gemm_ladder::gemm, with which
#   #include <ladder/gemm.h>
# and ladder::gemm(problem) work, and <ladder/ladder.h> in C. Nobody builds it who does not name it, or a target that links it: it has every
# kernel of the stages it chooses among, in fp16 and bf16. `cmake --install` installs it if it has been built.
include(${PROJECT_SOURCE_DIR}/cmake/Manifest.cmake)
find_package(CUDAToolkit REQUIRED GLOBAL)
ladder_architectures(since_80 80 "" "${CMAKE_CUDA_ARCHITECTURES}")
if(NOT since_80)
  message(STATUS "gemm_ladder::gemm needs sm_80 or later: left out for ${CMAKE_CUDA_ARCHITECTURES}")
  return()
endif()
ladder_architectures(with_clusters 90 clusters "${CMAKE_CUDA_ARCHITECTURES}")
ladder_architectures(with_wgmma 90 wgmma "${CMAKE_CUDA_ARCHITECTURES}")

add_library(ladder_gemm STATIC EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/kernels/library/c.cpp
                                                ${PROJECT_SOURCE_DIR}/kernels/library/gemm.cpp)
add_library(gemm_ladder::gemm ALIAS ladder_gemm)
set_target_properties(ladder_gemm PROPERTIES EXPORT_NAME gemm OUTPUT_NAME gemm_ladder
                                             POSITION_INDEPENDENT_CODE ON)
target_link_libraries(ladder_gemm PUBLIC ladder_kernels CUDA::cudart_static)

# gemm_kernels(NAME ARCHITECTURES SOURCE...): files of kernels/library for the library, and HAS_<NAME> = 1
# for gemm.cpp; where there are no such architectures, 0.
function(gemm_kernels name architectures)
  if(NOT architectures)
    target_compile_definitions(ladder_gemm PRIVATE LADDER_HAS_${name}=0)
    return()
  endif()
  target_compile_definitions(ladder_gemm PRIVATE LADDER_HAS_${name}=1)
  set(object ladder_gemm_${name}_object)
  set(launcher ${PROJECT_SOURCE_DIR}/cmake/refuse_serialized_wgmma.sh ${CMAKE_CUDA_COMPILER_LAUNCHER})
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/kernels/library/)
  add_library(${object} OBJECT EXCLUDE_FROM_ALL ${ARGN})
  set_target_properties(
    ${object}
    PROPERTIES CUDA_ARCHITECTURES "${architectures}"
               CUDA_COMPILER_LAUNCHER "${launcher}"
               POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${object} PRIVATE ladder_kernels)
  target_sources(ladder_gemm PRIVATE $<TARGET_OBJECTS:${object}>)
endfunction()
gemm_kernels(SINCE_80 "${since_80}" before_hopper.cu passes.cu)
gemm_kernels(CLUSTERS "${with_clusters}" clusters.cu)
gemm_kernels(
  WGMMA
  "${with_wgmma}"
  a_by_columns_bf16.cu
  a_by_columns_fp16.cu
  along_k.cu
  batch.cu
  b_by_columns_bf16.cu
  b_by_columns_fp16.cu
  b_by_columns_fused_bf16.cu
  b_by_columns_fused_fp16.cu
  fused_bf16.cu
  fused_fp16.cu
  linear_bf16.cu
  linear_fp16.cu
  products_bf16.cu
  products_fp16.cu
  scaled.cu
)

set(package ${CMAKE_INSTALL_DATADIR}/cmake/gemm_ladder)
install(TARGETS ladder_gemm EXPORT gemm_ladder_compiled OPTIONAL)
install(
  EXPORT gemm_ladder_compiled
  NAMESPACE gemm_ladder::
  FILE gemm_ladderCompiled.cmake
  DESTINATION ${package})
