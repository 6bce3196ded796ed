message(FATAL_ERROR "a module of the project that embeds sley was included by sley")
