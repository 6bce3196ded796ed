// A job: a page to fetch.
#pragma once

#include <string>

namespace jobs {

struct job {
  std::string id = {};      // given by the producer; the key of the job's result
  std::string url = {};     // of the page
  std::string ticket = {};  // what the queue knows it by; set by queue::take()
  int deliveries = 0;       // how often it was handed out, this time included; set by queue::take()
};

}  // namespace jobs
