// The LogGOPS parameters of one kind of link, in the units of the public simulators.
#pragma once

namespace assay::model {

// A. Alexandrov et al., "LogGP" (1995); T. Hoefler et al., "LogGOPSim" (2010).
struct LogGops {
  double latency_ns = 3700;         // L: the network, for a message
  double overhead_ns = 200;         // o: the CPU, for a message and side
  double gap_ns = 5;                // g: the NIC, between messages
  double gap_ns_per_byte = 0.04;    // G: the NIC and the network
  double overhead_ns_per_byte = 0;  // O: the CPU
  double rendezvous_bytes = 0;      // S: larger messages wait for their receive
};

}  // namespace assay::model
