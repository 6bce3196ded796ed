/* The wake gate with the poller: whatever a machine does while others go idle, no goroutine is left
 * runnable beside an idle processor, and no event is left that no machine looks for.
 *
 * Modelled, step by step: wake_if_needed, wake_p, stop_m, take_up_search, request_threads and
 * see_to_polling of src/runtime/queue/wake.cpp; hand_off_p, give_up_p and settle of
 * queue/hand_off.cpp; find_runnable and search of source/find_runnable.cpp; poll_now and
 * sleep_until_needed of source/poll.cpp; regain_p of run/attend.cpp; machine_main of
 * watchdog/threads.cpp; poll_if_late, help_out and announce_rest of watchdog/sysmon.cpp; the word of
 * src/parts/wake_gate.hpp. What is done under the scheduler's lock is one step.
 *
 * Memory is sequentially consistent here: the barriers of WG-1 are the business of
 * wake_gate_model.cpp. A state in which nothing can happen any more is where something may have
 * been lost: the monitor looks at it.
 *
 * With -DSYSMON sysmon looks for events as well, helps out, and rests when all are idle; without,
 * it only takes processors from calls, and does not help.
 *
 * SPAWNS, READS, CALLS, STUCK and ENDLESS say how often a goroutine starts another, waits for a
 * descriptor, blocks in a call, does that for ever, or computes for ever. WATCHED: one waits for a descriptor already,
 * and the machine that it ran on runs another. RESERVES: how often sysmon keeps a processor in reserve (WG-3) for a while.
 *
 * To be rejected: NO_SECOND_LOOK (a machine that goes idle does not look), NO_LOOK and
 * NO_SEE_TO_POLLING (a thread that settles leaves that out) and, with SYSMON, NO_HELP (sysmon, which
 * has polled a moment ago, does not help out).
 */
#ifndef RESERVES
#define RESERVES 0
#endif
#ifndef SPAWNS
#define SPAWNS 0
#endif
#ifndef READS
#define READS 0
#endif
#ifndef CALLS
#define CALLS 0
#endif
#ifndef ENDLESS
#define ENDLESS 0
#endif
#ifndef STUCK
#define STUCK 0
#endif
#define PROCS 2
#define MACHINES 3
#define NONE 9

/* The gate's word. */
byte idle = 0;
byte searching = 0;
byte reserve = 0;

/* Under the scheduler's lock. */
bool is_idle[PROCS];
bool is_listed[MACHINES];
bool sysmon_sleeps = false;

byte global_queue = 0;  /* goroutines */
byte queue[PROCS];      /* in those of the processors */
byte is_watched = 0;    /* there are descriptors */
byte waiting = 0;       /* goroutines that wait for one */
byte events = 0;        /* that the kernel has to report */
bool has_poller = false;
bool is_polling_now;
bool thread_coming = false;
bool in_call[MACHINES]; /* announced, with its processor */
byte p_of[MACHINES];

byte spawns = SPAWNS;
byte reads = READS;
byte calls = CALLS;
byte endless = ENDLESS;
byte stuck = STUCK;
byte reserves = RESERVES;
byte polls = 1;         /* of sysmon */

chan note[MACHINES] = [1] of { byte, bool };  /* processor, searches */
chan sysmon_note = [1] of { bit };

#define may_wake (idle > reserve && searching == 0)
#define are_all_idle (idle == PROCS && searching == 0)
#define is_queued (global_queue != 0 || queue[0] != 0 || queue[1] != 0)
#ifndef NO_HELP
#define is_everything_quiet \
  (reserve == 0 && are_all_idle && !is_queued && (is_watched == 0 || has_poller))
#else
#define is_everything_quiet (reserve == 0 && are_all_idle && !is_queued)
#endif
#define is_anybody_listed (is_listed[0] || is_listed[1] || is_listed[2])

inline wake_sysmon() {
  if
  :: nfull(sysmon_note) -> sysmon_note!1
  :: full(sysmon_note)
  fi
}

/* Within a step, as pop_idle(); got = NONE if there is none. */
inline pop_idle_locked(got) {
  if
  :: idle > reserve ->
     if
     :: is_idle[0] -> got = 0
     :: is_idle[1] -> got = 1
     fi;
     is_idle[got] = false;
     idle--;
     if
     :: sysmon_sleeps -> sysmon_sleeps = false; wake_sysmon()
     :: else
     fi
  :: else -> got = NONE
  fi
}

