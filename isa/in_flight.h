// Results of memory instructions that may still be on their way when somebody touches their registers: a
// static check of s_waitcnt over all paths of a program.
//
// vmcnt counts in order, lgkmcnt counts LDS in order and scalar loads in any order. So a load is complete
// after a wait for N if at least N younger in-order instructions of its counter were issued since, on every
// path; a scalar load after lgkmcnt(0) only. LDS-DMA writes no register and is not seen here.
#pragma once

#include "isa/flow.h"
#include "isa/isa.h"

namespace zyfa::isa {

struct InFlightFinding {
  std::uint32_t producer, consumer;  // positions in the program
  OperandKind file;                  // the first register concerned
  std::uint16_t reg;
  Counter counter;
  int wait;  // the largest s_waitcnt value before the consumer that would do

  // One line: both instructions with their source lines, the register, the wait that is missing.
  std::string message(const Program& program) const;
};

// All reads and writes of registers that a load will still write, by consumer. Two loads of one kind into the
// same register are in order and no finding. Stores read their data at issue.
std::vector<InFlightFinding> check_in_flight(const Program& program);

}  // namespace zyfa::isa
