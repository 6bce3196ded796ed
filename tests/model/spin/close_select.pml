/* Close against select: a goroutine that waits at two channels, and in the end for a timer as well,
 * is woken exactly once, by a value, by the close or by its time; a value that was sent is received
 * once; nobody is left in the queue of a channel.
 *
 * Modelled, step by step: look, park_in_all, let_go, leave_queues and time_out of
 * src/sync/select.cpp; send_locked, take_all and close of chan.cpp; start_parked, start_arriving,
 * commit, claim and claim_early of waiter.hpp. Channels have no buffers, and what is done under one
 * channel's lock is one step where it does nothing else.
 *
 * TIMED: with a deadline, the timer is armed before the locks are taken.
 *
 * To be rejected: NO_CLAIM (a waker does not claim), NO_LEAVE (the select does not leave the other
 * queue), NO_COMMIT (a timer that comes early is not found out about, with TIMED).
 */
#define CHANNELS 2
#define SELECTS 2

mtype = { arriving, parked, claimed, timed_out };
mtype claim = arriving;

bool locked[CHANNELS];
bool is_closed[CHANNELS];
bool is_waiting[CHANNELS];   /* the select, in the queue of those who receive */
bool sender_waits[CHANNELS]; /* the sender, in the other */
byte chosen = CHANNELS;      /* the channel whose waker has claimed */
bool got_value = false;      /* that waker has brought one */
bool is_saved = false;       /* the context of the select's goroutine */
bool is_armed = false;       /* its timer */
bool timers_locked = false;

chan select_note = [2] of { bit };
chan sender_note = [1] of { bool };  /* true: the value is gone; false: the channel is closed */

byte sent = 0;
byte received = 0;
byte closes_seen = 0;

inline lock(c) { atomic { !locked[c] -> locked[c] = true } }
inline unlock(c) { locked[c] = false }

/* ready(): the goroutine is parked, and made ready once. */
inline ready_select() {
  assert(is_saved);
  assert(empty(select_note));
  select_note!1
}

/* claim_first() of those who receive from c, with its lock: true if there is one. */
inline claim_receiver(c, found) {
  found = false;
  if
  :: is_waiting[c] ->
     is_waiting[c] = false;
     if
#ifdef NO_CLAIM
     :: true -> found = true; chosen = c
#else
     :: atomic { claim == parked -> claim = claimed; found = true; chosen = c }
     :: else
#endif
     fi
  :: else
  fi
}

inline lock_all() { lock(0); lock(1) }
inline unlock_all() { unlock(1); unlock(0) }

proctype selector() {
  byte round = 0;
  byte at = 0;
  byte first = 0;
  bool done = false;
  do
  :: round < SELECTS ->
     round++;
     chosen = CHANNELS;
     got_value = false;
     done = false;
#ifdef TIMED
     claim = arriving;
     atomic { !timers_locked -> is_armed = true };
#else
     claim = parked;
#endif
     lock_all();
     /* look(), in either order */
     if
     :: first = 0
     :: first = 1
     fi;
     at = 0;
     do
     :: at < CHANNELS && !done ->
        if
        :: sender_waits[at ^ first] ->
           sender_waits[at ^ first] = false;
           received++;
           sender_note!true;
           done = true
        :: !sender_waits[at ^ first] && is_closed[at ^ first] -> closes_seen++; done = true
        :: else -> at++
        fi
     :: else -> break
     od;
     at = 0;
     first = 0;
     if
     :: done -> unlock_all()
     :: else ->
        is_waiting[0] = true;
        is_waiting[1] = true;
        is_saved = true;
        /* let_go(), once the context is saved */
#ifdef TIMED
        if
        :: atomic { claim == arriving -> claim = parked }; done = true
        :: else ->
           done = false
        fi;
        unlock_all();
        if
        :: done
        :: else ->
#ifndef NO_COMMIT
           ready_select()
#else
           skip
#endif
        fi;
        done = false;
#else
        unlock_all();
#endif
        end_waits: select_note?_;
        is_saved = false;
        /* leave_queues(); the chosen one has been taken out */
#ifndef NO_LEAVE
        do
        :: at < CHANNELS ->
           if
           :: at != chosen -> lock(at); is_waiting[at] = false; unlock(at)
           :: else
           fi;
           at++
        :: else -> break
        od;
        at = 0;
#endif
        if
        :: chosen == CHANNELS -> assert(claim == timed_out)
        :: chosen != CHANNELS && got_value -> received++
        :: else -> closes_seen++
        fi
     fi;
#ifdef TIMED
     /* remove_timer(): after this it does not look at the frame any more */
     atomic { !timers_locked -> is_armed = false };
#endif
     /* the frame goes */
     assert(!is_waiting[0] && !is_waiting[1]);
     assert(empty(select_note))
  :: else -> break
  od
}

/* Sends one value on channel 0, which nobody closes before. */
proctype sender() {
  bool found = false;
  bool is_gone = false;
  lock(0);
  claim_receiver(0, found);
  if
  :: found ->
     got_value = true;
     sent++;
     unlock(0);
     ready_select()
  :: else ->
     sender_waits[0] = true;
     sent++;
     unlock(0);
     end_sends: sender_note?is_gone;
     assert(is_gone)
  fi
}

proctype closer() {
  bool found = false;
  lock(1);
  is_closed[1] = true;
  claim_receiver(1, found);
  unlock(1);
  if
  :: found -> ready_select()
  :: else
  fi
}

#ifdef TIMED
proctype timer() {
  bool wakes = false;
  end: do
  :: atomic { is_armed && !timers_locked -> timers_locked = true };
     is_armed = false;
     wakes = false;
     if
     :: atomic { claim == parked -> claim = timed_out; wakes = true }
     :: atomic { claim == arriving -> claim = timed_out }
     :: else
     fi;
     timers_locked = false;
     if
     :: wakes -> ready_select()
     :: else
     fi
  od
}
#endif

/* Nothing can happen any more: both selects are over, and the value is received or still waits. */
proctype monitor() {
  end: timeout ->
  assert(!is_waiting[0] && !is_waiting[1]);
  assert(!is_saved);
  assert(sent == 1);
  assert(received == 1 - sender_waits[0]);
#ifndef TIMED
  assert(received + closes_seen == SELECTS);
#endif
  assert(is_closed[1])
}

init {
  atomic {
    run selector();
    run sender();
    run closer();
#ifdef TIMED
    run timer();
#endif
    run monitor()
  }
}
