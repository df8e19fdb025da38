// What zyfa-run says of a run, whatever kernel it ran: errors, findings, traps, as text and as JSON.
#pragma once

#include "isa/emulator/emulator.h"
#include "runtime_loader/compare.h"

#include <nlohmann/json.hpp>

#include <string_view>

namespace zyfa::runtime {

// A number, or its name where it is infinite or NaN, which JSON has not.
nlohmann::ordered_json number(double value);

// What strict mode found, one line each, to stdout.
void print_findings(const emulator::Result& result);

// An array of rule, message, workgroup, at and, where two instructions are concerned, other.
nlohmann::ordered_json findings_json(const emulator::Result& result);

// The line `error`, to stdout.
void print_errors(const Comparison& comparison, bool has_lse);

// A line `failed` for each limit that was not kept, and PASSED, FAILED or, where nothing was compared, NOT CHECKED.
// `failed`: for a reason beside the comparison.
void print_verdict(const Comparison* comparison, const Tolerances& tolerances, bool failed);

// Adds relative_error, max_abs_error, lse_max_error and passed.
void add_errors(nlohmann::ordered_json& json, const Comparison& comparison, bool failed);

// The lines `error`, `emulation` and, for what did not pass, `failed`, to stdout. `comparison` is null where nothing
// was compared.
void print_outcome(const emulator::Result& result, double seconds, double flops, const Comparison* comparison,
                   const Tolerances& tolerances, bool has_lse);

// Adds the same to `json`: relative_error, max_abs_error, lse_max_error, passed, findings, seconds, emulated_gflops,
// instructions.
void add_outcome(nlohmann::ordered_json& json, const emulator::Result& result, double seconds, double flops,
                 const Comparison* comparison, bool strict);

// Throws Error with the trap's message if the run trapped. Before that it prints what is known to stdout: the findings,
// or with `json` an object {kernel, passed, trap, findings}.
void stop_at_trap(const emulator::Result& result, std::string_view kernel, bool json);

}  // namespace zyfa::runtime