inline pop_machine_locked(got) {
  if
  :: is_listed[0] -> got = 0; is_listed[0] = false
  :: is_listed[1] -> got = 1; is_listed[1] = false
  :: is_listed[2] -> got = 2; is_listed[2] = false
  :: !is_anybody_listed -> got = NONE
  fi
}

/* taken and who are variables of the caller. */
inline wake_p() {
  do
  :: atomic { may_wake -> searching++ };
     atomic {
       pop_idle_locked(taken);
       who = NONE;
       if
       :: taken != NONE -> pop_machine_locked(who)
       :: else
       fi
     };
     if
     :: taken == NONE ->
        atomic { searching--; if :: may_wake :: else -> break fi }
     :: taken != NONE && who != NONE -> note[who]!taken,true; break
     :: else ->
        atomic { is_idle[taken] = true; idle++; searching-- };
        thread_coming = true;
        break
     fi
  :: else -> break
  od;
  taken = NONE;
  who = NONE
}

inline wake_if_needed() {
  if
  :: may_wake ->
     if
     :: thread_coming ->
        if
        :: is_anybody_listed -> wake_p()
        :: else
        fi
     :: else -> wake_p()
     fi
  :: else
  fi
}

/* The look after going idle. */
inline look_again(found) {
  found = false;
  if
  :: global_queue != 0 -> found = true
  :: else ->
     if
     :: queue[0] != 0 -> found = true
     :: else ->
        if
        :: queue[1] != 0 -> found = true
        :: else
        fi
     fi
  fi
}

/* By a thread that goes on to something else. */
inline settle(found) {
#ifndef NO_LOOK
  look_again(found);
  if
  :: found -> wake_if_needed()
  :: else
  fi;
#endif
#ifndef NO_SEE_TO_POLLING
  if
  :: is_watched != 0 && !has_poller -> wake_if_needed()
  :: else
  fi;
#endif
  found = false
}

/* hand_off_p, for a processor in the caller's hand. */
inline hand_off_p(processor, found) {
  found = false;
  if
  :: queue[processor] != 0 -> found = true
  :: else ->
     if
     :: global_queue != 0 -> found = true
     :: else
     fi
  fi;
  who = NONE;
  if
  :: found -> atomic { pop_machine_locked(who) }
  :: else
  fi;
  if
  :: who != NONE -> note[who]!processor,false
  :: else ->
     atomic { is_idle[processor] = true; idle++ };
     settle(found)
  fi
}

proctype machine(byte me; byte first_p; bool is_new) {
  byte p = first_p;
  byte taken = NONE;
  byte who = NONE;
  byte woken = 0;
  bool searches = false;
  bool found = false;

  if
  :: is_new ->
     end_unborn: atomic { thread_coming -> thread_coming = false };
     atomic { pop_idle_locked(p) };
     if
     :: p != NONE -> searching++; searches = true
     :: else -> goto stop
     fi
  :: !is_new && p == NONE -> goto stop
  :: else
  fi;

find_runnable:
  if
  :: atomic { queue[p] != 0 -> queue[p]-- }; goto runs
  :: else
  fi;
  if
  :: atomic { global_queue != 0 -> global_queue-- }; goto runs
  :: else
  fi;
  /* poll_now */
  if
  :: is_watched != 0 ->
     if
     :: atomic { !is_polling_now -> is_polling_now = true };
        atomic { woken = events; events = 0 };
        is_polling_now = false;
        if
        :: woken != 0 ->
           atomic { queue[p] = queue[p] + woken; woken = 0 };
           wake_if_needed();
           goto find_runnable
        :: else
        fi
     :: else
     fi
  :: else
  fi;
  /* search */
  if
  :: !searches ->
     if
     :: atomic { 2 * searching < PROCS - idle -> searching++; searches = true }
     :: else
     fi
  :: else
  fi;
  if
  :: searches ->
     if
     :: atomic { queue[1 - p] != 0 -> queue[1 - p]-- }; goto runs
     :: else
     fi
  :: else
  fi;
  /* give_up_p, and settle by a machine that goes on to poll or stop */
  atomic {
    is_idle[p] = true;
    idle++;
    if
    :: searches -> searching--; searches = false
    :: else
    fi;
    p = NONE
  };
#ifndef NO_SECOND_LOOK
  look_again(found);
  if
  :: found ->
     atomic { found = false; pop_idle_locked(p) };
     if
     :: p != NONE -> searching++; searches = true; goto find_runnable
     :: else
     fi
  :: else
  fi;
#endif
  /* wait_for_events */
  if
  :: is_watched == 0 || idle <= reserve -> goto stop
  :: else
  fi;
  if
  :: atomic { !has_poller -> has_poller = true }
  :: else -> goto stop
  fi;
  end_polls: atomic { events != 0 -> woken = events; events = 0 };
  has_poller = false;
  atomic { pop_idle_locked(p) };
  if
  :: p != NONE ->
     searching++;
     searches = true;
     atomic { queue[p] = queue[p] + woken; woken = 0 }
  :: else ->
     atomic { global_queue = global_queue + woken; woken = 0 }
  fi;
  wake_if_needed();
  if
  :: p != NONE -> goto find_runnable
  :: else
  fi;

stop:
  atomic { is_listed[me] = true };
  end_stopped: note[me]?p,searches;
  goto find_runnable;

runs:
  /* found_work, by schedule() */
  if
  :: searches ->
     searches = false;
     atomic { searching--; found = (searching == 0) };
     if
     :: found -> found = false; wake_p()
     :: else
     fi
  :: else
  fi;

user_code:
  if
  :: atomic { spawns != 0 -> spawns--; queue[p]++ };
     wake_if_needed();
     goto user_code
  :: atomic { reads != 0 -> reads-- };
     is_watched = 1;
     waiting++;  /* once it has parked */
     goto find_runnable
  :: atomic { calls != 0 -> calls--; p_of[me] = p; in_call[me] = true };
     goto call
  :: atomic { endless != 0 -> endless-- };
     end_endless: false  /* it computes, and keeps its processor */
  :: goto find_runnable  /* it ends */
  fi;

call:
  /* sysmon may take the processor now */
  if
  :: atomic { stuck != 0 -> stuck-- };
     end_in_call: false
  :: skip
  fi;
  atomic { in_call[me] = false; p = p_of[me] };
  if
  :: p == NONE ->
     atomic { pop_idle_locked(p) };
     if
     :: p == NONE ->
        global_queue++;  /* yield_without_p */
        wake_if_needed();
        goto stop
     :: else
     fi
  :: else
  fi;
  goto user_code
}

