/*
 * Who owns a processor: machines that use it, compute, are in announced calls or asleep in the
 * kernel, and sysmon, which takes it away from all three and stops the world. From
 * src/parts/border.hpp, src/runtime/entry/enter.cpp, hand_off.cpp, turn.cpp, retake.cpp, preempt.cpp and
 * world.cpp. Memory is sequentially consistent here: that the border's barriers make it so is shown
 * by tests/model/border_model.cpp.
 *
 * One processor, MACHINES machines, each with one goroutine that stays on its thread. A goroutine
 * does ROUNDS things, each either inside the runtime, for which the machine must own the processor,
 * or outside. What must hold:
 *
 *   - who uses the processor owns it, and nobody does while the world is stopped (assertions);
 *   - nobody waits for ever: who waits for a turn while the processor is idle, or waits at a closed
 *     border, is an invalid end state.
 *
 * SIGNALS: sysmon ends time slices by signals as well as by the flag. STOPS: it stops the world so
 * often. Left out on purpose, to see it fail: NO_LOOK (inside, nobody looks whether the border is
 * closed), NO_CHECK (sysmon does not look again once it has closed the border), NO_HALT (who enters
 * does not look whether the world stops), NO_WAKE (who has made the processor idle, or
 * waits, does not look whether the other has happened).
 */
#ifndef MACHINES
#define MACHINES 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef STOPS
#define STOPS 0
#endif
#ifndef SIGNALS
#define SIGNALS 0
#endif
#define NONE 255

#ifdef NO_HALT
#define must_stop false
#else
#define must_stop is_halted
#endif
#ifdef NO_WAKE
#define looks_again MACHINES
#else
#define looks_again 0
#endif
#ifdef NO_LOOK
#define border_is_open(m) true
#else
#define border_is_open(m) (!closed[m])
#endif
#ifdef NO_CHECK
#define is_still_in(m, seen) true
#else
#define is_still_in(m, seen) (call[m] == seen)
#endif

byte owner = NONE;          /* of the processor: sched.processors[0].m, and the machine's p */
bool is_idle = false;       /* the processor is on the list of idle ones */
bool is_halted = false;     /* the wake gate */
bool is_stopped = false;    /* the world: what stop_the_world() has reached */
bool is_waiting[MACHINES];  /* in the global queue, bound to its thread */
bool has_turn[MACHINES];    /* its note was woken: the processor is on its way to it */
byte ended = 0;

/* The border of each machine. */
bool inside[MACHINES];
byte call[MACHINES];        /* odd: in an announced call; counts modulo 4 */
bool is_guarded[MACHINES];  /* its lock */
bool closed[MACHINES], lost[MACHINES], preempt[MACHINES], stop[MACHINES];
bool is_asleep[MACHINES];   /* in the kernel, unannounced */
bool is_computing[MACHINES];
bool signalled[MACHINES];

inline acquire_p(m) {
  assert(owner == NONE);
  owner = m;
  lost[m] = false
}

inline release_p(m) {
  assert(owner == m);
  owner = NONE
}

/* To one that waits, else it is idle, and a look again finds who came meanwhile. */
inline hand_off_p(w) {
  atomic {
    w = 0;
    do
    :: w < MACHINES && !is_waiting[w] -> w++
    :: else -> break
    od;
    if
    :: w < MACHINES && !is_halted -> is_waiting[w] = false; has_turn[w] = true
    :: else -> is_idle = true
    fi;
    w = 0
  };
  wake_if_needed(w)
}

/* An idle processor goes to one that waits. */
inline wake_if_needed(w) {
  atomic {
    w = looks_again;
    do
    :: w < MACHINES && !is_waiting[w] -> w++
    :: else -> break
    od;
    if
    :: w < MACHINES && is_idle && !is_halted ->
       is_idle = false; is_waiting[w] = false; has_turn[w] = true
    :: else
    fi;
    w = 0
  }
}

inline wait_for_turn(m, w) {
  is_waiting[m] = true;
  if
  :: owner == m -> release_p(m); hand_off_p(w)
  :: else -> wake_if_needed(w)
  fi;
  atomic { has_turn[m]; has_turn[m] = false };
  acquire_p(m)
}

/* sysmon, or one that comes back from its call, takes it from one that is in a call. */
inline take_from_call(m, seen, took) {
  atomic { !is_guarded[m]; is_guarded[m] = true };
  closed[m] = true;
  took = false;
  if
  :: is_still_in(m, seen) && owner == m -> took = true
  :: else
  fi;
  if
  :: took -> owner = NONE; lost[m] = true
  :: else
  fi;
  atomic { closed[m] = false; is_guarded[m] = false }
}

inline take_from_sleeper(m, took) {
  atomic { !is_guarded[m]; is_guarded[m] = true };
  closed[m] = true;
  took = false;
  if
  :: !inside[m] && owner == m -> took = true
  :: else
  fi;
  if
  :: took -> owner = NONE; lost[m] = true
  :: else
  fi;
  atomic { closed[m] = false; is_guarded[m] = false }
}

