# Harnesses of their own, in bench/HARNESS, of stages that are no single product: checked on the CPU device,
# checked and measured on a GPU.

# What they have in common, for each device. What parses and prints does it once.
set(own ${CMAKE_CURRENT_LIST_DIR}/../bench/harness/own.cpp)
set_source_files_properties(${own} PROPERTIES COMPILE_OPTIONS -O0)
function(add_own device core)
  add_library(ladder_own_${device} STATIC ${own})
  target_link_libraries(ladder_own_${device} PUBLIC ${core} fmt::fmt
                                             PRIVATE CLI11::CLI11 nlohmann_json::nlohmann_json)
endfunction()
add_own(cpu ladder_harness_core_cpu)
if(LADDER_CUDA)
  add_own(gpu ladder_harness_gpu)
endif()

# own_harness_library(NAME DEVICE SOURCE...): the harness as a library, on `cpu` or `gpu`.
function(own_harness_library name device)
  set_source_files_properties(run.cpp PROPERTIES COMPILE_OPTIONS -O0)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC ladder_own_${device})
  if(OpenMP_CXX_FOUND)
    target_link_libraries(${name} PRIVATE OpenMP::OpenMP_CXX)
  endif()
endfunction()

# add_own_harness_on_cpu(HARNESS SOURCE...): the library ladder_HARNESS_cpu, and each of the harness's stages
# as stages/cpu/NAME, with all its variants in one test.
function(add_own_harness_on_cpu harness)
  own_harness_library(ladder_${harness}_cpu cpu ${ARGN})
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/stages/cpu)
  foreach(stage IN LISTS LADDER_STAGES_OF_${harness})
    cpp_for(stages/${stage}.cu source)
    add_library(ladder_${stage}_cpu_object OBJECT ${source})
    kernel_on_cpu(ladder_${stage}_cpu_object)
    add_executable(ladder_${stage}_cpu $<TARGET_OBJECTS:ladder_${stage}_cpu_object>)
    target_link_libraries(ladder_${stage}_cpu PRIVATE ladder_${harness}_cpu)
    set_target_properties(ladder_${stage}_cpu PROPERTIES OUTPUT_NAME cpu/${stage} RUNTIME_OUTPUT_DIRECTORY
                                                                              ${PROJECT_BINARY_DIR}/stages)
    add_dependencies(ladder_cpu_stages ladder_${stage}_cpu)
    if(BUILD_TESTING)
      ladder_test(${stage}_cpu_traced cpu COMMAND ladder_${stage}_cpu --all-shapes PROPERTIES TIMEOUT 150 COST 20
                  ENVIRONMENT OMP_NUM_THREADS=1 ${fewest_shapes})
      add_dependencies(ladder_cpu_tests ladder_${stage}_cpu)
    endif()
  endforeach()
endfunction()

# own_harness_has_gpu(HARNESS OUT): whether its stages are built for a GPU; where an architecture is missing,
# a line says so.
function(own_harness_has_gpu harness out)
  set(${out} OFF PARENT_SCOPE)
  if(LADDER_CUDA AND "90a" IN_LIST CMAKE_CUDA_ARCHITECTURES)
    set(${out} ON PARENT_SCOPE)
  elseif(LADDER_CUDA)
    list(JOIN LADDER_STAGES_OF_${harness} ", " stages)
    message(STATUS "${stages} need sm_90a: left out for ${CMAKE_CUDA_ARCHITECTURES}")
  endif()
endfunction()

# add_own_harness(HARNESS SOURCE...): the library ladder_HARNESS_bench, and each stage as stages/NAME.
function(add_own_harness harness)
  own_harness_library(ladder_${harness}_bench gpu ${ARGN})
  set(launcher ${PROJECT_SOURCE_DIR}/cmake/refuse_serialized_wgmma.sh ${CMAKE_CUDA_COMPILER_LAUNCHER})
  foreach(stage IN LISTS LADDER_STAGES_OF_${harness})
    add_executable(ladder_${stage} ${PROJECT_SOURCE_DIR}/stages/${stage}.cu)
    set_target_properties(
      ladder_${stage} PROPERTIES CUDA_ARCHITECTURES 90a CUDA_COMPILER_LAUNCHER "${launcher}" OUTPUT_NAME
                                 ${stage} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/stages)
    target_compile_options(ladder_${stage} PRIVATE -lineinfo ${LADDER_RESOURCE_WARNINGS})
    target_link_libraries(ladder_${stage} PRIVATE ladder_${harness}_bench ladder_warnings)
    add_dependencies(ladder_stages ladder_${stage})
    if(BUILD_TESTING)
      ladder_test(${stage}_gpu gpu COMMAND ladder_${stage} --all-shapes PROPERTIES ${checks_on_gpu})
    endif()
  endforeach()
endfunction()