/* A descriptor that somebody waits for becomes ready. */
proctype world() {
  end: do
  :: atomic { waiting != 0 -> waiting--; events++ }
  od
}

proctype sysmon() {
  byte taken = NONE;
  byte who = NONE;
  byte processor = NONE;
  byte woken = 0;
  bool found = false;
  end: do
  :: atomic {
       if
       :: in_call[0] && p_of[0] != NONE -> processor = p_of[0]; p_of[0] = NONE
       :: in_call[1] && p_of[1] != NONE -> processor = p_of[1]; p_of[1] = NONE
       :: in_call[2] && p_of[2] != NONE -> processor = p_of[2]; p_of[2] = NONE
       fi
     };
     hand_off_p(processor, found);
     processor = NONE
  :: atomic { reserve == 0 && reserves != 0 -> reserves--; reserve = 1 }
  :: atomic { reserve != 0 -> reserve = 0 };
     settle(found)
#ifdef SYSMON
  :: atomic { is_watched != 0 && polls != 0 -> polls-- };  /* poll_if_late */
     if
     :: atomic { !has_poller -> has_poller = true };
        atomic { woken = events; events = 0 };
        has_poller = false;
        if
        :: woken != 0 ->
           atomic { global_queue = global_queue + woken; woken = 0 };
           wake_if_needed()
        :: else
        fi
     :: else
     fi
#ifndef NO_HELP
  :: idle > reserve && searching == 0 ->  /* help_out */
     look_again(found);
     if
     :: !found && is_watched != 0 && !has_poller -> found = true
     :: else
     fi;
     if
     :: found -> wake_p()
     :: else
     fi
#endif
  :: atomic {  /* announce_rest */
       is_everything_quiet -> sysmon_sleeps = true
     };
     end_rests: sysmon_note?_
#endif
  od
}

/* Nothing can happen any more. */
proctype monitor() {
  end: timeout ->
  /* A thread that was asked for and does not come, for there are no more here. */
  if
  :: thread_coming -> goto end_over
  :: else
  fi;
  assert(idle == 0 || !is_queued);
  assert(idle == 0 || events == 0);
  assert(searching == 0);
end_over: skip
}

init {
  atomic {
    byte i;
    for (i : 0 .. MACHINES - 1) { p_of[i] = NONE };
    run machine(0, 0, false);
    run machine(1, NONE, false);
    is_idle[1] = true;
    idle = 1;
#ifdef WATCHED
    is_watched = 1;
    waiting = 1;
#endif
    run machine(2, NONE, true);
    run world();
    run sysmon();
    run monitor();
    global_queue = 1
  }
}