/* The thread crosses the border: what it finds is seen to, and it owns the processor. */
inline enter(m, w, seen, took) {
  inside[m] = true;
  do
  :: true ->
     border_is_open(m);
     if
     :: owner != m ->
        if
        :: atomic { is_idle && !must_stop -> is_idle = false }; acquire_p(m)
        :: else ->
           w = owner;
           seen = (w == NONE -> 0 : call[w]);
           took = false;
           if
           :: seen % 2 == 1 && !is_halted && !is_guarded[w] -> take_back(m, w, seen, took)
           :: else
           fi;
           w = 0; seen = 0;
           if
           :: took -> took = false; acquire_p(m)
           :: else -> wait_for_turn(m, w)
           fi
        fi
     :: else ->
        if
        :: border_is_open(m) && !stop[m] && !preempt[m] -> break
        :: else
        fi;
        stop[m] = false;
        if
        :: must_stop || preempt[m] -> preempt[m] = false; wait_for_turn(m, w)
        :: !must_stop && !preempt[m] && border_is_open(m) -> break
        :: !must_stop && !preempt[m] && !border_is_open(m)
        fi
     fi
  od
}

/* As take_from_call, but that a halt is looked at under the border's lock. */
inline take_back(m, from, seen, took) {
  atomic { !is_guarded[from]; is_guarded[from] = true };
  closed[from] = true;
  if
  :: call[from] == seen && owner == from && !is_halted -> took = true
  :: else
  fi;
  if
  :: took -> owner = NONE; lost[from] = true
  :: else
  fi;
  atomic { closed[from] = false; is_guarded[from] = false }
}

inline use_p(m) {
  assert(owner == m && !is_stopped);
  assert(owner == m && !is_stopped)
}

/* The signal of sysmon: on the thread, where user code is. */
inline handle_signal(m, w) {
  signalled[m] = false;
  inside[m] = true;
  !closed[m];
  if
  :: owner == m && preempt[m] && !is_halted -> preempt[m] = false; wait_for_turn(m, w)
  :: owner == m && !(preempt[m] && !is_halted)
  :: owner != m -> /* it computes without one, and goes on until it enters */
  fi;
  inside[m] = false
}

proctype machine(byte m) {
  byte rounds = 0, w = 0, seen = 0;
  bool took = false;
  do
  :: rounds < ROUNDS ->
     rounds++;
     if
     :: /* into the runtime and out of it */
        enter(m, w, seen, took);
        use_p(m);
        inside[m] = false
     :: /* an announced call, and back */
        call[m] = (call[m] + 1) % 4;
        call[m] = (call[m] + 1) % 4;
        if
        :: closed[m] || lost[m] || stop[m] || preempt[m] ->
           enter(m, w, seen, took);
           use_p(m);
           inside[m] = false
        :: else -> /* its processor is still its own */
           skip
        fi
     :: /* asleep in the kernel */
        is_asleep[m] = true;
        is_asleep[m] = false
     :: /* it computes, until something happens or for itself */
        is_computing[m] = true;
        if
        :: signalled[m] -> handle_signal(m, w)
        :: true
        fi;
        is_computing[m] = false
     fi
  :: else -> break
  od;
  /* the goroutine ends, and with it what the thread does */
  enter(m, w, seen, took);
  use_p(m);
  release_p(m);
  hand_off_p(w);
  inside[m] = false;
  ended++
}

proctype sysmon() {
  byte m = 0, w = 0, seen = 0, stops = 0;
  bool took = false, holds = false;
end:
  do
  :: ended == MACHINES -> break
  :: owner != NONE ->
     atomic { m = owner; if :: m == NONE -> m = 0 :: else fi };
     seen = call[m];
     if
     :: seen % 2 == 1 -> take_from_call(m, seen, took)
     :: seen % 2 == 0 && is_asleep[m] -> take_from_sleeper(m, took)
     :: seen % 2 == 0 && is_computing[m] ->
        preempt[m] = true;
        signalled[m] = SIGNALS && is_computing[m]
     :: seen % 2 == 0 && !is_asleep[m] && !is_computing[m]
     fi;
     if
     :: took -> took = false; hand_off_p(w)
     :: else
     fi;
     m = 0; seen = 0
  :: stops < STOPS ->
     stops++;
     /* stop_the_world */
     is_halted = true;
     for (w : 0 .. MACHINES - 1) { stop[w] = true }
     w = 0;
     do
     :: is_idle && !holds -> break
     :: holds -> break
     :: atomic { !is_idle && owner != NONE && !holds -> m = owner };
        seen = call[m];
        atomic { !is_guarded[m]; is_guarded[m] = true };
        closed[m] = true;
        if
        :: owner == m && ((seen % 2 == 1 && call[m] == seen) || (seen % 2 == 0 && !inside[m])) ->
           holds = true
        :: else -> atomic { closed[m] = false; is_guarded[m] = false }
        fi
     od;
     is_stopped = true;
     is_stopped = false;
     /* start_the_world */
     is_halted = false;
     if
     :: holds -> holds = false; atomic { closed[m] = false; is_guarded[m] = false }
     :: else
     fi;
     m = 0; seen = 0;
     wake_if_needed(w)
  od
}

init {
  byte m;
  atomic {
    is_idle = true;
    for (m : 0 .. MACHINES - 1) { run machine(m) }
    run sysmon()
  }
}
