# cmake -D FOLDER=... -P manifest_test.cmake: what CMake says of manifests that are wrong, and the
# architectures that follow from a stage's needs. FOLDER is where it writes.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../cmake/Manifest.cmake)

if(DEFINED READ) # this script once more, as the one that reads a manifest and may fail
  ladder_read_manifest(${READ})
  return()
endif()

function(fail text) # goes on; the exit code is 1 in the end
  message(SEND_ERROR " ${text}")
endfunction()

# Two entries, both right.
set(RIGHT [=[{"stages": [
  {"name": "01_first", "parent": null, "types": ["fp32"],
   "needs": {"compute_capability": 50, "features": []},
   "aligned_rows": false, "page": "docs/01.md"},
  {"name": "02_second", "parent": "01_first", "types": ["fp16"],
   "needs": {"compute_capability": 90, "features": ["tma", "wgmma"]},
   "aligned_rows": true, "page": "docs/02.md",
   "reference": "best", "also_at": ["1024", "16x4096x4096", "8192_TN_bf16"], "power_with": ["zeros"], "milestone": "what is new"}]}
]=])
file(REMOVE_RECURSE ${FOLDER})
foreach(file kernels/01_first.cuh kernels/02_second.cuh stages/01_first.cu stages/02_second.cu docs/01.md
             docs/02.md)
  file(WRITE ${FOLDER}/${file} "")
endforeach()

function(read_manifest json out_status out_said)
  file(WRITE ${FOLDER}/stages/manifest.json "${json}")
  execute_process(
    COMMAND ${CMAKE_COMMAND} -D READ=${FOLDER} -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    ERROR_VARIABLE said RESULT_VARIABLE status)
  set(${out_status} ${status} PARENT_SCOPE)
  set(${out_said} "${said}" PARENT_SCOPE)
endfunction()

read_manifest("${RIGHT}" status said)
if(NOT status EQUAL 0)
  fail("the right manifest is refused: ${said}")
endif()

# expect(LINE OLD NEW): with OLD replaced by NEW, CMake fails and says LINE.
function(expect line old new)
  string(REPLACE "${old}" "${new}" wrong "${RIGHT}")
  if(wrong STREQUAL RIGHT)
    message(FATAL_ERROR " the right manifest has no ${old}")
  endif()
  read_manifest("${wrong}" status said)
  string(FIND "${said}" " stages/manifest.json: ${line}\n" found)
  if(status EQUAL 0 OR found EQUAL -1)
    fail("expected '${line}', but CMake said: ${said}")
  endif()
endfunction()

expect("02_second: unknown feature 'tmaa' (there are tensor_cores, tma, clusters, wgmma)" "\"tma\"" "\"tmaa\"")
expect("02_second: tma needs a compute_capability of 90, not 80" ": 90" ": 80")
expect("02_second: 'aligned_rows' is missing" "\"aligned_rows\": true, " "")
expect("02_second: 'aligned_rows' is of type STRING, not BOOLEAN" "true" "\"yes\"")
expect("02_second: 'needs.features' is missing" ", \"features\": [\"tma\", \"wgmma\"]" "")
expect("01_first: 'parent' is missing" "\"parent\": null, " "")
expect("entry 2: 'name' is missing" "\"name\": \"02_second\", " "")
expect("entry 2: 'Second' is no name like 04b_vectorized" "02_second" "Second")
expect("02_second: there is no stage '00_none' before it to be its parent" "\"parent\": \"01_first\""
       "\"parent\": \"00_none\"")
expect("two entries have the name '01_first'" "02_second" "01_first")
expect("02_second: there is no file docs/03.md" "docs/02.md" "docs/03.md")
expect("02b_third: there is no file kernels/02b_third.cuh" "02_second" "02b_third")
expect("02_second: unknown reference 'worst' (there are cublas, best)" "\"best\"" "\"worst\"")
expect("02_second: 'reference' is of type NUMBER, not STRING" "\"best\"" "1")
expect("02_second: unknown key 'refference'" "\"reference\"" "\"refference\"")
expect("02_second: unknown harness 'tensor' (there are multi_gpu, attention, rows, four_bits)" "\"reference\": \"best\""
       "\"harness\": \"tensor\"")
expect("02_second: unknown sums 'slow' (there are fp32, fast, promoted, scaled)" "\"reference\": \"best\""
       "\"sums\": \"slow\"")
expect("02_second: 'any_layout' is of type STRING, not BOOLEAN" "\"reference\": \"best\""
       "\"any_layout\": \"NT\"")
expect("02_second: 'groups' is of type NUMBER, not BOOLEAN" "\"reference\": \"best\"" "\"groups\": 8")
expect("02_second: 'milestone' is of type BOOLEAN, not STRING" "\"what is new\"" "true")
expect("02_second: unknown epilogue 'tanh' (there are relu, gelu, gelu_erf, silu)"
       "\"reference\": \"best\"" "\"epilogue\": \"tanh\"")
expect("02_second: '16x4096' in 'also_at' is no shape like 1024, 16x4096x4096 or 1024_TN" "x4096x4096" "x4096")
expect("02_second: 'also_at' is of type STRING, not ARRAY" "[\"1024\", \"16x4096x4096\", \"8192_TN_bf16\"]" "\"1024\"")
expect("02_second: unknown data 'noise' in 'power_with' (there are random, exact, zeros, constant)" "zeros" "noise")
expect("02_second: 'timeline' is of type STRING, not BOOLEAN" "\"reference\": \"best\"" "\"timeline\": \"fp16\"")
expect("02_second: unknown program 'tune' in 'races_in' (there are peers, groups, feed_forward)"
       "\"reference\": \"best\"" "\"races_in\": [\"tune\"]")
expect("02_second: 'types' is empty" "[\"fp16\"]" "[]")
expect("'stages' is of type OBJECT, not ARRAY" "${RIGHT}" "{\"stages\": {}}")
expect("it has no stages" "${RIGHT}" "{\"stages\": []}")

read_manifest("{\"stages\": [,]}" status said)
if(status EQUAL 0 OR NOT said MATCHES " stages/manifest.json: failed parsing json string: [^\n]+\n")
  fail("what is no JSON is not refused in one line: ${said}")
endif()

# expect_architectures(EXPECTED COMPUTE_CAPABILITY FEATURES CANDIDATES)
function(expect_architectures expected compute_capability features candidates)
  ladder_architectures(architectures ${compute_capability} "${features}" "${candidates}")
  if(NOT "${architectures}" STREQUAL "${expected}")
    fail("${compute_capability} with '${features}' of '${candidates}': '${architectures}', not '${expected}'")
  endif()
endfunction()

expect_architectures("75;80;90a;120" 50 "" "75;80;90a;120")
expect_architectures("80;90a;120" 80 "tensor_cores" "75;80;90a;120")
expect_architectures("90;100;103f;120a" 90 "tensor_cores;tma" "80;89;90;100;103f;120a")
expect_architectures("90a" 90 "tma" "80;90a")
expect_architectures("" 90 "tma" "80;89")
expect_architectures("90a" 90 "tma;wgmma;clusters" "80;90a;100;120")
expect_architectures("90a" 90 "tma;wgmma" "90")
expect_architectures("90a" 90 "wgmma" "90;90a")
expect_architectures("90a-real;90a-virtual" 90 "wgmma" "80-real;90-real;90a-virtual;100-real")
expect_architectures("" 90 "tma;wgmma" "80;100;120a")
