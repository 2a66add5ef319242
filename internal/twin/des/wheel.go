package des

import "math/bits"

// A wheel's time is read in digits of six bits. An event lies at the highest
// digit in which its time differs from last (its level), in the slot of that
// digit's value: so every event of a lower level comes before all of a higher
// one, within a level the slots are in order, and a slot of level 0 is one
// nanosecond. When the first slot is not at level 0, last moves to the slot's
// beginning and its events are dealt to lower levels. That is a radix heap
// (Ahuja, Mehlhorn, Orlin and Tarjan, 1990) in base 64: an event is moved a few
// times at most, and nothing is compared.
//
// Events of the same time always lie in the same slot and are dealt in order,
// so a slot's list keeps the order of scheduling without a number for it.
const (
	digit  = 6
	slots  = 1 << digit
	levels = (63 + digit - 1) / digit
)

// node is an event in the list of its slot, or in the free list.
type node struct {
	at         int64
	b          int64
	kind       Kind
	a          int32
	next, prev int32 // none where there is none
}

const none = -1

// wheel is a priority queue of events.
type wheel struct {
	nodes []node
	free  int32 // first free node, linked by next
	n     int
	last  int64          // no event lies before it
	used  uint16         // levels with events
	full  [levels]uint64 // slots with events
	head  [levels][slots]int32
	tail  [levels][slots]int32
}

func newWheel() wheel { return wheel{free: none} }

// place is where an event for time at lies.
func (w *wheel) place(at int64) (level, slot uint) {
	level = uint(bits.Len64(uint64(at^w.last)|1)-1) / digit
	return level, uint(at>>(digit*level)) & (slots - 1)
}

// add schedules an event and returns its node.
func (w *wheel) add(at int64, k Kind, a int32, b int64) int32 {
	i := w.free
	if i == none {
		i = int32(len(w.nodes))
		w.nodes = append(w.nodes, node{})
	} else {
		w.free = w.nodes[i].next
	}
	e := &w.nodes[i]
	e.at, e.kind, e.a, e.b = at, k, a, b
	w.n++
	w.link(i)
	return i
}

// link puts node i at the end of its slot.
func (w *wheel) link(i int32) {
	e := &w.nodes[i]
	l, s := w.place(e.at)
	e.next = none
	if w.full[l]&(1<<s) == 0 {
		w.full[l] |= 1 << s
		w.used |= 1 << l
		e.prev = none
		w.head[l][s], w.tail[l][s] = i, i
		return
	}
	e.prev = w.tail[l][s]
	w.nodes[e.prev].next = i
	w.tail[l][s] = i
}

// remove takes out node i, which waits, and frees it.
func (w *wheel) remove(i int32) {
	l, s := w.place(w.nodes[i].at)
	w.unlink(i, l, s)
}

// unlink takes out node i of slot (l, s) and frees it. The node's content
// stays as it is until the next add.
func (w *wheel) unlink(i int32, l, s uint) {
	e := &w.nodes[i]
	switch {
	case e.prev == none && e.next == none:
		w.clear(l, s)
	case e.prev == none:
		w.head[l][s] = e.next
		w.nodes[e.next].prev = none
	case e.next == none:
		w.tail[l][s] = e.prev
		w.nodes[e.prev].next = none
	default:
		w.nodes[e.prev].next = e.next
		w.nodes[e.next].prev = e.prev
	}
	e.next = w.free
	w.free = i
	w.n--
}

func (w *wheel) clear(l, s uint) {
	if w.full[l] &^= 1 << s; w.full[l] == 0 {
		w.used &^= 1 << l
	}
}

// pop takes out and frees the first event before end and returns its node, or
// none.
func (w *wheel) pop(end int64) int32 {
	for w.used != 0 {
		l := uint(bits.TrailingZeros16(w.used))
		s := uint(bits.TrailingZeros64(w.full[l]))
		i := w.head[l][s]
		if l == 0 || i == w.tail[l][s] {
			at := w.nodes[i].at
			if at >= end {
				return none
			}
			w.last = at
			w.unlink(i, l, s)
			return i
		}
		// last may not pass end: events between end and the first one may
		// still be scheduled.
		above := int64(1)<<(digit*(l+1)) - 1
		begin := w.last&^above | int64(s)<<(digit*l)
		if begin >= end {
			return none
		}
		w.last = begin
		w.clear(l, s)
		for i != none {
			next := w.nodes[i].next
			w.link(i)
			i = next
		}
	}
	return none
}
